"""One computation at a time, in a thread, with progress and a way to stop it."""

import threading
import time
from collections.abc import Callable
from typing import Any

OFTEN = 0.1  # seconds between two reports that are shown


class Work:
    """The computation that is under way.

    Attributes
    ----------
    name : str
        What is computed; empty if nothing is.
    share : float or None
        How much of it is done, from 0 to 1; None if this is not known.
    """

    def __init__(self, on_progress: Callable[[], None]) -> None:
        self.name = ""
        self.share: float | None = None
        self._on_progress = on_progress
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._due = 0.0

    def start(
        self,
        name: str,
        compute: Callable[[Callable[[int, int | None], bool]], Any],
        done: Callable[[Any, Exception | None], None],
    ) -> bool:
        """Start a computation; return False, and do nothing, if another one is under way.

        Parameters
        ----------
        name : str
            What is computed.
        compute : callable
            Gets a function that it calls with the steps done and their largest number, or None. A true
            answer asks it to stop.
        done : callable
            Gets, in the thread of the computation, the result and None, or None and the exception.
        """
        with self._lock:
            if self.name:
                return False
            self.name = name
        self.share, self._due = None, 0.0
        self._stopping.clear()
        self._on_progress()
        threading.Thread(target=self._run, args=(compute, done), daemon=True).start()
        return True

    def _run(self, compute: Callable[..., Any], done: Callable[[Any, Exception | None], None]) -> None:
        """Compute, and pass the result or the exception on."""
        result, failure = None, None
        try:
            result = compute(self._report)
        except Exception as error:
            failure = error
        self.name = ""
        done(result, failure)

    def _report(self, steps: int, most: int | None) -> bool:
        """Show how far the computation is; return whether it has to stop."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + OFTEN
            self.share = min(steps / most, 1.0) if most else None
            self._on_progress()
        return self._stopping.is_set()

    def stop(self) -> None:
        """Ask the computation to stop at its next report."""
        self._stopping.set()
