"""The feasible set Ω."""

import numpy as np

from sepnmf._kernels import omega
from sepnmf._parallel import Workers
from sepnmf._typing import ArrayLike, Floats
from sepnmf._validation import check_square, scaled_weights


def project_omega(Z: ArrayLike, weights: ArrayLike) -> Floats:
    """Euclidean projection onto Ω = {X ≥ 0 : x_ii ≤ 1, w_i x_ij ≤ w_j x_ii}.

    Rows are independent. Given the diagonal entry t, the others are clipped to [0, (w_j / w_i) t]; t is the
    root of an increasing, concave, piecewise linear function, found by Newton's method without sorting.

    Parameters
    ----------
    Z : array_like of shape (n, n)
    weights : array_like of shape (n,)
        Positive; only their ratios matter.

    Returns
    -------
    ndarray of shape (n, n)

    References
    ----------
    N. Gillis and R. Luce, "A fast gradient method for nonnegative sparse regression with
    self-dictionary", IEEE Trans. Image Process. 27 (2018), introduce the set and project by sorting.

    Examples
    --------
    >>> from sepnmf.model import project_omega
    >>> project_omega([[0.5, 2.0], [-1.0, 3.0]], weights=[1, 1])
    array([[1., 1.], [0., 1.]])
    """
    array = np.ascontiguousarray(check_square(Z, "Z"))
    w = scaled_weights(weights, array.shape[0])
    X = np.empty_like(array)
    Workers(w.size, 1).run(omega.project, array, 0.0, w, np.ones(w.size), X)
    return X
