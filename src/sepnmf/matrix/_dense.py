"""A dense matrix in memory."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sepnmf._kernels import distances
from sepnmf._typing import Floats, Ints
from sepnmf.matrix._in_memory import InMemory, column_blocks


@dataclass(frozen=True, eq=False)
class Dense(InMemory):
    """A dense matrix: `array` is an ndarray."""

    kind = "dense"
    cheap_products = False

    @property
    def values(self) -> Any:
        """All entries."""
        return self.array

    @cached_property
    def squares(self) -> Floats:
        """Squared Euclidean norms of the columns, in float64."""
        squares: Floats = np.einsum("ij,ij->j", self.array, self.array, dtype=np.float64)
        return squares

    @cached_property
    def l1_norms(self) -> Floats:
        """Sums of the absolute values of the columns, in float64."""
        sums = np.empty(self.shape[1])
        for block in column_blocks(*self.shape):
            np.abs(self.array[:, block]).sum(axis=0, dtype=np.float64, out=sums[block])
        return sums

    def measures(self) -> tuple[Floats, bool]:
        """Return the squared norms of the columns, and whether an entry may be negative."""
        if self.dtype != np.float64 or self.array.strides[1] != self.array.itemsize:
            return self.squares, True
        squares = np.empty(self.shape[1])
        return squares, distances.squared_lengths(self.array, self.array.view(np.int64), squares)

    def largest_entries(self) -> Floats:
        """Return the largest absolute value of each column."""
        return np.asarray(np.maximum(self.array.max(axis=0), -self.array.min(axis=0)))

    def with_values(self, change: Callable[[Any], Any]) -> "Dense":
        """Return the matrix with its entries changed."""
        return replace(self, array=change(self.array))

    def divided(self, by: Floats) -> "Dense":
        """Return the matrix with each column divided by a number."""
        return replace(self, array=self.array / by)

    def positions(self, wrong: Callable[[Any], Any]) -> Ints:
        """Return rows and columns of the entries that are `wrong`."""
        return np.argwhere(wrong(self.array))

    def take(self, columns: Ints | slice) -> Floats:
        """Return these columns in float64."""
        return np.asarray(self.array[:, columns], dtype=np.float64)

    def toarray(self) -> Floats:
        """Return the array itself."""
        return np.asarray(self.array)

    def dense(self) -> Floats:
        """Return the array itself."""
        return self.toarray()

    def times(self, U: Floats) -> Floats:
        """Return UᵀM."""
        return np.asarray(U.T @ self.array)

    def inner(self, other: Floats | InMemory) -> Floats:
        """Return MᵀA."""
        return np.asarray(self.array.T @ (other.array if isinstance(other, Dense) else other))

    def applied_to(self, B: Floats) -> Floats:
        """Return MB."""
        return np.asarray(self.array @ B)

    def gram(self) -> Floats:
        """Return MMᵀ."""
        return np.asarray(self.array @ self.array.T)

    def smaller_gram(self) -> Floats:
        """Return MMᵀ or MᵀM, whichever is smaller, in float64."""
        m, n = self.shape
        gram = np.zeros((min(m, n), min(m, n)))
        for block in column_blocks(min(m, n), max(m, n)):
            part = np.asarray(self.array[:, block] if m <= n else self.array[block].T, np.float64)
            gram += part @ part.T
        return gram

    def outside_span(self, columns: Ints, negligible: float) -> Floats:
        """Return what the squared norm of each column has outside the span of some of them."""
        if len(columns) == 0:
            return self.squares.copy()
        Q = np.linalg.qr(self.array[:, columns])[0]
        rest: Floats = self.squares - np.square(Q.T @ self.array).sum(axis=0)
        rest[rest <= negligible * self.squares] = 0.0
        return rest

    def leading_coordinates(self, rows: int, rng: np.random.Generator) -> Floats:
        """Return coordinates along `rows` left singular vectors; of shorter columns, the columns."""
        if min(self.shape) <= 2 * rows:
            return np.asarray(self.array)
        return randomized_coordinates(self.array, rows, rng)

    def extent(self) -> tuple[float, float, int]:
        """Return the smallest and the largest entry, and the number of zeros."""
        zeros = self.array.size - int(np.count_nonzero(self.array))
        return float(self.array.min()), float(self.array.max()), zeros


def randomized_coordinates(array: Any, rows: int, rng: np.random.Generator) -> Floats:
    """Return coordinates along the leading left singular vectors, by a randomised decomposition.

    What is orthogonal to all of these is lost; it is nearly the same whatever the anchors are.
    """
    from sklearn.utils.extmath import randomized_svd

    _, s, Vt = randomized_svd(array, rows, n_iter=4, random_state=int(rng.integers(2**31)))
    coordinates: Floats = s[:, None] * Vt
    return coordinates
