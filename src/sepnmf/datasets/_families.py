"""Families of generated data with known anchors: kinds of noise, of mixtures and of anchors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepnmf._typing import Floats, Ints, Seed
from sepnmf._validation import check_choice, check_generator, check_number
from sepnmf.datasets._synthetic import make_midpoint, random_anchors

Rng = np.random.Generator


class Instance(NamedTuple):
    """Data of a family, and what is to be found in them.

    Attributes
    ----------
    M : ndarray of shape (m, n)
        Data; entries may be negative.
    anchors : ndarray of shape (r,)
        A column of M for each vertex: the column that has only this vertex in it.
    accepted : list of r frozensets
        For each vertex, the columns that count as found: its anchor, and near-copies where there are any. They
        are disjoint.
    vertices : ndarray of shape (m, r)
        The vertices without noise, in the order of `anchors`.
    """

    M: Floats
    anchors: Ints
    accepted: list[frozenset[int]]
    vertices: Floats

    def share_found(self, chosen: Ints) -> float:
        """Share of the vertices of which an accepted column is among the chosen ones."""
        found = {int(column) for column in chosen}
        return sum(bool(columns & found) for columns in self.accepted) / len(self.accepted)


class Clean(NamedTuple):
    """Columns before they are permuted: `copies` anchors of each vertex, vertex by vertex, come first."""

    M: Floats
    vertices: Floats
    copies: int = 1


@dataclass(frozen=True)
class Family:
    """A kind of data at three levels of difficulty.

    Attributes
    ----------
    make : callable
        `make(level, rng)` returns the columns before they are permuted.
    text : str
        One sentence: what the data are, and what the level is.
    levels : tuple of float
        The levels of the benchmark, from the easiest on.
    m, n, r : int
        Rows, columns and anchors.
    tuning : bool
        Whether `auto` may be tuned on this family; the others are only measured.
    """

    make: Callable[[float, Rng], Clean]
    text: str
    levels: tuple[float, ...]
    m: int
    n: int
    r: int
    tuning: bool


def make_family(name: str, level: float, random_state: Seed = 0) -> Instance:
    """Generate an instance of a family.

    Parameters
    ----------
    name : str
        A name in `FAMILIES`.
    level : float
        How difficult it is, at least 0; what it means depends on the family. `FAMILIES[name].levels` are those
        of the benchmark.
    random_state : None, int or numpy.random.Generator, default 0

    Returns
    -------
    Instance
        M, its anchors, for each of them the columns that count as found, and the vertices without noise.

    Examples
    --------
    >>> from sepnmf.datasets import make_family
    >>> instance = make_family("white", 0.05)
    >>> instance.M.shape, instance.share_found(instance.anchors)
    ((60, 400), 1.0)
    """
    family = FAMILIES[check_choice(name, "name", FAMILIES)]
    rng = check_generator(random_state)
    clean = family.make(check_number(level, "level", strict=False), rng)
    n, r = clean.M.shape[1], clean.vertices.shape[1]
    order = rng.permutation(n)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    groups = place[: r * clean.copies].reshape(r, clean.copies)
    by_index = np.argsort(groups[:, 0])
    groups = groups[by_index]
    return Instance(
        np.ascontiguousarray(clean.M[:, order]),
        groups[:, 0].copy(),
        [frozenset(group.tolist()) for group in groups],
        np.ascontiguousarray(clean.vertices[:, by_index]),
    )


def mixed(W: Floats, n: int, rng: Rng, copies: int = 1) -> Floats:
    """`copies` columns of each vertex, and mixtures of the vertices that are uniform on the simplex."""
    r = W.shape[1]
    mixtures = rng.dirichlet(np.ones(r), size=n - r * copies).T
    return np.hstack([np.repeat(W, copies, axis=1), W @ mixtures])


def gaussian(M: Floats, level: float, rng: Rng) -> Floats:
    """M with white noise whose Frobenius norm is `level` times that of M, as in `make_dirichlet`."""
    N = rng.standard_normal(M.shape)
    noisy: Floats = M + level * np.linalg.norm(M) / np.linalg.norm(N) * N
    return noisy


def relative(M: Floats, level: float, rng: Rng) -> Floats:
    """M with noise on each column whose expected norm is about `level` times that of the column."""
    size = np.linalg.norm(M, axis=0) / np.sqrt(len(M))
    return M + level * size * rng.standard_normal(M.shape)


def smooth_spectra(m: int, r: int, rng: Rng) -> Floats:
    """Reflectances over m bands: an offset, a rising or falling edge and three bumps, at most 0.9."""
    bands = np.linspace(0, 1, m)[:, None]
    W = rng.uniform(0.05, 0.3, r) + np.zeros((m, r))
    slope = rng.uniform(10, 40, r) * rng.choice([-1.0, 1.0], r)
    W = W + rng.uniform(0.1, 0.5, r) / (1 + np.exp(-slope * (bands - rng.uniform(0.2, 0.8, r))))
    for _ in range(3):
        centre, width = rng.uniform(0, 1, r), rng.uniform(0.03, 0.15, r)
        W = W + rng.uniform(0.1, 0.6, r) * np.exp(-0.5 * ((bands - centre) / width) ** 2)
    peak = W.max(axis=0)
    return W * np.minimum(1, 0.9 / peak)


def white(level: float, rng: Rng, m: int = 60, n: int = 400, r: int = 6) -> Clean:
    """White noise."""
    W = random_anchors(m, r, rng)
    return Clean(gaussian(mixed(W, n, rng), level, rng), W)


def many_columns(level: float, rng: Rng) -> Clean:
    """White noise, many columns."""
    return white(level, rng, m=50, n=5000, r=5)


def many_anchors(level: float, rng: Rng) -> Clean:
    """White noise, many anchors."""
    return white(level, rng, m=80, n=400, r=40)


def brightness(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Clean:
    """Columns of very different lengths, and noise relative to each."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng) * rng.lognormal(0, 1, n)
    return Clean(relative(M, level, rng), W)


