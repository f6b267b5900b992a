"""Reader of Matrix Market files, .mtx, sparse or dense.

SciPy's reader is faster, but a damaged file can crash the process.
"""

from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, parsing
from sepnmf.io._variables import data_of, sparse_data_of

KIND = "a Matrix Market file"

# Types of the values; a pattern has no values.
FIELDS = {"real": "f8", "double": "f8", "integer": "i8", "unsigned-integer": "u8", "pattern": ""}
SYMMETRIES = {"general": 0, "symmetric": 1, "hermitian": 1, "skew-symmetric": -1}

# Least number of bytes of an entry: one digit and a line break; indices or a value add a space and a digit.
SHORTEST_ENTRY = {"array": 2, "coordinate": 4}


def read_mtx(file: Path) -> Data:
    """Read a matrix from a .mtx file; a sparse matrix if the layout is coordinate."""
    with file.open(encoding="utf-8", errors="replace") as stream:
        with parsing(file, KIND):
            layout, field, sign = read_banner(stream)
            rows, columns, entries = read_sizes(stream, layout, sign)
            if entries * SHORTEST_ENTRY[layout] > file.stat().st_size:
                raise ValueError(f"the file is too short for the {entries} entries it declares")
        check_size(8 * (rows * columns if layout == "array" else rows + columns), file)
        with parsing(file, KIND):
            content = read_entries(stream, layout, field, entries)
            if layout == "array":
                return data_of(dense(content["value"], rows, columns, sign), file)
            return sparse_data_of(by_coordinates(content, rows, columns, sign), file)


def read_banner(stream: TextIO) -> tuple[str, str, int]:
    """Return layout, field, and the sign of the upper triangle; 0 if both triangles are stored."""
    words = stream.readline(1000).lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line is not '%%MatrixMarket matrix LAYOUT FIELD SYMMETRY'")
    layout, field, symmetry = words[2:]
    for word, known in ((layout, SHORTEST_ENTRY), (field, FIELDS), (symmetry, SYMMETRIES)):
        if word not in known:
            raise ValueError(f"{word[:40]!r} is not one of {', '.join(known)}")
    if (layout, field) == ("array", "pattern"):
        raise ValueError("the field pattern has no values and needs the layout coordinate")
    return layout, field, SYMMETRIES[symmetry]


def read_sizes(stream: TextIO, layout: str, sign: int) -> tuple[int, int, int]:
    """Return the numbers of rows, columns and entries, from the first line that is not a comment."""
    line = next((line for line in stream if line.strip() and not line.startswith("%")), "")
    sizes = [int(word) for word in line[:1000].split()]
    if len(sizes) != (2 if layout == "array" else 3) or min(sizes) < 0:
        raise ValueError(f"its line of sizes is {line[:40].strip()!r}")
    rows, columns = sizes[:2]
    if sign and rows != columns:
        raise ValueError(f"it is declared symmetric but is {rows} × {columns}")
    if layout == "coordinate":
        return rows, columns, sizes[2]
    return rows, columns, rows * columns if not sign else rows * (rows + sign) // 2


def read_entries(stream: TextIO, layout: str, field: str, entries: int) -> NDArray[Any]:
    """Read the entries, one per line."""
    indices = [] if layout == "array" else [("row", "i8"), ("column", "i8")]
    values = [("value", FIELDS[field])] if FIELDS[field] else []
    content = np.loadtxt(stream, dtype=indices + values, comments="%", ndmin=1)
    if content.size != entries:
        raise ValueError(f"it has {content.size} entries but declares {entries}")
    return content


def dense(values: NDArray[Any], rows: int, columns: int, sign: int) -> NDArray[Any]:
    """Return a dense matrix, given its entries by columns, or the lower triangle if it is symmetric."""
    if not sign:
        return values.reshape((rows, columns), order="F")
    matrix = np.zeros((rows, rows), values.dtype)
    column, row = np.triu_indices(rows, 0 if sign > 0 else 1)
    matrix[column, row] = sign * values
    matrix[row, column] = values
    return matrix


def by_coordinates(content: NDArray[Any], rows: int, columns: int, sign: int) -> sparse.coo_array:
    """Return a sparse matrix, given its entries, or the lower triangle if it is symmetric."""
    names = content.dtype.names or ()
    row, column = content["row"] - 1, content["column"] - 1
    values = content["value"] if "value" in names else np.ones(content.size)
    if sign:
        other = row != column
        row, column = np.append(row, column[other]), np.append(column, row[other])
        values = np.append(values, sign * values[other])
    return sparse.coo_array((values, (row, column)), shape=(rows, columns))
