"""What a report is made of."""

from dataclasses import dataclass, field

from sepnmf._typing import Floats
from sepnmf.io._data import Data
from sepnmf.selection import Selection

Topics = list[tuple[str, list[tuple[str, float]]]]


@dataclass(frozen=True, eq=False)
class Contents:
    """Everything a report shows. It was computed elsewhere: the report only lays it out.

    Attributes
    ----------
    data : Data
        Where the anchors come from. The matrix itself is never read.
    selection : Selection
        The anchors, and how they were chosen.
    labels : tuple of str
        Names of the anchors, in the order of `selection.anchors`.
    anchor_columns : ndarray of shape (m, r)
        Their columns.
    summary : dict of str to str
        The data at a glance, in the order in which it is to be shown.
    fit : float
        How much of the data the anchors explain (`sepnmf.metrics.rae`).
    maps : ndarray of shape (r, lines, samples), optional
        Weights of the anchors in every pixel.
    picture : ndarray of shape (lines, samples), optional
        The scene, in which the anchors are marked.
    anchor_images : tuple of two ints, optional
        Shape into which a column is folded, columns of the image first, if the rows of M are its pixels.
    curve : dict of str to ndarray, optional
        "r", numbers of anchors, and "residual", the relative residual of each.
    comparison : list of dict
        Per method its "method", "anchors" (labels), "fit", "seconds", "status", and "failure": why there is
        no answer, or None.
    topics : list of (str, list of (str, float)), optional
        Anchor words, each with its top words and their weights.
    command : str
        The exact command that made the report.
    versions : dict of str to str
        Of Python, of NumPy, of this library.

    Raises
    ------
    ValueError
        If there are not as many labels, columns, maps or topics as anchors.
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
    command: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        r = len(self.selection.anchors)
        counts = {"labels": len(self.labels), "anchor_columns": self.anchor_columns.shape[1]}
        if self.maps is not None:
            counts["maps"] = len(self.maps)
        if self.topics is not None:
            counts["topics"] = len(self.topics)
        for name, count in counts.items():
            if count != r:
                raise ValueError(f"{name} must be as many as the anchors, {r}, got {count}.")

    @property
    def names(self) -> list[str]:
        """The anchors with their numbers, as legends and captions call them."""
        return [f"{i}: {label}" for i, label in enumerate(self.labels, 1)]
