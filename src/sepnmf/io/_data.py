"""What a file holds: a matrix, and what the file says about its rows, its columns and its pixels."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sepnmf._typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Data:
    """A matrix from a file. Its columns are what to choose among; those of an image are its pixels.

    Attributes
    ----------
    M : ndarray, sparse array or Dask array of shape (m, n)
        The data, of the file's own type; a Dask array if they are too large to be held.
    file : Path
        Where they come from.
    variable : str
        Name of the variable inside the file, where files of its kind hold several.
    row_names, column_names : tuple of str
        As the file has them; empty if it has none.
    wavelengths : tuple of float
        Of the bands, where the file has them; empty otherwise.
    image_shape : tuple of two ints or None
        Lines and samples of an image whose pixels are the columns.
    image_order : {"C", "F"}
        Whether pixels follow each other along the lines or along the samples.
    """

    M: Any = field(repr=False)
    file: Path
    variable: str = ""
    row_names: tuple[str, ...] = field(default=(), repr=False)
    column_names: tuple[str, ...] = field(default=(), repr=False)
    wavelengths: tuple[float, ...] = field(default=(), repr=False)
    image_shape: tuple[int, int] | None = None
    image_order: Literal["C", "F"] = "C"

    def picture(self, values: Floats) -> Floats:
        """One value per pixel, as an image of lines × samples."""
        if self.image_shape is None:
            raise ValueError(f"{self.file.name} holds no image: its columns are not pixels.")
        return np.reshape(values, self.image_shape, order=self.image_order)

    def pixel(self, column: int) -> tuple[int, int]:
        """Line and sample of a column of an image."""
        if self.image_shape is None:
            raise ValueError(f"{self.file.name} holds no image: its columns are not pixels.")
        line, sample = np.unravel_index(column, self.image_shape, order=self.image_order)
        return int(line), int(sample)

    def column_label(self, column: int) -> str:
        """What to call a column: its name, its place in the image, or its number."""
        if self.column_names:
            return self.column_names[column]
        if self.image_shape is not None:
            return "line {}, sample {}".format(*self.pixel(column))
        return f"column {column}"

    def column_labels(self, columns: Ints) -> list[str]:
        """What to call these columns."""
        return [self.column_label(int(column)) for column in columns]

    def transposed(self) -> "Data":
        """The same data with rows as columns; an image is no longer one."""
        return replace(
            self,
            M=self.M.T,
            row_names=self.column_names,
            column_names=self.row_names,
            wavelengths=(),
            image_shape=None,
        )
