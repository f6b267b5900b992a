"""Nonnegative least squares from inner products, and the best exchange of one atom for another.

For each column c, min ‖c − Σ_j h_j a_j‖² over h ≥ 0 is determined by G = (a_iᵀa_j), b = (a_jᵀc) and ‖c‖². It
is solved with the Cholesky factor L of G[P, P], where P is the passive set (the entries of h that may be
positive). With y = L⁻¹b[P] the squared residual is ‖c‖² − ‖y‖². These normal equations square the condition
number of the atoms and are meant for trying very many exchanges; `activeset` is accurate.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sepnmf._kernels._compiled import compiled
from sepnmf._kernels.omega import SUMS

DEPENDENT = 1e-12  # least squared distance of an atom from the span of the others, relative to its square
ROUNDING = 1e-11  # slopes that are smaller, relative to the lengths, are taken for zero


class Passive(NamedTuple):
    """Passive set of one column, in the first entries of arrays that have room for all atoms."""

    P: Any  # indices of the atoms
    L: Any  # Cholesky factor of G[P, P]
    y: Any  # L⁻¹b[P]


class PassiveSets(NamedTuple):
    """Passive sets of all columns: entry or row j of each array belongs to column j."""

    sizes: Any
    P: Any
    L: Any
    y: Any


class Problem(NamedTuple):
    """Weighted nonnegative least squares for many columns, as inner products."""

    G: Any  # of the atoms with each other
    B: Any  # of the columns (rows of B) with the atoms
    lengths: Any  # Euclidean norms of the columns
    w: Any  # weights of the columns in the objective


class Solution(NamedTuple):
    """Solution of a `Problem`."""

    H: Any  # row j has the weights of the atoms in column j
    E: Any  # squared residuals of the columns


class Candidates(NamedTuple):
    """Columns that may take the place of an atom; row or entry c of each array belongs to candidate c."""

    F: Any  # inner products with the columns
    K: Any  # inner products with the atoms
    squares: Any  # squared lengths
    perp: Any  # squared distances from the span of the other atoms, see `gain_bound`
    bound: Any  # upper bounds on the gain, see `gains`


@compiled()
def append(row, square, dot, p, passive):  # type: ignore[no-untyped-def]
    """Add an atom to a passive set of size p, except for its index; return whether it is independent.

    `row` has its inner products with the atoms, `square` and `dot` those with itself and with the column.
    """
    P, L, y = passive
    rest = square
    for a in range(p):
        value = row[P[a]]
        for k in range(a):
            value -= L[p, k] * L[a, k]
        value /= L[a, a]
        L[p, a] = value
        rest -= value * value
        dot -= value * y[a]
    if rest <= DEPENDENT * square:
        return False
    L[p, p] = math.sqrt(rest)
    y[p] = dot / L[p, p]
    return True


@compiled()
def back_substitute(p, passive, z):  # type: ignore[no-untyped-def]
    """Write the weights of the passive set, the solution of Lᵀz = y, into z."""
    _, L, y = passive
    for a in range(p - 1, -1, -1):
        value = y[a]
        for k in range(a + 1, p):
            value -= L[k, a] * z[k]
        z[a] = value / L[a, a]


@compiled()
def keep_positive(p, value, G, b, h, passive):  # type: ignore[no-untyped-def]
    """Remove the atoms of the passive set whose `value` is not positive; return the number of those kept."""
    kept = 0
    while kept < p and value[kept] > 0.0:
        kept += 1
    for a in range(kept, p):
        j = passive.P[a]
        if value[a] > 0.0 and append(G[j], G[j, j], b[j], kept, passive):
            passive.P[kept] = j
            kept += 1
        else:
            h[j] = 0.0
    return kept


@compiled()
def nonnegative(G, b, length, skip, h, passive, z, barred):  # type: ignore[no-untyped-def]
    """Solve for one column of this length from the support of h, without atom `skip`; return the size of P.

    The active-set method of Lawson and Hanson; see `activeset.least_squares`. `z` and `barred` are workspace.
    """
    P, r = passive.P, b.size
    p = 0
    for j in range(r):
        barred[j] = j == skip or G[j, j] <= 0.0
        if h[j] > 0.0 and not barred[j] and append(G[j], G[j, j], b[j], p, passive):
            P[p] = j
            p += 1
        else:
            h[j] = 0.0
    before = -1
    while p != before:
        back_substitute(p, passive, z)
        before = p
        p = keep_positive(p, z, G, b, h, passive)
    for a in range(p):
        h[P[a]] = z[a]
    for _ in range(10 * r + 10):
        best, found = ROUNDING * length, -1
        for j in range(r):
            if h[j] > 0.0 or barred[j]:
                continue
            slope = b[j]
            for a in range(p):
                slope -= G[j, P[a]] * h[P[a]]
            slope /= math.sqrt(G[j, j])
            if slope > best:
                best, found = slope, j
        if found < 0:
            break
        barred[found] = True  # until h changes: if it cannot enter, its slope was rounding error
        if not append(G[found], G[found, found], b[found], p, passive):
            continue
        back_substitute(p + 1, passive, z)
        if z[p] <= 0.0:
            continue
        P[p] = found
        p += 1
        for j in range(r):
            barred[j] = j == skip or G[j, j] <= 0.0
        while True:
            step, blocking = 1.0, -1
            for a in range(p):
                if z[a] <= 0.0 and h[P[a]] < step * (h[P[a]] - z[a]):
                    step, blocking = h[P[a]] / (h[P[a]] - z[a]), a
            for a in range(p):
                if blocking >= 0:
                    z[a] = 0.0 if a == blocking else h[P[a]] + step * (z[a] - h[P[a]])
                h[P[a]] = z[a]
            if blocking < 0:
                break
            p = keep_positive(p, z, G, b, h, passive)
            back_substitute(p, passive, z)
    return p


@compiled()
def solve(G, B, squares, skip, H, E, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Solve for rows lo … hi − 1 of B, from and into those of H; write the squared residuals into E."""
    r = G.shape[0]
    passive = Passive(np.empty(r, np.int64), np.empty((r, r)), np.empty(r))
    z, barred = np.empty(r), np.empty(r, np.bool_)
    for j in range(lo, hi):
        p = nonnegative(G, B[j], math.sqrt(squares[j]), skip, H[j], passive, z, barred)
        explained = 0.0
        for a in range(p):
            explained += passive.y[a] * passive.y[a]
        E[j] = max(squares[j] - explained, 0.0)


