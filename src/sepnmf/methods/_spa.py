"""Successive projection algorithm."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sepnmf._kernels import distances
from sepnmf._typing import Floats, Ints
from sepnmf._validation import check_choice
from sepnmf.matrix import (
    Chunked,
    Dense,
    Held,
    InMemory,
    MatrixLike,
    Negative,
    Part,
    as_matrix,
    column_blocks,
)
from sepnmf.methods._method import method
from sepnmf.methods._working_set import Violations, WorkingSetChoice, choose_and_verify
from sepnmf.selection import Selection, best_first, in_units

Normalize = Literal["none", "l1"]


class Complement:
    """Distances of the columns of M from the span of the chosen ones, without a copy of M.

    The squared distances are carried along: with each new orthonormal vector q they lose (qᵀM)². That costs
    digits, so each column has a bound on the error made since its distance was last computed
    from the column itself; where the bounds leave open which value is the largest, the contenders
    are computed anew (`largest`).

    Attributes
    ----------
    M : InMemory
        The data, divided by a power of two if squares would leave the floating-point range.
    scale : float
        What distances have to be multiplied by to be those of the data as they are given.
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

    def __init__(self, M: InMemory, r: int, normalize: str) -> None:
        m, n = M.shape
        # Lengths do not matter after a division by norms, so that each column may have its own power of two.
        self.M = M.columns_in_range()[0] if normalize == "l1" else M.in_range()
        self.scale, self.squares = self.M.scale, self.M.squares.copy()
        self.factors = np.ones(n)
        if normalize == "l1":
            sums = self.M.l1_norms
            np.divide(1.0, sums, out=self.factors, where=sums > 0)
            self.squares *= self.factors**2
            self.scale = 1.0
        self.lengths = np.sqrt(self.squares)
        self.longest = float(self.lengths.max())
        self.tol = 10 * np.sqrt(m) * M.eps
        self.doubt = self.tol * self.squares
        self._store = np.empty((m, min(m, r)), order="F")
        self.basis = self._store[:, :0]

    @property
    def free(self) -> NDArray[np.bool_]:
        """Columns that can still be chosen."""
        return (self.squares > -np.inf) & (self.lengths > 0)

    def column(self, j: int) -> Floats:
        """Column j in float64."""
        return self.M.take(np.array([j]))[:, 0] * float(self.factors[j])

    def products(self, u: Floats) -> Floats:
        """uᵀM, computed in M's own type."""
        return self.M.times(u.astype(self.M.dtype, copy=False)) * self.factors

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
        return in_units(ranked_scores(np.sqrt(np.maximum(values, 0.0)), anchors, np.sqrt(tops)), self.scale)

    def recompute(self, columns: Ints) -> None:
        """Compute the squared distances of these columns from the columns themselves."""
        for block in column_blocks(self.M.shape[0], columns.size):
            part = columns[block]
            rest = self.project(self.M.take(part) * self.factors[part])
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


def successive_projections(M: Floats, r: int) -> tuple[Ints, Floats]:
    """Pick r columns by residual norm, and return them with the score of every column.

    A chosen column's score is its residual norm when chosen; the others', theirs at the last choice. If
    the rank is less than r, so that only rounding errors are left to choose by, the longest columns come
    next, and all that are not chosen before score what rounding leaves of their length.
    """
    anchors, scores, complement = project_successively(Dense(M), r, "none")
    if anchors.size < r:
        rest = np.setdiff1d(np.arange(M.shape[1]), anchors)
        scores[rest] = complement.tol * complement.lengths[rest] * complement.scale
        anchors = best_first(scores, r)
    return anchors, scores


def project_successively(M: InMemory, r: int, normalize: str) -> tuple[Ints, Floats, Complement]:
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


def spa_in_chunks(
    M: Chunked, r: int, *, normalize: Normalize = "none", negative: Negative = "error"
) -> Selection:
    """Choose as `spa` does, in two or three passes if data are separable.

    `history` has the number of anchors that were "certain" after each "pass" over the data.
    """
    check_choice(normalize, "normalize", ("none", "l1"))
    found = choose_and_verify(M.normalised(normalize), partial(Projections.chosen, r=r, eps=M.eps))
    made: Projections = found.choice
    if len(made.anchors) < r:
        raise ValueError(rank_too_low(len(made.anchors), r))
    scores = in_units(ranked_scores(roots(found.scores), made.anchors, np.sqrt(made.tops)), found.scale)
    return Selection(anchors=made.anchors, scores=scores, history=found.history)


