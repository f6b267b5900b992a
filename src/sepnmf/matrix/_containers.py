"""What a container holds besides its numbers: names, missing entries, dimensions.

Containers are told apart by the package that defines their class, so that no package is imported for it.
To add a container, write a function from it to a `Container`, and add it to `READERS`.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_
from os import PathLike
from typing import Any

import numpy as np

from sepnmf._typing import Bools, Ints
from sepnmf._validation import OF_ARRAYS, Remedy
from sepnmf.matrix._axis_column import names_rows
from sepnmf.matrix._backed import in_blocks, is_backed_sparse
from sepnmf.matrix._lazy import flattened, is_lazy

Names = Callable[[int], str]

# Names of dimensions, in lower case, that have the rows of an image; the other dimensions have its pixels.
SPECTRAL = {
    "band", "bands", "nbands", "spectral", "spectrum", "spectral_band", "spectral_bands", "wavelength",
    "wavelengths", "wavelen", "wl", "lambda", "wavenumber", "wavenumbers", "channel", "channels",
    "energy", "frequency", "raman_shift",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Container:
    """A matrix as the caller holds it.

    Attributes
    ----------
    array : array_like, sparse or lazy, of shape (m, n)
        The numbers.
    row_name, column_name : callable or None
        Return the name of a row or a column.
    complete : callable or None
        Returns whether each row (0) or column (1) has no missing entry, of all or of some indices along the
        other axis; None if no entry is marked as missing.
    shape : tuple of int
        Shape of the columns: (n,), or that of an image.
    dims : tuple
        Names of the dimensions of the columns; empty if they have none.
    spectral : bool
        Whether rows are known to be spectral, so that columns are samples and rows are features.
    take : callable or None
        Returns columns in a container of the same kind; None: indexing the array does.
    wrap : callable or None
        Turns weights, one column for each column, into a container of the same kind; None: they are an array.
    remedy : Remedy
        How columns with entries that are refused are left out.
    axis : str
        If the first column is an axis, such as wavelengths, what to pass instead; empty if it is none.
    """

    array: Any
    row_name: Names | None = None
    column_name: Names | None = None
    complete: Callable[[int, Ints | None], Bools] | None = None
    shape: tuple[int, ...] = ()
    dims: tuple[Any, ...] = ()
    spectral: bool = False
    take: Callable[[Ints], Any] | None = None
    wrap: Callable[[Any], Any] | None = None
    remedy: Remedy = OF_ARRAYS
    axis: str = ""


def container_of(M: Any, name: str = "M") -> Container:
    """Return what M holds; an array, a sparse or a lazy one is its own container."""
    if isinstance(M, Container):
        return M
    if isinstance(M, str | bytes | PathLike):
        call = f"sepnmf.io.read({os.fsdecode(M)[:60]!r})"
        wanted = "M" if name == "X" else "matrix()"  # estimators take arrays
        raise ValueError(f"{name} is the name of a file: read it first, with {call}.{wanted}.")
    for kind in type(M).__mro__:
        reader = READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if reader is not None:
            return reader(M, name)
    if isinstance(M, np.ma.MaskedArray):
        return from_masked_array(M)
    if not hasattr(M, "__array__") and hasattr(M, "__dlpack__"):
        return Container(from_dlpack(M, name))
    return Container(M)


def labelled(X: Any) -> Container | None:
    """Return what X holds if scikit-learn does not know its kind: a labelled or masked array, AnnData."""
    if type(X).__module__.partition(".")[0] in ("pandas", "polars"):
        return None
    container = container_of(X, "X")
    return None if container.take is None else container


def take_columns(M: Any, columns: Ints) -> Any:
    """Return columns of M in a container of the same kind."""
    container = container_of(M)
    if container.take is not None:
        return container.take(columns)
    array = container.array
    return (array if hasattr(array, "ndim") else np.asarray(array))[:, columns]


def from_dlpack(M: Any, name: str) -> Any:
    """Return an array that shares memory with one of another library."""
    try:
        return np.from_dlpack(M)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{name} cannot be read as an array in memory: {reason}.") from error


def from_masked_array(M: Any) -> Container:
    """Masked entries are missing; a column with one is left out."""
    missing = np.ma.getmaskarray(M)
    return Container(
        M.filled(0) if missing.any() else M.data,
        complete=lambda axis, others: np.asarray(~along(missing, 1 - axis, others).any(axis=1 - axis)),
        take=lambda columns: M[:, columns],
    )


def along(array: Any, axis: int, indices: Ints | None) -> Any:
    """Return the entries of an array at some indices along an axis, or all."""
    return array if indices is None else array[indices] if axis == 0 else array[:, indices]


# Tables ------------------------------------------------------------------------------------------------


def from_pandas(M: Any, name: str) -> Container:
    """The columns of a data frame have names; its index names the rows."""
    check_columns(M, name)
    if len(M.columns) and all(getattr(dtype, "fill_value", None) == 0 for dtype in M.dtypes):
        array = M.sparse.to_coo()
    elif any(isinstance(dtype, np.dtype) for dtype in M.dtypes):
        array = M.to_numpy()
    else:  # types of pandas that have a value for missing entries
        array = M.to_numpy(dtype=np.float64, na_value=np.nan)
    array = array if array.dtype != object else M.to_numpy(dtype=np.float64, na_value=np.nan)
    return Container(
        array,
        row_name=lambda i: label_text(M.index[i]),
        column_name=lambda j: label_text(M.columns[j]),
        take=lambda columns: M.iloc[:, columns],
        axis=f"{name}.set_index({M.columns[0]!r})" if has_axis(M, array) else "",
    )


def from_polars(M: Any, name: str) -> Container:
    """The columns of a data frame have names."""
    check_columns(M, name)
    wide = any(str(dtype).endswith("128") for dtype in M.dtypes)  # NumPy has no such integers
    array = None if wide else M.to_numpy()
    if array is None or array.dtype == object:  # missing truth values, and decimals
        import polars

        array = M.cast(polars.Float64).to_numpy()
    return Container(
        array,
        column_name=lambda j: str(M.columns[j]),
        take=lambda columns: M[:, [int(j) for j in columns]],
        axis=f"{name}.drop({M.columns[0]!r})" if has_axis(M, array) else "",
        remedy=Remedy("mask=np.isfinite(M.to_numpy()).all(axis=0)", "mask=(M.to_numpy() != {}).all(axis=0)"),
    )


def has_axis(M: Any, array: Any) -> bool:
    """Return whether the first column of a frame is an axis, such as wavelengths, and no sample."""
    return len(M.columns) > 1 and names_rows(label_text(M.columns[0]), array)


def check_columns(M: Any, name: str) -> None:
    """Refuse a frame with a column that does not hold real numbers; of anything else, do nothing."""
    package = type(M).__module__.partition(".")[0]
    if package not in ("pandas", "polars") or not hasattr(M, "columns"):
        return
    for label, dtype in zip(M.columns, M.dtypes, strict=True):
        if package == "pandas":
            is_real = getattr(dtype, "kind", "O") in "fiub"
        else:
            is_real = dtype.is_numeric() or str(dtype) == "Boolean"
        if not is_real:
            raise ValueError(
                f"{name} has a column {label_text(label)!r} of type {dtype}, not real numbers: drop or "
                "convert it."
            )


def from_lazy_frame(M: Any, name: str) -> Container:
    """A query of polars has no entries yet."""
    raise ValueError(f"{name} is a lazy frame: pass {name}.collect().")


def label_text(label: Any) -> str:
    """Return a label as text; the parts of one that has several are separated by commas."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def from_anndata(M: Any, name: str) -> Container:
    """The columns of annotated data are its variables, such as genes; the rows are its observations."""
    if M.X is None:
        raise ValueError(f"{name} has no X: pass one of its layers, such as {name}.layers['counts'].")
    return Container(
        entries_of(M),
        row_name=lambda i: str(M.obs_names[i]),
        column_name=lambda j: str(M.var_names[j]),
        take=lambda columns: M[:, columns],
        remedy=Remedy("mask=np.isfinite(np.ravel(M.X.sum(axis=0)))", ""),
    )


