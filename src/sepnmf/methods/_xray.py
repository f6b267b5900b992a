"""XRAY: extreme rays of the cone of the columns, one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Floats, Ints, Seed, WhichColumns
from sepnmf._validation import check_choice, check_generator
from sepnmf.least_squares import cone_weights
from sepnmf.matrix import (
    Chunked,
    Dense,
    Held,
    InMemory,
    Known,
    MatrixLike,
    Negative,
    Part,
    as_matrix,
    column_blocks,
    exponents,
)
from sepnmf.methods._complement import ChoiceByDistance, Complement
from sepnmf.methods._method import method
from sepnmf.methods._subspace import first_largest
from sepnmf.methods._working_set import Violations, choose_and_verify
from sepnmf.selection import Selection, in_units

SHORTEST = 1e-100  # of the longest column's length: shorter columns are zero to rounding in every product
Rule = Literal["max", "dist", "rand", "greedy"]


def xray_in_chunks(
    M: Chunked,
    r: int,
    *,
    rule: str = "max",
    negative: Negative = "error",
    random_state: Seed = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """Choose as `xray` does with rule "max", in two or three passes if data are separable.

    The other rules compare all columns with all others, or draw among all. `history` has the number of
    steps, two for each anchor, that were "certain" after each "pass".
    """
    check_choice(rule, "rule", ("max",))
    check_generator(random_state)
    known = Known.of(include, exclude)
    found = choose_and_verify(M, partial(Rays.chosen, r=r, eps=M.eps, known=known), known)
    made: Rays = found.choice
    if len(made.anchors) < r:
        raise ValueError(too_few(len(made.anchors), r, known))
    scores = in_units(made.scores(found.scores), found.scale)
    return Selection(anchors=made.anchors, scores=scores, history=found.history)


@method(
    summary="extreme rays of the cone of the columns",
    use="columns of arbitrary lengths",
    cost="a few times SPA",
    chunks="exactly",
    in_chunks=xray_in_chunks,
)
def xray(
    M: MatrixLike,
    r: int,
    *,
    rule: Rule = "max",
    negative: Negative = "error",
    random_state: Seed = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
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
    M : matrix_like of shape (m, n)
        Data. Zero columns are never anchors. A sparse M is not made dense.
    r : int
        Number of anchors, 1 ≤ r ≤ n; may exceed rank(M).
    rule : {"max", "dist", "rand", "greedy"}, default "max"
        How to choose.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero (in a copy), or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Used by "rand" only; None gives another answer each time.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns come first, and
        are rays of the cone from the start. Excluded columns are neither taken nor, but for "greedy", looked
        from.

    Returns
    -------
    Selection
        An anchor's score is the largest ‖ρ_i‖₂ when it was chosen, the others', their ‖ρ_j‖₂ at the last
        choice; less by a rounding unit where that keeps the order of choice. An included column's is no less
        than that of all others, an excluded one's is 0.

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
    check_choice(rule, "rule", ("max", "dist", "rand", "greedy"))
    rng = check_generator(random_state)
    known = Known.of(include, exclude)
    cone = Cone(as_matrix(M, negative).in_memory(), r, known)
    steps = list(cone.steps(rule, rng))
    anchors = known.include.tolist() + [step.anchor for step in steps]
    if len(anchors) < r:
        raise ValueError(too_few(len(anchors), r, known))
    tops = cone.tops + [float(step.values.max()) for step in steps]
    values = steps[-1].values if steps else cone.squares + cone.misfit
    return Selection(anchors=np.array(anchors, dtype=np.intp), scores=cone.scores(anchors, tops, values))


def too_few(found: int, r: int, known: Known) -> str:
    """What to say when there are no more anchors."""
    return (
        f"The cone of {found} columns has all of {known.searched} in it to rounding, so XRAY can find "
        f"no more anchors, got r={r}: ask for fewer."
    )


class Step(NamedTuple):
    """One choice of XRAY.

    Attributes
    ----------
    values : ndarray of shape (n,)
        ‖ρ_i‖² of all columns, −∞ for anchors and excluded columns.
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

    def __init__(self, M: InMemory, r: int, known: Known) -> None:
        super().__init__(M, r, "none", known)
        n, q = M.shape[1], self.rank_of_included
        self.sums = self.M.l1_norms.copy()
        self.sums[self.sums == 0] = 1.0
        self.rays = np.zeros((r, r))
        self.coordinates = np.zeros((n, r))
        self.rest = np.zeros((n, 0))  # of the residuals, their coordinates in the span
        self.misfit = np.zeros(n)
        self.k = len(known.include)
        self.most = min(r, n - len(known.exclude))
        if self.k:
            self.coordinates[:, :q] = self.products(self.basis).T
            self.rays[: self.k, :q] = [self.ray(j) for j in known.include]
            self.fit()

    def steps(self, rule: str, rng: np.random.Generator) -> Iterator[Step]:
        """Choose columns until there are r, or as many as it takes to have all others in the cone."""
        for k in range(self.k, self.most):
            i, values = self.largest(self.misfit)
            if self.explained(values[i]):
                return
            if rule == "rand":
                free = self.free
                i = int(next(c for c in rng.permutation(len(free)) if free[c] and self.outside(c)))
            elif rule == "dist":
                i = first_largest(self.usefulness()[0], self.free, self.tol)
            residual = self.residuals(np.array([i]))[:, 0]
            if rule == "greedy":
                gain = self.usefulness()[1] / np.where(self.lengths > 0, self.lengths, 1.0)
            else:
                gain = self.products(residual) / self.sums
            j = first_largest(gain, self.free, self.tol)
            yield Step(values, i, residual, j, float(gain[j]))
            if k < self.most - 1:
                self.extend(j)

    @property
    def free(self) -> NDArray[np.bool_]:
        """Columns that can still be chosen, without those of which squares would leave the range."""
        return super().free & (self.lengths > SHORTEST * self.longest)

    def ray(self, j: int) -> Floats:
        """Coordinates of column j, divided by a power of two: products of short rays would vanish."""
        return np.ldexp(self.basis.T @ self.column(j), -int(exponents(self.lengths[j])))

    def extend(self, j: int) -> None:
        """Make column j a ray of the cone."""
        along = self.add(j)
        q = self.basis.shape[1]
        if along is not None:
            self.coordinates[:, q - 1] = along
        self.rays[self.k, :q] = self.ray(j)
        self.k += 1
        self.fit()

    def fit(self) -> None:
        """Find the weights of all columns."""
        q = self.basis.shape[1]
        C, rays = self.coordinates[:, :q], self.rays[: self.k, :q]
        self.rest = C - cone_weights(rays, C) @ rays
        self.misfit = np.einsum("ij,ij->i", self.rest, self.rest)

    def residuals(self, columns: Ints) -> Floats:
        """Residuals of these columns, dense."""
        outside = self.project(self.M.take(columns))
        return outside + self.basis @ self.rest[columns].T

    def outside(self, j: int) -> bool:
        """Whether column j has a residual that is not rounding error."""
        rest = self.residuals(np.array([j]))
        return not self.explained(float(np.vdot(rest, rest)))

    def usefulness(self) -> tuple[Floats, Floats]:
        """‖(ρ_iᵀM)₊‖₂ of each residual, and ‖(Pᵀm_j)₊‖₂ of each column, in the same unit.

        The unit is a power of two, so that squares of products stay in the floating-point range.
        """
        n, power = self.M.shape[1], -2 * int(exponents(self.longest))
        by_residual, by_column = np.zeros(n), np.zeros(n)
        for block in column_blocks(n, n):
            columns = np.arange(n)[block]
            product = np.maximum(self.M.times(self.residuals(columns).astype(self.M.dtype)), 0)
            product = np.ldexp(product, power)
            by_residual[block] = np.einsum("ij,ij->i", product, product, dtype=np.float64)
            by_column += np.einsum("ij,ij->j", product, product, dtype=np.float64)
        return np.sqrt(by_residual), np.sqrt(by_column)


