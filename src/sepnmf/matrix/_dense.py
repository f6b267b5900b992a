"""A dense matrix in memory, and what it shares with a sparse one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np

from sepnmf._typing import Floats, Ints, Seed
from sepnmf.matrix._columns import Columns
from sepnmf.matrix._matrix import Matrix
from sepnmf.matrix._passes import Block, scan_block

BLOCK = 2**16  # entries of a dense block, if no row or column is longer
FACTORED = 4_000_000  # entries of a block of columns that is factored at a time
POWERS = {"l1": 1.0, "sqrt": 0.5}  # of the l1 norms that columns are divided by


def column_blocks(height: int, n: int) -> Iterator[slice]:
    """Return slices of 0 … n, of as many columns of this height as make a small dense array."""
    width = max(max(BLOCK, n) // height, 1)
    return (slice(start, min(start + width, n)) for start in range(0, n, width))


def with_fixed_signs(U: Floats) -> Floats:
    """Return the columns of U with the signs that make their largest entries by absolute value positive."""
    largest = U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])]
    return np.where(largest < 0, -U, U)


def triangular_factor(A: Floats, centre: Floats | None) -> Floats:
    """Return R of RᵀQᵀ, which is A or A − centre·1ᵀ; many columns are not copied at once, but in blocks."""
    m, n = A.shape
    width = max(FACTORED // m, 4 * m)
    R = None
    for start in range(0, n, width):
        part = A[:, start : start + width]
        part = part if centre is None else part - centre[:, None].astype(A.dtype)
        R = np.linalg.qr(part.T if R is None else np.vstack([R, part.T]), mode="r")
    return np.asarray(R)


def randomized_coordinates(array: Any, rows: int, rng: np.random.Generator) -> Floats:
    """Return coordinates along the leading left singular vectors, by a randomised decomposition.

    What is orthogonal to all of these is lost; it is nearly the same whatever the anchors are.
    """
    from sklearn.utils.extmath import randomized_svd

    _, s, Vt = randomized_svd(array, rows, n_iter=4, random_state=int(rng.integers(2**31)))
    coordinates: Floats = s[:, None] * Vt
    return coordinates


def longest_safe(dtype: np.dtype[Any]) -> float:
    """Return the length of columns up to which, and down to whose inverse, squares stay in the range."""
    return float(float(np.finfo(dtype).max) ** 0.4)


def exponents(sizes: Any) -> Ints:
    """Return the exponents e of the powers of two with 2^e ≤ size < 2^(e + 1); 0 for a zero."""
    return np.where(np.asarray(sizes) > 0, np.frexp(sizes)[1] - 1, 0).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Dense(Matrix):
    """A matrix in memory. Its array is used as it is, and never changed or copied without need.

    `Sparse` is a subclass that says what is different there.

    Attributes
    ----------
    array : ndarray of shape (m, n)
        The entries.
    """

    array: Any
    scale: float = 1.0
    columns: Columns | None = None
    kind = "dense"
    cheap_products = False  # whether products of columns cost less than those of some hundred coordinates

    @property
    def shape(self) -> tuple[int, int]:
        m, n = self.array.shape
        return int(m), int(n)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def height(self) -> int:
        """Number of rows of the data, which may be more than are in memory (`FewRows`)."""
        return self.shape[0]

    # Columns -----------------------------------------------------------------------------------------

    @property
    def values(self) -> Any:
        """The entries that are stored, as an array."""
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
        from sepnmf._kernels import distances  # here, so that reading files needs no Numba

        squares = np.empty(self.shape[1])
        return squares, distances.squared_lengths(self.array, self.array.view(np.int64), squares)

    def largest_entries(self) -> Floats:
        """Return the largest absolute value of each column."""
        return np.asarray(np.maximum(self.array.max(axis=0), -self.array.min(axis=0)))

    def entries_where(self, wrong: Callable[[Any], Any]) -> Ints:
        """Return rows and columns of the stored entries that are `wrong`."""
        return np.argwhere(wrong(self.array))

    def extent(self) -> tuple[float, float, int]:
        zeros = self.array.size - int(np.count_nonzero(self.array))
        return float(self.array.min()), float(self.array.max()), zeros

    def total_column(self) -> Floats:
        """Return the sum of the columns."""
        return np.asarray(self.array.sum(axis=1)).ravel()

    def mean_column(self) -> Floats:
        """Return the mean of the columns, in float64."""
        return np.asarray(self.array.mean(axis=1, dtype=np.float64)).ravel()

    def mean_row(self) -> Floats:
        return np.asarray(self.array.mean(axis=0)).ravel()

    def take(self, columns: Ints | slice) -> Floats:
        return np.asarray(self.array[:, columns], dtype=np.float64)

    def toarray(self) -> Floats:
        """Return all entries as a dense array, in their own type."""
        return np.asarray(self.array)

    def dense(self) -> Floats:
        return self.toarray()

    # Other matrices ----------------------------------------------------------------------------------

    def part(self, columns: Ints | slice) -> Self:
        return replace(self, array=self.array[:, columns], columns=None)

    def with_columns(self, columns: Columns | None) -> Self:
        return replace(self, columns=columns)

    def in_memory(self) -> Self:
        return self

    def sampled(self, random_state: Seed) -> Self:
        return self

    def with_values(self, change: Callable[[Any], Any]) -> Self:
        """Return the matrix with its stored entries changed."""
        return replace(self, array=change(self.array))

    def in_floats(self, dtype: np.dtype[Any]) -> Self:
        """Return the matrix in a floating-point type."""
        return self if self.dtype == dtype else self.with_values(lambda values: values.astype(dtype))

    def divided(self, by: Floats) -> Self:
        """Return the matrix divided by a number, or each column by one of n numbers."""
        return replace(self, array=self.array / by)

    def in_range(self, *, twice: bool = False) -> Self:
        """Return the matrix, divided by a power of two if squares could leave the floating-point range.

        With `twice`, also if squares of squares could.
        """
        with np.errstate(over="ignore", under="ignore"):
            squares = self.squares
        limit = longest_safe(self.dtype) ** (0.5 if twice else 1.0)
        if 1 / limit <= np.sqrt(squares.max()) <= limit or not np.count_nonzero(self.values):
            return self
        return self.divided_by_power_of_two(int(exponents(np.abs(self.values).max())))

    def columns_in_range(self) -> tuple[Self, Ints]:
        """Return the columns, each divided by a power of two if squares could leave the range; the exponents.

        All exponents are 0 where no column is too long or too short.
        """
        with np.errstate(over="ignore", under="ignore"):
            squares = self.squares
        limit = longest_safe(self.dtype) ** 2
        if 1 / limit <= squares.min() and squares.max() <= limit:
            return self, np.zeros(self.shape[1], dtype=np.intp)
        largest = self.largest_entries()
        powers = exponents(largest)
        safe = (squares >= 1 / limit) & (squares <= limit)
        if (safe | (largest == 0)).all():
            return self, np.zeros(self.shape[1], dtype=np.intp)
        return self.with_column_exponents(-powers), powers

    def with_column_exponents(self, powers: Ints) -> Self:
        """Return the matrix with each column multiplied with a power of two."""
        return replace(self, array=np.ldexp(self.array, powers))

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

    def normalised(self, kind: str) -> Self:
        if kind == "none":
            return self
        data, powers = self.columns_in_range()
        sums, power = data.l1_norms, POWERS[kind]
        by = np.where(sums > 0, sums, 1.0) ** power * np.exp2(powers * (power - 1.0))
        return replace(data.divided(by), scale=1.0)

    # Products ----------------------------------------------------------------------------------------

    def times(self, U: Floats) -> Floats:
        """Return UᵀM; U is a matrix or a vector."""
        return np.asarray(U.T @ self.array)

    def inner(self, other: "Floats | Dense") -> Floats:
        """Return MᵀA as a dense array, for an array or a matrix of the same kind."""
        return np.asarray(self.array.T @ (other.array if isinstance(other, Dense) else other))

    def for_products(self) -> "Dense":
        """Return the same columns, held in the way in which many products of them take the least time."""
        return self

    def applied_to(self, B: Floats) -> Floats:
        """Return MB for a dense B."""
        return np.asarray(self.array @ B)

    def gram(self) -> Floats:
        """Return MMᵀ, dense."""
        return np.asarray(self.array @ self.array.T)

    def smaller_gram(self) -> Floats:
        """Return MMᵀ or MᵀM, whichever is smaller, dense and in float64."""
        m, n = self.shape
        gram = np.zeros((min(m, n), min(m, n)))
        for block in column_blocks(min(m, n), max(m, n)):
            part = np.asarray(self.array[:, block] if m <= n else self.array[block].T, np.float64)
            gram += part @ part.T
        return gram

    def column_products(self) -> Floats:
        """Return MᵀM, dense."""
        return np.asarray(self.array.T @ self.array)

    def outside_span(self, columns: Ints, negligible: float) -> Floats:
        """Return what the squared norm of each column has outside the span of some of them.

        It is 0 where it is less than a `negligible` part of the squared norm, which is rounding error.
        """
        if len(columns) == 0:
            return self.squares.copy()
        rest = self.squares - np.square(self.span_coordinates(columns, negligible)).sum(axis=0)
        return np.where(rest <= negligible * self.squares, 0.0, rest)

    def span_coordinates(self, columns: Ints, negligible: float) -> Floats:
        """Return the coordinates of all columns in an orthonormal basis of some of them."""
        return np.asarray(np.linalg.qr(self.array[:, columns])[0].T @ self.array)

    def leading_left(self, k: int, centre: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the k leading left singular vectors and values of M, or of M − centre·1ᵀ.

        Signs are fixed (`with_fixed_signs`), and so do not change when the columns of M are permuted.
        """
        # RᵀQᵀ has the left singular vectors and the singular values of the smaller Rᵀ.
        R = triangular_factor(self.toarray(), centre)
        U, sigma, _ = np.linalg.svd(R.T, full_matrices=False)
        return with_fixed_signs(U[:, :k]).astype(np.float64), sigma[:k].astype(np.float64)

    def leading_coordinates(self, rows: int, rng: np.random.Generator) -> Floats:
        """Return coordinates along `rows` leading left singular vectors; of short columns, themselves."""
        short = min(self.shape) <= 2 * rows
        return self.toarray() if short else randomized_coordinates(self.array, rows, rng)

    # Passes ------------------------------------------------------------------------------------------

    def map_columns(self, function: Callable[["Dense", int], Floats], rows: int, dtype: Any) -> Floats:
        return self.spread(function(self, 0))

    def scan(self, *reducers: Any) -> tuple[Any, ...]:
        return scan_block(Block(0, self), reducers)

    def checked_scan(self, *reducers: Any) -> tuple[Self, tuple[Any, ...] | None]:
        scaled = self.in_range()
        return scaled, self.scan(*reducers) if scaled is self else None


InMemory: TypeAlias = Dense  # a matrix in memory, dense or sparse
