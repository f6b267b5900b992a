"""Zarr arrays and groups: folders of chunks that are compressed separately."""

from pathlib import Path
from typing import Any

from sepnmf.io._guards import needed, parsing

KIND = "a Zarr array"
METADATA = ("zarr.json", ".zarray", ".zgroup")


def is_zarr(path: Path) -> bool:
    """Return whether a path is a Zarr array or group, possibly inside another group."""
    return path.suffix.lower() == ".zarr" or has_metadata(path)


def has_metadata(path: Path) -> bool:
    """Return whether a folder contains the metadata of a Zarr array or group."""
    return any((path / name).is_file() for name in METADATA)


def open_zarr(file: Path, mode: str = "r") -> Any:
    """Open the array or the group in a folder; an array that would be unpickled is refused."""
    zarr = needed("zarr")
    with parsing(file, KIND):
        found = zarr.open(str(file), mode=mode)
    if not isinstance(found, zarr.Group):
        check_codecs(found, file)
    return found


def check_codecs(array: Any, file: Path) -> None:
    """Refuse an array whose chunks are pickles."""
    with parsing(file, KIND):
        # In version 2 of the package zarr, an array has one compressor.
        compressors = array.compressors if hasattr(array, "compressors") else (array.compressor,)
        codecs = [*(array.filters or ()), *(compressors or ())]
    if any("pickle" in str(getattr(codec, "codec_id", codec)).lower() for codec in codecs):
        raise ValueError(f"{file.name} contains pickles, which sepnmf never unpickles: save plain numbers.")


def dimensions_of(array: Any) -> tuple[str, ...] | None:
    """Return the names of the dimensions of an array; None if it has none."""
    names = getattr(getattr(array, "metadata", None), "dimension_names", None)
    if names is None:
        names = dict(array.attrs).get("_ARRAY_DIMENSIONS")
    if not isinstance(names, (list, tuple)) or len(names) != len(array.shape):
        return None
    return tuple("" if name is None else str(name) for name in names)
