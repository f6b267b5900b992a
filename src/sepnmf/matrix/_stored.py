"""Plain numbers in a file, one after another: read at once, or in chunks when they are too many."""

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Data of more bytes than this become a Dask array, in chunks of about so many bytes. Both are counted as
# float64, which numbers become in work.
LARGE = 500_000_000
CHUNK = 64_000_000
MANY_ROWS = 128  # the system maps up to 2 MB around an entry that is read

Reader = Callable[[slice, slice], NDArray[Any]]


@dataclass(frozen=True)
class Stored:
    """Where the numbers of an image are in a file.

    A matrix is an image of one sample per line: its rows are the bands, its columns the lines.

    Attributes
    ----------
    file : str
        The file.
    dtype : numpy dtype
        Type of the numbers, with their byte order.
    shape : tuple of three ints
        Numbers of bands, lines and samples.
    strides : tuple of three ints
        Bytes from one band, line and sample to the next.
    offset : int
        Number of bytes before the first number.
    """

    file: str
    dtype: np.dtype[Any]
    shape: tuple[int, int, int]
    strides: tuple[int, int, int]
    offset: int = 0

    @classmethod
    def in_order(
        cls, file: str, dtype: np.dtype[Any], shape: tuple[int, int, int], axes: str = "bls", offset: int = 0
    ) -> "Stored":
        """Return an image whose numbers follow each other without gaps.

        `axes` has the letters b, l and s from the slowest to the fastest axis of the file; "lbs" is BIL.
        """
        sizes = dict(zip("bls", shape, strict=True))
        strides, step = dict.fromkeys("bls", 0), dtype.itemsize
        for axis in reversed(axes):
            strides[axis] = step
            step *= sizes[axis]
        return cls(file, dtype, shape, (strides["b"], strides["l"], strides["s"]), offset)

    @classmethod
    def behind(cls, M: "np.memmap[Any, Any]") -> "Stored | None":
        """Return the file behind a two-dimensional map, or behind a view of one; None if it is not all there.

        A copy-on-write map may have entries that are not in the file.
        """
        whole: mmap.mmap | None = getattr(M, "_mmap", None)
        if whole is None or M.filename is None or M.mode == "c" or min(M.strides) < 0:
            return None
        base = np.frombuffer(whole, np.uint8).ctypes.data
        if not base <= M.ctypes.data < base + len(whole):
            return None  # a copy that has kept the type
        start = M.offset - M.offset % mmap.ALLOCATIONGRANULARITY
        offset = start + M.ctypes.data - base
        (rows, columns), (down, across) = M.shape, M.strides
        return cls(str(M.filename), M.dtype, (rows, columns, 1), (down, across, 0), offset)

    @property
    def image_shape(self) -> tuple[int, int]:
        """Numbers of lines and samples."""
        return self.shape[1:]

    @property
    def nbytes(self) -> int:
        """Bytes of all numbers."""
        return prod(self.shape) * self.dtype.itemsize

    def check_length(self) -> None:
        """Refuse a file that is shorter than its header says."""
        expected = self.offset + self.nbytes
        found = Path(self.file).stat().st_size
        if found < expected:
            raise ValueError(
                f"{Path(self.file).name} has {found} bytes, and its header says {expected}: "
                "it is cut short or the header is wrong."
            )

    def view(self, mode: Any = "r") -> tuple[NDArray[Any], Any]:
        """Return all numbers as bands × lines × samples through a map of the file, and the map."""
        mapped = np.memmap(self.file, np.uint8, mode)
        return np.ndarray(self.shape, self.dtype, mapped, self.offset, self.strides), mapped

    def matrix(self, large: int = LARGE, chunk: int = CHUNK) -> Any:
        """Return bands × pixels: an array, or a Dask array beyond `large` bytes of float64."""
        self.check_length()
        if 8 * prod(self.shape) > large:
            return self.lazy(chunk)
        numbers = np.fromfile(self.file, np.uint8, self.nbytes, offset=self.offset)
        image = np.ndarray(self.shape, self.dtype, numbers, 0, self.strides)
        return native(image.reshape(self.shape[0], -1))

    def lazy(self, chunk: int = CHUNK) -> Any:
        """Return bands × pixels as a Dask array."""
        return in_chunks(self.read, self.dtype.newbyteorder("="), self.shape, chunk)

    def read(self, lines: slice, samples: slice) -> NDArray[Any]:
        """Return some pixels as bands × lines × samples; those of an image are copied.

        The map of the file lives no longer than they do. One that is kept open would count as memory once its
        pages were read, and could not be sent to another process. Pages come in large pieces, so that short
        parts of very many rows are read one by one.
        """
        bands, *_ = self.shape
        if self.image_shape[1] == 1 and self.strides[1] == self.dtype.itemsize and bands > MANY_ROWS:
            return native(self.read_rows(lines))
        pixels = self.view()[0][:, lines, samples]
        return native(pixels if self.image_shape[1] == 1 else np.array(pixels, order="C"))

    def read_rows(self, lines: slice) -> NDArray[Any]:
        """Return some columns of a matrix with contiguous rows, read row by row."""
        start, stop, step = lines.indices(self.shape[1])
        part = np.empty((self.shape[0], stop - start, 1), self.dtype)
        with open(self.file, "rb", buffering=0) as stream:
            for k, row in enumerate(part):
                stream.seek(self.offset + k * self.strides[0] + start * self.strides[1])
                stream.readinto(row.view(np.uint8))
        return part[:, ::step]


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in the byte order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def in_chunks(
    read: Reader, dtype: np.dtype[Any], shape: tuple[int, int, int], chunk: int, together: int = 0
) -> Any:
    """Return bands × pixels as a Dask array, in chunks of whole lines, or of parts of one that is too long.

    `read(lines, samples)` gives pixels as bands × lines × samples, here or in another process. Chunks have
    about `chunk` bytes as float64. Lines that are compressed together, so many, stay together unless they
    are more than that in the file's own type: whoever wants one of them has to read them all.
    """
    bands, lines, samples = shape
    step = chunk // max(8 * bands * samples, 1)
    if together and dtype.itemsize * bands * samples * together <= chunk:
        step = max(step // together, 1) * together
    width = samples if step else max(chunk // max(8 * bands, 1), 1)
    step = max(step, 1)
    widths = [min(width, samples - start) for start in range(0, samples, width)]
    heights = [min(step, lines - start) for start in range(0, lines, step)]
    return dask_array().map_blocks(
        partial(read_chunk, read, step, width, len(widths)),
        chunks=((bands,), tuple(height * width for height in heights for width in widths) or (0,)),
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )


def read_chunk(read: Reader, step: int, width: int, across: int, block_id: tuple[int, int]) -> NDArray[Any]:
    """Return the chunk with this number, of those that have `across` to a line."""
    line, piece = divmod(block_id[1], max(across, 1))
    part = read(slice(line * step, (line + 1) * step), slice(piece * width, (piece + 1) * width))
    return part.reshape(part.shape[0], -1)


def dask_array() -> Any:
    """Return Dask's array module, or say how to get it."""
    try:
        import dask.array
    except ImportError:
        raise ValueError(
            "These data are read in chunks, which needs Dask: pip install 'sepnmf[dask]'."
        ) from None
    return dask.array
