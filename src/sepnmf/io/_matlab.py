"""Reader of MATLAB files, .mat, of version 5 and of version 7.3 (HDF5 with reversed axes).

Version 5 is parsed here and not by SciPy, which decompresses without a limit and which damaged files can
crash. An element of a file is decompressed only up to the size that it declares.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, needed, parsing, text_of
from sepnmf.io._hdf5 import open_hdf5, read_dataset
from sepnmf.io._variables import Variable, choose, data_of, sparse_data_of

KIND = "a MATLAB file"
HDF5 = b"\x89HDF\r\n\x1a\n"

# Class names by their numbers in files of version 5.
CLASSES = {
    1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 6: "double", 7: "single", 8: "int8",
    9: "uint8", 10: "int16", 11: "uint16", 12: "int32", 13: "uint32", 14: "int64", 15: "uint64",
}  # fmt: skip
NUMERIC = {"logical"} | {name for number, name in CLASSES.items() if number > 5}

HEAD = 128  # bytes of the file header
START = 4096  # decompressed bytes of an element that are read to find its name, class and shape
MATRIX, COMPRESSED = 14, 15
DTYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
COMPLEX, LOGICAL = 0x800, 0x200
OPAQUE = 17
MOST_FIELDS = 10_000
DEEPEST = 3  # structures in structures whose fields are found


def read_mat(file: Path, *, variable: str | None = None, axes: str | None = None) -> Data:
    """Read a matrix or an image from a .mat file of version 5 or 7.3.

    If the file has scalars nRow and nCol, as public hyperspectral scenes do, and the matrix has nRow · nCol
    columns, the columns are the pixels of an image in column-major order.
    """
    with file.open("rb") as stream:
        head = stream.read(512 + len(HDF5))
    if head.startswith(HDF5) or head[512:] == HDF5:
        return read_hdf5(file, variable, axes)
    if len(head) < HEAD or head[126:128] not in (b"IM", b"MI"):
        raise ValueError(
            f"{file.name} is not a MATLAB file of version 5 or 7.3: save it with MATLAB's save(..., '-v7')."
        )
    return read_v5(file, variable, axes)


def with_image(data: Data, sizes: dict[str, Any]) -> Data:
    """Return `data` as an image if nRow and nCol give its shape, otherwise unchanged."""
    with parsing(data.file, KIND):
        shape = tuple(int(np.real(sizes[name].item())) if name in sizes else 0 for name in ("nrow", "ncol"))
    if data.image_shape is None and prod(shape) == data.M.shape[1] and min(shape) > 0:
        return replace(data, image_shape=(shape[0], shape[1]), image_order="F")
    return data


def is_image_size(variable: Variable) -> bool:
    """Return whether a variable is the scalar nRow or nCol."""
    is_number = variable.type in NUMERIC and variable.is_real and prod(variable.shape) == 1
    return is_number and variable.name.lower() in ("nrow", "ncol")


def needs_fields(variables: list[Variable], wanted: str | None) -> bool:
    """Return whether the variable to be read may be a field of a structure: only if no other is meant."""
    if wanted is None:
        return not any(variable.is_matrix for variable in variables)
    return wanted not in [variable.name for variable in variables]


# Version 7.3


def read_hdf5(file: Path, wanted: str | None, axes: str | None) -> Data:
    """Read a variable of a file of version 7.3."""
    h5py = needed("h5py")
    opened = ExitStack()
    with parsing(file, KIND):
        content = opened.enter_context(open_hdf5(file))
    with opened:
        with parsing(file, KIND):
            described = [describe_hdf5(name, content[name]) for name in own_names(content)]
            items = {variable.name: content[variable.name] for variable in described}
            if needs_fields(described, wanted):
                pairs = (pair for name, item in items.items() for pair in describe_all(name, item))
                found = list(islice(pairs, MOST_FIELDS + 1))
                if len(found) > MOST_FIELDS:
                    raise ValueError(f"it has more than {MOST_FIELDS} fields of structures")
                described, items = [v for v, _ in found], {v.name: item for v, item in found}
        chosen = choose(described, wanted, file)
        item = items[chosen.name]
        if isinstance(item, h5py.Group):
            data = sparse_data_of(read_sparse_group(item, file), file, chosen.name)
        else:
            data = data_of(read_reversed(item, file), file, chosen.name, axes)
        sizes = {v.name.lower(): read_reversed(items[v.name], file) for v in described if is_image_size(v)}
    return with_image(data, sizes)


def read_reversed(item: Any, file: Path) -> NDArray[Any]:
    """Read a dataset with its axes reversed."""
    with parsing(file, KIND):
        check_size(item.size * item.dtype.itemsize, file)
        return read_dataset(item, file).T


def own_names(content: Any) -> list[str]:
    """Return the names of the variables; links and MATLAB's internal groups are ignored."""
    hard = needed("h5py").HardLink
    return [n for n in content if not n.startswith("#") and isinstance(content.get(n, getlink=True), hard)]


