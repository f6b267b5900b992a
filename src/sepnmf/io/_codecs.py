"""Codecs of Zarr chunks that are known, decoded up to the size that the array declares and never further.

No codec is looked up by the name that a file gives: some of those that are registered unpickle.
"""

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._guards import needed

LONGEST_TEXT = 2**26  # bytes of a chunk of text, whose size is not declared
LZMA_MEMORY = 2**28

# Filters by what their configuration calls the type of the encoded numbers.
FILTERS = {
    "delta": "astype",
    "fixedscaleoffset": "astype",
    "quantize": "astype",
    "bitround": "",
    "astype": "encode_dtype",
}


@dataclass(frozen=True)
class Codecs:
    """How a chunk becomes bytes.

    Attributes
    ----------
    steps : tuple of pairs
        Names and configurations, in the order of writing: of arrays to arrays, then of bytes to bytes.
    is_text : bool
        Whether the numbers are texts of any length.
    """

    steps: tuple[tuple[str, Mapping[str, Any]], ...]
    is_text: bool = False

    def decode(self, content: bytes, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the array of a chunk; refuse content that has not the size of such an array."""
        kinds, shapes = [dtype], [shape]
        for name, options in self.steps:
            if name in FILTERS:
                kinds.append(filtered_type(options, name, kinds[-1]))
            elif name == "transpose":
                shapes.append(tuple(shapes[-1][k] for k in order_of(options, len(shape))))
        expected = LONGEST_TEXT if self.is_text else prod(shape) * kinds[-1].itemsize
        for k, (name, options) in reversed(list(enumerate(self.steps))):
            if name in DECODERS:
                sums = sum(other == "crc32c" for other, _ in self.steps[:k])
                content = DECODERS[name](content, expected + 4 * sums, options)
        if self.is_text:
            return texts(content, prod(shape)).reshape(shape)
        if len(content) != expected:
            raise ValueError(f"a chunk has {len(content)} bytes instead of {expected}")
        array: NDArray[Any] = np.frombuffer(content, kinds.pop())
        for name, options in reversed(self.steps):
            if name in FILTERS:
                array = needed("numcodecs").get_codec({**options, "id": name}).decode(array)
                array = np.asarray(array).view(kinds.pop()).ravel()
            elif name == "transpose":
                order = order_of(options, len(shape))
                array = array.reshape(shapes.pop()).transpose(np.argsort(order)).ravel()
        return array.reshape(shape)


def codecs_of(steps: list[tuple[str, Mapping[str, Any]]], is_text: bool = False) -> Codecs:
    """Return codecs if all are known, and if at most one of them compresses."""
    known = {*FILTERS, *DECODERS, "transpose"}
    for name, _ in steps:
        if name not in known:
            what = "pickles, which sepnmf never unpickles" if "pickle" in name else f"the codec {name[:40]!r}"
            raise ValueError(f"it is stored with {what}: expected one of {', '.join(sorted(known))}")
    if sum(name in COMPRESSORS for name, _ in steps) > 1:
        raise ValueError("its chunks are compressed twice")
    return Codecs(tuple(steps), is_text)


def filtered_type(options: Mapping[str, Any], name: str, before: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of the numbers that a filter has written; refuse types that are no real numbers."""
    for key in ("dtype", "astype", "encode_dtype", "decode_dtype"):
        if options.get(key) is not None and np.dtype(str(options[key])).kind not in "fiu":
            raise ValueError(f"the filter {name} is of the type {str(options[key])[:40]!r}")
    written = options.get(FILTERS[name]) or options.get("dtype")
    return np.dtype(str(written)) if written else before


def order_of(options: Mapping[str, Any], dimensions: int) -> tuple[int, ...]:
    """Return the order of the axes that a chunk is stored in."""
    order = options.get("order")
    if order in ("C", "F"):
        return tuple(range(dimensions))[:: 1 if order == "C" else -1]
    if not isinstance(order, list) or sorted(order) != list(range(dimensions)):
        raise ValueError("its codec transpose has no order of the axes")
    return tuple(order)


def texts(content: bytes, count: int) -> NDArray[Any]:
    """Return texts of any length: their number, then the length and the bytes of each."""
    found, place = np.empty(count, object), 4
    if len(content) < 4 + 4 * count or struct.unpack_from("<I", content)[0] != count:
        raise ValueError(f"a chunk does not have {count} texts")
    for k in range(count):
        (length,) = struct.unpack_from("<I", content, place)
        place += 4 + length
        if place > len(content):
            raise ValueError("a text does not have the length it declares")
        found[k] = content[place - length : place].decode("utf-8", "replace")
    return found


# From bytes to bytes: content, the most bytes it may become, and the configuration.


def in_pieces(make: Callable[[], Any]) -> Callable[[bytes, int, Mapping[str, Any]], bytes]:
    """Return a decoder that stops at the most bytes, given what makes a decompressor of the library."""

    def decode(content: bytes, most: int, _: Mapping[str, Any]) -> bytes:
        found, left = b"", content
        while left:  # a file may have several streams, one after another
            stream = make()
            found += stream.decompress(left, most + 1 - len(found))
            if len(found) > most:
                raise ValueError(f"a chunk has more than the {most} bytes that it should have")
            if not stream.eof:
                raise ValueError("a chunk is truncated")
            left = stream.unused_data
        return found

    return decode


def blosc(content: bytes, most: int, _: Mapping[str, Any]) -> bytes:
    """Decompress by Blosc; its header has the size, and the library trusts it."""
    if len(content) < 16:
        raise ValueError("a chunk is truncated")
    size, _, stored = struct.unpack_from("<III", content, 4)
    check_declared(size, most)
    if stored != len(content):
        raise ValueError(f"a chunk has {len(content)} bytes and declares {stored}")
    return bytes(needed("numcodecs.blosc").decompress(content))


def lz4(content: bytes, most: int, _: Mapping[str, Any]) -> bytes:
    """Decompress by LZ4 with the size before the content, as the package numcodecs writes it."""
    if len(content) < 4:
        raise ValueError("a chunk is truncated")
    check_declared(struct.unpack_from("<I", content)[0], most)
    return bytes(needed("numcodecs.lz4").decompress(content))


def zstd(content: bytes, most: int, _: Mapping[str, Any]) -> bytes:
    """Decompress by Zstandard into a buffer of the size that the frame declares, or else of the most."""
    size = zstd_size(content)
    if size is not None:
        check_declared(size, most)
    if most == LONGEST_TEXT and size is None:
        raise ValueError("a chunk of text does not declare its size")
    buffer = np.empty(most if size is None else size, np.uint8)
    if buffer.size:
        needed("numcodecs.zstd").decompress(content, buffer)
    return buffer.tobytes()


def zstd_size(content: bytes) -> int | None:
    """Return the size that a frame of Zstandard declares; None if it declares none."""
    if len(content) < 6 or content[:4] != b"\x28\xb5\x2f\xfd":
        raise ValueError("a chunk is not a frame of Zstandard")
    head = content[4]
    is_single = bool(head & 0x20)
    width = (1 if is_single else 0, 2, 4, 8)[head >> 6]
    place = 5 + (not is_single) + (0, 1, 2, 4)[head & 3]
    if len(content) < place + width:
        raise ValueError("a chunk is truncated")
    size = int.from_bytes(content[place : place + width], "little") + (256 if width == 2 else 0)
    return size if width else None


def crc32c(content: bytes, _: int, __: Mapping[str, Any]) -> bytes:
    """Return content without its checksum, which must be right."""
    if (
        len(content) < 4
        or needed("google_crc32c").value(content[:-4]) != struct.unpack("<I", content[-4:])[0]
    ):
        raise ValueError("the checksum of a chunk is wrong")
    return content[:-4]


def unshuffled(content: bytes, _: int, options: Mapping[str, Any]) -> bytes:
    """Return content whose first bytes of all numbers are stored first, then the second bytes, and so on."""
    width = options.get("elementsize", 4)
    if not isinstance(width, int) or width < 1 or len(content) % width:
        raise ValueError(f"its filter shuffle has the size {str(width)[:40]}")
    return np.frombuffer(content, np.uint8).reshape(width, -1).T.tobytes()


def check_declared(size: int, most: int) -> None:
    """Refuse a chunk that declares more than it may have."""
    if size > most:
        raise ValueError(f"a chunk declares {size} bytes and should have {most}")


COMPRESSORS: dict[str, Callable[[bytes, int, Mapping[str, Any]], bytes]] = {
    "gzip": in_pieces(lambda: zlib.decompressobj(31)),
    "zlib": in_pieces(zlib.decompressobj),
    "bz2": in_pieces(bz2.BZ2Decompressor),
    "lzma": in_pieces(lambda: lzma.LZMADecompressor(memlimit=LZMA_MEMORY)),
    "blosc": blosc,
    "lz4": lz4,
    "zstd": zstd,
}
DECODERS = COMPRESSORS | {"crc32c": crc32c, "shuffle": unshuffled}
