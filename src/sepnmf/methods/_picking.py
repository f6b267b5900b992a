"""From coefficients X with M ≈ MX to anchors."""

from typing import Literal

import numpy as np

from sepnmf._typing import Floats, Ints
from sepnmf.methods._spa import successive_projections
from sepnmf.model._norms import row_lengths
from sepnmf.selection import best_first

Pick = Literal["diag", "rows", "spa"]
PICKS = ("diag", "rows", "spa")


def pick_anchors(X: Floats, r: int, pick: str) -> tuple[Ints, Floats]:
    """Pick r rows of X, and score every row: by diagonal entry, by norm, or by SPA on the rows."""
    if pick == "spa":
        return successive_projections(X.T, r)
    # The weight of each column in its own approximation, or in all of them.
    scores = (np.diag(X) if pick == "diag" else row_lengths(X)).astype(np.float64)
    return best_first(scores, r), scores
