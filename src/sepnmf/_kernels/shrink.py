"""Soft thresholding at the threshold that solves the powered problem."""

import math

from sepnmf._kernels._compiled import compiled


@compiled()
def log_root(log_kappa: float, p: float) -> float:
    """Logarithm of the root x of x + κ x^(p−1) = 1, for p > 1 and any κ > 0 (given as log κ).

    As a function of u = log x the logarithm of the left side is convex and increasing, with slopes between 1
    and p − 1. So Newton's method is monotone from a start above the root, here by at most log 2.
    """
    u = min(0.0, -log_kappa / (p - 1.0))
    for _ in range(60):
        # e^u and κ e^((p−1)u): the larger one is at least a half.
        first, second = math.exp(u), math.exp(log_kappa + (p - 1.0) * u)
        total = first + second
        step = math.log(total) * total / (first + (p - 1.0) * second)
        if not step > 1e-16 * (1.0 + abs(u)):
            break
        u -= step
    return u


@compiled()
def shrink_power(a, gamma, p, out):  # type: ignore[no-untyped-def]
    """Write argmin_x γ (Σx)^p + ½‖x − a‖² over x ≥ 0 into `out` and return Σx, for a ≥ 0.

    The solution is max(a − τ, 0) with τ = pγs^(p−1), s = Σ max(a − τ, 0). On a set of k entries with sum S,
    s solves s + kpγs^(p−1) = S. On any superset of the support of the solution the threshold is not too high,
    so removing the entries below it and solving again ends at the support.

    Powers are computed through logarithms to avoid overflow. If τ exceeds half the largest entry, its
    distance δ from that entry is used instead of τ: the result then has full relative accuracy even if
    nearly everything is removed.
    """
    peak = 0.0
    for i in range(a.size):
        peak = max(peak, a[i])
    total = 0.0
    if p == 1.0:
        for i in range(a.size):
            out[i] = max(a[i] - gamma, 0.0)
            total += out[i]
        return total
    if peak == 0.0:
        for i in range(a.size):
            out[i] = 0.0
        return total

    tau, delta, near_peak = 0.0, peak, False
    count = a.size + 1
    while True:
        k, kept, gaps = 0, 0.0, 0.0
        for i in range(a.size):
            gap = peak - a[i]
            if (gap < delta) if near_peak else (a[i] > tau):
                k += 1
                kept += a[i]
                gaps += gap
        if k == 0 or k >= count:
            break
        count = k
        log_kappa = math.log(k * p) + math.log(gamma) + (p - 2.0) * math.log(kept)
        u = log_root(log_kappa, p)
        tau = kept * (math.exp(log_kappa + (p - 1.0) * u) / k)
        delta = (kept * math.exp(u) + gaps) / k
        near_peak = 2.0 * tau >= peak

    for i in range(a.size):
        left = delta - (peak - a[i]) if near_peak else a[i] - tau
        out[i] = max(left, 0.0)
        total += out[i]
    return total
