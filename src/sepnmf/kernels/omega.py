"""Row-wise loops over Ω = {X ≥ 0 : x_ii ≤ 1, w_i x_ij ≤ w_j x_ii}.

In a row only the diagonal entry t = x_ii is unknown: given t, the others are clipped to [0, u_j t] with
u_j = w_j / w_i. Every function takes the last diagonal as a start and leaves the new one in its place.
"""

import math

from numba import njit

# Sums may be added in any order, the same in each run; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=SUMS)
def overhang(z, w, level):  # type: ignore[no-untyped-def]
    """Σ w_j z_j and Σ w_j² over the entries z_j above w_j·level.

    They are masked by a product, not by a branch: that is what compilers turn into vector instructions.
    """
    zero = z.dtype.type(0)
    top, bottom = zero, zero
    for j in range(z.size):
        weight = w[j] if z[j] > w[j] * level else zero
        top += weight * z[j]
        bottom += weight * weight
    return top, bottom


@njit(cache=True, nogil=True)
def diagonal(z, own, w, own_w, cap, start):  # type: ignore[no-untyped-def]
    """Diagonal entry of the projection of a row onto its row of Ω, with x_ii ≤ cap.

    `own` and `own_w` are the row's entry and weight on the diagonal; in z itself that entry is zero, so that
    no sum sees it (nor does a loop have to step over it, which would keep it from being vectorised).

    It is the root of t − z_i − Σ_j u_j max(z_j − u_j t, 0), which is increasing, concave and
    piecewise linear: Newton's first step from anywhere lands left of the root, the others climb to it
    and end on the right piece after finitely many.
    """
    one = z.dtype.type(1)
    zero, scale = one - one, one / own_w
    t = start
    for step in range(z.size + 2):
        top, bottom = overhang(z, w, t * scale)
        new = min(max((own + top * scale) / (one + bottom * scale * scale), zero), cap)
        if new == t or (step > 0 and new < t):
            break
        t = new
    return t


@njit(cache=True, nogil=True, fastmath=SUMS)
def clip_row(x, w, level):  # type: ignore[no-untyped-def]
    """Clip x to [0, w·level], in place.

    Returns the sum, Σw and Σw² over the entries cut from above, and the number of those left as they were.
    """
    one = x.dtype.type(1)
    zero = one - one
    total, cut, squares, free = zero, zero, zero, zero
    for j in range(x.size):
        value, top = x[j], w[j] * level
        clipped = min(max(value, zero), top)
        weight = w[j] if value > top else zero
        total += clipped
        cut += weight
        squares += weight * weight
        free += one if clipped == value else zero
        x[j] = clipped
    return total, cut, squares, free


@njit(cache=True, nogil=True)
def project(Z, shift, w, diag, out, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Write rows lo … hi − 1 of P_Ω(Z − shift) into `out`; sums: their sum, its derivative in the shift."""
    total, slope = 0.0, 0.0
    for i in range(lo, hi):
        z, x = Z[i], out[i]
        for j in range(x.size):
            x[j] = z[j] - shift
        own, x[i] = x[i], 0.0
        t = diagonal(x, own, w, w[i], 1.0, diag[i])
        scale = 1.0 / w[i]
        row, cut, squares, free = clip_row(x, w, t * scale)
        diag[i] = x[i] = t
        total += row + t
        if t > 0.0:
            slope -= free - 1.0  # all but the zero on the diagonal
        if 0.0 < t < 1.0:
            slope -= (1.0 + cut * scale) ** 2 / (1.0 + squares * scale * scale)
    sums[0] = total
    sums[1] = slope


@njit(cache=True, nogil=True)
def capped_angle(a, i, tau, w):  # type: ignore[no-untyped-def]
    """Root θ of (θ − 1)·ν(θ) = τ, where ν(θ) is the norm of the row (1, clip(a/θ, 0, u)).

    Returned with ν and dν/dτ. ν lies between 1 and ν(1), which brackets θ; Newton inside.
    """
    scale = 1.0 / w[i]
    low, high = 0.0, tau
    excess = tau
    norm, rate = 1.0, 0.0
    for _ in range(200):
        theta = 1.0 + excess
        square, free = 1.0, 0.0
        for j in range(a.size):
            if j == i or a[j] <= 0.0:
                continue
            u = w[j] * scale
            value = a[j] / theta
            if value < u:
                free += value * value
            else:
                value = u
            square += value * value
        norm = math.sqrt(square)
        rate = -free / (theta * norm)
        error = excess * norm - tau
        if error > 0.0:
            high = excess
        else:
            low = excess
        derivative = norm + excess * rate
        new = excess - error / derivative if derivative > 0.0 else high
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - excess) <= 4e-16 * excess:
            break
        excess = new
    return 1.0 + excess, norm, rate / (norm + excess * rate)


@njit(cache=True, nogil=True)
def shrink_rows(A, tau, w, diag, out, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Write rows lo … hi − 1 of argmin_V τ Σ_i ‖V_i:‖₂ + ½‖V − A‖² over Ω into `out`.

    Without the cap x_ii ≤ 1 a row of Ω is a cone, and the answer is the row's projection onto it,
    shortened by τ. Where that breaks the cap, x_ii = 1 and the row is clip(a/θ, 0, u), θ = 1 + τ/‖v‖.
    `diag` is the start for the cone's diagonal. Sums: Σ_i ‖V_i:‖₂ and its derivative in τ.
    """
    n = A.shape[0]
    total, slope = 0.0, 0.0
    for i in range(lo, hi):
        a, x = A[i], out[i]
        for j in range(n):
            x[j] = a[j]
        x[i] = 0.0
        t = diagonal(x, a[i], w, w[i], math.inf, diag[i])
        diag[i] = t
        scale = 1.0 / w[i]
        clip_row(x, w, t * scale)
        x[i] = t
        square = 0.0
        for j in range(n):
            square += x[j] * x[j]
        norm = math.sqrt(square)
        if norm <= tau:
            for j in range(n):
                x[j] = 0.0
            continue
        shorten = 1.0 - tau / norm
        if t * shorten <= 1.0:
            for j in range(n):
                x[j] *= shorten
            total += norm - tau
            slope -= 1.0
            continue
        theta, norm, rate = capped_angle(a, i, tau, w)
        for j in range(n):
            x[j] = min(max(a[j] / theta, 0.0), w[j] * scale)
        x[i] = 1.0
        total += norm
        slope += rate
    sums[0] = total
    sums[1] = slope
