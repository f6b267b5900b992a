"""Metadata of EnMAP products: an XML file beside the GeoTIFF image."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from sepnmf.io._data import Data
from sepnmf.io._guards import parsing
from sepnmf.io._scaling import scaling_of

IMAGE, METADATA = "SPECTRAL_IMAGE", "METADATA"
LARGEST_METADATA = 2**26
BACKGROUND = -32768.0  # where the product has no data


def metadata_beside(file: Path) -> Path | None:
    """Return the metadata of an EnMAP image; None if the file is none, or if they are missing."""
    stem, found, rest = file.stem.upper().rpartition(IMAGE)
    if not found or not stem or rest:
        return None
    name = file.stem[: len(stem)] + METADATA
    candidates = (file.with_name(name + suffix) for suffix in (".XML", ".xml"))
    return next((path for path in candidates if path.is_file()), None)


def with_metadata(data: Data, metadata: Path) -> Data:
    """Return an EnMAP image with the wavelengths, the scale factors and the nodata value of the product."""
    if metadata.stat().st_size > LARGEST_METADATA:
        raise ValueError(f"{metadata.name} is too large for metadata of EnMAP.")
    with parsing(metadata, "metadata of EnMAP"):
        root = ElementTree.fromstring(metadata.read_bytes())
        bands = [
            {part.tag: part.text for part in band}
            for band in root.findall("specific/bandCharacterisation/bandID")
        ]
        if not all("wavelengthCenterOfBand" in band for band in bands):
            raise ValueError("a band has no wavelengthCenterOfBand")
        wavelengths = tuple(float(band["wavelengthCenterOfBand"] or "") for band in bands)
        gains = [float(band.get("GainOfBand") or 1) for band in bands]
        offsets = [float(band.get("OffsetOfBand") or 0) for band in bands]
        background = float(root.findtext(".//backgroundValue") or BACKGROUND)
        scaling = scaling_of(gain=gains, offset=offsets, what="gain of a band")
    if len(bands) != data.M.shape[0]:
        said = f"{metadata.name} has {len(bands)} bands, and the image {data.M.shape[0]}: it is not used."
        return replace(data, warnings=(*data.warnings, said))
    return replace(
        data,
        wavelengths=wavelengths,
        wavelength_unit="nm",
        scaling=data.scaling or scaling,
        nodata=background if data.nodata is None else data.nodata,
    )
