"""N-FINDR: the simplex of largest volume."""

from typing import Literal

import numpy as np

from sepnmf._typing import Floats, Ints, Seed, WhichColumns
from sepnmf._validation import check_choice, check_generator
from sepnmf.matrix import NONE_KNOWN, Known, MatrixLike, Negative, as_matrix
from sepnmf.methods._method import method
from sepnmf.methods._spa import successive_projections
from sepnmf.methods._subspace import affine_view, column_lengths, longest_column, nonzero_columns, spread
from sepnmf.selection import Selection, best_first

GAIN = 1e-9  # a swap must enlarge the volume by more than this share, so that rounding cannot swap for ever


@method(
    summary="grows the simplex of largest volume",
    use="pure columns, weights that sum to one",
    cost="passes over r × n",
)
def nfindr(
    M: MatrixLike,
    r: int,
    *,
    init: Literal["spa", "random"] = "spa",
    negative: Negative = "error",
    random_state: Seed = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    """Pick the columns that span a simplex of large volume, by swaps that enlarge it.

    Maximises ``|det E|``, E = Y[:, anchors], over r columns, where Y has the r − 1 leading principal
    coordinates of the columns and a last row of equal entries: it is a multiple of the simplex's volume.

    By Cramer's rule, putting column j in the place of vertex k multiplies the volume by ``|b_kj|``, with
    B = E⁻¹Y. So each step looks at all columns and all vertices at once: it makes the swap of largest
    ``|b_kj|`` and updates B by a matrix of rank one, until no ``|b_kj|`` is above 1.
    No single swap enlarges the simplex then; that it is the largest is not guaranteed.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative. Zero columns are never picked. Sparse data stay sparse.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    init : {"spa", "random"}, default "spa"
        The first simplex: SPA's on the columns of Y, or random affinely independent columns.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Used by `init="random"` only; None gives a different start at each call.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns are vertices that
        are not swapped; they must be affinely independent.

    Returns
    -------
    Selection
        `n_outer` counts the swaps. `scores`: an anchor has 1 plus its distance from the opposite face
        relative to the largest such distance; another column has ``max_k |b_kj|`` ≤ 1, the volume with it in
        the best place relative to the volume found; an excluded one has 0.

    Raises
    ------
    ValueError
        If an argument is not as described, the columns' affine hull has fewer than r − 1 dimensions, or that
        of the included columns has fewer than their number less one.

    Notes
    -----
    Cost: a singular value decomposition of the centred data, O(mn·min(m, n)) for dense M, and O(rn) a swap.
    Memory: three copies of M (one if sparse), and 4r × n numbers.

    With r = 1 every simplex is a point, and the longest column is picked. The mixtures' weights
    should sum to one: normalise columns of different brightness first.

    When to use: pure columns present, little noise, and weights that sum to one. Started from SPA's
    columns it repairs SPA's choice where the volume shows that it can be improved.

    References
    ----------
    M. E. Winter, "N-FINDR: an algorithm for fast autonomous spectral end-member determination in
    hyperspectral data", Proceedings of SPIE 3753 (1999), 266-275.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0, random_state=0)
    >>> set(sepnmf.nfindr(M, 10).anchors) == set(anchors)
    True
    """
    data = as_matrix(M, negative).in_memory()
    n = data.shape[1]
    check_choice(init, "init", ("spa", "random"))
    rng = check_generator(random_state)
    known = Known.of(include, exclude)
    data, kept = nonzero_columns(data, r, known)
    known = known.among(kept)
    swaps = 0
    if r == 1:
        anchors, scores = longest_column(data, known)
    else:
        Y = affine_view(data, r, method="N-FINDR")
        check_independent(Y[:, known.include], data.eps)
        anchors = successive_projections(Y, r, known)[0] if init == "spa" else random_simplex(Y, rng, known)
        anchors, B, swaps = enlarge(Y, anchors, known)
        scores = volume_scores(Y, anchors, B, known)
        anchors = best_first(scores, r)
    return Selection(
        anchors=kept[anchors],
        scores=spread(scores, kept, n),
        status="converged",
        n_outer=swaps,
    )


def check_independent(E: Floats, eps: float) -> None:
    """Refuse included columns that no simplex has as vertices."""
    if not E.shape[1]:
        return
    sizes = np.linalg.svd(E, compute_uv=False)
    if len(sizes) < E.shape[1] or sizes[-1] <= max(E.shape) * eps * sizes[0]:
        raise ValueError(
            "include has columns of which one is an affine combination of others, so that N-FINDR's simplex "
            "has no volume: include fewer."
        )


def enlarge(Y: Floats, start: Ints, known: Known = NONE_KNOWN) -> tuple[Ints, Floats, int]:
    """Swap columns until no swap enlarges |det Y[:, anchors]|; return anchors, B and the number of swaps."""
    anchors = start.copy()
    fixed = np.flatnonzero(np.isin(anchors, known.include))
    swaps = 0
    while True:
        B = np.linalg.solve(Y[:, anchors], Y)
        before = swaps
        while True:
            gains = np.abs(B)
            gains[fixed], gains[:, known.exclude] = 0.0, 0.0
            k, j = np.unravel_index(gains.argmax(), B.shape)
            if gains[k, j] <= 1 + GAIN:
                break
            anchors[k] = j
            exchange(B, k, j)
            swaps += 1
        if swaps == before:  # so B is fresh, without the updates' rounding errors
            return anchors, B, swaps


def exchange(B: Floats, k: np.intp, j: np.intp) -> None:
    """Update B = E⁻¹Y in place for column j of Y in the place of column k of E."""
    column = B[:, j].copy()
    column[k] -= 1
    B -= np.outer(column, B[k] / B[k, j])


def random_simplex(Y: Floats, rng: np.random.Generator, known: Known = NONE_KNOWN) -> Ints:
    """Draw linearly independent columns, as many as Y has rows, after the included ones."""
    residual = Y.copy()
    anchors = np.empty(len(Y), dtype=np.intp)
    anchors[: len(known.include)] = known.include
    free = known.open(np.arange(Y.shape[1]))
    for k in range(len(Y)):
        lengths = column_lengths(residual)
        if k >= len(known.include):
            longest = lengths.max(where=free, initial=0.0)
            anchors[k] = rng.choice(np.flatnonzero(free & (lengths > 1e-6 * longest)))
            free[anchors[k]] = False  # what rounding leaves of a long column may be as long as the others
        direction = residual[:, anchors[k]] / lengths[anchors[k]]
        residual -= np.outer(direction, direction @ residual)
    return anchors


def volume_scores(Y: Floats, anchors: Ints, B: Floats, known: Known) -> Floats:
    """Scores of the final simplex: heights of the vertices, volumes that the other columns would give."""
    scores: Floats = np.minimum(np.abs(B).max(axis=0), 1)
    scores[known.exclude] = 0.0
    # Row k of E⁻¹ without its last entry is the gradient of the k-th barycentric coordinate, 1 at
    # vertex k and 0 on the opposite face: its length is one over the height.
    heights = 1 / np.linalg.norm(np.linalg.inv(Y[:, anchors])[:, :-1], axis=1)
    scores[anchors] = 1 + heights / heights.max()
    return scores
