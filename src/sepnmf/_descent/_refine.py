"""Better anchors from given ones, in one call."""

from typing import Any

import numpy as np

from sepnmf._descent._criterion import descent
from sepnmf._descent._problem import Problem
from sepnmf._descent._scaling import Normalize
from sepnmf._descent._worth import importance, residual
from sepnmf._typing import Floats, Ints, Seed
from sepnmf._validation import check_generator
from sepnmf.matrix import NONE_KNOWN, Known, MatrixLike, Negative, as_matrix
from sepnmf.selection import best_first


def refine_anchors(
    M: MatrixLike,
    anchors: Ints,
    *,
    known: Known = NONE_KNOWN,
    normalize: Normalize = "auto",
    negative: Negative = "error",
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> tuple[Ints, Floats, dict[str, Any]]:
    """Descend from these anchors as `sepnmf.auto` does from its starts.

    Returns the new anchors, best first; their scores, one for each column of M; and a row of what was done:
    the "criterion", its value "before" and "after", the "exchanges", the "residual" of all columns and
    whether the descent is "settled". What is `known` of the anchors stays so: included columns are among them
    and are not exchanged. The other parameters are those of `sepnmf.auto`.
    """
    rng = check_generator(random_state)
    data = as_matrix(M, negative).in_memory()
    problem = Problem.prepare(data, len(anchors), normalize, rng, n_jobs, known=known)
    given = np.asarray(anchors)
    got = descent(problem)(given)
    new = got.anchors
    row: dict[str, Any] = {
        "criterion": got.criterion,
        "before": got.before,
        "after": got.after,
        "exchanges": got.n_exchanges,
        "residual": residual(problem, new),
        "settled": got.settled,
    }
    if problem.noise is None and not problem.is_small:
        # What helps a sample of the columns need not help them all.
        before = residual(problem, given)
        if row["residual"] >= before:
            new, row = given, row | {"after": row["before"], "exchanges": 0, "residual": before}
    scores = importance(problem, new)
    return best_first(scores, problem.r), scores, row
