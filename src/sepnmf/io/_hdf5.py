"""Reading of HDF5 datasets: what a dataset declares is checked before the library decompresses it.

The library decompresses a chunk to whatever size it has, and follows datasets into other files.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._codecs import unshuffled, zstd_size
from sepnmf.io._guards import TEXT_SIZE, check_claim, needed
from sepnmf.io._heaps import check_heaps
from sepnmf.io._parts import overlaps, ranges_of

# Filters that keep the size, and those that compress, by their numbers.
UNCOMPRESSED, SHUFFLE, CHECKSUM = 0, 2, 3
DEFLATE, SZIP, NBIT, SCALE_OFFSET, LZF = 1, 4, 5, 6, 32000
BLOSC, LZ4, BITSHUFFLE, ZSTD = 32001, 32004, 32008, 32015  # of plugins
SHORT = (NBIT, SCALE_OFFSET, LZF)  # become at most a hundred times as large
COMPRESSORS = (DEFLATE, SZIP, *SHORT, BLOSC, LZ4, BITSHUFFLE, ZSTD)

CHECKSUM_SIZE = 4  # bytes at the end of a chunk
UNCHECKED = 2**28  # bytes that a chunk may become without being decompressed for a check
MOST = 10_000  # arrays that belong together
DENSEST = 1032  # bytes that one byte of a deflated chunk can stand for


@contextmanager
def open_hdf5(file: Path) -> Iterator[Any]:
    """Open a file; refuse one with a damaged heap or tree, or a text that is longer than the file."""
    state = file.stat()
    check_heaps(file, state.st_mtime_ns, state.st_size)
    with needed("h5py").File(file, "r") as content:
        yield content


def read_dataset(dataset: Any, file: Path, index: tuple[Any, ...] = ()) -> NDArray[Any]:
    """Read a part of a dataset."""
    check_dataset(dataset, file, index)
    return np.asarray(dataset[index])


def check_dataset(dataset: Any, file: Path, index: tuple[Any, ...] = ()) -> None:
    """Refuse a dataset that is in another file, or a part of one that would not have its declared size."""
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{dataset.name!r} is stored in another file: save all variables in one file")
    width = width_of(dataset)
    ranges, chunk = ranges_of(index, dataset.shape or ()), dataset.chunks or ()
    check_claim(
        max(prod(map(len, ranges)), prod(chunk)) * (TEXT_SIZE if dataset.dtype.hasobject else width), file
    )
    if chunk:
        check_chunks(dataset, file, overlaps(ranges, chunk))
    string = needed("h5py").check_string_dtype(dataset.dtype)
    if string is not None and string.length is None:
        check_texts(dataset, file)


def width_of(dataset: Any) -> int:
    """Return the bytes of an entry in the file: texts have their length and place, which takes 16."""
    return int(dataset.id.get_type().get_size()) * (2 if dataset.dtype.hasobject else 1)


def check_texts(dataset: Any, file: Path) -> None:
    """Refuse texts of any length whose lengths do not fit the file; the library asks for so much memory."""
    total, size = 0, file.stat().st_size
    for content in contents_of(dataset, file):
        lengths = np.frombuffer(content[: len(content) // 16 * 16], "<u4")[::4]
        if lengths.size and int(lengths.max()) > size:
            raise ValueError(f"a text of {int(lengths.max())} bytes is longer than the file")
        total += int(lengths.sum(dtype=np.int64))
    check_claim(total, file)


def contents_of(dataset: Any, file: Path) -> Iterator[bytes]:
    """Yield what is stored of a dataset, if it is deflated or not compressed."""
    if dataset.chunks is None:
        offset = dataset.id.get_offset()
        if offset is not None:
            with file.open("rb") as stream:
                stream.seek(offset)
                yield stream.read(16 * dataset.size)
        return
    settings = dataset.id.get_create_plist()
    filters = [settings.get_filter(k)[0] for k in range(settings.get_nfilters())]
    if not {DEFLATE, SHUFFLE, CHECKSUM} >= set(filters):
        return
    declared = width_of(dataset) * prod(dataset.chunks)
    for k in range(min(dataset.id.get_num_chunks(), MOST)):
        stored = dataset.id.get_chunk_info(k)
        _, content = dataset.id.read_direct_chunk(stored.chunk_offset)
        for position, number in reversed(list(enumerate(filters))):
            if stored.filter_mask >> position & 1:
                continue
            if number == DEFLATE:
                content = zlib.decompressobj().decompress(content, declared + 4)
            elif number == SHUFFLE:
                content = unshuffled(content, 0, {"elementsize": 16})
            else:
                content = content[:-CHECKSUM_SIZE]
        yield content


def check_chunks(dataset: Any, file: Path, axes: list[list[tuple[int, slice, slice]]]) -> None:
    """Refuse chunks that become larger than they should."""
    width, chunk = width_of(dataset), dataset.chunks
    state = file.stat()
    number, doubtful = doubtful_chunks(file, dataset.name, state.st_mtime_ns, state.st_size)
    for parts in product(*axes) if doubtful else ():
        place = tuple(part[0] * size for part, size in zip(parts, chunk, strict=True))
        if place in doubtful:
            check_chunk(dataset, place, number, width * prod(chunk))


@lru_cache(maxsize=256)
def doubtful_chunks(file: Path, name: str, _: int, __: int) -> tuple[int, frozenset[tuple[int, ...]]]:
    """Return the filter that compresses a dataset, and the places of chunks that may become large.

    The library finds the size of a chunk by looking at all. The last two arguments tell versions of a file.
    """
    with open_hdf5(file) as content:
        dataset = content[name]
        position, number = compressor_of(dataset)
        declared = width_of(dataset) * prod(dataset.chunks)
        found = set()

        def note(chunk: Any) -> None:
            if dataset.fletcher32 and chunk.size < CHECKSUM_SIZE:  # which the library subtracts
                raise ValueError(f"a chunk of {declared} bytes takes {chunk.size} bytes in the file")
            if number == UNCOMPRESSED or chunk.filter_mask >> position & 1:
                return
            if chunk.size > declared + declared // 8 + 1024:
                raise ValueError(f"a chunk of {declared} bytes takes {chunk.size} bytes in the file")
            if number not in SHORT and (number != DEFLATE or chunk.size * DENSEST > UNCHECKED):
                found.add(tuple(map(int, chunk.chunk_offset)))

        if hasattr(dataset.id, "chunk_iter"):
            dataset.id.chunk_iter(note)
        else:
            for k in range(dataset.id.get_num_chunks()):
                note(dataset.id.get_chunk_info(k))
    return number, frozenset(found)


def check_tree(item: Any, file: Path) -> None:
    """Check a dataset, or all datasets of a group and of the groups in it; links are refused."""
    h5py = needed("h5py")
    left, seen = [item], set()
    while left:
        node = left.pop()
        if isinstance(node, h5py.Dataset):
            check_dataset(node, file)
            continue
        seen.add(h5py.h5o.get_info(node.id).addr)
        for name in node:
            if not isinstance(node.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{name[:40]!r} is a link: save all data in one file")
            if h5py.h5o.get_info(node[name].id).addr in seen:
                raise ValueError(f"{name[:40]!r} is a group that contains itself")
            left.append(node[name])
        if len(left) > MOST:
            raise ValueError(f"it has more than {MOST} arrays")


def compressor_of(dataset: Any) -> tuple[int, int]:
    """Return the place and the number of the filter that compresses; refuse unknown ones, and two."""
    settings = dataset.id.get_create_plist()
    found = []
    for k in range(settings.get_nfilters()):
        number, _, values, _ = settings.get_filter(k)
        if number in (SHUFFLE, CHECKSUM) or (number == BITSHUFFLE and values[4:5] in ((), (0,))):
            continue
        if number not in COMPRESSORS:
            raise ValueError(f"it is compressed with the filter {number}, which is not known: use gzip")
        # These two allocate what their parameters say.
        if number in (NBIT, SCALE_OFFSET) and values[2:3] != (prod(dataset.chunks),):
            raise ValueError("the parameters of its filter are not those of its chunks")
        found.append((k, number))
    if len(found) > 1:
        raise ValueError("its chunks are compressed twice")
    return found[0] if found else (0, UNCOMPRESSED)


def check_chunk(dataset: Any, place: tuple[int, ...], number: int, declared: int) -> None:
    """Refuse a chunk that becomes larger than declared."""
    _, content = dataset.id.read_direct_chunk(place)
    if number == DEFLATE:
        size = len(zlib.decompressobj().decompress(content, declared + 1))
    elif number == ZSTD:
        size = zstd_size(content) or declared + 1
    elif number in (LZ4, BITSHUFFLE):
        size = int.from_bytes(content[:8], "big")
    else:
        start = 4 if number == BLOSC else 0
        size = int.from_bytes(content[start : start + 4], "little")
    if size > declared:
        raise ValueError(f"a chunk becomes larger than the {declared} bytes that it should have")
