"""Columns of a table that are left out: those of text, and those that are named."""

from collections.abc import Collection, Sequence
from pathlib import Path

SHOWN = 5  # names of columns in a sentence
TEXT = "they contain text or dates"


def check_omitted(omit: Collection[str], names: Collection[str], file: Path) -> None:
    """Refuse names that no column has."""
    for name in omit:
        if name not in names:
            raise ValueError(f"omit names the column {name[:40]!r}, and {file.name} has none of this name.")


def said_of_columns(texts: Sequence[str], omitted: Sequence[str], count: int) -> tuple[str, ...]:
    """Return sentences about columns of text, and those that are omitted on request, of `count` columns."""
    reasons = ((texts, TEXT), (omitted, "--omit"))
    return tuple(
        f"{len(names)} of {count:,} columns are left out: {why} ({listed(names)})."
        for names, why in reasons
        if names
    )


def listed(names: Sequence[str]) -> str:
    """Return the first names with commas between them, and how many others there are."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(repr(name[:40]) for name in names[:SHOWN]) + more
