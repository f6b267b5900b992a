"""The objective λR_p(X) + ½‖MX − M‖²_F over Ω, and the residual of its first-order condition."""

import math
from typing import Literal

import numpy as np

from sepnmf._parallel import Workers
from sepnmf._typing import ArrayLike, Floats, Ints
from sepnmf._validation import (
    check_array,
    check_choice,
    check_number,
    check_square,
    check_weights,
)
from sepnmf.matrix import MatrixLike, dense_data
from sepnmf.model._norms import WarmStart, find_norm


class Fit:
    """The data term ½‖MX − M‖²_F.

    With the singular value decomposition M = UΣVᵀ it equals ½‖RX − R‖²_F, R = ΣVᵀ. The rows of R are
    orthogonal, so that all linear systems in the solvers are diagonal. Singular values at the level of
    rounding errors are omitted.
    """

    def __init__(self, M: Floats) -> None:
        _, s, Vt = np.linalg.svd(M, full_matrices=False)
        kept = s > s[0] * max(M.shape) * np.finfo(s.dtype).eps
        self.R: Floats = np.ascontiguousarray(s[kept, None] * Vt[kept])
        self.squares: Floats = s[kept, None].astype(np.float64) ** 2

    def value(self, X: Floats) -> float:
        """Return ½‖MX − M‖²_F."""
        return 0.5 * float(np.linalg.norm(self.R @ X - self.R)) ** 2

    def gradient(self, X: Floats) -> Floats:
        """Return Mᵀ(MX − M)."""
        gradient: Floats = self.R.T @ (self.R @ X - self.R)
        return gradient

    def misfit(self, X: Floats, workers: Workers) -> Floats:
        """Return R − RX."""
        rest = self.product(X, workers)
        return np.subtract(self.R, rest, out=rest)

    def product(self, X: Floats, workers: Workers, rows: Ints | None = None) -> Floats:
        """Return RX; `rows` are those of X that are not zero, if they are known."""
        R = self.R
        if rows is not None and 2 * rows.size <= len(X):  # with more rows, the copies cost what they save
            R, X = R[:, rows], X[rows]
        found: Floats
        if workers.count == 1:
            found = R @ X
            return found
        found = np.empty_like(self.R)

        def columns(worker: int) -> None:
            part = workers.shares[worker]
            np.matmul(R, X[:, part], out=found[:, part])

        workers.share(columns)
        return found

    def back(self, H: Floats, out: Floats, workers: Workers) -> None:
        """Write RᵀH into `out`."""

        def rows(block: slice) -> None:
            np.matmul(self.R[:, block].T, H, out=out[block])

        workers.each(rows)

    def add_product(self, X: Floats, H: Floats, out: Floats, workers: Workers) -> None:
        """Write X + RᵀH into `out`, which may be X."""

        def rows(block: slice) -> None:
            np.add(X[block], self.R[:, block].T @ H, out=out[block])

        workers.each(rows)


def powered(size: float, p: float) -> float:
    """size^p; infinity on overflow."""
    try:
        return float(size**p)
    except OverflowError:
        return math.inf


def ratio(X: ArrayLike, p: float = 1, norm: str = "l1") -> float:
    """Powered ratio of norms R_p(X) = ‖X‖^p / ‖X‖_F.

    Parameters
    ----------
    X : array_like of shape (m, n)
        Not zero.
    p : float, default 1
        Any real p ≥ 1.
    norm : {"l1", "nuclear", "rows"}, default "l1"

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.model import ratio
    >>> ratio(np.eye(4), p=1, norm="nuclear")
    2.0
    """
    array = check_array(X, "X")
    power = check_number(p, "p", least=1, strict=False)
    size = find_norm(norm).value(array)
    if size == 0.0:
        raise ValueError("X is zero, where the ratio of norms is not defined.")
    peak = float(np.abs(array).max())
    return powered(size, power) / (float(np.linalg.norm(array / peak)) * peak)


