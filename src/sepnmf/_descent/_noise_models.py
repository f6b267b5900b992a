r"""Kinds of noise, and the one that the data call for.

Every model here says that the standard deviation of the noise in entry (i, j) is a_i b_j. Divided by these,
the data have white noise, and the same anchors as before: scaling rows or columns changes the vertices and
the weights, not which columns are vertices.

    white     a = 1, b = 1
    columns   a = 1, b the lengths of the columns (noise relative to these), or estimated
    rows      a estimated, b = 1
    counts    a estimated, b the roots of the lengths of the columns: the variance of counts is their mean,
              which differs by row and by column

Any of them may have heavy tails. Entries that a fit of rank r misses by more than twice the standard
deviation are then moved to that distance, again and again until the fit settles (Huber's loss). Or the noise
may be correlated between neighbouring rows (`_lagged.py`), which is tried where the residual is.

A model is judged by what an unconstrained fit of rank r leaves of the scaled data: first by the likelihood,
normal or Student's, with a price for estimated parameters (BIC); then by whether what is left is noise at
all. The signs of noise are random. If the largest singular value of the residual is well above that of the
residual with random signs, there is structure in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from sepnmf._descent._lagged import combined, remaining_lag, without_lag
from sepnmf._typing import Floats
from sepnmf._validation import check_choice

Noise = Literal["auto", "white", "columns", "rows", "counts", "heavy", "none"]

FEW = 1000  # rows and columns, a random sample of more, on which models are compared
FEWEST = 20  # rows and columns beyond r, with fewer of which models are not compared
CLIP = 2.0  # standard deviations
STUDENT = (2.0, 3.0, 5.0)  # degrees of freedom of heavy tails
PRIOR = 5.0  # observations of the mean variance that are added to those of each row or column
SHORTEST = 0.01  # of the median; scales are at least this
STRUCTURE = 1.15  # times the largest singular value under random signs: beyond, the residual is no noise
HOPELESS = 1.8  # the same, beyond which other kinds of noise are not tried
ZEROS = 0.1  # share of zeros; beyond, the data are discrete, and tails are not judged
STEPS, HEAVY_STEPS = 8, 25  # most steps of a fit
LAGGED = 6.0  # standard errors of the correlation of neighbouring rows, beyond which it is taken for real
SETTLED = 1e-3  # relative change of scales and of moved entries at which a fit ends


def check_noise(noise: str) -> str:
    """Return `noise`, which must be one of the names in `Noise`."""
    return check_choice(noise, "noise", get_args(Noise))


@dataclass(frozen=True)
class Kind:
    """A kind of noise: which scales are fixed beforehand, which are estimated, and the tails."""

    name: str
    power: float = 0.0  # b are this power of the lengths of the columns
    rows: bool = False  # a is estimated
    columns: bool = False  # b is estimated
    heavy: bool = False
    lagged: bool = False  # correlated between neighbouring rows

    @property
    def label(self) -> str:
        """The name, as in the history of `auto`."""
        return self.name + ", heavy-tailed" * self.heavy + ", correlated rows" * self.lagged

    def n_parameters(self, m: int, n: int) -> int:
        """Number of estimated parameters, besides those that all kinds have."""
        return self.rows * (m - 1) + self.columns * (n - 1) + self.heavy + self.lagged


KINDS = tuple(
    Kind(name, power, rows, columns, heavy)
    for heavy in (False, True)
    for name, power, rows, columns in (
        ("white", 0.0, False, False),
        ("columns", 1.0, False, False),
        ("columns", 0.0, False, True),
        ("rows", 0.0, True, False),
        ("counts", 0.5, True, False),
    )
)


class RankFit(NamedTuple):
    """A fit of rank r under a kind of noise."""

    kind: Kind
    rows: Floats  # a
    columns: Floats  # b
    lag: float  # correlation of neighbouring rows of the noise, which the scaled data are freed from
    directions: Floats  # orthonormal, r of them
    low_rank: Floats  # of the scaled data
    residual: Floats  # of the scaled data
    kept: Floats  # the residual, with entries moved if tails are heavy

    @property
    def whitened(self) -> Floats:
        """The data scaled to white noise."""
        whitened: Floats = self.low_rank + self.kept
        return whitened


class Whitened(NamedTuple):
    """Data with white noise, the kind of noise they had, and how far the residual is from noise."""

    data: Floats
    label: str
    structure: float  # the largest singular value of the residual, relative to that with random signs
    rows: Floats  # what the rows were divided by
    columns: Floats  # and the columns
    lag: float  # see `_lagged.py`; 0 if the rows are not correlated
    brightness: Floats | None  # lengths that columns owe to the division; None if they owe it none
    sizes: Floats | None  # of the noise in the columns, relative to the mean; None if they are the same


def whitened(M: Floats, r: int, noise: str, rng: np.random.Generator) -> Whitened | None:
    """Return the data with white noise, under the best model of this name; None if what is left is no noise.

    With "auto" all models are judged, with "heavy" all that have heavy tails. Otherwise, the answer is None
    only if the data are too few.
    """
    m, n = M.shape
    sample = np.ix_(*(np.sort(rng.choice(k, min(k, FEW), replace=False)) for k in (m, n)))
    few = M[sample]
    few = few[few.any(axis=1)]
    if min(few.shape) - r < FEWEST:
        return None
    asked = [kind for kind in KINDS if is_asked(kind, noise, few)]
    light = ranked_fits(few, r, [kind for kind in asked if not kind.heavy])
    if noise == "auto" and len(few) == m and is_lagged(light[0]):  # a sample of rows has no neighbours
        lagged = replace(light[0].kind, lagged=True)
        asked, light = [*asked, lagged], ranked_fits(few, r, [*(fit.kind for fit in light), lagged], light)
    if noise == "auto" and structure_left(light[0].kept, r, rng) > HOPELESS:
        return None
    for fit in ranked_fits(few, r, asked, light):
        structure = structure_left(fit.kept, r, rng)
        if structure <= STRUCTURE or noise != "auto":
            best = fit if few.shape == M.shape else rank_fit(M, r, fit.kind)
            data, columns, sizes = best.whitened, best.columns, None
            if fit.kind.name == "counts":
                # A long column of counts would be preferred to a short one with the same mixture.
                lengths = floored(np.sqrt(np.einsum("ij,ij->j", M, M)))
                sizes = columns / lengths
                data, columns = data * sizes, lengths
                sizes = sizes / np.sqrt(np.mean(sizes**2))
            brightness = 1 / columns if fit.kind.columns else None
            return Whitened(data, fit.kind.label, structure, best.rows, columns, best.lag, brightness, sizes)
    return None


def ranked_fits(M: Floats, r: int, kinds: list[Kind], known: Sequence[RankFit] = ()) -> list[RankFit]:
    """Fits of these kinds, the best first; those that are `known` are not made again."""
    done = {fit.kind: fit for fit in known}
    fits = [done[kind] if kind in done else rank_fit(M, r, kind) for kind in kinds]
    return sorted(fits, key=lambda fit: -bic(fit))


def is_asked(kind: Kind, noise: str, M: Floats) -> bool:
    """Whether a kind of noise is among those of this name, and can be judged."""
    if noise == "auto":
        return not kind.heavy or bool(np.count_nonzero(M) > (1 - ZEROS) * M.size)
    return kind.heavy if noise == "heavy" else kind.name == noise and not kind.heavy


# Fits --------------------------------------------------------------------------------------------------


def rank_fit(M: Floats, r: int, kind: Kind) -> RankFit:
    """Fit rank r and the scales of this kind of noise, in turn."""
    lag = 0.0
    a: Floats = np.ones(len(M))
    b: Floats = floored(np.sqrt(np.einsum("ij,ij->j", M, M))) ** kind.power
    Z: Floats = M / b
    Y = Z
    U = leading_left(Y, r)
    for _ in range(HEAVY_STEPS if kind.heavy else STEPS):
        U = leading_left(Y, r, U)
        C = U.T @ Y
        L = U @ C
        kept = moved(Z - L) if kind.heavy else Z - L
        v, w = scales(kept, U, C, kind)
        remaining = remaining_lag(kept, U) if kind.lagged else 0.0
        a, b, lag = floored(a * v), floored(b * w), combined(lag, remaining)
        Z = without_lag(M / a[:, None] / b, lag)
        last, Y = Y, ((L + kept) / v[:, None] / w if kind.heavy else Z)
        change = max(float(np.abs(v - 1).max()), float(np.abs(w - 1).max()), abs(remaining))
        if kind.heavy:
            change = max(change, float(np.linalg.norm(Y - last) / np.linalg.norm(last)))
        if change <= SETTLED:
            break
    U = leading_left(Y, r, U)
    L = U @ (U.T @ Y)
    return RankFit(kind, a, b, lag, U, L, Z - L, moved(Z - L) if kind.heavy else Z - L)


def is_lagged(fit: RankFit) -> bool:
    """Whether neighbouring rows of what a fit leaves are correlated by more than noise can be."""
    return bool(abs(remaining_lag(fit.residual, fit.directions)) * np.sqrt(fit.residual.size) > LAGGED)


def scales(kept: Floats, U: Floats, C: Floats, kind: Kind) -> tuple[Floats, Floats]:
    """Standard deviations of rows and columns relative to the mean, as far as the kind of noise has them.

    A fit of rank r leaves less of a row the more it depends on that row (its leverage): the degrees of
    freedom are corrected for it.
    """
    (m, n), r = kept.shape, len(C)
    v, w = np.ones(m), np.ones(n)
    squares = kept * kept
    if kind.rows:
        mean = max(float(squares.sum()) / ((m - r) * (n - r)), np.finfo(np.float64).tiny)
        left = (n - r) * (1 - np.einsum("ij,ij->i", U, U)).clip(0)
        v = np.sqrt((squares.sum(axis=1) / mean + PRIOR) / (left + PRIOR))
    if kind.columns:
        mean = max(float(squares.sum()) / ((m - r) * (n - r)), np.finfo(np.float64).tiny)
        leverage = np.einsum("ij,ij->j", C, np.linalg.pinv(C @ C.T) @ C)
        left = (m - r) * (1 - leverage).clip(0)
        w = np.sqrt((squares.sum(axis=0) / mean + PRIOR) / (left + PRIOR))
    return v, w


def moved(residual: Floats) -> Floats:
    """The residual with entries beyond twice the standard deviation, estimated from the median, at that."""
    limit = CLIP * 1.4826 * float(np.median(np.abs(residual)))
    return np.clip(residual, -limit, limit) if limit > 0 else residual


def floored(scale: Floats) -> Floats:
    """Scales of at least a hundredth of their median, relative to their mean."""
    low = SHORTEST * float(np.median(scale[scale > 0])) if (scale > 0).any() else 1.0
    scale = np.maximum(scale, low)
    floor: Floats = scale / scale.mean()
    return floor


def leading_left(Z: Floats, r: int, start: Floats | None = None, steps: int = 1) -> Floats:
    """An orthonormal basis of the r leading left directions, by subspace iteration."""
    if start is None:
        start = Z @ np.random.default_rng(0).standard_normal((Z.shape[1], min(r + 5, *Z.shape)))
        start, steps = np.linalg.qr(start)[0], 6
    for _ in range(steps):
        start = np.linalg.qr(Z @ (Z.T @ start))[0]
    if start.shape[1] > r:
        small, _, _ = np.linalg.svd(start.T @ Z, full_matrices=False)
        start = start @ small[:, :r]
    return start


# Judgement ---------------------------------------------------------------------------------------------


def bic(fit: RankFit) -> float:
    """The log-likelihood of what the fit leaves, less the price of its parameters."""
    m, n = fit.residual.shape
    jacobian = n * float(np.log(fit.rows).sum()) + m * float(np.log(fit.columns).sum())
    jacobian -= 0.5 * n * float(np.log1p(-(fit.lag**2)))
    value = student(fit.residual) if fit.kind.heavy else normal(fit.residual)
    return float(value - jacobian - 0.5 * fit.kind.n_parameters(m, n) * np.log(m * n))


def normal(residual: Floats) -> float:
    """The normal log-likelihood at the best variance."""
    variance = max(float(np.mean(residual * residual)), np.finfo(np.float64).tiny)
    return -0.5 * residual.size * float(np.log(2 * np.pi * variance) + 1)


def student(residual: Floats) -> float:
    """Student's log-likelihood at the best of some degrees of freedom, with the scale from the median."""
    from scipy.special import gammaln, stdtrit

    size, middle = residual.size, max(float(np.median(np.abs(residual))), np.finfo(np.float64).tiny)
    values = []
    for nu in STUDENT:
        s = middle / float(stdtrit(nu, 0.75))
        constant = float(gammaln((nu + 1) / 2) - gammaln(nu / 2)) - 0.5 * np.log(nu * np.pi) - np.log(s)
        width = s * np.sqrt(nu)
        tails = 2 * float(np.log(np.hypot(width, residual)).sum() - size * np.log(width))
        values.append(float(size * constant - 0.5 * (nu + 1) * tails))
    return float(max(values))


def structure_left(residual: Floats, r: int, rng: np.random.Generator, draws: int = 3) -> float:
    """The largest singular value of what rank r leaves, relative to that with random signs; 1 for noise.

    White noise less r of its directions is as large as noise on r rows and r columns less; with random signs,
    it is spread over all of them again.
    """
    m, n = residual.shape
    signs = (residual * rng.choice([-1.0, 1.0], residual.shape) for _ in range(draws))
    others = float(np.mean([largest_singular_value(flipped) for flipped in signs]))
    in_noise = (1 / np.sqrt(m - r) + 1 / np.sqrt(n - r)) / (1 / np.sqrt(m) + 1 / np.sqrt(n))
    return float(largest_singular_value(residual) / others / in_noise) if others > 0 else 1.0


def largest_singular_value(A: Floats) -> float:
    """The spectral norm, from the smaller Gram matrix."""
    gram = A @ A.T if len(A) <= A.shape[1] else A.T @ A
    from scipy.linalg import eigvalsh

    last = len(gram) - 1
    return float(np.sqrt(max(eigvalsh(gram, subset_by_index=[last, last])[0], 0.0)))
