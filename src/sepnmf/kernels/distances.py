"""Distances of columns from growing spans."""

from numba import njit


@njit(cache=True, nogil=True)
def contenders(P, squares, levels, doubt, left, flags):  # type: ignore[no-untyped-def]
    """Flag the columns whose distance from one of the spans may reach that span's level.

    Row i of P has the coordinates of the columns along the i-th vector of an orthonormal basis. Behind k
    vectors, what is left of the squared length of column j is squares[j] − Σ_{i<k} P[i, j]², with an error
    of at most doubt · squares[j]; levels[k] is compared with it, for k up to the number of vectors. Writes
    what is left behind the last, and the flags; returns their number.
    """
    n = squares.size
    for j in range(n):
        left[j] = squares[j]
        flags[j] = left[j] + doubt * squares[j] >= levels[0]
    for k in range(1, levels.size):
        for j in range(n):
            left[j] -= P[k - 1, j] * P[k - 1, j]
            flags[j] |= left[j] + doubt * squares[j] >= levels[k]
    count = 0
    for j in range(n):
        count += flags[j]
    return count


@njit(cache=True, nogil=True)
def squared_lengths(X, bits, squares):  # type: ignore[no-untyped-def]
    """Find the squared lengths of the columns, in one reading of contiguous rows, four at a time.

    `bits` is the memory of X seen as integers, whose signs are those of the entries; returns whether one is
    negative (minus zero is). Signs can be joined in any order, so that they cost next to nothing; a minimum
    cannot.
    """
    m, n = X.shape
    signs = 0
    for start in range(0, n, 2048):  # what stays in the first cache
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
