"""Which features a method keeps, for several numbers of them at once."""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sepnmf._typing import Floats, Ints
from sepnmf.experiments.gesture_features import features
from sepnmf.experiments.recovery import choose, parameter_names, ratio_options, timed
from sepnmf.least_squares import nnls
from sepnmf.matrix import Dense
from sepnmf.methods._spa import project_successively, successive_projections
from sepnmf.selection import Selection, best_first

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of the features that are kept
BASELINE_ITERATIONS = 500  # of FGNSR and MERIT
# The paper's rules: the largest diagonal entries of X for the binary set, the largest rows for the grey one.
PICK = {"binary": "diag", "goyal_2020": "diag", "gray": "rows", "hgm4": "rows"}


class Kept(NamedTuple):
    """Columns, the processor seconds of finding them, and their share in what SPA, the start, would keep."""

    columns: Ints
    seconds: float
    like_spa: float | None = None


def kept_by_ratio(
    dataset: str,
    kind: str,
    method: str,
    p: int,
    mode: str,
    shares: tuple[float, ...],
    parameters: dict[str, Any],
    max_outer: int = 100,
) -> dict[float, Kept]:
    """What ADMM-P or DCA keeps for each share, from the paper's start, SPA with NNLS.

    SPA finds no more columns than F has rank, so the start, and with it X, is the same for all shares beyond.
    """
    F, _ = features(dataset, kind)
    options = ratio_options(method, p, "l1", mode, {key: parameters[key] for key in parameter_names(method)})
    options |= {"pick": PICK[dataset], "max_outer": max_outer}
    runs: dict[int, tuple[Selection, float]] = {}
    found = {}
    for share in shares:
        r = number(F, share)
        anchors = project_successively(Dense(F), r, "none")[0]  # r of them, or as many as F has rank
        if anchors.size not in runs:
            X = np.zeros((F.shape[1],) * 2)
            X[anchors] = nnls(F[:, anchors], F)
            runs[anchors.size] = timed(partial(choose, F, r, method, init=X, **options))
        run, seconds = runs[anchors.size]
        columns = best_first(run.scores, r)
        same = np.intersect1d(columns, successive_projections(F, r)[0]).size / r
        found[share] = Kept(columns, seconds, same)
    return found


def kept_by_baseline(dataset: str, kind: str, method: str, share: float) -> Kept:
    """What a method without parameters keeps; beyond the rank SPA goes on with the longest columns."""
    F, _ = features(dataset, kind)
    r = number(F, share)
    if method == "all":
        return Kept(np.arange(F.shape[1]), 0.0)
    if method == "spa":
        (columns, _), seconds = timed(partial(successive_projections, F, r))
        return Kept(columns, seconds)
    found, seconds = timed(partial(choose, F, r, method, max_iter=BASELINE_ITERATIONS, n_jobs=1))
    return Kept(found.anchors, seconds)


def number(F: Floats, share: float) -> int:
    """⌈share · n⌉, the paper's numbers of features."""
    n: int = F.shape[1]
    return math.ceil(round(share * n, 9))
