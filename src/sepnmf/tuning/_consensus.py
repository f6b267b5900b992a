"""Many columns with misfit: answers on means of clusters, and the most central of these.

Single columns at the rim of the data are rarely the pure ones. A mean of a cluster is more robust, but the
answer then depends on how the columns are grouped: so they are grouped several times, in numbers of clusters
around a given one, on random parts of the columns.
"""

import numpy as np

from sepnmf._descent import Exchanged, Problem, exchange_anchors, residual
from sepnmf._typing import Floats, Ints
from sepnmf.matrix import Dense
from sepnmf.tuning._answers import Answer, Answers, Starts, as_set
from sepnmf.tuning._clusters import bisecting_clusters, cluster_means
from sepnmf.tuning._starts import greedy_starts

CLUSTERS, PER_ANCHOR = 100, 25  # clusters at first, or so many for every anchor
SPREAD = (0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3, 1.45, 1.6)  # numbers of clusters in a consensus, times that


def consensus(problem: Problem, answers: Answers, starts: Starts) -> Answer:
    """The most central of the answers on clusters, if it explains the data no worse than every start.

    If it does not, the same with twice as many clusters; if those do not either, the best start after single
    columns are exchanged, or as it is if this does not help all columns.
    """
    best = best_start(problem, answers, starts)
    few = max(CLUSTERS, PER_ANCHOR * problem.r)
    for k in (few, 2 * few):
        if 4 * k > problem.n:
            break  # clusters of fewer columns average nothing
        anchors = consensus_anchors(problem, k)
        if anchors is not None:
            value = residual(problem, anchors)
            answer = answers.add_unchanged(f"{k} clusters", anchors, best.residual, value)
            if value <= best.residual:
                return answer
    refined = answers.best_by_descent({best.start: best.anchors})
    return refined if refined.residual <= best.residual else best


def best_start(problem: Problem, answers: Answers, starts: Starts) -> Answer:
    """The start with the least residual; all of them become answers."""
    values = {name: residual(problem, anchors) for name, anchors in starts.items()}
    tried = [answers.add_unchanged(name, starts[name], value, value) for name, value in values.items()]
    return min(tried, key=lambda answer: answer.residual)


def consensus_anchors(problem: Problem, k: int) -> Ints | None:
    """The most central of the answers on about k clusters; None if there is no answer."""
    found = [on_clusters(problem, int(f * k)) for f in SPREAD]
    return most_central(problem.X, [anchors for anchors in found if anchors is not None])


def on_clusters(problem: Problem, k: int) -> Ints | None:
    """The columns nearest to the best of k cluster means, of a random four fifths of the columns.

    None if no greedy method finds r distinct means.
    """
    part = np.sort(problem.rng.choice(problem.n, 4 * problem.n // 5, replace=False))
    X = problem.choice[:, part]
    labels = bisecting_clusters(X, max(k, 2 * problem.r))
    means, sizes = cluster_means(X, labels)
    try:
        starts = greedy_starts(means, problem.r, problem.rng)
    except ValueError:
        return None
    best = best_exchanged(means, sizes, starts, problem.n_jobs)
    return np.array([part[nearest_member(X, labels, means, cluster)] for cluster in best.anchors])


def best_exchanged(means: Floats, sizes: Floats, starts: Starts, n_jobs: int | None) -> Exchanged:
    """The best of the descents from all starts, on the residual of the means weighted by their sizes."""
    products, columns = means.T @ means, Dense(means)
    different = {as_set(start): start for start in starts.values()}.values()
    return min(
        (exchange_anchors(columns, columns, s, sizes, products=products, n_jobs=n_jobs) for s in different),
        key=lambda answer: answer.residual,
    )


def nearest_member(X: Floats, labels: Ints, means: Floats, cluster: int) -> int:
    """The column of this cluster with the least angle to its mean."""
    members = np.flatnonzero(labels == cluster)
    lengths = np.linalg.norm(X[:, members], axis=0)
    cosines = means[:, cluster] @ X[:, members] / np.where(lengths > 0, lengths, np.inf)
    return int(members[np.argmax(cosines)])


def most_central(X: Floats, answers: list[Ints]) -> Ints | None:
    """The answer with the least sum of angles to the others: it depends least on how columns were grouped."""
    from scipy.optimize import linear_sum_assignment

    if not answers:
        return None
    unit = [X[:, anchors] / np.linalg.norm(X[:, anchors], axis=0) for anchors in answers]
    far = np.zeros(len(unit))
    for i, one in enumerate(unit):
        for other in unit:
            angles = np.arccos(np.clip(one.T @ other, -1.0, 1.0))
            far[i] += angles[linear_sum_assignment(angles)].sum()
    return answers[int(np.argmin(far))]
