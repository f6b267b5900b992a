"""The class `Data`: a matrix from a file, with the names of its rows and columns and its image shape."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sepnmf._typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Data:
    """A matrix from a file. Anchors are selected among its columns; the columns of an image are its pixels.

    Attributes
    ----------
    M : ndarray, sparse array or Dask array of shape (m, n)
        The data, with the dtype of the file; a Dask array if they are too large for memory.
    file : Path
        Path of the file.
    variable : str
        Name of the variable inside the file, for formats with several variables.
    row_names, column_names : tuple of str
        Names in the file; empty if it has none.
    wavelengths : tuple of float
        Wavelengths of the bands; empty if the file has none.
    image_shape : tuple of two ints or None
        Numbers of lines and samples, if the columns are the pixels of an image.
    image_order : {"C", "F"}
        Order of the pixels: line by line (C), or sample by sample (F).
    assumptions : tuple of str
        Sentences on what the file does not determine and was assumed.
    """

    M: Any = field(repr=False)
    file: Path
    variable: str = ""
    row_names: tuple[str, ...] = field(default=(), repr=False)
    column_names: tuple[str, ...] = field(default=(), repr=False)
    wavelengths: tuple[float, ...] = field(default=(), repr=False)
    image_shape: tuple[int, int] | None = None
    image_order: Literal["C", "F"] = "C"
    assumptions: tuple[str, ...] = ()

    def require_image(self) -> tuple[int, int]:
        """Return the numbers of lines and samples, or raise ValueError if the data are not an image."""
        if self.image_shape is None:
            raise ValueError(f"{self.file.name} contains no image: its columns are not pixels.")
        return self.image_shape

    def picture(self, values: Floats) -> Floats:
        """Return one value per pixel as an image of lines × samples."""
        return np.reshape(values, self.require_image(), order=self.image_order)

    def pixel(self, column: int) -> tuple[int, int]:
        """Return the line and the sample of a column of an image."""
        line, sample = np.unravel_index(column, self.require_image(), order=self.image_order)
        return int(line), int(sample)

    def column_label(self, column: int) -> str:
        """Return the name of a column, or its position in the image, or its index."""
        if self.column_names:
            return self.column_names[column]
        if self.image_shape is not None:
            return "line {}, sample {}".format(*self.pixel(column))
        return f"column {column}"

    def column_labels(self, columns: Ints) -> list[str]:
        """Return the labels of several columns."""
        return [self.column_label(int(column)) for column in columns]

    def transposed(self) -> "Data":
        """Return the data with rows and columns exchanged; an image becomes a plain matrix."""
        return replace(
            self,
            M=self.M.T,
            row_names=self.column_names,
            column_names=self.row_names,
            wavelengths=(),
            image_shape=None,
        )
