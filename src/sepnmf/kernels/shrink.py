"""Soft thresholding at the threshold that solves the powered problem."""

import math

from numba import njit


@njit(cache=True, nogil=True)
def share(log_kappa: float, p: float) -> float:
    """Logarithm of the root x of x + κ x^(p−1) = 1, for p > 1 and any κ > 0 (given as log κ).

    In u = log x the left side's logarithm is convex and increasing with slopes between 1 and p − 1,
    so Newton from the right is monotone; it starts at most log 2 too high.
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


@njit(cache=True, nogil=True)
def shrink_power(a, gamma, p, out):  # type: ignore[no-untyped-def]
    """Write argmin_x γ (Σx)^p + ½‖x − a‖² over x ≥ 0 into `out` and return Σx, for a ≥ 0.

    The answer is max(a − τ, 0) with τ = pγs^(p−1), s = Σ max(a − τ, 0). On a set of k entries that sum
    to S, s + kpγs^(p−1) = S; the root on any superset of the surviving entries gives a threshold
    that is not too high, so cutting and solving again can only stop at the right set.

    Everything is done in logarithms, so that no power overflows, and past half the largest entry the
    distance δ of the threshold from that entry is kept instead of τ: survivors then have full
    relative accuracy however hard the shrinking.
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
        u = share(log_kappa, p)
        tau = kept * (math.exp(log_kappa + (p - 1.0) * u) / k)
        delta = (kept * math.exp(u) + gaps) / k
        near_peak = 2.0 * tau >= peak

    for i in range(a.size):
        left = delta - (peak - a[i]) if near_peak else a[i] - tau
        out[i] = max(left, 0.0)
        total += out[i]
    return total
