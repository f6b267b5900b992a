"""One FGNSR iteration against its own two matrix products, n = 1292, m = 150; the ratio must stay under 1.5.

    python benchmarks/fgnsr.py

Rounds of products and of iterations alternate and each figure is the best single one, which other work on
the machine disturbs least.
"""

import time
from collections.abc import Callable

import numpy as np

from sepnmf._parallel import Workers
from sepnmf._validation import check_weights
from sepnmf.datasets import make_dirichlet
from sepnmf.methods._fgnsr import ALPHA, Iterate, momentum
from sepnmf.model._problem import Fit

M, N, R = 150, 1292, 10
ROUNDS, REPEATS = 20, 10


def seconds(call: Callable[[], object]) -> float:
    """Return the best of REPEATS calls."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    data, _ = make_dirichlet(0.05, m=M, n=N, r=R, random_state=0)
    fit = Fit(data)
    Y, E = np.random.default_rng(0).random((N, N)), np.empty_like(fit.R)
    G = np.empty_like(Y)
    weights, lipschitz = check_weights(None, data), float(fit.squares[0, 0])
    workers = Workers(N)
    with workers:
        at = Iterate(fit.R, weights, lipschitz, workers)
    price = np.full(N, 1e-3)
    alpha = ALPHA

    def products() -> None:
        np.matmul(fit.R, Y, out=E)
        np.matmul(fit.R.T, E, out=G)

    def iteration() -> None:
        nonlocal alpha
        alpha, beta = momentum(alpha)
        at.advance(beta, price)
        at.misfit()

    product, step = np.inf, np.inf
    for _ in range(ROUNDS):
        product = min(product, seconds(products))
        with workers:
            step = min(step, seconds(iteration))
    print(f"{M} × {N}, {workers.count} threads, trace {at.diag.sum():.1f}")
    print(f"two products   {product * 1e3:6.2f} ms")
    print(f"one iteration  {step * 1e3:6.2f} ms")
    print(f"ratio          {step / product:6.2f}")


if __name__ == "__main__":
    main()
