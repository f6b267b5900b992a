"""Nonnegative weights H of given columns W, with M ≈ WH."""

import warnings
from typing import Any, Literal

import numpy as np
from scipy import sparse

from sepnmf.kernels import activeset, descent, pivoting
from sepnmf.sources import checked_chunks, is_chunked, resolution, with_whole_columns
from sepnmf.typing import ArrayLike, Floats, Ints, Sparse
from sepnmf.validation import check_array, check_choice, check_count, check_number, check_sparse

Solver = Literal["exact", "hals"]

EPS = float(np.finfo(np.float64).eps)
# Normal equations have an error of about EPS times the square of the condition number (of W with columns
# of length one): up to the first of these numbers their answer is kept, up to the second it is where the
# active set starts.
WELL_CONDITIONED = 100.0
INVERTIBLE = 1e6
ROUNDS = 20  # of pivoting; nearly all columns need fewer than seven, and the active set takes the rest
WIDTH = 16  # columns that pivoting solves side by side
PART = 2**21  # entries of a chunk that are worked on at a time
BITS = 62  # a passive set is the bits of one integer


def nnls(
    W: ArrayLike | Sparse,
    M: ArrayLike | Sparse,
    method: Solver = "exact",
    sum_to_one: bool = False,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Floats:
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
    W : array_like or sparse of shape (m, r)
        Columns to combine. A sparse W is made dense.
    M : array_like, sparse or dask.array.Array of shape (m, n)
        Columns to explain.
    method : {"exact", "hals"}, default "exact"
        Finite method, or coordinate descent to a tolerance.
    sum_to_one : bool, default False
        Ask for columns of H that sum to one; with "exact" only.
    tol : float, default 1e-8
        "hals" ends in a column when no ‖wⱼ‖hⱼ moves by more than this fraction of the largest.
    max_iter : int, default 1000
        Most sweeps of "hals".

    Returns
    -------
    H : ndarray of shape (r, n)
        Of M's type: float32 stays float32 (the sums over r are done in float64). Of a Dask array, a Dask
        array in the same chunks.

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
    basis = check_array(check_sparse(W, "W").toarray() if sparse.issparse(W) else W, "W")
    if is_chunked(M):
        options = {"method": method, "sum_to_one": sum_to_one, "tol": tol, "max_iter": max_iter}
        weights: Floats = nnls_of_chunks(basis, M, options)
        return weights
    data = check_sparse(M, "M") if sparse.issparse(M) else check_array(M, "M")
    if basis.shape[0] != data.shape[0]:
        raise ValueError(
            f"W and M must have the same number of rows, got {basis.shape[0]} and {data.shape[0]}."
        )
    Q, R = np.linalg.qr(basis.astype(np.float64, copy=False))
    coordinates = np.asarray(data.T @ Q.astype(data.dtype), dtype=np.float64)
    atoms = np.ascontiguousarray(R.T)
    unit = largest(atoms)
    atoms /= unit
    if sum_to_one:
        H = hull_weights(atoms, coordinates / unit)
    else:
        height = largest(coordinates)
        coordinates /= height
        H = cone_weights(atoms, coordinates) if method == "exact" else hals(atoms, coordinates, tol, max_iter)
        H *= height / unit
    return H.T.astype(data.dtype, order="C")


def nnls_of_chunks(W: Floats, M: Any, options: dict[str, Any]) -> Any:
    """Weights of the columns of a Dask array as a Dask array, computed when they are asked for."""
    M = with_whole_columns(checked_chunks(M))
    if W.shape[0] != M.shape[0]:
        raise ValueError(f"W and M must have the same number of rows, got {W.shape[0]} and {M.shape[0]}.")
    shape = ((W.shape[1],), M.chunks[1])
    dtype = resolution(M)
    return M.map_blocks(nnls_by_parts, W, options, dtype=dtype, chunks=shape, meta=np.empty((0, 0), dtype))


def nnls_by_parts(chunk: Floats, W: Floats, options: dict[str, Any], block_info: Any = None) -> Floats:
    """Weights of the columns of a chunk, a small part at a time."""
    if isinstance(chunk, np.ndarray) and not np.isfinite(chunk.sum(dtype=np.float64)):
        bad = np.argwhere(~np.isfinite(chunk))
        if bad.size:
            row, column = bad[0].tolist()
            first = block_info[0]["array-location"][1][0]
            raise ValueError(
                f"M has {len(bad)} NaN or infinite entries in a chunk, the first at "
                f"({row}, {first + column}): remove or replace them."
            )
    width = max(PART // len(W), 1)
    parts = [nnls(W, chunk[:, k : k + width], **options) for k in range(0, chunk.shape[1], width)]
    return np.hstack(parts)


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
