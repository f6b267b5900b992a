"""What the singular values say: where white noise begins, and how strong it is."""

import numpy as np

from sepnmf.columns import Columns, column_blocks, dense_columns, is_sparse
from sepnmf.typing import Floats

# Tracy–Widom (β = 1) quantile at 99.9 %: one false alarm in a thousand when the rest is white noise.
TRACY_WIDOM = 3.2724
LARGEST_GRAM = 2000  # both sides longer than this, and no spectrum is computed
LARGEST_SVD = 4_000_000  # entries; beyond, the spectrum comes from the Gram matrix, which has half the digits


def squared_spectrum(M: Columns) -> Floats | None:
    """Squares of the singular values, falling, rounding errors zero; None if M is long on both sides."""
    m, n = M.shape
    if min(m, n) > LARGEST_GRAM:
        return None
    if m * n <= LARGEST_SVD:
        digits, squares = 2, np.linalg.svd(dense_columns(M, slice(None)), compute_uv=False) ** 2
    else:
        digits, squares = 1, np.linalg.eigvalsh(smaller_gram(M))[::-1]
    rounding = 10 * squares[0] * max(m, n) * np.finfo(np.float64).eps ** digits
    return np.where(squares > rounding, squares, 0.0)


def smaller_gram(M: Columns) -> Floats:
    """MMᵀ or MᵀM, whichever is smaller, in float64."""
    m, n = M.shape
    if is_sparse(M):
        wide = M.astype(np.float64)
        product: Floats = (wide @ wide.T if m <= n else wide.T @ wide).toarray()
        return product
    gram = np.zeros((min(m, n), min(m, n)))
    for block in column_blocks(min(m, n), max(m, n)):
        part = np.asarray(M[:, block] if m <= n else M[block].T, np.float64)
        gram += part @ part.T
    return gram


def white_rank(squares: Floats, m: int, n: int) -> tuple[int, Floats]:
    """Least k such that the singular values behind the k-th are as of white noise; its edge for every k.

    After Kritchman and Nadler: the next squared singular value against the Tracy–Widom edge of noise whose
    variance is that of the rest. (Theirs leaves the value that is tested out of the rest; with it in, as
    here, the test finds rather less than more.)
    """
    edges = np.empty(len(squares))
    for k in range(len(squares)):
        a, b = np.sqrt(m - k - 0.5), np.sqrt(n - k - 0.5)
        centre, width = (a + b) ** 2, (a + b) * (1 / a + 1 / b) ** (1 / 3)
        edges[k] = squares[k:].sum() / ((m - k) * (n - k)) * (centre + TRACY_WIDOM * width)
    below = np.flatnonzero(squares <= edges)
    # The last singular value is its own noise: unless it is zero, it always looks like that.
    k = int(below[0]) if below.size else len(squares)
    return (len(squares) if k == len(squares) - 1 and squares[k] > 0 else k), edges


def noise_variance(squares: Floats, m: int, n: int, r: int) -> float:
    """σ² of white noise behind the r-th singular value."""
    return float(squares[r:].sum() / ((m - r) * (n - r))) if min(m, n) > r else 0.0
