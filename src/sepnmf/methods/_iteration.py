"""Common parts of `admm` and `dca`: input checks, initial iterate, history, stopping and result."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sepnmf._typing import ArrayLike, Floats
from sepnmf._validation import check_choice, check_count, check_number, check_square, check_weights
from sepnmf.least_squares import nnls
from sepnmf.matrix import MatrixLike, Negative, dense_data
from sepnmf.methods._picking import PICKS, pick_anchors
from sepnmf.methods._spa import successive_projections
from sepnmf.model._norms import Norm, find_norm
from sepnmf.model._problem import Fit, powered
from sepnmf.selection import Selection, Status

Init = ArrayLike | Literal["identity", "spa"] | None

# Ω fixes the scale of X (x_ii ≤ 1), so these bounds on ‖X‖_F need not be relative to the data.
ZERO_NORM = 1e-15  # an X with a smaller norm is taken for zero
DIVERGENCE_FACTOR = 1e8  # the iteration has diverged when ‖X‖_F exceeds the largest norm in Ω by this factor
MAX_INIT_NORM = 1e15


@dataclass(frozen=True)
class State:
    """Argument of a callback after each outer iteration; X is a copy, None if the method does not form it."""

    method: str
    n_outer: int
    X: Floats | None
    numbers: dict[str, float]


Callback = Callable[[State], Any]


class IterationFailed(Exception):
    """The iteration cannot be continued; `status` says why."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status: Status = status


@dataclass(frozen=True)
class Problem:
    """The checked input of a ratio method: min λ‖X‖^p/‖X‖_F + ½‖MX − M‖² over Ω."""

    M: Floats
    r: int
    p: float
    norm: Norm
    lam: float
    weights: Floats
    fit: Fit

    @classmethod
    def check(
        cls,
        M: MatrixLike,
        r: int,
        p: float,
        norm: str,
        lam: float,
        weights: ArrayLike | None,
        negative: Negative,
    ) -> "Problem":
        """Check the arguments that both methods have in common."""
        data = dense_data(M, negative)
        return cls(
            M=data,
            r=r,
            p=check_number(p, "p", least=1, strict=False),
            norm=find_norm(norm),
            lam=check_number(lam, "lam"),
            weights=check_weights(weights, data).astype(data.dtype),
            fit=Fit(data),
        )

    def start(self, init: Init) -> Floats:
        """Return X₀: the identity, SPA's columns with their NNLS weights, or the matrix given."""
        n = self.M.shape[1]
        if init is None:
            init = "identity"
        if not isinstance(init, str):
            with np.errstate(over="ignore"):
                X = check_square(init, "init", n).astype(self.M.dtype)
            if not X.any():
                raise ValueError("init is zero, where the ratio of norms is not defined.")
            if not np.linalg.norm(X / MAX_INIT_NORM) <= 1.0:
                raise ValueError(
                    f"the Frobenius norm of init exceeds {MAX_INIT_NORM:g}: X₀ should be in Ω or near it."
                )
            return np.ascontiguousarray(X)
        check_choice(init, "init", ("identity", "spa"))
        X = np.eye(n, dtype=self.M.dtype)
        if init == "spa":
            anchors, _ = successive_projections(self.M, self.r)
            X[:] = 0
            X[anchors] = nnls(self.M[:, anchors], self.M)
        return X


