"""Many columns with misfit: answers on means of clusters, and the most central of these.

Single columns at the rim of the data are rarely the pure ones. A mean of a cluster is more robust, but the
answer then depends on how the columns are grouped: so they are grouped several times, in numbers of clusters
around a given one, on random parts of the columns.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sepnmf._descent import Exchanged, Problem, exchange_anchors, residual
from sepnmf._parallel import in_threads, number_of_threads
from sepnmf._typing import Floats, Ints
from sepnmf.matrix import Dense
from sepnmf.tuning._answers import Answer, Answers, Starts, as_set
from sepnmf.tuning._clusters import bisecting_clusters, cluster_means
from sepnmf.tuning._starts import drawn_seed, greedy_starts

CLUSTERS, PER_ANCHOR = 100, 25  # clusters at first, or so many for every anchor
SPREAD = (0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3, 1.45, 1.6)  # numbers of clusters in a consensus, times that
HELD = 20_000_000  # entries of the parts that are grouped at the same time, in threads

Check = Callable[[], None]  # raises an exception if the answer is no longer wanted


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


class Draw(NamedTuple):
    """What is drawn for an answer on clusters, beforehand: whatever the threads do, it is the same."""

    k: int  # clusters
    part: Ints  # columns that are grouped: a random four fifths of those that are not included
    seed: int  # of greedy methods


def consensus_anchors(problem: Problem, k: int) -> Ints | None:
    """The most central of the answers on about k clusters; None if there is no answer."""
    draws = [drawn(problem, int(f * k)) for f in SPREAD]
    entries = len(problem.choice) * len(draws[0].part)
    n_jobs = min(number_of_threads(problem.n_jobs), max(HELD // entries, 1))
    of_each = problem.n_jobs if n_jobs == 1 else 1

    def answer(draw: Draw, check: Check) -> Ints | None:
        return on_clusters(problem, draw, of_each, check)

    # The last, with the most clusters, take longest: they come first.
    found = in_threads(answer, draws[::-1], n_jobs)[::-1]
    return most_central(problem.X, [anchors for anchors in found if anchors is not None])


def drawn(problem: Problem, k: int) -> Draw:
    """What is drawn for an answer on k clusters, of which there are at least twice as many as anchors."""
    others = np.setdiff1d(np.arange(problem.n), problem.known.include)
    part = np.sort(problem.rng.choice(others, 4 * len(others) // 5, replace=False))
    return Draw(max(k, 2 * problem.r), part, drawn_seed(problem.rng))


def on_clusters(problem: Problem, draw: Draw, n_jobs: int | None, check: Check) -> Ints | None:
    """The columns nearest to the best r of the cluster means; each included column is a cluster of its own.

    None if no greedy method finds r distinct means.
    """
    X, include = problem.choice[:, draw.part], problem.known.include
    labels = bisecting_clusters(X, draw.k, check)
    means, sizes = cluster_means(X, labels)
    fixed = len(sizes) + np.arange(len(include))
    means, sizes = np.hstack([means, problem.choice[:, include]]), np.append(sizes, np.ones(len(include)))
    try:
        starts = greedy_starts(means, problem.r, draw.seed, include=fixed)
    except ValueError:
        return None
    best = best_exchanged(means, sizes, starts, fixed, n_jobs, check).anchors
    found = best[~np.isin(best, fixed)]
    nearest = [draw.part[nearest_member(X, labels, means, cluster)] for cluster in found]
    return np.append(include, nearest).astype(np.intp)


def best_exchanged(
    means: Floats, sizes: Floats, starts: Starts, fixed: Ints, n_jobs: int | None, check: Check
) -> Exchanged:
    """The best of the descents from all starts, on the residual of the means weighted by their sizes."""
    products, columns = means.T @ means, Dense(means)
    answers = []
    for start in {as_set(start): start for start in starts.values()}.values():
        check()
        answers.append(
            exchange_anchors(columns, columns, start, sizes, products=products, fixed=fixed, n_jobs=n_jobs)
        )
    return min(answers, key=lambda answer: answer.residual)


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
