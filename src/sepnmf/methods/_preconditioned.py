"""SPA after a change of coordinates that makes the anchors nearly orthonormal."""

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np
from scipy import linalg

from sepnmf._typing import Floats, Ints, WhichColumns
from sepnmf._validation import check_choice, check_count, check_number
from sepnmf.matrix import InMemory, Known, MatrixLike, Negative, as_matrix
from sepnmf.methods._method import method
from sepnmf.methods._spa import successive_projections
from sepnmf.methods._subspace import (
    affine_view,
    longest_column,
    nonzero_columns,
    signal_subspace,
    spread,
    stepwise_scores,
)
from sepnmf.selection import Selection, best_first

PRECONDITIONERS = ("ellipsoid", "spa", "whitening", "translation", "lifting")


@method(
    summary="SPA after a change of coordinates: ellipsoid, SPA, whitening, lifting",
    use="nearly dependent anchors, moderate noise",
    cost="SVD + SPA",
)
def preconditioned_spa(
    M: MatrixLike,
    r: int,
    *,
    preconditioner: Literal["ellipsoid", "spa", "whitening", "translation", "lifting"] = "ellipsoid",
    tol: float = 1e-4,
    max_iter: int = 100_000,
    negative: Negative = "error",
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """Project the columns on r dimensions, make the anchors nearly orthonormal there, and run SPA.

    SPA withstands noise in proportion to 1/κ(W)², W the anchors' columns. With Y = UᵀM, U the r leading
    left singular vectors, SPA runs on QY instead, where QY[:, anchors] should be well conditioned:

    - "ellipsoid": Q = A^½ with A the solution of  min −log det A  subject to  yᵀAy ≤ 1 for every column y
      of Y, the ellipsoid of smallest volume that is centred at the origin and holds all columns;
    - "spa": Q = Y[:, K]⁻¹ with the columns K that SPA finds in Y;
    - "whitening": Q = (YYᵀ)^(−½).

    Two others move the origin instead, which changes the condition of the anchors too. They start from X, the
    r − 1 leading principal coordinates of the columns, so that the weights should sum to one:

    - "translation": the longest column is the first anchor and the new origin; SPA takes the other r − 1 from
      the differences of X from it, so that distances are from affine hulls instead of spans;
    - "lifting": SPA runs on the columns (x − v, c). For the anchors' columns W of X, v their mean and
      σ₁ ≥ … ≥ σ_(r−1) > 0 the singular values of W − v1ᵀ, those of the lifted W are the same and c√r, so
      that its condition is σ₁/σ_(r−1), the least that any v and c give, for every c√r between these two.
      v and c√r = √(σ₁σ_(r−1)) come from the columns that SPA takes from X with c the length of the longest x
      and v = 0.

    The ellipsoid is found from the dual: weights u ≥ 0 that sum to one and maximise log det S, with
    S = Σ u_j y_j y_jᵀ; then A = S⁻¹/r. Frank-Wolfe steps with exact line search put weight on the column
    of largest yᵀS⁻¹y, or take it off the weighted column of smallest, within an active set that starts
    with SPA's columns and is joined by columns outside the ellipsoid. The end is when yᵀS⁻¹y ≥ (1 − tol)r
    for the weighted columns and yᵀS⁻¹y ≤ (1 + tol)r for all: log det A is then within r·tol of the optimum.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    preconditioner : {"ellipsoid", "spa", "whitening", "translation", "lifting"}, default "ellipsoid"
        The change of coordinates.
    tol : float, default 1e-4
        How exact the ellipsoid is, as above; SPA hardly notices.
    max_iter : int, default 100,000
        Bound on the ellipsoid's steps. Thousands are usual, more when all columns lie on one ellipsoid.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). The change of coordinates is the
        same without them; SPA then has the included columns from the start.

    Returns
    -------
    Selection
        The anchors are in the order in which SPA takes them from Y, or from the columns that were moved.
        `scores`: the k-th, k = 0, …, r − 1, has r + 1 − k; another column has its residual norm at SPA's last
        step relative to the longest column that SPA saw, at most 1; an excluded one has 0. `n_outer` counts
        the ellipsoid's steps.

    Raises
    ------
    ValueError
        If an argument is not as described, M has numerical rank below r, or, with "translation" and
        "lifting", the columns' affine hull has fewer than r − 1 dimensions.

    Warns
    -----
    ConvergenceWarning
        If the ellipsoid needs more than `max_iter` steps; the anchors come from the last one.

    Notes
    -----
    Cost: a truncated singular value decomposition, O(mn·min(m, n)) for dense M, then O(r²n) for
    SPA and for each change of the active set, and ``O(r|a|)`` for a step with the active columns a.
    Memory: two copies of M (one if sparse), and 4r × n numbers.

    When to use: anchors that are nearly dependent (similar spectra), moderate noise, rank r known.
    "ellipsoid" has the strongest guarantee; "spa" does not depend on how often each material occurs
    either, but on SPA's first answer; "whitening" does depend on it. With much noise and well-conditioned
    anchors plain SPA is better: the small singular directions that Q enlarges are then mostly noise.
    "lifting" and "translation" are for anchors that differ little beside what they have in common (an offset,
    a background), and for r anchors in r − 1 dimensions, where M has rank r − 1 and SPA finds only that many.

    "translation" is the variant of SPA for topic models by Arora et al.; "lifting" is after Barbarino and
    Gillis: the principal coordinates, the first answer from which v and c are estimated, and the geometric
    mean for c are ours.

    References
    ----------
    N. Gillis and S. A. Vavasis, "Semidefinite programming based preconditioning for more robust
    near-separable nonnegative matrix factorization", SIAM Journal on Optimization 25 (2015), 677-698.

    N. Gillis and W.-K. Ma, "Enhancing pure-pixel identification performance via preconditioning", SIAM
    Journal on Imaging Sciences 8 (2015), 1161-1186.

    S. Arora et al., "A practical algorithm for topic modeling with provable guarantees", International
    Conference on Machine Learning (2013), 280-288.

    G. Barbarino and N. Gillis, "On the robustness of the successive projection algorithm" (2024),
    arXiv:2411.16195.

    M. J. Todd and E. A. Yildirim, "On Khachiyan's algorithm for the computation of minimum-volume
    enclosing ellipsoids", Discrete Applied Mathematics 155 (2007), 1731-1744.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.1, random_state=0)
    >>> set(sepnmf.preconditioned_spa(M, 10, negative="allow").anchors) == set(anchors)
    True
    """
    data = as_matrix(M, negative).in_memory()
    n = data.shape[1]
    check_choice(preconditioner, "preconditioner", PRECONDITIONERS)
    tol = check_number(tol, "tol")
    max_iter = check_count(max_iter, "max_iter")
    known = Known.of(include, exclude)
    data, kept = nonzero_columns(data, r, known)
    known = known.among(kept)
    if preconditioner in ("translation", "lifting"):
        move = translated_spa if preconditioner == "translation" else lifted_spa
        anchors, shares = longest_column(data, known) if r == 1 else move(data, r, known)
        scores = stepwise_scores(anchors, shares / shares.max(), known)
        return Selection(anchors=kept[anchors], scores=spread(scores, kept, n), status="converged")
    _, Y, sigma = signal_subspace(data, r, method="preconditioned SPA")
    # The other two do not depend on the coordinates they start from, and white ones are well scaled.
    Z: Floats = Y / sigma[:, None]
    steps, converged = 0, True
    if preconditioner != "whitening":
        first, _ = successive_projections(Y, r)
        if preconditioner == "spa":
            Z = np.linalg.solve(Z[:, first], Z)
        else:
            S, steps, converged = enclosing_ellipsoid(Z, first, tol, max_iter)
            Z = linalg.solve_triangular(np.linalg.cholesky(S), Z, lower=True)
    found, residuals = successive_projections(Z, r, known)
    # In Z the anchors are about equally long, which leaves their order to rounding; in Y it means something.
    anchors = found[successive_projections(Y[:, found], r)[0]]
    if not converged:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"preconditioned SPA took {steps} steps without finding the ellipsoid to tol={tol:g}: "
            "raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return Selection(
        anchors=kept[anchors],
        scores=spread(stepwise_scores(anchors, residuals / residuals.max(), known), kept, n),
        status="converged" if converged else "max_outer",
        converged=converged,
        n_outer=steps,
    )


