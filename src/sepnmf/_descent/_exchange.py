"""Descent on the residual of nonnegative least squares, by exchanging one anchor at a time."""

from typing import NamedTuple

import numpy as np

from sepnmf._kernels import exchange as kernels
from sepnmf._parallel import Workers
from sepnmf._typing import Floats, Ints
from sepnmf.matrix import NONE_KNOWN, InMemory

BLOCK = 512  # candidates whose products with the residuals are held at a time
# An exchange must lower the residual by this part of it.
LEAST_GAIN = 1e-6
# A gain of less than this part of the squared lengths of the columns concerned is rounding.
ROUNDING = 16 * float(np.finfo(np.float64).eps)
# A candidate with less than this part of its squared length outside the span of the others is one of them.
DISTINCT = 1e-10
# Candidates shorter than this part of the longest, squared, have no direction of their own.
SHORTEST = 1e-12


class Exchanged(NamedTuple):
    """Anchors that no single exchange improves, and how they were found."""

    anchors: Ints  # columns of the candidates; each is where the anchor was that it replaced
    residual: float  # Σ_j w_j min_{h ≥ 0} ‖d_j − C[:, anchors]h‖²
    start: float  # the same for the start
    n_exchanges: int


def exchange_anchors(
    D: InMemory,
    C: InMemory,
    start: Ints,
    weights: Floats | None = None,
    *,
    products: Floats | None = None,
    fixed: Ints = NONE_KNOWN.include,
    most: int = 1000,
    n_jobs: int | None = None,
) -> Exchanged:
    """Descend from the columns `start` of C: exchange one at a time as long as that explains D better.

    The anchors are taken in turn; each is replaced by the candidate that lowers
    Σ_j w_j min_{h ≥ 0} ‖d_j − Wh‖² most, until a whole turn has changed nothing or `most` exchanges are made.
    `products` are CᵀD, if they are known already. The columns `fixed` of C are not exchanged. C and D may be
    sparse: only inner products are used.
    """
    n = D.shape[1]
    F = inner_products(C, D) if products is None else products
    w = np.ones(n) if weights is None else weights
    squares, long = D.squares, C.squares
    lengths = np.sqrt(squares)
    anchors = np.array(start, dtype=np.int64)
    r = len(anchors)
    K = inner_products(C, C.part(anchors))
    B = np.ascontiguousarray(F[anchors].T)
    H, E = np.zeros((n, r)), np.empty(n)
    bound = np.empty(len(F))
    count, quiet, k, nothing = 0, 0, -1, np.empty(0)
    with Workers(n, n_jobs) as columns:
        columns.run(kernels.solve, K[anchors], B, squares, -1, H, E)
        residual = first = float(w @ E)
        while quiet < r and count < most:
            k = (k + 1) % r
            if anchors[k] in fixed:
                quiet += 1
                continue
            others = np.delete(np.arange(r), k)
            H_k, E_k, G = H.copy(), E.copy(), K[anchors]
            touched = np.flatnonzero(H[:, k] > 0)
            H_t, E_t = H[touched], E[touched]
            kernels.solve(G, B[touched], squares[touched], k, H_t, E_t, 0, len(touched), nothing)
            H_k[touched], E_k[touched] = H_t, E_t
            rounding = ROUNDING * float(w[touched] @ squares[touched])
            need = float(w @ (E_k - E)) + max(LEAST_GAIN * residual, rounding)
            perp = C.outside_span(anchors[others], DISTINCT)
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
            before = anchors[k], K[:, k].copy(), B[:, k].copy(), H, E
            anchors[k] = found
            K[:, k] = inner_products(C, C.part(np.array([found])))[:, 0]
            B[:, k] = F[found]
            H, E = H_k, E_k
            columns.run(kernels.solve, K[anchors], B, squares, -1, H, E)
            new = float(w @ E)
            if new >= residual:  # the gain was rounding: without this, exchanges go round in circles
                anchors[k], K[:, k], B[:, k], H, E = before
                quiet += 1
                continue
            residual, count, quiet = new, count + 1, 0
    return Exchanged(anchors, residual, first, count)


def inner_products(A: InMemory, B: InMemory) -> Floats:
    """AᵀB, dense."""
    return np.ascontiguousarray(A.inner(B), dtype=np.float64)
