"""Starts for the descent: the answers of greedy methods, and of the ratio model along its path."""

from collections.abc import Callable
from functools import partial

import numpy as np

from sepnmf._descent import Problem
from sepnmf._typing import Floats, Ints
from sepnmf.matrix import NONE_KNOWN
from sepnmf.methods import nfindr, ppi, preconditioned_spa, snpa, spa, vca, xray
from sepnmf.selection import Selection
from sepnmf.tuning._ratio_path import tuned_admm

PATH = 300  # columns; up to here the ratio model's path is worth its time

# Greedy methods, from columns and a number of anchors to a selection, by the names of their answers.
GREEDY: dict[str, Callable[..., Selection]] = {
    "spa": spa,
    "snpa": snpa,
    "xray": xray,
    "vca": vca,
    "nfindr": nfindr,
    "preconditioned_spa": preconditioned_spa,
    "spa on unit sums": partial(spa, normalize="l1"),
}
DRAWING = ("vca", "nfindr")  # those that draw directions or a start


def drawn_seed(rng: np.random.Generator) -> int:
    """A seed for the greedy methods that draw directions."""
    return int(rng.integers(2**31))


def greedy_starts(
    X: Floats,
    r: int,
    seed: int,
    names: tuple[str, ...] = tuple(GREEDY),
    include: Ints = NONE_KNOWN.include,
) -> dict[str, Ints]:
    """Answers of greedy methods on the columns of X, by name, of those that find r distinct columns.

    All of them have the included columns. Raises the first method's ValueError if none finds r.
    """
    found, errors = {}, []
    for name in names:
        options = {"random_state": seed} if name in DRAWING else {}
        try:
            found[name] = GREEDY[name](X, r, negative="allow", include=include, **options).anchors
        except ValueError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return found


def extreme_start(problem: Problem) -> dict[str, Ints]:
    """The columns that are extreme most often along random lines, by name; empty if fewer than r ever are.

    It looks at all rows. Where fewer directions than anchors stand out of the noise, the other starts look at
    these directions alone, and may all lead to the same local minimum. PPI cannot include columns.
    """
    bright = np.flatnonzero(problem.choice.any(axis=0))
    if problem.r > len(bright) or len(problem.known.include):
        return {}
    columns, seed = problem.data.take(bright), drawn_seed(problem.rng)
    try:
        sel = ppi(columns, problem.r, random_state=seed, negative="allow")
    except ValueError:
        return {}
    return {"ppi": bright[sel.anchors]}


def is_short_path(n: int) -> bool:
    """Whether the ratio model's path is worth its time on n columns."""
    return n <= PATH


def path_start(problem: Problem) -> dict[str, Ints]:
    """The ratio model's answer, by name; empty if the columns are too many for it, or fewer than r.

    The ratio model cannot include columns.
    """
    bright = np.flatnonzero(problem.choice.any(axis=0))
    if not is_short_path(len(bright)) or problem.r > len(bright) or len(problem.known.include):
        return {}
    columns = problem.choice[:, bright]
    sel = tuned_admm(columns, problem.r, negative="allow", max_outer=50, n_jobs=problem.n_jobs)
    return {"tuned_admm": bright[sel.anchors]}
