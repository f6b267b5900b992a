"""The low-dimensional views of the data that the geometric methods share."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds

from sepnmf.columns import squared_lengths
from sepnmf.typing import Floats, Ints, Sparse


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


def stepwise_scores(anchors: Ints, shares: Floats) -> Floats:
    """Scores r + 1 − k for the k-th anchor, above every other column's share (at most 1)."""
    scores = shares.copy()
    scores[anchors] = len(anchors) + 1.0 - np.arange(len(anchors))
    return scores


def first_largest(gain: Floats, allowed: NDArray[np.bool_], tol: float) -> int:
    """Index of the largest gain allowed; of those that rounding cannot tell from it, the first."""
    gain = np.where(allowed, gain, -np.inf)
    best = gain.max()
    return int(np.argmax(gain >= best - tol * abs(best)))


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
        raise ValueError(too_few_nonzero(kept.size, r))
    data = M if kept.size == size.size else M[:, kept]
    return data / size.max(), kept


def too_few_nonzero(count: int, r: int) -> str:
    """What to say when there are fewer than r columns to choose among."""
    return f"M has {count} nonzero column(s), fewer than the r={r} anchors asked for: ask for fewer."


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
    return np.sqrt(squared_lengths(M))


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

    Signs are fixed (`with_fixed_signs`), and so do not change when the columns of M are permuted.
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
    return with_fixed_signs(U).astype(np.float64), sigma.astype(np.float64)


def with_fixed_signs(U: Floats) -> Floats:
    """The columns of U with the signs that make their largest entries by absolute value positive."""
    largest = U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])]
    return np.where(largest < 0, -U, U)


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
