"""Readers of NetCDF, HDF5 and Zarr: one array of a file, with what the others say about it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from sepnmf.io._axes import find_axes, letter_of, singletons
from sepnmf.io._containers import Item, container_of
from sepnmf.io._conventions import (
    crs_of,
    good_bands_of,
    nodata_of,
    row_names_of,
    scaling_of_attributes,
    transform_of,
    wavelengths_of,
)
from sepnmf.io._data import Data
from sepnmf.io._guards import check_claim, check_size, parsing
from sepnmf.io._masks import with_good_bands
from sepnmf.io._variables import Variable, as_image, by_pixel, check_real, check_shape, choose
from sepnmf.matrix import CHUNK, LARGE, in_chunks, native


def read_scene(
    file: Path,
    *,
    variable: str | None = None,
    axes: str | None = None,
    large: int = LARGE,
    chunk: int = CHUNK,
) -> Data:
    """Read a matrix or an image from NetCDF, HDF5 or Zarr; as a Dask array above `large` bytes as float64.

    With it come its nodata value, scale factor, wavelengths, names and place.
    """
    container = container_of(file)
    items = container.items()
    item = find_item(items, variable, file)
    check_real(item.dtype, file)
    check_shape(variable_of(item).shape, file)
    letters, assumptions = find_axes(item.shape, axes, item.dims)
    shape, image_shape = as_image(item.shape, letters)
    nbytes = item.dtype.itemsize * prod(shape)
    check_claim(max(nbytes, item.dtype.itemsize * prod(item.chunks or ())), file)
    with parsing(file, container.kind):
        wavelengths, unit = wavelengths_of(container, items, item, letters)
        data = Data(
            M=np.empty((0, 0)),
            file=file,
            variable=item.name,
            row_names=row_names_of(container, items, item, letters),
            wavelengths=wavelengths,
            wavelength_unit=unit,
            image_shape=image_shape,
            assumptions=assumptions,
            nodata=next(iter(nodata_of(item)), None),
            more_nodata=nodata_of(item)[1:],
            dims=() if item.dims is None else tuple(map(str, item.dims)),
            scaling=scaling_of_attributes(item),
            crs_wkt=crs_of(items, item),
            transform=None if image_shape is None else transform_of(container, items, item, letters),
        )
        flags = good_bands_of(container, items, item, letters)
    if 8 * prod(shape) <= large:
        check_size(nbytes, file)
        index = tuple(0 if letter == "-" else slice(None) for letter in letters)
        M: Any = by_pixel(native(container.read(item.name, index)), letters.replace("-", ""))
    else:
        # Lines, or columns of a matrix, that are compressed together.
        together = item.chunks[letters.index("l")] if item.chunks else 0
        read = partial(container.read_part, item.name, letters)
        M = in_chunks(read, item.dtype.newbyteorder("="), shape, chunk, together)
    data = replace(data, M=M)
    return data if flags is None else with_good_bands(data, *flags)


def find_item(items: dict[str, Item], wanted: str | None, file: Path) -> Item:
    """Return the array of this name; without a name, the only image, or the only matrix.

    A file that is one array has no names.
    """
    root = items.get("")
    if root is not None and root.dtype.kind != "V":
        if wanted is not None:
            raise ValueError(f"{file.name} is one array and has no variables: omit variable.")
        return root
    named = [item for item in items.values() if item.name]
    described = [variable_of(item) for item in named]
    if wanted is None:
        images = [v for v in described if v.is_matrix and len(v.shape) == 3 and min(v.shape) > 1]
        chosen = images[0] if len(images) == 1 else choose(described, None, file)
    else:
        chosen = choose(described, wanted.strip("/"), file)
    return items[chosen.name]


def variable_of(item: Item) -> Variable:
    """Return the name, shape and type of an array; axes of one entry that can be lost are."""
    lost = singletons(item.shape, item.dims)
    shape = tuple(size for k, size in enumerate(item.shape) if k not in lost)
    return Variable(item.name, shape, str(item.dtype), item.dtype.kind in "fiub")


def image_dimensions(items: dict[str, Item], data: Data) -> tuple[Item, Sequence[str]]:
    """Return the array that data were read from, and the names of its lines and samples."""
    item = items[data.variable]
    names: dict[str, str] = {}
    if item.dims is not None and data.image_shape is not None:
        letters, _ = find_axes(item.shape, None, item.dims)
        _, image_shape = as_image(item.shape, letters)
        if image_shape == data.image_shape:  # otherwise the user has given other axes
            names = {letter: item.dims[k] for k, letter in enumerate(letters)}
    lines, samples = names.get("l", ""), names.get("s", "")
    return item, (lines or "y", samples or "x")


def is_place(item: Item, dims: Sequence[str]) -> bool:
    """Return whether an array has the latitudes or longitudes of all pixels."""
    is_named = letter_of(item.base) in ("l", "s") and item.base.lower()[:3] in ("lat", "lon")
    return is_named and item.dims == tuple(dims) and item.dtype.kind == "f"
