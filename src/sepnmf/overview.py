"""What people want to see beside the anchors: the data at a glance, maps, and other methods' answers."""

import inspect
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from sepnmf.chunked import Chunks
from sepnmf.chunked.passes import Extent, with_unit_sums
from sepnmf.columns import dense_columns, is_sparse, l1_lengths
from sepnmf.io.data import Data
from sepnmf.least_squares import nnls
from sepnmf.metrics import rae
from sepnmf.registry import DENSE_ONLY, METHODS, select
from sepnmf.selection import Selection
from sepnmf.sources import is_chunked
from sepnmf.tuning.auto import residual_curve
from sepnmf.typing import Floats, Ints
from sepnmf.validation import Negative, check_columns

SIDE = 600  # pixels of a map in a report, at most
SAMPLE = 5000  # columns that the curve of the residual is computed on, of more
MOST_ANCHORS = 15  # of that curve
SQUARE = 2000  # columns; beyond, methods with n × n coefficients take minutes and are run when named
PROGRAMME = 200  # the same for the linear programme


def anchor_columns(M: Any, anchors: Ints) -> Floats:
    """The columns at the anchors, dense, in float64."""
    return Chunks(M).take(anchors) if is_chunked(M) else dense_columns(M, anchors)


def unit_sums(M: Any) -> Any:
    """Columns divided by their sums of absolute values; zero columns stay."""
    if is_chunked(M):
        return Chunks(M).array.map_blocks(with_unit_sums, dtype=np.float64)
    data = check_columns(M, "allow")
    sums = l1_lengths(data)
    factors = 1 / np.where(sums > 0, sums, 1.0)
    return sparse.csc_array(data @ sparse.diags_array(factors)) if is_sparse(data) else data * factors


def summary(data: Data) -> dict[str, str]:
    """The data at a glance, for a reader."""
    M = data.M
    m, n = M.shape
    if is_chunked(M):
        least, most, zeros = Chunks(M).scan(Extent())[0]
    else:
        values = M.data if is_sparse(M) else np.asarray(M)
        zeros = m * n - int(np.count_nonzero(values))
        least, most = float(values.min(initial=0)), float(values.max(initial=0))
        if not is_sparse(M):
            least, most = float(values.min()), float(values.max())
    kind = "sparse" if is_sparse(M) else "dense, read in chunks" if is_chunked(M) else "dense"
    shown = {"file": data.file.name}
    if data.variable:
        shown["variable"] = data.variable
    shown |= {"rows": f"{m:,}", "columns": f"{n:,}"}
    if data.image_shape is not None:
        shown["image"] = "{:,} lines × {:,} samples".format(*data.image_shape)
    return shown | {
        "entries": f"{kind}, {M.dtype}",
        "smallest entry": f"{least:.4g}",
        "largest entry": f"{most:.4g}",
        "zeros": f"{zeros / (m * n):.1%}",
    }


def curve_of_residuals(M: Any, negative: Negative, random_state: int = 0) -> dict[str, Floats] | None:
    """Relative residual of the best r columns for every small r; of many columns, of a sample."""
    n = M.shape[1]
    columns = np.sort(np.random.default_rng(random_state).choice(n, min(SAMPLE, n), replace=False))
    part = Chunks(M).take(columns) if is_chunked(M) else M if n <= SAMPLE else M[:, columns]
    data = check_columns(part, negative)
    most = min(MOST_ANCHORS, *data.shape)
    try:
        squares = residual_curve(data, most, random_state, None)
    except ValueError:  # no column to choose
        return None
    return {"r": np.arange(1.0, len(squares) + 1), "residual": np.sqrt(squares)}


def scene(data: Data) -> Floats:
    """The mean over the bands, as an image; of data in chunks, only the pixels that are shown are held."""
    if is_chunked(data.M):
        columns, shape = shown_pixels(data)
        mean = data.M[:, columns].mean(axis=0).compute()
        return np.reshape(mean, shape, order=data.image_order)
    return thinned(data.picture(np.asarray(data.M.mean(axis=0))))


def maps(data: Data, H: Any) -> Floats:
    """Weights of each anchor as images, thinned where they are large."""
    return np.stack([thinned(data.picture(np.asarray(row))) for row in H])


