"""The step of an accelerated projected gradient method on Ω, fused over a block of rows."""

import numpy as np
from numba import njit

LANES = 64  # partial sums side by side: the compiler turns them into vector instructions


@njit(cache=True, nogil=True)
def overhang(z, w, level, top, bottom):  # type: ignore[no-untyped-def]
    """Σ w_j z_j and Σ w_j² over the entries z_j above w_j·level; `top` and `bottom` are scratch."""
    for k in range(LANES):
        top[k] = 0.0
        bottom[k] = 0.0
    whole = z.size // LANES * LANES
    for first in range(0, whole, LANES):
        z_block, w_block = z[first : first + LANES], w[first : first + LANES]
        for k in range(LANES):
            weight = w_block[k] if z_block[k] > w_block[k] * level else 0.0
            top[k] += weight * z_block[k]
            bottom[k] += weight * weight
    for j in range(whole, z.size):
        weight = w[j] if z[j] > w[j] * level else 0.0
        top[j - whole] += weight * z[j]
        bottom[j - whole] += weight * weight
    return top.sum(), bottom.sum()


@njit(cache=True, nogil=True)
def squares(x, y, moved, length):  # type: ignore[no-untyped-def]
    """Σ (x_j − y_j)² and Σ y_j²; `moved` and `length` are scratch."""
    for k in range(LANES):
        moved[k] = 0.0
        length[k] = 0.0
    whole = x.size // LANES * LANES
    for first in range(0, whole, LANES):
        x_block, y_block = x[first : first + LANES], y[first : first + LANES]
        for k in range(LANES):
            moved[k] += (x_block[k] - y_block[k]) ** 2
            length[k] += y_block[k] ** 2
    for j in range(whole, x.size):
        moved[j - whole] += (x[j] - y[j]) ** 2
        length[j - whole] += y[j] ** 2
    return moved.sum(), length.sum()


@njit(cache=True, nogil=True)
def advance(first, X, X_old, G, beta, step, cost, w, diag, diag_old, sizes):  # type: ignore[no-untyped-def]
    """Write P_Ω(Y − step·G − diag(cost)), with Y = X + β(X − X_old), over X_old.

    G holds the rows of the gradient from `first` on and is spoilt; only those rows are written, and none
    depends on another. `diag` and `diag_old` are the diagonals of X and X_old; where both are zero so
    are the rows, which are then not touched. As in `omega.diagonal`, Newton finds the diagonal
    entry t of a row, from that of Y: the root of t − z_i − Σ_j u_j max(z_j − u_j t, 0), u_j = w_j/w_i,
    concave and increasing. `sizes` receives the squared change and the squared length of each row.
    """
    top, bottom = np.empty(LANES), np.empty(LANES)
    for k in range(G.shape[0]):
        i = first + k
        x, new, z = X[i], X_old[i], G[k]
        empty = diag[i] == 0.0 and diag_old[i] == 0.0
        if empty:
            for j in range(z.size):
                z[j] *= -step
        else:
            for j in range(z.size):
                z[j] = x[j] + beta * (x[j] - new[j]) - step * z[j]
        own, z[i] = z[i] - cost[i], 0.0  # a zero is never above the level
        scale = 1.0 / w[i]
        t = min(max(diag[i] + beta * (diag[i] - diag_old[i]), 0.0), 1.0)
        for newton in range(z.size + 2):
            pull, weight = overhang(z, w, t * scale, top, bottom)
            root = min(max((own + pull * scale) / (1.0 + weight * scale * scale), 0.0), 1.0)
            if root == t or (newton > 0 and root < t):
                break
            t = root
        diag_old[i] = t
        sizes[i, 0] = sizes[i, 1] = 0.0
        if empty and t == 0.0:
            continue
        level = t * scale
        for j in range(z.size):
            new[j] = min(max(z[j], 0.0), w[j] * level)
        new[i] = t
        sizes[i, 0], sizes[i, 1] = squares(x, new, top, bottom)
