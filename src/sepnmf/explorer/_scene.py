"""The columns that are shown: all, or of large images as many pixels as a screen has room for."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, Literal

import numpy as np

from sepnmf._overview import thinning
from sepnmf._typing import Bools, Floats, Ints
from sepnmf.io import Data
from sepnmf.matrix import SMALL, Dense, InMemory, Matrix

COLOURS_AT = (650.0, 550.0, 450.0)  # nanometres of red, green and blue
NANOMETRES = ("nm", "nanometer", "nanometers", "nanometre", "nanometres")
MICROMETRES = ("um", "µm", "μm", "micrometer", "micrometers", "micrometre", "micron", "microns")
PER_UNIT = dict.fromkeys(NANOMETRES, 1.0) | dict.fromkeys(MICROMETRES, 1000.0)  # nanometres
DARK, BRIGHT = 2, 98  # percentiles of a band that are black and fully bright


@dataclass(frozen=True, eq=False)
class Overview:
    """Pictures of the scene, lines × samples; NaN where there is no data.

    Attributes
    ----------
    grey : ndarray of shape (lines, samples)
        Mean over the bands.
    rgb : ndarray of shape (lines, samples, 3)
        Three bands from 0 to 1, those nearest to red, green and blue if wavelengths are known.
    residual : ndarray of shape (lines, samples)
        ‖m_j − Wh_j‖ / ‖m_j‖ of every pixel.
    dominant : ndarray of shape (lines, samples)
        Position of the anchor with the largest weight; NaN where all weights are zero.
    """

    grey: Floats
    rgb: Floats
    residual: Floats
    dominant: Floats


@dataclass(frozen=True, eq=False)
class Shown:
    """The columns that are shown.

    Attributes
    ----------
    columns : ndarray of int
        Their indices, ascending.
    known : ndarray of bool
        Which of them have data.
    shape : tuple of two ints or None
        Lines and samples of the picture that they are, if they are pixels.
    order : str
        Order of the pixels in the picture, C or F.
    step : int
        Every so many lines and samples of the image are shown, or so many columns of a table.
    """

    columns: Ints
    known: Bools
    shape: tuple[int, int] | None
    order: Literal["C", "F"]
    step: int

    @classmethod
    def of(cls, data: Data, matrix: Matrix) -> "Shown":
        """Return which columns are shown: of images and of lazy data so many that they fit into memory."""
        m, n = matrix.shape[0], data.M.shape[1]
        most = max(SMALL // m, 1)
        if data.image_shape is None:
            step = ceil(n / most) if matrix.lazy else 1
            columns, shape = np.arange(0, n, step), None
        else:
            full, order = data.image_shape, data.image_order
            step = max(thinning(full), ceil(sqrt(n / most)))
            lines, samples = (np.arange(0, side, step) for side in full)
            places = np.meshgrid(lines, samples, indexing="ij")
            columns = np.ravel_multi_index(places, full, order=order).ravel(order=order)
            shape = len(lines), len(samples)
        known = np.ones(len(columns), bool) if data.mask is None else data.mask[columns]
        return cls(columns, known, shape, data.image_order, step)

    def held(self, matrix: Matrix) -> InMemory:
        """Return the columns that are shown and have data, in float64, and in the floating-point range.

        Pixels, and columns of lazy data, are so few that they are dense.
        """
        columns = self.columns[self.known]
        part = matrix.bare()
        if len(columns) < matrix.shape[1]:
            part = matrix.part(matrix.positions(columns))
        found = part.in_memory()
        if self.shape is not None or matrix.lazy:
            found = Dense(found.toarray(), found.scale)
        return found.in_floats(np.dtype(np.float64)).in_range()

    def spread(self, values: Floats) -> Floats:
        """Return values of the columns that have data, along the last axis, with NaN for the others."""
        whole = np.full((*values.shape[:-1], len(self.columns)), np.nan)
        whole[..., self.known] = values
        return whole

    def picture(self, values: Any) -> Any:
        """Return one value per shown pixel, along the last axis, as pictures of lines × samples."""
        if self.shape is None:
            raise ValueError("The columns are no pixels of an image.")
        flat = values.reshape(-1, len(self.columns))
        pictures = np.stack([np.reshape(row, self.shape, order=self.order) for row in flat])
        return pictures.reshape(*values.shape[:-1], *self.shape)

    def everywhere(self, mask: Bools, full: tuple[int, int]) -> Bools:
        """Return a mask of the picture as one of the whole image: a pixel goes with the next one shown."""
        return np.repeat(np.repeat(mask, self.step, axis=0), self.step, axis=1)[: full[0], : full[1]]


def coloured(held: InMemory, data: Data) -> Floats:
    """Return red, green and blue of all columns that are held, 3 × n, from 0 to 1."""
    m = held.shape[0]
    per_unit = PER_UNIT.get(data.wavelength_unit.strip().lower())
    wavelengths = np.array(data.used_wavelengths())
    if len(wavelengths) == m and per_unit is not None:
        bands = [int(np.argmin(np.abs(wavelengths * per_unit - wanted))) for wanted in COLOURS_AT]
    else:
        bands = [(m - 1) * k // 6 for k in (5, 3, 1)]
    values = held.array[bands]
    low, high = np.percentile(values, [DARK, BRIGHT], axis=1)
    span = np.where(high > low, high - low, 1.0)
    return np.asarray(np.clip((values - low[:, None]) / span[:, None], 0.0, 1.0))
