"""Successive projection algorithm."""

import time
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sepnmf.columns import Columns, column_blocks, dense_columns, in_range, l1_lengths
from sepnmf.selection import Selection, best_first
from sepnmf.typing import ArrayLike, Floats, Ints, Sparse
from sepnmf.validation import Negative, check_choice, check_columns, check_rank

Normalize = Literal["none", "l1"]


class Complement:
    """Distances of the columns of M from the span of the chosen ones, without a copy of M.

    The squared distances are carried along: with each new orthonormal vector q they lose (qᵀM)². That costs
    digits, so each column has a bound on the error made since its distance was last computed
    from the column itself; where the bounds leave open which value is the largest, the contenders
    are computed anew (`largest`).

    Attributes
    ----------
    M, scale : array or CSC array, and float
        The data divided by `scale`, a number that is 1 unless squares would leave the floating-point range.
    factors : ndarray of shape (n,)
        What the columns of M are multiplied with: ones, or the inverses of their l1 norms.
    lengths : ndarray of shape (n,)
        Euclidean norms of the columns; `longest` is the largest.
    squares : ndarray of shape (n,)
        Squared distances, in float64; −∞ for chosen columns.
    doubt : ndarray of shape (n,)
        Bounds on their errors.
    basis : ndarray of shape (m, k)
        The orthonormal vectors so far.
    tol : float
        What is below this, relative to a column's length, is rounding error of M's own type.
    """

    def __init__(self, M: Columns, r: int, normalize: str) -> None:
        m, n = M.shape
        self.M, self.scale, self.squares = in_range(M)
        self.factors = np.ones(n)
        if normalize == "l1":
            sums = l1_lengths(self.M)
            np.divide(1.0, sums, out=self.factors, where=sums > 0)
            self.squares *= self.factors**2
            self.scale = 1.0
        self.lengths = np.sqrt(self.squares)
        self.longest = float(self.lengths.max())
        self.tol = 10 * np.sqrt(m) * float(np.finfo(M.dtype).eps)
        self.doubt = self.tol * self.squares
        self._store = np.empty((m, min(m, r)), order="F")
        self.basis = self._store[:, :0]

    @property
    def free(self) -> NDArray[np.bool_]:
        """Columns that can still be chosen."""
        return (self.squares > -np.inf) & (self.lengths > 0)

    def column(self, j: int) -> Floats:
        """Column j in float64."""
        return dense_columns(self.M, np.array([j]))[:, 0] * float(self.factors[j])

    def products(self, u: Floats) -> Floats:
        """uᵀM, computed in M's own type."""
        along: Floats = u.astype(self.M.dtype, copy=False) @ self.M
        return along * self.factors

    def project(self, V: Floats) -> Floats:
        """Take from V its part in the span of the basis, twice, in place."""
        for _ in range(2):
            V -= self.basis @ (self.basis.T @ V)
        return V

    def add(self, j: int) -> Floats | None:
        """Choose column j; return the coordinates qᵀM along the new vector, None if j is in the span."""
        self.squares[j] = -np.inf
        q = self.project(self.column(j))
        length = np.linalg.norm(q)
        rank = self.basis.shape[1]
        if length <= self.tol * self.longest or rank == self._store.shape[1]:
            return None
        self._store[:, rank] = q / length
        self.basis = self._store[:, : rank + 1]
        along = self.products(self._store[:, rank])
        self.squares -= along**2
        return along

    def largest(self, more: Floats | float = 0.0) -> tuple[int, Floats]:
        """Column with the largest squared distance plus `more`, ties by index; and all these sums.

        The winner's sum is exact; sums of chosen columns are −∞.
        """
        values = self.squares + more
        contenders = np.flatnonzero(values + self.doubt >= (values - self.doubt).max())
        values[contenders] -= self.squares[contenders]
        self.recompute(contenders)
        values[contenders] += self.squares[contenders]
        best = values[contenders].max()
        rounding = 10 * np.sqrt(len(self._store)) * np.finfo(np.float64).eps
        level = best - rounding * np.sqrt(best) * self.longest
        return int(contenders[np.argmax(values[contenders] >= level)]), values

    def explained(self, square: float) -> bool:
        """Whether a squared distance is no more than rounding leaves of the longest column."""
        return bool(np.sqrt(square) <= self.tol * self.longest)

    def scores(self, anchors: list[int], tops: list[float], values: Floats) -> Floats:
        """Distances of the anchors when chosen, from the squares `tops`; of the others, from `values`."""
        return ranked_scores(np.sqrt(np.maximum(values, 0.0)), anchors, np.sqrt(tops)) * self.scale

    def recompute(self, columns: Ints) -> None:
        """Compute the squared distances of these columns from the columns themselves."""
        for block in column_blocks(self.M.shape[0], columns.size):
            part = columns[block]
            rest = self.project(dense_columns(self.M, part) * self.factors[part])
            self.squares[part] = np.einsum("ij,ij->j", rest, rest)
        self.doubt[columns] = self.tol * self.lengths[columns] * np.sqrt(self.squares[columns])


