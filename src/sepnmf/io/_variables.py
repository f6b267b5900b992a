"""Arrays inside files: which one is meant, whether it can be used, and how it becomes `Data`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf._typing import Sparse
from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, parsing
from sepnmf.matrix import native

LISTED = 20


@dataclass(frozen=True)
class Variable:
    """What a file says about one of its variables, before it is read."""

    name: str
    shape: tuple[int, ...]
    type: str
    is_real: bool

    @property
    def is_matrix(self) -> bool:
        """Whether it is a matrix or an image of real numbers."""
        return self.is_real and len(self.shape) in (2, 3) and min(self.shape) >= 0

    def __str__(self) -> str:
        size = " × ".join(map(str, self.shape)) or "scalar"
        return f"{self.name!r} ({size}, {self.type})"


def choose(variables: Sequence[Variable], wanted: str | None, file: Path) -> Variable:
    """The variable of this name or, without a name, the only matrix, vectors aside."""
    if wanted is None:
        matrices = [v for v in variables if v.is_matrix]
        candidates = [v for v in matrices if min(v.shape) > 1] or matrices
    else:
        candidates = [v for v in variables if v.name == wanted][:1]
    if len(candidates) != 1:
        raise ValueError(f"{file.name} {which(variables, wanted)}.")
    chosen = candidates[0]
    if not chosen.is_matrix:
        raise ValueError(
            f"{file.name} has {chosen}, which is neither a matrix nor an image of real numbers: "
            "choose another variable or convert it."
        )
    return chosen


def which(variables: Sequence[Variable], wanted: str | None) -> str:
    """What there is to choose from."""
    if not variables:
        return "holds no variables"
    listed = ", ".join(map(str, variables[:LISTED])) + (", …" if len(variables) > LISTED else "")
    if wanted is not None:
        return f"has no variable {wanted!r} but {listed}: say which with --variable NAME"
    if not any(v.is_matrix for v in variables):
        return f"holds no matrix of real numbers, only {listed}"
    return f"holds several matrices, {listed}: say which with --variable NAME"


def check_real(dtype: np.dtype[Any], file: Path) -> None:
    """Refuse whatever is not a real number; Python objects would have to be unpickled."""
    if dtype.hasobject:
        raise ValueError(
            f"{file.name} holds Python objects, which are never unpickled here: save an array of numbers."
        )
    if dtype.kind not in "fiub":
        raise ValueError(f"{file.name} holds dtype {dtype}, not real numbers: convert it to float first.")


def check_dimensions(shape: tuple[int, ...], file: Path) -> None:
    """Refuse whatever is neither a matrix nor an image."""
    if len(shape) not in (2, 3) or min(shape) < 0:
        raise ValueError(
            f"{file.name} holds an array of shape {shape}: expected a matrix of two dimensions or an image "
            "of three, lines × samples × bands."
        )


def data_of(array: NDArray[Any], file: Path, variable: str = "") -> Data:
    """A matrix as it is; an image of lines × samples × bands as a matrix of bands × pixels."""
    check_real(array.dtype, file)
    check_dimensions(array.shape, file)
    if array.ndim == 2:
        return Data(M=native(array), file=file, variable=variable)
    lines, samples, bands = array.shape
    M = native(array).reshape(lines * samples, bands).T
    return Data(M=M, file=file, variable=variable, image_shape=(lines, samples))


def sparse_data_of(matrix: Sparse, file: Path, variable: str = "") -> Data:
    """A sparse matrix in CSC form, whose indices have been checked: compiled code will trust them."""
    check_real(matrix.dtype, file)
    check_size(8 * sum(matrix.shape), file)
    with parsing(file, "a sparse matrix"):
        if matrix.format in ("csr", "csc", "bsr"):
            starts = matrix.indptr
            if starts[0] != 0 or (starts[1:] < starts[:-1]).any() or starts[-1] > matrix.indices.size:
                raise ValueError("the starts of its columns or rows do not increase")
            matrix.check_format(full_check=True)  # of no use where the last start is 0
        M = sparse.csc_array(matrix)
    return Data(M=M, file=file, variable=variable)
