"""What greedy methods ask of the columns of a dense array or a sparse one in CSC form, without copying it."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from sepnmf.typing import Floats, Ints, Sparse

Columns: TypeAlias = Any  # Floats or Sparse; Sparse is Any already
BLOCK = 2**16  # entries of a dense block, if no row or column is longer


def is_sparse(M: Columns) -> bool:
    """Whether M is a SciPy sparse matrix or array (a plain bool, for SciPy's own narrows to a bare type)."""
    return sparse.issparse(M)


def dense_columns(M: Columns, columns: Ints | slice) -> Floats:
    """Return the columns asked for as a dense float64 array."""
    part = M[:, columns]
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)


def column_blocks(height: int, n: int) -> Iterator[slice]:
    """Slices of 0 … n, of as many columns of this height as make a small dense array."""
    width = max(max(BLOCK, n) // height, 1)
    return (slice(start, min(start + width, n)) for start in range(0, n, width))


def squared_lengths(M: Columns) -> Floats:
    """Squares of the Euclidean norms of the columns, in float64."""
    if is_sparse(M):
        return column_sums(M, np.square(M.data, dtype=np.float64))
    squares: Floats = np.einsum("ij,ij->j", M, M, dtype=np.float64)
    return squares


def l1_lengths(M: Columns) -> Floats:
    """Sums of the absolute values of the columns, in float64."""
    if is_sparse(M):
        return column_sums(M, np.abs(M.data))
    sums = np.empty(M.shape[1])
    for block in column_blocks(*M.shape):
        np.abs(M[:, block]).sum(axis=0, dtype=np.float64, out=sums[block])
    return sums


def column_sums(M: Sparse, values: Floats) -> Floats:
    """Sums over the columns of `values`, one for each stored entry of M."""
    sums = np.zeros(M.shape[1])
    filled = np.flatnonzero(np.diff(M.indptr))  # reduceat would give an empty column its neighbour's entry
    if filled.size:
        sums[filled] = np.add.reduceat(values, M.indptr[filled], dtype=np.float64)
    return sums


def in_range(M: Columns) -> tuple[Columns, float, Floats]:
    """Return M, 1 and the squared lengths of its columns.

    If squares of these could leave the floating-point range, return a copy M/s, s and the same of the copy.
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = squared_lengths(M)
    limit = float(np.finfo(M.dtype).max) ** 0.4
    if 1 / limit <= np.sqrt(squares.max()) <= limit or not (M != 0).sum():
        return M, 1.0, squares
    exponent = int(np.floor(np.log2(float(abs(M).max()))))
    if is_sparse(M):
        M = sparse.csc_array((np.ldexp(M.data, -exponent), M.indices, M.indptr), shape=M.shape)
    else:
        M = np.ldexp(M, -exponent)
    return M, 2.0**exponent, squared_lengths(M)
