"""Linear programmes on HiGHS, and what row and column generation share."""

from functools import partial
from typing import Any

import numpy as np
from scipy import optimize

from sepnmf._parallel import interruptible
from sepnmf._typing import Floats

REACHED_LIMIT = 1  # status of a programme that took all iterations it was given
MAX_ADDED = 20  # rows, and columns, added in one round at most
# Algorithms of HiGHS, whether the programme is presolved, the least tolerance, and the most iterations for
# each variable and constraint. Where entries differ by ten orders of magnitude one may give up or not end,
# and the next solves the programme.
ATTEMPTS = (
    ("highs", True, 0.0, 1),
    ("highs", False, 0.0, 1),
    ("highs-ipm", True, 0.0, 1),
    ("highs", True, 1e-7, 20),
)


class WorkUsedUp(Exception):
    """The programmes of a call would take more work than it allows."""


class Budget:
    """The work that the linear programmes of one call may take, in nominal seconds.

    A programme takes rate·kᵃ·sᵇ of them for k iterations and s nonzero coefficients, with `powers` (a, b):
    about the most that HiGHS was measured to take. As no clock is read, the answer is the same everywhere.
    """

    def __init__(self, seconds: float, rate: float, powers: tuple[float, float]) -> None:
        self.left, self.rate = seconds, rate
        self.of_iterations, self.of_size = powers

    def iterations(self, size: int) -> int:
        """Return how many iterations a programme may take; beyond 10⁹ there is no limit."""
        power = self.left / (self.rate * float(max(size, 1)) ** self.of_size)
        return int(min(power ** (1 / self.of_iterations), 1e9))

    def spend(self, iterations: int, size: int) -> None:
        """Take what a programme took."""
        work = self.rate * float(iterations) ** self.of_iterations * float(size) ** self.of_size
        self.left = max(self.left - work, 0.0)


def minimise(cost: Floats, *, budget: Budget, tol: float = 1e-7, **constraints: Any) -> Any:
    """Solve a feasible, bounded linear programme, feasible to `tol`.

    Raises RuntimeError if HiGHS fails, and WorkUsedUp if the budget does not suffice.
    """
    size = len(cost) + sum(len(constraints[name]) for name in ("b_ub", "b_eq") if name in constraints)
    coefficients = sum(constraints[name].nnz for name in ("A_ub", "A_eq") if name in constraints)
    for algorithm, presolve, least, iterations in ATTEMPTS:
        precision = max(tol, least)
        most, allowed = max(1000, iterations * size), budget.iterations(coefficients)
        if not allowed:
            raise WorkUsedUp
        options: Any = {
            "primal_feasibility_tolerance": precision,
            "dual_feasibility_tolerance": precision,
            "presolve": presolve,
            "maxiter": min(most, allowed),
        }
        found = interruptible(
            partial(optimize.linprog, cost, method=algorithm, options=options, **constraints)
        )
        budget.spend(found.nit, coefficients)
        if found.status == 0:
            return found
        if found.status == REACHED_LIMIT and allowed < most:
            raise WorkUsedUp
    raise RuntimeError(f"HiGHS did not solve the linear programme: {found.message}")


def largest_violations(values: Floats, slack: float) -> list[int]:
    """Indices of the largest values that exceed `slack`, at most `MAX_ADDED` of them."""
    order = np.argsort(-values, kind="stable")[:MAX_ADDED]
    return [int(i) for i in order if values[i] > slack]
