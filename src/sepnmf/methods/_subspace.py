"""The low-dimensional views of the data that the geometric methods share."""

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Floats, Ints
from sepnmf.matrix import NONE_KNOWN, InMemory, Known

# Of the length of a column: what it has at most outside of a span that it is in, to the precision of float32.
DEPENDENT = 1e-6


def affine_view(M: InMemory, r: int, *, method: str) -> Floats:
    """Return coordinates on r − 1 ≥ 1 principal directions, and a last one that is their largest length."""
    centre = M.mean_column()
    U, sigma = M.leading_left(min(r - 1, *M.shape), centre)
    check_affine_dimension(sigma, centre, M.shape, M.eps, r, method)
    X = np.asarray(M.times(U), dtype=np.float64)
    X -= (U.T @ centre)[:, None]
    return np.vstack([X, np.full(X.shape[1], column_lengths(X).max())])


def stepwise_scores(anchors: Ints, shares: Floats, known: Known = NONE_KNOWN) -> Floats:
    """Return the scores r + 1 − k for the k-th anchor, above every other column's share (at most 1).

    Excluded columns have 0.
    """
    scores = shares.copy()
    scores[known.exclude] = 0.0
    scores[anchors] = len(anchors) + 1.0 - np.arange(len(anchors))
    return scores


def first_largest(gain: Floats, allowed: NDArray[np.bool_], tol: float) -> int:
    """Return the index of the largest gain allowed; of those that rounding cannot tell from it, the first."""
    gain = np.where(allowed, gain, -np.inf)
    best = gain.max()
    return int(np.argmax(gain >= best - tol * abs(best)))


def orthogonalised(vector: Floats, basis: Floats) -> Floats:
    """Return the unit vector along the part of `vector` orthogonal to `basis`, zero if there is none."""
    rest = vector / max(float(np.linalg.norm(vector)), np.finfo(float).tiny)
    for _ in range(2):  # once leaves errors as large as what cancelled, twice does not
        rest = rest - basis @ (basis.T @ rest)
    length = float(np.linalg.norm(rest))
    return rest / length if length > 0 else rest


def basis_of_included(Y: Floats, known: Known) -> Floats:
    """Return a column for each included column of Y: orthonormal, or zero if it is in the span before it."""
    basis = np.zeros((len(Y), len(known.include)))
    for k, j in enumerate(known.include):
        q = orthogonalised(Y[:, j], basis[:, :k])
        if q @ Y[:, j] > DEPENDENT * np.linalg.norm(Y[:, j]):
            basis[:, k] = q
    return basis


def nonzero_columns(M: InMemory, r: int, known: Known = NONE_KNOWN) -> tuple[InMemory, Ints]:
    """Return the nonzero columns of M, scaled to largest entry 1, and their positions.

    There must be r of them that are not excluded.
    """
    size = M.largest_entries()
    kept = np.flatnonzero(size > 0)
    count = int(np.isin(kept, known.exclude, invert=True).sum())
    if count < r:
        raise ValueError(too_few_nonzero(count, r, known))
    # In range first: a division by the smallest or largest numbers would round differently.
    data = (M if kept.size == size.size else M.part(kept)).in_range()
    return data.divided(data.largest_entries().max()), kept


def too_few_nonzero(count: int, r: int, known: Known = NONE_KNOWN) -> str:
    """Return what to say when there are fewer than r columns to choose among."""
    return (
        f"{known.searched} has {count} nonzero column(s), fewer than the r={r} anchors asked for: "
        "ask for fewer."
    )


def spread(scores: Floats, kept: Ints, n: int) -> Floats:
    """Return scores of all n columns from those of the columns `kept`; the others have 0."""
    out = np.zeros(n)
    out[kept] = scores
    return out


def longest_column(M: InMemory, known: Known = NONE_KNOWN) -> tuple[Ints, Floats]:
    """Return the one column to take where a simplex with a single vertex does not say which; all scores.

    That is an included column, if there is one.
    """
    scores = length_scores(np.sqrt(M.squares), known)
    return np.append(known.include, np.argmax(scores))[:1], scores


def length_scores(lengths: Floats, known: Known) -> Floats:
    """Return lengths, overwritten, as scores: 0 for excluded columns, the largest for an included one."""
    lengths[known.exclude] = 0.0
    lengths[known.include] = np.nextafter(lengths.max(), np.inf)
    return lengths


def column_lengths(X: Floats) -> Floats:
    """Return the Euclidean norms of the columns of an array."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", X, X, dtype=np.float64)))


def signal_subspace(M: InMemory, r: int, *, method: str) -> tuple[Floats, Floats, Floats]:
    """Return U, UᵀM and the r largest singular values of M, U being the left singular vectors of these."""
    U, sigma = M.leading_left(min(r, *M.shape))
    check_dimension(sigma, M.shape, M.eps, r, method)
    return U, np.asarray(M.times(U), dtype=np.float64), sigma


def check_dimension(sigma: Floats, shape: tuple[int, int], eps: float, r: int, method: str) -> None:
    """Refuse columns that span fewer than r dimensions, by their singular values."""
    rank = int((sigma > max(shape) * eps * float(sigma[0])).sum())
    if rank < r:
        raise ValueError(
            f"M has numerical rank {rank}, so {method} can find at most {rank} anchor(s), got r={r}: "
            "ask for fewer."
        )


def check_affine_dimension(
    sigma: Floats, centre: Floats, shape: tuple[int, int], eps: float, r: int, method: str
) -> None:
    """Refuse columns whose affine hull has fewer than r − 1 dimensions, by their singular values about it."""
    size = float(np.hypot(sigma[0], np.sqrt(shape[1]) * np.linalg.norm(centre)))
    rank = int((sigma > max(shape) * eps * size).sum())
    if rank < r - 1:
        raise ValueError(
            f"The columns of M span an affine space of dimension {rank}, so {method} can find at most "
            f"{rank + 1} anchor(s), got r={r}: ask for fewer."
        )
