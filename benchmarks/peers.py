"""The same jobs in other Python packages and here: seconds, and how much of the data the answer explains.

    pip install nimfa pysptools
    python benchmarks/peers.py

Prints a Markdown table, with the ratio of the times in each line measured one after the other. A package
that is not installed is left out.
"""

import contextlib
import io
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

import sepnmf
from sepnmf.datasets import make_dirichlet

M, N, R = 100, 10_000, 10
SIDE = 100  # the same columns as an image
REPETITIONS = 3


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Best time of three, and the answer."""
    best = np.inf
    for _ in range(REPETITIONS):
        began = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            answer = work()
        best = min(best, time.perf_counter() - began)
    return best, answer


def explained(D: np.ndarray, W: np.ndarray) -> str:
    """How much of the data these columns explain."""
    rest = np.linalg.norm(D - W @ sepnmf.nnls(W, D)) / np.linalg.norm(D)
    return f"{1 - rest:.4f}"


def jobs_of_nimfa(D: np.ndarray) -> list[tuple[str, Callable[[], Any], Callable[[], Any], Any]]:
    import nimfa

    def theirs(name: str) -> np.ndarray:
        fit = nimfa.SepNmf(D, rank=R, selection=name.lower(), max_iter=1)()
        return np.asarray(fit.basis())

    def ours(name: str) -> np.ndarray:
        anchors = sepnmf.select(D, R, name, negative="allow").anchors
        sepnmf.nnls(D[:, anchors], D)
        return D[:, anchors]

    return [
        (f"nimfa SepNmf {name}, with weights", lambda n=name: theirs(n), lambda n=name: ours(n.lower()), D)
        for name in ("SPA", "XRAY")
    ]


def jobs_of_pysptools(D: np.ndarray) -> list[tuple[str, Callable[[], Any], Callable[[], Any], Any]]:
    import pysptools.abundance_maps as abundance
    from pysptools import eea

    cube = D.T.reshape(SIDE, -1, M)
    anchors = sepnmf.spa(D, R, negative="allow").anchors

    def columns(name: str, **options: Any) -> np.ndarray:
        return D[:, sepnmf.select(D, R, name, negative="allow", random_state=0, **options).anchors]

    return [
        ("pysptools N-FINDR", lambda: eea.NFINDR().extract(cube, R).T, lambda: columns("nfindr"), D),
        ("pysptools PPI", lambda: eea.PPI().extract(cube, R, numSkewers=1000).T, lambda: columns("ppi"), D),
        (
            "pysptools FCLS (weights that sum to one)",
            lambda: abundance.FCLS().map(cube, D[:, anchors].T).reshape(-1, R).T,
            lambda: sepnmf.nnls(D[:, anchors], D, sum_to_one=True),
            None,
        ),
    ]


def main() -> None:
    warnings.simplefilter("ignore")
    D, _ = make_dirichlet(0.05, m=M, n=N, r=R, random_state=0)
    D = np.maximum(D, 0)
    jobs = []
    for package, collect in (("nimfa", jobs_of_nimfa), ("pysptools", jobs_of_pysptools)):
        if find_spec(package) is None:
            print(f"{package} is not installed: pip install {package}")
            continue
        print(f"{package} {version(package)}")
        jobs += collect(D)
    print(f"\nData of {M} × {N}, r = {R}.\n")
    print("| job | theirs, s | ours, s | times faster | theirs explains | ours explains |")
    print("|---|---|---|---|---|---|")
    for name, theirs, ours, data in jobs:
        ours()  # compiles
        mine, answer = timed(ours)
        try:
            other, their_answer = timed(theirs)
        except Exception as error:  # a package that no longer runs is a result too
            print(f"| {name} | {type(error).__name__}: {str(error)[:60]} | {mine:.3g} | | | |", flush=True)
            continue
        quality = ["", ""] if data is None else [explained(data, W) for W in (their_answer, answer)]
        print(
            f"| {name} | {other:.3g} | {mine:.3g} | {other / mine:.3g} | {' | '.join(quality)} |", flush=True
        )


if __name__ == "__main__":
    main()
