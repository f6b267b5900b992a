"""Vertices outside of the data: the smallest cone that has the columns in it, up to noise."""

import warnings

import numpy as np

from sepnmf._descent import Noise, Normalize, Problem, are_dependent, cloud, smallest_cone
from sepnmf._typing import ArrayLike, Floats, Seed
from sepnmf._validation import accepts_rng, check_count, check_generator, check_number
from sepnmf.least_squares import nnls
from sepnmf.matrix import MatrixLike, Negative
from sepnmf.selection import Selection
from sepnmf.vertices._given import Given

FAINT = 1e-6  # of the columns' lengths: noise that is assumed at least, so that volume has a weight
LOUD = 0.1  # of the columns' variance in the direction of the least: noise that is assumed at most
UNUSED = 1e-9  # of the largest, a scale below which a vertex is scaled like its anchor


@accepts_rng
def minimum_volume(
    M: MatrixLike,
    anchors: Selection | ArrayLike,
    *,
    normalize: Normalize = "auto",
    noise: Noise = "auto",
    negative: Negative = "error",
    tol: float = 1e-9,
    max_iter: int = 1000,
    random_state: Seed = 0,
    mask: ArrayLike | None = None,
    row_mask: ArrayLike | None = None,
) -> Selection:
    r"""Vertices of the smallest cone that has all columns in it, up to noise: they need not be columns.

    This leaves separable NMF. It is for data without pure columns (`Selection.status` is "no pure columns"),
    where every choice of anchors is a mixture. In r leading directions, over the facets v_k of the cone,

        Σ_j Σ_k ((−v_kᵀm_j)₊/‖v_k‖)² + (n σ²/2) · log volume

    is minimised, from the anchors on. The first term is how far columns lie outside. The weight of the second
    is where noise of variance σ² on columns that are uniform in the cone keeps the facets in their place:
    there is no parameter. Noise that is not white is made white first, as in `auto`; with misfit, σ² is what
    r directions leave.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, in memory. Their columns need not have the same length.
    anchors : Selection or array_like of int
        The anchors to start from.
    normalize, noise, negative, random_state
        As for `auto`.
    tol : float, default 1e-9
        Relative decrease of the objective at which the descent ends.
    max_iter : int, default 1000
        Most steps of a descent.
    mask, row_mask
        Which columns and rows are used, as for `select`.

    Returns
    -------
    Selection
        That of the anchors, with these `vertices`, in the order of the anchors, and without `spread`. They
        are scaled so that the weights of the columns sum to one as nearly as possible, and may have negative
        entries.

    Raises
    ------
    ValueError
        If an argument is not as described, if the anchors are dependent, or if the data have fewer
        directions than there are anchors.

    Warns
    -----
    ConvergenceWarning
        If the descent stops at `max_iter`.
    UserWarning
        If the data have misfit and not noise: then the outermost columns decide, and on scenes with pure
        pixels (Samson, Jasper Ridge) the vertices are farther from the truth than the anchors.

    Notes
    -----
    The vertices are identified if columns lie on all facets, roughly if the largest share of a vertex in a
    column is more than 1/√(r − 1); for r = 3 that is 0.71. Below, and with few columns for many anchors (100
    for 10), another cone can be smaller than the true one.

    Cost: an SVD, and O(nr²) a step; of more than 2000 columns, those nearest to the facets of the anchors.

    References
    ----------
    M. D. Craig, "Minimum-volume transforms for remotely sensed data", IEEE Trans. Geosci. Remote Sens. 32
    (1994). J. M. Bioucas-Dias, "A variable splitting augmented Lagrangian approach to linear spectral
    unmixing", WHISPERS (2009), has facets as variables too, with another penalty and a parameter. The bound
    is of C.-H. Lin et al., IEEE Trans. Geosci. Remote Sens. 53 (2015).

    Examples
    --------
    >>> import sepnmf
    >>> M, *_, vertices = sepnmf.datasets.make_capped(0.8, random_state=0)
    >>> sel = sepnmf.select(M, 5)
    >>> sel.status
    'no pure columns'
    >>> outside = sepnmf.minimum_volume(M, sel)
    >>> before, after = (sepnmf.metrics.mrsa(W, vertices) for W in (M[:, sel.anchors], outside.vertices))
    >>> bool(after < before / 4)
    True
    """
    tol, max_iter = check_number(tol, "tol"), check_count(max_iter, "max_iter")
    rng = check_generator(random_state)
    given = Given.of(M, anchors, negative, mask, row_mask)
    r = len(given.anchors)
    problem = Problem.prepare(given.data, r, normalize, rng, 1, noise)
    if len(problem.X) < r:
        raise ValueError(
            f"The data have {len(problem.X)} directions, and minimum volume needs one for each of the {r} "
            "anchors: use fewer."
        )
    if problem.noise is None:
        warnings.warn(
            "What as many directions as anchors leave of the data is no noise: vertices of minimum volume "
            "follow the outermost columns, and may be worse than the anchors.",
            UserWarning,
            stacklevel=2,
        )
    found = cloud(problem)
    if are_dependent(found.X[:, given.anchors]):
        raise ValueError("The anchors are linearly dependent: use fewer, or others.")
    variance = assumed_variance(found.X, found.variance, problem.data.height)
    smallest = smallest_cone(found.X, given.anchors, variance, found.sizes, tol=tol, max_iter=max_iter)
    if not smallest.settled:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"minimum_volume did not settle within {max_iter} steps: raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    W = found.X[:, given.anchors] @ smallest.weights
    return given.with_vertices(in_units(problem, found.X, W, given))


def assumed_variance(X: Floats, variance: float, m: int) -> float:
    """The variance of the noise, or the least and the most with which the problem can be solved."""
    squares, n = np.linalg.eigvalsh(X @ X.T), X.shape[1]
    least = FAINT**2 * float(squares.sum()) / (m * n)
    return float(max(min(variance, LOUD * float(squares[0]) / n), least))


def in_units(problem: Problem, X: Floats, W: Floats, given: Given) -> Floats:
    """Vertices W along leading directions X in the units of M, scaled so that weights sum to about one."""
    vertices = problem.data.applied_to(X.T @ np.linalg.solve(X @ X.T, W))
    if problem.noise is not None:
        vertices = problem.noise.as_given(vertices)
    unit = problem.unit / given.data.scale
    H = np.maximum(np.linalg.solve(W, X), 0.0) * (problem.column_scale * unit)
    scales = nnls(np.ascontiguousarray(H.T), np.ones((H.shape[1], 1)))[:, 0]
    lengths = np.sqrt(given.data.squares[given.anchors]) / np.linalg.norm(vertices, axis=0)
    factors = np.where(scales > UNUSED * scales.max(), 1 / np.maximum(scales, 1e-300), lengths)
    return np.asarray(vertices * factors * given.data.scale)