def translated_spa(data: InMemory, r: int, known: Known) -> tuple[Ints, Floats]:
    """The longest column, and r − 1 that SPA takes from the differences; and the residual norms of SPA.

    The first is an included column, if there is one.
    """
    X = affine_view(data, r, method="preconditioned SPA")[:-1]
    first = longest_column(data, known)[0]
    others, residuals = successive_projections(
        X - X[:, first], r - 1, replace(known, include=known.include[1:])
    )
    return np.concatenate([first, others]), residuals


def lifted_spa(data: InMemory, r: int, known: Known) -> tuple[Ints, Floats]:
    """What SPA takes from columns that are moved and lifted by what its first answer says, and its scores."""
    view = affine_view(data, r, method="preconditioned SPA")
    X = view[:-1]
    W = X[:, successive_projections(view, r)[0]]
    centre = W.mean(axis=1, keepdims=True)
    sigma = np.linalg.svd(W - centre, compute_uv=False)
    height = np.sqrt(sigma[0] * sigma[r - 2] / r)
    return successive_projections(np.vstack([X - centre, np.full(X.shape[1], height)]), r, known)


def enclosing_ellipsoid(Y: Floats, first: Ints, tol: float, max_iter: int) -> tuple[Floats, int, bool]:
    """S of the smallest ellipsoid {x : xᵀS⁻¹x ≤ r} around the columns of Y, the steps, and success.

    The search starts from the r linearly independent columns `first` with equal weights.
    """
    r = len(Y)
    active, weights = first.copy(), np.full(r, 1 / r)
    steps = 0
    while True:
        weights, taken, converged = design_weights(Y[:, active], weights, tol, max_iter - steps)
        steps += taken
        active, weights = active[weights > 0], weights[weights > 0]
        S = (Y[:, active] * weights) @ Y[:, active].T
        Z = linalg.solve_triangular(np.linalg.cholesky(S), Y, lower=True)
        outside = np.einsum("ij,ij->j", Z, Z) / r - 1  # of every column, yᵀS⁻¹y against its bound
        worst = best_first(outside, 10 * r)
        worst = worst[outside[worst] > tol]
        worst = worst[~np.isin(worst, active)]
        if worst.size == 0 or not converged:
            return S, steps, converged
        active = np.concatenate([active, worst])
        weights = np.concatenate([weights, np.zeros(worst.size)])


