"""Zarr arrays: a folder of chunks, each compressed on its own."""

from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._data import Data
from sepnmf.io._guards import check_claim, check_size, needed, parsing
from sepnmf.io._variables import LISTED, check_dimensions, check_real, data_of
from sepnmf.matrix import CHUNK, LARGE, in_chunks, native

KIND = "a Zarr array"
METADATA = ("zarr.json", ".zarray", ".zgroup")


def is_zarr(path: Path) -> bool:
    """Whether a path is that of a Zarr array or group, also of one inside a group."""
    return path.suffix.lower() == ".zarr" or has_metadata(path)


def has_metadata(path: Path) -> bool:
    """Whether a folder was written as a Zarr array or group."""
    return any((path / name).is_file() for name in METADATA)


def read_zarr(file: Path, *, large: int = LARGE, chunk: int = CHUNK) -> Data:
    """A matrix or an image from a folder; a Dask array if it has more than `large` bytes as float64."""
    array = open_array(file)
    shape = tuple(map(int, array.shape))
    check_real(array.dtype, file)
    check_dimensions(shape, file)
    if 8 * prod(shape) <= large:
        check_size(array.dtype.itemsize * prod(shape), file)
        with parsing(file, KIND):
            numbers = np.asarray(array[...])
        return data_of(numbers, file)
    check_claim(array.dtype.itemsize * prod(shape), file)
    dtype = array.dtype.newbyteorder("=")
    location = file.resolve()  # for workers elsewhere
    if len(shape) == 2:
        rows, columns = shape
        read = partial(read_columns, location)
        return Data(M=in_chunks(read, dtype, (rows, columns, 1), chunk, array.chunks[1]), file=file)
    lines, samples, bands = shape
    read = partial(read_pixels, location)
    M = in_chunks(read, dtype, (bands, lines, samples), chunk, array.chunks[0])
    return Data(M=M, file=file, image_shape=(lines, samples))


def open_array(file: Path, mode: str = "r") -> Any:
    """The array in a folder. A group of arrays is refused: it is not said which one is meant."""
    zarr = needed("zarr")
    with parsing(file, KIND):
        found = zarr.open(str(file), mode=mode)
        names = sorted(name for name, _ in found.arrays()) if isinstance(found, zarr.Group) else None
    if names is None:
        return found
    listed = ", ".join(map(repr, names[:LISTED])) + (", …" if len(names) > LISTED else "")
    raise ValueError(
        f"{file.name} is a Zarr group with the arrays {listed}: give the path of one, such as "
        f"{file.name}/{names[0]}."
        if names
        else f"{file.name} is a Zarr group without an array."
    )


def read_columns(file: Path, columns: slice, _: slice) -> NDArray[Any]:
    """Columns of a matrix, as an image of one sample a line."""
    array = open_array(file)
    with parsing(file, KIND):
        return native(np.asarray(array[:, columns]))[:, :, None]


def read_pixels(file: Path, lines: slice, samples: slice) -> NDArray[Any]:
    """Pixels of an image, as bands × lines × samples.

    One column of Zarr's chunks after another: all at once, they would all be in memory.
    """
    array = open_array(file)
    _, width, _ = array.shape
    first, last, step = samples.indices(width)
    wanted = np.arange(first, last, step)
    starts = np.flatnonzero(np.diff(wanted // array.chunks[1], prepend=-1))
    with parsing(file, KIND):
        found = [
            array[lines, slice(int(part[0]), int(part[-1]) + 1, step)]
            for part in np.split(wanted, starts[1:])
        ]
        return native(np.moveaxis(np.concatenate(found, axis=1), -1, 0))
