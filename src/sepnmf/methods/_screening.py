"""Data in chunks for methods that need all columns at once: choose among candidates, then improve the choice.

Passes over the data find candidates, which are held in memory; the method chooses among them; a last pass
computes what its anchors leave of all columns, and the columns explained worst may replace an anchor.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sepnmf._descent import Normalize, needs_root_of_sums, refine_anchors
from sepnmf._typing import Floats, Ints
from sepnmf._validation import check_generator
from sepnmf.least_squares import Atoms, Unexplained, squared_misfits, unexplained
from sepnmf.matrix import (
    HELD,
    NONE_KNOWN,
    Chunked,
    Dense,
    Drawn,
    Extremes,
    Held,
    Known,
    Matrix,
    Part,
    Reducer,
    Spectrum,
    leading_spectrum,
)
from sepnmf.selection import Selection

if TYPE_CHECKING:
    from sepnmf.methods._method import Method

FEW = 1000  # columns; up to here methods with n × n coefficients see all of them
SKEWERS = 1000  # random lines along which the extreme columns are held
REPRESENTATIVES = 300  # columns that represent all others where coefficients are n × n, or 20 for each anchor
WORST = 500  # columns that the anchors explain worst, which are held too
ROUNDS = 2  # of polishing


def choose_among_candidates(
    method: "Method", matrix: Matrix, r: int, args: tuple[Any, ...], options: Mapping[str, Any]
) -> Selection:
    """Run a method on data in chunks, through screening.

    Small data are loaded, and the answer is the method's own. Otherwise it chooses among candidates, or, if
    its coefficients are n × n, among a few hundred of them that represent the others.

    Returns
    -------
    Selection
        `history` has two rows, for the columns "held" and for "all" of them: how many there are, what the
        anchors leave of their squared norms ("residual"), what no r columns can beat ("least"), ‖M‖²_F
        ("total"), and, if the method chose among representatives, "lost": what these leave of the columns
        they represent. Each of them then counts in the residual of the columns held as often as it represents
        another. Before polishing, the roots of the two residuals differ by the root of "lost" at most. `X`
        is None.

    Notes
    -----
    Passes: those of `screened`, one to find out what each column represents, one for the residual, and one
    more for each round of polishing.

    The method is given the columns as they are. Multiplied by the roots of the numbers of columns they
    represent, so that squared misfits would be those of all columns, they mislead it: of the ratio model's
    coefficients those of the heaviest columns are then the largest, and these are in the middle of the data.
    """
    assert isinstance(matrix, Chunked)
    n = matrix.shape[1]
    if matrix.is_small and (n <= FEW or not method.square):
        return method.function(matrix.in_memory(), r, *args, **options)
    seed = options.get("random_state")
    rng = check_generator(0 if seed is None else seed)
    scaled = options.get("normalize") == "l1"
    known = Known.of(options.get("include", ()), options.get("exclude", ()))
    candidates = screened(matrix.normalised("l1") if scaled else matrix, r, rng, known)
    held = candidates.held
    weights, lost = np.ones(len(held.indices)), 0.0
    if method.square:
        held = held.at(representatives(held, max(REPRESENTATIVES, 20 * r)))
        weights, lost = candidates.matrix.scan(Representation(held.columns))[0]
    given = dict(options) | ({"normalize": "none"} if scaled else {})
    if method.takes_known:
        given |= vars(known.among(held.indices))
    columns = Dense(held.columns)
    found = method.function(columns, r, *args, **given)
    chosen = candidates.held.positions(held.indices[found.anchors])
    polished = candidates.polished(chosen)
    scores = polished.scores if polished.scores is not None else found.scores[found.anchors]
    misfits, _ = squared_misfits(columns, Atoms.of(columns.take(found.anchors)))
    history = {
        "which": np.array(["held", "all"]),
        "columns": np.array([len(held.indices), n]),
        "residual": np.array([float(weights @ misfits), polished.left.residual]),
        "least": np.array([np.nan, candidates.least]),
        "lost": np.array([0.0, lost]),
        "total": np.array([np.nan, polished.left.total]),
    }
    chosen_of_all = polished.chosen(scores, n)
    return replace(found, **chosen_of_all, X=None, history=history, vertices=None, spread=None)


def refined(
    matrix: Matrix, sel: Selection, known: Known = NONE_KNOWN, normalize: Normalize = "auto", **options: Any
) -> Selection:
    """Exchange anchors as long as that helps; in chunks, for columns that they explain worst.

    Included anchors are not exchanged, and excluded columns are not taken. `options` are those of
    `refine_anchors`.
    """
    began = time.perf_counter()
    if isinstance(matrix, Chunked):
        matrix, _ = matrix.checked_scan()  # squares are in range from here on
        matrix = matrix.normalised(normalization(matrix, normalize))
        anchors = np.sort(sel.anchors)
        held = Held(anchors, matrix.take(anchors))
        polished = Candidates(matrix, held, 0.0, known).polished(np.arange(len(anchors)), **options)
        scores = polished.scores if polished.scores is not None else sel.scores[anchors]
        chosen, refinement = polished.chosen(scores, len(sel.scores)), polished.as_row()
    else:
        anchors, scores, refinement = refine_anchors(
            matrix, sel.anchors, known=known, normalize=normalize, **options
        )
        chosen = {"anchors": anchors, "scores": scores}
    if not np.array_equal(chosen["anchors"], sel.anchors):
        chosen |= {"vertices": None, "spread": None}  # those of other anchors
    seconds = sel.seconds + time.perf_counter() - began
    return replace(sel, **chosen, refinement=refinement, seconds=seconds)


def normalization(matrix: Chunked, normalize: str) -> str:
    """Return how columns are normalised; "auto" is decided by a peek at some columns."""
    if normalize != "auto":
        return normalize
    return "sqrt" if needs_root_of_sums(Dense(matrix.peek().columns).squares) else "none"


# Candidates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidates:
    """Columns that are held, with the matrix of all columns and the residual that no r of them can beat.

    The included columns of `known` are held; the excluded ones may be.
    """

    matrix: Chunked
    held: Held
    least: float
    known: Known

    def polished(self, positions: Ints, **options: Any) -> "Polished":
        """Exchange anchors, given by their positions, while that leaves less of all columns."""
        held = self.held
        anchors, scores = held.indices[positions], None
        left = self.left_by(held.columns[:, positions])
        before, exchanges, settled = left.residual, 0, False
        for _ in range(ROUNDS):
            held = held.joined(Held.of(left.worst.indices, left.worst.columns))
            positions = held.positions(anchors)
            known = self.known.among(held.indices)
            new, new_scores, row = refine_anchors(
                Dense(held.columns),
                positions,
                known=known,
                normalize="none",
                **({"random_state": 0} | options),
            )
            settled = set(new.tolist()) == set(positions.tolist())
            if settled:
                break
            rest = self.left_by(held.columns[:, new])
            if rest.residual >= left.residual:
                settled = True  # the exchange helps the candidates, not all columns
                break
            anchors, scores, left = held.indices[new], new_scores[new], rest
            exchanges += row["exchanges"]
        return Polished(anchors, scores, left, before, exchanges, settled)

    def left_by(self, W: Floats) -> Unexplained:
        """Return what W leaves of all columns, and those explained worst that may be chosen."""
        return unexplained(self.matrix, W, WORST, exclude=self.known.exclude)


@dataclass(frozen=True, eq=False)
class Polished:
    """Anchors after polishing, and what they leave; `scores` is None if they are those of before."""

    anchors: Ints
    scores: Floats | None
    left: Unexplained
    before: float
    exchanges: int
    settled: bool

    def as_row(self) -> dict[str, Any]:
        """Return what was done, as a row in the history of `auto`."""
        return {
            "criterion": "residual",
            "before": self.before,
            "after": self.left.residual,
            "exchanges": self.exchanges,
            "residual": self.left.residual,
            "settled": self.settled,
        }

    def chosen(self, scores: Floats, n: int) -> dict[str, Any]:
        """Return the anchors, best first, and scores of all n columns."""
        all_scores = np.zeros(n)
        all_scores[self.anchors] = scores
        return {"anchors": self.anchors[np.argsort(-scores, kind="stable")], "scores": all_scores}


def screened(matrix: Chunked, r: int, rng: np.random.Generator, known: Known) -> Candidates:
    """Return a random sample of the columns, the included ones, and those extreme along random lines.

    Two passes: one for the r leading directions (four for columns of more than four thousand rows), in
    whose span the lines are, and one for the candidates.
    """
    matrix, spectrum = leading_spectrum(matrix, r)
    sample = matrix.random_sample(rng)
    directions = spectrum.vectors[:, :r]
    count = min(SKEWERS, max(HELD // (10 * len(directions)), 100))
    lines = rng.standard_normal((count, directions.shape[1]))
    rounding = 16 * float(np.finfo(np.float64).eps)
    drawn, ends = matrix.scan(
        Drawn(np.union1d(sample, known.include)),
        Extremes(directions, lines, rounding, hold=True, exclude=known.exclude),
    )
    return Candidates(matrix, drawn.joined(ends.held), least_residual(spectrum, r), known)


def least_residual(spectrum: Spectrum, r: int) -> float:
    """Return the sum of the squared singular values behind the r-th, 0 if not all are known."""
    known = len(spectrum.sigma) == len(spectrum.centre)
    return float(np.square(spectrum.sigma[r:]).sum()) if known else 0.0


# Representatives ---------------------------------------------------------------------------------------


def representatives(held: Held, count: int) -> Ints:
    """Return the positions of columns such that every other has a direction near one of theirs.

    Each is chosen far from those before it.
    """
    lengths = np.sqrt(Dense(held.columns).squares)
    positions = np.flatnonzero(lengths > 1e-3 * np.median(lengths[lengths > 0]))
    if len(positions) <= count:
        return positions
    unit = held.columns[:, positions] / lengths[positions]
    chosen = [int(np.argmax(lengths[positions]))]
    nearest = np.full(len(positions), -np.inf)
    while len(chosen) < count:
        nearest = np.maximum(nearest, unit[:, chosen[-1]] @ unit)
        chosen.append(int(np.argmin(nearest)))
    return positions[np.unique(chosen)]


@dataclass(frozen=True, eq=False)
class Representation(Reducer[tuple[Floats, float]]):
    """Assigns every column to the representative c with the nearest direction, as a·c with the best a ≥ 0.

    The result is Σ a² for every representative, and Σ ‖m − a·c‖² of all columns.
    """

    columns: Floats

    def of_part(self, part: Part) -> tuple[Floats, float]:
        lengths = np.sqrt(Dense(self.columns).squares)
        along = part.times(self.columns / lengths)
        nearest = along.argmax(axis=0)
        reach = np.maximum(along[nearest, np.arange(len(nearest))], 0.0)
        weights = np.bincount(nearest, np.square(reach / lengths[nearest]), minlength=len(lengths))
        return np.asarray(weights, np.float64), float(np.maximum(part.squares - np.square(reach), 0.0).sum())

    def join(self, a: tuple[Floats, float], b: tuple[Floats, float]) -> tuple[Floats, float]:
        return a[0] + b[0], a[1] + b[1]
