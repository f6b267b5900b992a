"""Containers that are read in chunks: Dask arrays, Zarr arrays, HDF5 data sets and large memory maps."""

from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from sepnmf._validation import check_real, computing_dtype, in_computing_dtype, wrong_dimensions
from sepnmf.matrix import _stored
from sepnmf.matrix._indices import checked_indices
from sepnmf.matrix._stored import Stored, dask_array


def is_lazy(M: object) -> bool:
    """Return whether M is read in chunks."""
    return is_dask(M) or is_stored(M) or (isinstance(M, np.memmap) and M.nbytes > _stored.LARGE)


def is_dask(M: object) -> bool:
    """Return whether M is a Dask array (found out without importing Dask)."""
    return type(M).__module__.partition(".")[0] == "dask" and hasattr(M, "numblocks")


def is_stored(M: object) -> bool:
    """Return whether M is a Zarr array or an HDF5 data set."""
    return type(M).__module__.partition(".")[0] in ("zarr", "h5py") and hasattr(M, "dtype")


def lazy_array(M: Any) -> Any:
    """Return a Dask array of what is in M; nothing is read yet."""
    if is_dask(M):
        return M
    da = dask_array()
    if isinstance(M, np.memmap):
        stored = Stored.behind(M) if M.ndim == 2 else None
        return da.from_array(M, chunks=("auto",) * M.ndim) if stored is None else stored.lazy(_stored.CHUNK)
    import dask

    with dask.config.set({"array.chunk-size": _stored.CHUNK}):  # in multiples of its own chunks
        return da.from_array(M)


def checked_lazy_array(M: Any) -> Any:
    """Return a Dask array of what is in M, if that is a matrix of real numbers, without its empty chunks."""
    array = lazy_array(M)
    if array.ndim != 2:
        raise ValueError(wrong_dimensions("M", 2, array.shape))
    check_real(array.dtype, "M")
    if isinstance(array._meta, np.ma.MaskedArray):
        raise ValueError(
            "M is a Dask array of masked arrays: pass M.map_blocks(numpy.ma.filled, 0), and mask= with the "
            "columns that have all their entries."
        )
    if any(np.isnan(size) for size in array.shape):
        raise ValueError("M has chunks of unknown size: call M.compute_chunk_sizes() first.")
    if 0 in array.shape:
        raise ValueError(f"M is empty: its shape is {array.shape}.")
    if sparse.issparse(array._meta):
        array = array.map_blocks(checked_indices, dtype=array.dtype, meta=array._meta)
    if array.dtype.itemsize > 8:  # more digits than are computed with
        array = array.map_blocks(in_computing_dtype, dtype=computing_dtype(array.dtype))
    filled = tuple(tuple(size for size in sizes if size) for sizes in array.chunks)
    return array if filled == array.chunks else array.rechunk(filled)


def kept_columns(array: Any, mask: Any) -> Any:
    """Return the columns of a Dask array that a mask keeps, chunk by chunk, without empty chunks."""
    widths = np.add.reduceat(mask, np.cumsum([0, *array.chunks[1][:-1]]), dtype=np.intp)
    found = dask_array().map_blocks(
        take_kept,
        array,
        chunked_mask(array, mask),
        chunks=(array.chunks[0], tuple(int(width) for width in widths)),
        dtype=array.dtype,
        meta=array._meta,
    )
    return found.blocks[:, np.flatnonzero(widths)]


def chunked_mask(array: Any, mask: Any) -> Any:
    """Return a mask of columns as a Dask array of one row, in the chunks of these columns."""
    return dask_array().from_array(mask[None, :], chunks=((1,), array.chunks[1]))


def take_kept(chunk: Any, mask: Any) -> Any:
    """Return the columns of a chunk that are used."""
    return chunk[:, np.flatnonzero(mask[0])]


def with_whole_columns(array: Any) -> Any:
    """Return the array in chunks that have all rows of their columns.

    Where such chunks would be far too large, because rows are in chunks and columns are not, they are cut out
    of the array as it is.
    """
    if array.numblocks[0] == 1:
        return array
    rows, columns = array.shape
    width = max(_stored.CHUNK // max(rows * array.dtype.itemsize, 1), 1)
    if max(array.chunks[1]) <= 4 * width:
        return array.rechunk({0: -1})
    cuts = [array[:, start : start + width].rechunk((-1, -1)) for start in range(0, columns, width)]
    return dask_array().concatenate(cuts, axis=1)


def flattened(array: Any) -> Any:
    """Return a Dask array of rows × lines × … as rows × pixels, in chunks of whole lines and all rows.

    Lines are cut out of the array one chunk after another: merging the chunks of an array makes Dask hold
    more of it than is worked on.
    """
    rows, lines, *others = array.shape
    step = max(_stored.CHUNK // max(8 * rows * prod(others), 1), 1)
    if array.ndim == 2:
        return array
    whole = array.numblocks[0] == 1 and prod(array.numblocks[2:]) == 1
    if whole and max(array.chunks[1]) <= 2 * step:
        return array.reshape(rows, -1)
    cuts = [array[:, start : start + step].rechunk(-1).reshape(rows, -1) for start in range(0, lines, step)]
    return dask_array().concatenate(cuts, axis=1)
