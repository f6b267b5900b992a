"""Reduction of the columns to those that are not in the cone of others, and random others (REDIC)."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import cdist

from sepnmf._typing import Floats, Ints
from sepnmf.least_squares import cone_weights
from sepnmf.methods._subspace import column_lengths

INSIDE = 1e-8  # distance from a cone, of a vector of length one, that is taken for rounding
VIEWS = 50  # columns outside of the cone from which the next rays are looked for at a time


def cone_generators(X: Floats) -> Ints:
    """Return columns of X whose cone contains all others, one of each direction.

    As long as there are columns outside of the cone of those that are kept, let ρ be what the cone leaves of
    one of them. The column u_j of length one with the largest ρᵀu_j/pᵀu_j, where p is the mean of all of
    these, is outside too, and an extreme ray; it is kept. Columns with pᵀu_j ≤ 0 are kept from the start.
    """
    lengths = column_lengths(X)
    U = X / np.where(lengths > 0, lengths, 1.0)
    towards = U.mean(axis=1) @ U
    kept = np.flatnonzero((towards <= INSIDE) & (lengths > 0))
    seen = np.flatnonzero(towards > INSIDE)
    outside = seen
    while True:
        rest = U[:, outside]
        if kept.size:
            rest = rest - U[:, kept] @ cone_weights(U[:, kept].T, np.ascontiguousarray(rest.T)).T
        distances = column_lengths(rest)
        far = np.flatnonzero(distances > INSIDE)
        if not far.size:
            return kept
        farthest = far[np.argsort(-distances[far], kind="stable")[:VIEWS]]
        rays = seen[np.argmax((rest[:, farthest].T @ U[:, seen]) / towards[seen], axis=1)]
        # With rounding the largest may all be kept already; the columns that look are not.
        new = np.setdiff1d(rays, kept)
        alike = cdist(U[:, new].T, U[:, new].T) <= INSIDE
        new = new[~np.triu(alike, 1).any(axis=0)]  # the first of each direction
        kept = np.union1d(kept, new if new.size else outside[farthest[:1]])
        outside = outside[far]


def samples(X: Floats, n_columns: int, n_runs: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Return, `n_runs` times, the generators of the cone and as many random others as make `n_columns`."""
    kept = cone_generators(X)
    others = np.setdiff1d(np.arange(X.shape[1]), kept)
    more = min(max(n_columns - kept.size, 0), others.size)
    for _ in range(n_runs):
        yield np.union1d(kept, rng.choice(others, size=more, replace=False))
