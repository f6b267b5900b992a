"""Vertex component analysis, and the view of the data that the geometric methods share."""

import time

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from sepnmf.selection import Selection
from sepnmf.typing import ArrayLike, Floats, Ints, Seed, Sparse
from sepnmf.validation import Negative, check_columns, check_generator, check_number, check_rank


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
    first: to the last coordinate axis), and pick the column with the largest |inner product| with it.

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
        anchors, scores = follow_random_directions(simplex_view(data, r, level), rng)
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


def affine_view(M: Floats | Sparse, r: int, *, method: str) -> Floats:
    """Coordinates on r − 1 ≥ 1 principal directions, and as the last one of all their largest length."""
    centre = column_mean(M)
    U, sigma = leading_left(M, min(r - 1, *M.shape), centre)
    size = float(np.hypot(sigma[0], np.sqrt(M.shape[1]) * np.linalg.norm(centre)))
    rank = numerical_rank(sigma, M, size)
    if rank < r - 1:
        raise ValueError(
            f"The columns of M span an affine space of dimension {rank}, so {method} can find at most "
            f"{rank + 1} anchor(s), got r={r}: ask for fewer."
        )
    X = np.asarray(U.T @ M, dtype=np.float64)
    X -= (U.T @ centre)[:, None]
    return np.vstack([X, np.full(X.shape[1], column_lengths(X).max())])


def estimate_snr(M: Floats | Sparse, r: int) -> float:
    """Signal-to-noise ratio in dB: infinite when r principal directions and the mean explain M exactly."""
    m, n = M.shape
    centre = column_mean(M)
    _, sigma = leading_left(M, min(r, m, n), centre)
    power = float((column_lengths(M) ** 2).mean())
    signal = float(sigma @ sigma) / n + float(centre @ centre)
    noise = power - signal
    signal -= r / m * power
    # What rounding leaves of a difference is no noise.
    if noise <= max(m, n) * np.finfo(M.dtype).eps * power:
        return np.inf
    return 10 * float(np.log10(signal / noise)) if signal > 0 else -np.inf


