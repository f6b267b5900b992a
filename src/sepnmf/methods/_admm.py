"""ADMM-P, the paper's Algorithm 2."""

import math
from typing import Any

import numpy as np

from sepnmf._kernels import consensus
from sepnmf._parallel import Workers
from sepnmf._typing import ArrayLike, Floats, Seed, Sequence
from sepnmf._validation import check_choice, check_generator, check_number
from sepnmf.matrix import MatrixLike, Negative
from sepnmf.methods._iteration import ZERO_NORM, Callback, Init, IterationFailed, Problem, Run, frobenius
from sepnmf.methods._method import method
from sepnmf.methods._picking import Pick
from sepnmf.model._norms import Shrinkage, WarmStart
from sepnmf.model._problem import powered
from sepnmf.model._thresholds import Form
from sepnmf.selection import Selection


@method(
    summary="ratio of norms, ADMM-P",
    use="λ and ρ are known",
    cost="2 products + 10 passes over n² an outer iteration",
    sparse=False,
    square=True,
    quick_up_to=2000,
    stoppable=True,
)
def admm(
    M: MatrixLike,
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
    n_jobs: int | None = None,
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
    M : matrix_like of shape (m, n)
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
        Penalty parameters (ρ₁, ρ₂, ρ₃), all positive. When M is scaled by t, scale `lam` and `rho` by t².
    max_outer, max_inner : int, default 100 and 10
        Maximum number of outer iterations, and of inner iterations in each of them.
    tol, inner_tol : float, default 1e-5
        A loop ends when the relative change of X is less than this. 0 disables the test.
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
        How to treat negative entries of M: raise an error, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Used only when C = 0, where any Z of the right norm is a minimiser.
    n_jobs : int, optional
        Number of threads, by default all cores. BLAS is limited to one thread meanwhile, except for
        "nuclear", which uses BLAS's own threads only. The result does not depend on the number of threads.
    callback : callable, optional
        Called with a `State` after each outer iteration; a true return value ends the run.

    Returns
    -------
    Selection
        X is the last X-update (not W, so it need not be in Ω). `history` has, per outer iteration, the
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

    Notes
    -----
    Cost: with q = min(m, n), an outer iteration is two products of 2qn² operations, and an inner one a pass
    over n² entries, a few passes when the threshold has to be computed (p > 1), or a singular value
    decomposition of order n ("nuclear"). Memory: five n × n arrays, and at least one more for "nuclear".

    When to use: n up to several thousand, and values of λ and ρ known from similar data. "rows" favours X
    with few nonzero rows, which is what separability means; the entrywise ratio of l1-normalised data is
    minimal at X = I.

    See Also
    --------
    sepnmf.model.criticality : distance of the result from a stationary point of the model.

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

    fit = problem.fit
    inverse = (1.0 / (fit.squares + rho1)).astype(X0.dtype)
    # The multiplier U starts at zero and stays in the range of Mᵀ: U = ρ₁RᵀT, and neither U nor Y is formed.
    T = np.zeros_like(fit.R)
    A = X0  # Y₀ = X₀, U₀ = 0; the inner loop copies X₀
    # With the nuclear norm nearly all time is spent in BLAS and LAPACK, which have their own threads.
    with Workers(len(X0), 1 if problem.norm.name == "nuclear" else n_jobs) as workers, run:
        inner = InnerLoop(problem, X0, (rho1, rho2, rho3), prox, workers, rng)
        run.last_usable = inner.before
        for _ in range(run.max_outer):
            n_inner = inner.solve(A, run.max_inner, run.inner_tol, run.max_norm)
            misfit = fit.misfit(inner.X, workers)
            G = inverse * (misfit + rho1 * T)  # Y = X + RᵀG
            T -= G  # U ← U + ρ₁(X − Y)
            fit.add_product(inner.X, G - T, A, workers)  # A = Y − U/ρ₁
            change, residual_z, residual_w = inner.compare()
            residuals = {
                "residual_y": math.sqrt(float(np.einsum("ij,ij->i", G, G) @ fit.squares[:, 0])),
                "residual_z": residual_z,
                "residual_w": residual_w,
            }
            if run.ends(
                inner.X,
                inner.size,
                length=inner.length,
                fit=0.5 * frobenius(misfit) ** 2,
                change=change,
                met=change < run.tol,
                n_inner=n_inner,
                residuals=residuals,
            ):
                break
    return run.result()


class InnerLoop:
    """ADMM for the X-subproblem, on the matrices X, C = X + V/ρ₂ and E = X + S/ρ₃ (see `kernels.consensus`).

    The other matrices follow: Z = ζC, V = ρ₂(1 − ζ)C, W = P_Ω(E), S = ρ₃(E − W); t is the diagonal of W.
    The penalty parameters are divided by their sum. The class implements `ImplicitMatrix` for the point at
    which the X-update evaluates its proximal map; that matrix is formed only if the norm needs it.
    """

    def __init__(
        self,
        problem: Problem,
        X0: Floats,
        rho: tuple[float, float, float],
        form: Form,
        workers: Workers,
        rng: np.random.Generator,
    ) -> None:
        self.problem, self.form, self.workers, self.rng = problem, form, workers, rng
        self.total = sum(rho)
        self.rho1, self.rho2, self.rho3 = (x / self.total for x in rho)
        self.X, self.C, self.E, self.before = (X0.copy() for _ in range(4))
        self.t = np.diag(X0).copy()
        self.zeta, self.size = 1.0, 0.0
        self.warm_start = WarmStart(X0)
        self.length = self.length_before = self.length_c = frobenius(X0)
        self.w_is_e = True  # initially W = E = X₀, which need not be in Ω
        self.n_entries = X0.size
        self.ones = np.ones_like(self.t)
        self.double = X0.dtype == np.float64
        self.buffer: Floats | None = None

    def solve(self, A: Floats, max_inner: int, tol: float, max_norm: float) -> int:
        """Run inner iterations for this A, from V = S = 0 and the last Z and W; return their number."""
        self.point = (A, self.C, self.E, self.t, self.problem.weights)
        lam, p = self.problem.lam / self.total, self.problem.p
        w, e = (0.0, self.rho3) if self.w_is_e else (self.rho3, 0.0)
        self.mix = self.typed(self.rho1, self.rho2 * self.zeta, w, e)
        v_kept = s_kept = 0.0
        for j in range(1, max_inner + 1):  # noqa: B007
            gamma = ratio_step(lam, abs(self.zeta) * self.length_c)
            shrinkage = self.problem.norm.shrinkage(self, gamma, p, self.form, self.warm_start)
            change = self.advance(shrinkage, v_kept, s_kept)
            if self.length > max_norm:
                raise IterationFailed("diverged")
            self.update_z(lam / self.rho2 * powered(self.size, p))
            self.mix = self.typed(self.rho1, self.rho2 * (2 * self.zeta - 1), 2 * self.rho3, -self.rho3)
            v_kept, s_kept = 1 - self.zeta, 1.0
            if change < tol:
                break
        return j

    def advance(self, shrinkage: Shrinkage, v_kept: float, s_kept: float) -> float:
        """Do the X-, W-, V- and S-updates; return the relative change of X."""
        point, mix = self.point, self.mix
        if shrinkage.matrix is not None:
            point, mix = (shrinkage.matrix, *point[1:]), self.typed(1.0, 0.0, 0.0, 0.0)
        factors = self.ones
        if shrinkage.factors is not None:
            factors = shrinkage.factors.astype(self.ones.dtype, copy=False)
        v_kept, s_kept, tau = self.typed(v_kept, s_kept, shrinkage.tau)
        step = (v_kept, s_kept, factors, tau)
        sums = self.workers.run(consensus.advance, point, self.X, mix, step)
        size, moved, length_c, length = sums.tolist()
        if not math.isfinite(size + moved + length_c + length):
            raise IterationFailed("diverged")
        start, self.w_is_e = self.length, False
        self.size = size if shrinkage.size is None else shrinkage.size
        self.length_c, self.length = math.sqrt(length_c), math.sqrt(length)
        return math.sqrt(moved) / start if start > 0.0 else math.inf

    def update_z(self, d: float) -> None:
        """Z ← ζC; if C = 0, a random matrix with the norm of a minimiser."""
        if self.length_c > 0.0:
            self.zeta = z_factor(d, self.length_c)
            return
        self.C[:] = self.rng.standard_normal(self.C.shape)
        self.C *= math.cbrt(d) / float(np.linalg.norm(self.C))
        self.zeta, self.length_c = 1.0, math.cbrt(d)

    def compare(self) -> tuple[float, float, float]:
        """Return the relative change of X since the last call, ‖X − Z‖_F and ‖X − W‖_F.

        X is stored for the next call (and as last usable iterate) unless it is zero.
        """
        keep = self.length > ZERO_NORM
        (zeta,) = self.typed(self.zeta)
        sums = self.workers.run(consensus.compare, self.point, self.X, zeta, self.before, keep)
        to_z, to_w, moved = map(math.sqrt, sums[:3].tolist())
        start, self.length_before = self.length_before, self.length
        if start <= ZERO_NORM and not keep:
            # The iteration can recover from one zero iterate, but not from two in a row.
            raise IterationFailed("collapsed")
        return (moved / start if start > ZERO_NORM else np.inf), to_z, to_w

    def count_above(self, tau: float) -> tuple[float, float]:
        """Number and sum of the absolute entries above τ."""
        sums = self.workers.run(consensus.count_above, self.point, self.mix, *self.typed(tau))
        count, total, *_ = sums.tolist()
        return count, total

    def row_lengths(self) -> Floats:
        """Euclidean norms of the rows."""
        lengths = np.empty(len(self.X))
        self.workers.run(consensus.measure_rows, self.point, self.mix, lengths)
        return lengths

    def matrix(self) -> Floats:
        """Form the matrix, in a buffer that the caller may overwrite."""
        if self.buffer is None:
            self.buffer = np.empty_like(self.X)
        sums = self.workers.run(consensus.combine, self.point, self.mix, self.buffer)
        if not np.isfinite(sums[0]):
            raise IterationFailed("diverged")
        return self.buffer

    def typed(self, *numbers: float) -> tuple[Any, ...]:
        """Convert numbers to the type of the arrays, in which the kernels compute."""
        return numbers if self.double else tuple(map(np.float32, numbers))


def check_rho(rho: Sequence[float]) -> tuple[float, float, float]:
    """Return the three penalty parameters, each positive and finite."""
    try:
        values = list(rho)
    except TypeError:
        values = []
    if len(values) != 3:
        raise ValueError(f"rho must be three numbers (rho1, rho2, rho3), got {rho!r}.")
    first, second, third = (check_number(v, f"rho[{i}]") for i, v in enumerate(values))
    check_number(first + second + third, "the sum of rho")
    return first, second, third


def ratio_step(lam: float, length: float) -> float:
    """λ/‖Z‖_F, the weight of the numerator; raises `IterationFailed` if it is not finite."""
    gamma = lam / length if length > 0.0 else math.inf
    if not math.isfinite(gamma):
        raise IterationFailed("collapsed")
    return gamma


def z_factor(d: float, length: float) -> float:
    """ζ of the minimiser Z = ζC of d/‖Z‖_F + ½‖Z − C‖²_F, ‖C‖_F = length: the root of ζ³ − ζ² = d/‖C‖³."""
    x = 27.0 * (d / length) / length / length
    if not math.isfinite(x):
        return math.cbrt(d) / length
    # The paper's (27q + 2)² − 4 is factored, which avoids cancellation for small q and overflow for large q.
    s = math.cbrt((x + 2.0 + math.sqrt(x) * math.sqrt(x + 4.0)) / 2.0)
    return (1.0 + s + 1.0 / s) / 3.0
