"""Methods that need all columns at once, on data that are never held at once.

Passes over the data choose columns that are held; the method chooses among these; a last pass computes what
its anchors leave of all columns, and those explained worst may replace an anchor.
"""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sepnmf import methods
from sepnmf.chunked.misfit import Unexplained, unexplained
from sepnmf.chunked.moments import Spectrum, spectrum
from sepnmf.chunked.passes import Change, Chunks, Drawn, Held, Part, Reducer, with_root_sums, with_unit_sums
from sepnmf.chunked.ppi import Extremes
from sepnmf.columns import squared_lengths
from sepnmf.least_squares import nnls
from sepnmf.methods.iteration import Callback
from sepnmf.selection import Selection
from sepnmf.tuning import auto, tuned_admm
from sepnmf.tuning.auto import Normalize, needs_root_of_sums, refine_anchors
from sepnmf.typing import Floats, Ints, Seed
from sepnmf.validation import Negative, check_choice, check_generator, check_rank

SMALL = 20_000_000  # entries; up to here the data are loaded and the method sees all of them
FEW = 1000  # columns; the same for methods with n × n coefficients
SAMPLE = 20_000  # columns drawn by lot
HELD = 50_000_000  # entries of these columns, at most
SKEWERS = 1000  # random lines along which the extreme columns are held
SPOKESMEN = 300  # columns that stand for all others where coefficients are n × n, or 20 for each anchor
WORST = 500  # columns that the anchors explain worst, which are held too
ROUNDS = 2  # of polishing


