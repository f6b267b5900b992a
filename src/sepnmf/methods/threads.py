"""Threads for work that BLAS and compiled kernels do by turns."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


class Workers:
    """As many threads as BLAS has, at most `most`; a context in which BLAS itself keeps to one.

    After a product BLAS's own threads wait in a busy loop, which would take the processors from these.
    """

    def __init__(self, most: int) -> None:
        self.most = most

    def __enter__(self) -> "Workers":
        blas = ThreadpoolController().select(user_api="blas")
        threads = max((lib["num_threads"] for lib in blas.info()), default=1)
        self.count = max(min(threads, self.most), 1)
        self._limits = blas.limit(limits=1)
        self._pool = ThreadPoolExecutor(self.count)  # starts a thread only when one is needed
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        self._limits.restore_original_limits()

    def share(self, task: Callable[[int], None]) -> None:
        """Run task(0) here and task(1), … in the other threads, and wait for them."""
        others = [self._pool.submit(task, worker) for worker in range(1, self.count)]
        task(0)
        for other in others:
            other.result()


def blocks(n: int, size: int) -> list[slice]:
    """0 … n − 1 in slices of `size`, the last one shorter."""
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]
