"""Nonnegative weights H of given columns W, with M ≈ WH."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from sepnmf._typing import ArrayLike, Floats, Ints
from sepnmf._validation import check_bool, check_choice, check_count, check_number
from sepnmf.least_squares._solvers import cone_weights, hals, hull_weights, largest
from sepnmf.matrix import Dense, InMemory, Matrix, MatrixLike, as_matrix, complete_array

Solver = Literal["exact", "hals"]
FAR = 300  # columns are this power of two times as long as W, at most, where weights sum to one


def nnls(
    W: MatrixLike,
    M: MatrixLike,
    method: Solver = "exact",
    sum_to_one: bool = False,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    mask: ArrayLike | None = None,
    row_mask: ArrayLike | None = None,
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
    * ``sum_to_one`` adds Σᵢ hᵢ = 1: fully constrained least squares, FCLS. The constraint holds in every step
      of the active-set method; it is not a penalty, as in the method that FCLS was published with.

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
    row_mask : array_like of bool of shape (m,), optional
        Whether each row of W and M is used.

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
    if check_bool(sum_to_one, "sum_to_one") and method == "hals":
        raise ValueError('sum_to_one needs method="exact": "hals" moves one entry at a time.')
    tol = check_number(tol, "tol")
    max_iter = check_count(max_iter, "max_iter")
    basis = complete_array(W, "W", row_mask)
    matrix = as_matrix(M, "allow", mask=mask, row_mask=row_mask)
    if basis.shape[0] != matrix.shape[0]:
        raise ValueError(
            f"W and M must have the same number of rows, got {basis.shape[0]} and {matrix.shape[0]}."
        )
    atoms = Atoms.of(basis)
    options: dict[str, Any] = {"method": method, "sum_to_one": sum_to_one, "tol": tol, "most": max_iter}
    if matrix.is_tall:  # columns that are too long to be held: products with Q are added up row by row
        products = matrix.products_with(atoms.Q)
        if not np.isfinite(products).all():
            raise ValueError(
                f"M has sums of entries that exceed the range of {products.dtype}: scale W and M."
            )
        H = weights_of_coordinates(atoms, products.T, matrix.dtype, **options)
        H = matrix.spread(H)
    else:
        H = matrix.map_columns(partial(weights_of_columns, atoms, **options), basis.shape[1], matrix.dtype)
    wrap = None if matrix.columns is None or isinstance(M, Matrix) else matrix.columns.wrap
    return H if wrap is None else wrap(H)


@dataclass(frozen=True, eq=False)
class Atoms:
    """The columns of W = QR: Q, and the columns of R divided by the largest entry, as rows.

    QR has the columns of W divided by powers of two, if squares could leave the floating-point range.
    """

    W: Floats
    Q: Floats
    rows: Floats
    unit: float
    exponents: Ints

    @classmethod
    def of(cls, W: Floats) -> "Atoms":
        """Return the atoms of a dense W."""
        scaled, powers = Dense(W.astype(np.float64, copy=False)).columns_in_range()
        Q, R = np.linalg.qr(scaled.array)
        rows = np.ascontiguousarray(R.T)
        unit = largest(rows)
        return cls(W, Q, rows / unit, unit, powers)


def weights_of_columns(atoms: Atoms, columns: InMemory, _start: int = 0, **options: Any) -> Floats:
    """Return the nonnegative weights of some columns, r × n, in their own type."""
    columns, powers = columns.columns_in_range()
    coordinates = np.asarray(columns.inner(atoms.Q.astype(columns.dtype)), dtype=np.float64)
    return weights_of_coordinates(atoms, coordinates, columns.dtype, powers, **options)


def weights_of_coordinates(
    atoms: Atoms,
    coordinates: Floats,
    dtype: np.dtype[Any],
    powers: Ints | None = None,
    *,
    method: str = "exact",
    sum_to_one: bool = False,
    tol: float = 1e-8,
    most: int = 1000,
) -> Floats:
    """Return the weights of columns, given by their inner products with Q (overwritten), n × r.

    The columns were divided by 2 to the power of `powers`.
    """
    known = np.isfinite(coordinates.sum())  # columns in chunks are checked elsewhere
    lifts = np.zeros(len(coordinates), dtype=np.intp) if powers is None else powers
    with np.errstate(over="ignore", under="ignore"):
        if sum_to_one:
            top = int(atoms.exponents.max())
            rows = np.ldexp(atoms.rows, (atoms.exponents - top)[:, None])
            # What is so far away has the nearest atom in any case.
            far = np.minimum(lifts - top, FAR)
            H = hull_weights(rows, np.ldexp(coordinates / atoms.unit, far[:, None]))
        else:
            height = largest(coordinates)
            coordinates /= height
            exact = method == "exact"
            H = cone_weights(atoms.rows, coordinates) if exact else hals(atoms.rows, coordinates, tol, most)
            H *= height / atoms.unit
            H = np.ldexp(H, lifts[:, None] - atoms.exponents)
        found = H.T.astype(dtype, order="C")
    if known and not np.isfinite(found).all():
        raise ValueError(
            f"W has columns so short beside those of M that weights exceed the range of {found.dtype}: "
            "scale W or M."
        )
    return found
