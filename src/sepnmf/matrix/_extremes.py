"""Columns that are extreme along lines."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepnmf._typing import Floats, Ints
from sepnmf.matrix._held import Held
from sepnmf.matrix._passes import Block, Part, Reducer

PRODUCTS = 2**20  # inner products held at a time


@dataclass(frozen=True, eq=False)
class Ends:
    """What is extreme along lines: in row 0 the largest inner products, in row 1 minus the smallest.

    Attributes
    ----------
    tops : ndarray of shape (2, lines)
        The largest values.
    indices : ndarray of shape (2, lines)
        The first columns that rounding cannot tell from them.
    values : ndarray of shape (2, lines)
        The values of these.
    held : Held or None
        The columns themselves, where they were asked for.
    """

    tops: Floats
    indices: Ints
    values: Floats
    held: Held | None = None


@dataclass(frozen=True, eq=False)
class Extremes(Reducer[Ends]):
    """Finds the columns that are extreme along lines in the span of some directions; zero columns are not.

    Neither are those with the indices `exclude`.
    """

    U: Floats
    lines: Floats  # (number of lines, number of directions)
    rounding: float  # inner products closer than this, relative to the largest, are the same
    hold: bool = False
    exclude: Ints = field(default_factory=lambda: np.zeros(0, np.intp))

    def more(self, found: Ends | None, part: Part) -> Ends:
        """Return the extremes so far, with those of a part."""
        positions = np.flatnonzero(part.is_nonzero)
        positions = positions[~np.isin(part.start + positions, self.exclude)]
        X = part.times(self.U)[:, positions]
        count = len(self.lines)
        nothing = np.full((2, count), -np.inf)
        ends = found or Ends(nothing, np.full((2, count), -1), nothing)
        width = max(PRODUCTS // count, 1)
        for start in range(0, X.shape[1], width):
            reach = self.lines @ X[:, start : start + width]
            indices = part.start + positions[start : start + width]
            tops = np.stack([reach.max(axis=1), -reach.min(axis=1)])
            slack = self.slack(np.maximum(tops, ends.tops))
            where, values = ends.indices.copy(), ends.values.copy()
            # Only lines along which this block may be extreme are looked at a second time.
            for side, sign in enumerate((1.0, -1.0)):
                lines = np.flatnonzero(tops[side] > ends.tops[side])
                rows = sign * reach[lines]
                first = np.argmax(rows >= (tops[side] - slack)[lines, None], axis=1)
                where[side, lines], values[side, lines] = indices[first], rows[np.arange(len(lines)), first]
            ends = self.join(ends, Ends(tops, where, values))
        return ends

    def slack(self, tops: Floats) -> Floats:
        """Return, for every line, how much inner products may differ by rounding."""
        return np.asarray(self.rounding * np.abs(tops).max(axis=0))

    def of_chunk(self, found: Any, block: Block) -> Ends:
        ends: Ends = found
        if not self.hold:
            return ends
        indices = np.unique(ends.indices[ends.indices >= 0])
        return Ends(ends.tops, ends.indices, ends.values, Held(indices, block.dense(indices)))

    def join(self, a: Ends, b: Ends) -> Ends:
        tops = np.maximum(a.tops, b.tops)
        later = (b.tops > a.tops) & (a.values < tops - self.slack(np.where(np.isfinite(tops), tops, 0.0)))
        indices = np.where(later, b.indices, a.indices)
        values = np.where(later, b.values, a.values)
        held = None
        if a.held is not None and b.held is not None:
            both = a.held.joined(b.held)
            held = both.at(both.positions(np.unique(indices[indices >= 0])))
        return Ends(tops, indices, values, held)
