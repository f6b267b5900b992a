"""How the columns of each family are drawn, before they are permuted."""

from typing import NamedTuple

import numpy as np

from sepnmf._typing import Floats
from sepnmf.datasets._synthetic import make_midpoint, random_anchors

Rng = np.random.Generator


class Columns(NamedTuple):
    """Columns in order: first `copies` columns of each vertex, vertex by vertex, then all others."""

    M: Floats
    vertices: Floats
    copies: int = 1


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
    noisy: Floats = M + level * size * rng.standard_normal(M.shape)
    return noisy


def smooth_spectra(m: int, r: int, rng: Rng) -> Floats:
    """Reflectances over m bands: an offset, a rising or falling edge and three bumps, at most 0.9."""
    bands = np.linspace(0, 1, m)[:, None]
    W: Floats = rng.uniform(0.05, 0.3, r) + np.zeros((m, r))
    slope = rng.uniform(10, 40, r) * rng.choice([-1.0, 1.0], r)
    W = W + rng.uniform(0.1, 0.5, r) / (1 + np.exp(-slope * (bands - rng.uniform(0.2, 0.8, r))))
    for _ in range(3):
        centre, width = rng.uniform(0, 1, r), rng.uniform(0.03, 0.15, r)
        W = W + rng.uniform(0.1, 0.6, r) * np.exp(-0.5 * ((bands - centre) / width) ** 2)
    W *= np.minimum(1, 0.9 / W.max(axis=0))
    return W


def white(level: float, rng: Rng, m: int = 60, n: int = 400, r: int = 6) -> Columns:
    """White noise."""
    W = random_anchors(m, r, rng)
    return Columns(gaussian(mixed(W, n, rng), level, rng), W)


def many_columns(level: float, rng: Rng) -> Columns:
    """White noise, many columns."""
    return white(level, rng, m=50, n=5000, r=5)


def many_anchors(level: float, rng: Rng) -> Columns:
    """White noise, many anchors."""
    return white(level, rng, m=80, n=400, r=40)