def entries_of(M: Any) -> Any:
    """Return X of annotated data; of a file that has been opened, and of a view of it, in blocks."""
    if not M.isbacked:
        return M.X
    whole = M._adata_ref if M.is_view else M
    if not is_backed_sparse(whole.X):
        return M.X
    blocks = in_blocks(whole.X)
    if M.is_view:
        rows, columns = np.arange(whole.shape[0])[M._oidx], np.arange(whole.shape[1])[M._vidx]
        blocks = blocks[rows][:, columns]
    return blocks


def from_backed_sparse(M: Any, name: str) -> Container:
    """A sparse matrix in a file, as annotated data have them."""
    return Container(in_blocks(M), take=lambda columns: M[:, columns])


# Labelled arrays ---------------------------------------------------------------------------------------


def from_dataset(M: Any, name: str) -> Container:
    """A data set of xarray has several variables."""
    variables = [str(key) for key, variable in M.data_vars.items() if variable.ndim >= 2]
    such = f", such as {name}[{variables[0]!r}]" if variables else ""
    raise ValueError(f"{name} is a Dataset: pass one of its variables{such}.")


def from_xarray(M: Any, name: str) -> Container:
    """The spectral dimension has the rows; the first one if there are two, and neither has a known name.

    The other dimensions are those of an image, whose pixels are the columns in the order of these dimensions.
    Entries equal to the attribute `_FillValue` are missing, and so is NaN if xarray has put it in the place
    of such entries. An array that is not in memory stays lazy.
    """
    if M.ndim < 2:
        raise ValueError(f"{name} must have 2 dimension(s), got shape {M.shape}.")
    if M.size == 0:
        raise ValueError(f"{name} is empty: its shape is {M.shape}.")
    if len(set(M.dims)) < M.ndim:
        raise ValueError(f"{name} has two dimensions of one name, {', '.join(map(str, M.dims))}: rename one.")
    known = [dim for dim in M.dims if str(dim).lower() in SPECTRAL]
    rows = M.dims[0] if M.ndim == 2 and len(known) != 1 else spectral_dimension(M, name)
    columns = tuple(dim for dim in M.dims if dim != rows)
    ordered = M.transpose(rows, *columns)
    shape = tuple(int(size) for size in ordered.shape[1:])
    array = flat_columns(ordered)
    missing = missing_values(M, name)
    label = "anchor" if "anchor" not in M.dims else "anchor_"

    def complete(axis: int, others: Ints | None) -> Bools:
        entries = along(array, 1 - axis, others)
        used: Bools = np.asarray(reduce(and_, [has_data(entries, value, 1 - axis) for value in missing]))
        return used

    def column_name(j: int) -> str:
        place = np.unravel_index(j, shape)
        return ", ".join(
            f"{dim}={coordinate(M, dim, int(i))}" if len(columns) > 1 else coordinate(M, dim, int(i))
            for dim, i in zip(columns, place, strict=True)
        )

    def take(indices: Ints) -> Any:
        import xarray

        places = np.unravel_index(np.asarray(indices), shape)
        wanted = {
            dim: xarray.DataArray(place, dims=label) for dim, place in zip(columns, places, strict=True)
        }
        return M.isel(wanted).transpose(rows, label)

    def wrap(H: Any) -> Any:
        import xarray

        fitting = {
            key: value for key, value in M.coords.items() if set(value.dims) <= set(columns) and key != label
        }
        return xarray.DataArray(
            H.reshape((H.shape[0], *shape)), dims=(label, *columns), coords=fitting, name="weights"
        )

    return Container(
        array,
        row_name=lambda i: coordinate(M, rows, i),
        column_name=column_name,
        complete=complete if missing else None,
        shape=shape,
        dims=columns,
        spectral=bool(known),
        take=take,
        wrap=wrap,
        remedy=Remedy(f"mask=np.isfinite(M).all({rows!r})", f"mask=(M != {{}}).all({rows!r})"),
    )


