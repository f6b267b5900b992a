"""Reader of Matrix Market files, .mtx, sparse or dense, and of the names that 10x writes beside them.

SciPy's reader is faster, but a damaged file can crash the process.
"""

import gzip
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, parsing
from sepnmf.io._variables import data_of, sparse_data_of

KIND = "a Matrix Market file"
LONGEST_LINE, MOST_COMMENTS = 2**16, 10**5
DENSEST = 1032  # bytes that one byte of a packed file can stand for

# Names of rows (genes) and columns (cells) in the folder of a matrix.mtx of 10x.
FEATURES = ("features.tsv", "features.tsv.gz", "genes.tsv", "genes.tsv.gz")
BARCODES = ("barcodes.tsv", "barcodes.tsv.gz")

# Types of the values; a pattern has no values.
FIELDS = {"real": "f8", "double": "f8", "integer": "i8", "unsigned-integer": "u8", "pattern": ""}
SYMMETRIES = {"general": 0, "symmetric": 1, "hermitian": 1, "skew-symmetric": -1}

# Least number of bytes of an entry: one digit and a line break; indices or a value add a space and a digit.
SHORTEST_ENTRY = {"array": 2, "coordinate": 4}


def read_mtx(file: Path) -> Data:
    """Read a matrix from a .mtx or .mtx.gz file; a sparse matrix if the layout is coordinate.

    Files of 10x have the names of the rows and columns beside them.
    """
    is_packed = file.suffix.lower() == ".gz"
    with opened(file) as stream:
        with parsing(file, KIND):
            layout, field, sign = read_banner(stream)
            lines = lines_in(stream)
            rows, columns, entries = read_sizes(lines, layout, sign)
            largest = file.stat().st_size * (DENSEST if is_packed else 1)
            if entries * SHORTEST_ENTRY[layout] > largest:
                raise ValueError(f"the file is too short for the {entries} entries it declares")
        check_size(8 * (rows * columns if layout == "array" else rows + columns), file)
        if is_packed:
            check_size(24 * entries, file)
        with parsing(file, KIND):
            content = read_entries(lines, layout, field, entries)
            if layout == "array":
                return data_of(dense(content["value"], rows, columns, sign), file)
            found = by_coordinates(content, rows, columns, sign)
    return with_names_beside(sparse_data_of(found, file))


def matrix_in(path: Path) -> Path:
    """Return the matrix in a folder as 10x writes it; any other path as it is."""
    found = (path / name for name in ("matrix.mtx", "matrix.mtx.gz"))
    return next((file for file in found if file.is_file()), path) if path.is_dir() else path


def opened(file: Path) -> TextIO:
    """Open a text file, which may be packed by gzip."""
    if file.suffix.lower() == ".gz":
        return gzip.open(file, "rt", encoding="utf-8", errors="replace")
    return file.open(encoding="utf-8", errors="replace")


def lines_in(stream: TextIO) -> Iterator[str]:
    """Yield lines; refuse lines that are too long, and too many that are empty or comments.

    A packed file of some kilobytes may have gigabytes of them.
    """
    idle = 0
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise ValueError(f"it has a line of more than {LONGEST_LINE} characters")
        idle += line[0] in "%\r\n"
        if idle > MOST_COMMENTS:
            raise ValueError(f"it has more than {MOST_COMMENTS} lines that are empty or comments")
        yield line


def with_names_beside(data: Data) -> Data:
    """Return `data` with the names in features.tsv and barcodes.tsv, if these are beside it and fit."""
    rows, columns = data.M.shape
    files = [
        next((path for path in (data.file.parent / name for name in names) if path.is_file()), None)
        for names in (FEATURES, BARCODES)
    ]
    if files[0] is None or files[1] is None or not data.file.name.lower().startswith("matrix.mtx"):
        return data
    with parsing(files[0], "a list of genes"):
        genes = lines_of(files[0], rows)
    with parsing(files[1], "a list of cells"):
        cells = lines_of(files[1], columns)
    if len(genes) != rows or len(cells) != columns:
        said = (
            f"{files[0].name} and {files[1].name} do not have one line per row and column, and are ignored."
        )
        return replace(data, warnings=(*data.warnings, said))
    symbols = [words[1] for words in genes if len(words) > 1]
    is_clear = len(set(symbols)) == rows  # else the identifiers are the names
    said = f"Rows and columns have the names in {files[0].name} and {files[1].name}, beside the file."
    return replace(
        data,
        row_names=tuple(symbols) if is_clear else tuple(words[0] for words in genes),
        column_names=tuple(words[0] for words in cells),
        assumptions=(*data.assumptions, said),
    )


def lines_of(file: Path, count: int) -> list[list[str]]:
    """Return the cells of the lines of a list that has `count`, and at most one more."""
    with opened(file) as stream:
        return [line.rstrip("\r\n").split("\t") for line in islice(lines_in(stream), count + 1)]


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


def read_sizes(lines: Iterator[str], layout: str, sign: int) -> tuple[int, int, int]:
    """Return the numbers of rows, columns and entries, from the first line that is not a comment."""
    line = next((line for line in lines if line.strip() and not line.startswith("%")), "")
    sizes = [int(word) for word in line[:1000].split()]
    if len(sizes) != (2 if layout == "array" else 3) or not 0 <= min(sizes) <= max(sizes) < 2**63:
        raise ValueError(f"its line of sizes is {line[:40].strip()!r}")
    rows, columns = sizes[:2]
    if sign and rows != columns:
        raise ValueError(f"it is declared symmetric but is {rows} × {columns}")
    if layout == "coordinate":
        return rows, columns, sizes[2]
    return rows, columns, rows * columns if not sign else rows * (rows + sign) // 2


def read_entries(lines: Iterator[str], layout: str, field: str, entries: int) -> NDArray[Any]:
    """Read the entries, one per line."""
    indices = [] if layout == "array" else [("row", "i8"), ("column", "i8")]
    values = [("value", FIELDS[field])] if FIELDS[field] else []
    with warnings.catch_warnings():  # older versions of NumPy only warn of integers that they cannot hold
        warnings.simplefilter("error", DeprecationWarning)
        content = np.loadtxt(lines, dtype=indices + values, comments="%", ndmin=1, max_rows=entries + 1)
    if content.size != entries:
        more = " or more" if content.size > entries else ""
        raise ValueError(f"it has {content.size}{more} entries but declares {entries}")
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
