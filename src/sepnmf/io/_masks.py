"""Rows and columns that are left out: bands, mask files and nodata; each is said in one sentence."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf._typing import Bools
from sepnmf.io._axes import letter_of
from sepnmf.io._data import Data
from sepnmf.io._nodata import (
    Nodata,
    NodataValues,
    as_text,
    look_at,
    option_for,
    parse_nodata,
    warnings_of,
    without_nodata,
)
from sepnmf.matrix import is_lazy


def with_masks(
    data: Data,
    read_mask: Callable[[Path], Data],
    *,
    nodata: NodataValues | None = None,
    mask: str | os.PathLike[str] | None = None,
    bands: str | None = None,
) -> Data:
    """Return `data` with what is left out, and with its scale factor applied.

    `read_mask` reads a mask file.
    """
    if bands is not None:
        data = without(data, "rows", parse_bands(bands, data.M.shape[0]), "--bands")
    if mask is not None:
        keep = mask_of(Path(mask), data, read_mask)
        data = without(data, "columns", keep, f"--mask {Path(mask).name}")
    if nodata is not None:
        first, *more = parse_nodata(nodata)
        data = replace(data, nodata=first, more_nodata=tuple(more), row_nodata=())
    known = () if data.nodata is None else (data.nodata, *data.more_nodata)
    if known:
        data = with_nodata(data, known)
    found = None
    if data.image_shape is not None or not is_lazy(data.M):  # other chunks may be sparse
        found = look_at(data.M, data.row_mask, data.mask)
    if found is not None:
        said, values = warnings_of(found, known) if data.image_shape is not None else ((), ())
        undeclared = tuple((value, constant_column(data, value)) for value in values)
        mark = found.mark
        if mark is not None and mark not in values:
            said = (
                *said,
                f"The smallest value, {as_text(mark)}, looks like nodata: pass {option_for(mark, known)}.",
            )
        suspected = "" if mark is None else ",".join(map(as_text, (*known, mark)))
        data = replace(data, warnings=data.warnings + said, undeclared=undeclared, suspected=suspected)
    if data.scaling is not None:
        data = replace(data, M=data.scaling(data.M), scaling=None)
    return data


def constant_column(data: Data, value: float) -> NDArray[Any]:
    """Return a column with this value in every row, after scale factors."""
    column = np.full((data.M.shape[0], 1), value, data.M.dtype)
    return np.asarray(column if data.scaling is None else data.scaling(column))[:, 0]


def rows_of(data: Data) -> str:
    """Return what a row is called: a band of an image."""
    return "rows" if data.image_shape is None and not data.wavelengths else "bands"


def without(data: Data, axis: Literal["rows", "columns"], keep: Bools, why: str) -> Data:
    """Return `data` without the rows or columns that are not to be kept, and say how many these are."""
    name, mask, what, count = "mask", data.mask, data.what, data.M.shape[1]
    if axis == "rows":
        name, mask, what, count = "row_mask", data.row_mask, rows_of(data), data.M.shape[0]
    before = np.ones(count, bool) if mask is None else mask
    after = before & keep
    if not after.any():
        raise ValueError(f"{data.file.name} has no {what} left: {why} leaves out the last.")
    lost = int(before.sum() - after.sum())
    if not lost:
        return data
    said = f"{lost:,} of {count:,} {what} are left out: {why}."
    changes: dict[str, Any] = {name: after, "left_out": (*data.left_out, said)}
    return replace(data, **changes)


def with_nodata(data: Data, values: Sequence[float]) -> Data:
    """Return `data` without the rows and columns that nodata values, or those of single rows, rule out."""
    if sparse.issparse(data.M):
        raise ValueError(f"{data.file.name} has a sparse matrix, which has no nodata value: omit nodata.")
    for value in dict.fromkeys(other for other in data.row_nodata or values if other is not None):
        if Nodata.of(value, data.M.dtype) is None and not np.isnan(value):
            said = f"The nodata value {as_text(value)} cannot occur in numbers of type {data.M.dtype}."
            data = replace(data, warnings=(*data.warnings, said))
    everywhere = () if data.row_nodata else values
    rows, columns, has_nan = without_nodata(data.M, everywhere, data.row_mask, data.mask, data.row_nodata)
    also = has_nan and not any(np.isnan(value) for value in values)
    if rows is not None:
        why = f"nodata ({listed(values, also)}) in all {data.what} with data"
        data = without(data, "rows", rows, why)
    if columns is None:
        return data
    why = f"nodata ({listed(values, also, f' in all {rows_of(data)}')})"
    return without(data, "columns", columns, why)


def listed(values: Sequence[float], also_nan: bool, where_zero: str = "") -> str:
    """Return nodata values in words; `where_zero` is where zeros must be to count."""
    words = [
        "NaN" if np.isnan(value) else as_text(value) + (where_zero if value == 0 else "") for value in values
    ]
    return " or ".join([*words, "NaN"] if also_nan else words)


def with_good_bands(data: Data, flags: Any, why: str) -> Data:
    """Return `data` without the bands whose flag is 0; flags that are of no use are ignored, and it is said.

    Flags are a list of numbers or text, one per band.
    """
    try:
        good = np.array([float(flag) != 0 for flag in flags])
    except (TypeError, ValueError):
        good = np.zeros(0, bool)
    if good.size != data.M.shape[0]:
        said = f"{why} does not have one number for each of the {data.M.shape[0]} bands and is ignored."
        return replace(data, warnings=(*data.warnings, said))
    if not good.any():
        said = f"{why} marks every band as bad and is ignored."
        return replace(data, assumptions=(*data.assumptions, said))
    return without(data, "rows", good, why)


def parse_bands(text: str, count: int) -> Bools:
    """Return which rows are meant by ranges such as "1-100,115-150", which start at 1 and have both ends."""
    keep = np.zeros(count, bool)
    for part in str(text).split(","):
        first, _, last = (word.strip() for word in part.partition("-"))
        last = last or first if "-" not in part else last
        if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last) <= count):
            raise ValueError(
                f"bands must be numbers from 1 to {count} and ranges such as 1-{min(count, 10)}, "
                f"got {part.strip()[:40]!r}."
            )
        keep[int(first) - 1 : int(last)] = True
    return keep


def mask_of(path: Path, data: Data, read_mask: Callable[[Path], Data]) -> Bools:
    """Return which columns a mask file lets in: those with a number other than zero and NaN."""
    found = read_mask(path)
    numbers: NDArray[Any] = np.asarray(found.M.toarray() if hasattr(found.M, "toarray") else found.M)
    n = data.M.shape[1]
    if [letter_of(name) for name in found.dims] == ["s", "l"]:
        numbers = numbers.T
    if found.image_shape is not None and numbers.shape[0] == 1:
        numbers = found.picture(numbers[0])
    if data.image_shape is not None and numbers.shape == data.image_shape:
        numbers = numbers.ravel(order=data.image_order)
    elif numbers.size != n or 1 not in numbers.shape:
        expected = "one number per column"
        if data.image_shape is not None:
            expected = "{} × {} numbers (lines × samples)".format(*data.image_shape)
        shape = " × ".join(map(str, numbers.shape))
        raise ValueError(f"{path.name} must have {expected} to be a mask of {data.file.name}, got {shape}.")
    flat = numbers.ravel()
    return np.asarray((flat != 0) & ~np.isnan(flat))