def has_data(entries: Any, missing: float, axis: int) -> Any:
    """Return whether no entry along an axis is missing; 0 is a measurement too, unless all are 0."""
    if missing == 0:
        return (entries != 0).any(axis=axis)
    present = ~np.isnan(entries) if np.isnan(missing) else entries != entries.dtype.type(missing)
    return present.all(axis=axis)


def spectral_dimension(M: Any, name: str) -> Any:
    """Return the dimension that has the rows of an array with more than two."""
    found = [dim for dim in M.dims if str(dim).lower() in SPECTRAL]
    if len(found) != 1:
        raise ValueError(
            f"{name} has the dimensions {', '.join(map(str, M.dims))}, of which "
            f"{'none is' if not found else 'several are'} known as spectral: rename one to 'band' with "
            f"{name}.rename, or pass a matrix."
        )
    return found[0]


def coordinate(M: Any, dim: Any, i: int) -> str:
    """Return the coordinate at a place along a dimension, or the place itself if there is none."""
    return label_text(M.coords[dim].values[i]) if dim in M.coords else str(i)


def flat_columns(ordered: Any) -> Any:
    """Return a labelled array of rows × image as an array of rows × pixels; lazy if it is not in memory."""
    variable = ordered.variable
    if not variable._in_memory and ordered.chunks is None:  # in a file that has been opened
        ordered = ordered.chunk(dict.fromkeys(ordered.dims, "auto"))
    data = ordered.data
    return flattened(data) if is_lazy(data) else data.reshape(data.shape[0], -1)