def describe_all(name: str, item: Any, depth: int = 0) -> Iterator[tuple[Variable, Any]]:
    """Yield a variable and where it is, or the fields of a structure, as name.field."""
    found = describe_hdf5(name, item)
    fields = own_names(item) if found.type == "struct" and not found.shape and depth < DEEPEST else []
    for field in fields:
        yield from describe_all(f"{name}.{field}", item[field], depth + 1)
    if not fields:
        yield found, item


def describe_hdf5(name: str, item: Any) -> Variable:
    """Return name, shape (in MATLAB's order of axes) and class of a variable."""
    kind = text_of(item.attrs.get("MATLAB_class", b""))
    if "MATLAB_sparse" in item.attrs:
        starts = item["jc"] if "jc" in own_names(item) else None
        shape = int(item.attrs["MATLAB_sparse"]), 0 if starts is None else starts.size - 1
        return Variable(name, shape, "sparse", is_real=kind in NUMERIC)
    if not hasattr(item, "dtype"):
        return Variable(name, (), kind or "group", is_real=False)
    if "MATLAB_empty" in item.attrs:
        return Variable(name, (0, 0), kind, is_real=False)
    if item.dtype.names == ("real", "imag"):
        kind = f"complex {kind}"
    is_real = item.dtype.kind in "fiub" and (not kind or kind in NUMERIC)
    return Variable(name, tuple((item.shape or ())[::-1]), kind or str(item.dtype), is_real)


def read_sparse_group(group: Any, file: Path) -> Any:
    """Read a sparse matrix in CSC form; MATLAB omits the datasets of a matrix without entries."""
    with parsing(file, KIND):
        names = own_names(group)
        data, rows, starts = (
            read_reversed(group[name], file) if name in names else np.zeros(0)
            for name in ("data", "ir", "jc")
        )
        shape = int(group.attrs["MATLAB_sparse"]), starts.size - 1
        return sparse.csc_array((data, rows.astype(np.int64), starts.astype(np.int64)), shape=shape)


# Version 5


@dataclass(frozen=True)
class Element:
    """A variable of a file, its position and size in bytes, and where it is in a structure, if it is."""

    position: int
    nbytes: int
    is_compressed: bool
    variable: Variable
    place: tuple[int, ...] = ()


def read_v5(file: Path, wanted: str | None, axes: str | None) -> Data:
    """Read a variable of a file of version 5."""
    with parsing(file, KIND):
        elements = list(elements_of(file))
    if needs_fields([element.variable for element in elements], wanted):
        elements = [part for element in elements for part in with_fields(file, element)]
    chosen = choose([element.variable for element in elements], wanted, file)
    array = read_element(file, next(e for e in elements if e.variable is chosen))
    sizes = {e.variable.name.lower(): read_element(file, e) for e in elements if is_image_size(e.variable)}
    if chosen.type == "sparse":
        return with_image(sparse_data_of(array, file, chosen.name), sizes)
    return with_image(data_of(array, file, chosen.name, axes), sizes)


def elements_of(file: Path) -> Iterator[Element]:
    """Yield the variables that have a name; only the beginning of each is read."""
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
            variable = describe_v5(start, order)
            if variable.name:
                yield Element(position + 8, nbytes, is_compressed, variable)
            stream.seek(position + 8 + nbytes)


def order_of(head: bytes) -> str:
    """Return the byte order of a file, "<" or ">"."""
    return "<" if head[126:128] == b"IM" else ">"


def tag(content: bytes, order: str) -> tuple[int, int]:
    """Return the type and the number of bytes of an element."""
    if len(content) < 8:
        raise ValueError("the file is truncated")
    kind, nbytes = struct.unpack(order + "II", content[:8])
    return int(kind), int(nbytes)


