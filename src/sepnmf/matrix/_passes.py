"""Passes over columns: small functions of a few columns, and ways to join two results."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from sepnmf._typing import Bools, Floats, Ints
from sepnmf.matrix._held import Held

if TYPE_CHECKING:
    from sepnmf.matrix._dense import InMemory

Result = TypeVar("Result")
Change = Callable[["InMemory"], "InMemory"]

PART = 2**20  # entries that are worked on at a time, in float64
WIDEST = 2**21  # entries of the widest part, where columns are long
SPARSE = 64  # columns of a part, at least, where they are sparse


class Part:
    """A few columns.

    Attributes
    ----------
    start : int
        The index of the first.
    raw : InMemory
        The columns as they are stored.
    columns : InMemory
        The columns in float64, after all changes.
    """

    def __init__(self, start: int, raw: "InMemory", changes: Sequence[Change]) -> None:
        self.start = start
        self.raw = raw
        self.columns = reduce(
            lambda columns, change: change(columns), changes, raw.in_floats(np.dtype(np.float64))
        )

    @cached_property
    def measures(self) -> tuple[Floats, bool]:
        """Squared norms of the columns, and whether one of their entries may be negative."""
        return self.columns.measures()

    @property
    def squares(self) -> Floats:
        """Squared norms of the columns."""
        return self.measures[0]

    @cached_property
    def is_nonzero(self) -> Bools:
        """Whether the columns have entries that are not zero; squares may be too small to be represented."""
        found = self.squares > 0
        return found if found.all() else found | (self.columns.largest_entries() > 0)

    @property
    def has_negative(self) -> bool:
        """Whether an entry is negative as it is stored."""
        if self.columns is self.raw and not self.measures[1]:
            return False
        return bool(self.raw.values.min(initial=0) < 0)

    def times(self, U: Floats) -> Floats:
        """Return UᵀM of these columns."""
        return self.columns.times(U)

    def held(self, positions: Ints) -> Held:
        """Return the columns at these positions of the part."""
        return Held(self.start + positions, self.columns.take(positions))


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive columns, the index of the first, and what is to be done to them."""

    first: int
    stored: "InMemory"
    changes: tuple[Change, ...] = ()

    @property
    def stop(self) -> int:
        """The index behind the last column."""
        return self.first + self.stored.shape[1]

    def parts(self) -> Iterator[Part]:
        """Return the columns, a few at a time."""
        m, n = self.stored.shape
        sparse = self.stored.cheap_products
        width = max(WIDEST // m, SPARSE) if sparse else max(PART // m, min(m, WIDEST // m), 1)
        for start in range(0, n, width):
            columns = self.stored.part(slice(start, start + width))
            yield Part(self.first + start, columns, self.changes)

    def dense(self, indices: Ints) -> Floats:
        """Return the columns with these indices, in float64, after all changes."""
        columns = Part(0, self.stored.part(indices - self.first), self.changes).columns
        return columns.take(slice(None))


class Reducer(Generic[Result]):
    """What a pass computes: something of every part, then of every chunk, then of any two results."""

    def of_part(self, part: Part) -> Any:
        """Return what the columns of a part give."""
        raise NotImplementedError

    def more(self, found: Any, part: Part) -> Any:
        """Return what the parts of a chunk give so far, None at first, joined with one more."""
        new = self.of_part(part)
        return new if found is None else self.join(found, new)

    def of_chunk(self, found: Any, block: Block) -> Result:
        """Return the result of a chunk, from what its parts gave."""
        result: Result = found
        return result

    def join(self, a: Result, b: Result) -> Result:
        """Return the result of both, by default their sum; `a` is of the columns that come first."""
        return a + b  # type: ignore[operator, no-any-return]


def scan_block(block: Block, reducers: Sequence[Reducer[Any]]) -> tuple[Any, ...]:
    """Return what each reducer makes of a block."""
    found: list[Any] = [None] * len(reducers)
    with np.errstate(all="ignore"):
        for part in block.parts():
            found = [reducer.more(known, part) for reducer, known in zip(reducers, found, strict=True)]
        return tuple(reducer.of_chunk(known, block) for reducer, known in zip(reducers, found, strict=True))
