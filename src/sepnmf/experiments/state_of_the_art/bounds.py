"""EEHT, which needs only r, beside Hottopixx with several bounds on the noise, on much noise."""

import json

from sepnmf.experiments import recovery
from sepnmf.experiments.auto.common import at_least, choose
from sepnmf.experiments.experiment import Check, Experiment, Frame, Row, Scale, pick, where
from sepnmf.experiments.markdown import section, table
from sepnmf.experiments.state_of_the_art.variants import PAGE

LEVELS = {"type1": (0.3, 0.35), "type2": (0.35, 0.4)}
BOUNDS = (0.15, 0.2, 0.25, 0.3, 0.35)
MORE_BOUNDS = {"type1": (), "type2": (0.325,)}  # between the two that are best
SEEDS = 50


def trials(scale: Scale) -> list[Row]:
    """Both methods on every instance, Hottopixx with every bound; the first seeds first."""
    return [
        {"data": data, "level": level, "method": method, "options": json.dumps(given), "seed": seed}
        for seed in range(pick(scale, SEEDS, 2, 1))
        for data, levels in pick(scale, LEVELS, LEVELS, {"type2": (0.35,)}).items()
        for level in levels
        for method, given in [
            ("eeht", {}),
            ("eeht", {"choice": "exchange"}),
            *(("hottopixx", {"noise": bound}) for bound in pick(scale, bounds(data), BOUNDS, [0.2])),
        ]
    ]


def bounds(data: str) -> list[float]:
    """The bounds on the noise with which Hottopixx runs."""
    return sorted((*BOUNDS, *MORE_BOUNDS[data]))


def run(data: str, level: float, method: str, options: str, seed: int) -> list[Row]:
    """Whether exactly the anchors were found."""
    M, anchors = recovery.instance(data, level, seed)
    chosen = choose(M, len(anchors), method, **json.loads(options)).anchors
    return [{"success": float(set(chosen.tolist()) == set(anchors.tolist()))}]


def cells(frame: Frame) -> list[tuple[str, float]]:
    """Kinds of data and levels, as the trials have them."""
    return list(dict.fromkeys(zip(frame["data"], frame["level"], strict=True)))


def successes(frame: Frame, data: str, level: float) -> dict[str, int]:
    """The number of instances in which the anchors were found, by method and bound."""
    found = where(frame, data=data, level=level).groupby(["method", "options"], sort=False)["success"].sum()
    return {
        " ".join([str(method), *map(str, json.loads(str(options)).values())]): int(count)
        for (method, options), count in found.items()
    }


def tell(frame: Frame) -> str:
    """The successes of both methods."""
    counts = {cell: successes(frame, *cell) for cell in cells(frame)}
    names = sorted({name for count in counts.values() for name in count})
    seeds = frame["seed"].nunique()
    return section(
        "## EEHT beside Hottopixx with its best bound on the noise",
        "`hottopixx` needs a bound on the noise, and `eeht` needs none: it takes the largest entries of the "
        'diagonal or, with `choice="exchange"`, exchanges them as long as all columns fit better. (The power '
        "in the criterion of exchanges was chosen on these instances.) Counted are the instances, of "
        f"{seeds} with seeds from 0, in which exactly the anchors were found, at levels at which neither "
        "method always succeeds. The bound is in the title of the column; nobody knows the best one "
        "beforehand. Where a line has no number, that bound was not tried.",
        table(
            ("data", *(name.replace("hottopixx ", "hottopixx, ") for name in names)),
            [
                (f"{data} {level:g}", *(str(count.get(name, "")) for name in names))
                for (data, level), count in counts.items()
            ],
        ),
    )


def checks(frame: Frame) -> list[Check]:
    """At least as many successes as Hottopixx with the bound that is best at that level."""
    found = []
    for data, level in cells(frame):
        counts = successes(frame, data, level)
        best = max(count for name, count in counts.items() if name.startswith("hottopixx"))
        name = f"{data} at {level:g}, successes of eeht exchange; wanted are hottopixx's with its best bound"
        found.append(at_least(name, counts["eeht exchange"], best))
    return found


EXPERIMENT = Experiment(
    "methods-bounds",
    "EEHT beside Hottopixx with its best bound on the noise",
    trials,
    run,
    tell,
    page=PAGE,
    checks=checks,
)
