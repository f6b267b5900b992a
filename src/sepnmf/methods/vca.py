"""Vertex component analysis."""

import time

import numpy as np

from sepnmf.methods.subspace import (
    affine_view,
    column_lengths,
    column_mean,
    first_largest,
    leading_left,
    longest_column,
    nonzero_columns,
    orthogonalised,
    signal_subspace,
    spread,
    stepwise_scores,
)
from sepnmf.selection import Selection
from sepnmf.typing import ArrayLike, Floats, Ints, Seed, Sparse
from sepnmf.validation import Negative, check_columns, check_generator, check_number, check_rank

ROUNDING = 1e-13  # relative; lengths that differ by less are the same


def vca(
    M: ArrayLike | Sparse,
    r: int,
    *,
    snr: float | None = None,
    negative: Negative = "error",
    random_state: Seed = None,
) -> Selection:
    """Pick the column that lies farthest along a random direction orthogonal to those picked, repeat.

    The columns are first seen in r coordinates, in one of two ways:

    - projective, when the signal-to-noise ratio is at least 15 + 10 log₁₀(r) dB: X = UᵀM with the r leading
      left singular vectors U of M, and each column of X is divided by its inner product with their mean,
      which undoes a different brightness of the columns;
    - affine, below that: the r − 1 leading principal coordinates of the centred columns, and a last
      coordinate that is the same for all, the largest length of the others. One direction fewer lets
      less noise in.

    Then r times: draw a Gaussian direction, make it orthogonal to the columns picked so far (at
    first: to the last coordinate axis), and pick the column whose inner product with it has the largest
    absolute value.

    Parameters
    ----------
    M : array_like or sparse array of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    snr : float, optional
        Signal-to-noise ratio in dB. By default it is estimated: with P the mean squared length of the
        columns and S that of their projections on the r leading principal directions (mean included), it is
        10 log₁₀((S − rP/m)/(P − S)).
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int or numpy.random.Generator, default None
        Where the directions come from; None gives different ones at each call.

    Returns
    -------
    Selection
        `scores`: the k-th anchor, k = 0, …, r − 1, has r + 1 − k; another column has the largest share of a
        step's maximum that it reached, at most 1.

    Raises
    ------
    ValueError
        If an argument is not as described, M has numerical rank below r (projective view), or the
        columns' affine hull has fewer than r − 1 dimensions (affine view).

    Notes
    -----
    Cost: two singular value decompositions, O(mn·min(m, n)) for dense M and Lanczos steps of O(nnz) for
    sparse M, and r steps of O(rn). Memory: three copies of M (one if sparse), and r × n numbers.

    With r = 1 both views see all columns as equal, and the longest column is picked. Columns that are not on
    one side of the projective view's plane (possible only with negative entries) are seen in the affine view.

    When to use: hyperspectral images with pure pixels and high signal-to-noise ratio, as the
    field's customary baseline. One run is random, and from little noise on less often right than SPA.

    References
    ----------
    J. M. P. Nascimento and J. M. Bioucas-Dias, "Vertex component analysis: a fast algorithm to unmix
    hyperspectral data", IEEE Transactions on Geoscience and Remote Sensing 43 (2005), 898-910.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0, random_state=0)
    >>> set(sepnmf.vca(M, 10, random_state=0).anchors) == set(anchors)
    True
    """
    start = time.perf_counter()
    data = check_columns(M, negative)
    n = data.shape[1]
    r = check_rank(r, n)
    level = None if snr is None else check_number(snr, "snr", least=-np.inf)
    rng = check_generator(random_state)
    data, kept = nonzero_columns(data, r)
    if r == 1:
        anchors, scores = longest_column(data)
    else:
        anchors, _, shares = follow_directions(simplex_view(data, r, level), rng.standard_normal((r, r)))
        scores = stepwise_scores(anchors, shares)
    return Selection(
        anchors=kept[anchors],
        scores=spread(scores, kept, n),
        method="vca",
        seconds=time.perf_counter() - start,
    )


def simplex_view(M: Floats | Sparse, r: int, snr: float | None) -> Floats:
    """Coordinates, r of them, in which the columns span a simplex, by the view the SNR (in dB) asks for."""
    if snr is None:
        snr = estimate_snr(M, r)
    if snr >= 15 + 10 * np.log10(r):
        _, X, _ = signal_subspace(M, r, method="VCA")
        depth = X.mean(axis=1) @ X
        if depth.min() > np.finfo(float).eps * depth.max():
            X /= depth
            return X
    return affine_view(M, r, method="VCA")


def estimate_snr(M: Floats | Sparse, r: int) -> float:
    """Signal-to-noise ratio in dB: infinite when r principal directions and the mean explain M exactly."""
    m, n = M.shape
    centre = column_mean(M)
    _, sigma = leading_left(M, min(r, m, n), centre)
    power = float((column_lengths(M) ** 2).mean())
    return snr_in_decibels(power, float(sigma @ sigma), centre, (m, n), r, float(np.finfo(M.dtype).eps))


def snr_in_decibels(
    power: float, spread: float, centre: Floats, shape: tuple[int, int], r: int, eps: float
) -> float:
    """The ratio, from the mean squared length of n columns, their mean, and their spread about it."""
    m, n = shape
    signal = spread / n + float(centre @ centre)
    noise = power - signal
    signal -= r / m * power
    # What rounding leaves of a difference is no noise.
    if noise <= max(m, n) * eps * power:
        return np.inf
    return 10 * float(np.log10(signal / noise)) if signal > 0 else -np.inf


def follow_directions(Y: Floats, draws: Floats) -> tuple[Ints, Floats, Floats]:
    """Pick as many columns as Y has rows, each farthest along a draw made orthogonal to those before.

    Returns the columns, the directions (as rows) and each column's largest share of a step's maximum. Of
    columns that rounding cannot tell apart the first is picked.
    """
    r, n = Y.shape
    anchors = np.empty(r, dtype=np.intp)
    directions = np.empty((r, r))
    shares = np.zeros(n)
    free = np.ones(n, dtype=bool)
    basis = np.zeros((r, r))
    basis[-1, 0] = 1  # for the first step only
    for k in range(r):
        directions[k] = orthogonalised(draws[k], basis[:, : max(k, 1)])
        reach = np.where(free, np.abs(directions[k] @ Y), 0)
        anchors[k] = first_largest(reach, free, ROUNDING)
        shares = np.maximum(shares, reach / max(reach.max(), np.finfo(float).tiny))
        free[anchors[k]] = False
        basis[:, k] = orthogonalised(Y[:, anchors[k]], basis[:, :k])
    return anchors, directions, shares
