"""Readers of tables: .csv, .tsv, plain text and .parquet, with or without names."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sepnmf._typing import Floats
from sepnmf._validation import check_choice
from sepnmf.io._axis_column import axis_of, is_axis
from sepnmf.io._data import Data
from sepnmf.io._dialect import (
    DECIMAL_COMMA,
    DELIMITER_NAMES,
    IS_DECIMAL,
    THOUSANDS,
    WHITESPACE,
    Dialect,
    dialect_of,
    looks_numeric,
)
from sepnmf.io._guards import check_size, needed, one_line, parsing

Decimal = Literal[".", ","]


def read_table(
    file: Path, *, header: bool | None = None, index: bool | None = None, decimal: Decimal | None = None
) -> Data:
    """Read a matrix from a .csv, .tsv or text file; names, delimiter and decimal separator are detected.

    Decimal commas may begin after the lines from which they are detected, so that a table that is none with
    decimal points is read again.
    """
    if decimal is not None:
        check_choice(decimal, "decimal", (".", ","))
    dialect = dialect_of(file, decimal)
    commas = replace(dialect, decimal=",")
    sure = decimal is not None
    if sure or dialect.decimal == ",":
        return Table(file, dialect, header).data(index, sure)
    try:
        table = Table(file, dialect, header)
        if not table.has_labels(commas):
            return table.data(index)
        failure = None
    except ValueError as error:
        failure = error
    try:
        return Table(file, commas, header).data(index)
    except ValueError as error:
        raise failure or error from None


class Table:
    """The numbers of a table, with the cells of its first line and of its first column.

    Attributes
    ----------
    M : ndarray of shape (rows, cells of a line)
        The numbers; NaN for a first cell that is none.
    first : list of str
        The cells of the first line.
    header : bool
        Whether these are names.
    labels : list of str
        The first cells of the other lines.
    """

    def __init__(self, file: Path, dialect: Dialect, header: bool | None) -> None:
        self.file, self.dialect = file, dialect
        rows = [cells for _, cells in islice(dialect.rows(file), 2)]
        if not rows:
            raise ValueError(f"{file.name} is empty.")
        self.first = rows[0]
        self.header = has_header(rows[0], rows[-1]) if header is None else header
        if self.header and len(rows) == 1:
            raise ValueError(f"{file.name} has a header but no rows.")
        self.labels: list[str] = []
        self.has_marks = self.is_decimal = False
        try:
            with parsing(file, "a table"):
                self.M = self.numbers()
        except ValueError as error:
            raise diagnosis(file, dialect, self.header) or error from None
        if self.M.shape[1] != len(self.first):
            raise diagnosis(file, dialect, self.header) or ValueError(f"{file.name} is not a table.")

    def has_labels(self, other: Dialect) -> bool:
        """Return whether the first cells of the lines are numbers in another dialect, but not in this."""
        own = self.dialect.is_number_or_missing
        return not all(map(own, self.labels)) and all(map(other.is_number, self.labels))

    def numbers(self) -> Floats:
        """Parse the lines with NumPy, and collect the first cells."""
        dialect = self.dialect

        def label(cell: str) -> float:
            self.labels.append(dialect.original(cell).strip())
            return float(cell) if dialect.is_number(self.labels[-1]) else np.nan

        lines = dialect.lines(self.file)
        if self.header:
            next(filter(None, dialect.cells(lines)))
        return np.loadtxt(
            self.noted(lines),
            delimiter=None if dialect.delimiter == WHITESPACE else dialect.delimiter,
            comments="#" if dialect.comments else None,
            quotechar='"',
            converters={0: label},
            ndmin=2,
            encoding="utf-8",
        )

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
        file, dialect, said = self.file, self.dialect, ""
        heading = self.first[0] if self.header else ""
        named, unit = axis_of(heading)
        if index is None:
            index = (self.header and heading == "") or not all(map(looks_numeric, self.labels))
            if not index and len(self.first) > 1 and (named or is_axis(self.M)):
                index = True
                which = f", {heading[:40]!r}," if heading else ""
                said = f"The first column{which} is taken as names of the rows; --no-index makes it data."
        if not index and not all(map(dialect.is_number, self.labels)):
            found = diagnosis(file, dialect, self.header, index=False)
            raise found or ValueError(f"{file.name} is not a table.")
        if index and len(self.first) == 1:
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
        return Data(
            M=self.M[:, 1:] if index else self.M,
            file=file,
            row_names=tuple(self.labels) if index else (),
            column_names=tuple(self.first[1:] if index else self.first) if self.header else (),
            wavelengths=tuple(self.M[:, 0].tolist()) if measured else (),
            wavelength_unit=(unit or "") if measured else "",
            assumptions=(*dialect.assumptions, said) if said else dialect.assumptions,
        )


def has_header(first: list[str], second: list[str]) -> bool:
    """Return whether the first line contains the names of the columns.

    It does if a cell after the first is neither a number nor missing. If only the first cell is text or
    empty, it may be the name of a row instead. It is a heading if it is empty, if the cell below it is a
    number, or if the other cells number the columns.
    """
    if not all(map(looks_numeric, first[1:])):
        return True
    numbered = [str(j) for j in range(len(first))]
    alone = len(first) == 1 or first[1:] in (numbered[:-1], numbered[1:])
    if first[0] == "":
        return all(first[1:])
    return not looks_numeric(first[0]) and (alone or looks_numeric(second[0]))


def diagnosis(file: Path, dialect: Dialect, header: bool, index: bool = True) -> ValueError | None:
    """Return an error about the first invalid line of a table, which is read again cell by cell."""
    width = 0
    try:
        for number, cells in dialect.rows(file):
            is_first, width = width == 0, width or len(cells)
            if len(cells) != width:
                return ValueError(
                    f"{file.name} has {len(cells)} cell(s) in line {number}, expected {width} "
                    f"as in its first line; cells are separated by {DELIMITER_NAMES[dialect.delimiter]}."
                )
            if is_first and header:
                continue
            for column, cell in enumerate(cells):
                if not dialect.is_number(cell) and not (index and column == 0):
                    return ValueError(
                        f"{file.name} has {cell[:40]!r} in line {number}, cell {column + 1}: "
                        f"{expected(cell, dialect)}."
                    )
    except ValueError as error:
        return error
    return None


def expected(cell: str, dialect: Dialect) -> str:
    """Return what is expected instead of a cell that is not a number."""
    if THOUSANDS.fullmatch(cell):
        return "expected a number without separators of thousands"
    if dialect.decimal == "," and "." in cell:
        return "expected a decimal comma, as in other cells, and no separator of thousands"
    if DECIMAL_COMMA.fullmatch(cell):
        return "expected a decimal point, as in other cells, and no separator of thousands"
    return "expected a number"


def read_parquet(file: Path) -> Data:
    """Read a matrix from a .parquet file; the index of pandas or a first column of text names the rows."""
    types, pq = needed("pyarrow").types, needed("pyarrow.parquet")
    number_kinds = (types.is_integer, types.is_floating, types.is_boolean)
    kind = "a Parquet file"
    with parsing(file, kind):
        content = pq.ParquetFile(file)
        schema, rows = content.schema_arrow, content.metadata.num_rows
    with content:
        with parsing(file, kind):
            index = index_of(schema)
            named = [name for name in schema.names if name not in index]
            if not index and named and is_text(schema.field(0).type):
                index = [named.pop(0)]
        if len(set(schema.names)) < len(schema.names):
            raise ValueError(f"{file.name} has two columns with the same name: rename one.")
        for name in named:
            column = schema.field(name).type
            if not any(is_kind(column) for is_kind in number_kinds):
                raise ValueError(
                    f"{file.name} has a column {name!r} of type {one_line(ValueError(column))}, not real "
                    "numbers: remove or convert it."
                )
        if not named:
            raise ValueError(f"{file.name} has no column of numbers.")
        check_size(8 * rows * len(schema.names), file)
        with parsing(file, kind):
            columns = [column.to_numpy() for column in content.read(named).columns]
            M = np.empty((rows, len(named)), np.result_type(*columns), order="F")
            for j, column in enumerate(columns):
                M[:, j] = column
    with parsing(file, kind):
        words = [words_of(file, name) for name in index]
    row_names = tuple(", ".join(parts) for parts in zip(*words, strict=True))
    return Data(M=M, file=file, row_names=row_names, column_names=tuple(named))


def index_of(schema: Any) -> list[str]:
    """Return the columns that pandas stored as an index; a range index is not stored as a column."""
    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in stored if isinstance(name, str) and name in schema.names]


def is_text(kind: Any) -> bool:
    """Return whether a column is text or a category of text."""
    types = needed("pyarrow").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def words_of(file: Path, name: str) -> list[str]:
    """Read a column as text, as a dictionary so that a repeated word is in memory once."""
    pq = needed("pyarrow.parquet")
    with pq.ParquetFile(file, read_dictionary=[name]) as content:
        column = content.read([name]).column(0)
    words: list[str] = []
    for chunk in column.chunks:
        if hasattr(chunk, "dictionary"):
            known = [str(word) for word in chunk.dictionary.to_pylist()]
            words += ["" if i is None else known[i] for i in chunk.indices.to_pylist()]
        else:
            words += [str(word) for word in chunk.to_pylist()]
    return words
