"""Plain numbers in a file, one after another: read at once, or in parts when they are too many."""

from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io.guards import needed
from sepnmf.io.variables import native

# Data of more bytes than this as float64 become a Dask array, in chunks of about so many bytes of the file.
LARGE = 500_000_000
CHUNK = 64_000_000


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

    def matrix(self, large: int = LARGE) -> Any:
        """All numbers as bands × pixels: an array, or a Dask array beyond `large` bytes of float64."""
        self.check_length()
        if 8 * prod(self.shape) > large:
            return self.in_parts()
        numbers = np.fromfile(self.file, self.dtype, prod(self.shape), offset=self.offset)
        return native(self.image(numbers.reshape(self.shape)).reshape(self.bands, self.pixels))

    def in_parts(self) -> Any:
        """All numbers as a Dask array of bands × pixels whose chunks are whole lines."""
        da = needed("dask.array")
        per_line = max(self.bands * self.samples * self.dtype.itemsize, 1)
        step = max(CHUNK // per_line, 1)
        starts = range(0, self.lines, step)
        widths = tuple((min(start + step, self.lines) - start) * self.samples for start in starts)
        dtype = self.dtype.newbyteorder("=")
        return da.map_blocks(
            partial(read_part, self, step),
            chunks=((self.bands,), widths),
            dtype=dtype,
            meta=np.empty((0, 0), dtype),
        )


def read_part(stored: Stored, step: int, block_id: tuple[int, int]) -> NDArray[Any]:
    """One chunk: a copy of its lines, from a map of the file that lives no longer than this call.

    A map kept open would count as memory once its pages were read, and could not be sent to another process.
    """
    start = block_id[1] * step
    mapped = np.memmap(stored.file, stored.dtype, "r", stored.offset, stored.shape)
    part = np.array(stored.image(mapped)[:, start : start + step])
    return native(part.reshape(stored.bands, -1))
