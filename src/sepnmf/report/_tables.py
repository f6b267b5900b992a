"""Tables: cells that know what they are sorted by, bars beside numbers."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from sepnmf.report._markup import Markup, element, group, name
from sepnmf.report._values import shown


def table(caption: str, heads: Iterable[Markup], rows: Iterable[Markup], *, sortable: bool = False) -> Markup:
    """A table that scrolls by itself where the page is narrow."""
    content = element("thead", element("tr", heads)), element("tbody", rows)
    whole = element("table", content, class_="sortable" if sortable else None, aria_label=caption)
    # The caption stands outside, where it neither scrolls away nor is as narrow as the table.
    return group(
        element("p", caption, class_="caption"),
        element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption),
    )


def head(title: str, *, numbers: bool = False) -> Markup:
    """The head of a column, of numbers or of words."""
    return element("th", name(title), scope="col", class_="n" if numbers else None)


def row(*cells: Markup) -> Markup:
    """A row."""
    return element("tr", cells)


def text_cell(content: Any, sort: object = None, **attributes: Any) -> Markup:
    """Text or markup, sorted by `sort`, or by the text itself."""
    return element("td", content, data_sort=content if sort is None else sort, **attributes)


def head_cell(content: Any, sort: object = None) -> Markup:
    """The cell that names its row."""
    return element("th", content, data_sort=content if sort is None else sort, scope="row")


def number_cell(value: Any, digits: int = 4) -> Markup:
    """A number, or a word where there is none."""
    return element("td", shown(value, digits), class_="n", data_sort=sort_key(value))


def bar_cell(value: Any, largest: float) -> Markup:
    """A number with a bar of its share of the largest."""
    content = element("span", bar(value, largest), element("span", shown(value)), class_="barred")
    return element("td", content, class_="n", data_sort=sort_key(value))


def bar(value: Any, largest: float) -> Markup:
    """A bar, hatched if the value is negative; nothing for a reader of the text."""
    share = abs(value) / largest if value is not None and largest > 0 and np.isfinite(value) else 0.0
    class_ = "fill negative" if share and value < 0 else "fill"
    fill = element("span", class_=class_, style=f"width:{100 * min(share, 1.0):.1f}%")
    return element("span", fill, class_="track", aria_hidden="true")


def sort_key(value: Any) -> str | None:
    """What a column of numbers is sorted by; nothing for what is not a finite number: it comes last."""
    return repr(float(value)) if value is not None and np.isfinite(value) else None


def definitions(items: Iterable[tuple[str, Any]]) -> Markup:
    """Terms and what they are."""
    pairs = (element("div", element("dt", term), element("dd", value)) for term, value in items)
    return element("dl", pairs)
