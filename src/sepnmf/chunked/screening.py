"""`auto` for data that are never held at once: passes choose candidates, the search is on these alone."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepnmf.chunked.misfit import unexplained
from sepnmf.chunked.passes import Chunks, parts, survey
from sepnmf.chunked.spa import clipped, project_in_passes, with_unit_sums
from sepnmf.methods.iteration import Callback
from sepnmf.selection import Selection
from sepnmf.tuning.auto import Normalize, auto, needs_root_of_sums, refine_anchors
from sepnmf.typing import Floats, Ints, Seed
from sepnmf.validation import Negative, check_choice, check_generator, check_rank

SMALL = 20_000_000  # entries; up to here the data are loaded and `auto` sees all of them
SAMPLE = 20_000  # columns drawn by lot
SKEWERS = 1000  # random lines along which the extreme columns become candidates
WORST = 500  # columns that the anchors explain worst, which become candidates
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

    Passes over the data find candidates: a sample by lot, the columns that are extreme along a thousand
    random lines in the span of the r leading directions, and the anchors of SPA. `auto` chooses among
    these. A last pass computes what the anchors leave of all columns; those explained worst become
    candidates too, anchors are exchanged, and the exchange is kept if it explains more of all columns.
    Data of up to twenty million entries are loaded instead, and the answer is that of `sepnmf.auto`.

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
        r-th, which no r columns can beat: "residual" − "least" bounds what screening can have lost.
        "columns" says how many columns each row is about. `scores` are measured on the candidates.

    Notes
    -----
    Passes: one to look at the data, one for the extremes, one for each group of SPA's steps (mostly one or
    two in all), one for the residual, and two more for each of at most two rounds of polishing.
    """
    began = time.perf_counter()
    check_choice(normalize, "normalize", ("auto", "none", "l1", "sqrt"))
    rng = check_generator(random_state)
    chunks = Chunks(M)
    m, n = chunks.shape
    r = check_rank(r, n)
    options: dict[str, Any] = {"negative": "allow", "normalize": "none", "n_jobs": n_jobs}
    if m * n <= SMALL:
        return auto(
            chunks.array.compute(),
            r,
            normalize=normalize,
            negative=negative,
            random_state=rng,
            n_jobs=n_jobs,
            callback=callback,
        )
    seen = survey(chunks)
    seen.check(negative)
    if negative == "clip" and seen.n_negative:
        chunks = chunks.mapped(clipped)
    lot = np.sort(rng.choice(n, min(SAMPLE, n), replace=False))
    drawn = chunks.take(lot)
    scale = scaling(normalize, drawn)
    gram = seen.gram
    if scale is not None:
        chunks, drawn = chunks.mapped(scale), scale(drawn)
    if scale is not None or (negative == "clip" and seen.n_negative):
        gram = survey(chunks).gram
    spectrum, directions = np.linalg.eigh(gram)
    least = max(float(spectrum[::-1][r:].sum()), 0.0)
    rim = extreme_columns(chunks, directions[:, ::-1][:, :r], rng)
    tips, *_ = project_in_passes(chunks, r, float(np.finfo(np.float64).eps))
    candidates = Candidates(lot, drawn).with_columns(chunks, np.union1d(rim, tips))

    found = auto(candidates.columns, r, random_state=rng, callback=callback, **options)
    anchors, scores = candidates.numbers[found.anchors], found.scores[found.anchors]
    left = unexplained(chunks, chunks.take(anchors), WORST)
    before, exchanges, settled = left.residual, 0, False
    for _ in range(ROUNDS):
        candidates = candidates.with_columns(chunks, left.worst.numbers)
        places = candidates.places(anchors)
        new, new_scores, row = refine_anchors(candidates.columns, places, random_state=0, **options)
        settled = set(new.tolist()) == set(places.tolist())
        if settled:
            break
        others = candidates.numbers[new]
        rest = unexplained(chunks, chunks.take(others), WORST)
        if rest.residual >= left.residual:
            settled = True  # helps the candidates, not all columns
            break
        anchors, scores, left = others, new_scores[new], rest
        exchanges += row["exchanges"]

    all_scores = np.zeros(n)
    all_scores[anchors] = scores
    last: dict[str, Any] = {
        "start": "all columns",
        "criterion": "residual",
        "before": before,
        "after": left.residual,
        "exchanges": exchanges,
        "residual": left.residual,
        "settled": settled,
    }
    rows = len(found.history["start"])
    return Selection(
        anchors=anchors[np.argsort(-scores, kind="stable")],
        scores=all_scores,
        method="auto",
        status=found.status,
        converged=found.converged,
        n_outer=found.n_outer + 1,
        history={key: np.array([*found.history[key], value]) for key, value in last.items()}
        | {
            "least": np.append(np.full(rows, np.nan), least),
            "columns": np.append(np.full(rows, len(found.scores)), n),
        },
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True, eq=False)
class Candidates:
    """Columns that are held: their numbers, rising, and themselves."""

    numbers: Ints
    columns: Floats

    def with_columns(self, chunks: Chunks, numbers: Ints) -> "Candidates":
        """These and more."""
        new = np.setdiff1d(numbers, self.numbers)
        if new.size == 0:
            return self
        together = np.concatenate([self.numbers, new])
        order = np.argsort(together)
        return Candidates(together[order], np.hstack([self.columns, chunks.take(new)])[:, order])

    def places(self, numbers: Ints) -> Ints:
        """Where these columns are among the candidates."""
        return np.searchsorted(self.numbers, numbers)


def scaling(normalize: str, drawn: Floats) -> Any:
    """What to do to every chunk, None if nothing; "auto" is decided by the columns drawn."""
    if normalize == "auto":
        normalize = "sqrt" if needs_root_of_sums(np.einsum("ij,ij->j", drawn, drawn)) else "none"
    return {"none": None, "l1": with_unit_sums, "sqrt": with_root_sums}[normalize]


def with_root_sums(chunk: Floats) -> Floats:
    """Columns divided by the roots of their sums of absolute values."""
    sums = np.abs(chunk).sum(axis=0, dtype=np.float64)
    return chunk / np.sqrt(np.where(sums > 0, sums, 1.0))


def extreme_columns(chunks: Chunks, directions: Floats, rng: np.random.Generator) -> Ints:
    """Columns that are extreme along random lines in the span of some directions; one pass."""
    lines = rng.standard_normal((directions.shape[1], SKEWERS))
    _, numbers = chunks.fold(extremes_of_chunk, join_extremes, directions, lines)
    return np.unique(numbers)


def extremes_of_chunk(first: int, chunk: Floats, directions: Floats, lines: Floats) -> tuple[Floats, Ints]:
    """Largest values along lines and their negatives, and the columns that have them."""
    best = np.full(2 * lines.shape[1], -np.inf)
    which = np.zeros(best.size, np.intp)
    for start, part in parts(first, chunk):
        coordinates = directions.T @ part
        width = max(2**20 // lines.shape[1], 1)
        for k in range(0, part.shape[1], width):
            along = lines.T @ coordinates[:, k : k + width]
            numbers = np.concatenate([along.argmax(axis=1), along.argmin(axis=1)])
            values = np.concatenate([along.max(axis=1), -along.min(axis=1)])
            better = values > best
            best[better], which[better] = values[better], start + k + numbers[better]
    return best, which


def join_extremes(a: tuple[Floats, Ints], b: tuple[Floats, Ints]) -> tuple[Floats, Ints]:
    """The larger values; of equal ones the first."""
    better = b[0] > a[0]
    return np.where(better, b[0], a[0]), np.where(better, b[1], a[1])