def ranked_scores(distances: Floats, anchors: Ints | list[int], tops: Floats) -> Floats:
    """Distances, overwritten, as scores: of the anchors, those when they were chosen.

    Ties, and what rounding does to them, are broken by the order of choice: a score is at least one
    rounding unit less than that of the anchor before.
    """
    chosen, bound = [], np.inf
    for top in tops:
        chosen.append(min(float(top), bound))
        bound = np.nextafter(chosen[-1], 0.0)
    np.minimum(distances, bound, out=distances)
    distances[anchors] = chosen
    return distances


def successive_projections(M: Columns, r: int) -> tuple[Ints, Floats]:
    """Pick r columns by residual norm, and return them with the score of every column.

    A chosen column's score is its residual norm when chosen; the others', theirs at the last choice. If
    the rank is less than r, so that only rounding errors are left to choose by, the longest columns come
    next, and all that are not chosen before score what rounding leaves of their length.
    """
    anchors, scores, complement = project_successively(M, r, "none")
    if anchors.size < r:
        rest = np.setdiff1d(np.arange(M.shape[1]), anchors)
        scores[rest] = complement.tol * complement.lengths[rest] * complement.scale
        anchors = best_first(scores, r)
    return anchors, scores


def project_successively(M: Columns, r: int, normalize: str) -> tuple[Ints, Floats, Complement]:
    """Run SPA until r columns are chosen or the rest is in their span."""
    complement = Complement(M, r, normalize)
    anchors: list[int] = []
    tops: list[float] = []
    while True:
        j, values = complement.largest()
        if complement.explained(values[j]):
            break
        anchors.append(j)
        tops.append(values[j])
        if len(anchors) == min(r, M.shape[1]):
            break
        complement.add(j)
    return np.array(anchors, dtype=np.intp), complement.scores(anchors, tops, values), complement


def spa(
    M: ArrayLike | Sparse, r: int, *, normalize: Normalize = "none", negative: Negative = "error"
) -> Selection:
    r"""Pick the column of largest norm, project the others onto its complement, repeat.

    With Q an orthonormal basis of the columns chosen so far, step k takes the column that maximises
    ‖(I − QQᵀ)m_j‖₂. M is neither copied nor deflated::

        j ← argmax_j d_j                          (d_j = ‖m_j‖² at first)
        q ← (I − QQᵀ)m_j, twice;  q ← q/‖q‖;  Q ← [Q, q]
        d ← d − (qᵀM)²

    The subtraction loses digits. Where the error it can have made leaves open which d_j is the largest,
    the d_j in question are computed anew from the columns, so the choice is right up to the last step
    before the rank is exhausted. Ties go to the smallest index.

    Parameters
    ----------
    M : array_like or sparse of shape (m, n)
        Data. Zero columns are never anchors. CSC is used as it is; other sparse formats are converted.
    r : int
        Number of anchors, 1 ≤ r ≤ rank(M).
    normalize : {"none", "l1"}, default "none"
        "l1" works on the columns divided by their l1 norms (without a copy): the anchors are then
        extreme rays of the cone of the columns, whatever their lengths.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero (in a copy), or keep them.

    Returns
    -------
    Selection
        An anchor's score is its residual norm when it was chosen, the others', theirs at the last choice.

    Raises
    ------
    ValueError
        If an argument is not as described, or if the numerical rank of M is less than r (residuals of
        less than 10√m times the precision of M's type, relative to the longest column, count as zero).

    Notes
    -----
    Cost: one product qᵀM a step, 2mn operations (or two per stored entry), and O(mk) for the chosen
    column; columns that have to be recomputed cost 8mk each. Memory: Q (m × r) and a few vectors of
    length n. Float32 data are multiplied in float32; norms are kept in float64.

    When to use: first. Nothing is faster, and with little noise and a well-conditioned set of anchors it is
    provably right; the columns should be mixtures with weights that sum to at most one, or be l1-normalised.
    With more noise, `snpa` and preconditioning do better.

    References
    ----------
    U. M. C. Araújo et al., "The successive projections algorithm for variable selection in spectroscopic
    multicomponent analysis", Chemom. Intell. Lab. Syst. 57 (2001). N. Gillis and S. A. Vavasis, "Fast and
    robust recursive algorithms for separable nonnegative matrix factorization", IEEE Trans. Pattern Anal.
    Mach. Intell. 36 (2014). The bookkeeping of errors follows the idea of Z. Drmač and Z. Bujanović, "On
    the failure of rank-revealing QR factorization software", ACM Trans. Math. Softw. 35 (2008).

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.01, random_state=0)
    >>> set(sepnmf.spa(M, 10).anchors) == set(anchors)
    True
    """
    start = time.perf_counter()
    check_choice(normalize, "normalize", ("none", "l1"))
    data = check_columns(M, negative)
    rank = check_rank(r, data.shape[1])
    anchors, scores, _ = project_successively(data, rank, normalize)
    if anchors.size < rank:
        raise ValueError(
            f"M has numerical rank {anchors.size}, so SPA can find at most {anchors.size} anchors, "
            f"got r={rank}: ask for fewer."
        )
    return Selection(anchors=anchors, scores=scores, method="spa", seconds=time.perf_counter() - start)
