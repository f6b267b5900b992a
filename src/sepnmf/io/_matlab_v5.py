"""MATLAB's files of version 5: elements one after another, most of them compressed.

They are read here rather than by SciPy, which inflates whatever an element makes of itself and which a
damaged file can crash. Each element is inflated no further than the size it declares.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, parsing
from sepnmf.io._matlab_classes import CLASSES, KIND, NUMERIC, says_size, with_image
from sepnmf.io._variables import Variable, choose, data_of, sparse_data_of

HEAD = 128
START = 4096  # bytes of an element that hold its name, class and shape, and more

MATRIX, COMPRESSED = 14, 15
DTYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
COMPLEX, LOGICAL = 0x800, 0x200
SPARSE, OPAQUE = 5, 17


@dataclass(frozen=True)
class Element:
    """Where a variable is in a file, and what it is."""

    position: int
    nbytes: int
    is_compressed: bool
    variable: Variable


def read_v5(file: Path, wanted: str | None) -> Data:
    """A variable of a file of version 5."""
    with parsing(file, KIND):
        elements = list(elements_of(file))
    chosen = choose([element.variable for element in elements], wanted, file)
    array = read_element(file, next(e for e in elements if e.variable is chosen))
    sizes = {e.variable.name.lower(): read_element(file, e) for e in elements if says_size(e.variable)}
    make = sparse_data_of if chosen.type == "sparse" else data_of
    return with_image(make(array, file, chosen.name), sizes)


def elements_of(file: Path) -> Iterator[Element]:
    """All variables that have a name; no more than the beginning of each is read."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        order = order_of(stream.read(HEAD))
        while (position := stream.tell()) < size:
            kind, nbytes = tag(stream.read(8), order)
            if not 0 < nbytes <= size - position - 8:
                raise ValueError(f"the variable at byte {position} does not have the size it declares")
            start = stream.read(min(nbytes, 16 * START))
            is_compressed = kind == COMPRESSED
            if is_compressed:
                start = zlib.decompressobj().decompress(start, START)
                kind, plain = tag(start, order)
                start = start[8 : 8 + plain]
            if kind != MATRIX:
                raise ValueError(f"the element at byte {position} is not a variable")
            variable = describe(start, order)
            if variable.name:
                yield Element(position + 8, nbytes, is_compressed, variable)
            stream.seek(position + 8 + nbytes)


def order_of(head: bytes) -> str:
    """Byte order of a file."""
    return "<" if head[126:128] == b"IM" else ">"


def tag(content: bytes, order: str) -> tuple[int, int]:
    """Type and number of bytes of an element."""
    if len(content) < 8:
        raise ValueError("it is cut short")
    kind, nbytes = struct.unpack(order + "II", content[:8])
    return int(kind), int(nbytes)


def fields_of(content: bytes, order: str) -> Iterator[tuple[int, memoryview]]:
    """Types and bytes of the fields of a variable: class, shape, name, then its numbers."""
    view, position = memoryview(content), 0
    while position < len(view):
        kind, nbytes = tag(view[position : position + 8].tobytes(), order)
        if kind >> 16:  # up to four bytes are kept in the tag itself
            kind, nbytes, begin, skip = kind & 0xFFFF, kind >> 16, position + 4, 8
        else:
            begin, skip = position + 8, 8 + nbytes + -nbytes % 8
        if begin + nbytes > len(view):
            raise ValueError("a field of a variable does not have the size it declares")
        yield kind, view[begin : begin + nbytes]
        position += skip


def numbers(field: tuple[int, memoryview], order: str) -> NDArray[Any]:
    """A field of numbers, of the type they are stored in."""
    kind, content = field
    if kind not in DTYPES:
        raise ValueError(f"a field of a variable has the unknown type {kind}")
    return np.frombuffer(content, np.dtype(order + DTYPES[kind]))


def flags_of(field: tuple[int, memoryview], order: str) -> int:
    """Class of a variable in the lowest byte, and whether it is complex or logical."""
    flags = numbers(field, order)
    if flags.size != 2 or flags.dtype.kind != "u":
        raise ValueError("a variable does not say of which class it is")
    return int(flags[0])


def describe(content: bytes, order: str) -> Variable:
    """Name, shape and class of a variable."""
    fields = fields_of(content, order)
    flags = flags_of(next(fields, (0, memoryview(b""))), order)
    if flags & 0xFF == OPAQUE:
        return Variable(next(fields)[1].tobytes().decode("latin-1"), (), "object", is_real=False)
    head = list(islice(fields, 2))
    if len(head) < 2:
        raise ValueError("a variable has no shape or no name")
    shape = tuple(int(size) for size in numbers(head[0], order))
    name = head[1][1].tobytes().decode("latin-1")
    kind = CLASSES.get(flags & 0xFF, "unknown")
    if flags & LOGICAL and kind != "sparse":
        kind = "logical"
    is_real = kind in NUMERIC | {"sparse"} and not flags & COMPLEX
    return Variable(name, shape, f"complex {kind}" if flags & COMPLEX else kind, is_real)


def read_element(file: Path, element: Element) -> Any:
    """The array of a variable of numbers."""
    check_size(element.nbytes, file)
    with file.open("rb") as stream:
        order = order_of(stream.read(HEAD))
        stream.seek(element.position)
        content = stream.read(element.nbytes)
    if element.is_compressed:
        content = inflated(content, order, file)
    with parsing(file, KIND):
        fields = list(islice(fields_of(content, order), 6))[3:]
        parts = [numbers(field, order) for field in fields]
        shape = element.variable.shape
        if element.variable.type != "sparse":
            return parts[0].reshape(shape, order="F").copy(order="F")  # what is read in place is read-only
        indices, starts = parts[0].astype(np.int64), parts[1].astype(np.int64)
        entries = int(starts[-1])
        values = parts[2][:entries].astype(parts[2].dtype.newbyteorder("="))
        rows, columns = shape
        return sparse.csc_array((values, indices[:entries], starts), shape=(rows, columns))


def inflated(content: bytes, order: str, file: Path) -> bytes:
    """The fields of a compressed variable in plain form, if they have the size it declares."""
    with parsing(file, KIND):
        _, nbytes = tag(zlib.decompressobj().decompress(content, 8), order)
    check_size(nbytes, file)
    with parsing(file, KIND):
        stream = zlib.decompressobj()
        plain = stream.decompress(content, 8 + nbytes + 1)
        if len(plain) != 8 + nbytes or not stream.eof:
            raise ValueError("a compressed variable does not have the size it declares")
    return plain[8:]
