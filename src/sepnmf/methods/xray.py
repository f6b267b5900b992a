"""XRAY: extreme rays of the cone of the columns, one by one."""

import time
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from sepnmf.columns import column_blocks, dense_columns, l1_lengths
from sepnmf.least_squares import cone_weights
from sepnmf.methods.spa import Complement
from sepnmf.methods.subspace import first_largest
from sepnmf.selection import Selection
from sepnmf.typing import ArrayLike, Floats, Ints, Seed, Sparse
from sepnmf.validation import Negative, check_choice, check_columns, check_generator, check_rank

Rule = Literal["max", "dist", "rand", "greedy"]


def xray(
    M: ArrayLike | Sparse,
    r: int,
    *,
    rule: Rule = "max",
    negative: Negative = "error",
    random_state: Seed = None,
) -> Selection:
    r"""Pick an extreme ray of the cone of the columns as seen from a column outside the cone so far, repeat.

    With W the columns chosen so far and the residuals ρ_i = m_i − Wh_i, h_i = argmin ‖m_i − Wh‖ over h ≥ 0,
    step k chooses a column i that is not explained yet, and takes the column j that maximises

        ρ_iᵀm_j / ‖m_j‖₁.

    Which i, `rule` says: the one with the largest ‖ρ_i‖₂ ("max"); the largest ‖(ρ_iᵀM)₊‖₂ ("dist"); any
    with ρ_i ≠ 0 ("rand"). "greedy" asks all of them: it takes the j that maximises ‖(Pᵀm_j)₊‖₂/‖m_j‖₂
    with P the matrix of all residuals, which need not be an extreme ray.

    The published rule divides by pᵀm_j with any positive p: here p is the vector of ones, and the l1 norm is
    that sum also where negative entries are allowed. Ties go to the smallest index.

    Parameters
    ----------
    M : array_like or sparse of shape (m, n)
        Data. Zero columns are never anchors. A sparse M is not made dense.
    r : int
        Number of anchors, 1 ≤ r ≤ n; may exceed rank(M).
    rule : {"max", "dist", "rand", "greedy"}, default "max"
        How to choose.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero (in a copy), or keep them.
    random_state : None, int or numpy.random.Generator, default None
        Used by "rand" only; None gives another answer each time.

    Returns
    -------
    Selection
        An anchor's score is the largest ‖ρ_i‖₂ when it was chosen, the others', their ‖ρ_j‖₂ at the last
        choice; less by a rounding unit where that keeps the order of choice.

    Raises
    ------
    ValueError
        If an argument is not as described, or if the cone of fewer than r columns has all the others to
        rounding.

    Notes
    -----
    Cost a step: two products with M (4mn operations) and O(nk²) for a few rounds of `nnls`, which is exact;
    "dist" and "greedy" need all products of residuals and columns, 2mn² operations. Memory: an m × r and
    two n × r arrays and, for "dist" and "greedy", a block of 2¹⁶ products or n if that is more.

    When to use: for data whose columns have arbitrary lengths (it sees rays, not points), or anchors that
    are not independent; otherwise it chooses as `snpa` does. "dist" and "greedy" are for small n. On data
    with noise "max" is the best of the rules; "greedy" begins with a column near the mean, so that it
    fits well but misses an anchor even without noise.

    References
    ----------
    A. Kumar, V. Sindhwani and P. Kambadur, "Fast conical hull algorithms for near-separable non-negative
    matrix factorization", ICML 2013.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.01, random_state=0)
    >>> set(sepnmf.xray(M, 10).anchors) == set(anchors)
    True
    """
    start = time.perf_counter()
    check_choice(rule, "rule", ("max", "dist", "rand", "greedy"))
    rng = check_generator(random_state)
    data = check_columns(M, negative)
    n = data.shape[1]
    r = check_rank(r, n)
    cone = Cone(data, r)
    steps = list(cone.steps(r, rule, rng))
    if len(steps) < r:
        raise ValueError(too_few(len(steps), r))
    anchors = [step.anchor for step in steps]
    return Selection(
        anchors=np.array(anchors, dtype=np.intp),
        scores=cone.scores(anchors, [float(step.values.max()) for step in steps], steps[-1].values),
        method="xray",
        seconds=time.perf_counter() - start,
    )


