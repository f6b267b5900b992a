"""Passes over the columns of a Dask array: small functions of a few columns, and ways to join two results.

How chunks are read, where the functions run and what happens when a worker is lost is Dask's business.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Generic, TypeVar
from uuid import uuid4

import numpy as np
from scipy import sparse

from sepnmf.columns import Columns, dense_columns, is_sparse, l1_lengths, squared_lengths
from sepnmf.kernels import distances
from sepnmf.parallel import SingleBLAS
from sepnmf.sources import checked_chunks, with_whole_columns
from sepnmf.typing import Floats, Ints
from sepnmf.validation import Negative, check_choice

Result = TypeVar("Result")
Change = Callable[[Columns], Columns]

PART = 2**20  # entries that are worked on at a time, in float64
WIDEST = 2**21  # entries of the widest part, where columns are long
SPARSE = 64  # columns of a part, at least, where they are sparse
TOGETHER = 16  # results that one task joins
ROOMY = 1e120  # squared lengths beyond it, or below its inverse, need care
GLIMPSES, GLIMPSE = 8, 256  # places that are looked at before the first pass, and columns at each


# A few columns at a time -------------------------------------------------------------------------------


class Part:
    """A few columns of a chunk.

    Attributes
    ----------
    start : int
        The number of the first.
    raw : ndarray or CSC array
        The columns as they are stored.
    columns : ndarray or CSC array
        The columns in float64, after all changes.
    """

    def __init__(self, start: int, raw: Columns, changes: Sequence[Change]) -> None:
        self.start = start
        self.raw = raw
        self.columns = reduce(lambda columns, change: change(columns), changes, in_float64(raw))

    @cached_property
    def measures(self) -> tuple[Floats, bool]:
        """Squared lengths of the columns, and whether one of their entries may be negative."""
        columns = self.columns
        if is_sparse(columns) or columns.strides[1] != columns.itemsize:
            return squared_lengths(columns), True
        squares = np.empty(columns.shape[1])
        return squares, distances.squared_lengths(columns, columns.view(np.int64), squares)

    @property
    def squares(self) -> Floats:
        """Squared lengths of the columns."""
        return self.measures[0]

    @property
    def has_negative(self) -> bool:
        """Whether an entry is negative as it is stored."""
        if self.columns is self.raw and not self.measures[1]:
            return False
        return bool((self.raw.data if is_sparse(self.raw) else self.raw).min(initial=0) < 0)

    def times(self, U: Floats) -> Floats:
        """UᵀM of these columns."""
        product = (self.columns.T @ U).T if is_sparse(self.columns) else U.T @ self.columns
        return np.asarray(product)

    def held(self, places: Ints) -> "Held":
        """The columns at these places of the part."""
        return Held(self.start + places, dense_columns(self.columns, places))


@dataclass(frozen=True, eq=False)
class Block:
    """A chunk, its place in the array, and what is to be done to its columns."""

    first: int
    chunk: Columns
    changes: tuple[Change, ...]

    @property
    def stored(self) -> Columns:
        """The chunk as an array, or a sparse one in CSC form."""
        if isinstance(self.chunk, np.ndarray):
            return self.chunk
        return sparse.csc_array(self.chunk.tocsc())

    def parts(self) -> Iterator[Part]:
        """The columns, a few at a time."""
        stored = self.stored
        m, n = stored.shape
        width = max(WIDEST // m, SPARSE) if is_sparse(stored) else max(PART // m, min(m, WIDEST // m), 1)
        for start in range(0, n, width):
            yield Part(self.first + start, stored[:, start : start + width], self.changes)

    def dense(self, numbers: Ints) -> Floats:
        """The columns with these numbers, in float64, after all changes."""
        columns = Part(0, self.stored[:, numbers - self.first], self.changes).columns
        return dense_columns(columns, slice(None))


def in_float64(columns: Columns) -> Columns:
    """The columns in float64, dense or sparse as they are."""
    return columns.astype(np.float64, copy=False)


def without_bad(A: Floats) -> Floats:
    """A, with zeros for what is no number; most often A itself."""
    return A if np.isfinite(A.sum()) else np.nan_to_num(A, posinf=0.0, neginf=0.0)


class Reducer(Generic[Result]):
    """What a pass computes: something of every part, then of every chunk, then of any two results."""

    def of_part(self, part: Part) -> Any:
        """What the columns of a part give."""
        raise NotImplementedError

    def more(self, found: Any, part: Part) -> Any:
        """What the parts of a chunk give so far, None at first, with one more; here, joined to one result."""
        new = self.of_part(part)
        return new if found is None else self.join(found, new)

    def of_chunk(self, found: Any, block: Block) -> Result:
        """The result of a chunk, from what its parts gave."""
        result: Result = found
        return result

    def join(self, a: Result, b: Result) -> Result:
        """The result of both; `a` is of the columns that come first."""
        raise NotImplementedError


class Chunks:
    """The columns of a Dask array, with all rows of a column in one chunk.

    Attributes
    ----------
    array : dask.array.Array of shape (m, n)
        The data.
    changes : tuple of callables
        What is done to columns when they are read.
    starts : ndarray of int
        The first column of each chunk.
    """

    def __init__(self, M: Any) -> None:
        array = checked_chunks(M)
        self.array = with_whole_columns(array)
        self.given = array
        self.changes: tuple[Change, ...] = ()
        self.starts = np.cumsum([0, *self.array.chunks[1][:-1]])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        m, n = self.array.shape
        return int(m), int(n)

    @cached_property
    def pieces(self) -> list[tuple[Any, Ints]]:
        """The array and the first columns of its chunks; or several, one for each chunk."""
        if self.array.numblocks[1] <= self.given.numblocks[1]:
            return [(self.array, self.starts)]
        # Cut out one by one, for otherwise Dask holds what they are cut from.
        widths = zip(self.starts, self.array.chunks[1], strict=True)
        cuts = [(self.given[:, int(start) : int(start) + width], start) for start, width in widths]
        return [(cut.rechunk((-1, -1)), np.array([start])) for cut, start in cuts]

    def tasks(self, function: Callable[..., Any], argument: Any, wanted: Ints | None = None) -> list[Any]:
        """Tasks for all or for some chunks, in order, of which each returns [[function(block, argument)]].

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
                self.changes,
                starts,
                name=f"on_one_core-{uuid4().hex}",
                dtype=object,
                chunks=((1,), (1,) * len(starts)),
                meta=np.empty((0, 0), object),
            )
            found.extend(results.to_delayed().ravel())
        return found if wanted is None else [found[k] for k in wanted]

    def loaded(self) -> Columns:
        """All columns as they are stored, in memory."""
        chunks = computed(self.tasks(stored_in_chunk, None))
        return sparse.csc_array(sparse.hstack(chunks)) if is_sparse(chunks[0]) else np.hstack(chunks)

    def changed(self, *changes: Change) -> "Chunks":
        """The same columns, with more done to them when they are read."""
        other = copy(self)
        other.changes = (*self.changes, *changes)
        return other

    def prepared(self, negative: Negative, normalize: str = "none") -> "Chunks":
        """The same columns with what a user asks for: negative entries set to zero, sums that are one."""
        check_choice(negative, "negative", ("error", "clip", "allow"))
        clip = (clipped,) if negative == "clip" else ()
        return self.changed(*clip, *((with_unit_sums,) if normalize == "l1" else ()))

    def scan(self, *reducers: Reducer[Any]) -> tuple[Any, ...]:
        """Read all columns once; what each reducer makes of them.

        Results are joined in order and in groups, so that they do not pile up.
        """
        from dask import delayed  # type: ignore[attr-defined]

        results = self.tasks(scan_chunk, reducers)
        together, shared = delayed(join_results, pure=False), delayed(reducers, traverse=False)
        while len(results) > 1:
            groups = [results[i : i + TOGETHER] for i in range(0, len(results), TOGETHER)]
            results = [together(shared, group) for group in groups]
        answer: tuple[Any, ...] = computed(results)[0]
        return answer

    def take(self, numbers: Ints) -> Floats:
        """These columns, in float64 and after all changes; only the chunks they are in are read."""
        places = np.searchsorted(self.starts, numbers, side="right") - 1
        wanted = np.unique(places)
        found = np.empty((self.shape[0], len(numbers)))
        for k, part in zip(wanted, computed(self.tasks(take_from_chunk, numbers, wanted)), strict=True):
            found[:, places == k] = part
        return found

    def glimpse(self) -> "Held":
        """Some columns from a few places, after all changes, with zeros for what is no number."""
        places = np.unique(np.linspace(0, len(self.starts) - 1, GLIMPSES).astype(int))
        widths = self.array.chunks[1]
        numbers = np.concatenate([self.starts[k] + np.arange(min(GLIMPSE, widths[k])) for k in places])
        return Held(numbers, without_bad(self.take(numbers)))


