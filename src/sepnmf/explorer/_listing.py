"""Columns as a list and as points of a plane, the axis of the rows, and the fit of numbers of anchors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sepnmf._overview import sampled
from sepnmf._typing import Bools, Floats
from sepnmf.explorer._source import Source
from sepnmf.explorer._state import Row, State
from sepnmf.io import Data
from sepnmf.matrix import InMemory, Matrix, with_fixed_signs
from sepnmf.report._anchors import abscissas, counted_rows
from sepnmf.tuning import least_residuals

SHORT = 2000  # rows up to which directions are computed from products of rows, which takes less time


def listed(source: Source, state: State, weights: Floats, search: str, limit: int) -> list[Row]:
    """Return the used columns whose names contain a text, those with the largest scores first."""
    columns, wanted = source.shown.columns[source.shown.known], search.casefold()
    rows: list[Row] = []
    for place in np.argsort(-state.scores, kind="stable").tolist():
        column = int(columns[place])
        name = source.data.column_label(column)
        if not state.used[column] or wanted not in name.casefold():
            continue
        if len(rows) == limit:
            break
        best = int(np.argmax(weights[:, place]))
        weight, score = float(weights[best, place]), float(state.scores[place])
        rows.append(Row(column, name, score, best if weight > 0 else None, weight))
    return rows


def plane(held: InMemory, used: Bools) -> Floats:
    """Return coordinates along the two leading directions around the mean, 2 × n; NaN if not used."""
    part = held if used.all() else held.part(np.flatnonzero(used))
    (m, n), middle = part.shape, part.mean_column()
    if m <= min(n, SHORT):
        _, vectors = np.linalg.eigh(part.smaller_gram() - n * np.outer(middle, middle))
        directions = with_fixed_signs(vectors[:, : -1 - min(2, m) : -1])
    else:
        directions, _ = part.leading_left(min(2, m, n), middle)
    found = np.full((2, len(used)), np.nan)
    found[:, used] = 0.0
    found[: directions.shape[1], used] = (part.inner(directions) - middle @ directions).T * held.scale
    return found


def row_axis(data: Data) -> tuple[Floats | tuple[str, ...], str]:
    """Return where the used rows are on an axis, or their names if these are no numbers, and its label."""
    m = data.M.shape[0]
    places, label = abscissas(data, m)
    if places is None and len(data.row_names) == m:
        return data.used_row_names(), label
    numbers = counted_rows(data, m) if places is None else places
    return (numbers if data.row_mask is None else numbers[data.row_mask]), label


class FitByNumber:
    """The best fit that is found with 1, 2, … anchors, as far as it was asked for."""

    def __init__(self, matrix: Matrix, seed: int) -> None:
        self.fits: list[float] = []
        self.rest = least_residuals(sampled(matrix, seed), seed)

    def up_to(self, r: int, on_progress: Callable[[int, int], Any] | None) -> list[tuple[int, float]]:
        """Return pairs of a number of anchors and its fit; a true answer of `on_progress` ends the search."""
        while len(self.fits) < r:
            square = next(self.rest, None)
            if square is None:  # fewer anchors explain everything
                break
            self.fits.append(1.0 - float(np.sqrt(square)))
            if on_progress is not None and on_progress(len(self.fits), r):
                break
        return list(enumerate(self.fits[:r], start=1))
