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
    "test_paper_mode.py",
    "test_omega.py",
    "test_proximal_maps.py",
    "test_criticality.py",
]

# File under src/sepnmf, what stands there, what to put instead.
MUTANTS = [
    # ADMM-P, update by update
    ("methods/admm.py", "A = Y - U / rho1", "A = Y + U / rho1"),
    ("methods/admm.py", "(rho2 * Z - V)", "(rho2 * Z + V)"),
    ("methods/admm.py", "(rho3 * W - S)", "(rho3 * W + S)"),
    ("methods/admm.py", "ratio_step(lam / total, Z)", "ratio_step(lam * total, Z)"),
    ("methods/admm.py", "update_z(X + V / rho2", "update_z(X - V / rho2"),
    ("methods/admm.py", "lam * powered(size, p) / rho2", "lam * powered(size, p) * rho2"),
    ("methods/admm.py", "omega.project(X + S / rho3", "omega.project(X - S / rho3"),
    ("methods/admm.py", "V = V + rho2 * (X - Z)", "V = V - rho2 * (X - Z)"),
    ("methods/admm.py", "S = S + rho3 * (X - W)", "S = S - rho3 * (X - W)"),
    ("methods/admm.py", "problem.fit.prox(X + U / rho1", "problem.fit.prox(X - U / rho1"),
    ("methods/admm.py", "U = U + rho1 * (X - Y)", "U = U - rho1 * (X - Y)"),
    ("methods/admm.py", "if run.change(X, X_last) < run.inner_tol", "if run.change(X, X_last) < 0"),
    ("methods/admm.py", "met=change < run.tol", "met=change > run.tol"),
    ("methods/admm.py", "(1.0 + s + 1.0 / s) / 3.0", "(1.0 + s - 1.0 / s) / 3.0"),
    ("methods/admm.py", "np.sqrt(x + 4.0)", "np.sqrt(x)"),
    ("methods/admm.py", "np.cbrt(d) / np.linalg.norm(P)", "d / np.linalg.norm(P)"),
    # DCA
    (
        "methods/dca.py",
        "alpha = ratio_weight * powered(size, p) / length",
        "alpha = -ratio_weight * powered(size, p) / length",
    ),
    ("methods/dca.py", "(beta + alpha / length)", "(beta + alpha)"),
    ("methods/dca.py", "rho * (V - Z)) / sigma", "rho * (V + Z)) / sigma"),
    ("methods/dca.py", "prox_omega(X + Z, gamma", "prox_omega(X - Z, gamma"),
    ("methods/dca.py", "project_after_prox(problem, X + Z", "project_after_prox(problem, X - Z"),
    ("methods/dca.py", "Z = Z + X - V", "Z = Z - X + V"),
    ("methods/dca.py", "if run.change(X, X_last) < run.inner_tol", "if run.change(X, X_last) < 0"),
    ("methods/dca.py", "met=change <= run.tol", "met=change > run.tol"),
    ("methods/dca.py", "problem.lam / rho, beta + rho", "problem.lam / rho, beta - rho"),
    # The model
    ("model/problem.py", "C + self.R.T @", "C - self.R.T @"),
    ("model/problem.py", "self.squares + sigma", "self.squares - sigma"),
    ("model/problem.py", "weight * numerator / length**3", "-weight * numerator / length**3"),
    ("model/problem.py", "* numerator / length**2", "* numerator / length**3"),
    ("model/problem.py", "point - step * (", "point + step * ("),
    ("model/norms.py", "total / (2 * kg + 1)", "total / (2 * kg - 1)"),
    ("model/norms.py", "(-1 + np.sqrt(1 + 12 * kg * total))", "(1 + np.sqrt(1 + 12 * kg * total))"),
    ("model/norms.py", "np.cbrt((total - root) / (8 * kg))", "np.cbrt((total + root) / (8 * kg))"),
    ("model/norms.py", "S_last, S = S, ahead + V - twin", "S_last, S = S, ahead - V + twin"),
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
    ("kernels/omega.py", "top += u * value", "top -= u * value"),
    ("kernels/omega.py", "bottom += u * u", "bottom += u"),
    ("kernels/omega.py", "slope -= clipped * clipped / squares", "slope += clipped * clipped / squares"),
    ("kernels/omega.py", "shorten = 1.0 - tau / norm", "shorten = 1.0 + tau / norm"),
    ("kernels/omega.py", "error = excess * norm - tau", "error = excess * norm + tau"),
    ("kernels/omega.py", "rate = -free / (theta * norm)", "rate = free / (theta * norm)"),
    # Picking
    ("selection.py", "np.argsort(-scores", "np.argsort(scores"),
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
    tests = [str(ROOT / "tests" / file) for file in SUITE]
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