def computed(tasks: list[Any]) -> list[Any]:
    """The results of tasks."""
    from dask import compute  # type: ignore[attr-defined]

    with SingleBLAS():  # here, so that the tasks of this process need not change it
        return [result[0, 0] for result in compute(*tasks)]  # type: ignore[no-untyped-call]


def on_one_core(
    chunk: Columns,
    function: Callable[..., Any],
    argument: Any,
    changes: tuple[Change, ...],
    starts: Ints,
    block_id: tuple[int, int],
) -> Any:
    """Call a function of a chunk, with BLAS on one thread: Dask has a task for every core."""
    with SingleBLAS(), np.errstate(all="ignore"):
        return boxed(function(Block(int(starts[block_id[1]]), chunk, changes), argument))


def boxed(result: Any) -> Any:
    """A result as the only entry of an array, which is what tasks of Dask arrays return."""
    box = np.empty((1, 1), object)
    box[0, 0] = result
    return box


def scan_chunk(block: Block, reducers: Sequence[Reducer[Any]]) -> tuple[Any, ...]:
    """What each reducer makes of a chunk."""
    found: list[Any] = [None] * len(reducers)
    for part in block.parts():
        found = [reducer.more(known, part) for reducer, known in zip(reducers, found, strict=True)]
    return tuple(reducer.of_chunk(known, block) for reducer, known in zip(reducers, found, strict=True))


