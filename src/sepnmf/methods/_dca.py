"""Proximal DCA, the paper's Algorithm 1."""

import math
from typing import Literal

import numpy as np

from sepnmf._kernels import omega, splitting
from sepnmf._parallel import Workers
from sepnmf._typing import ArrayLike, Floats
from sepnmf._validation import check_choice, check_number
from sepnmf.matrix import MatrixLike, Negative
from sepnmf.methods._iteration import ZERO_NORM, Callback, Init, IterationFailed, Problem, Run, frobenius
from sepnmf.methods._method import method
from sepnmf.methods._picking import Pick
from sepnmf.model._norms import WarmStart
from sepnmf.model._problem import powered
from sepnmf.model._thresholds import Form
from sepnmf.selection import Selection

VUpdate = Literal["exact", "projected"]


@method(
    summary="ratio of norms, DCA",
    use="to compare with the paper",
    cost="20 products an outer iteration",
    sparse=False,
    square=True,
    quick_up_to=2000,
    stoppable=True,
)
def dca(
    M: MatrixLike,
    r: int,
    p: float = 1,
    norm: str = "l1",
    *,
    lam: float,
    rho: float,
    beta: float,
    ratio_weight: float = 1.0,
    max_outer: int = 100,
    max_inner: int = 10,
    tol: float = 1e-5,
    inner_tol: float = 1e-5,
    init: Init = None,
    v_update: VUpdate = "exact",
    prox: Form | None = None,
    pick: Pick = "diag",
    weights: ArrayLike | None = None,
    negative: Negative = "error",
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Selection:
    r"""Separable NMF with a powered ratio of norms, by a difference-of-convex algorithm (DCA).

    At X_k, with α_k = ω‖X_k‖^p/‖X_k‖_F, minimises over Ω = {X ≥ 0 : x_ii ≤ 1, w_i x_ij ≤ w_j x_ii}

        λ‖X‖^p + ½‖MX − M‖²_F − α_k⟨X, X_k⟩/‖X_k‖_F + (β/2)‖X − X_k‖²_F,

    the convex majorant of λ‖X‖^p + ½‖MX − M‖²_F − α_k‖X‖_F at X_k, by ADMM from V = X_k, Z = 0::

        X ← (MᵀM + (β + ρ)I)⁻¹(MᵀM + βX_k + α_k X_k/‖X_k‖_F + ρ(V − Z))
        V ← argmin λ‖V‖^p + (ρ/2)‖V − (X + Z)‖² over Ω
        Z ← Z + X − V

    The paper prints α_k without a weight, ω = 1. Then limits satisfy its theorem on DCA, which is not
    stationarity of the ratio model (`sepnmf.model.criticality` measures either), and a change of the
    scale of M cannot be undone by λ, ρ and β alone: scale ω with them, by t² when M is scaled by t.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative, no zero column.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    p : float, default 1
        Power of the numerator, any real p ≥ 1.
    norm : {"l1", "nuclear", "rows"}, default "l1"
        Norm of the numerator: entrywise, nuclear, or the sum of the Euclidean norms of the rows.
    lam, rho, beta : float
        Weight λ of the numerator, penalty ρ of the inner ADMM and weight β of the proximal term; all
        positive.
    ratio_weight : float, default 1
        Weight ω > 0 of the ratio in α_k; the paper's algorithm has 1.
    max_outer, max_inner : int, default 100 and 10
        Maximum number of outer iterations, and of inner iterations in each of them.
    tol, inner_tol : float, default 1e-5
        The outer loop ends when the relative change of X is at most `tol`, an inner loop when it is less
        than `inner_tol`.
    init : None, "identity", "spa" or array_like of shape (n, n), default None
        X₀: the identity, SPA's columns with their nonnegative weights, or the matrix given.
    v_update : {"exact", "projected"}, default "exact"
        The constrained proximal map, or the paper's approximation of it: the unconstrained map,
        then the projection onto Ω.
    prox : {"exact", "paper"}, optional
        Which unconstrained map the projected V-update uses; by default the paper's printed
        formula (p = 1, 2, 3, 4). The exact V-update has no other form than "exact".
    pick : {"diag", "rows", "spa"}, default "diag"
        Anchors by largest diagonal entry of X, by largest row norm, or by SPA on the rows of X.
    weights : array_like of shape (n,), optional
        Weights w of Ω; by default the l1 norms of the columns of M.
    negative : {"error", "clip", "allow"}, default "error"
        How to treat negative entries of M: raise an error, set them to zero, or keep them.
    n_jobs : int, optional
        Number of threads, by default all cores. BLAS is limited to one thread meanwhile, except for
        "nuclear", which uses BLAS's own threads only. The result does not depend on the number of threads.
    callback : callable, optional
        Called with a `State` after each outer iteration; a true return value ends the run.

    Returns
    -------
    Selection
        X is the last X-update (not V, so it need not be in Ω). `history` has, per outer iteration, the
        objective, ratio and fit at X, ‖X − V‖_F as "residual_v", the relative change, the inner
        iterations, the seconds so far.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Warns
    -----
    ConvergenceWarning
        If the run ends by `max_outer`, diverges, or reaches X = 0.

    Notes
    -----
    Cost: with q = min(m, n), an inner iteration is two products of 2qn² operations (one of them over the
    rows of V that are not zero), and a projection onto
    Ω, several when the threshold has to be computed (p > 1), or tens of singular value decompositions of
    order n (exact and "nuclear"; ten once a run has had 15 000). Memory: five n × n arrays, more for
    "nuclear" and for "projected".

    When to use: to compare with the paper. For p = 1 the default start X₀ = I is already a critical
    point of the printed algorithm, and anchors differ from other columns only by small differences of the
    diagonal. With ``norm="rows"`` and ``ratio_weight=lam`` the scores of the other columns become zero.

    References
    ----------
    M. McCarver and J. Qin, "Separable nonnegative matrix factorization using powered ratio-of-norms
    regularization", Algorithm 1.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0.0, random_state=0)
    >>> sel = sepnmf.dca(M, 10, lam=0.01, rho=1, beta=1)
    >>> set(sel.anchors) == set(anchors)
    True
    """
    problem = Problem.check(M, r, p, norm, lam, weights, negative)
    rho = check_number(rho, "rho")
    beta = check_number(beta, "beta")
    ratio_weight = check_number(ratio_weight, "ratio_weight")
    run = Run(
        "dca",
        problem,
        max_outer=max_outer,
        max_inner=max_inner,
        tol=tol,
        inner_tol=inner_tol,
        pick=pick,
        callback=callback,
    )
    form = check_forms(v_update, prox)
    X0 = problem.start(init)
    p, gamma, sigma = problem.p, problem.lam / rho, beta + rho
    fit = problem.fit
    inverse = (1.0 / (fit.squares + sigma)).astype(X0.dtype)
    squares = fit.squares.astype(X0.dtype)

    X = run.last_usable = X0
    size, length = problem.norm.value(X0), frobenius(X0)
    # Z = D − V is not formed; D = X + Z is the point at which the V-update is evaluated.
    V, D, *spare = (np.empty_like(X0) for _ in range(4))
    warm_start, number = WarmStart(X0), X0.dtype.type
    with Workers(len(X0), 1 if problem.norm.name == "nuclear" else n_jobs) as workers, run:
        RX_k = fit.product(X0, workers)
        for _ in range(run.max_outer):
            if length <= ZERO_NORM:
                raise IterationFailed("collapsed")
            X_k, length_k = X, length
            alpha = ratio_weight * powered(size, p) / length
            pull = beta + alpha / length
            mix = number(pull / sigma), number(rho / sigma)
            V[:] = D[:] = X_k
            RV = RD = RX_k
            for j in range(1, run.max_inner + 1):
                X_last, length_last, X = X, length, spare[j % 2]
                if j > 1:
                    RV = fit.product(V, workers, rows=np.flatnonzero(V.diagonal()))
                # X = C + Rᵀ(Σ² + σI)⁻¹(R − RC), C = x·X_k + v·(V − Z): of RC only RV is new, and many
                # rows of V are zero. RX = RC + Σ²H, as the rows of R are orthogonal.
                RC = mix[0] * RX_k + mix[1] * (2 * RV - RD)
                H = inverse * (fit.R - RC)
                fit.back(H, X, workers)
                moved, length = distances(workers.run(splitting.advance, X_k, X_last, V, D, mix, X))
                RD = RC + squares * H + (RD - RV)
                if length > run.max_norm:
                    raise IterationFailed("diverged")
                if v_update == "exact":
                    problem.norm.prox_omega(D, gamma, p, problem.weights, warm_start, workers, V)
                else:
                    project_after_prox(problem, D, gamma, form, warm_start, workers, V)
                if moved < run.inner_tol * length_last:
                    break
            size = problem.norm.value(X)
            RX_k = fit.product(X, workers)
            moved, residual = distances(workers.run(splitting.compare, X, X_k, V))
            spare[j % 2] = X_k  # its memory is free now, while that of X is in use
            if length > ZERO_NORM:
                run.last_usable = X
            if run.ends(
                X,
                size,
                length=length,
                fit=0.5 * frobenius(RX_k - fit.R) ** 2,
                change=moved / length_k,
                met=moved <= run.tol * length_k,
                n_inner=j,
                residuals={"residual_v": residual},
            ):
                break
    return run.result()


def check_forms(v_update: object, prox: object) -> Form:
    """Return the form of the unconstrained map, after checking that the two options are compatible."""
    check_choice(v_update, "v_update", ("exact", "projected"))
    if prox is None:
        return "paper" if v_update == "projected" else "exact"
    check_choice(prox, "prox", ("exact", "paper"))
    if v_update == "exact" and prox == "paper":
        raise ValueError(
            'prox="paper" goes with v_update="projected": the exact V-update has no printed form.'
        )
    return "paper" if prox == "paper" else "exact"


def project_after_prox(
    problem: Problem, A: Floats, gamma: float, form: Form, warm_start: WarmStart, workers: Workers, V: Floats
) -> None:
    """V ← P_Ω of the unconstrained proximal map at A: the paper's approximation of the V-update.

    For p = 1 and the entrywise norm this is P_Ω(A − γ), computed in one pass, if the diagonal of A is
    soft-thresholded first: off the diagonal the projection sets all entries that are not positive to zero.
    """
    if problem.norm.name == "l1" and problem.p == 1:
        diagonal = A.diagonal().copy()
        np.fill_diagonal(A, np.sign(diagonal) * np.maximum(np.abs(diagonal) - gamma, 0) + gamma)
        workers.run(omega.project, A, A.dtype.type(gamma), problem.weights, warm_start.diag, V)
        np.fill_diagonal(A, diagonal)
        return
    shrunk, _ = problem.norm.prox(A, gamma, problem.p, form, warm_start)
    frobenius(shrunk)
    workers.run(omega.project, np.ascontiguousarray(shrunk), 0.0, problem.weights, warm_start.diag, V)


def distances(squares: Floats) -> tuple[float, float]:
    """Square roots of the first two sums of a pass; raises `IterationFailed` if they are not finite."""
    first, second = squares[:2].tolist()
    if not math.isfinite(first + second):
        raise IterationFailed("diverged")
    return math.sqrt(first), math.sqrt(second)
