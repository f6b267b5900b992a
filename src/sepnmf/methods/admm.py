"""ADMM-P, the paper's Algorithm 2."""

import numpy as np

from sepnmf.kernels import omega
from sepnmf.methods.iteration import (
    NOTHING,
    Broken,
    Callback,
    Init,
    Pick,
    Problem,
    Run,
    frobenius,
    nonzero,
)
from sepnmf.model.norms import Form
from sepnmf.model.problem import powered
from sepnmf.selection import Selection
from sepnmf.typing import ArrayLike, Floats, Seed, Sequence
from sepnmf.validation import Negative, check_choice, check_generator, check_number


def admm(
    M: ArrayLike,
    r: int,
    p: float = 2,
    norm: str = "l1",
    *,
    lam: float,
    rho: Sequence[float],
    max_outer: int = 100,
    max_inner: int = 10,
    tol: float = 1e-5,
    inner_tol: float = 1e-5,
    init: Init = None,
    prox: Form = "exact",
    pick: Pick = "diag",
    weights: ArrayLike | None = None,
    negative: Negative = "error",
    random_state: Seed = None,
    callback: Callback | None = None,
) -> Selection:
    r"""Separable NMF with a powered ratio of norms, by ADMM (ADMM-P).

    Minimises  λ‖X‖^p/‖X‖_F + ½‖MX − M‖²_F  over  Ω = {X ≥ 0 : x_ii ≤ 1, w_i x_ij ≤ w_j x_ii}.

    Outer iteration, with A = Y − U/ρ₁::

        X ← argmin λ‖X‖^p/‖X‖_F + (ρ₁/2)‖X − A‖² over Ω     (inner loop)
        Y ← (MᵀM + ρ₁I)⁻¹(MᵀM + ρ₁X + U)
        U ← U + ρ₁(X − Y)

    Inner iteration, from V = S = 0 and the last Z and W, with ρ = ρ₁ + ρ₂ + ρ₃::

        X ← prox of λ/(ρ‖Z‖_F) ‖·‖^p at (ρ₁A + ρ₂(Z − V/ρ₂) + ρ₃(W − S/ρ₃))/ρ
        Z ← argmin λ‖X‖^p/‖Z‖_F + (ρ₂/2)‖Z − C‖²,  C = X + V/ρ₂
        W ← P_Ω(X + S/ρ₃)
        V ← V + ρ₂(X − Z)
        S ← S + ρ₃(X − W)

    Parameters
    ----------
    M : array_like of shape (m, n)
        Data, nonnegative, no zero column.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    p : float, default 2
        Power of the numerator, any real p ≥ 1.
    norm : {"l1", "nuclear", "rows"}, default "l1"
        Norm of the numerator: entrywise, nuclear, or the sum of the Euclidean norms of the rows.
    lam : float
        Weight λ > 0 of the ratio.
    rho : sequence of three floats
        Penalties (ρ₁, ρ₂, ρ₃), all positive. When M is scaled by t, scale `lam` and `rho` by t².
    max_outer, max_inner : int, default 100 and 10
        Bounds on the outer iterations, and on the inner ones of each.
    tol, inner_tol : float, default 1e-5
        A loop ends when X changes relatively by less than this. 0 runs to the bounds.
    init : None, "identity", "spa" or array_like of shape (n, n), default None
        X₀: the identity, SPA's columns with their nonnegative weights, or the matrix given.
    prox : {"exact", "paper"}, default "exact"
        Proximal map in the X-update: the minimiser, or the paper's printed formula (p = 1, 2, 3, 4), which
        is not the minimiser for p ≥ 2 and can diverge.
    pick : {"diag", "rows", "spa"}, default "diag"
        Anchors by largest diagonal entry of X, by largest row norm, or by SPA on the rows of X.
    weights : array_like of shape (n,), optional
        Weights w of Ω; by default the l1 norms of the columns of M.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int or numpy.random.Generator, default None
        Used only when C = 0, where any Z of the right norm is a minimiser.
    callback : callable, optional
        Called with a `State` after each outer iteration; a true return value ends the run.

    Returns
    -------
    Selection
        X is the last X-update (not W, so it need not lie in Ω). `history` has, per outer iteration, the
        objective, ratio and fit at X, ‖X − Y‖_F, ‖X − Z‖_F and ‖X − W‖_F as "residual_y",
        "residual_z", "residual_w", the relative change, the inner iterations, the seconds so far.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Warns
    -----
    ConvergenceWarning
        If the run ends by `max_outer`, diverges, or reaches X = 0.

    See Also
    --------
    sepnmf.model.criticality : how far the answer is from a stationary point of the model.

    References
    ----------
    M. McCarver and J. Qin, "Separable nonnegative matrix factorization using powered ratio-of-norms
    regularization", Algorithm 2.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.01, random_state=0)
    >>> sel = sepnmf.admm(M, 10, norm="rows", lam=1e-3, rho=(0.01, 0.01, 0.01))
    >>> set(sel.anchors) == set(anchors)
    True
    """
    problem = Problem.check(M, r, p, norm, lam, weights, negative)
    rho1, rho2, rho3 = check_rho(rho)
    run = Run(
        "admm",
        problem,
        max_outer=max_outer,
        max_inner=max_inner,
        tol=tol,
        inner_tol=inner_tol,
        pick=pick,
        callback=callback,
    )
    check_choice(prox, "prox", ("exact", "paper"))
    rng = check_generator(random_state)
    X0 = problem.start(init)
    p, lam, total = problem.p, problem.lam, rho1 + rho2 + rho3

    X = Y = Z = W = X0
    U = np.zeros_like(X0)
    diag = np.ones(len(X0))
    with run:
        for _ in range(run.max_outer):
            X_before = X
            A = Y - U / rho1
            V, S = np.zeros_like(X), np.zeros_like(X)
            for j in range(1, run.max_inner + 1):  # noqa: B007
                X_last = X
                mean = (rho1 * A + (rho2 * Z - V) + (rho3 * W - S)) / total
                X, size = problem.norm.prox(mean, ratio_step(lam / total, Z), p, prox)
                Z = update_z(X + V / rho2, lam * powered(size, p) / rho2, rng)
                W = np.empty_like(X)
                omega.project(X + S / rho3, 0.0, problem.weights, diag, W)
                V = V + rho2 * (X - Z)
                S = S + rho3 * (X - W)
                if run.change(X, X_last) < run.inner_tol:
                    break
            Y = problem.fit.prox(X + U / rho1, rho1)
            U = U + rho1 * (X - Y)
            if frobenius(X_before) <= NOTHING:
                nonzero(X)  # one zero iterate can be left again, two in a row are the end
            change = run.change(X, X_before)
            residuals = {
                "residual_y": frobenius(X - Y),
                "residual_z": frobenius(X - Z),
                "residual_w": frobenius(X - W),
            }
            if run.ends(X, size, change=change, met=change < run.tol, n_inner=j, residuals=residuals):
                break
    return run.result(X0)


