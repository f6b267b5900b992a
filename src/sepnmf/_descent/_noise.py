"""White noise: whether singular values look like it, from which on, and its variance."""

import numpy as np

from sepnmf._typing import Floats
from sepnmf.matrix import InMemory

# Tracy–Widom (β = 1) quantile at 99.9 %: one false alarm in a thousand when the rest is white noise.
TRACY_WIDOM = 3.2724
LARGEST_GRAM = 2000  # rows and columns; if both are more, no spectrum is computed
LARGEST_SVD = 4_000_000  # entries; beyond, the spectrum comes from the Gram matrix, which has half the digits


def squared_spectrum(M: InMemory) -> Floats | None:
    """Squared singular values, largest first, rounding errors set to zero; None if M is large both ways."""
    m, n = M.shape
    if min(m, n) > LARGEST_GRAM:
        return None
    if m * n <= LARGEST_SVD:
        digits, squares = 2, np.linalg.svd(M.take(slice(None)), compute_uv=False) ** 2
    else:
        digits, squares = 1, np.linalg.eigvalsh(M.smaller_gram())[::-1]
    rounding = 10 * squares[0] * max(m, n) * np.finfo(np.float64).eps ** digits
    return np.where(squares > rounding, squares, 0.0)


def white_rank(squares: Floats, m: int, n: int, total: float | None = None) -> tuple[int, Floats]:
    """Least k such that the singular values behind the k-th look like white noise, and the edge for every k.

    The test is that of Kritchman and Nadler: the next squared singular value is compared with the Tracy–Widom
    edge of noise whose variance is that of the rest. (They leave the value that is tested out of the rest;
    here it is included, and the test finds rather fewer values than more.) If `squares` are only the largest,
    `total` is the sum of all.
    """
    rest = np.cumsum(squares[::-1])[::-1] + (0.0 if total is None else max(total - float(squares.sum()), 0.0))
    edges = np.empty(len(squares))
    for k in range(len(squares)):
        a, b = np.sqrt(m - k - 0.5), np.sqrt(n - k - 0.5)
        centre, width = (a + b) ** 2, (a + b) * (1 / a + 1 / b) ** (1 / 3)
        edges[k] = rest[k] / ((m - k) * (n - k)) * (centre + TRACY_WIDOM * width)
    below = np.flatnonzero(squares <= edges)
    # The last singular value is compared with itself: unless it is zero, it always looks like noise.
    k = int(below[0]) if below.size else len(squares)
    return (len(squares) if k == min(m, n) - 1 and squares[k] > 0 else k), edges


def noise_variance(squares: Floats, m: int, n: int, r: int) -> float:
    """Variance σ² of white noise, from the singular values behind the r-th; 0 if there are none."""
    return float(squares[r:].sum() / ((m - r) * (n - r))) if min(m, n) > r else 0.0
