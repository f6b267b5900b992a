"""Hostile matrices, and the containers that people hold matrices in.

A matrix is drawn from a generator of random numbers; a container is a function of a matrix in memory. A
matrix that a kind of container cannot hold, such as float16 in a sparse matrix, stays an array.
"""

import io
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

# Matrices ---------------------------------------------------------------------------------------------


def mixtures(rng: np.random.Generator, m: int, n: int) -> Any:
    """Anchors and mixtures of them."""
    r = int(rng.integers(1, min(m, n) + 1))
    return rng.random((m, r)) @ np.hstack([np.eye(r), rng.dirichlet(np.ones(r), n).T])[:, :n]


def nearly_equal(rng: np.random.Generator, m: int, n: int) -> Any:
    """Columns that differ in their last digits."""
    return rng.random((m, 1)) * (1 + 10.0 ** -rng.integers(6, 17) * rng.random((m, n)))


def wide_columns(rng: np.random.Generator, m: int, n: int) -> Any:
    """Columns of very different lengths."""
    return rng.random((m, n)) * 10.0 ** (int(rng.choice([3, 9, 18, 150, 305])) * rng.uniform(-1, 1, n))


def wide_rows(rng: np.random.Generator, m: int, n: int) -> Any:
    """Rows of very different lengths."""
    return rng.random((m, n)) * 10.0 ** (int(rng.choice([3, 9, 18, 150, 305])) * rng.uniform(-1, 1, (m, 1)))


def collinear(rng: np.random.Generator, m: int, n: int) -> Any:
    """Multiples of few columns, the longest of them among the others."""
    return rng.random((m, 3))[:, rng.integers(0, 3, n)] * 2.0 ** rng.integers(-3, 4, n)


def in_a_plane(rng: np.random.Generator, m: int, n: int) -> Any:
    """Columns that sum to one, the vertices of a simplex and points on its edges."""
    pairs = rng.integers(0, m, (2, n))
    share = rng.choice([0.0, 0.25, 0.5, 1.0], n)
    return np.eye(m)[:, pairs[0]] * share + np.eye(m)[:, pairs[1]] * (1 - share)


def far_off(rng: np.random.Generator, m: int, n: int) -> Any:
    """Mixtures with a large constant added, and one column that is far from all others."""
    A = mixtures(rng, m, n) + 10.0 ** rng.integers(0, 10)
    A[:, rng.integers(0, n)] *= 10.0 ** rng.integers(0, 10)
    return A


KINDS: dict[str, Callable[[np.random.Generator, int, int], Any]] = {
    "uniform": lambda rng, m, n: rng.random((m, n)),
    "digits": lambda rng, m, n: rng.integers(0, 4, (m, n)).astype(float),
    "ones": lambda rng, m, n: np.ones((m, n)),
    "identity": lambda rng, m, n: np.eye(m, n)[:, rng.permutation(n)],
    "low rank": lambda rng, m, n: rng.random((m, 2)) @ rng.random((2, n)),
    "mostly zero": lambda rng, m, n: rng.random((m, n)) * (rng.random((m, n)) < 0.3),
    "one entry": lambda rng, m, n: (np.arange(m * n) == rng.integers(0, m * n)).reshape(m, n) * 1.0,
    "exponents": lambda rng, m, n: 10.0 ** rng.uniform(-9, 9, (m, n)),
    "all exponents": lambda rng, m, n: 10.0 ** rng.uniform(-323, 308, (m, n)),
    "triangle": lambda rng, m, n: np.tri(m, n) * rng.choice([1.0, -1.0, 0.5]),
    "mixtures": mixtures,
    "nearly equal": nearly_equal,
    "wide columns": wide_columns,
    "wide rows": wide_rows,
    "collinear": collinear,
    "in a plane": in_a_plane,
    "far off": far_off,
}
SCALES = (1e-300, 1e-160, 1e-120, 1e-9, 1e9, 1e120, 1e160, 1e300)
TYPES = (
    np.float32,
    np.float16,
    np.longdouble,
    np.int64,
    np.uint64,
    np.int8,
    np.uint16,
    np.bool_,
)
NOT_FINITE = (np.nan, np.inf, -np.inf)


