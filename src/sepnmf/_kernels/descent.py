"""Coordinate descent for min ‖c − Rh‖ over h ≥ 0, for many right-hand sides."""

from sepnmf._kernels._compiled import compiled


@compiled()
def descend(G, B, tol, max_iter, H):  # type: ignore[no-untyped-def]
    """Sweep over the entries of each row of H until none changes by more than `tol` times the largest.

    G = RᵀR has ones on its diagonal, zeros where a column of R is zero; the rows of B are Rᵀc. Returns the
    number of rows that have not converged after `max_iter` sweeps.
    """
    n, r = B.shape
    unconverged = 0
    for col in range(n):
        b, h = B[col], H[col]
        move = size = 0.0
        for _ in range(max_iter):
            move = size = 0.0
            for j in range(r):
                if G[j, j] > 0.0:
                    slope = b[j]
                    for i in range(r):
                        slope -= G[j, i] * h[i]
                    new = max(h[j] + slope, 0.0)
                    move = max(move, abs(new - h[j]))
                    size = max(size, new)
                    h[j] = new
            if move <= tol * size:
                break
        unconverged += move > tol * size
    return unconverged
