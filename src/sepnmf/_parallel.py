"""Multithreading over blocks of rows or columns; apart from BLAS, no other module starts threads."""

import os
import threading
from _thread import start_new_thread
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from queue import Empty, SimpleQueue
from time import sleep
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from sepnmf._typing import Floats
from sepnmf._validation import check_count

# Rows or columns of a block. Blocks do not depend on the number of threads, so neither do sums over blocks.
BLOCK = 108
# For n × n arrays with fewer rows, waking a thread takes longer than a pass over the array.
SMALLEST = 200

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_cores() -> int:
    """Number of cores this process may use: its CPU affinity, limited by OMP_NUM_THREADS."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


def number_of_threads(n_jobs: int | None) -> int:
    """`n_jobs`, or as many as there are cores."""
    return available_cores() if n_jobs is None else check_count(n_jobs, "n_jobs")


@cache  # one thread in a process
def end_with_parent(parent: int) -> None:
    """End this process within a second of its parent: a killed parent cannot end its children.

    The parent says which it is: it may have ended before its child has come this far.
    """

    def watch() -> None:
        while os.getppid() == parent:
            sleep(0.5)
        os._exit(1)

    start_new_thread(watch, ())


class SingleBLAS:
    """Context manager that limits BLAS to one thread; may be entered by several Python threads.

    BLAS threads wait for work in a busy loop and would compete for the cores with the threads of `Workers`,
    which split matrix products among themselves. The limit is a property of the process, so the first thread
    to enter sets it and the last one to leave restores it.

    Ctrl-C raises an exception anywhere, also in the first line of `__exit__` or in the middle of setting a
    limit. So every step may be repeated, and a context that was not left is left when it is collected.
    """

    _lock = threading.RLock()  # re-entrant: a context may be collected while another one is entered
    _inside: ClassVar[set[int]] = set()
    _before: ClassVar[list[tuple[Any, int]]] = []  # BLAS libraries and their numbers of threads

    def __enter__(self) -> None:
        from threadpoolctl import ThreadpoolController

        cls = SingleBLAS
        try:
            with cls._lock:
                cls._inside.add(id(self))
                if not cls._before:
                    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                    cls._before = [(library, library.num_threads) for library in libraries]
                    for library in libraries:
                        set_threads(library, 1)
        except BaseException:
            self.leave()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self.leave()
        except BaseException:
            self.leave()
            raise

    def __del__(self) -> None:
        if id(self) in SingleBLAS._inside:
            self.__exit__()

    def leave(self) -> None:
        """Restore the numbers of threads if no other context is entered; do nothing if this one is not."""
        cls = SingleBLAS
        with cls._lock:
            if cls._inside == {id(self)}:
                cls.restore()
            cls._inside.discard(id(self))

    @classmethod
    def restore(cls) -> None:
        """Restore the numbers of threads."""
        for library, threads in cls._before:
            set_threads(library, threads)
        cls._before = []


def set_threads(library: Any, threads: int) -> None:
    """Set the number of threads of a BLAS library, from whichever thread this is called.

    Recent versions of threadpoolctl give OpenBLAS to the first thread that sets a number, and do nothing for
    others until it has ended or is cleared.
    """
    clear = getattr(library, "clear_controlling_thread", lambda force: None)
    clear(force=True)
    library.set_num_threads(threads)
    clear(force=True)


def reset_after_fork() -> None:
    """Restore the limits in a child process, where the threads that set them do not exist."""
    SingleBLAS._lock = threading.RLock()
    SingleBLAS._inside.clear()
    SingleBLAS.restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_after_fork)


Order = tuple[Callable[[int], None], int, "SimpleQueue[BaseException | None]"]


def serve(orders: "SimpleQueue[Order | None]", ends: "SimpleQueue[None]") -> None:
    """Run tasks until there is a None; answer each with the exception that it raised, or with None."""
    while (order := orders.get()) is not None:
        task, worker, answers = order
        try:
            task(worker)
        except BaseException as error:
            answers.put(error)
        else:
            answers.put(None)
        del order, task, answers  # and the arrays that the task refers to
    ends.put(None)


class Workers:
    """Context manager with `n_jobs` threads for work on blocks of the rows or columns of n × n arrays.

    By default there are as many threads as cores, and a single one for small n. The threads are started on
    entry and end on exit; no thread pool is shared between calls or inherited by a forked process. `block` is
    the length of a block, if it is to be another.

    Threads and their queues are those of the interpreter, written in C. The conditions behind `threading` and
    `concurrent.futures` may stay locked after Ctrl-C, and whoever waits for them then waits for ever.

    Attributes
    ----------
    count : int
        Number of threads.
    blocks : list of slice
        0 … n − 1 in small parts that do not depend on `count`: for sums, and for passes that stay in cache.
    shares : list of slice
        0 … n − 1 in `count` parts: for matrix products, which are faster on wide blocks.
    """

    _threads = 0

    def __init__(self, n: int, n_jobs: int | None = None, block: int | None = None) -> None:
        size = block or (n if n < SMALLEST else BLOCK)
        cuts = [*range(0, n, size), n] if n else [0, 0]
        self.blocks = [slice(first, last) for first, last in pairwise(cuts)]
        self.count = min(number_of_threads(n_jobs), len(self.blocks))
        self.shares = [slice(n * k // self.count, n * (k + 1) // self.count) for k in range(self.count)]
        self.sums, self.total = np.zeros((len(self.blocks), 4)), np.zeros(4)
        self._orders: SimpleQueue[Order | None] = SimpleQueue()
        self._ends: SimpleQueue[None] = SimpleQueue()
        self._blas = SingleBLAS()

    def __enter__(self) -> "Workers":
        if self.count > 1:
            self._blas.__enter__()
            for _ in range(1, self.count):
                self._threads += 1
                start_new_thread(serve, (self._orders, self._ends))
        return self

    def __exit__(self, *error: object) -> None:
        self._blas.__exit__()
        threads = self._threads
        self.dismiss()
        for _ in range(threads):
            self._ends.get()

    def __del__(self) -> None:
        self.dismiss()  # Ctrl-C may have come before the first line of __exit__

    def dismiss(self) -> None:
        """Let the threads end."""
        while self._threads > 0:
            self._orders.put(None)
            self._threads -= 1

    def share(self, task: Callable[[int], None]) -> None:
        """Run task(0) in this thread and task(1), … in the others, and wait for all of them."""
        if not self._threads:
            for worker in range(self.count):
                task(worker)
            return
        answers: SimpleQueue[BaseException | None] = SimpleQueue()
        for worker in range(1, self.count):
            self._orders.put((task, worker, answers))
        task(0)
        for error in [answers.get() for _ in range(1, self.count)]:
            if error is not None:
                raise error

    def each(self, task: Callable[[slice], None]) -> None:
        """Run the task on every block."""
        if len(self.blocks) == 1:
            task(self.blocks[0])
            return

        def some(worker: int) -> None:
            for block in self.blocks[worker :: self.count]:
                task(block)

        self.share(some)

    def run(self, kernel: Callable[..., None], *arguments: Any) -> Floats:
        """Run a kernel on every block of rows; return the total of the sums that it writes, added in order.

        The kernel is called with the arguments, the first row, the row after the last, and an array for sums.
        """
        if len(self.blocks) == 1:
            kernel(*arguments, 0, self.blocks[0].stop, self.total)
            return self.total

        def some(worker: int) -> None:
            for k in range(worker, len(self.blocks), self.count):
                kernel(*arguments, self.blocks[k].start, self.blocks[k].stop, self.sums[k])

        self.share(some)
        return self.sums.sum(axis=0, out=self.total)


def interruptible(function: Callable[[], Result]) -> Result:
    """Return what a function returns, which runs in another thread, so that Ctrl-C ends the wait for it.

    For compiled code that releases Python's lock and does not look for signals. After Ctrl-C it goes on in
    its thread, and its result is dropped. Only the main thread is interrupted; others call the function.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    answers: SimpleQueue[tuple[BaseException, None] | tuple[None, Result]] = SimpleQueue()

    def work() -> None:
        try:
            answers.put((None, function()))
        except BaseException as error:
            answers.put((error, None))

    start_new_thread(work, ())
    error, result = answers.get()
    if error is not None:
        raise error
    return cast(Result, result)


class Unwanted(Exception):
    """What a thread computes is no longer wanted: another one has ended with an exception."""


def in_threads(
    task: Callable[[Item, Callable[[], None]], Result], items: Sequence[Item], n_jobs: int | None
) -> list[Result]:
    """Return the results of a task on all items, in their order; each thread takes the next that is left.

    The task is also given a function that it is to call often: it raises an exception after an error or
    Ctrl-C in another thread, so that threads end soon.
    """
    left: SimpleQueue[int] = SimpleQueue()
    for k in range(len(items)):
        left.put(k)
    found: dict[int, Result] = {}
    ended: list[BaseException] = []

    def check() -> None:
        if ended:
            raise Unwanted

    def some(_: int) -> None:
        try:
            while True:
                check()
                k = left.get_nowait()
                found[k] = task(items[k], check)
        except (Empty, Unwanted):
            return
        except BaseException as error:
            ended.append(error)
            raise

    with Workers(len(items), n_jobs, block=1) as workers:
        try:
            workers.share(some)
        except BaseException as error:
            ended.append(error)
            raise
    return [found[k] for k in range(len(items))]
