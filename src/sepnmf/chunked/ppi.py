"""Pixel purity index over chunks, and extreme columns along random lines."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepnmf.chunked.moments import spectrum
from sepnmf.chunked.passes import Block, Chunks, Held, Part, Reducer, Squares, put_together
from sepnmf.methods.ppi import purity_scores, too_few_extremes
from sepnmf.methods.subspace import too_few_nonzero
from sepnmf.selection import Selection, best_first
from sepnmf.sources import resolution
from sepnmf.typing import Floats, Ints, Seed
from sepnmf.validation import Negative, check_count, check_generator, check_rank

PRODUCTS = 2**20  # inner products held at a time


def chunked_ppi(
    M: Any, r: int, *, n_skewers: int = 1000, negative: Negative = "error", random_state: Seed = None
) -> Selection:
    """`sepnmf.ppi` on a Dask array: the same anchors, in two passes.

    One pass for the r leading directions, one for the extremes along all skewers. Columns of more than four
    thousand rows are seen along approximate directions, found in four passes, and anchors may differ.

    Parameters
    ----------
    M : dask.array.Array of shape (m, n)
        Data.
    r, n_skewers, negative, random_state
        As in `sepnmf.ppi`.

    Returns
    -------
    Selection
    """
    began = time.perf_counter()
    chunks = Chunks(M).prepared(negative)
    m, n = chunks.shape
    r = check_rank(r, n)
    n_skewers = check_count(n_skewers, "n_skewers")
    rng = check_generator(random_state)
    rounding = 16 * float(np.finfo(resolution(chunks.array)).eps)
    chunks, seen = spectrum(chunks, min(r, m), negative)
    if seen.count < r:
        raise ValueError(too_few_nonzero(seen.count, r))
    U = seen.vectors[:, : min(r, m, seen.count)]
    skewers = rng.standard_normal((n_skewers, U.shape[1]))
    ends, squares = chunks.scan(Extremes(U, skewers, rounding), Squares())
    counts = np.bincount(ends.numbers.ravel(), minlength=n).astype(np.float64)
    if (counts > 0).sum() < r:
        raise ValueError(too_few_extremes(counts, n_skewers, r))
    scores = purity_scores(counts, np.sqrt(put_together(squares, n)))
    return Selection(
        anchors=best_first(scores, r), scores=scores, method="ppi", seconds=time.perf_counter() - began
    )


@dataclass(frozen=True, eq=False)
class Ends:
    """What is extreme along lines: in row 0 the largest inner products, in row 1 minus the least.

    Attributes
    ----------
    tops : ndarray of shape (2, lines)
        The largest values.
    numbers : ndarray of shape (2, lines)
        The first columns that rounding cannot tell from them.
    values : ndarray of shape (2, lines)
        The values of these.
    held : Held or None
        The columns themselves, where they were asked for.
    """

    tops: Floats
    numbers: Ints
    values: Floats
    held: Held | None = None


@dataclass(frozen=True, eq=False)
class Extremes(Reducer[Ends]):
    """Finds the columns that are extreme along lines in the span of some directions; zero columns are not."""

    U: Floats
    lines: Floats  # (number of lines, number of directions)
    rounding: float  # inner products closer than this, relative to the largest, are the same
    hold: bool = False

    def more(self, found: Ends | None, part: Part) -> Ends:
        """The extremes so far, with those of a part."""
        places = np.flatnonzero(part.squares)
        X = part.times(self.U)[:, places]
        count = len(self.lines)
        nothing = np.full((2, count), -np.inf)
        ends = found or Ends(nothing, np.full((2, count), -1), nothing)
        width = max(PRODUCTS // count, 1)
        for start in range(0, X.shape[1], width):
            reach = self.lines @ X[:, start : start + width]
            numbers = part.start + places[start : start + width]
            tops = np.stack([reach.max(axis=1), -reach.min(axis=1)])
            slack = self.slack(np.maximum(tops, ends.tops))
            where, values = ends.numbers.copy(), ends.values.copy()
            # Only lines along which this block may be extreme are looked at a second time.
            for side, sign in enumerate((1.0, -1.0)):
                lines = np.flatnonzero(tops[side] > ends.tops[side])
                rows = sign * reach[lines]
                first = np.argmax(rows >= (tops[side] - slack)[lines, None], axis=1)
                where[side, lines], values[side, lines] = numbers[first], rows[np.arange(len(lines)), first]
            ends = self.join(ends, Ends(tops, where, values))
        return ends

    def slack(self, tops: Floats) -> Floats:
        """By line: how much inner products may differ by rounding."""
        return np.asarray(self.rounding * np.abs(tops).max(axis=0))

    def of_chunk(self, found: Any, block: Block) -> Ends:
        """The extremes of a chunk, with the columns if they are asked for."""
        ends: Ends = found
        if not self.hold:
            return ends
        numbers = np.unique(ends.numbers[ends.numbers >= 0])
        return Ends(ends.tops, ends.numbers, ends.values, Held(numbers, block.dense(numbers)))

    def join(self, a: Ends, b: Ends) -> Ends:
        """The larger values; of those that rounding cannot tell apart, the column that comes first."""
        tops = np.maximum(a.tops, b.tops)
        later = (b.tops > a.tops) & (a.values < tops - self.slack(np.where(np.isfinite(tops), tops, 0.0)))
        numbers = np.where(later, b.numbers, a.numbers)
        values = np.where(later, b.values, a.values)
        held = None
        if a.held is not None and b.held is not None:
            both = a.held.joined(b.held)
            held = both.at(both.places(np.unique(numbers[numbers >= 0])))
        return Ends(tops, numbers, values, held)