def join_results(reducers: Sequence[Reducer[Any]], boxes: Sequence[Any]) -> Any:
    """The results of several chunks as those of one."""
    columns = zip(*(box[0, 0] for box in boxes), strict=True)
    joined = (reduce(reducer.join, column) for reducer, column in zip(reducers, columns, strict=True))
    return boxed(tuple(joined))


def take_from_chunk(block: Block, numbers: Ints) -> Floats:
    """Those of some columns that are in a chunk."""
    inside = (numbers >= block.first) & (numbers < block.first + block.chunk.shape[1])
    return block.dense(numbers[inside])


def stored_in_chunk(block: Block, _: None) -> Columns:
    """All columns of a chunk as they are stored."""
    return block.stored


# What can be done to columns when they are read --------------------------------------------------------


def clipped(columns: Columns) -> Columns:
    """The columns with negative entries set to zero; what is infinite stays, to be refused."""
    if is_sparse(columns):
        return sparse.csc_array((clipped(columns.data), columns.indices, columns.indptr), shape=columns.shape)
    kept = np.maximum(columns, 0)
    if columns.size and columns.min() == -np.inf:
        kept[columns == -np.inf] = -np.inf
    return kept


def with_unit_sums(columns: Columns) -> Columns:
    """Columns divided by their sums of absolute values."""
    return divided(columns, l1_lengths(columns))


