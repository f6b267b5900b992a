"""Progress of a command and the handling of Ctrl-C.

On a terminal, every stage of a command has a bar. Otherwise, a line is printed to standard error now and
then: the first after two seconds, the next after ten more, and then at intervals that grow.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from sepnmf.cli._app import INTERRUPTED, STOPPED, UserError, error_console, printable

if TYPE_CHECKING:
    from sepnmf.methods import Method

CHUNK_TASKS = ("on_one_core", "write_chunk")  # names of Dask tasks that process one chunk
POLL_SECONDS = 0.5  # between two requests to the scheduler of a cluster
FIRST_LINE, NEXT_LINE = 2.0, 10.0  # seconds until the first line, and between it and the second
GROWTH, LONGEST = 1.5, 120.0  # factor between intervals, and the longest of them in seconds


class Counts(MofNCompleteColumn):
    """How many of how many are done; nothing for a stage that does not count."""

    def render(self, task: Task) -> Text:
        """Return the text of the column."""
        counts = task.total is not None or task.completed > 0
        return super().render(task) if counts else Text("")


class Remaining(TimeRemainingColumn):
    """The time that is left; nothing for a stage that does not know."""

    def render(self, task: Task) -> Text:
        """Return the text of the column."""
        left = super().render(task)
        return Text("") if task.total is None or task.finished else Text("left ") + left


class Schedule:
    """When lines are printed while standard error is not a terminal."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.interval = NEXT_LINE
        self.due = self.began + FIRST_LINE
        self.wake = threading.Event()  # ends the wait for the time when a line is due

    def is_due(self, now: float) -> bool:
        """Return whether a line is due; if it is, the next one is due after a longer interval."""
        if now < self.due:
            return False
        self.due = now + self.interval
        self.interval = min(self.interval * GROWTH, LONGEST)
        return True


schedule = Schedule()


def begin_command() -> None:
    """Count the seconds until the first line from now on."""
    global schedule  # noqa: PLW0603
    schedule = Schedule()


@contextmanager
def bar(console: Console | None = None) -> Iterator[Progress]:
    """Show progress: bars on standard error that are removed at the end; lines if it is no terminal."""
    console = console or error_console
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        Counts(),
        TimeElapsedColumn(),
        Remaining(),
        TextColumn("{task.fields[now]}", markup=False),
    )
    silent = not console.is_terminal
    shown = Progress(*columns, console=console, transient=True, disable=silent, redirect_stdout=False)
    with shown, lines(shown) if silent else nullcontext():
        yield shown


@contextmanager
def lines(shown: Progress) -> Iterator[None]:
    """Print the state of the last unfinished task when a line is due."""
    over = threading.Event()
    wake = schedule.wake

    def watch() -> None:
        while not over.is_set():
            if wake.wait(min(max(schedule.due - time.monotonic(), 0.1), LONGEST)):
                wake.clear()
            text = "" if over.is_set() else state(shown)
            if text and schedule.is_due(time.monotonic()):
                error_console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        wake.set()
        thread.join()
        wake.clear()


def state(shown: Progress) -> str:
    """Return one line: what is done, how much of it, for how long, and about how much time is left."""
    task = next((task for task in reversed(shown.tasks) if not task.finished), None)
    if task is None:
        return ""
    unit, bound = task.fields.get("unit", ""), task.fields.get("bound", "")
    text = task.description
    if task.total is not None:
        text += f": {task.completed:g} of {bound}{task.total:g} {unit}"
    elif task.completed:
        text += f": {task.completed:g} {unit}"
    now = task.fields.get("now", "")
    text = f"{text.rstrip()}, {now}" if now else text.rstrip()
    elapsed, left = task.elapsed or 0.0, None if bound else task.time_remaining
    text += f", {duration(elapsed)}" if elapsed >= 1 else ""
    return text if left is None else f"{text}, about {duration(left)} left"


def duration(seconds: float) -> str:
    """Return a number of seconds for a reader."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@contextmanager
def stage(
    description: str, total: int | None = None, unit: str = "", *, bound: str = ""
) -> Iterator[Callable[..., None]]:
    """Show one stage of a command; yields a function that updates `completed`, `total` and `now`.

    Passes over data in chunks are shown below the stage. `bound` is "at most " if the stage may end earlier.
    """
    with bar() as shown, passes(shown):
        task = shown.add_task(description, total=total, now="", unit=unit, bound=bound)

        def update(**values: Any) -> None:
            shown.update(task, **values)

        yield update


@contextmanager
def watched(method: "Method", options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the options of a method with a callback that updates a progress bar.

    The first Ctrl-C stops the method, which then returns its anchors so far. A second Ctrl-C, or the first if
    the method cannot be stopped or has no anchors yet, ends the command.
    """
    limit = method.iteration_limit(options)
    with stage(f"selecting anchors ({method.name})", limit, "iterations", bound="at most ") as update:
        if "callback" not in method.options:
            yield options
            return

        def on_iteration(state: Any) -> bool:
            begun.set()
            numbers = [f"{key} {value:.4g}" for key, value in list(state.numbers.items())[:2]]
            update(completed=state.n_outer, now=", ".join(numbers))
            return stopped.is_set()

        begun = threading.Event()
        with interrupt(method.stoppable, begun) as stopped:
            yield options | {"callback": on_iteration}


@contextmanager
def interrupt(stoppable: bool, begun: threading.Event) -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets, if the method is stoppable; a second Ctrl-C raises an exception.

    The first one does so too before the method has `begun` to have anchors, and while it waits for kernels to
    be compiled, which takes many seconds the first time. KeyboardInterrupt would only stop the method.
    """
    from sepnmf._kernels._apart import WAITING

    stopped = threading.Event()
    if not stoppable or threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(*_: object) -> None:
        if stopped.is_set() or not begun.is_set():
            raise KeyboardInterrupt
        if WAITING.is_set():
            raise UserError(STOPPED, INTERRUPTED)
        stopped.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


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
            self.tasks.append(self.progress.add_task(name, now="", unit="chunks"))
        self.total, self.done = total, done
        if self.tasks:
            self.progress.update(self.tasks[-1], completed=done - self.before, total=total - self.before)


@contextmanager
def polled(shown: Passes) -> Iterator[None]:
    """Poll the scheduler of the cluster, if there is one, and update the bars."""
    client = current_client()
    if client is None:
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
