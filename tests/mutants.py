"""Break each update on purpose, one at a time, and see that a test notices.

Run by `make mutants`. Works on a copy of the sources; exits 1 if any mutant survives or no longer applies.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUITE = [
    "test_methods.py",
    "test_consensus.py",
    "test_splitting.py",
    "test_paper_mode.py",
    "test_omega.py",
    "test_proximal_maps.py",
    "test_criticality.py",
]

TUNING = ["test_exchange.py", "test_vertices.py", "test_rank.py", "test_auto.py"]
TUNED_KERNELS = ("kernels/exchange.py", "kernels/vertices.py")

CHUNKS = ["test_chunked.py"]
CHUNKED_FILES = ("sources.py", "kernels/distances.py")

# File under src/sepnmf, what stands there, what to put instead.
MUTANTS = [
    # ADMM-P, update by update
    ("methods/admm.py", "self.rho2 * (2 * self.zeta - 1)", "self.rho2 * (2 * self.zeta + 1)"),
    ("methods/admm.py", "2 * self.rho3, -self.rho3)", "2 * self.rho3, self.rho3)"),
    ("methods/admm.py", "self.rho2 * self.zeta, w, e)", "self.rho2, w, e)"),
    ("methods/admm.py", "v_kept, s_kept = 1 - self.zeta, 1.0", "v_kept, s_kept = self.zeta - 1, 1.0"),
    ("methods/admm.py", "v_kept = s_kept = 0.0", "v_kept = s_kept = 1.0"),
    ("methods/admm.py", "abs(self.zeta) * self.length_c", "self.length_c"),
    ("methods/admm.py", "lam / self.rho2 * powered", "lam * self.rho2 * powered"),
    ("methods/admm.py", "(misfit + rho1 * T)", "(misfit - rho1 * T)"),
    ("methods/admm.py", "inner.X, G - T, A", "inner.X, G + T, A"),
    ("model/problem.py", "np.add(X[block], self", "np.subtract(X[block], self"),
    ("methods/admm.py", "            T -= G", "            T += G"),
    ("methods/admm.py", "            if change < tol:", "            if change < 0:"),
    ("methods/admm.py", "met=change < run.tol", "met=change > run.tol"),
    ("methods/admm.py", "(0.0, self.rho3) if self.w_is_e", "(self.rho3, 0.0) if self.w_is_e"),
    ("methods/admm.py", "(1.0 + s + 1.0 / s) / 3.0", "(1.0 + s - 1.0 / s) / 3.0"),
    ("methods/admm.py", "math.sqrt(x + 4.0)", "math.sqrt(x)"),
    ("methods/admm.py", "math.cbrt(d) / float", "d / float"),
    (
        "kernels/consensus.py",
        "x = factor * (max(b - tau, zero) + min(b + tau, zero))",
        "x = factor * max(b - tau, zero)",
    ),
    ("kernels/consensus.py", "y = X[j] + v_kept * C[j]", "y = X[j] - v_kept * C[j]"),
    ("kernels/consensus.py", "E[j] = x + s_kept", "E[j] = x - s_kept"),
    ("kernels/consensus.py", "X[i, i] + s_kept * gap", "X[i, i] - s_kept * gap"),
    ("kernels/consensus.py", "own + gap * e / a", "own"),
    ("kernels/consensus.py", "own, E[i, i] = E[i, i], t[i]", "own = E[i, i]"),
    (
        "kernels/consensus.py",
        "A[i, i], E[i, i] = own_a + (own_e - t[i]) * e / a, t[i]\n        lengths",
        "lengths",
    ),
    (
        "model/norms.py",
        "kept * (math.exp(log_kappa + (p - 1) * u) / k), k",
        "kept * math.exp(log_kappa + (p - 1) * u), k",
    ),
    # DCA
    (
        "methods/dca.py",
        "alpha = ratio_weight * powered(size, p) / length",
        "alpha = -ratio_weight * powered(size, p) / length",
    ),
    ("methods/dca.py", "pull = beta + alpha / length", "pull = beta + alpha"),
    ("kernels/splitting.py", "v * (2 * Vi[j] - Di[j])", "v * Di[j]"),
    ("kernels/splitting.py", "Xi[j] + (Di[j] - Vi[j])", "Xi[j] - (Di[j] - Vi[j])"),
    ("methods/dca.py", "V[:] = D[:] = X_k", "D[:] = X_k"),
    ("methods/dca.py", "spare[j % 2] = X_k", "pass"),
    ("methods/dca.py", "project_after_prox(problem, D", "project_after_prox(problem, X"),
    ("methods/dca.py", "if moved < run.inner_tol", "if moved < 0 * run.inner_tol"),
    ("methods/dca.py", "met=moved <= run.tol", "met=moved > run.tol"),
    ("methods/dca.py", "problem.lam / rho, beta + rho", "problem.lam / rho, beta - rho"),
    # The model
    ("model/problem.py", "inverse * self.misfit", "-inverse * self.misfit"),
    ("model/problem.py", "self.squares + sigma", "self.squares - sigma"),
    ("model/problem.py", ", weight * numerator / length", ", -weight * numerator / length"),
    ("model/problem.py", ") * numerator / length / length", ") * numerator / length"),
    ("model/problem.py", "point - step * (", "point + step * ("),
    ("model/norms.py", "total / (2 * kg + 1)", "total / (2 * kg - 1)"),
    ("model/norms.py", "(-1 + np.sqrt(1 + 12 * kg * total))", "(1 + np.sqrt(1 + 12 * kg * total))"),
    ("model/norms.py", "np.cbrt((total - root) / (8 * kg))", "np.cbrt((total + root) / (8 * kg))"),
    (
        "model/norms.py",
        "S_last, S = S, extrapolated + V - prox_point",
        "S_last, S = S, extrapolated - V + prox_point",
    ),
    ("model/norms.py", "1 - (p - 1) * tau * slope / size", "1 + (p - 1) * tau * slope / size"),
    ("model/norms.py", "error = np.log(tau) - log_c - (p - 1)", "error = np.log(tau) - log_c + (p - 1)"),
    # The kernels
    ("kernels/shrink.py", "(p - 2.0) * math.log(kept)", "(p - 1.0) * math.log(kept)"),
    ("kernels/shrink.py", "u -= step", "u += step"),
    (
        "kernels/shrink.py",
        "delta = (kept * math.exp(u) + gaps) / k",
        "delta = (kept * math.exp(u) - gaps) / k",
    ),
    ("kernels/omega.py", "top += weight * z[j]", "top -= weight * z[j]"),
    ("kernels/omega.py", "bottom += weight * weight", "bottom += weight"),
    ("kernels/omega.py", "(own + top * scale) / (one", "(own - top * scale) / (one"),
    ("kernels/omega.py", "slope -= free - 1.0", "slope -= free"),
    ("kernels/omega.py", "slope -= (1.0 + cut", "slope += (1.0 + cut"),
    ("kernels/omega.py", "shorten = 1.0 - tau / norm", "shorten = 1.0 + tau / norm"),
    ("kernels/omega.py", "error = excess * norm - tau", "error = excess * norm + tau"),
    ("kernels/omega.py", "rate = -free / (theta * norm)", "rate = free / (theta * norm)"),
    # Anchors without parameters
    ("kernels/exchange.py", "rest -= value * value", "rest += value * value"),
    ("kernels/exchange.py", "slope -= G[j, P[a]] * h[P[a]]", "slope += G[j, P[a]] * h[P[a]]"),
    ("kernels/exchange.py", "barred[j] = j == skip or G[j, j] <= 0.0", "barred[j] = G[j, j] <= 0.0"),
    ("kernels/exchange.py", "out[c] += w[j] * gain_bound", "out[c] += gain_bound"),
    ("kernels/exchange.py", "if perp > 0.0 else rest", "if perp > 0.0 else 0.0"),
    (
        "kernels/exchange.py",
        "if share[j] <= 0.0 or gain + left <= need",
        "if share[j] <= 0.0 or left <= need",
    ),
    ("kernels/exchange.py", "optimal = optimal and z[a] > 0.0", "optimal = optimal"),
    ("kernels/exchange.py", "gain += w[j] * min(y[j, p]", "gain += 2 * w[j] * min(y[j, p]"),
    ("kernels/vertices.py", "H[j, k] = 1.0", "H[j, k] = 0.5"),
    ("kernels/vertices.py", "squares[j] - 2.0 * B[j, k] + G[k, k]", "squares[j] - 2.0 * B[j, k]"),
    ("descent/_exchange.py", "K[:, k] = inner_products(C, C[:, [found]])[:, 0]", "pass"),
    ("descent/_exchange.py", "count, quiet = count + 1, 0", "count, quiet = count + 1, quiet + 1"),
    ("descent/_likelihood.py", "PRICE * M.shape[0] * noise", "0.0 * noise"),
    ("descent/_likelihood.py", "anchors[order] = columns", "anchors[:] = columns"),
    ("descent/_likelihood.py", "+ self.price * float(np.linalg.slogdet(Q)[1])", "- self.price"),
    ("descent/_noise.py", "(centre + TRACY_WIDOM * width)", "centre"),
    ("descent/_noise.py", "squares[r:].sum() / ((m - r) * (n - r))", "squares[r:].sum() / (m * n)"),
    ("tuning/_rank.py", "if rest <= noise", "if rest <= 0 * noise"),
    ("tuning/_clusters.py", "axis=1) / sizes", "axis=1)"),
    ("descent/_problem.py", "choice[:, dark] = 0.0", "pass"),
    ("tuning/_consensus.py", "np.argmin(far)", "np.argmax(far)"),
    ("tuning/_answers.py", "answer: answer.improved.after", "answer: -answer.improved.after"),
    ("descent/_worth.py", "- fit.E[used]).sum()", ").sum()"),
    ("tuning/_consensus.py", "if value <= best.residual:", "if value >= best.residual:"),
    (
        "tuning/_ratio_path.py",
        "(lam, high) if trace > r else (low, lam)",
        "(lam, high) if trace < r else (low, lam)",
    ),
    # Picking
    ("selection.py", "np.argsort(-scores", "np.argsort(scores"),
    # Data in chunks
    ("chunked/spa.py", "farther = (values > top + rounding)", "farther = (values > 2 * top + rounding)"),
    ("chunked/spa.py", "& (held.numbers < taken)", "& (held.numbers > taken)"),
    ("chunked/spa.py", "rest -= np.outer(q, q @ rest)", "rest += 0"),
    ("chunked/vca.py", "found.note(0, misplaced, held, misplaced >= 0, 0.0)", "pass"),
    ("chunked/vca.py", "reach[:, zero] = 0.0", "pass"),
    ("chunked/xray.py", "places = np.flatnonzero(left + doubt >= top - rounding)", "places = np.arange(0)"),
    ("chunked/xray.py", "found, 2 * k + 1, gains", "found, 2 * k + 1, -gains"),
    ("chunked/ppi.py", "(a.values < tops - self", "(a.values < tops + self"),
    ("chunked/ppi.py", "places = np.flatnonzero(part.squares)", "places = np.arange(len(part.squares))"),
    ("chunked/moments.py", "sums.count * np.outer", "np.outer"),
    ("chunked/moments.py", "if found.is_sharp(k):", "if True:"),
    ("chunked/moments.py", "begin = part.start - first * BLOCK", "begin = 0"),
    ("chunked/misfit.py", "a.residual + b.residual", "a.residual"),
    ("chunked/screening.py", "if rest.residual >= left.residual:", "if True:"),
    ("chunked/screening.py", "np.square(reach / lengths[nearest])", "np.square(reach)"),
    ("chunked/passes.py", "min(filter(None, (a.first_bad, b.first_bad)), default=None)", "a.first_bad"),
    ("kernels/distances.py", "doubt * squares[j] >= levels[k]", "doubt * squares[j] > 9 * levels[k]"),
    ("kernels/distances.py", "for k in range(i, m):", "for k in range(m, m):"),
    ("sources.py", "start = M.offset - M.offset % mmap.ALLOCATIONGRANULARITY", "start = M.offset"),
    ("sources.py", "begin = self.offset + start * self.strides[1]", "begin = self.offset"),
]


def survives(name, old, new, place):
    """Whether every test passes with `old` replaced by `new`."""
    copy = place / "sepnmf"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "sepnmf", copy, ignore=shutil.ignore_patterns("__pycache__"))
    path = copy / name
    source = path.read_text()
    if old not in source:
        sys.exit(f"{name} no longer has {old!r}: update tests/mutants.py")
    path.write_text(source.replace(old, new, 1))
    env = os.environ | {"PYTHONPATH": str(place), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0"]
    command += ["--override-ini", "addopts=--import-mode=importlib"]
    suite = SUITE
    if name.startswith(("descent", "tuning")) or name in TUNED_KERNELS:
        suite = TUNING
    if name.startswith("chunked") or name in CHUNKED_FILES:
        suite = CHUNKS
    tests = [str(ROOT / "tests" / file) for file in suite]
    try:
        run = subprocess.run(
            command + tests, env=env, cwd=ROOT, capture_output=True, timeout=900, check=False
        )
    except subprocess.TimeoutExpired:
        return False  # a loop that no longer ends is noticed too
    if run.returncode not in (0, 1):
        sys.exit(run.stdout.decode()[-2000:] + run.stderr.decode()[-2000:])
    return run.returncode == 0


def main():
    wanted = sys.argv[1:]
    survivors = 0
    with tempfile.TemporaryDirectory() as place:
        for name, old, new in MUTANTS:
            if wanted and not any(word in name for word in wanted):
                continue
            alive = survives(name, old, new, Path(place))
            survivors += alive
            print(f"{'SURVIVED' if alive else 'caught  '}  {name}: {old}  →  {new}", flush=True)  # noqa: T201
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
