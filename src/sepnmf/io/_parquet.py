"""Reader of Parquet files, .parquet. What a file declares is checked before the library allocates it."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._data import Data
from sepnmf.io._guards import TEXT_SIZE, check_size, needed, one_line, parsing
from sepnmf.io._omitted import check_omitted, said_of_columns
from sepnmf.io._thrift import I32, I64, LIST, STRUCT, Compact, Struct
from sepnmf.matrix._axis_column import axis_of, names_rows

KIND = "a Parquet file"
HEADER = 2**16  # bytes in which the header of a page ends
END = 8  # bytes behind the footer: its length, and PAR1

# Fields of the footer, of a group of rows, of a part of a column, and of the header of a page.
ROWS, GROUPS = (3, I64), (4, LIST)
COLUMNS, GROUP_ROWS = (1, LIST), (3, I64)
COLUMN, VALUES, SIZE, PAGES, DICTIONARY = (3, STRUCT), (5, I64), (7, I64), (9, I64), (11, I64)
PAGE_SIZE, STORED_SIZE = (2, I32), (3, I32)


def read_parquet(file: Path, *, index: bool | None = None, omit: Sequence[str] = ()) -> Data:
    """Read a matrix from a .parquet file; the index of pandas or a first column of text names the rows.

    So does a first column of numbers that is an axis, such as wavelengths, as in other tables; `index` says
    whether the first column of numbers does. Other columns of text or dates are left out, and those that
    `omit` names.
    """
    types, pq = needed("pyarrow").types, needed("pyarrow.parquet")
    number_kinds = (types.is_integer, types.is_floating, types.is_boolean)
    with parsing(file, KIND):
        content = pq.ParquetFile(file)
        schema, rows = content.schema_arrow, content.metadata.num_rows
    with content:
        with parsing(file, KIND):
            # What pandas stored as an index; a range index is no column.
            stored = (schema.pandas_metadata or {}).get("index_columns", [])
            names = {name: None for name in schema.names if name not in {*omit}}
            by_name = dict.fromkeys(name for name in stored if isinstance(name, str) and name in names)
            named = [name for name in names if name not in by_name]
            first = schema.names.index(named[0]) if named else 0
            if not by_name and named and is_text(schema.field(first).type):
                by_name = {named.pop(0): None}
        if len(set(schema.names)) < len(schema.names):
            raise ValueError(f"{file.name} has two columns with the same name: rename one.")
        check_omitted(omit, schema.names, file)
        texts = [name for name in named if is_text_or_date(schema.field(name).type)]
        named = [name for name in named if name not in texts]
        for name in named:
            column = schema.field(name).type
            if not any(is_kind(column) for is_kind in number_kinds):
                raise ValueError(
                    f"{file.name} has a column {name!r} of type {one_line(ValueError(column))}, not real "
                    "numbers: convert it, or leave it out with --omit."
                )
        if not named:
            raise ValueError(f"{file.name} has no column of numbers.")
        with parsing(file, KIND):
            paths = [content.schema.column(j).path for j in range(len(content.schema))]
            nbytes = checked_sizes(footer_of(file), paths, set(named), file)
        check_size(8 * rows * len(schema.names), file)
        check_size(nbytes + (TEXT_SIZE * rows if by_name else 0), file)
        with parsing(file, KIND):
            columns = [numbers_of(column) for column in content.read(named).columns]
            if any(column.shape != (rows,) for column in columns):
                raise ValueError(f"it declares {rows} rows, and a column has another number")
            M = np.empty((rows, len(named)), np.result_type(*columns), order="F")
            for j, column in enumerate(columns):
                M[:, j] = column
    with parsing(file, KIND):
        words = [words_of(file, name) for name in by_name]
        if len(words) > 1:  # joined, each text is a new one
            check_size(sum(len(word) for column in words for word in column) + TEXT_SIZE * rows, file)
        row_names = tuple(", ".join(parts) for parts in zip(*words, strict=True))
    left_out = said_of_columns(texts, omit, len(schema.names) - len(by_name))
    data = Data(M=M, file=file, row_names=row_names, column_names=tuple(named), left_out=left_out)
    return data if by_name else without_axis(data, index)


def without_axis(data: Data, index: bool | None) -> Data:
    """Return the data with the first column as names of the rows, if it is an axis or `index` says so."""
    heading = data.column_names[0]
    _, unit = axis_of(heading)
    if index is False or data.M.shape[1] < 2 or not (index or names_rows(heading, data.M)):
        return data
    said = f"The first column, {heading[:40]!r}, is taken as names of the rows; --no-index makes it data."
    first = data.M[:, 0].astype(np.float64)
    measured = unit is not None and bool(np.isfinite(first).all())
    return replace(
        data,
        M=data.M[:, 1:],
        row_names=tuple(f"{value:.12g}" for value in first),
        column_names=data.column_names[1:],
        wavelengths=tuple(first.tolist()) if measured else (),
        wavelength_unit=(unit or "") if measured else "",
        assumptions=() if index else (said,),
    )


def is_text(kind: Any) -> bool:
    """Return whether a column is text or a category of text."""
    types = needed("pyarrow").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_text_or_date(kind: Any) -> bool:
    """Return whether a column has text, dates or times."""
    return is_text(kind) or bool(needed("pyarrow").types.is_temporal(kind))


def numbers_of(column: Any) -> NDArray[Any]:
    """Return a column as numbers; entries that are missing, also of truth values, become NaN."""
    numbers: NDArray[Any] = column.to_numpy()
    return numbers.astype(np.float64) if numbers.dtype.hasobject else numbers


def words_of(file: Path, name: str) -> list[str]:
    """Read a column as text, as a dictionary so that a repeated word is in memory once."""
    pq = needed("pyarrow.parquet")
    with pq.ParquetFile(file, read_dictionary=[name]) as content:
        column = content.read([name]).column(0)
    words: list[str] = []
    for chunk in column.chunks:
        if hasattr(chunk, "dictionary"):
            known = np.array([*map(str, chunk.dictionary.to_pylist()), ""], dtype=object)
            words += known[chunk.indices.fill_null(len(known) - 1).to_numpy()].tolist()
        else:
            words += [str(word) for word in chunk.to_pylist()]
    return words


def footer_of(file: Path) -> Struct:
    """Return the footer of a file, which says where its columns are.

    pyarrow (26) ends the process where what its metadata say about a column is contradictory.
    """
    with file.open("rb") as stream:
        stream.seek(-END, os.SEEK_END)
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(-END - length, os.SEEK_END)
        return Compact(stream.read(length)).struct()


def checked_sizes(footer: Struct, paths: Sequence[str], numeric: set[str], file: Path) -> int:
    """Return the bytes of all pages, decompressed; refuse a file whose numbers of rows do not agree.

    `paths` are the names of all columns. A page may declare any size, and the library allocates it. Columns
    of numbers must have about the size of their numbers.
    """
    total = counted = 0
    with file.open("rb") as stream:
        for group in footer[GROUPS]:
            rows = group[GROUP_ROWS]
            counted += rows
            columns = [chunk[COLUMN] for chunk in group[COLUMNS]]
            for path, column in zip(paths, columns, strict=True):
                count = column[VALUES]
                starts = [column.get(DICTIONARY, 0), column[PAGES]]
                start = min((start for start in starts if start > 0), default=0)
                size = sum(page_sizes(stream, start, start + column[SIZE]))
                total += size
                if path not in numeric:
                    continue
                if count != rows or rows < 0:
                    raise ValueError(f"a group of {rows} rows has {count} numbers")
                if size > 16 * count + 2**20:
                    raise ValueError(f"the pages of {count} numbers declare {size} bytes")
    if counted != footer[ROWS]:
        raise ValueError(f"it declares {footer[ROWS]} rows, and its groups have {counted}")
    return total


def page_sizes(stream: IO[bytes], start: int, stop: int) -> Iterator[int]:
    """Yield the size, decompressed, that each page of a column declares."""
    while start < stop:
        stream.seek(start)
        header = Compact(stream.read(HEADER))
        fields = header.struct()
        declared, stored = fields.get(PAGE_SIZE, -1), fields.get(STORED_SIZE, -1)
        if declared < 0 or stored < 0:
            raise ValueError("a page does not declare its size")
        yield declared
        start += header.place + stored
