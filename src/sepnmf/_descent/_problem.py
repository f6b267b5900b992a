"""The columns to choose among, and what is known about them before any anchor is chosen."""

from dataclasses import dataclass

import numpy as np

from sepnmf._descent._noise import noise_variance, squared_spectrum, white_rank
from sepnmf._descent._scaling import check_normalize, scaled
from sepnmf._typing import Floats, Ints
from sepnmf._validation import check_rank
from sepnmf.matrix import Dense, InMemory, column_blocks

SMALL = 1000  # columns; up to here every one is a candidate and is to be explained
SAMPLE = 2000  # columns that are to be explained, of more
POOL = 20_000  # columns that are candidates, of more: with SAMPLE, 320 MB of inner products
SKEWERS = 1000  # random lines along which extreme columns become candidates
ROWS = 200  # coordinates kept of columns more than twice as long
DARK = 1e-3  # of the median length; a column shorter than this has the direction of its noise


@dataclass(frozen=True, eq=False)
class Problem:
    """The columns to choose r anchors among, and what is known about them.

    `data` are the columns of M as scaled. X has the same columns, dense, or their leading coordinates.
    `choice` is X with dark columns (far shorter than the median) set to zero: they are no candidates.
    """

    data: InMemory
    X: Floats
    choice: Floats
    r: int
    noise: float | None  # variance of white noise; None if what r columns leave is misfit
    rng: np.random.Generator
    n_jobs: int | None

    @classmethod
    def prepare(
        cls, data: InMemory, r: int, normalize: str, rng: np.random.Generator, n_jobs: int | None
    ) -> "Problem":
        """Check r, scale the columns, test for noise, and take leading coordinates of long columns."""
        r = check_rank(r, data.shape[1])
        data = data.in_range()
        if not data.squares.any():
            raise ValueError("M is zero: there is no column to choose.")
        data = scaled(data, check_normalize(normalize))
        noise = white_noise(data, r)
        X = dense_coordinates(data, r, rng)
        return cls(data, X, without_dark_columns(X, r), r, noise, rng, n_jobs)

    @property
    def n(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def is_small(self) -> bool:
        """Whether the columns are so few that every one is a candidate and is to be explained."""
        return self.n <= SMALL

    def columns_and_candidates(self) -> tuple[InMemory, InMemory]:
        """The columns to explain and the candidates, without loss where the data are sparse."""
        return (self.data, self.data) if self.data.cheap_products else (Dense(self.X), Dense(self.choice))

    def leading_columns_and_candidates(self) -> tuple[InMemory, InMemory]:
        """The columns to explain and the candidates, in the r leading coordinates: with less noise."""
        U = leading_directions(self.X, self.r)
        return Dense(U.T @ self.X), Dense(U.T @ self.choice)

    def weighted_sample(self) -> tuple[Ints, Floats]:
        """Columns that represent all columns, with weights: the longest and a random sample of the others."""
        if self.n <= max(SMALL, SAMPLE):
            return np.arange(self.n), np.ones(self.n)
        order = np.argsort(-np.einsum("ij,ij->j", self.X, self.X), kind="stable")
        longest, others = order[: SAMPLE // 2], order[SAMPLE // 2 :]
        drawn = np.sort(self.rng.choice(others, SAMPLE // 2, replace=False))
        weights = np.repeat([1.0, len(others) / len(drawn)], [len(longest), len(drawn)])
        return np.concatenate([longest, drawn]), weights

    def candidates(self) -> Ints:
        """All columns that are not dark, or, of very many, the extreme ones."""
        bright = np.flatnonzero(self.choice.any(axis=0))
        return bright if len(bright) <= POOL else self.extreme_columns()

    def extreme_columns(self) -> Ints:
        """Columns that are extreme along random lines in the span of the r leading directions."""
        U = leading_directions(self.X, self.r)
        lines = self.rng.standard_normal((SKEWERS, self.r))
        best, which = np.full((2, SKEWERS), -np.inf), np.zeros((2, SKEWERS), np.intp)
        for block in column_blocks(SKEWERS, self.n):
            along = lines @ (U.T @ self.choice[:, block])
            for side, values in enumerate((along, -along)):
                top = values.argmax(axis=1)
                value = values[np.arange(SKEWERS), top]
                better = value > best[side]
                best[side, better], which[side, better] = value[better], top[better] + block.start
        return np.unique(which)


def white_noise(data: InMemory, r: int) -> float | None:
    """Variance of the noise behind the r-th singular value; None if that is not white, or not known."""
    m, n = data.height, data.shape[1]
    spectrum = squared_spectrum(data)
    if spectrum is None or white_rank(spectrum, m, n)[0] > r:
        return None
    return noise_variance(spectrum, m, n, r)


def dense_coordinates(data: InMemory, r: int, rng: np.random.Generator) -> Floats:
    """The columns, dense, in float64; of sparse data and of long columns, their leading coordinates."""
    return np.ascontiguousarray(data.leading_coordinates(max(ROWS, 2 * r), rng), dtype=np.float64)


def leading_directions(X: Floats, r: int) -> Floats:
    """The r leading left singular vectors."""
    gram = np.zeros((len(X), len(X)))
    for block in column_blocks(*X.shape):
        gram += X[:, block] @ X[:, block].T
    return np.ascontiguousarray(np.linalg.eigh(gram)[1][:, ::-1][:, :r])


def without_dark_columns(X: Floats, r: int) -> Floats:
    """X, or a copy in which dark columns are zero if there are any and r others are left."""
    lengths = np.sqrt(np.einsum("ij,ij->j", X, X))
    dark = lengths <= DARK * np.median(lengths[lengths > 0])
    if not dark.any() or X.shape[1] - dark.sum() < r:
        return X
    choice = X.copy()
    choice[:, dark] = 0.0
    return choice