def with_root_sums(columns: Columns) -> Columns:
    """Columns divided by the roots of their sums of absolute values."""
    return divided(columns, np.sqrt(l1_lengths(columns)))


def divided(columns: Columns, by: Floats) -> Columns:
    """Each column divided by a number, unless that is zero."""
    factors = 1 / np.where(by > 0, by, 1.0)
    if is_sparse(columns):
        return sparse.csc_array(columns @ sparse.diags_array(factors))
    return columns * factors


@dataclass(frozen=True)
class Scaled:
    """Columns divided by a power of two."""

    exponent: int

    def __call__(self, columns: Columns) -> Columns:
        """The columns, divided."""
        if is_sparse(columns):
            data = np.ldexp(columns.data, -self.exponent)
            return sparse.csc_array((data, columns.indices, columns.indptr), shape=columns.shape)
        return np.ldexp(columns, -self.exponent)


# What is wrong with the entries ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Entries:
    """What one pass says of all entries as they are stored."""

    n_bad: int
    first_bad: tuple[int, int] | None
    n_negative: int
    first_negative: tuple[int, int] | None
    # Of the columns after all changes: squared length of the longest, of all, and how many are not zero.
    longest: float
    energy: float
    n_nonzero: int

    def checked(self, chunks: "Chunks", negative: Negative) -> tuple["Chunks", float]:
        """Refuse what `sepnmf.validation` refuses of data in memory, in the same words.

        Returns the columns divided by a number, and the number: 1, or a power of two that keeps squares in
        the floating-point range.
        """
        if self.n_bad:
            raise ValueError(
                f"M has {self.n_bad} NaN or infinite entries, the first at {self.first_bad}: "
                "remove or replace them."
            )
        if self.n_negative and negative == "error":
            raise ValueError(
                f"M has {self.n_negative} negative entries, the first at {self.first_negative}: pass "
                'negative="clip" to set them to zero or negative="allow" to keep them.'
            )
        if 1 / ROOMY <= self.longest <= ROOMY:
            return chunks, 1.0
        least, most, _ = chunks.scan(Extent())[0]
        size = max(most, 0.0 if negative == "clip" else -least)
        if size == 0.0:
            raise ValueError("M is zero: there is no column to choose.")
        exponent = int(np.frexp(size)[1])
        scaled = chunks.changed()
        scaled.changes = (Scaled(exponent), *chunks.changes)
        return scaled, 2.0**exponent


class Inspection(Reducer[Entries]):
    """Looks at every entry."""

    def of_part(self, part: Part) -> Entries:
        """What is wrong with the columns of a part."""
        raw, longest = part.raw, float(part.squares.max())
        none = np.zeros((0, 2), np.intp)
        bad = none if np.isfinite(longest) else positions(raw, lambda values: ~np.isfinite(values))
        below = positions(raw, lambda values: values < 0) if part.has_negative else none
        return Entries(
            len(bad),
            place(bad, part.start),
            len(below),
            place(below, part.start),
            longest,
            float(part.squares.sum()),
            int(np.count_nonzero(part.squares)),
        )

    def join(self, a: Entries, b: Entries) -> Entries:
        """What is wrong with both."""
        return Entries(
            a.n_bad + b.n_bad,
            min(filter(None, (a.first_bad, b.first_bad)), default=None),
            a.n_negative + b.n_negative,
            min(filter(None, (a.first_negative, b.first_negative)), default=None),
            max(a.longest, b.longest),
            a.energy + b.energy,
            a.n_nonzero + b.n_nonzero,
        )


class Extent(Reducer[tuple[float, float, int]]):
    """Finds the least and the largest entry as stored, and how many are zero."""

    def of_part(self, part: Part) -> tuple[float, float, int]:
        """Those of a part."""
        raw = part.raw
        size = raw.shape[0] * raw.shape[1]
        values = raw.data if is_sparse(raw) else raw
        outside = {"initial": 0} if values.size < size else {}
        least, most = float(values.min(**outside)), float(values.max(**outside))
        return least, most, size - int(np.count_nonzero(values))

    def join(self, a: tuple[float, float, int], b: tuple[float, float, int]) -> tuple[float, float, int]:
        """Those of both."""
        return min(a[0], b[0]), max(a[1], b[1]), a[2] + b[2]


