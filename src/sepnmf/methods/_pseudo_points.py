"""Pseudo-point SPA: SPA on means of neighbouring columns, after a projection."""

import numpy as np
from scipy.spatial.distance import cdist

from sepnmf._typing import Floats, Ints, WhichColumns
from sepnmf._validation import check_count, check_number
from sepnmf.matrix import Dense, InMemory, Known, MatrixLike, Negative, as_matrix
from sepnmf.methods._method import method
from sepnmf.methods._spa import project_successively
from sepnmf.methods._subspace import (
    affine_view,
    column_lengths,
    first_largest,
    longest_column,
    nonzero_columns,
    spread,
    stepwise_scores,
)
from sepnmf.selection import Selection

BLOCK = 2_000_000  # distances held at a time
WIDTH = 2.0  # of the neighbourhood, in lengths of the noise
ROUNDING = 1e-10  # relative; distances that differ by less are the same: the mean of two is as far from both


@method(
    summary="SPA on means of neighbouring columns",
    use="much noise, and many columns near each anchor",
    cost="SVD, distances of all pairs of columns",
    quick_up_to=20_000,
)
def pseudo_point_spa(
    M: MatrixLike,
    r: int,
    *,
    radius: float | None = None,
    n_neighbors: int | None = None,
    negative: Negative = "error",
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """SPA on pseudo-points: means of the columns in a neighbourhood, after a projection on r − 1 dimensions.

    1. The columns become points x_j, their r − 1 leading principal coordinates: the vertices of a simplex
       and all their mixtures lie in an affine space of that dimension, and what is orthogonal to it is noise.
    2. The pseudo-point of x_j is the mean of all points within `radius` of it, itself included. Points with
       fewer than `n_neighbors` of these are left out: they are outliers, or moved far outwards by noise.
    3. SPA on the pseudo-points, with a last coordinate that is the same for all, chooses r of them. The
       anchor is the column nearest to each, of those in its mean.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    radius : float, optional
        Radius of a neighbourhood, in the units of M. By default 2σ√(r − 1), where σ is the standard
        deviation of white noise, estimated from what the projection leaves out. 0 takes no means.
    n_neighbors : int, optional
        Points that a neighbourhood needs, the point in its middle included. By default log n rounded up, or
        the median number of neighbours if that is less: no more than half of the points are left out.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). SPA has the pseudo-points of the
        included columns from the start, also of those in the middle of few points.

    Returns
    -------
    Selection
        The pseudo-points themselves are not part of it: `M[:, anchors]` are columns near to them.
        `scores`: the k-th anchor, k = 0, …, r − 1, has r + 1 − k; another column has what SPA's last step
        leaves of its pseudo-point relative to the largest such length, 0 if it was left out or excluded.

    Raises
    ------
    ValueError
        If an argument is not as described, the columns' affine hull has fewer than r − 1 dimensions, or
        that of the pseudo-points has.

    Notes
    -----
    Cost: a singular value decomposition of the centred data, O(mn·min(m, n)) for dense M, and O(rn²) for the
    distances. Memory: three copies of M (one if sparse), a few arrays of r × n numbers, and two million
    distances.

    With r = 1 there is no simplex, and the longest column is picked. Without noise that the projection could
    show (m < r, or none at all) the default radius is 0, and this is SPA on the projected columns.

    When to use: noise that is the same in all columns, and tens of columns near every vertex, as in images.
    An anchor that occurs only once is lost: its neighbourhood is empty, or its mean is a mixture. SPA goes
    the farther outside the simplex the more columns there are; means undo that.

    Projection, means and omission are those of the paper. The defaults are ours: the paper's analysis has
    radius and number of neighbours as free parameters, and the columns nearest to the means are returned
    here because every method of this library returns columns.

    References
    ----------
    J. Jin, Z. T. Ke, G. Moryoussef, J. Tang and J. Wang, "Improved algorithm and bounds for successive
    projection", International Conference on Learning Representations (2024); arXiv:2403.11013.

    Examples
    --------
    >>> import numpy as np, sepnmf
    >>> rng = np.random.default_rng(0)
    >>> W = rng.random((20, 3))
    >>> M = np.repeat(W, 30, axis=1) + 0.05 * rng.standard_normal((20, 90))
    >>> np.sort(sepnmf.pseudo_point_spa(M, 3, negative="allow").anchors // 30)
    array([0, 1, 2])
    """
    if radius is not None:
        radius = check_number(radius, "radius", strict=False)
    if n_neighbors is not None:
        n_neighbors = check_count(n_neighbors, "n_neighbors")
    given = as_matrix(M, negative).in_memory()
    n = given.shape[1]
    known = Known.of(include, exclude)
    data, kept = nonzero_columns(given, r, known)
    known = known.among(kept)
    if r == 1:
        anchors, scores = longest_column(data, known)
        return Selection(anchors=kept[anchors], scores=spread(scores, kept, n))
    X = affine_view(data, r, method="pseudo-point SPA")[:-1]
    if radius is None:
        reach = WIDTH * noise_level(data, X) * np.sqrt(r - 1)
    else:
        reach = radius / float(given.largest_entries().max())
    points, counts = neighbourhood_means(X, reach)
    if n_neighbors is None:
        n_neighbors = min(int(np.ceil(np.log(len(counts)))), int(np.median(counts)))
    dense = np.union1d(np.flatnonzero(counts >= max(n_neighbors, 1)), known.include)
    least = ROUNDING * column_lengths(X).max()
    picked, lengths = lifted_projections(points[:, dense], r, least, known.among(dense))
    free, anchors = known.open(np.arange(len(counts))), np.empty(r, dtype=np.intp)
    n_included = len(known.include)
    anchors[:n_included] = known.include
    for k, j in enumerate(dense[picked[n_included:]], n_included):
        near = free & (column_lengths(X - X[:, [j]]) <= reach)
        distances = column_lengths(X - points[:, [j]])
        anchors[k] = first_largest(-distances, near if near.any() else free, ROUNDING)
        free[anchors[k]] = False
    shares = spread(lengths / max(float(lengths.max()), np.finfo(float).tiny), dense, len(counts))
    scores = stepwise_scores(anchors, shares, known)
    return Selection(anchors=kept[anchors], scores=spread(scores, kept, n))


def noise_level(M: InMemory, X: Floats) -> float:
    """Return the standard deviation of white noise from what the principal coordinates X leave of M."""
    m, n = M.shape
    centre = M.mean_column()
    total = float(M.squares.sum())
    left = total - n * float(centre @ centre) - float(np.vdot(X, X))
    # What rounding leaves of a difference is no noise.
    if m <= len(X) or left <= max(m, n) * M.eps * total:
        return 0.0
    return float(np.sqrt(left / (n * (m - len(X)))))


def neighbourhood_means(X: Floats, radius: float) -> tuple[Floats, Ints]:
    """Return the mean of the columns within a radius of each column, and their number."""
    n = X.shape[1]
    if radius == 0:
        return X, np.ones(n, dtype=np.intp)
    means, counts = np.empty_like(X), np.empty(n, dtype=np.intp)
    points = np.ascontiguousarray(X.T)
    width = max(BLOCK // n, 1)
    for start in range(0, n, width):
        part = slice(start, start + width)
        near = cdist(points[part], points) <= radius
        counts[part] = near.sum(axis=1)
        means[:, part] = (near @ points).T / counts[part]
    return means, counts


def lifted_projections(points: Floats, r: int, least: float, known: Known) -> tuple[Ints, Floats]:
    """Pick r points by SPA in one more coordinate, the same for all; return what is left of all points.

    Points that are no longer than `least` are all the same.
    """
    height = float(column_lengths(points).max(initial=0.0))
    lifted = np.vstack([points, np.full(points.shape[1], height)])
    picked: Ints = np.zeros(0, dtype=np.intp)
    lengths: Floats = np.zeros(0)
    if height > least:
        picked, lengths, _ = project_successively(Dense(lifted), min(r, points.shape[1]), "none", known)
    if picked.size < r:
        raise ValueError(
            f"The pseudo-points of M have {picked.size} vertices, fewer than the r={r} anchors asked for: "
            "take a smaller radius or n_neighbors, or ask for fewer."
        )
    return picked, lengths
