"""Abundance maps, written in the format of the file that the data came from."""

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import io

from sepnmf.io.data import Data
from sepnmf.io.envi import INTERLEAVES, axes_of, read_header
from sepnmf.io.guards import needed
from sepnmf.io.stored import Stored
from sepnmf.typing import Floats

# Facts of an ENVI header that are true of the maps as well.
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

SUFFIXES = (".npy", ".npz", ".mat", ".hdr", ".img", ".csv", ".tsv", ".parquet", ".mtx")


def write_cube(path: str | Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write abundance maps in the format of the file that the data came from.

    ENVI and .npy, .npz and .mat hold an image of lines × samples × r (r × n if the data are no image);
    other formats have no images, and a .csv table of r rows is written. Each file is complete or not there.

    Parameters
    ----------
    path : path
        Where to; its ending, if it is that of a format, is replaced by the right one.
    H : ndarray or Dask array of shape (r, n)
        Abundances. A Dask array is written to ENVI and .npy chunk by chunk.
    like : Data
        The data.
    names : sequence of r str
        What the maps are of.

    Returns
    -------
    Path
        The file written; of ENVI's two, the header.

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
    suffix = like.file.suffix.lower()
    if suffix == ".hdr" and like.image_shape is not None:
        return write_envi(target, H, like, like.image_shape, names)
    if suffix == ".npy":
        return write_npy(target, H, like)
    if suffix in (".npz", ".mat"):
        return write_variables(target, suffix, H, like, names)
    return write_table(target, H, like, names)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of `path` when it is complete."""
    part = path.with_name(path.name + ".part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def appended(path: Path, suffix: str) -> Path:
    """`path` with a suffix more."""
    return path.with_name(path.name + suffix)


def blocks(H: Any) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """The columns of H chunk by chunk: which, and their numbers."""
    widths = (H.shape[1],) if isinstance(H, np.ndarray) else H.chunks[1]
    stops = np.cumsum(widths)
    for start, stop in zip(stops - widths, stops, strict=True):
        yield np.arange(start, stop), np.asarray(H[:, start:stop])


def fill(stored: Stored, H: Any, like: Data) -> None:
    """Write the pixels of H into a file of the right size; only one chunk is in memory."""
    order = like.image_order if like.image_shape else "C"
    for pixels, numbers in blocks(H):
        line, sample = np.unravel_index(pixels, (stored.lines, stored.samples), order=order)
        mapped = np.memmap(stored.file, stored.dtype, "r+", stored.offset, stored.shape)
        stored.image(mapped)[:, line, sample] = numbers
        mapped.flush()


def write_envi(target: Path, H: Any, like: Data, image_shape: tuple[int, int], names: Sequence[str]) -> Path:
    """Maps as ENVI: float32, interleaved as the input, on the same piece of ground."""
    envi = needed("spectral.io.envi")
    header = read_header(like.file)
    axes = axes_of(header)
    lines, samples = image_shape
    facts = {key: header[key] for key in CARRIED if key in header} | {
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
    image, text = appended(target, ".img"), appended(target, ".hdr")
    with replacing(image) as part, replacing(text) as part_of_text:
        stored = Stored(str(part), np.dtype("<f4"), len(names), lines, samples, axes)
        with part.open("wb") as stream:
            stream.truncate(prod(stored.shape) * stored.dtype.itemsize)
        fill(stored, H, like)
        envi.write_envi_header(str(part_of_text), facts)
    return text


def safe(name: str) -> str:
    """A name without the characters that have a meaning in an ENVI header."""
    return " ".join(name.translate(str.maketrans(",{}=;", "     ")).split()) or "-"


def write_npy(target: Path, H: Any, like: Data) -> Path:
    """Maps as a .npy file of H's own type."""
    path = appended(target, ".npy")
    r, n = H.shape
    lines, samples = like.image_shape or (n, 1)
    shape = (lines, samples, r) if like.image_shape else (r, n)
    with replacing(path) as part:
        mapped = npy.open_memmap(part, "w+", H.dtype, shape)
        axes = "lsb" if like.image_shape else "bls"
        stored = Stored(str(part), H.dtype, r, lines, samples, axes, mapped.offset)
        del mapped
        fill(stored, H, like)
    return path


def cube(H: Any, like: Data) -> Floats:
    """Maps as lines × samples × r, or H itself if the data are no image."""
    numbers = np.asarray(H)
    if like.image_shape is None:
        return numbers
    return np.stack([like.picture(row) for row in numbers], axis=-1)


def write_variables(target: Path, suffix: str, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Maps as the variable "abundances" of a .npz or a .mat file, beside their names."""
    path = appended(target, suffix)
    with replacing(path) as part, part.open("wb") as stream:
        if suffix == ".npz":
            np.savez(stream, abundances=cube(H, like), names=np.array(names, dtype=str))
        else:
            variables = {"abundances": cube(H, like), "names": np.array(names, dtype=object)}
            io.savemat(stream, variables, do_compression=True)  # type: ignore[arg-type] # stubs: paths only
    return path


def write_table(target: Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Maps as a table of one row each."""
    path = appended(target, ".csv")
    headings = like.column_names or range(H.shape[1])
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["", *headings])
        for name, row in zip(names, np.asarray(H), strict=True):
            writer.writerow([name, *row.tolist()])
    return path
