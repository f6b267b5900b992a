"""How results show themselves: tables and small charts in a notebook, and plots with Matplotlib."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sepnmf._markup import Markup, element, group, name
from sepnmf._typing import Floats, Ints

ROWS = 20  # largest number of rows of a table, and of names in a plot
WIDTH, HEIGHT = 420, 90  # of a chart, in pixels
BARS = 210  # largest number of bars of a chart
CELL = "text-align:{};padding:2px 10px"
ACCENT = "#0072b2"
ASIDE = {"seconds", "n_inner"}  # quantities of a history that do not describe convergence


# In a notebook -----------------------------------------------------------------------------------------


def as_html(title: str, parts: Iterable[Markup], notes: Iterable[str] = ()) -> str:
    """Return a title, tables and charts, and sentences below them."""
    below = (element("p", note, style="margin:4px 0") for note in notes if note)
    return str(element("div", element("strong", title), parts, below))


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    """Return a table of texts, to the left, and of numbers, to the right; of a long one, the beginning."""
    sides = ["left" if isinstance(cell, str) else "right" for cell in rows[0]]
    lines = [
        element("tr", (cell("td", value, side) for value, side in zip(row, sides, strict=True)))
        for row in rows[:ROWS]
    ]
    if len(rows) > ROWS:
        lines.append(element("tr", element("td", f"… ({len(rows)} in all)", colspan=len(heads))))
    top = element("tr", (cell("th", title, side) for title, side in zip(heads, sides, strict=True)))
    return element("table", element("thead", top), element("tbody", lines), style="margin:6px 0")


def cell(tag: str, value: Any, side: str) -> Markup:
    """Return a cell of a table; names are isolated, and numbers have four digits."""
    shown = name(value) if isinstance(value, str) else f"{value:.4g}" if isinstance(value, float) else value
    return element(tag, shown, style=CELL.format(side))


def bar_chart(values: Floats, marked: Ints, label: str) -> Markup:
    """Return bars of one value per column; many neighbours share a bar, the largest of them.

    The bars of the columns that are marked have a colour.
    """
    places, tops = largest_of_neighbours(values)
    count = len(places)
    tops = tops / (float(np.abs(tops).max()) or 1.0)
    low = min(float(tops.min()), 0.0)
    heights = (tops - low) / ((float(tops.max()) - low) or 1.0) * HEIGHT
    is_marked = np.isin(np.arange(count), np.searchsorted(places, marked, side="right") - 1)
    step = WIDTH / count
    bars = [
        element(
            "rect",
            x=f"{k * step:.1f}",
            y=f"{HEIGHT - height:.1f}",
            width=f"{max(step - 0.5, 1):.1f}",
            height=f"{height:.1f}",
            fill=ACCENT if colour else "currentColor",
            opacity=None if colour else 0.35,
        )
        for k, (height, colour) in enumerate(zip(heights.tolist(), is_marked.tolist(), strict=True))
    ]
    return chart(bars, label)


def largest_of_neighbours(values: Floats) -> tuple[Ints, Floats]:
    """Return the largest value of each group of neighbours, and the index of the first of each group."""
    places = np.unique(np.arange(BARS) * len(values) // BARS)
    return places, np.maximum.reduceat(values, places)


def line_chart(x: Floats, y: Floats, span: tuple[float, float], label: str) -> Markup:
    """Return a curve, from zero, with dots, and a band over a span of abscissas."""
    left, right = min(float(x[0]), span[0]) - 0.5, max(float(x[-1]), span[1]) + 0.5
    across = WIDTH / (right - left)
    points = [
        (f"{(a - left) * across:.1f}", f"{HEIGHT - 4 - b:.1f}")
        for a, b in zip(x.tolist(), (y / (float(y.max()) or 1.0) * (HEIGHT - 8)).tolist(), strict=True)
    ]
    band = element(
        "rect",
        x=f"{(span[0] - 0.4 - left) * across:.1f}",
        y=0,
        width=f"{(span[1] - span[0] + 0.8) * across:.1f}",
        height=HEIGHT,
        fill=ACCENT,
        opacity=0.2,
    )
    line = element("polyline", points=" ".join(map(",".join, points)), fill="none", stroke="currentColor")
    dots = (element("circle", cx=a, cy=b, r=2.5, fill="currentColor") for a, b in points)
    return chart([band, line, *dots], label)


def chart(shapes: Sequence[Markup], label: str) -> Markup:
    """Return a drawing with a line below it that says what it shows."""
    axis = element("line", x1=0, x2=WIDTH, y1=HEIGHT, y2=HEIGHT, stroke="currentColor", opacity=0.5)
    drawing = element(
        "svg",
        shapes,
        axis,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=label,
        style=f"display:block;width:100%;max-width:{WIDTH}px;height:auto",
    )
    return group(drawing, element("small", label))


# With Matplotlib ---------------------------------------------------------------------------------------


def axes_of(ax: Any) -> Any:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(
            "Matplotlib is needed to plot and is not installed: pip install 'sepnmf[plot]'."
        ) from None
    return pyplot.subplots(layout="constrained")[1]


def plot_scores(ax: Any, scores: Floats, anchors: Ints, labels: Sequence[str]) -> Any:
    """Draw one score per column, and mark the anchors with their labels."""
    ax = axes_of(ax)
    places, tops = largest_of_neighbours(scores)
    ax.vlines(places, 0, tops, color="0.6", linewidth=0.8)
    ax.plot(anchors, scores[anchors], "o", color=ACCENT)
    for anchor, label in list(zip(anchors.tolist(), labels, strict=True))[:ROWS]:
        place = {"xytext": (4, 3), "textcoords": "offset points", "fontsize": 8}
        ax.annotate(label, (anchor, scores[anchor]), **place).set_parse_math(False)
    ax.set(xlabel="column", ylabel="score")
    return ax


def plot_history(ax: Any, method: str, history: Mapping[str, Floats]) -> Any:
    """Draw the numbers that a method recorded against the iteration, on a logarithmic scale if they allow."""
    numbers = {
        key: values
        for key, values in history.items()
        if values.dtype.kind == "f" and key not in ASIDE and np.isfinite(values).any()
    }
    if not numbers:
        raise ValueError(f"{method} does not iterate, so that there is no history to plot.")
    ax = axes_of(ax)
    for key, values in numbers.items():
        ax.plot(np.arange(1, len(values) + 1), values, ".-", label=key)
    positive = all(np.nanmin(values) > 0 for values in numbers.values())
    ax.set(xlabel="iteration", ylabel="value", yscale="log" if positive else "linear")
    ax.legend(frameon=False)
    return ax


def plot_numbers(ax: Any, x: Floats, y: Floats, span: tuple[float, float]) -> Any:
    """Draw what numbers of anchors leave unexplained, and a band over the numbers that are estimated."""
    ax = axes_of(ax)
    ax.axvspan(span[0] - 0.4, span[1] + 0.4, color=ACCENT, alpha=0.2)
    ax.plot(x, y, ".-", color="0.2")
    ax.set(xlabel="number of anchors r", ylabel="unexplained", ylim=(0, None))
    return ax
