"""Checks of the indices of sparse matrices."""

from typing import Any

import numpy as np
from scipy import sparse

from sepnmf._typing import Ints


def checked_indices(chunk: Any) -> Any:
    """Return a chunk of M, or refuse one with indices out of range."""
    refuse_wrong_indices(chunk, "M")
    return chunk


def refuse_wrong_indices(A: Any, name: str) -> None:
    """Refuse a sparse matrix with indices out of range: SciPy would follow them, and end the process."""
    is_sparse: bool = sparse.issparse(A)
    if is_sparse and has_wrong_indices(A):
        raise ValueError(f"{name} is sparse, with indices outside its shape {A.shape}: build it anew.")


def has_wrong_indices(A: Any) -> bool:
    """Return whether indices of a sparse matrix, or the places where its columns begin, are out of range."""
    if A.ndim != 2:
        return False  # it is refused for that
    if A.format in ("lil", "dok"):
        try:
            A = A.tocoo()
        except ValueError:  # this conversion checks indices, and others do not
            return True
    if A.format == "coo":
        return any(outside(found, size) for found, size in zip((A.row, A.col), A.shape, strict=True))
    if A.format not in ("csr", "csc", "bsr"):
        return False
    height, width = A.blocksize if A.format == "bsr" else (1, 1)
    rows, columns = A.shape[0] // height, A.shape[1] // width
    major, minor = (columns, rows) if A.format == "csc" else (rows, columns)
    starts, stored = A.indptr, min(len(A.indices), len(A.data))
    if len(starts) != major + 1 or starts[0] != 0 or starts[-1] > stored or (np.diff(starts) < 0).any():
        return True
    return outside(A.indices[: starts[-1]], minor)


def outside(indices: Ints, size: int) -> bool:
    """Return whether an index is negative, or not less than `size`."""
    return bool(len(indices)) and bool(indices.min() < 0 or indices.max() >= size)
