"""`Session`: data, their anchors, and what a person does to them. It needs no screen."""

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sepnmf._overview import choose
from sepnmf._typing import ArrayLike, Bools
from sepnmf._validation import check_count, shown
from sepnmf.explorer._explored import Explored
from sepnmf.explorer._export import Exported, export, shown_command
from sepnmf.explorer._listing import FitByNumber
from sepnmf.explorer._source import Source
from sepnmf.explorer._state import Anchor, Change, State
from sepnmf.matrix import MatrixLike, Negative
from sepnmf.registry import find_method
from sepnmf.report._png import CATEGORIES
from sepnmf.tuning import estimate_rank

BY_HAND = "chosen by hand"  # status of anchors that are not those of a method
LONGEST_NAME = 80  # characters
COLOURS = tuple(f"#{colour}" for colour in CATEGORIES)
COLOUR = re.compile("#[0-9a-f]{6}")

# Gets the number of iterations so far, and the largest one or None; a true answer stops the method.
OnProgress = Callable[[int, int | None], Any]


class Session(Explored):
    """Data, the anchors of the moment, and acts that change them and can be undone.

    Of a large image only every so many lines and samples are held: methods select among these, and weights,
    maps and fit are theirs. Any pixel can be asked for and become an anchor; it is then read from the file.

    Use `Session.open`. Acts return a `Change`; an act that fails raises ValueError and changes nothing.
    """

    def __init__(self, source: Source, seed: int) -> None:
        super().__init__(source)
        self.seed = seed
        self._done: list[State] = []
        self._undone: list[State] = []
        self._curve: tuple[Bools, FitByNumber] | None = None

    @classmethod
    def open(
        cls,
        source: MatrixLike,
        r: int | None = None,
        method: str = "auto",
        random_state: int = 0,
        *,
        negative: Negative = "error",
        axis: str = "columns",
        on_progress: OnProgress | None = None,
        **reading: Any,
    ) -> "Session":
        """Open a file or a matrix and select the first anchors.

        Parameters
        ----------
        source : path or matrix_like of shape (m, n)
            A file that `sepnmf.io.read` reads, the data that it returns, or any container that
            `sepnmf.select` takes.
        r : int, optional
            Number of anchors; by default it is estimated.
        method : str, default "auto"
            A name in `sepnmf.METHODS`.
        random_state : int, default 0
            Seed of methods that use random numbers.
        negative : {"error", "clip", "allow"}, default "error"
            What to do with negative entries.
        axis : {"columns", "rows"}, default "columns"
            Whether anchors are columns or rows of the file.
        on_progress : callable, optional
            See `select_again`.
        **reading
            Options of `sepnmf.io.read`, for a file.

        Returns
        -------
        Session

        Raises
        ------
        ValueError
            If the file or the matrix cannot be read, or an argument is not as described.
        """
        session = cls(Source(source, negative, axis, reading), random_state)
        empty = State((), frozenset(), session.source.known(), find_method(method).name, "", np.empty(0))
        if r is None:
            r = estimate_rank(session.source.held, negative="allow", random_state=random_state).low
        session._show(session._selected(empty, r, on_progress))
        return session

    def fit_by_r(self, up_to: int, on_progress: OnProgress | None = None) -> list[tuple[int, float]]:
        """Return the best fit that is found with 1, 2, … anchors, as pairs (r, fit).

        Measured on a random sample of 300 of the used columns. The list is shorter if fewer anchors explain
        everything, or if `on_progress`, which is called with the number of pairs so far and `up_to`, gives a
        true answer. A later call goes on from there.
        """
        used = self._state.used
        if self._curve is None or self._curve[0] is not used:
            self._curve = used, FitByNumber(self.source.candidates(used, [])[1].bare(), self.seed)
        return self._curve[1].up_to(check_count(up_to, "up_to"), on_progress)

    # Acts --------------------------------------------------------------------------------------------

    def select_again(
        self, r: int | None = None, method: str | None = None, on_progress: OnProgress | None = None
    ) -> Change:
        """Select anchors by a method; locked anchors stay, and columns that are excluded are not selected.

        Parameters
        ----------
        r : int, optional
            Number of anchors, locked ones included; by default as many as there are.
        method : str, optional
            A name in `sepnmf.METHODS`; by default the one that was used before.
        on_progress : callable, optional
            Is called with the number of iterations so far and the largest number (None if there is none), by
            methods that have a callback. A true answer stops the method, which gives its anchors so far.
        """
        name = self.method if method is None else find_method(method).name
        began = time.perf_counter()
        state = self._selected(replace(self._state, method=name), self.r if r is None else r, on_progress)
        return self._done_with(f"{len(state.anchors)} anchors selected by {name}", state, began)

    def add(self, column: int) -> Change:
        """Make a column an anchor."""
        anchor = self._new(column)
        return self._by_hand(f"{anchor.name} added", (*self.anchors, anchor))

    def replace(self, position: int, column: int) -> Change:
        """Replace an anchor by a column, which takes over its colour."""
        old = self._state.anchor(position)
        anchor = replace(self._new(column), colour=old.colour)
        return self._by_hand(
            f"{old.name} replaced by {anchor.name}", self._state.with_anchor(position, anchor)
        )

    def drop(self, position: int) -> Change:
        """Remove an anchor."""
        old = self._state.anchor(position)
        if self.r == 1:
            raise ValueError(f"{old.name} is the only anchor: replace it, or add another one first.")
        return self._by_hand(f"{old.name} dropped", self._state.with_anchor(position))

    def exclude(self, column: int) -> Change:
        """Mark a column as no anchor: it is not selected again. If it is one, it is removed."""
        column = self.source.checked(column)
        anchors = tuple(anchor for anchor in self.anchors if anchor.column != column)
        if not anchors:
            raise ValueError(f"{self.anchors[0].name} is the only anchor: add another one first.")
        text = f"{self.data.column_label(column)} excluded"
        return self._by_hand(text, anchors, column)

    def lock(self, position: int, locked: bool = True) -> Change:
        """Keep an anchor when anchors are selected again, or keep it no longer."""
        anchor = replace(self._state.anchor(position), locked=bool(locked))
        text = f"{anchor.name} {'locked' if locked else 'unlocked'}"
        return self._act(text, anchors=self._state.with_anchor(position, anchor))

    def rename(self, position: int, name: str) -> Change:
        """Give an anchor a name, one line of text."""
        old, name = self._state.anchor(position), " ".join(str(name).split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise ValueError(f"A name must have 1 to {LONGEST_NAME} printable characters, got {shown(name)}.")
        if any(other is not old and other.name == name for other in self.anchors):
            raise ValueError(f"Another anchor is called {name}: choose another name.")
        return self._act(
            f"{old.name} renamed {name}", anchors=self._state.with_anchor(position, replace(old, name=name))
        )

    def recolour(self, position: int, colour: str) -> Change:
        """Give an anchor a colour, such as "#0072b2"."""
        old, colour = self._state.anchor(position), str(colour).lower()
        if not COLOUR.fullmatch(colour):
            raise ValueError(f'A colour is # and six hexadecimal digits, "#0072b2", got {shown(colour)}.')
        anchors = self._state.with_anchor(position, replace(old, colour=colour))
        return self._act(f"{old.name} has another colour", anchors=anchors)

    def use(self, mask: ArrayLike | None) -> Change:
        """Use only some columns: the others are neither candidates nor to be explained.

        Parameters
        ----------
        mask : array_like of bool or None
            Which columns are used: one value per column, an image of them, or a picture of those that are
            shown. None: all. Anchors that are left out are removed.
        """
        used = (
            self.source.known()
            if mask is None
            else self.source.known() & self.source.full_mask(np.asarray(mask))
        )
        anchors = tuple(anchor for anchor in self.anchors if used[anchor.column])
        if not anchors:
            raise ValueError("The mask leaves out all anchors: keep one, or add one first.")
        text = f"{used.sum():,} of {used.size:,} {self.data.what} are used"
        lost = self.r - len(anchors)
        if lost:
            return self._by_hand(f"{text}, {lost} anchor(s) left out", anchors, used=used)
        return self._act(text, used=used)

    def undo(self) -> Change:
        """Take back the last act."""
        return self._step("undone", self._done, self._undone)

    def redo(self) -> Change:
        """Do again what was taken back last."""
        return self._step("done again", self._undone, self._done)

    @property
    def can_undo(self) -> bool:
        """Whether there is an act to take back."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether there is an act to do again."""
        return bool(self._undone)

    # The result --------------------------------------------------------------------------------------

    def command(self, folder: str | os.PathLike[str] | None = None) -> str:
        """Return the command, a line of a shell, that `export` runs; it gives this result again.

        Of a mask that was drawn, and of data that are not in a file, it reads what `export` writes.
        """
        return shown_command(self.source, self._state, self.seed, self._folder(folder))

    def export(self, folder: str | os.PathLike[str] | None = None) -> Exported:
        """Write the files that `sepnmf unmix` writes of an image, or `sepnmf select`, and the report.

        Parameters
        ----------
        folder : path, optional
            Output folder; by default one in the working folder that is named after the file. Files of an
            earlier export are replaced.

        Returns
        -------
        Exported
            The paths of the files, and the command that writes them again.

        Raises
        ------
        ValueError
            If the command fails; the message is its own. The files of an earlier export are kept.
        """
        return export(self.source, self._state, self.seed, self._folder(folder))

    def _folder(self, given: str | os.PathLike[str] | None) -> Path:
        """Return the folder to write to."""
        return Path(f"{self.data.file.stem}-explored") if given is None else Path(given)

    # How acts are done -------------------------------------------------------------------------------

    def _act(self, text: str, **changes: Any) -> Change:
        """Change the state, and remember the one before it."""
        return self._done_with(text, replace(self._state, **changes), time.perf_counter())

    def _by_hand(self, text: str, anchors: tuple[Anchor, ...], *excluded: int, **changes: Any) -> Change:
        """Change the anchors, which are excluded no longer, and exclude other columns."""
        others = self._state.excluded.union(excluded).difference(anchor.column for anchor in anchors)
        return self._act(text, anchors=anchors, excluded=others, status=BY_HAND, **changes)

    def _done_with(self, text: str, state: State, began: float) -> Change:
        """Make a state the present one, and remember the one before it."""
        before = self._state
        self._show(state)
        self._done.append(before)
        self._undone.clear()
        return Change(text, before.fit, self.fit, time.perf_counter() - began)

    def _step(self, text: str, source: list[State], target: list[State]) -> Change:
        """Go to the last state of one stack, and put the present one on the other."""
        if not source:
            raise ValueError(f"There is nothing to be {text}.")
        began, before = time.perf_counter(), self._state
        self._show(source[-1])
        source.pop()
        target.append(before)
        return Change(text, before.fit, self.fit, time.perf_counter() - began)

    def _show(self, state: State) -> None:
        """Compute weights and fit, and make a state the present one."""
        explained = self._weights.of(
            {column: self.source.column(column) / self.source.held.scale for column in state.columns}
        )
        fit = explained.fit(state.used[self.shown.columns[self.shown.known]])
        self._state, self._explained = replace(state, fit=fit), explained

    def _selected(self, state: State, r: int, on_progress: OnProgress | None) -> State:
        """Return a state with r anchors that its method selects; locked ones come first."""
        locked = [anchor for anchor in state.anchors if anchor.locked]
        columns, matrix = self.source.candidates(state.used, [anchor.column for anchor in locked])
        place = {int(column): k for k, column in enumerate(columns)}
        options: dict[str, Any] = {}
        if locked:
            options["include"] = [place[anchor.column] for anchor in locked]
        excluded = [place[column] for column in state.excluded if column in place and state.used[column]]
        if excluded:
            options["exclude"] = excluded
        record = find_method(state.method)
        if on_progress is not None and "callback" in record.options:
            limit = record.iteration_limit({})
            options["callback"] = lambda iteration: on_progress(iteration.n_outer, limit)
        sel = choose(matrix, check_count(r, "r"), state.method, random_state=self.seed, **options)
        known = {anchor.column: anchor for anchor in state.anchors}
        anchors = list(locked)
        for column in columns[sel.anchors].tolist():
            if column not in {anchor.column for anchor in anchors}:
                anchors.append(known.get(column) or self._named(column, anchors))
        scores = sel.scores[: self.source.held.shape[1]]
        return replace(state, anchors=tuple(anchors), status=sel.status, scores=scores)

    def _named(self, column: int, others: Sequence[Anchor]) -> Anchor:
        """Return a column as an anchor, in the first colour that the others have the least often."""
        taken = [anchor.colour for anchor in others]
        return Anchor(column, self.data.column_label(column), min(COLOURS, key=taken.count))

    def _new(self, column: int) -> Anchor:
        """Return a column as a new anchor."""
        column = self.source.checked(column)
        anchor = self._named(column, self.anchors)
        if column in self._state.columns:
            raise ValueError(f"{anchor.name} is an anchor already.")
        if not self._state.used[column]:
            raise ValueError(f"{anchor.name} is left out by the mask: change it, or choose another column.")
        if not self.source.column(column).any():
            raise ValueError(f"{anchor.name} is zero and has no direction: choose another column.")
        return anchor
