"""Readers and writers of files: npy, npz, csv, tsv, txt, parquet, mat, ENVI, mtx, zarr and h5ad.

To add a format, write a reader in a file of its own and add it to `READERS`. The keyword arguments of a
reader are the options of `read` that it accepts; `large` and `chunk` stand for `in_parts` and `memory`.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from sepnmf._validation import check_count
from sepnmf.io._arrays import read_npy, read_npz
from sepnmf.io._cells import read_h5ad
from sepnmf.io._cubes import read_maps, write_cube
from sepnmf.io._data import Data
from sepnmf.io._envi import header_beside, read_envi
from sepnmf.io._market import read_mtx
from sepnmf.io._matlab import read_mat
from sepnmf.io._memory import limits
from sepnmf.io._names import read_names
from sepnmf.io._tables import read_parquet, read_table
from sepnmf.io._zarrs import is_zarr, read_zarr

__all__ = ["READERS", "Data", "read", "read_maps", "read_names", "write_cube"]

READERS: dict[str, Callable[..., Data]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_table,
    ".tsv": read_table,
    ".txt": read_table,
    ".dat": read_table,
    ".asc": read_table,
    ".parquet": read_parquet,
    ".mat": read_mat,
    ".hdr": read_envi,
    ".mtx": read_mtx,
    ".zarr": read_zarr,
    ".h5ad": read_h5ad,
}


def read(
    file: str | os.PathLike[str],
    *,
    variable: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    decimal: Literal[".", ","] | None = None,
    shape: tuple[int, int] | None = None,
    in_parts: bool = False,
    memory: int | str | None = None,
) -> Data:
    r"""Read a matrix from a file, or an image, whose pixels become the columns of a matrix.

    The format is determined by the file name extension: .npy, .npz (arrays or a SciPy sparse matrix), .csv,
    .tsv, .txt, .dat or .asc (plain text), .parquet, .mat (version 5 or 7.3), .hdr (ENVI; the path of the
    data file is accepted too), .mtx, .h5ad (AnnData: cells × genes), or .zarr, a folder with a Zarr array.
    (An image in Zarr is read fastest if its chunks contain whole lines.) An array of two dimensions is a
    matrix. An array of three dimensions is an image of lines × samples × bands, which becomes a matrix of
    bands × pixels. Numbers keep their type and are not checked. ENVI, .npy, .zarr and .h5ad files of more
    than 500 MB as float64 become Dask arrays. Nothing is unpickled.

    Parameters
    ----------
    file : path
        Path of the file.
    variable : str, optional
        Name of the variable of a .npz or .mat file; by default the only matrix. Of a .h5ad file, raw, a layer
        or an entry of obsm; by default X.
    header, index : bool, optional
        Whether the first line and the first column of a .csv, .tsv or text file contain names; by default,
        this is detected from whether they are numbers.
    decimal : {".", ","}, optional
        Decimal separator of a .csv, .tsv or text file; by default, this is detected, as is what separates
        cells: commas, semicolons or tabs, in text files also spaces.
    shape : tuple of two ints, optional
        Numbers of lines and samples, if the columns of a matrix are the pixels of an image in column-major
        order, as in MATLAB.
    in_parts : bool, default False
        Whether ENVI, .npy, .zarr and .h5ad files of any size become Dask arrays, for use on a cluster.
    memory : int or str, optional
        Memory limit per machine for work on ENVI, .npy, .zarr or .h5ad files, in bytes or as text such as
        "2GB". Data that exceed a quarter of it as float64 become Dask arrays, with chunks that fit the limit.

    Returns
    -------
    Data

    Raises
    ------
    ValueError
        If the file is damaged, has another format, contains no real numbers, or does not fit into memory;
        if an option does not apply to its format; if a library for its format is not installed.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "samples.csv")
    >>> _ = path.write_text("name,a,b\nfirst,1,2\nsecond,3,4\n")
    >>> data = read(path)
    >>> data.M
    array([[1., 2.], [3., 4.]])
    >>> data.row_names, data.column_names
    (('first', 'second'), ('a', 'b'))
    """
    path = Path(file)
    check_file(path)
    envi_header = None if kind_of(path) in READERS.keys() - {".dat"} else header_beside(path)
    kind = kind_of(path) if envi_header is None else ".hdr"
    if kind not in READERS:
        raise ValueError(
            f"{path.name} has an unknown format: expected {', '.join(READERS)}, or an ENVI data file with "
            "its .hdr file in the same folder."
        )
    named: dict[str, Any] = {"variable": variable, "header": header, "index": index, "decimal": decimal}
    options = {name: value for name, value in named.items() if value is not None}
    for name in options:
        check_option(name, name, kind, path)
    if in_parts:
        check_option("in_parts", "large", kind, path)
    if memory is not None:
        check_option("memory", "large", kind, path)
        options |= limits(memory)
    if in_parts:
        options["large"] = 0
    if envi_header is not None:
        options["data"] = path
    data = READERS[kind](envi_header or path, **options)
    return data if shape is None else with_shape(data, shape)


def check_option(option: str, parameter: str, kind: str, path: Path) -> None:
    """Refuse an option of `read` if the reader of this format does not have the parameter it sets."""
    *most, last = (suffix for suffix, reader in READERS.items() if parameter in signature(reader).parameters)
    if kind not in (*most, last):
        raise ValueError(f"{option} is for {', '.join(most)} and {last}, and the file is {path.name}.")


def kind_of(path: Path) -> str:
    """Return the file name extension in lower case; ".zarr" for any Zarr array or group."""
    return ".zarr" if is_zarr(path) else path.suffix.lower()


def check_file(path: Path) -> None:
    """Refuse a path that does not exist, is not a file, or cannot be opened."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.is_dir() and is_zarr(path):
        return
    if not path.is_file():
        raise ValueError(f"{path} is not a file.")
    with path.open("rb"):
        pass


def with_shape(data: Data, shape: tuple[int, int]) -> Data:
    """Return `data` as an image of this shape, with pixels in column-major order."""
    lines, samples = (check_count(size, "shape") for size in shape)
    n = data.M.shape[1]
    if data.image_shape is not None and data.image_order == "C":
        raise ValueError(f"{data.file.name} is already an image of shape {data.image_shape}: omit shape.")
    if lines * samples != n:
        raise ValueError(
            f"shape must have one pixel per column of {data.file.name}, {n}, got {lines} × {samples}."
        )
    return replace(data, image_shape=(lines, samples), image_order="F")
