"""Success rates on the paper's synthetic data, next to what the authors' own codes achieve.

    python benchmarks/baselines.py spa snpa xray --seeds 50
    python benchmarks/baselines.py xray:rule=dist "fgnsr@fgnsr 1000:max_iter=1000" --levels 0.1 0.3

A method is `name[@row][:key=value,...]`: a name in `sepnmf.METHODS`, the reference row to print under it
(by default the row of that name) and options on top of OPTIONS. An instance is a success when all ten
anchors are found. A level is marked `<` when the rate is more than 0.15 below the reference, and the
script then exits with 1.
"""

import argparse
import ast
import inspect
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint

LEVELS = (0, 0.01, 0.03, 0.05, 0.1, 0.1833, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
TYPES = {"Type 1": make_midpoint, "Type 2": make_dirichlet}
R = 10
MARGIN = 0.15

# Options of every run, and of each method on top of them.
EVERY = {"negative": "allow"}
OPTIONS: dict[str, dict[str, Any]] = {
    "fgnsr": {},
    "merit": {},
}
# Random methods are run this often on each instance, as in the reference.
RUNS = {"vca": 10}

# Success rates of the authors' own MATLAB, C and C++ codes over 20 instances per level, run side by side on
# the paper's data (Type 1 midpoint 50 × 55, Type 2 Dirichlet 50 × 100, r = 10).
ZERO = (0.0,)
REFERENCE: dict[str, dict[str, tuple[float, ...]]] = {
    "Type 1": {
        "spa": (1, 1, 1, 1, 0.5) + 7 * ZERO,
        "snpa": (1, 1, 1, 1, 0.55) + 7 * ZERO,
        "xray": (1, 1, 1, 1, 0.55) + 7 * ZERO,
        "vca": (1, 0.6, 0.18, 0.03) + 8 * ZERO,
        "fgnsr": (1, 1, 1, 1, 1, 0.1) + 6 * ZERO,
        "fgnsr 1000": (1, 1, 1, 1, 1, 1, 0.9, 0.35) + 4 * ZERO,
        "fgnsr 1000 trace": (1, 1, 1, 1, 1, 1, 0.9, 0.75, 0.3) + 3 * ZERO,
        "merit": (1, 1, 1, 1, 1, 1, 1, 1, 0.75, 0.55, 0, 0),
        "merit 0.3": (1, 1, 1, 1, 1, 1, 1, 1, 0.95, 0.95, 0.85, 0.45),
        "nearest": (np.nan,) * 9 + (0.35, 0.85, 0.95),
    },
    "Type 2": {
        "spa": (1, 1, 1, 1, 1, 1, 1, 1, 0.95, 0.85, 0.35, 0.15),
        "snpa": (1, 1, 1, 1, 1, 1, 1, 1, 1, 0.9, 0.5, 0.1),
        "xray": (1, 1, 1, 1, 1, 1, 1, 1, 1, 0.9, 0.45, 0.15),
        "vca": (1, 1, 1, 1, 1, 1, 0.98, 0.77, 0.41, 0.14, 0.01, 0.01),
        "fgnsr": (1, 1, 1, 1, 1, 1, 1, 0.85, 0.5, 0.2, 0, 0),
        "fgnsr 1000": (1, 1, 1, 1, 1, 1, 1, 0.75, 0.5, 0.2, 0.1, 0),
        "fgnsr 1000 trace": (1, 1, 1, 1, 1, 1, 1, 1, 0.9, 0.7, 0.15, 0),
        "merit": (1, 1) + 10 * ZERO,
        "merit 0.01": (1, 1, 1, 1, 1, 1, 1, 1, 0.7, 0.45, 0.1, 0),
    },
}


def nearest(M: np.ndarray, r: int) -> np.ndarray:
    """Return the r columns nearest the mean: what a success on Type 1 beyond 0.35 is worth."""
    return np.argsort(np.linalg.norm(M - M.mean(axis=1, keepdims=True), axis=0))[:r]


def parse(words: str) -> tuple[str, str, dict[str, Any]]:
    """Split `name[@row][:key=value,...]`."""
    head, _, tail = words.partition(":")
    name, _, row = head.partition("@")
    options: dict[str, Any] = {}
    for pair in filter(None, tail.split(",")):
        key, _, value = pair.partition("=")
        try:
            options[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[key] = value
    return name, row or name, options


def chooser(name: str, options: dict[str, Any]) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return a function (M, seed) -> anchors."""
    if name == "nearest":
        return lambda M, seed: nearest(M, R)
    method = sepnmf.METHODS[name]
    options = EVERY | OPTIONS.get(name, {}) | options
    if "random_state" in inspect.signature(method).parameters:
        return lambda M, seed: method(M, R, random_state=seed, **options).anchors
    return lambda M, seed: method(M, R, **options).anchors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--levels", type=float, nargs="+", default=LEVELS)
    parser.add_argument("--types", type=int, nargs="+", choices=(1, 2), default=(1, 2))
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # convergence warnings, one per instance
    width = max(9, *(len(words) for words in args.methods)) + 2
    below = 0
    for kind in (f"Type {t}" for t in args.types):
        print(f"{kind}, ε =".ljust(width) + "".join(f"{level:>8g}" for level in args.levels) + "      s/run")
        for words in args.methods:
            name, row, options = parse(words)
            choose = chooser(name, options)
            known = dict(zip(LEVELS, REFERENCE[kind].get(row, ()), strict=False))
            runs = RUNS.get(name, 1)
            line, start = "", time.perf_counter()
            for level in args.levels:
                hits = 0
                for seed in range(args.seeds):
                    M, anchors = TYPES[kind](noise=level, r=R, random_state=seed)
                    hits += sum(set(choose(M, run)) == set(anchors) for run in range(runs))
                rate = hits / args.seeds / runs
                low = rate < known.get(level, 0.0) - MARGIN - 1e-9
                below += low
                line += f"{rate:>7.2f}{'<' if low else ' '}"
            seconds = (time.perf_counter() - start) / (len(args.levels) * args.seeds * runs)
            print(f"{words:<{width}}{line}{seconds:>10.4f}", flush=True)
            reference = "".join(f"{known.get(level, np.nan):>7.2f} " for level in args.levels)
            print(f"{'  reference':<{width}}{reference}")
    return below > 0


if __name__ == "__main__":
    sys.exit(main())
