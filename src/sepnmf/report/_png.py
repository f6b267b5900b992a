"""PNG images as data URIs, encoded with zlib of the standard library."""

import base64
import struct
import zlib
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Floats

Palette = Literal["cividis", "gray"]

MISSING = 255  # index of the transparent palette entry; the other entries are levels
STOPS = {  # cividis (Nuñez, Anderton and Renslow 2018) suits colour-blind readers
    "cividis": """00224e 002e6c 1e3a6f 35456c 47516c 575d6d 666970 757575 848279 948e77 a59c74 b7a96e c8b866
        dbc75a eed649 fee838""",
    "gray": "000000 ffffff",
}


def colours(palette: Palette) -> NDArray[np.uint8]:
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


def png(entries: NDArray[np.uint8], palette: Palette) -> bytes:
    """Return a PNG file with the given palette entries, lines × samples."""
    lines, samples = entries.shape
    header = struct.pack(">IIBBBBB", samples, lines, 8, 3, 0, 0, 0)  # eight bits per pixel, with a palette
    unfiltered = np.hstack([np.zeros((lines, 1), np.uint8), entries]).tobytes()
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            chunk(b"IHDR", header),
            chunk(b"PLTE", colours(palette).tobytes()),
            chunk(b"tRNS", b"\xff" * MISSING + b"\x00"),
            chunk(b"IDAT", zlib.compress(unfiltered, 9)),
            chunk(b"IEND", b""),
        ]
    )


def chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk of a PNG file: length, kind, content, checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def data_uri(image: Floats, low: float, high: float, palette: Palette) -> str:
    """Return an image as a data URI."""
    encoded = base64.b64encode(png(levels(image, low, high), palette)).decode()
    return f"data:image/png;base64,{encoded}"


def scale_uri(palette: Palette) -> str:
    """Return an image of the levels of a palette, from left to right, as a data URI."""
    return data_uri(np.arange(float(MISSING))[None, :], 0.0, MISSING - 1.0, palette)
