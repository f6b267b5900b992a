"""Smoothed SPA and smoothed VCA: each step averages several columns near a vertex."""

from typing import Literal

import numpy as np

from sepnmf._typing import Floats, Ints, Seed, WhichColumns
from sepnmf._validation import check_choice, check_count, check_generator
from sepnmf.matrix import Dense, Known, MatrixLike, Negative, as_matrix
from sepnmf.methods._method import method
from sepnmf.methods._subspace import (
    basis_of_included,
    column_lengths,
    nonzero_columns,
    orthogonalised,
    signal_subspace,
    spread,
    stepwise_scores,
)
from sepnmf.selection import Selection, best_first

Average = Literal["mean", "median"]


@method(
    summary="SPA with averages of several columns per step",
    use="many pure columns, outliers",
    cost="as SPA, on a copy",
    sparse=False,
    quick_up_to=2000,
)
def smoothed_spa(
    M: MatrixLike,
    r: int,
    *,
    n_average: int = 1,
    average: Average = "mean",
    negative: Negative = "error",
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """SPA that projects out the average of several columns instead of one.

    r times, with R = M at first:

    1. d ← the column of R with the largest norm;
    2. J ← the `n_average` columns with the largest dᵀR;
    3. w ← the mean or median of M[:, J], and the anchor is the column of J nearest to w;
    4. R ← R projected onto the complement of w.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Dense data, nonnegative. Zero columns are never picked.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    n_average : int, default 1
        Columns per average, at most n/r: about as many as there are nearly pure columns of the rarest
        material. With 1 this is SPA.
    average : {"mean", "median"}, default "mean"
        Average, entry by entry. The median withstands outliers, and needs more columns.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns come first, and
        are projected out as they are. Excluded columns are in no average.

    Returns
    -------
    Selection
        The averages themselves are not part of it: `M[:, anchors]` are columns near to them.
        `scores`: the k-th anchor, k = 0, …, r − 1, has r + 1 − k; another column has the largest share of
        a step's largest dᵀR that it reached, at most 1; an excluded one has 0.

    Raises
    ------
    ValueError
        If an argument is not as described, M is sparse, or nothing is left of M before r steps.

    Notes
    -----
    Cost: O(mn) a step, three passes over the residual. Memory: two copies of M.

    When to use: many columns near each anchor and noise or outliers on all of them, as in images. Not when an
    anchor occurs only once: the average is then a mixture.

    References
    ----------
    N. Nadisic, N. Gillis and C. Kervazo, "Smoothed separable nonnegative matrix factorization", Linear
    Algebra and its Applications 676 (2023), 174-204.

    Examples
    --------
    >>> import numpy as np, sepnmf
    >>> W = np.random.default_rng(0).random((20, 3))
    >>> M = np.repeat(W, 10, axis=1) + 0.01 * np.random.default_rng(1).random((20, 30))
    >>> np.sort(sepnmf.smoothed_spa(M, 3, n_average=10).anchors // 10)
    array([0, 1, 2])
    """
    check_choice(average, "average", ("mean", "median"))
    dense = as_matrix(M, negative).dense()
    n = dense.shape[1]
    known = Known.of(include, exclude)
    matrix, kept = nonzero_columns(Dense(dense), r, known)
    known = known.among(kept)
    data = matrix.dense()
    p = check_average(n_average, data.shape[1] - len(known.exclude), r)
    anchors, shares = np.empty(r, dtype=np.intp), np.zeros(data.shape[1])
    residual = data.astype(np.float64)
    least = max(data.shape) * matrix.eps * column_lengths(data).max()
    basis, given = np.zeros((len(data), r)), len(known.include)
    if given:
        anchors[:given], basis[:, :given] = known.include, basis_of_included(residual, known)
        residual -= basis @ (basis.T @ residual)
    residual[:, known.exclude] = 0.0
    for k in range(given, r):
        lengths = column_lengths(residual)
        longest = lengths.argmax()
        if lengths[longest] <= least:
            raise nothing_left("smoothed SPA", k, r)
        reach = residual[:, longest] @ residual
        reach[known.exclude] = -np.inf
        nearest = best_first(reach, p)
        w = averaged(data[:, nearest], average)
        anchors[k] = representative(data, nearest, w, np.append(anchors[:k], known.exclude))
        shares = np.maximum(shares, reach / reach.max())
        basis[:, k] = orthogonalised(w, basis[:, :k])
        if basis[:, k] @ w <= least:
            raise nothing_left("smoothed SPA", k, r)
        residual -= np.outer(basis[:, k], basis[:, k] @ residual)
    return Selection(anchors=kept[anchors], scores=spread(stepwise_scores(anchors, shares), kept, n))


@method(
    summary="VCA with averages of several columns per step",
    use="many pure columns, outliers",
    cost="as VCA",
)
def smoothed_vca(
    M: MatrixLike,
    r: int,
    *,
    n_average: int = 1,
    average: Average = "mean",
    negative: Negative = "error",
    random_state: Seed = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """VCA that averages several columns at the end of each random direction.

    The columns are replaced by their projections Y = UUᵀM, U the r leading left singular vectors of M.
    Then r times:

    1. d ← a Gaussian direction in the range of U, made orthogonal to the averages so far;
    2. J ← the `n_average` columns with the largest dᵀY, or those with the smallest if the average of these
       is larger in absolute value;
    3. w ← the mean or median of Y[:, J], and the anchor is the column of J nearest to w.

    VCA's two views, projective and affine, are not used here.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    n_average : int, default 1
        Columns per average, at most n/r: about as many as there are nearly pure columns of the rarest
        material.
    average : {"mean", "median"}, default "mean"
        Average, entry by entry. The median withstands outliers, and needs more columns.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Where the directions come from; None gives different ones at each call.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns come first;
        directions are orthogonal to them as they are. Excluded columns are in no average.

    Returns
    -------
    Selection
        The averages themselves are not part of it: `M[:, anchors]` are columns near to them.
        `scores`: the k-th anchor, k = 0, …, r − 1, has r + 1 − k; another column has the largest share of
        a step's largest ``|dᵀY|`` that it reached on the side chosen, at most 1; an excluded one has 0.

    Raises
    ------
    ValueError
        If an argument is not as described, or M has numerical rank below r.

    Notes
    -----
    Cost: a truncated singular value decomposition, O(mn·min(m, n)) for dense M, and O(rn) a step (and
    O(mr·n_average) for the median). Memory: two copies of M (one if sparse), and r × n numbers.

    When to use: as smoothed SPA, on data where the longest columns are outliers: a random direction does not
    look for them. Several runs with different seeds, judged by the fit, are customary.

    References
    ----------
    N. Nadisic, N. Gillis and C. Kervazo, "Smoothed separable nonnegative matrix factorization", Linear
    Algebra and its Applications 676 (2023), 174-204.

    Examples
    --------
    >>> import numpy as np, sepnmf
    >>> W = np.random.default_rng(0).random((20, 3))
    >>> M = np.repeat(W, 10, axis=1) + 0.01 * np.random.default_rng(1).random((20, 30))
    >>> np.sort(sepnmf.smoothed_vca(M, 3, n_average=10, random_state=0).anchors // 10)
    array([0, 1, 2])
    """
    data = as_matrix(M, negative).in_memory()
    n = data.shape[1]
    check_choice(average, "average", ("mean", "median"))
    rng = check_generator(random_state)
    known = Known.of(include, exclude)
    data, kept = nonzero_columns(data, r, known)
    known = known.among(kept)
    p = check_average(n_average, data.shape[1] - len(known.exclude), r)
    U, Y, _ = signal_subspace(data, r, method="smoothed VCA")
    anchors, shares = np.empty(r, dtype=np.intp), np.zeros(data.shape[1])
    basis, given = np.zeros((r, r)), len(known.include)
    least = max(data.shape) * data.eps * column_lengths(Y).max()
    if given:
        anchors[:given], basis[:, :given] = known.include, basis_of_included(Y, known)
    allowed = np.setdiff1d(np.arange(data.shape[1]), known.exclude)
    for k in range(given, r):
        reach = orthogonalised(rng.standard_normal((r,)), basis[:, :k]) @ Y
        nearest, opposite = allowed[best_first(reach[allowed], p)], allowed[best_first(-reach[allowed], p)]
        if abs(averaged(reach[opposite], average)) > abs(averaged(reach[nearest], average)):
            nearest, reach = opposite, -reach
        w = U.T @ averaged(U @ Y[:, nearest], average)
        anchors[k] = representative(Y, nearest, w, np.append(anchors[:k], known.exclude))
        shares = np.maximum(shares, reach / reach[allowed].max())
        basis[:, k] = orthogonalised(w, basis[:, :k])
        if basis[:, k] @ w <= least:
            raise nothing_left("smoothed VCA", k, r)
    return Selection(anchors=kept[anchors], scores=spread(stepwise_scores(anchors, shares, known), kept, n))


def check_average(n_average: object, n: int, r: int) -> int:
    """Return the number of columns per average: r times as many must fit into the n nonzero columns."""
    p = check_count(n_average, "n_average")
    if p * r > n:
        raise ValueError(
            f"n_average must be at most n/r, {n // r} for {n} nonzero columns and r={r}, got {p}."
        )
    return p


def averaged(columns: Floats, average: str) -> Floats:
    """Mean or median along the last axis."""
    return np.asarray(columns.mean(axis=-1) if average == "mean" else np.median(columns, axis=-1))


def representative(Y: Floats, nearest: Ints, w: Floats, taken: Ints) -> int:
    """The column nearest to the average w: of those averaged, or of all if those are all taken."""
    open_columns = np.setdiff1d(nearest, taken)
    if open_columns.size == 0:
        open_columns = np.setdiff1d(np.arange(Y.shape[1]), taken)
    return int(open_columns[column_lengths(Y[:, open_columns] - w[:, None]).argmin()])


def nothing_left(method: str, k: int, r: int) -> ValueError:
    """Say that k averages already span the data."""
    return ValueError(
        f"{method} found nothing left of M after {k} step(s), got r={r}: "
        "ask for fewer anchors, or for a smaller n_average."
    )
