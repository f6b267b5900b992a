"""Greedy methods on data in chunks: choose all steps on a working set, then verify them on every column.

A greedy method takes, at each step, the column for which some value is largest, and that value depends on the
columns taken before. One pass can verify any number of steps: with the whole sequence chosen on a working
set of columns in memory, it compares every column with the one that was taken at every step. If no column
violates a choice, the sequence is what the method would have chosen. Otherwise the steps before the first
violation are certain, the violating columns join the working set, and the sequence is chosen again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from sepnmf._typing import Floats
from sepnmf.matrix import NONE_KNOWN, Block, Chunked, Held, Known, Part, Ranked, Reducer, concatenated

MOST_VIOLATIONS = 2000  # columns that join the working set after one pass
WAITING = 2**21  # entries of candidates that wait to be examined


@dataclass(eq=False)
class Violations:
    """Columns that violate steps of a choice, and one number for each column that was seen."""

    steps: dict[int, Ranked] = field(default_factory=dict)
    scores: list[Floats] = field(default_factory=list)

    def note(self, step: int, values: Floats, held: Held, which: Any, rounding: float) -> None:
        """Note that of some violating columns whose value is largest."""
        places = np.flatnonzero(which)
        if places.size:
            k = places[np.argmax(values[places] >= values[places].max() - rounding)]
            self.steps[step] = Ranked(values[[k]], held.indices[[k]], held.columns[:, [k]])

    def compare(
        self, step: int, values: Floats, held: Held, free: Any, top: float, taken: int, rounding: float
    ) -> None:
        """Note that of the free columns whose value is larger than `top`, that of the column taken.

        Of columns with the same value, the first should have been taken.
        """
        larger = (values > top + rounding) | ((values >= top - rounding) & (held.indices < taken))
        self.note(step, values, held, larger & free & (held.indices != taken), rounding)


@dataclass(eq=False)
class Examined:
    """What is known of a chunk: violations, and candidates that were not examined yet."""

    violations: Violations = field(default_factory=Violations)
    waiting: list[Held] = field(default_factory=list)


class WorkingSetChoice(Reducer[Violations]):
    """A sequence of columns chosen on a working set, with what decides about each step.

    Of a part it computes one number for each column, and the candidates: the few columns that may violate a
    step. These are then examined exactly.
    """

    roundings: Floats  # for every step: values closer than this are the same

    def of_part(self, part: Part) -> tuple[Floats, Held]:
        """Return the numbers of all columns of a part, and the candidates."""
        raise NotImplementedError

    def violations(self, candidates: Held) -> Violations:
        """Return the steps that candidates violate."""
        raise NotImplementedError

    def more(self, found: Examined | None, part: Part) -> Examined:
        """Return what is known of the parts of a chunk, with one more; candidates are examined together."""
        found = found or Examined()
        scores, candidates = self.of_part(part)
        found.violations.scores.append(scores)
        if candidates.indices.size:
            found.waiting.append(candidates)
        if sum(candidates.columns.size for candidates in found.waiting) > WAITING:
            self.examine(found)
        return found

    def examine(self, found: Examined) -> None:
        """Find out which of the waiting candidates violate a step."""
        if found.waiting:
            indices = np.concatenate([candidates.indices for candidates in found.waiting])
            columns = np.hstack([candidates.columns for candidates in found.waiting])
            found.violations = self.join(found.violations, self.violations(Held(indices, columns)))
            found.waiting = []

    def of_chunk(self, found: Examined, block: Block) -> Violations:
        """Return the violations in a chunk."""
        self.examine(found)
        found.violations.scores = [np.concatenate(found.violations.scores)]
        return found.violations

    def join(self, a: Violations, b: Violations) -> Violations:
        """Return the violations in both."""
        most = max(MOST_VIOLATIONS // len(self.roundings), 1)
        steps = a.steps | b.steps
        for step in a.steps.keys() & b.steps.keys():
            steps[step] = a.steps[step].joined(b.steps[step], most, float(self.roundings[step]))
        return Violations(steps, a.scores + b.scores)


Choice = TypeVar("Choice", bound=WorkingSetChoice)


@dataclass(frozen=True, eq=False)
class Verified:
    """A choice that no column violates.

    Attributes
    ----------
    choice : WorkingSetChoice
        The choice.
    scores : ndarray of shape (n,)
        Its numbers of all columns.
    history : dict
        The number of steps that were "certain" after each "pass".
    scale : float
        What the entries were divided by.
    """

    choice: Any
    scores: Floats
    history: dict[str, Floats]
    scale: float


def choose_and_verify(
    matrix: Chunked, choose: Callable[[Held], Choice], known: Known = NONE_KNOWN
) -> Verified:
    """Choose on a working set and verify, until no column violates a step that is not in the working set.

    The working set has the included columns from the start. The entries of the matrix are checked in the
    first pass, if they have not been.
    """
    working_set = first_columns(matrix, known)
    certain = []
    while True:
        with np.errstate(over="ignore", invalid="ignore"):  # of entries that are scaled in a moment
            choice = choose(working_set)
        matrix, results = matrix.checked_scan(choice)
        if results is None:  # the entries had to be scaled
            working_set = first_columns(matrix, known)
            continue
        violations: Violations = results[0]
        certain.append(min(violations.steps, default=len(choice.roundings)))
        larger = working_set
        for ranked in violations.steps.values():
            larger = larger.joined(Held.of(ranked.indices, ranked.columns))
        if len(larger.indices) == len(working_set.indices):
            certain[-1] = len(choice.roundings)
            history = {"pass": np.arange(1.0, len(certain) + 1), "certain": np.array(certain, np.float64)}
            scores = concatenated(violations.scores, matrix.shape[1])
            return Verified(choice, scores, history, matrix.scale)
        working_set = larger


def first_columns(matrix: Chunked, known: Known) -> Held:
    """Return the working set at first: the included columns, and some others."""
    some = matrix.peek()
    if not len(known.include):
        return some
    return some.joined(Held.of(known.include, matrix.take(known.include)))
