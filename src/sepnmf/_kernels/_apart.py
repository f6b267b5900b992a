"""Work that Ctrl-C must not interrupt."""

import threading
from _thread import start_new_thread
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

WAITING = threading.Event()  # the main thread waits for numba


def apart(function: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own, so that Ctrl-C ends the wait for it and not the function.

    Ctrl-C raises an exception in the main thread. Numba that was imported in part, or interrupted while it
    compiled, fails in every later call.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def work() -> None:
        try:
            answers.put((function(), None))
        except BaseException as error:
            answers.put((None, error))

    start_new_thread(work, ())
    WAITING.set()
    try:
        value, error = answers.get()
    finally:
        WAITING.clear()
    if error is not None:
        raise error
    return value
