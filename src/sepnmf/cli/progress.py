"""A bar while work goes on: what is being minimised, or which pass over the data; and Ctrl-C."""

import inspect
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from sepnmf.cli.app import complaints

LIMITS = ("max_outer", "max_iter")  # what methods call the most iterations


@contextmanager
def bar() -> Iterator[Progress]:
    """A progress bar on the standard error, if that is a terminal; gone when the work is done."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[now]}", markup=False),
    )
    silent = not complaints.is_terminal
    with Progress(*columns, console=complaints, transient=True, disable=silent) as progress:
        yield progress


@contextmanager
def watched(method: Callable[..., Any], name: str, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Options with a callback that shows what falls; Ctrl-C then ends the method with what it has.

    A second Ctrl-C, or the first where a method has no callback, ends the command.
    """
    parameters = inspect.signature(method).parameters
    with bar() as progress, passes(progress):
        limit = next((parameters[key].default for key in LIMITS if key in parameters), None)
        total = options.get("max_outer", options.get("max_iter", limit))
        task = progress.add_task(name, total=total, now="")
        if "callback" not in parameters:
            yield options
            return

        def seen(state: Any) -> bool:
            numbers = [f"{key} {value:.4g}" for key, value in list(state.numbers.items())[:2]]
            progress.update(task, completed=state.n_outer, now=", ".join(numbers))
            return stopped.is_set()

        stoppable = name not in ("auto", "tuned-admm")
        with interrupt(stoppable) as stopped:
            yield options | {"callback": seen}


@contextmanager
def interrupt(stoppable: bool) -> Iterator[threading.Event]:
    """Whether Ctrl-C was pressed."""
    stopped = threading.Event()
    if not stoppable or threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(*_: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def passes(progress: Progress) -> Iterator[None]:
    """Show the passes over data in chunks, if Dask is there."""
    try:
        from dask.callbacks import Callback
    except ImportError:
        yield
        return
    tasks: list[TaskID] = []

    def begin(_: Any, state: dict[str, Any]) -> None:
        total = sum(len(state[key]) for key in ("ready", "waiting"))
        tasks.append(progress.add_task(f"pass {len(tasks) + 1} over the data", total=total, now=""))

    def done(*_: object) -> None:
        progress.advance(tasks[-1])

    with Callback(start_state=begin, posttask=done):  # type: ignore[no-untyped-call]
        yield
