"""From a container to a matrix: the only place that looks at the kind of container."""

import warnings
from typing import Any, Literal, TypeAlias

import numpy as np

from sepnmf._typing import ArrayLike, Bools, Floats, Ints
from sepnmf._validation import array_of, check_choice, level_outside, refuse_masked
from sepnmf.matrix._checks import checked, checked_kind
from sepnmf.matrix._chunked import Chunked
from sepnmf.matrix._columns import Columns
from sepnmf.matrix._containers import Container, container_of
from sepnmf.matrix._lazy import checked_lazy_array, is_lazy
from sepnmf.matrix._matrix import Matrix, Negative

# Anything with two axes of real numbers: array_like, a SciPy sparse matrix or array, a Dask array, a Zarr
# array, an HDF5 data set, a memory map, a frame, a labelled array, annotated data, or a Matrix. These have no
# common type.
MatrixLike: TypeAlias = "ArrayLike | Matrix | Any"

# Squares of entries, and squares of these, must stay in the floating-point range.
LARGEST_ENTRY = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e120}


def as_matrix(
    M: MatrixLike,
    negative: Negative = "error",
    *,
    name: str = "M",
    choose_among: Literal["columns", "rows"] = "columns",
    mask: ArrayLike | None = None,
    row_mask: ArrayLike | None = None,
) -> Matrix:
    """Return M as a `Matrix`, with finite entries; what is given is not copied without need, nor changed.

    Entries in memory are checked here, entries that are read in chunks when they are read. float32 stays
    float32 (and float16 becomes it); every other real type becomes float64. A `Matrix` is returned as it is.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data. Besides arrays: pandas and polars frames, AnnData, whose columns are variables, and
        `xarray.DataArray`. Its dimension called "band", "wavelength" or the like has the rows, and the
        columns are the pixels of the others; of two dimensions without such a name, the first has the rows.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries: refuse them, set them to zero (in a copy), or keep them.
    name : str, default "M"
        What messages call it.
    choose_among : {"columns", "rows"}, default "columns"
        What the columns of the matrix are: those of M, or its rows.
    mask : array_like of bool, optional
        Whether each column is used, one number per column, or an image of them if M is one. The others are
        neither candidates nor to be explained, and may have any entries. Columns with masked entries of a
        `numpy.ma.MaskedArray`, or with the `_FillValue` of a DataArray, are left out as well.
    row_mask : array_like of bool of shape (m,), optional
        Whether each row is used.

    Returns
    -------
    Matrix

    Raises
    ------
    ValueError
        If M is not a matrix of finite real numbers, or has negative entries that are refused; if a mask has
        not one entry per column (row), or leaves none.

    Warns
    -----
    UserWarning
        If the first column of a frame is an axis by its heading ("wavelength_nm") or its equal steps. It is
        left out, as it is of a file; the others keep their indices.
    """
    check_choice(negative, "negative", ("error", "clip", "allow"))
    if isinstance(M, Matrix):
        if mask is not None or row_mask is not None:
            raise ValueError("A Matrix has its masks already: pass them to as_matrix.")
        return M
    container = container_of(M, name)
    lazy, by_columns = is_lazy(container.array), choose_among == "columns"
    if lazy:
        array = checked_lazy_array(container.array)
        array = array if by_columns else array.T
    else:
        array = checked_kind(container.array, name, transpose=not by_columns)
    rows, count = array.shape
    used = as_mask(aligned(mask, container), count, container.shape if by_columns else (), "mask", "column")
    used_rows = as_mask(row_mask, rows, (), "row_mask", "row")
    if container.axis and by_columns:
        say_axis(container, name)
        used = both(used, np.arange(count) > 0)
    if container.complete is not None and container.spectral and not by_columns:
        used_rows = both(used_rows, container.complete(1, None))  # pixels with missing entries
    elif container.complete is not None:
        others = None if used_rows is None else np.flatnonzero(used_rows)
        used = both(used, container.complete(int(by_columns), others))
    columns = Columns(
        count,
        kept_indices(used, name, "column"),
        container.column_name if by_columns else container.row_name,
        container.wrap if by_columns else None,
    )
    wanted = kept_indices(used_rows, name, "row")
    if wanted is not None:
        array = array[wanted]
    if lazy:
        return Chunked(array, negative, columns, wanted, container.remedy)
    return checked(array, negative, name, columns, wanted, remedy=container.remedy)


def complete_array(A: MatrixLike, name: str, row_mask: ArrayLike | None = None) -> Floats:
    """Return columns W in memory, dense; refuse missing entries, for a column cannot be left out here."""
    matrix = as_matrix(A, "allow", name=name, row_mask=row_mask)
    if matrix.columns is not None and matrix.columns.kept is not None:
        first = int(np.setdiff1d(np.arange(matrix.given_columns), matrix.columns.kept)[0])
        raise ValueError(f"{name} has missing entries in column {first}: fill or remove them.")
    return matrix.in_memory().toarray()


def say_axis(container: Container, name: str) -> None:
    """Warn that the first column of M, an axis, is left out; refuse it in other arguments."""
    label = "" if container.column_name is None else container.column_name(0)
    said = f"The first column of {name}, {label!r}, is an axis and no sample"
    instead = f"pass {container.axis}, or {name}.to_numpy() to keep it."
    if name != "M":
        raise ValueError(f"{said}: {instead}")
    warnings.warn(f"{said}, and is left out: {instead}", UserWarning, stacklevel=level_outside())


def aligned(mask: Any, container: Container) -> Any:
    """Return a labelled mask with its dimensions in the order of the image's."""
    dims = getattr(mask, "dims", None)
    if dims is None or not container.dims or len(dims) != len(container.dims):
        return mask
    if set(dims) != set(container.dims):
        raise ValueError(
            f"mask has the dimensions {', '.join(map(str, dims))}, and the columns of M are along "
            f"{', '.join(map(str, container.dims))}: rename those of the mask."
        )
    return mask.transpose(*container.dims)


def as_mask(mask: Any, count: int, shape: tuple[int, ...], name: str, axis: str) -> Bools | None:
    """Return a mask as one bool per row or column; an image of them if the columns are its pixels."""
    if mask is None:
        return None
    refuse_masked(mask, name)
    array = array_of(mask, name)
    if array.dtype.kind not in "biuf" or array.size != count or array.shape not in ((count,), shape):
        image = "" if len(shape) < 2 else f" or an image of {' × '.join(map(str, shape))}"
        raise ValueError(
            f"{name} must have one number per {axis}, {count}{image}, nonzero for those that are used, got "
            f"shape {array.shape} and dtype {array.dtype}."
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{name} has NaN: use 0 for what is left out and 1 for what is used.")
    used: Bools = array.ravel().astype(bool)
    return used


def both(a: Bools | None, b: Bools) -> Bools:
    """Return where both masks are true; None is true everywhere."""
    return b if a is None else a & b


def kept_indices(used: Bools | None, name: str, axis: str) -> Ints | None:
    """Return the indices of what a mask keeps; None if that is everything."""
    if used is None or used.all():
        return None
    if not used.any():
        raise ValueError(f"The mask leaves no {axis} of {name}: nonzero entries mark what is used.")
    return np.flatnonzero(used)


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
