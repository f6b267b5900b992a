"""NumPy's files: .npy, and .npz with arrays or one of SciPy's sparse matrices. Nothing is unpickled."""

import zipfile
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, parsing
from sepnmf.io._variables import Variable, check_dimensions, check_real, choose, data_of, sparse_data_of
from sepnmf.matrix import CHUNK, LARGE, Stored

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
SPARSE_MEMBERS = {"format", "shape", "data"}


def read_npy(file: Path, *, large: int = LARGE, chunk: int = CHUNK) -> Data:
    """A matrix or an image from a .npy file; a Dask array if it has more than `large` bytes as float64."""
    stored, image_shape = stored_npy(file)
    return Data(M=stored.matrix(large, chunk), file=file, image_shape=image_shape)


def stored_npy(file: Path) -> tuple[Stored, tuple[int, int] | None]:
    """Where the numbers are, and lines and samples of an image."""
    with file.open("rb") as stream:
        shape, fortran, dtype = read_header(stream, file)
        offset = stream.tell()
    check_real(dtype, file)
    check_dimensions(shape, file)
    location = str(file.resolve())  # for workers elsewhere
    if len(shape) == 2:
        rows, columns = shape
        axes = "lbs" if fortran else "bls"
        return Stored.in_order(location, dtype, (rows, columns, 1), axes, offset), None
    lines, samples, bands = shape
    axes = "bsl" if fortran else "lsb"
    return Stored.in_order(location, dtype, (bands, lines, samples), axes, offset), (lines, samples)


def read_npz(file: Path, *, variable: str | None = None) -> Data:
    """A matrix or an image from a .npz archive, or the sparse matrix that `scipy.sparse.save_npz` wrote."""
    with parsing(file, "a NumPy archive"):
        archive = zipfile.ZipFile(file)
    with archive:
        members = {
            i.filename.removesuffix(".npy"): i for i in archive.infolist() if i.filename.endswith(".npy")
        }
        for info in members.values():
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(
                    f"{file.name} is compressed in a way NumPy does not write: save it with NumPy."
                )
        if variable is None and members.keys() >= SPARSE_MEMBERS:
            return read_sparse(file, members)
        described = [describe(archive, name, info, file) for name, info in members.items()]
        chosen = choose(described, variable, file)
        return data_of(read_member(archive, members[chosen.name], file), file, chosen.name)


def read_header(stream: IO[bytes], file: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran's order, and dtype; the stream is left at the first number."""
    with parsing(file, "a NumPy array"):
        version = npy.read_magic(stream)
        if version not in HEADERS:
            raise ValueError(f"version {version} of the format is not one for numbers")
        shape, fortran, dtype = HEADERS[version](stream)
    return shape, fortran, dtype


def describe(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo, file: Path) -> Variable:
    """Name, shape and type of a member; only its header is read."""
    with parsing(file, "a NumPy archive"):
        stream = archive.open(info)
    with stream:
        shape, _, dtype = read_header(stream, file)
    kind = "Python objects" if dtype.hasobject else str(dtype)
    return Variable(name, shape, kind, is_real=dtype.kind in "fiub" and not dtype.hasobject)


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: Path) -> np.ndarray[Any, Any]:
    """An array of an archive, if the archive's directory and the array's header agree on its size."""
    with parsing(file, "a NumPy archive"):
        stream = archive.open(info)
    with stream:
        shape, _, dtype = read_header(stream, file)
        expected = stream.tell() + prod(shape) * dtype.itemsize
    if expected != info.file_size:
        raise ValueError(
            f"{file.name} says that {info.filename!r} has {info.file_size} bytes, and its shape {shape} "
            f"takes {expected}: it is damaged."
        )
    check_size(expected, file)
    with parsing(file, "a NumPy archive"), archive.open(info) as stream:
        array: np.ndarray[Any, Any] = npy.read_array(stream, allow_pickle=False)
    return array


def read_sparse(file: Path, members: dict[str, zipfile.ZipInfo]) -> Data:
    """The sparse matrix of an archive, which `scipy.sparse.load_npz` reads without unpickling."""
    check_size(sum(info.file_size for info in members.values()), file)
    with parsing(file, "a sparse matrix of SciPy's"):
        matrix = sparse.load_npz(file)
    return sparse_data_of(matrix, file)