def maps_from(data: Data, M: Any, W: Floats) -> Floats:
    """The same, computed here; of data in chunks, only of the pixels that are shown."""
    if not is_chunked(M):
        return maps(data, nnls(W, M))
    columns, shape = shown_pixels(data)
    H: Any = nnls(W, M[:, columns])
    return np.stack([np.reshape(row, shape, order=data.image_order) for row in H.compute()])


def shown_pixels(data: Data) -> tuple[Ints, tuple[int, int]]:
    """Columns of the pixels that a thinned picture shows, rising, and its lines and samples."""
    if data.image_shape is None:
        raise ValueError(f"{data.file.name} holds no image: its columns are not pixels.")
    step = thinning(data.image_shape)
    lines, samples = (np.arange(0, side, step) for side in data.image_shape)
    columns = np.ravel_multi_index(
        np.meshgrid(lines, samples, indexing="ij"), data.image_shape, order=data.image_order
    )
    return columns.ravel(order=data.image_order), (len(lines), len(samples))


def thinning(shape: tuple[int, ...]) -> int:
    """Every how manieth line and sample a picture of at most 600 a side has."""
    return max(-(-side // SIDE) for side in shape)


def thinned(picture: Floats) -> Floats:
    """A picture with every k-th line and sample, of at most 600 a side."""
    step = thinning(picture.shape)
    return picture[::step, ::step]


def ready_methods() -> list[str]:
    """Methods that run without an option."""

    def ready(name: str) -> bool:
        options = list(inspect.signature(METHODS[name]).parameters.values())[2:]
        return all(option.default is not option.empty for option in options)

    return [name for name in METHODS if ready(name)]


def too_slow(name: str, n: int) -> str | None:
    """Why a method is not run on so many columns unless it is named."""
    most = PROGRAMME if name == "hottopixx" else SQUARE if name in DENSE_ONLY else n
    return f"takes minutes with over {most:,} columns: name it to run it" if n > most else None


def compare(
    M: Any,
    r: int,
    names: Iterable[str] | None = None,
    *,
    scale: bool = False,
    negative: Negative = "error",
    random_state: int = 0,
    label: Callable[[int], str] = str,
    told: Callable[[str, int, int], object] = lambda name, done, total: None,
) -> list[dict[str, Any]]:
    """All methods side by side.

    Parameters
    ----------
    M : ndarray or sparse array of shape (m, n)
        Data.
    r : int
        Number of anchors.
    names : iterable of str, optional
        Methods; by default all that need no option and do not take minutes on so many columns.
    scale : bool, default False
        Divide the columns by their sums before choosing; the fit is of the columns as they are.
    negative, random_state
        As in `sepnmf.select`.
    label : callable
        What to call a column.
    told : callable
        Called with the name of each method before it runs, how many are done, and how many there are.

    Returns
    -------
    list of dict
        Per method: "method", "columns", "anchors" (labels), "fit", "seconds", "status", and "failure": why
        there is no answer, None if there is one.
    """
    chosen = list(ready_methods() if names is None else names)
    used = unit_sums(M) if scale else M
    rows = []
    for done, name in enumerate(chosen):
        told(name, done, len(chosen))
        reason = too_slow(name, M.shape[1]) if names is None else None
        began = time.perf_counter()
        try:
            sel = None if reason else choose(used, r, name, negative=negative, random_state=random_state)
        except (ValueError, MemoryError) as error:
            sel, reason = None, str(error) or "not enough memory"
        row: dict[str, Any] = {"method": name, "columns": [], "anchors": [], "fit": None, "status": ""}
        if sel is not None:
            row |= {
                "columns": sel.anchors.tolist(),
                "anchors": [label(int(j)) for j in sel.anchors],
                "fit": rae(M, sel.anchors),
                "status": sel.status,
            }
        seconds = sel.seconds if sel is not None else time.perf_counter() - began
        rows.append(row | {"seconds": seconds, "failure": reason})
    told("", len(chosen), len(chosen))
    return rows


def choose(M: Any, r: int, method: str, *, random_state: int, **options: Any) -> Selection:
    """A selection with a seed where the method takes one; that it did not converge is in its status."""
    if "random_state" in inspect.signature(METHODS[method]).parameters:
        options["random_state"] = random_state
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return select(M, r, method, **options)
