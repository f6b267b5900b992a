"""Writers of maps as NetCDF files and Zarr groups, by xarray, with the coordinates of the data."""

from collections.abc import Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sepnmf._typing import Floats
from sepnmf.io._containers import Item, container_of
from sepnmf.io._conventions import coordinate, grid_mapping
from sepnmf.io._data import Data
from sepnmf.io._filling import appended, fill, fill_image, order_of, replacing, reserve
from sepnmf.io._guards import needed, without_warnings
from sepnmf.io._scenes import image_dimensions, is_place
from sepnmf.matrix import CHUNK, Stored, is_lazy

MAPS = "abundances"
HEADER = 2**16  # bytes of a NetCDF file besides its numbers, at most
# Attributes that only HDF5 may write, and those of numbers that are not copied; also all that begin with "_".
NOT_CARRIED = {"CLASS", "NAME", "DIMENSION_LABELS", "DIMENSION_LIST", "REFERENCE_LIST"} | {
    "coordinates", "grid_mapping", "missing_value",
}  # fmt: skip


def write_netcdf(target: Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write maps as NetCDF of version 4 with the dtype of H.

    Its numbers are not compressed, so that tasks write into the file as into a plain one.
    """
    path = appended(target, ".nc")
    with replacing(path) as part:
        with without_warnings(), needed("dask").config.set(scheduler="synchronous"):
            encoding = {MAPS: {"_FillValue": np.nan, "contiguous": True}}
            dataset = dataset_of(H, like, names)
            # HDF5 may end the process where it finds the disk full.
            with part.open("wb") as stream:
                stream.truncate(dataset.nbytes + HEADER)
            reserve(part)
            dataset.to_netcdf(part, engine="h5netcdf", encoding=encoding)
        with needed("h5py").File(part, "r") as content:
            offset, shape = content[MAPS].id.get_offset(), content[MAPS].shape
        if offset is None:
            raise OSError(f"{part.name} was not created in one piece by this version of HDF5.")
        stored = Stored.in_order(str(part.resolve()), np.dtype(H.dtype), shape, "bls", offset)
        fill_image(H, stored, order_of(like), None)
    return path


def write_zarr_group(target: Path, H: Any, like: Data, names: Sequence[str]) -> Path:
    """Write maps as a Zarr group of the version of the input, with the dtype of H.

    Chunks are those of H, rounded to whole lines, so that no two tasks write to the same chunk.
    """
    path = appended(target, ".zarr")
    lines, samples = like.require_image()
    H, step = in_whole_lines(H, like)
    chunks = (len(names), step, samples) if like.image_order == "C" else (len(names), lines, step)
    version = 3 if (like.file / "zarr.json").is_file() else 2
    with replacing(path) as part:
        with without_warnings():
            dataset_of(H, like, names).chunk(-1).to_zarr(
                str(part),
                mode="w",
                compute=False,  # the maps are written below
                zarr_format=version,
                consolidated=version == 2,
                encoding={MAPS: {"_FillValue": np.nan, "chunks": chunks}},
            )
        fill(H, partial(write_region, part.resolve(), MAPS, (lines, samples), like.image_order))
    return path


def write_region(
    file: Path,
    name: str,
    image_shape: tuple[int, int] | None,
    order: Literal["C", "F"],
    start: int,
    numbers: Floats,
) -> None:
    """Write consecutive columns, which are whole lines of an image, or whole samples in order F.

    They belong to the array of this name in a group, r × lines × samples, or to the only array of a file,
    lines × samples × r.
    """
    found = needed("zarr").open(str(file), mode="r+")
    r, width = numbers.shape
    if image_shape is None:
        found[:, start : start + width] = numbers
        return
    across = image_shape[1 if order == "C" else 0]
    part, where = numbers.reshape(r, -1, across), slice(start // across, (start + width) // across)
    if order == "F":
        part = part.transpose(0, 2, 1)
    place = (where, slice(None)) if order == "C" else (slice(None), where)
    if name:
        found[name][:, *place] = part
    else:
        found[place] = part.transpose(1, 2, 0)


def in_whole_lines(H: Any, like: Data) -> tuple[Any, int]:
    """Return H in chunks of whole lines, and the number of lines of a chunk.

    In order F, samples take the place of lines. The columns of a matrix are lines of one pixel.
    """
    lines, samples = like.image_shape or (H.shape[1], 1)
    along, across = (lines, samples) if order_of(like) == "C" else (samples, lines)
    width = H.chunks[1][0] if is_lazy(H) else H.shape[1]
    step = min(max(width // across, 1), along)
    return (H.rechunk((H.shape[0], step * across)) if is_lazy(H) else H), step


def dataset_of(H: Any, like: Data, names: Sequence[str]) -> Any:
    """Return a dataset of maps without data, with the coordinates and the reference system of the input."""
    xarray, da = needed("xarray"), needed("dask.array")
    container = container_of(like.file)
    items = container.items()
    item, dims = image_dimensions(items, like)
    lines, samples = like.require_image()
    variables: dict[str, Any] = {"anchor": ("anchor", np.array(names, dtype=object))}
    for dim, size in zip(dims, (lines, samples), strict=True):
        other = coordinate(items, item, dim)
        if other is not None and other.shape == (size,) and other.dtype.kind in "fiu":
            variables[dim] = ((dim,), container.read(other.name), carried(other))
    for other in items.values():
        if is_place(other, dims) and other.shape == (lines, samples):
            variables[other.base] = (tuple(dims), container.read(other.name), carried(other))
    attrs = {"long_name": f"abundances, from {like.file.name}"}
    mapping = grid_mapping(items, item)
    if mapping is not None or like.crs_wkt:
        name = "spatial_ref" if mapping is None else mapping.base
        wkt = {"crs_wkt": like.crs_wkt} if like.crs_wkt else {}
        variables[name] = ((), np.int64(0), wkt | ({} if mapping is None else carried(mapping)))
        attrs["grid_mapping"] = name
    shape = (len(names), lines, samples)
    rows = max(CHUNK // max(prod(shape[::2]) * 8, 1), 1)
    empty = da.full(shape, np.nan, dtype=H.dtype, chunks=(len(names), rows, samples))
    return xarray.Dataset({MAPS: (("anchor", *dims), empty, attrs)}, coords=variables)


def carried(item: Item) -> dict[str, Any]:
    """Return the attributes of an array that describe its copy: text and numbers, not those of HDF5."""
    return {
        name: value
        for name, value in item.attrs.items()
        if name not in NOT_CARRIED and not name.startswith("_") and isinstance(value, (str, int, float))
    }
