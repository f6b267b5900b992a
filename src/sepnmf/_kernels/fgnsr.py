"""Fused step of an accelerated projected gradient method on Ω, for a block of rows."""

from sepnmf._kernels._compiled import compiled
from sepnmf._kernels.omega import diagonal
from sepnmf._kernels.splitting import lengths


@compiled()
def advance(first, iterates, G, beta, step, cost, w, sizes):  # type: ignore[no-untyped-def]
    """Write P_Ω(Y − step·G − diag(cost)), with Y = X + β(X − X_old), over X_old.

    `iterates` is (X, diag, X_old, diag_old), the last two iterates with their diagonals; a row of X is zero
    if its diagonal entry is. G has the rows of the gradient from `first` on and is overwritten; only those
    rows are written, and none depends on another. Rows that are zero and stay so are not touched. The
    search for a row's diagonal entry starts from that of Y. `sizes` receives the squared change and the
    squared length of each row.
    """
    X, diag, X_old, diag_old = iterates
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
        own, z[i] = z[i] - cost[i], 0.0
        start = min(max(diag[i] + beta * (diag[i] - diag_old[i]), 0.0), 1.0)
        t = diagonal(z, own, w, w[i], 1.0, start)
        diag_old[i] = t
        sizes[i, 0] = sizes[i, 1] = 0.0
        if empty and t == 0.0:
            continue
        level = t / w[i]
        for j in range(z.size):
            new[j] = min(max(z[j], 0.0), w[j] * level)
        new[i] = t
        sizes[i, 0], sizes[i, 1] = lengths(new, x)
