"""A bar while work goes on: what is being minimised, or which pass over the data; and Ctrl-C."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from sepnmf.cli._app import complaints

if TYPE_CHECKING:
    from sepnmf.methods import Method

CHUNK_TASKS = ("on_one_core", "write_chunk")  # what Dask's tasks on one chunk are called
OFTEN = 0.5  # seconds between two looks at a cluster


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
def watched(method: "Method", options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield options with a callback that shows what falls; Ctrl-C then ends the method with what it has.

    A second Ctrl-C, or the first where a method cannot be stopped half-way, ends the command.
    """
    with bar() as progress, passes(progress):
        task = progress.add_task(method.name, total=method.iteration_limit(options), now="")
        if "callback" not in method.options:
            yield options
            return

        def seen(state: Any) -> bool:
            numbers = [f"{key} {value:.4g}" for key, value in list(state.numbers.items())[:2]]
            progress.update(task, completed=state.n_outer, now=", ".join(numbers))
            return stopped.is_set()

        with interrupt(method.stoppable) as stopped:
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
def passing() -> Iterator[None]:
    """A bar for every pass over data in chunks, and nothing for others."""
    with bar() as progress, passes(progress):
        yield


@contextmanager
def passes(progress: Progress) -> Iterator[None]:
    """Show the passes over data in chunks, wherever Dask makes them, if Dask is there."""
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
        shown.saw(shown.total + len(chunks), shown.done)

    def done(key: Any, *_: object) -> None:
        shown.saw(shown.total, shown.done + (key in counted))

    with Callback(start_state=begin, posttask=done), polled(shown):  # type: ignore[no-untyped-call]
        yield


class Passes:
    """A bar for every pass over data in chunks, from the numbers of chunks so far.

    Attributes
    ----------
    total, done : int
        Chunks of all passes that have begun, and how many of them are done.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.total = self.done = self.before = 0
        self.tasks: list[TaskID] = []

    def saw(self, total: int, done: int) -> None:
        """Show what there is now. Where all chunks known are done and there are more, a pass has begun."""
        if total > self.total and done >= self.total:
            self.before = self.total
            name = f"pass {len(self.tasks) + 1} over the data"
            self.tasks.append(self.progress.add_task(name, now="chunks"))
        self.total, self.done = total, done
        if self.tasks:
            self.progress.update(self.tasks[-1], completed=done - self.before, total=total - self.before)


@contextmanager
def polled(shown: Passes) -> Iterator[None]:
    """Ask the scheduler of the cluster, if there is one, twice a second; show nothing if it does not tell."""
    client = current_client()
    if client is None or shown.progress.disable:
        yield
        return
    over = threading.Event()

    def look() -> None:
        try:
            shown.total, shown.done = client.run_on_scheduler(chunk_counts)
            while not over.wait(OFTEN):
                shown.saw(*client.run_on_scheduler(chunk_counts))
        except Exception:  # a bar is not worth an error
            return

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=2)


def current_client() -> Any:
    """The client of a cluster, None if there is none."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def chunk_counts(dask_scheduler: Any) -> tuple[int, int]:
    """How many tasks on a chunk a scheduler has had, and how many of them are done."""
    prefixes = dask_scheduler.task_prefixes
    states = [prefixes[name].state_counts for name in CHUNK_TASKS if name in prefixes]
    return sum(state["waiting"] for state in states), sum(state["memory"] for state in states)
