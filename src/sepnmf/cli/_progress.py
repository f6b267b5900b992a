"""Progress bars for iterations and for passes over data in chunks, and the handling of Ctrl-C."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from sepnmf.cli._app import error_console

if TYPE_CHECKING:
    from sepnmf.methods import Method

CHUNK_TASKS = ("on_one_core", "write_chunk")  # names of Dask tasks that process one chunk
POLL_SECONDS = 0.5  # between two requests to the scheduler of a cluster


@contextmanager
def bar() -> Iterator[Progress]:
    """Show a progress bar on standard error if it is a terminal; it is removed at the end."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[now]}", markup=False),
    )
    silent = not error_console.is_terminal
    with Progress(*columns, console=error_console, transient=True, disable=silent) as progress:
        yield progress


@contextmanager
def watched(method: "Method", options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the options of a method with a callback that updates a progress bar.

    The first Ctrl-C stops the method, which then returns its anchors so far. A second Ctrl-C, or the first if
    the method cannot be stopped, ends the command.
    """
    with bar() as progress, passes(progress):
        task = progress.add_task(method.name, total=method.iteration_limit(options), now="")
        if "callback" not in method.options:
            yield options
            return

        def on_iteration(state: Any) -> bool:
            numbers = [f"{key} {value:.4g}" for key, value in list(state.numbers.items())[:2]]
            progress.update(task, completed=state.n_outer, now=", ".join(numbers))
            return stopped.is_set()

        with interrupt(method.stoppable) as stopped:
            yield options | {"callback": on_iteration}


@contextmanager
def interrupt(stoppable: bool) -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets, if the method is stoppable; a second Ctrl-C raises an exception."""
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
def passing() -> Iterator[None]:
    """Show a progress bar for every pass over data in chunks; for data in memory, show nothing."""
    with bar() as progress, passes(progress):
        yield


@contextmanager
def passes(progress: Progress) -> Iterator[None]:
    """Show the passes that Dask makes over data in chunks, on this machine or on a cluster."""
    try:
        from dask.callbacks import Callback
        from dask.utils import key_split
    except ImportError:
        yield
        return
    shown = Passes(progress)
    counted: set[Any] = set()

    def begin(_: Any, state: dict[str, Any]) -> None:
        tasks = {*state["ready"], *state["waiting"]}
        chunks = {key for key in tasks if key_split(key) in CHUNK_TASKS} or tasks
        counted.update(chunks)
        shown.update(shown.total + len(chunks), shown.done)

    def done(key: Any, *_: object) -> None:
        shown.update(shown.total, shown.done + (key in counted))

    with Callback(start_state=begin, posttask=done), polled(shown):  # type: ignore[no-untyped-call]
        yield


class Passes:
    """One progress bar per pass, derived from the total and done numbers of chunks of all passes."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.total = self.done = self.before = 0
        self.tasks: list[TaskID] = []

    def update(self, total: int, done: int) -> None:
        """Update the bars. A new pass begins when there are more chunks after all known ones are done."""
        if total > self.total and done >= self.total:
            self.before = self.total
            name = f"pass {len(self.tasks) + 1} over the data"
            self.tasks.append(self.progress.add_task(name, now="chunks"))
        self.total, self.done = total, done
        if self.tasks:
            self.progress.update(self.tasks[-1], completed=done - self.before, total=total - self.before)


@contextmanager
def polled(shown: Passes) -> Iterator[None]:
    """Poll the scheduler of the cluster, if there is one, and update the bars."""
    client = current_client()
    if client is None or shown.progress.disable:
        yield
        return
    over = threading.Event()

    def poll() -> None:
        try:
            shown.total, shown.done = client.run_on_scheduler(chunk_counts)
            while not over.wait(POLL_SECONDS):
                shown.update(*client.run_on_scheduler(chunk_counts))
        except Exception:  # a progress bar must not make the command fail
            return

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=2)


def current_client() -> Any:
    """Return the client of the current cluster, or None if there is none."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def chunk_counts(dask_scheduler: Any) -> tuple[int, int]:
    """Return how many tasks on chunks a scheduler has received, and how many of them are done."""
    prefixes = dask_scheduler.task_prefixes
    states = [prefixes[name].state_counts for name in CHUNK_TASKS if name in prefixes]
    return sum(state["waiting"] for state in states), sum(state["memory"] for state in states)
