"""Successive nonnegative projection algorithm."""

import numpy as np

from sepnmf._typing import Floats, Ints, WhichColumns
from sepnmf._validation import check_choice
from sepnmf.least_squares import hull_weights
from sepnmf.matrix import InMemory, Known, MatrixLike, Negative, as_matrix
from sepnmf.methods._complement import Complement
from sepnmf.methods._method import method
from sepnmf.methods._spa import Normalize
from sepnmf.selection import Selection


@method(
    summary="as SPA, projecting onto the convex hull",
    use="badly conditioned or dependent anchors",
    cost="a few times SPA",
)
def snpa(
    M: MatrixLike,
    r: int,
    *,
    normalize: Normalize = "none",
    negative: Negative = "error",
    include: WhichColumns = (),
    exclude: WhichColumns = (),
) -> Selection:
    r"""Pick the column farthest from the convex hull of those chosen and the origin, repeat.

    With W the columns chosen so far, step k takes the column that maximises

        min ‖m_j − Wh‖₂  over  h ≥ 0, Σᵢ hᵢ ≤ 1.

    The minimum splits into the distance of m_j from the span of W, carried along as in `spa` with its
    safeguards, and a least-squares problem with k coordinates per column, R and QᵀM with W = QR. The
    latter is solved exactly for all columns, by an active-set method that starts from the last step's
    weights (the origin is one more vertex, which makes it Σᵢ hᵢ = 1): a column that the new anchor does
    not help is left as it is. No difference of large numbers such as ‖m_j‖² − 2hᵀWᵀm_j + hᵀWᵀWh is
    formed.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data. Zero columns are never anchors. A sparse M is not made dense.
    r : int
        Number of anchors, 1 ≤ r ≤ n; may exceed rank(M).
    normalize : {"none", "l1"}, default "none"
        "l1" works on the columns divided by their l1 norms (without a copy).
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero (in a copy), or keep them.
    include, exclude : collection of int or str, optional
        Columns that are anchors, and columns that are not (see `select`). Included columns come first, and
        are vertices of the hull from the start.

    Returns
    -------
    Selection
        An anchor's score is its distance from the hull when it was chosen, the others', theirs at the
        last choice. An included column's is no less than that of all others, an excluded one's is 0.

    Raises
    ------
    ValueError
        If an argument is not as described, or if fewer than r columns explain all the others to rounding.

    Notes
    -----
    Cost a step: one product qᵀM, 2mn operations, and O(nk²) for the weights, more where they change.
    Memory: an m × r and two n × r arrays.

    When to use: in place of `spa` when the anchors are badly conditioned or not even independent (r >
    rank(M)), at a few times its cost. The weights of the data should sum to at most one; `normalize="l1"`
    sees to that.

    References
    ----------
    N. Gillis, "Successive nonnegative projection algorithm for robust nonnegative blind source
    separation", SIAM J. Imaging Sci. 7 (2014).

    Examples
    --------
    Four corners of a square, seen from three dimensions, and its centre:

    >>> import sepnmf
    >>> M = [[0, 0, 1, 1, 0.5], [0, 1, 0, 1, 0.5], [1, 1, 1, 1, 1.0]]
    >>> sepnmf.snpa(M, 4).anchors
    array([3, 0, 1, 2])
    """
    check_choice(normalize, "normalize", ("none", "l1"))
    data = as_matrix(M, negative).in_memory()
    known = Known.of(include, exclude)
    hull = Hull(data, r, normalize, known)
    anchors, tops = known.include.tolist(), hull.tops.copy()
    values: Floats = hull.squares + hull.misfit
    while len(anchors) < r:
        j, values = hull.largest(hull.misfit)
        if hull.explained(values[j]):
            raise ValueError(
                f"{len(anchors)} columns explain all of {known.searched} to rounding, so SNPA can find no "
                f"more anchors, got r={r}: ask for fewer."
            )
        anchors.append(j)
        tops.append(values[j])
        if len(anchors) < r:
            hull.extend(j)
    return Selection(anchors=np.array(anchors, dtype=np.intp), scores=hull.scores(anchors, tops, values))


class Hull(Complement):
    """The convex hull of the chosen columns and the origin, with the weights of all columns."""

    def __init__(self, M: InMemory, r: int, normalize: str, known: Known) -> None:
        super().__init__(M, r, normalize, known)
        n, q = M.shape[1], self.rank_of_included
        self.coordinates, self.vertices = np.zeros((n, r)), np.zeros((1, r))
        self.weights: Floats = np.ones((n, 1))  # all on the origin, which is vertex 0
        self.misfit: Floats = np.zeros(n)
        if q:
            self.coordinates[:, :q] = self.products(self.basis).T
            self.with_vertices(known.include)

    def extend(self, j: int) -> None:
        """Make column j a vertex."""
        along = self.add(j)
        if along is not None:
            self.coordinates[:, self.basis.shape[1] - 1] = along
        self.with_vertices([j])

    def with_vertices(self, columns: Ints | list[int]) -> None:
        """Find the weights with more vertices, columns in the span of the basis."""
        n, q = len(self.coordinates), self.basis.shape[1]
        new = np.zeros((len(columns), self.vertices.shape[1]))
        new[:, :q] = [self.basis.T @ self.column(j) for j in columns]
        self.vertices = np.vstack([self.vertices, new])
        C, V = self.coordinates[:, :q], self.vertices[:, :q]
        self.weights = hull_weights(V, C, np.column_stack([self.weights, np.zeros((n, len(columns)))]))
        rest = C - self.weights @ V
        self.misfit = np.einsum("ij,ij->i", rest, rest)
