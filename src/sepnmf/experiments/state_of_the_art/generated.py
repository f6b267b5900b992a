"""Every method on generated data: both types of the paper, and the families that `auto` was not tuned on."""

import json
import time
from functools import cache
from typing import Any

import numpy as np

from sepnmf.datasets import FAMILIES, Instance, make_dirichlet, make_family
from sepnmf.experiments import recovery
from sepnmf.experiments.auto.common import at_least, choose
from sepnmf.experiments.experiment import (
    Check,
    Experiment,
    Figure,
    Frame,
    Row,
    Scale,
    pick,
    stored_parameters,
)
from sepnmf.experiments.labels import one_panel
from sepnmf.experiments.markdown import figure, section, table
from sepnmf.experiments.state_of_the_art.variants import PAGE, emphasised, labelled, variants
from sepnmf.metrics import mrsa, rae, sam

# Families that auto was not tuned on, without those of many anchors, on which linear programmes take long.
MOST_ANCHORS = 6
# The level of each kind of data. Of the families it is the second of three.
LEVELS = {"type1": 0.3, "type2": 0.3} | {
    name: float(family.levels[1])
    for name, family in FAMILIES.items()
    if not family.tuning and family.r <= MOST_ANCHORS
}
FIRST = 1000  # the first seed: no other page has these instances
SEEDS = 4
SLOW = ("tuned_admm", "fgnsr", "merit", "hottopixx")  # methods that take seconds
RATIO = (("admm", 2), ("dca", 1))  # methods and powers whose parameters are known for both types
BOUND = 0.2  # of the noise, for hottopixx: better than 0.25 and 0.3 on other instances of Type 1
TOYS = ("type1", "spikes")


def trials(scale: Scale) -> list[Row]:
    """Every variant on every instance; the first seeds first."""
    levels = pick(scale, LEVELS, LEVELS, {name: LEVELS[name] for name in TOYS})
    ready = [variant for variant in variants() if variant["method"] != "hottopixx"]
    known = pick(scale, ready, fast(ready), [row for row in ready if row["method"] in ("auto", "spa")])
    return [
        {"data": data, "level": level, **variant, "seed": FIRST + seed}
        for seed in range(pick(scale, SEEDS, 1, 1))
        for data, level in levels.items()
        for variant in [*known, *(given(data, level) if scale == "full" else [])]
    ]


def fast(known: list[Row]) -> list[Row]:
    """The variants that take less than a second or two."""
    return [variant for variant in known if variant["method"] not in SLOW]


def given(data: str, level: float) -> list[Row]:
    """The methods that need parameters, with those that were found on other instances; for both types."""
    if data not in recovery.TYPES:
        return []
    found: list[Row] = [{"method": "hottopixx", "options": json.dumps({"noise": BOUND})}]
    for method, p in RATIO:
        name = recovery.condition_name(data, "l1", method, p, "exact", recovery.regime(level, data))
        parameters = stored_parameters("recovery")[name]["parameters"]
        options = recovery.ratio_options(method, p, "l1", "exact", parameters)
        found.append({"method": method, "options": json.dumps(options)})
    return found


@cache
def instance(data: str, level: float, seed: int) -> Instance:
    """Data with their anchors, and the vertices without noise."""
    if data in FAMILIES:
        return make_family(data, level, random_state=seed)
    M, anchors = recovery.instance(data, level, seed)
    vertices = recovery.instance(data, 0.0, seed)[0][:, anchors]
    return Instance(M, anchors, [frozenset([int(anchor)]) for anchor in anchors], vertices)


@cache
def compiled(method: str, options: str) -> None:
    """Compile what a variant needs, so that no measurement has it."""
    choose(make_dirichlet(0.01, m=20, n=60, r=3)[0], 3, method, **json.loads(options))


def run(data: str, level: float, method: str, options: str, seed: int) -> list[Row]:
    """One selection. A method that refuses the data has found nothing, and its reason is kept."""
    M, anchors, _, vertices = known = instance(data, level, seed)
    compiled(method, options)
    began = time.process_time()
    try:
        chosen = choose(M, len(anchors), method, **json.loads(options)).anchors
    except ValueError as error:
        nothing: Row = dict.fromkeys(("mrsa", "sam", "rae", "processor"))
        return [{"found": 0.0, **nothing, "failure": str(error)}]
    seconds = time.process_time() - began
    return [
        {
            "found": known.share_found(chosen),
            # Rounded: the last digits depend on where an array lies in memory.
            "mrsa": round(mrsa(M[:, chosen], vertices), 9),
            "sam": round(sam(M[:, chosen], vertices), 9),
            "rae": round(rae(M, chosen), 9),
            "processor": seconds,
            "failure": None,
        }
    ]


