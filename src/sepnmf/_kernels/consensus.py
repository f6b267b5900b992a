"""Fused passes of ADMM-P's inner loop over blocks of rows.

The seven matrices of the inner loop are functions of four matrices and n + 1 numbers:

    A,   X,   C = X + V/ρ₂,   E = X + S/ρ₃,

and the numbers ζ and t: Z = ζC, V = ρ₂(1 − ζ)C, S = ρ₃(E − W), and W = P_Ω(E) is E clipped between zero and
multiples of t, the diagonal of W. So the X-update evaluates its proximal map at the matrix with entries

    B = a·A + c·C + d·W + e·E

with (a, c, d, e) = (ρ₁, ρ₂(2ζ − 1), 2ρ₃, −ρ₃)/ρ, or (ρ₁, ρ₂ζ, ρ₃, 0)/ρ after the multipliers were
reset. Every pass reads A, C and E once; only `advance` changes them.

The passes take tuples: point = (A, C, E, t, w), with the weights w of Ω, and mix = (a, c, d, e).

On the diagonal W is t, not E clipped. To avoid a branch, which would prevent vectorisation, a pass sets the
diagonal entry of E to t while it processes a row, and compensates for that by A + (E − t)e/a in A. All
numbers have the type of the arrays, so that float32 data are processed in float32; sums over rows are in
float64.
"""

import math

from sepnmf._kernels._compiled import compiled
from sepnmf._kernels.omega import SUMS, diagonal


@compiled(forceinline=True, fastmath=SUMS)
def row_above(A, C, E, w, scale, mix, tau):  # type: ignore[no-untyped-def]
    """Number and sum of the |b_j| above τ in a row."""
    a, c, d, e = mix
    one = A.dtype.type(1)
    zero = one - one
    count, total = zero, zero
    for j in range(A.size):
        v = E[j]
        b = abs(a * A[j] + c * C[j] + d * min(max(v, zero), w[j] * scale) + e * v)
        inside = one if b > tau else zero
        count += inside
        total += inside * b
    return count, total


