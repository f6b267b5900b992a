"""Writers of abundance maps, in the format of the file from which the data were read."""

import csv
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from scipy import io

from sepnmf._typing import Floats
from sepnmf.io._arrays import stored_npy
from sepnmf.io._containers import container_of, is_zarr
from sepnmf.io._data import Data
from sepnmf.io._envi import (
    DIGEST,
    INTERLEAVES,
    axes_of,
    data_beside,
    digest_of,
    number,
    read_header,
    stored_envi,
)
from sepnmf.io._filling import appended, fill, fill_image, nodata_of, order_of, remove, replacing
from sepnmf.io._geotiff import create_geotiff, opened, read_window
from sepnmf.io._guards import harmless, needed
from sepnmf.io._nodata import as_text
from sepnmf.io._scene_maps import MAPS, in_whole_lines, write_netcdf, write_region, write_zarr_group
from sepnmf.matrix import Stored

# Fields of an ENVI header that are copied to the header of the maps.
CARRIED = (
    "map info",
    "projection info",
    "coordinate system string",
    "geo points",
    "rpc info",
    "pixel size",
    "x start",
    "y start",
    "sensor type",
    "acquisition time",
)

# Extensions of scenes with many arrays, and of all formats.
SCENES = (".nc", ".nc4", ".h5", ".hdf5", ".he5")
TABLES = (".csv", ".tsv", ".parquet", ".mtx")
SUFFIXES = (".npy", ".npz", ".mat", ".hdr", ".img", ".tif", ".tiff", ".zarr", *TABLES, *SCENES)


def write_cube(path: str | Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write abundance maps in the format of the file from which the data were read.

    ENVI, .npy, .zarr, .npz and .mat files contain an image of lines × samples × r (r × n if the data are not
    an image), GeoTIFF files r bands, NetCDF files and Zarr groups r × lines × samples, with the coordinates
    of the data. For other formats, a .csv table of r rows is written. Columns of NaN have no data: they are
    NaN in the file, or the nodata value that ENVI and GeoTIFF files declare. A file appears only when it is
    complete.

    Parameters
    ----------
    path : path
        Path of the output; a known extension is replaced by that of the format.
    H : ndarray or Dask array of shape (r, n)
        Abundances. For ENVI, GeoTIFF, NetCDF, .npy and .zarr, the chunks of a Dask array are written as
        they are computed, by threads or on a cluster whose workers find the folder under the same path.
    like : Data
        The data, as read by `read`.
    names : sequence of r str
        Names of the maps.

    Returns
    -------
    Path
        The file written; for ENVI, the header.

    Raises
    ------
    ValueError
        If H does not have one column per column of the data and one row per name.
    OSError
        If a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from sepnmf.io import read, write_cube
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "scene.npy", np.ones((4, 5, 6)))
    >>> scene = read(folder / "scene.npy")
    >>> write_cube(folder / "maps", np.ones((2, 20)), scene, ["soil", "water"]).name
    'maps.npy'
    >>> read(folder / "maps.npy").M.shape
    (2, 20)
    """
    if H.shape != (len(names), like.M.shape[1]):
        raise ValueError(
            f"H must have one row per name and one column per column of the data, "
            f"{len(names)} × {like.M.shape[1]}, got shape {H.shape}."
        )
    target = Path(path)
    if target.suffix.lower() in SUFFIXES:
        target = target.with_suffix("")
    return writer_of(like)(target, H, like, names)


def writer_of(like: Data) -> Callable[[Path, Any, Data, Sequence[str]], Path]:
    """Return the writer of the format of the data; a table if they are no image or the format has none."""
    suffix = like.file.suffix.lower()
    if like.image_shape is not None:
        if is_scene(like.file) and like.variable:
            return write_zarr_group if is_zarr(like.file) else write_netcdf
        if suffix in (".hdr", ".tif", ".tiff"):
            return write_envi if suffix == ".hdr" else write_geotiff
    if is_zarr(like.file):
        return write_zarr
    return {".npy": write_npy, ".npz": write_npz, ".mat": write_mat}.get(suffix, write_table)


def read_maps(path: Path, step: int) -> Floats:
    """Read every step-th line and sample of maps that `write_cube` wrote as ENVI, .tif, .nc, .npy or .zarr.

    Pixels without data are NaN.

    Parameters
    ----------
    path : Path
        The file.
    step : int
        Step between lines, and between samples.

    Returns
    -------
    ndarray of shape (r, lines, samples)
    """
    if is_scene(path):
        container = container_of(path)
        name, axes = (MAPS, "bls") if MAPS in container.items() else ("", "lsb")
        return container.read_part(name, axes, slice(None, None, step), slice(None, None, step))
    if path.suffix == ".tif":
        with opened(path) as image:
            nodata = image.nodata
        return with_nan(read_window(path, slice(None, None, step), slice(None, None, step)), nodata)
    nodata = None
    if path.suffix == ".npy":
        stored = stored_npy(path)[0]
    else:
        header = read_header(path)
        stored, nodata = stored_envi(path, header, data_beside(path)), number(header, "data ignore value")
    # One line at a time: pages of a memory map that have been read count as memory.
    lines = [
        stored.read(slice(k, k + 1), slice(None, None, step)) for k in range(0, stored.image_shape[0], step)
    ]
    return with_nan(np.concatenate(lines, axis=1), nodata)


def is_scene(path: Path) -> bool:
    """Return whether a path is of a NetCDF or HDF5 file, or of a Zarr array or group."""
    return is_zarr(path) or path.suffix.lower() in SCENES


def with_nan(maps: Floats, nodata: float | None) -> Floats:
    """Return maps with NaN in place of the nodata value."""
    return maps if nodata is None else np.where(maps == np.asarray(nodata, maps.dtype), np.nan, maps)


def write_envi(target: Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write maps as ENVI: float32, with the interleave and the map coordinates of the input."""
    envi = needed("spectral.io.envi")
    header = read_header(like.file)
    axes = axes_of(header)
    lines, samples = like.require_image()
    fields = {key: header[key] for key in CARRIED if key in header} | {
        "description": f"abundances, from {like.file.name}",
        "lines": lines,
        "samples": samples,
        "bands": len(names),
        "header offset": 0,
        "data type": 4,
        "interleave": next(word for word, order in INTERLEAVES.items() if order == axes),
        "byte order": 0,
        "band names": [safe(name) for name in names],
    }
    nodata = nodata_of(like)
    if nodata is not None:
        fields["data ignore value"] = as_text(nodata)
    image, text = appended(target, ".img"), appended(target, ".hdr")
    with replacing(text) as part_of_text, replacing(image) as part:  # the image is replaced first
        shape = (len(names), lines, samples)
        stored = Stored.in_order(str(part.resolve()), np.dtype("<f4"), shape, axes)
        with part.open("wb") as stream:
            stream.truncate(stored.nbytes)
        fill_image(H, stored, order_of(like), nodata)
        envi.write_envi_header(str(part_of_text), fields | {DIGEST: digest_of(part)})
        mark_header(text, image)
    return text


