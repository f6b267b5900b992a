"""Generators of the two kinds of synthetic data in the paper."""

import numpy as np

from sepnmf._typing import Floats, Ints, Seed
from sepnmf._validation import accepts_rng, check_count, check_generator, check_number


@accepts_rng
def make_midpoint(noise: float, m: int = 50, r: int = 10, random_state: Seed = 0) -> tuple[Floats, Ints]:
    """Generate data of type 1: r random anchors and the midpoints of all pairs, moved away from the mean.

    The anchors W are uniform on [0, 1], columns summed to one; M₀ = W[I, H] with the r(r−1)/2 midpoints
    of pairs as the columns of WH. The noise moves only the midpoints, along M₀(:, j) − w̄ (w̄ the mean
    anchor), and its Frobenius norm is `noise`; then the columns are permuted.

    For noise above about 0.43 (r = 10) the anchors lie in the cone of the other columns; above about 0.1
    some entries are negative.

    Parameters
    ----------
    noise : float
        ε ≥ 0, the Frobenius norm of the noise.
    m : int, default 50
        Number of rows.
    r : int, default 10
        Number of anchors, at least 2; there are r(r + 1)/2 columns.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default 0

    Returns
    -------
    M : ndarray of shape (m, r(r + 1)/2)
    anchors : ndarray of shape (r,)
        Sorted column indices of the anchors in M.

    Examples
    --------
    >>> from sepnmf.datasets import make_midpoint
    >>> M, anchors = make_midpoint(noise=0.1)
    >>> M.shape, len(anchors)
    ((50, 55), 10)
    """
    level, m, r, rng = check_arguments(noise, m, r, random_state)
    check_count(r, "r", least=2)
    W = random_anchors(m, r, rng)
    first, second = np.triu_indices(r, k=1)
    M = np.hstack([W, (W[:, first] + W[:, second]) / 2])
    push = M - W.mean(axis=1, keepdims=True)
    push[:, :r] = 0
    length = np.linalg.norm(push)
    if length > 0:  # with r = 2 the only midpoint is the mean
        M = M + level * push / length
    return shuffled(M, r, rng)


@accepts_rng
def make_dirichlet(
    noise: float, m: int = 50, n: int = 100, r: int = 10, random_state: Seed = 0
) -> tuple[Floats, Ints]:
    """Generate data of type 2: r random anchors and mixtures of them, with Gaussian noise on all columns.

    The anchors W are uniform on [0, 1], columns summed to one; M₀ = W[I, H] with the n − r columns of H
    uniform on the simplex (Dirichlet with parameters 1). The noise has Frobenius norm
    `noise`·‖M₀‖_F; then the columns are permuted. Larger noise makes some entries negative.

    Parameters
    ----------
    noise : float
        ε ≥ 0, relative to ‖M₀‖_F.
    m : int, default 50
        Number of rows.
    n : int, default 100
        Number of columns, at least r.
    r : int, default 10
        Number of anchors.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default 0

    Returns
    -------
    M : ndarray of shape (m, n)
    anchors : ndarray of shape (r,)
        Sorted column indices of the anchors in M.

    Examples
    --------
    >>> from sepnmf.datasets import make_dirichlet
    >>> M, anchors = make_dirichlet(noise=0.1)
    >>> M.shape, len(anchors)
    ((50, 100), 10)
    """
    level, m, r, rng = check_arguments(noise, m, r, random_state)
    n = check_count(n, "n", least=r)
    W = random_anchors(m, r, rng)
    H = np.hstack([np.eye(r), rng.dirichlet(np.ones(r), size=n - r).T])
    M = W @ H
    N = rng.standard_normal(M.shape)
    M = M + level * np.linalg.norm(M) * N / np.linalg.norm(N)
    return shuffled(M, r, rng)


def check_arguments(
    noise: float, m: int, r: int, random_state: Seed
) -> tuple[float, int, int, np.random.Generator]:
    """Check the arguments that both generators take."""
    return (
        check_number(noise, "noise", strict=False),
        check_count(m, "m"),
        check_count(r, "r"),
        check_generator(random_state),
    )


def random_anchors(m: int, r: int, rng: np.random.Generator) -> Floats:
    """Draw a matrix with uniform entries, and scale its columns to sum one."""
    W: Floats = rng.random((m, r))
    W /= W.sum(axis=0)
    return W


def shuffled(M: Floats, r: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return M with its columns permuted, and the new indices of the first r columns, the anchors."""
    order = rng.permutation(M.shape[1])
    return np.ascontiguousarray(M[:, order]), np.flatnonzero(order < r)
