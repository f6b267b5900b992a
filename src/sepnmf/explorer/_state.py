"""What a session consists of at one moment: anchors with names and colours, a mask, a method."""

from dataclasses import dataclass
from typing import NamedTuple

from sepnmf._typing import Bools, Floats
from sepnmf._validation import check_count


@dataclass(frozen=True)
class Anchor:
    """A column that explains others, with the name and colour under which it is shown.

    Attributes
    ----------
    column : int
        Index of the column.
    name : str
        Name, as typed by the user or read from the file: text, never markup.
    colour : str
        Colour such as "#0072b2".
    locked : bool
        Whether the anchor stays when anchors are selected again.
    """

    column: int
    name: str
    colour: str
    locked: bool = False


class Change(NamedTuple):
    """What an act did: a sentence, the fit before and after it, and how long it took."""

    text: str
    fit_before: float
    fit_after: float
    seconds: float


class Row(NamedTuple):
    """A column in the list of columns; the dominant anchor is None where all weights are zero."""

    column: int
    name: str
    score: float
    dominant: int | None
    weight: float


@dataclass(frozen=True, eq=False)
class State:
    """What acts change, and what undo restores.

    Attributes
    ----------
    anchors : tuple of Anchor
        The anchors.
    excluded : frozenset of int
        Columns that are no anchors, whatever a method finds.
    used : ndarray of bool of shape (n,)
        Which columns are used: those that have data and that no mask leaves out.
    method : str
        Method that is used to select anchors.
    status : str
        How the method ended, or that the anchors were chosen by hand.
    scores : ndarray
        Scores of the last selection, one for each column that is held.
    fit : float
        Fraction of the used columns that the anchors explain.
    """

    anchors: tuple[Anchor, ...]
    excluded: frozenset[int]
    used: Bools
    method: str
    status: str
    scores: Floats
    fit: float = float("nan")

    @property
    def columns(self) -> tuple[int, ...]:
        """Indices of the anchors."""
        return tuple(anchor.column for anchor in self.anchors)

    def anchor(self, position: int) -> Anchor:
        """Return the anchor at a position, counted from 0."""
        r = len(self.anchors)
        if check_count(position, "position", least=0) >= r:
            raise ValueError(f"position must be less than the number of anchors, {r}, got {position}.")
        return self.anchors[position]

    def with_anchor(self, position: int, *anchors: Anchor) -> tuple[Anchor, ...]:
        """Return the anchors with another one, or none, in the place of one."""
        return (*self.anchors[:position], *anchors, *self.anchors[position + 1 :])
