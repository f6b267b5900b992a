"""Successive projection algorithm."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from sepnmf._kernels import distances
from sepnmf._typing import Floats, Ints, WhichColumns
from sepnmf._validation import check_choice
from sepnmf.matrix import (
    NONE_KNOWN,
    Chunked,
    Dense,
    Held,
    InMemory,
    Known,
    MatrixLike,
    Negative,
    Part,
    as_matrix,
)
from sepnmf.methods._complement import ChoiceByDistance, Complement
from sepnmf.methods._method import method
from sepnmf.methods._working_set import Violations, choose_and_verify
from sepnmf.selection import Selection, best_first, in_units

Normalize = Literal["none", "l1"]


def successive_projections(M: Floats, r: int, known: Known = NONE_KNOWN) -> tuple[Ints, Floats]:
    """Pick r columns by residual norm, the included ones first, and return them with all columns' scores.

    A chosen column's score is its residual norm when chosen; the others', theirs at the last choice. If
    the rank is less than r, so that only rounding errors are left to choose by, the longest columns come
    next, and all that are not chosen before score what rounding leaves of their length. Excluded columns
    score 0.
    """
    anchors, scores, complement = project_successively(Dense(M), r, "none", known)
    if anchors.size < r:
        rest = np.setdiff1d(np.arange(M.shape[1]), np.append(anchors, known.exclude))
        scores[rest] = complement.tol * complement.lengths[rest] * complement.scale
        anchors = best_first(scores, r)
    return anchors, scores


def project_successively(
    M: InMemory, r: int, normalize: str, known: Known = NONE_KNOWN
) -> tuple[Ints, Floats, Complement]:
    """Run SPA until r columns are chosen or the rest is in their span."""
    complement = Complement(M, r, normalize, known)
    anchors, tops, values = known.include.tolist(), complement.tops.copy(), complement.squares
    most = min(r, M.shape[1] - len(known.exclude))
    while len(anchors) < most:
        j, values = complement.largest()
        if complement.explained(values[j]):
            break
        anchors.append(j)
        tops.append(values[j])
        if len(anchors) < most:
            complement.add(j)
    return np.array(anchors, dtype=np.intp), complement.scores(anchors, tops, values), complement


def spa_in_chunks(
    M: Chunked,
    r: int,
    *,
    normalize: Normalize = "none",
    negative: Negative = "error",
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """Choose as `spa` does, in two or three passes if data are separable.

    `history` has the number of anchors that were "certain" after each "pass" over the data.
    """
    check_choice(normalize, "normalize", ("none", "l1"))
    known = Known.of(include, exclude)
    choose = partial(Projections.chosen, r=r, eps=M.eps, known=known)
    found = choose_and_verify(M.normalised(normalize), choose, known)
    made: Projections = found.choice
    if len(made.anchors) < r:
        raise ValueError(rank_too_low(len(made.anchors), r, known))
    scores = in_units(made.scores(found.scores), found.scale)
    return Selection(anchors=made.anchors, scores=scores, history=found.history)


@method(
    summary="largest residual, project out, repeat",
    use="little noise: the fastest, and provably right",
    cost="r products with M",
    chunks="exactly",
    in_chunks=spa_in_chunks,
)
def spa(
    M: MatrixLike,
    r: int,
    *,
    normalize: Normalize = "none",
    negative: Negative = "error",
    include: WhichColumns = (),
    exclude: WhichColumns = (),
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
    M : matrix_like of shape (m, n)
        Data. Zero columns are never anchors. CSC is used as it is; other sparse formats are converted.
    r : int
        Number of anchors, 1 ≤ r ≤ rank(M).
    normalize : {"none", "l1"}, default "none"
        "l1" works on the columns divided by their l1 norms (without a copy): the anchors are then
        extreme rays of the cone of the columns, whatever their lengths.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero (in a copy), or keep them.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns come first, and
        are projected out at the start.

    Returns
    -------
    Selection
        An anchor's score is its residual norm when it was chosen, the others', theirs at the last choice. An
        included column's is no less than that of all others, an excluded one's is 0.

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
    known = Known.of(include, exclude)
    anchors, scores, _ = project_successively(as_matrix(M, negative).in_memory(), r, normalize, known)
    if anchors.size < r:
        raise ValueError(rank_too_low(anchors.size, r, known))
    return Selection(anchors=anchors, scores=scores)


def rank_too_low(rank: int, r: int, known: Known) -> str:
    """Return what to say when fewer than r columns are independent."""
    return (
        f"{known.searched} has numerical rank {rank}, so SPA can find at most {rank} anchors, got r={r}: "
        "ask for fewer."
    )


# In chunks ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Projections(ChoiceByDistance):
    """What SPA takes of a working set, with the spans of its steps.

    Attributes
    ----------
    tops : ndarray
        Besides those of the columns taken, one for each dimension of the included columns' span, infinite.
    basis : ndarray of shape (m, steps − 1)
        The first k vectors span what was taken before step k.
    roundings : ndarray
        By step: squared distances closer than this are the same.
    """

    basis: Floats
    roundings: Floats

    @classmethod
    def chosen(cls, held: Held, r: int, eps: float, known: Known) -> "Projections":
        """Return the steps of SPA on columns that are held; `eps` is the precision of the data."""
        among = known.among(held.indices)
        places, scores, complement = project_successively(Dense(held.columns), r, "none", among)
        m, given, start = len(held.columns), len(known.include), complement.rank_of_included
        tops = np.square(scores[places[given:]])
        nothing = 10 * np.sqrt(m) * eps * complement.longest
        enough = tops > nothing**2
        places, tops = np.append(places[:given], places[given:][enough]), tops[enough]
        if len(places) < r:
            if len(places):
                complement.add(int(places[-1]))
            tops = np.append(tops, nothing**2)
        rounding = 10 * np.sqrt(m) * np.finfo(np.float64).eps * complement.longest
        basis = complement.basis[:, : start + max(len(tops) - 1, 0)].copy()
        unchosen = basis.shape[1] + 1 - len(tops)
        return cls(
            known,
            np.array(complement.tops),
            held.indices[places],
            np.append(np.full(unchosen, np.inf), tops),
            basis,
            np.append(np.zeros(unchosen), rounding * np.sqrt(tops)),
        )

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
        free = self.known.open(held.indices) & ~np.isin(held.indices, self.anchors)
        chosen = self.chosen_anchors
        unchosen = np.isinf(self.tops).sum()
        rest = held.columns.copy()
        for step, (top, rounding) in enumerate(zip(self.tops, self.roundings, strict=True)):
            if step:
                q = self.basis[:, step - 1]
                rest -= np.outer(q, q @ rest)
            values = np.einsum("ij,ij->j", rest, rest)
            taken = chosen[step - unchosen] if 0 <= step - unchosen < len(chosen) else -1
            found.compare(step, values, held, free, top, taken, rounding)
        return found
