"""Row-wise loops over Ω = {X ≥ 0 : x_ii ≤ 1, w_i x_ij ≤ w_j x_ii}.

In a row only the diagonal entry t = x_ii is unknown: given t, the others are clipped to [0, u_j t] with
u_j = w_j / w_i. Every function takes the last diagonal as a start and leaves the new one in its place.
"""

import math

from numba import njit

# Sums may be added in any order, the same in each run; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=SUMS)
def overhang(z, shift, w, level):  # type: ignore[no-untyped-def]
    """Σ w_j(z_j − shift) and Σ w_j² over the entries with z_j − shift above w_j·level.

    They are masked by a product, not by a branch: that is what compilers turn into vector instructions.
    """
    top, bottom = 0.0, 0.0
    for j in range(z.size):
        value = z[j] - shift
        weight = w[j] if value > w[j] * level else 0.0
        top += weight * value
        bottom += weight * weight
    return top, bottom


@njit(cache=True, nogil=True)
def diagonal(z, i, shift, w, cap, start):  # type: ignore[no-untyped-def]
    """Diagonal entry of the projection of the row z − shift onto row i of Ω, with x_ii ≤ cap.

    It is the root of t − z_i − Σ_j u_j max(z_j − u_j t, 0), which is increasing, concave and
    piecewise linear: Newton's first step from anywhere lands left of the root, the others climb to it
    and end on the right piece after finitely many.
    """
    own, scale, k = z[i] - shift, 1.0 / w[i], i + 1
    t = start
    for step in range(z.size + 2):
        left = overhang(z[:i], shift, w[:i], t * scale)
        right = overhang(z[k:], shift, w[k:], t * scale)
        top, bottom = (left[0] + right[0]) * scale, (left[1] + right[1]) * scale * scale
        new = min(max((own + top) / (1.0 + bottom), 0.0), cap)
        if new == t or (step > 0 and new < t):
            break
        t = new
    return t


@njit(cache=True, nogil=True, fastmath=SUMS)
def clip_row(z, shift, w, level, x):  # type: ignore[no-untyped-def]
    """Write clip(z − shift, 0, w·level).

    Returns the sum, Σw and Σw² over the entries cut from above, and the number of those left as they were.
    """
    total, cut, squares, free = 0.0, 0.0, 0.0, 0.0
    for j in range(z.size):
        value, top = z[j] - shift, w[j] * level
        clipped = min(max(value, 0.0), top)
        weight = w[j] if value > top else 0.0
        total += clipped
        cut += weight
        squares += weight * weight
        free += 1.0 if clipped == value else 0.0
        x[j] = clipped
    return total, cut, squares, free


@njit(cache=True, nogil=True)
def project(Z, shift, w, diag, out):  # type: ignore[no-untyped-def]
    """Write P_Ω(Z − shift) into `out`; return its sum and the sum's derivative in the shift."""
    total, slope = 0.0, 0.0
    for i in range(Z.shape[0]):
        t = diagonal(Z[i], i, shift, w, 1.0, diag[i])
        diag[i] = t
        scale, k = 1.0 / w[i], i + 1
        left = clip_row(Z[i, :i], shift, w[:i], t * scale, out[i, :i])
        right = clip_row(Z[i, k:], shift, w[k:], t * scale, out[i, k:])
        out[i, i] = t
        total += left[0] + t + right[0]
        if t > 0.0:
            slope -= left[3] + right[3]
        if 0.0 < t < 1.0:
            slope -= (1.0 + (left[1] + right[1]) * scale) ** 2 / (1.0 + (left[2] + right[2]) * scale * scale)
    return total, slope


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
def shrink_rows(A, tau, w, diag, out):  # type: ignore[no-untyped-def]
    """Write argmin_V τ Σ_i ‖V_i:‖₂ + ½‖V − A‖² over Ω into `out`.

    Without the cap x_ii ≤ 1 a row of Ω is a cone, and the answer is the row's projection onto it,
    shortened by τ. Where that breaks the cap, x_ii = 1 and the row is clip(a/θ, 0, u), θ = 1 + τ/‖v‖.
    Returns Σ_i ‖V_i:‖₂ and its derivative in τ. `diag` is the start for the cone's diagonal.
    """
    n = A.shape[0]
    total, slope = 0.0, 0.0
    for i in range(n):
        t = diagonal(A[i], i, 0.0, w, math.inf, diag[i])
        diag[i] = t
        scale = 1.0 / w[i]
        square = 0.0
        for j in range(n):
            value = t if j == i else min(max(A[i, j], 0.0), w[j] * scale * t)
            out[i, j] = value
            square += value * value
        norm = math.sqrt(square)
        if norm <= tau:
            for j in range(n):
                out[i, j] = 0.0
            continue
        shorten = 1.0 - tau / norm
        if t * shorten <= 1.0:
            for j in range(n):
                out[i, j] *= shorten
            total += norm - tau
            slope -= 1.0
            continue
        theta, norm, rate = capped_angle(A[i], i, tau, w)
        for j in range(n):
            out[i, j] = 1.0 if j == i else min(max(A[i, j] / theta, 0.0), w[j] * scale)
        total += norm
        slope += rate
    return total, slope
