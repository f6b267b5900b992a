"""Readers of .npy and .npz files, and a writer of matrices. Nothing is unpickled."""

import zipfile
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from sepnmf.io._axes import find_axes
from sepnmf.io._data import Data
from sepnmf.io._guards import check_size, parsing
from sepnmf.io._variables import Variable, as_image, check_real, check_shape, choose, data_of, sparse_data_of
from sepnmf.matrix import CHUNK, LARGE, Stored

ARCHIVE = "a NumPy archive"
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
SPARSE_MEMBERS = {"format", "shape", "data"}


def read_npy(file: Path, *, axes: str | None = None, large: int = LARGE, chunk: int = CHUNK) -> Data:
    """Read a matrix or an image from a .npy file; as a Dask array if it exceeds `large` bytes as float64."""
    stored, image_shape, assumptions = stored_npy(file, axes)
    M = stored.matrix(large, chunk)
    return Data(M=M, file=file, image_shape=image_shape, assumptions=assumptions)


def stored_npy(file: Path, axes: str | None = None) -> tuple[Stored, tuple[int, int] | None, tuple[str, ...]]:
    """Return the location of the numbers, the shape of the image if it is one, and what is assumed."""
    with file.open("rb") as stream, parsing(file, "a NumPy array"):
        shape, fortran, dtype = read_header(stream)
        offset = stream.tell()
    check_real(dtype, file)
    check_shape(shape, file)
    letters, assumptions = find_axes(shape, axes)
    cube_shape, image_shape = as_image(shape, letters)
    order = letters[::-1] if fortran else letters
    order = order if "s" in order else f"{order}s"  # a matrix is an image with one sample per line
    # Workers of a cluster need an absolute path.
    stored = Stored.in_order(str(file.resolve()), dtype, cube_shape, order, offset)
    return stored, image_shape, assumptions


def read_npz(file: Path, *, variable: str | None = None, axes: str | None = None) -> Data:
    """Read a matrix or an image from a .npz archive, or a sparse matrix of `scipy.sparse.save_npz`."""
    with parsing(file, ARCHIVE):
        archive = zipfile.ZipFile(file)
    with archive:
        members = {
            i.filename.removesuffix(".npy"): i for i in archive.infolist() if i.filename.endswith(".npy")
        }
        for info in members.values():
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(
                    f"{file.name} has a compression that NumPy does not write: save it with NumPy."
                )
        if variable is None and members.keys() >= SPARSE_MEMBERS:
            return read_sparse(file, archive, members)
        described = [describe(archive, name, info, file) for name, info in members.items()]
        chosen = choose(described, variable, file)
        return data_of(read_member(archive, members[chosen.name], file), file, chosen.name, axes)


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, whether the order is Fortran's, and dtype; the stream is left at the first number."""
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"version {version} of the format is not supported")
    shape, fortran, dtype = HEADERS[version](stream)
    if not all(type(size) is int for size in shape):  # NumPy accepts True
        raise ValueError(f"its shape is {str(shape)[:40]}")
    return shape, fortran, dtype


def describe(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo, file: Path) -> Variable:
    """Return name, shape and type of a member; only its header is read."""
    with parsing(file, ARCHIVE), archive.open(info) as stream:
        shape, _, dtype = read_header(stream)
    kind = "Python objects" if dtype.hasobject else str(dtype)
    return Variable(name, shape, kind, is_real=dtype.kind in "fiub" and not dtype.hasobject)


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: Path) -> np.ndarray[Any, Any]:
    """Read an array of an archive."""
    check_member(archive, info, file)
    with parsing(file, ARCHIVE), archive.open(info) as stream:
        array: np.ndarray[Any, Any] = npy.read_array(stream, allow_pickle=False)
    return array


def check_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: Path) -> None:
    """Refuse an array if the directory of the archive and its header do not agree on its size."""
    with parsing(file, ARCHIVE), archive.open(info) as stream:
        shape, _, dtype = read_header(stream)
        expected = stream.tell() + prod(shape) * dtype.itemsize
    if expected != info.file_size:
        raise ValueError(
            f"{file.name} is damaged: {info.filename!r} has {info.file_size} bytes, and its shape "
            f"{str(shape)[:100]} takes {str(expected)[:40]}."
        )
    check_size(expected, file)


def read_sparse(file: Path, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> Data:
    """Read the sparse matrix of an archive with `scipy.sparse.load_npz`, which does not unpickle."""
    for info in members.values():
        check_member(archive, info, file)
    check_size(sum(info.file_size for info in members.values()), file)
    with parsing(file, "a SciPy sparse matrix"):
        matrix = sparse.load_npz(file)
    return sparse_data_of(matrix, file)


def array_suffix(M: Any) -> str:
    """Return the ending of a file that `write_array` writes: ".npz" of a sparse matrix."""
    return ".npz" if sparse.issparse(M) else ".npy"


def write_array(file: Path, M: Any) -> None:
    """Write a matrix to a file with the ending `array_suffix(M)`."""
    if array_suffix(M) == ".npz":
        sparse.save_npz(file, M.tocsc())
    else:
        np.save(file, M)
