"""Vertex component analysis."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sepnmf._typing import Floats, Ints, Seed, WhichColumns
from sepnmf._validation import check_generator, check_number
from sepnmf.matrix import (
    Chunked,
    Held,
    InMemory,
    Known,
    MatrixLike,
    Negative,
    Part,
    Spectrum,
    as_matrix,
    leading_spectrum,
)
from sepnmf.methods._method import method
from sepnmf.methods._spa import Projections
from sepnmf.methods._subspace import (
    affine_view,
    basis_of_included,
    check_affine_dimension,
    check_dimension,
    first_largest,
    length_scores,
    longest_column,
    nonzero_columns,
    orthogonalised,
    signal_subspace,
    spread,
    stepwise_scores,
    too_few_nonzero,
)
from sepnmf.methods._working_set import Violations, WorkingSetChoice, choose_and_verify
from sepnmf.selection import Selection, in_units

ROUNDING = 1e-13  # relative; lengths that differ by less are the same


def vca_in_chunks(
    M: Chunked,
    r: int,
    *,
    snr: float | None = None,
    negative: Negative = "error",
    random_state: Seed = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """Choose as `vca` does, in three or four passes if data are separable.

    One pass for the principal directions (four, and approximate directions, for columns of more than four
    thousand rows); then the choice on a working set is verified. `history` has the number of steps that were
    "certain" after each "pass" behind the first; the first step is the view.
    """
    level = None if snr is None else check_number(snr, "snr", least=-np.inf)
    draws = check_generator(random_state).standard_normal((r, r))
    known = Known.of(include, exclude)
    if r == 1:
        longest = choose_and_verify(M, partial(Projections.chosen, r=1, eps=M.eps, known=known), known)
        lengths = in_units(length_scores(np.sqrt(longest.scores), known), longest.scale)
        return Selection(anchors=longest.choice.anchors, scores=lengths, history=longest.history)
    M, seen = leading_spectrum(M, r)
    if seen.count < r:
        raise ValueError(too_few_nonzero(seen.count, r))
    level = snr_of(seen, r, M.shape[0], M.eps) if level is None else level
    projective = level >= 15 + 10 * np.log10(r)
    choose = partial(Vertices.chosen, seen=seen, draws=draws, projective=projective, eps=M.eps, known=known)
    found = choose_and_verify(M, choose, known)
    anchors = found.choice.anchors
    if anchors.min() < 0:
        raise ValueError(too_few_nonzero(int((anchors >= 0).sum()), r, known))
    scores = stepwise_scores(anchors, found.scores, known)
    return Selection(anchors=anchors, scores=scores, history=found.history)


@method(
    summary="random directions orthogonal to those chosen",
    use="the customary baseline in hyperspectral imaging",
    cost="SVD + r passes",
    chunks="exactly",
    in_chunks=vca_in_chunks,
)
def vca(
    M: MatrixLike,
    r: int,
    *,
    snr: float | None = None,
    negative: Negative = "error",
    random_state: Seed = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """Pick the column that lies farthest along a random direction orthogonal to those picked, repeat.

    The columns are first seen in r coordinates, in one of two ways:

    - projective, when the signal-to-noise ratio is at least 15 + 10 log₁₀(r) dB: X = UᵀM with the r leading
      left singular vectors U of M, and each column of X is divided by its inner product with their mean,
      which undoes a different brightness of the columns;
    - affine, below that: the r − 1 leading principal coordinates of the centred columns, and a last
      coordinate that is the same for all, the largest length of the others. One direction fewer lets
      less noise in.

    Then r times: draw a Gaussian direction, make it orthogonal to the columns picked so far (at
    first: to the last coordinate axis), and pick the column whose inner product with it has the largest
    absolute value.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    snr : float, optional
        Signal-to-noise ratio in dB. By default it is estimated: with P the mean squared length of the
        columns and S that of their projections on the r leading principal directions (mean included), it is
        10 log₁₀((S − rP/m)/(P − S)).
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Where the directions come from; None gives different ones at each call.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns come first;
        directions are orthogonal to them from the start.

    Returns
    -------
    Selection
        `scores`: the k-th anchor, k = 0, …, r − 1, has r + 1 − k; another column has the largest share of a
        step's maximum that it reached, at most 1; an excluded one has 0.

    Raises
    ------
    ValueError
        If an argument is not as described, M has numerical rank below r (projective view), or the
        columns' affine hull has fewer than r − 1 dimensions (affine view).

    Notes
    -----
    Cost: two singular value decompositions, O(mn·min(m, n)) for dense M and Lanczos steps of O(nnz) for
    sparse M, and r steps of O(rn). Memory: three copies of M (one if sparse), and r × n numbers.

    With r = 1 both views see all columns as equal, and the longest column is picked. Columns that are not on
    one side of the projective view's plane (possible only with negative entries) are seen in the affine view.

    When to use: hyperspectral images with pure pixels and high signal-to-noise ratio, as the
    field's customary baseline. One run is random, and from little noise on less often right than SPA.

    References
    ----------
    J. M. P. Nascimento and J. M. Bioucas-Dias, "Vertex component analysis: a fast algorithm to unmix
    hyperspectral data", IEEE Transactions on Geoscience and Remote Sensing 43 (2005), 898-910.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0, random_state=0)
    >>> set(sepnmf.vca(M, 10, random_state=0).anchors) == set(anchors)
    True
    """
    level = None if snr is None else check_number(snr, "snr", least=-np.inf)
    rng = check_generator(random_state)
    data = as_matrix(M, negative).in_memory()
    n = data.shape[1]
    known = Known.of(include, exclude)
    data, kept = nonzero_columns(data, r, known)
    known = known.among(kept)
    if r == 1:
        anchors, scores = longest_column(data, known)
    else:
        view, draws = simplex_view(data, r, level), rng.standard_normal((r, r))
        anchors, _, shares = follow_directions(view, draws, known)
        scores = stepwise_scores(anchors, shares, known)
    return Selection(anchors=kept[anchors], scores=spread(scores, kept, n))


def simplex_view(M: InMemory, r: int, snr: float | None) -> Floats:
    """Coordinates, r of them, in which the columns span a simplex, by the view the SNR (in dB) asks for."""
    if snr is None:
        snr = estimate_snr(M, r)
    if snr >= 15 + 10 * np.log10(r):
        _, X, _ = signal_subspace(M, r, method="VCA")
        depth = X.mean(axis=1) @ X
        if depth.min() > np.finfo(float).eps * depth.max():
            X /= depth
            return X
    return affine_view(M, r, method="VCA")


def estimate_snr(M: InMemory, r: int) -> float:
    """Signal-to-noise ratio in dB: infinite when r principal directions and the mean explain M exactly."""
    m, n = M.shape
    centre = M.mean_column()
    _, sigma = M.leading_left(min(r, m, n), centre)
    power = float((np.sqrt(M.squares) ** 2).mean())
    return snr_in_decibels(power, float(sigma @ sigma), centre, (m, n), r, M.eps)


def snr_in_decibels(
    power: float, spread: float, centre: Floats, shape: tuple[int, int], r: int, eps: float
) -> float:
    """The ratio, from the mean squared length of n columns, their mean, and their spread about it."""
    m, n = shape
    signal = spread / n + float(centre @ centre)
    noise = power - signal
    signal -= r / m * power
    # What rounding leaves of a difference is no noise.
    if noise <= max(m, n) * eps * power:
        return np.inf
    return 10 * float(np.log10(signal / noise)) if signal > 0 else -np.inf


def follow_directions(Y: Floats, draws: Floats, known: Known) -> tuple[Ints, Floats, Floats]:
    """Pick as many columns as Y has rows, each farthest along a draw made orthogonal to those before.

    Included columns are the first. Returns the columns, the directions (as rows) along which the others were
    picked, and each column's largest share of a step's maximum. Of columns that rounding cannot tell apart
    the first is picked.
    """
    r, n = Y.shape
    given = len(known.include)
    anchors = np.empty(r, dtype=np.intp)
    directions = np.empty((r, r))
    shares = np.zeros(n)
    free = known.open(np.arange(n))
    basis = np.zeros((r, r))
    basis[-1, 0] = 1  # for the first step only
    if given:
        anchors[:given], basis[:, :given] = known.include, basis_of_included(Y, known)
    for k in range(given, r):
        directions[k] = orthogonalised(draws[k], basis[:, : max(k, 1)])
        reach = np.where(free, np.abs(directions[k] @ Y), 0)
        anchors[k] = first_largest(reach, free, ROUNDING)
        shares = np.maximum(shares, reach / max(reach.max(), np.finfo(float).tiny))
        free[anchors[k]] = False
        basis[:, k] = orthogonalised(Y[:, anchors[k]], basis[:, :k])
    return anchors, directions[given:], shares


# In chunks ---------------------------------------------------------------------------------------------

EPS = float(np.finfo(np.float64).eps)


def snr_of(seen: Spectrum, r: int, m: int, eps: float) -> float:
    """Return the signal-to-noise ratio in dB."""
    power = seen.energy / seen.count
    centred = seen.centred_sigma[:r]
    return snr_in_decibels(power, float(centred @ centred), seen.centre, (m, seen.count), r, eps)


@dataclass(frozen=True, eq=False)
class Vertices(WorkingSetChoice):
    """What VCA picks of a working set, in one of its two views.

    Attributes
    ----------
    known : Known
        The included columns are the first.
    anchors : ndarray of int
        The columns picked.
    projective : bool
        Which view.
    U : ndarray of shape (m, r), or (m, r − 1) in the affine view
        Principal directions.
    centre : ndarray
        Coordinates of the mean column.
    height : float
        Of the affine view: largest length of the coordinates, which is the last coordinate.
    directions : ndarray of shape (steps, r)
        Along which the columns were picked that are not included.
    tops : ndarray of shape (steps,)
        How far along them these columns lie.
    """

    known: Known
    anchors: Ints
    projective: bool
    U: Floats
    centre: Floats
    height: float
    directions: Floats
    tops: Floats

    @property
    def roundings(self) -> Floats:  # type: ignore[override]
        """By step, of which the first is the view."""
        return np.append(0.0, ROUNDING * self.tops)

    @classmethod
    def chosen(
        cls, held: Held, seen: Spectrum, draws: Floats, projective: bool, eps: float, known: Known
    ) -> "Vertices":
        """Run VCA on columns that are held, in the projective view if they are all on one side.

        `eps` is the precision of the data.
        """
        r, shape = len(draws), (len(seen.vectors), seen.count)
        held = held.at(np.flatnonzero(held.columns.any(axis=0)))
        if projective:
            check_dimension(seen.sigma, shape, eps, r, "VCA")
            U = seen.vectors[:, :r]
            X = U.T @ held.columns
            centre, height = U.T @ seen.centre, 0.0
            depth = centre @ X
            projective = bool(depth.min(initial=np.inf) > EPS * depth.max(initial=0.0))
        if not projective:
            check_affine_dimension(seen.centred_sigma, seen.centre, shape, eps, r, "VCA")
            U = seen.centred_vectors[:, : r - 1]
            centre = U.T @ seen.centre
            X = U.T @ held.columns - centre[:, None]
            height = float(np.sqrt(np.einsum("ij,ij->j", X, X)).max(initial=0.0))
        view = cls(known, np.zeros(0, np.intp), projective, U, centre, height, np.zeros((0, r)), np.zeros(0))
        Y, _ = view.coordinates(U.T @ held.columns)
        among = known.among(held.indices)
        missing = max(r - Y.shape[1] + len(among.exclude), 0)  # zero columns take their places
        Y = np.hstack([Y, np.zeros((r, missing))])
        indices = np.append(held.indices, np.full(missing, -1))
        places, directions, _ = follow_directions(Y, draws, among)
        tops = np.abs(np.einsum("kj,jk->k", directions, Y[:, places[len(known.include) :]]))
        return cls(known, indices[places], projective, U, centre, height, directions, tops)

    def coordinates(self, X: Floats) -> tuple[Floats, Floats]:
        """Return columns in the view, from UᵀM, and numbers that are negative if the view is theirs."""
        if self.projective:
            depth = self.centre @ X
            return X / depth, -depth
        X = X - self.centre[:, None]
        lengths = np.sqrt(np.einsum("ij,ij->j", X, X))
        return np.vstack([X, np.full(X.shape[1], self.height)]), lengths - self.height * (1 + ROUNDING)

    def of_part(self, part: Part) -> tuple[Floats, Held]:
        zero = part.squares == 0
        Y, misplaced = self.coordinates(part.times(self.U))
        reach = np.abs(self.directions @ Y)
        reach[:, zero] = 0.0
        tops = np.maximum(self.tops, np.finfo(float).tiny)
        shares = (reach / tops[:, None]).max(axis=0, initial=0.0)
        candidate = (misplaced >= 0) | (shares >= 1 - 2 * ROUNDING)
        return np.minimum(shares, 1.0), part.held(np.flatnonzero(candidate & ~zero))

    def violations(self, held: Held) -> Violations:
        """Return columns that are not in the view, and columns that lie farther than one that was picked."""
        found = Violations()
        Y, misplaced = self.coordinates(self.U.T @ held.columns)
        found.note(0, misplaced, held, misplaced >= 0, 0.0)
        reach = np.abs(self.directions @ Y)
        chosen = self.anchors[len(self.known.include) :]
        for k, (top, rounding) in enumerate(zip(self.tops, self.roundings[1:], strict=True)):
            free = self.known.open(held.indices) & ~np.isin(held.indices, chosen[:k]) & (misplaced < 0)
            found.compare(k + 1, reach[k], held, free, top, chosen[k], rounding)
        return found
