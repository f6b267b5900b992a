"""Lines above a table, such as the name of a device and a date: where the table begins."""

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

from sepnmf.io._dialect import (
    DELIMITERS,
    TEXT_DELIMITERS,
    Dialect,
    filled_width,
    looks_numeric,
    trimmed,
)

UNIT = re.compile(r"\[.{0,20}\]|\(.{0,20}\)|[%°µμ\w]{1,6}/[\w ]{1,9}|%|°C|K|[kmµμn]?(?:g|m|M|V|A|L|l|s)")
LINES, LEAST = 200, 3  # lines that are looked at, and lines that a table must have
MOST_CELLS = 200_000  # of these lines, about


def check_preamble(file: Path, dialect: Dialect) -> None:
    """Refuse a file in which a table begins after other lines, and say where; it was no table as a whole."""
    for mark in DELIMITERS.get(file.suffix.lower(), TEXT_DELIMITERS):
        begin, units = table_begin(file, replace(dialect, delimiter=mark))
        if units is not None:
            above = f" and the lines above line {begin}" if begin != 1 else ""
            raise ValueError(
                f"{file.name} has names in line {begin} and again text, such as units, in line {units}: "
                f"remove line {units}{above}."
            )
        if begin is not None:
            raise ValueError(
                f"{file.name} seems to have a table from line {begin} on: remove the lines above it."
            )


def table_begin(file: Path, dialect: Dialect) -> tuple[int | None, int | None]:
    """Return the number of the line in which a table begins, if other lines are above it, and of its units.

    Two lines of text above the numbers, with a cell for each column, are names and, for example, units.
    """
    try:
        found = first_rows(file, dialect)
    except ValueError:
        return None, None
    widths = [filled_width(cells) for _, cells in found]
    numeric = [all(map(looks_numeric, cells[1:])) for _, cells in found]
    for start in range(len(found) - LEAST + 1):
        width = max(widths[start:])
        counts = {min(len(cells), width) for _, cells in found[start:]}
        if len(counts) > 1 or width < 2 or not all(numeric[start + 1 :]):
            continue
        rows = trimmed([cells for _, cells in found[start:]])
        above = trimmed([cells for _, cells in found[:start]])
        if start == 0 or any(is_data(cells, len(rows[0])) for cells in above):
            return None, None
        # Below lines of as many cells, what begins a table has no number, or it may be a line of the table.
        equal = any(len(cells) == len(rows[0]) for cells in above)
        if equal and any(cell and looks_numeric(cell) for cell in rows[0]):
            return None, None
        if len(above[-1]) == len(rows[0]) and is_text(above[-1]) and is_units(rows[0]):
            return found[start - 1][0], found[start][0]
        return found[start][0], None
    return None, None


def first_rows(file: Path, dialect: Dialect) -> list[tuple[int, list[str]]]:
    """Return the first lines, fewer if they are long."""
    found: list[tuple[int, list[str]]] = []
    cells = 0
    for row in islice(dialect.rows(file), LINES):
        found.append(row)
        cells += len(row[1])
        if len(found) >= LEAST and cells > MOST_CELLS:
            break
    return found


def is_text(cells: list[str]) -> bool:
    """Return whether all cells but the first, of which there are some, are neither blank nor numbers."""
    return len(cells) > 1 and not any(cell == "" or looks_numeric(cell) for cell in cells[1:])


def is_units(cells: list[str]) -> bool:
    """Return whether text behind the first cell looks like units: [V], mg/l, %, or the same everywhere."""
    units = cells[1:]
    alike = len(units) > 1 and len(set(units)) == 1
    return is_text(cells) and (alike or all(UNIT.fullmatch(cell) for cell in units))


def is_data(cells: list[str], width: int) -> bool:
    """Return whether a line has as many cells as a table, and numbers in all but the first."""
    return len(cells) == width and all(cell and looks_numeric(cell) for cell in cells[1:])
