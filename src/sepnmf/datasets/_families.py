"""Families of generated data with known anchors: kinds of noise, of mixtures and of anchors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepnmf._typing import Floats, Ints, Seed
from sepnmf._validation import accepts_rng, check_choice, check_generator, check_number
from sepnmf.datasets import _family_columns as columns
from sepnmf.datasets._family_columns import Columns, Rng


class Instance(NamedTuple):
    """Data of a family, and what is to be found in them.

    Attributes
    ----------
    M : ndarray of shape (m, n)
        Data; entries may be negative.
    anchors : ndarray of shape (r,)
        A column of M for each vertex: the column that has only this vertex in it.
    accepted : list of r frozensets
        For each vertex, the columns that count as found: its anchor, and near-copies where there are any.
        They are disjoint.
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
    size : tuple of int
        Rows m and columns n.
    r : int
        Number of anchors.
    tuning : bool
        Whether `auto` may be tuned on this family; the others are only measured.
    """

    make: Callable[[float, Rng], Columns]
    text: str
    levels: tuple[float, ...]
    size: tuple[int, int]
    r: int
    tuning: bool


@accepts_rng
def make_family(name: str, level: float, random_state: Seed = 0) -> Instance:
    """Generate an instance of a family.

    Parameters
    ----------
    name : str
        A name in `FAMILIES`.
    level : float
        How difficult it is, at least 0; what it means depends on the family. `FAMILIES[name].levels` are
        those of the benchmark.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default 0

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
    drawn = family.make(check_number(level, "level", strict=False), rng)
    n, r = drawn.M.shape[1], drawn.vertices.shape[1]
    order = rng.permutation(n)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    groups = place[: r * drawn.copies].reshape(r, drawn.copies)
    by_index = np.argsort(groups[:, 0])
    groups = groups[by_index]
    return Instance(
        np.ascontiguousarray(drawn.M[:, order]),
        groups[:, 0].copy(),
        [frozenset(group.tolist()) for group in groups],
        np.ascontiguousarray(drawn.vertices[:, by_index]),
    )


