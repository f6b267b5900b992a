"""Columns that are held in memory while others are not."""

from dataclasses import dataclass

import numpy as np

from sepnmf._typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Held:
    """Columns held in memory: their indices, ascending, and themselves, dense in float64."""

    indices: Ints
    columns: Floats

    @classmethod
    def of(cls, indices: Ints, columns: Floats) -> "Held":
        """Return columns given in any order, each kept once."""
        distinct, first = np.unique(indices, return_index=True)
        return cls(distinct, np.ascontiguousarray(columns[:, first]))

    def joined(self, other: "Held") -> "Held":
        """Return these columns and others."""
        return Held.of(
            np.concatenate([self.indices, other.indices]), np.hstack([self.columns, other.columns])
        )

    def at(self, positions: Ints) -> "Held":
        """Return some of these columns."""
        return Held.of(self.indices[positions], self.columns[:, positions])

    def positions(self, indices: Ints) -> Ints:
        """Return where columns with these indices are."""
        return np.searchsorted(self.indices, indices)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Columns with large values of something, the largest value first, ties by index."""

    values: Floats
    indices: Ints
    columns: Floats

    def joined(self, other: "Ranked", most: int, rounding: float = 0.0) -> "Ranked":
        """Return the first `most` of both; values that rounding cannot tell from the largest are ties."""
        values = np.concatenate([self.values, other.values])
        indices = np.concatenate([self.indices, other.indices])
        near = values >= values.max(initial=-np.inf) - rounding
        order = np.lexsort((indices, np.where(near, 0.0, -values), ~near))[:most]
        return Ranked(values[order], indices[order], np.hstack([self.columns, other.columns])[:, order])
