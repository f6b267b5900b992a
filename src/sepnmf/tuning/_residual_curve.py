"""What the best r columns leave unexplained, against r."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from sepnmf._descent import Problem, exchange_anchors
from sepnmf._typing import Floats, Ints, Seed
from sepnmf._validation import check_generator
from sepnmf.least_squares import misfits_from_products
from sepnmf.matrix import Dense, InMemory
from sepnmf.tuning._clusters import bisecting_clusters, cluster_means
from sepnmf.tuning._starts import drawn_seed, greedy_starts

CLUSTERS = 200  # representatives, if there are more than twice as many columns


def residual_curve(data: InMemory, most: int, random_state: Seed, n_jobs: int | None) -> Floats:
    """Relative squared residual of the best r of the columns, or of 200 cluster means, for r = 1 … `most`.

    It ends early where fewer columns explain everything.
    """
    return np.array(list(islice(least_residuals(data, random_state, n_jobs), most)))


def least_residuals(data: InMemory, random_state: Seed, n_jobs: int | None = None) -> Iterator[float]:
    """Yield the same numbers one by one, for ever larger r."""
    rng = check_generator(random_state)
    C, w = representatives(Problem.prepare(data, 1, "none", rng, n_jobs, "none").choice)
    total = float(w @ np.einsum("ij,ij->j", C, C))
    products, columns = C.T @ C, Dense(C)
    last: Ints = np.empty(0, np.intp)
    for r in range(1, min(C.shape) + 1):
        try:
            starts = list(greedy_starts(C, r, drawn_seed(rng), ("spa", "xray", "snpa")).values())
        except ValueError:
            break  # fewer columns explain everything
        if r > 1:
            starts.append(with_worst_explained(C, w, last))
        answers = [exchange_anchors(columns, columns, s, w, products=products, n_jobs=n_jobs) for s in starts]
        best = min(answers, key=lambda answer: answer.residual)
        last = best.anchors
        yield max(best.residual / total, float(np.finfo(np.float64).eps))


def representatives(X: Floats) -> tuple[Floats, Floats]:
    """The columns with weights 1, or means of clusters with the numbers of their members."""
    n = X.shape[1]
    return cluster_means(X, bisecting_clusters(X, CLUSTERS)) if n > 2 * CLUSTERS else (X, np.ones(n))


def with_worst_explained(C: Floats, w: Floats, anchors: Ints) -> Ints:
    """The anchors and the column with the largest weighted misfit."""
    misfit = w * column_misfit(C, anchors)
    misfit[anchors] = -1.0
    return np.append(anchors, int(np.argmax(misfit)))


def column_misfit(C: Floats, anchors: Ints) -> Floats:
    """What the anchors leave of the squared length of each column."""
    W = C[:, anchors]
    return misfits_from_products(W.T @ W, np.ascontiguousarray(C.T @ W), np.einsum("ij,ij->j", C, C))[0]
