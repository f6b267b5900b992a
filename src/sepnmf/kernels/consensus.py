"""Passes of ADMM-P's inner loop over blocks of rows.

The inner loop's seven matrices are functions of four, and of n + 1 numbers:

    A,   X,   C = X + V/ρ₂,   E = X + S/ρ₃,

for Z = ζC and V = ρ₂(1 − ζ)C, while W = P_Ω(E) is E clipped at multiples of its own diagonal t and
S = ρ₃(E − W). So the point at which the X-update takes its proximal map is, entry by entry,

    B = a·A + c·C + d·W + e·E

with (a, c, d, e) = (ρ₁, ρ₂(2ζ − 1), 2ρ₃, −ρ₃)/ρ, or (ρ₁, ρ₂ζ, ρ₃, 0)/ρ after the multipliers were
reset. Every pass reads A, C and E once; only the last, `advance`, writes.
"""

import math

from numba import njit

from sepnmf.kernels.omega import SUMS, diagonal


@njit(cache=True, nogil=True, fastmath=SUMS)
def above(A, C, E, w, scale, a, c, d, e, tau):  # type: ignore[no-untyped-def]
    """Number and sum of the |b_ij| above τ in a stretch of a row without its diagonal."""
    count, total = 0.0, 0.0
    for j in range(A.size):
        v = E[j]
        b = abs(a * A[j] + c * C[j] + d * min(max(v, 0.0), w[j] * scale) + e * v)
        inside = 1.0 if b > tau else 0.0
        count += inside
        total += inside * b
    return count, total


