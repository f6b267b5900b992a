"""Columns that the user knows to be anchors, or not to be: --include, --exclude and --labels."""

import csv
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sepnmf.cli._app import UserError, print_error

if TYPE_CHECKING:
    from sepnmf.io import Data
    from sepnmf.matrix import Matrix

INDEX = re.compile(r"-?[0-9]+")
SHOWN = 10  # columns that are listed by their labels

KnownColumns = dict[str, list[int]]  # the indices to "include" and to "exclude"


@dataclass(frozen=True)
class Asked:
    """What was written behind --include, --exclude and --labels, in parts."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, include: str | None, exclude: str | None, labels: str | None = None) -> "Asked":
        """Split texts at their commas; refuse labels that do not belong to the included columns."""
        asked = cls(split(include, "--include"), split(exclude, "--exclude"), split(labels, "--labels"))
        if asked.labels and len(asked.labels) != len(asked.include):
            raise UserError(
                f"--labels has {len(asked.labels)} name(s), and --include {len(asked.include)} column(s): "
                "give one name for each included column."
            )
        twice = next((name for name in asked.labels if asked.labels.count(name) > 1), None)
        if twice is not None:
            raise UserError(f"--labels has {twice!r} more than once: give each column a name of its own.")
        return asked

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def columns(
        self, data: "Data", matrix: "Matrix", *, are_words: bool = False
    ) -> tuple["Data", KnownColumns]:
        """Return the data with the user's labels and with what is said, which is printed, and the columns.

        If columns are words, every part is a name.
        """
        from sepnmf.matrix import column_indices

        known = {}
        for name, parts in (("include", self.include), ("exclude", self.exclude)):
            which = parts if are_words else [item(part, name, data) for part in parts]
            known[name] = column_indices(matrix, name, which).tolist()
        if self.labels:
            data = replace(data, labels=dict(zip(known["include"], self.labels, strict=True)))
        said = [
            f"{what} (--{name}): {listed(data, known[name])}."
            for name, what in (("include", "Given as anchors"), ("exclude", "Not taken as anchors"))
            if known[name]
        ]
        for sentence in said:
            print_error(sentence)
        return replace(data, assumptions=(*data.assumptions, *said)), known


def listed(data: "Data", columns: list[int]) -> str:
    """Return the labels of columns; of many, the first, and how many there are."""
    labels = "; ".join(data.column_label(column) for column in columns[:SHOWN])
    return labels if len(columns) <= SHOWN else f"{labels}; … ({len(columns):,} in all)"


def split(text: str | None, option: str) -> tuple[str, ...]:
    """Return the parts between commas; a part in quotation marks may have commas."""
    if text is None:
        return ()
    try:
        parts = [part.strip() for line in csv.reader([text], skipinitialspace=True) for part in line]
    except csv.Error:
        parts = []
    if not parts or not all(parts):
        raise UserError(
            f"{option} must have parts with commas between them, none of them empty, got {text!r}."
        )
    return tuple(parts)


def item(text: str, name: str, data: "Data") -> int | str:
    """Return the index of a column from an index or line:sample; other texts are names."""
    if INDEX.fullmatch(text):
        return int(text)
    try:
        column = data.column_of(text)
    except ValueError as error:
        raise UserError(f"--{name}: {error}") from None
    return text if column is None else column
