"""The jobs of other packages, in the environment that they need; peers.py runs this.

    python peers_theirs.py FOLDER R

Reads M.npy and W.npy in the folder, and writes the answer of each job as JOB.npy, endmembers as columns, and
seconds.json with the processor time of each job, or why it failed.
"""

import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ENOUGH = 5.0  # seconds after which a job is not repeated
REPETITIONS = 3


def jobs(M: np.ndarray, W: np.ndarray, r: int) -> dict[str, Callable[[], Any]]:
    """The calls of docs/coming-from.md."""
    import nimfa
    import pysptools.abundance_maps as abundance
    from pysptools import eea
    from pysptools.material_count.vd import HfcVd

    side = int(M.shape[1] ** 0.5)
    cube = M.T.reshape(side, -1, len(M))

    def separable(**options: Any) -> np.ndarray:
        return np.asarray(nimfa.SepNmf(M, rank=r, max_iter=1, **options)().basis())

    def mapped(kind: Any) -> np.ndarray:
        return kind.map(cube, W.T).reshape(-1, r).T

    return {
        "nimfa SepNmf, SPA, with weights": lambda: separable(selection="spa"),
        "nimfa SepNmf, XRAY, with weights": lambda: separable(selection="xray"),
        "nimfa SepNmf, SPA, compression qr": lambda: separable(selection="spa", compression="qr"),
        "pysptools ATGP": lambda: eea.ATGP().extract(cube, r).T,
        "pysptools FIPPI": lambda: eea.FIPPI().extract(cube, r).T,
        "pysptools PPI, 1000 skewers": lambda: eea.PPI().extract(cube, r, numSkewers=1000).T,
        "pysptools N-FINDR from ATGP": lambda: eea.NFINDR().extract(cube, r, ATGP_init=True).T,
        "pysptools N-FINDR": lambda: eea.NFINDR().extract(cube, r).T,
        "pysptools UCLS": lambda: mapped(abundance.UCLS()),
        "pysptools NNLS": lambda: mapped(abundance.NNLS()),
        "pysptools FCLS": lambda: mapped(abundance.FCLS()),
        "pysptools HfcVd": lambda: np.array(HfcVd(M.T, far=1e-5)[0]),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    folder, r = Path(sys.argv[1]), int(sys.argv[2])
    names = ("nimfa", "pysptools", "numpy", "scipy")
    told: dict[str, Any] = {"versions": ", ".join(f"{name} {version(name)}" for name in names)}
    for name, work in jobs(np.load(folder / "M.npy"), np.load(folder / "W.npy"), r).items():
        seconds: list[float] = []
        try:
            while len(seconds) < REPETITIONS and sum(seconds) < ENOUGH:
                began = time.process_time()
                with contextlib.redirect_stdout(io.StringIO()):
                    answer = work()
                seconds.append(time.process_time() - began)
        except Exception as error:  # a call that no longer runs is a result too
            told[name] = f"{type(error).__name__}: {error}"
            continue
        told[name] = min(seconds)
        np.save(folder / f"{name}.npy", answer)
    (folder / "seconds.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
