"""Distances of columns from nested subspaces, and squared lengths of columns."""

from sepnmf._kernels._compiled import compiled


@compiled()
def contenders(P, squares, levels, doubt, left, flags):  # type: ignore[no-untyped-def]
    """Flag the columns whose squared distance from one of the subspaces may be at least its level.

    The k-th subspace is spanned by the first k vectors of an orthonormal basis, k = 0, 1, …; row i of P has
    the coordinates of the columns along the i-th vector. The squared distance of column j from the k-th
    subspace is squares[j] − Σ_{i<k} P[i, j]², with an error of at most doubt · squares[j], and is compared
    with levels[k]. Writes the squared distances from the last subspace into `left`, and the flags.
    """
    n = squares.size
    for j in range(n):
        left[j] = squares[j]
        flags[j] = left[j] + doubt * squares[j] >= levels[0]
    for k in range(1, levels.size):
        for j in range(n):
            left[j] -= P[k - 1, j] * P[k - 1, j]
            flags[j] |= left[j] + doubt * squares[j] >= levels[k]


@compiled()
def squared_lengths(X, bits, squares):  # type: ignore[no-untyped-def]
    """Compute the squared lengths of the columns of X, reading its contiguous rows once, four at a time.

    `bits` is a view of X as integers, which have the signs of the entries; returns whether an entry is
    negative (minus zero counts as negative). Combining the bits by "or" is vectorised and costs next to
    nothing, unlike a minimum.
    """
    m, n = X.shape
    signs = 0
    for start in range(0, n, 2048):  # so many columns stay in the L1 cache
        stop = min(start + 2048, n)
        for j in range(start, stop):
            squares[j] = 0.0
        i = 0
        while i + 4 <= m:
            for j in range(start, stop):
                a, b, c, d = X[i, j], X[i + 1, j], X[i + 2, j], X[i + 3, j]
                squares[j] += (a * a + b * b) + (c * c + d * d)
                signs |= (bits[i, j] | bits[i + 1, j]) | (bits[i + 2, j] | bits[i + 3, j])
            i += 4
        for k in range(i, m):
            for j in range(start, stop):
                squares[j] += X[k, j] * X[k, j]
                signs |= bits[k, j]
    return signs < 0
