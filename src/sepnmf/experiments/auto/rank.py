"""The number of anchors, estimated from synthetic data and from two scenes."""

import json
import time
from typing import Any

import numpy as np

from sepnmf.datasets import make_dirichlet
from sepnmf.experiments.auto.common import PAGE, at_least
from sepnmf.experiments.auto.data import load
from sepnmf.experiments.auto.real import MATERIALS
from sepnmf.experiments.experiment import Check, Experiment, Figure, Frame, Row, Scale, pick
from sepnmf.experiments.labels import COLOURS, panels
from sepnmf.experiments.markdown import figure, section, table
from sepnmf.tuning import estimate_rank

SHAPES = ((50, 100), (100, 300), (200, 1000))
NOISE = (0.0, 0.01, 0.03, 0.05)
SHOWN = "samson"  # the scene with a figure


def trials(scale: Scale) -> list[Row]:
    """Type 2 data of several shapes and noise levels, a number of anchors each; then the scenes."""
    numbers = pick(scale, range(2, 21), range(2, 21, 6), (3, 7))
    found: list[Row] = [
        {"data": "type2", "m": m, "n": n, "noise": noise, "r": r, "seed": 0}
        for m, n in pick(scale, SHAPES, SHAPES[:2], SHAPES[:1])
        for noise in pick(scale, NOISE, NOISE[1::2], NOISE[1::2])
        for r in numbers
    ]
    return found + [{"data": name} for name in pick(scale, tuple(MATERIALS), tuple(MATERIALS), (SHOWN,))]


def run(data: str, m: int = 0, n: int = 0, noise: float = 0, r: int = 0, seed: int = 0) -> list[Row]:
    """The range that `estimate_rank` gives and, for a scene, what it rests on."""
    if data == "type2":
        M, _ = make_dirichlet(noise, m=m, n=n, r=r, random_state=seed)
        found = estimate_rank(M, negative="allow", n_jobs=1)
        return [{"low": found.low, "high": found.high}]
    began = time.perf_counter()
    found = estimate_rank(load(data).M, n_jobs=1)
    seconds = time.perf_counter() - began
    curve = json.dumps({name: np.asarray(values).ravel().tolist() for name, values in found.curve.items()})
    row: Row = {"low": found.low, "high": found.high, "evidence": found.evidence}
    return [row | {"seconds": seconds, "curve": curve}]


def of_scenes(frame: Frame) -> Frame:
    """The rows of real data."""
    return frame[frame["data"] != "type2"]


def judged(frame: Frame) -> Frame:
    """The rows of Type 2 data: whether the answer is right, has the number in it, and is a range."""
    part = frame[frame["data"] == "type2"]
    within = (part["low"] <= part["r"]) & (part["r"] <= part["high"])
    several = part["low"] != part["high"]
    return part.assign(right=within & ~several, within=within, several=several)


def draw(frame: Frame) -> dict[str, Figure]:
    """What the estimate for a scene rests on: a panel per quantity."""
    answer: Any = of_scenes(frame).set_index("data").loc[SHOWN]
    curve: dict[str, list[float]] = json.loads(answer["curve"])
    x = curve.pop("r", None) or curve.pop("index")
    picture, grid = panels([SHOWN], curve.items(), width=4.2)
    for panel, _, (name, values) in grid:
        panel.plot(x, values, "o-", color=COLOURS["black"], markersize=4)
        if min(values) > 0 and max(values) > 50 * min(values):
            panel.set_yscale("log")
        panel.axvspan(answer["low"] - 0.2, answer["high"] + 0.2, color=COLOURS["orange"], alpha=0.3)
        panel.set(xlabel="number of anchors", title=name.replace("_", " "))
    picture.suptitle(f"{SHOWN}: {between(answer['low'], answer['high'])}")
    return {f"rank-{SHOWN}": picture}


def between(low: float, high: float) -> str:
    """A number or a range."""
    return f"{low:g}" if low == high else f"between {low:g} and {high:g}"


def tell(frame: Frame) -> str:
    """Shares of right answers, and the estimates for the scenes."""
    part = judged(frame)
    rows = [
        (f"{m:g} × {n:g}", noise, *(f"{value:.3f}" for value in cell[["right", "within", "several"]].mean()))
        for (m, n, noise), cell in part.groupby(["m", "n", "noise"], sort=False)
    ]
    columns = ["data", "low", "high", "seconds", "evidence"]
    real = [
        (name, MATERIALS[name], between(low, high), f"{seconds:.1f}", evidence)
        for name, low, high, seconds, evidence in of_scenes(frame)[columns].itertuples(index=False)
    ]
    per_row = len(part) // len(rows)
    return section(
        "## The number of anchors",
        f"`sepnmf.estimate_rank` on Type 2 data with r from {part['r'].min():g} to {part['r'].max():g}, "
        f'one instance for each r: {per_row} instances per row, `negative="allow"`. “Right” is the share '
        "of the instances for which it gives the true number and no other, “in the range” the share for "
        "which the true number is among those it gives, and “several numbers” the share for which it "
        "gives a range.",
        table(("shape", "ε", "right", "in the range", "several numbers"), rows),
        "The same for two scenes, beside the number of their reference materials:",
        table(("scene", "reference", "estimate", "seconds", "evidence"), real),
        figure(f"rank-{SHOWN}", f"The quantities that the estimate for {SHOWN} rests on", PAGE),
    )


def checks(frame: Frame) -> list[Check]:
    """Nine of ten answers are right, and the number of materials of the scene is possible."""
    low, high = of_scenes(frame).set_index("data").loc[SHOWN, ["low", "high"]]
    truth = MATERIALS[SHOWN]
    wanted = f"{truth}, or a range with {truth} in it"
    return [
        at_least("Number of anchors, Type 2: right", float(judged(frame)["right"].mean()), 0.9),
        Check(f"Number of anchors, {SHOWN}", between(low, high), wanted, bool(low <= truth <= high)),
    ]


EXPERIMENT = Experiment(
    "auto-rank",
    "estimate_rank: the number of anchors of synthetic data and of two scenes",
    trials,
    run,
    tell,
    draw,
    data=tuple(MATERIALS),
    page=PAGE,
    checks=checks,
)
