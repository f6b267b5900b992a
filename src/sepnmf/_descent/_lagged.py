r"""Noise that is correlated along the rows: an entry's noise depends on that of the row above.

The noise n_i in row i of a column is taken for a stationary autoregressive process of the first order,

    n_i = φ n_{i−1} + √(1 − φ²) e_i,   e white,

as between neighbouring bands of a spectrum. The rows m_1 √(1 − φ²) and m_i − φ m_{i−1} have white noise, and
the same anchors as before: they are an invertible linear map of the columns.
"""

import numpy as np

from sepnmf._typing import Floats

MOST = 0.99  # a larger φ makes differences of the rows, which lose what the rows have in common


def without_lag(M: Floats, lag: float) -> Floats:
    """The rows less φ times the row above; the noise of the result is white if that of M has this lag φ."""
    if lag == 0:
        return M
    new = M.copy()
    new[1:] -= lag * M[:-1]
    new[0] *= np.sqrt(1 - lag**2)
    return new


def with_lag(M: Floats, lag: float) -> Floats:
    """The inverse of `without_lag`."""
    if lag == 0:
        return M
    old = M.copy()
    old[0] /= np.sqrt(1 - lag**2)
    for i in range(1, len(old)):
        old[i] += lag * old[i - 1]
    return old


def remaining_lag(residual: Floats, U: Floats) -> float:
    """Correlation of neighbouring rows of the noise, from what a fit in the directions U leaves of it.

    White noise without the directions U has correlated rows too: that much is subtracted.
    """
    m, r = U.shape
    total = float(np.vdot(residual, residual))
    if total == 0 or m < 2:
        return 0.0
    together = (m - r) * float(np.vdot(residual[1:], residual[:-1])) / total
    by_directions = float(np.vdot(U[1:], U[:-1]))
    return float((together + by_directions) / (m - 1))


def combined(lag: float, remaining: float) -> float:
    """The lag of noise that has a remaining correlation after `without_lag` with this lag."""
    return float(np.clip((lag + remaining) / (1 + lag * remaining), -MOST, MOST))
