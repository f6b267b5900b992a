"""The columns as the caller knows them: which are used, what they are called, how weights are handed back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepnmf._typing import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of what the caller passed.

    Attributes
    ----------
    count : int
        How many there are.
    kept : ndarray of int or None
        Indices of those that are used, ascending; None if all are.
    name_of : callable or None
        Returns the name of the column with an index; None if columns have no names.
    wrap : callable or None
        Turns weights, one column for each of these, into the caller's kind of container.
    """

    count: int
    kept: Ints | None = None
    name_of: Callable[[int], str] | None = None
    wrap: Callable[[Any], Any] | None = None

    @property
    def mask(self) -> Bools | None:
        """Whether each column is used; None if all are."""
        if self.kept is None:
            return None
        mask = np.zeros(self.count, dtype=bool)
        mask[self.kept] = True
        return mask

    def positions(self, indices: Ints) -> Ints:
        """Return the positions among the used columns of columns with the caller's indices."""
        if self.kept is None:
            return indices
        positions = np.searchsorted(self.kept, indices)
        found = np.minimum(positions, len(self.kept) - 1)
        missing = np.flatnonzero(self.kept[found] != indices)
        if missing.size:
            raise ValueError(f"Column {int(indices[missing[0]])} is left out by the mask: choose another.")
        return found

    def indices(self, positions: Ints) -> Ints:
        """Return the caller's indices of used columns."""
        return positions if self.kept is None else self.kept[positions]

    def names(self, indices: Ints) -> tuple[str, ...] | None:
        """Return the names of columns with the caller's indices; None if columns have no names."""
        return None if self.name_of is None else tuple(self.name_of(int(j)) for j in indices)

    def used_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return options of a method; `weights` (n) and `init` (n × n) are cut to the used columns."""
        if self.kept is None:
            return options
        found = dict(options)
        for name, shape in (("weights", (self.count,)), ("init", (self.count, self.count))):
            array = np.asarray(found.get(name))
            if array.shape == shape:
                found[name] = array[np.ix_(*[self.kept] * len(shape))]
        return found

    def spread(self, values: Floats, fill: float) -> Floats:
        """Return values of the used columns, along the last axis, as values of all; `fill` for the others."""
        if self.kept is None:
            return values
        whole = np.full((*values.shape[:-1], self.count), fill, values.dtype)
        whole[..., self.kept] = values
        return whole