class Run:
    """History, stopping, timing and the result of one call of a ratio method.

    Used as a context manager around the loop: overflow and `IterationFailed` end the loop and set the status
    instead of raising, and the last usable iterate is returned.
    """

    def __init__(
        self,
        method: str,
        problem: Problem,
        *,
        max_outer: int,
        max_inner: int,
        tol: float,
        inner_tol: float,
        pick: str,
        callback: Callback | None,
    ) -> None:
        self.began = time.perf_counter()
        self.method = method
        self.problem = problem
        self.max_outer = check_count(max_outer, "max_outer")
        self.max_inner = check_count(max_inner, "max_inner")
        self.tol = check_number(tol, "tol", strict=False)
        self.inner_tol = check_number(inner_tol, "inner_tol", strict=False)
        self.pick = check_choice(pick, "pick", PICKS)
        self.callback = callback
        self.status: Status = "max_outer"
        self.rows: list[dict[str, float]] = []
        self.last_usable: Floats  # set by the solver: the last finite, nonzero iterate, initially X₀
        w = problem.weights.astype(np.float64)  # squares of float32 may overflow
        self.max_norm = DIVERGENCE_FACTOR * float(np.linalg.norm(w) * np.linalg.norm(1.0 / w))

    def __enter__(self) -> "Run":
        self._errstate = np.errstate(over="ignore", invalid="ignore", divide="ignore")
        self._errstate.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        self._errstate.__exit__(None, None, None)
        if isinstance(error, IterationFailed):
            self.status = error.status
            return True
        if isinstance(error, np.linalg.LinAlgError):  # LAPACK fails on iterates that are about to overflow
            self.status = "diverged"
            return True
        return False

    def ends(
        self,
        X: Floats,
        size: float,
        *,
        length: float,
        fit: float,
        change: float,
        met: bool,
        n_inner: int,
        residuals: dict[str, float],
    ) -> bool:
        """Record one outer iteration; return whether its stopping rule is met or the callback ends the run.

        The solver passes what it has computed already: `size` = ‖X‖ in the norm of the numerator,
        `length` = ‖X‖_F and `fit` = ½‖MX − M‖².
        """
        if not np.isfinite(fit):
            raise IterationFailed("diverged")
        ratio = powered(size, self.problem.p) / length if length > ZERO_NORM else np.inf
        numbers = {
            "objective": self.problem.lam * ratio + fit,
            "ratio": ratio,
            "fit": fit,
            **residuals,
            "change": change,
            "n_inner": n_inner,
            "seconds": time.perf_counter() - self.began,
        }
        self.rows.append(numbers)
        stop = False
        if self.callback is not None:
            stop = bool(self.callback(State(self.method, len(self.rows), X.copy(), dict(numbers))))
        if met:
            self.status = "converged"
        elif stop:
            self.status = "stopped"
        return met or stop

    def result(self) -> Selection:
        """Select the anchors from the last usable iterate; warn if the run did not converge."""
        if self.status in WARNINGS:
            from sklearn.exceptions import ConvergenceWarning

            text = WARNINGS[self.status].format(k=len(self.rows), method=self.method, tol=self.tol)
            warnings.warn(text, ConvergenceWarning, stacklevel=5)
        X = self.last_usable
        anchors, scores = pick_anchors(X, self.problem.r, self.pick)
        keys = self.rows[0] if self.rows else {}
        history = {key: np.array([row[key] for row in self.rows]) for key in keys}
        return Selection(
            anchors=anchors,
            scores=scores,
            status=self.status,
            converged=self.status == "converged",
            X=X,
            n_outer=len(self.rows),
            n_inner=int(sum(row["n_inner"] for row in self.rows)),
            history=history,
        )


WARNINGS: dict[str, str] = {
    "max_outer": (
        "{method} stopped after {k} outer iterations without reaching tol={tol:g}: "
        "raise max_outer, or change lam and rho."
    ),
    "diverged": (
        "{method} diverged after {k} outer iterations; the anchors are those of the last finite "
        'iterate. Change lam and rho, and use prox="exact" if you did not.'
    ),
    "collapsed": (
        "{method} reached X = 0 after {k} outer iterations, where the ratio is not defined; the "
        "anchors are those of the last nonzero iterate. Make lam smaller."
    ),
}


def frobenius(A: Floats) -> float:
    """Frobenius norm of `A`; raises `IterationFailed` if it is not finite."""
    length = float(np.linalg.norm(A))
    if not np.isfinite(length):
        raise IterationFailed("diverged")
    return length
