"""From data to data with white noise, if a kind of noise is found in them, and their leading coordinates."""

from typing import NamedTuple

import numpy as np

from sepnmf._descent._lagged import with_lag
from sepnmf._descent._neighbours import has_independent_columns
from sepnmf._descent._noise import white_rank
from sepnmf._descent._noise_models import whitened
from sepnmf._typing import Floats
from sepnmf.matrix import Dense, InMemory

SMALL = 200_000  # entries; up to here the rows are kept as they are
LARGE = 1_000_000  # entries; beyond, only the leading part of the spectrum is computed
MODELLED = 4_000_000  # entries; beyond, noise is white or not looked for
FEW = 500  # rows or columns; up to here products of all of them cost little
OVERSAMPLING, POWER_STEPS = 10, 4  # of the randomised decomposition
SHARP = 4.0  # times the largest squared singular value of the noise, beyond which directions are known well
KNOWN = 2.0  # the same, beyond which fewer directions than anchors are kept
DISTINCT = 3.0  # ratio of squared singular values, below which there may be more vertices than anchors
NOISE_ALONE = 0.01  # probability that noise leaves so much of some column, below which there is more in it
UNEVEN = 0.01  # mean squared deviation of the lengths of columns from one, beyond which they are free
BEYOND_NOISE = 4.0  # times what noise leaves, which the deviation must exceed too
FAINT = 1e-6  # of ‖M‖_F: less noise than this may be rounding
DARK = 0.01  # of the median; lengths are at least this
INDEPENDENT = "independent columns"  # what is left has structure, but is drawn anew for each column
ROUNDING = 1e-13  # of ‖M‖²_F, below which nothing is left by the leading part


class Noisy(NamedTuple):
    """What is known about the noise of data in which it is white.

    The data were divided by `rows` and `columns` (None if they were not), and then freed from a `lag` between
    rows. `brightness` has the lengths of the columns if these say nothing about the mixture: because
    of that division, or because the weights of mixtures do not sum to one.
    """

    variance: float
    kind: str = "white"
    structure: float = np.nan  # see `structure_left`; NaN if it was not needed
    rows: Floats | None = None
    columns: Floats | None = None
    lag: float = 0.0
    brightness: Floats | None = None
    sizes: Floats | None = None  # of the noise in the columns, relative to the mean, where they differ
    coordinates: Floats | None = None  # along r leading directions or fewer; None if all rows are used

    def as_given(self, columns: Floats) -> Floats:
        """Columns with rows like those of the data before these were divided and freed from a lag."""
        columns = with_lag(columns, self.lag)
        return columns if self.rows is None else self.rows[:, None] * columns

    @property
    def is_modelled(self) -> bool:
        """Whether a model says how large the noise is; it is not where columns are only independent."""
        return self.kind != INDEPENDENT

    @property
    def has_free_lengths(self) -> bool:
        """Whether the columns have lengths of their own, and not because their noise was estimated."""
        return self.brightness is not None and not self.kind.startswith("columns")


def with_white_noise(
    data: InMemory, r: int, noise: str, rng: np.random.Generator, models: bool = True
) -> tuple[InMemory, Noisy | None]:
    """Return data in which noise is white, and what is known about it; with misfit, the data as they are.

    Without `models`, noise="auto" is white noise or misfit.
    """
    if noise == "none" or r >= min(data.height, data.shape[1]):  # then r directions leave nothing to judge
        return data, None
    spectrum = Leading.of(data, r, rng)
    if noise == "white" or (noise == "auto" and spectrum.white_rank() <= r):
        return data, spectrum.with_lengths(r)
    m, n = data.shape
    is_open = models or noise != "auto"
    if not is_open or m * n > MODELLED or m != data.height:  # the last have coordinates for rows
        return data, None
    M = data.take(slice(None))
    found = whitened(M, r, noise, rng)
    if found is None:
        if noise != "auto" or not spectrum.is_distinct(r) or not has_independent_columns(M, r, rng):
            return data, None
        return data, spectrum.with_lengths(r)._replace(kind=INDEPENDENT)
    data = Dense(found.data)
    spectrum = Leading.of(data, r, rng)
    # Other kinds of noise depend on the lengths of the columns, which are set by them.
    sets_no_lengths = found.label.startswith(("white", "rows"))
    white = spectrum.with_lengths(r) if sets_no_lengths else spectrum.as_bright(r, found.brightness)
    return data, white._replace(
        kind=found.label,
        structure=found.structure,
        rows=found.rows,
        columns=found.columns,
        lag=found.lag,
        sizes=found.sizes,
    )


def measured_noise(data: InMemory, r: int, rng: np.random.Generator, brightness: Floats | None) -> Noisy:
    """Return what is known about the noise of data in which it is white, with columns of this brightness."""
    return Leading.of(data, r, rng).as_bright(r, brightness)