def shares(frame: Frame) -> Frame:
    """Mean share found, a column per kind of data; the best mean first, but those with few kinds last."""
    names = list(dict.fromkeys(frame["data"]))
    found: Frame = labelled(frame).pivot_table(index="variant", columns="data", values="found")[names]
    order = zip(-found.notna().sum(axis=1), -found.mean(axis=1), found.index, strict=True)
    return found.loc[[name for *_, name in sorted(order)]]


def draw(frame: Frame) -> dict[str, Figure]:
    """The share found as shades, a line per variant and a column per kind of data."""
    found = shares(frame)
    picture, panel = one_panel(1.8 + 0.7 * len(found.columns), 1.4 + 0.28 * len(found))
    image = panel.imshow(found, vmin=0, vmax=1, cmap="viridis", aspect="auto")
    panel.set_xticks(range(len(found.columns)), found.columns, rotation=40, ha="right", fontsize=8)
    panel.set_yticks(range(len(found)), found.index, fontsize=8)
    for (i, j), value in np.ndenumerate(found.to_numpy()):
        if not np.isnan(value):
            shade = "white" if value < 0.6 else "black"
            panel.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7, color=shade)
    picture.colorbar(image, label="share of the anchors found")
    return {"generated": picture}


def tell(frame: Frame) -> str:
    """The share found by variant and kind of data, and means of what else is measured."""
    found = shares(frame)
    named = labelled(frame)
    cells: Any = named.groupby(["variant", "data"])[["mrsa", "sam", "rae", "processor"]].mean()
    means = cells.groupby("variant").mean()
    refused = named.groupby("variant")["failure"].count()
    rows = [
        (
            emphasised(name),
            f"{found.loc[name].mean():.3f}",
            *(f"{means.loc[name, column]:.2f}" for column in ("mrsa", "sam")),
            f"{means.loc[name, 'rae']:.3f}",
            f"{means.loc[name, 'processor']:.2g}",
            int(found.loc[name].notna().sum()),
            refused[name],
        )
        for name in found.index
    ]
    levels = ", ".join(
        f"{name} {level:g}" for name, level in dict(zip(frame["data"], frame["level"], strict=True)).items()
    )
    return section(
        "## Generated data",
        "Both types of the paper, and the families of `sepnmf.datasets.make_family` that no choice in "
        f"`auto` was made on, each at one level: {levels}. Left out are two families with more than "
        f"{MOST_ANCHORS} anchors: with 40, `eeht` would take more than a minute. The seeds are {FIRST} to "
        f"{frame['seed'].max()}, so that no other page has these instances. The families are described on "
        'the page on [`auto`](auto.md#families-of-generated-data). All methods have `negative="allow"` and '
        "r, and most nothing else. `hottopixx`, `admm` and `dca` need parameters, which were found on other "
        f"instances: a bound of {BOUND:g} on the noise, which was the best of a few on Type 1, and those in "
        "`src/sepnmf/experiments/parameters/`. They are not run on the families, for which nobody has "
        "looked for parameters.",
        figure("generated", "Share of the anchors found, by method and kind of data", PAGE),
        "The next table has means over the kinds of data that a method was run on. MRSA and SAM compare "
        "the chosen columns with the vertices without noise. Seconds are of processor time, on one thread. "
        "“Refused” counts instances that a method does not accept, where it has found nothing.",
        table(
            ("method", "found", "MRSA", "SAM, °", "RAE", "seconds", "kinds", "refused"),
            rows,
        ),
    )


def checks(frame: Frame) -> list[Check]:
    """No other method finds more than auto in the mean."""
    means = shares(frame).dropna().mean(axis=1)
    others = means.drop("auto")
    what = f"Generated data, mean share found by auto; the best other is {others.idxmax()}"
    return [at_least(what, float(means["auto"]), round(float(others.max()), 6))]


EXPERIMENT = Experiment(
    "methods-generated",
    "every method on generated data",
    trials,
    run,
    tell,
    draw,
    page=PAGE,
    checks=checks,
)
