"""Least squares over h ≥ 0, or over h ≥ 0 with Σh = 1; columns may be dependent, repeated or zero.

For each row c of C, min ‖c − Rh‖ is solved with a QR factorization of the columns of R in the passive set P
(the entries of h that may be positive). The columns of R are called atoms.

The normal equations are not used: their condition number is the square of R's. The residual is orthogonalised
against Q twice, so that its inner product with an atom is accurate even if the atom is nearly in the span of
Q or the residual is small.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sepnmf._kernels._compiled import compiled

EPS = 2.0**-52


class Atoms(NamedTuple):
    """The columns of R."""

    vectors: Any  # a row for each atom
    lengths: Any  # their Euclidean norms


class Passive(NamedTuple):
    """The passive set and its factorization R[:, P] = QT, in arrays that have room for all atoms."""

    P: Any  # indices of the atoms
    basis: Any  # Qᵀ, with orthonormal rows
    T: Any  # upper triangular, stored by columns: row k is the k-th column
    y: Any  # Qᵀc
    e: Any  # T⁻ᵀ1, for the constraint Σh = 1


class Workspace(NamedTuple):
    """Arrays that are overwritten."""

    z: Any  # weights of the passive set
    barred: Any  # atoms that must not enter the passive set until h changes
    residual: Any
    normal: Any
    dots: Any


@compiled()
def orthogonalise(p, basis, v, dots):  # type: ignore[no-untyped-def]
    """Orthogonalise v against p rows of the basis, twice; write the coefficients to `dots` and return ‖v‖."""
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


@compiled()
def append(j, p, atoms, c, passive):  # type: ignore[no-untyped-def]
    """Make atom j the p-th of the passive set; return whether it is independent of the others."""
    P, basis, T, y, e = passive
    q = c.size
    v, column = basis[p], T[p]
    for i in range(q):
        v[i] = atoms.vectors[j, i]
    rest = orthogonalise(p, basis, v, column)
    if rest <= 10.0 * q * EPS * atoms.lengths[j]:
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


@compiled()
def solve(p, simplex, passive, z):  # type: ignore[no-untyped-def]
    """Write the least-squares solution on the passive set into z; return the multiplier of Σz = 1."""
    _, _, T, y, e = passive
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


@compiled()
def keep_positive(p, value, atoms, c, passive, h):  # type: ignore[no-untyped-def]
    """Remove the atoms of the passive set whose `value` is not positive; return the number of those kept."""
    kept = 0
    while kept < p and value[kept] > 0.0:
        kept += 1
    for k in range(kept, p):
        j = passive.P[k]
        if value[k] > 0.0 and append(j, kept, atoms, c, passive):
            kept += 1
        else:
            h[j] = 0.0
    return kept


@compiled()
def magnitude(c, h, lengths):  # type: ignore[no-untyped-def]
    """‖c‖ + Σ hⱼ‖aⱼ‖, to which the rounding error of c − Rh is proportional."""
    total = 0.0
    for i in range(c.size):
        total += c[i] * c[i]
    total = math.sqrt(total)
    for j in range(h.size):
        total += h[j] * lengths[j]
    return total


@compiled()
def is_optimal(simplex, atoms, c, h, residual, slopes):  # type: ignore[no-untyped-def]
    """Whether h is optimal to rounding: an exact fit, or slopes zero on its support and negative off it.

    `residual` and `slopes` are workspace.
    """
    vectors, lengths = atoms
    r, q = vectors.shape
    scale = magnitude(c, h, lengths)
    for i in range(q):
        residual[i] = c[i]
    total = 0.0
    for j in range(r):
        if h[j] > 0.0:
            total += h[j]
            for i in range(q):
                residual[i] -= h[j] * vectors[j, i]
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
            slopes[j] += vectors[j, i] * residual[i]
        mu += simplex * h[j] * slopes[j]
    for j in range(r):
        slope = slopes[j] - mu
        if (h[j] > 0.0 and abs(slope) > noise * lengths[j]) or (h[j] == 0.0 and slope > -noise * lengths[j]):
            return False
    return True


@compiled()
def steepest(p, simplex, mu, atoms, c, passive, h, work):  # type: ignore[no-untyped-def]
    """Atom in whose weight the objective falls fastest, −1 if in none; h is the solution on P.

    The residual is ρ + μu with ρ orthogonal to Q and u = Qe, for which every atom of P has aᵀu = 1; the
    slope along another is aᵀρ − μ(1 − aᵀu).
    """
    vectors, lengths = atoms
    _, basis, _, _, e = passive
    _, barred, residual, normal, dots = work
    r, q = vectors.shape
    scale = magnitude(c, h, lengths)
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
                slope += vectors[j, i] * residual[i]
            if simplex:
                lift = 0.0
                for i in range(q):
                    lift += vectors[j, i] * normal[i]
                slope -= mu * (1.0 - lift)
                noise += abs(mu) * (1.0 + lengths[j] * across)
            if slope > tol * noise and slope > best * lengths[j]:
                best, found = slope / lengths[j], j
    return found


@compiled()
def least_squares(vectors, C, simplex, H):  # type: ignore[no-untyped-def]
    """Solve for every row of C, starting from the rows of H and writing into them.

    The atoms are the rows of `vectors`. A row of H that is optimal already is not changed. Otherwise its
    support is the first passive set, from which atoms with a nonpositive weight are dropped until there are
    none. Then follows the active-set method of Lawson and Hanson: add the atom in whose weight the objective
    falls fastest, move towards the least-squares solution on the passive set, and drop the atoms whose
    weights become zero on the way. The objective decreases with every atom added, so no passive set occurs
    twice; the bound on the number of steps matters only in the presence of rounding errors.
    """
    n = len(C)
    r, q = vectors.shape
    atoms = Atoms(vectors, np.empty(r))
    passive = Passive(np.empty(r, np.intp), np.empty((r, q)), np.empty((r, r)), np.empty(r), np.empty(r))
    work = Workspace(np.empty(r), np.empty(r, np.bool_), np.empty(q), np.empty(q), np.empty(r))
    P, z, barred = passive.P, work.z, work.barred
    for j in range(r):
        square = 0.0
        for i in range(q):
            square += vectors[j, i] * vectors[j, i]
        atoms.lengths[j] = math.sqrt(square)
    for col in range(n):
        c, h = C[col], H[col]
        if is_optimal(simplex, atoms, c, h, work.residual, work.dots):
            continue

        p = 0
        for j in range(r):
            barred[j] = False
            if h[j] > 0.0 and append(j, p, atoms, c, passive):
                p += 1
            h[j] = 0.0
        if simplex and p == 0:
            nearest, least = 0, math.inf
            for j in range(r):
                square = 0.0
                for i in range(q):
                    square += (c[i] - vectors[j, i]) ** 2
                if square < least:
                    nearest, least = j, square
            append(nearest, 0, atoms, c, passive)
            p = 1
        mu, before = 0.0, -1
        while p != before:
            mu = solve(p, simplex, passive, z)
            before = p
            p = keep_positive(p, z, atoms, c, passive, h)
        for k in range(p):
            h[P[k]] = z[k]

        for _ in range(100 * r):
            j = steepest(p, simplex, mu, atoms, c, passive, h, work)
            if j < 0:
                break
            # Barred until h changes: if it cannot enter, its slope was rounding error.
            barred[j] = True
            if not append(j, p, atoms, c, passive):
                continue
            trial = solve(p + 1, simplex, passive, z)
            if z[p] <= 0.0:
                continue
            mu, p = trial, p + 1
            for i in range(r):
                barred[i] = False
            while True:
                step, blocking = 1.0, -1
                for k in range(p):
                    # "<=": a z that is negligible beside h blocks too, otherwise h would become negative.
                    if z[k] < 0.0 and h[P[k]] <= step * (h[P[k]] - z[k]):
                        step, blocking = h[P[k]] / (h[P[k]] - z[k]), k
                for k in range(p):
                    if blocking >= 0:
                        z[k] = 0.0 if k == blocking else h[P[k]] + step * (z[k] - h[P[k]])
                    h[P[k]] = z[k]
                if blocking < 0:
                    break
                p = keep_positive(p, z, atoms, c, passive, h)
                mu = solve(p, simplex, passive, z)
