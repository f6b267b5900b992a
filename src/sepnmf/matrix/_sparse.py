"""A sparse matrix in memory."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from sepnmf._typing import Floats, Ints
from sepnmf.matrix._dense import Dense, randomized_coordinates, with_fixed_signs

# With a larger share of nonzeros, a matrix of less than 1 GB is decomposed faster as a dense one.
DENSE_SHARE, DENSE_SIZE = 0.02, 125_000_000


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
        if np.ndim(by) == 0:
            return replace(self, array=self.array / by)
        return replace(self, array=sparse.csc_array(self.array @ sparse.diags_array(1 / by)))

    def entries_where(self, wrong: Callable[[Any], Any]) -> Ints:
        entries = self.array.tocoo()
        found = np.flatnonzero(wrong(entries.data))
        return np.stack([entries.coords[0][found], entries.coords[1][found]], axis=1)

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
        from scipy.sparse.linalg import svds

        if k == min(self.shape):  # the answer is as large as M, so a dense copy costs nothing more
            return super().leading_left(k, centre)
        # ARPACK starts from this vector: a fixed one, so that the same M gives the same answer.
        v0 = np.random.default_rng(0).standard_normal(min(self.shape))
        U, sigma, _ = svds(self.array if centre is None else self.centred(centre), k, v0=v0)
        return with_fixed_signs(U[:, ::-1]).astype(np.float64), sigma[::-1].astype(np.float64)

    def centred(self, centre: Floats) -> Any:
        """Return M − centre·1ᵀ as an operator on vectors and matrices, for as an array it would be dense."""
        from scipy.sparse.linalg import LinearOperator

        A = self.array

        def product(x: Floats) -> Floats:
            return np.asarray(A @ x - np.multiply.outer(centre, x.sum(axis=0)))

        def transposed_product(y: Floats) -> Floats:
            return np.asarray(A.T @ y - centre @ y)

        return LinearOperator(
            A.shape,
            dtype=A.dtype,
            matvec=product,
            matmat=product,
            rmatvec=transposed_product,
            rmatmat=transposed_product,
        )

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
