"""Solvers of nonnegative least squares: pivoting, active sets, coordinate descent."""

import warnings

import numpy as np

from sepnmf._kernels import activeset, descent, pivoting
from sepnmf._typing import Floats, Ints

EPS = float(np.finfo(np.float64).eps)
# Normal equations have an error of about EPS times the square of the condition number (of W with columns
# of length one): up to the first of these numbers their answer is kept, up to the second it is where the
# active set starts.
WELL_CONDITIONED = 100.0
INVERTIBLE = 1e6
ROUNDS = 20  # of pivoting; nearly all columns need fewer than seven, and the active set takes the rest
WIDTH = 16  # columns that pivoting solves side by side
FAR = 1e6  # lengths of atoms; weights of what is farther away and sum to one are lost in rounding errors
BITS = 62  # a passive set is the bits of one integer


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
        sets, unfinished = pivoted(atoms @ atoms.T, C @ atoms.T, np.linalg.norm(C, axis=1), H)
        if condition <= WELL_CONDITIONED:
            undecided = unfinished
        H[undecided] = sets[undecided, None] >> np.arange(r) & 1
    if undecided.size:
        start = H[undecided]
        run_active_set(atoms, C[undecided], start, False)
        H[undecided] = start
    H /= lengths
    return H


def pivoted(G: Floats, B: Floats, sizes: Floats, H: Floats) -> tuple[Ints, Ints]:
    """Write the rows that pivoting finishes into H; return all passive sets, and the rows left over.

    G has the inner products of atoms of length one, B those of the vectors with the atoms, and `sizes` the
    lengths of the vectors.
    """
    n, r = H.shape
    sets, order = np.full(n, 2**r - 1), np.arange(n)
    for _ in range(ROUNDS):
        order = order[: pivoting.pivot(G, B, sizes, 10 * r * EPS, order, sets, H, WIDTH)]
        if order.size == 0:
            break
        order = order[grouped(sets[order])]
    return sets, order


def weights_from_products(G: Floats, B: Floats, squares: Floats) -> tuple[Floats, Ints]:
    """Minimise ‖C − H·atoms‖_F over H ≥ 0 from products alone; return H, and the rows that are not finished.

    G = atoms·atomsᵀ must be positive definite, B = C·atomsᵀ, and `squares` has the squared lengths of the
    rows of C. The error is about EPS times the square of the condition number of `atoms` (`cone_weights` has
    none of this size). There are at most `BITS` atoms. Rows that are not finished are zero.
    """
    lengths = np.sqrt(np.diag(G))
    H = np.zeros(B.shape)
    _, unfinished = pivoted(G / np.outer(lengths, lengths), B / lengths, np.sqrt(squares), H)
    H /= lengths
    return H, unfinished


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
    C = without_far_rows(atoms, C, FAR * level)
    lifted, data = (np.column_stack([A, np.full(len(A), level)]) for A in (atoms, C))
    if H is None:
        H = np.zeros((len(C), len(atoms)))
    run_active_set(lifted, data, H, True)
    return H


def without_far_rows(atoms: Floats, C: Floats, limit: float) -> Floats:
    """Return C with rows longer than `limit` replaced by nearer ones that have the same weights.

    What is orthogonal to all differences of atoms does not matter, and is left out. What is still too long
    is cut: then only its direction tells which face is the nearest.
    """
    far = np.flatnonzero(np.linalg.norm(C, axis=1) > limit)
    if not far.size:
        return C
    middle = atoms.mean(axis=0)
    _, sigma, V = np.linalg.svd(atoms - middle, full_matrices=False)
    V = V[sigma > len(V) * EPS * np.linalg.norm(atoms)]
    near = (C[far] - middle) @ V.T @ V
    lengths = np.linalg.norm(near, axis=1, keepdims=True)
    C = C.copy()
    C[far] = middle + near * np.minimum(1.0, limit / np.maximum(lengths, limit))
    return C


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
