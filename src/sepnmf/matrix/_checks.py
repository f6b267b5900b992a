"""Checks of entries in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from sepnmf._typing import Ints
from sepnmf._validation import (
    OF_ARRAYS,
    Remedy,
    check_real,
    check_real_array,
    has_not_finite,
    in_computing_dtype,
    negative_entries,
    not_finite,
)
from sepnmf.matrix._columns import Columns
from sepnmf.matrix._dense import Dense, InMemory
from sepnmf.matrix._indices import refuse_wrong_indices
from sepnmf.matrix._matrix import Negative
from sepnmf.matrix._reducers import first_position
from sepnmf.matrix._sparse import Sparse

OF_SPARSE = Remedy("mask=np.isfinite(np.ravel(M.sum(axis=0)))", "")


def checked_kind(A: Any, name: str = "M", *, transpose: bool = False) -> Any:
    """Return an array of real numbers, or a sparse one in canonical CSC form; `A` itself is not changed."""
    is_sparse: bool = sparse.issparse(A)
    if not is_sparse:
        array = check_real_array(A, name)
        return array.T if transpose else array
    if A.ndim != 2 or 0 in A.shape:
        raise ValueError(f"{name} must be a non-empty matrix, got shape {A.shape}.")
    check_real(A.dtype, name)
    refuse_wrong_indices(A, name)
    if A.dtype == np.float16:  # in which SciPy's routines cannot compute
        A = A.astype(np.float32)
    csc = sparse.csc_array(A.T if transpose else A)
    if not csc.has_canonical_format:
        csc = csc.copy()
        csc.sum_duplicates()
    return csc


def checked(
    A: Any,
    negative: Negative,
    name: str = "M",
    columns: Columns | None = None,
    rows: Ints | None = None,
    located: Callable[[tuple[int, int]], tuple[int, int] | None] | None = None,
    remedy: Remedy = OF_ARRAYS,
) -> InMemory:
    """Return the used columns of an array, or of a sparse one, with finite entries, negative ones dealt with.

    `rows` are the caller's indices of the rows, if not all are here. `located` returns row and column of an
    entry as the caller counts them; by default `columns` and `rows` say it. `remedy` is how the caller
    leaves out columns with entries that are refused.
    """
    used = A if columns is None or columns.kept is None else A[:, columns.kept]
    kind = Sparse if sparse.issparse(used) else Dense
    matrix: InMemory = kind(in_computing_dtype(used), columns=columns)

    def first(found: Ints) -> tuple[int, int] | None:
        row, column = first_position(found) or (0, 0)
        if located is not None:
            return located((row, column))
        column = column if columns is None else int(columns.indices(np.array(column)))
        return (row if rows is None else int(rows[row])), column

    if sparse.issparse(A) and remedy == OF_ARRAYS:
        remedy = OF_SPARSE
    if has_not_finite(matrix.values):
        found = matrix.entries_where(lambda values: ~np.isfinite(values))
        raise ValueError(not_finite(name, len(found), first(found), remedy=remedy))
    if negative == "allow" or matrix.values.min(initial=0) >= 0:
        return matrix
    if negative == "clip":
        return matrix.clipped()
    found = matrix.entries_where(lambda values: values < 0)
    below = matrix.values[matrix.values < 0]
    raise ValueError(negative_entries(len(found), first(found), remedy, below))
