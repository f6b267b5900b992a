"""Linear programmes on HiGHS, and what row and column generation share."""

from typing import Any

import numpy as np
from scipy import optimize

from sepnmf._typing import Floats

MAX_ADDED = 20  # rows, and columns, added in one round at most


def minimise(cost: Floats, *, tol: float = 1e-7, **constraints: Any) -> Any:
    """Solve a feasible, bounded linear programme, feasible to `tol`; raises RuntimeError if HiGHS fails."""
    options: Any = {"primal_feasibility_tolerance": tol, "dual_feasibility_tolerance": tol}
    found = optimize.linprog(cost, method="highs", options=options, **constraints)
    if found.status != 0:
        raise RuntimeError(f"HiGHS did not solve the linear programme: {found.message}")
    return found


def largest_violations(values: Floats, slack: float) -> list[int]:
    """Indices of the largest values that exceed `slack`, at most `MAX_ADDED` of them."""
    order = np.argsort(-values, kind="stable")[:MAX_ADDED]
    return [int(i) for i in order if values[i] > slack]
