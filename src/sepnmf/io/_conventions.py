"""Conventions of NetCDF, HDF5 and Zarr files: nodata, scale factors, wavelengths, names, coordinates."""

import base64
import struct
from typing import Any

import numpy as np

from sepnmf.io._containers import Container, Item
from sepnmf.io._guards import text_of
from sepnmf.io._scaling import Scaling, scaling_of

# Names of arrays with one number or text per band, in lower case.
WAVELENGTHS = (
    "wavelength", "wavelengths", "wavelen", "wl", "center_wavelength", "center_wavelengths",
    "central_wavelength", "central_wavelengths", "band_wavelength", "lambda", "wavenumber", "wavenumbers",
)  # fmt: skip
UNITS = (
    "nm", "nanometer", "nanometers", "nanometre", "nanometres", "um", "µm", "μm", "micron", "microns",
    "micrometer", "micrometers", "micrometre", "micrometres", "cm-1", "cm^-1", "1/cm",
)  # fmt: skip
BAND_NAMES = ("band_name", "band_names", "bandname", "bandnames", "name", "names")
MOST_NODATA = 100
GOOD_BANDS = ("good_wavelengths", "good_bands", "bbl")


def nodata_of(item: Item) -> tuple[float, ...]:
    """Return the numbers that mean "no data".

    They are the attributes _FillValue and missing_value; otherwise what the storage has where nothing was
    written, unless that is zero, which nobody has chosen, or the entries are single bytes, where it may be a
    measurement.
    """
    found: list[float] = []
    for name in ("_FillValue", "missing_value"):
        value = item.attrs.get(name)
        if isinstance(value, str) and item.dtype.kind == "f":
            value = decoded(value)
        numbers = np.ravel(value).tolist() if value is not None else []
        if len(numbers) > MOST_NODATA:
            raise ValueError(f"{name} has more than {MOST_NODATA} numbers")
        for number in numbers:
            if isinstance(number, (int, float)) and not any(same(number, other) for other in found):
                found.append(float(number))
    if found:
        return tuple(found)
    fill = item.fill
    chosen = isinstance(fill, (int, float, np.number)) and not isinstance(fill, bool) and fill != 0
    return (float(fill),) if chosen and item.dtype.itemsize > 1 else ()


def same(a: float, b: float) -> bool:
    """Return whether two numbers are equal, or both NaN."""
    return a == b or (np.isnan(a) and np.isnan(b))


def decoded(text: str) -> float | None:
    """Return a number that xarray has written into a Zarr attribute as text."""
    try:
        return float(struct.unpack("<d", base64.b64decode(text, validate=True))[0])
    except (ValueError, struct.error):
        try:
            return float(text)
        except ValueError:
            return None


def scaling_of_attributes(item: Item) -> Scaling | None:
    """Return the scale factor and the offset of the CF conventions."""
    gain, offset = item.attrs.get("scale_factor", 1.0), item.attrs.get("add_offset", 0.0)
    for value in (gain, offset):
        if not isinstance(value, (int, float, np.number)):
            raise ValueError(f"scale_factor and add_offset must be numbers, got {str(value)[:40]!r}")
    return scaling_of(gain=gain, offset=offset, what="scale_factor")


def per_band(items: dict[str, Item], item: Item, axes: str, names: tuple[str, ...]) -> Item | None:
    """Return the array with one entry per band that has one of these names: nearest to the image first."""
    bands = item.shape[axes.index("b")]
    found = [
        other
        for other in items.values()
        if other.base.lower() in names and other.shape == (bands,) and other is not item
    ]
    return min(
        found, key=lambda other: (other.group != item.group, names.index(other.base.lower())), default=None
    )


def band_coordinate(items: dict[str, Item], item: Item, axes: str) -> Item | None:
    """Return the array with the coordinates of the bands: it has the name of their dimension."""
    return None if item.dims is None else coordinate(items, item, item.dims[axes.index("b")])


def coordinate(items: dict[str, Item], item: Item, dim: str) -> Item | None:
    """Return the array of one dimension that has the name of this dimension."""
    group = item.group
    while True:
        other = items.get(f"{group}/{dim}" if group else dim)
        if other is not None and len(other.shape) == 1 and other.dims in ((dim,), None):
            return other
        if not group:
            return None
        group = group.rpartition("/")[0]


