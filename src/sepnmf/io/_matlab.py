"""MATLAB's files, .mat."""

from pathlib import Path

from sepnmf.io._data import Data
from sepnmf.io._matlab_hdf5 import read_hdf5
from sepnmf.io._matlab_v5 import HEAD, read_v5

HDF5 = b"\x89HDF\r\n\x1a\n"


def read_mat(file: Path, *, variable: str | None = None) -> Data:
    """A matrix or an image from a .mat file of version 5 or 7.3.

    Scalars nRow and nCol beside a matrix of nRow · nCol columns, as in the public scenes, make its columns
    the pixels of an image, one column of the image after another.
    """
    with file.open("rb") as stream:
        head = stream.read(512 + len(HDF5))
    if head.startswith(HDF5) or head[512:] == HDF5:
        return read_hdf5(file, variable)
    if len(head) < HEAD or head[126:128] not in (b"IM", b"MI"):
        raise ValueError(
            f"{file.name} is no MATLAB file of version 5 or 7.3: save it with MATLAB's save(..., '-v7')."
        )
    return read_v5(file, variable)
