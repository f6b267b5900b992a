"""Quality of anchors: compared with true anchors, with reference columns, and by the fit to the data."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from sepnmf._typing import ArrayLike, Floats, Indices
from sepnmf._validation import check_indices, index_set
from sepnmf.least_squares import explained_share
from sepnmf.matrix import MatrixLike, as_matrix, complete_array


def success_rate(found: Indices | Sequence[Indices], true: Indices | Sequence[Indices]) -> float:
    """Return the fraction of trials in which exactly the true anchors were found.

    SR = (1/T) Σ_t [K_t = K_t*], where K_t and K_t* are compared as sets: their order does not matter.

    Parameters
    ----------
    found, true : index sets
        The anchors found and the true anchors: one index set each, or a list of T index sets each, one per
        trial. An index set is a set, list or array of distinct integers.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If an index is repeated or is not an integer, or the numbers of trials differ.

    Examples
    --------
    >>> from sepnmf.metrics import success_rate
    >>> success_rate([3, 0, 7], [0, 3, 7])
    1.0
    >>> success_rate([[3, 0, 7], [1, 2, 4]], [[0, 3, 7], [1, 2, 5]])
    0.5
    """
    return float(np.mean([chosen == wanted for chosen, wanted in paired_trials(found, true)]))


def mean_recovery(found: Indices | Sequence[Indices], true: Indices | Sequence[Indices]) -> float:
    """Return the fraction of the true anchors that were found, averaged over the trials.

    MR = ``(1/T) Σ_t |K_t ∩ K_t*| / |K_t*|``.

    Parameters
    ----------
    found, true : index sets
        As in `success_rate`.

    Returns
    -------
    float
        Between 0 and 1; at least the success rate.

    Raises
    ------
    ValueError
        If an index is repeated or is not an integer, or the numbers of trials differ.

    Examples
    --------
    >>> from sepnmf.metrics import mean_recovery
    >>> mean_recovery([[3, 0, 7, 8], [1, 2, 4, 9]], [[0, 3, 7, 8], [1, 2, 5, 6]])
    0.75
    """
    pairs = paired_trials(found, true)
    return float(np.mean([len(chosen & wanted) / len(wanted) for chosen, wanted in pairs]))


def mrsa(W: MatrixLike, W_true: MatrixLike) -> float:
    """Return the mean-removed spectral angle between found and true columns, from 0 (equal) to 100.

    For two columns, with w̄ the mean of the entries of w::

        MRSA(w, w*) = (100/π) arccos( ⟨w − w̄, w* − w̄*⟩ / (‖w − w̄‖ ‖w* − w̄*‖) )

    For two matrices, this is the mean over the r pairs of columns of W and W* in the assignment with the
    least sum. Adding a constant to a column, or scaling it by a positive number, does not change the
    value. The value of two constant columns is 0; that of a constant column and another column is 50, a
    right angle.

    Parameters
    ----------
    W, W_true : matrix_like of shape (m, r)
        Found columns and true columns, in any order.

    Returns
    -------
    float
        Between 0 and 100.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.metrics import mrsa
    >>> W = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    >>> round(mrsa(W, 3 * W[:, ::-1] + 1), 6)
    0.0
    """
    angles = assigned_angles(*(remove_mean(A) for A in check_pair(W, W_true)))
    return float(100 / np.pi * angles.mean())


def sam(W: MatrixLike, W_true: MatrixLike) -> float:
    """Return the spectral angle in degrees between found and true columns (spectral angle mapper).

    For two columns, SAM(w, w*) = (180/π) arccos( ⟨w, w*⟩ / (‖w‖ ‖w*‖) ); for two matrices, this is
    the mean over the r pairs of columns in the assignment with the least sum. Scaling a column by a
    positive number does not change the value. The angle of two zero columns is 0°; that of a zero column
    and another column is 90°.

    Parameters
    ----------
    W, W_true : matrix_like of shape (m, r)
        Found columns and true columns, in any order.

    Returns
    -------
    float
        Between 0 and 180; at most 90 for nonnegative columns.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.metrics import sam
    >>> round(sam(np.array([[1.0, 0.0], [1.0, 3.0]]), np.eye(2)), 6)
    22.5
    """
    return float(np.degrees(assigned_angles(*check_pair(W, W_true)).mean()))


def rae(
    M: MatrixLike,
    anchors: Indices,
    *,
    mask: ArrayLike | None = None,
    row_mask: ArrayLike | None = None,
) -> float:
    """Return the fraction of M that the anchors explain, from 0 (nothing) to 1 (everything).

    The paper calls this the relative approximation error, although larger is better::

        RAE = 1 − min_{H ≥ 0} ‖M − M(:, K) H‖_F / ‖M‖_F

    The minimum is computed exactly (the paper approximates it by HALS).

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data. Of a sparse M, a few columns at a time are made dense; of data in chunks, a few chunks at a
        time are in memory.
    anchors : sequence of int
        K, distinct column indices.
    mask : array_like of bool of shape (n,), optional
        Whether each column is used; the others are not to be explained.
    row_mask : array_like of bool of shape (m,), optional
        Whether each row is used.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If M is zero, or `anchors` are not distinct column indices of it.

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.metrics import rae
    >>> M = np.array([[1.0, 0.0, 3.0], [0.0, 4.0, 0.0]])
    >>> round(rae(M, [0]), 6)  # the second column is not explained: 1 − 4/√26
    0.215535
    """
    matrix = as_matrix(M, "allow", mask=mask, row_mask=row_mask)
    return explained_share(matrix, check_indices(anchors, matrix.given_columns))


def paired_trials(
    found: Indices | Sequence[Indices], true: Indices | Sequence[Indices]
) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Yield one pair of index sets per trial."""
    all_found, all_true = list_trials(found, "found"), list_trials(true, "true")
    if len(all_found) != len(all_true):
        raise ValueError(
            "found and true must have one index set per trial each, "
            f"got {len(all_found)} and {len(all_true)} sets."
        )
    return zip(all_found, all_true, strict=True)


