"""Nonnegative weights H of given columns W, with M ≈ WH, and what they leave unexplained."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from sepnmf._kernels import activeset, descent, exchange, pivoting
from sepnmf._typing import ArrayLike, Floats, Ints
from sepnmf._validation import check_choice, check_count, check_number
from sepnmf.matrix import InMemory, Matrix, MatrixLike, Part, Ranked, Reducer, as_matrix

Solver = Literal["exact", "hals"]

EPS = float(np.finfo(np.float64).eps)
# Normal equations have an error of about EPS times the square of the condition number (of W with columns
# of length one): up to the first of these numbers their answer is kept, up to the second it is where the
# active set starts.
WELL_CONDITIONED = 100.0
INVERTIBLE = 1e6
ROUNDS = 20  # of pivoting; nearly all columns need fewer than seven, and the active set takes the rest
WIDTH = 16  # columns that pivoting solves side by side
BITS = 62  # a passive set is the bits of one integer


def nnls(
    W: MatrixLike,
    M: MatrixLike,
    method: Solver = "exact",
    sum_to_one: bool = False,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    mask: ArrayLike | None = None,
) -> Any:
    r"""Nonnegative least squares for all columns of M: argmin ‖M − WH‖_F over H ≥ 0.

    With W = QR only R and QᵀM are needed, r numbers per column of M: M is read once, and neither
    copied nor made dense.

    * ``"exact"`` solves on a passive set P per column, h_P = argmin ‖m − W_P h_P‖, until h_P ≥ 0 and no slope
      wⱼᵀ(m − W_P h_P) is positive. For a well-conditioned W by block principal pivoting: all entries with
      the wrong sign change sides at once, columns with the same P share a Cholesky factor. Otherwise, and
      for the few columns where pivoting has not ended after 20 rounds, by the active-set method of Lawson
      and Hanson with orthogonal factors, which ends for every W.
    * ``"hals"`` sweeps h_j ← max(h_j + wⱼᵀ(m − Wh)/‖wⱼ‖², 0) from h = 0.
    * ``sum_to_one`` adds Σᵢ hᵢ = 1 (fully constrained abundances). The constraint holds in every step of
      the active-set method; it is not a penalty.

    Parameters
    ----------
    W : matrix_like of shape (m, r)
        Columns to combine. A sparse W is made dense.
    M : matrix_like of shape (m, n)
        Columns to explain.
    method : {"exact", "hals"}, default "exact"
        Finite method, or coordinate descent to a tolerance.
    sum_to_one : bool, default False
        Ask for columns of H that sum to one; with "exact" only.
    tol : float, default 1e-8
        "hals" ends in a column when no ‖wⱼ‖hⱼ moves by more than this fraction of the largest.
    max_iter : int, default 1000
        Most sweeps of "hals".
    mask : array_like of bool of shape (n,), optional
        Whether each column of M is used; the weights of the others are NaN.

    Returns
    -------
    H : ndarray of shape (r, n)
        Of M's type: float32 stays float32 (the sums over r are done in float64). If M is read in chunks
        (a Dask array, a Zarr array, an HDF5 data set or a large memory map), a Dask array in these chunks.
        If M is an `xarray.DataArray`, one with the dimension "anchor" and the coordinates of M's columns.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Warns
    -----
    ConvergenceWarning
        If "hals" stops at `max_iter`.

    Notes
    -----
    Cost: O(mnr) for QᵀM, then O(nr²) a round of pivoting, O(nr²) a step of the active set and O(nr²) a
    sweep. Memory: a few arrays of the size of H.

    If the columns of W are dependent, H need not be unique; it satisfies the optimality conditions.

    References
    ----------
    J. Kim and H. Park, "Fast nonnegative matrix factorization: an active-set-like method and comparisons",
    SIAM J. Sci. Comput. 33 (2011). C. L. Lawson and R. J. Hanson, "Solving least squares problems"
    (1974), chapter 23. D. C. Heinz and C.-I Chang, "Fully constrained least squares linear spectral mixture
    analysis", IEEE Trans. Geosci. Remote Sens. 39 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.datasets import make_dirichlet
    >>> from sepnmf.least_squares import nnls
    >>> M, anchors = make_dirichlet(noise=0.0, random_state=0)
    >>> H = nnls(M[:, anchors], M)
    >>> bool(np.allclose(M[:, anchors] @ H, M))
    True
    """
    check_choice(method, "method", ("exact", "hals"))
    if not isinstance(sum_to_one, bool | np.bool_):
        raise ValueError(f"sum_to_one must be True or False, got {sum_to_one!r}.")
    if sum_to_one and method == "hals":
        raise ValueError('sum_to_one needs method="exact": "hals" moves one entry at a time.')
    tol = check_number(tol, "tol")
    max_iter = check_count(max_iter, "max_iter")
    basis = as_matrix(W, "allow", name="W").in_memory().toarray()
    matrix = as_matrix(M, "allow", mask=mask)
    if basis.shape[0] != matrix.shape[0]:
        raise ValueError(
            f"W and M must have the same number of rows, got {basis.shape[0]} and {matrix.shape[0]}."
        )
    atoms = Atoms.of(basis)
    options: dict[str, Any] = {"method": method, "sum_to_one": sum_to_one, "tol": tol, "most": max_iter}
    if matrix.is_tall:  # columns that are too long to be held: products with Q are added up row by row
        H = weights_of_coordinates(atoms, matrix.products_with(atoms.Q).T, matrix.dtype, **options)
        H = H if matrix.columns is None else matrix.columns.spread(H, np.nan)
    else:
        H = matrix.map_columns(partial(weights_of_columns, atoms, **options), basis.shape[1], matrix.dtype)
    wrap = None if matrix.columns is None or isinstance(M, Matrix) else matrix.columns.wrap
    return H if wrap is None else wrap(H)


@dataclass(frozen=True, eq=False)
class Atoms:
    """The columns of W = QR: Q, and the columns of R divided by the largest entry, as rows."""

    W: Floats
    Q: Floats
    rows: Floats
    unit: float

    @classmethod
    def of(cls, W: Floats) -> "Atoms":
        """Return the atoms of a dense W."""
        Q, R = np.linalg.qr(W.astype(np.float64, copy=False))
        rows = np.ascontiguousarray(R.T)
        unit = largest(rows)
        return cls(W, Q, rows / unit, unit)


def weights_of_columns(
    atoms: Atoms,
    columns: InMemory,
    _start: int = 0,
    *,
    method: str = "exact",
    sum_to_one: bool = False,
    tol: float = 1e-8,
    most: int = 1000,
) -> Floats:
    """Return the nonnegative weights of some columns, r × n, in their own type."""
    coordinates = np.asarray(columns.inner(atoms.Q.astype(columns.dtype)), dtype=np.float64)
    return weights_of_coordinates(
        atoms, coordinates, columns.dtype, method=method, sum_to_one=sum_to_one, tol=tol, most=most
    )


def weights_of_coordinates(
    atoms: Atoms,
    coordinates: Floats,
    dtype: np.dtype[Any],
    *,
    method: str,
    sum_to_one: bool,
    tol: float,
    most: int,
) -> Floats:
    """Return the weights of columns, given by their inner products with Q (overwritten), n × r."""
    if sum_to_one:
        H = hull_weights(atoms.rows, coordinates / atoms.unit)
    else:
        height = largest(coordinates)
        coordinates /= height
        exact = method == "exact"
        H = cone_weights(atoms.rows, coordinates) if exact else hals(atoms.rows, coordinates, tol, most)
        H *= height / atoms.unit
    return H.T.astype(dtype, order="C")


# What is left unexplained ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Unexplained:
    """What given columns W leave of all columns.

    Attributes
    ----------
    residual : float
        Σ_j min_{h ≥ 0} ‖m_j − Wh‖², with Σh = 1 if that was asked for.
    total : float
        ‖M‖²_F.
    squared_weights : float
        ‖H‖²_F of the weights.
    worst : Ranked
        The columns with the largest misfit.
    """

    residual: float
    total: float
    squared_weights: float
    worst: Ranked

    @property
    def explained(self) -> float:
        """The relative approximation 1 − ‖M − WH‖_F / ‖M‖_F."""
        return 1.0 - float(np.sqrt(self.residual / self.total))


@dataclass(frozen=True, eq=False)
class Misfit(Reducer[Unexplained]):
    """Fits the columns of W to every column, and remembers the columns with the largest misfit."""

    atoms: Atoms
    most: int
    sum_to_one: bool = False

    def more(self, found: Unexplained | None, part: Part) -> Unexplained:
        """Return what is left of the parts so far, and of one more."""
        E, H = squared_misfits(part.columns, self.atoms, self.sum_to_one)
        known = found is not None and len(found.worst.values) == self.most
        worst = np.flatnonzero(found.worst.values[-1] < E) if found and known else np.arange(len(E))
        worst = worst[np.argsort(-E[worst], kind="stable")][: self.most]
        held = part.held(worst)
        ranked = Ranked(E[worst], held.indices, held.columns)
        new = Unexplained(float(E.sum()), float(part.squares.sum()), float(np.vdot(H, H)), ranked)
        return new if found is None else self.join(found, new)

    def join(self, a: Unexplained, b: Unexplained) -> Unexplained:
        """Return what is left of both."""
        return Unexplained(
            a.residual + b.residual,
            a.total + b.total,
            a.squared_weights + b.squared_weights,
            a.worst.joined(b.worst, self.most),
        )


def unexplained(matrix: Matrix, W: Floats, most: int = 1, sum_to_one: bool = False) -> Unexplained:
    """Return what the columns of W leave of all columns, and the `most` columns that are explained worst.

    One pass. The entries must be in the floating-point range (`Matrix.checked_scan`).
    """
    left: Unexplained = matrix.scan(Misfit(Atoms.of(W), most, sum_to_one))[0]
    return left


def checked_unexplained(matrix: Matrix, W: Floats, sum_to_one: bool = False) -> tuple[Unexplained, float]:
    """Return the same of entries that are checked, and divided by the number that is returned, if need be."""
    scaled, results = matrix.checked_scan(Misfit(Atoms.of(W), 1, sum_to_one))
    factor = scaled.scale / matrix.scale
    left = unexplained(scaled, W / factor, 1, sum_to_one) if results is None else results[0]
    return left, factor


def explained_share(matrix: Matrix, anchors: Ints) -> float:
    """Return the relative approximation of all columns by some of them, given by the caller's indices."""
    matrix = matrix.with_few_rows()
    left, _ = checked_unexplained(matrix, matrix.at(anchors))
    if left.total == 0:
        raise ValueError("M is zero, where the relative approximation error is not defined.")
    return left.explained


