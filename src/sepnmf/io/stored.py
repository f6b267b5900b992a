"""Plain numbers in a file, one after another: read at once, or in parts when they are too many."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io.guards import needed
from sepnmf.sources import native

# Data of more bytes than this become a Dask array, in chunks of about so many bytes. Both are counted as
# float64, which numbers become in work.
LARGE = 500_000_000
CHUNK = 64_000_000

Reader = Callable[[slice, slice], NDArray[Any]]


@dataclass(frozen=True)
class Stored:
    """Where the numbers of an image are in a file, and in which order.

    A matrix is an image of one sample per line: its rows are the bands, its columns the lines.

    Attributes
    ----------
    file : str
        The file.
    dtype : numpy dtype
        Of the numbers, with their byte order.
    bands, lines, samples : int
        Size of the image.
    axes : str
        The letters b, l and s from the slowest to the fastest axis of the file; "lbs" is BIL.
    offset : int
        Number of bytes before the first number.
    """

    file: str
    dtype: np.dtype[Any]
    bands: int
    lines: int
    samples: int = 1
    axes: str = "bls"
    offset: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes in the order of the file."""
        sizes = {"b": self.bands, "l": self.lines, "s": self.samples}
        return tuple(sizes[axis] for axis in self.axes)

    @property
    def pixels(self) -> int:
        """Number of columns of the matrix."""
        return self.lines * self.samples

    def check_length(self) -> None:
        """Refuse a file that is shorter than its header says."""
        expected = self.offset + prod(self.shape) * self.dtype.itemsize
        found = Path(self.file).stat().st_size
        if found < expected:
            raise ValueError(
                f"{Path(self.file).name} has {found} bytes, and its header says {expected}: "
                "it is cut short or the header is wrong."
            )

    def image(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Numbers in the order of the file, viewed as bands × lines × samples."""
        return numbers.transpose([self.axes.index(axis) for axis in "bls"])

    def matrix(self, large: int = LARGE, chunk: int = CHUNK) -> Any:
        """All numbers as bands × pixels: an array, or a Dask array beyond `large` bytes of float64."""
        self.check_length()
        if 8 * prod(self.shape) > large:
            dtype = self.dtype.newbyteorder("=")
            return in_parts(partial(read_part, self), dtype, self.bands, self.lines, self.samples, chunk)
        numbers = np.fromfile(self.file, self.dtype, prod(self.shape), offset=self.offset)
        return native(self.image(numbers.reshape(self.shape)).reshape(self.bands, self.pixels))


def read_part(stored: Stored, lines: slice, samples: slice) -> NDArray[Any]:
    """A copy of some pixels as bands × lines × samples.

    The map of the file lives no longer than this call. One that is kept open would count as memory once its
    pages were read, and could not be sent to another process.
    """
    mapped = np.memmap(stored.file, stored.dtype, "r", stored.offset, stored.shape)
    return native(np.array(stored.image(mapped)[:, lines, samples], order="C"))


def in_parts(
    read: Reader, dtype: np.dtype[Any], bands: int, lines: int, samples: int, chunk: int, together: int = 0
) -> Any:
    """A Dask array of bands × pixels, in chunks of whole lines, or of parts of one where a line is too long.

    `read(lines, samples)` gives pixels as bands × lines × samples, here or in another process. Chunks have
    about `chunk` bytes as float64. Lines that are compressed together, so many, stay together unless they
    are more than that in the file's own type: whoever wants one of them has to read them all.
    """
    da = needed("dask.array")
    step = chunk // (8 * bands * samples)
    if together and dtype.itemsize * bands * samples * together <= chunk:
        step = max(step // together, 1) * together
    width = samples if step else max(chunk // (8 * bands), 1)
    step = max(step, 1)
    widths = [min(width, samples - start) for start in range(0, samples, width)]
    heights = [min(step, lines - start) for start in range(0, lines, step)]
    return da.map_blocks(
        partial(read_chunk, read, step, width, len(widths)),
        chunks=((bands,), tuple(height * width for height in heights for width in widths)),
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )


def read_chunk(read: Reader, step: int, width: int, across: int, block_id: tuple[int, int]) -> NDArray[Any]:
    """The chunk of this number, of those that have `across` to a line."""
    line, piece = divmod(block_id[1], across)
    part = read(slice(line * step, (line + 1) * step), slice(piece * width, (piece + 1) * width))
    return part.reshape(part.shape[0], -1)
