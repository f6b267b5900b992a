"""What may be asked about data and the anchors of the moment."""

import numpy as np

from sepnmf._overview import dominant
from sepnmf._typing import Bools, Floats
from sepnmf._validation import check_count
from sepnmf.explorer._listing import listed, plane, row_axis
from sepnmf.explorer._scene import Overview, coloured
from sepnmf.explorer._source import Source
from sepnmf.explorer._state import Anchor, Row, State
from sepnmf.explorer._weights import Explained, Weights
from sepnmf.least_squares import nnls


class Explored:
    """Data, the anchors of the moment, and how they explain the columns that are shown.

    Attributes
    ----------
    source : Source
        The data, and how they were read.
    data : Data
        The data.
    shown : Shown
        The columns that are shown.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.data = source.data
        self.shown = source.shown
        self._weights = Weights(source.held)
        self._state: State
        self._explained: Explained

    # What is asked about the data --------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """What the columns are: "image", "text" (counts that are mostly zero, as of words), or "table"."""
        return self.source.kind

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows that are used and of columns."""
        return self.source.shape

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Lines and samples of the image; None if the columns are no pixels."""
        return self.data.image_shape

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns; None if they have none."""
        return self.data.column_names or None

    @property
    def row_axis(self) -> tuple[Floats | tuple[str, ...], str]:
        """Where the used rows are on an axis, or their names, and its label."""
        return row_axis(self.data)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out of the data, assumed and doubted, and how many of the columns are shown."""
        data, step = self.data, self.shown.step
        which = "line and sample is" if self.image_shape is not None else "column is"
        part = (f"Every {step}th {which} shown; anchors are selected, and fit is measured, among these.",)
        return (*data.left_out, *data.assumptions, *data.warnings, *(part if step > 1 else ()))

    def spectrum(self, column: int) -> Floats:
        """Return the entries of a column, which may be one that is not shown, in the rows that are used."""
        return self.source.column(self.source.checked(column))

    def reconstruction(self, column: int) -> tuple[Floats, Floats]:
        """Return what the anchors make of a column, Wh, and the weights h."""
        W = np.stack([self.source.column(j) for j in self._state.columns], axis=1)
        h = np.asarray(nnls(W, self.spectrum(column)[:, None]))[:, 0]
        return W @ h, h

    def top_rows(self, position: int, count: int = 10) -> list[str]:
        """Return the names of the rows (words, genes, bands) with the largest entries of an anchor."""
        entries = self.source.column(self._state.anchor(position).column)
        names, label = self.row_axis
        best = np.argsort(-entries, kind="stable")[: check_count(count, "count")]
        return [names[i] if isinstance(names, tuple) else f"{label} {names[i]:g}" for i in best]

    def plane(self) -> Floats:
        """Return coordinates of the shown columns along the two leading directions around their mean, 2 × n.

        NaN for columns that are not used. If there is only one direction, the second coordinates are zero.
        """
        return self.shown.spread(plane(self.source.held, self._used()))

    # What is asked about the anchors -----------------------------------------------------------------

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The anchors."""
        return self._state.anchors

    @property
    def r(self) -> int:
        """Number of anchors."""
        return len(self._state.anchors)

    @property
    def method(self) -> str:
        """Method that is used to select anchors."""
        return self._state.method

    @property
    def status(self) -> str:
        """How the method ended, or that the anchors were chosen by hand."""
        return self._state.status

    @property
    def fit(self) -> float:
        """Fraction 1 − ‖M − WH‖_F / ‖M‖_F of the columns that are shown and used."""
        return self._state.fit

    @property
    def excluded(self) -> tuple[int, ...]:
        """Columns that are no anchors, whatever a method finds."""
        return tuple(sorted(self._state.excluded))

    @property
    def mask(self) -> Bools:
        """Which of the shown columns are used, as a picture if they are pixels."""
        used = self._state.used[self.shown.columns]
        return np.asarray(used if self.shown.shape is None else self.shown.picture(used))

    def weights(self) -> Floats:
        """Return the weights of the anchors in the shown columns, r × n; NaN where columns are not used."""
        return self.shown.spread(np.where(self._used(), self._explained.weights, np.nan))

    def maps(self) -> Floats:
        """Return the weights as pictures, r × lines × samples."""
        return np.asarray(self.shown.picture(self.weights()))

    def overview(self) -> Overview:
        """Return pictures of the scene: grey, colours, what is unexplained, and the dominant anchor."""
        grey, rgb, residual = (
            self.shown.picture(self.shown.spread(values))
            for values in (
                self.source.held.mean_row() * self.source.held.scale,
                coloured(self.source.held, self.data),
                np.where(self._used(), self._explained.relative(), np.nan),
            )
        )
        return Overview(grey, np.moveaxis(rgb, 0, -1), residual, dominant(self.maps()))

    def table(self, search: str = "", limit: int = 200) -> list[Row]:
        """Return the used columns whose names contain a text, those with the largest scores first."""
        return listed(self.source, self._state, self._explained.weights, search, limit)

    def _used(self) -> Bools:
        """Return which of the columns that are held are used."""
        return self._state.used[self.shown.columns[self.shown.known]]
