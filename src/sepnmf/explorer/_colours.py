"""Images as colours for Bokeh, with the palettes of the report."""

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Floats
from sepnmf.report._pictures import Scale
from sepnmf.report._png import MISSING, Palette, categories, colours, levels

UNUSED = 70  # opacity, of 255, of pixels that are not used


def painted(image: Floats, palette: Palette, *, from_zero: bool) -> NDArray[np.uint8]:
    """Return an image in the colours of a palette, lines × samples × 4; NaN is transparent."""
    scale = Scale.of(image, from_zero=from_zero)
    return looked_up(levels(image, scale.low, scale.high), colours(palette))


def painted_categories(image: Floats, listed: list[str]) -> NDArray[np.uint8]:
    """Return an image of categories, 0, 1, …, in the colours listed as #rrggbb; NaN is transparent."""
    entries = np.where(np.isnan(image), MISSING, image).astype(np.uint8)
    return looked_up(entries, categories([colour.lstrip("#") for colour in listed]))


def painted_bands(rgb: Floats) -> NDArray[np.uint8]:
    """Return three bands, from 0 to 1, as colours; NaN is transparent."""
    missing = np.isnan(rgb).any(axis=2)
    values = (np.nan_to_num(rgb).clip(0, 1) * 255).round().astype(np.uint8)
    return np.dstack([values, np.where(missing, 0, 255).astype(np.uint8)])


def looked_up(entries: NDArray[np.uint8], table: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the colours of palette entries."""
    opacity = np.where(entries == MISSING, 0, 255).astype(np.uint8)
    return np.dstack([table[entries], opacity])


def packed(image: NDArray[np.uint8], used: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return colours as Bokeh takes them, a number for each pixel; pixels that are not used are pale."""
    colour = np.ascontiguousarray(image)
    colour[~used, 3] = np.minimum(colour[~used, 3], UNUSED)
    return colour.view(np.uint32)[..., 0]
