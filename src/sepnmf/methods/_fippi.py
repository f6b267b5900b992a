"""Fast iterative pixel purity index."""

import numpy as np

from sepnmf._typing import Floats, Ints
from sepnmf.matrix import MatrixLike, Negative, as_matrix
from sepnmf.methods._method import method
from sepnmf.methods._spa import successive_projections
from sepnmf.methods._subspace import affine_view, column_lengths, longest_column, nonzero_columns, spread
from sepnmf.selection import Selection, best_first

BLOCK = 1_000_000  # inner products held at a time


@method(
    summary="PPI with skewers through the columns that it finds",
    use="users of FIPPI in pysptools or MATLAB",
    cost="SVD + a few products with r × n",
)
def fippi(M: MatrixLike, r: int, *, negative: Negative = "error") -> Selection:
    """Pick columns that are extreme along skewers which are themselves extreme columns, until no more come.

    The columns are seen in their r − 1 leading principal coordinates. Then:

    1. S ← the r columns that ATGP finds, which is SPA with one more coordinate that is the same for all;
    2. the line through each column of S is a skewer, and the columns with the largest and the smallest inner
       product along it are counted;
    3. columns that were counted and are not in S join it, and step 2 is done for their skewers, until there
       are none.

    The columns that were counted are the endmembers of FIPPI, whose number is not in the user's hand. The
    anchors are the r with the highest counts, the longer one first when counts tie. If fewer were counted,
    columns of ATGP follow, in its order.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.

    Returns
    -------
    Selection
        `scores`: how often each column was extreme, plus half its length relative to the longest column; a
        column of ATGP that was never extreme has a number between 1/2 and 1, other columns less than 1/2.
        All columns with a score of at least 1 are FIPPI's endmembers. `n_outer` counts the rounds.

    Raises
    ------
    ValueError
        If an argument is not as described, or the columns' affine hull has fewer than r − 1 dimensions.

    Notes
    -----
    Cost: a singular value decomposition of the centred data, O(mn·min(m, n)) for dense M, and O(rn) a skewer.
    Memory: three copies of M (one if sparse), r × n numbers, a million inner products.

    With r = 1 the longest column is picked. There is no randomness: the same data give the same
    columns, which is the advantage over `ppi`. As there, near-copies of one material may be counted
    several times and another material not at all.

    When to use: to repeat work that was done with FIPPI. `auto` or `spa` are better choices otherwise.

    The published method reduces the data by the minimum noise fraction, to a number of dimensions that it
    estimates; r − 1 principal coordinates take the place of that here.

    References
    ----------
    C.-I Chang and A. Plaza, "A fast iterative algorithm for implementation of pixel purity index", IEEE
    Geoscience and Remote Sensing Letters 3 (2006), 63-67.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0, random_state=0)
    >>> sel = sepnmf.fippi(M, 10)
    >>> set(sel.anchors) == set(anchors)
    True
    >>> int((sel.scores >= 1).sum())  # as many as FIPPI found
    10
    """
    data = as_matrix(M, negative).in_memory()
    n = data.shape[1]
    data, kept = nonzero_columns(data, r)
    if r == 1:
        anchors, scores = longest_column(data)
        return Selection(anchors=kept[anchors], scores=spread(scores, kept, n))
    view = affine_view(data, r, method="FIPPI")
    start = successive_projections(view, r)[0]
    counts, rounds = count_along_extremes(view[:-1], start, rounding=16 * data.eps)
    lengths = np.sqrt(data.squares)
    scores = counts + lengths * (0.5 - 2.0**-20) / lengths.max()
    never = start[counts[start] == 0]
    scores[never] = 1.0 - (1.0 + np.arange(len(never))) / (2.0 * len(never) + 2.0)
    scores = spread(scores, kept, n)
    return Selection(anchors=best_first(scores, r), scores=scores, n_outer=rounds)


def count_along_extremes(X: Floats, start: Ints, rounding: float) -> tuple[Floats, int]:
    """Count how often each column is extreme along skewers, from those of `start` on; and the rounds.

    Inner products that differ by less than `rounding` times the largest possible one tie, and the first
    column counts.
    """
    n = X.shape[1]
    counts, is_skewer = np.zeros(n), np.zeros(n, dtype=bool)
    longest = float(column_lengths(X).max())
    new, rounds = np.sort(start), 0
    while new.size:
        is_skewer[new] = True
        width = max(BLOCK // n, 1)
        for begin in range(0, new.size, width):
            skewers = X[:, new[begin : begin + width]]
            reach = skewers.T @ X
            slack = rounding * longest * column_lengths(skewers)[:, None]
            for ends in (
                reach >= reach.max(axis=1, keepdims=True) - slack,
                reach <= reach.min(axis=1, keepdims=True) + slack,
            ):
                counts += np.bincount(ends.argmax(axis=1), minlength=n)
        new, rounds = np.flatnonzero((counts > 0) & ~is_skewer), rounds + 1
    return counts, rounds
