"""What passes find out about entries and columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepnmf._typing import Floats, Ints
from sepnmf.matrix._held import Held
from sepnmf.matrix._passes import Block, Part, Reducer


@dataclass(frozen=True, eq=False)
class Entries:
    """What one pass says of all entries as they are stored."""

    n_bad: int
    first_bad: tuple[int, int] | None
    n_negative: int
    first_negative: tuple[int, int] | None
    # Of the columns after all changes: the largest squared norm, the sum of all, and how many are not zero.
    longest: float
    energy: float
    n_nonzero: int


class Inspection(Reducer[Entries]):
    """Looks at every entry."""

    def of_part(self, part: Part) -> Entries:
        longest = float(part.squares.max())
        none = np.zeros((0, 2), np.intp)
        bad = none if np.isfinite(longest) else part.raw.entries_where(lambda values: ~np.isfinite(values))
        below = part.raw.entries_where(lambda values: values < 0) if part.has_negative else none
        return Entries(
            len(bad),
            first_position(bad, part.start),
            len(below),
            first_position(below, part.start),
            longest,
            float(part.squares.sum()),
            int(np.count_nonzero(part.is_nonzero)),
        )

    def join(self, a: Entries, b: Entries) -> Entries:
        return Entries(
            a.n_bad + b.n_bad,
            min(filter(None, (a.first_bad, b.first_bad)), default=None),
            a.n_negative + b.n_negative,
            min(filter(None, (a.first_negative, b.first_negative)), default=None),
            max(a.longest, b.longest),
            a.energy + b.energy,
            a.n_nonzero + b.n_nonzero,
        )


def first_position(found: Ints, start: int = 0) -> tuple[int, int] | None:
    """Return row and column of the first position found, by row."""
    if not len(found):
        return None
    row, column = min(found.tolist())
    return int(row), int(column) + start


class Extent(Reducer[tuple[float, float, int]]):
    """Finds the smallest and the largest entry as stored, and how many are zero."""

    def of_part(self, part: Part) -> tuple[float, float, int]:
        return part.raw.extent()

    def join(self, a: tuple[float, float, int], b: tuple[float, float, int]) -> tuple[float, float, int]:
        return min(a[0], b[0]), max(a[1], b[1]), a[2] + b[2]


@dataclass(frozen=True, eq=False)
class Drawn(Reducer[Held]):
    """Brings back the columns with given indices, which ascend."""

    indices: Ints

    def more(self, found: Any, part: Part) -> None:
        """Do nothing: columns are taken from the chunk as a whole."""

    def of_chunk(self, found: Any, block: Block) -> Held:
        indices = self.indices[slice(*np.searchsorted(self.indices, [block.first, block.stop]))]
        return Held(indices, block.dense(indices))

    def join(self, a: Held, b: Held) -> Held:
        return a.joined(b)


class PerColumn(Reducer[list[Floats]]):
    """Numbers of all columns, one each: a list of arrays, chunk by chunk."""

    def of_chunk(self, found: list[Floats], block: Block) -> list[Floats]:
        return [np.concatenate(found)]


class Squares(PerColumn):
    """Squared norms of all columns."""

    def of_part(self, part: Part) -> list[Floats]:
        return [part.squares]


class Means(PerColumn):
    """Means of all columns."""

    def of_part(self, part: Part) -> list[Floats]:
        return [part.columns.mean_row()]


def concatenated(arrays: list[Floats], n: int) -> Floats:
    """Return arrays one after the other as one of length n; each is let go as soon as it is copied."""
    whole = np.empty(n)
    start = 0
    for k in range(len(arrays)):
        array, arrays[k] = arrays[k], whole[:0]
        whole[start : start + len(array)] = array
        start += len(array)
    return whole