def positions(raw: Columns, wrong: Callable[[Any], Any]) -> Ints:
    """Rows and columns of the entries that are wrong."""
    if not is_sparse(raw):
        return np.argwhere(wrong(raw))
    entries = raw.tocoo()
    found = np.flatnonzero(wrong(entries.data))
    return np.stack([entries.coords[0][found], entries.coords[1][found]], axis=1)


def place(found: Ints, start: int) -> tuple[int, int] | None:
    """Row and column of the first place found, by row."""
    if not len(found):
        return None
    row, column = min(found.tolist())
    return int(row), int(column) + start


# Columns that are held ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Held:
    """Columns that are held: their numbers, rising, and themselves, dense in float64."""

    numbers: Ints
    columns: Floats

    @classmethod
    def of(cls, numbers: Ints, columns: Floats) -> "Held":
        """Columns in any order, each kept once."""
        distinct, first = np.unique(numbers, return_index=True)
        return cls(distinct, np.ascontiguousarray(columns[:, first]))

    def joined(self, other: "Held") -> "Held":
        """These columns and others."""
        return Held.of(
            np.concatenate([self.numbers, other.numbers]), np.hstack([self.columns, other.columns])
        )

    def at(self, places: Ints) -> "Held":
        """Some of these columns."""
        return Held.of(self.numbers[places], self.columns[:, places])

    def places(self, numbers: Ints) -> Ints:
        """Where columns with these numbers are."""
        return np.searchsorted(self.numbers, numbers)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Columns with large values of something, the largest value first, ties by number."""

    values: Floats
    numbers: Ints
    columns: Floats

    def joined(self, other: "Ranked", most: int, rounding: float = 0.0) -> "Ranked":
        """The first `most` of both; values that rounding cannot tell from the largest are ties."""
        values = np.concatenate([self.values, other.values])
        numbers = np.concatenate([self.numbers, other.numbers])
        near = values >= values.max() - rounding
        order = np.lexsort((numbers, np.where(near, 0.0, -values), ~near))[:most]
        return Ranked(values[order], numbers[order], np.hstack([self.columns, other.columns])[:, order])


@dataclass(frozen=True, eq=False)
class Drawn(Reducer[Held]):
    """Brings back the columns with given numbers, which rise."""

    numbers: Ints

    def more(self, found: Any, part: Part) -> None:
        """Nothing: columns are taken from the chunk as a whole."""

    def of_chunk(self, found: Any, block: Block) -> Held:
        """The columns of this chunk."""
        ends = np.searchsorted(self.numbers, [block.first, block.first + block.chunk.shape[1]])
        numbers = self.numbers[slice(*ends)]
        return Held(numbers, block.dense(numbers))

    def join(self, a: Held, b: Held) -> Held:
        """The columns of both."""
        return a.joined(b)


class Squares(Reducer[list[Floats]]):
    """Squared lengths of all columns."""

    def of_part(self, part: Part) -> list[Floats]:
        """Those of a part."""
        return [part.squares]

    def of_chunk(self, found: list[Floats], block: Block) -> list[Floats]:
        """Those of a chunk, as one array."""
        return [np.concatenate(found)]

    def join(self, a: list[Floats], b: list[Floats]) -> list[Floats]:
        """Those of both."""
        return a + b


def put_together(parts: list[Floats], n: int) -> Floats:
    """Arrays one after the other as one of length n; each is let go as soon as it is copied."""
    whole = np.empty(n)
    start = 0
    for k in range(len(parts)):
        part, parts[k] = parts[k], whole[:0]
        whole[start : start + len(part)] = part
        start += len(part)
    return whole
