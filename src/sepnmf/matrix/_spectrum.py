"""Principal directions of columns in chunks: from products, from triangular factors, or from sketches."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepnmf._typing import Floats
from sepnmf.matrix._dense import with_fixed_signs
from sepnmf.matrix._passes import Part, Reducer

if TYPE_CHECKING:
    from sepnmf.matrix._chunked import Chunked
    from sepnmf.matrix._dense import InMemory

LONG = 4000  # rows; beyond, m × m products are too many
FAINT = 1e-10  # of the largest eigenvalue; below, products have lost the digits of a singular value
OVERSAMPLING, POWER_ITERATIONS = 10, 2  # of the randomised range finder
BLOCK = 1024  # columns whose random numbers are drawn together, whatever the chunks


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the nonzero columns: their number, they themselves, and their products MMᵀ."""

    count: int
    total: Floats
    gram: Floats

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.count + other.count, self.total + other.total, self.gram + other.gram)


class Moments(Reducer[Sums]):
    """Adds up the columns and their products."""

    def of_part(self, part: Part) -> Sums:
        columns = part.columns
        return Sums(int(np.count_nonzero(part.is_nonzero)), columns.total_column(), columns.gram())


class Triangle(Reducer[Floats]):
    """Computes the triangular factor of [1, Mᵀ], with a row for each nonzero column.

    Its first row has √n and √n times the mean; what is below is the factor of the centred columns. No
    product is formed, so that singular values keep their digits.
    """

    def of_part(self, part: Part) -> Floats:
        rows = part.columns.take(slice(None)).T
        return triangle(np.column_stack([part.is_nonzero, rows]))

    def join(self, a: Floats, b: Floats) -> Floats:
        return triangle(np.vstack([a, b]))


def triangle(A: Floats) -> Floats:
    """Return R of A = QR."""
    return np.asarray(np.linalg.qr(A, mode="r"))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Left singular vectors and values of the nonzero columns and of the centred ones, and their mean.

    `energy` is ‖M‖²_F, more than the sum of the squared singular values where only the leading are known.
    """

    count: int
    energy: float
    centre: Floats
    vectors: Floats
    sigma: Floats
    centred_vectors: Floats
    centred_sigma: Floats

    @classmethod
    def of_sums(cls, sums: Sums) -> "Spectrum":
        """Return the spectrum from sums of products."""
        centre = sums.total / max(sums.count, 1)
        plain, centred = (
            eigenvectors(gram) for gram in (sums.gram, sums.gram - sums.count * np.outer(centre, centre))
        )
        return cls(sums.count, float(np.trace(sums.gram)), centre, *plain, *centred)

    @classmethod
    def of_triangle(cls, R: Floats) -> "Spectrum":
        """Return the spectrum from a triangular factor."""
        root = float(R[0, 0])
        factors = []
        for factor in (R[:, 1:], R[1:, 1:]):
            U, sigma, _ = np.linalg.svd(factor.T, full_matrices=False)
            factors += [with_fixed_signs(U), sigma]
        energy = float(np.square(R[:, 1:]).sum())
        return cls(round(root**2), energy, R[0, 1:] / root, *factors)

    def is_sharp(self, k: int) -> bool:
        """Return whether sums of products keep k singular values, and k − 1 of the centred columns."""
        last = [*self.sigma[k - 1 : k], *(self.centred_sigma[k - 2 : k - 1] if k > 1 else ())]
        return len(last) == min(k, 2) and bool(min(last) ** 2 > FAINT * self.sigma[0] ** 2)

    def in_space(self, Q: Floats, count: int, energy: float) -> "Spectrum":
        """Return the spectrum of the columns Qx, where this is the spectrum of the columns x."""
        centre = Q @ self.centre * (self.count / count)
        return Spectrum(
            count, energy, centre, Q @ self.vectors, self.sigma, Q @ self.centred_vectors, self.centred_sigma
        )


def eigenvectors(gram: Floats) -> tuple[Floats, Floats]:
    """Return eigenvectors, and the roots of the eigenvalues, largest first."""
    values, vectors = np.linalg.eigh(gram)
    return with_fixed_signs(vectors[:, ::-1]), np.sqrt(np.maximum(values[::-1], 0.0))


def leading_spectrum(matrix: "Chunked", k: int) -> "tuple[Chunked, Spectrum]":
    """Return the checked matrix, and the k leading directions of its columns and of the centred ones.

    One pass; another if singular values are too small for products. For columns of more than four thousand
    rows, four passes of a randomised range finder with k + 10 random combinations of the columns and two
    power iterations: the directions are then approximate.
    """
    if matrix.shape[0] > LONG:
        return sketched_spectrum(matrix, k)
    matrix, results = matrix.checked_scan(Moments())
    if results is not None:
        found = Spectrum.of_sums(results[0])
        if found.is_sharp(k):
            return matrix, found
    return matrix, Spectrum.of_triangle(matrix.scan(Triangle())[0])


# Long columns ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sketch(Reducer[Floats]):
    """Random combinations of all columns, the same whatever the chunks."""

    count: int

    def of_part(self, part: Part) -> Floats:
        n = part.columns.shape[1]
        first, last = part.start // BLOCK, (part.start + n - 1) // BLOCK
        draws = [
            np.random.default_rng([block, self.count]).standard_normal((BLOCK, self.count))
            for block in range(first, last + 1)
        ]
        begin = part.start - first * BLOCK
        return part.columns.applied_to(np.vstack(draws)[begin : begin + n])


@dataclass(frozen=True, eq=False)
class PowerIteration(Reducer[Floats]):
    """MMᵀQ."""

    Q: Floats

    def of_part(self, part: Part) -> Floats:
        return part.columns.applied_to(part.times(self.Q).T)


@dataclass(frozen=True, eq=False)
class Compressed:
    """Columns as their coordinates along the columns of Q."""

    Q: Floats

    def __call__(self, columns: "InMemory") -> "InMemory":
        """Return the coordinates."""
        from sepnmf.matrix._dense import Dense

        return Dense(np.ascontiguousarray(columns.times(self.Q)))


def sketched_spectrum(matrix: "Chunked", k: int) -> "tuple[Chunked, Spectrum]":
    """Return the leading directions of long columns, by randomised range finding."""
    sketch = Sketch(min(k + OVERSAMPLING, *matrix.shape))
    matrix, results = matrix.checked_scan(sketch)
    Y = results[0] if results is not None else matrix.scan(sketch)[0]
    Q: Any = np.linalg.qr(Y)[0]
    for _ in range(POWER_ITERATIONS):
        Q = np.linalg.qr(matrix.scan(PowerIteration(Q))[0])[0]
    sums, entries = matrix.changed(Compressed(Q)).scan(Moments())[0], matrix.entries
    assert entries is not None  # a checked scan has looked at them
    return matrix, Spectrum.of_sums(sums).in_space(Q, entries.n_nonzero, entries.energy / matrix.scale**2)
