"""A sparse matrix in memory."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from sepnmf._typing import Floats, Ints
from sepnmf.matrix._dense import Dense, randomized_coordinates, with_fixed_signs
from sepnmf.matrix._lanczos import leading_eigenvectors

# With a larger share of nonzeros, a matrix of less than 1 GB is decomposed faster as a dense one.
DENSE_SHARE, DENSE_SIZE = 0.02, 125_000_000
DENSE_WORK = 2**27  # multiplications of a decomposition that takes less than 0.1 s as a dense one
# With a larger share of nonzeros, products of columns take less time in a dense copy, of 200 MB at most.
CROWDED, COPIED = 0.1, 25_000_000


@dataclass(frozen=True, eq=False)
class Sparse(Dense):
    """A sparse matrix: `array` is a SciPy array in canonical CSC form. It is never made dense as a whole."""

    kind = "sparse"
    cheap_products = True

    @property
    def values(self) -> Any:
        return self.array.data

    @cached_property
    def squares(self) -> Floats:
        return self.column_sums(np.square(self.array.data, dtype=np.float64))

    @cached_property
    def l1_norms(self) -> Floats:
        return self.column_sums(np.abs(self.array.data))

    def measures(self) -> tuple[Floats, bool]:
        return self.squares, True

    def column_sums(self, values: Floats) -> Floats:
        """Return the sums over the columns of `values`, one for each stored entry."""
        starts = self.array.indptr
        sums = np.zeros(self.shape[1])
        filled = np.flatnonzero(np.diff(starts))  # reduceat would give an empty column its neighbour's entry
        if filled.size:
            sums[filled] = np.add.reduceat(values, starts[filled], dtype=np.float64)
        return sums

    def largest_entries(self) -> Floats:
        high, low = self.array.max(axis=0).toarray(), self.array.min(axis=0).toarray()
        return np.asarray(np.maximum(high, -low).ravel())

    def with_values(self, change: Callable[[Any], Any]) -> "Sparse":
        A = self.array
        return replace(self, array=sparse.csc_array((change(A.data), A.indices, A.indptr), shape=self.shape))

    def divided(self, by: Floats) -> "Sparse":
        with np.errstate(over="ignore", divide="ignore"):
            inverse = 1 / np.asarray(by)
        if np.isfinite(inverse).all() and inverse.min() >= np.finfo(inverse.dtype).tiny:
            return self.with_values(lambda values: values * self.by_entry(inverse))
        return self.with_values(lambda values: values / self.by_entry(np.asarray(by)))

    def with_column_exponents(self, powers: Ints) -> "Sparse":
        return self.with_values(lambda values: np.ldexp(values, self.by_entry(powers)))

    def by_entry(self, numbers: Any) -> Any:
        """Return a number for each stored entry, from one for each column, or one for all."""
        return numbers if numbers.ndim == 0 else np.repeat(numbers, np.diff(self.array.indptr))

    def entries_where(self, wrong: Callable[[Any], Any]) -> Ints:
        entries = self.array.tocoo()
        found = np.flatnonzero(wrong(entries.data))
        return np.stack([entries.row[found], entries.col[found]], axis=1)

    def take(self, columns: Ints | slice) -> Floats:
        return np.asarray(self.array[:, columns].toarray(), dtype=np.float64)

    def toarray(self) -> Floats:
        return np.asarray(self.array.toarray())

    def dense(self) -> Floats:
        """Refuse: whoever wants a dense array of this size has to make it."""
        raise ValueError("M is sparse, and this needs a dense array: pass M.toarray().")

    def times(self, U: Floats) -> Floats:
        return np.asarray((self.array.T @ U).T)

    def inner(self, other: Floats | Dense) -> Floats:
        if isinstance(other, Sparse):
            return np.asarray((self.array.T @ other.array).toarray())
        return np.asarray(self.array.T @ other)

    def for_products(self) -> Dense:
        m, n = self.shape
        is_crowded = self.array.nnz > CROWDED * m * n and m * n <= COPIED
        return Dense(self.take(slice(None))) if is_crowded else self

    def gram(self) -> Floats:
        return np.asarray((self.array @ self.array.T).toarray())

    def smaller_gram(self) -> Floats:
        m, n = self.shape
        wide = self.array.astype(np.float64)
        return np.asarray((wide @ wide.T if m <= n else wide.T @ wide).toarray())

    def column_products(self) -> Floats:
        return np.asarray((self.array.T @ self.array).toarray())

    def span_coordinates(self, columns: Ints, negligible: float) -> Floats:
        W = self.part(columns)
        # From inner products with the columns, for an orthonormal basis would be dense.
        values, vectors = np.linalg.eigh(W.inner(W))
        kept = values > negligible * values[-1]
        return np.asarray((vectors[:, kept].T @ W.inner(self)) / np.sqrt(values[kept, None]))

    def leading_left(self, k: int, centre: Floats | None = None) -> tuple[Floats, Floats]:
        m, n = self.shape
        if k == min(m, n) or m * n * min(m, n) <= DENSE_WORK:
            return super().leading_left(k, centre)
        A = self.array.astype(np.float64)
        middle = np.zeros(m) if centre is None else centre

        def product(X: Floats) -> Floats:
            return np.asarray(A @ X - np.multiply.outer(middle, X.sum(axis=0)))

        def transposed_product(Y: Floats) -> Floats:
            return np.asarray(A.T @ Y - middle @ Y)

        if m <= n:
            U = leading_eigenvectors(lambda x: product(transposed_product(x)), m, k)
        else:
            U = np.linalg.qr(product(leading_eigenvectors(lambda x: transposed_product(product(x)), n, k)))[0]
        # Products of products have lost the digits of small singular values; those of UᵀM have not.
        R = np.asarray(np.linalg.qr(transposed_product(U), mode="r"))
        turned, sigma, _ = np.linalg.svd(R.T)
        return with_fixed_signs(U @ turned), sigma

    def leading_coordinates(self, rows: int, rng: np.random.Generator) -> Floats:
        m, n = self.shape
        crowded = self.array.nnz > DENSE_SHARE * m * n and m * n <= DENSE_SIZE
        short = min(m, n) <= rows
        array = self.take(slice(None)) if short or crowded else self.array
        return np.asarray(array) if short else randomized_coordinates(array, rows, rng)

    def extent(self) -> tuple[float, float, int]:
        size, values = self.shape[0] * self.shape[1], self.array.data
        zeros = size - int(np.count_nonzero(values))
        outside = {"initial": 0} if values.size < size else {}
        return float(values.min(**outside)), float(values.max(**outside)), zeros


def as_in_memory(chunk: Any) -> Dense:
    """Return a chunk of a Dask array as a matrix."""
    return Dense(chunk) if isinstance(chunk, np.ndarray) else Sparse(sparse.csc_array(chunk))
