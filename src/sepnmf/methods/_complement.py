"""Distances of columns from the span of chosen ones, and scores from these."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Floats, Ints
from sepnmf.matrix import NONE_KNOWN, InMemory, Known, column_blocks
from sepnmf.methods._working_set import WorkingSetChoice
from sepnmf.selection import in_units


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
        Squared distances, in float64; −∞ for columns that are chosen or excluded.
    doubt : ndarray of shape (n,)
        Bounds on their errors.
    basis : ndarray of shape (m, k)
        The orthonormal vectors so far. The first `rank_of_included` span the included columns.
    tops : list of float
        Squared distances of the included columns, each from the span of those before it.
    tol : float
        What is below this, relative to a column's length, is rounding error of M's own type.
    """

    def __init__(self, M: InMemory, r: int, normalize: str, known: Known = NONE_KNOWN) -> None:
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
        self.squares[known.exclude] = -np.inf
        self.tops: list[float] = []
        for j in known.include:
            self.recompute(np.array([j]))
            self.tops.append(float(self.squares[j]))
            self.add(int(j))
        self.rank_of_included = self.basis.shape[1]

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
        if length <= self.tol * self.lengths[j] or rank == self._store.shape[1]:
            return None
        self._store[:, rank] = q / length
        self.basis = self._store[:, : rank + 1]
        along = self.products(self._store[:, rank])
        self.squares -= along**2
        return along

    def largest(self, more: Floats | float = 0.0) -> tuple[int, Floats]:
        """Column with the largest squared distance plus `more`, ties by index; and all these sums.

        The winner's sum is exact; sums of columns that are chosen or excluded are −∞.
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
        distances = np.sqrt(np.maximum(values, 0.0))
        return in_units(ranked_scores(distances, anchors, np.sqrt(tops), len(self.tops)), self.scale)

    def recompute(self, columns: Ints) -> None:
        """Compute the squared distances of these columns from the columns themselves."""
        for block in column_blocks(self.M.shape[0], columns.size):
            part = columns[block]
            rest = self.project(self.M.take(part) * self.factors[part])
            self.squares[part] = np.einsum("ij,ij->j", rest, rest)
        self.doubt[columns] = self.tol * self.lengths[columns] * np.sqrt(self.squares[columns])


def ranked_scores(distances: Floats, anchors: Ints | list[int], tops: Floats, n_included: int = 0) -> Floats:
    """Distances, overwritten, as scores: of the anchors, those when they were chosen.

    The first `n_included` anchors, which were not chosen by their distances, score more than all others.
    Ties, and what rounding does to them, are broken by the order of choice: a score is at least one
    rounding unit less than that of the anchor before.
    """
    chosen, bound = [], np.inf
    rounding = float(np.finfo(np.float64).eps) * tops.max(initial=0.0)
    least = max(distances.max(), tops[n_included:].max(initial=0.0), rounding)
    for top in (*np.maximum(tops[:n_included], least), *tops[n_included:]):
        chosen.append(min(float(top), bound))
        bound = np.nextafter(chosen[-1], 0.0)
    np.minimum(distances, bound, out=distances)
    distances[anchors] = chosen
    return distances


def roots(squares: Floats) -> Floats:
    """Return square roots of what should not be negative, computed in place: there may be very many."""
    return np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)


@dataclass(frozen=True, eq=False)
class ChoiceByDistance(WorkingSetChoice):
    """A choice on a working set by distances of columns from what was taken before.

    Attributes
    ----------
    known : Known
        The included columns are the first that are taken.
    included : ndarray
        Squared distances of the included columns, each from the span of those before it.
    anchors : ndarray of int
        The columns taken.
    tops : ndarray
        By step, the largest squared distance; where the choice ended early, there is one more: what counts as
        zero. Steps that choose nothing, because the included columns are taken before, have infinite tops.
    """

    known: Known
    included: Floats
    anchors: Ints
    tops: Floats

    @property
    def chosen_anchors(self) -> Ints:
        """The anchors that are not included."""
        return self.anchors[len(self.included) :]

    def scores(self, left: Floats) -> Floats:
        """Return scores of all columns from the squared distances that the last step leaves, overwritten."""
        tops = np.append(self.included, self.tops[np.isfinite(self.tops)])[: len(self.anchors)]
        left[self.known.exclude] = 0.0
        return ranked_scores(roots(left), self.anchors, np.sqrt(tops), len(self.included))