def missing_values(M: Any, name: str) -> list[Any]:
    """Return the numbers that mark missing entries of a labelled array, of those that its type can hold."""
    declared = [M.attrs[key] for key in ("_FillValue", "missing_value") if M.attrs.get(key) is not None]
    if not declared:
        masked = any(M.encoding.get(key) is not None for key in ("_FillValue", "missing_value"))
        return [np.nan] if masked and M.dtype.kind == "f" else []
    exact_type = np.result_type(np.float64, M.dtype) if M.dtype.kind == "f" else np.float64
    try:
        with np.errstate(over="ignore"):
            values = np.concatenate([np.ravel(np.asarray(value, dtype=exact_type)) for value in declared])
    except (OverflowError, TypeError, ValueError):
        raise ValueError(
            f"{name} has the fill value {str(declared[0])[:40]!r}, which is not a number in float64: correct "
            f"it in {name}.attrs."
        ) from None
    if M.dtype.kind == "f":
        with np.errstate(over="ignore"):
            fits = np.isfinite(values.astype(M.dtype)) == np.isfinite(values)
        return list(values[fits].tolist())
    if M.dtype.kind not in "iu":
        return []
    limits = np.iinfo(M.dtype)
    # As integers: float64 would round those beyond 2⁵³, among them the usual fill values of 64 bits.
    exact = (item for value in declared for item in np.ravel(np.asarray(value)).tolist())
    numbers = [item if isinstance(item, int) else float(item) for item in exact]
    whole = [int(number) for number in numbers if isinstance(number, int) or number.is_integer()]
    return [item for item in whole if limits.min <= item <= limits.max]


READERS: dict[tuple[str, str], Callable[[Any, str], Container]] = {
    ("pandas", "DataFrame"): from_pandas,
    ("polars", "DataFrame"): from_polars,
    ("polars", "LazyFrame"): from_lazy_frame,
    ("anndata", "AnnData"): from_anndata,
    ("anndata", "CSRDataset"): from_backed_sparse,
    ("anndata", "CSCDataset"): from_backed_sparse,
    ("xarray", "DataArray"): from_xarray,
    ("xarray", "Dataset"): from_dataset,
}
