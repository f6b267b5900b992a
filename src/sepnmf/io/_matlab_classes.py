"""What both versions of MATLAB's files share: names of classes, and how columns become pixels."""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sepnmf.io._data import Data
from sepnmf.io._guards import parsing
from sepnmf.io._variables import Variable

KIND = "a MATLAB file"

# Classes by their numbers in files of version 5.
CLASSES = {
    1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 6: "double", 7: "single", 8: "int8",
    9: "uint8", 10: "int16", 11: "uint16", 12: "int32", 13: "uint32", 14: "int64", 15: "uint64",
}  # fmt: skip

NUMERIC = {"logical"} | {name for number, name in CLASSES.items() if number > 5}


def with_image(data: Data, sizes: dict[str, Any]) -> Data:
    """`data` as an image if nRow and nCol say so."""
    with parsing(data.file, KIND):
        shape = tuple(int(np.real(sizes[name].item())) if name in sizes else 0 for name in ("nrow", "ncol"))
    if data.image_shape is None and prod(shape) == data.M.shape[1] and min(shape) > 0:
        return replace(data, image_shape=(shape[0], shape[1]), image_order="F")
    return data


def says_size(variable: Variable) -> bool:
    """Whether a variable is the number of lines or samples."""
    is_number = variable.type in NUMERIC and variable.is_real and prod(variable.shape) == 1
    return is_number and variable.name.lower() in ("nrow", "ncol")
