"""Entries that mean "no data": which rows and columns they rule out, and values that look like it.

Numbers are compared as they are in the file, before scale factors are applied.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf._typing import Bools
from sepnmf._validation import HUGE, is_usual_nodata
from sepnmf.io._guards import needed
from sepnmf.matrix import is_lazy

NodataValues = float | str | Sequence[float | str]

BLOCK = 2**22  # entries of a matrix in memory that are looked at together
SAMPLE = 8  # chunks of a Dask array that are searched for values that look like nodata
LEAST_PIXELS, LEAST_SHARE = 16, 1e-3  # repetitions of a value that looks like nodata


def parse_nodata(value: NodataValues) -> tuple[float, ...]:
    """Return nodata values, given as a number, as text such as "-9999", "nan" or "0,65535", or as several."""
    if isinstance(value, (list, tuple, np.ndarray)) and len(value):
        return tuple(dict.fromkeys(number for item in value for number in parse_nodata(item)))
    if isinstance(value, str) and "," in value:
        return parse_nodata(value.split(","))
    try:
        if isinstance(value, bool):
            raise TypeError
        return (float(value),)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f'nodata must be a number or "nan", got {str(value)[:40]!r}.') from None


def as_text(value: float) -> str:
    """Return a nodata value as a user would write it."""
    if np.isnan(value):
        return "nan"
    return str(int(value)) if value == np.round(value) and abs(value) < HUGE else f"{value:.9g}"


def option_for(value: float, known: Sequence[float]) -> str:
    """Return the option of the command line that adds a value to those that are known."""
    return f"--nodata {','.join(map(as_text, (*known, value)))}"


@dataclass(frozen=True)
class Nodata:
    """Which entries mean "no data": those from `low` to `high`, and NaN.

    Numbers of large magnitude are matched with a tolerance: headers have -3.40282e+38 for the least float32.
    """

    low: Any
    high: Any

    @classmethod
    def of(cls, value: float, dtype: np.dtype[Any]) -> "Nodata | None":
        """Return what matches a value in numbers of this type; None if nothing can."""
        if dtype.kind == "f":
            width = 1e-5 * abs(value) if abs(value) >= HUGE and np.isfinite(value) else 0.0
            with np.errstate(over="ignore"):
                return cls(dtype.type(value - width), dtype.type(value + width))
        limits = np.iinfo(np.uint8 if dtype.kind == "b" else dtype)
        if np.isnan(value) or value != np.round(value) or not limits.min <= value <= limits.max:
            return None
        return cls(int(value), int(value))

    def __call__(self, block: NDArray[Any]) -> Bools:
        """Return which entries of a block mean "no data"."""
        if self.low == self.high:
            found = np.asarray(block == self.low)
        elif np.isnan(self.low):
            return np.asarray(np.isnan(block))
        else:
            found = np.asarray((block >= self.low) & (block <= self.high))
        if block.dtype.kind == "f":
            found |= np.isnan(block)
        return found

    def decisive(self, block: NDArray[Any], found: Bools) -> Bools:
        """Return which of the entries found rule out a whole column: all, but zeros also occur in data."""
        if self.low != 0 or self.high != 0:
            return found
        return np.asarray(np.isnan(block)) if block.dtype.kind == "f" else np.zeros_like(found)


@dataclass(frozen=True, eq=False)
class NodataSet:
    """Values that mean "no data" in all rows, and values with the rows in which they do; NaN always does."""

    values: tuple[Nodata, ...]
    of_rows: tuple[tuple[Nodata, Bools], ...] = ()

    @classmethod
    def of(
        cls, values: float | Sequence[float], row_values: Sequence[float | None], dtype: np.dtype[Any]
    ) -> "NodataSet | None":
        """Return what matches these values, one per row or for all rows; None if nothing can."""
        found = [Nodata.of(value, dtype) for value in np.atleast_1d(values).tolist()]
        rows = [
            (match, np.array([other is not None and str(other) == str(value) for other in row_values]))
            for value in dict.fromkeys(row_values)
            if value is not None and (match := Nodata.of(value, dtype)) is not None
        ]
        everywhere = tuple(match for match in found if match is not None)
        return cls(everywhere, tuple(rows)) if everywhere or rows else None

    def among(self, rows: Bools | None) -> "NodataSet":
        """Return the same for a block that has only some of the rows."""
        if rows is None:
            return self
        return NodataSet(self.values, tuple((match, of[rows]) for match, of in self.of_rows))

    def __call__(self, block: NDArray[Any]) -> tuple[Bools, Bools]:
        """Return which entries of a block mean "no data", and which of them rule out a whole column."""
        if len(self.values) == 1 and not self.of_rows:
            found = self.values[0](block)
            return found, self.values[0].decisive(block, found)
        found, decisive = np.zeros(block.shape, bool), np.zeros(block.shape, bool)
        everywhere = np.ones(len(block), bool)
        for match, rows in (*((match, everywhere) for match in self.values), *self.of_rows):
            part = block[rows]
            new = match(part)
            found[rows] |= new
            decisive[rows] |= match.decisive(part, new)
        return found, decisive


@dataclass
class Counts:
    """Entries without data of some columns: per column, and per row in columns that have data somewhere.

    The last two count only those that rule out a whole column.
    """

    per_column: NDArray[np.int32]
    per_row: NDArray[np.int64]
    columns: int
    has_nan: bool
    decisive_per_column: NDArray[np.int32]
    decisive_per_row: NDArray[np.int64]

    @classmethod
    def of(cls, block: NDArray[Any], match: NodataSet, rows: Bools | None, used: Bools | None) -> "Counts":
        """Count in a block of all rows; rows and columns that are not used do not count."""
        block = block if rows is None else block[rows]
        found, decisive = match.among(rows)(block)
        per_column = np.count_nonzero(found, axis=0).astype(np.int32)
        partly = per_column < found.shape[0]
        if used is not None:
            partly &= used
        per_row = np.count_nonzero(found & partly, axis=1)
        has_nan = block.dtype.kind == "f" and per_column.any() and bool(np.isnan(block).any())
        of_columns, of_rows = per_column, per_row
        if decisive is not found:
            of_columns = np.count_nonzero(decisive, axis=0).astype(np.int32)
            of_rows = np.count_nonzero(decisive & partly, axis=1)
        return cls(per_column, per_row, int(np.count_nonzero(partly)), bool(has_nan), of_columns, of_rows)


def without_nodata(
    M: Any,
    values: float | Sequence[float],
    rows: Bools | None,
    used: Bools | None,
    row_values: Sequence[float | None] = (),
) -> tuple[Bools | None, Bools | None, bool]:
    """Return which rows and which columns are used, and whether NaN was found; M is read once, rarely twice.

    `values` mean "no data" in all rows, `row_values` each in its own. Rows that have no data in every column
    that has data somewhere are left out. Then columns are left out that have no data in one of the other
    rows; zeros, if they mean it, count only if nothing else is in the column.
    """
    match = NodataSet.of(values, row_values, M.dtype)
    if match is None:
        return rows, used, False
    parts = each_block(M, Counts.of, match, rows, used)
    per_column = np.concatenate([part.per_column for part in parts])
    if not per_column.any():
        return rows, used, False
    per_row = sum(part.per_row for part in parts)
    columns = sum(part.columns for part in parts)
    empty = np.asarray(per_row == columns) & (columns > 0)
    decisive: Any = np.asarray(sum(part.decisive_per_row for part in parts))
    has_nan = any(part.has_nan for part in parts)
    if empty.any():
        kept = np.ones(M.shape[0], bool) if rows is None else rows.copy()
        kept[np.flatnonzero(kept)[empty]] = False
        rows = kept
        if ((decisive > 0) & (decisive < columns))[empty].any():  # zeros in some columns, others elsewhere
            rows, used, _ = without_nodata(M, values, rows, used, row_values)
            return rows, used, has_nan
    # A column with data somewhere has none in all empty rows; with more gaps, it has one elsewhere.
    unread = (decisive == columns) & (columns > 0)
    gaps = np.concatenate([part.decisive_per_column for part in parts])
    full = (per_column < empty.size) & (gaps <= np.count_nonzero(unread))
    used = full if used is None else used & full
    return rows, None if used.all() else used, has_nan


def each_block(
    M: Any, function: Any, match: Any, rows: Bools | None, used: Bools | None, sampled: bool = False
) -> list[Any]:
    """Return `function(block, match, rows, used)` of all columns, or of a few chunks of a Dask array."""
    if not is_lazy(M):
        step = max(BLOCK // max(M.shape[0], 1), 1)
        parts = [slice(start, start + step) for start in range(0, M.shape[1], step)]
        return [function(M[:, part], match, rows, None if used is None else used[part]) for part in parts]
    dask = needed("dask")
    task, blocks = dask.delayed(function), M.to_delayed().ravel()
    edges = np.cumsum([0, *M.chunks[1]])
    last = len(blocks) - 1
    numbers = np.unique(np.linspace(0, last, SAMPLE).astype(int)) if sampled else range(last + 1)
    masks = {k: None if used is None else used[edges[k] : edges[k + 1]] for k in numbers}
    return list(dask.compute(*(task(blocks[k], match, rows, mask) for k, mask in masks.items())))


@dataclass
class Constants:
    """Values of constant columns and how often they occur, the range of all entries, and the second smallest.

    The second smallest is looked for only if the smallest is a usual mark of missing data. `sampled` is
    whether only a few chunks were looked at.
    """

    low: float = np.inf
    high: float = -np.inf
    columns: int = 0
    with_nan: int = 0
    values: Counter[float] = field(default_factory=Counter)
    second: float = np.inf
    sampled: bool = False

    @classmethod
    def of(cls, block: NDArray[Any], _: None, rows: Bools | None, used: Bools | None) -> "Constants":
        """Look at a block of all rows; rows and columns that are not used do not count."""
        block = block if rows is None else block[rows]
        low, high = block.min(axis=0), block.max(axis=0)
        if used is not None:
            low, high = low[used], high[used]
        found = cls(columns=low.size)
        if low.dtype.kind == "f":
            finite = ~np.isnan(low)
            low, high = low[finite], high[finite]
            found.with_nan = found.columns - low.size
        if low.size:
            found.low, found.high = low.min().item(), high.max().item()
            if is_usual_nodata(found.low, 0):
                above = (
                    block[block > found.low] if used is None else block[:, used][block[:, used] > found.low]
                )
                found.second = above.min(initial=found.high).item()
            values, counts = np.unique(low[low == high], return_counts=True)
            found.values.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return found

    def __add__(self, other: "Constants") -> "Constants":
        """Return what is known of both."""
        seconds = (part.second for part in (self, other))
        return Constants(
            min(self.low, other.low),
            max(self.high, other.high),
            self.columns + other.columns,
            self.with_nan + other.with_nan,
            self.values + other.values,
            min(*seconds, max(self.low, other.low) if self.low != other.low else np.inf),
        )

    @property
    def mark(self) -> float | None:
        """The smallest entry if it usually marks missing data and is far from all others; None otherwise."""
        return self.low if is_usual_nodata(self.low, self.second) and self.high > self.low else None


def look_at(M: Any, rows: Bools | None, used: Bools | None) -> Constants | None:
    """Look for values that may mean "no data": in all of an array, in a few chunks of a Dask array.

    None if the matrix is sparse, is empty, or has one row.
    """
    height = M.shape[0] if rows is None else int(np.count_nonzero(rows))
    if sparse.issparse(M) or height < 2 or 0 in M.shape:
        return None
    sampled = is_lazy(M) and len(M.chunks[1]) > SAMPLE
    total = sum(each_block(M, Constants.of, None, rows, used, sampled), Constants())
    return replace(total, sampled=sampled)


def warnings_of(total: Constants, known: Sequence[float] = ()) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return values in an image that look like undeclared nodata and a sentence for each; some are `known`.

    Such a value is the least or the largest of the image, or zero, and many pixels have it in every band.
    """
    where = " in a sample of the image" if total.sampled else ""
    found, values = [], []
    for value in sorted({total.low, total.high, 0}):
        count = total.values[value]
        if max(LEAST_PIXELS, LEAST_SHARE * total.columns) <= count < total.columns:
            values.append(value)
            found.append(
                f"{count:,} pixels{where} have the value {as_text(value)} in every band, which looks like "
                f"nodata: pass {option_for(value, known)}."
            )
    if total.with_nan:
        found.append(f"{total.with_nan:,} pixels{where} have NaN: if it is nodata, pass --nodata nan.")
    return tuple(found), tuple(values)
