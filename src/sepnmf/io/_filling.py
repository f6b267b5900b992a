"""Files that are filled with columns of numbers as these are computed, and that appear when complete."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sepnmf._typing import Floats
from sepnmf.io._data import Data
from sepnmf.io._guards import needed
from sepnmf.io._zarr import has_metadata
from sepnmf.matrix import Stored, is_lazy

NODATA = -9999.0  # of maps, if the value of the data may be a weight
BLOCK = 2**20  # bytes of a file that are written at a time where the system cannot reserve them


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path, which replaces `path` when it has been written completely."""
    part = appended(path, ".part")
    remove(part)  # from a command that was killed
    try:
        with named(part):
            yield part
        if not (path.is_dir() and has_metadata(path)):  # a folder is replaced only if it is a Zarr array
            part.replace(path)
            return
        # A folder cannot be replaced in one step.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as aside:
            path.replace(Path(aside, path.name))
            part.replace(path)
    finally:
        remove(part)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Add the path of a file to errors of the system without one: those of writing have none."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or not error.strerror:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def remove(path: Path) -> None:
    """Remove a file or a folder if it exists."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def appended(path: Path, suffix: str) -> Path:
    """Return `path` with a suffix added to its name."""
    return path.with_name(path.name + suffix)


def fill(H: Any, write: Callable[[int, Floats], None]) -> None:
    """Call `write` with the index of the first column and the columns, for all columns of H.

    A chunk of a Dask array is written by the task that computes it. If a worker is lost and its task is
    repeated, the same numbers are written to the same place.
    """
    if not is_lazy(H):
        write(0, H)
        return
    dask = needed("dask")
    H = H.rechunk({0: -1}) if H.numblocks[0] > 1 else H
    starts = np.cumsum([0, *H.chunks[1][:-1]])
    task = dask.delayed(write_chunk, pure=False)
    chunks = zip(starts, H.to_delayed().ravel(), strict=True)
    dask.compute([task(write, int(start), numbers) for start, numbers in chunks])


def write_chunk(write: Callable[[int, Floats], None], start: int, numbers: Floats) -> None:
    """Write one chunk; progress bars count the tasks of this name."""
    write(start, numbers)


def fill_image(H: Any, stored: Stored, order: Literal["C", "F"], nodata: float | None) -> None:
    """Write all pixels into a file that has its final size."""
    reserve(Path(stored.file))
    fill(H, partial(write_pixels, stored, order, nodata))


def reserve(file: Path) -> None:
    """Give a file all the space on the disk that its size promises, or raise OSError.

    Pixels are written through a memory map, and the system ends a process that writes to a part of a map for
    which the disk has no space.
    """
    size = file.stat().st_size
    with file.open("r+b") as stream:
        try:
            os.posix_fallocate(stream.fileno(), 0, size)
        except (AttributeError, OSError) as error:  # not on every system, nor on every file system
            if isinstance(error, OSError) and error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise OSError(error.errno, error.strerror, str(file)) from None
            for start in range(0, size, BLOCK):
                stream.seek(start)
                block = stream.read(BLOCK)
                stream.seek(start)
                stream.write(block)


def write_pixels(
    stored: Stored, order: Literal["C", "F"], nodata: float | None, start: int, numbers: Floats
) -> None:
    """Write consecutive pixels into a file that has its final size; NaN becomes the nodata value."""
    if nodata is not None:
        numbers = np.where(np.isnan(numbers), nodata, numbers)
    pixels = np.arange(start, start + numbers.shape[1])
    line, sample = np.unravel_index(pixels, stored.image_shape, order=order)
    image, mapped = stored.view("r+")
    image[:, line, sample] = numbers
    mapped.flush()


def order_of(like: Data) -> Literal["C", "F"]:
    """Return the order of the pixels; the columns of a matrix are lines of one pixel."""
    return like.image_order if like.image_shape else "C"


def nodata_of(like: Data) -> float | None:
    """Return the nodata value of maps; None if nothing is left out.

    It is that of the data unless a weight can have it.
    """
    if like.nodata is None:
        return None if like.mask is None else NODATA
    is_free = np.isnan(like.nodata) or (like.nodata < 0 and np.float32(like.nodata) == like.nodata)
    return like.nodata if is_free else NODATA
