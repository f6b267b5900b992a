"""PNG images as data URIs, encoded with zlib of the standard library."""

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Floats

Palette = Literal["cividis", "gray"]
Colours = NDArray[np.uint8]  # 256 × 3

MISSING = 255  # index of the transparent palette entry; the other entries are levels
STOPS = {  # cividis (Nuñez, Anderton and Renslow 2018) suits colour-blind readers
    "cividis": """00224e 002e6c 1e3a6f 35456c 47516c 575d6d 666970 757575 848279 948e77 a59c74 b7a96e c8b866
        dbc75a eed649 fee838""",
    "gray": "000000 ffffff",
}
# Okabe and Ito's colours for categories, in the order of the curves, and a grey for all that come after.
CATEGORIES = ("0072b2", "d55e00", "009e73", "cc79a7", "000000", "e69f00", "56b4e9", "f0e442")
OTHERS = "dddddd"


def colours(palette: Palette) -> Colours:
    """Return the 256 colours of a palette, interpolated between its stops; the last is for missing values."""
    stops = np.array([list(bytes.fromhex(stop)) for stop in STOPS[palette].split()], dtype=float)
    place = np.linspace(0, len(stops) - 1, MISSING)
    levels = np.column_stack([np.interp(place, np.arange(len(stops)), channel) for channel in stops.T])
    return np.vstack([levels.round(), [128, 128, 128]]).astype(np.uint8)


def levels(image: Floats, low: float, high: float) -> NDArray[np.uint8]:
    """Return the palette entries of an image: 0 at `low` and below, 254 at `high` and above."""
    values = np.asarray(image, dtype=float)
    missing = np.isnan(values)
    scaled = (np.where(missing, low, values).clip(low, high) - low) / ((high - low) or 1.0)
    return np.where(missing, MISSING, (scaled * (MISSING - 1)).round()).astype(np.uint8)


def stretched(palette: Palette, span: tuple[float, float], low: float, high: float) -> Colours:
    """Return the colours of levels that span some values, on a scale from `low` to `high`."""
    table = colours(palette)
    with np.errstate(over="ignore"):
        values = np.linspace(*span, MISSING)
    table[:MISSING] = table[levels(values, low, high)]
    return table


def categories(listed: Sequence[str]) -> Colours:
    """Return the colours of categories, given as six hexadecimal digits, as the first of 256."""
    table = np.full((MISSING + 1, 3), 128, np.uint8)
    table[: len(listed)] = [list(bytes.fromhex(colour)) for colour in listed]
    return table


def png(entries: NDArray[np.uint8], table: Colours) -> bytes:
    """Return a PNG file with the given palette entries, lines × samples."""
    lines, samples = entries.shape
    header = struct.pack(">IIBBBBB", samples, lines, 8, 3, 0, 0, 0)  # eight bits per pixel, with a palette
    unfiltered = np.hstack([np.zeros((lines, 1), np.uint8), entries]).tobytes()
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            chunk(b"IHDR", header),
            chunk(b"PLTE", table.tobytes()),
            chunk(b"tRNS", b"\xff" * MISSING + b"\x00"),
            chunk(b"IDAT", zlib.compress(unfiltered, 9)),
            chunk(b"IEND", b""),
        ]
    )


def chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk of a PNG file: length, kind, content, checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def data_uri(entries: NDArray[np.uint8], table: Colours) -> str:
    """Return an image as a data URI. Its palette is in the same place in every URI: see `palette_text`."""
    return f"data:image/png;base64,{base64.b64encode(png(entries, table)).decode()}"


def palette_text(table: Colours) -> str:
    """Return a palette as the 1040 characters that it takes in a data URI, from the 67th on.

    The signature and the header of a PNG file are 33 bytes, the palette is 780 bytes: both are multiples of
    three, so that a script can exchange the palette without reading the file.
    """
    return base64.b64encode(chunk(b"PLTE", table.tobytes())).decode()