def objective(M: MatrixLike, X: ArrayLike, *, lam: float, p: float = 2, norm: str = "l1") -> float:
    """Objective λR_p(X) + ½‖MX − M‖²_F, without the indicator of Ω.

    Parameters
    ----------
    M : array_like of shape (m, n)
        The data; negative entries are allowed here.
    X : array_like of shape (n, n)
    lam : float
        λ > 0.
    p : float, default 2
    norm : {"l1", "nuclear", "rows"}, default "l1"

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.model import objective
    >>> M = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    >>> round(objective(M, np.eye(3), lam=0.1, p=1), 6)
    0.173205
    """
    data = dense_data(M, negative="allow")
    point = check_square(X, "X", data.shape[1])
    weight = check_number(lam, "lam")
    return weight * ratio(point, p, norm) + Fit(data).value(point)


def criticality(
    M: MatrixLike,
    X: ArrayLike,
    *,
    lam: float,
    p: float = 2,
    norm: str = "l1",
    weights: ArrayLike | None = None,
    condition: Literal["ratio", "dca"] = "ratio",
    ratio_weight: float = 1.0,
) -> float:
    r"""Relative residual of a first-order optimality condition at X; zero if and only if X satisfies it.

    Both of the paper's theorems end in a first-order condition 0 ∈ c ∂‖X‖^p + N_Ω(X) + G(X):

    ========= ========== =====================================
    condition c          G(X)
    ========= ========== =====================================
    ratio     λ/‖X‖_F    Mᵀ(MX − M) − λ(‖X‖^p/‖X‖_F³) X
    dca       λ          Mᵀ(MX − M) − ω(‖X‖^p/‖X‖_F²) X
    ========= ========== =====================================

    "ratio" is stationarity of the model itself (what ADMM-P aims at), "dca" that of the limiting problem of
    the paper's DCA. They are not the same: the printed DCA linearises R_p(X_k)‖X‖_F with weight ω = 1
    where the model has λ/‖X‖_F, so its limits are critical points of another function. X satisfies
    the condition if and only if it is the fixed point of one exact proximal-gradient step; the
    residual is the relative length of that step, ‖X − prox(X − G/L)‖_F / ‖X‖_F with L = σ₁(M)².
    It does not change when M is scaled by t and λ by t² ("ratio").

    Parameters
    ----------
    M : array_like of shape (m, n)
        The data; negative entries are allowed here.
    X : array_like of shape (n, n)
        Not zero.
    lam : float
        λ > 0.
    p : float, default 2
    norm : {"l1", "nuclear", "rows"}, default "l1"
    weights : array_like of shape (n,), optional
        Weights of Ω; by default the l1 norms of the columns of M.
    condition : {"ratio", "dca"}, default "ratio"
    ratio_weight : float, default 1
        The weight ω that `dca` was called with; only used by "dca".

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.model import criticality
    >>> criticality(np.eye(2), np.eye(2), lam=0.1, p=1)  # minimises both terms at once
    0.0
    """
    check_choice(condition, "condition", ("ratio", "dca"))
    data = dense_data(M, negative="allow")
    point = check_square(X, "X", data.shape[1]).astype(np.float64)
    weight = check_number(lam, "lam")
    power = check_number(p, "p", least=1, strict=False)
    w = check_weights(weights, data)
    which = find_norm(norm)
    length = float(np.linalg.norm(point))
    if length == 0.0:
        raise ValueError("X is zero, where the model is not defined.")

    fit = Fit(data)
    numerator = powered(which.value(point), power)
    if condition == "ratio":
        c, pull = weight / length, weight * numerator / length / length / length
    else:
        c, pull = weight, check_number(ratio_weight, "ratio_weight") * numerator / length / length
    step = 1.0 / float(fit.squares[0, 0])
    forward = point - step * (fit.gradient(point) - pull * point)
    back = np.empty_like(forward)
    which.prox_omega(forward, step * c, power, w, WarmStart(back), Workers(w.size, 1), back)
    return float(np.linalg.norm(point - back)) / length