def too_few(found: int, r: int) -> str:
    """What to say when there are no more anchors."""
    return (
        f"The cone of {found} columns has all of M in it to rounding, so XRAY can find "
        f"no more anchors, got r={r}: ask for fewer."
    )


class Step(NamedTuple):
    """One choice of XRAY.

    Attributes
    ----------
    values : ndarray of shape (n,)
        ‖ρ_i‖² of all columns, −∞ for anchors.
    seen_from : int
        The column i; with "greedy" that of the largest ‖ρ_i‖.
    residual : ndarray of shape (m,)
        ρ_i.
    anchor : int
        The column j.
    gain : float
        What is largest for it.
    """

    values: Floats
    seen_from: int
    residual: Floats
    anchor: int
    gain: float


class Cone(Complement):
    """The cone of the chosen columns, with the weights and the residuals of all the others."""

    def __init__(self, M: Floats | Sparse, r: int) -> None:
        super().__init__(M, r, "none")
        n = M.shape[1]
        self.sums = l1_lengths(self.M)
        self.sums[self.sums == 0] = 1.0
        self.rays = np.zeros((r, r))
        self.coordinates = np.zeros((n, r))
        self.rest = np.zeros((n, 0))  # of the residuals, their coordinates in the span
        self.misfit = np.zeros(n)
        self.k = 0

    def steps(self, r: int, rule: str, rng: np.random.Generator) -> Iterator[Step]:
        """Choose r columns, or as many as it takes to have all others in the cone."""
        r = min(r, len(self.sums))
        for k in range(r):
            i, values = self.largest(self.misfit)
            if self.explained(values[i]):
                return
            if rule == "rand":
                i = int(next(c for c in rng.permutation(len(self.sums)) if self.outside(c)))
            elif rule == "dist":
                i = first_largest(self.usefulness()[0], self.free, self.tol)
            residual = self.residuals(np.array([i]))[:, 0]
            if rule == "greedy":
                gain = self.usefulness()[1] / np.where(self.lengths > 0, self.lengths, 1.0)
            else:
                gain = self.products(residual) / self.sums
            j = first_largest(gain, self.free, self.tol)
            yield Step(values, i, residual, j, float(gain[j]))
            if k < r - 1:
                self.extend(j)

    def extend(self, j: int) -> None:
        """Make column j a ray of the cone, and find all weights anew."""
        along = self.add(j)
        q = self.basis.shape[1]
        if along is not None:
            self.coordinates[:, q - 1] = along
        self.rays[self.k, :q] = self.basis.T @ self.column(j)
        self.k += 1
        C, rays = self.coordinates[:, :q], self.rays[: self.k, :q]
        self.rest = C - cone_weights(rays, C) @ rays
        self.misfit = np.einsum("ij,ij->i", self.rest, self.rest)

    def residuals(self, columns: Ints) -> Floats:
        """Residuals of these columns, dense."""
        outside = self.project(dense_columns(self.M, columns))
        return outside + self.basis @ self.rest[columns].T

    def outside(self, j: int) -> bool:
        """Whether column j has a residual that is not rounding error."""
        rest = self.residuals(np.array([j]))
        return not self.explained(float(np.vdot(rest, rest)))

    def usefulness(self) -> tuple[Floats, Floats]:
        """‖(ρ_iᵀM)₊‖₂ of each residual, and ‖(Pᵀm_j)₊‖₂ of each column."""
        n = self.M.shape[1]
        by_residual, by_column = np.zeros(n), np.zeros(n)
        for block in column_blocks(n, n):
            columns = np.arange(n)[block]
            product = np.maximum(self.residuals(columns).T.astype(self.M.dtype) @ self.M, 0)
            by_residual[block] = np.einsum("ij,ij->i", product, product, dtype=np.float64)
            by_column += np.einsum("ij,ij->j", product, product, dtype=np.float64)
        return np.sqrt(by_residual), np.sqrt(by_column)
