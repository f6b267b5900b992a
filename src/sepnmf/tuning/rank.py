"""How many anchors the data hold, with the evidence, or that they cannot tell."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepnmf.columns import Columns, column_blocks, dense_columns, is_sparse
from sepnmf.typing import ArrayLike, Floats, Seed, Sparse
from sepnmf.validation import Negative, check_columns

# Tracy–Widom (β = 1) quantile at 99.9 %: one false alarm in a thousand when the rest is white noise.
TRACY_WIDOM = 3.2724
LARGEST_GRAM = 2000  # of order more than this no spectrum is computed
LARGEST_SVD = 4_000_000  # entries; beyond, the spectrum comes from the Gram matrix, which has half the digits


@dataclass(frozen=True, eq=False)
class RankEstimate:
    """What the data say about the number of anchors.

    Attributes
    ----------
    low, high : int
        It lies between these; when they differ, the data cannot tell.
    evidence : str
        One sentence: what was looked at and what it showed.
    curve : dict of str to ndarray
        Something to plot against "r", or against the index of the singular value.
    """

    low: int
    high: int
    evidence: str
    curve: dict[str, Any]

    @property
    def certain(self) -> bool:
        """Whether the data leave one number."""
        return self.low == self.high


def squared_spectrum(M: Columns) -> Floats | None:
    """Squares of the singular values, falling; None when both sides of M are long."""
    m, n = M.shape
    if min(m, n) > LARGEST_GRAM:
        return None
    if not is_sparse(M) and m * n <= LARGEST_SVD:
        return np.linalg.svd(np.asarray(M, np.float64), compute_uv=False) ** 2
    if is_sparse(M):
        gram = (M @ M.T if m <= n else M.T @ M).toarray().astype(np.float64)
    elif m <= n:
        gram = np.zeros((m, m))
        for block in column_blocks(m, n):
            part = dense_columns(M, block)
            gram += part @ part.T
    else:
        gram = np.asarray(M.T @ M, np.float64)
    return np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0)


def rounding_level(squares: Floats, m: int, n: int) -> float:
    """Squared singular values below this are rounding errors."""
    digits = 2.0 if m * n <= LARGEST_SVD else 1.0
    return float(10 * squares[0] * max(m, n) * np.finfo(np.float64).eps ** digits)


def white_rank(squares: Floats, m: int, n: int) -> tuple[int, Floats]:
    """Least k such that the singular values behind the k-th are as of white noise; its edge for every k.

    The test of Kritchman and Nadler: the next squared singular value against the Tracy–Widom edge of noise
    whose variance is that of the rest.
    """
    edges = np.empty(len(squares))
    floor = rounding_level(squares, m, n)
    for k in range(len(squares)):
        a, b = np.sqrt(m - k - 0.5), np.sqrt(n - k - 0.5)
        centre, width = (a + b) ** 2, (a + b) * (1 / a + 1 / b) ** (1 / 3)
        variance = squares[k:].sum() / ((m - k) * (n - k))
        edges[k] = max(variance * (centre + TRACY_WIDOM * width), floor)
    below = np.flatnonzero(squares <= edges)
    # The last singular value is its own noise: it always looks like that.
    k = int(below[0]) if below.size and below[0] < len(squares) - 1 else len(squares)
    return k, edges


def noise_variance(squares: Floats, m: int, n: int, r: int) -> float:
    """σ² of white noise behind the r-th singular value, zero when there is rounding only."""
    if min(m, n) <= r or squares[r] <= rounding_level(squares, m, n):
        return 0.0
    return float(squares[r:].sum() / ((m - r) * (n - r)))


def estimate_rank(
    M: ArrayLike | Sparse,
    *,
    most: int = 15,
    negative: Negative = "error",
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> RankEstimate:
    """Estimate how many anchors explain M, or between which numbers that lies.

    If the singular values behind the k-th look like white noise (the test of Kritchman and Nadler), there
    are k directions, and r is the least number from k on of anchors that leave no more than twice the
    noise: the anchors' own noise comes in with weights of at most one. If nothing looks like noise, as in
    most measured scenes, the residual of the best r columns against r is all there is: from its sharpest
    bend to the last anchor that gains three times what the late ones do.

    Parameters
    ----------
    M : array_like or sparse of shape (m, n)
    most : int, default 15
        Largest number looked at where there is no white noise.
    negative : {"error", "clip", "allow"}, default "error"
    random_state : None, int or numpy.random.Generator, default 0
    n_jobs : int, optional
        Threads, by default all cores.

    Returns
    -------
    RankEstimate

    References
    ----------
    S. Kritchman and B. Nadler, "Non-parametric detection of the number of signals", IEEE Trans. Signal
    Process. 57 (2009).

    Examples
    --------
    >>> import sepnmf
    >>> M, _ = sepnmf.datasets.make_dirichlet(noise=0.02, r=7, random_state=0)
    >>> estimate = sepnmf.estimate_rank(M, negative="allow")
    >>> estimate.low, estimate.high
    (7, 7)
    """
    from sepnmf.tuning.auto import auto, residual_curve

    data = check_columns(M, negative)
    m, n = data.shape
    squares = squared_spectrum(data)
    if squares is not None:
        k, edges = white_rank(squares, m, n)
        if k <= min(m, n) // 2:
            curve = {
                "index": np.arange(1, len(squares) + 1),
                "squared_singular_value": squares,
                "edge": edges,
            }
            k = max(k, 1)
            floor = float(squares[k:].sum()) * m / (m - k)
            allowed = 2 * floor + 1e-10 * float(squares.sum())
            for r in range(k, min(k + max(3, k // 4), n) + 1):
                sel = auto(
                    data, r, negative="allow", normalize="none", random_state=random_state, n_jobs=n_jobs
                )
                if np.nanmin(sel.history["residual"]) <= allowed:
                    evidence = f"{k} singular values stand out of white noise, and {r} columns explain them."
                    return RankEstimate(r, r, evidence, curve)
    residuals = residual_curve(data, most, random_state, n_jobs)
    gains = np.log(residuals[:-1] / residuals[1:])  # of anchors 2, 3, …
    late = float(np.median(gains[len(gains) // 2 :]))
    strong = np.flatnonzero(gains > 3 * late)
    high = int(strong[-1]) + 2 if strong.size else 1
    low = min(int(np.argmax(gains[:-1] - gains[1:])) + 2, high) if len(gains) > 1 else 1
    curve = {"r": np.arange(1, len(residuals) + 1), "relative_residual": residuals}
    return RankEstimate(
        low,
        high,
        "No white noise: the residual bends at the first number and gains little after the last.",
        curve,
    )
