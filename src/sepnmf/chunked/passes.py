"""Passes over the columns of a Dask array: a small function for every chunk, and a way to join two results.

How chunks are read, where the functions run and what happens when a worker is lost is Dask's business.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from sepnmf.parallel import SingleBLAS
from sepnmf.typing import Floats, Ints
from sepnmf.validation import Negative, check_choice

Result = TypeVar("Result")

PART = 2**21  # entries of a chunk that are worked on at a time, in float64
TOGETHER = 16  # results that one task joins


class Chunks:
    """The columns of a Dask array, with all rows of a column in one chunk.

    Attributes
    ----------
    array : dask.array.Array of shape (m, n)
        The data.
    starts : ndarray of int
        The first column of each chunk.
    """

    def __init__(self, array: Any) -> None:
        if array.ndim != 2:
            raise ValueError(f"M must have 2 dimension(s), got shape {array.shape}.")
        if array.dtype.kind not in "fiub":
            raise ValueError(f"M must hold real numbers, got dtype {array.dtype}: convert it to float first.")
        if any(np.isnan(size) for size in array.shape):
            raise ValueError("M has chunks of unknown size: call M.compute_chunk_sizes() first.")
        if 0 in array.shape:
            raise ValueError(f"M is empty: its shape is {array.shape}.")
        self.array = array if array.numblocks[0] == 1 else array.rechunk({0: -1})
        self.starts = np.cumsum([0, *self.array.chunks[1][:-1]])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        m, n = self.array.shape
        return int(m), int(n)

    def mapped(self, function: Callable[[Floats], Floats]) -> "Chunks":
        """The same chunks, each of them changed by a function when it is read."""
        return Chunks(self.array.map_blocks(function, dtype=np.float64))

    def fold(
        self, function: Callable[..., Result], join: Callable[[Result, Result], Result], *arguments: Any
    ) -> Result:
        """Read all columns once: join the results of `function(first, chunk, *arguments)` over the chunks.

        Joined in order and in groups, so that results do not pile up.
        """
        from dask import compute, delayed  # type: ignore[attr-defined]

        shared = [delayed(argument, traverse=False) for argument in arguments]
        task = delayed(on_one_core, pure=False)
        results = [
            task(function, int(first), chunk, *shared)
            for first, chunk in zip(self.starts, self.array.to_delayed().ravel(), strict=True)
        ]
        while len(results) > 1:
            groups = [results[i : i + TOGETHER] for i in range(0, len(results), TOGETHER)]
            results = [delayed(reduce, pure=False)(join, group) for group in groups]
        answer: Result = compute(results[0])[0]  # type: ignore[no-untyped-call]
        return answer

    def take(self, columns: Ints) -> Floats:
        """These columns, in float64; only the chunks they are in are read."""
        order = np.argsort(columns, kind="stable")
        part = np.asarray(self.array[:, columns[order]].compute(), dtype=np.float64)
        found = np.empty_like(part)
        found[:, order] = part
        return found


def on_one_core(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function with BLAS on one thread: Dask has a task for every core."""
    with SingleBLAS():
        return function(*arguments)


def parts(first: int, chunk: Any) -> Iterator[tuple[int, Floats]]:
    """The number of the first column and the columns, in float64, of small parts of a chunk."""
    m, n = chunk.shape
    width = max(PART // m, 1)
    for start in range(0, n, width):
        yield first + start, np.asarray(chunk[:, start : start + width], dtype=np.float64)


# The first pass ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass says of all entries."""

    n_bad: int
    first_bad: tuple[int, int] | None
    n_negative: int
    first_negative: tuple[int, int] | None
    n_zeros: int
    least: float
    most: float
    gram: Floats  # MMᵀ

    def check(self, negative: Negative) -> None:
        """Refuse what `sepnmf.validation` refuses of data in memory, in the same words."""
        check_choice(negative, "negative", ("error", "clip", "allow"))
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
        if self.most == self.least == 0.0:
            raise ValueError("M is zero: there is no column to choose.")


def survey(chunks: Chunks) -> Survey:
    """Look at every entry once."""
    return chunks.fold(survey_chunk, join_surveys)


def survey_chunk(first: int, chunk: Floats) -> Survey:
    """The survey of one chunk."""
    return reduce(join_surveys, (survey_part(start, part) for start, part in parts(first, chunk)))


def survey_part(start: int, part: Floats) -> Survey:
    """The survey of a few columns."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram = part @ part.T
    bad = np.zeros((0, 2), np.intp)
    if not np.isfinite(np.trace(gram)):
        bad = np.argwhere(~np.isfinite(part))
    least, most = float(part.min()), float(part.max())
    negative = np.argwhere(part < 0) if least < 0 else np.zeros((0, 2), np.intp)
    return Survey(
        len(bad),
        place(bad, start),
        len(negative),
        place(negative, start),
        part.size - int(np.count_nonzero(part)),
        least,
        most,
        gram,
    )


def place(found: Ints, start: int) -> tuple[int, int] | None:
    """Row and column of the first place found."""
    return (int(found[0, 0]), int(found[0, 1]) + start) if len(found) else None


def join_surveys(a: Survey, b: Survey) -> Survey:
    """The survey of both."""
    return Survey(
        a.n_bad + b.n_bad,
        min(filter(None, (a.first_bad, b.first_bad)), default=None),
        a.n_negative + b.n_negative,
        min(filter(None, (a.first_negative, b.first_negative)), default=None),
        a.n_zeros + b.n_zeros,
        min(a.least, b.least),
        max(a.most, b.most),
        a.gram + b.gram,
    )


# Columns that stand out --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ranked:
    """Some columns with the largest values of something, largest first, ties by number.

    `next_value` is the largest value of a column that is not among them, −∞ if there is none.
    """

    numbers: Ints
    values: Floats
    columns: Floats
    next_value: float

    @classmethod
    def of(
        cls, numbers: Ints, values: Floats, columns: Floats, most: int, next_value: float = -np.inf
    ) -> "Ranked":
        """The first `most` of these columns."""
        order = np.lexsort((numbers, -values))
        kept = order[:most]
        if len(order) > most:
            next_value = max(next_value, float(values[order[most]]))
        return cls(numbers[kept], values[kept], np.ascontiguousarray(columns[:, kept]), next_value)

    def join(self, other: "Ranked", most: int) -> "Ranked":
        """The first `most` of the columns of both."""
        return Ranked.of(
            np.concatenate([self.numbers, other.numbers]),
            np.concatenate([self.values, other.values]),
            np.hstack([self.columns, other.columns]),
            most,
            max(self.next_value, other.next_value),
        )
