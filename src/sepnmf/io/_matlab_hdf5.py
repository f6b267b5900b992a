"""MATLAB's files of version 7.3: HDF5 with all axes reversed."""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, needed, parsing
from sepnmf.io._matlab_classes import KIND, NUMERIC, says_size, with_image
from sepnmf.io._variables import Variable, choose, data_of, sparse_data_of


def read_hdf5(file: Path, wanted: str | None) -> Data:
    """A variable of a file of version 7.3."""
    h5py = needed("h5py")
    with parsing(file, KIND):
        content = h5py.File(file, "r")
    with content:
        with parsing(file, KIND):
            described = [describe(name, content[name]) for name in own_names(content)]
        chosen = choose(described, wanted, file)
        sizes = {v.name.lower(): read_dataset(content[v.name], file) for v in described if says_size(v)}
        item = content[chosen.name]
        if isinstance(item, h5py.Group):
            data = sparse_data_of(read_sparse_group(item, file), file, chosen.name)
        else:
            data = data_of(read_dataset(item, file), file, chosen.name)
    return with_image(data, sizes)


def own_names(content: Any) -> list[str]:
    """Names of the variables; links to elsewhere, and MATLAB's own groups, are left alone."""
    hard = needed("h5py").HardLink
    return [n for n in content if not n.startswith("#") and isinstance(content.get(n, getlink=True), hard)]


def describe(name: str, item: Any) -> Variable:
    """What the file says about a variable, with the axes as in MATLAB."""
    label = item.attrs.get("MATLAB_class", b"")
    kind = label.decode("utf-8", "replace") if isinstance(label, bytes) else str(label)
    if "MATLAB_sparse" in item.attrs:
        starts = item["jc"] if "jc" in own_names(item) else None
        shape = int(item.attrs["MATLAB_sparse"]), 0 if starts is None else starts.size - 1
        return Variable(name, shape, "sparse", is_real=kind in NUMERIC)
    if not hasattr(item, "dtype"):
        return Variable(name, (), kind or "group", is_real=False)
    if "MATLAB_empty" in item.attrs:
        return Variable(name, (0, 0), kind, is_real=False)
    if item.dtype.names == ("real", "imag"):
        kind = f"complex {kind}"
    is_real = item.dtype.kind in "fiub" and (not kind or kind in NUMERIC)
    return Variable(name, tuple((item.shape or ())[::-1]), kind or str(item.dtype), is_real)


def read_dataset(dataset: Any, file: Path) -> NDArray[Any]:
    """A dataset with its axes reversed, if it is in this file and fits."""
    with parsing(file, KIND):
        if dataset.external or dataset.is_virtual:
            raise ValueError(f"{dataset.name!r} is kept in another file, save it in one")
        entries = max(dataset.size, prod(dataset.chunks or ()))
    check_size(entries * dataset.dtype.itemsize, file)
    with parsing(file, KIND):
        array: NDArray[Any] = dataset[()].T
    return array


def read_sparse_group(group: Any, file: Path) -> Any:
    """A sparse matrix from its entries, their rows and the starts of its columns; no entries, no datasets."""
    names = own_names(group)
    data, rows, starts = (
        read_dataset(group[name], file) if name in names else np.zeros(0) for name in ("data", "ir", "jc")
    )
    with parsing(file, KIND):
        shape = int(group.attrs["MATLAB_sparse"]), starts.size - 1
        return sparse.csc_array((data, rows.astype(np.int64), starts.astype(np.int64)), shape=shape)
