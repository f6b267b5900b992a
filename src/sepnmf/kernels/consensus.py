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
def above(Ai, Ci, Ei, w, scale, a, c, d, e, tau, j0, j1):  # type: ignore[no-untyped-def]
    """Number and sum of the |b_ij| above τ in a stretch of a row without its diagonal."""
    count, total = 0.0, 0.0
    for j in range(j0, j1):
        v = Ei[j]
        b = abs(a * Ai[j] + c * Ci[j] + d * min(max(v, 0.0), w[j] * scale) + e * v)
        count += 1.0 if b > tau else 0.0
        total += b if b > tau else 0.0
    return count, total


@njit(cache=True, nogil=True)
def count_above(A, C, E, t, w, a, c, d, e, tau, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Number and sum of the |b_ij| above τ."""
    count, total = 0.0, 0.0
    n = A.shape[1]
    for i in range(lo, hi):
        scale = t[i] / w[i]
        left = above(A[i], C[i], E[i], w, scale, a, c, d, e, tau, 0, i)
        right = above(A[i], C[i], E[i], w, scale, a, c, d, e, tau, i + 1, n)
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
def square(Ai, Ci, Ei, w, scale, a, c, d, e, j0, j1):  # type: ignore[no-untyped-def]
    """Sum of the b_ij² in a stretch of a row without its diagonal."""
    total = 0.0
    for j in range(j0, j1):
        v = Ei[j]
        b = a * Ai[j] + c * Ci[j] + d * min(max(v, 0.0), w[j] * scale) + e * v
        total += b * b
    return total


@njit(cache=True, nogil=True)
def measure_rows(A, C, E, t, w, a, c, d, e, lengths, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Write the Euclidean norms of the rows of B."""
    n = A.shape[1]
    for i in range(lo, hi):
        scale = t[i] / w[i]
        left = square(A[i], C[i], E[i], w, scale, a, c, d, e, 0, i)
        right = square(A[i], C[i], E[i], w, scale, a, c, d, e, i + 1, n)
        b = a * A[i, i] + c * C[i, i] + d * t[i] + e * E[i, i]
        lengths[i] = math.sqrt(left + b * b + right)


@njit(cache=True, nogil=True, fastmath=SUMS)
def move(Ai, Ci, Ei, Xi, w, scale, a, c, d, e, v_kept, s_kept, factor, tau, j0, j1):  # type: ignore[no-untyped-def]
    """`advance` on a stretch of a row without its diagonal."""
    size, change, length, whole = 0.0, 0.0, 0.0, 0.0
    for j in range(j0, j1):
        v = Ei[j]
        W = min(max(v, 0.0), w[j] * scale)
        b = a * Ai[j] + c * Ci[j] + d * W + e * v
        x = factor * (max(b - tau, 0.0) + min(b + tau, 0.0))
        y = x + v_kept * Ci[j]
        gap = x - Xi[j]
        size += abs(x)
        change += gap * gap
        length += y * y
        whole += x * x
        Xi[j] = x
        Ci[j] = y
        Ei[j] = x + s_kept * (v - W)
    return size, change, length, whole


@njit(cache=True, nogil=True)
def advance(A, C, E, X, t, w, a, c, d, e, v_kept, s_kept, factors, tau, lo, hi, sums):  # type: ignore[no-untyped-def]
    """One inner iteration: X ← the proximal map at B, C ← X + V/ρ₂, E ← X + S/ρ₃, t ← diagonal of P_Ω(E).

    The map cuts entries by τ and multiplies rows by factors. With `v_kept` = 1 − ζ and `s_kept` = 1 the last
    multipliers enter, with 0 they are reset. Sums: Σ|x_ij|, ‖X − X_last‖², ‖C‖², ‖X‖².
    """
    n = A.shape[1]
    size, change, length, whole = 0.0, 0.0, 0.0, 0.0
    for i in range(lo, hi):
        Ai, Ci, Ei, Xi, scale, factor = A[i], C[i], E[i], X[i], t[i] / w[i], factors[i]
        left = move(Ai, Ci, Ei, Xi, w, scale, a, c, d, e, v_kept, s_kept, factor, tau, 0, i)
        right = move(Ai, Ci, Ei, Xi, w, scale, a, c, d, e, v_kept, s_kept, factor, tau, i + 1, n)
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
def compare(X, C, E, t, w, zeta, before, keep, lo, hi, sums):  # type: ignore[no-untyped-def]
    """After an outer iteration: ‖X − Z‖², ‖X − W‖² and ‖X − before‖²; then before ← X if it is to be kept."""
    n = X.shape[1]
    to_z, to_w, moved = 0.0, 0.0, 0.0
    for i in range(lo, hi):
        Xi, Ci, Ei, Bi, scale = X[i], C[i], E[i], before[i], t[i] / w[i]
        to_w += (Xi[i] - t[i]) ** 2 - (Xi[i] - min(max(Ei[i], 0.0), w[i] * scale)) ** 2
        for j in range(n):
            x = Xi[j]
            to_z += (x - zeta * Ci[j]) ** 2
            to_w += (x - min(max(Ei[j], 0.0), w[j] * scale)) ** 2
            moved += (x - Bi[j]) ** 2
            Bi[j] = x if keep else Bi[j]
    sums[0] = to_z
    sums[1] = to_w
    sums[2] = moved
