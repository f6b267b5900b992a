"""The same jobs in other Python packages and here: seconds, and whether the endmembers are the same.

The other packages need older versions of NumPy and SciPy than sepnmf does, so they run in an environment of
their own, and hand over their answers in files:

    python -m venv peers
    peers/bin/pip install nimfa pysptools cvxopt matplotlib scikit-learn 'numpy<1.24' 'scipy<1.11'
    python benchmarks/peers.py peers/bin/python

Prints a Markdown table. Each process has one thread, and seconds are of processor time, the least of up to
three runs. Without the name of a Python, only our side runs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
os.environ |= ONE_THREAD

import numpy as np  # noqa: E402

import sepnmf  # noqa: E402
from sepnmf.datasets import make_dirichlet  # noqa: E402

THEIRS = Path(__file__).with_name("peers_theirs.py")
NOISE, ROWS, COLUMNS, R = 0.05, 100, 10_000, 10
REPETITIONS = 3

# The job of the other package, by the name that peers_theirs.py gives it, and ours.
Job = Callable[[np.ndarray, np.ndarray], Any]


def weighted(anchors: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Anchors, after the weights have been computed too, as nimfa does."""
    sepnmf.nnls(M[:, anchors], M)
    return anchors


JOBS: dict[str, Job] = {
    "nimfa SepNmf, SPA, with weights": lambda M, W: weighted(sepnmf.spa(M, R, normalize="l1").anchors, M),
    "nimfa SepNmf, XRAY, with weights": lambda M, W: weighted(sepnmf.xray(M, R).anchors, M),
    "nimfa SepNmf, SPA, compression qr": lambda M, W: weighted(sepnmf.spa(M, R).anchors, M),
    "pysptools ATGP": lambda M, W: sepnmf.spa(M, R).anchors,
    "pysptools FIPPI": lambda M, W: sepnmf.fippi(M, R).anchors,
    "pysptools PPI, 1000 skewers": lambda M, W: sepnmf.ppi(M, R, n_skewers=1000, random_state=0).anchors,
    "pysptools N-FINDR from ATGP": lambda M, W: sepnmf.nfindr(M, R).anchors,
    "pysptools N-FINDR": lambda M, W: sepnmf.nfindr(M, R, init="random", random_state=0).anchors,
    "pysptools UCLS": lambda M, W: np.linalg.lstsq(W, M, rcond=None)[0],
    "pysptools NNLS": lambda M, W: sepnmf.nnls(W, M),
    "pysptools FCLS": lambda M, W: sepnmf.nnls(W, M, sum_to_one=True),
    "pysptools HfcVd": lambda M, W: np.array(sepnmf.estimate_rank(M, random_state=0).low),
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Least processor time of three runs, and the answer."""
    seconds = []
    for _ in range(REPETITIONS):
        began = time.process_time()
        answer = work()
        seconds.append(time.process_time() - began)
    return min(seconds), answer


def explained(M: np.ndarray, W: np.ndarray) -> float:
    """How much of the data these columns explain."""
    return float(1 - np.linalg.norm(M - W @ sepnmf.nnls(W, M)) / np.linalg.norm(M))


def columns_of(endmembers: np.ndarray, M: np.ndarray) -> set[int]:
    """The columns of M that these are; pysptools rounds them to single precision."""
    distances = [np.abs(M - column[:, None]).max(axis=0) for column in endmembers.T]
    assert max(float(each.min()) for each in distances) < 1e-6
    return {int(each.argmin()) for each in distances}


def compared(theirs: np.ndarray, ours: np.ndarray, M: np.ndarray, W: np.ndarray) -> str:
    """What the two answers have in common: columns, weights or numbers."""
    if np.ndim(ours) == 0:
        return f"{theirs} and {ours}"
    if np.ndim(ours) == 2:
        left = [float(np.linalg.norm(M - W @ H)) for H in (theirs, ours)]
        return f"weights within {np.abs(theirs - ours).max():.1g}; residuals {left[0]:.6f} and {left[1]:.6f}"
    found = columns_of(theirs, M)
    same = len(found & {int(j) for j in ours})
    shares = explained(M, M[:, sorted(found)]), explained(M, M[:, ours])
    of = f" of their {len(found)}" if len(found) != R else ""
    return f"{same}{of}; {shares[0]:.4f} and {shares[1]:.4f} explained"


def main() -> None:
    data = np.maximum(make_dirichlet(NOISE, m=ROWS, n=COLUMNS, r=R, random_state=0)[0], 0)
    W = data[:, sepnmf.spa(data, R).anchors]
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "M.npy", data)
        np.save(Path(folder) / "W.npy", W)
        theirs: dict[str, Any] = {}
        if len(sys.argv) > 1:
            command = [sys.argv[1], str(THEIRS), folder, str(R)]
            subprocess.run(command, check=True, env={**os.environ, **ONE_THREAD})
            theirs = json.loads((Path(folder) / "seconds.json").read_text())
        print(f"\nData of {ROWS} × {COLUMNS}, r = {R}, noise {NOISE}. {theirs.pop('versions', '')}\n")
        print("| job | theirs, s | ours, s | times faster | in common |")
        print("|---|---|---|---|---|")
        for name, job in JOBS.items():
            job(data, W)  # compiles
            seconds, answer = timed(partial(job, data, W))
            other = theirs.get(name, "not run")
            if isinstance(other, str):
                print(f"| {name} | {other} | {seconds:.3g} | | |", flush=True)
                continue
            told = compared(np.load(Path(folder) / f"{name}.npy"), answer, data, W)
            print(f"| {name} | {other:.3g} | {seconds:.3g} | {other / seconds:.3g} | {told} |", flush=True)


if __name__ == "__main__":
    main()
