"""Reader of Parquet files, .parquet. What a file declares is checked before the library allocates it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from sepnmf.io._data import Data
from sepnmf.io._guards import TEXT_SIZE, check_size, needed, one_line, parsing
from sepnmf.io._omitted import check_omitted, said_of_columns
from sepnmf.matrix._axis_column import axis_of, names_rows

KIND = "a Parquet file"
HEADER = 2**16  # bytes in which the header of a page ends

# Types of the compact protocol of Thrift, in which headers of pages are written.
TRUE, FALSE, BYTE, DOUBLE, BINARY, STRUCT = 1, 2, 3, 7, 8, 12
INTEGERS = (4, 5, 6)


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
            nbytes = checked_sizes(content.metadata, set(named), file)
        check_size(8 * rows * len(schema.names), file)
        check_size(nbytes + (TEXT_SIZE * rows if by_name else 0), file)
        with parsing(file, KIND):
            columns = [column.to_numpy() for column in content.read(named).columns]
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


def checked_sizes(metadata: Any, numeric: set[str], file: Path) -> int:
    """Return the bytes of all pages, decompressed; refuse a file whose numbers of rows do not agree.

    A page may declare any size, and the library allocates it. Columns of numbers must have about the size of
    their numbers.
    """
    total = counted = 0
    with file.open("rb") as stream:
        for k in range(metadata.num_row_groups):
            group = metadata.row_group(k)
            counted += group.num_rows
            for j in range(group.num_columns):
                column = group.column(j)
                starts = [column.dictionary_page_offset or 0, column.data_page_offset or 0]
                start = min((start for start in starts if start > 0), default=0)
                sizes = list(page_sizes(stream, start, start + column.total_compressed_size))
                total += sum(sizes)
                if column.path_in_schema not in numeric:
                    continue
                if column.num_values != group.num_rows or group.num_rows < 0:
                    raise ValueError(f"a group of {group.num_rows} rows has {column.num_values} numbers")
                if sum(sizes) > 16 * column.num_values + 2**20:
                    raise ValueError(f"the pages of {column.num_values} numbers declare {sum(sizes)} bytes")
    if counted != metadata.num_rows:
        raise ValueError(f"it declares {metadata.num_rows} rows, and its groups have {counted}")
    return total


def page_sizes(stream: IO[bytes], start: int, stop: int) -> Iterator[int]:
    """Yield the size, decompressed, that each page of a column declares."""
    while start < stop:
        stream.seek(start)
        header = Header(stream.read(HEADER))
        fields = header.struct()
        declared, stored = fields.get(2, -1), fields.get(3, -1)
        if declared < 0 or stored < 0:
            raise ValueError("a page does not declare its size")
        yield declared
        start += header.place + stored


class Header:
    """The header of a page, in the compact protocol of Thrift."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place = content, 0

    def byte(self) -> int:
        """Return the next byte."""
        if self.place >= len(self.content):
            raise ValueError("the header of a page is truncated")
        self.place += 1
        return self.content[self.place - 1]

    def number(self) -> int:
        """Return an integer of variable length."""
        value = shift = 0
        while shift < 70:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
        raise ValueError("the header of a page has a number that is too long")

    def signed(self) -> int:
        """Return an integer whose last bit is its sign."""
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def struct(self, depth: int = 0) -> dict[int, int]:
        """Return the integers of a structure by their numbers, and skip all else."""
        found: dict[int, int] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            kind = head & 15
            if kind in INTEGERS:
                found[number] = self.signed()
            else:
                self.skip(kind, depth)
        return found

    def skip(self, kind: int, depth: int) -> None:
        """Skip a value that is no integer."""
        if kind == STRUCT and depth < 8:
            self.struct(depth + 1)
        elif kind in (BYTE, DOUBLE):
            self.place += 1 if kind == BYTE else 8
        elif kind == BINARY:
            length = self.number()
            self.place += length
        elif kind not in (TRUE, FALSE):
            raise ValueError(f"the header of a page has a value of the unknown type {kind}")
