"""Thresholds of the proximal map of γ(Σx)^p, exact and as printed in the paper."""

import math
from typing import Literal

import numpy as np

from sepnmf._kernels import shrink
from sepnmf._typing import Floats

Form = Literal["exact", "paper"]


def shrink_vector(a: Floats, gamma: float, p: float, form: Form, k: int) -> tuple[Floats, float]:
    """argmin_{x ≥ 0} γ(Σx)^p + ½‖x − a‖² for a ≥ 0, and Σx; or the paper's printed formula for it."""
    a = np.ascontiguousarray(a)
    if form == "paper":
        tau = printed_threshold(float(a.sum(dtype=np.float64)), gamma, p, k)
        x = np.maximum(a - tau, 0).astype(a.dtype)
        return x, float(x.sum(dtype=np.float64))
    x = np.empty_like(a)
    return x, float(shrink.shrink_power(a, gamma, p, x))


def shared_threshold(total: float, gamma: float, p: float, form: Form, n: int) -> float:
    """Threshold for n magnitudes with this total, if none of them is set to zero."""
    if form == "paper":
        return printed_threshold(total, gamma, p, n * n)
    if p == 1 or gamma == 0:
        return gamma
    log_kappa = math.log(n * p) + math.log(gamma) + (p - 2) * math.log(total)
    return total * (math.exp(log_kappa + (p - 1) * shrink.log_root(log_kappa, p)) / n)


def printed_threshold(total: float, gamma: float, p: float, k: int) -> float:
    """Threshold pγg_p^(p−1) of the paper's printed formula, for k magnitudes with this total.

    It is exact only if no magnitude is set to zero.
    """
    total, kg = np.float64(total), k * gamma
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if p == 1:
            g = np.float64(1.0)
        elif p == 2:
            g = total / (2 * kg + 1)
        elif p == 3:
            g = (-1 + np.sqrt(1 + 12 * kg * total)) / (6 * kg)
        elif p == 4:
            root = np.sqrt(total**2 + 1 / (27 * kg))
            g = np.cbrt((total + root) / (8 * kg)) + np.cbrt((total - root) / (8 * kg))
        else:
            raise ValueError(
                f'p must be 1, 2, 3 or 4 with the paper\'s formula, got {p!r}: "exact" takes any p ≥ 1.'
            )
        return float(p * gamma * g ** (p - 1))
