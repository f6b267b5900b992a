r"""The cone of r vertices by its facets: facets through given anchors, and the cone of least volume.

In r coordinates, a cone with r vertices W has r facets: facet k is the hyperplane v_kᵀx = 0 through all
vertices but the k-th, with the rows of W⁻¹ as v_k. A column x lies outside of facet k by −v_kᵀx/‖v_k‖. The
facets are computed relative to the anchors, as V = A·W_A⁻¹: for A = I they go through the anchors.
"""

from typing import NamedTuple

import numpy as np

from sepnmf._typing import Floats, Ints

NEAR = 2000  # columns nearest to each facet of the anchors, of more columns, that may decide where it is
ROUNDS = 50  # of Newton's method for a facet, which ends after a few
HALVINGS = 20  # of a step of it
SETTLED = 1e-9  # relative decrease at which it ends
# Where a facet of columns that are uniform in the cone is as often passed by columns as noise makes it: for a
# facet moved inwards by δ, n d/dδ log volume · σ²/2 = Σ distances outside.
WEIGHT = 0.25
# Of the columns' variance in the direction of the least: noise that the descent may assume.
LARGEST_START = 0.01
FEWER = 10.0  # times less noise from one descent to the next
MEMORY = 30  # steps that L-BFGS remembers
WALL = 1e10  # in place of infinity, which the line search of L-BFGS cannot use


class Smallest(NamedTuple):
    """The vertices of the cone of least volume, as weights of the anchors, and whether that has settled."""

    weights: Floats  # r × r, a column for each vertex
    objective: float
    settled: bool


def distances_outside(X: Floats, anchors: Ints, sizes: Floats) -> Floats:
    """How far columns are outside of the facets that have these anchors on them, in standard deviations.

    For each facet, Σ over the other anchors of their squared distances, and over all columns outside, is
    minimised: a convex problem if v_kᵀx_k = 1 is kept for the facet's own anchor. With pure columns as
    anchors, the true facets leave nothing but noise in one direction of each column. Of a column, the largest
    distance from a facet is returned.

    Parameters
    ----------
    X : ndarray of shape (r, n)
        Columns.
    anchors : ndarray of shape (r,)
        Columns that are linearly independent.
    sizes : ndarray of shape (n,)
        Standard deviations of the noise in the columns.
    """
    inverse = np.linalg.inv(X[:, anchors])
    Z = inverse @ X
    found = np.zeros(X.shape[1])
    for k in range(len(X)):
        v = facet(Z, anchors, sizes, k)
        outside = -(v @ Z) / (np.linalg.norm(v @ inverse) * sizes)
        on = np.delete(anchors, k)
        outside[on] = np.abs(outside[on])
        found = np.maximum(found, outside)
    return found


def facet(Z: Floats, anchors: Ints, sizes: Floats, k: int) -> Floats:
    """The facet opposite to the k-th anchor, as in `distances_outside`; Z are weights of the anchors."""
    others = np.delete(np.arange(len(Z)), k)
    near = np.setdiff1d(nearest(Z[k]), anchors)
    A, b, w = Z[np.ix_(others, near)], Z[k, near], sizes[near] ** -2
    ridge = sizes[anchors[others]] ** -2
    y, out = np.zeros(len(others)), b < 0
    value = float(w[out] @ b[out] ** 2)
    for _ in range(ROUNDS):
        part = A[:, out] * w[out]
        step = np.linalg.solve(part @ A[:, out].T + np.diag(ridge), -part @ b[out]) - y
        for _ in range(HALVINGS):
            rest = b + (y + step) @ A
            out = rest < 0
            new = float(ridge @ (y + step) ** 2 + w[out] @ rest[out] ** 2)
            if new <= value:
                break
            step = step / 2
        y = y + step
        if value - new <= SETTLED * value:
            break
        value = new
    return np.insert(y, k, 1.0)


