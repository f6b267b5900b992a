"""Successive projections over chunks: as many steps as one pass can decide."""

import time
from functools import partial, reduce
from typing import Any

import numpy as np

from sepnmf.chunked.passes import Chunks, Ranked, parts, survey
from sepnmf.methods.spa import ranked_scores
from sepnmf.selection import Selection
from sepnmf.typing import Floats, Ints
from sepnmf.validation import Negative, check_choice, check_rank

KEPT = 500  # columns that a pass brings back


def chunked_spa(M: Any, r: int, *, normalize: str = "none", negative: Negative = "error") -> Selection:
    """`sepnmf.spa` on a Dask array: the same anchors, in fewer passes than anchors.

    A pass computes the distance of every column from the span of those chosen, and brings back the few
    hundred that are farthest. Distances only fall. So steps are taken among these for as long as the
    farthest of them is farther than every column left behind was; then comes the next pass.

    Parameters
    ----------
    M : dask.array.Array of shape (m, n)
        Data.
    r, normalize, negative
        As in `sepnmf.spa`.

    Returns
    -------
    Selection
        `history` has the number of anchors that were known before each "pass" over the data.
    """
    began = time.perf_counter()
    check_choice(normalize, "normalize", ("none", "l1"))
    chunks = Chunks(M)
    rank = check_rank(r, chunks.shape[1])
    survey(chunks).check(negative)
    if negative == "clip":
        chunks = chunks.mapped(clipped)
    if normalize == "l1":
        chunks = chunks.mapped(with_unit_sums)
    anchors, tops, basis, known = project_in_passes(chunks, rank, float(np.finfo(resolution(M)).eps))
    if len(anchors) < rank:
        raise ValueError(
            f"M has numerical rank {len(anchors)}, so SPA can find at most {len(anchors)} anchors, "
            f"got r={rank}: ask for fewer."
        )
    scores = chunks.fold(distances, append_lists, basis)
    return Selection(
        anchors=anchors,
        scores=ranked_scores(np.concatenate(scores), anchors, tops),
        method="spa",
        history={"pass": np.arange(1.0, len(known) + 1), "anchors": np.array(known, np.float64)},
        seconds=time.perf_counter() - began,
    )


def project_in_passes(chunks: Chunks, r: int, eps: float) -> tuple[Ints, Floats, Floats, list[int]]:
    """Anchors, their distances when chosen, the basis at the last choice; anchors known before each pass."""
    m, _ = chunks.shape
    basis = np.empty((m, 0))
    anchors: list[int] = []
    tops: list[float] = []
    known: list[int] = []
    longest = 0.0
    while True:
        known.append(len(anchors))
        top = chunks.fold(farthest, partial(Ranked.join, most=KEPT), basis, KEPT)
        longest = longest or float(np.sqrt(top.values[0]))
        rest = top.columns - basis @ (basis.T @ top.columns)
        fresh = True
        while True:
            squares = np.einsum("ij,ij->j", rest, rest)
            squares[np.isin(top.numbers, anchors)] = -np.inf
            best = float(squares.max())
            if not fresh and best <= top.next_value:
                break  # a column left behind may be as far
            if np.sqrt(max(best, 0.0)) <= 10 * np.sqrt(m) * eps * longest:
                return np.array(anchors, dtype=np.intp), np.array(tops), basis, known
            rounding = 10 * np.sqrt(m) * np.finfo(np.float64).eps * np.sqrt(best) * longest
            near = np.flatnonzero(squares >= best - rounding)
            winner = near[np.argmin(top.numbers[near])]
            anchors.append(int(top.numbers[winner]))
            tops.append(float(np.sqrt(best)))
            if len(anchors) == r:
                return np.array(anchors, dtype=np.intp), np.array(tops), basis, known
            q = rest[:, winner]
            for _ in range(2):
                q = q - basis @ (basis.T @ q)
            q = q / np.linalg.norm(q)
            basis = np.column_stack([basis, q])
            rest = rest - np.outer(q, q @ rest)
            fresh = False


def resolution(M: Any) -> Any:
    """The floating-point type that M is computed in."""
    return M.dtype if M.dtype == np.float32 else np.float64


def farthest(first: int, chunk: Floats, basis: Floats, most: int) -> Ranked:
    """The columns of a chunk that are farthest from the span of a basis, by squared distance."""
    found = []
    for start, part in parts(first, chunk):
        squares = squared_distances(part, basis)
        kept = np.argpartition(-squares, most - 1)[:most] if squares.size > most else np.arange(squares.size)
        others = np.delete(squares, kept).max(initial=-np.inf)
        tied = np.flatnonzero(squares == squares[kept].min())  # of equals, those that come first
        kept = np.union1d(kept[squares[kept] > squares[kept].min()], tied)
        found.append(Ranked.of(start + kept, squares[kept], part[:, kept], most, float(others)))
    return reduce(partial(Ranked.join, most=most), found)


def distances(first: int, chunk: Floats, basis: Floats) -> list[Floats]:
    """Distances of the columns of a chunk from the span of a basis."""
    return [np.sqrt(squared_distances(part, basis)) for _, part in parts(first, chunk)]


def squared_distances(part: Floats, basis: Floats) -> Floats:
    """Squared distances of columns from the span of a basis, computed from what is left of the columns."""
    rest = part - basis @ (basis.T @ part) if basis.shape[1] else part
    squares: Floats = np.einsum("ij,ij->j", rest, rest)
    return squares


def append_lists(a: list[Floats], b: list[Floats]) -> list[Floats]:
    """One list after the other."""
    return a + b


def clipped(chunk: Floats) -> Floats:
    """A chunk with negative entries set to zero."""
    return np.maximum(chunk, 0)


def with_unit_sums(chunk: Floats) -> Floats:
    """Columns divided by their sums of absolute values."""
    sums = np.abs(chunk).sum(axis=0, dtype=np.float64)
    return chunk / np.where(sums > 0, sums, 1.0)