@method(
    summary="largest residual, project out, repeat",
    use="little noise: the fastest, and provably right",
    cost="r products with M",
    chunks="exactly",
    in_chunks=spa_in_chunks,
)
def spa(M: MatrixLike, r: int, *, normalize: Normalize = "none", negative: Negative = "error") -> Selection:
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
    M : matrix_like of shape (m, n)
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

    In hyperspectral imaging the same algorithm is called ATGP, the automatic target generation process: the
    pixel of largest energy, then the one of largest energy behind the orthogonal projector of those found.

    References
    ----------
    U. M. C. Araújo et al., "The successive projections algorithm for variable selection in spectroscopic
    multicomponent analysis", Chemom. Intell. Lab. Syst. 57 (2001). N. Gillis and S. A. Vavasis, "Fast and
    robust recursive algorithms for separable nonnegative matrix factorization", IEEE Trans. Pattern Anal.
    Mach. Intell. 36 (2014). H. Ren and C.-I Chang, "Automatic spectral target recognition in hyperspectral
    imagery", IEEE Trans. Aerosp. Electron. Syst. 39 (2003). The bookkeeping of errors follows the idea of
    Z. Drmač and Z. Bujanović, "On the failure of rank-revealing QR factorization software", ACM Trans. Math.
    Softw. 35 (2008).

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.01, random_state=0)
    >>> set(sepnmf.spa(M, 10).anchors) == set(anchors)
    True
    """
    check_choice(normalize, "normalize", ("none", "l1"))
    anchors, scores, _ = project_successively(as_matrix(M, negative).in_memory(), r, normalize)
    if anchors.size < r:
        raise ValueError(rank_too_low(anchors.size, r))
    return Selection(anchors=anchors, scores=scores)


def rank_too_low(rank: int, r: int) -> str:
    """Return what to say when fewer than r columns are independent."""
    return f"M has numerical rank {rank}, so SPA can find at most {rank} anchors, got r={r}: ask for fewer."


# In chunks ---------------------------------------------------------------------------------------------


def roots(squares: Floats) -> Floats:
    """Return square roots of what should not be negative, computed in place: there may be very many."""
    return np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)


@dataclass(frozen=True, eq=False)
class Projections(WorkingSetChoice):
    """What SPA takes of a working set, with the spans of its steps.

    Attributes
    ----------
    anchors : ndarray of int
        The columns taken.
    tops : ndarray
        Their squared distances when taken; where SPA ended early, one more: what counts as zero.
    basis : ndarray of shape (m, steps − 1)
        The first k vectors span what was taken before step k.
    roundings : ndarray
        By step: squared distances closer than this are the same.
    """

    anchors: Ints
    tops: Floats
    basis: Floats
    roundings: Floats

    @classmethod
    def chosen(cls, held: Held, r: int, eps: float) -> "Projections":
        """Return the steps of SPA on columns that are held; `eps` is the precision of the data."""
        places, scores, complement = project_successively(Dense(held.columns), r, "none")
        m = len(held.columns)
        tops = np.square(scores[places])
        nothing = 10 * np.sqrt(m) * eps * complement.longest
        enough = tops > nothing**2
        places, tops = places[enough], tops[enough]
        if len(places) < r:
            if len(places):
                complement.add(int(places[-1]))
            tops = np.append(tops, nothing**2)
        rounding = 10 * np.sqrt(m) * np.finfo(np.float64).eps * complement.longest
        basis = complement.basis[:, : len(tops) - 1].copy()
        return cls(held.indices[places], tops, basis, rounding * np.sqrt(tops))

    def of_part(self, part: Part) -> tuple[Floats, Held]:
        squares = part.squares
        left, flags = np.empty(squares.size), np.empty(squares.size, dtype=np.bool_)
        doubt = 10 * np.sqrt(len(self.basis)) * float(np.finfo(np.float64).eps)
        levels = self.tops - self.roundings
        distances.contenders(part.times(self.basis), squares, levels, doubt, left, flags)
        return left, part.held(np.flatnonzero(flags & (squares > 0)))

    def violations(self, held: Held) -> Violations:
        """Return the columns that are farther from a span than the one taken there."""
        found = Violations()
        free = ~np.isin(held.indices, self.anchors)
        rest = held.columns.copy()
        for step, (top, rounding) in enumerate(zip(self.tops, self.roundings, strict=True)):
            if step:
                q = self.basis[:, step - 1]
                rest -= np.outer(q, q @ rest)
            values = np.einsum("ij,ij->j", rest, rest)
            taken = self.anchors[step] if step < len(self.anchors) else -1
            found.compare(step, values, held, free, top, taken, rounding)
        return found
