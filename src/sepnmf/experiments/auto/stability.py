"""Whether anchors that `sepnmf.stability` calls sure are right.

The families have three kinds of noise, at levels at which some anchors are missed. The seeds are others than
those that the noise of the draws was chosen on.
"""

from itertools import pairwise

import numpy as np

from sepnmf.datasets import make_dirichlet, make_family
from sepnmf.experiments.auto.common import PAGE
from sepnmf.experiments.experiment import Check, Experiment, Figure, Frame, Row, Scale, pick
from sepnmf.experiments.labels import COLOURS, one_panel
from sepnmf.experiments.markdown import figure, section, table
from sepnmf.tuning import stability

LEVELS = {"type2": (0.35, 0.5, 0.7), "brightness": (0.15, 0.3, 0.45), "heavy_tails": (0.1, 0.2, 0.3)}
SEEDS, FIRST = 23, 1000
EDGES = (0.0, 0.25, 0.5, 0.75, 0.85, 0.95, 1.0)  # of the shares of draws; the last are those above 0.95
LOW, HIGH = 0.85, 0.95  # share of right anchors among those that came back in 85 to 95 % of the draws


def trials(scale: Scale) -> list[Row]:
    """Instances of each family and level."""
    levels = pick(scale, LEVELS, LEVELS, {"type2": (0.5,)})
    return [
        {"family": family, "level": level, "seed": FIRST + seed, "draws": pick(scale, 20, 20, 3)}
        for seed in range(pick(scale, SEEDS, 2, 1))
        for family in levels
        for level in levels[family]
    ]


def run(family: str, level: float, seed: int, draws: int) -> list[Row]:
    """A row for each anchor: how often it came back, and whether it is right."""
    if family == "type2":
        M, anchors = make_dirichlet(level, random_state=seed)
        right, r = set(anchors.tolist()), len(anchors)
    else:
        instance = make_family(family, level, random_state=seed)
        M, r, right = instance.M, len(instance.anchors), set().union(*instance.accepted)
    sel = stability(M, r, draws=draws, negative="allow", n_jobs=1)
    assert sel.stability is not None
    return [
        {"anchor": int(anchor), "share": float(share), "right": int(anchor in right)}
        for anchor, share in zip(sel.anchors, sel.stability, strict=True)
    ]


def bins(frame: Frame) -> list[tuple[str, int, float, float]]:
    """For ranges of shares: their name, the number of anchors, the mean share, and how many are right."""
    found = []
    for low, high in pairwise(EDGES):
        part = frame[(frame["share"] > low - (low == 0)) & (frame["share"] <= high)]
        found.append((f"{low:.0%} to {high:.0%}", len(part), part["share"].mean(), part["right"].mean()))
    return found


def draw(frame: Frame) -> dict[str, Figure]:
    """The share of right anchors over the share of draws in which they came back."""
    picture, panel = one_panel(5.0, 4.2)
    panel.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    known = [row for row in bins(frame) if row[1]]
    panel.plot([row[2] for row in known], [row[3] for row in known], "o-", color=COLOURS["blue"])
    panel.set_xlabel("share of the draws in which an anchor comes back")
    panel.set_ylabel("share of the anchors that are right")
    panel.grid(alpha=0.25)
    return {"stability": picture}


def tell(frame: Frame) -> str:
    """How sure anchors are said to be, and how many are right."""
    instances = frame.groupby(["family", "level", "seed"]).ngroups
    kinds = frame.groupby(["family", "level"]).agg(share=("share", "mean"), right=("right", "mean"))
    return section(
        "## How sure anchors are",
        f"`sepnmf.stability` says for each anchor in which share of {frame['draws'].max()} draws it comes "
        f"back. Here it is compared with whether the anchor is right, on {instances} generated instances "
        f"with three kinds of noise (seeds from {FIRST} on, which nothing was chosen on).",
        figure("stability", "Right anchors over the share of draws in which anchors come back", PAGE),
        table(
            ("came back in", "anchors", "mean share of draws", "right"),
            [
                (name, count, None if count == 0 else f"{share:.3f}", None if count == 0 else f"{right:.3f}")
                for name, count, share, right in bins(frame)
            ],
        ),
        table(
            ("family", "level", "mean share of draws", "right"),
            [
                (family, level, f"{row['share']:.3f}", f"{row['right']:.3f}")
                for (family, level), row in kinds.iterrows()
            ],
        ),
    )


def checks(frame: Frame) -> list[Check]:
    """Of the anchors that come back in 85 to 95 % of the draws, 85 to 95 % are right."""
    part = frame[(frame["share"] > LOW) & (frame["share"] <= HIGH)]
    right = float(np.mean(part["right"])) if len(part) else np.nan
    wanted = f"{LOW:g} to {HIGH:g}"
    what = (
        f"Stability, right among {len(part)} anchors that come back in {LOW:.0%} to {HIGH:.0%} of the draws"
    )
    return [Check(what, f"{right:.3f}", wanted, LOW <= right <= HIGH)]


EXPERIMENT = Experiment(
    "auto-stability",
    "how sure anchors are, and how many of these are right",
    trials,
    run,
    tell,
    draw,
    page=PAGE,
    checks=checks,
)
