"""Metadata of EnMAP products: an XML file beside the GeoTIFF image, or beside the two of a product L1B.

Products L1C and L2A have one image, products L1B one of each detector. The metadata list the bands of VNIR
before those of SWIR, and say how many each has.
"""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from sepnmf.io._data import Data
from sepnmf.io._guards import parsing
from sepnmf.io._scaling import scaling_of

IMAGE, METADATA = "SPECTRAL_IMAGE", "METADATA"
VNIR, SWIR = "_VNIR", "_SWIR"  # behind IMAGE in the names of files
LARGEST_METADATA = 2**26
BACKGROUND = -32768.0  # where the product has no data


def metadata_beside(file: Path) -> Path | None:
    """Return the metadata of an EnMAP image; None if the file is none, or if they are missing."""
    stem, found, rest = file.stem.upper().rpartition(IMAGE)
    if not found or not stem or rest not in ("", VNIR, SWIR):
        return None
    name = file.stem[: len(stem)] + METADATA
    candidates = (file.with_name(name + suffix) for suffix in (".XML", ".xml"))
    return next((path for path in candidates if path.is_file()), None)


def with_metadata(data: Data, metadata: Path) -> Data:
    """Return an EnMAP image with the wavelengths, the scale factors and the nodata value of the product."""
    if metadata.stat().st_size > LARGEST_METADATA:
        raise ValueError(f"{metadata.name} is too large for metadata of EnMAP.")
    detector = data.file.stem.upper().rpartition(IMAGE)[2]
    with parsing(metadata, "metadata of EnMAP"):
        root = ElementTree.fromstring(metadata.read_bytes())
        bands = bands_of(root, detector)
        if not all("wavelengthCenterOfBand" in band for band in bands):
            raise ValueError("a band has no wavelengthCenterOfBand")
        if len(bands) == data.M.shape[0]:
            wavelengths = tuple(float(band["wavelengthCenterOfBand"] or "") for band in bands)
            gains = [float(band.get("GainOfBand") or 1) for band in bands]
            offsets = [float(band.get("OffsetOfBand") or 0) for band in bands]
            background = float(root.findtext(".//backgroundValue") or BACKGROUND)
            scaling = scaling_of(gain=gains, offset=offsets, what="gain of a band")
    if len(bands) != data.M.shape[0]:
        which = f"bands of {detector[1:]}" if detector else "bands"
        said = f"{metadata.name} has {len(bands)} {which}, and the image {data.M.shape[0]}: it is not used."
        return replace(data, warnings=(*data.warnings, said))
    return replace(
        data,
        wavelengths=wavelengths,
        wavelength_unit="nm",
        scaling=data.scaling or scaling,
        nodata=background if data.nodata is None else data.nodata,
    )


def bands_of(root: ElementTree.Element, detector: str) -> list[dict[str, str | None]]:
    """Return what is known of each band, or of those of one detector.

    There are none of a detector if the numbers of bands of both do not add up to all of them.
    """
    bands = [
        {part.tag: part.text for part in band}
        for band in root.findall("specific/bandCharacterisation/bandID")
    ]
    if not detector:
        return bands
    counts = [int(root.findtext(f"product/image/{name}/channels") or 0) for name in ("vnir", "swir")]
    if sum(counts) != len(bands):
        return []
    return bands[: counts[0]] if detector == VNIR else bands[counts[0] :]
