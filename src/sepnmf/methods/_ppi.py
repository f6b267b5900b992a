"""Pixel purity index."""

import numpy as np

from sepnmf._typing import Floats, Seed
from sepnmf._validation import check_count, check_generator
from sepnmf.matrix import (
    Chunked,
    Extremes,
    MatrixLike,
    Negative,
    Squares,
    as_matrix,
    concatenated,
    leading_spectrum,
)
from sepnmf.methods._method import method
from sepnmf.methods._subspace import nonzero_columns, spread, too_few_nonzero
from sepnmf.selection import Selection, best_first

BLOCK = 1_000_000  # inner products held at a time


def ppi_in_chunks(
    M: Chunked, r: int, *, n_skewers: int = 1000, negative: Negative = "error", random_state: Seed = None
) -> Selection:
    """Choose as `ppi` does, in two passes.

    One pass for the r leading directions, one for the extremes along all skewers. Columns of more than four
    thousand rows are seen along approximate directions, found in four passes, and anchors may differ.
    """
    n_skewers = check_count(n_skewers, "n_skewers")
    rng = check_generator(random_state)
    m, n = M.shape
    rounding = 16 * M.eps
    M, spectrum = leading_spectrum(M, min(r, m))
    if spectrum.count < r:
        raise ValueError(too_few_nonzero(spectrum.count, r))
    U = spectrum.vectors[:, : min(r, m, spectrum.count)]
    skewers = rng.standard_normal((n_skewers, U.shape[1]))
    ends, squares = M.scan(Extremes(U, skewers, rounding), Squares())
    counts = np.bincount(ends.indices.ravel(), minlength=n).astype(np.float64)
    scores = purity_scores(counts, np.sqrt(concatenated(squares, n)), n_skewers, r)
    return Selection(anchors=best_first(scores, r), scores=scores)


@method(
    summary="counts extremes along random directions",
    use="ranking candidates for a person to look at",
    cost="products with random vectors",
    chunks="exactly",
    in_chunks=ppi_in_chunks,
)
def ppi(
    M: MatrixLike,
    r: int,
    *,
    n_skewers: int = 1000,
    negative: Negative = "error",
    random_state: Seed = None,
) -> Selection:
    """Pick the columns that are most often extreme along random lines.

    The columns are projected on the r leading left singular vectors of M. Along each of `n_skewers`
    Gaussian directions ("skewers") the column with the largest and the one with the smallest inner
    product are counted; the anchors are the r columns with the highest counts, the longer one first when
    counts tie. Of columns that cannot be told apart along a skewer (copies) the first is counted.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    n_skewers : int, default 1000
        Random directions. A vertex seen from few of them needs more.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Where the skewers come from; None gives different ones at each call.

    Returns
    -------
    Selection
        `scores`: how often each column was extreme, plus half its length relative to the longest column.

    Raises
    ------
    ValueError
        If an argument is not as described, or fewer than r columns were ever extreme.

    Notes
    -----
    Cost: a truncated singular value decomposition (O(mn·min(m, n)) for dense M, Lanczos steps of O(nnz) for
    sparse M) and O(rn) a skewer. Memory: two copies of M, r × n numbers, a million inner products.

    On noise-free mixtures with weights that sum to one, only anchors are ever extreme. With noise the counts
    of one material are shared by its near-copies, so that the r highest counts may show one material twice
    and another not at all; the index says how pure a column is, not what is missing. Columns of
    very different lengths should be normalised first: the column nearest to the origin is extreme, too.

    When to use: to rank candidates for a person to look at, or to compare with the method's many users.

    References
    ----------
    J. W. Boardman, "Automating spectral unmixing of AVIRIS data using convex geometry concepts", Summaries
    of the 4th Annual JPL Airborne Geoscience Workshop (1993), 11-14.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0, random_state=0)
    >>> set(sepnmf.ppi(M, 10, random_state=0).anchors) == set(anchors)
    True
    """
    n_skewers = check_count(n_skewers, "n_skewers")
    rng = check_generator(random_state)
    data = as_matrix(M, negative).in_memory()
    n = data.shape[1]
    data, kept = nonzero_columns(data, r)
    U, _ = data.leading_left(min(r, *data.shape))
    X = np.asarray(data.times(U), dtype=np.float64)
    counts = count_extremes(X, n_skewers, rng, rounding=16 * data.eps)
    scores = spread(purity_scores(counts, np.sqrt(data.squares), n_skewers, r), kept, n)
    return Selection(anchors=best_first(scores, r), scores=scores)


def purity_scores(counts: Floats, lengths: Floats, n_skewers: int, r: int) -> Floats:
    """Return the counts, of which at least r are not zero, with a part that decides between equal ones only.

    Counts are whole numbers, so half of a relative length does that.
    """
    extreme = int((counts > 0).sum())
    if extreme < r:
        raise ValueError(
            f"Only {extreme} column(s) of M were extreme along any of {n_skewers} skewers, got r={r}: raise "
            "n_skewers or ask for fewer anchors."
        )
    return np.asarray(counts + lengths / (2 * lengths.max()))


def count_extremes(X: Floats, n_skewers: int, rng: np.random.Generator, rounding: float) -> Floats:
    """How often each column of X has the largest or the smallest inner product with a Gaussian vector.

    Inner products that differ by less than `rounding` times the largest |inner product| tie.
    """
    d, n = X.shape
    counts = np.zeros(n)
    at_once = max(1, BLOCK // n)
    for done in range(0, n_skewers, at_once):
        reach = rng.standard_normal((min(at_once, n_skewers - done), d)) @ X
        slack = rounding * np.abs(reach).max(axis=1, keepdims=True)
        for ends in (
            reach >= reach.max(axis=1, keepdims=True) - slack,
            reach <= reach.min(axis=1, keepdims=True) + slack,
        ):
            counts += np.bincount(ends.argmax(axis=1), minlength=n)
    return counts
