"""Proximal maps of powers of norms, as public functions with checked arguments."""

import numpy as np

from sepnmf._parallel import Workers
from sepnmf._typing import ArrayLike, Floats
from sepnmf._validation import check_array, check_choice, check_number, check_square, scaled_weights
from sepnmf.model._norms import WarmStart, find_norm
from sepnmf.model._thresholds import Form


def prox_power(A: ArrayLike, gamma: float, p: float = 1, norm: str = "l1", form: Form = "exact") -> Floats:
    """Proximal map of the p-th power of a norm.

    argmin_X  γ‖X‖^p + ½‖X − A‖²_F

    Parameters
    ----------
    A : array_like of shape (m, n)
    gamma : float
        γ > 0.
    p : float, default 1
        Any real p ≥ 1.
    norm : {"l1", "nuclear", "rows"}, default "l1"
        Sum of absolute entries, of singular values, or of the Euclidean norms of the rows.
    form : {"exact", "paper"}, default "exact"
        "paper" is the closed form printed in the paper (p = 1, 2, 3, 4 only). It assumes that all magnitudes
        stay positive, m·n of them for "l1" and "nuclear" and m for "rows". For p ≥ 2 it is the minimiser
        only if none becomes zero.

    Returns
    -------
    ndarray of shape (m, n)

    Examples
    --------
    >>> from sepnmf.model import prox_power
    >>> prox_power([[3.0, -1.5], [0.5, 0.0]], gamma=0.25, p=2)
    array([[ 1.875, -0.375], [ 0.   ,  0.   ]])
    """
    array = check_array(A, "A")
    check_choice(form, "form", ("exact", "paper"))
    power = check_number(p, "p", least=1, strict=False)
    step = check_number(gamma, "gamma")
    return find_norm(norm).prox(array, step, power, form)[0]


def prox_power_omega(A: ArrayLike, gamma: float, p: float, weights: ArrayLike, norm: str = "l1") -> Floats:
    """Exact proximal map of the p-th power of a norm on Ω.

    argmin_{X ∈ Ω}  γ‖X‖^p + ½‖X − A‖²_F

    For "l1" and "rows" it is computed row by row at a threshold that solves a scalar equation. For
    "nuclear" no closed form is known; it is computed by an iteration that ends when the optimality conditions
    hold to 1e-12 of ‖A‖_F, or after 1000 steps, which may be needed when γ is so large that the result is
    close to zero.

    Parameters
    ----------
    A : array_like of shape (n, n)
    gamma : float
        γ > 0.
    p : float
        Any real p ≥ 1.
    weights : array_like of shape (n,)
        Positive weights w of Ω = {X ≥ 0 : x_ii ≤ 1, w_i x_ij ≤ w_j x_ii}.
    norm : {"l1", "nuclear", "rows"}, default "l1"

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> from sepnmf.model import prox_power_omega
    >>> prox_power_omega([[2.0, 1.0], [0.25, 0.5]], gamma=0.25, p=1, weights=[1, 1])
    array([[1.  , 0.75], [0.  , 0.25]])
    """
    array = check_square(A, "A")
    power = check_number(p, "p", least=1, strict=False)
    step = check_number(gamma, "gamma")
    w = scaled_weights(weights, array.shape[0])
    contiguous = np.ascontiguousarray(array)
    V = np.empty_like(contiguous)
    find_norm(norm).prox_omega(contiguous, step, power, w, WarmStart(V), Workers(w.size, 1), V)
    return V