def nearest(heights: Floats) -> Ints:
    """The columns with the least heights above a facet: all of few."""
    if len(heights) <= NEAR:
        return np.arange(len(heights))
    return np.sort(np.argpartition(heights, NEAR)[:NEAR])


def smallest_cone(
    X: Floats, anchors: Ints, variance: float, sizes: Floats, *, tol: float = 1e-9, max_iter: int = 1000
) -> Smallest:
    r"""The cone of least volume that has the columns in it, up to noise.

    With ‖·‖ the distance of a column outside of a facet, over all V,

        Σ_j Σ_k ((−v_kᵀx_j)₊/‖v_k‖)² (σ/σ_j)² + 2·nσ²/4 · log volume,

    where the volume is that of the simplex that the cone cuts out of the plane uᵀx = 1, u the leading
    direction. The weight is where columns that are uniform in the cone hold the facets in their place. L-BFGS
    descends from the anchors, with more noise at first.

    Parameters
    ----------
    X : ndarray of shape (r, n)
        Columns, along r leading directions.
    anchors : ndarray of shape (r,)
        Columns that are linearly independent.
    variance : float
        σ² > 0.
    sizes : ndarray of shape (n,)
        Standard deviations of the noise in the columns, relative to σ.
    tol : float
        Relative decrease at which a descent ends.
    max_iter : int
        Most steps of a descent.
    """
    from scipy.optimize import minimize

    r, n = X.shape
    values, directions = np.linalg.eigh(X @ X.T)
    leading = directions[:, -1] * np.sign(directions[:, -1] @ X.sum(axis=1) or 1.0)
    inverse = np.linalg.inv(X[:, anchors])
    Z = inverse @ X
    heights = leading @ X[:, anchors]
    heights = np.where(heights > 0, heights, np.linalg.norm(X[:, anchors], axis=0))
    near = np.unique(np.concatenate([nearest(row) for row in Z]))
    model = LeastVolume(Z[:, near], 1 / sizes[near], inverse @ inverse.T, heights)
    most = max(float(values[0]) * LARGEST_START / n, variance)
    A, settled, objective = np.eye(r), False, np.inf
    for step in range(int(np.log(most / variance) / np.log(FEWER) + 1e-9), -1, -1):
        weight = 2 * WEIGHT * n * variance * FEWER**step
        result = minimize(
            model.at,
            A.ravel(),
            args=(weight,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": MEMORY, "ftol": tol, "gtol": 0.0},
        )
        A, settled, objective = result.x.reshape(r, r), result.status != 1, float(result.fun) * weight
    return Smallest(np.linalg.inv(A), objective, settled)


class LeastVolume(NamedTuple):
    """What `smallest_cone` minimises, divided by the weight of log volume."""

    Z: Floats  # weights of the anchors in the columns
    precision: Floats  # of the columns: σ/σ_j
    products: Floats  # of the rows of W_A⁻¹
    heights: Floats  # of the anchors, along u

    def at(self, entries: Floats, weight: float) -> tuple[float, Floats]:
        """The objective and its gradient for V = A·W_A⁻¹, with the entries of A in one row."""
        A = entries.reshape(self.products.shape)
        sign, log_det = np.linalg.slogdet(A)
        if sign <= 0:
            return WALL, np.zeros(A.size)
        inverse = np.linalg.inv(A)
        tops = self.heights @ inverse
        if tops.min() <= 0:
            return WALL, np.zeros(A.size)
        AP = A @ self.products
        squares = np.einsum("ij,ij->i", AP, A)  # ‖v_k‖²
        out = np.minimum(A @ self.Z, 0.0) * self.precision
        sums = np.einsum("ij,ij->i", out, out)
        value = float((sums / squares).sum()) / weight - float(log_det + np.log(tops).sum())
        slope = 2 * (out * self.precision @ self.Z.T) / squares[:, None]
        slope -= 2 * (sums / squares**2)[:, None] * AP
        slope = slope / weight - inverse.T + np.outer(tops, inverse @ (1 / tops))
        return value, slope.ravel()
