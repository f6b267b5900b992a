"""The three norms in the ratio's numerator, and the proximal maps of their powers.

Each norm of a matrix is the sum of some magnitudes: its absolute entries, its singular values, the
Euclidean norms of its rows. The proximal map of γ‖·‖^p keeps what the magnitudes are attached to (signs,
singular vectors, row directions) and replaces the magnitudes a by

    argmin_{x ≥ 0}  γ (Σx)^p + ½‖x − a‖²  =  max(a − τ, 0),   τ = pγs^(p−1),   s = Σ max(a − τ, 0),

which has a unique solution for every real p ≥ 1. A norm is therefore a class with one abstract method,
`split`; the other methods have default implementations that a norm may override by faster ones.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from sepnmf._kernels import omega, shrink
from sepnmf._parallel import BLOCK, Workers
from sepnmf._typing import Floats
from sepnmf._validation import check_choice
from sepnmf.model._low_rank import (
    MAX_RANK_FRACTION,
    OVERSAMPLING,
    SMALL,
    SMALLEST_THRESHOLD,
    decompose,
    gram_decompose,
    threshold_low_rank,
    threshold_small,
)
from sepnmf.model._polar import Polar
from sepnmf.model._thresholds import Form, printed_threshold, shared_threshold, shrink_vector

# Steps of the general proximal map on Ω: of one call, and of each call after so many in one run. Maps of one
# run start from the last one, so that few steps improve them further.
MAX_STEPS, STEPS_OF_A_RUN, FEW_STEPS = 1000, 15_000, 10
MAX_PASSES = 30  # to find a threshold, before the matrix is formed; from a warm start two or three suffice


class Split(NamedTuple):
    """Magnitudes of a matrix, and a function that makes a matrix from new magnitudes."""

    magnitudes: Floats
    join: Callable[[Floats], Floats]
    printed_k: int  # the k of the paper's printed formula


class WarmStart:
    """Results of the last call of a proximal map, from which the next call starts."""

    def __init__(self, like: Floats) -> None:
        self.diag = np.ones(len(like), like.dtype)  # diagonal of the projection onto Ω
        self.tau = 0.0  # threshold
        self.dual: Floats | None = None  # dual variable of the general `Norm.prox_omega`
        self.steps = 0  # that it has taken so far
        self.basis: Floats | None = None  # leading right singular vectors
        self.polar: Polar | None = None  # polar factor


class ImplicitMatrix(Protocol):
    """A matrix that is a combination of others; a norm may avoid forming it."""

    n_entries: int

    def count_above(self, tau: float) -> tuple[float, float]:
        """Number and sum of the absolute entries above τ."""

    def row_lengths(self) -> Floats:
        """Euclidean norms of the rows."""

    def matrix(self) -> Floats:
        """Form the matrix, in a buffer that the caller may overwrite."""


class Shrinkage(NamedTuple):
    """A proximal map at a point: soft thresholding of the entries and scaling of the rows, or a matrix."""

    tau: float = 0.0  # threshold of the entries
    factors: Floats | None = None  # of the rows
    matrix: Floats | None = None  # if given, it is the result
    size: float | None = None  # norm of the result, if known in advance


class Norm(ABC):
    """A matrix norm that is a sum of magnitudes."""

    name: ClassVar[str]

    @abstractmethod
    def split(self, A: Floats) -> Split:
        """Take `A` apart into magnitudes and what they are attached to."""

    def value(self, A: Floats) -> float:
        """Return the norm of `A`."""
        return float(self.split(A).magnitudes.sum(dtype=np.float64))

    def prox(
        self, A: Floats, gamma: float, p: float, form: Form = "exact", warm_start: WarmStart | None = None
    ) -> tuple[Floats, float]:
        """Proximal map of γ‖·‖^p at `A`, and the norm of the result; a norm may use that of the last call."""
        parts = self.split(A)
        x, size = shrink_vector(parts.magnitudes, gamma, p, form, parts.printed_k)
        return parts.join(x), size

    def shrinkage(
        self, point: ImplicitMatrix, gamma: float, p: float, form: Form, warm_start: WarmStart
    ) -> Shrinkage:
        """Proximal map of γ‖·‖^p at a point that need not be formed."""
        X, size = self.prox(point.matrix(), gamma, p, form, warm_start)
        return Shrinkage(matrix=X, size=size)

    def prox_omega(
        self,
        A: Floats,
        gamma: float,
        p: float,
        weights: Floats,
        warm_start: WarmStart,
        workers: Workers,
        V: Floats,
    ) -> float:
        """Write the proximal map of γ‖·‖^p + I_Ω at `A` into V; return its norm.

        The default, for any norm, is the accelerated proximal gradient method on the dual problem, whose
        smooth part has gradient P_Ω(A − S) with Lipschitz constant 1, with gradient-based restarts of the
        momentum. It ends when the two primal points V = P_Ω(A − S) ∈ Ω and prox(S + V) agree to 1e-12 of
        ‖A‖ (in single precision, 50 machine epsilons), or after 1000 steps; after 10 if the warm start has
        15 000 steps behind it.
        """
        S = np.zeros_like(A) if warm_start.dual is None else warm_start.dual
        S_last, momentum = S, 1.0
        tolerance = max(1e-12, 50 * float(np.finfo(A.dtype).eps)) * max(
            float(np.linalg.norm(A)), np.finfo(float).tiny
        )
        for _ in range(MAX_STEPS if warm_start.steps < STEPS_OF_A_RUN else FEW_STEPS):
            warm_start.steps += 1
            next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            extrapolated = S + ((momentum - 1.0) / next_momentum) * (S - S_last)
            workers.run(omega.project, A - extrapolated, 0.0, weights, warm_start.diag, V)
            prox_point, _ = self.prox(extrapolated + V, gamma, p)
            S_last, S = S, extrapolated + V - prox_point
            if np.linalg.norm(V - prox_point) <= tolerance:
                break
            if np.vdot(extrapolated - S, S - S_last) > 0:
                next_momentum = 1.0
            momentum = next_momentum
        warm_start.dual = S
        return self.value(V)


class SumOverRows(Norm):
    """A norm that is a sum over the rows, and is computed a block of rows at a time to save memory.

    The rows of Ω are independent, too: `on_omega` is a kernel that writes the proximal map V(τ) of τ‖·‖ + I_Ω
    row by row, and sums up its norm s(τ) and the derivative s'(τ).
    """

    on_omega: ClassVar[Callable[..., None]]

    def value(self, A: Floats) -> float:
        """Return the norm of `A`."""
        parts = (A[first : first + BLOCK] for first in range(0, len(A), BLOCK))
        return float(sum(super(SumOverRows, self).value(part) for part in parts))

    def prox_omega(
        self,
        A: Floats,
        gamma: float,
        p: float,
        weights: Floats,
        warm_start: WarmStart,
        workers: Workers,
        V: Floats,
    ) -> float:
        """Write the proximal map of γ‖·‖^p + I_Ω at `A` into V: V(τ) with τ = pγs(τ)^(p−1); return s.

        s decreases with τ, so log τ − log(pγ) − (p−1) log s(τ) increases in log τ with slope at least one.
        Its root is found by Newton's method in log τ, with bisection when a step leaves the bracket.
        """

        def apply(tau: float) -> tuple[float, float]:
            size, slope, *_ = workers.run(self.on_omega, A, tau, weights, warm_start.diag, V).tolist()
            return size, slope

        if p == 1:
            return apply(gamma)[0]
        size, _ = apply(0.0)
        if size == 0.0:
            return size
        log_c = np.log(p) + np.log(gamma)
        # Above the largest magnitude s is zero; s(τ) ≤ s(0) gives another upper bound on τ.
        low, high = 0.0, float(np.abs(A).max()) * np.sqrt(A.shape[1])
        log_bound = log_c + (p - 1) * np.log(size)
        if log_bound < np.log(high):
            high = float(np.exp(log_bound))
        if high == 0.0:  # the threshold is too small to be represented: V is the projection
            return size
        tau = warm_start.tau if low < warm_start.tau < high else high
        for _ in range(300):
            size, slope = apply(tau)
            error = np.log(tau) - log_c - (p - 1) * np.log(size) if size > 0 else np.inf
            if error > 0:
                high = tau
            else:
                low = tau
            new = tau * np.exp(-error / (1 - (p - 1) * tau * slope / size)) if size > 0 else low
            if not low < new < high:
                if abs(error) <= 1e-14:
                    break
                new = np.sqrt(low) * np.sqrt(high) if 0 < 4 * low < high else 0.5 * (low + high)
            if abs(new - tau) <= 2e-16 * tau or not low < new < high:
                break
            tau = float(new)
        warm_start.tau = tau
        return size


class EntrywiseNorm(SumOverRows):
    """‖A‖₁, the sum of the absolute entries."""

    name = "l1"
    on_omega = staticmethod(omega.project)  # P_Ω(A − τ): on Ω the norm is the sum of the entries

    def split(self, A: Floats) -> Split:
        """Absolute entries, attached to signs."""
        return Split(
            np.abs(A).ravel(),
            lambda x: np.copysign(x.reshape(A.shape), A) + 0,  # no negative zeros
            A.size,
        )

    def shrinkage(
        self, point: ImplicitMatrix, gamma: float, p: float, form: Form, warm_start: WarmStart
    ) -> Shrinkage:
        """Soft thresholding at a τ found in a few passes; one pass for the paper's formula, none for p = 1.

        A pass counts the entries above the current τ and solves the equation for τ on these entries. The
        root on any set of entries is at most the true threshold. So after the first pass the values of τ
        increase, and τ is the threshold when two passes count the same entries.
        """
        if p == 1 or gamma == 0:
            return Shrinkage(tau=gamma)
        if form == "paper":
            return Shrinkage(tau=printed_threshold(point.count_above(-1.0)[1], gamma, p, point.n_entries))
        tau, last = warm_start.tau, -1.0
        for _ in range(MAX_PASSES):
            k, kept = point.count_above(tau)
            if k == 0 and tau > 0:
                tau = 0.0  # the start is above all entries
                continue
            if k in (0.0, last):
                warm_start.tau = tau
                return Shrinkage(tau=tau)
            log_kappa = math.log(k * p) + math.log(gamma) + (p - 2) * math.log(kept)
            u = shrink.log_root(log_kappa, p)
            if u < math.log(1e-6):
                break  # nearly all of the entries' sum is removed, and the rest would be inaccurate
            tau, last = kept * (math.exp(log_kappa + (p - 1) * u) / k), k
        return super().shrinkage(point, gamma, p, form, warm_start)


class NuclearNorm(Norm):
    """‖A‖_*, the sum of the singular values."""

    name = "nuclear"

    def split(self, A: Floats) -> Split:
        """Singular values, attached to singular vectors."""
        # Scaled here: LAPACK does not scale entries near 1e±150, whose squares overflow or underflow.
        peak = float(np.abs(A).max()) or 1.0
        U, s, Vt = decompose(A / peak)
        return Split(s * peak, lambda x: (U * x) @ Vt, A.size)

    def prox(
        self, A: Floats, gamma: float, p: float, form: Form = "exact", warm_start: WarmStart | None = None
    ) -> tuple[Floats, float]:
        """Singular value thresholding; in an iteration, from the polar factor or the leading values alone.

        If all singular values survive, the map is A − τQ with the polar factor Q, and the sum of the singular
        values is ⟨Q, A⟩. Once the rank is small, only the leading singular values are computed.
        """
        if warm_start is None:
            return super().prox(A, gamma, p, form)
        whole = float(np.vdot(A, A))
        if p == 1 and whole > 1e-290 and math.sqrt(whole) <= gamma:  # no singular value exceeds ‖A‖_F
            return np.zeros_like(A), 0.0
        if A.dtype == np.float64 and warm_start.basis is None:
            if warm_start.polar is None:
                warm_start.polar = Polar(len(A))

            def threshold(sigma: Floats, mean: float, others: int) -> tuple[float, float]:
                if not sigma.size:
                    tau = shared_threshold(others * mean, gamma, p, form, others)
                    return tau, others * (mean - tau)
                values = np.empty(len(A))
                values[others:], values[:others] = sigma, mean
                left, size = shrink_vector(values, gamma, p, form, A.size)
                return mean - float(left[0]), size

            known = warm_start.polar.shrink(A, threshold)
            if known is not None:
                return known
        if warm_start.basis is not None and (form == "exact" or p == 1):
            low_rank = None
            if len(A) <= SMALL and A.dtype == np.float64:
                low_rank = threshold_small(A, gamma, p, warm_start.basis)
            if low_rank is None:
                low_rank = threshold_low_rank(A, gamma, p, warm_start.basis)
            if low_rank is not None:
                X, size, warm_start.basis = low_rank
                return X, size
        along, s, V = gram_decompose(A)
        left, size = shrink_vector(s, gamma, p, form, A.size)
        if np.max(s - left) < SMALLEST_THRESHOLD * s[0]:
            U, s, Vt = decompose(A)
            along, V = U * s, Vt.T
            left, size = shrink_vector(s, gamma, p, form, A.size)
        if warm_start.polar is not None:
            warm_start.polar.learn(s, V)
        rank = int((left > 0).sum())
        warm_start.basis = (
            np.ascontiguousarray(V[:, : rank + OVERSAMPLING])
            if 0 < rank < MAX_RANK_FRACTION * len(s)
            else None
        )
        return (along[:, :rank] * (left[:rank] / s[:rank])) @ V[:, :rank].T, size

    def value(self, A: Floats) -> float:
        """Return the sum of the singular values."""
        return float(np.linalg.svd(A, compute_uv=False).sum(dtype=np.float64))


class RowNorm(SumOverRows):
    """Σ_i ‖A_i:‖₂, the sum of the Euclidean norms of the rows."""

    name = "rows"
    on_omega = staticmethod(omega.shrink_rows)

    def split(self, A: Floats) -> Split:
        """Norms of rows, attached to their directions."""
        lengths = row_lengths(A)
        safe = np.where(lengths > 0, lengths, 1)
        return Split(lengths, lambda x: A * (x / safe)[:, None], A.shape[0])

    def shrinkage(
        self, point: ImplicitMatrix, gamma: float, p: float, form: Form, warm_start: WarmStart
    ) -> Shrinkage:
        """Scale each row so that its norm is the one after shrinkage of the vector of row norms."""
        lengths = point.row_lengths()
        short, size = shrink_vector(lengths, gamma, p, form, len(lengths))
        return Shrinkage(factors=short / np.where(lengths > 0, lengths, 1), size=size)


NORMS: dict[str, Norm] = {norm.name: norm for norm in (EntrywiseNorm(), NuclearNorm(), RowNorm())}


def find_norm(name: str) -> Norm:
    """Return the norm called `name`."""
    return NORMS[check_choice(name, "norm", NORMS)]


def row_lengths(A: Floats) -> Floats:
    """Euclidean norms of the rows of `A`, without overflow or underflow of the squares."""
    peak = np.abs(A).max(axis=1, initial=0, keepdims=True)
    peak[peak == 0] = 1
    lengths: Floats = np.linalg.norm(A / peak, axis=1) * peak[:, 0]
    return lengths