def follow_random_directions(Y: Floats, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Pick as many columns as Y has rows, each farthest along a random direction off those before it."""
    r, n = Y.shape
    anchors = np.empty(r, dtype=np.intp)
    shares = np.zeros(n)
    free = np.ones(n, dtype=bool)
    basis = np.zeros((r, r))
    basis[-1, 0] = 1  # for the first step only
    for k in range(r):
        direction = orthogonalised(rng.standard_normal((r,)), basis[:, : max(k, 1)])
        reach = np.where(free, np.abs(direction @ Y), 0)
        anchors[k] = np.argmax(np.where(free, reach, -1))
        shares = np.maximum(shares, reach / max(reach.max(), np.finfo(float).tiny))
        free[anchors[k]] = False
        basis[:, k] = orthogonalised(Y[:, anchors[k]], basis[:, :k])
    return anchors, stepwise_scores(anchors, shares)


def stepwise_scores(anchors: Ints, shares: Floats) -> Floats:
    """Scores r + 1 − k for the k-th anchor, above every other column's share (at most 1)."""
    scores = shares.copy()
    scores[anchors] = len(anchors) + 1.0 - np.arange(len(anchors))
    return scores


def orthogonalised(vector: Floats, basis: Floats) -> Floats:
    """Unit vector along the part of `vector` orthogonal to the orthonormal `basis`, zero if there is none."""
    rest = vector / max(float(np.linalg.norm(vector)), np.finfo(float).tiny)
    for _ in range(2):  # once leaves errors as large as what cancelled, twice does not
        rest = rest - basis @ (basis.T @ rest)
    length = float(np.linalg.norm(rest))
    return rest / length if length > 0 else rest


def nonzero_columns(M: Floats | Sparse, r: int) -> tuple[Floats | Sparse, Ints]:
    """Nonzero columns of M, scaled to largest entry 1, and their positions."""
    high, low = M.max(axis=0), M.min(axis=0)
    if not isinstance(M, np.ndarray):
        high, low = high.toarray(), low.toarray()
    size = np.maximum(high, -low).ravel()
    kept = np.flatnonzero(size > 0)
    if kept.size < r:
        raise ValueError(
            f"M has {kept.size} nonzero column(s), fewer than the r={r} anchors asked for: ask for fewer."
        )
    data = M if kept.size == size.size else M[:, kept]
    return data / size.max(), kept


def spread(scores: Floats, kept: Ints, n: int) -> Floats:
    """Scores of all n columns from those of the columns `kept`; the others have 0."""
    out = np.zeros(n)
    out[kept] = scores
    return out


def longest_column(M: Floats | Sparse) -> tuple[Ints, Floats]:
    """The one column to take where a simplex with a single vertex does not say which."""
    lengths = column_lengths(M)
    return np.array([np.argmax(lengths)], dtype=np.intp), lengths


def column_lengths(M: Floats | Sparse) -> Floats:
    """Euclidean norms of the columns."""
    if isinstance(M, np.ndarray):
        squares: Floats = np.einsum("ij,ij->j", M, M, dtype=np.float64)
    else:
        squares = M.multiply(M).sum(axis=0, dtype=np.float64)
    return np.asarray(np.sqrt(squares))


def column_mean(M: Floats | Sparse) -> Floats:
    """Mean of the columns."""
    return np.asarray(M.mean(axis=1, dtype=np.float64)).ravel()


def signal_subspace(M: Floats | Sparse, r: int, *, method: str) -> tuple[Floats, Floats, Floats]:
    """U, UᵀM and the r largest singular values of M, U the left singular vectors of these."""
    U, sigma = leading_left(M, min(r, *M.shape))
    rank = numerical_rank(sigma, M, float(sigma[0]))
    if rank < r:
        raise ValueError(
            f"M has numerical rank {rank}, so {method} can find at most {rank} anchor(s), got r={r}: "
            "ask for fewer."
        )
    return U, np.asarray(U.T @ M, dtype=np.float64), sigma


def numerical_rank(sigma: Floats, M: Floats | Sparse, size: float) -> int:
    """Number of singular values that are more than rounding errors in a matrix of norm `size`."""
    return int((sigma > max(M.shape) * np.finfo(M.dtype).eps * size).sum())


def leading_left(M: Floats | Sparse, k: int, centre: Floats | None = None) -> tuple[Floats, Floats]:
    """The k leading left singular vectors and values of M, or of M − centre·1ᵀ.

    The sign is such that the entry of each vector with the largest absolute value is positive: it does
    not change when the columns of M are permuted.
    """
    m, n = M.shape
    if not isinstance(M, np.ndarray) and k < min(m, n):
        # ARPACK starts from this vector: a fixed one, so that the same M gives the same answer.
        v0 = np.random.default_rng(0).standard_normal(min(m, n))
        operator = M if centre is None else centred_operator(M, centre)
        U, sigma, _ = svds(operator, k, v0=v0)
        U, sigma = U[:, ::-1], sigma[::-1]
    else:
        # With k = min(m, n) the answer is as large as M, so a dense copy costs nothing more.
        A = M if isinstance(M, np.ndarray) else M.toarray()
        A = A if centre is None else A - centre[:, None].astype(A.dtype)
        # A = RᵀQᵀ has the left singular vectors and the singular values of the smaller Rᵀ.
        R = np.asarray(np.linalg.qr(A.T, mode="r"))
        U, sigma, _ = np.linalg.svd(R.T, full_matrices=False)
        U, sigma = U[:, :k], sigma[:k]
    U = np.where(U[np.abs(U).argmax(axis=0), np.arange(k)] < 0, -U, U)
    return U.astype(np.float64), sigma.astype(np.float64)


def centred_operator(M: Sparse, centre: Floats) -> LinearOperator:
    """M − centre·1ᵀ as products with vectors and matrices, for as an array it would be dense."""

    def product(x: Floats) -> Floats:
        return np.asarray(M @ x - np.multiply.outer(centre, x.sum(axis=0)))

    def transposed_product(y: Floats) -> Floats:
        return np.asarray(M.T @ y - centre @ y)

    return LinearOperator(
        M.shape,
        dtype=M.dtype,
        matvec=product,
        matmat=product,
        rmatvec=transposed_product,
        rmatmat=transposed_product,
    )
