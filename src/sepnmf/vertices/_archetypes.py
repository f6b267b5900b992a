"""Archetypal analysis from anchors: vertices that are convex combinations of columns."""

import warnings

import numpy as np

from sepnmf._typing import ArrayLike, Floats, Ints, Seed
from sepnmf._validation import accepts_rng, check_count, check_generator, check_number
from sepnmf.least_squares import hull_weights
from sepnmf.matrix import MatrixLike, Negative
from sepnmf.selection import Selection
from sepnmf.vertices._given import Given

ROWS = 200  # coordinates kept of columns more than twice as long
EXACT = 1e-14  # of ‖M‖²_F, a residual that is rounding
INSIDE = 1e-12  # of the squared length of the columns, a gain below which a point is the nearest of the hull


@accepts_rng
def archetypes(
    M: MatrixLike,
    anchors: Selection | ArrayLike,
    *,
    negative: Negative = "error",
    tol: float = 1e-6,
    max_iter: int = 500,
    random_state: Seed = 0,
    mask: ArrayLike | None = None,
    row_mask: ArrayLike | None = None,
) -> Selection:
    r"""Archetypes: vertices that are convex combinations of columns, from anchors on.

        min ‖M − MCH‖²_F   over C, H ≥ 0 whose columns sum to one

    has the anchors as those C with a single 1 in each column. Archetypes are between anchors and
    `minimum_volume`: means of several columns (less noise), but never outside of the convex hull of the data.
    Each round computes all weights H (least squares over the simplex), and then moves one archetype after the
    other to the nearest point of the hull to where it would be best. The objective never rises.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, in memory. Weights sum to one: divide the columns by their sums first if their lengths do not
        matter.
    anchors : Selection or array_like of int
        The anchors to start from.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    tol : float, default 1e-6
        Relative decrease of the objective in a round at which the descent ends.
    max_iter : int, default 500
        Most rounds.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default 0
        For the leading coordinates of columns of more than 400 rows.
    mask, row_mask
        Which columns and rows are used, as for `select`.

    Returns
    -------
    Selection
        That of the anchors, with the archetypes MC as `vertices`, in the order of the anchors, and without
        `spread`.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Warns
    -----
    ConvergenceWarning
        If the descent stops at `max_iter`.

    Notes
    -----
    Cost of a round: n least-squares problems over the simplex with r unknowns, and a few products of the data
    with a vector for each archetype.

    References
    ----------
    A. Cutler and L. Breiman, "Archetypal analysis", Technometrics 36 (1994).

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0.05, m=20, n=200, r=3, random_state=0)
    >>> found = sepnmf.archetypes(M, anchors, negative="allow")
    >>> found.vertices.shape
    (20, 3)
    """
    tol, max_iter = check_number(tol, "tol"), check_count(max_iter, "max_iter")
    rng = check_generator(random_state)
    given = Given.of(M, anchors, negative, mask, row_mask)
    r = len(given.anchors)
    X = np.ascontiguousarray(given.data.leading_coordinates(max(ROWS, 2 * r), rng), dtype=np.float64)
    C, settled = descend(X, given.anchors, tol, max_iter)
    if not settled:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"archetypes did not settle within {max_iter} rounds: raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return given.with_vertices(given.data.applied_to(C) * given.data.scale)


def descend(X: Floats, anchors: Ints, tol: float, max_iter: int) -> tuple[Floats, bool]:
    """The combinations C of columns, a column for each archetype, and whether the descent settled."""
    n, r = X.shape[1], len(anchors)
    C = np.zeros((n, r))
    C[anchors, np.arange(r)] = 1.0
    Z, H = X[:, anchors].copy(), None
    squares = np.einsum("ij,ij->j", X, X)
    last, exact = np.inf, EXACT * float(squares.sum())
    for _ in range(max_iter):
        H = hull_weights(np.ascontiguousarray(Z.T), np.ascontiguousarray(X.T), H)
        rest = X - Z @ H.T
        value = float(np.vdot(rest, rest))
        if last - value <= tol * value or value <= exact:
            return C, True
        last = value
        for k in range(r):
            weight = float(H[:, k] @ H[:, k])
            if weight == 0:
                continue  # no column has a share of this archetype
            wanted = Z[:, k] + rest @ H[:, k] / weight
            C[:, k] = nearest_of_hull(X, wanted, np.flatnonzero(C[:, k]), INSIDE * float(squares.max()))
            moved = X @ C[:, k]
            rest -= np.outer(moved - Z[:, k], H[:, k])
            Z[:, k] = moved
    return C, False


def nearest_of_hull(X: Floats, target: Floats, support: Ints, least_gain: float) -> Floats:
    """Weights, n of them, of the point nearest to the target in the convex hull of the columns of X.

    The point nearest in the hull of a few columns, to which the column is added that is farthest in the
    direction of the target, until none is farther than the point: then it is the nearest of all.
    """
    weights = np.zeros(X.shape[1])
    distance = np.inf
    while True:
        h = hull_weights(np.ascontiguousarray(X[:, support].T), target[None].copy())[0]
        point = X[:, support] @ h
        direction = target - point
        if float(direction @ direction) >= distance:  # rounding errors: no more progress
            return weights
        distance = float(direction @ direction)
        weights[:] = 0.0
        weights[support] = h
        along = direction @ X
        best = int(along.argmax())
        if along[best] - float(direction @ point) <= least_gain or best in support[h > 0]:
            return weights
        support = np.append(support[h > 0], best)
