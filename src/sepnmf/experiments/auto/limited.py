"""One selection in a process of its own, with limits on its time and memory."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sepnmf._parallel import end_with_parent
from sepnmf.datasets import make_dirichlet
from sepnmf.experiments.auto.common import choose
from sepnmf.experiments.auto.data import load
from sepnmf.experiments.experiment import Row
from sepnmf.registry import find_method

CODE = "from sepnmf.experiments.auto.limited import child; child()"
GB = 2**30


def select_apart(data: str, r: int, method: str, limit: float, memory: float, **options: Any) -> Row:
    """Anchors, seconds and peak memory of a selection, or the `failure` that there is instead.

    The limits are seconds of processor time of the selection alone, after the data are loaded and the kernels
    are compiled, and GB of address space, 0 for no limit.
    """
    words = [os.getpid(), data, r, method, limit, memory, options]
    command = [sys.executable, "-c", CODE, json.dumps(words)]
    process = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
    )
    if process.returncode == -signal.SIGPROF:
        return {"failure": f"over {limit:g} s"}
    found: Row = json.loads(process.stdout or '{"failure": "killed"}')
    return found


def child() -> None:
    """The other process: it writes the answer."""
    parent, name, r, method, limit, memory, options = json.loads(sys.argv[1])
    end_with_parent(parent)
    warnings.simplefilter("ignore")
    try:
        with threadpool_limits(1):
            answer = measured(name, r, method, limit, memory, **options)
    except MemoryError:
        answer = {"failure": f"over {memory:g} GB"}
    except Exception as error:  # a refusal is a result of the comparison, with its reason
        answer = {"failure": f"{type(error).__name__}: {error}"}
    signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout.write(json.dumps(answer))


def measured(name: str, r: int, method: str, limit: float, memory: float, **options: Any) -> Row:
    """The selection, after the data are loaded and the kernels are compiled."""
    import resource

    choose(make_dirichlet(0.01, m=20, n=60, r=3)[0], 3, method, **options)
    data = load(name)
    M: Any = data.M
    if not find_method(method).sparse and not isinstance(M, np.ndarray):
        M = M.toarray()
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory * GB),) * 2)
    signal.setitimer(signal.ITIMER_PROF, limit)  # its signal ends the process
    began = time.process_time()
    selection = choose(M, r, method, **options)
    answer: Row = {
        "anchors": " ".join(map(str, selection.anchors)),
        "seconds": selection.seconds,
        "processor": time.process_time() - began,
        "megabytes": peak_megabytes(),
        "status": selection.status,
        "history": json.dumps(table_of(selection.history)),
    }
    if data.anchors is not None:
        answer["success"] = int(set(selection.anchors) == set(data.anchors))
    return answer


def table_of(history: dict[str, Any]) -> dict[str, list[Any]]:
    """The history as lists, if it is a table of at most 30 lines; otherwise nothing.

    Seconds are left out: a selection that is repeated gives the same text.
    """
    lists = {
        name: np.asarray(values).ravel().tolist() for name, values in history.items() if name != "seconds"
    }
    lengths = {len(values) for values in lists.values()}
    return lists if len(lengths) == 1 and 0 < lengths.pop() <= 30 else {}


def peak_megabytes() -> float:
    """Largest resident memory of this process; ru_maxrss would count what the parent had at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s*(\d+)", status.read_text())[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS
