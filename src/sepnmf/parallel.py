"""Threads: the one place where the library uses more than one core, BLAS apart."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from sepnmf.typing import Floats
from sepnmf.validation import check_count

# Rows or columns of a block. The cut does not depend on the number of threads, so no sum over blocks does.
BLOCK = 108
# n × n arrays with fewer rows are passed over faster than a thread is woken.
SMALLEST = 200


def available_cores() -> int:
    """Cores this process may use: its affinity, or fewer when OMP_NUM_THREADS says so."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


class SingleBLAS:
    """A context in which BLAS keeps to one thread, for all Python threads that are inside it.

    BLAS's threads wait for work in a busy loop, which takes the cores from ours; and ours can share out
    the products themselves. The limit belongs to the process, so the first to come sets it and the last
    to leave lifts it.
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


def forget_after_fork() -> None:
    """Lift the limit in a child process: whoever set it is not there."""
    SingleBLAS._lock = threading.Lock()
    if SingleBLAS._inside:
        SingleBLAS._inside = 0
        SingleBLAS._limits.restore_original_limits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_after_fork)


class Workers:
    """`n_jobs` threads, all cores by default, for work on blocks of the rows or columns of n × n arrays.

    The threads belong to this object and end with it: nothing is shared between calls, survives a fork or
    waits in a worker process. For small n there are none.

    Attributes
    ----------
    count : int
        Number of threads.
    blocks : list of slice
        0 … n − 1 in small parts, the same whatever `count` is: for sums, and for what stays in cache.
    shares : list of slice
        0 … n − 1 in `count` parts: for products, which are the faster the wider they are.
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
        """Run task(0) here and task(1), … in the other threads, and wait for them."""
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
        """Run a kernel on every block of rows, and add up the sums that it writes, in order.

        The kernel takes its arguments, then where its rows begin and end and an array for its sums.
        """
        if len(self.blocks) == 1:
            kernel(*arguments, 0, self.blocks[0].stop, self.total)
            return self.total

        def some(worker: int) -> None:
            for k in range(worker, len(self.blocks), self.count):
                kernel(*arguments, self.blocks[k].start, self.blocks[k].stop, self.sums[k])

        self.share(some)
        return self.sums.sum(axis=0, out=self.total)
