"""Representatives of many columns: means of clusters, weighted by the numbers of their members."""

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from sepnmf._typing import Floats, Ints

POWER_STEPS, CUT_STEPS = 4, 4


def bisecting_clusters(X: Floats, k: int, check: Callable[[], None] = lambda: None) -> Ints:
    """Labels of k clusters of the columns of X, or fewer where columns coincide; deterministic.

    The cluster with the largest sum of squared distances from its mean is split in two along its main axis,
    where two-means cuts it, until there are k. `check` is called before each split, to stop by an exception.
    """
    points = np.ascontiguousarray(X.T)
    heap: list[tuple[float, int, Ints]] = []

    def add(members: Ints) -> None:
        spread = centred(points[members])
        first = int(members[0])  # breaks ties: a heap compares what comes next if spreads are equal
        heapq.heappush(heap, (-float(np.einsum("ij,ij->", spread, spread)), first, members))

    add(np.arange(len(points)))
    while len(heap) < k:
        check()
        spread, _, members = heap[0]
        upper = halves(centred(points[members])) if spread < 0 else None
        if upper is None:
            break
        heapq.heappop(heap)
        add(members[upper])
        add(members[~upper])
    labels = np.empty(len(points), np.intp)
    for label, (_, _, members) in enumerate(sorted(heap, key=lambda cluster: cluster[1])):
        labels[members] = label
    return labels


def centred(points: Floats) -> Floats:
    """The same array, from which the mean of its rows has been subtracted: a copy would be as large."""
    points -= points.mean(axis=0)
    return points


def halves(A: Floats) -> Any:
    """Which rows, whose mean is zero, lie above a cut of their main axis; None if none or all do."""
    axis = A[np.argmax(np.einsum("ij,ij->i", A, A))]
    for _ in range(POWER_STEPS):
        axis = A.T @ (A @ axis)
        length = float(np.linalg.norm(axis))
        if length == 0.0:
            return None
        axis = axis / length
    along = A @ axis
    cut = 0.0
    for _ in range(CUT_STEPS):
        above = along > cut
        if above.all() or not above.any():
            return None
        cut = 0.5 * (along[above].mean() + along[~above].mean())
    above = along > cut
    return above if 0 < above.sum() < len(above) else None


def cluster_means(X: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """Means of the clusters, as columns, and the numbers of their members."""
    sizes = np.bincount(labels).astype(np.float64)
    order = np.argsort(labels, kind="stable")
    first = np.searchsorted(labels[order], np.arange(len(sizes)))
    return np.add.reduceat(X[:, order], first, axis=1) / sizes, sizes
