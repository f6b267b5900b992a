"""Fast gradient method for nonnegative sparse regression (FGNSR)."""

import time
import warnings

import numpy as np

from sepnmf._kernels.fgnsr import advance
from sepnmf._parallel import Workers
from sepnmf._typing import ArrayLike, Floats, Seed
from sepnmf._validation import check_choice, check_count, check_generator, check_number, check_weights
from sepnmf.least_squares import nnls
from sepnmf.matrix import MatrixLike, Negative, dense_data
from sepnmf.methods._iteration import Callback, State
from sepnmf.methods._method import method
from sepnmf.methods._picking import PICKS, Pick, pick_anchors
from sepnmf.methods._spa import successive_projections
from sepnmf.model._problem import Fit
from sepnmf.selection import Selection, Status

ALPHA = 0.05  # α₀ of Nesterov's constant-step scheme: the momentum starts at β = 0.93
SPREAD = 0.01  # width of the interval from which the costs p are drawn, so that no two are equal
FLOOR = 1e-3  # fraction of ‖M‖² in the initial μ, which keeps it positive if the residual of SPA is zero
ADAPT_EVERY = 10  # iterations between two changes of μ
ADAPT_RATE = 0.1  # first relative change of μ, halved whenever its direction turns
TRACE_SLACK = 0.01  # relative distance from the trace target at which the iteration may stop


