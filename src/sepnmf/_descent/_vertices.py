r"""The vertices: what pure columns look like without noise, estimated from all columns.

With weights H of all columns, of which those of the anchors are fixed, the vertices are the least-squares
solution of M ≈ WH. An anchor is one noisy copy of its vertex; all columns together say more.
"""

from typing import NamedTuple

import numpy as np

from sepnmf._descent._criterion import vertex_model
from sepnmf._descent._problem import Problem
from sepnmf._kernels import vertices as kernels
from sepnmf._parallel import Workers
from sepnmf._typing import Floats, Ints

NEAREST = 20  # columns at most that are averaged for a vertex where there is misfit
SETTLED = 1e-6  # relative decrease of J at which the fit of vertices ends
COMPANY = 20  # times as many columns, at least, as are averaged for all vertices


class Estimate(NamedTuple):
    """Vertices and the standard errors of their entries, in the units of the data, one for each anchor."""

    vertices: Floats
    spread: Floats


def estimated_vertices(problem: Problem, anchors: Ints) -> Estimate | None:
    """Estimate the vertices of these anchors; None if that is not possible.

    It is not if only inner products of the columns are known, or if columns differ by more than there are
    digits.
    """
    if problem.data.height != problem.data.shape[0]:
        return None
    estimate = means_of_nearest_columns if problem.noise is None else fitted
    try:
        vertices, spread, scale = estimate(problem, anchors)
    except np.linalg.LinAlgError:
        return None
    return Estimate(times_unit(vertices * scale, problem.unit), times_unit(spread * scale, problem.unit))


def times_unit(values: Floats, unit: float) -> Floats:
    """The values times the unit of the data, with the largest number in place of what is larger."""
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        clipped: Floats = np.clip(values * unit, -largest, largest)
    return clipped


def fitted(problem: Problem, anchors: Ints) -> tuple[Floats, Floats, Floats]:
    """The vertices of the likelihood, from all columns, their standard errors, and the scale of both."""
    noise = problem.noise
    assert noise is not None
    H = weights_of_all_columns(problem, anchors)
    inverse = np.linalg.inv(H.T @ H)
    vertices = problem.data.applied_to(H) @ inverse
    errors = np.sqrt(noise.variance * np.diag(inverse)) * np.ones((len(vertices), 1))
    rows = np.ones(len(vertices)) if noise.rows is None else noise.rows
    lengths = problem.column_scale[anchors]
    if noise.brightness is not None:
        lengths = lengths * noise.brightness[anchors]
    # Entries of noise with this lag are larger than those of the white noise that it is made of.
    errors = errors / np.sqrt(1 - noise.lag**2)
    return noise.as_given(vertices), rows[:, None] * errors, lengths


def weights_of_all_columns(problem: Problem, anchors: Ints) -> Floats:
    """Weights of all columns of data with noise, as rows."""
    noise = problem.noise
    assert noise is not None
    pool, counts = problem.working_set()
    columns = np.union1d(pool, anchors)
    weights = np.ones(len(columns))
    weights[np.searchsorted(columns, pool)] = counts
    model = vertex_model(problem, columns, weights)
    with model.workers:
        at = model.start(np.searchsorted(columns, anchors), SETTLED)
    Q = (model.weights[:, None] * at.H).T @ at.H
    try:
        inverse = np.linalg.inv(Q)
    except np.linalg.LinAlgError:  # columns differ by more than there are digits
        inverse = np.linalg.pinv(Q, hermitian=True)
    G = at.W.T @ at.W + model.price * inverse
    owner = np.full(problem.n, -1)
    owner[anchors] = np.arange(len(anchors))
    bright = np.ones(problem.n) if noise.brightness is None else noise.brightness
    X = problem.X * (model.unit / bright)
    H, E = np.zeros((problem.n, len(anchors))), np.empty(problem.n)
    with Workers(problem.n, problem.n_jobs) as workers:
        squares = np.einsum("ij,ij->j", X, X)
        workers.run(kernels.weigh, G, np.ascontiguousarray(X.T @ at.W), squares, owner, H, E)
    H *= bright[:, None]  # from columns of brightness 1 to those of the data
    return H


def means_of_nearest_columns(problem: Problem, anchors: Ints) -> tuple[Floats, Floats, Floats]:
    """The means of the columns with the least angles to each anchor, scaled to the anchor's length.

    With misfit, a regression on all columns would follow the misfit. The spread is the standard error of the
    mean: NaN if a vertex is the anchor itself.
    """
    data, lengths = problem.data, np.sqrt(problem.data.squares)
    W, nonzero = data.take(anchors), np.flatnonzero(lengths)
    most = int(np.clip(problem.n // (COMPANY * len(anchors)), 1, NEAREST))
    cosines = data.inner(W)[nonzero] / lengths[nonzero, None]
    found = []
    for k, anchor in enumerate(anchors):
        near, factors = np.array([anchor]), np.ones(1)
        if lengths[anchor] > 0:  # the square of a length may be too small to be represented
            near = nonzero[np.argsort(-cosines[:, k], kind="stable")[:most]]
            factors = lengths[anchor] / lengths[near]
        unit, count = data.take(near) * factors, len(near)
        error = unit.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.full(len(unit), np.nan)
        found.append((unit.mean(axis=1), error))
    vertices, errors = (np.column_stack(parts) for parts in zip(*found, strict=True))
    return vertices, errors, problem.column_scale[anchors]