def check_rho(rho: Sequence[float]) -> tuple[float, float, float]:
    """Return the three penalties, each positive and finite."""
    try:
        values = list(rho)
    except TypeError:
        values = []
    if len(values) != 3:
        raise ValueError(f"rho must be three numbers (rho1, rho2, rho3), got {rho!r}.")
    first, second, third = (check_number(v, f"rho[{i}]") for i, v in enumerate(values))
    return first, second, third


def ratio_step(lam: float, Z: Floats) -> float:
    """λ/‖Z‖_F, the weight of the numerator; the run has collapsed when Z is as good as zero."""
    length = frobenius(Z)
    gamma = lam / length if length > 0.0 else np.inf
    if not np.isfinite(gamma):
        raise Broken("collapsed")
    return gamma


def update_z(C: Floats, d: float, rng: np.random.Generator) -> Floats:
    """argmin_Z d/‖Z‖_F + ½‖Z − C‖²_F: ζC with ζ³ − ζ² = d/‖C‖³, any direction when C = 0."""
    length = frobenius(C)
    if length == 0.0:
        P = rng.standard_normal(C.shape).astype(C.dtype)
        return P * float(np.cbrt(d) / np.linalg.norm(P))
    x = 27.0 * (d / length) / length / length
    if not np.isfinite(x):
        return C * float(np.cbrt(d) / length)
    # The paper's (27q + 2)² − 4 factored, so that neither a small nor a large q loses digits.
    s = np.cbrt((x + 2.0 + np.sqrt(x) * np.sqrt(x + 4.0)) / 2.0)
    return C * float((1.0 + s + 1.0 / s) / 3.0)
