"""Whether there are pure columns: the test behind the status "no pure columns".

If r columns are pure, there are r facets that have r − 1 of them on each, and all columns on one side, up to
noise. If no column has more than, say, 0.8 of a vertex, the data are a cone with blunt corners: whatever
columns are taken for pure, others lie outside of every cone through them, by more than noise puts them there.
"""

from typing import NamedTuple

import numpy as np

from sepnmf._descent._facets import distances_outside, smallest_cone
from sepnmf._descent._problem import Problem, leading_directions
from sepnmf._typing import Bools, Floats, Ints

# Noise alone puts EXPECTED columns on average so far outside of a facet, and FEW or more of them with a
# probability of EXPECTED**FEW / FEW!, half a percent. Fewer columns are outliers.
FEW, EXPECTED = 3, 0.3
SHARP = 4.0  # times the largest squared singular value of the noise: how well all r directions must be known
FAINT = 1e-6  # of the columns' lengths: less noise than this may be rounding
DEPENDENT = 1e-8  # least singular value of anchors of length one


class Cloud(NamedTuple):
    """Columns along r leading directions, with white noise."""

    X: Floats  # r × n
    variance: float  # σ²
    sizes: Floats  # standard deviations of the noise in the columns, relative to σ and not less than it


def cloud(problem: Problem) -> Cloud:
    """The columns along r leading directions; what is left of a column says how large its noise is.

    With misfit, σ² is what r directions leave on average.
    """
    X = leading_directions(problem.X, problem.r).T @ problem.X
    left = np.maximum(problem.data.squares - np.einsum("ij,ij->j", X, X), 0.0)
    freedom = max(problem.data.height - problem.r, 0) * max(problem.n - problem.r, 0)
    variance = float(left.sum() / max(freedom, 1)) if problem.noise is None else problem.noise.variance
    if variance <= 0 or freedom == 0:
        return Cloud(X, 0.0, np.ones(problem.n))
    sizes = np.sqrt(np.maximum(left / ((problem.data.height - problem.r) * variance), 1.0))
    return Cloud(X, variance, sizes)


def has_no_pure_columns(problem: Problem, anchors: Ints) -> bool:
    """Whether columns lie farther outside than noise puts them, of the anchors and of any pure columns.

    False if that cannot be known: without a model of the noise, with hardly any noise, and if fewer than r
    directions stand out of it. The anchors are tested, and then the columns nearest to the vertices of the
    cone of least volume: the anchors need not be the purest columns.
    """
    noise, r, n = problem.noise, problem.r, problem.n
    if noise is None or not noise.is_modelled or r < 2 or len(problem.X) < r or n <= r:
        return False
    found = cloud(problem)
    squares = np.linalg.eigvalsh(found.X @ found.X.T)
    edge = found.variance * (np.sqrt(problem.data.height) + np.sqrt(n)) ** 2
    is_faint = found.variance * problem.data.height * n <= FAINT**2 * float(squares.sum())
    if is_faint or squares[0] <= SHARP * edge:
        return False
    sizes = np.sqrt(found.variance) * found.sizes
    if may_be_pure(found.X, anchors, sizes):
        return False
    W = found.X[:, anchors] @ smallest_cone(found.X, anchors, found.variance, found.sizes).weights
    purest = nearest_to_rays(found.X, W, sizes, np.any(problem.choice != 0, axis=0))
    return not may_be_pure(found.X, purest, sizes)


def may_be_pure(X: Floats, anchors: Ints, sizes: Floats) -> bool:
    """Whether noise explains how far columns are outside of the facets through these anchors.

    True if the anchors are dependent: then they have no facets, and nothing is known.
    """
    from scipy.special import ndtri

    if are_dependent(X[:, anchors]):
        return True
    limit = -float(ndtri(EXPECTED / X.size))
    return int((distances_outside(X, anchors, sizes) > limit).sum()) < FEW


def are_dependent(W: Floats) -> bool:
    """Whether columns are linearly dependent, or nearly so."""
    lengths = np.linalg.norm(W, axis=0)
    unit = W / np.where(lengths > 0, lengths, 1.0)
    return bool(np.linalg.svd(unit, compute_uv=False)[-1] <= DEPENDENT)


def nearest_to_rays(X: Floats, W: Floats, sizes: Floats, candidates: Bools) -> Ints:
    """A column for each ray, no two the same: those with the least distances, relative to noise, in total."""
    from scipy.optimize import linear_sum_assignment

    along = (W / np.linalg.norm(W, axis=0)).T @ X
    squares = np.einsum("ij,ij->j", X, X)
    distances = np.where(along > 0, squares - along**2, squares) / sizes**2
    distances[:, ~candidates] = distances.max() * len(W) + 1.0
    rows, columns = linear_sum_assignment(distances)
    return np.asarray(columns[np.argsort(rows)])
