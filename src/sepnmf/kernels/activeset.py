"""Least squares over h ≥ 0, or over h ≥ 0 with Σh = 1, for any atoms: dependent, repeated or zero.

min ‖c − Rh‖ for each row c of C. The atoms, the columns of R, are the rows of `atoms`. The passive set P
(the entries of h that may be positive) comes with R[:, P] = QT: the rows of `basis` are Qᵀ, T is upper
triangular and stored by columns (row p of `T` is its p-th column), y = Qᵀc and e = T⁻ᵀ1.

Normal equations, whose condition number is the square of R's, are not used, and slopes are taken along a
residual that is orthogonal to Q to the last digit: what an atom can still gain is seen even if that
is a small part of the atom and of the residual.
"""

import math

from numba import njit

EPS = 2.0**-52


@njit(cache=True, nogil=True)
def orthogonalise(p, basis, v, dots):  # type: ignore[no-untyped-def]
    """Take from v its part along the basis, twice, and write it to `dots`; return what is left of ‖v‖."""
    for k in range(p):
        dots[k] = 0.0
    for _ in range(2):
        for k in range(p):
            dot = 0.0
            for i in range(v.size):
                dot += basis[k, i] * v[i]
            dots[k] += dot
            for i in range(v.size):
                v[i] -= dot * basis[k, i]
    square = 0.0
    for i in range(v.size):
        square += v[i] * v[i]
    return math.sqrt(square)


@njit(cache=True, nogil=True)
def append(j, p, atoms, length, c, P, basis, T, y, e):  # type: ignore[no-untyped-def]
    """Make atom j the p-th of the passive set; return whether it is independent of the others."""
    q = c.size
    v, column = basis[p], T[p]
    for i in range(q):
        v[i] = atoms[j, i]
    rest = orthogonalise(p, basis, v, column)
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
def magnitude(c, h, lengths):  # type: ignore[no-untyped-def]
    """‖c‖ + Σ hⱼ‖aⱼ‖, of which rounding takes a part when c − Rh is formed."""
    total = 0.0
    for i in range(c.size):
        total += c[i] * c[i]
    total = math.sqrt(total)
    for j in range(h.size):
        total += h[j] * lengths[j]
    return total


@njit(cache=True, nogil=True)
def settled(simplex, atoms, lengths, c, scale, h, residual, slopes):  # type: ignore[no-untyped-def]
    """Whether h is optimal beyond doubt: an exact fit, or slopes zero on its support and negative off it."""
    r, q = atoms.shape
    for i in range(q):
        residual[i] = c[i]
    total = 0.0
    for j in range(r):
        if h[j] > 0.0:
            total += h[j]
            for i in range(q):
                residual[i] -= h[j] * atoms[j, i]
    if simplex and total == 0.0:
        return False
    noise, square, mu = 10.0 * (q + r) * EPS * scale, 0.0, 0.0
    for i in range(q):
        square += residual[i] * residual[i]
    if square <= noise * noise:
        return True
    for j in range(r):
        slopes[j] = 0.0
        for i in range(q):
            slopes[j] += atoms[j, i] * residual[i]
        mu += simplex * h[j] * slopes[j]
    for j in range(r):
        slope = slopes[j] - mu
        if (h[j] > 0.0 and abs(slope) > noise * lengths[j]) or (h[j] == 0.0 and slope > -noise * lengths[j]):
            return False
    return True


