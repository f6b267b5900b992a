"""Files people have: npy, npz, csv, tsv, parquet, mat, ENVI, mtx and zarr."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sepnmf._validation import check_count
from sepnmf.io._arrays import read_npy, read_npz
from sepnmf.io._cubes import read_maps, write_cube
from sepnmf.io._data import Data
from sepnmf.io._envi import header_beside, read_envi
from sepnmf.io._market import read_mtx
from sepnmf.io._matlab import read_mat
from sepnmf.io._memory import limits
from sepnmf.io._tables import read_names, read_parquet, read_table
from sepnmf.io._zarrs import is_zarr, read_zarr

__all__ = ["READERS", "Data", "read", "read_maps", "read_names", "write_cube"]

READERS: dict[str, Callable[..., Data]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_table,
    ".tsv": read_table,
    ".parquet": read_parquet,
    ".mat": read_mat,
    ".hdr": read_envi,
    ".mtx": read_mtx,
    ".zarr": read_zarr,
}

# Which formats an option is for.
IN_PARTS = (".npy", ".hdr", ".zarr")
OPTIONS = {
    "variable": (".npz", ".mat"),
    "header": (".csv", ".tsv"),
    "index": (".csv", ".tsv"),
    "in_parts": IN_PARTS,
    "memory": IN_PARTS,
}


def read(
    file: str | os.PathLike[str],
    *,
    variable: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    shape: tuple[int, int] | None = None,
    in_parts: bool = False,
    memory: int | str | None = None,
) -> Data:
    r"""Read a matrix, or an image whose pixels become the columns of one, from a file.

    The ending of the file's name says what it is: .npy, .npz (also SciPy's sparse matrices), .csv, .tsv,
    .parquet, .mat (version 5 and 7.3), .hdr (ENVI; the data file beside the header will do as well), .mtx, or
    .zarr, a folder that holds a Zarr array. (Of an image, one with whole lines in a chunk is read fastest.)
    An array of two dimensions is a matrix as it stands; one of three is an image of
    lines × samples × bands, which becomes a matrix of bands × pixels. Numbers keep their type and are not
    checked. ENVI, .npy and .zarr of more than 500 MB as float64 come as Dask arrays. Nothing is ever
    unpickled.

    Parameters
    ----------
    file : path
        The file.
    variable : str, optional
        Which variable of a .npz or .mat file; by default the only matrix.
    header, index : bool, optional
        Whether the first line and the first column of a .csv or .tsv file are names; by default, whether
        they are not numbers.
    shape : tuple of two ints, optional
        Lines and samples, if the columns of a matrix are the pixels of an image, one column of the image
        after another as MATLAB has them.
    in_parts : bool, default False
        Whether to have ENVI, .npy and .zarr as a Dask array whatever their size, for a cluster.
    memory : int or str, optional
        How much memory work on ENVI, .npy or .zarr may take on a machine, in bytes or as "2GB". Data of more
        than a quarter of it as float64 come as Dask arrays, whose chunks are as small as it asks for.

    Returns
    -------
    Data

    Raises
    ------
    ValueError
        If the file is damaged, is of another kind, holds no real numbers, would not fit into memory, or
        does not suit the options; if a library for it is not installed. One line says which.
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
    beside = None if kind_of(path) in READERS else header_beside(path)
    kind = kind_of(path) if beside is None else ".hdr"
    if kind not in READERS:
        raise ValueError(
            f"{path.name} is of no kind known here: expected {', '.join(READERS)}, or an ENVI data file with "
            "its .hdr beside it."
        )
    options: dict[str, Any] = {"variable": variable, "header": header, "index": index}
    options |= {"in_parts": in_parts or None, "memory": memory}
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if kind not in OPTIONS[name]:
            *most, last = OPTIONS[name]
            raise ValueError(f"{name} is for {', '.join(most)} and {last}, and the file is {path.name}.")
    if memory is not None:
        given |= limits(given.pop("memory"))
    if in_parts:
        del given["in_parts"]
        given["large"] = 0
    data = READERS[kind](path, **given) if beside is None else READERS[kind](beside, data=path, **given)
    return data if shape is None else with_shape(data, shape)


def kind_of(path: Path) -> str:
    """The ending of a file's name; an array inside a Zarr group has none."""
    return ".zarr" if is_zarr(path) else path.suffix.lower()


def check_file(path: Path) -> None:
    """Refuse a path that is no file or cannot be opened."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.is_dir() and is_zarr(path):
        return
    if not path.is_file():
        raise ValueError(f"{path} is not a file.")
    with path.open("rb"):
        pass


def with_shape(data: Data, shape: tuple[int, int]) -> Data:
    """`data` as an image of this shape, its pixels in MATLAB's order."""
    lines, samples = (check_count(size, "shape") for size in shape)
    n = data.M.shape[1]
    if data.image_shape is not None and data.image_order == "C":
        raise ValueError(f"{data.file.name} is an image already, of {data.image_shape}: leave out shape.")
    if lines * samples != n:
        raise ValueError(
            f"shape must have one pixel per column of {data.file.name}, {n}, got {lines} × {samples}."
        )
    return replace(data, image_shape=(lines, samples), image_order="F")