def chunked_auto(
    M: Any,
    r: int,
    *,
    normalize: Normalize = "auto",
    negative: Negative = "error",
    random_state: Seed = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Selection:
    """`sepnmf.auto` on a Dask array, with candidates screened from all columns.

    Passes over the data find candidates: a sample by lot, and the columns that are extreme along a thousand
    random lines in the span of the r leading directions. `auto` chooses among these. A last pass computes
    what the anchors leave of all columns; those explained worst become candidates too, anchors are exchanged,
    and the exchange is kept if it explains more of all columns. Data of up to twenty million entries are
    loaded instead, and the answer is that of `sepnmf.auto`.

    Parameters
    ----------
    M : dask.array.Array of shape (m, n)
        Data.
    r, normalize, negative, random_state, n_jobs, callback
        As in `sepnmf.auto`. `n_jobs` is for the search; the passes run where Dask is told to run them.

    Returns
    -------
    Selection
        `history` is that of the search on the candidates, and below it a row "all columns": their residual
        before and after polishing. "least" is there the sum of the squared singular values behind the
        r-th, which no r columns can beat: "residual" − "least" bounds what screening can have lost (0 for
        columns of more than four thousand rows, where it is not known), and "total" is ‖M‖²_F. "columns" says
        how many columns each row is about. `scores` are measured on the candidates.

    Notes
    -----
    Passes: one for the leading directions (four for columns of more than four thousand rows), one for the
    candidates, one for the residual, and one more for each of at most two rounds of polishing.
    """
    began = time.perf_counter()
    check_choice(normalize, "normalize", ("auto", "none", "l1", "sqrt"))
    rng = check_generator(random_state)
    chunks = Chunks(M).prepared(negative)
    m, n = chunks.shape
    r = check_rank(r, n)
    if m * n <= SMALL:
        return auto(
            chunks.loaded(),
            r,
            normalize=normalize,
            negative=negative,
            random_state=rng,
            n_jobs=n_jobs,
            callback=callback,
        )
    scale = scaling(normalize, chunks)
    candidates = screened(chunks, scale, r, negative, rng)
    options: dict[str, Any] = {"negative": "allow", "normalize": "none", "n_jobs": n_jobs}
    found = auto(candidates.held.columns, r, random_state=rng, callback=callback, **options)
    polished = candidates.polished(found.anchors, options)
    scores = polished.scores if polished.scores is not None else found.scores[found.anchors]
    last = {"start": "all columns"} | polished.told
    rows = len(found.history["start"])
    return Selection(
        **polished.chosen(scores, n),
        method="auto",
        status=found.status,
        converged=found.converged,
        n_outer=found.n_outer + 1,
        history={key: np.array([*found.history[key], value]) for key, value in last.items()}
        | {
            "least": np.append(np.full(rows, np.nan), candidates.least),
            "total": np.append(np.full(rows, np.nan), polished.left.total),
            "columns": np.append(np.full(rows, len(found.scores)), n),
        },
        seconds=time.perf_counter() - began,
    )


def chunked(method: Callable[..., Selection], *, square: bool) -> Callable[..., Selection]:
    """A method on a Dask array, through screening.

    Parameters
    ----------
    method : callable
        A method of `sepnmf.METHODS`.
    square : bool
        Whether its coefficients are n × n. It then chooses among a few hundred columns that stand for all
        others; otherwise among the candidates of `chunked_auto`.

    Returns
    -------
    callable
        Takes what the method takes. Data that are small enough are loaded, and the answer is the method's
        own. Otherwise `history` has two rows, for the columns "held" and for "all" of them: how many they
        are, what the anchors leave of their squared lengths ("residual"), what no r columns can beat
        ("least"), ‖M‖²_F ("total"), and, if the method chose among columns that stand for others, "lost":
        what these leave of the columns they stand for. Each of them then counts in the residual of the
        columns held as often as it stands for another. Before polishing, the roots of the two residuals
        differ by the root of "lost" at most. `X` is None.

    Notes
    -----
    Passes: those of `chunked_auto`, and one more to find out what each column stands for.

    The method is given the columns as they are. Multiplied by the roots of the numbers of columns they stand
    for, so that squared misfits would be those of all columns, they mislead it: of the ratio model's
    coefficients those of the heaviest columns are then the largest, and these are in the middle of the data.
    """
    parameters = inspect.signature(method).parameters

    def run(M: Any, r: int, **options: Any) -> Selection:
        began = time.perf_counter()
        negative = options.get("negative", "error")
        chunks = Chunks(M).prepared(negative)
        m, n = chunks.shape
        r = check_rank(r, n)
        if m * n <= SMALL and (n <= FEW or not square):
            return method(chunks.loaded(), r, **options)
        seed = options.get("random_state")
        rng = check_generator(0 if seed is None else seed)
        scale = with_unit_sums if options.get("normalize") == "l1" else None
        candidates = screened(chunks, scale, r, negative, rng)
        held = candidates.held
        weights, lost = np.ones(len(held.numbers)), 0.0
        if square:
            held = held.at(spokesmen(held, max(SPOKESMEN, 20 * r)))
            weights, lost = candidates.chunks.scan(Likeness(held.columns))[0]
        given = options | {"negative": "allow"} | ({"normalize": "none"} if scale else {})
        found = method(held.columns, r, **given)
        chosen = candidates.held.places(held.numbers[found.anchors])
        polished = candidates.polished(chosen, {"negative": "allow", "normalize": "none"})
        scores = polished.scores if polished.scores is not None else found.scores[found.anchors]
        first = float(weights @ misfits(held.columns, found.anchors))
        history = {
            "which": np.array(["held", "all"]),
            "columns": np.array([len(held.numbers), n]),
            "residual": np.array([first, polished.left.residual]),
            "least": np.array([np.nan, candidates.least]),
            "lost": np.array([0.0, lost]),
            "total": np.array([np.nan, polished.left.total]),
        }
        return replace(
            found, **polished.chosen(scores, n), X=None, history=history, seconds=time.perf_counter() - began
        )

    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    run.__name__ = method.__name__
    run.__doc__ = f"`sepnmf.{method.__name__}` on a Dask array, through screening: see `chunked`."
    return run


SQUARE = ("admm", "dca", "fgnsr", "hottopixx", "merit")
SCREENED: dict[str, Callable[..., Selection]] = {
    "auto": chunked_auto,
    "tuned-admm": chunked(tuned_admm, square=True),
    **{
        name.replace("_", "-"): chunked(getattr(methods, name), square=name in SQUARE)
        for name in methods.__all__
        if name not in ("spa", "vca", "xray", "ppi")
    },
}


# Candidates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidates:
    """Columns that are held, with all columns and what no r of them can beat."""

    chunks: Chunks
    held: Held
    least: float

    def polished(self, places: Ints, options: dict[str, Any]) -> "Polished":
        """Exchange anchors, given by their places among the held, while that leaves less of all columns."""
        held = self.held
        anchors, scores = held.numbers[places], None
        left = unexplained(self.chunks, held.columns[:, places], WORST)
        before, exchanges, settled = left.residual, 0, False
        for _ in range(ROUNDS):
            held = held.joined(Held.of(left.worst.numbers, left.worst.columns))
            places = held.places(anchors)
            new, new_scores, row = refine_anchors(held.columns, places, **({"random_state": 0} | options))
            settled = set(new.tolist()) == set(places.tolist())
            if settled:
                break
            rest = unexplained(self.chunks, held.columns[:, new], WORST)
            if rest.residual >= left.residual:
                settled = True  # helps the candidates, not all columns
                break
            anchors, scores, left = held.numbers[new], new_scores[new], rest
            exchanges += row["exchanges"]
        return Polished(anchors, scores, left, before, exchanges, settled)


@dataclass(frozen=True, eq=False)
class Polished:
    """Anchors after polishing, and what they leave; `scores` is None if they are those of before."""

    anchors: Ints
    scores: Floats | None
    left: Unexplained
    before: float
    exchanges: int
    settled: bool

    @property
    def told(self) -> dict[str, Any]:
        """What was done, as `auto` tells it of its answers."""
        return {
            "criterion": "residual",
            "before": self.before,
            "after": self.left.residual,
            "exchanges": self.exchanges,
            "residual": self.left.residual,
            "settled": self.settled,
        }

    def chosen(self, scores: Floats, n: int) -> dict[str, Any]:
        """Anchors, best first, and scores of all n columns."""
        all_scores = np.zeros(n)
        all_scores[self.anchors] = scores
        return {"anchors": self.anchors[np.argsort(-scores, kind="stable")], "scores": all_scores}


def screened(
    chunks: Chunks, scale: Change | None, r: int, negative: Negative, rng: np.random.Generator
) -> Candidates:
    """Columns drawn by lot, and the columns that are extreme along random lines; two passes."""
    if scale is not None:
        chunks = chunks.changed(scale)
    chunks, seen = spectrum(chunks, r, negative)
    lot = by_lot(chunks.shape, rng)
    directions = seen.vectors[:, :r]
    count = min(SKEWERS, max(HELD // (10 * len(directions)), 100))
    lines = rng.standard_normal((count, directions.shape[1]))
    rounding = 16 * float(np.finfo(np.float64).eps)
    drawn, ends = chunks.scan(Drawn(lot), Extremes(directions, lines, rounding, hold=True))
    return Candidates(chunks, drawn.joined(ends.held), tail(seen, r))


def by_lot(shape: tuple[int, int], rng: np.random.Generator) -> Ints:
    """Numbers of twenty thousand columns, or of as many as can be held."""
    m, n = shape
    return np.sort(rng.choice(n, min(SAMPLE, max(HELD // m, 1000), n), replace=False))


def tail(seen: Spectrum, r: int) -> float:
    """Sum of the squared singular values behind the r-th, 0 if not all are known."""
    known = len(seen.sigma) == len(seen.centre)
    return float(np.square(seen.sigma[r:]).sum()) if known else 0.0


def scaling(normalize: str, chunks: Chunks) -> Change | None:
    """What to do to every column, None if nothing; "auto" is decided by a glimpse of the columns."""
    if normalize == "auto":
        squares = squared_lengths(chunks.glimpse().columns)
        normalize = "sqrt" if needs_root_of_sums(squares) else "none"
    return {"none": None, "l1": with_unit_sums, "sqrt": with_root_sums}[normalize]


def refined(M: Any, sel: Selection, **options: Any) -> Selection:
    """Exchange anchors for columns that they explain worst, while that leaves less of all columns."""
    began = time.perf_counter()
    chunks = Chunks(M).prepared(options.pop("negative", "error"))
    normalize = options.pop("normalize", None) or "auto"
    scale = scaling(normalize, chunks)
    chunks = chunks if scale is None else chunks.changed(scale)
    anchors = np.sort(sel.anchors)
    held = Held(anchors, chunks.take(anchors))
    options = {"negative": "allow", "normalize": "none"} | options
    polished = Candidates(chunks, held, 0.0).polished(np.arange(len(anchors)), options)
    scores = polished.scores if polished.scores is not None else sel.scores[anchors]
    seconds = sel.seconds + time.perf_counter() - began
    chosen = polished.chosen(scores, len(sel.scores))
    return replace(sel, **chosen, refinement=polished.told, seconds=seconds)


def drawn_by_lot(M: Any, random_state: Seed) -> Floats:
    """Some twenty thousand columns; one pass, which checks no entry."""
    chunks = Chunks(M)
    lot = by_lot(chunks.shape, check_generator(random_state))
    held: Held = chunks.scan(Drawn(lot))[0]
    return held.columns


def misfits(columns: Floats, anchors: Ints) -> Floats:
    """What anchors leave of the squared length of each column."""
    W = columns[:, anchors]
    rest = columns - W @ nnls(W, columns)
    return np.asarray(np.einsum("ij,ij->j", rest, rest))


# Columns that stand for others -------------------------------------------------------------------------


def spokesmen(held: Held, count: int) -> Ints:
    """Columns such that every other has a direction near one of theirs: each far from those before it."""
    lengths = np.sqrt(squared_lengths(held.columns))
    places = np.flatnonzero(lengths > 1e-3 * np.median(lengths[lengths > 0]))
    if len(places) <= count:
        return places
    unit = held.columns[:, places] / lengths[places]
    chosen = [int(np.argmax(lengths[places]))]
    nearest = np.full(len(places), -np.inf)
    while len(chosen) < count:
        nearest = np.maximum(nearest, unit[:, chosen[-1]] @ unit)
        chosen.append(int(np.argmin(nearest)))
    return places[np.unique(chosen)]


@dataclass(frozen=True, eq=False)
class Likeness(Reducer[tuple[Floats, float]]):
    """Gives every column to the held column c with the nearest direction, as a·c with the best a ≥ 0.

    The result is Σ a² for every held column, and Σ ‖m − a·c‖² of all columns.
    """

    columns: Floats

    def of_part(self, part: Part) -> tuple[Floats, float]:
        """Weights and loss of a part."""
        lengths = np.sqrt(squared_lengths(self.columns))
        along = part.times(self.columns / lengths)
        nearest = along.argmax(axis=0)
        reach = np.maximum(along[nearest, np.arange(len(nearest))], 0.0)
        weights = np.bincount(nearest, np.square(reach / lengths[nearest]), minlength=len(lengths))
        return np.asarray(weights, np.float64), float(np.maximum(part.squares - np.square(reach), 0.0).sum())

    def join(self, a: tuple[Floats, float], b: tuple[Floats, float]) -> tuple[Floats, float]:
        """Weights and loss of both."""
        return a[0] + b[0], a[1] + b[1]
