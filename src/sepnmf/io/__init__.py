"""Files people have: npy, npz, csv, tsv, parquet, mat, ENVI and mtx."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sepnmf.io.arrays import read_npy, read_npz
from sepnmf.io.cubes import write_cube
from sepnmf.io.data import Data
from sepnmf.io.envi import header_beside, read_envi
from sepnmf.io.market import read_mtx
from sepnmf.io.matlab import read_mat
from sepnmf.io.tables import read_names, read_parquet, read_table
from sepnmf.validation import check_count

__all__ = ["READERS", "Data", "read", "read_names", "write_cube"]

READERS: dict[str, Callable[..., Data]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_table,
    ".tsv": read_table,
    ".parquet": read_parquet,
    ".mat": read_mat,
    ".hdr": read_envi,
    ".mtx": read_mtx,
}

# Which formats an option is for.
OPTIONS = {"variable": (".npz", ".mat"), "header": (".csv", ".tsv"), "index": (".csv", ".tsv")}


def read(
    file: str | os.PathLike[str],
    *,
    variable: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    shape: tuple[int, int] | None = None,
) -> Data:
    r"""Read a matrix, or an image whose pixels become the columns of one, from a file.

    The ending of the file's name says what it is: .npy, .npz (also SciPy's sparse matrices), .csv, .tsv,
    .parquet, .mat (version 5 and 7.3), .hdr (ENVI; the data file beside the header will do as well) or .mtx.
    An array of two dimensions is a matrix as it stands; one of three is an image of
    lines × samples × bands, which becomes a matrix of bands × pixels. Numbers keep their type and are not
    checked. ENVI and .npy of more than 500 MB as float64 come as Dask arrays. Nothing is ever unpickled.

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
    suffix = path.suffix.lower()
    beside = None if suffix in READERS else header_beside(path)
    if suffix not in READERS and beside is None:
        raise ValueError(
            f"{path.name} is of no kind known here: expected {', '.join(READERS)}, or an ENVI data file with "
            "its .hdr beside it."
        )
    options = {"variable": variable, "header": header, "index": index}
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if suffix not in OPTIONS[name]:
            raise ValueError(f"{name} is for {' and '.join(OPTIONS[name])}, and the file is {path.name}.")
    data = read_envi(beside, data=path) if beside else READERS[suffix](path, **given)
    return data if shape is None else with_shape(data, shape)


def check_file(path: Path) -> None:
    """Refuse a path that is no file or cannot be opened."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
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
