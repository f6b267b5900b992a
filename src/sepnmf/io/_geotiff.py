"""Reader and writer of GeoTIFF images, by the package rasterio."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from glob import escape
from math import prod
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Bools
from sepnmf.io._data import Data
from sepnmf.io._enmap import metadata_beside, with_metadata
from sepnmf.io._guards import check_claim, check_regular, check_size, in_one_line, needed, without_warnings
from sepnmf.io._masks import without
from sepnmf.io._scaling import scaling_of
from sepnmf.io._variables import check_real
from sepnmf.matrix import CHUNK, LARGE, Stored, in_chunks, native

KIND = "a GeoTIFF image"
OPENING = Lock()  # which warnings are suppressed is common to all threads
STRIP = 2**20  # bytes of a strip of the maps that are written


def read_geotiff(file: Path, *, large: int = LARGE, chunk: int = CHUNK) -> Data:
    """Read an image from a GeoTIFF file; as a Dask array if it exceeds `large` bytes as float64."""
    location = file.resolve()  # workers of a cluster need an absolute path
    for beside in sorted(location.parent.glob(f"{escape(location.stem)}.*")):  # GDAL opens some of these
        if not beside.is_dir():
            check_regular(beside)
    with opened(location) as image:
        shape = (image.count, image.height, image.width)
        kinds = {np.dtype("c8" if "complex" in kind else kind) for kind in image.dtypes}
        dtype = np.result_type(*kinds)
        block = image.count * max(map(prod, image.block_shapes))  # with all bands, if these are together
    check_real(dtype, file)
    nbytes = dtype.itemsize * prod(shape)
    check_claim(max(nbytes, dtype.itemsize * block), file)
    with opened(location) as image:
        wavelengths, unit = wavelengths_of(image)
        crs = image.crs
        found: dict[str, Any] = {
            "file": file,
            "image_shape": shape[1:],
            "row_names": band_names(image.descriptions),
            "wavelengths": wavelengths,
            "wavelength_unit": unit,
            **nodata_of(image.nodatavals),
            "scaling": scaling_of(gain=image.scales, offset=image.offsets),
            "crs_wkt": "" if crs is None else crs.to_wkt(),
            "transform": None if image.transform.is_identity else tuple(image.transform)[:6],
        }
        alpha, said, warnings = alpha_of(image)
        used, opaque = mask_of(image), opaque_in(image, alpha)
        together = image.block_shapes[0][0]
    if 8 * prod(shape) <= large:
        check_size(nbytes, file)
        M = read_window(location, slice(None), slice(None)).reshape(shape[0], -1)
    else:
        M = in_chunks(partial(read_window, location), dtype, shape, chunk, together)
    data = Data(M=M, assumptions=said, warnings=warnings, **found)
    if used is not None:
        data = without(data, "columns", used, "the mask in the file")
    if opaque is not None:
        data = without(data, "columns", opaque, "transparency (alpha)")
        data = without(data, "rows", ~alpha, "transparency (alpha)")
    metadata = metadata_beside(file)
    return data if metadata is None else with_metadata(data, metadata)


@contextmanager
def opened(file: Path) -> Iterator[Any]:
    """Open a GeoTIFF file and no other format; errors of the library become one line."""
    rasterio = needed("rasterio")
    with in_one_line(file, KIND):
        try:
            with OPENING, without_warnings():  # that an image has no place on the ground
                image = rasterio.open(file, driver="GTiff")
            with image:
                yield image
        except rasterio.errors.RasterioError as error:  # most say only "see previous exception"
            raise ValueError(str(error.__cause__ or error)) from error


def read_window(file: Path, lines: slice, samples: slice) -> NDArray[Any]:
    """Read pixels as bands × lines × samples, line by line if lines are skipped."""
    window = needed("rasterio.windows").Window
    with opened(file) as image:
        top, bottom, down = lines.indices(image.height)
        left, right, across = samples.indices(image.width)
        if down == 1:
            pixels = image.read(window=window(left, top, right - left, bottom - top))
        else:
            parts = [image.read(window=window(left, k, right - left, 1)) for k in range(top, bottom, down)]
            pixels = np.concatenate(parts, axis=1)
    return native(np.ascontiguousarray(pixels[:, :, ::across]))


def band_names(descriptions: Sequence[str | None]) -> tuple[str, ...]:
    """Return the descriptions of the bands; empty if none has one."""
    if not any(descriptions):
        return ()
    return tuple(text or f"band {k}" for k, text in enumerate(descriptions, start=1))


def nodata_of(values: Sequence[float | None]) -> dict[str, Any]:
    """Return the fields of `Data` with the nodata values of the bands, which may differ."""
    known = list(dict.fromkeys(str(float(value)) for value in values if value is not None))
    if not known:
        return {}
    first, *more = map(float, known)
    same = not more and None not in values
    return {"nodata": first, "more_nodata": tuple(more), "row_nodata": () if same else tuple(values)}


def wavelengths_of(image: Any) -> tuple[tuple[float, ...], str]:
    """Return the wavelengths in the tags of the bands, as GDAL writes them, and their unit."""
    values, unit = [], ""
    for band in range(1, image.count + 1):
        tags = {key.lower(): value for key, value in image.tags(band).items()}
        imagery = image.tags(band, ns="IMAGERY")
        try:
            if "wavelength" in tags:
                values.append(float(tags["wavelength"]))
                unit = tags.get("wavelength_units", tags.get("wavelength_unit", unit))
            else:
                values.append(float(imagery["CENTRAL_WAVELENGTH_UM"]))
                unit = "Micrometers"
        except (KeyError, ValueError):
            return (), ""
    return tuple(values), unit[:40]


def mask_of(image: Any) -> Bools | None:
    """Return which pixels have data by a mask in the file; None if it has none. Transparency is none."""
    flags = needed("rasterio.enums").MaskFlags
    known = image.mask_flag_enums[0]
    if flags.per_dataset not in known or flags.alpha in known:
        return None
    return nonzero(image, image.read_masks, 1)


def opaque_in(image: Any, alpha: Bools) -> Bools | None:
    """Return which pixels are not transparent in bands that are transparencies; None if there are none.

    GDAL takes such a band as a mask only if it is the second or the fourth, and the last.
    """
    masks = [nonzero(image, image.read, int(band) + 1) for band in np.flatnonzero(alpha)]
    return np.logical_and.reduce(masks) if masks else None


def nonzero(image: Any, read: Any, band: int) -> Bools:
    """Return in which pixels what is read of a band is not zero; some lines are read at a time."""
    window = needed("rasterio.windows").Window
    step = max(CHUNK // max(image.width, 1), 1)
    parts = [
        read(band, window=window(0, top, image.width, min(step, image.height - top))) != 0
        for top in range(0, image.height, step)
    ]
    return np.concatenate(parts).ravel()


def alpha_of(image: Any) -> tuple[Bools, tuple[str, ...], tuple[str, ...]]:
    """Return which bands are transparencies, what is assumed about it, and what looks wrong.

    A transparency is the largest number in most pixels that are not 0. The fourth band of a file of four may
    be declared as one by a writer that took the first three for colours.
    """
    meaning = needed("rasterio.enums").ColorInterp.alpha
    found = np.array([other == meaning for other in image.colorinterp], dtype=bool)
    said, warnings = [], []
    for band in (np.flatnonzero(found) + 1).tolist():
        values = some_values(image, band)
        if np.count_nonzero(values == most(values)) < np.count_nonzero(values) / 2:
            found[band - 1] = False
            others = ",".join(str(k) for k in range(1, image.count + 1) if k != band)
            said.append(
                f"Band {band} is declared as transparency (alpha) but has many values, and is taken as a "
                f"measurement; --bands {others} leaves it out."
            )
    last = image.count
    if last > 2 and not found[-1] and is_binary(image, last) and not is_binary(image, 1):
        largest = most(some_values(image, last))
        warnings.append(
            f"Band {last} has no other values than 0 and {largest}, as a transparency (alpha) has: if it is "
            f"no measurement, pass --bands 1-{last - 1}."
        )
    return found, tuple(said), tuple(warnings)


def some_values(image: Any, band: int) -> NDArray[Any]:
    """Return the numbers of a band in at most 512 × 512 pixels."""
    shape = min(image.height, 512), min(image.width, 512)
    values: NDArray[Any] = image.read(band, out_shape=shape)
    return values


def most(values: NDArray[Any]) -> int:
    """Return the largest number of the type of some integers, and 1 of other types."""
    return int(np.iinfo(values.dtype).max) if values.dtype.kind in "iu" else 1


def is_binary(image: Any, band: int) -> bool:
    """Return whether a band of integers has no other values than 0 and the largest of its type."""
    values = some_values(image, band)
    return values.dtype.kind in "iu" and bool(np.isin(values, (0, most(values))).all()) and bool(values.any())


def create_geotiff(
    file: Path, like: Path, image_shape: tuple[int, int], names: Sequence[str], nodata: float | None
) -> Stored:
    """Create an image of float32 where `like` is on the ground, and return where its numbers are.

    It is not compressed: its strips then follow each other without gaps, and tasks write into them as into a
    plain file.
    """
    rasterio = needed("rasterio")
    lines, samples = image_shape
    rows = min(max(STRIP // (4 * samples), 1), lines)
    profile: dict[str, Any] = {
        "driver": "GTiff",
        "dtype": "float32",
        "count": len(names),
        "height": lines,
        "width": samples,
        "nodata": nodata,
        "interleave": "band",
        "blockysize": rows,
        "bigtiff": "IF_SAFER",
    }
    with opened(like.resolve()) as image:
        places, places_crs = image.gcps
        if places:
            profile |= {"gcps": places, "crs": places_crs}
        else:
            profile |= {"crs": image.crs, "transform": image.transform}
        profile["rpcs"] = image.rpcs
    with without_warnings(), rasterio.open(file, "w", **profile) as maps:
        maps.descriptions = tuple(names)
        maps.update_tags(TIFFTAG_IMAGEDESCRIPTION=f"abundances, from {like.name}"[:200])
    last = (lines - 1) // rows
    with opened(file) as maps:
        in_strips = maps.block_shapes[0] == (rows, samples)
        offset, second, end = (
            int(maps.get_tag_item(f"BLOCK_OFFSET_0_{strip}", "TIFF", bidx=band) or 0)
            for band, strip in ((1, 0), (min(2, len(names)), 0), (len(names), last))
        )
    step = second - offset  # from one band to the next; the last strip of a band may be padded
    if not (in_strips and offset and end == offset + (len(names) - 1) * step + last * rows * 4 * samples):
        raise OSError(f"{file.name} was not created in one piece by this version of GDAL.")
    shape, strides = (len(names), lines, samples), (step, 4 * samples, 4)
    return Stored(str(file.resolve()), np.dtype("<f4"), shape, strides, offset)