def fields_of(content: bytes | memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield the type and bytes of each field of a variable: class, shape, name, then the numbers."""
    view, position = memoryview(content), 0
    while position < len(view):
        kind, nbytes = tag(view[position : position + 8].tobytes(), order)
        if kind >> 16:  # the tag itself contains up to four bytes
            kind, nbytes, begin, skip = kind & 0xFFFF, kind >> 16, position + 4, 8
        else:
            begin, skip = position + 8, 8 + nbytes + -nbytes % 8
        if begin + nbytes > len(view):
            raise ValueError("a field of a variable does not have the size it declares")
        yield kind, view[begin : begin + nbytes]
        position += skip


def numbers(field: tuple[int, memoryview], order: str) -> NDArray[Any]:
    """Return a field as an array of the type in which it is stored."""
    kind, content = field
    if kind not in DTYPES:
        raise ValueError(f"a field of a variable has the unknown type {kind}")
    return np.frombuffer(content, np.dtype(order + DTYPES[kind]))


def describe_v5(content: bytes | memoryview, order: str) -> Variable:
    """Return the name, shape and class of a variable."""
    fields = fields_of(content, order)
    first = numbers(next(fields, (0, memoryview(b""))), order)
    if first.size != 2 or first.dtype.kind != "u":
        raise ValueError("a variable has no class")
    flags = int(first[0])  # the class in the lowest byte, and the bits COMPLEX and LOGICAL
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


def with_fields(file: Path, element: Element) -> list[Element]:
    """Return a variable, or the fields of a structure, as name.field, which may be structures."""
    variable = element.variable
    if variable.type != "struct" or prod(variable.shape) != 1 or len(element.place) >= DEEPEST:
        return [element]
    content, order = content_of(file, element)
    found = []
    with parsing(file, KIND):
        fields = list(islice(fields_of(content, order), 5 + MOST_FIELDS))
        length = int(numbers(fields[3], order)[0]) if len(fields) > 4 else 0
        words = fields[4][1].tobytes() if length > 0 else b""
        if length > 0 and len(words) // length > MOST_FIELDS:
            raise ValueError(f"a structure has more than {MOST_FIELDS} fields")
        names = [
            words[k : k + length].split(b"\0")[0].decode("latin-1") for k in range(0, len(words), length or 1)
        ]
        for place, (name, (kind, part)) in enumerate(zip(names, fields[5:], strict=True), start=5):
            if kind == MATRIX and len(part):  # an empty field has no content
                member = replace(describe_v5(part, order), name=f"{variable.name}.{name}")
                found.append(replace(element, variable=member, place=(*element.place, place)))
    return [part for inner in found for part in with_fields(file, inner)] or [element]


def content_of(file: Path, element: Element) -> tuple[memoryview, str]:
    """Return the fields of a variable, decompressed, and the byte order."""
    check_size(element.nbytes, file)
    with file.open("rb") as stream:
        order = order_of(stream.read(HEAD))
        stream.seek(element.position)
        stored = stream.read(element.nbytes)
    content = decompressed(stored, order, file) if element.is_compressed else memoryview(stored)
    with parsing(file, KIND):
        for place in element.place:
            content = list(islice(fields_of(content, order), place + 1))[place][1]
    return content, order


def read_element(file: Path, element: Element) -> Any:
    """Read a numeric variable as a dense or sparse array."""
    content, order = content_of(file, element)
    with parsing(file, KIND):
        fields = list(islice(fields_of(content, order), 6))[3:]
        parts = [numbers(field, order) for field in fields]
        shape = element.variable.shape
        if element.variable.type != "sparse":
            return parts[0].reshape(shape, order="F").copy(order="F")  # arrays over bytes are read-only
        indices, starts = parts[0].astype(np.int64), parts[1].astype(np.int64)
        entries = int(starts[-1])
        values = parts[2][:entries].astype(parts[2].dtype.newbyteorder("="))
        rows, columns = shape
        return sparse.csc_array((values, indices[:entries], starts), shape=(rows, columns))


def decompressed(content: bytes, order: str, file: Path) -> memoryview:
    """Decompress the fields of a variable; refuse them if they do not have the declared size."""
    with parsing(file, KIND):
        _, nbytes = tag(zlib.decompressobj().decompress(content, 8), order)
    check_size(nbytes, file)
    with parsing(file, KIND):
        stream = zlib.decompressobj()
        plain = stream.decompress(content, 8 + nbytes + 1)
        if len(plain) != 8 + nbytes or not stream.eof:
            raise ValueError("a compressed variable does not have the size it declares")
    return memoryview(plain)[8:]
