"""Anchors from the diagonal that the linear programme of EEHT finds: balls of columns, and exchanges."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from sepnmf._typing import Floats, Ints
from sepnmf.least_squares import nnls
from sepnmf.matrix import InMemory
from sepnmf.selection import best_first

ROUNDING = 1e-9  # of sums of diagonal entries, and of residuals beside the longest column
POWER = 8  # of residuals in the criterion of exchanges: between least squares and the largest residual
LEAST_GAIN = 1e-6  # an exchange must lower the criterion by this part of it
MOST_WORK = 5e8  # of exchanges, in multiplications: n·r² for each that is tried


def from_balls(points: Floats, p: Floats, r: int, choice: str) -> tuple[Ints, list[Ints]]:
    """Choose an anchor in each of the smallest balls; return them, and the columns of the balls.

    Where there are fewer balls than anchors, the largest diagonal entries are next, each a ball of its own.
    """
    balls = smallest_balls(points, p, r)
    anchors: list[int] = []
    left = p.copy()
    for ball in balls:
        free = np.setdiff1d(ball, anchors)
        if choice == "largest":
            anchors.append(int(free[np.argmax(left[free])]))
            left[ball] = -1.0
        else:
            centre = points[:, ball].mean(axis=1, keepdims=True)
            anchors.append(int(free[np.argmin(np.abs(points[:, free] - centre).sum(axis=0))]))
    rest = [int(i) for i in best_first(p, 2 * r) if i not in anchors][: r - len(balls)]
    return np.array(anchors + rest, dtype=np.intp), balls + [np.array([i]) for i in rest]


def smallest_balls(points: Floats, p: Floats, r: int) -> list[Ints]:
    """Return the columns of up to r balls, each the smallest with more than r/(r + 1) of what is left of p.

    If balls contained more than one each, so that less than one is left for each of the others, these need
    less in proportion. There are fewer than r if nothing is left.
    """
    p, used = p.copy(), np.flatnonzero(p > 0)
    distances = distances_to(points, used)
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    balls: list[Ints] = []
    while len(balls) < r and p.sum() > ROUNDING:
        needed = r / (r + 1) * min(1.0, float(p.sum()) / (r - len(balls))) - ROUNDING
        enough = np.cumsum(p[used][order], axis=1) > needed
        radii = np.where(enough, distances, np.inf).min(axis=1)
        centre = int(np.argmin(radii))
        apart = distances_to(points, np.array([centre]))[:, 0]
        balls.append(np.flatnonzero(apart <= radii[centre] * (1 + ROUNDING)))
        p[balls[-1]] = 0.0
    return balls


def distances_to(points: Floats, columns: Ints) -> Floats:
    """Return the l1 distances of all columns to some, an array with a row for each column."""
    return np.asarray(cdist(points.T, points[:, columns].T, "cityblock"))


def matched(points: Floats, chosen: list[Ints]) -> tuple[Ints, list[Ints]]:
    """Match the columns of several runs; return the one nearest to each mean, and the groups.

    Each run is matched to the means of the runs before, with the least sum of distances.
    """
    groups = chosen[0][:, None]
    for columns in chosen[1:]:
        before = points[:, groups].mean(axis=2)
        order = linear_sum_assignment(cdist(before.T, points[:, columns].T, "cityblock"))[1]
        groups = np.column_stack([groups, columns[order]])
    anchors: list[int] = []
    for middle in points[:, groups].mean(axis=2).T:
        free = np.setdiff1d(groups, anchors)
        anchors.append(int(free[np.argmin(np.abs(points[:, free] - middle[:, None]).sum(axis=0))]))
    return np.array(anchors, dtype=np.intp), list(groups)


def centroids(M: InMemory, balls: list[Ints]) -> tuple[Floats, Floats]:
    """Return the means of the balls' columns, and the means' standard errors.

    Of a ball with a single column there is no error to estimate.
    """
    means, errors = np.empty((M.shape[0], len(balls))), np.empty((M.shape[0], len(balls)))
    for k, ball in enumerate(balls):
        columns = np.asarray(M.part(ball).toarray(), dtype=np.float64)
        means[:, k] = columns.mean(axis=1)
        deviation = columns.std(axis=1, ddof=1) if ball.size > 1 else np.full(len(columns), np.nan)
        errors[:, k] = deviation / np.sqrt(ball.size)
    return means, errors


def exchanged(X: Floats, p: Floats, r: int) -> Ints:
    """Exchange the r largest entries of the diagonal p with its others as long as the columns fit better.

    The anchors are taken in turn. Each is replaced by the column that lowers Σ_j min_{h ≥ 0} ‖x_j − Wh‖⁸
    most, with the anchors' columns W, until a whole turn has changed nothing or `MOST_WORK` is done.
    """
    anchors, n = best_first(p, r), p.size
    candidates = np.flatnonzero(p > ROUNDING)

    def criterion(chosen: Ints) -> float:
        rest = X - X[:, chosen] @ nnls(X[:, chosen], X)
        return float((np.einsum("ij,ij->j", rest, rest) ** (POWER / 2)).sum())

    least, k, unchanged, left = criterion(anchors), 0, 0, int(MOST_WORK / (n * r**2))
    while unchanged < r and least > n * ROUNDING**POWER:
        others = np.setdiff1d(candidates, anchors)
        left -= others.size
        if left < 0:
            break
        trials = [np.where(np.arange(r) == k, other, anchors) for other in others]
        values = [criterion(trial) for trial in trials]
        k, unchanged = (k + 1) % r, unchanged + 1
        if values and min(values) < (1 - LEAST_GAIN) * least:
            best = int(np.argmin(values))
            anchors, least, unchanged = trials[best], values[best], 0
    return anchors
