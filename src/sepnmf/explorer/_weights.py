"""Weights of a few anchors in all columns, where only the products of new anchors are computed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sepnmf._typing import Bools, Floats
from sepnmf.least_squares import BITS, nnls, weights_from_products
from sepnmf.matrix import InMemory

# Condition number of the anchors, divided by their lengths, up to which weights are computed from products;
# their relative error is then about 1e-8.
CONDITION = 1e4
KEPT = 64  # anchors whose products are kept


@dataclass(frozen=True, eq=False)
class Explained:
    """How a few anchors explain all columns.

    Attributes
    ----------
    weights : ndarray of shape (r, n)
        The nonnegative weights of the anchors in every column.
    misfits : ndarray of shape (n,)
        ‖m_j − Wh_j‖² of every column, from a difference of squares: about 1e-16‖m_j‖² is rounding error.
    squares : ndarray of shape (n,)
        ‖m_j‖² of every column.
    """

    weights: Floats
    misfits: Floats
    squares: Floats

    def fit(self, used: Bools) -> float:
        """Return 1 − ‖M − WH‖_F / ‖M‖_F of the columns that are used; NaN if they are zero."""
        total = float(self.squares[used].sum())
        return 1.0 - float(np.sqrt(self.misfits[used].sum() / total)) if total > 0 else float("nan")

    def relative(self) -> Floats:
        """Return ‖m_j − Wh_j‖ / ‖m_j‖ of every column, NaN for zero columns."""
        return np.sqrt(self.misfits / np.where(self.squares > 0, self.squares, np.nan))


class Weights:
    """Weights of sets of anchors that change one at a time.

    The weights of anchors W are a function of WᵀW and WᵀM. A row of WᵀM belongs to one anchor and costs
    O(mn); it is kept, so that after a change only that of the new anchor is computed. Then follow rounds of
    pivoting of O(nr²), as in `nnls`.
    """

    def __init__(self, matrix: InMemory) -> None:
        self.matrix = matrix
        self.products: dict[int, Floats] = {}

    def of(self, anchors: Mapping[int, Floats]) -> Explained:
        """Return how anchors, column indices with their entries, explain all columns of the matrix."""
        W = np.stack(list(anchors.values()), axis=1)
        B = np.stack([self.product(column, entries) for column, entries in anchors.items()], axis=1)
        squares = self.matrix.squares
        if len(anchors) <= BITS and condition(W) <= CONDITION:
            H, unfinished = weights_from_products(W.T @ W, B, squares)
            if unfinished.size:
                H[unfinished] = nnls(W, self.matrix.part(unfinished)).T
        else:
            H = nnls(W, self.matrix).T
        misfits = np.maximum(squares - np.einsum("ij,ij->i", H, B), 0.0)
        return Explained(np.ascontiguousarray(H.T), misfits, squares)

    def product(self, column: int, entries: Floats) -> Floats:
        """Return the inner products of all columns with one anchor."""
        found = self.products.pop(column, None)
        if found is None:
            found = self.matrix.inner(entries)
        self.products[column] = found  # the last of the dictionary, whose first is the oldest
        if len(self.products) > KEPT:
            del self.products[next(iter(self.products))]
        return found


def condition(W: Floats) -> float:
    """Return the condition number of W with columns of length one; infinite if one is zero."""
    lengths = np.linalg.norm(W, axis=0)
    return float(np.linalg.cond(W / lengths)) if lengths.all() and W.shape[1] <= len(W) else float("inf")
