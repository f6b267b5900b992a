"""What is known of the anchors beforehand: columns that are anchors, and columns that are not."""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np

from sepnmf._typing import Bools, Ints, WhichColumns
from sepnmf._validation import shown
from sepnmf.matrix._matrix import Matrix


@dataclass(frozen=True, eq=False)
class Known:
    """Columns that are anchors, in the caller's order, and columns that are not."""

    include: Ints
    exclude: Ints

    @classmethod
    def of(cls, include: WhichColumns, exclude: WhichColumns) -> "Known":
        """Return what is known from two collections of indices."""
        return cls(np.array(include, dtype=np.intp), np.array(exclude, dtype=np.intp))

    @property
    def searched(self) -> str:
        """Where columns are chosen from, for messages."""
        return "M without its excluded columns" if len(self.exclude) else "M"

    def open(self, indices: Ints) -> Bools:
        """Return whether columns with these indices may still be chosen."""
        return ~np.isin(indices, np.append(self.include, self.exclude))

    def among(self, indices: Ints) -> "Known":
        """Return the same as positions among columns with ascending indices, which have the included ones."""
        return Known(np.searchsorted(indices, self.include), np.flatnonzero(np.isin(indices, self.exclude)))


NONE_KNOWN = Known.of((), ())


def known_columns(given: Matrix, used: Matrix, include: WhichColumns, exclude: WhichColumns) -> Known:
    """Return what the caller knows, as positions among the columns that are used, or say what is wrong.

    `given` has the columns as the caller knows them: integers are their indices, strings their names. `used`
    has those that are used.
    """
    included, excluded = column_indices(given, "include", include), column_indices(given, "exclude", exclude)
    both = np.intersect1d(included, excluded)
    if both.size:
        raise ValueError(f"Column {both[0]} is in include and in exclude: leave it in one of them.")
    known = Known(used_positions(given, "include", included), used_positions(given, "exclude", excluded))
    if included.size:
        zero = included[~used.take(known.include).any(axis=0)]
        if zero.size:
            raise ValueError(
                f"include has column {zero[0]}, which is zero and has no direction: leave it out."
            )
    return known


def check_counts(known: Known, r: int, n: int) -> None:
    """Refuse more included columns than r anchors, and too few of n columns that are not excluded."""
    count, left = len(known.include), n - len(known.exclude)
    if count > r:
        raise ValueError(
            f"include has {count} columns, more than the r={r} anchors asked for: include fewer, or ask for "
            "more anchors."
        )
    if left < r:
        raise ValueError(
            f"exclude leaves {left} of {n} columns, fewer than the r={r} anchors asked for: exclude fewer, "
            "or ask for fewer anchors."
        )


def column_indices(matrix: Matrix, name: str, which: Any) -> Ints:
    """Return distinct indices of the caller's columns from indices and names; `name` is the argument's."""
    if isinstance(which, str | bytes) or not isinstance(which, Collection) or getattr(which, "ndim", 1) != 1:
        raise ValueError(f"{name} must be a list of column indices or names, got {shown(which)}.")
    places: dict[str, list[int]] | None = None
    found: list[int] = []
    for item in which:
        if isinstance(item, str):
            places = places_of_names(matrix, name, item) if places is None else places
            index = place_of_name(places, name, str(item))
        elif isinstance(item, bool) or not isinstance(item, Integral):
            raise ValueError(f"{name} must hold column indices or names, got {shown(item)}.")
        else:
            index = int(item)
            if not 0 <= index < matrix.given_columns:
                raise ValueError(
                    f"{name} has column {index}, but M has the columns 0 to {matrix.given_columns - 1}."
                )
        found.append(index)
    distinct, counts = np.unique(found, return_counts=True)
    if len(distinct) < len(found):
        raise ValueError(f"{name} has column {distinct[counts.argmax()]} more than once: name it once.")
    return np.array(found, dtype=np.intp)


def places_of_names(matrix: Matrix, name: str, wanted: str) -> dict[str, list[int]]:
    """Return the indices of the columns with each name."""
    if matrix.columns is None or matrix.columns.name_of is None:
        raise ValueError(
            f"{name} has the name {shown(wanted)}, but the columns of M have no names: pass indices."
        )
    places: dict[str, list[int]] = {}
    for index in range(matrix.given_columns):
        places.setdefault(matrix.columns.name_of(index), []).append(index)
    return places


def place_of_name(places: dict[str, list[int]], name: str, wanted: str) -> int:
    """Return the index of the one column with this name."""
    if wanted not in places:
        close = get_close_matches(wanted, places)
        rest = f": did you mean {' or '.join(map(shown, close))}?" if close else ": check the spelling."
        raise ValueError(f"{name} has {shown(wanted)}, which is no name of a column{rest}")
    if len(places[wanted]) > 1:
        first, second = places[wanted][:2]
        raise ValueError(
            f"{name} has {shown(wanted)}, the name of several columns, such as {first} and {second}: "
            "pass an index."
        )
    return places[wanted][0]


def used_positions(matrix: Matrix, name: str, indices: Ints) -> Ints:
    """Return the positions of columns among those that are used; refuse others."""
    mask = None if matrix.columns is None else matrix.columns.mask
    if mask is not None and not mask[indices].all():
        first = indices[~mask[indices]][0]
        raise ValueError(f"{name} has column {first}, which is left out by the mask: choose another.")
    return matrix.positions(indices)
