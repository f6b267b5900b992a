"""From coefficients X with M ≈ MX to anchors."""

from typing import Literal

from sepnmf._typing import Floats, Ints
from sepnmf.methods._spa import successive_projections
from sepnmf.selection import best_first, scores_by_diagonal, scores_by_rows

Pick = Literal["diag", "rows", "spa"]
PICKS = ("diag", "rows", "spa")


def pick_anchors(X: Floats, r: int, pick: str) -> tuple[Ints, Floats]:
    """Pick r rows of X, and score every row: by diagonal entry, by norm, or by SPA on the rows."""
    if pick == "spa":
        return successive_projections(X.T, r)
    scores = scores_by_diagonal(X) if pick == "diag" else scores_by_rows(X)
    return best_first(scores, r), scores
