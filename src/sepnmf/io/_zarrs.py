"""Reader of Zarr arrays: folders of chunks that are compressed separately."""

from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._axes import find_axes
from sepnmf.io._data import Data
from sepnmf.io._guards import check_claim, check_size, needed, parsing
from sepnmf.io._variables import as_image, check_real, check_shape, data_of
from sepnmf.matrix import CHUNK, LARGE, in_chunks, native

KIND = "a Zarr array"
METADATA = ("zarr.json", ".zarray", ".zgroup")


def is_zarr(path: Path) -> bool:
    """Return whether a path is a Zarr array or group, possibly inside another group."""
    return path.suffix.lower() == ".zarr" or has_metadata(path)


def has_metadata(path: Path) -> bool:
    """Return whether a folder contains the metadata of a Zarr array or group."""
    return any((path / name).is_file() for name in METADATA)


def read_zarr_array(file: Path, *, axes: str | None = None, large: int = LARGE, chunk: int = CHUNK) -> Data:
    """Read a matrix or an image from a Zarr array; as a Dask array above `large` bytes as float64."""
    array = open_array(file)
    shape = tuple(map(int, array.shape))
    check_real(array.dtype, file)
    check_shape(shape, file)
    names = dimensions_of(array)
    letters, assumptions = find_axes(shape, axes, names)
    cube_shape, image_shape = as_image(shape, letters)
    nbytes = array.dtype.itemsize * prod(shape)
    if 8 * prod(shape) <= large:
        check_size(nbytes, file)
        with parsing(file, KIND):
            numbers = np.asarray(array[...])
        return data_of(numbers, file, "", axes, names)
    check_claim(nbytes, file)
    # Workers of a cluster need an absolute path.
    read = partial(read_columns if image_shape is None else read_pixels, file.resolve(), letters)
    together = array.chunks[letters.index("l")]  # lines, or columns of a matrix, in a chunk of the file
    M = in_chunks(read, array.dtype.newbyteorder("="), cube_shape, chunk, together)
    return Data(M=M, file=file, image_shape=image_shape, assumptions=assumptions)


def open_zarr(file: Path, mode: str = "r") -> Any:
    """Open the array or the group in a folder; an array that would be unpickled is refused."""
    zarr = needed("zarr")
    with parsing(file, KIND):
        found = zarr.open(str(file), mode=mode)
    if not isinstance(found, zarr.Group):
        check_codecs(found, file)
    return found


def open_array(file: Path, mode: str = "r") -> Any:
    """Open the array in a folder; refuse a group."""
    found = open_zarr(file, mode)
    if not hasattr(found, "dtype"):
        raise ValueError(f"{file.name} is a Zarr group, not an array: give the path of an array in it.")
    return found


def check_codecs(array: Any, file: Path) -> None:
    """Refuse an array whose chunks are pickles."""
    with parsing(file, KIND):
        codecs = [*(array.filters or ()), *compressors_of(array)]
    if any("pickle" in str(getattr(codec, "codec_id", codec)).lower() for codec in codecs):
        raise ValueError(f"{file.name} contains pickles, which sepnmf never unpickles: save plain numbers.")


def compressors_of(array: Any) -> tuple[Any, ...]:
    """Return the compressors of an array, in any version of the package zarr."""
    if hasattr(array, "compressors"):
        return tuple(array.compressors or ())
    return (array.compressor,)


def dimensions_of(array: Any) -> tuple[str, ...] | None:
    """Return the names of the dimensions of an array; None if it has none."""
    names = getattr(getattr(array, "metadata", None), "dimension_names", None)
    if names is None:
        names = dict(array.attrs).get("_ARRAY_DIMENSIONS")
    if not isinstance(names, (list, tuple)) or len(names) != len(array.shape):
        return None
    return tuple("" if name is None else str(name) for name in names)


def read_columns(file: Path, axes: str, columns: slice, _: slice) -> NDArray[Any]:
    """Read columns of a matrix as an image with one sample per line."""
    array = open_array(file)
    with parsing(file, KIND):
        if axes == "lb":
            return native(np.asarray(array[columns]).T)[:, :, None]
        return native(np.asarray(array[:, columns]))[:, :, None]


def read_pixels(file: Path, axes: str, lines: slice, samples: slice) -> NDArray[Any]:
    """Read pixels of an image as bands × lines × samples.

    Chunks of different samples are read one after another, so that they are not in memory together.
    """
    array = open_array(file)
    across = axes.index("s")
    first, last, step = samples.indices(array.shape[across])
    wanted = np.arange(first, last, step)
    starts = np.flatnonzero(np.diff(wanted // array.chunks[across], prepend=-1))
    with parsing(file, KIND):
        found = []
        for part in np.split(wanted, starts[1:]):
            where = {"b": slice(None), "l": lines, "s": slice(int(part[0]), int(part[-1]) + 1, step)}
            found.append(array[tuple(where[axis] for axis in axes)])
        cube = np.concatenate(found, axis=across)
        return native(cube.transpose([axes.index(axis) for axis in "bls"]))
