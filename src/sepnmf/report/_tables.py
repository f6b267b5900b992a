"""Tables in HTML: cells with sort keys, numbers with bars."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from sepnmf._markup import Markup, element, group, name
from sepnmf.report._values import shown


def table(caption: str, heads: Iterable[Markup], rows: Iterable[Markup], *, sortable: bool = False) -> Markup:
    """Return a table, which scrolls horizontally on a narrow page."""
    content = element("thead", element("tr", heads)), element("tbody", rows)
    whole = element("table", content, class_="sortable" if sortable else None, aria_label=caption)
    # The caption is outside of the scrolling element, so that it stays visible.
    return group(
        element("p", caption, class_="caption"),
        element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption),
    )


def head(title: str, *, numbers: bool = False) -> Markup:
    """Return the head of a column of numbers or of text."""
    return element("th", name(title), scope="col", class_="n" if numbers else None)


def row(*cells: Markup) -> Markup:
    """Return a row."""
    return element("tr", cells)


def text_cell(content: Any, sort: object = None, **attributes: Any) -> Markup:
    """Return a cell of text or markup, sorted by `sort`, by default by the text itself."""
    return element("td", content, data_sort=content if sort is None else sort, **attributes)


def head_cell(content: Any, sort: object = None) -> Markup:
    """Return the cell that is the head of its row."""
    return element("th", content, data_sort=content if sort is None else sort, scope="row")


def number_cell(value: Any, digits: int = 4) -> Markup:
    """Return a cell with a number, or a dash if it is None or not finite."""
    return element("td", shown(value, digits), class_="n", data_sort=sort_key(value))


def index_cell(index: int) -> Markup:
    """Return a cell with an index, as one would type it."""
    return element("td", str(index), class_="n", data_sort=index)


def bar_cell(value: Any, largest: float, base: float = 0.0) -> Markup:
    """Return a cell with a number and a bar from `base` to the number, full at the largest number."""
    content = element("span", bar(value, largest, base), element("span", shown(value)), class_="barred")
    return element("td", content, class_="n", data_sort=sort_key(value))


def bar(value: Any, largest: float, base: float = 0.0) -> Markup:
    """Return a bar, hatched if the value is negative, and hidden from screen readers."""
    known = value is not None and largest > base and np.isfinite(value)
    share = (abs(value) - base) / (largest - base) if known else 0.0
    class_ = "fill negative" if share and value < 0 else "fill"
    fill = element("span", class_=class_, style=f"width:{100 * min(share, 1.0):.1f}%")
    return element("span", fill, class_="track", aria_hidden="true")


def sort_key(value: Any) -> str | None:
    """Return the sort key of a number; None if it is not finite, so that it comes last."""
    return repr(float(value)) if value is not None and np.isfinite(value) else None


def definitions(items: Iterable[tuple[str, Any]]) -> Markup:
    """Return a definition list."""
    pairs = (element("div", element("dt", term), element("dd", value)) for term, value in items)
    return element("dl", pairs)
