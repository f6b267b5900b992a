"""Memory-efficient Frank–Wolfe for the self-dictionary model (MERIT)."""

import time
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sepnmf._kernels.merit import add_vertices, penalise, row_sums
from sepnmf._parallel import Workers
from sepnmf._typing import Floats, Ints, Sparse
from sepnmf._validation import check_choice, check_count, check_number, check_rank
from sepnmf.matrix import MatrixLike, Negative, dense_data
from sepnmf.methods._iteration import Callback, State
from sepnmf.methods._method import method
from sepnmf.methods._spa import successive_projections
from sepnmf.model._problem import Fit
from sepnmf.selection import Selection, Status, best_first

INITIAL_CAPACITY = 8  # nonzeros per column of C for which memory is allocated at first
SIMPLEX_STEPS = 100


@method(
    summary="Frank–Wolfe with sparse coefficients",
    use="as FGNSR, where n × n coefficients do not fit",
    cost="one product an iteration, memory of the answer",
    sparse=False,
    square=True,
    quick_up_to=2000,
    stoppable=True,
)
def merit(
    M: MatrixLike,
    r: int,
    *,
    lam: float | None = None,
    smoothing: float = 1e-5,
    max_iter: int = 500,
    tol: float = 0.0,
    pick: Literal["max", "sum"] = "max",
    negative: Negative = "error",
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Selection:
    r"""Separable NMF by Frank–Wolfe with sparse coefficients (MERIT).

    After the columns of M are scaled to sum to one, minimises over C ≥ 0 with columns that sum to one

        ‖M − MC‖²_F + λ Σ_i φ(C_i:),   φ(c) = ε log((1/n) Σ_j exp(c_j/ε)),

    where φ is a smooth approximation of the largest entry of a row. From C = 0, in step t = 1, 2, …::

        G ← 2Mᵀ(MC − M) + λ∇φ
        S ← the vertices e_i, i = argmin_i g_ij for each column j
        C ← C + (S − C)·2/(t + 1)

    The anchors are the rows of C with the largest maxima. The first step has length one, so that the result
    does not depend on the start. G is computed a block of columns at a time, and only the nonzeros of C are
    stored.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative; no column may sum to zero.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    lam : float, optional
        Weight λ ≥ 0 of the penalty, for M with columns that sum to one; by default `merit_lam(M, r)`.
    smoothing : float, default 1e-5
        ε > 0. φ is lower than the maximum of the row by at most ε log n.
    max_iter : int, default 500
        Maximum number of iterations.
    tol : float, default 0
        The iteration stops when the duality gap, an upper bound on the distance of the objective from its
        minimum, is at most this fraction of the objective. With the default ε that takes far more than 500
        iterations.
    pick : {"max", "sum"}, default "max"
        Anchors by largest row maximum of C, or by largest row sum. Before convergence many noisy columns
        represent themselves, which gives their rows large maxima too: with noise on every column the
        sum is by far the better criterion. The maximum also finds anchors that few columns use.
    negative : {"error", "clip", "allow"}, default "error"
        How to treat negative entries of M: raise an error, set them to zero, or keep them.
    n_jobs : int, optional
        Number of threads, by default all cores. BLAS is limited to one thread meanwhile.
    callback : callable, optional
        Called as in `sepnmf.admm`, with X = None and the numbers of `history`; a true return value ends the
        run.

    Returns
    -------
    Selection
        X is C as a SciPy sparse array. `history` has, per iteration and before its step, the objective,
        the fit ‖M − MC‖², the duality gap and the seconds so far. If `tol` is 0, the status after
        `max_iter` iterations is "done".

    Raises
    ------
    ValueError
        If an argument is not as described.

    Warns
    -----
    ConvergenceWarning
        If `tol` is positive and not reached.

    Notes
    -----
    Cost: with R = ΣVᵀ from M = UΣVᵀ in place of M, 2·min(m, n)·n² operations an iteration.
    Memory: a few arrays of the size of M, 12 bytes for each nonzero of C (an iteration adds at most one to
    each column) and 108 × n numbers for each thread; no array of size n².

    When to use: n so large that an n × n array does not fit into memory. The result depends on λ and, since ε
    is small, on the number of iterations: the method is stopped long before it converges. If the penalty is
    too strong, use a fraction of the default, ``lam=0.1 * merit_lam(M, r)``.

    References
    ----------
    T. Nguyen, X. Fu and R. Wu, "Memory-efficient convex optimization for self-dictionary separable
    nonnegative matrix factorization: a Frank–Wolfe approach", IEEE Trans. Signal Process. 70 (2022).

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.1, random_state=0)
    >>> sel = sepnmf.merit(M, 10, negative="allow")
    >>> set(sel.anchors) == set(anchors)
    True
    """
    began = time.perf_counter()
    R = Fit(unit_sums(M, negative)).R
    n: int = R.shape[1]
    weight = default_lam(R, r) if lam is None else check_number(lam, "lam", strict=False)
    smoothing = check_number(smoothing, "smoothing", least=np.finfo(np.float64).tiny, strict=False)
    max_iter = check_count(max_iter, "max_iter")
    tol = check_number(tol, "tol", strict=False)
    check_choice(pick, "pick", ("max", "sum"))

    names = ("objective", "fit", "gap", "seconds")
    rows: list[tuple[float, ...]] = []
    status: Status = "max_outer" if tol > 0.0 else "done"
    with Workers(n, n_jobs) as workers:
        at = Iterate(R, weight, smoothing, workers)
        for _ in range(max_iter):
            choice, gap = at.vertices()
            fit = at.fit()
            objective = fit + weight * at.penalty()
            if at.t > 0 and gap <= tol * objective:  # C = 0, the start, is not a feasible point
                status = "converged"
                break
            rows.append((objective, fit, gap, time.perf_counter() - began))
            at.move(choice)
            if callback is not None and callback(
                State("merit", at.t, None, dict(zip(names, rows[-1], strict=True)))
            ):
                status = "stopped"
                break
    if status == "max_outer":
        from sklearn.exceptions import ConvergenceWarning

        text = f"merit stopped after {max_iter} iterations without reaching tol={tol:g}: raise max_iter."
        warnings.warn(text, ConvergenceWarning, stacklevel=4)
    C = at.coefficients()
    scores = C.sum(axis=1) if pick == "sum" else at.unit * at.peak
    return Selection(
        anchors=best_first(scores, r),
        scores=scores,
        status=status,
        converged=status in ("converged", "done"),
        X=C,
        n_outer=at.t,
        history=dict(zip(names, np.array(rows).T, strict=True)),
    )


def merit_lam(M: MatrixLike, r: int, *, negative: Negative = "error") -> float:
    """Return the default λ of `merit`: ‖M − M_K C‖_F / r, with SPA's columns K and weights C on the simplex.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data as for `merit`; its columns are scaled to sum to one first.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    negative : {"error", "clip", "allow"}, default "error"
        How to treat negative entries of M.

    Returns
    -------
    float

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.4, random_state=0)
    >>> lam = 0.3 * sepnmf.merit_lam(M, 10, negative="allow")
    >>> set(sepnmf.merit(M, 10, lam=lam, negative="allow").anchors) == set(anchors)
    True
    """
    R = Fit(unit_sums(M, negative)).R
    return default_lam(R, check_rank(r, R.shape[1]))


def unit_sums(M: MatrixLike, negative: Negative) -> Floats:
    """Return M with each column divided by its sum."""
    data = dense_data(M, negative)
    sums = data.sum(axis=0)
    if not sums.min() > 0:
        j = int(sums.argmin())
        raise ValueError(f"column {j} of M sums to {sums[j]:g}, but MERIT needs positive sums: remove it.")
    scaled: Floats = data / sums
    return scaled


def default_lam(R: Floats, r: int) -> float:
    """‖R − R_K C‖_F / r, which is the same for M = UR, as U has orthonormal columns."""
    anchors, _ = successive_projections(R, min(r, len(R)))
    W = R[:, anchors]
    return float(np.linalg.norm(R - W @ simplex_weights(W, R))) / r


def simplex_weights(W: Floats, M: Floats) -> Floats:
    """Minimise ½‖M − WC‖² over columns of C in the simplex, by the accelerated projected gradient method."""
    gram, right = W.T @ W, W.T @ M
    step = 1.0 / float(np.linalg.norm(gram, 2))
    C: Floats = np.full_like(right, 1.0 / len(right))
    Y = C
    t = 1.0
    for _ in range(SIMPLEX_STEPS):
        C_before, t_before = C, t
        C = project_simplex(Y - step * (gram @ Y - right))
        t = (1.0 + np.sqrt(1.0 + 4.0 * t_before**2)) / 2.0
        Y = C + ((t_before - 1.0) / t) * (C - C_before)
    return C


def project_simplex(Z: Floats) -> Floats:
    """Euclidean projection of each column of Z onto the simplex."""
    falling = -np.sort(-Z, axis=0)
    thresholds = (np.cumsum(falling, axis=0) - 1.0) / np.arange(1, len(Z) + 1)[:, None]
    last = (falling > thresholds).sum(axis=0) - 1
    projected: Floats = np.maximum(Z - thresholds[last, np.arange(Z.shape[1])], 0.0)
    return projected


class Iterate:
    """The iterate C, stored as a matrix V of integers (see `sepnmf._kernels.merit`), and E = RC − R."""

    def __init__(self, R: Floats, lam: float, smoothing: float, workers: Workers) -> None:
        k, n = R.shape
        self.R, self.lam, self.smoothing, self.workers = R, lam, smoothing, workers
        self.t = 0
        # leftᵀright = [2E; 1]ᵀ[R; λb] is the transposed gradient as if all entries of C were zero, where b
        # is the gradient of the penalty at a zero entry of each row; `penalise` corrects the nonzeros.
        self.left, self.right = np.ones((k + 1, n), R.dtype), np.empty((k + 1, n), R.dtype)
        self.left[:k], self.right[:k] = -2 * R, R
        self.index: NDArray[np.int32] = np.zeros((n, INITIAL_CAPACITY), np.int32)
        self.value: Ints = np.zeros((n, INITIAL_CAPACITY), np.intp)
        self.count, self.used, self.peak = (np.zeros(n, np.intp) for _ in range(3))
        self.total, self.inner = np.empty(n), np.empty(n)
        tallest = max(block.stop - block.start for block in workers.blocks)
        self.gradients = [np.empty((tallest, n), R.dtype) for _ in range(workers.count)]

    @property
    def unit(self) -> float:
        """C = unit·V."""
        return 2.0 / (self.t * (self.t + 1)) if self.t else 0.0

    @property
    def entries(self) -> tuple[NDArray[Any], ...]:
        """The matrix V, as the kernels take it."""
        return self.index, self.value, self.count, self.peak, self.used

    def vertices(self) -> tuple[Ints, float]:
        """Find the row of least gradient for each column, and the duality gap ⟨C − S, G⟩."""
        n = self.R.shape[1]
        scale = self.unit / self.smoothing
        V = self.entries
        row_sums(V, scale, self.total)
        self.right[-1] = self.lam * np.exp(-scale * self.peak) / self.total
        choice, least = np.empty(n, np.intp), np.empty(n)

        def search(worker: int) -> None:
            for block in self.workers.blocks[worker :: self.workers.count]:
                H = self.gradients[worker][: block.stop - block.start]
                np.matmul(self.left[:, block].T, self.right, out=H)
                penalise(H, block.start, V, self.total, scale, self.lam, self.inner)
                choice[block] = H.argmin(axis=1)
                least[block] = np.take_along_axis(H, choice[block, None], axis=1)[:, 0]

        self.workers.share(search)
        E = self.left[:-1]
        product = 0.5 * float(np.vdot(E, E)) + float(np.vdot(E, self.R))  # ⟨RC, 2E⟩, with 2E kept
        return choice, product + self.lam * self.unit * float(self.inner.sum()) - float(least.sum())

    def move(self, choice: Ints) -> None:
        """Take the Frank–Wolfe step towards the chosen vertices."""
        self.t += 1
        if self.count.max() == self.index.shape[1]:
            self.index = np.concatenate([self.index, np.zeros_like(self.index)], axis=1)
            self.value = np.concatenate([self.value, np.zeros_like(self.value)], axis=1)
        add_vertices(choice, self.t, self.entries)
        step = 2.0 / (self.t + 1)
        E = self.left[:-1]
        E *= 1.0 - step
        E += 2.0 * step * (self.R[:, choice] - self.R)

    def fit(self) -> float:
        """Return ‖M − MC‖²."""
        return 0.25 * float(np.vdot(self.left[:-1], self.left[:-1]))

    def penalty(self) -> float:
        """Return Σ_i φ(C_i:); `vertices` must have been called for this C."""
        n = self.peak.size
        return float((self.smoothing * np.log(self.total / n) + self.unit * self.peak).sum())

    def coefficients(self) -> Sparse:
        """Return C as a sparse array in CSC format."""
        n = self.peak.size
        kept = np.arange(self.index.shape[1]) < self.count[:, None]
        starts = np.concatenate([[0], np.cumsum(self.count)])
        C = sparse.csc_array((self.unit * self.value[kept], self.index[kept], starts), shape=(n, n))
        C.sort_indices()
        return C