@njit(cache=True, nogil=True)
def steepest(p, simplex, mu, atoms, lengths, c, scale, basis, e, h, barred, residual, normal, dots):  # type: ignore[no-untyped-def]
    """Atom along which the objective falls fastest, −1 if along none: with Σh = 1 from the solution on P.

    The residual is ρ + μu with ρ orthogonal to Q and u = Qe, for which every atom of P has aᵀu = 1; the
    slope along another is aᵀρ − μ(1 − aᵀu).
    """
    r, q = atoms.shape
    for i in range(q):
        residual[i] = c[i]
        normal[i] = 0.0
    length, across = orthogonalise(p, basis, residual, dots), 0.0
    if simplex:
        for k in range(p):
            across += e[k] * e[k]
            for i in range(q):
                normal[i] += e[k] * basis[k, i]
        across = math.sqrt(across)
    tol = 10.0 * q * EPS
    if math.hypot(length, mu * across) <= tol * scale:
        return -1
    best, found = 0.0, -1
    for j in range(r):
        if h[j] == 0.0 and not barred[j] and lengths[j] > 0.0:
            slope, noise = 0.0, lengths[j] * length
            for i in range(q):
                slope += atoms[j, i] * residual[i]
            if simplex:
                lift = 0.0
                for i in range(q):
                    lift += atoms[j, i] * normal[i]
                slope -= mu * (1.0 - lift)
                noise += abs(mu) * (1.0 + lengths[j] * across)
            if slope > tol * noise and slope > best * lengths[j]:
                best, found = slope / lengths[j], j
    return found


@njit(cache=True, nogil=True)
def least_squares(atoms, C, simplex, H, P, barred, basis, T, short, long):  # type: ignore[no-untyped-def]
    """Solve for every row of C, starting from the rows of H and writing into them.

    A row that is optimal already is left alone. Otherwise its support is the first passive set: what gets
    a nonpositive weight there is dropped until nothing does. From there on it is the active-set method of
    Lawson and Hanson: let the steepest atom in, walk towards the least-squares solution on the passive
    set, drop what becomes zero on the way. The objective falls with every atom let in, so no passive set
    comes back; the bound on their number is for rounding errors only.
    """
    n = len(C)
    r, q = atoms.shape
    y, e, z, lengths, dots = short[0], short[1], short[2], short[3], short[4]
    residual, normal = long[0], long[1]
    for j in range(r):
        square = 0.0
        for i in range(q):
            square += atoms[j, i] * atoms[j, i]
        lengths[j] = math.sqrt(square)
    for col in range(n):
        c, h = C[col], H[col]
        scale = magnitude(c, h, lengths)
        if settled(simplex, atoms, lengths, c, scale, h, residual, dots):
            continue

        p = 0
        for j in range(r):
            barred[j] = False
            if h[j] > 0.0 and append(j, p, atoms, lengths[j], c, P, basis, T, y, e):
                p += 1
            h[j] = 0.0
        if simplex and p == 0:
            nearest, least = 0, math.inf
            for j in range(r):
                square = 0.0
                for i in range(q):
                    square += (c[i] - atoms[j, i]) ** 2
                if square < least:
                    nearest, least = j, square
            append(nearest, 0, atoms, lengths[nearest], c, P, basis, T, y, e)
            p = 1
        mu, before = 0.0, -1
        while p != before:
            mu = solve(p, simplex, T, y, e, z)
            before = p
            p = keep_positive(p, z, atoms, lengths, c, P, basis, T, y, e, h)
        for k in range(p):
            h[P[k]] = z[k]

        for _ in range(100 * r):
            scale = magnitude(c, h, lengths)
            j = steepest(
                p, simplex, mu, atoms, lengths, c, scale, basis, e, h, barred, residual, normal, dots
            )
            if j < 0:
                break
            # Barred until h changes: if it cannot come in, its slope was rounding error.
            barred[j] = True
            if not append(j, p, atoms, lengths[j], c, P, basis, T, y, e):
                continue
            trial = solve(p + 1, simplex, T, y, e, z)
            if z[p] <= 0.0:
                continue
            mu, p = trial, p + 1
            for i in range(r):
                barred[i] = False
            while True:
                step, blocking = 1.0, -1
                for k in range(p):
                    # "<=": a z that vanishes beside h blocks too, or h would become negative.
                    if z[k] < 0.0 and h[P[k]] <= step * (h[P[k]] - z[k]):
                        step, blocking = h[P[k]] / (h[P[k]] - z[k]), k
                for k in range(p):
                    if blocking >= 0:
                        z[k] = 0.0 if k == blocking else h[P[k]] + step * (z[k] - h[P[k]])
                    h[P[k]] = z[k]
                if blocking < 0:
                    break
                p = keep_positive(p, z, atoms, lengths, c, P, basis, T, y, e, h)
                mu = solve(p, simplex, T, y, e, z)
