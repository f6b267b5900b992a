"""Greedy methods in a few passes: guess all steps from columns that are held, then let every column object.

A greedy method takes, at each step, the column for which something is largest, and that something depends
on the columns taken before. One pass can check any number of steps: with a guess of the whole sequence at
hand, it compares every column with the one that was taken at every step. If no column objects, the
guess is what the method would have chosen. Otherwise the steps before the first objection are certain,
columns that object are held as well, and the next guess is made.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from sepnmf.chunked.passes import WIDEST, Block, Chunks, Held, Inspection, Part, Ranked, Reducer, put_together
from sepnmf.typing import Floats
from sepnmf.validation import Negative

MANY = 2000  # columns that object, held of one pass


@dataclass(eq=False)
class Objections:
    """Columns that object to steps of a guess, and one number for each column that was seen."""

    steps: dict[int, Ranked] = field(default_factory=dict)
    scores: list[Floats] = field(default_factory=list)

    def note(self, step: int, values: Floats, held: Held, which: Any, rounding: float) -> None:
        """Let that of some columns object whose value is largest."""
        places = np.flatnonzero(which)
        if places.size:
            k = places[np.argmax(values[places] >= values[places].max() - rounding)]
            self.steps[step] = Ranked(values[[k]], held.numbers[[k]], held.columns[:, [k]])


@dataclass(eq=False)
class Suspects:
    """What is known of a chunk: objections, and columns that were not asked yet."""

    objections: Objections = field(default_factory=Objections)
    waiting: list[Held] = field(default_factory=list)


class Guess(Reducer[Objections]):
    """A sequence of columns, with what decides about each step.

    Of a part it finds one number for each column, and the few columns that may object.
    """

    roundings: Floats  # by step: values closer than this are the same

    def of_part(self, part: Part) -> tuple[Floats, Held]:
        """Numbers of all columns of a part, and columns that may object."""
        raise NotImplementedError

    def objections(self, held: Held) -> Objections:
        """What columns that may object do object to."""
        raise NotImplementedError

    def more(self, found: "Suspects | None", part: Part) -> "Suspects":
        """What is known of the parts of a chunk, with one more; many suspects are asked at once."""
        found = found or Suspects()
        scores, held = self.of_part(part)
        found.objections.scores.append(scores)
        if held.numbers.size:
            found.waiting.append(held)
        if sum(held.columns.size for held in found.waiting) > WIDEST:
            self.ask(found)
        return found

    def ask(self, found: "Suspects") -> None:
        """Find out whether those who are waiting object."""
        if found.waiting:
            numbers = np.concatenate([held.numbers for held in found.waiting])
            columns = np.hstack([held.columns for held in found.waiting])
            found.objections = self.join(found.objections, self.objections(Held(numbers, columns)))
            found.waiting = []

    def of_chunk(self, found: "Suspects", block: Block) -> Objections:
        """What the columns of a chunk object to."""
        self.ask(found)
        found.objections.scores = [np.concatenate(found.objections.scores)]
        return found.objections

    def join(self, a: Objections, b: Objections) -> Objections:
        """What both object to."""
        most = max(MANY // len(self.roundings), 1)
        steps = a.steps | b.steps
        for step in a.steps.keys() & b.steps.keys():
            steps[step] = a.steps[step].joined(b.steps[step], most, float(self.roundings[step]))
        return Objections(steps, a.scores + b.scores)


AnyGuess = TypeVar("AnyGuess", bound=Guess)


def settle(
    chunks: Chunks, guess: Callable[[Held], AnyGuess], negative: Negative | None = None
) -> tuple[AnyGuess, Floats, dict[str, Floats], float]:
    """Guess and ask until no column objects that is not held already.

    Parameters
    ----------
    chunks : Chunks
        The columns.
    guess : callable
        From columns that are held to a guess.
    negative : {"error", "clip", "allow"}, optional
        Check the entries in the first pass; without, they have been checked.

    Returns
    -------
    made : Guess
        The last guess.
    scores : ndarray of shape (n,)
        Its numbers of all columns.
    history : dict
        The number of steps that were "certain" after each "pass".
    scale : float
        What the columns were divided by.
    """
    held, scale = chunks.glimpse(), 1.0
    certain = []
    while True:
        made = guess(held)
        if negative is None:
            (objections,) = chunks.scan(made)
        else:
            entries, objections = chunks.scan(Inspection(), made)
            chunks, scale = entries.checked(chunks, negative)
            negative = None
            if scale != 1.0:
                held = chunks.glimpse()
                continue
        certain.append(min(objections.steps, default=len(made.roundings)))
        more = held
        for ranked in objections.steps.values():
            more = more.joined(Held.of(ranked.numbers, ranked.columns))
        if len(more.numbers) == len(held.numbers):
            certain[-1] = len(made.roundings)
            history = {"pass": np.arange(1.0, len(certain) + 1), "certain": np.array(certain, np.float64)}
            return made, put_together(objections.scores, chunks.shape[1]), history, scale
        held = more
