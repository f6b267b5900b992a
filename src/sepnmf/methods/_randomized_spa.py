"""Randomised SPA: the best of several runs in which lengths are measured at random."""

import numpy as np

from sepnmf._typing import Floats, Ints, Seed, WhichColumns
from sepnmf._validation import check_count, check_generator, check_number
from sepnmf.least_squares import unexplained
from sepnmf.matrix import NONE_KNOWN, Known, MatrixLike, Negative, as_matrix
from sepnmf.methods._method import method
from sepnmf.methods._spa import successive_projections
from sepnmf.methods._subspace import (
    basis_of_included,
    column_lengths,
    first_largest,
    nonzero_columns,
    orthogonalised,
    signal_subspace,
    spread,
    stepwise_scores,
)
from sepnmf.selection import Selection

ROUNDING = 1e-13  # relative; lengths that differ by less are the same


@method(
    summary="the best fit of SPA and several random variants",
    use="when SPA's first answer can be improved by a few tries",
    cost="SVD, and nonnegative least squares per run",
)
def randomized_spa(
    M: MatrixLike,
    r: int,
    *,
    n_runs: int = 10,
    n_directions: int | None = None,
    condition: float = 1.5,
    negative: Negative = "error",
    random_state: Seed = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """Run SPA several times with lengths that are measured at random, and keep the best fit.

    The columns are projected on r dimensions, Y = UᵀM with the r leading left singular vectors U. The first
    run is SPA on Y. In the others, r times, with R = Y at first:

    1. Q ← a random matrix with `n_directions` orthogonal rows in random directions, whose lengths are
       between 1 and `condition`;
    2. the next column is the one of largest ‖QR_j‖;
    3. R ← R projected onto the complement of that column.

    The anchors are those of the run with the least min_{H ≥ 0} ‖M − M[:, anchors]H‖_F.

    With `n_directions` = r and `condition` = 1 every run is SPA; with `n_directions` = 1 the steps are those
    of VCA, without its views of the data.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    n_runs : int, default 10
        Runs, of which the first is SPA.
    n_directions : int, optional
        Rows of Q, 1 to r; r by default. Fewer make the runs more different.
    condition : float, default 1.5
        Largest ratio of the lengths of the rows of Q, at least 1. The guarantee of SPA for little noise
        holds for every Q with r rows, with a constant that is smaller by a power of this ratio.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int or numpy.random.Generator, default None
        Where the matrices Q come from; None gives different ones at each call.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns are projected out
        at the start of every run.

    Returns
    -------
    Selection
        The anchors are in the order in which SPA takes them from Y. `scores`: the k-th, k = 0, …, r − 1, has
        r + 1 − k; another column has its residual norm at SPA's last step relative to the longest column, at
        most 1; an excluded one has 0. `history` has the relative "error" ‖M − WH‖_F/‖M‖_F of every run;
        `n_outer` counts the runs.

    Raises
    ------
    ValueError
        If an argument is not as described, or M has numerical rank below r.

    Notes
    -----
    Cost: a truncated singular value decomposition, O(mn·min(m, n)) for dense M, O(r³n) a run, and nonnegative
    least squares for all columns, O(mnr), for every set of anchors that is new. Memory: two copies of M (one
    if sparse), and 3r × n numbers.

    The fit is never worse than that of SPA on the same coordinates, but the best fit need not be the purest
    columns: with noise in all columns, columns outside the simplex fit best.

    When to use: noise or a few outliers, time for several runs, and the fit is what counts. `auto` searches
    more widely.

    The random lengths are after the paper, which multiplies the columns by a random matrix of bounded
    condition; how it draws that matrix is not followed to the letter, and the projection on r dimensions is
    ours.

    References
    ----------
    O. Vu Thanh, N. Nadisic and N. Gillis, "Randomized successive projection algorithm", XXVIIIème Colloque
    Francophone de Traitement du Signal et des Images (GRETSI 2022).

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0, random_state=0)
    >>> set(sepnmf.randomized_spa(M, 10, random_state=0).anchors) == set(anchors)
    True
    """
    n_runs = check_count(n_runs, "n_runs")
    condition = check_number(condition, "condition", least=1.0, strict=False)
    n_directions = r if n_directions is None else check_count(n_directions, "n_directions")
    if n_directions > r:
        raise ValueError(f"n_directions must be at most r={r}, got {n_directions}.")
    rng = check_generator(random_state)
    data = as_matrix(M, negative).in_memory()
    n = data.shape[1]
    known = Known.of(include, exclude)
    data, kept = nonzero_columns(data, r, known)
    known = known.among(kept)
    _, Y, _ = signal_subspace(data, r, method="randomized SPA")
    runs = [successive_projections(Y, r, known)[0]]
    runs += [random_projections(Y, n_directions, condition, rng, known) for _ in range(n_runs - 1)]
    errors: dict[tuple[int, ...], float] = {}
    for run in runs:
        answer = tuple(sorted(run.tolist()))
        if answer not in errors:
            errors[answer] = 1.0 - unexplained(data, data.take(np.array(answer))).explained
    history = np.array([errors[tuple(sorted(run.tolist()))] for run in runs])
    best = runs[int(history.argmin())]
    anchors = best[successive_projections(Y[:, best], r)[0]]
    Q, _ = np.linalg.qr(Y[:, anchors[:-1]])
    rest = column_lengths(Y - Q @ (Q.T @ Y))
    scores = stepwise_scores(anchors, np.minimum(rest / column_lengths(Y).max(), 1.0), known)
    return Selection(
        anchors=kept[anchors], scores=spread(scores, kept, n), history={"error": history}, n_outer=n_runs
    )


def random_projections(
    Y: Floats, n_directions: int, condition: float, rng: np.random.Generator, known: Known = NONE_KNOWN
) -> Ints:
    """Pick as many columns as Y has rows by their lengths ‖QR_j‖, with another random Q in each step.

    Included columns are the first.
    """
    r, n = Y.shape
    residual, free = Y.copy(), known.open(np.arange(n))
    anchors, given = np.empty(r, dtype=np.intp), len(known.include)
    basis = np.zeros((r, r))
    if given:
        anchors[:given], basis[:, :given] = known.include, basis_of_included(Y, known)
        residual -= basis @ (basis.T @ residual)
    for k in range(given, r):
        directions, _ = np.linalg.qr(rng.standard_normal((r, n_directions)))
        lengths = condition ** rng.random(n_directions)
        lengths /= lengths.max()  # so that squares stay in the floating-point range
        reach = column_lengths((lengths * directions).T @ residual)
        anchors[k] = first_largest(reach, free, ROUNDING)
        free[anchors[k]] = False
        basis[:, k] = orthogonalised(Y[:, anchors[k]], basis[:, :k])
        residual -= np.outer(basis[:, k], basis[:, k] @ residual)
    return anchors
