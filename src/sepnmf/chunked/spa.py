"""Successive projections over chunks: two passes, mostly."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepnmf.chunked.guesses import Guess, Objections, settle
from sepnmf.chunked.passes import Chunks, Held, Part
from sepnmf.kernels import distances
from sepnmf.methods.spa import project_successively, ranked_scores
from sepnmf.selection import Selection
from sepnmf.sources import resolution
from sepnmf.typing import Floats, Ints
from sepnmf.validation import Negative, check_choice, check_rank


def chunked_spa(M: Any, r: int, *, normalize: str = "none", negative: Negative = "error") -> Selection:
    """`sepnmf.spa` on a Dask array: the same anchors, in two or three passes if data are separable.

    SPA on a few thousand columns is a guess. A pass computes the distances of all columns from all spans of
    the guess, and brings back columns that are farther than the one taken there. If there is none, the guess
    is right; otherwise the next guess is made from more columns.

    Parameters
    ----------
    M : dask.array.Array of shape (m, n)
        Data.
    r, normalize, negative
        As in `sepnmf.spa`.

    Returns
    -------
    Selection
        `history` has the number of anchors that were "certain" after each "pass" over the data.
    """
    began = time.perf_counter()
    check_choice(normalize, "normalize", ("none", "l1"))
    chunks = Chunks(M)
    eps = float(np.finfo(resolution(chunks.array)).eps)
    rank = check_rank(r, chunks.shape[1])
    chunks = chunks.prepared(negative, normalize)
    guess = partial(Projections.guessed, r=rank, eps=eps)
    made, left, history, scale = settle(chunks, guess, negative)
    anchors = made.anchors
    if len(anchors) < rank:
        raise ValueError(
            f"M has numerical rank {len(anchors)}, so SPA can find at most {len(anchors)} anchors, "
            f"got r={rank}: ask for fewer."
        )
    scores = ranked_scores(roots(left), anchors, np.sqrt(made.tops))
    scores *= scale
    return Selection(
        anchors=anchors,
        scores=scores,
        method="spa",
        history=history,
        seconds=time.perf_counter() - began,
    )


def roots(squares: Floats) -> Floats:
    """Square roots of what should not be negative, in place: there may be very many."""
    return np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)


@dataclass(frozen=True, eq=False)
class Projections(Guess):
    """What SPA takes of columns that are held, with the spans of its steps.

    Attributes
    ----------
    anchors : ndarray of int
        The columns taken.
    tops : ndarray
        Their squared distances when taken; where SPA ended early, one more: what counts as nothing.
    basis : ndarray of shape (m, steps − 1)
        The first k vectors span what was taken before step k.
    roundings : ndarray
        By step: squared distances closer than this are the same.
    """

    anchors: Ints
    tops: Floats
    basis: Floats
    roundings: Floats

    @classmethod
    def guessed(cls, held: Held, r: int, eps: float) -> "Projections":
        """The steps of SPA on columns that are held; `eps` is the precision of the data."""
        places, scores, complement = project_successively(held.columns, r, "none")
        m = len(held.columns)
        tops = np.square(scores[places])
        nothing = 10 * np.sqrt(m) * eps * complement.longest
        enough = tops > nothing**2
        places, tops = places[enough], tops[enough]
        if len(places) < r:
            if len(places):
                complement.add(int(places[-1]))
            tops = np.append(tops, nothing**2)
        rounding = 10 * np.sqrt(m) * np.finfo(np.float64).eps * complement.longest
        basis = complement.basis[:, : len(tops) - 1].copy()
        return cls(held.numbers[places], tops, basis, rounding * np.sqrt(tops))

    def of_part(self, part: Part) -> tuple[Floats, Held]:
        """What is left of the squared lengths behind the last span; columns that may be too far from one."""
        squares = part.squares
        left, flags = np.empty(squares.size), np.empty(squares.size, dtype=np.bool_)
        doubt = 10 * np.sqrt(len(self.basis)) * float(np.finfo(np.float64).eps)
        levels = self.tops - self.roundings
        distances.contenders(part.times(self.basis), squares, levels, doubt, left, flags)
        return left, part.held(np.flatnonzero(flags & (squares > 0)))

    def objections(self, held: Held) -> Objections:
        """The columns that are farther from a span than the one taken there."""
        found = Objections()
        free = ~np.isin(held.numbers, self.anchors)
        rest = held.columns.copy()
        for step, (top, rounding) in enumerate(zip(self.tops, self.roundings, strict=True)):
            if step:
                q = self.basis[:, step - 1]
                rest -= np.outer(q, q @ rest)
            values = np.einsum("ij,ij->j", rest, rest)
            taken = self.anchors[step] if step < len(self.anchors) else -1
            farther = (values > top + rounding) | ((values >= top - rounding) & (held.numbers < taken))
            found.note(step, values, held, farther & free, float(rounding))
        return found
