"""The criterion that a problem calls for, and descent on it from given anchors.

- White noise, few columns: the likelihood of the anchors.
- White noise, many columns: the residual in the r leading coordinates, where most of the noise is gone.
- Misfit: the residual of nonnegative least squares.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sepnmf._descent._exchange import exchange_anchors
from sepnmf._descent._likelihood import VertexModel
from sepnmf._descent._problem import Problem
from sepnmf._typing import Ints


class Improved(NamedTuple):
    """Anchors after a descent, and what it did."""

    criterion: str
    before: float  # the criterion at the start
    after: float  # and at the anchors; smaller is better
    n_exchanges: int
    anchors: Ints
    settled: bool  # whether the descent ended because no exchange that was tried helps


Improve = Callable[[Ints], Improved]


def descent(problem: Problem) -> Improve:
    """The function that improves anchors of this problem, on the criterion that the problem calls for."""
    if problem.noise is not None and problem.is_small:
        return likelihood_descent(problem, problem.noise)
    return residual_descent(problem)


def likelihood_descent(problem: Problem, noise: float) -> Improve:
    """Descent on the likelihood of the anchors, of data scaled to ‖X‖_F = 1."""
    scale = float(np.linalg.norm(problem.X))
    model = VertexModel(problem.X / scale, noise / scale**2)

    def improve(start: Ints) -> Improved:
        got = model.descend(start)
        return Improved("likelihood", got.first, got.best.J, got.n_moves, got.best.anchors, got.settled)

    return improve


def residual_descent(problem: Problem) -> Improve:
    """Descent on the residual of a weighted sample of the columns; with noise, in the leading coordinates."""
    if problem.noise is None:
        criterion = "residual"
        X, choice = problem.columns_and_candidates()
    else:
        criterion = "residual in the leading coordinates"
        X, choice = problem.leading_columns_and_candidates()
    sample, weights = problem.weighted_sample()
    D = X.part(sample)
    pool = problem.candidates()

    def improve(start: Ints) -> Improved:
        candidates = np.union1d(pool, start)
        place = np.searchsorted(candidates, start)
        got = exchange_anchors(D, choice.part(candidates), place, weights, n_jobs=problem.n_jobs)
        anchors = candidates[got.anchors]
        return Improved(criterion, got.start, got.residual, got.n_exchanges, anchors, settled=True)

    return improve
