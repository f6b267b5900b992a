"""What both functions start from: data in memory, and anchors among their columns."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sepnmf._typing import ArrayLike, Floats, Ints
from sepnmf.matrix import InMemory, Matrix, MatrixLike, Negative, as_matrix
from sepnmf.selection import Selection


class Given(NamedTuple):
    """Data in memory, a selection of anchors as the caller knows them, and where these are in the data."""

    data: InMemory
    selection: Selection
    anchors: Ints

    @classmethod
    def of(
        cls,
        M: MatrixLike,
        anchors: Selection | ArrayLike,
        negative: Negative,
        mask: ArrayLike | None,
        row_mask: ArrayLike | None,
    ) -> "Given":
        """Check the anchors, and bring the data into floating-point range."""
        matrix = as_matrix(M, negative, mask=mask, row_mask=row_mask)
        sel = anchors if isinstance(anchors, Selection) else selection_of(anchors, matrix)
        check_indices(sel.anchors, matrix)
        data = matrix.bare().in_memory().in_range()
        if data.height != data.shape[0]:
            raise ValueError("M has columns that are too long to be held: use fewer rows (row_mask).")
        if not data.squares.any():
            raise ValueError("M is zero: there are no vertices.")
        return cls(data, sel, matrix.positions(sel.anchors))

    def with_vertices(self, vertices: Floats) -> Selection:
        """The selection with these vertices."""
        return replace(self.selection, vertices=vertices, spread=None)


def selection_of(anchors: ArrayLike, matrix: Matrix) -> Selection:
    """A selection of columns that the caller chose, best first."""
    indices = np.asarray(anchors)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or indices.size == 0:
        raise ValueError(f"anchors must be a Selection or a list of column indices, got {anchors!r:.80}.")
    check_indices(indices, matrix)
    scores = np.zeros(matrix.given_columns)
    scores[indices] = np.arange(len(indices), 0, -1)
    names = None if matrix.columns is None else matrix.columns.names(indices)
    return Selection(anchors=indices.astype(np.intp), scores=scores, names=names)


def check_indices(indices: Ints, matrix: Matrix) -> None:
    """Refuse indices of no column, and an index that is there twice."""
    n = matrix.given_columns
    wrong = indices[(indices < 0) | (indices >= n)]
    if wrong.size:
        raise ValueError(f"anchors must be from 0 to {n - 1}, the columns of M, got {int(wrong[0])}.")
    if len(np.unique(indices)) < len(indices):
        raise ValueError(f"anchors must be distinct, got {indices.tolist()!s:.80}.")
