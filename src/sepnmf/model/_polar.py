"""The polar factor of a square matrix whose singular values are close to each other."""

import math

import numpy as np

from sepnmf._kernels import polar
from sepnmf._typing import Floats

TOLERANCE = 1e-12  # of the polar factor, in the Frobenius norm
WIDEST = 0.8  # bound on ‖I − BᵀB/c‖₂ up to which polynomials are faster than a decomposition
MAX_STEPS = 4
PAUSE = 20  # calls without an attempt after two that failed one after the other
# Taylor coefficients of (1 − e)^(−1/2), from e⁰ to e⁵.
TAYLOR = (1.0, 1 / 2, 3 / 8, 5 / 16, 35 / 128, 63 / 256)
# e⁴ and e³ have the right ratio in (e² + αe)², a square, which takes less time than another product.
ALPHA = TAYLOR[3] / (2 * TAYLOR[4])


class Polar:
    """B = QH with Q orthogonal and H positive definite, by matrix products only.

    With E = I − BᵀB/c the factor is Q = B(I − E)^(−1/2)/√c. A step replaces the power by its Taylor
    polynomial of degree 2 or 4. Its remainder is at most t‖E^k‖_F/(1 − ‖E‖₂), k = 3 or 5, with the next coefficient t,
    and both norms are bounded by b = ‖E²‖_F^(1/2): ‖E‖₂ ≤ b, ‖E^k‖_F ≤ b^k. If that is not small enough,
    the next step begins with the result of this one, whose polar factor is the same.

    b is smallest if c is where the sum of the fourth powers of the eigenvalues of E is smallest. c is moved
    there by a step of Newton's method in each call, as one that is relative to the mean eigenvalue of BᵀB.
    """

    def __init__(self, n: int) -> None:
        self.centre = 1.0  # c in terms of the mean eigenvalue
        self.failures = self.pause = 0
        self.E, self.square, self.fourth, self.sum = (np.empty((n, n)) for _ in range(4))
        self.factors = [np.empty((n, n)) for _ in range(2)]

    def factor(self, B: Floats) -> tuple[Floats, float] | None:
        """Return Q and a lower bound on the least singular value of B; None if they are not found.

        Q is written to a buffer that the next call overwrites.
        """
        if self.pause > 0:
            self.pause -= 1
            return None
        mean = float(np.vdot(B, B)) / len(B)
        if not 1e-200 < mean < 1e200:
            return None
        Q, least = B, 0.0
        for step in range(MAX_STEPS):
            c = self.centre * mean if step == 0 else 1.0
            np.matmul(Q.T, Q, out=self.E)
            polar.distance_from_identity(self.E, c)
            np.matmul(self.E.T, self.E, out=self.square)
            second, third, fourth = polar.moments(self.E, self.square)
            bound = math.sqrt(math.sqrt(fourth))
            if step == 0 and second > 0.0:
                self.centre *= min(max(1.0 - third / (3.0 * second), 0.5), 2.0)
            if not bound < WIDEST:
                self.failures += 1
                self.pause = PAUSE if self.failures > 1 else 0
                return None
            if step == 0:
                least = math.sqrt(c * (1.0 - bound))
            error = self.add_terms(c, bound)
            Q, last = self.factors[step % 2], Q
            np.matmul(last, self.E, out=Q)
            if error <= TOLERANCE:
                self.failures = 0
                return Q, least
        return None

    def add_terms(self, c: float, bound: float) -> float:
        """E ← the Taylor polynomial of (I − E)^(−1/2), over √c; return the bound on its remainder."""
        scale = 1.0 / math.sqrt(c)
        error = TAYLOR[3] * bound**3 / (1.0 - bound)
        if error <= TOLERANCE:
            polar.polynomial(scale, TAYLOR[1], self.E, TAYLOR[2], self.square, 0.0, self.square)
            return error
        polar.add_multiple(self.square, ALPHA, self.E, self.sum)
        np.matmul(self.sum.T, self.sum, out=self.fourth)
        rest = TAYLOR[2] - TAYLOR[4] * ALPHA**2
        polar.polynomial(scale, TAYLOR[1], self.E, rest, self.square, TAYLOR[4], self.fourth)
        return TAYLOR[5] * bound**5 / (1.0 - bound)
