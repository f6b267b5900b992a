"""`Selection`, the result type of all methods."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from sepnmf._display import as_html, bar_chart, plot_history, plot_scores, table
from sepnmf._typing import Floats, Ints
from sepnmf.matrix import Columns, take_columns

Status = Literal[
    "converged",
    "max_outer",
    "stopped",
    "diverged",
    "collapsed",
    "done",
    "not identifiable",
    "no pure columns",
]


SHOWN = 20  # anchors that `repr` lists

# Exponents of the largest score; the least leaves room for scores that are smaller by rounding errors.
LEAST_EXPONENT, LARGEST_EXPONENT = -960, 1024


@dataclass(frozen=True, eq=False)
class Selection:
    """The columns that a method selected, and information about its run.

    Attributes
    ----------
    anchors : ndarray of shape (r,)
        Distinct column indices, best first.
    scores : ndarray of shape (n,)
        One finite number per column; the anchors have the largest scores.
    method : str
        Name of the method, as in `sepnmf.METHODS`.
    status : str
        "converged"; "max_outer" (the iteration limit was reached); "stopped" (by the callback); "diverged"
        and "collapsed" (the iterates overflowed or became zero; the result comes from the last valid
        iterate); "done" (the method does not iterate to a tolerance); "not identifiable" (done, but an
        anchor is in the cone of the other columns, so that other anchors fit equally well); "no pure columns"
        (done, but noise does not explain how far columns lie outside of the cone of any columns: the vertices
        are not among the columns, see `sepnmf.minimum_volume`).
    converged : bool
        Whether the stopping criterion was met; for a method without one, whether it finished.
    X : ndarray or sparse array of shape (n, n), or None
        Coefficients with M ≈ MX; sparse from `merit`, None from greedy methods.
    n_outer, n_inner : int
        Number of outer iterations, and total number of inner iterations.
    history : dict of str to ndarray
        One array per quantity, one entry per outer iteration (`pandas.DataFrame(history)` works).
    seconds : float
        Wall-clock time.
    refinement : dict or None
        With `select(…, refine=True)`: the criterion, its values before and after, and the exchanges.
    names : tuple of str or None
        Names of the anchors, if the container of M has names for its columns.
    vertices : ndarray of shape (m, r) or None
        From `auto`: what the pure columns look like without noise, estimated from all columns, in the order
        of `anchors` and scaled like these. From `eeht` with ``choice="centroids"``: means of columns near
        the anchors. None from other methods and for data in chunks.
    spread : ndarray of shape (m, r) or None
        Standard errors of the entries of `vertices`; NaN where they cannot be estimated.
    stability : ndarray of shape (r,) or None
        From `sepnmf.stability`: how often each anchor came back when the data were drawn again.
    """

    anchors: Ints
    scores: Floats
    method: str = ""
    status: Status = "done"
    converged: bool = True
    X: Floats | None = None
    n_outer: int = 0
    n_inner: int = 0
    history: dict[str, Floats] = field(default_factory=dict)
    seconds: float = 0.0
    refinement: dict[str, Any] | None = None
    names: tuple[str, ...] | None = None
    vertices: Floats | None = None
    spread: Floats | None = None
    stability: Floats | None = None

    def take(self, M: Any) -> Any:
        """Return the anchors' columns, best first, in a container of the same kind as M.

        Parameters
        ----------
        M : matrix_like of shape (m, n)
            The data from which the anchors were selected, or others with the same columns.

        Returns
        -------
        container
            ``M[:, anchors]`` of an array; a data frame of a data frame, annotated data of annotated data; of
            an `xarray.DataArray`, one with the dimension "anchor" and the coordinates of the anchors.

        Examples
        --------
        >>> import pandas as pd
        >>> import sepnmf
        >>> frame = pd.DataFrame({"soil": [1.0, 0.0], "both": [1.0, 1.0], "water": [0.0, 2.0]})
        >>> sel = sepnmf.select(frame, 2, method="spa")
        >>> sel.names
        ('water', 'soil')
        >>> sel.take(frame)
           water  soil
        0    0.0   1.0
        1    2.0   0.0
        """
        return take_columns(M, self.anchors)

    def among(self, columns: Columns) -> "Selection":
        """Return the selection with the caller's indices, from one among the columns that are used."""
        anchors = columns.indices(self.anchors)
        names = columns.names(anchors)
        if columns.kept is None:
            return replace(self, names=names)
        scores = columns.spread(self.scores, min(float(self.scores.min()), 0.0))
        return replace(self, anchors=anchors, scores=scores, X=self.coefficients(columns), names=names)

    def coefficients(self, columns: Columns) -> Any:
        """Return X with rows and columns of zeros for the columns of M that are not used."""
        if self.X is None or columns.kept is None:
            return self.X
        place = sparse.csr_array(
            (np.ones(len(columns.kept)), (columns.kept, np.arange(len(columns.kept)))),
            shape=(columns.count, len(columns.kept)),
        )
        return place @ self.X @ place.T

    def plot(self, ax: Any = None) -> Any:
        """Draw the score of every column, with the anchors marked by their names or indices.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        labels = list(map(str, self.anchors.tolist())) if self.names is None else self.names
        return plot_scores(ax, self.scores, self.anchors, labels)

    def plot_history(self, ax: Any = None) -> Any:
        """Draw the numbers that the method recorded in each iteration.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If the method does not iterate.
        """
        return plot_history(ax, self.method or "The method", self.history)

    def _repr_html_(self) -> str:
        """Return the anchors as a table, and a chart of the scores, for a notebook."""
        columns: dict[str, Sequence[Any]] = {"": range(1, len(self.anchors) + 1)}
        columns["column"] = self.anchors.tolist()
        if self.names is not None:
            columns["name"] = self.names
        columns["score"] = self.scores[self.anchors].tolist()
        if self.stability is not None:
            columns["stability"] = self.stability.tolist()
        rows = list(zip(*columns.values(), strict=True))
        count = f"{len(rows)} anchor{'s' if len(rows) > 1 else ''} of {len(self.scores):,} columns"
        title = f"{count} ({self.method}, {self.status}, {self.seconds:.3g} s)"
        chart = bar_chart(self.scores, self.anchors, "Scores of all columns; those of the anchors in blue.")
        note = "sepnmf.metrics.rae(M, selection.anchors) is their fit."
        return as_html(title, [table(list(columns), rows), chart], [note])

    def __repr__(self) -> str:
        names = "" if self.names is None else f"names={shortened(self.names)}, "
        return (
            f"Selection(method={self.method!r}, anchors={shortened(self.anchors.tolist())}, {names}"
            f"status={self.status!r}, n_outer={self.n_outer}, seconds={self.seconds:.3g})"
        )


def shortened(values: Sequence[Any]) -> str:
    """Return a list as text; of a long one, its beginning and how many there are."""
    listed = ", ".join(map(repr, values[:SHOWN]))
    return f"[{listed}]" if len(values) <= SHOWN else f"[{listed}, … ({len(values)} in all)]"


def in_units(scores: Floats, scale: float) -> Floats:
    """Return scores times a power of two; times another one where they would leave the range of numbers."""
    power = int(np.frexp(scale)[1]) - 1
    exponent = int(np.frexp(np.abs(scores).max())[1]) + power
    allowed = min(max(exponent, LEAST_EXPONENT), LARGEST_EXPONENT)
    return scores * scale if allowed == exponent else np.ldexp(scores, power + allowed - exponent)


def best_first(scores: Floats, r: int) -> Ints:
    """Return the indices of the r largest scores, largest first; ties are ordered by index."""
    return np.argsort(-scores, kind="stable")[:r]
