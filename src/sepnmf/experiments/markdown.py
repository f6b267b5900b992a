"""The parts of a section in Markdown: tables, figures, and lines that say whether a claim holds."""

import math
import re
from collections.abc import Iterable
from typing import NamedTuple, Self

HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Claim(NamedTuple):
    """A claim of the paper in a few words, its verdict, the number that decides, and where it is judged."""

    words: str
    verdict: str
    number: str
    heading: str = ""


class Text(str):
    """Markdown that knows the claims it judges, in their order."""

    __slots__ = ("claims",)
    claims: tuple[Claim, ...]

    def __new__(cls, text: str, claims: Iterable[Claim] = ()) -> Self:
        """Text with its claims."""
        new = super().__new__(cls, text)
        new.claims = tuple(claims)
        return new


def section(*parts: str) -> Text:
    """Parts with a blank line between them; a claim belongs to the last heading before it."""
    heading = ""
    claims: list[Claim] = []
    for part in parts:
        own = part.claims if isinstance(part, Text) else ()
        claims += [claim if claim.heading else claim._replace(heading=heading) for claim in own]
        heading = [heading, *HEADING.findall(part)][-1]
    return Text("\n\n".join(parts), claims)


def link(words: str, heading: str) -> str:
    """A link to a heading of the same page, by the name that GitHub and Sphinx give it."""
    name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    return f"[{words}](#{name})"


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


def signed(value: float, digits: int) -> str:
    """A number with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")


def figure(name: str, caption: str, page: str = "paper") -> str:
    """A figure of the page, by the name `draw` gave it."""
    return f"![{caption}]({page}/{name}.svg)\n\n*{caption}*"


def verdict(
    holds: bool | Iterable[bool], words: str, *, claim: str, number: str, decided: bool = True
) -> Text:
    """The line that says whether a claim of the paper holds, or which share of its parts.

    `claim` and `number` are its line in the table at the top of the page: the claim in a few words, and what
    decides it.
    """
    each = list(holds) if isinstance(holds, Iterable) else [holds]
    mark = "Holds" if all(each) else "Partly" if any(each) else "Does not hold"
    mark = mark if decided else "Undecided"
    return Text(f"**{mark}.** {words}", [Claim(claim, mark.lower(), number)])


def fact(holds: bool, words: str) -> str:
    """The line that says whether one of our own statements is borne out."""
    return f"**{'As stated' if holds else 'Not as stated'}.** {words}"
