"""One session and the windows that show it: an act in one window is seen in all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from sepnmf.explorer._export import Exported
from sepnmf.explorer._session import OnProgress, Session
from sepnmf.explorer._state import Change
from sepnmf.explorer._work import Work

Act = Callable[[Session, OnProgress], Change]


class Window(Protocol):
    """What shows the session."""

    def changed(self) -> None:
        """Is called, in any thread, after the session has changed."""

    def progressed(self) -> None:
        """Is called, in any thread, while something is computed."""


class Explorer:
    """A session, the computation that is under way, and the windows that show both.

    Attributes
    ----------
    session : Session
        Data and anchors.
    work : Work
        The computation that is under way.
    message : str
        What the last act did, or why it could not be done.
    failed : bool
        Whether the message says that something could not be done.
    curve : list of (int, float)
        Fit of each number of anchors, as far as it was computed.
    exported : tuple of Path
        The files that were written last.
    windows : list of Window
        The windows.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.message, self.failed = "", False
        self.curve: list[tuple[int, float]] = []
        self.exported: tuple[Path, ...] = ()
        self.windows: list[Window] = []
        self.work = Work(self._progressed)

    def act(self, name: str, act: Act) -> None:
        """Do something to the session, unless something else is being done."""

        def done(change: Change | None, failure: Exception | None) -> None:
            self._say(str(failure) if change is None else told(change), failed=change is None)

        self._start(name, lambda report: act(self.session, report), done)

    def compute_curve(self, up_to: int) -> None:
        """Compute the fit of 1, 2, … anchors."""

        def done(curve: list[tuple[int, float]] | None, failure: Exception | None) -> None:
            self.curve = curve or self.curve
            self._say(str(failure or ""), failed=failure is not None)

        self._start("Fit against r", lambda report: self.session.fit_by_r(up_to, report), done)

    def export(self, folder: str) -> None:
        """Write the results to a folder."""

        def done(exported: Exported | None, failure: Exception | None) -> None:
            self.exported = () if exported is None else tuple(exported.paths)
            self._say(f"Written to {folder}" if exported else str(failure), failed=exported is None)

        self._start("Export", lambda _: self.session.export(folder), done)

    def say(self, message: str) -> None:
        """Show why something cannot be done."""
        self._say(message, failed=True)

    def _start(self, name: str, compute: Callable[..., Any], done: Callable[..., None]) -> None:
        if not self.work.start(name, compute, done):
            self.say(f"{self.work.name} is not finished: wait, or stop it.")

    def _say(self, message: str, *, failed: bool) -> None:
        self.message, self.failed = message, failed
        for window in tuple(self.windows):
            window.changed()

    def _progressed(self) -> None:
        for window in tuple(self.windows):
            window.progressed()


def told(change: Change) -> str:
    """Return what an act did to the fit, in one line.

    >>> told(Change("water added", 0.9712, 0.9731, 0.02))
    'water added: fit 97.12% → 97.31%, +0.19 points (0.02 s)'
    """
    points = 100 * (change.fit_after - change.fit_before)
    sign = "+" if points > 0 else "−" if points < 0 else "±"
    fits = f"fit {change.fit_before:.2%} → {change.fit_after:.2%}"
    return f"{change.text}: {fits}, {sign}{abs(points):.2f} points ({change.seconds:.2f} s)"
