"""Ctrl-C at random moments of functions, in one process.

    python fuzz/interrupts.py --times 1000 --seed 0

After each interrupt BLAS has the threads that it had, the call has ended within two seconds of the signal,
with an exception (`auto` may return its best answer so far, and says so), and the next call of the function
gives exactly the answer that was recorded before.
"""

import argparse
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 - its own BLAS
from threadpoolctl import threadpool_info, threadpool_limits

import sepnmf
from sepnmf.datasets import make_dirichlet

PROMPT = 2.0  # seconds between a signal and the exception
THREADS = 3  # of BLAS: neither one nor its default here

M = make_dirichlet(0.05, m=20, n=60, r=4, random_state=0)[0].clip(0)
WIDE = make_dirichlet(0.05, m=30, n=260, r=5, random_state=0)[0].clip(
    0
)  # more columns than SMALLEST: threads
FEW = WIDE[:, :5]


def chunked_spa() -> Any:
    """Columns in chunks."""
    import dask.array as da

    return sepnmf.spa(da.from_array(WIDE, chunks=(30, 50)), 5)


CALLS: dict[str, Callable[[], Any]] = {
    "auto": lambda: sepnmf.select(M, 4),
    "auto, threads": lambda: sepnmf.select(WIDE, 5),
    "spa": lambda: sepnmf.spa(WIDE, 5),
    "admm": lambda: sepnmf.admm(M, 4, lam=1.0, rho=(1.0, 1.0, 1.0), max_outer=30, random_state=0),
    "admm, threads": lambda: sepnmf.admm(
        WIDE, 5, lam=1.0, rho=(1.0, 1.0, 1.0), max_outer=10, n_jobs=2, random_state=0
    ),
    "nnls": lambda: sepnmf.nnls(FEW, WIDE),
    "estimate_rank": lambda: sepnmf.estimate_rank(M),
    "stability": lambda: sepnmf.stability(M, 4, draws=2),
    "spa in chunks": chunked_spa,
}


def numbers(answer: Any) -> bytes:
    """Return the numbers of an answer, in which every bit counts."""
    if hasattr(answer, "anchors"):
        parts = (answer.anchors, answer.scores, answer.X, answer.vertices, answer.stability)
    elif hasattr(answer, "low"):
        parts = (answer.low, answer.high, *answer.curve.values())
    else:
        parts = (answer,)
    return b"|".join(np.asarray(part).tobytes() for part in parts if part is not None)


def threads() -> list[int]:
    """Return the numbers of threads of the BLAS libraries."""
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def settled(before: list[int]) -> bool:
    """Whether BLAS has its threads again, once Dask's threads have ended the chunks that they had begun."""
    end = time.monotonic() + PROMPT
    while threads() != before and time.monotonic() < end:
        time.sleep(0.01)
    return threads() == before


class Pressed:
    """Sends SIGINT to this process after some seconds, and knows whether it arrived."""

    def __init__(self) -> None:
        self.due, self.arrived = 0.0, False
        signal.signal(signal.SIGALRM, self.press)
        signal.signal(signal.SIGINT, self.arrive)

    def after(self, seconds: float) -> None:
        """Press Ctrl-C after some seconds."""
        self.due, self.arrived = time.monotonic() + seconds, False
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def never(self) -> None:
        """Do not press it any more."""
        signal.setitimer(signal.ITIMER_REAL, 0)

    def press(self, *_: object) -> None:
        """Send the signal, as a terminal does."""
        os.kill(os.getpid(), signal.SIGINT)

    def arrive(self, *_: object) -> None:
        """Do what Python does by default."""
        self.arrived = True
        raise KeyboardInterrupt


def main() -> int:
    """Interrupt calls and check what must hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=1000, help="how many interrupts (1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments (0)")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = random.Random(given.seed)
    threadpool_limits(THREADS, user_api="blas")
    before, recorded, took = threads(), {}, {}
    for name, call in CALLS.items():
        for _ in range(2):  # the first call may compile
            begin = time.monotonic()
            recorded[name] = numbers(call())
            took[name] = max(time.monotonic() - begin, 1e-3)
    pressed, hits = Pressed(), Counter[str]()
    tries, without_effect, slowest, fell = 0, 0, 0.0, 0
    while hits.total() < given.times:
        tries += 1
        name = rng.choice(list(CALLS))
        moment, wrong, answer = rng.uniform(1e-4, took[name]), [], None
        try:
            pressed.after(moment)
            answer = CALLS[name]()
            pressed.never()
        except KeyboardInterrupt:
            pass
        except BaseException:
            pressed.never()
            wrong.append(f"another exception: {traceback.format_exc()[-600:]}")
        late = time.monotonic() - pressed.due
        if pressed.arrived:
            hits[name] += 1
            slowest = max(slowest, late)
            if late > PROMPT:
                wrong.append(f"ended {late:.1f} s after the signal")
            if answer is not None and getattr(answer, "status", "") != "stopped":
                # Python ignores exceptions in __del__ and in callbacks; the answer is then the whole one.
                without_effect += 1
                if numbers(answer) != recorded[name]:
                    wrong.append("another answer, and no exception")
        if not settled(before):
            wrong.append(f"BLAS has {threads()} threads, not {before}")
            threadpool_limits(THREADS, user_api="blas")
        try:
            if numbers(CALLS[name]()) != recorded[name]:
                wrong.append("the next answer is another one")
        except Exception:
            wrong.append(f"the next call fails: {traceback.format_exc()[-600:]}")
        for one in wrong:
            fell += 1
            print(f"fell: {name}, {moment:.4f} s: {one}", flush=True)
    counts = ", ".join(f"{name} {count}" for name, count in hits.items())
    print(f"{hits.total()} interrupts of {tries} calls ({counts}), {without_effect} without effect")
    print(f"the slowest call ended {slowest:.2f} s after the signal; {fell} fell")
    return bool(fell)


if __name__ == "__main__":
    sys.exit(main())