# In chunks ---------------------------------------------------------------------------------------------

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Rays(ChoiceByDistance):
    """What XRAY takes of a working set.

    Step 2k is about the k-th column that is looked from, step 2k + 1 about the k-th anchor after the included
    ones.

    Attributes
    ----------
    seen_from : ndarray of int
        The columns looked from, whose squared distances from the cone are `tops`.
    residuals : ndarray of shape (m, steps)
        Of the columns looked from.
    gains : ndarray
        What was largest for the anchors.
    basis : ndarray of shape (m, q)
        Orthonormal; the first spans[k] vectors span the included columns and the first k of the others.
    rays : ndarray of shape (included and steps, q)
        Coordinates of the anchors along the basis.
    """

    seen_from: Ints
    residuals: Floats
    gains: Floats
    basis: Floats
    spans: tuple[int, ...]
    rays: Floats
    roundings: Floats

    @classmethod
    def chosen(cls, held: Held, r: int, eps: float, known: Known) -> "Rays":
        """Run XRAY on columns that are held; `eps` is the precision of the data."""
        cone = Cone(Dense(held.columns), r, known.among(held.indices))
        m, given = len(held.columns), len(known.include)
        nothing = (10 * np.sqrt(m) * eps * cone.longest) ** 2
        steps, spans = [], []
        for step in cone.steps("max", np.random.default_rng(0)):
            if step.values.max() <= nothing:
                break
            steps.append(step)
            spans.append(cone.basis.shape[1])
        tops = np.array([step.values.max() for step in steps])
        if given + len(steps) < r or not steps:
            tops = np.append(tops, nothing if given < r else np.inf)
            spans.append(cone.basis.shape[1])
        gains = np.array([step.gain for step in steps])
        roundings = np.zeros(len(tops) + len(steps))
        roundings[::2] = 10 * np.sqrt(m) * EPS * cone.longest * np.sqrt(np.where(tops < np.inf, tops, 0.0))
        roundings[1::2] = 10 * np.sqrt(m) * eps * np.abs(gains)
        return cls(
            known,
            np.array(cone.tops),
            np.append(known.include, held.indices[[step.anchor for step in steps]]),
            tops,
            held.indices[[step.seen_from for step in steps]],
            np.column_stack([step.residual for step in steps]) if steps else np.zeros((m, 0)),
            gains,
            cone.basis[:, : spans[-1]].copy(),
            tuple(spans),
            cone.rays[: given + len(spans) - 1, : spans[-1]].copy(),
            roundings,
        )

    def of_part(self, part: Part) -> tuple[Floats, Held]:
        squares = part.squares
        C = np.ascontiguousarray(part.times(self.basis).T)
        sums = part.columns.l1_norms
        gains = part.times(self.residuals) / np.where(sums > 0, sums, 1.0)
        candidate: Any = np.any(gains >= (self.gains - 2 * self.roundings[1::2])[:, None], axis=0)
        doubt = 10 * np.sqrt(len(self.basis)) * EPS * squares
        left = squares.copy()
        last = len(self.tops) - 1
        for k, (top, rounding) in enumerate(zip(self.tops, self.roundings[::2], strict=True)):
            # Cones grow and distances fall: columns that were near enough before need not be looked at.
            places = np.flatnonzero(left + doubt >= top - rounding) if k < last else np.arange(left.size)
            left[places] = self.outside(C[places], squares[places], k)
            candidate[places] |= (left + doubt)[places] >= top - rounding
        return left, part.held(np.flatnonzero(candidate & (squares > 0)))

    def outside(self, C: Floats, squares: Floats, k: int) -> Floats:
        """Return squared distances from the cone at step k, from coordinates and squared lengths."""
        q = self.spans[k]
        beyond = squares - np.einsum("ij,ij->i", C[:, :q], C[:, :q])
        return np.asarray(beyond + self.misfit(C, k))

    def misfit(self, C: Floats, k: int) -> Floats:
        """Return squared distances from the cone at step k within the span of its rays."""
        q = self.spans[k]
        rays, inside = self.rays[: len(self.included) + k, :q], np.ascontiguousarray(C[:, :q])
        rest = inside - cone_weights(rays, inside) @ rays if len(rays) else inside
        return np.asarray(np.einsum("ij,ij->i", rest, rest))

    def violations(self, held: Held) -> Violations:
        """Return the columns that are farther from a cone, or gain more, than those chosen."""
        found = Violations()
        chosen = self.chosen_anchors
        sums = np.abs(held.columns).sum(axis=0)
        for k, top in enumerate(self.tops):
            basis = self.basis[:, : self.spans[k]]
            beyond = held.columns.copy()
            for _ in range(2):
                beyond -= basis @ (basis.T @ beyond)
            values = np.einsum("ij,ij->j", beyond, beyond) + self.misfit(held.columns.T @ self.basis, k)
            free = self.known.open(held.indices) & ~np.isin(held.indices, chosen[:k])
            looked_from = self.seen_from[k] if k < len(self.seen_from) else -1
            found.compare(2 * k, values, held, free, top, looked_from, self.roundings[2 * k])
            if k < len(chosen):
                gains = (self.residuals[:, k] @ held.columns) / sums
                step, anchor = 2 * k + 1, chosen[k]
                found.compare(step, gains, held, free, self.gains[k], anchor, self.roundings[step])
        return found
