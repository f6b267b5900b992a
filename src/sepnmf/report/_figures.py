"""Line charts, which the script of the page draws from a block of JSON, and bars in plain HTML."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sepnmf._markup import Markup, data_block, element, group, name
from sepnmf._typing import Floats, Ints
from sepnmf.report._contents import Weighted
from sepnmf.report._tables import bar, head, number_cell, row, table
from sepnmf.report._values import plain, shown

LONGEST, BINS = 2000, 500  # a curve of more points is reduced to its extremes in each bin
Card = tuple[str, Sequence[tuple[str, Markup]]]  # a title, and lists with their headings
TABLE_ROWS = 200  # largest number of rows of the table below a chart


@dataclass(frozen=True, eq=False)
class Axis:
    """Label and scale of an axis. `log` is the initial scale; None if it cannot be logarithmic."""

    label: str
    log: bool | None = None
    integer: bool = False


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve of a chart. `on` says whether it is visible initially."""

    label: str
    y: Floats
    on: bool = True


def line_chart(
    identity: str,
    title: str,
    caption: str,
    x: Floats,
    curves: Sequence[Curve],
    x_axis: Axis,
    y_axis: Axis,
    mark: tuple[float, str] | None = None,
) -> Markup:
    """Return a chart of curves over common, increasing abscissas, with a table of the values below.

    `mark` is the abscissa of a vertical line, and its label.
    """
    block = {
        "x": {"label": x_axis.label, "integer": x_axis.integer},
        "y": {"label": y_axis.label, "log": y_axis.log},
        "series": [series(x, curve) for curve in curves],
        "mark": None if mark is None else dict(zip(("x", "label"), mark, strict=True)),
    }
    if len(x) > LONGEST:
        caption += f" Drawn from the extremes in {BINS} bins; ≈ marks a value from beside the cursor."
    fallback = element("noscript", "This chart needs JavaScript. Its values are in the table below.")
    return element(
        "figure",
        element("h3", title, id=f"{identity}-title"),
        element("div", fallback, class_="place"),
        element("figcaption", caption),
        values_table(title, x, curves, x_axis.label),
        data_block(block),
        class_="chart",
        id=identity,
        aria_labelledby=f"{identity}-title",
    )


def series(x: Floats, curve: Curve) -> dict[str, Any]:
    """Return a curve as JSON for the script."""
    kept = thinned(curve.y)
    return {"name": curve.label, "on": curve.on, "x": plain(x[kept]), "y": plain(curve.y[kept])}


def thinned(y: Floats) -> Ints:
    """Return the indices of the points to draw: all, or the end points and the extremes of every bin."""
    if len(y) <= LONGEST:
        return np.arange(len(y))
    kept = [0, len(y) - 1]
    for start, end in pairwise(np.linspace(0, len(y), BINS + 1).astype(int).tolist()):
        part = y[start:end]
        finite = np.flatnonzero(np.isfinite(part))
        if not finite.size:
            kept.append(start)  # a gap remains a gap
            continue
        kept += [start + finite[part[finite].argmin()], start + finite[part[finite].argmax()]]
    return np.unique(np.array(kept, dtype=np.intp))


def values_table(title: str, x: Floats, curves: Sequence[Curve], x_label: str) -> Markup:
    """Return a collapsed table of the values of a chart, with at most TABLE_ROWS rows."""
    step = max(1, math.ceil(len(x) / TABLE_ROWS))
    which = "" if step == 1 else f", one row in {step}"
    rows = (
        row(number_cell(x[i], 7), *(number_cell(curve.y[i]) for curve in curves))
        for i in range(0, len(x), step)
    )
    heads = (head(title, numbers=True) for title in [x_label, *(curve.label for curve in curves)])
    content = table(f"{title}: values{which}", heads, rows)
    return element("details", element("summary", f"Table of the values{which}"), content, class_="values")


def cards(found: Sequence[Card]) -> Markup:
    """Return one card per anchor, with one or more lists, each below its heading."""
    made = []
    for title, lists in found:
        parts = (group(element("h5", heading), items) for heading, items in lists)
        made.append(element("section", element("h4", name(title)), parts, class_="card"))
    return element("div", made, class_="cards")


def bar_list(items: Weighted, *, bars: bool = True) -> Markup:
    """Return named values, with bars relative to the largest unless the names need the room."""
    largest = max((abs(value) for _, value in items if math.isfinite(value)), default=0.0)
    entries = (
        element(
            "li",
            element("span", name(label), class_="what", title=label),
            bar(value, largest) if bars else None,
            element("span", shown(value, 3), class_="value"),
        )
        for label, value in items
    )
    return element("ol", entries, class_="bars" if bars else "bars long")


def top_rows(column: Floats, row_names: Sequence[str], count: int = 20) -> Weighted:
    """Return the rows in which a column is largest in absolute value, largest first, without zeros."""
    size = np.nan_to_num(np.abs(column), nan=0.0, posinf=0.0)
    best = np.argsort(-size, kind="stable")[:count]
    return [(row_names[i], float(column[i])) for i in best if size[i] > 0]
