"""Noise or misfit, where no model of noise fits: whether columns that are alike leave residuals that are.

Noise is drawn anew for every column, whatever its structure between rows. Misfit is a property of the
mixture: a measured spectrum and the one most like it are missed in the same way.
"""

import numpy as np

from sepnmf._descent._noise_models import leading_left
from sepnmf._typing import Floats

FEW = 1000  # columns, a random sample of more
FEWEST = 50  # columns, with fewer of which nothing is said
# Mean correlation of residuals of neighbours, from which on there is misfit: 0.24 to 0.78 in real data, and
# up to 0.15 in spectra that vary from column to column.
ALIKE = 0.16


def has_independent_columns(M: Floats, r: int, rng: np.random.Generator) -> bool:
    """Whether what a fit of rank r leaves of a column says nothing about its neighbour's.

    In one direction all columns are equally near, and nothing is said.
    """
    if r == 1:
        return False
    n = M.shape[1]
    columns = np.sort(rng.choice(n, min(n, FEW), replace=False))
    few = np.asarray(M[:, columns], dtype=np.float64)
    few = few[:, few.any(axis=0)]
    return few.shape[1] - r >= FEWEST and likeness_of_neighbours(few, r) < ALIKE


def likeness_of_neighbours(M: Floats, r: int) -> float:
    """Mean cosine of what a fit of rank r leaves of each column and of the column nearest to it in angle."""
    U = leading_left(M, r)
    C = U.T @ M
    residual = M - U @ C
    unit = C / np.maximum(np.linalg.norm(C, axis=0), np.finfo(np.float64).tiny)
    cosines = unit.T @ unit
    np.fill_diagonal(cosines, -np.inf)
    nearest = cosines.argmax(axis=1)
    lengths = np.linalg.norm(residual, axis=0)
    products = np.einsum("ij,ij->j", residual, residual[:, nearest])
    return float(np.mean(products / np.maximum(lengths * lengths[nearest], np.finfo(np.float64).tiny)))
