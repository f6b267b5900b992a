"""Vertex component analysis over chunks."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepnmf.chunked.guesses import Guess, Objections, settle
from sepnmf.chunked.moments import Spectrum, spectrum
from sepnmf.chunked.passes import Chunks, Held, Part
from sepnmf.chunked.spa import Projections
from sepnmf.methods.subspace import stepwise_scores, too_few_nonzero
from sepnmf.methods.vca import ROUNDING, follow_directions, snr_in_decibels
from sepnmf.selection import Selection
from sepnmf.sources import resolution
from sepnmf.typing import Floats, Ints, Seed
from sepnmf.validation import Negative, check_generator, check_number, check_rank

EPS = float(np.finfo(np.float64).eps)


def chunked_vca(
    M: Any, r: int, *, snr: float | None = None, negative: Negative = "error", random_state: Seed = None
) -> Selection:
    """`sepnmf.vca` on a Dask array: the same anchors, in three or four passes if data are separable.

    Columns of more than four thousand rows are seen along approximate directions, and anchors may differ.
    One pass for the principal directions; then VCA on a few thousand columns is a guess, and a pass asks
    every column whether it lies farther along one of the directions that the guess was made with.

    Parameters
    ----------
    M : dask.array.Array of shape (m, n)
        Data.
    r, snr, negative, random_state
        As in `sepnmf.vca`.

    Returns
    -------
    Selection
        `history` has the number of steps that were "certain" after each "pass" behind the first; the first
        step is the view.
    """
    began = time.perf_counter()
    scores: Floats
    chunks = Chunks(M).prepared(negative)
    m, n = chunks.shape
    r = check_rank(r, n)
    eps = float(np.finfo(resolution(chunks.array)).eps)
    level = None if snr is None else check_number(snr, "snr", least=-np.inf)
    draws = check_generator(random_state).standard_normal((r, r))
    if r == 1:
        longest, squares, history, scale = settle(
            chunks, partial(Projections.guessed, r=1, eps=eps), negative
        )
        anchors, scores = longest.anchors, np.sqrt(squares) * scale
    else:
        chunks, seen = spectrum(chunks, r, negative)
        if seen.count < r:
            raise ValueError(too_few_nonzero(seen.count, r))
        level = snr_of(seen, r, m, eps) if level is None else level
        projective = level >= 15 + 10 * np.log10(r)
        guess = partial(Vertices.guessed, seen=seen, draws=draws, projective=projective, eps=eps)
        made, shares, history, _ = settle(chunks, guess)
        anchors = made.anchors
        scores = stepwise_scores(anchors, shares)
    return Selection(
        anchors=anchors, scores=scores, method="vca", history=history, seconds=time.perf_counter() - began
    )


def snr_of(seen: Spectrum, r: int, m: int, eps: float) -> float:
    """Signal-to-noise ratio in dB."""
    power = seen.energy / seen.count
    centred = seen.centred_sigma[:r]
    return snr_in_decibels(power, float(centred @ centred), seen.centre, (m, seen.count), r, eps)


@dataclass(frozen=True, eq=False)
class Vertices(Guess):
    """What VCA picks of columns that are held, in one of its two views.

    Attributes
    ----------
    anchors : ndarray of int
        The columns picked.
    projective : bool
        Which view.
    U : ndarray of shape (m, r), or (m, r − 1) in the affine view
        Principal directions.
    centre : ndarray
        Coordinates of the mean column.
    height : float
        Of the affine view: largest length of the coordinates, which is the last coordinate.
    directions : ndarray of shape (r, r)
        Along which the columns were picked.
    tops : ndarray of shape (r,)
        How far along them the columns picked lie.
    """

    anchors: Ints
    projective: bool
    U: Floats
    centre: Floats
    height: float
    directions: Floats
    tops: Floats

    @property
    def roundings(self) -> Floats:  # type: ignore[override]
        """By step, of which the first is the view."""
        return np.append(0.0, ROUNDING * self.tops)

    @classmethod
    def guessed(cls, held: Held, seen: Spectrum, draws: Floats, projective: bool, eps: float) -> "Vertices":
        """VCA on columns that are held; in the projective view if they are all on one side.

        `eps` is the precision of the data.
        """
        r = len(draws)
        held = held.at(np.flatnonzero(held.columns.any(axis=0)))
        if projective:
            check_dimension(seen.sigma, float(seen.sigma[0]), seen, r, r, eps)
            U = seen.vectors[:, :r]
            X = U.T @ held.columns
            centre, height = U.T @ seen.centre, 0.0
            depth = centre @ X
            projective = bool(depth.min(initial=np.inf) > EPS * depth.max(initial=0.0))
        if not projective:
            size = float(np.hypot(seen.centred_sigma[0], np.sqrt(seen.count) * np.linalg.norm(seen.centre)))
            check_dimension(seen.centred_sigma, size, seen, r - 1, r, eps)
            U = seen.centred_vectors[:, : r - 1]
            centre = U.T @ seen.centre
            X = U.T @ held.columns - centre[:, None]
            height = float(np.sqrt(np.einsum("ij,ij->j", X, X)).max(initial=0.0))
        view = cls(np.zeros(0, np.intp), projective, U, centre, height, np.zeros((0, r)), np.zeros(0))
        Y, _ = view.coordinates(U.T @ held.columns)
        missing = max(r - Y.shape[1], 0)  # their places are taken by columns that reach nowhere
        Y = np.hstack([Y, np.zeros((r, missing))])
        numbers = np.append(held.numbers, np.full(missing, -1))
        places, directions, _ = follow_directions(Y, draws)
        tops = np.abs(np.einsum("kj,jk->k", directions, Y[:, places]))
        return cls(numbers[places], projective, U, centre, height, directions, tops)

    def coordinates(self, X: Floats) -> tuple[Floats, Floats]:
        """Columns in the view, from their coordinates UᵀM; and what says whether the view is theirs too."""
        if self.projective:
            depth = self.centre @ X
            return X / depth, -depth
        X = X - self.centre[:, None]
        lengths = np.sqrt(np.einsum("ij,ij->j", X, X))
        return np.vstack([X, np.full(X.shape[1], self.height)]), lengths - self.height * (1 + ROUNDING)

    def of_part(self, part: Part) -> tuple[Floats, Held]:
        """Largest shares of the columns; those outside the view, or farther than a column picked."""
        zero = part.squares == 0
        Y, misplaced = self.coordinates(part.times(self.U))
        reach = np.abs(self.directions @ Y)
        reach[:, zero] = 0.0
        tops = np.maximum(self.tops, np.finfo(float).tiny)
        shares = (reach / tops[:, None]).max(axis=0)
        suspect = (misplaced >= 0) | (shares >= 1 - 2 * ROUNDING)
        return np.minimum(shares, 1.0), part.held(np.flatnonzero(suspect & ~zero))

    def objections(self, held: Held) -> Objections:
        """Columns that are not in the view, and columns that lie farther than one that was picked."""
        found = Objections()
        Y, misplaced = self.coordinates(self.U.T @ held.columns)
        found.note(0, misplaced, held, misplaced >= 0, 0.0)
        reach = np.abs(self.directions @ Y)
        for k, (top, rounding) in enumerate(zip(self.tops, self.roundings[1:], strict=True)):
            nearly = (reach[k] >= top - rounding) & (held.numbers < self.anchors[k])
            farther = (reach[k] > top + rounding) | nearly
            free = ~np.isin(held.numbers, self.anchors[: k + 1])
            found.note(k + 1, reach[k], held, farther & free & (misplaced < 0), float(rounding))
        return found


def check_dimension(sigma: Floats, size: float, seen: Spectrum, needed: int, r: int, eps: float) -> None:
    """Refuse columns of too few dimensions, in the words of data in memory."""
    rank = int((sigma > max(len(seen.vectors), seen.count) * eps * size).sum())
    if rank >= needed:
        return
    if needed == r:
        raise ValueError(
            f"M has numerical rank {rank}, so VCA can find at most {rank} anchor(s), got r={r}: "
            "ask for fewer."
        )
    raise ValueError(
        f"The columns of M span an affine space of dimension {rank}, so VCA can find at most "
        f"{rank + 1} anchor(s), got r={r}: ask for fewer."
    )
