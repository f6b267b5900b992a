"""Arrays that are read a part at a time: Dask arrays, and what can be made one without reading it."""

import mmap
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A memory map of more bytes than this is read in chunks of about so many bytes.
LARGE = 500_000_000
CHUNK = 64_000_000
MANY_ROWS = 128  # the system maps up to 2 MB around an entry that is read


def is_chunked(M: object) -> bool:
    """Whether M is read a part at a time: a Dask array, a Zarr array, an HDF5 data set or a large memmap."""
    return is_dask(M) or is_stored(M) or (isinstance(M, np.memmap) and M.nbytes > LARGE)


def is_dask(M: object) -> bool:
    """Whether M is a Dask array (found out without importing Dask)."""
    return type(M).__module__.partition(".")[0] == "dask" and hasattr(M, "numblocks")


def is_stored(M: object) -> bool:
    """Whether M is a Zarr array or an HDF5 data set."""
    return type(M).__module__.partition(".")[0] in ("zarr", "h5py") and hasattr(M, "dtype")


def in_chunks(M: Any) -> Any:
    """A Dask array of what is in M; nothing is read yet."""
    if is_dask(M):
        return M
    try:
        import dask
        import dask.array as da
    except ImportError:
        raise ValueError(
            "M is to be read a part at a time, which needs Dask: pip install 'sepnmf[dask]'."
        ) from None
    if isinstance(M, np.memmap) and M.ndim == 2 and (mapped := Mapped.of(M)) is not None:
        return mapped.in_chunks()
    if isinstance(M, np.memmap):
        return da.from_array(M, chunks=("auto",) * M.ndim)  # type: ignore[no-untyped-call]
    with dask.config.set({"array.chunk-size": CHUNK}):  # in multiples of its own chunks
        return da.from_array(M)  # type: ignore[no-untyped-call]


def resolution(array: Any) -> Any:
    """The floating-point type of what is computed from an array, as `sepnmf.validation` has it."""
    return np.float32 if array.dtype in (np.float32, np.float16) else np.float64


def checked_chunks(M: Any) -> Any:
    """A Dask array of what is in M, if that is a matrix of real numbers; its empty chunks are left out."""
    array = in_chunks(M)
    if array.ndim != 2:
        raise ValueError(f"M must have 2 dimension(s), got shape {array.shape}.")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"M must hold real numbers, got dtype {array.dtype}: convert it to float first.")
    if any(np.isnan(size) for size in array.shape):
        raise ValueError("M has chunks of unknown size: call M.compute_chunk_sizes() first.")
    if 0 in array.shape:
        raise ValueError(f"M is empty: its shape is {array.shape}.")
    filled = tuple(tuple(size for size in sizes if size) for sizes in array.chunks)
    return array if filled == array.chunks else array.rechunk(filled)


def with_whole_columns(array: Any) -> Any:
    """The array in chunks that have all rows of their columns.

    Where such chunks would be far too large, because rows are in chunks and columns are not, they are cut out
    of the array as it is.
    """
    if array.numblocks[0] == 1:
        return array
    rows, columns = array.shape
    width = max(CHUNK // max(rows * array.dtype.itemsize, 1), 1)
    if max(array.chunks[1]) <= 4 * width:
        return array.rechunk({0: -1})
    import dask.array as da

    cuts = [array[:, start : start + width].rechunk((-1, -1)) for start in range(0, columns, width)]
    return da.concatenate(cuts, axis=1)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Mapped:
    """Where the entries of a matrix are in a file."""

    file: str
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    strides: tuple[int, int]
    offset: int

    @classmethod
    def of(cls, M: "np.memmap[Any, Any]") -> "Mapped | None":
        """The file behind a map, or behind a view of one; None if the file does not tell all.

        A copy-on-write map may have entries that are not in the file.
        """
        whole: mmap.mmap | None = getattr(M, "_mmap", None)
        if whole is None or M.filename is None or M.mode == "c" or min(M.strides) < 0:
            return None
        base = np.frombuffer(whole, np.uint8).ctypes.data
        if not base <= M.ctypes.data < base + len(whole):
            return None  # a copy that has kept the type
        start = M.offset - M.offset % mmap.ALLOCATIONGRANULARITY
        rows, columns = M.shape
        down, across = M.strides
        return cls(str(M.filename), M.dtype, (rows, columns), (down, across), start + M.ctypes.data - base)

    def in_chunks(self) -> Any:
        """All entries as a Dask array whose chunks have whole columns."""
        import dask.array as da

        rows, columns = self.shape
        width = max(CHUNK // max(rows * self.dtype.itemsize, 1), 1)
        starts = range(0, columns, width)
        widths = tuple(min(width, columns - start) for start in starts)
        dtype = self.dtype.newbyteorder("=")
        meta = np.empty((0, 0), dtype)
        return da.map_blocks(  # type: ignore[no-untyped-call]
            partial(columns_of, self, width), chunks=((rows,), widths or (0,)), dtype=dtype, meta=meta
        )

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """Some columns, through a map of the file that lives as long as they do, or copied.

        A map that is kept open counts as memory once its pages were read, and cannot be sent to another
        process. Pages come in large pieces, so that short parts of very many rows are better copied.
        """
        rows = self.shape[0]
        size = (rows, stop - start)
        if self.strides[1] == self.dtype.itemsize and rows > MANY_ROWS:
            return self.copied(start, size)
        reach = sum((n - 1) * step for n, step in zip(size, self.strides, strict=True)) + self.dtype.itemsize
        begin = self.offset + start * self.strides[1]
        mapped = np.memmap(self.file, np.uint8, "r", begin, (reach if prod(size) else 0,))
        part = np.ndarray(size, self.dtype, mapped, strides=self.strides)
        return native(part)

    def copied(self, start: int, size: tuple[int, int]) -> NDArray[Any]:
        """Some columns of contiguous rows, read row by row."""
        part = np.empty(size, self.dtype)
        with open(self.file, "rb", buffering=0) as stream:
            for k, row in enumerate(part):
                stream.seek(self.offset + k * self.strides[0] + start * self.strides[1])
                stream.readinto(row.view(np.uint8))
        return native(part)


def native(array: NDArray[Any]) -> NDArray[Any]:
    """`array` in the byte order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def columns_of(mapped: Mapped, width: int, block_id: tuple[int, int]) -> NDArray[Any]:
    """One chunk."""
    start = block_id[1] * width
    return mapped.columns(start, min(start + width, mapped.shape[1]))
