"""Linear programmes on HiGHS, and what row and column generation share."""

from functools import partial
from typing import Any

import numpy as np
from scipy import optimize

from sepnmf._parallel import interruptible
from sepnmf._typing import Floats

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


def minimise(cost: Floats, *, tol: float = 1e-7, **constraints: Any) -> Any:
    """Solve a feasible, bounded linear programme, feasible to `tol`; raises RuntimeError if HiGHS fails."""
    size = len(cost) + sum(len(constraints[name]) for name in ("b_ub", "b_eq") if name in constraints)
    for algorithm, presolve, least, iterations in ATTEMPTS:
        precision = max(tol, least)
        options: Any = {
            "primal_feasibility_tolerance": precision,
            "dual_feasibility_tolerance": precision,
            "presolve": presolve,
            "maxiter": max(1000, iterations * size),
        }
        found = interruptible(
            partial(optimize.linprog, cost, method=algorithm, options=options, **constraints)
        )
        if found.status == 0:
            return found
    raise RuntimeError(f"HiGHS did not solve the linear programme: {found.message}")


def largest_violations(values: Floats, slack: float) -> list[int]:
    """Indices of the largest values that exceed `slack`, at most `MAX_ADDED` of them."""
    order = np.argsort(-values, kind="stable")[:MAX_ADDED]
    return [int(i) for i in order if values[i] > slack]
