"""The parts of a section in Markdown: tables, figures, and lines that say whether a claim holds."""

import math
from collections.abc import Iterable


def section(*parts: str) -> str:
    """Parts with a blank line between them."""
    return "\n\n".join(parts)


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown."""
    names = list(head)
    lines: list[Iterable[object]] = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cell(value) for value in line)} |" for line in lines)


def cell(value: object) -> str:
    """A value for a reader: four digits, a dash where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def figure(name: str, caption: str, page: str = "paper") -> str:
    """A figure of the page, by the name `draw` gave it."""
    return f"![{caption}]({page}/{name}.svg)\n\n*{caption}*"


def verdict(holds: bool | Iterable[bool], words: str, *, decided: bool = True) -> str:
    """The line that says whether a claim of the paper holds, or which share of its parts."""
    each = list(holds) if isinstance(holds, Iterable) else [holds]
    mark = "Holds" if all(each) else "Partly" if any(each) else "Does not hold"
    return f"**{mark if decided else 'Undecided'}.** {words}"


def fact(holds: bool, words: str) -> str:
    """The line that says whether one of our own statements is borne out."""
    return f"**{'As stated' if holds else 'Not as stated'}.** {words}"
