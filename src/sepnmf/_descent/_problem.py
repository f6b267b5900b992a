"""The columns to choose among, and what is known about them before any anchor is chosen."""

from dataclasses import dataclass, replace

import numpy as np

from sepnmf._descent._noise_models import ZEROS, check_noise
from sepnmf._descent._scaling import check_normalize, scaled
from sepnmf._descent._whitening import Noisy, measured_noise, with_white_noise
from sepnmf._typing import Floats, Ints
from sepnmf._validation import check_rank
from sepnmf.matrix import NONE_KNOWN, Dense, InMemory, Known, column_blocks

SMALL = 1000  # columns; up to here every one is a candidate and is to be explained
SAMPLE = 2000  # columns that are to be explained, of more
POOL = 20_000  # columns that are candidates, of more: with SAMPLE, 320 MB of inner products
SKEWERS = 1000  # random lines along which extreme columns become candidates
ROWS = 200  # coordinates kept of columns more than twice as long
DARK = 1e-3  # of the median length; a column shorter than this has the direction of its noise


@dataclass(frozen=True, eq=False)
class Problem:
    """The columns to choose r anchors among, and what is known about them.

    `data` are the columns of M as scaled, with white noise if they have noise. X has the same columns, dense,
    or their leading coordinates: as many as there are anchors if noise leaves these directions sharp.
    `choice` is X with dark columns (far shorter than the median) and excluded ones set to zero: they are no
    candidates. Included columns are.
    """

    data: InMemory
    X: Floats
    choice: Floats
    r: int
    noise: Noisy | None  # None if what r columns leave is misfit
    column_scale: Floats  # what the columns of M, divided by `unit`, were divided by
    unit: float
    rng: np.random.Generator
    n_jobs: int | None
    known: Known = NONE_KNOWN

    @classmethod
    def prepare(
        cls,
        data: InMemory,
        r: int,
        normalize: str,
        rng: np.random.Generator,
        n_jobs: int | None,
        noise: str = "auto",
        known: Known = NONE_KNOWN,
    ) -> "Problem":
        """Check r, scale the columns, find the kind of noise, and take leading coordinates."""
        r = check_rank(r, data.shape[1])
        data = data.in_range(twice=True)
        if not data.squares.any():
            raise ValueError("M is zero: there is no column to choose.")
        scaled_data = scaled(data, check_normalize(normalize))
        # A generator of its own: what is drawn later does not depend on how much is drawn here.
        models = normalize != "auto" or scaled_data is data or not is_mostly_zero(data)
        white, found = with_white_noise(scaled_data, r, check_noise(noise), rng.spawn(1)[0], models)
        X = coordinates(white, r, found, rng)
        scale = column_scale(data, scaled_data)
        if found is not None and found.columns is not None:
            scale = scale * found.columns
        choice = candidates_of(X, r, known)
        return cls(white, X, choice, r, found, scale, data.scale, rng, n_jobs, known)

    def with_more_noise(self, columns: Ints, added: float, rng: np.random.Generator) -> "Problem":
        """The same problem on some of the columns, with more noise: `added` standard deviations of it."""
        noise = self.noise
        assert noise is not None
        part = self.data.take(columns)
        size = added * np.sqrt(noise.variance) * (1.0 if noise.sizes is None else noise.sizes[columns])
        data = Dense(part + size * rng.standard_normal(part.shape))
        bright = None if noise.brightness is None else noise.brightness[columns]
        white = measured_noise(data, self.r, rng, bright)
        X = coordinates(data, self.r, white, rng)
        return replace(self, data=data, X=X, choice=candidates_of(X, self.r), noise=white, rng=rng)

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
        if not self.data.cheap_products:
            return Dense(self.X), Dense(self.choice)
        columns = self.data.for_products()
        return columns, columns

    def weighted_sample(self) -> tuple[Ints, Floats]:
        """Columns that represent all columns, with weights: the longest and a random sample of the others."""
        if self.n <= max(SMALL, SAMPLE):
            return np.arange(self.n), np.ones(self.n)
        order = np.argsort(-np.einsum("ij,ij->j", self.X, self.X), kind="stable")
        longest, others = order[: SAMPLE // 2], order[SAMPLE // 2 :]
        drawn = np.sort(self.rng.choice(others, SAMPLE // 2, replace=False))
        weights = np.repeat([1.0, len(others) / len(drawn)], [len(longest), len(drawn)])
        return np.concatenate([longest, drawn]), weights

    def working_set(self) -> tuple[Ints, Floats]:
        """Columns that represent all, and how many each does: the extreme ones and a sample of the others."""
        if self.is_small:
            return np.arange(self.n), np.ones(self.n)
        extreme = self.extreme_columns()
        extreme = np.sort(self.rng.choice(extreme, min(len(extreme), SMALL // 2), replace=False))
        others = np.setdiff1d(np.arange(self.n), extreme, assume_unique=True)
        drawn = self.rng.choice(others, SMALL - len(extreme), replace=False)
        columns, weights = np.concatenate([extreme, drawn]), np.ones(SMALL)
        weights[len(extreme) :] = len(others) / len(drawn)
        order = np.argsort(columns)
        return columns[order], weights[order]

    def candidates(self) -> Ints:
        """All columns that are neither dark nor excluded, or, of very many, the extreme ones."""
        bright = np.flatnonzero(self.choice.any(axis=0))
        return bright if len(bright) <= POOL else self.extreme_columns()

    def extreme_columns(self) -> Ints:
        """Columns that are extreme along random lines in the span of the r leading directions."""
        U = leading_directions(self.X, self.r)
        lines = self.rng.standard_normal((SKEWERS, U.shape[1]))
        best, which = np.full((2, SKEWERS), -np.inf), np.zeros((2, SKEWERS), np.intp)
        for block in column_blocks(SKEWERS, self.n):
            along = lines @ (U.T @ self.choice[:, block])
            for side, values in enumerate((along, -along)):
                top = values.argmax(axis=1)
                value = values[np.arange(SKEWERS), top]
                better = value > best[side]
                best[side, better], which[side, better] = value[better], top[better] + block.start
        return np.unique(which)


def coordinates(data: InMemory, r: int, noise: Noisy | None, rng: np.random.Generator) -> Floats:
    """The columns, dense, or their coordinates along leading directions if they are long."""
    known = None if noise is None else noise.coordinates
    X = data.leading_coordinates(max(ROWS, 2 * r), rng) if known is None else known
    return np.ascontiguousarray(X, dtype=np.float64)


def is_mostly_zero(data: InMemory) -> bool:
    """Whether a tenth of the entries or more are zero, as in co-occurrences of words, which have misfit."""
    m, n = data.shape
    return bool(np.count_nonzero(data.values) < (1 - ZEROS) * m * n)


def column_scale(data: InMemory, scaled: InMemory) -> Floats:
    """What columns in floating-point range were divided by."""
    if scaled is data:
        return np.ones(data.shape[1])
    before, after = np.sqrt(data.squares), np.sqrt(scaled.squares)
    return np.where(after > 0, before / np.where(after > 0, after, 1.0), 1.0)


def leading_directions(X: Floats, r: int) -> Floats:
    """The r leading left singular vectors."""
    if len(X) > X.shape[1]:
        Q, R = np.linalg.qr(X)
        return np.ascontiguousarray(Q @ leading_directions(R, r))
    gram = np.zeros((len(X), len(X)))
    for block in column_blocks(*X.shape):
        gram += X[:, block] @ X[:, block].T
    return np.ascontiguousarray(np.linalg.eigh(gram)[1][:, ::-1][:, :r])


def candidates_of(X: Floats, r: int, known: Known = NONE_KNOWN) -> Floats:
    """X, or a copy in which columns that are no candidates are zero.

    These are excluded columns, and dark columns that are not included, if r others are left.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", X, X))
    barred = lengths <= DARK * np.median(lengths[lengths > 0])
    barred[known.include], barred[known.exclude] = False, True
    if X.shape[1] - barred.sum() < r:
        barred[:], barred[known.exclude] = False, True
    if not barred.any():
        return X
    choice = X.copy()
    choice[:, barred] = 0.0
    return choice
