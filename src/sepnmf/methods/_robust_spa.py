"""Robust SPA: of several columns that could be next, the one that leaves least of all others."""

from collections.abc import Iterator

import numpy as np

from sepnmf._typing import Floats, WhichColumns
from sepnmf._validation import check_choice, check_count, check_number
from sepnmf.matrix import Known, MatrixLike, Negative, as_matrix
from sepnmf.methods._complement import Complement
from sepnmf.methods._method import method
from sepnmf.methods._spa import Normalize
from sepnmf.methods._subspace import first_largest, stepwise_scores
from sepnmf.selection import Selection


@method(
    summary="SPA that takes, of several candidates, the best fit",
    use="gross outliers: single columns that mix nothing",
    cost="twenty times SPA",
)
def robust_spa(
    M: MatrixLike,
    r: int,
    *,
    n_candidates: int = 10,
    beta: float = 4.0,
    power: float = 1.0,
    normalize: Normalize = "none",
    negative: Negative = "error",
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """SPA that chooses, in every step, the one of several candidates that leaves least of the others.

    r times, with R = M at first:

    1. T ← I, and `n_candidates` times: x ← the longest column of TR, which is a candidate; with u = x/‖x‖ and
       y the column of TR that is farthest from the line through x, T ← (I − α·uuᵀ)T, where α is such that y
       is then √`beta` times as long as x;
    2. the anchor is the candidate c that minimises Σ_j d_jᵖ, p = `power`, with d_j the distance of the j-th
       column of R from the line through c;
    3. R ← R projected onto the complement of the anchor.

    Every T is invertible on the columns that are left, so each candidate is a vertex of their convex hull,
    and the guarantee of SPA for little noise holds, with a smaller constant. An outlier is a vertex too, but
    it explains nothing besides itself: with p = 1 it does not outweigh the others by its length.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data. Zero columns are never anchors. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ rank(M).
    n_candidates : int, default 10
        Columns that are compared in every step: a few more than there are outliers. Far more let mixtures in
        when there is noise. With 1 this is SPA.
    beta : float, default 4
        How much longer, squared, another column is made than the last candidate; above 1. A larger number
        makes the candidates more different, and the guarantee weaker.
    power : float, default 1
        The exponent p of the distances, above 0. With 2 the fit is that of least squares, in which an
        outlier has more weight.
    normalize : {"none", "l1"}, default "none"
        "l1" works on the columns divided by their l1 norms (without a copy).
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns come first, and
        are projected out at the start; excluded columns do not count in the fit.

    Returns
    -------
    Selection
        `scores`: the k-th anchor, k = 0, …, r − 1, has r + 1 − k; another column has its residual norm at the
        last step relative to the longest column, at most 1; an excluded one has 0.

    Raises
    ------
    ValueError
        If an argument is not as described, or if the numerical rank of M is less than r.

    Notes
    -----
    Cost: two products with M for each candidate, 4·mn·r·`n_candidates` operations. Memory: as SPA, an m × r
    basis and a few vectors of length n; M is not copied. Lengths are computed by subtraction, so that
    distances below about 1e-7 of the longest column (in float64) count as zero.

    When to use: some columns are not mixtures at all (dead pixels, spikes, a foreign document), and each of
    them is alone. Outliers that come in groups are like rare materials, and no method can tell. Ask for the
    number of materials, without the outliers. On data that have none SPA is better: with noise and many
    candidates the last of these are mixtures, and a mixture in the middle explains more than a vertex.

    The steps and the default options are those of Gillis' own implementation; here the residual is never
    formed.

    References
    ----------
    N. Gillis, "Successive projection algorithm robust to outliers", IEEE 8th International Workshop on
    Computational Advances in Multi-Sensor Adaptive Processing (2019), 331-335; arXiv:1908.04109.

    Examples
    --------
    >>> import numpy as np, sepnmf
    >>> rng = np.random.default_rng(0)
    >>> W = rng.random((20, 3))
    >>> spike = 5 * np.eye(20)[:, :1]
    >>> M = np.hstack([W, W @ rng.dirichlet(np.ones(3), 100).T, spike])
    >>> 103 in sepnmf.spa(M, 3).anchors  # the spike
    True
    >>> np.sort(sepnmf.robust_spa(M, 3).anchors)
    array([0, 1, 2])
    """
    n_candidates = check_count(n_candidates, "n_candidates")
    beta = check_number(beta, "beta", least=1.0)
    power = check_number(power, "power")
    check_choice(normalize, "normalize", ("none", "l1"))
    known = Known.of(include, exclude)
    complement = Complement(as_matrix(M, negative).in_memory(), r, normalize, known)
    anchors, squares = known.include.tolist(), complement.squares
    while len(anchors) < r:
        j, squares = complement.largest()
        if complement.explained(squares[j]):
            raise ValueError(
                f"{known.searched} has numerical rank {len(anchors)}, so robust SPA can find at most "
                f"{len(anchors)} anchor(s), got r={r}: ask for fewer."
            )
        if n_candidates > 1:
            found = list(candidates(complement, j, squares, n_candidates, beta))
            losses = np.array([loss(complement, k, squares, power) for k in found])
            j = found[first_largest(-losses, np.ones(len(found), dtype=bool), complement.tol)]
        anchors.append(j)
        if len(anchors) < r:
            complement.add(j)
    shares = np.sqrt(np.maximum(squares, 0.0)) / complement.longest
    chosen = np.array(anchors, dtype=np.intp)
    return Selection(anchors=chosen, scores=stepwise_scores(chosen, np.minimum(shares, 1.0)))


def candidates(complement: Complement, first: int, squares: Floats, count: int, beta: float) -> Iterator[int]:
    """Yield columns of the residual R, each once: the longest of TR, with T changed after each.

    The maps I − αuuᵀ that T consists of are kept, and the squared lengths of TR, from which each map takes
    (1 − (1 − α)²)(uᵀTR)².
    """
    free, lengths = complement.free, squares.copy()
    least = smallest_square(complement)
    maps: list[tuple[Floats, float]] = []
    seen: set[int] = set()
    j = first
    for _ in range(count):
        if j not in seen:
            seen.add(j)
            yield j
        x = complement.project(complement.column(j))
        for u, alpha in maps:
            x -= alpha * (u @ x) * u
        top = float(x @ x)
        w = direction = x / np.sqrt(top)
        for u, alpha in reversed(maps):
            w = w - alpha * (u @ w) * u
        along = complement.products(complement.project(w.copy()))
        left = lengths - along**2
        other = first_largest(left, free, complement.tol)
        if left[other] <= least:
            return
        kept = float(left[other] / (beta * top - along[other] ** 2))  # (1 − α)²
        maps.append((direction, 1.0 - np.sqrt(kept)))
        lengths -= (1.0 - kept) * along**2
        j = first_largest(lengths, free, complement.tol)


def loss(complement: Complement, j: int, squares: Floats, power: float) -> float:
    """Return Σ dᵖ of the distances d of the residual's columns from the line through column j.

    Distances are relative to the longest column of the residual: powers stay in the floating-point range.
    """
    direction = complement.project(complement.column(j))
    direction /= np.linalg.norm(direction)
    left = squares - complement.products(direction) ** 2
    left[left <= smallest_square(complement)] = 0.0
    return float(((left / squares.max()) ** (power / 2)).sum())


def smallest_square(complement: Complement) -> float:
    """Return the squared length below which a difference of squares is rounding error."""
    return float(complement.tol * complement.longest**2)
