"""Conversion of numbers to text and to JSON."""

import math
from typing import Any

import numpy as np

from sepnmf._typing import Floats

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shown(value: Any, digits: int = 4) -> str:
    """Return a value as text with `digits` significant digits; powers of ten only for extreme values.

    >>> [shown(x) for x in (0.97654, 12345.678, 3, 2.5e-7, -1e9, float("nan"), None, True, "spa")]
    ['0.9765', '12346', '3', '2.5·10⁻⁷', '−10⁹', '–', '–', 'yes', 'spa']
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or not math.isfinite(value):
        return "–"
    whole = isinstance(value, int | np.integer)
    value = float(value)
    if value == 0 or (whole and abs(value) < 1e9):
        return f"{value:.0f}".replace("-", "−")
    exponent = math.floor(math.log10(abs(value)))
    if -4 <= exponent < 6:
        text = f"{value:.{max(0, digits - 1 - exponent)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        power = str(int(power)).translate(SUPERSCRIPTS)
        text = {"1": "", "-1": "-"}.get(mantissa, f"{mantissa}·") + f"10{power}"
    return text.replace("-", "−")


def plain(values: Floats) -> list[float | int | None]:
    """Return values for JSON: seven significant digits, None if a value is not finite.

    >>> plain(np.array([1.0, 0.12345678, np.nan, np.inf]))
    [1, 0.1234568, None, None]
    """
    numbers = (float(f"{x:.7g}") for x in np.asarray(values, dtype=float).tolist())
    return [None if not math.isfinite(x) else int(x) if x == int(x) else x for x in numbers]


def finite_range(values: Floats) -> tuple[float, float]:
    """Return the least and the largest finite value; (0, 0) if there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
