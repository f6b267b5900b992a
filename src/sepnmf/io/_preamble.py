"""Lines above a table, such as the name of a device and a date: where the table begins."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

from sepnmf.io._dialect import (
    DELIMITERS,
    TEXT_DELIMITERS,
    Dialect,
    has_columns,
    has_numbers,
    looks_numeric,
    trimmed,
)

LINES, LEAST = 200, 3  # lines that are looked at, and lines that a table must have


def check_preamble(file: Path, dialect: Dialect) -> None:
    """Refuse a file in which a table begins after other lines, and say where; it was no table as a whole."""
    for mark in DELIMITERS.get(file.suffix.lower(), TEXT_DELIMITERS):
        begin = table_begin(file, replace(dialect, delimiter=mark))
        if begin is not None:
            raise ValueError(
                f"{file.name} seems to have a table from line {begin} on: remove the lines above it."
            )


def table_begin(file: Path, dialect: Dialect) -> int | None:
    """Return the number of the line in which a table begins, if other lines are above it."""
    try:
        found = list(islice(dialect.rows(file), LINES))
    except ValueError:
        return None
    for start in range(len(found) - LEAST + 1):
        rows = trimmed([cells for _, cells in found[start:]])
        if not (has_columns(rows) and has_numbers(rows)):
            continue
        above = trimmed([cells for _, cells in found[:start]])
        if start == 0 or any(is_data(cells, len(rows[0])) for cells in above):
            return None
        # Below lines of as many cells, what begins a table has no number, or it may be a line of the table.
        equal = any(len(cells) == len(rows[0]) for cells in above)
        if equal and any(cell and looks_numeric(cell) for cell in rows[0]):
            return None
        return found[start][0]
    return None


def is_data(cells: list[str], width: int) -> bool:
    """Return whether a line has as many cells as a table, and numbers in all but the first."""
    return len(cells) == width and all(cell and looks_numeric(cell) for cell in cells[1:])
