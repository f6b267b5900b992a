"""Which points lie in an area that was drawn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Floats


def corners(geometry: dict[str, Any]) -> tuple[Floats, Floats]:
    """Return the corners of a rectangle or polygon as Bokeh describes it in an event."""
    if geometry["type"] == "rect":
        left, right, low, high = (float(geometry[key]) for key in ("x0", "x1", "y0", "y1"))
        return np.array([left, right, right, left]), np.array([low, low, high, high])
    return np.asarray(geometry["x"], dtype=float), np.asarray(geometry["y"], dtype=float)


def inside(x: Floats, y: Floats, xs: Floats, ys: Floats) -> NDArray[np.bool_]:
    """Return which points (x, y) lie in a polygon with corners (xs, ys), by the even–odd rule.

    >>> inside(np.array([0.5, 2.0]), np.array([0.5, 0.5]), np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1]))
    array([ True, False])
    """
    found = np.zeros(x.shape, dtype=bool)
    for x0, y0, x1, y1 in zip(xs, ys, np.roll(xs, -1), np.roll(ys, -1), strict=True):
        if y0 != y1:
            crosses = (y0 > y) != (y1 > y)
            found ^= crosses & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return found
