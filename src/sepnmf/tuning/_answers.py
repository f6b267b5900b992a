"""The answers of one call of `auto`: made by descent, kept in order, told to the callback."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepnmf._descent import Improve, Improved, Problem, descent, residual
from sepnmf._typing import Ints
from sepnmf.methods import Callback, State

Starts = dict[str, Ints]  # by the name of what found them


@dataclass(eq=False)
class Answer:
    """Anchors, where they come from, and their residual: NaN where it was not computed."""

    start: str
    improved: Improved
    residual: float

    @property
    def anchors(self) -> Ints:
        """The anchors after the descent."""
        return self.improved.anchors

    @property
    def settled(self) -> bool:
        """Whether no exchange that was tried helps."""
        return self.improved.settled

    def row(self) -> dict[str, Any]:
        """What the history says about this answer."""
        return {
            "start": self.start,
            "criterion": self.improved.criterion,
            "before": self.improved.before,
            "after": self.improved.after,
            "exchanges": self.improved.n_exchanges,
            "residual": self.residual,
            "settled": self.settled,
        }


class Stopped(Exception):
    """The callback asked to stop."""


class Answers:
    """All answers to a problem, in order."""

    def __init__(self, problem: Problem, callback: Callback | None) -> None:
        self.problem = problem
        self.callback = callback
        self.found: list[Answer] = []
        self.starts: Starts = {}  # that a descent was made from

    def __len__(self) -> int:
        return len(self.found)

    def best_by_descent(self, starts: Starts, if_they_differ: Callable[[], Starts] | None = None) -> Answer:
        """The answer with the least criterion after descent from all starts.

        If the answers from these differ, descend from the starts of `if_they_differ` too.
        """
        improve = descent(self.problem)
        answers = self.descended(improve, starts)
        if if_they_differ is not None and len({as_set(answer.anchors) for answer in answers}) > 1:
            answers += self.descended(improve, if_they_differ())
        best = min(answers, key=lambda answer: answer.improved.after)
        best.residual = residual(self.problem, best.anchors)
        return best

    def unless_by_chance(self, best: Answer, gain: float) -> Answer:
        """The best answer, or the best start if the descent gained no more than this over it."""
        start = min(self.found, key=lambda answer: answer.improved.before)
        if start.improved.before - best.improved.after > gain:
            return best
        if start.improved.n_exchanges == 0:
            return start
        value, anchors = start.improved.before, self.starts[start.start]
        kept = Improved(start.improved.criterion, value, value, 0, anchors, settled=True)
        return self.add(f"{start.start}, kept", kept, residual(self.problem, anchors))

    def descended(self, improve: Improve, starts: Starts) -> list[Answer]:
        """The answer from each start; equal starts descend once."""
        known: dict[frozenset[int], Improved] = {}
        answers = []
        self.starts |= starts
        for name, start in starts.items():
            if as_set(start) not in known:
                known[as_set(start)] = improve(start)
            improved = known[as_set(start)]
            left = residual(self.problem, improved.anchors) if self.problem.is_small else np.nan
            answers.append(self.add(name, improved, left))
        return answers

    def add_unchanged(self, start: str, anchors: Ints, before: float, after: float) -> Answer:
        """Add an answer without descent, which is compared by its residual over all columns."""
        return self.add(start, Improved("residual", before, after, 0, anchors, settled=True), after)

    def add(self, start: str, improved: Improved, left: float) -> Answer:
        """Add an answer with its residual, and call the callback."""
        answer = Answer(start, improved, left)
        self.found.append(answer)
        if self.callback is not None:
            numbers = {"after": improved.after, "residual": left}
            if self.callback(State("auto", len(self.found), None, numbers)):
                raise Stopped
        return answer

    def best_so_far(self) -> Answer | None:
        """The best of the answers that were found until now; None if there is none."""
        if not self.found:
            return None
        if self.problem.noise is not None:
            return min(self.found, key=lambda answer: answer.improved.after)
        return min(self.found, key=lambda answer: residual(self.problem, answer.anchors))

    def history(self) -> dict[str, Any]:
        """An array for each quantity, with an entry for each answer."""
        noise = self.problem.noise
        about = {"noise": "none", "structure": np.nan}
        if noise is not None:
            about = {"noise": noise.kind, "structure": noise.structure}
        rows = [answer.row() | about for answer in self.found]
        return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def as_set(anchors: Ints) -> frozenset[int]:
    """The anchors without their order."""
    return frozenset(anchors.tolist())
