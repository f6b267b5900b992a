"""The contents of a report."""

from dataclasses import dataclass, field
from typing import Any

from sepnmf._typing import Floats
from sepnmf.io._data import Data
from sepnmf.selection import Selection

Weighted = list[tuple[str, float]]  # names with their weights
Topics = list[tuple[str, Weighted]]


@dataclass(frozen=True, eq=False)
class Contents:
    """The contents of a report. All values are computed elsewhere; the report only displays them.

    Attributes
    ----------
    data : Data
        The data from which the anchors were selected. The entries of the matrix are not read.
    selection : Selection
        The anchors and information about the run of the method.
    labels : tuple of str
        Names of the anchors, in the order of `selection.anchors`.
    anchor_columns : ndarray of shape (m, r)
        Columns of the anchors.
    summary : dict of str to str
        Summary of the data, in the order of display.
    fit : float
        Fraction of the data that the anchors explain, 1 − ‖M − WH‖ / ‖M‖, with the weights that are shown.
    maps : ndarray of shape (r, lines, samples), optional
        Weights of the anchors in all pixels; NaN where there is no data.
    residual_map : ndarray of shape (lines, samples), optional
        Norm of what the anchors leave of each pixel, relative to that of the pixel; NaN without data.
    picture : ndarray of shape (lines, samples), optional
        The scene on which the anchors are marked; NaN where there is no data.
    anchor_images : tuple of two ints, optional
        Image shape, if each column of M is an image in column-major order.
    curve : dict of str to ndarray, optional
        "r", numbers of anchors, and "unexplained", the least fraction of the data that so many leave
        unexplained, measured as `fit` is.
    comparison : list of dict
        For each method "method", "anchors" (labels), "fit", "seconds", "status", and "failure", the reason
        why there is no result, or None.
    topics : list of (str, list of (str, float)), optional
        Anchor words, each with the top words of its topic and their weights.
    documents : list of lists of (str, float), optional
        For each topic, the documents in which it has the largest shares, with these.
    warnings : tuple of str
        Why the result is doubtful, and what to do; shown in a box at the top.
    notes : tuple of str
        What was left out of the data, and what was assumed about them.
    command : str
        The command that wrote the report.
    versions : dict of str to str
        Versions of Python and of packages.

    Raises
    ------
    ValueError
        If the number of labels, columns, maps, topics or lists of documents differs from the number of
        anchors.
    """

    data: Data
    selection: Selection
    labels: tuple[str, ...]
    anchor_columns: Floats = field(repr=False)
    summary: dict[str, str]
    fit: float
    maps: Floats | None = field(default=None, repr=False)
    picture: Floats | None = field(default=None, repr=False)
    anchor_images: tuple[int, int] | None = None
    curve: dict[str, Floats] | None = None
    comparison: list[dict[str, object]] = field(default_factory=list)
    topics: Topics | None = None
    documents: list[Weighted] | None = None
    residual_map: Floats | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    command: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        r = len(self.selection.anchors)
        parts: dict[str, Any] = {"labels": self.labels, "anchor_columns": self.anchor_columns.T}
        parts |= {"maps": self.maps, "topics": self.topics, "documents": self.documents}
        for name, part in parts.items():
            if part is not None and len(part) != r:
                raise ValueError(f"{name} must be as many as the anchors, {r}, got {len(part)}.")

    @property
    def names(self) -> list[str]:
        """Labels of the anchors with their numbers, for legends and captions."""
        return [f"{i}: {label}" for i, label in enumerate(self.labels, 1)]
