"""Least squares over h ≥ 0, or over h ≥ 0 with Σh = 1, for any atoms: dependent, repeated or zero.

min ‖c − Rh‖ for each row c of C. The atoms, the columns of R, are the rows of `atoms`; G = RᵀR and b =
Rᵀc. The passive set P (the entries of h that may be positive) comes with R[:, P] = QT: the rows of
`basis` are Qᵀ, T is upper triangular and stored by columns (row p of `T` is its p-th column), y = Qᵀc, e
= T⁻ᵀ1.
"""

import math

from numba import njit

EPS = 2.0**-52


@njit(cache=True, nogil=True)
def append(j, p, atoms, length, c, P, basis, T, y, e):  # type: ignore[no-untyped-def]
    """Make atom j the p-th of the passive set; return whether it is independent of the others.

    Orthogonalised twice: the factors are as good as Householder's, and normal equations, whose condition
    number is the square of R's, are not used.
    """
    q = c.size
    v, column = basis[p], T[p]
    for i in range(q):
        v[i] = atoms[j, i]
    for k in range(p):
        column[k] = 0.0
    for _ in range(2):
        for k in range(p):
            dot = 0.0
            for i in range(q):
                dot += basis[k, i] * v[i]
            column[k] += dot
            for i in range(q):
                v[i] -= dot * basis[k, i]
    square = 0.0
    for i in range(q):
        square += v[i] * v[i]
    rest = math.sqrt(square)
    if rest <= 10.0 * q * EPS * length:
        return False
    column[p] = rest
    dot, one = 0.0, 1.0
    for i in range(q):
        v[i] /= rest
        dot += v[i] * c[i]
    for k in range(p):
        one -= column[k] * e[k]
    y[p], e[p], P[p] = dot, one / rest, j
    return True


@njit(cache=True, nogil=True)
def solve(p, simplex, T, y, e, z):  # type: ignore[no-untyped-def]
    """Write the least-squares solution on the passive set into z; return the multiplier of Σz = 1."""
    mu = 0.0
    if simplex:
        top, bottom = -1.0, 0.0
        for k in range(p):
            top += e[k] * y[k]
            bottom += e[k] * e[k]
        mu = top / bottom
    for k in range(p):
        z[k] = y[k] - mu * e[k]
    for k in range(p - 1, -1, -1):
        z[k] /= T[k, k]
        for i in range(k):
            z[i] -= T[k, i] * z[k]
    return mu


@njit(cache=True, nogil=True)
def keep_positive(p, value, atoms, lengths, c, P, basis, T, y, e, h):  # type: ignore[no-untyped-def]
    """Drop the atoms of the passive set whose `value` is not positive; return how many stay."""
    kept = 0
    while kept < p and value[kept] > 0.0:
        kept += 1
    for k in range(kept, p):
        j = P[k]
        if value[k] > 0.0 and append(j, kept, atoms, lengths[j], c, P, basis, T, y, e):
            kept += 1
        else:
            h[j] = 0.0
    return kept


@njit(cache=True, nogil=True)
def write_slopes(simplex, G, lengths, b, h, slopes):  # type: ignore[no-untyped-def]
    """Write how fast the objective falls along each atom, per unit length; return the scale of its error."""
    scale, mu = 0.0, 0.0
    for j in range(b.size):
        slopes[j] = b[j]
    for k in range(b.size):
        if h[k] > 0.0:
            scale += lengths[k] * h[k]
            for j in range(b.size):
                slopes[j] -= G[k, j] * h[k]
    if simplex:
        for k in range(b.size):
            mu += h[k] * slopes[k]
    for j in range(b.size):
        slopes[j] = (slopes[j] - mu) / lengths[j] if lengths[j] > 0.0 else 0.0
    return scale


@njit(cache=True, nogil=True)
def least_squares(G, B, atoms, C, simplex, H, P, barred, basis, T, work):  # type: ignore[no-untyped-def]
    """Solve for every row of B and C, starting from the rows of H and writing into them.

    A row that is optimal already is left alone. Otherwise its support is the first passive set: what gets
    a nonpositive weight there is dropped until nothing does. From there on it is the active-set method of
    Lawson and Hanson: let the steepest atom in, walk towards the least-squares solution on the passive
    set, drop what becomes zero on the way. The objective falls with every atom let in, so no passive set
    comes back; the bound on their number is for rounding errors only.
    """
    n, r = B.shape
    y, e, z, slopes, lengths = work[0], work[1], work[2], work[3], work[4]
    tol = 10.0 * (r + C.shape[1]) * EPS
    for j in range(r):
        lengths[j] = math.sqrt(G[j, j])
    for col in range(n):
        b, c, h = B[col], C[col], H[col]
        size = 0.0
        for i in range(c.size):
            size += c[i] * c[i]
        size = math.sqrt(size)

        bound = tol * (size + write_slopes(simplex, G, lengths, b, h, slopes))
        optimal, p = True, 0
        for j in range(r):
            if slopes[j] > bound or (h[j] > 0.0 and slopes[j] < -bound):
                optimal = False
            p += h[j] > 0.0
        if optimal and (p > 0 or not simplex):
            continue

        p = 0
        for j in range(r):
            barred[j] = False
            if h[j] > 0.0 and append(j, p, atoms, lengths[j], c, P, basis, T, y, e):
                p += 1
            h[j] = 0.0
        if simplex and p == 0:
            nearest = 0
            for j in range(1, r):
                if G[j, j] - 2.0 * b[j] < G[nearest, nearest] - 2.0 * b[nearest]:
                    nearest = j
            append(nearest, 0, atoms, lengths[nearest], c, P, basis, T, y, e)
            p = 1
        before = -1
        while p != before:
            solve(p, simplex, T, y, e, z)
            before = p
            p = keep_positive(p, z, atoms, lengths, c, P, basis, T, y, e, h)
        for k in range(p):
            h[P[k]] = z[k]

        for _ in range(100 * r):
            best = tol * (size + write_slopes(simplex, G, lengths, b, h, slopes))
            enters = -1
            for j in range(r):
                if h[j] == 0.0 and not barred[j] and slopes[j] > best:
                    best, enters = slopes[j], j
            if enters < 0:
                break
            # Barred until h changes: its slope is rounding error, for it cannot lower the objective.
            barred[enters] = True
            if not append(enters, p, atoms, lengths[enters], c, P, basis, T, y, e):
                continue
            solve(p + 1, simplex, T, y, e, z)
            if z[p] <= 0.0:
                continue
            p += 1
            for j in range(r):
                barred[j] = False
            while True:
                step, blocking = 1.0, -1
                for k in range(p):
                    if z[k] <= 0.0 and h[P[k]] < step * (h[P[k]] - z[k]):
                        step, blocking = h[P[k]] / (h[P[k]] - z[k]), k
                for k in range(p):
                    if blocking >= 0:
                        z[k] = 0.0 if k == blocking else h[P[k]] + step * (z[k] - h[P[k]])
                    h[P[k]] = z[k]
                if blocking < 0:
                    break
                p = keep_positive(p, z, atoms, lengths, c, P, basis, T, y, e, h)
                solve(p, simplex, T, y, e, z)
