"""How sure anchors are: how often they come back when the data are drawn again."""

from dataclasses import replace
from typing import Any

import numpy as np

from sepnmf._descent import Noise, Normalize, Problem, descent, weights_of_all_columns
from sepnmf._typing import ArrayLike, Floats, Ints, Seed
from sepnmf._validation import accepts_rng, check_count, check_generator
from sepnmf.matrix import MatrixLike, Negative, as_matrix
from sepnmf.selection import Selection
from sepnmf.tuning._auto import auto, choose_in_memory, finished, one_thread_for

KEPT = 0.8  # share of the columns in a draw
ADDED = 0.55  # standard deviations of the noise that are added: shares are then about probabilities
SAME = 0.98  # share of a vertex in a column, from which on the column is as good as its anchor
NEAREST = 20  # columns nearest to an anchor that are as good as it where there is misfit


@accepts_rng
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

    If the data have noise, each draw has four fifths of the columns, the anchors among them, and noise of the
    kind that was found is added to them, of 0.55 of its standard deviation. `auto` descends on these data
    from the anchors. An anchor comes back if it is chosen, or a column that is nearly all of its vertex. With
    misfit, each draw has four fifths of the columns as they are, `auto` chooses again, and an anchor comes
    back if one of the twenty columns nearest to it in angle is chosen.

    With noise, the share of the draws is about the probability that the anchor is right: the noise that is
    added was chosen for that, on generated data (see `docs/auto.md`). It cannot know that a noise model is
    wrong: on counts with a few words per document, anchors come back that are not right. With misfit, where
    many columns are alike, another of them may be chosen each time: the share is then low for an anchor that
    is as good as any.

    Only `auto` has a stability; there is no argument `method`, because the draws repeat its descent.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, in memory.
    r : int
        Number of anchors.
    draws : int, default 20
        Number of draws. Each takes as long as `auto` with misfit, and a fraction of it with noise.
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
    found = finished(auto(data, r, negative="allow", random_state=random_state, **options))
    problem = Problem.prepare(data, r, normalize, rng.spawn(1)[0], n_jobs, noise)
    came_back = draws_with_noise if problem.noise is not None else draws_as_they_are
    shares = np.mean(came_back(problem, found.anchors, draws, rng), axis=0)
    found = replace(found, stability=np.asarray(shares))
    return found if given.columns is None else found.among(given.columns)


def draws_with_noise(problem: Problem, anchors: Ints, draws: int, rng: np.random.Generator) -> Floats:
    """Which anchors come back from parts of the columns with more noise: a row per draw."""
    H = weights_of_all_columns(problem, anchors)
    found = np.empty((draws, problem.r))
    for draw in range(draws):
        kept = rng.random(problem.n) < KEPT
        kept[anchors] = True
        columns = np.flatnonzero(kept)
        noisier = problem.with_more_noise(columns, ADDED, rng.spawn(1)[0])
        with one_thread_for(noisier.X.size):
            chosen = columns[descent(noisier)(np.searchsorted(columns, anchors)).anchors]
        shares = H[chosen] / np.maximum(H[chosen].sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        found[draw] = (shares >= SAME).any(axis=0)
    return found


def draws_as_they_are(problem: Problem, anchors: Ints, draws: int, rng: np.random.Generator) -> Floats:
    """Which anchors come back from parts of the columns: a row per draw."""
    data, found = problem.data, np.empty((draws, problem.r))
    lengths = np.sqrt(data.squares)
    cosines = data.inner(data.take(anchors)) / np.where(lengths > 0, lengths, np.inf)[:, None]
    near = np.argsort(-cosines, axis=0, kind="stable")[: min(NEAREST, problem.n // problem.r)]
    for draw in range(draws):
        columns = np.sort(rng.choice(problem.n, max(round(KEPT * problem.n), problem.r), replace=False))
        part = data.part(columns)
        draw_rng = rng.spawn(1)[0]
        chosen = finished(choose_in_memory(part, problem.r, "none", "none", draw_rng, problem.n_jobs, None))
        found[draw] = np.isin(near, columns[chosen.anchors]).any(axis=0)
    return found
