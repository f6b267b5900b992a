"""sepnmf.nnls against SciPy's in a loop: agreement, and how many times faster.

    python benchmarks/nnls.py

Times are the best of several rounds in which both are run in turn.
"""

import time

import numpy as np
from scipy import optimize

import sepnmf

R, N_COLUMNS, ROUNDS = 10, 10_000, 3


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"r = {R}, {N_COLUMNS} columns; error is relative to the largest entry of H")
    for m in (50, 200):
        W = rng.random((m, R))
        mixtures = W @ rng.dirichlet(np.ones(R), N_COLUMNS).T
        cases = {
            "uniform": rng.random((m, N_COLUMNS)),
            "noisy mixtures": mixtures + 0.05 * rng.standard_normal(mixtures.shape),
            "exact mixtures": mixtures,
        }
        for name, M in cases.items():
            sepnmf.nnls(W, M[:, :R])  # compiles
            ours, theirs = [], []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                H = sepnmf.nnls(W, M)
                ours.append(time.perf_counter() - start)
                start = time.perf_counter()
                expected = np.stack([optimize.nnls(W, column)[0] for column in M.T], axis=1)
                theirs.append(time.perf_counter() - start)
            error = np.abs(H - expected).max() / expected.max()
            print(
                f"m = {m:<4} {name:<15} error {error:.1e}   SciPy {1e3 * min(theirs):6.1f} ms   "
                f"sepnmf {1e3 * min(ours):5.2f} ms   {min(theirs) / min(ours):5.1f}× faster"
            )


if __name__ == "__main__":
    main()
