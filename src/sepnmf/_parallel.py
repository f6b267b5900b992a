"""Multithreading over blocks of rows or columns; apart from BLAS, no other module starts threads."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from sepnmf._typing import Floats
from sepnmf._validation import check_count

# Rows or columns of a block. Blocks do not depend on the number of threads, so neither do sums over blocks.
BLOCK = 108
# For n × n arrays with fewer rows, waking a thread takes longer than a pass over the array.
SMALLEST = 200


def available_cores() -> int:
    """Number of cores this process may use: its CPU affinity, limited by OMP_NUM_THREADS."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


class SingleBLAS:
    """Context manager that limits BLAS to one thread; may be entered by several Python threads.

    BLAS threads wait for work in a busy loop and would compete for the cores with the threads of `Workers`,
    which split matrix products among themselves. The limit is a property of the process, so the first thread
    to enter sets it and the last one to leave restores it.
    """

    _lock = threading.Lock()
    _inside = 0
    _limits: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        cls = SingleBLAS
        with cls._lock:
            if cls._inside == 0:
                cls._limits = threadpool_limits(limits=1, user_api="blas")
            cls._inside += 1

    def __exit__(self, *_: object) -> None:
        cls = SingleBLAS
        with cls._lock:
            cls._inside -= 1
            if cls._inside == 0:
                cls._limits.restore_original_limits()


def reset_after_fork() -> None:
    """Restore the limits in a child process, where the threads that set them do not exist."""
    SingleBLAS._lock = threading.Lock()
    if SingleBLAS._inside:
        SingleBLAS._inside = 0
        SingleBLAS._limits.restore_original_limits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_after_fork)


class Workers:
    """Context manager with `n_jobs` threads for work on blocks of the rows or columns of n × n arrays.

    By default there are as many threads as cores, and a single one for small n. The threads are started on
    entry and joined on exit; no thread pool is shared between calls or inherited by a forked process.

    Attributes
    ----------
    count : int
        Number of threads.
    blocks : list of slice
        0 … n − 1 in small parts that do not depend on `count`: for sums, and for passes that stay in cache.
    shares : list of slice
        0 … n − 1 in `count` parts: for matrix products, which are faster on wide blocks.
    """

    def __init__(self, n: int, n_jobs: int | None = None) -> None:
        jobs = available_cores() if n_jobs is None else check_count(n_jobs, "n_jobs")
        cuts = [0, n] if n < SMALLEST else [*range(0, n, BLOCK), n]
        self.blocks = [slice(first, last) for first, last in pairwise(cuts)]
        self.count = min(jobs, len(self.blocks))
        self.shares = [slice(n * k // self.count, n * (k + 1) // self.count) for k in range(self.count)]
        self.sums, self.total = np.zeros((len(self.blocks), 4)), np.zeros(4)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Workers":
        if self.count > 1:
            self._pool = ThreadPoolExecutor(self.count - 1)
            SingleBLAS().__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
            SingleBLAS().__exit__()

    def share(self, task: Callable[[int], None]) -> None:
        """Run task(0) in this thread and task(1), … in the others, and wait for all of them."""
        if self._pool is None:
            for worker in range(self.count):
                task(worker)
            return
        others = [self._pool.submit(task, worker) for worker in range(1, self.count)]
        task(0)
        for other in others:
            other.result()

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
