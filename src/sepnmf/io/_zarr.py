"""Reader of Zarr arrays and groups, of versions 2 and 3.

The package zarr is not used for reading: it decodes with any codec that a file names, some versions unpickle,
and chunks are decompressed without a limit.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._codecs import Codecs, codecs_of
from sepnmf.io._guards import TEXT_SIZE, check_claim, open_regular
from sepnmf.io._parts import overlaps, ranges_of

METADATA = ("zarr.json", ".zarray", ".zgroup")
DEEPEST, MOST = 16, 10_000  # levels of groups, and arrays
LARGEST_METADATA = 2**24
TYPE = re.compile(r"[<>|=]?[fiubcSUOMmV]\d*(\[\w+\])?")
REAL = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")
Step = tuple[str, Mapping[str, Any]]  # name and configuration of a codec
OPAQUE, TEXT = np.dtype("V1"), np.dtype("U")


@dataclass(frozen=True)
class ZarrArray:
    """An array whose chunks are files in a folder; or parts of such files, which then are shards.

    Attributes
    ----------
    folder : Path
        The folder.
    shape, chunks : tuple of int
        Sizes of the array and of a chunk.
    dtype : numpy dtype
        Type of the numbers; "U" for texts of any length, void for what cannot be read.
    fill_value : object
        What is read where nothing was written; None means zero.
    attrs : dict
        Attributes.
    dims : tuple of str or None
        Names of the dimensions.
    storage : mapping
        The metadata, from which codecs are found when numbers are read.
    """

    folder: Path
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    fill_value: Any
    attrs: Mapping[str, Any] = field(repr=False)
    dims: tuple[str, ...] | None
    storage: Mapping[str, Any] = field(repr=False)

    def __getitem__(self, index: tuple[Any, ...]) -> NDArray[Any]:
        """Read a part, given by an index or a slice with a positive step per axis."""
        ranges = ranges_of(index, self.shape)
        is_text = self.dtype == TEXT
        width = TEXT_SIZE if is_text else self.dtype.itemsize
        check_claim(max(prod(map(len, ranges)), prod(self.chunks)) * width, self.folder)
        axes = overlaps(ranges, self.chunks)
        stored = Chunks.of(self)
        found = np.zeros([len(r) for r in ranges], object if is_text else self.dtype)
        if is_text or self.fill_value is not None:
            found[...] = "" if is_text else self.fill_value
        for parts in product(*axes):
            chunk = stored.read(tuple(number for number, _, _ in parts))
            if chunk is not None:
                found[tuple(there for _, there, _ in parts)] = chunk[tuple(here for _, _, here in parts)]
        return found[tuple(slice(None) if isinstance(which, slice) else 0 for which in index)]


@dataclass
class Chunks:
    """The chunks of an array, decoded.

    Attributes
    ----------
    array : ZarrArray
        The array.
    codecs : Codecs
        How a chunk is stored.
    dtype : numpy dtype
        Type of the numbers, with the byte order in which they are stored.
    shards : tuple of int or None
        How many chunks a shard has along each axis; None if each chunk is a file.
    index_first : bool
        Whether the index of a shard is at its beginning.
    """

    array: ZarrArray
    codecs: Codecs
    dtype: np.dtype[Any]
    shards: tuple[int, ...] | None = None
    index_first: bool = False
    known: dict[tuple[int, ...], NDArray[np.uint64] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, array: ZarrArray) -> "Chunks":
        """Return the chunks of an array whose codecs are all known."""
        if array.dtype.kind not in "fiubcSU":
            raise ValueError("its entries are neither numbers nor text")
        if array.storage["zarr_format"] == 2:
            return cls(array, codecs_v2(array.storage, array.dtype), array.dtype)
        steps = steps_v3(array.storage["codecs"])
        if [name for name, _ in steps] != ["sharding_indexed"]:
            return cls(array, *codecs_v3(steps, array.dtype))
        options = steps[0][1]
        codecs, dtype = codecs_v3(steps_v3(options["codecs"]), array.dtype)
        if steps_v3(options["index_codecs"]) != [("bytes", {"endian": "little"}), ("crc32c", {})]:
            raise ValueError("the index of its shards is not stored as little-endian numbers with a checksum")
        outer = sizes(array.storage["chunk_grid"]["configuration"]["chunk_shape"], least=1)
        if any(size % inner for size, inner in zip(outer, array.chunks, strict=True)):
            raise ValueError("its shards are not of whole chunks")
        counts = tuple(size // inner for size, inner in zip(outer, array.chunks, strict=True))
        return cls(array, codecs, dtype, counts, options.get("index_location", "end") == "start")

    def read(self, place: tuple[int, ...]) -> NDArray[Any] | None:
        """Return a chunk; None if it was not written."""
        content = self.content(place) if self.shards is None else self.content_in_shard(place)
        return None if content is None else self.codecs.decode(content, self.array.chunks, self.dtype)

    def content(self, place: tuple[int, ...]) -> bytes | None:
        """Return the file of a chunk."""
        try:
            with open_regular(self.file(place)) as stream:
                return stream.read()
        except FileNotFoundError:
            return None

    def content_in_shard(self, place: tuple[int, ...]) -> bytes | None:
        """Return the part of the file of a shard that is a chunk."""
        shards = self.shards or ()
        shard = tuple(k // count for k, count in zip(place, shards, strict=True))
        try:
            with open_regular(self.file(shard)) as stream:
                size = stream.seek(0, 2)
                if shard not in self.known:
                    length = 16 * prod(shards) + 4
                    if length > size:
                        raise ValueError("a shard is shorter than its index")
                    stream.seek(0 if self.index_first else size - length)
                    plain = codecs_of([("crc32c", {})])
                    self.known = {shard: plain.decode(stream.read(length), (*shards, 2), np.dtype("<u8"))}
                index = self.known[shard]
                inner = tuple(k % count for k, count in zip(place, shards, strict=True))
                start, length = (0, 0) if index is None else map(int, index[inner])
                if (start, length) == (2**64 - 1, 2**64 - 1):
                    return None
                if start + length > size:
                    raise ValueError("a chunk is outside of its shard")
                stream.seek(start)
                return stream.read(length)
        except FileNotFoundError:
            return None

    def file(self, place: tuple[int, ...]) -> Path:
        """Return the file of a chunk or of a shard."""
        storage = self.array.storage
        words = [str(k) for k in place]
        if storage["zarr_format"] == 2:
            return self.array.folder / (separator(storage.get("dimension_separator", ".")).join(words) or "0")
        keys = storage.get("chunk_key_encoding", {"name": "default"})
        is_default = keys["name"] == "default"
        mark = separator(keys.get("configuration", {}).get("separator", "/" if is_default else "."))
        return self.array.folder / (mark.join(["c", *words] if is_default else words) or "0")


def separator(text: object) -> str:
    """Return what separates the numbers in the name of a chunk."""
    if text not in (".", "/"):
        raise ValueError(f"the names of its chunks have the separator {str(text)[:40]!r}")
    return str(text)


# Metadata


def open_zarr(folder: Path) -> "ZarrArray | dict[str, Any]":
    """Return the array in a folder, or the attributes of the group that it is."""
    if (folder / "zarr.json").is_file():
        found = load(folder / "zarr.json")
        if found.get("zarr_format") != 3 or found.get("node_type") not in ("array", "group"):
            raise ValueError("its zarr.json describes no array and no group of version 3")
        attributes = mapping(found.get("attributes") or {}, "attributes")
        return array_v3(folder, found, attributes) if found["node_type"] == "array" else attributes
    attributes = load(folder / ".zattrs") if (folder / ".zattrs").is_file() else {}
    if (folder / ".zarray").is_file():
        return array_v2(folder, load(folder / ".zarray"), attributes)
    if (folder / ".zgroup").is_file():
        load(folder / ".zgroup")
        return attributes
    raise ValueError("it is no folder with zarr.json, .zarray or .zgroup")


def arrays_in(folder: Path) -> dict[str, ZarrArray]:
    """Return all arrays below a group by their paths in it, in alphabetical order."""
    found: dict[str, ZarrArray] = {}
    seen = 0

    def walk(group: Path, path: str, depth: int) -> None:
        nonlocal seen
        groups = []
        for child in sorted(group.iterdir()):
            if child.is_symlink() or not has_metadata(child):
                continue
            seen += 1
            if seen > MOST:
                raise ValueError(f"it has more than {MOST} arrays")
            node = open_zarr(child)
            if isinstance(node, ZarrArray):
                found[path + child.name] = node
            else:
                groups.append(child)
        for child in groups if depth < DEEPEST else ():
            walk(child, f"{path}{child.name}/", depth + 1)

    walk(folder, "", 0)
    return found


def has_metadata(folder: Path) -> bool:
    """Return whether a folder contains the metadata of a Zarr array or group."""
    return any((folder / name).is_file() for name in METADATA)


def load(file: Path) -> dict[str, Any]:
    """Return the content of a file of metadata."""
    if file.stat().st_size > LARGEST_METADATA:
        raise ValueError(f"{file.name} is too large for metadata")
    with open_regular(file) as stream:
        return mapping(json.loads(stream.read()), file.name)


def mapping(found: object, what: str) -> dict[str, Any]:
    """Return what must be a mapping."""
    if not isinstance(found, dict):
        raise ValueError(f"{what} must be a mapping")
    return found


def sizes(found: object, least: int) -> tuple[int, ...]:
    """Return a shape."""
    if not isinstance(found, list) or not all(type(size) is int and size >= least for size in found):
        raise ValueError(f"its sizes are {str(found)[:40]}")
    return tuple(found)


def array_v2(folder: Path, found: dict[str, Any], attributes: dict[str, Any]) -> ZarrArray:
    """Return an array of version 2."""
    if found.get("zarr_format") != 2 or found.get("order") not in ("C", "F"):
        raise ValueError("its .zarray describes no array of version 2")
    written = found.get("dtype")
    dtype = np.dtype(written) if isinstance(written, str) and TYPE.fullmatch(written) else OPAQUE
    if dtype.kind == "O":
        names = [step.get("id") for step in found.get("filters") or () if isinstance(step, dict)]
        dtype = TEXT if names[:1] == ["vlen-utf8"] else dtype
    return array_of(
        folder, found, dtype, found.get("chunks"), attributes, attributes.get("_ARRAY_DIMENSIONS")
    )


def array_v3(folder: Path, found: dict[str, Any], attributes: dict[str, Any]) -> ZarrArray:
    """Return an array of version 3."""
    grid = mapping(found.get("chunk_grid"), "chunk_grid")
    if grid.get("name") != "regular":
        raise ValueError("its chunks are not of one size")
    chunks = mapping(grid.get("configuration"), "chunk_grid").get("chunk_shape")
    steps = steps_v3(found.get("codecs"))
    if [name for name, _ in steps] == ["sharding_indexed"]:
        chunks = steps[0][1].get("chunk_shape")
    if found.get("storage_transformers"):
        raise ValueError("it has storage transformers, which are not supported")
    dims = found.get("dimension_names") or attributes.get("_ARRAY_DIMENSIONS")
    return array_of(folder, found, type_v3(found.get("data_type")), chunks, attributes, dims)


def type_v3(found: object) -> np.dtype[Any]:
    """Return the type of the numbers of an array of version 3; void if it is not known."""
    name, options = (
        (found.get("name"), found.get("configuration")) if isinstance(found, dict) else (found, {})
    )
    name = str(name)
    if REAL.fullmatch(name):
        return np.dtype(name)
    if name in ("string", "variable_length_utf8"):
        return TEXT
    length = options.get("length_bytes") if isinstance(options, dict) else None
    if type(length) is not int or length < 1:
        return OPAQUE
    if name == "fixed_length_utf32":
        return np.dtype(f"U{length // 4}")
    return np.dtype(f"S{length}") if name == "null_terminated_bytes" else OPAQUE


def array_of(
    folder: Path, found: dict[str, Any], dtype: np.dtype[Any], chunks: object, attributes: Any, dims: object
) -> ZarrArray:
    """Return an array whose sizes are checked."""
    shape, pieces = sizes(found.get("shape"), least=0), sizes(chunks, least=1)
    if len(shape) != len(pieces):
        raise ValueError(f"it has {len(shape)} dimensions and its chunks have {len(pieces)}")
    named = isinstance(dims, list) and len(dims) == len(shape)
    return ZarrArray(
        folder=folder,
        shape=shape,
        chunks=pieces,
        dtype=dtype,
        fill_value=fill_of(found.get("fill_value"), dtype),
        attrs=attributes,
        dims=tuple("" if name is None else str(name) for name in dims) if named else None,  # type: ignore[attr-defined]
        storage=found,
    )


def fill_of(value: object, dtype: np.dtype[Any]) -> Any:
    """Return what is read where nothing was written; None for zero, and for what is no real number."""
    if value is None or dtype.kind not in "fiub":
        return None
    if dtype.kind == "f" and isinstance(value, str) and value.startswith("0x"):
        return np.array(int(value, 16), f"u{dtype.itemsize}").view(f"f{dtype.itemsize}")[()].item()
    if dtype.kind == "f" and isinstance(value, (int, float, str)):
        return float(value)
    if isinstance(value, (int, float)) and value == dtype.type(value):
        return dtype.type(value).item()
    raise ValueError(f"its fill value is {str(value)[:40]!r}")


# Codecs


def codecs_v2(found: Mapping[str, Any], dtype: np.dtype[Any]) -> Codecs:
    """Return the codecs of an array of version 2: its order, its filters and its compressor."""
    steps: list[Step] = [("transpose", {"order": found["order"]})]
    for step in [*(found.get("filters") or ()), found.get("compressor")]:
        if step is not None:
            options = dict(mapping(step, "a codec"))
            steps.append((str(options.pop("id", None)), options))
    if dtype == TEXT:
        steps = [step for step in steps[1:] if step[0] != "vlen-utf8"]
    return codecs_of(steps, is_text=dtype == TEXT)


def steps_v3(found: object) -> list[Step]:
    """Return names and configurations of codecs of version 3; those of numcodecs without its name."""
    if not isinstance(found, list):
        raise ValueError("its codecs are no list")
    steps: list[Step] = []
    for step in found:
        options = {"name": step} if isinstance(step, str) else mapping(step, "a codec")
        name = str(options.get("name")).removeprefix("numcodecs.")
        steps.append((name, mapping(options.get("configuration") or {}, "a codec")))
    return steps


def codecs_v3(steps: list[Step], dtype: np.dtype[Any]) -> tuple[Codecs, np.dtype[Any]]:
    """Return the codecs of an array of version 3, and its type with the byte order that they give."""
    is_text = dtype == TEXT
    middle = [options for name, options in steps if name == ("vlen-utf8" if is_text else "bytes")]
    if len(middle) != 1:
        raise ValueError("its codecs do not say how numbers become bytes")
    order = middle[0].get("endian", "little")
    if order not in ("little", "big"):
        raise ValueError(f"its codec bytes has the byte order {str(order)[:40]!r}")
    rest = [step for step in steps if step[0] not in ("bytes", "vlen-utf8")]
    return codecs_of(rest, is_text), dtype.newbyteorder(order)
