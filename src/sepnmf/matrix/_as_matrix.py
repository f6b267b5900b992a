"""From a container to a matrix: the only place that looks at the kind of container."""

from typing import Any, Literal, TypeAlias

import numpy as np

from sepnmf._typing import ArrayLike, Floats
from sepnmf._validation import check_choice
from sepnmf.matrix._checks import checked
from sepnmf.matrix._chunked import Chunked
from sepnmf.matrix._lazy import checked_lazy_array, is_lazy, lazy_array
from sepnmf.matrix._matrix import Matrix, Negative

# Anything with two axes of real numbers: array_like, a SciPy sparse matrix or array, a Dask array, a Zarr
# array, an HDF5 data set, a memory map, or a Matrix. SciPy, Dask and Zarr have no common type.
MatrixLike: TypeAlias = "ArrayLike | Matrix | Any"

# Squares of entries, and squares of these, must stay in the floating-point range.
LARGEST_ENTRY = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e120}


def as_matrix(
    M: MatrixLike,
    negative: Negative = "error",
    *,
    name: str = "M",
    choose_among: Literal["columns", "rows"] = "columns",
) -> Matrix:
    """Return M as a `Matrix`, with finite entries; what is given is not copied without need, nor changed.

    Entries in memory are checked here, entries that are read in chunks when they are read. float32 stays
    float32 (and float16 becomes it); every other real type becomes float64. A `Matrix` is returned as it is.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries: refuse them, set them to zero (in a copy), or keep them.
    name : str, default "M"
        What messages call it.
    choose_among : {"columns", "rows"}, default "columns"
        What the columns of the matrix are: those of M, or its rows.

    Returns
    -------
    Matrix

    Raises
    ------
    ValueError
        If M is not a matrix of finite real numbers, or has negative entries that are refused.
    """
    check_choice(negative, "negative", ("error", "clip", "allow"))
    if isinstance(M, Matrix):
        return M
    if is_lazy(M):
        return Chunked(checked_lazy_array(M if choose_among == "columns" else lazy_array(M).T), negative)
    return checked(M, negative, name, transposed=choose_among == "rows")


def dense_data(M: MatrixLike, negative: Negative = "error") -> Floats:
    """Return M as a dense array for a method with n × n coefficients: no zero column, no extreme entries."""
    array = as_matrix(M, negative).dense()
    largest, limit = float(np.abs(array).max()), LARGEST_ENTRY[array.dtype]
    if largest > 0 and not 1 / limit <= largest <= limit:
        raise ValueError(
            f"M has largest entry {largest:g}, whose powers leave the range of {array.dtype}: scale M, "
            "and with it the parameters that belong to its square."
        )
    zero = np.flatnonzero(~array.any(axis=0))
    if zero.size:
        raise ValueError(
            f"M has {zero.size} zero column(s), the first is column {int(zero[0])}: "
            "remove them, for a zero column has no direction."
        )
    return array
