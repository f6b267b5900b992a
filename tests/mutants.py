"""Break each update on purpose, one at a time, and see that a test notices.

Run by `make mutants`. Works on a copy of the sources; exits 1 if any mutant survives or no longer applies.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "sepnmf"
MOST_SECONDS = 600  # of processor time for the tests of one mutant
SUITE = [
    "test_methods.py",
    "test_consensus.py",
    "test_splitting.py",
    "test_paper_mode.py",
    "test_omega.py",
    "test_proximal_maps.py",
    "test_criticality.py",
]

TUNING = ["test_auto_parts.py", "test_exchange.py", "test_vertices.py", "test_noise_models.py"]
TUNING += ["test_auto_vertices.py", "test_rank.py", "test_auto.py"]
TUNED = ("tuning", "_descent", "_kernels/exchange.py", "_kernels/vertices.py")

CHUNKS = ["test_input.py", "test_chunked.py", "test_spa.py", "test_vca.py", "test_exchange.py"]
CHUNKS += ["test_method_records.py", "test_lanczos.py", "test_range.py"]
MATRIX = ("matrix", "least_squares", "registry", "_kernels/distances.py")
MATRIX += tuple(
    f"methods/_{name}.py" for name in ("spa", "vca", "xray", "screening", "method", "working_set")
)

# File under src/sepnmf, what stands there, what to put instead.
MUTANTS = [
    # ADMM-P, update by update
    ("methods/_admm.py", "self.rho2 * (2 * self.zeta - 1)", "self.rho2 * (2 * self.zeta + 1)"),
    ("methods/_admm.py", "2 * self.rho3, -self.rho3)", "2 * self.rho3, self.rho3)"),
    ("methods/_admm.py", "self.rho2 * self.zeta, w, e)", "self.rho2, w, e)"),
    ("methods/_admm.py", "v_kept, s_kept = 1 - self.zeta, 1.0", "v_kept, s_kept = self.zeta - 1, 1.0"),
    ("methods/_admm.py", "v_kept = s_kept = 0.0", "v_kept = s_kept = 1.0"),
    ("methods/_admm.py", "abs(self.zeta) * self.length_c", "self.length_c"),
    ("methods/_admm.py", "lam / self.rho2 * powered", "lam * self.rho2 * powered"),
    ("methods/_admm.py", "(misfit + rho1 * T)", "(misfit - rho1 * T)"),
    ("methods/_admm.py", "inner.X, G - T, A", "inner.X, G + T, A"),
    ("model/_problem.py", "np.add(X[block], self", "np.subtract(X[block], self"),
    ("methods/_admm.py", "            T -= G", "            T += G"),
    ("methods/_admm.py", "            if change < tol:", "            if change < 0:"),
    ("methods/_admm.py", "met=change < run.tol", "met=change > run.tol"),
    ("methods/_admm.py", "(0.0, self.rho3) if self.w_is_e", "(self.rho3, 0.0) if self.w_is_e"),
    ("methods/_admm.py", "(1.0 + s + 1.0 / s) / 3.0", "(1.0 + s - 1.0 / s) / 3.0"),
    ("methods/_admm.py", "math.sqrt(x + 4.0)", "math.sqrt(x)"),
    ("methods/_admm.py", "math.cbrt(d) / float", "d / float"),
    (
        "_kernels/consensus.py",
        "x = factor * (max(b - tau, zero) + min(b + tau, zero))",
        "x = factor * max(b - tau, zero)",
    ),
    ("_kernels/consensus.py", "y = X[j] + v_kept * C[j]", "y = X[j] - v_kept * C[j]"),
    ("_kernels/consensus.py", "E[j] = x + s_kept", "E[j] = x - s_kept"),
    ("_kernels/consensus.py", "X[i, i] + s_kept * gap", "X[i, i] - s_kept * gap"),
    ("_kernels/consensus.py", "own + gap * e / a", "own"),
    ("_kernels/consensus.py", "own, E[i, i] = E[i, i], t[i]", "own = E[i, i]"),
    (
        "_kernels/consensus.py",
        "A[i, i], E[i, i] = own_a + (own_e - t[i]) * e / a, t[i]\n        lengths",
        "lengths",
    ),
    (
        "model/_norms.py",
        "kept * (math.exp(log_kappa + (p - 1) * u) / k), k",
        "kept * math.exp(log_kappa + (p - 1) * u), k",
    ),
    # DCA
    (
        "methods/_dca.py",
        "alpha = ratio_weight * powered(size, p) / length",
        "alpha = -ratio_weight * powered(size, p) / length",
    ),
    ("methods/_dca.py", "pull = beta + alpha / length", "pull = beta + alpha"),
    ("_kernels/splitting.py", "v * (2 * Vi[j] - Di[j])", "v * Di[j]"),
    ("_kernels/splitting.py", "new + (Di[j] - Vi[j])", "new - (Di[j] - Vi[j])"),
    ("methods/_dca.py", "V[:] = D[:] = X_k", "D[:] = X_k"),
    ("methods/_dca.py", "spare[j % 2] = X_k", "pass"),
    ("methods/_dca.py", "inverse * (fit.R - RC)", "-inverse * (fit.R - RC)"),
    ("methods/_dca.py", "fit.squares + sigma", "fit.squares - sigma"),
    ("methods/_dca.py", "squares * H + (RD - RV)", "squares * H - (RD - RV)"),
    ("methods/_dca.py", "project_after_prox(problem, D", "project_after_prox(problem, X"),
    ("methods/_dca.py", "if moved < run.inner_tol", "if moved < 0 * run.inner_tol"),
    ("methods/_dca.py", "met=moved <= run.tol", "met=moved > run.tol"),
    ("methods/_dca.py", "problem.lam / rho, beta + rho", "problem.lam / rho, beta - rho"),
    # The model
    ("model/_problem.py", ", weight * numerator / length", ", -weight * numerator / length"),
    ("model/_problem.py", ") * numerator / length / length", ") * numerator / length"),
    ("model/_problem.py", "point - step * (", "point + step * ("),
    ("model/_thresholds.py", "total / (2 * kg + 1)", "total / (2 * kg - 1)"),
    ("model/_thresholds.py", "(-1 + np.sqrt(1 + 12 * kg * total))", "(1 + np.sqrt(1 + 12 * kg * total))"),
    ("model/_thresholds.py", "np.cbrt((total - root) / (8 * kg))", "np.cbrt((total + root) / (8 * kg))"),
    (
        "model/_norms.py",
        "S_last, S = S, extrapolated + V - prox_point",
        "S_last, S = S, extrapolated - V + prox_point",
    ),
    ("model/_norms.py", "1 - (p - 1) * tau * slope / size", "1 + (p - 1) * tau * slope / size"),
    ("model/_norms.py", "error = np.log(tau) - log_c - (p - 1)", "error = np.log(tau) - log_c + (p - 1)"),
    # The kernels
    ("_kernels/shrink.py", "(p - 2.0) * math.log(kept)", "(p - 1.0) * math.log(kept)"),
    ("_kernels/shrink.py", "u -= step", "u += step"),
    (
        "_kernels/shrink.py",
        "delta = (kept * math.exp(u) + gaps) / k",
        "delta = (kept * math.exp(u) - gaps) / k",
    ),
    ("_kernels/omega.py", "top += weight * z[j]", "top -= weight * z[j]"),
    ("_kernels/omega.py", "bottom += weight * weight", "bottom += weight"),
    ("_kernels/omega.py", "(own + top * scale) / (one", "(own - top * scale) / (one"),
    ("_kernels/omega.py", "slope -= free - 1.0", "slope -= free"),
    ("_kernels/omega.py", "slope -= (1.0 + cut", "slope += (1.0 + cut"),
    ("_kernels/omega.py", "shorten = 1.0 - tau / norm", "shorten = 1.0 + tau / norm"),
    ("_kernels/omega.py", "error = excess * norm - tau", "error = excess * norm + tau"),
    ("_kernels/omega.py", "rate = -free / (theta * norm)", "rate = free / (theta * norm)"),
    # Anchors without parameters
    ("_kernels/exchange.py", "rest -= value * value", "rest += value * value"),
    ("_kernels/exchange.py", "slope -= G[j, P[a]] * h[P[a]]", "slope += G[j, P[a]] * h[P[a]]"),
    ("_kernels/exchange.py", "barred[j] = j == skip or G[j, j] <= 0.0", "barred[j] = G[j, j] <= 0.0"),
    ("_kernels/exchange.py", "total += w[j] * bound", "total += bound"),
    ("_kernels/exchange.py", "bound = E[j] if inside else", "bound = 0.0 if inside else"),
    ("_kernels/exchange.py", "if perp > 0.0 else rest", "if perp > 0.0 else 0.0"),
    (
        "_kernels/exchange.py",
        "if share[j] <= 0.0 or gain + left <= need",
        "if share[j] <= 0.0 or left <= need",
    ),
    ("_kernels/exchange.py", "optimal = optimal and z[a] > 0.0", "optimal = optimal"),
    ("_kernels/exchange.py", "gain += w[j] * min(y[j, p]", "gain += 2 * w[j] * min(y[j, p]"),
    ("_kernels/vertices.py", "H[j, k] = 1.0", "H[j, k] = 0.5"),
    ("_kernels/vertices.py", "squares[j] - 2.0 * B[j, k] + G[k, k]", "squares[j] - 2.0 * B[j, k]"),
    ("_descent/_exchange.py", "K[:, k] = inner_products(C, C.part(np.array([found])))[:, 0]", "pass"),
    ("_descent/_exchange.py", "count, quiet = new, count + 1, 0", "count, quiet = new, count + 1, quiet + 1"),
    ("_descent/_likelihood.py", "PRICE * self.height * self.noise", "PRICE * self.height * 0.0"),
    ("_descent/_likelihood.py", "anchors[order] = columns", "anchors[:] = columns"),
    ("_descent/_likelihood.py", "+ self.price * Q.log_determinant()", "- self.price"),
    ("_descent/_noise.py", "(centre + TRACY_WIDOM * width)", "centre"),
    ("_descent/_noise.py", "squares[r:].sum() / ((m - r) * (n - r))", "squares[r:].sum() / (m * n)"),
    ("tuning/_rank.py", "if left.residual <= noise", "if left.residual <= 0 * noise"),
    ("tuning/_clusters.py", "axis=1) / sizes", "axis=1)"),
    ("_descent/_problem.py", "choice[:, barred] = 0.0", "pass"),
    ("tuning/_consensus.py", "np.argmin(far)", "np.argmax(far)"),
    ("tuning/_answers.py", "answer: answer.improved.after", "answer: -answer.improved.after"),
    ("_descent/_worth.py", "- fit.E[used]).sum()", ").sum()"),
    ("tuning/_consensus.py", "if value <= best.residual:", "if value >= best.residual:"),
    (
        "tuning/_ratio_path.py",
        "(lam, high) if trace > r else (low, lam)",
        "(lam, high) if trace < r else (low, lam)",
    ),
    # Picking
    ("selection.py", "np.argsort(-scores", "np.argsort(scores"),
    # The matrix
    ("matrix/_dense.py", "np.frexp(sizes)[1] - 1, 0)", "1, 0)"),
    ("matrix/_dense.py", "** power * np.exp2(powers * (power - 1.0))", "** power"),
    ("matrix/_dense.py", "kept[values == -np.inf] = -np.inf", "pass"),
    ("matrix/_dense.py", "np.where(sums > 0, sums, 1.0) ** power *", "np.where(sums > 0, sums, 1.0) *"),
    ("matrix/_dense.py", "np.where(rest <= negligible * self.squares, 0.0, rest)", "rest"),
    (
        "matrix/_sparse.py",
        "sums[filled] = np.add.reduceat(values, starts[filled]",
        "sums[:] = np.add.reduceat(values, starts[:-1]",
    ),
    ("matrix/_sparse.py", "A @ X - np.multiply.outer(middle, X.sum(axis=0))", "A @ X"),
    (
        "matrix/_chunked.py",
        "if entries.n_negative and self.negative ==",
        "if entries.n_bad and self.negative ==",
    ),
    ("matrix/_tasks.py", "first_position(found, first)", "first_position(found, 0)"),
    ("matrix/_lazy.py", "if max(array.chunks[1]) <= 4 * width:", "if True:"),
    ("methods/_method.py", "elif self.in_chunks is not None:", "elif False:"),
    ("registry.py", 'name.replace("-", "_")', "name"),
    # Kinds of noise
    ("_descent/_noise_models.py", "return float(value - jacobian", "return float(value + jacobian"),
    ("_descent/_noise_models.py", "/ (left + PRIOR))\n    if", "/ (n + PRIOR))\n    if"),
    ("_descent/_noise_models.py", "/ others / in_noise)", "/ others)"),
    ("_descent/_noise_models.py", "residual, -limit, limit)", "residual, -9 * limit, 9 * limit)"),
    ("_descent/_noise_models.py", "if structure <= STRUCTURE or", "if True or"),
    ("_descent/_whitening.py", "variance = left / ((m - r) * (n - r))", "variance = left / (m * n * 9)"),
    ("_descent/_whitening.py", "or self.squares[k - 1] <= KNOWN * edge", ""),
    ("_descent/_whitening.py", "> NOISE_ALONE else None", "> 2 else None"),
    ("_descent/_criterion.py", "len(X) if len(X) < problem.r else", "0 * len(X) +"),
    ("_descent/_likelihood.py", "own > ASTRAY * self.height", "own > np.inf * self.height"),
    ("tuning/_stability.py", "(shares >= SAME)", "(shares >= 0.5)"),
    ("tuning/_stability.py", "with_more_noise(columns, ADDED,", "with_more_noise(columns, 0.0,"),
    ("matrix/_lanczos.py", "settled and float(", "settled or float("),
    ("matrix/_lanczos.py", "for _ in range(2):", "for _ in range(0):"),
    ("_descent/_vertices.py", "return noise.as_given(vertices), rows", "return vertices, rows"),
    ("_descent/_exchange.py", "if new >= residual:", "if False:"),
    ("_descent/_lagged.py", "float(np.vdot(U[1:], U[:-1]))", "0.0"),
    ("_descent/_lagged.py", "new[0] *= np.sqrt(1 - lag**2)", "pass"),
    ("_descent/_noise_models.py", "jacobian -= 0.5 * n", "jacobian += 0.5 * n"),
    ("_descent/_whitening.py", "left <= max(UNEVEN", "left <= max(0.0"),
    ("_descent/_whitening.py", "DISTINCT * self.squares[r])", "0.0 * self.squares[r])"),
    ("_descent/_neighbours.py", "np.fill_diagonal(cosines, -np.inf)", "pass"),
    ("tuning/_answers.py", "best.improved.after > gain", "best.improved.after > 0.0"),
    ("tuning/_answers.py", "                raise Stopped", "                pass"),
    # Data in chunks
    ("methods/_working_set.py", "larger = (values > top", "larger = (values > 2 * top"),
    ("methods/_working_set.py", "& (held.indices < taken)", "& (held.indices > taken)"),
    ("methods/_spa.py", "rest -= np.outer(q, q @ rest)", "rest += 0"),
    ("methods/_vca.py", "found.note(0, misplaced, held, misplaced >= 0, 0.0)", "pass"),
    ("methods/_vca.py", "reach[:, zero] = 0.0", "pass"),
    ("methods/_xray.py", "places = np.flatnonzero(left + doubt >= top - rounding)", "places = np.arange(0)"),
    ("methods/_xray.py", "found.compare(step, gains,", "found.compare(step, -gains,"),
    ("matrix/_extremes.py", "(a.values < tops - self", "(a.values < tops + self"),
    ("matrix/_extremes.py", "np.flatnonzero(part.is_nonzero)", "np.arange(len(part.squares))"),
    ("matrix/_spectrum.py", "sums.count * np.outer", "np.outer"),
    ("matrix/_spectrum.py", "if found.is_sharp(k):", "if True:"),
    ("matrix/_spectrum.py", "begin = part.start - first * BLOCK", "begin = 0"),
    ("least_squares/_unexplained.py", "a.residual + b.residual", "a.residual"),
    ("methods/_screening.py", "if rest.residual >= left.residual:", "if True:"),
    ("methods/_screening.py", "np.square(reach / lengths[nearest])", "np.square(reach)"),
    ("matrix/_reducers.py", "min(filter(None, (a.first_bad, b.first_bad)), default=None)", "a.first_bad"),
    ("_kernels/distances.py", "doubt * squares[j] >= levels[k]", "doubt * squares[j] > 9 * levels[k]"),
    ("_kernels/distances.py", "for k in range(i, m):", "for k in range(m, m):"),
    ("matrix/_stored.py", "start = M.offset - M.offset % mmap.ALLOCATIONGRANULARITY", "start = M.offset"),
    ("matrix/_stored.py", "seek(self.offset + k * self.strides[0]", "seek(k * self.strides[0]"),
]


def outdated():
    """Mutants whose line has changed since they were written."""
    return [(name, old) for name, old, _ in MUTANTS if old not in (SOURCES / name).read_text()]


def suite_for(name):
    """The tests that should notice a break in this file, those of the same name first."""
    suite = CHUNKS if name.startswith(MATRIX) else TUNING if name.startswith(TUNED) else SUITE
    return sorted(suite, key=lambda file: file != f"test_{Path(name).stem.strip('_')}.py")


def fate(mutant, place):
    """What the tests say on the copy of the sources in `place` with one line changed.

    "SURVIVED" if all tests pass, "caught" if one fails, "no end" if they take too long, as with a loop that
    no longer ends. The limit is on processor time, so that a busy machine does not matter.

    The copy is kept from one mutant to the next, so that compiled kernels are too: they are thrown away
    only when a kernel changes.
    """
    name, old, new = mutant
    path = place / "sepnmf" / name
    source, stamp = path.read_text(), path.stat()
    path.write_text(source.replace(old, new, 1))
    env = os.environ | {"PYTHONPATH": str(place), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0"]
    command += ["--override-ini", "addopts=--import-mode=importlib"]
    limited = ["sh", "-c", f'ulimit -t {MOST_SECONDS}; exec "$@"', "sh", *command]
    tests = [str(ROOT / "tests" / file) for file in suite_for(name)]
    forget_kernels(name, place)
    try:
        run = subprocess.run(
            limited + tests, env=env, cwd=ROOT, capture_output=True, timeout=20 * MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "no end"
    finally:
        path.write_text(source)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        forget_kernels(name, place)
    if run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "no end"
    if run.returncode not in (0, 1):
        sys.exit(run.stdout.decode()[-2000:] + run.stderr.decode()[-2000:])
    return "caught" if run.returncode else "SURVIVED"


def forget_kernels(name, place):
    """Throw compiled kernels away if they change: those of this file, and those that it is compiled into."""
    kernels = place / "sepnmf" / "_kernels"
    stale = {Path(name).stem} if name.startswith("_kernels") else set()
    while True:
        importing = {
            path.stem
            for path in kernels.glob("*.py")
            if any(
                re.search(rf"^from sepnmf\._kernels.*\b{stem}\b", path.read_text(), re.M) for stem in stale
            )
        }
        if importing <= stale:
            break
        stale |= importing
    for stem in stale:
        for path in (kernels / "__pycache__").glob(f"{stem}.*"):
            path.unlink()


def run_some(mutants):
    """Try mutants one after the other; the number that survive."""
    survivors = 0
    with tempfile.TemporaryDirectory() as place:
        sources = Path(place, "sepnmf")
        shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("__pycache__"))
        for mutant in mutants:
            found = fate(mutant, Path(place))
            survivors += found == "SURVIVED"
            name, old, new = mutant
            print(f"{found:8}  {name}: {old}  →  {new}", flush=True)  # noqa: T201
    return survivors


def main():
    if outdated():
        sys.exit(f"update tests/mutants.py, these lines have changed: {outdated()}")
    wanted = sys.argv[1:]
    mutants = [m for m in MUTANTS if not wanted or any(word in m[0] for word in wanted)]
    workers = min(os.cpu_count() or 1, 2)
    with ThreadPoolExecutor(workers) as pool:
        survivors = sum(pool.map(run_some, (mutants[k::workers] for k in range(workers))))
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
