"""Nonnegative weights H of given columns."""

import numpy as np
from scipy import optimize

from sepnmf.typing import ArrayLike, Floats
from sepnmf.validation import check_array


def nnls(W: ArrayLike, M: ArrayLike) -> Floats:
    """argmin_{H ≥ 0} ‖M − WH‖_F."""
    basis, data = check_array(W, "W"), check_array(M, "M")
    return np.stack([optimize.nnls(basis, column)[0] for column in data.T], axis=1)