@njit(cache=True, nogil=True)
def count_above(A, C, E, t, w, a, c, d, e, tau, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Number and sum of the |b_ij| above τ."""
    count, total = 0.0, 0.0
    for i in range(lo, hi):
        scale = t[i] / w[i]
        k = i + 1
        left = above(A[i, :i], C[i, :i], E[i, :i], w[:i], scale, a, c, d, e, tau)
        right = above(A[i, k:], C[i, k:], E[i, k:], w[k:], scale, a, c, d, e, tau)
        count += left[0] + right[0]
        total += left[1] + right[1]
        b = abs(a * A[i, i] + c * C[i, i] + d * t[i] + e * E[i, i])
        if b > tau:
            count += 1.0
            total += b
    sums[0] = count
    sums[1] = total


@njit(cache=True, nogil=True, fastmath=SUMS)
def combine(A, C, E, t, w, a, c, d, e, B, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Write the rows of B, and into sums the sum of their squares."""
    n = A.shape[1]
    total = 0.0
    for i in range(lo, hi):
        Ai, Ci, Ei, Bi, scale = A[i], C[i], E[i], B[i], t[i] / w[i]
        kept = a * Ai[i] + c * Ci[i] + d * t[i] + e * Ei[i]
        for j in range(n):
            v = Ei[j]
            Bi[j] = a * Ai[j] + c * Ci[j] + d * min(max(v, 0.0), w[j] * scale) + e * v
        Bi[i] = kept
        for j in range(n):
            total += Bi[j] * Bi[j]
    sums[0] = total


@njit(cache=True, nogil=True, fastmath=SUMS)
def square(A, C, E, w, scale, a, c, d, e):  # type: ignore[no-untyped-def]
    """Sum of the b_ij² in a stretch of a row without its diagonal."""
    total = 0.0
    for j in range(A.size):
        v = E[j]
        b = a * A[j] + c * C[j] + d * min(max(v, 0.0), w[j] * scale) + e * v
        total += b * b
    return total


@njit(cache=True, nogil=True)
def measure_rows(A, C, E, t, w, a, c, d, e, lengths, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Write the Euclidean norms of the rows of B."""
    for i in range(lo, hi):
        scale = t[i] / w[i]
        k = i + 1
        left = square(A[i, :i], C[i, :i], E[i, :i], w[:i], scale, a, c, d, e)
        right = square(A[i, k:], C[i, k:], E[i, k:], w[k:], scale, a, c, d, e)
        b = a * A[i, i] + c * C[i, i] + d * t[i] + e * E[i, i]
        lengths[i] = math.sqrt(left + b * b + right)


@njit(cache=True, nogil=True, fastmath=SUMS)
def move(A, C, E, X, w, scale, a, c, d, e, v_kept, s_kept, factor, tau):  # type: ignore[no-untyped-def]
    """`advance` on a stretch of a row without its diagonal.

    Three loops, because a compiler makes vector instructions of a loop with one store; and over whole
    slices, because it cannot tell that an index which starts elsewhere is not negative.
    """
    size, change, whole = 0.0, 0.0, 0.0
    for j in range(A.size):
        v = E[j]
        b = a * A[j] + c * C[j] + d * min(max(v, 0.0), w[j] * scale) + e * v
        x = factor * (max(b - tau, 0.0) + min(b + tau, 0.0))
        gap = x - X[j]
        size += abs(x)
        change += gap * gap
        whole += x * x
        X[j] = x
    for j in range(A.size):
        v = E[j]
        E[j] = X[j] + s_kept * (v - min(max(v, 0.0), w[j] * scale))
    length = 0.0
    for j in range(A.size):
        y = X[j] + v_kept * C[j]
        length += y * y
        C[j] = y
    return size, change, length, whole


@njit(cache=True, nogil=True)
def advance(A, C, E, X, t, w, a, c, d, e, v_kept, s_kept, factors, tau, lo, hi, sums):  # type: ignore[no-untyped-def]
    """One inner iteration: X ← the proximal map at B, C ← X + V/ρ₂, E ← X + S/ρ₃, t ← diagonal of P_Ω(E).

    The map cuts entries by τ and multiplies rows by factors. With `v_kept` = 1 − ζ and `s_kept` = 1 the last
    multipliers enter, with 0 they are reset. Sums: Σ|x_ij|, ‖X − X_last‖², ‖C‖², ‖X‖².
    """
    size, change, length, whole = 0.0, 0.0, 0.0, 0.0
    for i in range(lo, hi):
        Ai, Ci, Ei, Xi, scale, factor = A[i], C[i], E[i], X[i], t[i] / w[i], factors[i]
        mix, k = (scale, a, c, d, e, v_kept, s_kept, factor, tau), i + 1
        left = move(Ai[:i], Ci[:i], Ei[:i], Xi[:i], w[:i], *mix)
        right = move(Ai[k:], Ci[k:], Ei[k:], Xi[k:], w[k:], *mix)
        b = a * Ai[i] + c * Ci[i] + d * t[i] + e * Ei[i]
        x = factor * (max(b - tau, 0.0) + min(b + tau, 0.0))
        y = x + v_kept * Ci[i]
        size += left[0] + right[0] + abs(x)
        change += left[1] + right[1] + (x - Xi[i]) ** 2
        length += left[2] + right[2] + y * y
        whole += left[3] + right[3] + x * x
        Xi[i] = x
        Ci[i] = y
        Ei[i] = x + s_kept * (Ei[i] - t[i])
        t[i] = diagonal(Ei, i, 0.0, w, 1.0, t[i])
    sums[0] = size
    sums[1] = change
    sums[2] = length
    sums[3] = whole


@njit(cache=True, nogil=True, fastmath=SUMS)
def gaps(X, C, E, w, scale, zeta, before, keep):  # type: ignore[no-untyped-def]
    """`compare` on a stretch of a row without its diagonal."""
    to_z, to_w, moved = 0.0, 0.0, 0.0
    for j in range(X.size):
        x = X[j]
        to_z += (x - zeta * C[j]) ** 2
        to_w += (x - min(max(E[j], 0.0), w[j] * scale)) ** 2
        moved += (x - before[j]) ** 2
        before[j] = x if keep else before[j]
    return to_z, to_w, moved


@njit(cache=True, nogil=True)
def compare(X, C, E, t, w, zeta, before, keep, lo, hi, sums):  # type: ignore[no-untyped-def]
    """After an outer iteration: ‖X − Z‖², ‖X − W‖² and ‖X − before‖²; then before ← X if it is to be kept."""
    to_z, to_w, moved = 0.0, 0.0, 0.0
    for i in range(lo, hi):
        Xi, Ci, Ei, Bi, scale, k = X[i], C[i], E[i], before[i], t[i] / w[i], i + 1
        left = gaps(Xi[:i], Ci[:i], Ei[:i], w[:i], scale, zeta, Bi[:i], keep)
        right = gaps(Xi[k:], Ci[k:], Ei[k:], w[k:], scale, zeta, Bi[k:], keep)
        to_z += left[0] + right[0] + (Xi[i] - zeta * Ci[i]) ** 2
        to_w += left[1] + right[1] + (Xi[i] - t[i]) ** 2
        moved += left[2] + right[2] + (Xi[i] - Bi[i]) ** 2
        if keep:
            Bi[i] = Xi[i]
    sums[0] = to_z
    sums[1] = to_w
    sums[2] = moved