def counts(level: float, rng: Rng, m: int = 200, n: int = 300, r: int = 6) -> Clean:
    """Word counts of documents."""
    zipf = 1 / np.arange(1, m + 1)
    topics = rng.dirichlet(30 * zipf / zipf.sum() + 0.01, size=r).T
    length = rng.lognormal(-0.125, 0.5, n)  # of mean one
    if level == 0:
        return Clean(mixed(topics, n, rng) * length, topics)
    return Clean(rng.poisson(level * length * mixed(topics, n, rng)).astype(float), topics)


def heavy_tails(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Clean:
    """Noise of Student's t distribution with two degrees of freedom."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    return Clean(M + level * np.sqrt(np.mean(M**2)) * rng.standard_t(2, M.shape), W)


def by_row(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Clean:
    """Noise whose standard deviation differs between rows by up to a factor of thirty."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    N = 30 ** rng.random((m, 1)) * rng.standard_normal(M.shape)
    return Clean(M + level * np.linalg.norm(M) / np.linalg.norm(N) * N, W)


def by_column(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Clean:
    """Noise that is ten times as large on a third of the columns."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    size = level * np.sqrt(np.mean(M**2)) * np.where(rng.permutation(n) < n // 3, 10, 1)
    return Clean(M + size * rng.standard_normal(M.shape), W)


def midpoints(level: float, rng: Rng, m: int = 30, r: int = 8) -> Clean:
    """Midpoints moved outwards."""
    M, anchors = make_midpoint(level, m=m, r=r, random_state=rng)
    others = np.setdiff1d(np.arange(M.shape[1]), anchors)
    return Clean(M[:, np.concatenate([anchors, others])], M[:, anchors])


def more_midpoints(level: float, rng: Rng) -> Clean:
    """Midpoints of more anchors moved outwards."""
    return midpoints(level, rng, m=80, r=14)


def low_rank(level: float, rng: Rng, m: int = 50, n: int = 200, r: int = 8) -> Clean:
    """Eight vertices on a sphere in three dimensions: data of rank four."""
    points = spread_points(r, rng)
    W = rng.random((m, 4)) @ np.vstack([np.ones(r), (1 + points) / 2])
    W /= W.sum(axis=0)
    return Clean(gaussian(mixed(W, n, rng), level, rng), W)


def spread_points(r: int, rng: Rng, apart: float = 0.4) -> Floats:
    """Random points on the unit sphere, no two of them closer than `apart`."""
    points = np.empty((3, 0))
    while points.shape[1] < r:
        new = rng.standard_normal((3, 1))
        new /= np.linalg.norm(new)
        if np.all(np.linalg.norm(points - new, axis=0) >= apart):
            points = np.hstack([points, new])
    return points


def outliers(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Clean:
    """Columns that are no mixtures."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    wrong = round(level * n)
    if wrong:
        M[:, -wrong:] = random_anchors(m, wrong, rng)
    return Clean(gaussian(M, 0.02, rng), W)


def spikes(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Clean:
    """Single entries that are far too large."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    hot = rng.random(M.shape) < level
    size = M.mean() * rng.uniform(2, 6, M.shape)
    return Clean(gaussian(M, 0.01, rng) + hot * size, W)


def near_copies(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Clean:
    """Each anchor with three near-copies: 98 % of it and 2 % of a mixture."""
    W, copies = random_anchors(m, r, rng), 4
    M = mixed(W, n, rng, copies=copies)
    near = np.flatnonzero(np.arange(r * copies) % copies)
    M[:, near] = 0.98 * M[:, near] + 0.02 * W @ rng.dirichlet(np.ones(r), size=len(near)).T
    return Clean(gaussian(M, level, rng), W, copies)


def dependent(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Clean:
    """Anchors of a given condition number."""
    U, _, Vt = np.linalg.svd(random_anchors(m, r, rng), full_matrices=False)
    W = (U * np.geomspace(1, 1 / max(level, 1), r)) @ Vt
    return Clean(gaussian(mixed(W, n, rng), 0.01, rng), W)


def smooth(level: float, rng: Rng, m: int = 100, n: int = 500, r: int = 6) -> Clean:
    """Smooth spectra under different illumination, and noise relative to each entry."""
    W = smooth_spectra(m, r, rng)
    M = mixed(W, n, rng) * rng.lognormal(0, 0.3, n)
    return Clean(M * (1 + level * rng.standard_normal(M.shape)), W)


def bilinear(level: float, rng: Rng, m: int = 100, n: int = 300, r: int = 5) -> Clean:
    """Smooth spectra, and products of pairs of them (generalised bilinear model)."""
    W = smooth_spectra(m, r, rng)
    H = np.hstack([np.eye(r), rng.dirichlet(np.ones(r), size=n - r).T])
    i, j = np.triu_indices(r, k=1)
    strength = level * rng.random((len(i), n))
    M = W @ H + (W[:, i] * W[:, j]) @ (strength * H[i] * H[j])
    return Clean(gaussian(M, 0.01, rng), W)


FAMILIES: dict[str, Family] = {
    "white": Family(
        white,
        "White noise; the level is its norm relative to the data's.",
        (0.1, 0.15, 0.2),
        60,
        400,
        6,
        True,
    ),
    "brightness": Family(
        brightness,
        "Columns of lognormal lengths (σ = 1), white noise relative to each column; the level is its size.",
        (0.03, 0.1, 0.15),
        60,
        300,
        6,
        True,
    ),
    "counts": Family(
        counts,
        "Poisson counts of words in documents of lognormal lengths; the level is the mean length.",
        (3000, 1000, 300),
        200,
        300,
        6,
        True,
    ),
    "heavy_tails": Family(
        heavy_tails,
        "Noise of Student's t with 2 degrees of freedom; the level is its scale relative to the entries.",
        (0.03, 0.06, 0.1),
        60,
        300,
        6,
        True,
    ),
    "many_columns": Family(
        many_columns,
        "White noise on 5000 columns; the level is as in white.",
        (0.05, 0.08, 0.12),
        50,
        5000,
        5,
        True,
    ),
    "by_row": Family(
        by_row,
        "Noise of a standard deviation that is log-uniform over 1 : 30 by row; the level is as in white.",
        (0.1, 0.2, 0.3),
        60,
        300,
        6,
        True,
    ),
    "midpoints": Family(
        midpoints,
        "Midpoints of all pairs moved outwards; the level is ε of Type 1.",
        (0.1, 0.2, 0.3),
        30,
        36,
        8,
        True,
    ),
    "low_rank": Family(
        low_rank,
        "Eight vertices in rank 4; the level is as in white.",
        (0.0, 0.0025, 0.005),
        50,
        200,
        8,
        True,
    ),
    "outliers": Family(
        outliers,
        "White noise of 2 % and columns that are no mixtures; the level is their share.",
        (0.02, 0.04, 0.08),
        60,
        300,
        6,
        False,
    ),
    "spikes": Family(
        spikes,
        "White noise of 1 % and entries that are far too large; the level is their share.",
        (0.002, 0.005, 0.01),
        60,
        300,
        6,
        False,
    ),
    "near_copies": Family(
        near_copies,
        "White noise; each anchor has three near-copies, of which any counts; the level is as in white.",
        (0.03, 0.08, 0.12),
        60,
        300,
        6,
        False,
    ),
    "dependent": Family(
        dependent,
        "White noise of 1 % and near-dependent anchors; the level is their condition number.",
        (10, 100, 1000),
        60,
        300,
        6,
        False,
    ),
    "many_anchors": Family(
        many_anchors,
        "White noise, 40 anchors; the level is as in white.",
        (0.05, 0.1, 0.15),
        80,
        400,
        40,
        False,
    ),
    "smooth": Family(
        smooth,
        "Smooth spectra under varying light, noise relative to each entry; the level is its size.",
        (0.03, 0.06, 0.1),
        100,
        500,
        6,
        False,
    ),
    "bilinear": Family(
        bilinear,
        "Smooth spectra with products of pairs, white noise of 1 %; the level is the strength of the products.",
        (0.3, 0.6, 1.0),
        100,
        300,
        5,
        False,
    ),
    "by_column": Family(
        by_column,
        "White noise, ten times as large on a third of the columns; the level is that of the others.",
        (0.01, 0.02, 0.03),
        60,
        300,
        6,
        False,
    ),
    "more_midpoints": Family(
        more_midpoints,
        "Midpoints of all pairs of 14 anchors; the level is ε of Type 1.",
        (0.1, 0.25, 0.35),
        80,
        105,
        14,
        False,
    ),
}
