"""A Dask cluster on this machine, in a process of its own: this file, run as a program.

It prints the scheduler's address, or why there is none, and ends, with its workers, when its input does. As a
process of its own it does not receive Ctrl-C at a terminal, and can be ended at any moment, also while its
workers are started.
"""

import json
import logging
import os
import signal
import sys
from importlib import import_module
from typing import Any


def main(workers: int, threads: int, memory: int | str, folder: str) -> None:
    """Start a cluster whose workers write to a folder, and wait until nobody needs it."""
    distributed: Any = import_module("distributed")
    try:
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            memory_limit=memory,
            local_directory=folder,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,  # workers that are started again are no news to the user
        )
    except (RuntimeError, OSError) as error:
        say("", " ".join(str(error).split()))
    else:
        say(cluster.scheduler_address, "")
        sys.stdin.read()
    end_group()


def say(address: str, error: str) -> None:
    """Write a line for the process that has started this one."""
    sys.stdout.write(json.dumps([address, error]) + "\n")
    sys.stdout.flush()


def end_group() -> None:
    """End this process and its workers; Windows ends workers with the process."""
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    sys.path[:] = options.pop("path")
    main(**options)