def brightness(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Columns of very different lengths, and noise relative to each."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng) * rng.lognormal(0, 1, n)
    return Columns(relative(M, level, rng), W)


def counts(level: float, rng: Rng, m: int = 200, n: int = 300, r: int = 6) -> Columns:
    """Word counts of documents."""
    zipf = 1 / np.arange(1, m + 1)
    topics = rng.dirichlet(30 * zipf / zipf.sum() + 0.01, size=r).T
    length = rng.lognormal(-0.125, 0.5, n)  # of mean one
    if level == 0:
        return Columns(mixed(topics, n, rng) * length, topics)
    return Columns(rng.poisson(level * length * mixed(topics, n, rng)).astype(float), topics)


def heavy_tails(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Noise of Student's t distribution with two degrees of freedom."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    return Columns(M + level * np.sqrt(np.mean(M**2)) * rng.standard_t(2, M.shape), W)


def by_row(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Noise whose standard deviation differs between rows by up to a factor of thirty."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    N = 30 ** rng.random((m, 1)) * rng.standard_normal(M.shape)
    return Columns(M + level * np.linalg.norm(M) / np.linalg.norm(N) * N, W)


def by_column(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Noise that is ten times as large on a third of the columns."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    size = level * np.sqrt(np.mean(M**2)) * np.where(rng.permutation(n) < n // 3, 10, 1)
    return Columns(M + size * rng.standard_normal(M.shape), W)


def midpoints(level: float, rng: Rng, m: int = 30, r: int = 8) -> Columns:
    """Midpoints moved outwards."""
    M, anchors = make_midpoint(level, m=m, r=r, random_state=rng)
    others = np.setdiff1d(np.arange(M.shape[1]), anchors)
    return Columns(M[:, np.concatenate([anchors, others])], M[:, anchors])


def more_midpoints(level: float, rng: Rng) -> Columns:
    """Midpoints of more anchors moved outwards."""
    return midpoints(level, rng, m=80, r=14)


def low_rank(level: float, rng: Rng, m: int = 50, n: int = 200, r: int = 8) -> Columns:
    """Eight vertices on a sphere in three dimensions: data of rank four."""
    points = spread_points(r, rng)
    W = rng.random((m, 4)) @ np.vstack([np.ones(r), (1 + points) / 2])
    W /= W.sum(axis=0)
    return Columns(gaussian(mixed(W, n, rng), level, rng), W)


def spread_points(r: int, rng: Rng, apart: float = 0.2) -> Floats:
    """Random points on the unit sphere, no two of them closer than `apart`."""
    points = np.empty((3, 0))
    while points.shape[1] < r:
        new = rng.standard_normal((3, 1))
        new /= np.linalg.norm(new)
        if np.all(np.linalg.norm(points - new, axis=0) >= apart):
            points = np.hstack([points, new])
    return points


def outliers(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Columns that are no mixtures."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    wrong = round(level * n)
    if wrong:
        M[:, -wrong:] = random_anchors(m, wrong, rng)
    return Columns(gaussian(M, 0.02, rng), W)


def spikes(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Single entries that are far too large."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    hot = rng.random(M.shape) < level
    size = M.mean() * rng.uniform(2, 6, M.shape)
    return Columns(gaussian(M, 0.01, rng) + hot * size, W)


def near_copies(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Each anchor with three near-copies: 98 % of it and 2 % of a mixture."""
    W, copies = random_anchors(m, r, rng), 4
    M = mixed(W, n, rng, copies=copies)
    near = np.flatnonzero(np.arange(r * copies) % copies)
    M[:, near] = 0.98 * M[:, near] + 0.02 * W @ rng.dirichlet(np.ones(r), size=len(near)).T
    return Columns(gaussian(M, level, rng), W, copies)


def dependent(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Anchors of a given condition number."""
    U, _, Vt = np.linalg.svd(random_anchors(m, r, rng), full_matrices=False)
    W = (U * np.geomspace(1, 1 / max(level, 1), r)) @ Vt
    return Columns(gaussian(mixed(W, n, rng), 0.01, rng), W)


def smooth(level: float, rng: Rng, m: int = 100, n: int = 500, r: int = 6) -> Columns:
    """Smooth spectra under different illumination, and noise relative to each entry."""
    W = smooth_spectra(m, r, rng)
    M = mixed(W, n, rng) * rng.lognormal(0, 0.3, n)
    return Columns(M * (1 + level * rng.standard_normal(M.shape)), W)


def bilinear(level: float, rng: Rng, m: int = 100, n: int = 300, r: int = 5) -> Columns:
    """Smooth spectra, and products of pairs of them (generalised bilinear model)."""
    W = smooth_spectra(m, r, rng)
    H = np.hstack([np.eye(r), rng.dirichlet(np.ones(r), size=n - r).T])
    i, j = np.triu_indices(r, k=1)
    strength = level * rng.random((len(i), n))
    M = W @ H + (W[:, i] * W[:, j]) @ (strength * H[i] * H[j])
    return Columns(gaussian(M, 0.01, rng), W)


def shaded(level: float, rng: Rng, m: int = 60, n: int = 400, r: int = 6) -> Columns:
    """Columns of different lengths, and noise that does not depend on these."""
    W = random_anchors(m, r, rng)
    return Columns(gaussian(mixed(W, n, rng) * rng.uniform(0.2, 1, n), level, rng), W)


def free_sums(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Exponential weights, whose sums differ: mixtures are longer than the anchors."""
    W = random_anchors(m, r, rng)
    H = np.hstack([np.eye(r), rng.exponential(1, (r, n - r))])
    return Columns(gaussian(W @ H, level, rng), W)


def correlated(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Noise in which neighbouring rows have a correlation of 0.8."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    N = rng.standard_normal(M.shape)
    for i in range(1, m):
        N[i] = 0.8 * N[i - 1] + 0.6 * N[i]
    return Columns(M + level * np.linalg.norm(M) / np.linalg.norm(N) * N, W)


def variability(level: float, rng: Rng, m: int = 100, n: int = 400, r: int = 5) -> Columns:
    """Smooth spectra that differ a little from column to column, and white noise of 0.3 %."""
    W = smooth_spectra(m, r, rng)
    H = np.hstack([np.eye(r), rng.dirichlet(np.ones(r), size=n - r).T])
    waves = np.cos(np.pi * np.linspace(0, 1, m)[:, None] * np.arange(4)) / np.arange(1, 5)
    change = np.einsum("ik,krj->irj", waves, rng.standard_normal((4, r, n)))
    M = np.einsum("ir,irj,rj->ij", W, 1 + level * change, H)
    return Columns(gaussian(M, 0.003, rng), W)


def speckle(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Entries multiplied by gamma variates of mean one."""
    W = random_anchors(m, r, rng)
    M = mixed(W, n, rng)
    return Columns(M * rng.gamma(level**-2, level**2, M.shape) if level > 0 else M, W)


def rare(level: float, rng: Rng, m: int = 60, n: int = 600, r: int = 6) -> Columns:
    """A vertex that only three in a hundred mixtures have a part of."""
    W = random_anchors(m, r, rng)
    H = rng.dirichlet(np.ones(r), size=n).T
    H[0, rng.random(n) >= 0.03] = 0
    H[:, :r] = np.eye(r)
    return Columns(gaussian(W @ (H / H.sum(axis=0)), level, rng), W)


def sensor(level: float, rng: Rng, m: int = 100, n: int = 400, r: int = 5) -> Columns:
    """Smooth spectra under varying light; noise of the sensor and of the light, by band."""
    W = smooth_spectra(m, r, rng)
    M = mixed(W, n, rng) * rng.uniform(0.2, 1, n)
    size = np.sqrt(0.2 * M.mean() ** 2 + M * M.mean()) * rng.lognormal(0, 0.3, (m, 1))
    return Columns(M + level * size * rng.standard_normal(M.shape), W)


def pairs(level: float, rng: Rng, m: int = 60, n: int = 300, r: int = 6) -> Columns:
    """Mixtures of two vertices each."""
    W = random_anchors(m, r, rng)
    H = np.zeros((r, n))
    H[:, :r] = np.eye(r)
    for j in range(r, n):
        i, k = rng.choice(r, 2, replace=False)
        H[i, j] = rng.random()
        H[k, j] = 1 - H[i, j]
    return Columns(gaussian(W @ H, level, rng), W)