def hostile_matrix(rng: np.random.Generator) -> Any:
    """Draw a matrix; most are small, so that everything meets everything."""
    largest = int(rng.choice([9, 60, 200], p=[0.945, 0.05, 0.005]))
    m, n = (1 if rng.random() < 0.05 else int(rng.integers(1, largest + 1)) for _ in range(2))
    n += int(rng.integers(0, 6))
    A = KINDS[str(rng.choice(list(KINDS)))](rng, m, n)
    if rng.random() < 0.25:
        A = A[:, rng.integers(0, n, n)]  # copies
    if rng.random() < 0.3:
        A[:, rng.random(n) < rng.choice([0.2, 0.7])] = 0.0
    if rng.random() < 0.15:
        A[rng.random(m) < 0.3] = 0.0
    if rng.random() < 0.15:
        A = A * np.where(rng.random((m, n)) < 0.3, -1.0, 1.0)
    A = in_another_range(rng, A)
    if A.dtype.kind == "f" and rng.random() < 0.03:
        A[rng.integers(0, m), rng.integers(0, n)] = rng.choice(NOT_FINITE)
    return np.ascontiguousarray(A)


def in_another_range(rng: np.random.Generator, A: Any) -> Any:
    """Scale a matrix, to the ends of the range of floating point or near them, or change its type."""
    change = rng.random()
    if change < 0.25:
        with np.errstate(over="ignore"):
            return np.clip(A * float(rng.choice(SCALES)), -1.7e308, 1.7e308)
    if change < 0.30:
        return A / (np.abs(A).max() or 1.0) * 1.7e308
    if change < 0.35:
        return np.round(A / (np.abs(A).max() or 1.0) * 5) * 5e-324
    if change < 0.60:
        return of_type(rng, A, np.dtype(rng.choice(TYPES)))
    return A


def of_type(rng: np.random.Generator, A: Any, kind: np.dtype[Any]) -> Any:
    """A matrix as numbers of another type, in some cases the largest and smallest that it has."""
    unit = A / (np.abs(A).max() or 1.0)
    if kind == np.longdouble:
        return unit.astype(kind) * np.longdouble(10) ** int(rng.choice([0, 0, 0, -4900, 4900, -315, 315]))
    if kind == np.float16:
        return (unit * float(rng.choice([1.0, 6e4, 1e-7]))).astype(kind)
    if kind == np.float32:
        if rng.random() < 0.3:
            A = unit * float(rng.choice([1e-44, 1e-38, 1e-20, 1e20, 3e38]))
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(A, -3e38, 3e38).astype(kind)
    digits = np.round(unit * 5)
    if kind.kind == "u":
        digits = np.abs(digits)
    typed = digits.astype(kind)
    if kind.itemsize == 8 and rng.random() < 0.3:  # beyond 2⁵³, where float64 has no odd integers
        return typed * kind.type(np.iinfo(kind).max // 5) + (typed != 0).astype(kind)
    return typed


# Containers -------------------------------------------------------------------------------------------


def unsorted_csr(A: Any) -> Any:
    """A sparse matrix with the entries of each row in descending order, and explicit zeros."""
    m, n = A.shape
    columns = np.tile(np.arange(n)[::-1], m)
    return sparse.csr_array((A[:, ::-1].ravel().copy(), columns, np.arange(0, m * n + 1, n)), shape=(m, n))


def halves(A: Any) -> tuple[Any, Any]:
    """Two matrices whose sum is A, without rounding."""
    half = np.floor_divide(A, 2) if A.dtype.kind in "iu" else A & False if A.dtype.kind == "b" else A * 0.5
    with np.errstate(invalid="ignore"):
        rest = A ^ half if A.dtype.kind == "b" else A - half
    return half, rest


def doubled_coo(A: Any) -> Any:
    """A sparse matrix with each entry in two parts."""
    half, rest = halves(A)
    rows, columns = np.divmod(np.arange(A.size), A.shape[1])
    places = np.tile(rows, 2), np.tile(columns, 2)
    return sparse.coo_array((np.concatenate([half.ravel(), rest.ravel()]), places), shape=A.shape)


def doubled_csc(A: Any) -> Any:
    """A sparse matrix by columns with each entry in two parts, the rows in descending order."""
    m, n = A.shape
    both = np.concatenate(halves(A)[::-1])[::-1]
    rows = np.tile(np.tile(np.arange(m), 2)[::-1], n)
    return sparse.csc_array((both.T.ravel().copy(), rows, np.arange(0, 2 * m * n + 1, 2 * m)), shape=(m, n))


def memmap(A: Any) -> Any:
    """A memory map of a file that is removed when it is no longer used."""
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=A.dtype, shape=A.shape)
        mapped[:] = A
        return mapped


