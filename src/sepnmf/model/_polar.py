"""Singular value thresholding by matrix products, where most singular values are close to each other."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sepnmf._kernels import polar
from sepnmf._typing import Floats

# Of the polar factor, in the Frobenius norm. A larger error is permitted if the threshold is small: such
# that the result, B − τQ, has the precision of ‖B‖_F.
TOLERANCE, PRECISION, LARGEST_ERROR = 1e-12, 1e-13, 1e-8
WIDEST = 0.8  # bound on ‖I − BᵀB/c‖₂ up to which polynomials are faster than a decomposition
MAX_STEPS = 4
MAX_SWEEPS = 8  # of subspace iteration, before a decomposition finds the outliers
PAUSE = 20  # calls without an attempt after two that failed one after the other
REVIEW = 50  # calls after which a decomposition looks for outliers again, if more than one step is taken
# Taylor coefficients of (1 − e)^(−1/2), from e⁰ to e⁵, and of (1 − e)^(1/2), from e¹ to e⁶.
TAYLOR = (1.0, 1 / 2, 3 / 8, 5 / 16, 35 / 128, 63 / 256)
ROOT = (-1 / 2, -1 / 8, -1 / 16, -5 / 128, -7 / 256, -21 / 1024)
# e⁴ and e³ have the right ratio in (e² + αe)², a square, which takes less time than another product.
ALPHA = TAYLOR[3] / (2 * TAYLOR[4])

# From outlying singular values, and the mean and number of the others: the threshold if these survive,
# and the sum of the values after thresholding.
Threshold = Callable[[Floats, float, int], tuple[float, float]]


class Apart(NamedTuple):
    """Singular values that are close to each other, and outliers."""

    root: float  # √c
    tau: float  # the threshold that is expected
    sigma: Floats  # of the outliers
    inverse: Floats  # 1/max(σ, τ)


class Polar:
    """Thresholding of singular values that all survive, except for a few outliers that may not.

    If no singular value of B is below the threshold τ, the result is B − τQ with the polar factor Q of
    B = QH, Q orthogonal and H positive definite. With E = I − BᵀB/c it is Q = B(I − E)^(−1/2)/√c. A step
    replaces the power by its Taylor polynomial of degree 1, 2 or 4. Its remainder is at most
    t‖E^k‖_F/(1 − ‖E‖₂), k = 2, 3 or 5, with the next coefficient t, and both norms are bounded by
    b = ‖E²‖_F^(1/2): ‖E‖₂ ≤ b, ‖E^k‖_F ≤ b^k; for degree 1, which needs no E², by b = ‖E‖_F. If that is not
    small enough, the next step begins with the result of this one, whose polar factor is the same.

    A few singular values σ are often far from the others. Their right singular vectors W are improved by
    subspace iteration from those of the last call. E is replaced by its part on the complement of W, and the
    power by 1/max(σ, τ) on W, so that σ ≤ τ becomes zero.

    b is smallest if c is where the sum of the fourth powers of the eigenvalues of E is smallest. c is moved
    there by a step of Newton's method in each call, as one that is relative to the mean eigenvalue of BᵀB.
    """

    def __init__(self, n: int) -> None:
        self.centre = 1.0  # c in terms of the mean eigenvalue, outliers excluded
        self.outliers = np.empty((0, n))  # Wᵀ
        self.promising = True  # whether the next call can succeed
        self.failures = self.pause = 0
        self.calls = REVIEW  # since the outliers were looked for
        self.E, self.square, self.fourth, self.sum = (np.empty((n, n)) for _ in range(4))
        self.factors = [np.empty((n, n)) for _ in range(2)]

    def learn(self, s: Floats, V: Floats) -> None:
        """Choose the outliers among all singular values, in falling order, and right singular vectors."""
        self.calls, self.promising = 0, False
        if self.failures > 1:
            self.failures, self.pause = 1, PAUSE
        if self.pause > 0:
            self.pause -= 1
            return
        if not 1e-100 < s[0] < 1e100:
            return
        squares = np.square(s)
        first, last = polar.find_cluster(squares, 0.9 * WIDEST, 0.01, MAX_SWEEPS)
        if last > first:
            self.promising = True
            self.outliers = np.concatenate([V.T[:first], V.T[last:]])
            cluster = squares[first:last]
            self.centre = 0.5 * float(cluster[0] + cluster[-1]) / float(cluster.mean())

    def shrink(self, B: Floats, threshold: Threshold) -> tuple[Floats, float] | None:
        """Return the result of thresholding and the sum of its singular values; None if they are not found.

        The result is written to a buffer that the next call overwrites.
        """
        if not self.promising:
            return None
        self.promising = False
        self.calls += 1
        self.failures += 1
        whole = float(np.vdot(B, B))
        apart = self.separate(B, whole, threshold)
        found = None if apart is None else self.factor(B, apart, self.tolerance(whole, apart.tau))
        if apart is None or found is None:
            return None
        Q, least, total, steps = found
        sigma, W = apart.sigma, self.outliers
        others = len(B) - len(W)
        tau, size = threshold(sigma, total / others, others)
        if not 0.0 <= tau < least:
            return None
        Q *= -tau
        Q += B
        if sigma.size and tau > 0.0:  # the threshold that was expected and the actual one differ a little
            wrong = tau / np.maximum(sigma, tau) - tau * apart.inverse
            some = np.flatnonzero(wrong)
            Q -= ((B @ W[some].T) * wrong[some]) @ W[some]
        self.promising, self.failures = steps == 1 or self.calls < REVIEW, 0
        return Q, size

    def separate(self, B: Floats, whole: float, threshold: Threshold) -> Apart | None:
        """Form E on the complement of the outliers; return what is known about these."""
        k, n = self.outliers.shape
        if not 1e-200 < whole / n < 1e200:
            return None
        np.matmul(B.T, B, out=self.E)
        outlying = float(np.vdot(self.outliers, self.outliers @ self.E)) if k else 0.0
        mean = (whole - outlying) / (n - k)
        if not mean > 1e-10 * whole / n:
            return None
        c = self.centre * mean
        polar.distance_from_identity(self.E, c)
        root, mean = math.sqrt(c), math.sqrt(mean)
        if k:
            return self.refine(root, whole, mean, threshold)
        none = np.empty(0)
        return Apart(root, threshold(none, mean, n)[0], none, none)

    def factor(self, B: Floats, apart: Apart, tolerance: float) -> tuple[Floats, float, float, int] | None:
        """Return Q, a lower bound on the singular values but the outliers, their sum, and the steps."""
        E, (root, _, sigma, inverse) = self.E, apart
        Q, c, least, total = B, root**2, 0.0, 0.0
        others = len(B) - sigma.size
        for step in range(1, MAX_STEPS + 1):
            if step > 1:
                np.matmul(Q.T, Q, out=E)
                polar.distance_from_identity(E, 1.0)
                self.add_outliers(np.square(sigma * inverse) - 1.0)
                c, tolerance = 1.0, TOLERANCE
            first, second = polar.first_moments(E)
            bound = math.sqrt(second)
            error, roots = TAYLOR[2] * second / (1.0 - bound) if bound < WIDEST else math.inf, 0.0
            if error <= tolerance:
                polar.polynomial(1.0 / math.sqrt(c), TAYLOR[1], E, 0.0, E, 0.0, E)
                roots = ROOT[0] * first + ROOT[1] * second
            else:
                np.matmul(E.T, E, out=self.square)
                sums = (first, second, *polar.inner_products(self.square, E, self.square))
                bound = math.sqrt(math.sqrt(sums[3]))
                if not bound < WIDEST:
                    return None
                error, roots = self.add_terms(c, bound, sums, tolerance)
                if step == 1:
                    self.centre *= min(max(1.0 - sums[2] / (3.0 * sums[1]), 0.5), 2.0)
            if step == 1:
                least, total = root * math.sqrt(1.0 - bound), root * (others + roots)
                self.add_outliers(inverse - 1.0 / root)
            Q, last = self.factors[step % 2], Q
            np.matmul(last, E, out=Q)
            if error <= tolerance:
                if step > 1:
                    total = float(np.vdot(Q, B)) - float(inverse @ np.square(sigma))
                return Q, least, total, step
        return None

    def tolerance(self, whole: float, tau: float) -> float:
        """Error of the polar factor that is permitted, given ‖B‖²_F and the threshold."""
        allowed = PRECISION * math.sqrt(whole) / tau if tau > 0.0 else LARGEST_ERROR
        return min(max(allowed, TOLERANCE), LARGEST_ERROR)

    def refine(self, root: float, whole: float, mean: float, threshold: Threshold) -> Apart | None:
        """Subspace iteration for the outliers; take them out of E.

        With the residual R = EW − W diag(e) the error of the polar factor is, to first order, that of its
        blocks between W and the complement: R_j times a divided difference of the function of E that is
        computed. The polynomial on the complement has RWᵀ + WRᵀ multiplied by ½ already.
        """
        k, n = self.outliers.shape
        e, residuals, sigma, inverse = (np.empty(k) for _ in range(4))
        W, Y, product = (np.empty((k, n)) for _ in range(3))
        np.matmul(self.outliers, self.E, out=Y)
        tau, last = 0.0, math.inf
        for sweep in range(MAX_SWEEPS):
            if not polar.orthonormalise(Y):
                return None
            np.matmul(Y, self.E, out=product)
            polar.rotate(Y, product, W, e, residuals)
            Y, product = product, Y
            error = polar.outlying(e, residuals, root, tau, sigma, inverse)
            if sweep == 0:
                tau = threshold(sigma, mean, n - k)[0]
                error = polar.outlying(e, residuals, root, tau, sigma, inverse)
            allowed = self.tolerance(whole, tau)
            if error <= allowed:
                self.outliers = W
                self.add_outliers(-e)
                return Apart(root, tau, sigma, inverse)
            if sweep > 0 and error * (error / last) ** (MAX_SWEEPS - 1 - sweep) > allowed:
                break  # at this rate it takes too long
            last = error
        return None

    def add_outliers(self, values: Floats) -> None:
        """E ← E + W diag(values) Wᵀ."""
        if values.size and np.abs(values).max() > 1e-15:
            W = self.outliers
            np.matmul(W.T, values[:, None] * W, out=self.sum)
            self.E += self.sum

    def add_terms(
        self, c: float, bound: float, sums: tuple[float, ...], tolerance: float
    ) -> tuple[float, float]:
        """E ← the Taylor polynomial of (I − E)^(−1/2), over √c.

        Returns the bound on its remainder, and the trace of (I − E)^(1/2) − I.
        """
        scale = 1.0 / math.sqrt(c)
        roots = ROOT[0] * sums[0] + ROOT[1] * sums[1] + ROOT[2] * sums[2] + ROOT[3] * sums[3]
        error = TAYLOR[3] * bound**3 / (1.0 - bound)
        if error <= tolerance:
            polar.polynomial(scale, TAYLOR[1], self.E, TAYLOR[2], self.square, 0.0, self.square)
            return error, roots
        polar.add_multiple(self.square, ALPHA, self.E, self.sum)
        np.matmul(self.sum.T, self.sum, out=self.fourth)
        with_e, with_square = polar.inner_products(self.fourth, self.E, self.square)
        fifth = with_e - 2 * ALPHA * sums[3] - ALPHA**2 * sums[2]
        sixth = with_square - 2 * ALPHA * fifth - ALPHA**2 * sums[3]
        rest = TAYLOR[2] - TAYLOR[4] * ALPHA**2
        polar.polynomial(scale, TAYLOR[1], self.E, rest, self.square, TAYLOR[4], self.fourth)
        return TAYLOR[5] * bound**5 / (1.0 - bound), roots + ROOT[4] * fifth + ROOT[5] * sixth
