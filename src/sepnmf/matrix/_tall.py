"""Matrices of very many rows and few columns, read in blocks of rows.

Their columns are too long to be held. Distances and angles between them are all in the products MᵀM, which
one pass adds up; an n × n matrix with the same products stands for M in methods.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, Self

import numpy as np

from sepnmf._parallel import SingleBLAS
from sepnmf._typing import Floats, Ints
from sepnmf._validation import OF_ARRAYS, Remedy, negative_entries, not_finite
from sepnmf.matrix._dense import Dense
from sepnmf.matrix._matrix import Negative
from sepnmf.matrix._reducers import first_position
from sepnmf.matrix._sparse import as_in_memory

Located = Callable[[tuple[int, int] | None], tuple[int, int] | None]

LONG = 25_000  # rows; two thousand columns of more cannot be held
FEW = 4000  # columns; of more, n × n products take more than 128 MB
JOINED = 4  # results that one task joins: each may take 128 MB


@dataclass(frozen=True, eq=False)
class FewRows(Dense):
    """A matrix whose columns have the lengths, angles and l1 norms of those of a matrix with more rows.

    Entries are not those of that matrix. Singular values below 1e-8 of the largest have lost their digits.
    """

    sums: Floats | None = None
    rows: int = 0
    kind = "dense, read in chunks"

    @property
    def height(self) -> int:
        return self.rows

    @cached_property
    def l1_norms(self) -> Floats:
        assert self.sums is not None
        return self.sums

    def part(self, columns: Ints | slice) -> Self:
        return replace(super().part(columns), sums=self.l1_norms[columns])

    def divided(self, by: Floats) -> Self:
        return replace(super().divided(by), sums=self.l1_norms / by)

    def dense(self) -> Floats:
        """Refuse: the entries are not those of the data."""
        raise ValueError(
            f"M has columns of {self.rows} entries, which are read in blocks of rows, and this method needs "
            "all of them at once: choose another method, such as auto or spa, or pass some of the rows."
        )


@dataclass(frozen=True, eq=False)
class Products:
    """Products of the columns, sums of the absolute values of each, and the entries that are refused."""

    gram: Floats
    sums: Floats
    bad: tuple[int, tuple[int, int] | None]
    negative: tuple[int, tuple[int, int] | None]

    def __add__(self, other: "Products") -> "Products":
        """Return what both blocks of rows give; `self` is of the rows that come first."""
        return Products(
            self.gram + other.gram,
            self.sums + other.sums,
            (self.bad[0] + other.bad[0], self.bad[1] or other.bad[1]),
            (self.negative[0] + other.negative[0], self.negative[1] or other.negative[1]),
        )


def is_tall(array: Any) -> bool:
    """Return whether a Dask array has few columns, too long to be held, with rows in chunks."""
    m, n = array.shape
    return bool(m > LONG and n <= FEW and array.numblocks[0] > 1)


def with_few_rows(
    array: Any, negative: Negative, kept: Ints | None, located: Located, remedy: Remedy = OF_ARRAYS
) -> FewRows:
    """Return an n × n matrix with the products of the columns that are kept; one pass over the rows.

    `located` returns row and column of an entry as the caller counts them.
    """
    found = summed(array, products_of_rows, negative, kept)
    if found.bad[0]:
        raise ValueError(not_finite("M", found.bad[0], located(found.bad[1]), remedy=remedy))
    if found.negative[0] and negative == "error":
        raise ValueError(negative_entries(found.negative[0], located(found.negative[1]), remedy))
    if not np.isfinite(found.gram).all():
        raise ValueError("M has entries whose squares leave the range of float64: scale M.")
    values, vectors = np.linalg.eigh(found.gram)
    rounding = len(values) * float(np.finfo(np.float64).eps) * max(float(values[-1]), 0.0)
    roots = np.sqrt(np.where(values > rounding, values, 0.0))
    R = np.ascontiguousarray((roots[:, None] * vectors.T)[::-1])
    return FewRows(R, sums=found.sums, rows=array.shape[0])


def products_with(array: Any, Q: Floats, negative: Negative, kept: Ints | None) -> Floats:
    """Return QᵀM of the columns that are kept; one pass over the rows."""
    found: Floats = summed(array, products_with_rows, negative, kept, Q)
    bad = np.flatnonzero(~np.isfinite(found).all(axis=0))
    if bad.size:
        column = int(bad[0] if kept is None else kept[bad[0]])
        raise ValueError(
            f"M has NaN or infinite entries in {bad.size} column(s), the first is column {column}: leave "
            "their columns out with mask=, or replace them."
        )
    return found


def columns_of_rows(array: Any, columns: Ints, negative: Negative) -> Floats:
    """Return some columns, dense in float64; one pass over the rows."""
    found = each_block(array, lambda block, _: used_part(block, negative, columns).take(slice(None)))
    return np.concatenate(compute(found))


def extent_of_rows(array: Any, kept: Ints | None) -> tuple[float, float, int]:
    """Return the smallest and the largest entry, and the number of zeros; one pass over the rows."""
    found = each_block(array, lambda block, _: (block if kept is None else block.part(kept)).extent())
    least, most, zeros = zip(*compute(found), strict=True)
    return min(least), max(most), sum(zeros)


def compute(tasks: list[Any]) -> Any:
    """Return the results of tasks."""
    import dask

    with SingleBLAS():  # here, so that the tasks of this process need not change it
        return dask.compute(*tasks)  # type: ignore[attr-defined, no-untyped-call]


def each_block(array: Any, function: Any, *arguments: Any) -> list[Any]:
    """Return tasks for all blocks of rows, in order: function(block, first row, *arguments)."""
    from dask import delayed  # type: ignore[attr-defined]

    rows = array if array.numblocks[1] == 1 else array.rechunk({1: -1})
    starts = np.cumsum([0, *rows.chunks[0][:-1]])
    shared = [delayed(argument, traverse=False) for argument in arguments]
    call = delayed(on_rows, pure=False)
    return [
        call(function, block, int(start), *shared)
        for block, start in zip(rows.to_delayed().ravel(), starts, strict=True)
    ]


def summed(array: Any, function: Any, *arguments: Any) -> Any:
    """Return the sum of function(block, first row, *arguments) over blocks of rows, in their order."""
    from dask import delayed  # type: ignore[attr-defined]

    results = each_block(array, function, *arguments)
    together = delayed(partial(reduce, add), pure=False)
    while len(results) > 1:
        results = [together(results[i : i + JOINED]) for i in range(0, len(results), JOINED)]
    return compute(results)[0]


def on_rows(function: Any, block: Any, *arguments: Any) -> Any:
    """Call a function of a block of rows, with BLAS on one thread: Dask has a task for every core."""
    with SingleBLAS(), np.errstate(all="ignore"):
        return function(as_in_memory(block), *arguments)


def used_part(block: Dense, negative: Negative, kept: Ints | None) -> Dense:
    """Return the columns of a block that are kept, in float64, negative entries dealt with."""
    part = (block if kept is None else block.part(kept)).in_floats(np.dtype(np.float64))
    return part.clipped() if negative == "clip" else part


def products_of_rows(block: Dense, start: int, negative: Negative, kept: Ints | None) -> Products:
    """Return what a block of rows adds to the products of the columns."""
    stored = block if kept is None else block.part(kept)
    part = used_part(block, negative, kept)

    def refused(wrong: Any) -> tuple[int, tuple[int, int] | None]:
        found = stored.entries_where(wrong)
        place = first_position(found)
        if place is None:
            return 0, None
        return len(found), (place[0] + start, place[1])

    finite = np.isfinite(stored.values.sum(dtype=np.float64))
    below = stored.values.size and stored.values.min() < 0
    return Products(
        part.column_products(),
        part.l1_norms,
        (0, None) if finite else refused(lambda values: ~np.isfinite(values)),
        refused(lambda values: values < 0) if below and negative == "error" else (0, None),
    )


def products_with_rows(block: Dense, start: int, negative: Negative, kept: Ints | None, Q: Floats) -> Floats:
    """Return what a block of rows adds to QᵀM."""
    return used_part(block, negative, kept).times(Q[start : start + block.shape[0]])
