"""One round of block principal pivoting for min ‖c − Rh‖ over h ≥ 0, for many right-hand sides at once.

A passive set (the entries of h that may be positive) is stored as an integer: bit j is set if it contains j.
"""

import math

import numpy as np

from sepnmf._kernels._compiled import compiled


@compiled()
def factor(G, P, p, L):  # type: ignore[no-untyped-def]
    """Write the Cholesky factor of G[P, P] into L, with the inverses of its diagonal on the diagonal."""
    for k in range(p):
        square = G[P[k], P[k]]
        for i in range(k):
            entry = G[P[k], P[i]]
            for j in range(i):
                entry -= L[k, j] * L[i, j]
            entry *= L[i, i]
            L[k, i] = entry
            square -= entry * entry
        L[k, k] = 1.0 / math.sqrt(square)


@compiled()
def solve(G, P, p, L, V):  # type: ignore[no-untyped-def]
    """Replace V = b[P] by the solution h on the passive set P[:p], in V[:p], and the other slopes Gh − b."""
    r, width = V.shape
    for k in range(p):
        for i in range(k):
            f = L[k, i]
            for t in range(width):
                V[k, t] -= f * V[i, t]
        f = L[k, k]
        for t in range(width):
            V[k, t] *= f
    for k in range(p - 1, -1, -1):
        for i in range(k + 1, p):
            f = L[i, k]
            for t in range(width):
                V[k, t] -= f * V[i, t]
        f = L[k, k]
        for t in range(width):
            V[k, t] *= f
    for k in range(p, r):
        for t in range(width):
            V[k, t] = -V[k, t]
        for i in range(p):
            f = G[P[k], P[i]]
            for t in range(width):
                V[k, t] += f * V[i, t]


@compiled()
def pivot(G, B, sizes, tol, order, sets, H, width):  # type: ignore[no-untyped-def]
    """Solve on the passive sets of the columns in `order`, then exchange all entries with the wrong sign.

    The diagonal of G is ones. Columns with the same set should be next to each other in `order`: a run of
    up to `width` of them shares one factor and is solved side by side. An entry of h becomes active
    when it is negative, and passive when its slope is below −tol·(‖c‖ + Σh), the rounding error of a zero
    slope; `sizes` has the ‖c‖. A column where nothing is exchanged is finished and written to H; the
    others are left at the front of `order`, and their number is returned.
    """
    r = len(G)
    P, L, V = np.empty(r, np.intp), np.empty((r, r)), np.zeros((r, width))
    one = np.int64(1)
    left, start = 0, 0
    while start < order.size:
        passive = sets[order[start]]
        stop = start + 1
        while stop < order.size and stop - start < width and sets[order[stop]] == passive:
            stop += 1
        p, rest = 0, r
        for j in range(r):
            if passive & (one << j):
                P[p] = j
                p += 1
            else:
                rest -= 1
                P[rest] = j
        factor(G, P, p, L)
        for t in range(stop - start):
            b = B[order[start + t]]
            for k in range(r):
                V[k, t] = b[P[k]]
        solve(G, P, p, L, V)
        for t in range(stop - start):
            col = order[start + t]
            scale, flip = sizes[col], np.int64(0)
            for k in range(p):
                flip |= np.int64(V[k, t] < 0.0) << P[k]
                scale += V[k, t]
            for k in range(p, r):
                flip |= np.int64(V[k, t] < -tol * scale) << P[k]
            if flip:
                sets[col] ^= flip
                order[left] = col
                left += 1
            else:
                h = H[col]
                for k in range(r):
                    h[P[k]] = V[k, t] if k < p else 0.0
        start = stop
    return left
