"""Choice of a variable in a file, checks of its type and shape, and its conversion to `Data`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf._typing import Sparse
from sepnmf.io._axes import find_axes
from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, parsing
from sepnmf.matrix import native

LISTED = 20  # variables that an error message lists


@dataclass(frozen=True)
class Variable:
    """Name, shape and type of a variable, known before it is read."""

    name: str
    shape: tuple[int, ...]
    type: str
    is_real: bool

    @property
    def is_matrix(self) -> bool:
        """Whether the variable is a matrix or an image of real numbers."""
        return self.is_real and len(self.shape) in (2, 3) and min(self.shape) >= 0

    def __str__(self) -> str:
        size = " × ".join(map(str, self.shape)) or "scalar"
        return f"{self.name!r} ({size}, {self.type})"


def choose(variables: Sequence[Variable], wanted: str | None, file: Path) -> Variable:
    """Return the variable of this name; without a name, the only matrix that is not a vector."""
    if wanted is None:
        matrices = [v for v in variables if v.is_matrix]
        candidates = [v for v in matrices if min(v.shape) > 1] or matrices
    else:
        candidates = [v for v in variables if v.name == wanted][:1]
    if len(candidates) != 1:
        raise ValueError(f"{file.name} {list_variables(variables, wanted)}.")
    chosen = candidates[0]
    if chosen.is_real and len(chosen.shape) > 3:
        raise ValueError(f"{file.name} has {chosen}, which has {too_many(chosen.shape)}.")
    if not chosen.is_matrix:
        raise ValueError(
            f"{file.name} has {chosen}, which is neither a matrix nor an image of real numbers: "
            "choose another variable or convert it."
        )
    return chosen


def list_variables(variables: Sequence[Variable], wanted: str | None) -> str:
    """Return an error message that lists the variables of a file."""
    if not variables:
        return "contains no variables"
    listed = ", ".join(map(str, variables[:LISTED])) + (", …" if len(variables) > LISTED else "")
    if wanted is not None:
        return f"has no variable {wanted!r} but {listed}: choose one with --variable NAME"
    if not any(v.is_matrix for v in variables):
        large = next((v for v in variables if v.is_real and len(v.shape) > 3), None)
        if large is not None:
            return f"contains no matrix and no image: {large} has {too_many(large.shape)}"
        return f"contains no matrix of real numbers, only {listed}"
    return f"contains several matrices, {listed}: choose one with --variable NAME"


def too_many(shape: Sequence[int]) -> str:
    """Return how many dimensions an array has, if they are more than three, and what to do."""
    return (
        f"{len(shape)} dimensions, and an image has three: choose one entry of each other dimension, such as "
        "one time, and save that as a file"
    )


def check_real(dtype: np.dtype[Any], file: Path) -> None:
    """Refuse a dtype that is not of real numbers; Python objects would have to be unpickled."""
    if dtype.hasobject:
        raise ValueError(
            f"{file.name} contains Python objects, which sepnmf never unpickles: save an array of numbers."
        )
    if dtype.kind not in "fiub":
        raise ValueError(f"{file.name} contains dtype {dtype}, not real numbers: convert it to float first.")


def check_shape(shape: tuple[int, ...], file: Path) -> None:
    """Refuse an array that is neither a matrix nor an image."""
    if len(shape) > 3:
        raise ValueError(f"{file.name} contains an array of shape {shape}, which has {too_many(shape)}.")
    if len(shape) not in (2, 3) or min(shape) < 0:
        raise ValueError(
            f"{file.name} contains an array of shape {shape}: expected a matrix (two dimensions) or an image "
            "(three dimensions, lines × samples × bands)."
        )
    if 0 in shape:
        raise ValueError(f"{file.name} is empty: its shape is {shape}.")


def as_image(shape: tuple[int, ...], axes: str) -> tuple[tuple[int, int, int], tuple[int, int] | None]:
    """Return bands, lines and samples of an array, and lines and samples if it is an image.

    An array of two dimensions is a matrix: its rows are the bands, its columns are lines of one sample.
    """
    sizes = dict(zip(axes, shape, strict=True))
    if "s" not in sizes:
        return (sizes["b"], sizes["l"], 1), None
    return (sizes["b"], sizes["l"], sizes["s"]), (sizes["l"], sizes["s"])


def data_of(array: NDArray[Any], file: Path, variable: str = "", axes: str | None = None) -> Data:
    """Return a matrix as it is, an image as a matrix of bands × pixels."""
    check_real(array.dtype, file)
    check_shape(array.shape, file)
    letters, assumptions = find_axes(array.shape, axes)
    _, image_shape = as_image(array.shape, letters)
    return Data(
        M=by_pixel(native(array), letters),
        file=file,
        variable=variable,
        image_shape=image_shape,
        assumptions=assumptions,
    )


def by_pixel(cube: NDArray[Any], axes: str) -> NDArray[Any]:
    """Return a matrix or an image as bands × pixels; bands of a pixel that are stored together stay so."""
    if cube.ndim == 2:
        return cube if axes == "bl" else cube.T
    if axes.endswith("b"):
        pixels = cube if axes == "lsb" else cube.transpose(1, 0, 2)
        return pixels.reshape(-1, pixels.shape[-1]).T
    bands_first = cube.transpose([axes.index(letter) for letter in "bls"])
    return bands_first.reshape(bands_first.shape[0], -1)


def sparse_data_of(matrix: Sparse, file: Path, variable: str = "") -> Data:
    """Return a sparse matrix in CSC form; its indices are checked because compiled code relies on them."""
    check_real(matrix.dtype, file)
    check_size(8 * sum(matrix.shape), file)
    with parsing(file, "a sparse matrix"):
        if matrix.format in ("csr", "csc", "bsr"):
            starts = matrix.indptr
            if starts[0] != 0 or (starts[1:] < starts[:-1]).any() or starts[-1] > matrix.indices.size:
                raise ValueError("the index pointers do not increase")
            matrix.check_format(full_check=True)  # skips its checks if the last pointer is 0
        M = sparse.csc_array(matrix)
    return Data(M=M, file=file, variable=variable)