@compiled()
def count_above(point, mix, tau, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Number and sum of the |b_ij| above τ."""
    A, C, E, t, w = point
    a, _, _, e = mix
    count, total = 0.0, 0.0
    for i in range(lo, hi):
        own_a, own_e = A[i, i], E[i, i]
        A[i, i], E[i, i] = own_a + (own_e - t[i]) * e / a, t[i]
        part = row_above(A[i], C[i], E[i], w, t[i] / w[i], mix, tau)
        A[i, i], E[i, i] = own_a, own_e
        count += part[0]
        total += part[1]
    sums[0] = count
    sums[1] = total


@compiled(fastmath=SUMS)
def combine(point, mix, B, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Write the rows of B, and into sums the sum of their squares."""
    A, C, E, t, w = point
    a, c, d, e = mix
    n, zero = A.shape[1], A.dtype.type(0)
    total = 0.0
    for i in range(lo, hi):
        Ai, Ci, Ei, Bi, scale = A[i], C[i], E[i], B[i], t[i] / w[i]
        kept = a * Ai[i] + c * Ci[i] + d * t[i] + e * Ei[i]
        for j in range(n):
            v = Ei[j]
            Bi[j] = a * Ai[j] + c * Ci[j] + d * min(max(v, zero), w[j] * scale) + e * v
        Bi[i] = kept
        part = zero
        for j in range(n):
            part += Bi[j] * Bi[j]
        total += part
    sums[0] = total


@compiled(forceinline=True, fastmath=SUMS)
def row_square(A, C, E, w, scale, mix):  # type: ignore[no-untyped-def]
    """Sum of the b_j² in a row."""
    a, c, d, e = mix
    zero = A.dtype.type(0)
    total = zero
    for j in range(A.size):
        v = E[j]
        b = a * A[j] + c * C[j] + d * min(max(v, zero), w[j] * scale) + e * v
        total += b * b
    return total


@compiled()
def measure_rows(point, mix, lengths, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Write the Euclidean norms of the rows of B."""
    A, C, E, t, w = point
    a, _, _, e = mix
    for i in range(lo, hi):
        own_a, own_e = A[i, i], E[i, i]
        A[i, i], E[i, i] = own_a + (own_e - t[i]) * e / a, t[i]
        lengths[i] = math.sqrt(row_square(A[i], C[i], E[i], w, t[i] / w[i], mix))
        A[i, i], E[i, i] = own_a, own_e


@compiled(forceinline=True, fastmath=SUMS)
def advance_row(A, C, E, X, w, scale, mix, step):  # type: ignore[no-untyped-def]
    """`advance` on a row. A single loop, with three arrays to write, would not be vectorised."""
    a, c, d, e = mix
    v_kept, s_kept, factor, tau = step
    zero = A.dtype.type(0)
    size, change, whole, length = zero, zero, zero, zero
    for j in range(A.size):
        v = E[j]
        clipped = min(max(v, zero), w[j] * scale)
        b = a * A[j] + c * C[j] + d * clipped + e * v
        x = factor * (max(b - tau, zero) + min(b + tau, zero))
        gap = x - X[j]
        size += abs(x)
        change += gap * gap
        whole += x * x
        X[j] = x
        E[j] = x + s_kept * (v - clipped)
    for j in range(A.size):
        y = X[j] + v_kept * C[j]
        length += y * y
        C[j] = y
    return size, change, length, whole


@compiled()
def advance(point, X, mix, step, lo, hi, sums):  # type: ignore[no-untyped-def]
    """One inner iteration: X ← the proximal map at B, C ← X + V/ρ₂, E ← X + S/ρ₃, t ← diagonal of P_Ω(E).

    step = (v_kept, s_kept, factors, τ): the map soft-thresholds entries at τ and multiplies rows by factors.
    The last multipliers enter with v_kept = 1 − ζ and s_kept = 1; with 0 they are reset.
    Sums: Σ|x_ij|, ‖X − X_last‖², ‖C‖², ‖X‖².
    """
    A, C, E, t, w = point
    a, _, _, e = mix
    v_kept, s_kept, factors, tau = step
    one = A.dtype.type(1)
    size, change, length, whole = 0.0, 0.0, 0.0, 0.0
    for i in range(lo, hi):
        own, gap = A[i, i], E[i, i] - t[i]
        A[i, i], E[i, i] = own + gap * e / a, t[i]
        part = advance_row(A[i], C[i], E[i], X[i], w, t[i] / w[i], mix, (v_kept, s_kept, factors[i], tau))
        A[i, i], z, E[i, i] = own, X[i, i] + s_kept * gap, one - one
        t[i] = diagonal(E[i], z, w, w[i], one, t[i])
        E[i, i] = z
        size += part[0]
        change += part[1]
        length += part[2]
        whole += part[3]
    sums[0] = size
    sums[1] = change
    sums[2] = length
    sums[3] = whole


@compiled(forceinline=True, fastmath=SUMS)
def row_gaps(X, C, E, w, scale, zeta, before, keep):  # type: ignore[no-untyped-def]
    """`compare` on a row."""
    zero = X.dtype.type(0)
    to_z, to_w, moved = zero, zero, zero
    for j in range(X.size):
        x = X[j]
        to_z += (x - zeta * C[j]) ** 2
        to_w += (x - min(max(E[j], zero), w[j] * scale)) ** 2
        moved += (x - before[j]) ** 2
        before[j] = x if keep else before[j]
    return to_z, to_w, moved


@compiled()
def compare(point, X, zeta, before, keep, lo, hi, sums):  # type: ignore[no-untyped-def]
    """After an outer iteration: ‖X − Z‖², ‖X − W‖² and ‖X − before‖²; then before ← X if `keep` is true."""
    _, C, E, t, w = point
    to_z, to_w, moved = 0.0, 0.0, 0.0
    for i in range(lo, hi):
        own, E[i, i] = E[i, i], t[i]  # which clipping does not change
        row = row_gaps(X[i], C[i], E[i], w, t[i] / w[i], zeta, before[i], keep)
        E[i, i] = own
        to_z += row[0]
        to_w += row[1]
        moved += row[2]
    sums[0] = to_z
    sums[1] = to_w
    sums[2] = moved