class Leading(NamedTuple):
    """Leading squared singular values and right singular vectors of data, as rows, and ‖M‖²_F."""

    squares: Floats
    vectors: Floats
    total: float
    shape: tuple[int, int]
    lengths: Floats  # of the columns, squared

    @classmethod
    def of(cls, data: InMemory, r: int, rng: np.random.Generator) -> "Leading":
        """Return all singular values of small data, and r + 1 of large data."""
        m, n = data.shape
        shape = (data.height, n)
        if m * n <= LARGE or min(m, n) <= r + OVERSAMPLING:
            _, s, V = np.linalg.svd(data.take(slice(None)), full_matrices=False)
            squares = s**2
            rounding = 10 * squares[0] * max(m, n) * np.finfo(np.float64).eps ** 2
            squares = np.where(squares > rounding, squares, 0.0)
            return cls(squares, without_rounding(V[:r], data), float(squares.sum()), shape, data.squares)
        few = min(m, n) <= FEW
        squares, V = from_products(data, r) if few else from_sketch(data, r, rng)
        total = float(data.squares.sum())
        if total - float(squares[:r].sum()) <= ROUNDING * total:
            squares[r:], total = 0.0, float(squares[:r].sum())
        return cls(squares, without_rounding(V, data), total, shape, data.squares)

    def white_rank(self) -> int:
        """The number of directions that leave what looks like white noise."""
        return white_rank(self.squares, *self.shape, self.total)[0]

    def is_distinct(self, r: int) -> bool:
        """Whether the r leading directions are not the first of more that are like them."""
        return len(self.squares) > r and bool(self.squares[r - 1] > DISTINCT * self.squares[r])

    def with_lengths(self, r: int) -> Noisy:
        """What is known about white noise, and the lengths of columns that the mixture does not set."""
        return self.as_bright(r, self.free_lengths(r))

    def as_bright(self, r: int, brightness: Floats | None) -> Noisy:
        """What is known about white noise in data with columns of this brightness."""
        # Columns of which nothing is known but noise must not matter where there is only noise.
        return self.as_noise(r, compress=brightness is not None)._replace(brightness=brightness)

    def free_lengths(self, r: int) -> Floats | None:
        """Lengths of the columns along the leading direction, if weights of mixtures do not sum to one.

        If they do, the columns lie in a hyperplane: a combination of the rows is one in every column. What is
        left of the ones without the leading directions says how far they are from that, relative to one, and
        to what noise leaves.
        """
        m, n = self.shape
        ones = self.vectors[:r].sum(axis=1) ** 2
        left = 1 - float(ones.sum()) / n
        variance = self.as_noise(r).variance
        if variance * m * n <= FAINT**2 * self.total:  # all columns are equally precise, however short
            return None
        by_noise = variance * float(
            (ones / np.maximum(self.squares[: len(ones)], np.finfo(float).tiny)).sum()
        )
        if left <= max(UNEVEN, BEYOND_NOISE * by_noise):
            return None
        lengths = np.abs(self.vectors[0])
        lengths = np.maximum(lengths, DARK * float(np.median(lengths[lengths > 0])))
        return np.asarray(lengths / lengths.mean())

    def as_noise(self, r: int, *, compress: bool = False) -> Noisy:
        """What is known about white noise in the data; `compress` takes coordinates even of small data."""
        m, n = self.shape
        # Not the total less the r largest: without noise, that would be rounding errors.
        left = float(self.squares[r:].sum()) + max(self.total - float(self.squares.sum()), 0.0)
        variance = left / ((m - r) * (n - r)) if min(m, n) > r else 0.0
        largest = variance * (np.sqrt(m) + np.sqrt(n)) ** 2  # squared singular value of the noise
        is_sharp = len(self.squares) >= r and self.squares[r - 1] > SHARP * largest
        compress = is_sharp and (compress or m * n > SMALL)
        kept = r if compress else self.few_directions(r, variance)
        coordinates = None if kept is None else np.sqrt(self.squares[:kept, None]) * self.vectors[:kept]
        return Noisy(variance, coordinates=coordinates)

    def few_directions(self, r: int, variance: float) -> int | None:
        """The number of directions, fewer than r, that leave nothing but noise of every column, or None.

        They must be known well, and three at least: in a plane, no more than two columns are extreme. The
        other directions would add noise to the criterion, and nothing else.
        """
        (m, n), k = self.shape, self.white_rank()
        edge = variance * (np.sqrt(m) + np.sqrt(n)) ** 2
        if not 3 <= k < r or variance == 0 or self.squares[k - 1] <= KNOWN * edge:
            return None
        from scipy.stats import chi2

        left = self.lengths - self.squares[:k] @ self.vectors[:k] ** 2
        return k if n * chi2.sf(float(left.max()) / variance, m - k) > NOISE_ALONE else None


def without_rounding(vectors: Floats, data: InMemory) -> Floats:
    """Right singular vectors, with zeros for the zero columns of the data: these are no short columns."""
    return np.where(data.squares > 0, vectors, 0.0)


def from_products(data: InMemory, r: int) -> tuple[Floats, Floats]:
    """The r + 1 largest squared singular values and r right singular vectors, from a Gram matrix."""
    values, vectors = np.linalg.eigh(data.smaller_gram())
    squares = np.maximum(values[::-1][: r + 1], 0.0)
    leading = vectors[:, ::-1][:, :r]
    if data.shape[1] <= data.shape[0]:
        return squares, leading.T
    roots = np.sqrt(squares[:r])
    return squares, data.times(leading) / np.where(roots > 0, roots, 1.0)[:, None]


def from_sketch(data: InMemory, r: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The same by a randomised range finder (as in scikit-learn, which takes seconds to import)."""
    Q = data.applied_to(rng.standard_normal((data.shape[1], r + 1 + OVERSAMPLING)))
    for _ in range(POWER_STEPS):
        Q = data.applied_to(data.times(np.linalg.qr(Q)[0]).T)
    _, s, V = np.linalg.svd(data.times(np.linalg.qr(Q)[0]), full_matrices=False)
    return s[: r + 1].astype(np.float64) ** 2, V[:r].astype(np.float64)