def list_trials(sets: Indices | Sequence[Indices], name: str) -> list[frozenset[int]]:
    """Return one index set per trial; a single index set is one trial."""
    items = list(sets) if isinstance(sets, Collection) else []
    if items and all(isinstance(item, Collection) for item in items):
        return [index_set(item, f"{name}[{t}]") for t, item in enumerate(items)]
    return [index_set(sets, name)]  # type: ignore[arg-type]


def check_pair(W: MatrixLike, W_true: MatrixLike) -> tuple[Floats, Floats]:
    """Return two float64 matrices, or raise ValueError if their shapes differ."""
    found, true = complete_array(W, "W"), complete_array(W_true, "W_true")
    if found.shape != true.shape:
        raise ValueError(f"W and W_true must have the same shape, got {found.shape} and {true.shape}.")
    return found.astype(np.float64, copy=False), true.astype(np.float64, copy=False)


def remove_mean(A: Floats) -> Floats:
    """Scale each column and subtract its mean; a constant column is scaled to ±1 and becomes exactly 0."""
    A = scale_columns(A)
    centred: Floats = A - A.mean(axis=0)
    return centred


def scale_columns(A: Floats) -> Floats:
    """Divide each column by its largest absolute value, so that squares do not overflow or underflow."""
    largest = np.abs(A).max(axis=0)
    return A / np.where(largest > 0, largest, 1)


def assigned_angles(A: Floats, B: Floats) -> Floats:
    """Return the angles in radians between the columns of A and B in the assignment with the least sum.

    The angle of unit vectors a and b is 2 atan2(‖a − b‖, ‖a + b‖), which unlike arccos is accurate at small
    angles. It is π/2 if one vector is zero, and 0 if both are.
    """
    A, B = unit_columns(A), unit_columns(B)
    angles = np.stack(
        [2 * np.arctan2(lengths(B - a[:, None]), lengths(B + a[:, None])) for a in A.T],
    )
    return angles[linear_sum_assignment(angles)]


def unit_columns(A: Floats) -> Floats:
    """Scale the columns to Euclidean norm one; zero columns stay zero."""
    A = scale_columns(A)
    norms = lengths(A)
    return A / np.where(norms > 0, norms, 1)


def lengths(A: Floats) -> Floats:
    """Return the Euclidean norms of the columns."""
    norms: Floats = np.linalg.norm(A, axis=0)
    return norms
