"""Reader of .parquet files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, needed, one_line, parsing
from sepnmf.io._omitted import check_omitted, said_of_columns


def read_parquet(file: Path, *, omit: Sequence[str] = ()) -> Data:
    """Read a matrix from a .parquet file; the index of pandas or a first column of text names the rows.

    Other columns of text or dates are left out, and those that `omit` names.
    """
    types, pq = needed("pyarrow").types, needed("pyarrow.parquet")
    number_kinds = (types.is_integer, types.is_floating, types.is_boolean)
    kind = "a Parquet file"
    with parsing(file, kind):
        content = pq.ParquetFile(file)
        schema, rows = content.schema_arrow, content.metadata.num_rows
    with content:
        with parsing(file, kind):
            # What pandas stored as an index; a range index is no column.
            stored = (schema.pandas_metadata or {}).get("index_columns", [])
            index = [name for name in stored if isinstance(name, str) and name in {*schema.names} - {*omit}]
            named = [name for name in schema.names if name not in {*index, *omit}]
            if not index and named and is_text(schema.field(named[0]).type):
                index = [named.pop(0)]
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
        check_size(8 * rows * len(schema.names), file)
        with parsing(file, kind):
            columns = [column.to_numpy() for column in content.read(named).columns]
            M = np.empty((rows, len(named)), np.result_type(*columns), order="F")
            for j, column in enumerate(columns):
                M[:, j] = column
    with parsing(file, kind):
        words = [words_of(file, name) for name in index]
    row_names = tuple(", ".join(parts) for parts in zip(*words, strict=True))
    left_out = said_of_columns(texts, omit, len(schema.names) - len(index))
    return Data(M=M, file=file, row_names=row_names, column_names=tuple(named), left_out=left_out)


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
            known = [str(word) for word in chunk.dictionary.to_pylist()]
            words += ["" if i is None else known[i] for i in chunk.indices.to_pylist()]
        else:
            words += [str(word) for word in chunk.to_pylist()]
    return words
