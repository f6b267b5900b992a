"""Conversion of numbers to text and to JSON."""

import math
from typing import Any

import numpy as np

from sepnmf._typing import Floats

CLOSE = 0.7  # fraction of the largest value above which all values are close
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shown(value: Any, digits: int = 4) -> str:
    """Return a value as text with `digits` significant digits; powers of ten only for extreme values.

    >>> [shown(x) for x in (0.97654, 12345.678, 3, 2.5e-7, -1e9, float("nan"), None, True, "spa")]
    ['0.9765', '12,346', '3', '2.5·10⁻⁷', '−10⁹', '–', '–', 'yes', 'spa']
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
        return grouped(f"{value:.0f}").replace("-", "−")
    exponent = math.floor(math.log10(abs(value)))
    if -4 <= exponent < 9:
        text = f"{value:.{max(0, digits - 1 - exponent)}f}"
        text = grouped(text.rstrip("0").rstrip(".") if "." in text else text)
    else:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        power = str(int(power)).translate(SUPERSCRIPTS)
        text = {"1": "", "-1": "-"}.get(mantissa, f"{mantissa}·") + f"10{power}"
    return text.replace("-", "−")


def grouped(digits: str) -> str:
    """Return an integer of five digits or more with commas between groups of three."""
    return f"{int(digits):,}" if len(digits.lstrip("-")) > 4 and "." not in digits else digits


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


def baseline(values: Floats) -> float:
    """Return where bars begin: 0, or a round number below values that are so close that bars look alike.

    >>> [baseline(np.array(x)) for x in ([0.2, 1.0], [0.98, 0.99, 1.0], [3.0, 3.0], [-1.0, -0.9])]
    [0.0, 0.97, 0.0, 0.0]
    """
    least, largest = finite_range(values)
    spread = largest - least
    if least < CLOSE * largest or spread <= 0 or least <= 0:
        return 0.0
    step = 10.0 ** math.floor(math.log10(spread))
    return float(f"{math.floor((least - spread / 4) / step) * step:.12g}")
