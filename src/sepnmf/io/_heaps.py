"""Checks of the texts of any length in an HDF5 file: the library takes the file's word for where they end.

They are in heaps. An attribute or a dataset refers to a text by its length, the address of its heap, and a
number in the heap: 16 bytes. The names in a group are in a heap of another kind, whose unused blocks are a
linked list.
"""

import re
import struct
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from sepnmf.io._guards import needed
from sepnmf.io._trees import NODE, check_trees
from sepnmf.io._trial import try_hdf5

SIGNATURE = b"\x89HDF\r\n\x1a\n"
HEAP_BEGIN = re.compile(rb"GCOL\x01...", re.DOTALL)  # the library does not look at the last three bytes
NAMES_BEGIN = re.compile(rb"HEAP\x00...", re.DOTALL)  # of a heap of names
ATTRIBUTE = re.compile(rb"(?=([\x02\x03][\x00-\x03].{6}))", re.DOTALL)  # of its later versions
LONGEST_ATTRIBUTE = 2**16
# Types of any length, 16 bytes in the file, that are neither a sequence (0) nor a text (1).
UNKNOWN_TYPE = re.compile(
    rb"[\x19\x29\x39\x49\x59][%b]..\x10\x00\x00\x00" % re.escape(bytes(b for b in range(256) if b % 16 > 1)),
    re.DOTALL,
)
HEAP_SIZE = 8  # bytes of what a heap begins with
REFERENCE = 16
UNUSED, LAST = 16, 1  # bytes of the smallest unused block of a heap of names, and what the last one refers to
BLOCK, SEARCHED = 2**24, 2**27  # bytes


@lru_cache(maxsize=256)
def check_heaps(file: Path, _: int, size: int) -> None:
    """Refuse damaged heaps and trees, a text longer than the file, and what ends the process otherwise.

    The library does not leave a heap that has an entry of no bytes, asks for memory without end where the
    unused blocks of a heap are a cycle, asks for the memory of a text before it looks for it, and ends the
    process where entries of any length are neither sequences nor texts. Heaps and trees are found by the
    bytes that they begin with, near both ends of a large file, where libraries write. The second argument
    tells versions of a file.
    """
    heaps: dict[int, set[int]] = {}  # the numbers of texts, by the place of their heap
    unknown: list[int] = []
    total = 0
    with file.open("rb") as stream:
        for place, block in blocks(stream, size, HEAP_SIZE - 1):
            unknown += [place + found.start() for found in UNKNOWN_TYPE.finditer(block)]
            for found in HEAP_BEGIN.finditer(block):
                begin = place + found.start()
                stream.seek(begin + HEAP_SIZE)
                length = int.from_bytes(stream.read(8), "little")
                if any(found[0][5:]) and length > size:
                    continue  # other data
                total += length
                if total > size:
                    raise ValueError("its heaps of texts are larger than the file")
                heaps[begin] = check_heap(stream, begin, begin + length)
        base = base_address(stream, size)
        check_names(stream, size, base)
        check_trees(blocks(stream, size, NODE.size - 1), base)
        addresses = {begin - base: numbers for begin, numbers in heaps.items()}
        places = list(islice(false_lengths(stream, size, addresses), 1000))
    try_hdf5(file)  # before the library is called in this process
    if places and not all(is_data(file, place) for place in places):
        raise ValueError("a text is longer than the file")
    if not all(is_data(file, place) for place in unknown[:1000]):
        raise ValueError("a type of its entries is damaged")


def blocks(stream: IO[bytes], size: int, more: int) -> Iterator[tuple[int, bytes]]:
    """Yield the places and contents of blocks of a file, with a few bytes of the next block."""
    for start, stop in [(0, size)] if size <= 2 * SEARCHED else [(0, SEARCHED), (size - SEARCHED, size)]:
        for place in range(start, stop, BLOCK):
            stream.seek(place)
            yield place, stream.read(BLOCK + more)


def check_heap(stream: IO[bytes], begin: int, end: int) -> set[int]:
    """Check the entries of a heap: each has a number, eight bytes further its length, and its content."""
    place, numbers = begin + 16, set()
    while end - place >= 16:
        stream.seek(place)
        entry = stream.read(16)
        number, length = int.from_bytes(entry[:2], "little"), int.from_bytes(entry[8:], "little")
        place += length if number == 0 else 16 + length + -length % 8  # the entry 0 is the space that is left
        if (number == 0 and length == 0) or place > end:
            raise ValueError("a heap of texts is damaged")
        numbers.add(number)
    return numbers - {0}


