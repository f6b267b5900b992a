"""Every method on all pixels of two hyperspectral scenes."""

import json
from typing import Any

from sepnmf.experiments.auto.common import at_most
from sepnmf.experiments.auto.data import load
from sepnmf.experiments.auto.limited import select_apart
from sepnmf.experiments.auto.real import MATERIALS, MEMORY, answered, indices, short
from sepnmf.experiments.experiment import Check, Experiment, Frame, Row, Scale, Series, pick
from sepnmf.experiments.markdown import section, table
from sepnmf.experiments.state_of_the_art.generated import fast
from sepnmf.experiments.state_of_the_art.variants import PAGE, emphasised, labelled, variants
from sepnmf.metrics import mrsa, rae, sam

LIMIT = 20  # seconds of processor time
RESOLUTION = 0.01  # seconds; with a limit on processor time, less is not told apart


def trials(scale: Scale) -> list[Row]:
    """Every variant on every scene."""
    known = pick(scale, variants(), fast(variants()), [v for v in variants() if v["method"] == "eeht"][-1:])
    return [
        {"data": data, "r": r, **variant, "limit": LIMIT, "memory": MEMORY}
        for data, r in pick(scale, MATERIALS, MATERIALS, {"samson": 3}).items()
        for variant in known
    ]


def run(data: str, r: int, method: str, options: str, limit: float, memory: float) -> list[Row]:
    """One selection in a process of its own: MRSA and SAM to the reference spectra, RAE, seconds, memory."""
    answer = select_apart(data, r, method, limit, memory, **json.loads(options))
    kept = ("failure", "anchors", "processor", "megabytes")
    row: Row = {name: answer.get(name) for name in kept} | dict.fromkeys(("mrsa", "sam", "rae"))
    if row["failure"] is None:
        known: Any = load(data)
        anchors = indices(row["anchors"])
        found = known.M[:, anchors]
        row["mrsa"], row["sam"] = round(mrsa(found, known.W), 9), round(sam(found, known.W), 9)
        row["rae"] = round(rae(known.M, anchors), 9)
    return [row]


def tell(frame: Frame) -> str:
    """A table for each scene, the least MRSA first."""
    parts = [
        "## Hyperspectral scenes",
        "The methods choose among all pixels, as the loader gives them, with their defaults. MRSA and SAM "
        "compare the chosen pixels with the reference spectra that the data come with. Seconds are of "
        f"processor time, on one thread, without compiling; the limits are {LIMIT} s and {MEMORY} GB. "
        "`admm` and `dca` need n × n coefficients and parameters that nobody has found for scenes. Of the "
        "choices of `eeht`, the one for images is by centroids; its default takes single columns, which "
        "have many neighbours here.",
    ]
    for name, part in labelled(frame).groupby("data", sort=False):
        rows = [line(row) for _, row in part.sort_values("mrsa", kind="stable").iterrows()]
        parts.append(f"### {name}, r = {part['r'].iloc[0]}")
        parts.append(table(("method", "MRSA", "SAM", "RAE", "seconds", "peak memory"), rows))
    return section(*parts)


def line(row: Series) -> tuple[str, ...]:
    """One line of a scene's table."""
    name = emphasised(row["variant"])
    if not answered(row):
        return name, short(row["failure"]), *[""] * 4
    angles = f"{row['mrsa']:.2f}", f"{row['sam']:.2f}°", f"{row['rae']:.4f}"
    seconds = "< 0.01" if row["processor"] < RESOLUTION else f"{row['processor']:.2g}"
    return name, *angles, seconds, f"{row['megabytes']:.0f} MB"


def checks(frame: Frame) -> list[Check]:
    """EEHT takes less than a minute and 2 GB on each scene."""
    found = []
    for _, row in labelled(frame).iterrows():
        if row["variant"] == "eeht centroids":
            found += [
                at_most(f"{row['data']}, processor time of eeht", row["processor"], 60, " s"),
                at_most(f"{row['data']}, memory of eeht", row["megabytes"] / 1000, 2, " GB"),
            ]
    return found


EXPERIMENT = Experiment(
    "methods-scenes",
    "every method on two hyperspectral scenes",
    trials,
    run,
    tell,
    data=tuple(MATERIALS),
    page=PAGE,
    checks=checks,
)
