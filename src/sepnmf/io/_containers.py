"""Files with many named arrays: HDF5, NetCDF of version 3, and Zarr."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf.io._guards import needed, parsing, text_of
from sepnmf.io._hdf5 import open_hdf5, read_dataset
from sepnmf.io._netcdf3 import Header
from sepnmf.io._zarr import ZarrArray, arrays_in, has_metadata, open_zarr
from sepnmf.matrix import native

DEEPEST, MOST = 16, 10_000  # levels of groups, and arrays, of a file


@dataclass(frozen=True)
class Item:
    """An array of a file: its path in the file, shape, type, names of dimensions, attributes and storage."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    dims: tuple[str, ...] | None = None
    attrs: dict[str, Any] = field(default_factory=dict)
    chunks: tuple[int, ...] | None = None
    fill: Any = None  # what is read where nothing was written

    @property
    def base(self) -> str:
        """The name without the groups it is in."""
        return self.name.rpartition("/")[2]

    @property
    def group(self) -> str:
        """The path of the group; empty for the root."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True)
class Container:
    """A file with named arrays. It is opened anew for each part, here or in another process."""

    file: Path
    kind = "a file"

    def items(self) -> dict[str, Item]:
        """Return all arrays by name; the empty name is the root, if that has attributes and no array."""
        raise NotImplementedError

    def opened(self, name: str) -> AbstractContextManager[Any]:
        """Open an array."""
        raise NotImplementedError

    def read(self, name: str, index: tuple[Any, ...] = ()) -> NDArray[Any]:
        """Read a part of an array."""
        with parsing(self.file, self.kind), self.opened(name) as array:
            return np.asarray(array[index])

    def read_part(self, name: str, axes: str, lines: slice, samples: slice) -> NDArray[Any]:
        """Read pixels as bands × lines × samples; the columns of a matrix are lines of one sample."""
        where: dict[str, Any] = {"b": slice(None), "l": lines, "s": samples, "-": 0}
        part = self.read(name, tuple(where[axis] for axis in axes))
        kept = axes.replace("-", "")
        if "s" not in kept:
            part, kept = part[..., None], f"{kept}s"
        return native(np.ascontiguousarray(part.transpose([kept.index(axis) for axis in "bls"])))


class HDF5(Container):
    """A file of HDF5, which NetCDF of version 4 is."""

    kind = "an HDF5 file"

    def items(self) -> dict[str, Item]:
        """Return all arrays in this file; links to other places are not followed."""
        h5py = needed("h5py")
        found: dict[str, Item] = {}
        seen = set()

        def walk(group: Any, path: str, depth: int) -> None:
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    continue
                node = group[name]
                address = h5py.h5o.get_info(node.id).addr
                if address in seen:
                    continue
                seen.add(address)
                if isinstance(node, h5py.Group):
                    if depth < DEEPEST:
                        walk(node, f"{path}{name}/", depth + 1)
                elif isinstance(node, h5py.Dataset) and node.shape is not None:
                    if len(found) >= MOST:
                        raise ValueError(f"it has more than {MOST} arrays")
                    found[path + name] = describe(node, path + name)

        with parsing(self.file, self.kind), open_hdf5(self.file) as content:
            walk(content, "", 0)
            found[""] = Item("", (), np.dtype("V"), attrs=attributes(content.attrs))
        return found

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """Open a dataset."""
        with open_hdf5(self.file) as content:
            yield content[name]

    def read(self, name: str, index: tuple[Any, ...] = ()) -> NDArray[Any]:
        """Read a part of a dataset; refuse one whose numbers are in another file, or whose chunks lie."""
        with parsing(self.file, self.kind), self.opened(name) as dataset:
            return read_dataset(dataset, self.file, index)


def describe(dataset: Any, name: str) -> Item:
    """Return what is known of a dataset; its dimensions are those of NetCDF, if it has them."""
    dims = tuple(dimension_name(dim) for dim in dataset.dims)
    if dataset.is_scale and len(dataset.shape) == 1:
        dims = (name.rpartition("/")[2],)
    kind = dataset.dtype
    return Item(
        name=name,
        shape=tuple(map(int, dataset.shape)),
        dtype=kind,
        dims=dims if any(dims) else None,
        attrs=attributes(dataset.attrs),
        chunks=dataset.chunks,
        fill=dataset.fillvalue if kind.kind in "fiu" else None,
    )


def dimension_name(dim: Any) -> str:
    """Return the name of a dimension of a dataset: of its scale, or its label."""
    try:
        return str(dim[0].name).rpartition("/")[2] if len(dim) else str(dim.label)
    except (KeyError, RuntimeError, ValueError):
        return ""


def attributes(found: Any) -> dict[str, Any]:
    """Return attributes as text, numbers, or lists of text; others are left out."""
    plain = {}
    for name in list(found)[:1000]:
        try:
            value = found[name]
        except Exception:  # an attribute of a type that the library does not know
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind in "SUO":
            value = [text_of(word) for word in value.ravel()[:MOST].tolist()]
            value = value[0] if len(value) == 1 else value
        elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fiub":
            value = value.item() if value.size == 1 else value
        elif isinstance(value, (bytes, str)):
            value = text_of(value)
        plain[str(name)] = value
    return plain


class NetCDF3(Container):
    """A file of NetCDF of version 3."""

    kind = "a NetCDF file"

    def items(self) -> dict[str, Item]:
        """Return all arrays."""
        with parsing(self.file, self.kind):
            header = Header(self.file)
            found = {
                name: Item(name, array.shape, array.dtype, array.dims, attributes(array.attrs))
                for name, array in header.arrays().items()
            }
            found[""] = Item("", (), np.dtype("V"), attrs=attributes(header.attrs))
        return found

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """Open an array."""
        yield Header(self.file).arrays()[name]


class Zarr(Container):
    """A Zarr array or group."""

    kind = "a Zarr array"

    def items(self) -> dict[str, Item]:
        """Return all arrays of a group; an array has the empty name."""
        with parsing(self.file, self.kind):
            root = open_zarr(self.file)
            if isinstance(root, ZarrArray):
                return {"": self.describe(root, "")}
            found = {name: self.describe(array, name) for name, array in arrays_in(self.file).items()}
            found[""] = Item("", (), np.dtype("V"), attrs=attributes(root))
        return found

    def describe(self, array: ZarrArray, name: str) -> Item:
        """Return what is known of an array."""
        return Item(
            name=name,
            shape=array.shape,
            dtype=array.dtype,
            dims=array.dims,
            attrs=attributes(array.attrs),
            chunks=array.chunks,
            fill=array.fill_value,
        )

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """Open an array."""
        yield open_zarr(self.file / name)

    def read_part(self, name: str, axes: str, lines: slice, samples: slice) -> NDArray[Any]:
        """Read pixels; chunks of different samples are read one after another, not in memory together."""
        if "s" not in axes:
            return super().read_part(name, axes, lines, samples)
        with parsing(self.file, self.kind), self.opened(name) as array:
            across = axes.index("s")
            first, last, step = samples.indices(array.shape[across])
            width = array.chunks[across]
        wanted = np.arange(first, last, step)
        starts = np.flatnonzero(np.diff(wanted // width, prepend=-1))
        parts = [
            super(Zarr, self).read_part(name, axes, lines, slice(int(part[0]), int(part[-1]) + 1, step))
            for part in np.split(wanted, starts[1:])
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)


def is_zarr(path: Path) -> bool:
    """Return whether a path is a Zarr array or group, possibly inside another group."""
    return path.suffix.lower() == ".zarr" or has_metadata(path)


def container_of(file: Path) -> Container:
    """Return the container that a file is, by its first bytes; Zarr arrays and groups are folders."""
    location = file.resolve()  # workers of a cluster need an absolute path
    if is_zarr(file) or location.is_dir():
        return Zarr(location)
    with location.open("rb") as stream:
        start = stream.read(4)
    if start == b"CDF\x05":
        raise ValueError(f"{file.name} is of the NetCDF format CDF-5: convert it to NetCDF of version 4.")
    return NetCDF3(location) if start.startswith(b"CDF") else HDF5(location)
