"""What dense and sparse matrices in memory have in common."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from sepnmf._typing import Floats, Ints, Seed
from sepnmf.matrix._matrix import Matrix
from sepnmf.matrix._passes import Block, join_chunks, scan_block

BLOCK = 2**16  # entries of a dense block, if no row or column is longer
POWERS = {"l1": 1.0, "sqrt": 0.5}  # of the l1 norms that columns are divided by


def column_blocks(height: int, n: int) -> Iterator[slice]:
    """Return slices of 0 … n, of as many columns of this height as make a small dense array."""
    width = max(max(BLOCK, n) // height, 1)
    return (slice(start, min(start + width, n)) for start in range(0, n, width))


def with_fixed_signs(U: Floats) -> Floats:
    """Return the columns of U with the signs that make their largest entries by absolute value positive."""
    largest = U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])]
    return np.where(largest < 0, -U, U)


@dataclass(frozen=True, eq=False)
class InMemory(Matrix):
    """A matrix in memory. Its array is used as it is, and never changed or copied without need.

    Attributes
    ----------
    array : ndarray or CSC array of shape (m, n)
        The entries.
    """

    array: Any
    scale: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        m, n = self.array.shape
        return int(m), int(n)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the entries."""
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    @abstractmethod
    def values(self) -> Any:
        """The entries that are stored, as an array."""

    @property
    @abstractmethod
    def cheap_products(self) -> bool:
        """Whether inner products of columns cost less than those of a few hundred dense coordinates."""

    @cached_property
    @abstractmethod
    def squares(self) -> Floats:
        """Squared Euclidean norms of the columns, in float64."""

    @cached_property
    @abstractmethod
    def l1_norms(self) -> Floats:
        """Sums of the absolute values of the columns, in float64."""

    @abstractmethod
    def largest_entries(self) -> Floats:
        """Return the largest absolute value of each column."""

    def in_floats(self, dtype: np.dtype[Any]) -> Self:
        """Return the matrix in a floating-point type."""
        return self if self.dtype == dtype else self.with_values(lambda values: values.astype(dtype))

    def measures(self) -> tuple[Floats, bool]:
        """Return the squared norms of the columns, and whether an entry may be negative."""
        return self.squares, True

    @abstractmethod
    def with_values(self, change: Callable[[Any], Any]) -> Self:
        """Return the matrix with its stored entries changed."""

    @abstractmethod
    def divided(self, by: Floats) -> Self:
        """Return the matrix divided by a number, or each column by one of n numbers."""

    @abstractmethod
    def positions(self, wrong: Callable[[Any], Any]) -> Ints:
        """Return rows and columns of the stored entries that are `wrong`."""

    @abstractmethod
    def take(self, columns: Ints | slice) -> Floats:
        """Return these columns as a dense array in float64."""

    @abstractmethod
    def times(self, U: Floats) -> Floats:
        """Return UᵀM; U is a matrix or a vector."""

    @abstractmethod
    def inner(self, other: "Floats | InMemory") -> Floats:
        """Return MᵀA as a dense array, for an array or a matrix of the same kind."""

    @abstractmethod
    def applied_to(self, B: Floats) -> Floats:
        """Return MB for a dense B."""

    @abstractmethod
    def gram(self) -> Floats:
        """Return MMᵀ, dense."""

    @abstractmethod
    def smaller_gram(self) -> Floats:
        """Return MMᵀ or MᵀM, whichever is smaller, dense and in float64."""

    @abstractmethod
    def outside_span(self, columns: Ints, negligible: float) -> Floats:
        """Return what the squared norm of each column has outside the span of some of them.

        It is 0 where it is less than a `negligible` part of the squared norm, which is rounding error.
        """

    @abstractmethod
    def leading_coordinates(self, rows: int, rng: np.random.Generator) -> Floats:
        """Return coordinates of the columns along at least `rows` leading left singular vectors, dense."""

    def part(self, columns: Ints | slice) -> Self:
        """Return the matrix of these columns."""
        return replace(self, array=self.array[:, columns])

    def without_scale(self) -> Self:
        """Return the matrix with scale 1, where it does not matter what the entries were divided by."""
        return replace(self, scale=1.0)

    def in_range(self) -> Self:
        """Return the matrix, divided by a power of two if squares could leave the floating-point range."""
        with np.errstate(over="ignore", under="ignore"):
            squares = self.squares
        limit = float(np.finfo(self.dtype).max) ** 0.4
        if 1 / limit <= np.sqrt(squares.max()) <= limit or not np.count_nonzero(self.values):
            return self
        exponent = int(np.floor(np.log2(float(np.abs(self.values).max()))))
        return self.divided_by_power_of_two(exponent)

    def divided_by_power_of_two(self, exponent: int) -> Self:
        """Return the matrix divided by a power of two, which is noted in its scale."""
        scaled = self.with_values(lambda values: np.ldexp(values, -exponent))
        return replace(scaled, scale=self.scale * 2.0**exponent)

    def clipped(self) -> Self:
        """Return the matrix with negative entries set to zero; −∞ stays, to be refused."""

        def clip(values: Any) -> Any:
            kept = np.maximum(values, 0)
            if values.size and values.min() == -np.inf:
                kept[values == -np.inf] = -np.inf
            return kept

        return self.with_values(clip)

    def normalised(self, kind: str) -> "Self":
        """Return the matrix with columns divided by their l1 norms, or by the roots of these."""
        if kind == "none":
            return self
        sums = self.l1_norms
        return self.divided(np.where(sums > 0, sums, 1.0) ** POWERS[kind]).without_scale()

    def total_column(self) -> Floats:
        """Return the sum of the columns."""
        return np.asarray(self.array.sum(axis=1)).ravel()

    def mean_column(self) -> Floats:
        """Return the mean of the columns, in float64."""
        return np.asarray(self.array.mean(axis=1, dtype=np.float64)).ravel()

    def mean_row(self) -> Floats:
        """Return the mean of every column."""
        return np.asarray(self.array.mean(axis=0)).ravel()

    def leading_left(self, k: int, centre: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the k leading left singular vectors and values of M, or of M − centre·1ᵀ.

        Signs are fixed (`with_fixed_signs`), and so do not change when the columns of M are permuted.
        """
        A = self.toarray()
        A = A if centre is None else A - centre[:, None].astype(A.dtype)
        # A = RᵀQᵀ has the left singular vectors and the singular values of the smaller Rᵀ.
        R = np.asarray(np.linalg.qr(A.T, mode="r"))
        U, sigma, _ = np.linalg.svd(R.T, full_matrices=False)
        return with_fixed_signs(U[:, :k]).astype(np.float64), sigma[:k].astype(np.float64)

    @abstractmethod
    def toarray(self) -> Floats:
        """Return all entries as a dense array, in their own type."""

    def in_memory(self) -> Self:
        """Return the matrix itself."""
        return self

    def sampled(self, random_state: Seed) -> Self:
        """Return the matrix itself: all of its columns are in memory."""
        return self

    def map_columns(self, function: "Callable[[InMemory, int], Floats]", rows: int, dtype: Any) -> Floats:
        """Apply a function from columns, and the index of the first, to all columns."""
        return function(self, 0)

    def scan(self, *reducers: Any) -> tuple[Any, ...]:
        """Pass all columns to the reducers, a few at a time."""
        return join_chunks(reducers, [scan_block(Block(0, self), reducers)])

    def checked_scan(self, *reducers: Any) -> tuple[Self, tuple[Any, ...] | None]:
        """Pass all columns to the reducers, unless their squares leave the floating-point range."""
        scaled = self.in_range()
        return scaled, self.scan(*reducers) if scaled is self else None
