"""The criterion that a problem calls for, and descent on it from given anchors.

- Noise: the likelihood of the anchors, on a weighted sample of many columns.
- Misfit: the residual of nonnegative least squares.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sepnmf._descent._exchange import exchange_anchors
from sepnmf._descent._likelihood import SETTLED, VertexModel
from sepnmf._descent._problem import Problem
from sepnmf._typing import Floats, Ints

ROUGHLY = 1e-6  # relative decrease of the likelihood at which slow fits end
MOST_WORK_IN_ALL = 3e10  # multiplications of all descents on the likelihood, from ten to twenty seconds
SLOW = 100_000  # columns times squared anchors, from which on weights take longer than to wake a thread


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
    return residual_descent(problem) if problem.noise is None else likelihood_descent(problem)


def likelihood_descent(problem: Problem) -> Improve:
    """Descent on the likelihood of the anchors, of data scaled to ‖X‖_F = 1."""
    assert problem.noise is not None
    pool, weights = problem.working_set()
    left = MOST_WORK_IN_ALL

    def improve(start: Ints) -> Improved:
        nonlocal left
        columns = np.union1d(pool, start)
        counts = np.ones(len(columns))
        counts[np.searchsorted(columns, pool)] = weights
        model = vertex_model(problem, columns, counts)
        got = model.descend(np.searchsorted(columns, start), left)
        left -= model.work
        anchors = columns[got.best.anchors]
        return Improved("likelihood", got.first, got.best.J, got.n_moves, anchors, got.settled)

    return improve


def vertex_model(problem: Problem, columns: Ints, counts: Floats) -> VertexModel:
    """The likelihood of anchors among these columns, of which each stands for `counts`, for ‖X‖_F = 1."""
    noise = problem.noise
    assert noise is not None
    X: Floats = problem.X[:, columns]
    precision: Floats = np.ones(len(columns))
    if noise.brightness is not None:
        X = X / noise.brightness[columns]
        precision = np.maximum(noise.brightness[columns] ** 2, np.finfo(np.float64).tiny)
    is_slow = len(columns) * problem.r**2 >= SLOW
    unit = 1 / float(np.sqrt(np.einsum("j,ij,ij->", precision * counts, X, X)))
    return VertexModel(
        X,
        noise.variance,
        unit=unit,
        # Vertices of fewer directions than anchors lie in these directions.
        height=len(X) if len(X) < problem.r else problem.data.height,
        counts=counts,
        precision=precision,
        candidates=np.asarray(problem.choice[:, columns].any(axis=0)),
        fixed=np.flatnonzero(np.isin(columns, problem.known.include)),
        settled=ROUGHLY if is_slow else SETTLED,
        n_jobs=problem.n_jobs if is_slow else 1,
    )


def residual_descent(problem: Problem) -> Improve:
    """Descent on the residual of a weighted sample of the columns."""
    X, choice = problem.columns_and_candidates()
    sample, weights = problem.weighted_sample()
    D = X.part(sample)
    pool = problem.candidates()

    def improve(start: Ints) -> Improved:
        candidates = np.union1d(pool, start)
        place = np.searchsorted(candidates, start)
        fixed = np.flatnonzero(np.isin(candidates, problem.known.include))
        C = choice.part(candidates)
        got = exchange_anchors(D, C, place, weights, fixed=fixed, n_jobs=problem.n_jobs)
        anchors = candidates[got.anchors]
        return Improved("residual", got.start, got.residual, got.n_exchanges, anchors, settled=True)

    return improve
