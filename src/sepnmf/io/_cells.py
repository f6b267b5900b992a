"""Reader of AnnData files, .h5ad: cells × genes, in memory or in blocks of cells."""

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf._typing import Ints
from sepnmf.io._data import Data
from sepnmf.io._guards import TEXT_SIZE, check_claim, check_size, needed, parsing, text_of
from sepnmf.io._hdf5 import check_dataset, check_tree, open_hdf5, read_dataset
from sepnmf.io._names import is_link
from sepnmf.io._variables import LISTED, Variable, check_real, data_of, list_variables, sparse_data_of
from sepnmf.matrix import CHUNK, LARGE, native

KIND = "an AnnData file"
GROUPS = ("layers", "obsm")  # where matrices are besides X and raw/X
ARRAYS = ("data", "indices", "indptr")
# Bytes of a stored entry while a block is worked on: as stored, by columns, and in float64.
ENTRY = 64


@dataclass(frozen=True)
class Element:
    """A matrix of a file, known before it is read.

    Attributes
    ----------
    file : Path
        The file; absolute, because workers of a cluster need that.
    path : str
        Its path inside the file, such as layers/counts.
    shape : tuple of two ints
        Numbers of cells and of genes.
    dtype : numpy dtype
        Type of the entries.
    layout : {"csr", "csc", "dense"}
        How it is stored.
    stored : int
        Number of entries that are stored.
    """

    file: Path
    path: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    layout: str
    stored: int

    @property
    def axis(self) -> int:
        """The axis along which blocks can be read."""
        return 1 if self.layout == "csc" else 0


def read_h5ad(file: Path, *, variable: str | None = None, large: int = LARGE, chunk: int = CHUNK) -> Data:
    """Read X, a layer or an entry of obsm; as a Dask array above `large` bytes of stored entries as float64.

    A large matrix is read in blocks of cells; of genes if it is stored by columns.
    """
    needed("h5py")
    needed("anndata")
    opened = ExitStack()
    with parsing(file, KIND):
        content = opened.enter_context(open_hdf5(file))
    with opened:
        path = path_of(content, variable, file)
        with parsing(file, KIND):
            element = describe(content, path, file)
        check_real(element.dtype, file)
        row_names = read_index(content, "obs", element.shape[0], file)
        var = "raw/var" if path.startswith("raw/") else "var"
        has_names = not path.startswith("obsm/")
        column_names = read_index(content, var, element.shape[1], file) if has_names else ()
        nbytes = element.stored * element.dtype.itemsize
        if 8 * element.stored > large:
            check_claim(nbytes, file)
            M = in_blocks(element, boundaries(content, element, chunk))
        else:
            check_size(nbytes + 8 * (element.stored if element.layout != "dense" else 0), file)
            M = read_whole(content, element, file)
    return Data(M=M, file=file, variable=path, row_names=row_names, column_names=column_names)


def path_of(content: Any, wanted: str | None, file: Path) -> str:
    """Return the path of the wanted matrix: X, raw/X, or the name of a layer or of an entry of obsm."""
    with parsing(file, KIND):
        known = matrices(content)
    spelled = {"raw": "raw/X"}.get(wanted or "X", wanted or "X")
    found = [path for path in known if path == spelled] or [
        p for p in known if p.partition("/")[2] == spelled
    ]
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        raise ValueError(f"{file.name} has several matrices {wanted!r}: write {' or '.join(found)}.")
    with parsing(file, KIND):
        described = [listed(content, path, file) for path in known[:LISTED]]
    missing = "X" if wanted is None else wanted
    raise ValueError(f"{file.name} {list_variables(described, missing)}.")


def matrices(content: Any) -> list[str]:
    """Return the paths of all matrices, but for links and null datasets (older files without X have one)."""
    groups = [group for group in GROUPS if not is_link(content, group) and hasattr(content[group], "keys")]
    paths = ["X", "raw/X", *(f"{group}/{name}" for group in groups for name in content[group])]
    return [path for path in paths if not is_link(content, path) and not is_null(content[path])]


def is_null(item: Any) -> bool:
    """Whether a dataset has no dataspace; a group has no shape at all."""
    return getattr(item, "shape", ()) is None


def listed(content: Any, path: str, file: Path) -> Variable:
    """Return the name, shape and type of a matrix for a message."""
    try:
        element = describe(content, path, file)
    except Exception:
        return Variable(path, (), "unreadable", is_real=False)
    return Variable(path, element.shape, str(element.dtype), is_real=True)


def describe(content: Any, path: str, file: Path) -> Element:
    """Return what is stored at a path; only sizes are read."""
    item = content[path]
    if hasattr(item, "dtype"):
        if len(item.shape or ()) != 2:
            raise ValueError(f"{path} has shape {item.shape}, not two dimensions")
        return Element(file.resolve(), path, item.shape, item.dtype, "dense", prod(item.shape))
    layout = str(item.attrs.get("encoding-type", item.attrs.get("h5sparse_format", "")))[:3]
    if layout not in ("csr", "csc"):
        kind = text_of(item.attrs.get("encoding-type", "group"))
        raise ValueError(f"{path} is of kind {kind[:40]!r}, not a matrix")
    for name in ARRAYS:
        if is_link(item, name) or len(getattr(item[name], "shape", None) or ()) != 1:
            raise ValueError(f"{path} has no array {name}")
    shape = np.ravel(item.attrs.get("shape", item.attrs.get("h5sparse_shape", ()))).tolist()
    if len(shape) != 2 or not all(isinstance(size, int) and size >= 0 for size in shape):
        raise ValueError(f"{path} has shape {shape}, not numbers of rows and columns")
    (rows, columns), stored = shape, item["data"].size
    if item["indices"].size != stored:
        raise ValueError(f"{path} has {stored} entries and {item['indices'].size} indices")
    if item["indptr"].size != (columns if layout == "csc" else rows) + 1:
        raise ValueError(f"{path} is {rows} × {columns} and has {item['indptr'].size} index pointers")
    if any(item[name].dtype.kind not in "iu" for name in ARRAYS[1:]):
        raise ValueError(f"{path} has indices that are not integers")
    return Element(file.resolve(), path, (rows, columns), item["data"].dtype, layout, stored)