def read_only(A: Any) -> Any:
    """An array that cannot be written to."""
    B = A.copy()
    B.flags.writeable = False
    return B


def strided(A: Any) -> Any:
    """Every third column, backwards, of every second row of a larger array."""
    m, n = A.shape
    larger = np.ones((2 * m, 3 * n), A.dtype)
    view = larger[::2, ::-3]
    view[:] = A
    return view


def unaligned(A: Any) -> Any:
    """An array whose numbers do not begin at multiples of their size."""
    B = np.zeros(A.nbytes + 1, np.uint8)[1:].view(A.dtype).reshape(A.shape)
    B[:] = A
    return B


def dask_array(A: Any) -> Any:
    import dask.array as da

    return da.from_array(A, chunks=(max(A.shape[0] // 2, 1), max(A.shape[1] // 3, 1)))


def dask_sparse(A: Any) -> Any:
    """Chunks that are sparse."""
    return dask_array(A).map_blocks(sparse.csc_matrix)


def zarr_array(A: Any) -> Any:
    import zarr

    chunks = max(A.shape[0] // 2, 1), max(A.shape[1] // 3, 1)
    return zarr.create_array({}, data=A, chunks=chunks)


def hdf5(A: Any) -> Any:
    """A data set in an HDF5 file in memory."""
    import h5py

    return h5py.File(io.BytesIO(), "w").create_dataset("A", data=A)


def masked(A: Any) -> Any:
    """A masked array; what is masked depends on its shape, and is the largest number where that fits."""
    mask = np.zeros(A.shape, bool)
    mask[:, 1 : A.shape[1] // 3] = A.shape[0] % 2 == 0
    data = A.copy()
    data[mask] = np.finfo(A.dtype).max if A.dtype.kind == "f" else 1
    return np.ma.MaskedArray(data, mask)


def frame(A: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(A, columns=[f"c{j}" for j in range(A.shape[1])])


def frame_of_one_name(A: Any) -> Any:
    """A frame whose columns all have the same name, and whose rows have none."""
    import pandas as pd

    return pd.DataFrame(A, columns=["c"] * A.shape[1], index=[None] * A.shape[0])


def nullable_frame(A: Any) -> Any:
    """A frame of types that have a value for missing entries."""
    return frame(A).convert_dtypes()


def frame_with_missing(A: Any) -> Any:
    """A frame whose first column has a missing entry."""
    found = frame(A).astype("Float64")
    found.iloc[0, 0] = None
    return found


def sparse_frame(A: Any) -> Any:
    import pandas as pd

    return pd.DataFrame.sparse.from_spmatrix(sparse.csc_matrix(A))


def polars_frame(A: Any) -> Any:
    import polars as pl

    return pl.DataFrame({f"c{j}": A[:, j] for j in range(A.shape[1])})


def annotated(A: Any) -> Any:
    import anndata

    return anndata.AnnData(sparse.csr_matrix(A))


def labelled(A: Any) -> Any:
    import xarray as xr

    return xr.DataArray(A, dims=("row", "column"))


def image(A: Any) -> Any:
    """An image with one line, its bands last."""
    import xarray as xr

    return xr.DataArray(A.T[None], dims=("y", "x", "band"))


def labelled_with_missing(A: Any) -> Any:
    """An array whose attribute says which number marks missing entries: one that it has, perhaps."""
    import xarray as xr

    return xr.DataArray(A, dims=("row", "column"), attrs={"_FillValue": A[0, 0]})


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "C": np.array,
    "F": np.asfortranarray,
    "list": lambda A: A.tolist(),
    "tuples": lambda A: tuple(map(tuple, A.tolist())),
    "rows": list,
    "matrix": np.matrix,
    "object": lambda A: A.astype(object),
    "read only": read_only,
    "strided": strided,
    "unaligned": unaligned,
    "big endian": lambda A: A.astype(A.dtype.newbyteorder(">")),
    "memmap": memmap,
    "masked": masked,
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "bsr": sparse.bsr_array,
    "dia": sparse.dia_array,
    "lil": sparse.lil_matrix,
    "dok": sparse.dok_array,
    "unsorted csr": unsorted_csr,
    "doubled coo": doubled_coo,
    "doubled csc": doubled_csc,
    "dask": dask_array,
    "dask sparse": dask_sparse,
    "zarr": zarr_array,
    "hdf5": hdf5,
    "frame": frame,
    "frame of one name": frame_of_one_name,
    "nullable frame": nullable_frame,
    "frame with missing": frame_with_missing,
    "sparse frame": sparse_frame,
    "polars": polars_frame,
    "annotated": annotated,
    "xarray": labelled,
    "image": image,
    "labelled with missing": labelled_with_missing,
}
# Containers whose numbers are those of the matrix, in memory and of the same type.
SAME_NUMBERS = (
    "F",
    "rows",
    "matrix",
    "read only",
    "strided",
    "unaligned",
    "big endian",
    "memmap",
    "csr",
    "csc",
    "coo",
    "bsr",
    "dia",
    "lil",
    "dok",
    "unsorted csr",
    "doubled coo",
    "doubled csc",
    "frame",
    "frame of one name",
    "xarray",
    "image",
)


def held(A: Any, container: str) -> Any:
    """Return a matrix in a container; as an array if there is none of this kind for its numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CONTAINERS[container](A)
    except (TypeError, ValueError, KeyError, NotImplementedError, OverflowError):
        return np.array(A)


def contents(M: Any) -> list[bytes]:
    """Everything that a call must not change, as bytes."""
    if sparse.issparse(M):
        if M.format in ("lil", "dok"):
            M = M.tocoo()
        if M.format == "dia":
            parts = [M.data, M.offsets]
        else:
            parts = [M.data, *(M.coords if M.format == "coo" else (M.indices, M.indptr))]
    elif isinstance(M, np.ma.MaskedArray):
        parts = [M.data, np.ma.getmaskarray(M)]
    elif type(M).__name__ == "AnnData":
        return contents(M.X)
    elif isinstance(M, list | tuple) or getattr(M, "dtype", None) is np.dtype(object):
        return [repr(M).encode()]
    elif hasattr(M, "dask"):
        M = M.compute()
        parts = [np.asarray(M)] if not sparse.issparse(M) else [M.data, M.indices, M.indptr]
    else:
        parts = [np.asarray(M)]
    return [as_bytes(part) for part in parts]


def as_bytes(array: Any) -> bytes:
    """The numbers of an array; those of the longest floating-point type have bytes that mean nothing."""
    return (
        repr(array.tolist()).encode()
        if array.dtype.itemsize > 8 or array.dtype == object
        else array.tobytes()
    )
