"""Checks of entries in memory."""

from typing import Any

import numpy as np
from scipy import sparse

from sepnmf._validation import check_array, check_real, computing_dtype, negative_entries, not_finite
from sepnmf.matrix._dense import Dense, InMemory
from sepnmf.matrix._matrix import Negative
from sepnmf.matrix._reducers import first_position
from sepnmf.matrix._sparse import Sparse


def checked(A: Any, negative: Negative, name: str = "M", *, transposed: bool = False) -> InMemory:
    """Return an array, or a sparse one, as a matrix with finite entries, negative ones dealt with."""
    if sparse.issparse(A):
        matrix: InMemory = checked_sparse(A.T if transposed else A, name)  # type: ignore[attr-defined]
    else:
        array = check_array(A, name)
        matrix = Dense(array.T if transposed else array)
    if negative == "allow" or matrix.values.min(initial=0) >= 0:
        return matrix
    if negative == "clip":
        return matrix.clipped()
    found = matrix.positions(lambda values: values < 0)
    raise ValueError(negative_entries(len(found), first_position(found)))


def checked_sparse(A: Any, name: str) -> Sparse:
    """Return a sparse matrix with finite floating-point entries; `A` itself is not changed."""
    if A.ndim != 2 or 0 in A.shape:
        raise ValueError(f"{name} must be a non-empty matrix, got shape {A.shape}.")
    check_real(A.dtype, name)
    csc = sparse.csc_array(A)
    if not csc.has_canonical_format:
        csc = csc.copy()
        csc.sum_duplicates()
    matrix = Sparse(csc.astype(computing_dtype(csc.dtype), copy=False))
    if not np.isfinite(matrix.values).all():
        found = matrix.positions(lambda values: ~np.isfinite(values))
        raise ValueError(not_finite(name, len(found), first_position(found)))
    return matrix