def residual_norm(matrix: Matrix, W: Floats) -> float:
    """Return min_{H ≥ 0} ‖M − WH‖_F."""
    left, factor = checked_unexplained(matrix, W)
    return float(np.sqrt(left.residual)) * factor


def squared_misfits(columns: InMemory, atoms: Atoms, sum_to_one: bool = False) -> tuple[Floats, Floats]:
    """Return min_{h ≥ 0} ‖m_j − Wh‖² of every column, with Σh = 1 if asked for, and the weights.

    The misfit is computed from the columns themselves: a difference of squares loses half the digits.
    """
    H = weights_of_columns(atoms, columns, sum_to_one=sum_to_one)
    rest = columns.take(slice(None)) - atoms.W @ H
    return np.einsum("ij,ij->j", rest, rest), H


def misfits_from_products(
    G: Floats, B: Floats, squares: Floats, skip: int = -1, H: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the same from inner products alone, with less accuracy, for trying very many sets of columns.

    Parameters
    ----------
    G : ndarray of shape (r, r)
        WᵀW.
    B : ndarray of shape (n, r)
        MᵀW.
    squares : ndarray of shape (n,)
        Squared norms of the columns of M.
    skip : int, default −1
        A column of W that is not to be used.
    H : ndarray of shape (n, r), optional
        Weights to start from.

    Returns
    -------
    E : ndarray of shape (n,)
        Squared misfits.
    H : ndarray of shape (n, r)
        Weights.
    """
    n, r = B.shape
    H, E = np.zeros((n, r)) if H is None else H.copy(), np.empty(n)
    exchange.solve(G, B, squares, skip, H, E, 0, n, np.empty(4))
    return E, H


# Solvers -----------------------------------------------------------------------------------------------


def largest(A: Floats) -> float:
    """Return the largest absolute entry, 1 if all are zero: dividing by it keeps squares in range."""
    return float(np.abs(A).max()) or 1.0


def unit_atoms(atoms: Floats) -> tuple[Floats, Floats]:
    """Rows of `atoms` divided by their lengths (zero rows stay), and what weights have to be divided by."""
    lengths = np.linalg.norm(atoms, axis=1)
    lengths[lengths == 0] = 1.0
    return atoms / lengths[:, None], lengths


def cone_weights(atoms: Floats, C: Floats) -> Floats:
    """Minimise ‖C − H·atoms‖_F over H ≥ 0; the rows of `atoms` (r, q) and C (n, q) are the vectors."""
    atoms, lengths = unit_atoms(atoms)
    n, r = C.shape[0], len(atoms)
    condition = np.linalg.cond(atoms) if r <= atoms.shape[1] else np.inf
    H = np.zeros((n, r))
    undecided = np.arange(n)
    if condition <= INVERTIBLE and r <= BITS:
        sets, unfinished = pivoted(atoms, C, H)
        if condition <= WELL_CONDITIONED:
            undecided = unfinished
        H[undecided] = sets[undecided, None] >> np.arange(r) & 1
    if undecided.size:
        start = H[undecided]
        run_active_set(atoms, C[undecided], start, False)
        H[undecided] = start
    H /= lengths
    return H


def pivoted(atoms: Floats, C: Floats, H: Floats) -> tuple[Ints, Ints]:
    """Write the rows that pivoting finishes into H; return all passive sets, and the rows left over."""
    n, r = H.shape
    G, B = atoms @ atoms.T, C @ atoms.T
    sizes = np.linalg.norm(C, axis=1)
    sets, order = np.full(n, 2**r - 1), np.arange(n)
    for _ in range(ROUNDS):
        order = order[: pivoting.pivot(G, B, sizes, 10 * r * EPS, order, sets, H, WIDTH)]
        if order.size == 0:
            break
        order = order[grouped(sets[order])]
    return sets, order


def grouped(sets: Ints) -> Ints:
    """An order that brings equal sets together: NumPy sorts 16-bit numbers by radix, so sort a hash."""
    hashed = (sets * np.int64(-7046029254386353131) >> 48).astype(np.uint16)
    return np.argsort(hashed, kind="stable")


def hull_weights(atoms: Floats, C: Floats, H: Floats | None = None) -> Floats:
    """Minimise ‖C − H·atoms‖_F over H ≥ 0 with rows that sum to one, from H (overwritten) if given.

    Every vector gets one more coordinate, the same for all. With Σh = 1 it changes no distance, and it makes
    linearly independent what is only affinely so: a triangle in the plane, or the origin.
    """
    level = float(np.linalg.norm(atoms, axis=1).max()) or 1.0
    lifted, data = (np.column_stack([A, np.full(len(A), level)]) for A in (atoms, C))
    if H is None:
        H = np.zeros((len(C), len(atoms)))
    run_active_set(lifted, data, H, True)
    return H


def run_active_set(atoms: Floats, C: Floats, H: Floats, simplex: bool) -> None:
    """Improve H to the optimum, in place."""
    activeset.least_squares(atoms, C, simplex, H)


def hals(atoms: Floats, C: Floats, tol: float, max_iter: int) -> Floats:
    """Coordinate descent from H = 0 on argmin ‖C − H·atoms‖_F over H ≥ 0."""
    atoms, lengths = unit_atoms(atoms)
    H = np.zeros((len(C), len(atoms)))
    unsettled = descent.descend(atoms @ atoms.T, C @ atoms.T, tol, max_iter, H)
    if unsettled:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"hals left {unsettled} column(s) unsettled after {max_iter} sweeps: raise max_iter or tol, "
            'or use method="exact".',
            ConvergenceWarning,
            stacklevel=3,
        )
    H /= lengths
    return H