def mark_header(text: Path, image: Path) -> None:
    """Write into an earlier header for which image it is: it must not be taken for that of the next one."""
    marked = appended(text, ".marked.part")
    remove(marked)  # from a command that was killed
    if not image.is_file():
        remove(text)
    elif text.is_file() and DIGEST.encode() not in (content := text.read_bytes()):
        try:
            marked.write_bytes(content.rstrip() + f"\n{DIGEST} = {digest_of(image)}\n".encode())
            marked.replace(text)
        finally:
            remove(marked)


def write_geotiff(target: Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write maps as GeoTIFF: float32, on the ground of the input, with the names as descriptions."""
    path, nodata = appended(target, ".tif"), nodata_of(like)
    with replacing(path) as part:
        stored = create_geotiff(part, like.file, like.require_image(), names, nodata)
        fill_image(H, stored, order_of(like), nodata)
    return path


def safe(name: str) -> str:
    """Return a name without the characters that have a meaning in an ENVI header."""
    return " ".join(name.translate(str.maketrans(",{}=;", "     ")).split()) or "-"


def write_npy(target: Path, H: Any, like: Data, _: Sequence[str]) -> Path:
    """Write maps as a .npy file with the dtype of H."""
    path = appended(target, ".npy")
    r, n = H.shape
    lines, samples = like.image_shape or (n, 1)
    shape = (lines, samples, r) if like.image_shape else (r, n)
    with replacing(path) as part:
        mapped = npy.open_memmap(part, "w+", H.dtype, shape)
        axes = "lsb" if like.image_shape else "bls"
        stored = Stored.in_order(str(part.resolve()), H.dtype, (r, lines, samples), axes, mapped.offset)
        del mapped
        fill_image(H, stored, order_of(like), None)
    return path


def write_zarr(target: Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write maps as a Zarr array with the dtype of H.

    Its chunks are those of H, rounded to whole lines, so that no two tasks write to the same chunk.
    """
    path = appended(target, ".zarr")
    r, n = H.shape
    lines, samples = like.image_shape or (n, 1)
    order = order_of(like)
    H, step = in_whole_lines(H, like)
    shape: tuple[int, ...] = (r, n)
    chunks: tuple[int, ...] = (r, step)
    if like.image_shape is not None:
        shape = (lines, samples, r)
        chunks = (step, samples, r) if order == "C" else (lines, step, r)
    with replacing(path) as part:
        array = needed("zarr").open_array(str(part), mode="w", shape=shape, chunks=chunks, dtype=H.dtype)
        array.attrs["names"] = list(names)
        fill(H, partial(write_region, part.resolve(), "", like.image_shape, order))
    return path


def cube(H: Any, like: Data) -> Floats:
    """Return maps as lines × samples × r, or H itself if the data are not an image."""
    numbers = np.asarray(H)
    if like.image_shape is None:
        return numbers
    return np.stack([like.picture(row) for row in numbers], axis=-1)


def write_npz(target: Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write maps and their names as the variables "abundances" and "names" of a .npz file."""
    path = appended(target, ".npz")
    with replacing(path) as part, part.open("wb") as stream:
        np.savez(stream, abundances=cube(H, like), names=np.array(names, dtype=str))
    return path


def write_mat(target: Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write maps and their names as the variables "abundances" and "names" of a .mat file."""
    path = appended(target, ".mat")
    variables = {"abundances": cube(H, like), "names": np.array(names, dtype=object)}
    with replacing(path) as part, part.open("wb") as stream:
        io.savemat(stream, variables, do_compression=True)  # type: ignore[arg-type] # stubs: paths only
    return path


def write_table(target: Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write maps as a table with one row per map; no name is a formula of a spreadsheet."""
    path = appended(target, ".csv")
    headings = like.column_names or range(H.shape[1])
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["", *map(harmless, headings)])
        for name, row in zip(names, np.asarray(H), strict=True):
            writer.writerow([harmless(name), *row.tolist()])
    return path
