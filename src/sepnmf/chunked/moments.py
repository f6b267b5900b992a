"""Principal directions of columns in chunks: from products, from triangles, or from random mixtures."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepnmf.chunked.passes import Chunks, Inspection, Part, Reducer
from sepnmf.columns import Columns, dense_columns, is_sparse
from sepnmf.methods.subspace import with_fixed_signs
from sepnmf.typing import Floats
from sepnmf.validation import Negative

LONG = 4000  # rows; beyond, m × m products are too many
FAINT = 1e-10  # of the largest eigenvalue; below, products have lost the digits of a singular value
OVERSAMPLED, POWERS = 10, 2  # random mixtures beyond those asked for, and passes that sharpen them
BLOCK = 1024  # columns whose random numbers are drawn together, whatever the chunks


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the nonzero columns: their number, they themselves, and their products MMᵀ."""

    count: int
    total: Floats
    gram: Floats


class Moments(Reducer[Sums]):
    """Adds up the columns and their products."""

    def of_part(self, part: Part) -> Sums:
        """The sums of a part."""
        columns = part.columns
        gram = columns @ columns.T
        return Sums(
            int(np.count_nonzero(part.squares)),
            np.asarray(columns.sum(axis=1)).ravel(),
            gram.toarray() if is_sparse(gram) else gram,
        )

    def join(self, a: Sums, b: Sums) -> Sums:
        """The sums of both."""
        return Sums(a.count + b.count, a.total + b.total, a.gram + b.gram)


class Triangle(Reducer[Floats]):
    """The triangular factor of [1, Mᵀ], with a row for each nonzero column.

    Its first row has √n and √n times the mean; what is below is the factor of the centred columns. No
    product is formed, so that singular values keep their digits.
    """

    def of_part(self, part: Part) -> Floats:
        """The triangle of a part."""
        rows = dense_columns(part.columns, slice(None)).T
        return triangle(np.column_stack([part.squares > 0, rows]))

    def join(self, a: Floats, b: Floats) -> Floats:
        """The triangle of both."""
        return triangle(np.vstack([a, b]))


def triangle(A: Floats) -> Floats:
    """R of A = QR."""
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
        """From sums of products."""
        centre = sums.total / max(sums.count, 1)
        plain, centred = (
            eigenvectors(gram) for gram in (sums.gram, sums.gram - sums.count * np.outer(centre, centre))
        )
        return cls(sums.count, float(np.trace(sums.gram)), centre, *plain, *centred)

    @classmethod
    def of_triangle(cls, R: Floats) -> "Spectrum":
        """From a triangle."""
        root = float(R[0, 0])
        factors = []
        for factor in (R[:, 1:], R[1:, 1:]):
            U, sigma, _ = np.linalg.svd(factor.T, full_matrices=False)
            factors += [with_fixed_signs(U), sigma]
        energy = float(np.square(R[:, 1:]).sum())
        return cls(round(root**2), energy, R[0, 1:] / root, *factors)

    def is_sharp(self, k: int) -> bool:
        """Whether k singular values, and k − 1 of the centred columns, are not lost in sums of products."""
        last = [*self.sigma[k - 1 : k], *(self.centred_sigma[k - 2 : k - 1] if k > 1 else ())]
        return len(last) == min(k, 2) and bool(min(last) ** 2 > FAINT * self.sigma[0] ** 2)

    def in_space(self, Q: Floats, count: int, energy: float) -> "Spectrum":
        """That of longer columns whose coordinates along the columns of Q this is of."""
        centre = Q @ self.centre * (self.count / count)
        return Spectrum(
            count, energy, centre, Q @ self.vectors, self.sigma, Q @ self.centred_vectors, self.centred_sigma
        )


def eigenvectors(gram: Floats) -> tuple[Floats, Floats]:
    """Vectors, and roots of the values, largest first."""
    values, vectors = np.linalg.eigh(gram)
    return with_fixed_signs(vectors[:, ::-1]), np.sqrt(np.maximum(values[::-1], 0.0))


def spectrum(chunks: Chunks, k: int, negative: Negative) -> tuple[Chunks, Spectrum]:
    """The k leading directions of the columns, and those of the centred ones; entries are checked.

    One pass; another if singular values are too small for products. Four, and random mixtures of the columns
    instead of products, if these have more than four thousand rows: the directions are then those of M seen
    through k + 10 mixtures of its columns, sharpened twice.
    """
    if chunks.shape[0] > LONG:
        return through_mixtures(chunks, k, negative)
    entries, sums = chunks.scan(Inspection(), Moments())
    chunks, scale = entries.checked(chunks, negative)
    if scale == 1.0:
        found = Spectrum.of_sums(sums)
        if found.is_sharp(k):
            return chunks, found
    return chunks, Spectrum.of_triangle(chunks.scan(Triangle())[0])


# Long columns ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mixtures(Reducer[Floats]):
    """Random mixtures of all columns, the same whatever the chunks."""

    count: int

    def of_part(self, part: Part) -> Floats:
        """What a part adds to them."""
        n = part.columns.shape[1]
        first, last = part.start // BLOCK, (part.start + n - 1) // BLOCK
        draws = [
            np.random.default_rng([block, self.count]).standard_normal((BLOCK, self.count))
            for block in range(first, last + 1)
        ]
        begin = part.start - first * BLOCK
        return np.asarray(part.columns @ np.vstack(draws)[begin : begin + n])

    def join(self, a: Floats, b: Floats) -> Floats:
        """The mixtures of both."""
        return a + b


@dataclass(frozen=True, eq=False)
class Sharpened(Reducer[Floats]):
    """MMᵀQ."""

    Q: Floats

    def of_part(self, part: Part) -> Floats:
        """What a part adds."""
        return np.asarray(part.columns @ part.times(self.Q).T)

    def join(self, a: Floats, b: Floats) -> Floats:
        """That of both."""
        return a + b


@dataclass(frozen=True, eq=False)
class Compressed:
    """Columns as their coordinates along the columns of Q."""

    Q: Floats

    def __call__(self, columns: Columns) -> Floats:
        """The coordinates."""
        product = (columns.T @ self.Q).T if is_sparse(columns) else self.Q.T @ columns
        return np.ascontiguousarray(product)


def through_mixtures(chunks: Chunks, k: int, negative: Negative) -> tuple[Chunks, Spectrum]:
    """The leading directions of long columns by randomised range finding."""
    count = min(k + OVERSAMPLED, *chunks.shape)
    entries, Y = chunks.scan(Inspection(), Mixtures(count))
    chunks, scale = entries.checked(chunks, negative)
    Q: Any = np.linalg.qr(Y / scale)[0]
    for _ in range(POWERS):
        Q = np.linalg.qr(chunks.scan(Sharpened(Q))[0])[0]
    (sums,) = chunks.changed(Compressed(Q)).scan(Moments())
    return chunks, Spectrum.of_sums(sums).in_space(Q, entries.n_nonzero, entries.energy / scale**2)
