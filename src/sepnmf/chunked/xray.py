"""XRAY over chunks."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepnmf.chunked.guesses import Guess, Objections, settle
from sepnmf.chunked.passes import Chunks, Held, Part
from sepnmf.chunked.spa import roots
from sepnmf.columns import l1_lengths
from sepnmf.least_squares import cone_weights
from sepnmf.methods.spa import ranked_scores
from sepnmf.methods.xray import Cone, too_few
from sepnmf.selection import Selection
from sepnmf.sources import resolution
from sepnmf.typing import Floats, Ints, Seed
from sepnmf.validation import Negative, check_choice, check_generator, check_rank

EPS = float(np.finfo(np.float64).eps)


def chunked_xray(
    M: Any, r: int, *, rule: str = "max", negative: Negative = "error", random_state: Seed = None
) -> Selection:
    """`sepnmf.xray` on a Dask array: the same anchors, in two or three passes if data are separable.

    XRAY on a few thousand columns is a guess. A pass asks every column whether it is farther from one of the
    cones than the column that was looked from, or has a larger inner product with its residual than the
    column that was taken.

    Parameters
    ----------
    M : dask.array.Array of shape (m, n)
        Data.
    r, negative
        As in `sepnmf.xray`.
    rule : {"max"}
        The other rules compare all columns with all others, or draw among all.
    random_state : None, int or numpy.random.Generator, default None
        Not used: rule "max" draws nothing.

    Returns
    -------
    Selection
        `history` has the number of steps, two for each anchor, that were "certain" after each "pass".
    """
    began = time.perf_counter()
    check_choice(rule, "rule", ("max",))
    check_generator(random_state)
    chunks = Chunks(M).prepared(negative)
    rank = check_rank(r, chunks.shape[1])
    eps = float(np.finfo(resolution(chunks.array)).eps)
    made, left, history, scale = settle(chunks, partial(Rays.guessed, r=rank, eps=eps), negative)
    if len(made.anchors) < rank:
        raise ValueError(too_few(len(made.anchors), rank))
    scores = ranked_scores(roots(left), made.anchors, np.sqrt(made.tops))
    scores *= scale
    return Selection(
        anchors=made.anchors,
        scores=scores,
        method="xray",
        history=history,
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True, eq=False)
class Rays(Guess):
    """What XRAY takes of columns that are held.

    Step 2k is about the k-th column that is looked from, step 2k + 1 about the k-th anchor.

    Attributes
    ----------
    anchors, seen_from : ndarray of int
        The columns taken, and those looked from.
    tops : ndarray
        Squared distances of the latter from the cone; where all columns held are in the cone, one more: what
        counts as nothing.
    residuals : ndarray of shape (m, steps)
        Of the columns looked from.
    gains : ndarray
        What was largest for the anchors.
    basis : ndarray of shape (m, q)
        Orthonormal; the first spans[k] vectors span the first k anchors.
    rays : ndarray of shape (steps, q)
        Coordinates of the anchors along the basis.
    """

    anchors: Ints
    seen_from: Ints
    tops: Floats
    residuals: Floats
    gains: Floats
    basis: Floats
    spans: tuple[int, ...]
    rays: Floats
    roundings: Floats

    @classmethod
    def guessed(cls, held: Held, r: int, eps: float) -> "Rays":
        """XRAY on columns that are held; `eps` is the precision of the data."""
        cone = Cone(held.columns, r)
        m = len(held.columns)
        nothing = (10 * np.sqrt(m) * eps * cone.longest) ** 2
        steps, spans = [], []
        for step in cone.steps(r, "max", np.random.default_rng(0)):
            if step.values.max() <= nothing:
                break
            steps.append(step)
            spans.append(cone.basis.shape[1])
        tops = np.array([step.values.max() for step in steps])
        if len(steps) < r:
            tops = np.append(tops, nothing)
            spans.append(cone.basis.shape[1])
        gains = np.array([step.gain for step in steps])
        roundings = np.zeros(2 * len(steps) + (len(steps) < r))
        roundings[::2] = 10 * np.sqrt(m) * EPS * cone.longest * np.sqrt(tops)
        roundings[1::2] = 10 * np.sqrt(m) * eps * np.abs(gains)
        return cls(
            held.numbers[[step.anchor for step in steps]],
            held.numbers[[step.seen_from for step in steps]],
            tops,
            np.column_stack([step.residual for step in steps]) if steps else np.zeros((m, 0)),
            gains,
            cone.basis[:, : spans[-1]].copy(),
            tuple(spans),
            cone.rays[: len(spans) - 1, : spans[-1]].copy(),
            roundings,
        )

    def of_part(self, part: Part) -> tuple[Floats, Held]:
        """Squared distances from the last cone; columns that may be too far from one, or gain too much."""
        squares = part.squares
        C = np.ascontiguousarray(part.times(self.basis).T)
        sums = l1_lengths(part.columns)
        gains = part.times(self.residuals) / np.where(sums > 0, sums, 1.0)
        suspect: Any = np.any(gains >= (self.gains - 2 * self.roundings[1::2])[:, None], axis=0)
        doubt = 10 * np.sqrt(len(self.basis)) * EPS * squares
        left = squares.copy()
        last = len(self.tops) - 1
        for k, (top, rounding) in enumerate(zip(self.tops, self.roundings[::2], strict=True)):
            # Cones grow and distances fall: who was near enough before need not be looked at.
            places = np.flatnonzero(left + doubt >= top - rounding) if k < last else np.arange(left.size)
            left[places] = self.outside(C[places], squares[places], k)
            suspect[places] |= (left + doubt)[places] >= top - rounding
        return left, part.held(np.flatnonzero(suspect & (squares > 0)))

    def outside(self, C: Floats, squares: Floats, k: int) -> Floats:
        """Squared distances from the cone of k anchors, from coordinates and squared lengths."""
        q = self.spans[k]
        beyond = squares - np.einsum("ij,ij->i", C[:, :q], C[:, :q])
        return np.asarray(beyond + self.misfit(C, k))

    def misfit(self, C: Floats, k: int) -> Floats:
        """Squared distances from the cone of k anchors within their span."""
        q = self.spans[k]
        rays, inside = self.rays[:k, :q], np.ascontiguousarray(C[:, :q])
        rest = inside - cone_weights(rays, inside) @ rays if k else inside
        return np.asarray(np.einsum("ij,ij->i", rest, rest))

    def objections(self, held: Held) -> Objections:
        """The columns that are farther from a cone, or gain more, than those of the guess."""
        found = Objections()
        sums = np.abs(held.columns).sum(axis=0)
        for k, top in enumerate(self.tops):
            basis = self.basis[:, : self.spans[k]]
            beyond = held.columns.copy()
            for _ in range(2):
                beyond -= basis @ (basis.T @ beyond)
            values = np.einsum("ij,ij->j", beyond, beyond) + self.misfit(held.columns.T @ self.basis, k)
            free = ~np.isin(held.numbers, self.anchors[:k])
            looked_from = self.seen_from[k] if k < len(self.seen_from) else -1
            self.compare(found, 2 * k, values, held, free, float(top), looked_from)
            if k < len(self.anchors):
                gains = (self.residuals[:, k] @ held.columns) / sums
                self.compare(found, 2 * k + 1, gains, held, free, float(self.gains[k]), self.anchors[k])
        return found

    def compare(
        self, found: Objections, step: int, values: Floats, held: Held, free: Any, top: float, taken: int
    ) -> None:
        """Let columns object whose value is larger than that of the column taken."""
        rounding = float(self.roundings[step])
        larger = (values > top + rounding) | ((values >= top - rounding) & (held.numbers < taken))
        found.note(step, values, held, larger & free & (held.numbers != taken), rounding)
