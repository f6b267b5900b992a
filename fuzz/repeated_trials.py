"""Trials of `sepnmf reproduce`, drawn at random, each run in two processes: the rows must be the same.

    python fuzz/repeated_trials.py --times 100 --seconds 1800 --seed 0

A quarter of the trials are of FGNSR, which draws random numbers. Seconds and memory may differ. A trial that
takes longer than `--longest` seconds is left out, and another one is drawn; so is a trial that reaches the
limit on its processor time in one of the two runs only.
"""

import argparse
import multiprocessing
import multiprocessing.connection
import os
import random
import re
import sys
import time
import warnings
from collections import Counter
from typing import Any

from sepnmf.datasets._loaders import available
from sepnmf.experiments import EXPERIMENTS, TABLES
from sepnmf.experiments.runner import run_one

MEASURED = {"seconds", "processor", "megabytes"}  # columns that depend on the machine and its load
OVER_TIME = re.compile(r"over \S+ s")  # the failure of a method that a limit on its processor time ends


def work(pipe: multiprocessing.connection.Connection) -> None:
    """Run trials as they come, and send their rows, or what went wrong."""
    warnings.simplefilter("ignore")
    while True:
        name, trial = pipe.recv()
        try:
            pipe.send(run_one(EXPERIMENTS[name].run, trial, {}, os.getppid())[1])
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")


class Worker:
    """A process that runs trials; it is started again if one takes too long."""

    def __init__(self) -> None:
        self.process: Any = None

    def rows(self, name: str, trial: dict[str, Any], longest: float) -> Any:
        """Return the rows of a trial, text if it fails, None if it takes too long."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=work, args=(other,), daemon=True)
            self.process.start()
        self.pipe.send((name, trial))
        if self.pipe.poll(longest):
            return self.pipe.recv()
        self.stop()
        return None

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def trials_by_experiment() -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Return the trials of the experiments whose data are here, and those of FGNSR among them."""
    found = {
        name: EXPERIMENTS[name].trials("full")
        for name in TABLES
        if not any(available(folder) for folder in EXPERIMENTS[name].data)
    }
    fgnsr = {
        name: [trial for trial in trials if trial.get("method") == "fgnsr"] for name, trials in found.items()
    }
    return found, {name: trials for name, trials in fgnsr.items() if trials}


def without_measures(rows: Any) -> Any:
    """Return rows without what depends on the machine, NaN as text so that it is equal to itself."""
    if not isinstance(rows, list):
        return rows
    return [{key: repr(value) for key, value in row.items() if key not in MEASURED} for row in rows]


def over_time(rows: Any) -> bool:
    """Whether a limit on processor time ended a trial."""
    return isinstance(rows, list) and any(OVER_TIME.fullmatch(str(row.get("failure"))) for row in rows)


def main() -> int:
    """Run trials twice until enough have been compared, or the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=100, help="how many trials (100)")
    parser.add_argument("--seconds", type=float, default=1800, help="no trial begins later (1800)")
    parser.add_argument("--longest", type=float, default=60, help="of a trial, in seconds (60)")
    parser.add_argument("--seed", type=int, default=0, help="which trials (0)")
    given = parser.parse_args()
    rng, end = random.Random(given.seed), time.monotonic() + given.seconds
    everything, fgnsr = trials_by_experiment()
    first, second = Worker(), Worker()
    compared, left_out, fell = Counter[str](), Counter[str](), 0
    while compared.total() < given.times and time.monotonic() < end:
        among = fgnsr if rng.random() < 0.25 else everything
        name = rng.choice(list(among))
        trial = rng.choice(among[name])
        longest = min(given.longest, max(end - time.monotonic(), 1))
        one = first.rows(name, trial, longest)
        two = None if one is None else second.rows(name, trial, 3 * given.longest)
        if one is None or two is None or over_time(one) != over_time(two):
            left_out[name] += 1
            continue
        compared[f"{name} of fgnsr" if trial.get("method") == "fgnsr" else name] += 1
        if without_measures(one) != without_measures(two):
            fell += 1
            print(f"fell: {name} {trial}\n  {str(one)[:600]}\n  {str(two)[:600]}", flush=True)
    for worker in (first, second):
        worker.stop()
    print(f"{compared.total()} trials twice, {fell} differ: {dict(compared)}")
    print(f"left out, longer than {given.longest:g} s: {dict(left_out)}")
    return int(bool(fell) or not compared)


if __name__ == "__main__":
    sys.exit(main())