@method(
    summary="convex self-dictionary, accelerated projected gradient",
    use="n up to thousands, noise that defeats greedy methods",
    cost="2 products with M (n columns) an iteration, n² memory",
    sparse=False,
    square=True,
    quick_up_to=2000,
    stoppable=True,
)
def fgnsr(
    M: MatrixLike,
    r: int,
    *,
    mu: float | None = None,
    target: float | None = None,
    max_iter: int = 5000,
    tol: float = 1e-4,
    pick: Pick = "diag",
    weights: ArrayLike | None = None,
    negative: Negative = "error",
    random_state: Seed = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Selection:
    r"""Separable NMF by an accelerated projected gradient on the convex self-dictionary model (FGNSR).

    Minimises  ½‖M − MX‖²_F + μ pᵀdiag(X)  over  Ω = {X ≥ 0 : x_ii ≤ 1, w_i x_ij ≤ w_j x_ii}.

    From X = Y = 0, with L = σ₁(M)²::

        X⁺ ← P_Ω(Y − (Mᵀ(MY − M) + μ diag(p))/L)
        Y  ← X⁺ + β(X⁺ − X),  or  Y ← X⁺ (a restart) when the objective has risen

    with Nesterov's β for α₀ = 0.05, reset by a restart. p is random in 1 ± 0.005, which breaks ties
    between equal columns. Unless given, μ starts at (‖M − M_K H‖² + 0.001‖M‖²)/Σ_K p_k, K being SPA's
    columns and H their nonnegative weights; every ten iterations it grows when the trace of X is above
    its target and shrinks otherwise, by 10 %, and by half as much after each change of direction.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative, no zero column.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    mu : float, optional
        Weight μ > 0 of the trace, which is then not adapted; when M is scaled by t, scale it by t².
    target : float, optional
        Target for the trace of X when μ is adapted, by default r, the trace of the optimal X for exactly
        separable data. Not used when `mu` is given.
    max_iter : int, default 5000
        Maximum number of iterations.
    tol : float, default 1e-4
        The iteration stops when the relative change of X is at most this and, if μ is adapted, the trace is
        within 1 % of the target. 0 disables the test.
    pick : {"diag", "rows", "spa"}, default "diag"
        Anchors by largest diagonal entry of X, by largest row norm, or by SPA on the rows of X, which
        does not take two near-copies of one anchor.
    weights : array_like of shape (n,), optional
        Weights w of Ω; by default the l1 norms of the columns of M.
    negative : {"error", "clip", "allow"}, default "error"
        How to treat negative entries of M: raise an error, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Random generator or seed for p; an integer makes calls reproducible.
    n_jobs : int, optional
        Number of threads, by default all cores. BLAS is limited to one thread meanwhile.
    callback : callable, optional
        Called as in `sepnmf.admm`, with X and the numbers of `history`; a true return value ends the run.

    Returns
    -------
    Selection
        `history` has, per iteration, the objective, the fit ½‖M − MX‖², the trace, μ, the relative
        change of X and the seconds so far.

    Raises
    ------
    ValueError
        If an argument is not as described, or `mu` is so large that X = 0.

    Warns
    -----
    ConvergenceWarning
        If the run ends by `max_iter`.

    Notes
    -----
    Cost: with M = UΣVᵀ and R = ΣVᵀ an iteration is two products with R, 4·min(m, n)·n² operations, and a pass
    over X that takes the gradient step, the momentum and the projection together. Memory: two n × n
    arrays. The result depends on the number of threads only through rounding errors.

    When to use: n up to a few thousand, and noise so large that greedy methods fail (a mixed column may be
    farther from the others than an anchor). Near-copies of one anchor share its diagonal weight: use
    ``pick="spa"``.

    References
    ----------
    N. Gillis and R. Luce, "A fast gradient method for nonnegative sparse regression with
    self-dictionary", IEEE Trans. Image Process. 27 (2018) 24–37.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0.1, random_state=0)
    >>> sel = sepnmf.fgnsr(M, 10, negative="allow", random_state=0)
    >>> set(sel.anchors) == set(anchors)
    True
    """
    began = time.perf_counter()
    data = dense_data(M, negative)
    n: int = data.shape[1]
    adapted = mu is None
    weight = 0.0 if mu is None else check_number(mu, "mu")
    aim = check_number(r if target is None else target, "target")
    max_iter = check_count(max_iter, "max_iter")
    tol = check_number(tol, "tol", strict=False)
    check_choice(pick, "pick", PICKS)
    p = 1.0 + SPREAD * (check_generator(random_state).random(n) - 0.5)
    fit = Fit(data)
    if adapted:
        weight = first_mu(data, min(r, len(fit.R)), p)
    lipschitz = float(fit.squares[0, 0])

    rate, direction = ADAPT_RATE, 0
    alpha, beta, restarted = ALPHA, 0.0, False
    names = ("objective", "fit", "trace", "mu", "change", "seconds")
    rows: list[tuple[float, ...]] = []
    status: Status = "max_outer"
    with Workers(n, n_jobs) as workers:
        at = Iterate(fit.R, check_weights(weights, data), lipschitz, workers)
        misfit, price = at.misfit(), 0.0
        for k in range(1, max_iter + 1):
            before = misfit + weight * price
            change = at.advance(beta, weight * p)
            misfit, price, trace = at.misfit(), float(p @ at.diag), float(at.diag.sum())
            objective = misfit + weight * price
            rows.append((objective, misfit, trace, weight, change, time.perf_counter() - began))
            near = not adapted or abs(trace - aim) <= TRACE_SLACK * aim
            if near and change <= tol:
                status = "converged"
                break
            if callback is not None and callback(
                State("fgnsr", k, at.X.copy(), dict(zip(names, rows[-1], strict=True)))
            ):
                status = "stopped"
                break
            restarted = objective > before and not restarted
            alpha, beta = (ALPHA, 0.0) if restarted else momentum(alpha)
            if adapted and k % ADAPT_EVERY == 0:
                turn = 1 if trace >= aim else -1
                rate = rate / 2 if turn == -direction else rate
                direction = turn
                weight *= 1.0 + turn * rate
        X = at.X
    if not X.any():
        raise ValueError(f"mu={weight:g} is so large that X = 0: make it smaller.")
    if status == "max_outer":
        from sklearn.exceptions import ConvergenceWarning

        text = f"fgnsr stopped after {max_iter} iterations without reaching tol={tol:g}: raise max_iter."
        warnings.warn(text, ConvergenceWarning, stacklevel=4)
    anchors, scores = pick_anchors(X, r, pick)
    return Selection(
        anchors=anchors,
        scores=scores,
        status=status,
        converged=status == "converged",
        X=X,
        n_outer=len(rows),
        history=dict(zip(names, np.array(rows).T, strict=True)),
    )


def first_mu(M: Floats, r: int, p: Floats) -> float:
    """Initial μ: the penalty of r columns chosen by SPA equals their squared residual (plus `FLOOR`)."""
    anchors, _ = successive_projections(M, r)
    residual = M - M[:, anchors] @ nnls(M[:, anchors], M)
    price = float(np.linalg.norm(residual)) ** 2 + FLOOR * float(np.linalg.norm(M)) ** 2
    return price / float(p[anchors].sum())


def momentum(alpha: float) -> tuple[float, float]:
    """Nesterov's recursion: the next α, the root of α⁺² = (1 − α⁺)α², and the β of this step."""
    after = alpha * (np.sqrt(alpha**2 + 4.0) - alpha) / 2.0
    return after, alpha * (1.0 - alpha) / (alpha**2 + after)


class Iterate:
    """The last two iterates with their residuals RX − R, and the projected gradient step of length 1/L."""

    def __init__(self, R: Floats, weights: Floats, lipschitz: float, workers: Workers) -> None:
        n = R.shape[1]
        self.R, self.Rt, self.weights, self.step = R, R.T.copy(), weights, 1.0 / lipschitz
        self.X, self.X_old = np.zeros((n, n), R.dtype), np.zeros((n, n), R.dtype)
        self.E, self.E_old = -R, -R
        self.diag, self.diag_old, self.sizes = np.zeros(n), np.zeros(n), np.zeros((n, 2))
        self.workers = workers
        tallest = max(block.stop - block.start for block in workers.blocks)
        self.gradients = [np.empty((tallest, n), R.dtype) for _ in range(workers.count)]

    def misfit(self) -> float:
        """Return ½‖M − MX‖²."""
        return 0.5 * float(np.vdot(self.E, self.E))

    def advance(self, beta: float, price: Floats) -> float:
        """One step with momentum β and weights μp of the diagonal; return ‖X⁺ − X‖_F/‖X⁺‖_F."""
        cost = self.step * price
        self.E_old -= self.E  # E_old is overwritten by R(X + β(X − X_old)) − R = E + β(E − E_old)
        self.E_old *= -beta
        self.E_old += self.E

        iterates = (self.X, self.diag, self.X_old, self.diag_old)

        def step_rows(worker: int) -> None:
            for block in self.workers.blocks[worker :: self.workers.count]:
                gradient = self.gradients[worker][: block.stop - block.start]
                np.matmul(self.Rt[block], self.E_old, out=gradient)
                advance(block.start, iterates, gradient, beta, self.step, cost, self.weights, self.sizes)

        def fit_columns(worker: int) -> None:
            part = self.workers.shares[worker]
            np.matmul(self.R, self.X[:, part], out=self.E_old[:, part])
            self.E_old[:, part] -= self.R[:, part]

        self.workers.share(step_rows)
        self.X, self.X_old = self.X_old, self.X
        self.diag, self.diag_old = self.diag_old, self.diag
        self.workers.share(fit_columns)
        self.E, self.E_old = self.E_old, self.E
        moved, length = np.sqrt(self.sizes.sum(axis=0))
        return float(moved / length) if length > 0.0 else np.inf
