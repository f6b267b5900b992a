"""Hottopixx that needs only r, by row and column expansion (EEHT)."""

import time
import warnings
from typing import Literal

import numpy as np

from sepnmf._typing import Floats, Ints, Seed
from sepnmf._validation import check_choice, check_count, check_generator, check_number
from sepnmf.matrix import InMemory, MatrixLike, Negative, as_matrix
from sepnmf.methods._diagonal_choices import centroids, exchanged, from_balls, matched
from sepnmf.methods._expansion import Expansion
from sepnmf.methods._iteration import Callback, State
from sepnmf.methods._linear_programme import Budget, WorkUsedUp
from sepnmf.methods._method import method
from sepnmf.methods._reduction import samples
from sepnmf.methods._spa import successive_projections
from sepnmf.methods._subspace import column_lengths, nonzero_columns, spread, stepwise_scores
from sepnmf.selection import Selection, Status, best_first

CHOICES = ("diagonal", "exchange", "largest", "centroids")
RATE, POWERS = 6e-13, (2.5, 0.5)  # of the time of the programmes, see `Budget`
MOST_BASES, MOST_COORDINATES = 8, 80  # by default, of the norm and of a point in all bases
SEED = 0  # of the rotations, so that the method repeats itself


@method(
    summary="linear programme for the least largest residual",
    use="much noise; images with choice='centroids'",
    cost="SVD, a few linear programmes that grow little with n",
    quick_up_to=200_000,
    stoppable=True,
)
def eeht(
    M: MatrixLike,
    r: int,
    *,
    choice: Literal["diagonal", "exchange", "largest", "centroids"] = "diagonal",
    normalize: Literal["none", "l1"] = "none",
    n_bases: int | None = None,
    n_columns: int | None = None,
    n_runs: int = 1,
    max_outer: int = 100,
    max_work: float = 12.0,
    negative: Negative = "error",
    random_state: Seed = None,
    callback: Callback | None = None,
) -> Selection:
    r"""Hottopixx that needs only r, by row and column expansion (EEHT).

    The columns become points a_j, their r leading principal coordinates. Then the linear programme

        minimise  max_j ‖a_j − Ax_j‖  subject to  Σ_i x_ii = r,  0 ≤ x_ij ≤ x_ii ≤ 1

    is solved for X (n × n), of which only the diagonal and few rows and columns are ever held. Starting from
    SPA's columns as rows and columns of X (from all, if there are at most 100), each round

    1. solves the programme restricted to these rows and columns (HiGHS);
    2. adds rows with negative reduced costs, computed from the multipliers of the residuals;
    3. adds columns whose residuals with the diagonal found exceed the optimum. Least squares show for most
       columns that theirs do not; of the others a linear programme decides.

    If no row or column is added, the diagonal is optimal for the whole programme. The norm is the mean of the
    l1 norms in `n_bases` orthonormal bases: the principal axes, and random rotations of these, always the
    same ones.

    With `n_columns` the programme is that of fewer columns (REDIC): those that are not in the cone of others,
    and random ones. Several runs, each with other random columns, have the mean of what they choose.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    choice : {"diagonal", "exchange", "largest", "centroids"}, default "diagonal"
        How the anchors are chosen. "diagonal": the columns with the r largest entries of the diagonal.
        "exchange": these, but each is exchanged with another column on the diagonal as long as
        Σ_j min_{h ≥ 0} ‖a_j − Wh‖⁸ falls, W being the anchors' points and the lengths Euclidean.
        "largest" and "centroids": r times, of all balls around columns that contain more than r/(r + 1) of
        the diagonal, the smallest one is taken, and what it contains does not count any more; the anchor is
        its largest diagonal entry, or the column nearest to the mean of its columns.
    normalize : {"none", "l1"}, default "none"
        "l1" divides the columns by their l1 norms first, as mixtures whose weights do not sum to one need.
    n_bases : int or None, default None
        Number of bases in the norm. 1 is the l1 norm along the principal axes, as in the paper; with many,
        the norm becomes Euclidean. None means 8 up to r = 10, and 80/r, but at least one, beyond: with many
        coordinates one set of axes favours no direction much, and each basis adds equations.
    n_columns : int or None, default None
        Number of columns of the programme, at least r: in the r coordinates, those that are not in the cone
        of others, even if there are more, and random others. None means all columns.
    n_runs : int, default 1
        Number of runs, each with other random columns; more than one need `n_columns` and "centroids". The
        columns of each run are matched to the means of the runs before. The anchors are, of all columns
        that a run chose, those nearest to the means.
    max_outer : int, default 100
        Largest number of rounds of a run.
    max_work : float, default 12
        Largest work of all linear programmes, in nominal seconds: computed from their numbers of iterations
        and coefficients, not measured, so that the answer does not depend on the machine.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Used with `n_columns` only; None gives other random columns each time.
    callback : callable, optional
        ``callback(state)`` is called after each round with a `State` (its X is None); a true return value
        ends the call, after the choice in the run that it is in.

    Returns
    -------
    Selection
        `scores` is the diagonal, the mean of those of the runs; with another choice than "diagonal" the k-th
        anchor, k = 0, …, r − 1, has r + 1 − k. With "centroids", `vertices` has the means of the balls'
        columns, or, with several runs, of the columns that the runs chose; scaled like the anchors. `spread`
        has their standard errors. `history` has, per round, the objective in units of the longest column,
        the numbers of rows and of columns, and the seconds so far. `status` is "converged" if the diagonal
        of every run is optimal for all columns, or for all of `n_columns`.

    Raises
    ------
    ValueError
        If an argument is not as described, or M has fewer than r nonzero columns.
    RuntimeError
        If HiGHS fails.

    Warns
    -----
    ConvergenceWarning
        If `max_outer` rounds or `max_work` seconds did not suffice: the answer is that of the last round,
        or, if there is none, SPA's.

    Notes
    -----
    Cost: a singular value decomposition, O(mn·min(m, n)) for dense M; each round a linear programme with
    ``|I||J|`` unknowns for the rows I and columns J of X in use, tens of each, and ``O(n|I|²)`` for the other
    columns. A programme has r·n_bases residuals for each column, and where no columns are extreme, most get
    into the programme: of 176 columns of random numbers, 10 take a quarter of a minute, and 100 would take
    many minutes if `max_work` did not end it. Memory: three copies of M (one if sparse), and a few arrays of
    r·n_bases × n numbers.

    When to use: noise that greedy methods do not stand, as nothing but r has to be known. Images have many
    columns near each anchor, over which the diagonal is spread: there take "centroids". With anchors that
    occur once, the balls reach from one to the next: there take "diagonal" or, with so much noise that the
    largest entries are not all those of anchors, "exchange".

    On two scenes the programme of all columns takes seconds, so `n_columns` is not needed for the time. It is
    another estimate: of all pixels in a ball most are mixed a little, and among few pixels those that are not
    weigh more. On Samson this is better, on Jasper Ridge worse; the page "State of the art" has the figures.
    There REDIC's own settings are used: ``n_columns=250, n_runs=5, n_bases=1``.

    The programme, its expansion, the reduction to r dimensions and the other choices are the paper's. Ours
    are "exchange" (with the eighth power all columns count, those that fit worst most: the largest residual
    alone depends on one column, and least squares prefer noisy columns outside of the cone), the norm from
    several bases (with few coordinates the l1 norm along one set of axes favours some directions over
    others), sets of rows and columns that need not be equal, the test by least squares, and that balls need
    less of the diagonal than r/(r + 1) when larger ones before have used it up.

    The 8 bases of r = 10 are from data of `make_midpoint` with noise 0.25, of 20 of which one basis finds the
    anchors of none, four those of 19, and eight those of all. Beyond a noise of about 0.3 the relaxation
    itself fails: then the largest diagonal entries are not all those of the anchors.

    References
    ----------
    T. Mizutani, "Endmember extraction from hyperspectral images using self-dictionary approach with linear
    programming" (2024), arXiv:2404.13098; "Hyperspectral image data reduction for endmember extraction"
    (2025), arXiv:2512.10506.

    N. Gillis, "Robustness analysis of Hottopixx, a linear programming model for factoring nonnegative
    matrices", SIAM J. Matrix Anal. Appl. 34 (2013) 1189–1212.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.05, r=5, random_state=0)
    >>> sel = sepnmf.eeht(M, 5, negative="allow")
    >>> set(sel.anchors) == set(anchors), sel.status
    (True, 'converged')
    """
    began = time.perf_counter()
    check_choice(choice, "choice", CHOICES)
    check_choice(normalize, "normalize", ("none", "l1"))
    if n_bases is None:
        n_bases = min(max(MOST_COORDINATES // r, 1), MOST_BASES)
    n_bases, max_outer = check_count(n_bases, "n_bases"), check_count(max_outer, "max_outer")
    budget = Budget(check_number(max_work, "max_work"), RATE, POWERS)
    given = as_matrix(M, negative).in_memory()
    n = given.shape[1]
    data, kept = nonzero_columns(given.normalised(normalize), r)
    rng = check_sampling(n_columns, n_runs, r, choice, random_state)
    X = principal_coordinates(data, r)
    points = in_several_bases(X, n_bases)
    parts = [np.arange(kept.size)] if n_columns is None else samples(X, n_columns, n_runs, rng)
    names = ("objective", "rows", "columns", "seconds")
    rows: list[tuple[float, ...]] = []
    statuses: list[Status] = []
    limit = "max_outer"
    chosen: list[Ints] = []
    p: Floats = np.zeros(kept.size)
    for part in parts:
        programme = Expansion(points[:, part], r, successive_projections(X[:, part], r)[0], budget)
        statuses.append("max_outer")
        try:
            for _ in range(max_outer):
                objective = programme.solve()
                used = len(programme.rows), len(programme.columns)
                rows.append((objective, *used, time.perf_counter() - began))
                if not programme.expand():
                    statuses[-1] = "converged"
                    break
                if callback is not None and callback(
                    State("eeht", len(rows), None, dict(zip(names, rows[-1], strict=True)))
                ):
                    statuses[-1] = "stopped"
                    break
        except WorkUsedUp:
            limit = "max_work"
        p[part] += programme.diagonal
        if choice == "exchange":
            chosen.append(part[exchanged(X[:, part], programme.diagonal, r)])
        elif choice != "diagonal":
            anchors, balls = from_balls(points[:, part], programme.diagonal, r, choice)
            chosen.append(part[anchors])
            balls = [part[ball] for ball in balls]
        if statuses[-1] == "stopped" or limit == "max_work":
            break
    p /= len(statuses)
    status: Status = next((s for s in ("stopped", "max_outer") if s in statuses), "converged")
    if status == "max_outer":
        from sklearn.exceptions import ConvergenceWarning

        text = f"eeht stopped after {len(rows)} rounds before its diagonal was optimal: raise {limit}."
        warnings.warn(text, ConvergenceWarning, stacklevel=4)

    means, errors = None, None
    if choice == "diagonal":
        anchors, scores = best_first(p, r), p
    else:
        anchors = chosen[0]
        if len(chosen) > 1:
            anchors, balls = matched(points, chosen)
        scores = stepwise_scores(anchors, p)
        if choice == "centroids" and given.height == given.shape[0]:
            largest = data.part(anchors).largest_entries(), given.part(kept[anchors]).largest_entries()
            means, errors = (rescaled(values, *largest) for values in centroids(data, balls))
    return Selection(
        anchors=kept[anchors],
        scores=spread(scores, kept, n),
        status=status,
        converged=status == "converged",
        n_outer=len(rows),
        history=dict(zip(names, np.array(rows).reshape(-1, len(names)).T, strict=True)),
        vertices=means,
        spread=errors,
    )


def principal_coordinates(M: InMemory, r: int) -> Floats:
    """Return the r leading principal coordinates of the columns, not centred; the longest has length one."""
    U, sigma = M.leading_left(min(r, *M.shape))
    rank = int((sigma > max(M.shape) * M.eps * float(sigma[0])).sum())
    X = np.asarray(M.times(U[:, :rank]), dtype=np.float64)
    return X / float(column_lengths(X).max())


def in_several_bases(X: Floats, count: int) -> Floats:
    """Return coordinates in the given and in rotated bases, over their number: their l1 norm is the mean."""
    rng = np.random.default_rng(SEED)
    turned = (np.linalg.qr(rng.standard_normal((len(X), len(X))))[0] @ X for _ in range(count - 1))
    return np.vstack([X, *turned]) / count


def check_sampling(
    n_columns: int | None, n_runs: int, r: int, choice: str, random_state: Seed
) -> np.random.Generator:
    """Refuse numbers of columns and runs that do not go with the other arguments; return the generator."""
    check_count(n_runs, "n_runs")
    if n_columns is not None and check_count(n_columns, "n_columns") < r:
        raise ValueError(f"n_columns must be at least r={r}, got {n_columns}.")
    if n_runs > 1 and (n_columns is None or choice != "centroids"):
        raise ValueError(f'n_runs={n_runs} needs n_columns and choice="centroids": otherwise give n_runs=1.')
    return check_generator(random_state)


def rescaled(columns: Floats, largest: Floats, wanted: Floats) -> Floats:
    """Multiply columns by wanted/largest; like a sum of entries, that may be too large for a float.

    Columns that are so much shorter than others that they are zero beside them remain so.
    """
    with np.errstate(over="ignore"):
        return np.minimum(columns / np.where(largest > 0, largest, 1) * wanted, np.finfo(np.float64).max)
