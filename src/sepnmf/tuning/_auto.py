"""The method without parameters: several starts, descent, and a choice from the data alone."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import numpy as np

from sepnmf._descent import (
    Noise,
    Normalize,
    Problem,
    check_noise,
    check_normalize,
    estimated_vertices,
    has_no_pure_columns,
    importance,
    lies_in_cone,
)
from sepnmf._parallel import SingleBLAS
from sepnmf._typing import Seed, WhichColumns
from sepnmf._validation import check_generator
from sepnmf.matrix import NONE_KNOWN, Chunked, Dense, InMemory, Known, MatrixLike, Negative, as_matrix
from sepnmf.methods import Callback, method
from sepnmf.methods._screening import normalization, screened
from sepnmf.selection import Selection, Status, best_first
from sepnmf.tuning._answers import Answer, Answers, Starts, Stopped
from sepnmf.tuning._consensus import consensus
from sepnmf.tuning._starts import (
    GREEDY,
    drawn_seed,
    extreme_start,
    greedy_starts,
    is_short_path,
    path_start,
)

SMALL_PRODUCT = 2_000_000  # entries; up to here BLAS is kept to one thread
MANY = 20  # anchors; beyond, and with little noise, one start will do: others take longer than the descent
# Times the variance of the noise, for every column: what a descent gains by chance if lengths are free. Short
# columns are anchors that hardly tie the vertices, which then follow the noise of all columns.
BY_CHANCE = 0.5
CROWDED = 50_000  # columns; beyond, and with little noise, SNPA takes longer than the descent from its answer
BIG = 20_000_000  # entries; beyond, only the starts that hold no copy of the data


def auto_in_chunks(
    M: Chunked,
    r: int,
    *,
    normalize: Normalize = "auto",
    noise: Noise = "auto",
    negative: Negative = "error",
    random_state: Seed = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """Choose as `auto` does, among candidates screened from all columns.

    Passes over the data find candidates: a random sample, and the columns that are extreme along a thousand
    random lines in the span of the r leading directions. `auto` chooses among these. A last pass computes
    what the anchors leave of all columns; those explained worst become candidates too, anchors are exchanged,
    and the exchange is kept if it explains more of all columns. Data of up to twenty million entries are
    loaded instead. `n_jobs` is for the search; the passes run where Dask is told to run them.

    Returns
    -------
    Selection
        `history` is that of the search on the candidates, and below it a row "all columns": their residual
        before and after polishing. "least" is there the sum of the squared singular values behind the
        r-th, which no r columns can beat: "residual" − "least" bounds what screening can have lost (0 for
        columns of more than four thousand rows, where it is not known), and "total" is ‖M‖²_F. "columns" says
        how many columns each row is about. `scores` are measured on the candidates.

    Notes
    -----
    Passes: one for the leading directions (four for columns of more than four thousand rows), one for the
    candidates, one for the residual, and one more for each of at most two rounds of polishing.
    """
    check_normalize(normalize)
    check_noise(noise)
    rng = check_generator(random_state)
    known = Known.of(include, exclude)
    if M.is_small:
        return choose_in_memory(M.in_memory(), r, normalize, noise, rng, n_jobs, callback, known)
    candidates = screened(M.normalised(normalization(M, normalize)), r, rng, known)
    held = candidates.held
    among = known.among(held.indices)
    found = choose_in_memory(Dense(held.columns), r, "none", noise, rng, n_jobs, callback, among)
    polished = candidates.polished(found.anchors, n_jobs=n_jobs)
    scores = polished.scores if polished.scores is not None else found.scores[found.anchors]
    last = {"start": "all columns"} | polished.as_row()
    rows, n = len(found.history["start"]), M.shape[1]
    return Selection(
        **polished.chosen(scores, n),
        status=found.status,
        converged=found.converged,
        n_outer=found.n_outer + 1,
        history={key: np.array([*found.history[key], value]) for key, value in last.items()}
        | {
            "least": np.append(np.full(rows, np.nan), candidates.least),
            "total": np.append(np.full(rows, np.nan), polished.left.total),
            "columns": np.append(np.full(rows, len(found.scores)), n),
        },
    )


@method(
    summary="several starts improved by exchanges, on a criterion that the data call for",
    use="first: it needs no parameter",
    cost="n ≤ 1000: n² products; more: passes over M",
    stoppable=True,
    in_chunks=auto_in_chunks,
)
def auto(
    M: MatrixLike,
    r: int,
    *,
    normalize: Normalize = "auto",
    noise: Noise = "auto",
    negative: Negative = "error",
    random_state: Seed = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    r"""Anchors without a parameter: what to do is decided from the data.

    What an unconstrained fit of rank r leaves of the data says what a good answer is:

    - **noise**: anchors are as noisy as the other columns, and fitting them exactly rewards the noisiest. The
      criterion is the likelihood of the anchors, which takes this into account. The kind of noise is chosen
      among white, by column, by row, and by both as in counts, each with normal or heavy tails, or with a
      correlation between neighbouring rows; rows and columns are divided by its standard deviation, and the
      correlation is removed, which leaves the anchors the same. Where weights of mixtures do not sum to one,
      columns are compared at the same length.
    - **independent columns**: what is left has structure that no model explains, but what is left of a column
      says nothing about its neighbour's: the likelihood as well.
    - **misfit** (measured spectra, images, words: what is left is alike in columns that are): the criterion
      is the residual of nonnegative least squares of all columns on the anchors.

    Greedy methods give starts; on up to 300 columns the ratio model along its path gives one more (with
    noise, only if the answers from the others differ). Each start descends by exchanging one anchor at a time
    until no exchange helps; the answer with the least criterion wins. More than a thousand columns with
    misfit are first averaged into a hundred clusters or more, nine times on random four fifths of them,
    because single columns at the rim are rarely the pure ones; of the nine answers the most central is taken
    if it explains the data as well as every start. Otherwise there are twice as many clusters, and then, from
    the best start, single columns are exchanged.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data. Columns shorter than a thousandth of the median one are no candidates, if r others are left.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    normalize : {"auto", "none", "l1", "sqrt"}, default "auto"
        Columns as they are, divided by their sums, or by the roots of their sums (counts, whose variance
        grows with the mean). "auto" takes "sqrt" when a tenth of the columns have nine tenths of ‖M‖²_F (the
        co-occurrences of words do), else "none": equal weights for all would be weights for dark columns.
    noise : {"auto", "white", "columns", "rows", "counts", "heavy", "none"}, default "auto"
        The kind of noise, for those who know it: the same everywhere; differing between columns, rows, or
        both as in counts; with heavy tails; "none" is misfit. "auto" finds it out.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default 0
        For the samples taken of many columns, and for the starts that draw directions.
    n_jobs : int, optional
        Threads, by default all cores.
    callback : callable, optional
        Called after each answer with a `State` that has no X; `numbers` are the "after" and "residual" of
        `history`. A true answer ends the search with the best answer so far, and so does Ctrl-C.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns are in every
        start, and are not exchanged; excluded columns are no candidates, but are still to be explained.

    Returns
    -------
    Selection
        `scores` are what the residual would gain without an anchor, relative to the data; zero for the
        other columns. `history` has a row per answer: its "start", the "criterion" it descended on, that
        "before" and "after", the "exchanges", its "residual" where it was computed, and whether it is
        "settled": no exchange that was tried helps. "noise" is the kind of noise that was found ("none" for
        misfit, "independent columns" where no model fits), and "structure" the largest singular value of what
        rank r leaves, relative to the same with random signs: about 1 for noise, NaN where it was not needed.
        Residuals and scores are those of
        the columns as scaled. `vertices` are the pure columns without noise, estimated from all columns, and
        `spread` their standard errors. `status` is "not identifiable" if an anchor lies in the cone of the
        other columns (only tested for data without noise), "no pure columns" if columns lie outside of every
        cone through columns by more than noise puts them there (only tested for data with noise, see
        `minimum_volume`), "max_outer" if the answer is not settled, "stopped" if the search was ended early.

    Raises
    ------
    ValueError
        If an argument is not as described, or no start can find r columns because M has lower rank.

    Notes
    -----
    Cost: n ≤ 1000: exchanges are bounded before they are tried, n² inner products; larger n: passes over M
    and work on 2000 columns at most. Memory: linear in n beyond n = 20000.

    When to use: first. Another method is for comparing, or when it is known to suit.

    References
    ----------
    The exchanges, the likelihood and the consensus are ours; what they start from is cited where it is.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.3, random_state=0)
    >>> set(sepnmf.select(M, 10, negative="allow").anchors) == set(anchors)
    True
    """
    rng, known = check_generator(random_state), Known.of(include, exclude)
    data = as_matrix(M, negative).in_memory()
    return choose_in_memory(data, r, normalize, noise, rng, n_jobs, callback, known)


def choose_in_memory(
    data: InMemory,
    r: int,
    normalize: str,
    noise: str,
    rng: np.random.Generator,
    n_jobs: int | None,
    callback: Callback | None,
    known: Known = NONE_KNOWN,
) -> Selection:
    """The selection of `auto` on data in memory."""
    with one_thread_for(data.shape[0] * data.shape[1]):
        problem = Problem.prepare(data, r, normalize, rng, n_jobs, noise, known)
    answers = Answers(problem, callback)
    with one_thread_for(problem.X.size):
        try:
            return as_selection(problem, answers, best_answer(problem, answers))
        except (Stopped, KeyboardInterrupt):
            best = answers.best_so_far()
            if best is None:
                raise
            return replace(as_selection(problem, answers, best), status="stopped", converged=False)


def finished(sel: Selection) -> Selection:
    """Return a selection of `auto`; raise KeyboardInterrupt if Ctrl-C has ended it.

    For what runs `auto` as a step: the next steps would go on, with an answer that is not the whole one.
    """
    if sel.status == "stopped":
        raise KeyboardInterrupt
    return sel


def one_thread_for(size: int) -> AbstractContextManager[None]:
    """Keep BLAS to one thread if matrices have at most so many entries.

    Its threads slow BLAS down on matrices this small, by far where other work wants the cores.
    """
    return SingleBLAS() if size <= SMALL_PRODUCT else nullcontext()


def best_answer(problem: Problem, answers: Answers) -> Answer:
    """The best answer, from the starts and by the strategy that suit the problem."""
    include = problem.known.include
    if len(include) == problem.r:
        return answers.best_by_descent({"included": include})
    if problem.noise is not None:
        best = answers.best_by_descent(starts_with_noise(problem), lambda: path_start(problem))
        if not problem.noise.has_free_lengths:
            return best
        by_chance = BY_CHANCE * problem.n * problem.noise.variance / float(np.vdot(problem.X, problem.X))
        return answers.unless_by_chance(best, by_chance)
    names = ("spa", "xray") if problem.X.size > BIG else tuple(GREEDY)
    starts = greedy_starts(problem.choice, problem.r, drawn_seed(problem.rng), names, include)
    if not problem.is_small:
        return consensus(problem, answers, starts)
    if is_short_path(problem.n):
        starts |= path_start(problem)
    return answers.best_by_descent(starts)


def starts_with_noise(problem: Problem) -> Starts:
    """The starts for the likelihood."""
    assert problem.noise is not None
    coordinates, include = problem.noise.coordinates, problem.known.include
    # In fewer directions than anchors SPA finds no more columns than there are directions.
    is_sharp = coordinates is not None and len(coordinates) >= problem.r
    few: tuple[str, ...] = ("snpa", "spa", "xray")
    if is_sharp and problem.r > MANY:
        few = ("spa",)
    elif is_sharp and problem.n > CROWDED:
        few = ("spa", "xray")
    if problem.noise.brightness is None:
        starts = greedy_starts(problem.choice, problem.r, drawn_seed(problem.rng), few, include)
        is_flat = coordinates is not None and len(coordinates) < problem.r
        return starts | extreme_start(problem) if is_flat else starts
    # SPA and SNPA would take the longest columns, which are mixtures if their weights do not sum to one.
    plain = ("vca", "xray") if problem.noise.has_free_lengths else few
    starts = greedy_starts(problem.choice, problem.r, drawn_seed(problem.rng), plain, include)
    columns = problem.choice / problem.noise.brightness
    even = greedy_starts(columns, problem.r, drawn_seed(problem.rng), few, include)
    return starts | {f"{name} on even lengths": anchors for name, anchors in even.items()}


def as_selection(problem: Problem, answers: Answers, best: Answer) -> Selection:
    """The best answer as a `Selection`, with the history of all answers."""
    status: Status = "done" if best.settled else "max_outer"
    if lies_in_cone(problem, best.anchors):
        status = "not identifiable"
    scores = importance(problem, best.anchors)
    anchors = best_first(scores, problem.r)
    estimate = estimated_vertices(problem, anchors)
    if has_no_pure_columns(problem, anchors):
        status = "no pure columns"
    return Selection(
        anchors=anchors,
        scores=scores,
        vertices=None if estimate is None else estimate.vertices,
        spread=None if estimate is None else estimate.spread,
        status=status,
        converged=best.settled,
        n_outer=len(answers),
        history=answers.history(),
    )