@compiled()
def gain_bound(slope, square, perp, rest):  # type: ignore[no-untyped-def]
    """Upper bound on the decrease of the squared residual `rest` of a column if a candidate joins the atoms.

    With the candidate c, the residual ρ and `slope` = cᵀρ: on the way to its minimum the objective is convex,
    its derivative is at least −2cᵀρ in the candidate's weight and nonnegative in the others, and its
    curvature is at least ‖c_⊥‖² = `perp`, where c_⊥ is the part of c orthogonal to the atoms. So
    (cᵀρ)₊²/‖c_⊥‖² is a bound, and `rest` is another. `perp` is 0 for a candidate in the span of the atoms,
    for which only the second bound holds, and negative for a column that is not a candidate.
    """
    if slope <= ROUNDING * math.sqrt(square * rest) or perp < 0.0:
        return 0.0
    return min(slope * slope / perp, rest) if perp > 0.0 else rest


@compiled(fastmath=SUMS)
def gains(S, squares, perp, w, E, out):  # type: ignore[no-untyped-def]
    """Write into `out` upper bounds on the decrease of the objective if a candidate joins the atoms.

    S has the inner products of the candidates with the residuals of the columns, w the weights of the columns
    and E their squared residuals; `squares` and `perp` belong to the candidates, see `Candidates`. This is
    the sum of `gain_bound`, written so that several columns are computed at a time.
    """
    roots = np.sqrt(E)
    for c in range(len(S)):
        out[c] = 0.0
        if perp[c] < 0.0:
            continue
        least, total = ROUNDING * math.sqrt(squares[c]), 0.0
        inside = perp[c] == 0.0
        inverse = 0.0 if inside else 1.0 / perp[c]
        for j in range(S.shape[1]):
            slope = S[c, j]
            bound = E[j] if inside else min(slope * slope * inverse, E[j])
            total += w[j] * bound if slope > least * roots[j] else 0.0
        out[c] = total


