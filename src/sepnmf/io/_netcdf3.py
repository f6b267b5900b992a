"""Reader of NetCDF files of version 3: the header is parsed here, and numbers are read where they are.

The reader of SciPy asks for the memory that a header declares before it looks at the file.
"""

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._guards import text_of

LARGEST_HEADER = 2**24
MOST = 10_000  # dimensions, attributes of an array, and arrays
DIMENSIONS, ARRAYS, ATTRIBUTES = 10, 11, 12  # tags of lists
TEXT = 2
TYPES = {1: "i1", TEXT: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8"}


@dataclass(frozen=True)
class NetCDFArray:
    """An array of a file: where its numbers are, and what is known of it."""

    file: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    attrs: dict[str, Any]
    offset: int
    step: int | None  # bytes from one record to the next, if the first dimension is that of records

    def __getitem__(self, index: tuple[Any, ...]) -> NDArray[Any]:
        """Read a part."""
        strides = [self.dtype.itemsize * prod(self.shape[k + 1 :]) for k in range(len(self.shape))]
        if self.step is not None:
            strides[0] = self.step
        steps = sum((size - 1) * stride for size, stride in zip(self.shape, strides, strict=True))
        end = self.offset + steps + self.dtype.itemsize if prod(self.shape) else 0
        if self.offset < 0 or end > self.file.stat().st_size:
            raise ValueError(f"the file is too short for {self.name[:40]!r}, which needs {end} bytes")
        content = np.memmap(self.file, np.uint8, "r")
        whole: NDArray[Any] = np.ndarray(self.shape, self.dtype, content, self.offset if end else 0, strides)
        return np.array(whole[index])


class Header:
    """The header of a file, read from its beginning."""

    def __init__(self, file: Path) -> None:
        self.file, self.place = file, 4
        with file.open("rb") as stream:
            self.content = stream.read(LARGEST_HEADER)
        if self.content[:4] not in (b"CDF\1", b"CDF\2"):
            raise ValueError("it does not begin with CDF and a version, 1 or 2")
        self.has_long_offsets = self.content[3] == 2
        self.records = self.number()
        self.sizes = [(self.text(), self.number()) for _ in range(self.count(DIMENSIONS))]
        self.attrs = self.attributes()

    def take(self, length: int) -> bytes:
        """Return the next bytes; those that fill up to four are skipped."""
        start, self.place = self.place, self.place + length + -length % 4
        if length < 0 or start + length > len(self.content):
            raise ValueError("its header is truncated")
        return self.content[start : start + length]

    def number(self, width: int = 4) -> int:
        """Return an integer."""
        return int.from_bytes(self.take(width), "big", signed=True)

    def text(self) -> str:
        """Return a name."""
        return text_of(self.take(self.number()))

    def count(self, tag: int) -> int:
        """Return the length of a list."""
        found, length = self.number(), self.number()
        if (found, length) != (0, 0) and (found != tag or not 0 <= length <= MOST):
            raise ValueError("a list of its header has a wrong tag, or more than 10,000 entries")
        return length

    def attributes(self) -> dict[str, Any]:
        """Return attributes: text, a number, or several."""
        found: dict[str, Any] = {}
        for _ in range(self.count(ATTRIBUTES)):
            name, kind, length = self.text(), self.number(), self.number()
            if kind not in TYPES:
                raise ValueError(f"{name[:40]!r} has the unknown type {kind}")
            dtype = np.dtype(TYPES[kind])
            values = self.take(length * dtype.itemsize)
            plain = np.frombuffer(values, dtype).astype(dtype.newbyteorder("="))
            found[name] = text_of(values).rstrip("\0") if kind == TEXT else plain
        return found

    def arrays(self) -> dict[str, NetCDFArray]:
        """Return all arrays by name."""
        found = []
        for _ in range(self.count(ARRAYS)):
            name = self.text()
            numbers = [self.number() for _ in range(min(self.number(), MOST))]
            if any(not 0 <= number < len(self.sizes) for number in numbers):
                raise ValueError(f"{name[:40]!r} has a dimension that is not in the file")
            attrs, kind, _ = self.attributes(), self.number(), self.number()
            offset = self.number(8 if self.has_long_offsets else 4)
            if kind not in TYPES:
                raise ValueError(f"{name[:40]!r} has the unknown type {kind}")
            dims = [self.sizes[number] for number in numbers]
            if any(size < 0 or (size == 0 and k) for k, (_, size) in enumerate(dims)):
                raise ValueError(f"{name[:40]!r} has a dimension of a wrong size")
            found.append((name, dims, np.dtype(TYPES[kind]), attrs, offset))
        # All arrays with a dimension of records have their numbers in turns, each filled up to four bytes.
        recorded = [
            prod(s for _, s in dims[1:]) * dtype.itemsize for _, dims, dtype, *_ in found if grows(dims)
        ]
        step = recorded[0] if len(recorded) == 1 else sum(size + -size % 4 for size in recorded)
        records = self.counted(found, step) if self.records < 0 else self.records
        return {
            name: NetCDFArray(
                file=self.file,
                name=name,
                shape=tuple(records if grows(dims) and k == 0 else size for k, (_, size) in enumerate(dims)),
                dtype=dtype,
                dims=tuple(word for word, _ in dims),
                attrs=attrs,
                offset=offset,
                step=step if grows(dims) else None,
            )
            for name, dims, dtype, attrs, offset in found
        }

    def counted(self, found: list[Any], step: int) -> int:
        """Return the number of records of a file that was written as a stream and does not say it."""
        first = min((offset for _, dims, _, _, offset in found if grows(dims)), default=0)
        return max((self.file.stat().st_size - first) // step, 0) if step else 0


def grows(dims: list[tuple[str, int]]) -> bool:
    """Return whether the first dimension is that of records, which has the size 0 in the header."""
    return bool(dims) and dims[0][1] == 0
