"""Row blocks on threads: the one place where the library uses more than one core outside BLAS."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np

from sepnmf.typing import Floats
from sepnmf.validation import check_count

# The cut into blocks does not depend on the number of threads, so neither does any sum over them.
BLOCKS = 16
# Below this many entries a pass takes less time than waking a thread.
SMALL = 40_000


def available_cores() -> int:
    """Cores this process may use: its affinity, or fewer when OMP_NUM_THREADS says so."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


class RowBlocks:
    """Runs kernels over blocks of the rows of n × n arrays, on `n_jobs` threads.

    The threads belong to this object and end with it, so that nothing is shared between calls, survives a
    fork or waits in a worker process. A kernel takes its own arguments, then where its rows begin and end
    and an array for its sums; the sums of the blocks are added in order.
    """

    def __init__(self, n: int, n_jobs: int | None, n_sums: int) -> None:
        jobs = available_cores() if n_jobs is None else check_count(n_jobs, "n_jobs")
        cuts = [0, n] if n * n < SMALL else [n * k // BLOCKS for k in range(BLOCKS + 1)]
        self.sums = np.zeros((len(cuts) - 1, n_sums))
        self.blocks = [(lo, hi, self.sums[k]) for k, (lo, hi) in enumerate(pairwise(cuts))]
        jobs = min(jobs, len(self.blocks))
        self.pool = ThreadPoolExecutor(jobs) if jobs > 1 else None

    def __enter__(self) -> "RowBlocks":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def run(self, kernel: Callable[..., None], *arguments: Any) -> Floats:
        """Call the kernel on every block and return the sums."""
        if self.pool is None:
            for block in self.blocks:
                kernel(*arguments, *block)
        else:
            waiting = [self.pool.submit(kernel, *arguments, *block) for block in self.blocks]
            for future in waiting:
                future.result()
        sums: Floats = self.sums[0] if len(self.blocks) == 1 else self.sums.sum(axis=0)
        return sums
