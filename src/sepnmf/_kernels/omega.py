"""Row-wise loops over Ω = {X ≥ 0 : x_ii ≤ 1, w_i x_ij ≤ w_j x_ii}.

In each row the diagonal entry t = x_ii is the only unknown: given t, the other entries are clipped to
[0, u_j t], u_j = w_j / w_i. The iterations for t start from the last diagonal, which they overwrite.
"""

import math

from sepnmf._kernels._compiled import compiled

# Fast-math flags: sums may be reordered; NaN and infinity are respected. Functions with these flags, and
# functions that call them, are inlined into kernels that call them (see `sepnmf._kernels`).
SUMS = {"reassoc", "contract", "nsz"}


@compiled(forceinline=True, fastmath=SUMS)
def excess_sums(z, w, level):  # type: ignore[no-untyped-def]
    """Σ w_j z_j and Σ w_j² over the entries z_j above w_j·level.

    The condition selects a weight instead of branching, so that the loop is vectorised.
    """
    zero = z.dtype.type(0)
    top, bottom = zero, zero
    for j in range(z.size):
        weight = w[j] if z[j] > w[j] * level else zero
        top += weight * z[j]
        bottom += weight * weight
    return top, bottom


@compiled(forceinline=True)
def diagonal(z, own, w, own_w, cap, start):  # type: ignore[no-untyped-def]
    """Diagonal entry of the projection of a row onto its row of Ω, with x_ii ≤ cap.

    `own` and `own_w` are the row's entry and weight on the diagonal. In z the diagonal entry must be zero, so
    that it does not contribute to sums and loops need no branch, which would prevent vectorisation.

    t is the root of t − z_i − Σ_j u_j max(z_j − u_j t, 0), which is increasing, concave and piecewise linear.
    The first step of Newton's method from any start is at most the root; after it the steps increase and
    reach the root after finitely many.
    """
    one = z.dtype.type(1)
    zero, scale = one - one, one / own_w
    t = start
    for step in range(z.size + 2):
        top, bottom = excess_sums(z, w, t * scale)
        new = min(max((own + top * scale) / (one + bottom * scale * scale), zero), cap)
        if new == t or (step > 0 and new < t):
            break
        t = new
    return t


@compiled(forceinline=True, fastmath=SUMS)
def clip_row(x, w, level):  # type: ignore[no-untyped-def]
    """Clip x to [0, w·level], in place.

    Returns the sum of the result, Σw and Σw² over the entries above their bounds, and the number of entries
    that are not changed.
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


@compiled()
def project(Z, shift, w, diag, out, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Write rows lo … hi − 1 of P_Ω(Z − shift) into `out`; sums: Σ x_ij and its derivative in the shift."""
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


@compiled()
def capped_scaling(a, i, tau, w):  # type: ignore[no-untyped-def]
    """Root θ of (θ − 1)·ν(θ) = τ, where ν(θ) is the norm of the row (1, clip(a/θ, 0, u)).

    Returns θ, ν and dν/dτ. As ν ≥ 1, θ is between 1 and 1 + τ; Newton's method with bisection in that
    bracket.
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


@compiled()
def shrink_rows(A, tau, w, diag, out, lo, hi, sums):  # type: ignore[no-untyped-def]
    """Write rows lo … hi − 1 of argmin_V τ Σ_i ‖V_i:‖₂ + ½‖V − A‖² over Ω into `out`.

    Without the constraint x_ii ≤ 1 the rows of Ω are cones, and the solution is the projection of the row
    onto its cone, with its norm reduced by τ. If that violates x_ii ≤ 1, then x_ii = 1 and the row is
    clip(a/θ, 0, u), θ = 1 + τ/‖v‖. `diag` has the diagonal of the projection onto the cones, to start from.
    Sums: Σ_i ‖V_i:‖₂ and its derivative in τ.
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
        theta, norm, rate = capped_scaling(a, i, tau, w)
        for j in range(n):
            x[j] = min(max(a[j] / theta, 0.0), w[j] * scale)
        x[i] = 1.0
        total += norm
        slope += rate
    sums[0] = total
    sums[1] = slope
