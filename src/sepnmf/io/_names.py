"""Names of rows and columns from another file, or from another variable of the same file."""

import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._arrays import read_member
from sepnmf.io._data import Data
from sepnmf.io._dialect import DELIMITERS, dialect_of, encoding_of
from sepnmf.io._guards import check_regular, check_size, needed, parsing, text_of
from sepnmf.io._hdf5 import open_hdf5, read_dataset
from sepnmf.matrix._axis_column import wavelengths_in

HDF5 = (".h5ad", ".h5", ".hdf5", ".he5", ".hdf", ".nc", ".nc4", ".mat")

Source = str | os.PathLike[str]


def read_names(file: str | Path) -> tuple[str, ...]:
    """Read names, such as a vocabulary, from a text file with one name per line.

    Parameters
    ----------
    file : path
        Path of the file, in UTF-8, in UTF-16 with a byte order mark, or in Windows-1252.

    Returns
    -------
    tuple of str

    Raises
    ------
    ValueError
        If the file is empty, has an empty line before its end, or is not text.
    OSError
        If it cannot be opened.
    """
    path = Path(file)
    check_regular(path)
    text = path.read_text(encoding=encoding_of(path))
    names = tuple(line.strip() for line in text.rstrip().split("\n"))
    if names == ("",):
        raise ValueError(f"{path.name} is empty: expected one name per line.")
    if "" in names:
        raise ValueError(f"{path.name} has no name in line {names.index('') + 1}: expected one per line.")
    return names


def resolve_names(wanted: str | Path, file: Path, count: int) -> tuple[str, ...]:
    """Return `count` names from a text file, the first column of a table, or a variable of `file`.

    A table may have one line more, its header. A variable of .npz, HDF5, NetCDF and .h5ad files is an array
    of text or numbers; var/symbol is the variable symbol of the group var.
    """
    path = Path(wanted)
    if path.is_file():
        names = first_cells(path, count) if path.suffix.lower() in DELIMITERS else read_names(path)
        source = path.name
    else:
        names = variable_names(str(wanted), file)
        source = f"The variable {str(wanted)!r} of {file.name}"
    if len(names) != count:
        raise ValueError(f"{source} has {len(names):,} names, but {file.name} needs {count:,}.")
    return names


def with_names(data: Data, names: Source | None, row_names: Source | None) -> Data:
    """Return the data with other names of the columns, of the rows, or of both.

    Names of rows that end with wavelengths, such as "450.2 nm", give these if the file has no others.
    """
    rows, columns = data.M.shape
    if names is not None:
        data = replace(data, column_names=resolve_names(Path(names), data.file, columns))
    if row_names is not None:
        data = replace(data, row_names=resolve_names(Path(row_names), data.file, rows))
    if data.row_names and not data.wavelengths:
        values, unit = wavelengths_in(data.row_names)
        data = replace(data, wavelengths=values, wavelength_unit=unit or data.wavelength_unit)
    return data


def first_cells(file: Path, count: int) -> tuple[str, ...]:
    """Return the first cell of each line; without the first line if that leaves `count`."""
    names = tuple(cells[0] for _, cells in dialect_of(file).rows(file))
    return names[1:] if len(names) == count + 1 else names


def variable_names(wanted: str, file: Path) -> tuple[str, ...]:
    """Return a variable of a file as names."""
    suffix = file.suffix.lower()
    found = None
    if suffix == ".npz":
        found = member(wanted, file)
    elif suffix in HDF5:
        found = dataset(wanted, file)
    if found is None:
        raise ValueError(
            f"There is no file {wanted}, and {file.name} has no such variable of text or numbers: give a "
            "text file with one name per line."
        )
    return tuple(map(text_of, found.ravel().tolist()))


def member(wanted: str, file: Path) -> NDArray[Any] | None:
    """Return an array of a .npz archive; None if there is no such array of text or numbers."""
    with parsing(file, "a NumPy archive"), zipfile.ZipFile(file) as archive:
        if f"{wanted}.npy" not in archive.namelist():
            return None
        array = read_member(archive, archive.getinfo(f"{wanted}.npy"), file)
    return array if array.ndim == 1 and array.dtype.kind in "USiuf" else None


def dataset(wanted: str, file: Path) -> NDArray[Any] | None:
    """Return a dataset of an HDF5 file, or a category of anndata; None if it is not a list of names."""
    h5py = needed("h5py")
    with parsing(file, "an HDF5 file"):
        if not h5py.is_hdf5(file):
            return None
        with open_hdf5(file) as content:
            item: Any = content.get(wanted) if not is_link(content, wanted) else None
            if not has_parts(item, "codes", "categories"):
                return words_of(item, file)
            codes, words = one_dimension(item["codes"], file), words_of(item["categories"], file)
            if codes is None or words is None or codes.dtype.kind not in "iu":
                return None
            return np.asarray(np.append(words.astype(object), "")[codes])


def words_of(item: Any, file: Path) -> NDArray[Any] | None:
    """Return a dataset with one dimension, or text as anndata 0.13 writes it: a missing word is empty."""
    if not has_parts(item, "values", "mask"):
        return one_dimension(item, file)
    words, missing = one_dimension(item["values"], file), item["mask"]
    if words is None or getattr(missing, "shape", None) != words.shape or missing.dtype.kind != "b":
        return None
    return np.where(read_dataset(missing, file), "", words.astype(object))


def has_parts(item: Any, *names: str) -> bool:
    """Whether an object of HDF5 is a group with these names, none of which is a link."""
    return isinstance(item, needed("h5py").Group) and not any(is_link(item, name) for name in names)


def is_link(content: Any, path: str) -> bool:
    """Return whether a part of a path is missing or a link, which may lead into another file."""
    hard = needed("h5py").HardLink
    parts = path.strip("/").split("/")
    places = ["/".join(parts[: k + 1]) for k in range(len(parts))]
    return any(not isinstance(content.get(place, getlink=True, default=None), hard) for place in places)


def one_dimension(item: Any, file: Path) -> NDArray[Any] | None:
    """Return a dataset of text or numbers with one dimension; None if it is something else."""
    shape, dtype = getattr(item, "shape", None), getattr(item, "dtype", None)
    if shape is None or len(shape) != 1 or dtype is None:
        return None
    if dtype.kind not in "SUiuf" and needed("h5py").check_string_dtype(dtype) is None:
        return None
    check_size(8 * shape[0] + shape[0] * dtype.itemsize, file)
    return read_dataset(item, file)
