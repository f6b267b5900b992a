"""Contents of reports besides the anchors: summary, fit, doubts, maps, and a comparison of methods."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sepnmf._typing import Floats
from sepnmf.io._axes import ASSUMED
from sepnmf.io._data import Data
from sepnmf.io._nodata import as_text, option_for
from sepnmf.least_squares import Atoms, checked_unexplained, nnls, squared_misfits
from sepnmf.matrix import SMALL, InMemory, Matrix, MatrixLike, Part, as_matrix, concatenated
from sepnmf.matrix._reducers import PerColumn
from sepnmf.registry import find_method, ready_methods, select
from sepnmf.selection import Selection
from sepnmf.tuning import RankEstimate, residual_curve

SIDE = 600  # largest number of lines and samples of a map in a report
SAMPLE = 300  # columns from which the least unexplained fraction is computed; more than 400 are averaged
MOST_ANCHORS = 15  # largest number of anchors of the residual curve
EXACT = 1e-6  # unexplained fraction of the data that is called nothing
UNSTABLE = 0.5  # share of the draws up to which anchors are doubtful
POOR_FIT = 0.8  # explained fraction of the data below which a result is doubtful

# How a run ended, if its result is doubtful, and what to do.
DOUBTFUL = {
    "max_outer": "The method reached its iteration limit before it settled: allow more iterations, or "
    "compare the anchors with those of other methods.",
    "stopped": "The run was stopped before the method converged: let it finish before you use the anchors.",
    "diverged": "The iterates overflowed, and the anchors come from the last valid iterate: do not rely on "
    "them, choose other parameters or another method.",
    "collapsed": "The iterates became zero, and the anchors come from the last valid iterate: do not rely on "
    "them, choose other parameters or another method.",
    "not identifiable": "An anchor is in the cone of the other columns, so that other anchors fit equally "
    "well: use fewer anchors, or compare the anchors of several methods.",
    "no pure columns": "There are no pure columns: columns lie outside of the cone of any anchors, by more "
    "than noise explains; estimate vertices outside of the data with --vertices minimum-volume "
    "(minimum_volume in Python), or use more anchors.",
}


def summary(data: Data) -> dict[str, str]:
    """Return a summary of the data for a report; entries that are left out are not counted."""
    matrix = data.matrix("allow")
    used_rows, used_columns = matrix.shape
    m, n = data.M.shape
    least, most, zeros = matrix.extent()
    shown = {"file": data.file.name}
    if data.variable:
        shown["variable"] = data.variable
    shown |= {"rows": counted(used_rows, m), "columns": counted(used_columns, n)}
    if data.image_shape is not None:
        shown["image"] = "{:,} lines × {:,} samples".format(*data.image_shape)
    return shown | {
        "entries": f"{matrix.kind}, {data.M.dtype}",
        "smallest entry": written(least),
        "largest entry": written(most),
        "zeros": f"{zeros / (used_rows * used_columns):.1%}",
    }


def counted(used: int, total: int) -> str:
    """Return a number of rows or columns, and how many there are if some are left out."""
    return f"{total:,}" if used == total else f"{used:,} of {total:,} used"


def written(value: float) -> str:
    """Return a number in full if it has up to fifteen digits before the point, with four digits otherwise.

    >>> [written(x) for x in (12345.678, -65535.0, 0.123456, 1e-7, 1e20)]
    ['12,346', '-65,535', '0.1235', '1e-07', '1e+20']
    """
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def fit_of(matrix: Matrix, W: Floats, sum_to_one: bool = False) -> float:
    """Return 1 − ‖M − WH‖_F / ‖M‖_F, where the columns of H sum to one if `sum_to_one`; one pass."""
    left, _ = checked_unexplained(matrix, W, sum_to_one)
    if left.total == 0:
        raise ValueError("M is zero, where the relative approximation error is not defined.")
    return left.explained


def doubts(sel: Selection, fit: float, data: Data | None = None) -> tuple[str, ...]:
    """Return why a result is doubtful and what to do, one sentence each; nothing if it is not.

    The warnings of the data come first.
    """
    found = [] if data is None else [*data.warnings, *anchors_without_data(data, sel)]
    # Co-occurrences have the same names along both axes. Rare ones are noise that no anchors explain.
    together = data is not None and bool(data.row_names) and data.row_names == data.column_names
    if fit < POOR_FIT and not together:
        share = f"only {fit:.1%}" if fit > 0 else "nothing"
        found.append(
            f"The anchors explain {share} of the data: use more anchors, or leave out bad rows and columns "
            "without data."
        )
        if data is not None and any(sentence.startswith(ASSUMED) for sentence in data.assumptions):
            found.append(
                "The order of the axes was assumed: if the numbers of pixels and bands are not those of the "
                "image, give the order with --axes."
            )
    if sel.stability is not None and np.median(sel.stability) <= UNSTABLE:
        what = "columns" if data is None else data.what
        found.append(
            f"Most anchors come back in at most half of the draws. Where many {what} are alike, another "
            "of them can take the place of an anchor that is not wrong: see whether other methods and seeds "
            f"find {what} that look like these."
        )
    if sel.status in DOUBTFUL:
        found.append(DOUBTFUL[sel.status])
    if not sel.converged and sel.status in {"converged", "done", "not identifiable", "no pure columns"}:
        found.append(DOUBTFUL["max_outer"])
    return tuple(found)


def anchors_without_data(data: Data, sel: Selection) -> list[str]:
    """Return a sentence for each anchor that is probably a pixel without data."""
    if not data.undeclared:
        return []
    known = () if data.nodata is None else (data.nodata, *data.more_nodata)
    rows = slice(None) if data.row_mask is None else data.row_mask
    columns = np.asarray(data.M[:, sel.anchors])[rows]
    return [
        f"Anchor {rank} ({data.column_label(int(anchor))}) has the value {as_text(value)} in every band: it "
        f"is probably no data; pass {option_for(value, known)}."
        for rank, (anchor, column) in enumerate(zip(sel.anchors, columns.T, strict=True), start=1)
        for value, empty in data.undeclared
        if np.array_equal(column, empty[rows])
    ]


def curve_of_residuals(
    M: MatrixLike, random_state: int = 0, most: int = MOST_ANCHORS
) -> dict[str, Floats] | None:
    """Return the least ‖M − WH‖_F / ‖M‖_F that was found with r columns, for r up to `most`.

    It is what `fit_of` leaves of 1, on a random sample of the columns, so few that these are not averaged.
    None if all columns are zero; it ends early if fewer columns explain everything.
    """
    try:
        squares = residual_curve(sampled(as_matrix(M, "allow"), random_state), most, random_state, None)
    except ValueError:  # all columns are zero
        return None
    return {"r": np.arange(1.0, len(squares) + 1), "unexplained": np.sqrt(squares)}


def sampled(matrix: Matrix, random_state: int) -> InMemory:
    """Return a random sample of the columns, so few that `residual_curve` does not average them."""
    few = matrix.with_few_rows()
    m, n = few.shape
    count = min(SAMPLE, n, max(SMALL // m, 1))
    columns = np.sort(np.random.default_rng(random_state).choice(n, count, replace=False))
    return (few if count == n else few.part(columns)).in_memory()


def with_measured(estimate: RankEstimate, M: MatrixLike, random_state: int = 0) -> RankEstimate:
    """Return an estimate whose explanation has what anchors leave unexplained, as `fit_of` measures it.

    The estimate itself is based on directions, or on averages of similar columns, which leave less. More
    than fifteen anchors keep the percentages of the estimate, because the curve would take too long.
    """
    high, before = estimate.high, estimate.unexplained()
    if high >= len(before) or before[high - 1] <= EXACT or high > MOST_ANCHORS:
        return estimate  # its explanation has no percentages, or too many anchors
    found = curve_of_residuals(M, random_state, high + 1)
    if found is None or len(found["r"]) <= high:
        return estimate
    return replace(estimate, curve=estimate.curve | {"relative_residual": found["unexplained"] ** 2})


def scene(data: Data) -> Floats:
    """Return the mean over the bands as an image, thinned if it is large; NaN where there is no data."""
    matrix = data.matrix("allow")
    return thinned(data.picture(matrix.spread(matrix.mean_row())))


def maps(data: Data, H: Any) -> Floats:
    """Return the weights of each anchor as an image, thinned if it is large; NaN where there is no data."""
    rows = (np.asarray(row) for row in H)
    if data.mask is not None:
        rows = (np.where(data.mask, row, np.nan) for row in rows)
    return np.stack([thinned(data.picture(row)) for row in rows])


def maps_from(data: Data, matrix: Matrix, W: Floats, sum_to_one: bool = False) -> Floats:
    """Return the same images as `maps`; weights are computed only for the pixels that are shown."""
    return of_shown_pixels(data, matrix, W.shape[1], lambda part: nnls(W, part, sum_to_one=sum_to_one))


def residual_map(data: Data, matrix: Matrix, W: Floats, sum_to_one: bool = False) -> Floats:
    """Return ‖m_j − Wh_j‖ / ‖m_j‖ of the pixels that are shown; NaN without data, and where m_j is zero."""

    def relative(part: Matrix) -> Floats:
        scaled, results = part.checked_scan(RelativeMisfits(Atoms.of(W), sum_to_one))
        if results is None:
            smaller = W * (part.scale / scaled.scale)
            results = scaled.scan(RelativeMisfits(Atoms.of(smaller), sum_to_one))
        return concatenated(results[0], part.shape[1])[None]

    picture: Floats = of_shown_pixels(data, matrix, 1, relative)[0]
    return picture


@dataclass(frozen=True, eq=False)
class RelativeMisfits(PerColumn):
    """Fits the columns of W to every column: the norms of what is left, relative to those of the columns."""

    atoms: Atoms
    sum_to_one: bool

    def of_part(self, part: Part) -> list[Floats]:
        """Return one number per column, NaN for a column that is zero."""
        E, _ = squared_misfits(part.columns, self.atoms, self.sum_to_one)
        return [np.sqrt(E / np.where(part.squares > 0, part.squares, np.nan))]


def dominant(weights: Floats) -> Floats:
    """Return the index of the anchor with the largest weight; NaN without data, or if all weights are 0."""
    known = np.isfinite(weights).all(axis=0)
    known &= np.where(known, weights, 0.0).max(axis=0) > 0
    return np.where(known, np.where(known, weights, 0.0).argmax(axis=0), np.nan)


def of_shown_pixels(data: Data, matrix: Matrix, rows: int, function: Callable[[Matrix], Any]) -> Floats:
    """Return images of what a function computes of the pixels that are shown; NaN where there is no data."""
    full, order = data.require_image(), data.image_order
    lines, samples = (np.arange(0, side, thinning(full)) for side in full)
    places = np.meshgrid(lines, samples, indexing="ij")
    columns = np.ravel_multi_index(places, full, order=order).ravel(order=order)  # ascending
    used, positions = np.ones(len(columns), bool), columns
    if data.mask is not None:
        used = data.mask[columns]
        positions = np.cumsum(data.mask)[columns[used]] - 1  # among the columns that are used
    whole = np.full((rows, len(columns)), np.nan, matrix.dtype)
    if used.any():
        everything = data.mask is None and len(columns) == matrix.shape[1]
        whole[:, used] = function(matrix if everything else matrix.part(positions))
    return np.stack([np.reshape(row, (len(lines), len(samples)), order=order) for row in whole])


def thinning(shape: tuple[int, ...]) -> int:
    """Return the least step between lines and samples for at most 600 of each."""
    return max(-(-side // SIDE) for side in shape)


def thinned(picture: Floats) -> Floats:
    """Return every k-th line and sample of a picture, at most 600 of each."""
    step = thinning(picture.shape)
    return picture[::step, ::step]


def compare(
    M: MatrixLike,
    r: int,
    names: Iterable[str] | None = None,
    *,
    scale: bool = False,
    sum_to_one: bool = False,
    random_state: int = 0,
    known: Mapping[str, Sequence[int]] = MappingProxyType({}),
    label: Callable[[int], str] = str,
    on_progress: Callable[[str, int, int], object] = lambda name, done, total: None,
) -> list[dict[str, Any]]:
    """Run methods one after another on the same data.

    `names` are by default all methods that need no option and are fast for n columns. `known` has columns
    that are included and excluded; then, they are by default those of them that can do this. With `scale`,
    columns are divided by their sums before the selection; the fit refers to the original columns, with
    weights that sum to one if `sum_to_one`. `label` returns the label of a column. `on_progress` gets the
    name of the next method, how many are done and how many there are. Each row has "method", "columns",
    "anchors" (labels), "fit", "seconds", "status", and "failure", the reason why there is no result, or None.
    """
    able = [name for name in ready_methods() if not any(known.values()) or find_method(name).takes_known]
    chosen = list(able if names is None else names)
    matrix = as_matrix(M, "allow")
    used = matrix.normalised("l1") if scale else matrix
    rows = []
    for done, name in enumerate(chosen):
        on_progress(name, done, len(chosen))
        most, reason = find_method(name).quick_up_to, None
        if names is None and most is not None and matrix.shape[1] > most:
            reason = f"takes minutes with more than {most:,} columns: name it to run it"
        began = time.perf_counter()
        try:
            sel = None if reason else choose(used, r, name, random_state=random_state, **known)
        except (ValueError, MemoryError) as error:
            sel, reason = None, str(error) or "not enough memory"
        row: dict[str, Any] = {"method": name, "columns": [], "anchors": [], "fit": None, "status": ""}
        if sel is not None:
            row |= {
                "columns": sel.anchors.tolist(),
                "anchors": [label(int(j)) for j in sel.anchors],
                "fit": fit_of(matrix, matrix.at(sel.anchors), sum_to_one),
                "status": sel.status,
            }
        seconds = sel.seconds if sel is not None else time.perf_counter() - began
        rows.append(row | {"seconds": seconds, "failure": reason})
    on_progress("", len(chosen), len(chosen))
    return rows


def choose(matrix: Matrix, r: int, method: str, *, random_state: int, **options: Any) -> Selection:
    """Run a method, with a seed if it accepts one. Warnings are suppressed; see the status of the result."""
    if "random_state" in find_method(method).options:
        options["random_state"] = random_state
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return select(matrix, r, method, **options)
