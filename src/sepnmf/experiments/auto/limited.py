"""One selection in a process of its own, with limits on its time and memory."""

import json
import re
import select
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sepnmf.datasets import make_dirichlet
from sepnmf.experiments.auto.common import choose
from sepnmf.experiments.auto.data import load
from sepnmf.experiments.experiment import Row
from sepnmf.registry import find_method

CODE = "from sepnmf.experiments.auto.limited import child; child()"
GB = 2**30


def select_apart(data: str, r: int, method: str, limit: float, memory: float) -> Row:
    """Anchors, seconds and peak memory of a selection, or why there is none.

    Parameters
    ----------
    data : str
        What `load` takes.
    r : int
        Number of anchors.
    method : str
        A name with underscores.
    limit : float
        Seconds of the selection alone, after the data are loaded and the kernels are compiled.
    memory : float
        GB of address space; 0 for no limit.

    Returns
    -------
    dict
        `anchors` (indices with blanks between them), `seconds`, `megabytes`, `status`, `history` (JSON) and,
        where the anchors are known, `success`; or `failure`.
    """
    command = [sys.executable, "-c", CODE, json.dumps([data, r, method, memory])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        answer = process.stdout.readline()
        if answer.strip() == "ready":
            if not select.select([process.stdout], [], [], limit)[0]:
                process.kill()
                return {"failure": f"over {limit:g} s"}
            answer = process.stdout.read()
    found: Row = json.loads(answer) if answer else {"failure": "killed"}
    return found


def child() -> None:
    """The other process: "ready" on a line, then the answer."""
    warnings.simplefilter("ignore")
    name, r, method, memory = json.loads(sys.argv[1])
    try:
        with threadpool_limits(1):
            answer = measured(name, r, method, memory)
    except MemoryError:
        answer = {"failure": f"over {memory:g} GB"}
    except Exception as error:  # a refusal is a result of the comparison, with its reason
        answer = {"failure": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(answer) + "\n")


def measured(name: str, r: int, method: str, memory: float) -> Row:
    """The selection, after the data are loaded and the kernels are compiled."""
    choose(make_dirichlet(0.01, m=20, n=60, r=3)[0], 3, method)
    data = load(name)
    M: Any = data.M
    if not find_method(method).sparse and not isinstance(M, np.ndarray):
        M = M.toarray()
    if memory:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(memory * GB),) * 2)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    selection = choose(M, r, method)
    answer: Row = {
        "anchors": " ".join(map(str, selection.anchors)),
        "seconds": selection.seconds,
        "megabytes": peak_megabytes(),
        "status": selection.status,
        "history": json.dumps(table_of(selection.history)),
    }
    if data.anchors is not None:
        answer["success"] = int(set(selection.anchors) == set(data.anchors))
    return answer


def table_of(history: dict[str, Any]) -> dict[str, list[Any]]:
    """The history as lists, if it is a table of at most 30 lines; otherwise nothing."""
    lists = {name: np.asarray(values).ravel().tolist() for name, values in history.items()}
    lengths = {len(values) for values in lists.values()}
    return lists if len(lengths) == 1 and 0 < lengths.pop() <= 30 else {}


def peak_megabytes() -> float:
    """Largest resident memory of this process; ru_maxrss would count what the parent had at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s*(\d+)", status.read_text())[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS
