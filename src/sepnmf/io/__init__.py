"""Readers and writers of files: npy, npz, tables, mat, ENVI, mtx, zarr, GeoTIFF, NetCDF, h5ad.

To add a format, write a reader in a file of its own and add it to `READERS`. The keyword arguments of a
reader are the options of `read` that it accepts; `large` and `chunk` stand for `in_parts` and `memory`.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from sepnmf._validation import check_count
from sepnmf.io._arrays import read_npy, read_npz
from sepnmf.io._cells import read_h5ad
from sepnmf.io._containers import is_zarr
from sepnmf.io._cubes import read_maps, write_cube
from sepnmf.io._data import Data
from sepnmf.io._envi import header_beside, read_envi
from sepnmf.io._geotiff import read_geotiff
from sepnmf.io._guards import as_documented, check_regular, without_line_breaks
from sepnmf.io._market import matrix_in, read_mtx
from sepnmf.io._masks import with_masks
from sepnmf.io._matlab import read_mat
from sepnmf.io._memory import limits
from sepnmf.io._names import read_names, with_names
from sepnmf.io._parquet import read_parquet
from sepnmf.io._scenes import read_scene
from sepnmf.io._tables import read_table
from sepnmf.matrix import is_lazy

SAID_OF_ORDER = {
    "C": "Pixels are taken line by line (order C, as in NumPy); --order F changes that.",
    "F": "Pixels are taken sample by sample (order F, as in MATLAB); --order C changes that.",
}
ROWS_ARE_PIXELS = "The rows are taken as pixels and the columns as bands: there are as many rows as pixels."

PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z")
SHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")

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
    ".zarr": read_scene,
    ".tif": read_geotiff,
    ".tiff": read_geotiff,
    ".nc": read_scene,
    ".nc4": read_scene,
    ".h5": read_scene,
    ".hdf5": read_scene,
    ".he5": read_scene,
    ".h5ad": read_h5ad,
}


@without_line_breaks()
def read(
    file: str | os.PathLike[str],
    *,
    variable: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    decimal: str | None = None,
    omit: str | Sequence[str] | None = None,
    names: str | os.PathLike[str] | None = None,
    row_names: str | os.PathLike[str] | None = None,
    shape: tuple[int, int] | None = None,
    order: str | None = None,
    axes: str | None = None,
    nodata: float | str | Sequence[float | str] | None = None,
    mask: str | os.PathLike[str] | None = None,
    bands: str | None = None,
    in_parts: bool = False,
    memory: int | str | None = None,
) -> Data:
    r"""Read a matrix from a file, or an image, whose pixels become the columns of a matrix.

    The format is determined by the file name extension: .npy, .npz (arrays or a SciPy sparse matrix), .csv,
    .tsv, .txt, .dat, .asc (plain text), .parquet, .mat (version 5 or 7.3), .hdr (ENVI; the path of the data
    file is accepted too), .mtx (also .mtx.gz, or a folder of 10x with matrix.mtx), .tif (GeoTIFF), .nc, .nc4,
    .h5, .hdf5, .he5 (NetCDF or HDF5), .h5ad (AnnData: cells × genes), or .zarr, a folder with a Zarr array or
    group. (An image in Zarr is read fastest if its chunks contain whole lines.) An array of two dimensions is
    a matrix. An array of three dimensions is an image, which becomes a matrix of bands × pixels. Numbers keep
    their type unless the file has a scale factor, and are not checked. ENVI, GeoTIFF, NetCDF, HDF5, .npy,
    .zarr and .h5ad files of more than 500 MB as float64 become Dask arrays. Nothing is unpickled.

    Parameters
    ----------
    file : path
        Path of the file.
    variable : str, optional
        Name of the variable of a .npz, .mat, NetCDF or HDF5 file or of a Zarr group, with the path of its
        group; by default the only matrix, or the only image. Of a .h5ad file, raw, a layer or an entry of
        obsm; by default X.
    header, index : bool, optional
        Whether the first line and the first column of a .csv, .tsv or text file contain names; by default,
        this is detected from whether they are numbers. A first column of numbers that is an axis, by its
        heading ("wavelength_nm") or its equal steps, names the rows.
    decimal : {".", ","}, optional
        Decimal separator of a .csv, .tsv or text file; by default, this is detected, as is what separates
        cells: commas, semicolons or tabs, in text files also spaces.
    omit : str or sequence of str, optional
        Names of columns of a table (.csv, .tsv, text, .parquet) that are left out, such as numbers of
        samples or classes. Columns of text, other than a first one with the names of the rows, are left out
        in any case.
    names, row_names : path or str, optional
        Names of the columns and rows: a text file with one name per line, a table whose first column has
        them, or the name of a variable of the same file (.npz, NetCDF, HDF5, .h5ad).
    shape : tuple of two ints, optional
        Numbers of lines and samples, if the columns of a matrix are the pixels of an image. If only its rows
        are as many, they are the pixels, and the matrix is transposed.
    order : {"C", "F"}, optional
        Order of these pixels: line by line (C), as in ``cube.reshape(-1, bands).T`` of NumPy, or sample by
        sample (F), as in MATLAB. The default is F for .mat files and C for all others.
    axes : str, optional
        Order of the axes of an array of three dimensions, such as "bands,lines,samples"; by default the names
        of its dimensions determine it, and without names it is "lines,samples,bands".
    nodata : float, str or sequence of them, optional
        Number that means "no data", or "nan", in place of the one that the file declares; several as a
        sequence or as text such as "0,65535". It is compared with the numbers in the file, before scale
        factors. Bands without data in all pixels that have data somewhere are left out; then pixels without
        data in one of the other bands. The number 0 also occurs in data: pixels are left out if they are 0 in
        all bands that are used. In tables, blank cells and those such as NA and n.d. mean NaN.
    mask : path, optional
        A file with lines × samples numbers, or with one number per column. Where it is zero or NaN, pixels
        are left out.
    bands : str, optional
        Bands (rows) that are used, such as "1-100,115-150". They are counted from 1.
    in_parts : bool, default False
        Whether ENVI, GeoTIFF, NetCDF, HDF5, .npy, .zarr and .h5ad files of any size become Dask arrays, for
        use on a cluster.
    memory : int or str, optional
        Memory limit per machine for work on such files, in bytes or as text such as "2GB".
        Data that exceed a quarter of it as float64 become Dask arrays, with chunks that fit the limit.

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
    path = matrix_in(Path(file))
    check_file(path)
    envi_header = envi_header_of(path)
    kind = kind_of(path) if envi_header is None else ".hdr"
    if kind in SHEETS:
        raise ValueError(f"{path.name} is a spreadsheet: save the sheet as CSV.")
    if kind in PACKED:
        raise ValueError(f"{path.name} is compressed: unpack it first.")
    if kind not in READERS:
        raise ValueError(
            f"{path.name} has an unknown format: expected {', '.join(READERS)}, or an ENVI data file with "
            "its .hdr file in the same folder."
        )
    named: dict[str, Any] = {"variable": variable, "header": header, "index": index, "axes": axes}
    named |= {"decimal": decimal, "omit": (omit,) if isinstance(omit, str) else omit}
    options = {name: value for name, value in named.items() if value is not None}
    for name in options:
        check_option(name, name, kind, path)
    if nodata is not None and "missing" in signature(READERS[kind]).parameters:
        options["missing"] = True
    if in_parts:
        check_option("in_parts", "large", kind, path)
    if memory is not None:
        check_option("memory", "large", kind, path)
        options |= limits(memory)
    if in_parts:
        options["large"] = 0
    if envi_header is not None:
        options["data"] = path
    with as_documented(path):
        data = READERS[kind](envi_header or path, **options)
    if axes is not None and data.image_shape is None:
        raise ValueError(f"axes is for arrays of three dimensions, and {data.file.name} has a matrix.")
    data = with_names(data, names, row_names)
    if shape is not None or order is not None or data.image_order == "F":
        data = with_shape(data, shape, order)
    return with_masks(data, read_plainly, nodata=nodata, mask=mask, bands=bands)


def envi_header_of(path: Path) -> Path | None:
    """Return the header of an ENVI data file; None if it is none. A .dat file may also be a table."""
    return None if kind_of(path) in READERS.keys() - {".dat"} else header_beside(path)


def read_plainly(path: Path) -> Data:
    """Read the numbers of a mask file, without a nodata value or a scale factor."""
    check_file(path)
    envi_header = envi_header_of(path)
    if envi_header is not None:
        with as_documented(path):
            return read_envi(envi_header, data=path)
    if kind_of(path) not in READERS:
        raise ValueError(f"{path.name} has an unknown format: expected {', '.join(READERS)}.")
    with as_documented(path):
        return READERS[kind_of(path)](path)


def check_option(option: str, parameter: str, kind: str, path: Path) -> None:
    """Refuse an option of `read` if the reader of this format does not have the parameter it sets."""
    *most, last = (suffix for suffix, reader in READERS.items() if parameter in signature(reader).parameters)
    if kind not in (*most, last):
        raise ValueError(f"{option} is for {', '.join(most)} and {last}, and the file is {path.name}.")


def kind_of(path: Path) -> str:
    """Return the file name extension in lower case; ".zarr" for any Zarr array or group, ".mtx" if packed."""
    if path.name.lower().endswith(".mtx.gz"):
        return ".mtx"
    return ".zarr" if is_zarr(path) else path.suffix.lower()


def check_file(path: Path) -> None:
    """Refuse a path that does not exist, is not a file, or cannot be opened."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.is_dir() and is_zarr(path):
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and none with counts of 10x (matrix.mtx): name a file.")
    check_regular(path)
    with path.open("rb"):
        pass


def with_shape(data: Data, shape: tuple[int, int] | None, order: str | None) -> Data:
    """Return `data` as an image of this shape; by default, pixels of .mat files are in MATLAB's order."""
    if order is not None and order not in ("C", "F"):
        raise ValueError(f'order must be "C" or "F", got {str(order)[:40]!r}.')
    if shape is None and (data.image_shape is None or data.image_order == "C"):
        raise ValueError(
            f"order is for columns that are pixels: give shape too, or omit it for {data.file.name}."
        )
    if shape is not None and data.image_shape is not None and data.image_order == "C":
        raise ValueError(f"{data.file.name} is already an image of shape {data.image_shape}: omit shape.")
    lines, samples = (check_count(size, "shape") for size in shape or data.require_image())
    m, n = data.M.shape
    if lines * samples == m != n and data.image_shape is None:
        if is_lazy(data.M) or data.scaling is not None:  # which may have one number per row
            raise ValueError(
                f"shape must have one pixel per column of {data.file.name}, {n}, got {lines} × {samples}: "
                "its rows are as many, so save the transposed matrix."
            )
        data = replace(data.transposed(), assumptions=(*data.assumptions, ROWS_ARE_PIXELS))
    elif lines * samples != n:
        raise ValueError(
            f"shape must have one pixel per column of {data.file.name}, {n}, got {lines} × {samples}."
        )
    is_matlab = data.file.suffix.lower() == ".mat"
    chosen: Literal["C", "F"] = "F" if order == "F" or (order is None and is_matlab) else "C"
    said = () if order else (SAID_OF_ORDER[chosen],)
    return replace(
        data, image_shape=(lines, samples), image_order=chosen, assumptions=data.assumptions + said
    )