def design_weights(Y: Floats, weights: Floats, tol: float, max_iter: int) -> tuple[Floats, int, bool]:
    """Weights that maximise log det Σ u_j y_j y_jᵀ, found from those given; the steps, and success.

    With κ_j = y_jᵀS⁻¹y_j, a step S ← (1 − β)S + βy_j y_jᵀ changes log det S by
    (r − 1) log(1 − β) + log(1 + β(κ_j − 1)), largest at β = (κ_j − r)/(r(κ_j − 1)).
    """
    r = len(Y)
    u = weights.copy()
    G = np.linalg.inv((Y * u) @ Y.T)
    kappa = np.einsum("ij,ij->j", Y, G @ Y)
    for step in range(max_iter):
        high = int(kappa.argmax())
        low = int(np.where(u > 0, kappa, np.inf).argmin())
        if max(kappa[high] - r, r - kappa[low]) <= tol * r:
            return u, step, True
        j = high if kappa[high] - r >= r - kappa[low] else low
        all_of_it = -u[j] / (1 - u[j])
        # Below κ = 1 the gain grows all the way to weight zero.
        beta = (kappa[j] - r) / (r * (kappa[j] - 1)) if kappa[j] > 1 else all_of_it
        beta = max(beta, all_of_it)
        g = G @ Y[:, j]
        c = beta / (1 - beta + beta * kappa[j])
        G = (G - c * np.outer(g, g)) / (1 - beta)
        kappa = (kappa - c * (g @ Y) ** 2) / (1 - beta)
        u *= 1 - beta
        u[j] = u[j] + beta if beta > all_of_it else 0
    return u, max_iter, False
