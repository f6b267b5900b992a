"""Sparse matrices in files, as annotated data (AnnData) have them: read in blocks of rows or of columns."""

from typing import Any

import numpy as np
from scipy import sparse

from sepnmf.matrix import _stored
from sepnmf.matrix._stored import dask_array


def is_backed_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix in a file."""
    return hasattr(X, "group") and hasattr(X, "format") and hasattr(X, "backend")


def in_blocks(X: Any) -> Any:
    """Return a Dask array with sparse blocks: of rows for CSR, of columns for CSC.

    A block has about as many bytes as a chunk of other data, counted with its indices.
    """
    by_rows = X.format == "csr"
    starts = np.asarray(X.group["indptr"][...], dtype=np.int64)
    per_block = _stored.CHUNK // 16  # stored entries: a number and an index, as float64 and int64
    bounds = [0]
    while bounds[-1] < len(starts) - 1:
        stop = int(np.searchsorted(starts, starts[bounds[-1]] + per_block, side="right")) - 1
        bounds.append(min(max(stop, bounds[-1] + 1), len(starts) - 1))
    sizes = tuple(int(size) for size in np.diff(bounds))
    other = int(X.shape[1] if by_rows else X.shape[0])
    return dask_array().map_blocks(
        read_block,
        X,
        tuple(bounds),
        chunks=(sizes, (other,)) if by_rows else ((other,), sizes),
        dtype=X.dtype,
        meta=sparse.csr_array((0, 0), dtype=X.dtype),
    )


def read_block(X: Any, bounds: tuple[int, ...], block_id: tuple[int, int]) -> Any:
    """Return the block with this number."""
    k = block_id[0] if X.format == "csr" else block_id[1]
    rows = slice(bounds[k], bounds[k + 1])
    block = X[rows] if X.format == "csr" else X[:, rows]
    return sparse.csr_array(block) if X.format == "csr" else sparse.csc_array(block)