def check_names(stream: IO[bytes], size: int, base: int) -> None:
    """Check that the unused blocks of each heap of names end; each begins with the place of the next."""
    total = 0
    for start, block in blocks(stream, size, HEAP_SIZE - 1):
        for found in NAMES_BEGIN.finditer(block):
            stream.seek(start + found.start() + HEAP_SIZE)
            length, place, address = struct.unpack("<3Q", stream.read(24).ljust(24, b"\0"))
            begin = base + address
            if begin + length > size:
                continue  # other data, or the library refuses it
            total += length
            if total > size:
                raise ValueError("its heaps of names are larger than the file")
            for _ in range(length // UNUSED + 1):
                if place == LAST or place >= length:
                    break
                stream.seek(begin + place)
                place = int.from_bytes(stream.read(8), "little") or length  # the library refuses 0 here
            else:
                raise ValueError("a heap of names is damaged")


def base_address(stream: IO[bytes], size: int) -> int:
    """Return the place from which addresses count: 0, or behind a block of the user (512 for MATLAB)."""
    place = 0
    while place < size:
        stream.seek(place)
        if stream.read(len(SIGNATURE)) == SIGNATURE:
            return place
        place = 2 * place or 512
    return 0


def false_lengths(stream: IO[bytes], size: int, heaps: dict[int, set[int]]) -> Iterator[int]:
    """Yield the places of references to texts that are longer than the file.

    They are aligned in attributes of the oldest version. Elsewhere, other data are like them too often, and
    what is before them is looked at.
    """
    if not heaps:
        return
    known = np.array(sorted(heaps), "<u8")
    for place, block in blocks(stream, size, REFERENCE - 1):
        for shift in range(8):
            count = (len(block) - shift - REFERENCE + 8) // 8
            if count <= 0:
                continue
            addresses = np.frombuffer(block, "<u8", count, shift + 4)
            found = np.flatnonzero((addresses >= known[0]) & (addresses <= known[-1]))
            for k in found[np.isin(addresses[found], known)].tolist():
                at = shift + 8 * k
                length, number = (int.from_bytes(block[i : i + 4], "little") for i in (at, at + 12))
                if length <= size or number not in heaps[int(addresses[k])] or at >= BLOCK:
                    continue
                if shift == 0 or is_in_attribute(block, at, heaps):
                    yield place + at


def is_in_attribute(block: bytes, at: int, heaps: dict[int, set[int]]) -> bool:
    """Return whether references begin behind the head of an attribute and go on until a place."""
    for found in ATTRIBUTE.finditer(block, max(at - LONGEST_ATTRIBUTE, 0), at):
        version, name, *others = struct.unpack("<B1xHHH", found[1])
        first = found.start() + (9 if version == 3 else 8)
        begin = first + name + sum(others)
        if begin > at or (at - begin) % REFERENCE or block.find(0, first, at) != first + name - 1:
            continue
        before = (int.from_bytes(block[i + 4 : i + 12], "little") for i in range(begin, at, REFERENCE))
        if all(address in heaps or address == 0 for address in before):
            return True
    return False


def is_data(file: Path, place: int) -> bool:
    """Return whether a place is in a dataset: numbers may be any bytes, and texts are checked later."""
    h5py = needed("h5py")

    def has_place(_: str, item: Any) -> bool | None:
        if not isinstance(item, h5py.Dataset):
            return None
        return any(begin <= place < begin + size for begin, size in stored(item)) or None

    try:
        with h5py.File(file, "r") as content:
            return bool(content.visititems(has_place))
    except (OSError, RuntimeError, KeyError):  # it is damaged
        return False


def stored(dataset: Any) -> list[tuple[int, int]]:
    """Return the places and sizes of what is stored of a dataset."""
    if dataset.chunks is None:
        offset = dataset.id.get_offset()
        return [] if offset is None else [(offset, dataset.id.get_storage_size())]
    found: list[tuple[int, int]] = []
    if hasattr(dataset.id, "chunk_iter"):
        dataset.id.chunk_iter(lambda chunk: found.append((chunk.byte_offset, chunk.size)))
    else:
        chunks = map(dataset.id.get_chunk_info, range(dataset.id.get_num_chunks()))
        found += [(chunk.byte_offset, chunk.size) for chunk in chunks]
    return found
