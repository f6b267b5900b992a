"""Passes over the symmetric matrices of which a polar factor is computed."""

from sepnmf._kernels._compiled import compiled


@compiled()
def distance_from_identity(G, c):  # type: ignore[no-untyped-def]
    """G ← E = I − G/c."""
    n = G.shape[0]
    for i in range(n):
        row = G[i]
        for j in range(n):
            row[j] = -row[j] / c
        row[i] += 1.0


@compiled()
def moments(E, square):  # type: ignore[no-untyped-def]
    """Sums of the squares, the cubes and the fourth powers of the eigenvalues of E, given E and E²."""
    second, third, fourth = 0.0, 0.0, 0.0
    for i in range(E.shape[0]):
        e, s = E[i], square[i]
        for j in range(E.shape[0]):
            second += e[j] * e[j]
            third += e[j] * s[j]
            fourth += s[j] * s[j]
    return second, third, fourth


@compiled()
def add_multiple(A, b, B, out):  # type: ignore[no-untyped-def]
    """Write A + bB into `out`."""
    for i in range(A.shape[0]):
        a, other, row = A[i], B[i], out[i]
        for j in range(row.size):
            row[j] = a[j] + b * other[j]


@compiled()
def polynomial(scale, e, E, s, square, f, fourth):  # type: ignore[no-untyped-def]
    """E ← scale·(I + eE + s·square + f·fourth)."""
    for i in range(E.shape[0]):
        row, second, last = E[i], square[i], fourth[i]
        for j in range(row.size):
            row[j] = scale * (e * row[j] + s * second[j] + f * last[j])
        row[i] += scale
