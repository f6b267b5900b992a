"""Reader of tables: .csv, .tsv and plain text, with or without names."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

from sepnmf._typing import Floats
from sepnmf._validation import check_choice
from sepnmf.io._data import Data
from sepnmf.io._dialect import (
    DECIMAL_COMMA,
    DELIMITER_NAMES,
    IS_DECIMAL,
    LIMIT,
    THOUSANDS,
    WHITESPACE,
    Dialect,
    dialect_of,
    filled_width,
    is_filled,
    is_missing,
    is_word,
    looks_numeric,
)
from sepnmf.io._guards import parsing
from sepnmf.io._omitted import check_omitted, said_of_columns
from sepnmf.io._preamble import check_preamble
from sepnmf.matrix._axis_column import axis_of, is_axis

Decimal = Literal[".", ","]


def read_table(
    file: Path,
    *,
    header: bool | None = None,
    index: bool | None = None,
    decimal: Decimal | None = None,
    omit: Sequence[str] = (),
    missing: bool = False,
) -> Data:
    """Read a matrix from a .csv, .tsv or text file; names, delimiter and decimal separator are detected.

    Columns of text are left out, and those that `omit` names. With `missing`, cells without a number, such as
    blank ones, become NaN; otherwise they are refused.
    """
    if decimal is not None:
        check_choice(decimal, "decimal", (".", ","))
    dialect = dialect_of(file, decimal)
    try:
        return read_dialect(file, dialect, header, index, omit, decimal is not None, missing)
    except ValueError:
        check_preamble(file, dialect)
        raise


def read_dialect(
    file: Path,
    dialect: Dialect,
    header: bool | None,
    index: bool | None,
    omit: Sequence[str],
    sure: bool,
    missing: bool,
) -> Data:
    """Read a table; `sure` is whether its decimal separator is known.

    Decimal commas may begin after the lines from which they are detected, so that a table that is none with
    decimal points is read again.
    """
    commas = replace(dialect, decimal=",")
    if sure or dialect.decimal == ",":
        return Table(file, dialect, header, omit, missing).data(index, sure)
    try:
        table = Table(file, dialect, header, omit, missing)
        if not table.has_labels(commas):
            return table.data(index)
        failure = None
    except ValueError as error:
        failure = error
    try:
        return Table(file, commas, header, omit, missing).data(index)
    except ValueError as error:
        raise failure or error from None


class Table:
    """The numbers of a table, with the cells of its first line and of its first column.

    Attributes
    ----------
    M : ndarray of shape (rows, cells of a line)
        The numbers; NaN for a first cell that is none, and in columns that are left out.
    first : list of str
        The cells of the first line.
    header : bool
        Whether these are names.
    labels : list of str
        The first cells of the other lines.
    omitted, texts : set of int
        Columns that are left out because they are named, and because they have text.
    """

    def __init__(
        self, file: Path, dialect: Dialect, header: bool | None, omit: Sequence[str], missing: bool
    ) -> None:
        self.file, self.dialect, self.missing = file, dialect, missing
        rows = [cells for _, cells in islice(dialect.rows(file), 2)]
        if not rows:
            raise ValueError(f"{file.name} is empty.")
        self.first = rows[0]
        named = rows[0][: filled_width(rows[0])]
        nameless = dialect.begins_blank(file)
        self.header = has_header(named, rows[-1], nameless) if header is None else header
        self.is_sure = self.header or header is not None
        if self.header and len(rows) == 1:
            raise ValueError(f"{file.name} has a header but no rows.")
        self.labels: list[str] = []
        self.has_marks = self.is_decimal = False
        self.texts: set[int] = set()
        check_omitted(omit, self.first if self.header else (), file)
        self.omitted = {j for j, name in enumerate(self.first) if name in omit}
        try:
            self.M = self.parsed()
        except ValueError:
            self.texts = self.text_columns()
            if not self.texts:
                raise
            if header is None:
                self.check_header(rows[-1], nameless)
            self.M = self.parsed()
        width = self.M.shape[1]
        if not is_filled(self.first[width:]):
            self.first = self.first[:width]
        if width != len(self.first):
            raise self.diagnosis() or ValueError(f"{file.name} is not a table.")

    def parsed(self) -> Floats:
        """Return the numbers; refuse with a sentence about the first invalid cell."""
        try:
            with parsing(self.file, "a table"):
                return self.numbers()
        except ValueError as error:
            found = self.diagnosis()
            if found is not None:
                raise found from None
            try:
                with parsing(self.file, "a table"):
                    return self.numbers_and_gaps()
            except ValueError:
                raise error from None

    def text_columns(self) -> set[int]:
        """Return the columns behind the first that have words, and no cell that may be a number."""
        words: set[int] = set()
        others = set(self.omitted)
        for _, cells in islice(self.dialect.rows(self.file), int(self.header), None):
            for column, cell in enumerate(cells[1 : len(self.first)], start=1):
                if not is_missing(cell):
                    (words if is_word(cell) else others).add(column)
        return words - others

    def check_header(self, second: list[str], nameless: bool) -> None:
        """Refuse a first line that has text only above text: it may have names, or belong to the table."""
        used = [j for j in range(len(self.first)) if j not in self.texts]
        first = [self.first[j] for j in used]
        below = [second[j] for j in used if j < len(second)]
        if self.header and not has_header(first, below, nameless):
            raise ValueError(
                f"{self.file.name} has columns of text, and its first line may have names or data: "
                "give --header or --no-header."
            )

    def has_labels(self, other: Dialect) -> bool:
        """Return whether the first cells of the lines are numbers in another dialect, but not in this."""
        own = self.dialect.is_number_or_missing
        return not all(map(own, self.labels)) and all(map(other.is_number, self.labels))

    @property
    def left_out(self) -> set[int]:
        """Columns that are left out."""
        return self.omitted | self.texts

    def width(self) -> int:
        """Return the number of columns, without those at the end that are blank in every line."""
        return max(filled_width(cells) for _, cells in self.dialect.rows(self.file))

    def is_valid(self, cell: str) -> bool:
        """Return whether a cell is a number, or means a missing one if that is allowed."""
        return self.dialect.is_number_or_missing(cell) if self.missing else self.dialect.is_number(cell)

    def has_number(self, column: int) -> bool:
        """Return whether a cell of a column is a number in some spelling."""
        rows = islice(self.dialect.rows(self.file), int(self.header), None)
        found = (cells[column] for _, cells in rows if len(cells) > column)
        return any(not is_missing(cell) and looks_numeric(cell) for cell in found)

    def diagnosis(self, index: bool = True) -> ValueError | None:
        """Return an error about the first invalid line; the table is read again cell by cell."""
        file, dialect = self.file, self.dialect
        known = self.left_out | {0} if index else self.left_out
        try:
            width, first = self.width(), 0
            for number, cells in dialect.rows(file):
                is_first, first = first == 0, first or len(cells)
                if len(cells) < min(width, first) or filled_width(cells) > first:
                    return ValueError(
                        f"{file.name} has {len(cells)} cell(s) in line {number}, expected {first} "
                        f"as in its first line; cells are separated by {DELIMITER_NAMES[dialect.delimiter]}."
                    )
                if is_first and self.header:
                    continue
                for column, cell in enumerate(cells[:width]):
                    if column not in known and not self.is_valid(cell):
                        what = expected(cell, dialect)
                        if not is_missing(cell) and not self.has_number(column):
                            advice = "leave it out with --omit" if self.header else "remove it"
                            what += f"; the whole column is text: {advice}"
                        return ValueError(
                            f"{file.name} has {cell[:40]!r} in line {number}, cell {column + 1}: {what}."
                        )
        except ValueError as error:
            return error
        return None

    def below_header(self) -> Iterator[str]:
        """Return the lines below the names of the columns."""
        lines = self.dialect.lines(self.file)
        if self.header:
            next(filter(is_filled, self.dialect.cells(lines)))
        return lines

    def label(self, cell: str) -> float:
        """Collect the first cell of a line, and return its number."""
        self.labels.append(self.dialect.original(cell).strip())
        return float(cell) if self.dialect.is_number(self.labels[-1]) else np.nan

    def numbers(self) -> Floats:
        """Parse the lines with NumPy, and collect the first cells."""
        dialect = self.dialect
        self.labels = []
        converters: dict[int | str, Callable[[str], float]] = dict.fromkeys(self.left_out, not_a_number)
        converters[0] = self.label
        return np.loadtxt(
            self.noted(self.below_header()),
            delimiter=None if dialect.delimiter == WHITESPACE else dialect.delimiter,
            comments="#" if dialect.comments else None,
            quotechar='"',
            converters=converters,
            ndmin=2,
            encoding="utf-8",
        )

    def numbers_and_gaps(self) -> Floats:
        """Parse the lines cell by cell: missing numbers are NaN, blank lines and last columns are dropped.

        The lines must be those of a table, as `diagnosis` finds.
        """
        width = self.width()
        self.first, self.labels = self.first[:width], []
        rows = []
        for cells in filter(is_filled, self.dialect.cells(self.noted(self.below_header()))):
            others = [self.number(column, cell) for column, cell in enumerate(cells[1:width], start=1)]
            rows.append(np.array([self.label(cells[0]), *others]))
        return np.array(rows)

    def number(self, column: int, cell: str) -> float:
        """Return the number of a cell; NaN if it is missing or its column is left out."""
        is_none = column in self.left_out or is_missing(self.dialect.original(cell).strip())
        return np.nan if is_none else float(cell)

    def headings(self, columns: set[int]) -> list[str]:
        """Return the names of columns, or their numbers, counted from 1."""
        return [self.first[j] if self.header else str(j + 1) for j in sorted(columns)]

    def noted(self, lines: Iterator[str]) -> Iterator[str]:
        """Yield lines with decimal points; note whether marks in numbers could separate thousands."""
        mark = self.dialect.decimal
        is_decimal = IS_DECIMAL[mark].search
        for line in lines:
            if not self.is_decimal and mark in line:
                self.has_marks, self.is_decimal = True, bool(is_decimal(line))
            yield self.dialect.with_points(line)

    def data(self, index: bool | None, sure: bool = False) -> Data:
        """Return the table as data; refuse marks in numbers that could separate thousands, unless `sure`."""
        file, dialect, said = self.file, self.dialect, []
        heading = self.first[0] if self.header else ""
        named, unit = axis_of(heading)
        if 0 in self.omitted:
            index = False
        if index is None:
            index = (self.header and heading == "") or not all(map(looks_numeric, self.labels))
            if not index and len(self.first) > 1 and (named or is_axis(self.M)):
                index = True
                which = f", {heading[:40]!r}," if heading else ""
                said.append(
                    f"The first column{which} is taken as names of the rows; --no-index makes it data."
                )
        if not index and 0 not in self.omitted and not all(map(self.is_valid, self.labels)):
            raise self.diagnosis(index=False) or ValueError(f"{file.name} is not a table.")
        used = [j for j in range(int(index), len(self.first)) if j not in self.left_out]
        if not used:
            raise ValueError(
                f"{file.name} has no column of numbers: are its cells separated by "
                f"{DELIMITER_NAMES[dialect.delimiter]}?"
            )
        foreign = dialect.decimal == "," or dialect.delimiter == ";"
        if foreign and self.has_marks and not self.is_decimal and not sure:
            mark = {".": "points", ",": "commas"}[dialect.decimal]
            raise ValueError(
                f"{file.name} has {mark} in numbers that may be decimal {mark} or separate thousands: "
                f'give decimal="{dialect.decimal}" for the former, or remove them for the latter.'
            )
        # If the other headings are numbers, the first may name them instead.
        measured = index and unit is not None and not all(map(dialect.is_number, self.first[1:]))
        measured = measured and bool(np.isfinite(self.M[:, 0]).all())
        if index and not self.is_sure and rises_or_falls(self.M[0, used]):
            said.append("The first line is taken as data; if it has the names of the columns, pass --header.")
        texts, omitted = self.headings(self.texts), self.headings(self.omitted)
        return Data(
            M=self.M[:, used] if self.left_out else self.M[:, int(index) :],
            file=file,
            row_names=tuple(self.labels) if index else (),
            column_names=tuple(self.first[j] for j in used) if self.header else (),
            wavelengths=tuple(self.M[:, 0].tolist()) if measured else (),
            wavelength_unit=(unit or "") if measured else "",
            left_out=said_of_columns(texts, omitted, len(self.first) - index),
            assumptions=(*dialect.assumptions, *said),
        )


def rises_or_falls(numbers: Floats) -> bool:
    """Return whether three numbers or more strictly rise or fall, as wavelengths do."""
    steps = np.diff(numbers)
    return len(steps) > 1 and bool((steps > 0).all() or (steps < 0).all())


def not_a_number(cell: str) -> float:
    """Return NaN for any cell."""
    return np.nan


def has_header(first: list[str], second: list[str], nameless: bool = False) -> bool:
    """Return whether the first line contains the names of the columns.

    It does if a cell after the first is neither a number nor missing. If only the first cell is text or
    empty, it may be the name of a row instead. It is a heading if it is empty, if the cell below it is a
    number, or if the other cells number the columns; not the latter below a line of blank names (`nameless`).
    """
    if not all(map(looks_numeric, first[1:])):
        return True
    numbered = [str(j) for j in range(len(first))]
    alone = not nameless and (len(first) == 1 or first[1:] in (numbered[:-1], numbered[1:]))
    if first[0] == "":
        return all(first[1:])
    return not looks_numeric(first[0]) and (alone or looks_numeric(second[0]))


def expected(cell: str, dialect: Dialect) -> str:
    """Return what is expected instead of a cell that is not a number."""
    if LIMIT.fullmatch(cell):
        return (
            "expected a number, not a limit of detection; pass --nodata nan to leave out columns with such "
            "cells, or write numbers in their place"
        )
    if is_missing(cell):
        return "expected a number; pass --nodata nan to leave out columns with missing cells"
    if THOUSANDS.fullmatch(cell):
        return "expected a number without separators of thousands"
    if dialect.decimal == "," and "." in cell:
        return "expected a decimal comma, as in other cells, and no separator of thousands"
    if DECIMAL_COMMA.fullmatch(cell):
        return "expected a decimal point, as in other cells, and no separator of thousands"
    return "expected a number"