FAMILIES: dict[str, Family] = {
    "white": Family(
        columns.white,
        "White noise; the level is its norm relative to the data's.",
        levels=(0.15, 0.3, 0.4),
        size=(60, 400),
        r=6,
        tuning=True,
    ),
    "brightness": Family(
        columns.brightness,
        "Columns of lognormal lengths (σ = 1), white noise relative to each column; the level is its size.",
        levels=(0.03, 0.1, 0.15),
        size=(60, 300),
        r=6,
        tuning=True,
    ),
    "counts": Family(
        columns.counts,
        "Poisson counts of words in documents of lognormal lengths; the level is the mean length.",
        levels=(3000, 1000, 300),
        size=(200, 300),
        r=6,
        tuning=True,
    ),
    "heavy_tails": Family(
        columns.heavy_tails,
        "Noise of Student's t with 2 degrees of freedom; the level is its scale relative to the entries.",
        levels=(0.03, 0.06, 0.1),
        size=(60, 300),
        r=6,
        tuning=True,
    ),
    "many_columns": Family(
        columns.many_columns,
        "White noise on 5000 columns; the level is as in white.",
        levels=(0.05, 0.08, 0.12),
        size=(50, 5000),
        r=5,
        tuning=True,
    ),
    "by_row": Family(
        columns.by_row,
        "Noise of a standard deviation that is log-uniform over 1 : 30 by row; the level is as in white.",
        levels=(0.1, 0.2, 0.3),
        size=(60, 300),
        r=6,
        tuning=True,
    ),
    "midpoints": Family(
        columns.midpoints,
        "Midpoints of all pairs moved outwards; the level is ε of Type 1.",
        levels=(0.1, 0.2, 0.3),
        size=(30, 36),
        r=8,
        tuning=True,
    ),
    "low_rank": Family(
        columns.low_rank,
        "Eight vertices in rank 4; the level is as in white.",
        levels=(0.0, 0.005, 0.01),
        size=(50, 200),
        r=8,
        tuning=True,
    ),
    "outliers": Family(
        columns.outliers,
        "White noise of 2 % and columns that are no mixtures; the level is their share.",
        levels=(0.02, 0.04, 0.08),
        size=(60, 300),
        r=6,
        tuning=True,
    ),
    "spikes": Family(
        columns.spikes,
        "White noise of 1 % and entries that are far too large; the level is their share.",
        levels=(0.002, 0.005, 0.01),
        size=(60, 300),
        r=6,
        tuning=False,
    ),
    "near_copies": Family(
        columns.near_copies,
        "White noise; each anchor has three near-copies, of which any counts; the level is as in white.",
        levels=(0.1, 0.3, 0.45),
        size=(60, 300),
        r=6,
        tuning=False,
    ),
    "dependent": Family(
        columns.dependent,
        "White noise of 1 % and near-dependent anchors; the level is their condition number.",
        levels=(100, 1000, 5000),
        size=(60, 300),
        r=6,
        tuning=True,
    ),
    "many_anchors": Family(
        columns.many_anchors,
        "White noise, 40 anchors; the level is as in white.",
        levels=(0.2, 0.35, 0.5),
        size=(80, 400),
        r=40,
        tuning=False,
    ),
    "smooth": Family(
        columns.smooth,
        "Smooth spectra under varying light, noise relative to each entry; the level is its size.",
        levels=(0.03, 0.06, 0.1),
        size=(100, 500),
        r=6,
        tuning=False,
    ),
    "bilinear": Family(
        columns.bilinear,
        "Smooth spectra with products of pairs, white noise of 1 %; the level is the products' strength.",
        levels=(0.3, 0.6, 1.0),
        size=(100, 300),
        r=5,
        tuning=False,
    ),
    "by_column": Family(
        columns.by_column,
        "White noise, ten times as large on a third of the columns; the level is that of the others.",
        levels=(0.02, 0.03, 0.05),
        size=(60, 300),
        r=6,
        tuning=True,
    ),
    "more_midpoints": Family(
        columns.more_midpoints,
        "Midpoints of all pairs of 14 anchors; the level is ε of Type 1.",
        levels=(0.1, 0.25, 0.35),
        size=(80, 105),
        r=14,
        tuning=False,
    ),
    "shaded": Family(
        columns.shaded,
        "Columns of uniform random lengths from 0.2 to 1, white noise; the level is as in white.",
        levels=(0.05, 0.1, 0.15),
        size=(60, 400),
        r=6,
        tuning=True,
    ),
    "free_sums": Family(
        columns.free_sums,
        "Exponential weights that do not sum to one, white noise; the level is as in white.",
        levels=(0.02, 0.05, 0.1),
        size=(60, 300),
        r=6,
        tuning=True,
    ),
    "correlated": Family(
        columns.correlated,
        "Noise correlated between neighbouring rows (0.8); the level is as in white.",
        levels=(0.1, 0.2, 0.3),
        size=(60, 300),
        r=6,
        tuning=True,
    ),
    "variability": Family(
        columns.variability,
        "Smooth spectra that vary from column to column; the level is the size of that.",
        levels=(0.02, 0.05, 0.1),
        size=(100, 400),
        r=5,
        tuning=True,
    ),
    "speckle": Family(
        columns.speckle,
        "Entries times gamma variates of mean one; the level is their standard deviation.",
        levels=(0.1, 0.2, 0.4),
        size=(60, 300),
        r=6,
        tuning=False,
    ),
    "rare": Family(
        columns.rare,
        "White noise; a vertex that 3 % of the mixtures have; the level is as in white.",
        levels=(0.1, 0.2, 0.3),
        size=(60, 600),
        r=6,
        tuning=False,
    ),
    "sensor": Family(
        columns.sensor,
        "Smooth spectra in varying light, noise by row and by root of the entry; the level is its size.",
        levels=(0.05, 0.1, 0.2),
        size=(100, 400),
        r=5,
        tuning=False,
    ),
    "pairs": Family(
        columns.pairs,
        "Mixtures of two vertices each, white noise; the level is as in white.",
        levels=(0.02, 0.05, 0.1),
        size=(60, 300),
        r=6,
        tuning=False,
    ),
}
