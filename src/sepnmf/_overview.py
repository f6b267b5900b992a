"""Contents of reports besides the anchors: a summary of the data, maps, and a comparison of methods."""

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sepnmf._typing import Floats, Ints
from sepnmf.io._data import Data
from sepnmf.least_squares import nnls
from sepnmf.matrix import SMALL, Matrix, MatrixLike, as_matrix
from sepnmf.metrics import rae
from sepnmf.registry import find_method, ready_methods, select
from sepnmf.selection import Selection
from sepnmf.tuning import residual_curve

SIDE = 600  # largest number of lines and samples of a map in a report
SAMPLE = 5000  # largest number of columns from which the residual curve is computed
MOST_ANCHORS = 15  # largest number of anchors of the residual curve


def summary(data: Data) -> dict[str, str]:
    """Return a summary of the data for a report."""
    matrix = as_matrix(data.M, "allow")
    m, n = matrix.shape
    least, most, zeros = matrix.extent()
    shown = {"file": data.file.name}
    if data.variable:
        shown["variable"] = data.variable
    shown |= {"rows": f"{m:,}", "columns": f"{n:,}"}
    if data.image_shape is not None:
        shown["image"] = "{:,} lines × {:,} samples".format(*data.image_shape)
    return shown | {
        "entries": f"{matrix.kind}, {data.M.dtype}",
        "smallest entry": f"{least:.4g}",
        "largest entry": f"{most:.4g}",
        "zeros": f"{zeros / (m * n):.1%}",
    }


def curve_of_residuals(M: MatrixLike, random_state: int = 0) -> dict[str, Floats] | None:
    """Return the relative residual of the best r columns for r up to 15, computed on a random sample."""
    matrix = as_matrix(M, "allow")
    m, n = matrix.shape
    count = min(SAMPLE, n, max(SMALL // m, 1))
    columns = np.sort(np.random.default_rng(random_state).choice(n, count, replace=False))
    part = matrix if count == n else matrix.part(columns)
    try:
        squares = residual_curve(part.in_memory(), min(MOST_ANCHORS, m, count), random_state, None)
    except ValueError:  # all columns are zero
        return None
    return {"r": np.arange(1.0, len(squares) + 1), "residual": np.sqrt(squares)}


def scene(data: Data) -> Floats:
    """Return the mean over the bands as an image, thinned if it is large."""
    return thinned(data.picture(as_matrix(data.M, "allow").mean_row()))


def maps(data: Data, H: Any) -> Floats:
    """Return the weights of each anchor as an image, thinned if it is large."""
    return np.stack([thinned(data.picture(np.asarray(row))) for row in H])


def maps_from(data: Data, matrix: Matrix, W: Floats) -> Floats:
    """Return the same images as `maps`; weights are computed only for the pixels that are shown."""
    columns, shape = shown_pixels(data)
    H = nnls(W, matrix if len(columns) == matrix.shape[1] else matrix.part(columns))
    return np.stack([np.reshape(row, shape, order=data.image_order) for row in np.asarray(H)])


def shown_pixels(data: Data) -> tuple[Ints, tuple[int, int]]:
    """Return the columns of the pixels in a thinned picture, ascending, and the shape of the picture."""
    shape = data.require_image()
    lines, samples = (np.arange(0, side, thinning(shape)) for side in shape)
    columns = np.ravel_multi_index(np.meshgrid(lines, samples, indexing="ij"), shape, order=data.image_order)
    return columns.ravel(order=data.image_order), (len(lines), len(samples))


def thinning(shape: tuple[int, ...]) -> int:
    """Return the least step between lines and samples for at most 600 of each."""
    return max(-(-side // SIDE) for side in shape)


def thinned(picture: Floats) -> Floats:
    """Return every k-th line and sample of a picture, at most 600 of each."""
    step = thinning(picture.shape)
    return picture[::step, ::step]


def too_slow(name: str, n: int) -> str | None:
    """Return why a method is not run by default on n columns, or None if it is."""
    most = find_method(name).quick_up_to
    slow = most is not None and n > most
    return f"takes minutes with more than {most:,} columns: name it to run it" if slow else None


def compare(
    M: MatrixLike,
    r: int,
    names: Iterable[str] | None = None,
    *,
    scale: bool = False,
    random_state: int = 0,
    label: Callable[[int], str] = str,
    on_progress: Callable[[str, int, int], object] = lambda name, done, total: None,
) -> list[dict[str, Any]]:
    """Run methods one after another on the same data.

    `names` are by default all methods that need no option and are fast for n columns. With `scale`,
    columns are divided by their sums before the selection; the fit refers to the original columns. `label`
    returns the label of a column. `on_progress` gets the name of the next method, and how many are done and
    how many there are. Each row has "method", "columns", "anchors" (labels), "fit", "seconds", "status", and
    "failure", the reason why there is no result, or None.
    """
    chosen = list(ready_methods() if names is None else names)
    matrix = as_matrix(M, "allow")
    used = matrix.normalised("l1") if scale else matrix
    rows = []
    for done, name in enumerate(chosen):
        on_progress(name, done, len(chosen))
        reason = too_slow(name, matrix.shape[1]) if names is None else None
        began = time.perf_counter()
        try:
            sel = None if reason else choose(used, r, name, random_state=random_state)
        except (ValueError, MemoryError) as error:
            sel, reason = None, str(error) or "not enough memory"
        row: dict[str, Any] = {"method": name, "columns": [], "anchors": [], "fit": None, "status": ""}
        if sel is not None:
            row |= {
                "columns": sel.anchors.tolist(),
                "anchors": [label(int(j)) for j in sel.anchors],
                "fit": rae(matrix, sel.anchors),
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