@compiled()
def passive_sets(G, B, H):  # type: ignore[no-untyped-def]
    """Passive sets of the solutions in the rows of H, with room for one more atom in each."""
    n, r = H.shape
    widest = 0
    for j in range(n):
        positive = 0
        for i in range(r):
            positive += H[j, i] > 0.0
        widest = max(widest, positive)
    widest += 1
    sizes, P = np.empty(n, np.int64), np.empty((n, widest), np.int64)
    L, y = np.empty((n, widest, widest)), np.empty((n, widest))
    for j in range(n):
        p = 0
        for i in range(r):
            if H[j, i] > 0.0 and append(G[i], G[i, i], B[j, i], p, Passive(P[j], L[j], y[j])):
                P[j, p] = i
                p += 1
        sizes[j] = p
    return PassiveSets(sizes, P, L, y)


@compiled()
def best_exchange(candidates, order, problem, solution, k, need):  # type: ignore[no-untyped-def]
    """Return the candidate that gains most in place of atom k, if its gain exceeds `need`; −1 if none does.

    The solution is the one without atom k. Candidates are tried in the order of their
    bounds, columns in the order of their shares in a bound. A candidate is rejected as soon as its gain so
    far and the shares of the columns that remain cannot exceed `need`.
    """
    F, K, squares, perp, bound = candidates
    G, B, lengths, w = problem
    H, E = solution
    sizes, P, L, y = passive_sets(G, B, H)
    n, r = H.shape
    Gc, b, h, share = G.copy(), np.empty(r), np.empty(r), np.empty(n)
    other = Passive(np.empty(r, np.int64), np.empty((r, r)), np.empty(r))
    z, barred = np.empty(r), np.empty(r, np.bool_)
    best = -1
    for c in order:
        if bound[c] <= need:
            break
        for j in range(n):
            slope = F[c, j]
            for a in range(sizes[j]):
                slope -= K[c, P[j, a]] * H[j, P[j, a]]
            share[j] = w[j] * gain_bound(slope, squares[c], perp[c], E[j])
        Gc[k] = K[c]
        Gc[:, k] = K[c]
        Gc[k, k] = squares[c]
        gain, left = 0.0, bound[c]
        for j in np.argsort(-share):
            if share[j] <= 0.0 or gain + left <= need:
                break
            left -= share[j]
            p = sizes[j]
            passive = Passive(P[j], L[j], y[j])
            if not append(K[c], squares[c], F[c, j], p, passive):
                continue
            back_substitute(p + 1, passive, z)
            optimal = True
            for a in range(p + 1):
                optimal = optimal and z[a] > 0.0
            for i in range(r):
                if not optimal:
                    break
                if i != k and H[j, i] == 0.0:
                    slope = B[j, i] - Gc[i, k] * z[p]
                    for a in range(p):
                        slope -= G[i, P[j, a]] * z[a]
                    optimal = slope <= ROUNDING * lengths[j] * math.sqrt(G[i, i])
            if optimal:
                gain += w[j] * min(y[j, p] * y[j, p], E[j])
                continue
            b[:] = B[j]
            b[k] = F[c, j]
            h[:] = H[j]
            h[k] = z[p] if z[p] > 0.0 else 0.0
            q = nonnegative(Gc, b, lengths[j], -1, h, other, z, barred)
            explained = 0.0
            for a in range(q):
                explained += other.y[a] * other.y[a]
            gain += w[j] * max(E[j] - max(lengths[j] * lengths[j] - explained, 0.0), 0.0)
        if gain > need:
            best, need = c, gain
    return best
