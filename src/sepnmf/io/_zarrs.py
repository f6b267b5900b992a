"""Reader of Zarr arrays: folders of chunks that are compressed separately."""

from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._data import Data
from sepnmf.io._guards import check_claim, check_size, needed, parsing
from sepnmf.io._variables import LISTED, as_image, check_real, data_of
from sepnmf.matrix import CHUNK, LARGE, in_chunks, native

KIND = "a Zarr array"
METADATA = ("zarr.json", ".zarray", ".zgroup")


def is_zarr(path: Path) -> bool:
    """Return whether a path is a Zarr array or group, possibly inside another group."""
    return path.suffix.lower() == ".zarr" or has_metadata(path)


def has_metadata(path: Path) -> bool:
    """Return whether a folder contains the metadata of a Zarr array or group."""
    return any((path / name).is_file() for name in METADATA)


def read_zarr(file: Path, *, large: int = LARGE, chunk: int = CHUNK) -> Data:
    """Read a matrix or an image from a Zarr array; as a Dask array above `large` bytes as float64."""
    array = open_array(file)
    shape = tuple(map(int, array.shape))
    check_real(array.dtype, file)
    cube_shape, image_shape = as_image(shape, file)
    nbytes = array.dtype.itemsize * prod(shape)
    if 8 * prod(shape) <= large:
        check_size(nbytes, file)
        with parsing(file, KIND):
            numbers = np.asarray(array[...])
        return data_of(numbers, file)
    check_claim(nbytes, file)
    # Workers of a cluster need an absolute path.
    read = partial(read_columns if image_shape is None else read_pixels, file.resolve())
    along = 1 if image_shape is None else 0  # axis of the columns, or of the lines
    M = in_chunks(read, array.dtype.newbyteorder("="), cube_shape, chunk, array.chunks[along])
    return Data(M=M, file=file, image_shape=image_shape)


def open_array(file: Path, mode: str = "r") -> Any:
    """Open the array in a folder; refuse a group with a message that lists its arrays."""
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
    """Read columns of a matrix as an image with one sample per line."""
    array = open_array(file)
    with parsing(file, KIND):
        return native(np.asarray(array[:, columns]))[:, :, None]


def read_pixels(file: Path, lines: slice, samples: slice) -> NDArray[Any]:
    """Read pixels of an image as bands × lines × samples.

    Chunks of different samples are read one after another, so that they are not in memory together.
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
