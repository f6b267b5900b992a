"""Reader of ENVI images and spectral libraries: a text header, .hdr, and a data file beside it."""

import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from sepnmf.io._data import Data
from sepnmf.io._guards import parsing
from sepnmf.io._masks import with_good_bands
from sepnmf.io._scaling import Scaling, scaling_of
from sepnmf.matrix import CHUNK, LARGE, Stored

KIND = "an ENVI header"
LARGEST_HEADER = 2**24
LINE_BREAK = re.compile(r"\r\n?|\n")

# Order of the axes bands, lines and samples, from the slowest to the fastest.
INTERLEAVES = {"bsq": "bls", "bil": "lbs", "bip": "lsb"}

DTYPES = {
    1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip

# Of a header that was written for an image, so that it is not taken for that of another one: two files cannot
# be replaced at the same moment.
DIGEST, DIGESTED, DIGESTED_BLOCK = "sepnmf digest", 16, 4096

DATA_SUFFIXES = ("", ".img", ".sli", ".dat", ".raw", ".bin", ".bsq", ".bil", ".bip", ".hyspex")


def read_envi(file: Path, *, data: Path | None = None, large: int = LARGE, chunk: int = CHUNK) -> Data:
    """Read an image or a spectral library, given its header; as a Dask array above `large` bytes as float64.

    The spectra of a library become columns.
    """
    header = read_header(file)
    image = data or data_beside(file)
    check_digest(file, header, image)
    stored = stored_envi(file, header, image)
    is_library = str(header.get("file type", "")).strip().lower() == "envi spectral library"
    bands, lines, samples = stored.shape
    if is_library:
        if bands != 1:
            raise ValueError(f"{file.name} describes a spectral library with {bands} bands: expected one.")
        # Spectra are lines, and their samples are bands.
        strides = (stored.strides[2], stored.strides[1], 0)
        stored = replace(stored, shape=(samples, lines, 1), strides=strides)
        bands = samples
    with parsing(file, KIND):
        scaling, said, warnings = scaling_in(header, bands)
        nodata = number(header, "data ignore value")
    found = Data(
        M=stored.matrix(large, chunk),
        file=file,
        row_names=() if is_library else words(header, "band names", bands),
        column_names=words(header, "spectra names", lines) if is_library else (),
        wavelengths=wavelengths(header, bands),
        wavelength_unit=unit(header),
        image_shape=None if is_library else stored.image_shape,
        nodata=nodata,
        scaling=scaling,
        crs_wkt=wkt(header),
        transform=transform(header),
        assumptions=said,
        warnings=warnings,
    )
    return with_good_bands(found, header["bbl"], "bbl") if "bbl" in header else found


def digest_of(image: Path) -> str:
    """Return a digest of the size of an image and of a few blocks of it."""
    size = image.stat().st_size
    found = sha256(str(size).encode())
    with image.open("rb") as stream:
        for k in range(DIGESTED):
            stream.seek(max(size - DIGESTED_BLOCK, 0) * k // (DIGESTED - 1))
            found.update(stream.read(DIGESTED_BLOCK))
    return found.hexdigest()[:32]


def check_digest(file: Path, header: dict[str, Any], image: Path) -> None:
    """Refuse a header that says of which image it is, and is beside another one."""
    if DIGEST in header and header[DIGEST] != digest_of(image):
        raise ValueError(
            f"{file.name} was written for another image than {image.name}: write both again, or remove "
            f"{DIGEST!r} from the header if the image was changed on purpose."
        )


def number(header: dict[str, Any], key: str) -> float | None:
    """Return a number field; None if the header does not contain it."""
    if key not in header:
        return None
    value = header[key]
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{key} must be a number, got {str(value)[:40]!r}") from None


def scaling_in(header: dict[str, Any], bands: int) -> tuple[Scaling | None, tuple[str, ...], tuple[str, ...]]:
    """Return what turns the numbers into quantities, and what is to be said and warned of.

    Gains and offsets of the bands give radiance, or reflectance if the header has no others; the reflectance
    scale factor is for numbers without them.
    """
    factor = number(header, "reflectance scale factor")
    plain = None if factor is None else scaling_of(divisor=factor, what="reflectance scale factor")
    for kind in ("data", "data reflectance"):
        keys = [key for key in (f"{kind} gain values", f"{kind} offset values") if key in header]
        numbers = {key: per_band(header[key], bands) for key in keys}
        if not keys:
            continue
        wrong = tuple(
            f"{key} does not have one number for each of the {bands} bands: no gains and offsets are applied."
            for key in keys
            if numbers[key] is None
        )
        if wrong:
            return plain, (), wrong
        gain, offset = (numbers.get(f"{kind} {what} values") for what in ("gain", "offset"))
        found = scaling_of(
            gain=1.0 if gain is None else gain,
            offset=0.0 if offset is None else offset,
            what="gain of a band",
        )
        said = f"The {' and '.join(keys)} of the header are applied to its numbers"
        said += "." if factor is None else ", and the reflectance scale factor is not."
        return found, (said,), ()
    return plain, (), ()


def per_band(value: Any, bands: int) -> list[float] | None:
    """Return a list field with one number per band; None if it is none."""
    words = value if isinstance(value, list) else [value]
    try:
        numbers = [float(word) for word in words]
    except (TypeError, ValueError):
        return None
    return numbers if len(numbers) == bands else None


def unit(header: dict[str, Any]) -> str:
    """Return the unit of the wavelengths; empty if the header has none or says that it is unknown."""
    text = str(header.get("wavelength units", "")).strip()
    return "" if text.lower() in ("unknown", "index") else text[:40]


def wkt(header: dict[str, Any]) -> str:
    """Return the coordinate reference system; the parser splits its text at commas."""
    value = header.get("coordinate system string", "")
    return ",".join(value) if isinstance(value, list) else str(value)


def transform(header: dict[str, Any]) -> tuple[float, ...] | None:
    """Return the affine map of the field "map info" if it has one without rotation."""
    info = header.get("map info")
    try:
        sample, line, east, north, width, height = (float(word) for word in info[1:7])  # type: ignore[index]
    except (TypeError, ValueError):
        return None
    if any("rotation" in str(word).lower() and number_in(word) != 0 for word in info or ()):
        return None
    return (width, 0.0, east - (sample - 1) * width, 0.0, -height, north + (line - 1) * height)


def number_in(word: str) -> float:
    """Return the number after an equals sign, such as in "rotation=30"; NaN if there is none."""
    try:
        return float(word.rpartition("=")[2])
    except ValueError:
        return float("nan")


def stored_envi(file: Path, header: dict[str, Any], data: Path) -> Stored:
    """Return the location of the numbers in the data file, as the header describes it."""
    with parsing(file, KIND):
        lines, samples, bands = (integer(header, key) for key in ("lines", "samples", "bands"))
        offset = integer(header, "header offset")
        if min(lines, samples, bands) < 1 or offset < 0:
            raise ValueError(
                "lines, samples and bands must be positive, and header offset must not be negative"
            )
        if integer(header, "file compression"):
            raise ValueError("compressed files are not supported: save the image uncompressed")
        location = str(data.resolve())  # workers of a cluster need an absolute path
        shape = (bands, lines, samples)
        return Stored.in_order(location, dtype_of(header), shape, axes_of(header), offset)


def read_header(file: Path) -> dict[str, Any]:
    """Return the fields of a header as text or lists of text, by their names in lower case."""
    if file.stat().st_size > LARGEST_HEADER:
        raise ValueError(f"{file.name} is too large for an ENVI header.")
    content = file.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    with parsing(file, KIND):
        header = parse_header(text)
        for key in ("lines", "samples", "bands", "data type", "interleave", "byte order"):
            if key not in header:
                raise ValueError(f"it has no field {key!r}")
        for key in ("major frame offsets", "minor frame offsets"):
            if any(word not in ("0", "") for word in header.get(key, ())):
                raise ValueError("frame offsets are not supported: save the image without them")
    return header


def parse_header(text: str) -> dict[str, Any]:
    """Return the fields of a header; what is in braces, often on several lines, is a list.

    The parser of the package spectral takes a time that grows with the square of the length.
    """
    first, *others = LINE_BREAK.split(text)
    if not first.strip().startswith("ENVI"):
        raise ValueError('its first line does not begin with "ENVI"')
    lines = (line for line in others if not line.startswith(";"))
    header: dict[str, Any] = {}
    for line in lines:
        key, mark, value = line.partition("=")
        key, value = key.strip().lower(), value.strip()
        if mark and value.startswith("{"):
            parts = [value]
            while not parts[-1].endswith("}"):
                part = next(lines, None)
                if part is None:
                    raise ValueError(f"the braces of {key[:40]!r} are not closed")
                parts.append(part.strip())
            inner = "\n".join(parts)
            is_text = key == "description"
            header[key] = (
                inner.strip("{}").strip() if is_text else [w.strip() for w in inner[1:-1].split(",")]
            )
        elif mark:
            header[key] = value
    return header


def integer(header: dict[str, Any], key: str) -> int:
    """Return an integer field; 0 if the header does not contain it."""
    value = header.get(key, "0")
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ValueError(f"{key} must be an integer, got {str(value)[:40]!r}") from None


def dtype_of(header: dict[str, Any]) -> np.dtype[Any]:
    """Return the dtype of the numbers, with their byte order."""
    number = integer(header, "data type")
    if number not in DTYPES:
        raise ValueError(f"data type {number} is not a type of real numbers ({', '.join(map(str, DTYPES))})")
    order = integer(header, "byte order")
    if order not in (0, 1):
        raise ValueError(f"byte order must be 0 or 1, got {order}")
    return np.dtype("<>"[order] + DTYPES[number])


def axes_of(header: dict[str, Any]) -> str:
    """Return the order of the axes, from the slowest to the fastest."""
    interleave = str(header["interleave"]).lower()
    if interleave not in INTERLEAVES:
        raise ValueError(f"interleave must be one of {', '.join(INTERLEAVES)}, got {interleave[:40]!r}")
    return INTERLEAVES[interleave]


def words(header: dict[str, Any], key: str, count: int) -> tuple[str, ...]:
    """Return a list field with one entry per band; empty if there is none of that length."""
    value = header.get(key, [])
    return tuple(value) if isinstance(value, list) and len(value) == count else ()


def wavelengths(header: dict[str, Any], bands: int) -> tuple[float, ...]:
    """Return the wavelengths of all bands; empty if one is missing or is not a number."""
    try:
        return tuple(float(word) for word in words(header, "wavelength", bands))
    except ValueError:
        return ()


def data_beside(header: Path) -> Path:
    """Return the data file of a header."""
    for suffix in DATA_SUFFIXES:
        for spelling in (suffix, suffix.upper()):
            candidate = header.with_suffix(spelling)
            if candidate != header and candidate.is_file():
                return candidate
    raise FileNotFoundError(
        f"{header.name} has no data file in its folder: expected {header.stem} with one of the extensions "
        f"{', '.join(DATA_SUFFIXES[1:])} or none."
    )


def header_beside(data: Path) -> Path | None:
    """Return the header of a data file, or None if there is none."""
    for suffix in (".hdr", ".HDR"):
        for candidate in (data.with_suffix(suffix), data.with_name(data.name + suffix)):
            if candidate.is_file():
                return candidate
    return None
