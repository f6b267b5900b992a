"""The data of a session: a file, or anything that `select` takes, and the columns of it that are held."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from sepnmf._typing import Bools, Floats, Ints
from sepnmf._validation import check_choice, check_count
from sepnmf.explorer._scene import Shown
from sepnmf.io import ROWS_ARE_PIXELS, Data, read
from sepnmf.matrix import Columns, InMemory, Matrix, MatrixLike, Negative, as_matrix, container_of

MOSTLY = 0.5  # share of zeros from which on whole numbers are taken for counts of words, genes, …


class Source:
    """Data, and the columns of them that are held in memory.

    Attributes
    ----------
    data : Data
        The data; for a matrix in memory, `data.file` is only a name.
    is_file : bool
        Whether they are read from a file here.
    negative, axis, reading : object
        How the file was read: options of the command line.
    matrix : Matrix
        The rows and columns that have data, which may be read in chunks.
    shown : Shown
        The columns that are shown.
    held : InMemory
        Those that are shown and have data, divided by `held.scale`.
    kind : {"image", "text", "table"}
        What the columns are; "text" are counts that are mostly zero, such as those of words.
    """

    def __init__(self, source: MatrixLike, negative: Negative, axis: str, reading: dict[str, Any]) -> None:
        check_choice(axis, "axis", ("columns", "rows"))
        self.negative, self.axis = negative, axis
        self.reading = {name: value for name, value in reading.items() if value is not None}
        self.is_file = isinstance(source, str | os.PathLike)
        if isinstance(source, str | os.PathLike):
            self.data = read_data(Path(source), axis, self.reading)
        elif isinstance(source, Matrix):
            raise ValueError("A Matrix cannot be explored: pass what it was made of.")
        elif self.reading or axis != "columns":
            raise ValueError(
                f"{[*self.reading, 'axis'][0]} is for files, and the data are in memory: omit it."
            )
        else:
            self.data = source if isinstance(source, Data) else data_of(source)
        self.matrix: Matrix = self.data.matrix(negative)
        self.shown = Shown.of(self.data, self.matrix)
        self.held: InMemory = self.shown.held(self.matrix)
        self.kind = kind_of(self.data, self.held)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows that are used and of columns."""
        return self.matrix.shape[0], int(self.data.M.shape[1])

    def known(self) -> Bools:
        """Return which columns have data."""
        return np.ones(self.shape[1], bool) if self.data.mask is None else self.data.mask

    def checked(self, column: int) -> int:
        """Return the index of a column; refuse one that does not exist."""
        n = self.shape[1]
        if check_count(column, "column", least=0) >= n:
            raise ValueError(f"column must be less than the number of columns, {n}, got {column}.")
        return int(column)

    def column(self, column: int) -> Floats:
        """Return the entries of a column, from memory if it is held."""
        held = self.shown.columns[self.shown.known]
        place = int(np.searchsorted(held, column))
        if place < len(held) and held[place] == column:
            return self.held.take(np.array([place]))[:, 0] * self.held.scale
        return self.matrix.at(np.array([column]))[:, 0]

    def full_mask(self, mask: Any) -> Bools:
        """Return a mask of all columns, from one value per column, an image, or a picture of those shown."""
        full, n = self.data.image_shape, self.shape[1]
        if full is not None and mask.shape == self.shown.shape:
            mask = self.shown.everywhere(mask, full)
        if mask.shape not in ((n,), full):
            image = "" if full is None else ", or be an image of {} × {}".format(*full)
            raise ValueError(f"mask must have one value per column, {n}{image}, got shape {mask.shape}.")
        return np.asarray(mask.ravel(order=self.data.image_order).astype(bool))

    def candidates(self, used: Bools, wanted: list[int]) -> tuple[Ints, Matrix]:
        """Return the columns to select from, those that are held and others that are wanted, and a matrix."""
        columns, matrix = self.shown.columns[self.shown.known], self.held
        others = np.setdiff1d(wanted, columns)
        if others.size:
            more = [self.column(int(j)) / self.held.scale for j in others]
            columns = np.append(columns, others)
            matrix = matrix.with_values(lambda values: np.column_stack([values, *more]))
        kept = np.flatnonzero(used[columns])
        if len(kept) == len(columns):
            return columns, matrix
        return columns, matrix.part(kept).with_columns(Columns(len(columns), kept))


def read_data(file: Path, axis: str, reading: dict[str, Any]) -> Data:
    """Read a file; with `axis` rows, its rows become the columns, as on the command line."""
    data = read(file, **reading)
    return data.transposed() if axis == "rows" and ROWS_ARE_PIXELS not in data.assumptions else data


def data_of(M: MatrixLike) -> Data:
    """Return what a container holds as data, which are called "matrix"."""
    container = container_of(M)
    matrix = as_matrix(M, "allow")  # which knows the columns without missing entries
    m, n = matrix.shape[0], matrix.given_columns
    columns, is_image = matrix.columns, len(container.shape) == 2
    names = None if is_image or columns is None else columns.names(np.arange(n))
    return Data(
        M=container.array if hasattr(container.array, "shape") else np.asarray(container.array),
        file=Path("matrix"),
        row_names=() if container.row_name is None else tuple(map(container.row_name, range(m))),
        column_names=names or (),
        image_shape=(container.shape[0], container.shape[1]) if is_image else None,
        mask=None if columns is None else columns.mask,
    )


def kind_of(data: Data, held: InMemory) -> str:
    """Return "image", "text" (counts that are mostly zero, such as those of words), or "table"."""
    if data.image_shape is not None:
        return "image"
    least, _, zeros = held.extent()
    sparse_enough = zeros >= MOSTLY * held.shape[0] * held.shape[1]
    whole = least >= 0 and bool((np.mod(held.values * held.scale, 1.0) == 0).all())
    return "text" if sparse_enough and whole else "table"
