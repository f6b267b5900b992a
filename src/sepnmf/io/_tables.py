"""Readers of tables (.csv, .tsv and .parquet) with or without names, and of lists of names."""

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, needed, one_line, parsing

DELIMITERS = {".csv": ",", ".tsv": "\t"}
DELIMITER_NAMES = {",": "commas", "\t": "tabs"}

# Cells that mean a missing number. They are refused, but they are not taken for names.
MISSING = frozenset({"", "#N/A", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null"})


def read_table(file: Path, *, header: bool | None = None, index: bool | None = None) -> Data:
    """Read a matrix from a .csv or .tsv file; `has_header` and `has_index` detect names."""
    delimiter = DELIMITERS[file.suffix.lower()]
    rows = [cells for _, cells in islice(lines_of(file, delimiter), 2)]
    if not rows:
        raise ValueError(f"{file.name} is empty.")
    first, second = rows[0], rows[-1]
    if header is None:
        header = has_header(first, second)
    if header and len(rows) == 1:
        raise ValueError(f"{file.name} has a header but no rows.")
    labels: list[str] = []

    def label(cell: str) -> float:
        labels.append(cell.strip())
        return float(cell) if is_float(cell) else np.nan

    try:
        with file.open(encoding="utf-8-sig", newline="") as stream, parsing(file, "a table"):
            if header:
                next(filter(None, csv.reader(stream, delimiter=delimiter)))
            M = np.loadtxt(
                stream,
                delimiter=delimiter,
                comments=None,
                quotechar='"',
                converters={0: label},
                ndmin=2,
                encoding="utf-8",
            )
    except ValueError as error:
        raise diagnosis(file, delimiter, header) or error from None
    if M.shape[1] != len(first):
        raise diagnosis(file, delimiter, header) or ValueError(f"{file.name} is not a table.")
    if index is None:
        index = has_index(labels, first[0] if header else None)
    if not index and not all(map(is_float, labels)):
        raise diagnosis(file, delimiter, header, index=False) or ValueError(f"{file.name} is not a table.")
    if index and len(first) == 1:
        raise ValueError(
            f"{file.name} has no column of numbers: are its cells separated by {DELIMITER_NAMES[delimiter]}?"
        )
    return Data(
        M=M[:, 1:] if index else M,
        file=file,
        row_names=tuple(labels) if index else (),
        column_names=tuple(first[1:] if index else first) if header else (),
    )


def has_header(first: list[str], second: list[str]) -> bool:
    """Return whether the first line contains the names of the columns.

    It does if a cell after the first is neither a number nor missing. If only the first cell is text or
    empty, it may be the name of a row instead. It is a heading if it is empty, if the cell below it is a
    number, or if the other cells number the columns.
    """
    if not all(map(is_number, first[1:])):
        return True
    numbered = [str(j) for j in range(len(first))]
    alone = len(first) == 1 or first[1:] in (numbered[:-1], numbered[1:])
    if first[0] == "":
        return all(first[1:])
    return not is_number(first[0]) and (alone or is_number(second[0]))


def has_index(labels: list[str], heading: str | None) -> bool:
    """Return whether the first column contains names: not all cells are numbers, or its heading is empty."""
    return heading == "" or not all(map(is_number, labels))


def lines_of(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line that is not empty."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=delimiter)
            for cells in reader:
                if cells:
                    yield reader.line_num, [cell.strip() for cell in cells]
    except UnicodeDecodeError:
        raise ValueError(f"{file.name} is not encoded in UTF-8: save it in that encoding.") from None
    except csv.Error as error:
        raise ValueError(f"{file.name} cannot be read as a table: {one_line(error)}.") from error


def is_float(cell: str) -> bool:
    """Return whether a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_number(cell: str) -> bool:
    """Return whether a cell is a number or means a missing number."""
    return is_float(cell) or cell in MISSING


def diagnosis(file: Path, delimiter: str, header: bool, index: bool = True) -> ValueError | None:
    """Return an error about the first invalid line of a table, which is read again cell by cell."""
    width = 0
    try:
        for number, cells in lines_of(file, delimiter):
            is_first, width = width == 0, width or len(cells)
            if len(cells) != width:
                return ValueError(
                    f"{file.name} has {len(cells)} cell(s) in line {number}, expected {width} "
                    "as in its first line."
                )
            if is_first and header:
                continue
            for column, cell in enumerate(cells):
                if not is_float(cell) and not (index and column == 0):
                    return ValueError(
                        f"{file.name} has {cell[:40]!r} in line {number}, cell {column + 1}: "
                        "expected a number."
                    )
    except ValueError as error:
        return error
    return None


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


def read_names(file: str | Path) -> tuple[str, ...]:
    """Read names, such as a vocabulary, from a UTF-8 text file with one name per line.

    Parameters
    ----------
    file : path
        Path of the file; a byte order mark and Windows line endings are accepted.

    Returns
    -------
    tuple of str

    Raises
    ------
    ValueError
        If the file is empty, has an empty line before its end, or is not UTF-8.
    OSError
        If it cannot be opened.
    """
    path = Path(file)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not encoded in UTF-8: save it in that encoding.") from None
    names = tuple(line.strip() for line in text.rstrip().split("\n"))
    if names == ("",):
        raise ValueError(f"{path.name} is empty: expected one name per line.")
    if "" in names:
        raise ValueError(f"{path.name} has no name in line {names.index('') + 1}: expected one per line.")
    return names
