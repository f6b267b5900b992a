"""Successive projection algorithm."""

import time

import numpy as np

from sepnmf.selection import Selection
from sepnmf.typing import ArrayLike, Floats, Ints
from sepnmf.validation import Negative, check_data, check_rank


def successive_projections(M: Floats, r: int) -> tuple[Ints, Floats]:
    """Pick r columns by residual norm, and return them with the score of every column.

    A chosen column's score is its residual norm when chosen; the others', theirs at the last choice.
    """
    residual = np.array(M, dtype=np.float64)
    residual /= np.abs(residual).max()
    anchors = np.empty(r, dtype=np.intp)
    scores = np.zeros(M.shape[1])
    free = np.ones(M.shape[1], dtype=bool)
    for k in range(r):
        norms = np.where(free, (residual**2).sum(axis=0), -1.0)
        anchors[k] = np.argmax(norms)
        scores[free] = np.sqrt(norms[free])
        free[anchors[k]] = False
        direction = residual[:, anchors[k]].copy()
        square = direction @ direction
        if square > 0:
            residual -= np.outer(direction / square, direction @ residual)
    return anchors, scores


def spa(M: ArrayLike, r: int, *, negative: Negative = "error") -> Selection:
    """Pick the column of largest norm, project the others onto its complement, repeat."""
    start = time.perf_counter()
    data = check_data(M, negative)
    anchors, scores = successive_projections(data, check_rank(r, data.shape[1]))
    return Selection(anchors=anchors, scores=scores, method="spa", seconds=time.perf_counter() - start)
