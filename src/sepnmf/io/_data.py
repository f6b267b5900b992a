"""The class `Data`: a matrix from a file, with what the file says about its rows and columns."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Bools, Ints
from sepnmf._validation import Remedy
from sepnmf.io._scaling import Scaling
from sepnmf.matrix import Matrix, Negative, as_matrix, container_of

T = TypeVar("T")

# How columns of a file are left out.
OF_FILES = Remedy('nodata="nan" in sepnmf.io.read', 'nodata="{}" in sepnmf.io.read')


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
    mask : ndarray of bool of shape (n,) or None
        Which columns have data; None if all do. Others are neither selected nor explained.
    row_mask : ndarray of bool of shape (m,) or None
        Which rows are used; None if all are.
    left_out, assumptions, warnings : tuple of str
        Sentences: what is left out and why, what the file does not say and is assumed, and what looks wrong.
    nodata : float or None
        The number that means "no data", declared in the file or given, before scale factors were applied.
    more_nodata : tuple of float
        Other numbers that mean the same.
    row_nodata : tuple of float or None
        One such number per row, or None, in place of them, if the file declares different ones; else empty.
    undeclared : tuple of pairs
        Values that look like undeclared nodata, each with the column of M that has it in every row.
    suspected : str
        The smallest value, if it looks like undeclared nodata, as text for `nodata`; empty if it does not.
    dims : tuple of str
        Names of the dimensions of the array in the file; empty if they have none.
    wavelength_unit : str
        Unit of the wavelengths; empty if it is not known.
    crs_wkt : str
        Coordinate reference system as WKT; empty if there is none.
    transform : tuple of six floats or None
        Affine map from sample and line to coordinates, in the order a, b, c, d, e, f of the package affine.
    labels : dict of int to str
        What the user calls columns, in place of their names in the file; empty if these are to be used.
    scaling : Scaling or None
        Scale factor and offset that `read` has yet to apply; None in what `read` returns.
    """

    M: Any = field(repr=False)
    file: Path
    variable: str = ""
    row_names: tuple[str, ...] = field(default=(), repr=False)
    column_names: tuple[str, ...] = field(default=(), repr=False)
    wavelengths: tuple[float, ...] = field(default=(), repr=False)
    image_shape: tuple[int, int] | None = None
    image_order: Literal["C", "F"] = "C"
    mask: Bools | None = field(default=None, repr=False)
    row_mask: Bools | None = field(default=None, repr=False)
    left_out: tuple[str, ...] = field(default=(), repr=False)
    assumptions: tuple[str, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = field(default=(), repr=False)
    nodata: float | None = field(default=None, repr=False)
    more_nodata: tuple[float, ...] = field(default=(), repr=False)
    row_nodata: tuple[float | None, ...] = field(default=(), repr=False)
    undeclared: tuple[tuple[float, NDArray[Any]], ...] = field(default=(), repr=False)
    suspected: str = field(default="", repr=False)
    dims: tuple[str, ...] = field(default=(), repr=False)
    wavelength_unit: str = field(default="", repr=False)
    crs_wkt: str = field(default="", repr=False)
    transform: tuple[float, ...] | None = field(default=None, repr=False)
    labels: Mapping[int, str] = field(default_factory=dict, repr=False)
    scaling: Scaling | None = field(default=None, repr=False)

    def matrix(self, negative: Negative = "error") -> Matrix:
        """Return the rows and columns that are used, as `sepnmf.matrix.as_matrix` checks them."""
        M = self.M
        if not isinstance(M, Matrix):  # co-occurrences that are not formed are one
            M = replace(container_of(M), remedy=replace(OF_FILES, nodata=self.suspected))
        matrix = as_matrix(M, negative, mask=self.mask, row_mask=self.row_mask)
        return matrix.named(self.column_label)

    def used_row_names(self) -> tuple[str, ...]:
        """Return the names of the rows that are used; empty if there are none."""
        return self.used(self.row_names)

    def used_wavelengths(self) -> tuple[float, ...]:
        """Return the wavelengths of the rows that are used; empty if there are none."""
        return self.used(self.wavelengths)

    def used(self, values: tuple[T, ...]) -> tuple[T, ...]:
        """Return those of one value per row that belong to rows that are used."""
        if self.row_mask is None or not values:
            return values
        return tuple(value for value, keep in zip(values, self.row_mask, strict=True) if keep)

    @property
    def what(self) -> str:
        """What a column is called: a pixel in an image."""
        return "columns" if self.image_shape is None else "pixels"

    def require_image(self) -> tuple[int, int]:
        """Return the numbers of lines and samples, or raise ValueError if the data are not an image."""
        if self.image_shape is None:
            raise ValueError(f"{self.file.name} contains no image: its columns are not pixels.")
        return self.image_shape

    def picture(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return one value per pixel as an image of lines × samples."""
        return np.reshape(values, self.require_image(), order=self.image_order)

    def pixel(self, column: int) -> tuple[int, int]:
        """Return the line and the sample of a column of an image."""
        line, sample = np.unravel_index(column, self.require_image(), order=self.image_order)
        return int(line), int(sample)

    def column_of(self, pixel: str) -> int | None:
        """Return the column of a pixel of an image from text such as "40:7", its line and sample.

        None if the text is not of this form. Raises ValueError if the pixel is outside of the image.
        """
        place = re.fullmatch(r"([0-9]+):([0-9]+)", pixel)
        if place is None or self.image_shape is None:
            return None
        line, sample = int(place[1]), int(place[2])
        if line >= self.image_shape[0] or sample >= self.image_shape[1]:
            raise ValueError(
                f"There is no pixel {pixel}: the image has {self.image_shape[0]:,} lines and "
                f"{self.image_shape[1]:,} samples, counted from 0."
            )
        return int(np.ravel_multi_index((line, sample), self.image_shape, order=self.image_order))

    def column_label(self, column: int) -> str:
        """Return the user's label of a column, its name, its position in the image, or its index."""
        if column in self.labels:
            return self.labels[column]
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
            undeclared=(),
            labels={},
            mask=self.row_mask,
            row_mask=self.mask,
        )