def wavelengths_of(
    container: Container, items: dict[str, Item], item: Item, axes: str
) -> tuple[tuple[float, ...], str]:
    """Return the wavelengths of the bands and their unit; empty if there are none."""
    found = per_band(items, item, axes, WAVELENGTHS)
    if found is None:
        other = band_coordinate(items, item, axes)
        unit = "" if other is None else str(other.attrs.get("units", ""))
        found = other if unit.strip().lower() in UNITS else None
    if found is None or found.dtype.kind not in "fiu" or found.shape != (item.shape[axes.index("b")],):
        return (), ""
    values = container.read(found.name).astype(float)
    unit = str(found.attrs.get("units", found.attrs.get("unit", ""))).strip()[:40]
    return (tuple(values.tolist()), unit) if np.isfinite(values).all() else ((), "")


def row_names_of(container: Container, items: dict[str, Item], item: Item, axes: str) -> tuple[str, ...]:
    """Return the names of the bands, or their coordinates if these do not just count; empty if none."""
    bands = item.shape[axes.index("b")]
    long = item.attrs.get("long_name")  # a list in files of rioxarray
    if isinstance(long, (list, tuple)) and len(long) == bands and bands > 1:
        return tuple(map(str, long))
    for other in (band_coordinate(items, item, axes), per_band(items, item, axes, BAND_NAMES)):
        if other is not None and other.shape == (bands,) and other.dtype.kind in "SUOT":
            return tuple(text_of(word) for word in container.read(other.name).tolist())
    other = band_coordinate(items, item, axes)
    if other is None or other.shape != (bands,) or other.dtype.kind not in "fiu":
        return ()
    values = container.read(other.name).astype(float)
    is_count = np.array_equal(values - values[0], np.arange(bands)) and values[0] in (0, 1)
    return () if is_count else tuple(f"{value:.12g}" for value in values)


def good_bands_of(
    container: Container, items: dict[str, Item], item: Item, axes: str
) -> tuple[list[Any], str] | None:
    """Return flags of the bands, 0 for bad ones, and their name; None if there are none."""
    found = per_band(items, item, axes, GOOD_BANDS)
    if found is None or found.dtype.kind not in "fiub":
        return None
    return container.read(found.name).tolist(), found.base


def grid_mapping(items: dict[str, Item], item: Item) -> Item | None:
    """Return the variable with the coordinate reference system, by the CF conventions."""
    name = str(item.attrs.get("grid_mapping", "")).partition(":")[0].strip()
    names = [name] if name else ["spatial_ref", "crs"]
    for other in items.values():
        if other.base in names and (wkt_in(other) or "GeoTransform" in other.attrs):
            return other
    return None


def wkt_in(item: Item) -> str:
    """Return the WKT among the attributes; empty if there is none."""
    for name in ("crs_wkt", "spatial_ref"):
        if isinstance(item.attrs.get(name), str):
            return str(item.attrs[name])
    return ""


def crs_of(items: dict[str, Item], item: Item) -> str:
    """Return the coordinate reference system as WKT; of the whole file if the array has none."""
    mapping = grid_mapping(items, item)
    if mapping is not None:
        return wkt_in(mapping)
    return wkt_in(items[""]) if "" in items else ""


def transform_of(
    container: Container, items: dict[str, Item], item: Item, axes: str
) -> tuple[float, ...] | None:
    """Return the affine map from samples and lines to coordinates; None if there is none."""
    mapping = grid_mapping(items, item)
    words = str(mapping.attrs.get("GeoTransform", "")).split() if mapping is not None else []
    try:
        c, a, b, f, d, e = (float(word) for word in words)
    except ValueError:
        pass
    else:
        return (a, b, c, d, e, f)
    if item.dims is None:
        return None
    steps = []
    for letter in "sl":
        other = coordinate(items, item, item.dims[axes.index(letter)])
        if other is None or other.dtype.kind not in "fiu" or other.shape[0] < 2:
            return None
        values = container.read(other.name).astype(float)
        step = (values[-1] - values[0]) / (values.size - 1)
        if not np.allclose(np.diff(values), step, rtol=1e-3, atol=0) or step == 0:
            return None
        steps.append((float(step), float(values[0] - step / 2)))
    (width, left), (height, top) = steps
    return (width, 0.0, left, 0.0, height, top)
