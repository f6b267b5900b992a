"""How sure anchors are: how often they come back when the data are drawn again."""

from dataclasses import replace
from typing import Any

import numpy as np

from sepnmf._descent import Noise, Normalize, Problem, weights_of_all_columns
from sepnmf._typing import ArrayLike, Floats, Ints, Seed
from sepnmf._validation import check_count, check_generator
from sepnmf.matrix import Dense, InMemory, MatrixLike, Negative, as_matrix
from sepnmf.selection import Selection
from sepnmf.tuning._auto import auto, choose_in_memory

KEPT = 0.8  # share of the columns in a draw
ADDED = 0.7  # standard deviations of the noise that are added
SAME = 0.98  # share of a vertex in a column, from which on the column is as good as its anchor
NEAREST = 20  # columns nearest to an anchor that are as good as it where there is misfit


def stability(
    M: MatrixLike,
    r: int,
    *,
    draws: int = 20,
    normalize: Normalize = "auto",
    noise: Noise = "auto",
    negative: Negative = "error",
    random_state: Seed = 0,
    n_jobs: int | None = None,
    mask: ArrayLike | None = None,
    row_mask: ArrayLike | None = None,
) -> Selection:
    """How often the anchors of `auto` come back when columns are drawn and noise is added again.

    If the data have noise, each draw has the fitted mixtures of four fifths of the columns, the anchors among
    them, with new noise of the kind that was found. An anchor comes back if it is chosen, or a column that is
    nearly all of its vertex. With misfit, each draw has four fifths of the columns as they are, and an anchor
    comes back if one of the twenty columns nearest to it in angle is chosen.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, in memory.
    r : int
        Number of anchors.
    draws : int, default 20
        Number of draws. Each takes as long as `auto`.
    normalize, noise, negative, random_state, n_jobs
        As for `auto`.
    mask, row_mask
        Which columns and rows are used, as for `select`.

    Returns
    -------
    Selection
        That of `auto`; its `stability` has, for each anchor, the share of the draws in which it came back.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0.05, random_state=0)
    >>> sepnmf.stability(M, 10, draws=3, negative="allow").stability.tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    check_count(draws, "draws")
    rng = check_generator(random_state).spawn(1)[0]
    given = as_matrix(M, negative, mask=mask, row_mask=row_mask)
    data = given.bare().in_memory()
    options: dict[str, Any] = {"normalize": normalize, "noise": noise, "n_jobs": n_jobs}
    found = auto(data, r, negative="allow", random_state=random_state, **options)
    problem = Problem.prepare(data, r, normalize, rng.spawn(1)[0], n_jobs, noise)
    again = drawn_with_noise if problem.noise is not None else drawn_as_they_are
    came_back = np.mean([again(problem, found.anchors, rng) for _ in range(draws)], axis=0)
    found = replace(found, stability=np.asarray(came_back))
    return found if given.columns is None else found.among(given.columns)


def drawn_with_noise(problem: Problem, anchors: Ints, rng: np.random.Generator) -> Floats:
    """Which anchors come back from a part of the columns with more noise."""
    assert problem.noise is not None
    H, _ = weights_of_all_columns(problem, anchors)
    kept = rng.random(problem.n) < KEPT
    kept[anchors] = True
    columns = np.flatnonzero(kept)
    data = problem.data.take(columns)
    noisy = data + ADDED * np.sqrt(problem.noise.variance) * rng.standard_normal(data.shape)
    chosen = columns[chosen_anchors(Dense(noisy), problem, "white", rng)]
    shares = H[chosen] / np.maximum(H[chosen].sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray((shares >= SAME).any(axis=0), dtype=np.float64)


def drawn_as_they_are(problem: Problem, anchors: Ints, rng: np.random.Generator) -> Floats:
    """Which anchors come back from a part of the columns."""
    columns = np.sort(rng.choice(problem.n, max(round(KEPT * problem.n), problem.r), replace=False))
    data = problem.data
    chosen = columns[chosen_anchors(data.part(columns), problem, "none", rng)]
    lengths = np.sqrt(data.squares)
    cosines = data.inner(data.take(anchors)) / np.where(lengths > 0, lengths, np.inf)[:, None]
    near = np.argsort(-cosines, axis=0, kind="stable")[: min(NEAREST, problem.n // problem.r)]
    return np.asarray(np.isin(near, chosen).any(axis=0), dtype=np.float64)


def chosen_anchors(data: InMemory, problem: Problem, noise: str, rng: np.random.Generator) -> Ints:
    """The anchors of a draw."""
    seed = rng.spawn(1)[0]
    return choose_in_memory(data, problem.r, "none", noise, seed, problem.n_jobs, None).anchors
