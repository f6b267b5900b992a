"""A matrix that is never held at once: the columns of a Dask array, a few chunks at a time.

How chunks are read, where functions run and what happens when a worker is lost is left to Dask.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property, partial, reduce
from operator import methodcaller
from typing import Any
from uuid import uuid4

import numpy as np
from scipy import sparse

from sepnmf._typing import Floats, Ints, Seed
from sepnmf._validation import (
    OF_ARRAYS,
    Remedy,
    check_generator,
    computing_dtype,
    has_not_finite,
    negative_entries,
    not_finite,
)
from sepnmf.matrix._checks import checked, checked_kind
from sepnmf.matrix._columns import Columns
from sepnmf.matrix._dense import InMemory
from sepnmf.matrix._held import Held
from sepnmf.matrix._lazy import chunked_mask, kept_columns, with_whole_columns
from sepnmf.matrix._matrix import Matrix, Negative
from sepnmf.matrix._passes import Change, Reducer, scan_block
from sepnmf.matrix._reducers import Drawn, Entries, Extent, Inspection, Means, concatenated
from sepnmf.matrix._stored import dask_array
from sepnmf.matrix._tall import (
    FewRows,
    columns_of_rows,
    extent_of_rows,
    is_tall,
    products_with,
    with_few_rows,
)
from sepnmf.matrix._tasks import (
    computed,
    join_boxes,
    on_columns,
    on_one_core,
    stored_in_chunk,
    take_from_chunk,
    with_checked_values,
)

SMALL = 20_000_000  # entries; up to here a matrix may be loaded
SAMPLE = 20_000  # columns of a random sample
HELD = 16_000_000  # entries of columns that are held, at most: 128 MB, of which methods make copies
JOINED = 16  # results that one task joins
SAFE_SQUARES = 1e120  # squared norms beyond it, or below its inverse, need a scaling of the entries
LARGEST_EXPONENT = 1023  # of a power of two
PEEKS, PEEK = 8, 256  # places that are looked at before the first pass, and columns at each


class Chunked(Matrix):
    """The columns of a Dask array, with all rows of a column in one chunk.

    Entries are checked in the first pass (`checked_scan`), in the words of data in memory.

    Attributes
    ----------
    array : dask.array.Array of shape (m, n)
        The data.
    negative : {"error", "clip", "allow"}
        What is to be done with negative entries.
    changes : tuple of callables
        What is done to columns when they are read, after negative entries were dealt with.
    whole : dask.array.Array
        The same with the columns that are not used.
    starts : ndarray of int
        The first column of each chunk.
    entries : Entries or None
        What the first pass found; None before it.
    """

    lazy = True
    kind = "dense, read in chunks"

    def __init__(
        self,
        array: Any,
        negative: Negative = "error",
        columns: Columns | None = None,
        rows: Ints | None = None,
        remedy: Remedy = OF_ARRAYS,
    ) -> None:
        self.given = array
        self.whole = with_whole_columns(array)
        self.columns = columns
        self.rows = rows  # the caller's indices of the rows, if not all are used
        self.mask = None if columns is None else columns.mask
        self.remedy = remedy
        self.array = self.whole if self.mask is None else kept_columns(self.whole, self.mask)
        self.negative = negative
        self.changes: tuple[Change, ...] = ()
        self.starts = np.cumsum([0, *self.array.chunks[1][:-1]])
        self.entries: Entries | None = None

    @property
    def shape(self) -> tuple[int, int]:
        m, n = self.array.shape
        return int(m), int(n)

    @property
    def dtype(self) -> np.dtype[Any]:
        return computing_dtype(self.array.dtype)

    @property
    def is_small(self) -> bool:
        """Whether the matrix may be loaded for a method that needs all columns at once."""
        return self.shape[0] * self.shape[1] <= SMALL

    # Other matrices ----------------------------------------------------------------------------------

    @property
    def all_changes(self) -> tuple[Change, ...]:
        """Everything that is done to columns when they are read."""
        return (methodcaller("clipped"), *self.changes) if self.negative == "clip" else self.changes

    def changed(self, *changes: Change) -> "Chunked":
        """Return the same columns, with more done to them when they are read."""
        other = copy(self)
        other.changes = (*self.changes, *changes)
        return other

    def with_columns(self, columns: Columns | None) -> "Chunked":
        other = copy(self)
        other.columns = columns
        return other

    def normalised(self, kind: str) -> "Chunked":
        return self if kind == "none" else self.changed(methodcaller("normalised", kind))

    @property
    def is_tall(self) -> bool:
        return is_tall(self.given) and not self.is_small

    def with_few_rows(self) -> Matrix:
        if not self.is_tall:
            return self
        matrix: InMemory = self.few_rows
        for change in self.changes:
            matrix = change(matrix)
        return replace(matrix, columns=self.columns)

    @cached_property
    def few_rows(self) -> FewRows:
        """A matrix with the products of the columns; one pass."""
        return with_few_rows(self.given, self.negative, self.kept, self.given_position, self.remedy)

    @property
    def kept(self) -> Ints | None:
        """Indices of the columns that are used; None if all are."""
        return None if self.mask is None else np.flatnonzero(self.mask)

    def refusing_negative(self, refuse: Callable[[Any], Any]) -> "Chunked":
        return self.changed(partial(with_checked_values, refuse))

    def products_with(self, Q: Floats) -> Floats:
        return products_with(self.given, Q, self.negative, self.kept)

    def part(self, columns: Ints) -> "Chunked":
        other = Chunked(self.array[:, columns], self.negative, remedy=self.remedy)
        other.changes, other.scale = self.changes, self.scale
        return other

    def in_memory(self) -> InMemory:
        """Return the matrix in memory if it is small; refuse otherwise."""
        if not self.is_small:
            m, n = self.shape
            raise ValueError(
                f"M has {m} × {n} entries that are read in chunks, and this needs them in memory at once: "
                "pass a part of its columns, or M.compute() if it fits."
            )
        return self.loaded()

    def loaded(self) -> InMemory:
        """Return all columns in memory, checked, and with everything done to them."""
        chunks = computed(self.tasks(stored_in_chunk, None))
        if isinstance(chunks[0], np.ndarray):
            # In the order of rows, which methods would otherwise make a copy for.
            whole = np.concatenate(chunks, axis=1, out=np.empty(self.shape, np.result_type(*chunks)))
        else:
            whole = checked_kind(sparse.hstack(chunks))
        del chunks
        matrix = checked(whole, self.negative, located=self.given_position, remedy=self.remedy)
        return reduce(lambda columns, change: change(columns), self.changes, matrix)

    def sampled(self, random_state: Seed) -> InMemory:
        """Return some twenty thousand columns drawn at random, checked; one pass."""
        if self.is_tall:
            return self.few_rows
        held: Held = self.scan(Drawn(self.random_sample(check_generator(random_state))))[0]
        return checked(
            held.columns,
            self.negative,
            located=lambda place: self.given_position((place[0], int(held.indices[place[1]]))),
            remedy=self.remedy,
        )

    # Passes ------------------------------------------------------------------------------------------

    @cached_property
    def pieces(self) -> list[tuple[Any, Ints]]:
        """The array and the first columns of its chunks; or several, one for each chunk."""
        if self.whole.numblocks[1] <= self.given.numblocks[1]:
            return [(self.array, self.starts)]
        # Cut out one by one, for otherwise Dask holds what they are cut from.
        pieces, first, start = [], 0, 0
        for width in self.whole.chunks[1]:
            cut = self.given[:, first : first + width].rechunk((-1, -1))
            used = None if self.mask is None else self.mask[first : first + width]
            first += width
            if used is not None and not used.any():
                continue
            pieces.append((cut if used is None else kept_columns(cut, used), np.array([start])))
            start += width if used is None else int(used.sum())
        return pieces

    def tasks(self, function: Callable[..., Any], argument: Any, wanted: Ints | None = None) -> list[Any]:
        """Return tasks for all or some chunks, in order; each gives [[function(block, argument)]].

        Reading a chunk is part of the task, so that no chunk is kept or sent.
        """
        from dask import delayed  # type: ignore[attr-defined]

        shared = delayed(argument, traverse=False)
        found: list[Any] = []
        for array, starts in self.pieces:
            results = array.map_blocks(
                on_one_core,
                function,
                shared,
                self.all_changes,
                starts,
                name=f"on_one_core-{uuid4().hex}",
                dtype=object,
                chunks=((1,), (1,) * len(starts)),
                meta=np.empty((0, 0), object),
            )
            found.extend(results.to_delayed().ravel())
        return found if wanted is None else [found[k] for k in wanted]

    def scan(self, *reducers: Reducer[Any]) -> tuple[Any, ...]:
        """Read all columns once, and return what each reducer makes of them.

        Results are joined in order and in groups, so that they do not pile up.
        """
        from dask import delayed  # type: ignore[attr-defined]

        results = self.tasks(scan_block, reducers)
        together, shared = delayed(join_boxes, pure=False), delayed(reducers, traverse=False)
        while len(results) > 1:
            groups = [results[i : i + JOINED] for i in range(0, len(results), JOINED)]
            results = [together(shared, group) for group in groups]
        answer: tuple[Any, ...] = computed(results)[0]
        return answer

    def checked_scan(self, *reducers: Reducer[Any]) -> tuple["Chunked", tuple[Any, ...] | None]:
        """Read all columns once and check their entries, if that has not been done.

        Returns the matrix, divided by a power of two if squares would leave the floating-point range, and
        what the reducers make of it: None if the entries were divided, so that they have to be read again.
        """
        if self.entries is not None:
            return self, self.scan(*reducers)
        entries, *results = self.scan(Inspection(), *reducers)
        if entries.n_bad:
            first = self.given_position(entries.first_bad)
            raise ValueError(not_finite("M", entries.n_bad, first, remedy=self.remedy))
        if entries.n_negative and self.negative == "error":
            first = self.given_position(entries.first_negative)
            raise ValueError(negative_entries(entries.n_negative, first, self.remedy))
        checked = self.changed()
        checked.entries = entries
        if 1 / SAFE_SQUARES <= entries.longest <= SAFE_SQUARES:
            return checked, tuple(results)
        least, most, _ = self.extent()
        size = max(most, 0.0 if self.negative == "clip" else -least)
        if size == 0.0:
            raise ValueError("M is zero: there is no column to choose.")
        exponent = min(int(np.frexp(size)[1]), LARGEST_EXPONENT)
        checked.changes = (methodcaller("divided_by_power_of_two", exponent), *self.changes)
        checked.scale = 2.0**exponent
        return checked, None

    def given_position(self, position: tuple[int, int] | None) -> tuple[int, int] | None:
        """Return row and column of an entry as the caller counts them."""
        if position is None:
            return None
        row, column = position
        return (
            row if self.rows is None else int(self.rows[row]),
            column if self.kept is None else int(self.kept[column]),
        )

    def take(self, columns: Ints) -> Floats:
        if self.is_tall and not self.changes:
            indices = columns if self.kept is None else self.kept[columns]
            return columns_of_rows(self.given, indices, self.negative)
        places = np.searchsorted(self.starts, columns, side="right") - 1
        wanted = np.unique(places)
        found = np.empty((self.shape[0], len(columns)))
        for k, part in zip(wanted, computed(self.tasks(take_from_chunk, columns, wanted)), strict=True):
            found[:, places == k] = part
        return found

    def peek(self) -> Held:
        """Return some columns from a few places, after all changes, with zeros for what is not a number."""
        places = np.unique(np.linspace(0, len(self.starts) - 1, PEEKS).astype(int))
        widths = self.array.chunks[1]
        indices = np.concatenate([self.starts[k] + np.arange(min(PEEK, widths[k])) for k in places])
        columns = self.take(indices)
        finite = np.nan_to_num(columns, posinf=0.0, neginf=0.0) if has_not_finite(columns) else columns
        return Held(indices, finite)

    def random_sample(self, rng: np.random.Generator) -> Ints:
        """Return the indices of twenty thousand columns, or of as many as can be held."""
        m, n = self.shape
        return np.sort(rng.choice(n, min(SAMPLE, max(HELD // m, 1000), n), replace=False))

    def extent(self) -> tuple[float, float, int]:
        if self.is_tall:
            return extent_of_rows(self.given, self.kept)
        found: tuple[float, float, int] = self.scan(Extent())[0]
        return found

    def mean_row(self) -> Floats:
        return concatenated(self.scan(Means())[0], self.shape[1])

    def map_columns(self, function: Callable[[InMemory, int], Floats], rows: int, dtype: Any) -> Any:
        masks = () if self.mask is None or self.columns is None else (chunked_mask(self.whole, self.mask),)
        array = self.whole if masks else self.array
        return dask_array().map_blocks(
            on_columns,
            array,
            *masks,
            function=function,
            changes=self.all_changes,
            shape=(rows, np.dtype(dtype)),
            dtype=dtype,
            chunks=((rows,), array.chunks[1]),
            meta=np.empty((0, 0), dtype),
        )
