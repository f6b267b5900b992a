"""A generator of mixtures in which no column is pure."""

import numpy as np

from sepnmf._typing import Floats, Seed
from sepnmf._validation import accepts_rng, check_count, check_generator, check_number
from sepnmf.datasets._families import Instance
from sepnmf.datasets._family_columns import Rng, gaussian
from sepnmf.datasets._synthetic import random_anchors


@accepts_rng
def make_capped(
    purity: float,
    noise: float = 0.01,
    m: int = 50,
    n: int = 400,
    r: int = 5,
    *,
    brightness: float = 0.0,
    random_state: Seed = 0,
) -> Instance:
    """Generate mixtures in which no column has more than a share `purity` of any vertex.

    The vertices W are uniform on [0, 1], columns summed to one; M₀ = WH. For each vertex a column of H has
    the share `purity` of it, and the rest is uniform on the other vertices; the others are uniform on the
    simplex (Dirichlet with parameters 1) without those with a larger share. White noise has Frobenius norm
    `noise`·‖M₀‖_F; then the columns are permuted. With purity 1 the anchors are pure, as in `make_dirichlet`.

    Parameters
    ----------
    purity : float
        The largest share of a vertex in a column, more than 0.5 and at most 1.
    noise : float, default 0.01
        ε ≥ 0, relative to ‖M₀‖_F.
    m : int, default 50
        Number of rows.
    n : int, default 400
        Number of columns, at least r.
    r : int, default 5
        Number of vertices, at least 2.
    brightness : float, default 0
        The columns are multiplied by lognormal numbers with this σ before noise is added.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default 0

    Returns
    -------
    Instance
        M, the purest column of each vertex as `anchors`, and the `vertices` without noise.

    Examples
    --------
    >>> from sepnmf.datasets import make_capped
    >>> instance = make_capped(0.8)
    >>> instance.M.shape, instance.vertices.shape
    ((50, 400), (50, 5))
    """
    purity = check_number(purity, "purity", least=0.5)
    if purity > 1:
        raise ValueError(f"purity must be a number > 0.5 and at most 1, got {purity!r}.")
    level = check_number(noise, "noise", strict=False)
    spread = check_number(brightness, "brightness", strict=False)
    m, r = check_count(m, "m"), check_count(r, "r", least=2)
    n, rng = check_count(n, "n", least=r), check_generator(random_state)
    W = random_anchors(m, r, rng)
    H = np.hstack([purest_columns(purity, r, rng), capped_mixtures(purity, r, n - r, rng)])
    M = W @ (H * rng.lognormal(0, spread, n) if spread > 0 else H)
    order = rng.permutation(n)
    place = np.argsort(order)[:r]
    by_index = np.argsort(place)
    anchors = place[by_index]
    return Instance(
        np.ascontiguousarray(gaussian(M, level, rng)[:, order]),
        anchors,
        [frozenset([int(anchor)]) for anchor in anchors],
        np.ascontiguousarray(W[:, by_index]),
    )


def purest_columns(purity: float, r: int, rng: Rng) -> Floats:
    """Weights with the share `purity` of each vertex in turn, the rest uniform on the others."""
    H = np.zeros((r, r))
    for k in range(r):
        H[np.arange(r) != k, k] = (1 - purity) * rng.dirichlet(np.ones(r - 1))
    return H + purity * np.eye(r)


def capped_mixtures(purity: float, r: int, count: int, rng: Rng) -> Floats:
    """Weights that are uniform on the part of the simplex without shares above `purity`."""
    found: Floats = np.empty((0, r))
    while len(found) < count:
        drawn = rng.dirichlet(np.ones(r), size=2 * count)
        found = np.vstack([found, drawn[drawn.max(axis=1) <= purity]])
    return found[:count].T
