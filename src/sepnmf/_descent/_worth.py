"""What an answer is worth: its residual, the importance of its anchors, whether others would do as well."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepnmf._descent._problem import Problem
from sepnmf._kernels import exchange as kernels
from sepnmf._parallel import Workers
from sepnmf._typing import Floats, Ints
from sepnmf.least_squares import nnls
from sepnmf.matrix import column_blocks

IN_CONE = 1e-6  # distance of a unit column from a cone, below which it lies in it


class Fit(NamedTuple):
    """Nonnegative weights of a block of columns on the anchors W, and the problem that they solve."""

    G: Floats  # WᵀW
    B: Floats  # a row of inner products with W for each column
    squares: Floats  # squared lengths of the columns
    H: Floats  # a row of weights for each column
    E: Floats  # what is left of the squared lengths


def residual(problem: Problem, anchors: Ints) -> float:
    """Σ_j min_{h ≥ 0} ‖m_j − Wh‖² over all columns, with the anchors as the columns of W."""
    return sum(float(fit.E.sum()) for fit in fits(problem, anchors))


def fits(problem: Problem, anchors: Ints) -> Iterator[Fit]:
    """Weights of all columns on the anchors, block by block."""
    W = problem.data.take(anchors)
    G = W.T @ W
    for block in column_blocks(64, problem.n):
        part = problem.data.part(block)
        B = np.ascontiguousarray(part.inner(W), dtype=np.float64)
        fit = Fit(G, B, part.squares, np.zeros((len(B), len(anchors))), np.empty(len(B)))
        with Workers(len(B), problem.n_jobs) as workers:
            workers.run(kernels.solve, G, B, fit.squares, -1, fit.H, fit.E)
        yield fit


def importance(problem: Problem, anchors: Ints) -> Floats:
    """What the residual would gain without each anchor, relative to ‖X‖²_F; 0 for the other columns."""
    gain = np.zeros(len(anchors))
    total = 0.0
    for fit in fits(problem, anchors):
        total += float(fit.squares.sum())
        for k in range(len(anchors)):
            used = np.flatnonzero(fit.H[:, k] > 0)
            gain[k] += float((left_without(fit, used, k, problem.n_jobs) - fit.E[used]).sum())
    scores = np.zeros(problem.n)
    scores[anchors] = np.maximum(gain / total, np.finfo(np.float64).tiny)
    return scores


def left_without(fit: Fit, columns: Ints, k: int, n_jobs: int | None) -> Floats:
    """What the anchors but the k-th leave of these columns."""
    left = np.empty(len(columns))
    with Workers(len(columns), n_jobs) as workers:
        B, squares = fit.B[columns], fit.squares[columns]
        workers.run(kernels.solve, fit.G, B, squares, k, fit.H[columns], left)
    return left


def lies_in_cone(problem: Problem, anchors: Ints) -> bool:
    """Whether an anchor is a nonnegative combination of columns other than itself and its copies.

    Only tested for few columns without noise, and for fewer anchors than rows and columns: with as many,
    noise cannot be detected.
    """
    is_exact = problem.noise is not None and problem.noise.variance == 0.0
    if not is_exact or not problem.is_small or problem.r >= min(problem.data.shape):
        return False
    lengths = np.linalg.norm(problem.choice, axis=0)
    unit = problem.choice / np.where(lengths > 0, lengths, 1.0)
    for anchor in anchors:
        others = np.flatnonzero((unit[:, anchor] @ unit < 1 - IN_CONE) & (lengths > 0))
        if others.size == 0:
            continue
        h = nnls(unit[:, others], unit[:, [anchor]])
        if np.linalg.norm(unit[:, others] @ h - unit[:, [anchor]]) <= IN_CONE:
            return True
    return False
