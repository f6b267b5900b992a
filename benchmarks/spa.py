"""SPA's time in units of the r products u @ M it cannot do without.

    python benchmarks/spa.py

Times are the best of several rounds in which both are run in turn.
"""

import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from sepnmf.matrix import as_matrix
from sepnmf.methods._spa import project_successively, spa

M_ROWS, N_COLUMNS, R, ROUNDS = 200, 20_000, 20, 7


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def products(M: np.ndarray, u: np.ndarray) -> None:
    for _ in range(R):
        u @ M


def main() -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((M_ROWS, R)) @ rng.dirichlet(np.ones(R), N_COLUMNS).T
    dense += 1e-3 * rng.random(dense.shape)
    thin = sparse.random(M_ROWS, N_COLUMNS, density=0.05, format="csc", rng=rng)
    cases = {
        "C order": dense,
        "Fortran order": np.asfortranarray(dense),
        "float32": dense.astype(np.float32),
        "l1-normalised": dense,
        "CSC, 5 %": sparse.csc_array(thin),
    }
    print(f"SPA at {M_ROWS} × {N_COLUMNS}, r = {R}; ratio to {R} products u @ M")
    for name, M in cases.items():
        u = rng.random(M_ROWS).astype(M.dtype)
        normalize = "l1" if name.startswith("l1") else "none"
        times = np.array(
            [
                (
                    seconds(lambda M=M, u=u: products(M, u)),
                    seconds(lambda M=M, how=normalize: project_successively(as_matrix(M), R, how)),
                    seconds(lambda M=M, how=normalize: spa(M, R, normalize=how)),
                )
                for _ in range(ROUNDS)
            ]
        ).min(axis=0)
        print(
            f"{name:<14} products {1e3 * times[0]:6.1f} ms   "
            f"algorithm {times[1] / times[0]:5.2f}×   with the checks of M {times[2] / times[0]:5.2f}×"
        )


if __name__ == "__main__":
    main()
