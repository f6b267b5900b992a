"""Descent on the residual of nonnegative least squares, by exchanging one anchor at a time."""

from typing import NamedTuple

import numpy as np

from sepnmf.columns import Columns, is_sparse, squared_lengths
from sepnmf.kernels import exchange as kernels
from sepnmf.parallel import Workers
from sepnmf.typing import Floats, Ints

BLOCK = 512  # candidates whose products with the residuals are held at a time
# An exchange must lower the residual by this part of it.
LEAST_GAIN = 1e-6
# A candidate with less than this part of its squared length outside the span of the others is one of them.
DISTINCT = 1e-10
# Candidates shorter than this part of the longest, squared, have no direction of their own.
SHORTEST = 1e-12


class Exchanged(NamedTuple):
    """Anchors between which no single exchange helps, and how they were come by."""

    anchors: Ints  # columns of the candidates, each in the place of the start's it came from
    residual: float  # Σ_j w_j min_{h ≥ 0} ‖d_j − C[:, anchors]h‖²
    start: float  # the same for the start
    n_exchanges: int


def exchange_anchors(
    D: Columns,
    C: Columns,
    start: Ints,
    weights: Floats | None = None,
    *,
    products: Floats | None = None,
    most: int = 1000,
    n_jobs: int | None = None,
) -> Exchanged:
    """From the columns `start` of C, exchange one for another as long as that explains D better.

    Anchors are taken in turn; each goes for the candidate that lowers Σ_j w_j min_{h ≥ 0} ‖d_j − Wh‖² most,
    until a whole turn has changed nothing or `most` exchanges are made. `products` are CᵀD, if at hand. Both
    may be sparse: everything is done with inner products.
    """
    n = D.shape[1]
    F = inner_products(C, D) if products is None else products
    w = np.ones(n) if weights is None else weights
    squares, long = squared_lengths(D), squared_lengths(C)
    lengths = np.sqrt(squares)
    anchors = np.array(start, dtype=np.int64)
    r = len(anchors)
    K = inner_products(C, C[:, anchors])
    B = np.ascontiguousarray(F[anchors].T)
    H, E = np.zeros((n, r)), np.empty(n)
    bound = np.empty(len(F))
    count, quiet, k, nothing = 0, 0, -1, np.empty(0)
    with Workers(n, n_jobs) as columns:
        columns.run(kernels.solve, K[anchors], B, squares, -1, H, E)
        residual = first = float(w @ E)
        while quiet < r and count < most:
            k = (k + 1) % r
            others = np.delete(np.arange(r), k)
            H_k, E_k, G = H.copy(), E.copy(), K[anchors]
            touched = np.flatnonzero(H[:, k] > 0)
            H_t, E_t = H[touched], E[touched]
            kernels.solve(G, B[touched], squares[touched], k, H_t, E_t, 0, len(touched), nothing)
            H_k[touched], E_k[touched] = H_t, E_t
            need = float(w @ (E_k - E)) + LEAST_GAIN * residual
            perp = outside_span(C, C[:, anchors[others]], long)
            perp[(long <= SHORTEST * long.max())] = perp[anchors] = -1.0
            for top in range(0, len(F), BLOCK):
                block = slice(top, top + BLOCK)
                kernels.gains(F[block] - K[block] @ H_k.T, long[block], perp[block], w, E_k, bound[block])
            order = np.flatnonzero(bound > need)
            order = order[np.argsort(-bound[order], kind="stable")]
            if len(order) == 0:
                quiet += 1
                continue
            candidates = kernels.Candidates(F, K, long, perp, bound)
            problem, solution = kernels.Problem(G, B, lengths, w), kernels.Solution(H_k, E_k)
            found = kernels.best_exchange(candidates, order, problem, solution, k, need)
            if found < 0:
                quiet += 1
                continue
            anchors[k] = found
            K[:, k] = inner_products(C, C[:, [found]])[:, 0]
            B[:, k] = F[found]
            H = H_k
            columns.run(kernels.solve, K[anchors], B, squares, -1, H, E)
            residual = float(w @ E)
            count, quiet = count + 1, 0
    return Exchanged(anchors, residual, first, count)


def inner_products(A: Columns, B: Columns) -> Floats:
    """AᵀB, dense."""
    product = A.T @ B
    return np.ascontiguousarray(product.toarray() if is_sparse(product) else product, dtype=np.float64)


def outside_span(C: Columns, W: Columns, squares: Floats) -> Floats:
    """Squared length of what each column of C has outside the span of W; 0 where that is rounding error."""
    if W.shape[1] == 0:
        return squares.copy()
    rest: Floats
    if is_sparse(C):
        rest = squares - np.square(coordinates(inner_products(W, W), inner_products(W, C))).sum(axis=0)
    else:
        rest = squares - np.square(np.linalg.qr(W)[0].T @ C).sum(axis=0)
    rest[rest <= DISTINCT * squares] = 0.0
    return rest


def coordinates(G: Floats, B: Floats) -> Floats:
    """Coordinates of columns in an orthonormal basis of atoms, from the inner products G and B with these."""
    values, vectors = np.linalg.eigh(G)
    kept = values > DISTINCT * values[-1]
    result: Floats = (vectors[:, kept].T @ B) / np.sqrt(values[kept, None])
    return result