def read_index(content: Any, frame: str, count: int, file: Path) -> tuple[str, ...]:
    """Return the index of a data frame; empty if the file has no such data frame."""
    with parsing(file, KIND):
        if is_link(content, frame):
            return ()
        check_claim(TEXT_SIZE * count, file)
        item = content[frame]
        if hasattr(item, "dtype"):  # written by anndata before 0.7
            check_dataset(item, file)
            first = (item.dtype.names or ("",))[0]
            names = [text_of(name) for name in item[first].tolist()] if first in ("index", "_index") else []
        else:
            key = text_of(item.attrs["_index"])
            if is_link(item, key):
                raise ValueError(f"{frame} has no index {key[:40]!r}")
            check_tree(item[key], file)
            names = [text_of(name) for name in np.asarray(read_element(item[key])).tolist()]
    if len(names) != count:
        raise ValueError(f"{file.name} is damaged: {frame} has {len(names):,} names for {count:,} entries.")
    return tuple(names)


def read_element(item: Any) -> Any:
    """Read a part of a file with anndata."""
    return needed("anndata.io").read_elem(item)


def read_whole(content: Any, element: Element, file: Path) -> Any:
    """Return the matrix in memory: a dense array, or a sparse one by columns."""
    with parsing(file, KIND):
        check_tree(content[element.path], file)
        array = read_element(content[element.path])
    if element.layout == "dense":
        return data_of(np.asarray(array), file).M
    return sparse_data_of(array, file).M


# In blocks


def boundaries(content: Any, element: Element, chunk: int) -> Ints:
    """Return the first row (column, if stored by columns) of each block, and the number of rows."""
    size = element.shape[element.axis]
    if element.layout == "dense":
        together = (content[element.path].chunks or (1,))[0]
        step = max(chunk // max(8 * element.shape[1], 1), 1)
        step = max(step // together, 1) * together if together * 8 * element.shape[1] <= 4 * chunk else step
        return np.unique(np.append(np.arange(0, size, step), size))
    with parsing(element.file, KIND):
        pointers = read_dataset(content[element.path]["indptr"], element.file).astype(np.int64)
        if pointers[0] != 0 or (pointers[1:] < pointers[:-1]).any() or pointers[-1] != element.stored:
            raise ValueError("the index pointers do not increase to the number of entries")
    starts = np.searchsorted(pointers, np.arange(0, element.stored, max(chunk // ENTRY, 1)), side="right") - 1
    return np.unique(np.concatenate([[0], starts, [size]]))


def in_blocks(element: Element, edges: Ints) -> Any:
    """Return a Dask array of the blocks between these edges."""
    from sepnmf.matrix._stored import dask_array

    sizes = tuple(np.diff(edges).tolist())
    other = (element.shape[1 - element.axis],)
    dtype = element.dtype.newbyteorder("=")
    kinds = {"csr": sparse.csr_array, "csc": sparse.csc_array}
    empty = kinds[element.layout]((0, 0), dtype=dtype) if element.layout in kinds else np.empty((0, 0), dtype)
    return dask_array().map_blocks(
        partial(read_block, element, edges),
        chunks=(other, sizes) if element.axis else (sizes, other),
        dtype=dtype,
        meta=empty,
    )


def read_block(element: Element, edges: Ints, block_id: tuple[int, int]) -> Any:
    """Read a block. The file is opened here, so that a task can run in any thread or process."""
    number = block_id[element.axis]
    start, stop = int(edges[number]), int(edges[number + 1])
    with parsing(element.file, KIND), open_hdf5(element.file) as content:
        item = content[element.path]
        if element.layout == "dense":
            return native(read_dataset(item, element.file, (slice(start, stop),)))
        return read_sparse_block(item, element, start, stop)


def read_sparse_block(item: Any, element: Element, start: int, stop: int) -> Any:
    """Read some rows of a matrix that is stored by rows, or columns of one that is stored by columns."""
    pointers: NDArray[np.int64] = read_dataset(item["indptr"], element.file, (slice(start, stop + 1),))
    pointers = pointers.astype(np.int64)
    part = (slice(int(pointers[0]), int(pointers[-1])),)
    values, indices = (read_dataset(item[name], element.file, part) for name in ("data", "indices"))
    across = element.shape[1 - element.axis]
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < across:
        raise ValueError(f"{element.path} has an index that is not below {across}")
    content = (native(values), indices, pointers - pointers[0])
    if element.layout == "csc":
        return sparse.csc_array(content, shape=(across, stop - start))
    return sparse.csr_array(content, shape=(stop - start, across))
