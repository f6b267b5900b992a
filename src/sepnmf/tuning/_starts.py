"""Starts for the descent: the answers of greedy methods, and of the ratio model along its path."""

from collections.abc import Callable

import numpy as np

from sepnmf._descent import Problem
from sepnmf._typing import Floats, Ints
from sepnmf.methods import nfindr, ppi, preconditioned_spa, snpa, spa, vca, xray
from sepnmf.tuning._ratio_path import tuned_admm

PATH = 300  # columns; up to here the ratio model's path is worth its time

# From columns, a number of anchors and a seed to anchors.
GREEDY: dict[str, Callable[[Floats, int, int], Ints]] = {
    "spa": lambda X, r, _: spa(X, r, negative="allow").anchors,
    "snpa": lambda X, r, _: snpa(X, r, negative="allow").anchors,
    "xray": lambda X, r, _: xray(X, r, negative="allow").anchors,
    "vca": lambda X, r, seed: vca(X, r, random_state=seed, negative="allow").anchors,
    "nfindr": lambda X, r, seed: nfindr(X, r, random_state=seed, negative="allow").anchors,
    "preconditioned_spa": lambda X, r, _: preconditioned_spa(X, r, negative="allow").anchors,
    "spa on unit sums": lambda X, r, _: spa(X, r, normalize="l1", negative="allow").anchors,
}


def drawn_seed(rng: np.random.Generator) -> int:
    """A seed for the greedy methods that draw directions."""
    return int(rng.integers(2**31))


def greedy_starts(X: Floats, r: int, seed: int, names: tuple[str, ...] = tuple(GREEDY)) -> dict[str, Ints]:
    """Answers of greedy methods on the columns of X, by name, of those that find r distinct columns.

    Raises the first method's ValueError if none does.
    """
    found, errors = {}, []
    for name in names:
        try:
            found[name] = GREEDY[name](X, r, seed)
        except ValueError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return found


def extreme_start(problem: Problem) -> dict[str, Ints]:
    """The columns that are extreme most often along random lines, by name; empty if fewer than r are bright.

    It looks at all rows. Where fewer directions than anchors stand out of the noise, the other starts look at
    these directions alone, and may all lead to the same local minimum.
    """
    bright = np.flatnonzero(problem.choice.any(axis=0))
    if problem.r > len(bright):
        return {}
    columns = problem.data.take(bright)
    sel = ppi(columns, problem.r, random_state=drawn_seed(problem.rng), negative="allow")
    return {"ppi": bright[sel.anchors]}


def is_short_path(n: int) -> bool:
    """Whether the ratio model's path is worth its time on n columns."""
    return n <= PATH


def path_start(problem: Problem) -> dict[str, Ints]:
    """The ratio model's answer, by name; empty if the columns are too many for it, or fewer than r."""
    bright = np.flatnonzero(problem.choice.any(axis=0))
    if not is_short_path(len(bright)) or problem.r > len(bright):
        return {}
    columns = problem.choice[:, bright]
    sel = tuned_admm(columns, problem.r, negative="allow", max_outer=50, n_jobs=problem.n_jobs)
    return {"tuned_admm": bright[sel.anchors]}
