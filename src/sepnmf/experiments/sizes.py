"""Ablation: three sizes of the matrix, both norms."""

from typing import TYPE_CHECKING, Any

import numpy as np

from sepnmf.experiments import recovery
from sepnmf.experiments.experiment import (
    Experiment,
    Row,
    Scale,
    figure,
    pick,
    share_that_holds,
    table,
    undecided,
    verdict,
)
from sepnmf.experiments.labels import CYCLE, DATA, MARKERS, NORM, panels, variant
from sepnmf.experiments.noise_sweep import regime

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVELS = tuple(np.logspace(-2, 0, 12).tolist())
VARIANTS = [("dca", 1), ("admm", 2)]


def trials(scale: Scale) -> list[Row]:
    """DCA and ADMM-P (p = 2) on small, medium and large data; the slow nuclear norm on fewer instances."""
    found: list[Row] = []
    for norm in pick(scale, recovery.NORMS, recovery.NORMS, ("l1",)):
        for size in pick(scale, tuple(recovery.SIZES), tuple(recovery.SIZES), ("small",)):
            for data in recovery.TYPES:
                for method, p in VARIANTS:
                    for mode in recovery.modes(method, p, norm):
                        few = 1 if size == "large" else 3
                        seeds = pick(scale, few if norm == "nuclear" else 20, 1, 1)
                        for noise in pick(scale, LEVELS, LEVELS[2::5], LEVELS[5:6]):
                            tuned_for = regime(noise) if data == "type1" else "all"
                            head = recovery.ratio_trial(data, norm, method, p, mode, tuned_for)
                            head |= {"size": size, "noise": noise}
                            found += [head | {"seed": seed} for seed in range(seeds)]
    return found


def draw(frame: "pd.DataFrame") -> "dict[str, Figure]":
    """Success of both algorithms by size, and the seconds of ADMM-P by norm, on Type 2 in paper mode."""
    part = frame[(frame["data"] == "type2") & (frame["mode"] == "paper")]
    success, axes = panels(1, 2)
    for panel, (method, p) in zip(axes[0], VARIANTS, strict=True):
        rows = part[(part["norm"] == "l1") & (part["method"] == method)]
        by_size(panel, rows, "success", f"{variant(method, p)}, entrywise norm")
    norms = [norm for norm in recovery.NORMS if norm in set(frame["norm"])]
    seconds, axes = panels(1, len(norms))
    for panel, norm in zip(axes[0], reversed(norms), strict=True):
        rows = part[(part["norm"] == norm) & (part["method"] == "admm")]
        by_size(panel, rows, "seconds", f"ADMM-P p = 2, {NORM[norm]} norm")
        panel.set_yscale("log")
    return {"sizes-success": success, "sizes-seconds": seconds}


def by_size(axes: "Axes", rows: "pd.DataFrame", measure: str, title: str) -> None:
    """A curve per size."""
    for i, (size, part) in enumerate(rows.groupby("size", sort=False)):
        means = part.groupby("noise")[measure].mean()
        m, n, _ = recovery.SIZES[str(size)]["type2"]
        style: dict[str, Any] = {"color": CYCLE[i], "marker": MARKERS[i], "markersize": 4}
        axes.plot(means.index, means, label=f"{m} × {n}", **style)
    axes.set(xscale="log", xlabel="noise ε", ylabel=measure, title=title)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)


def tell(frame: "pd.DataFrame") -> str:
    """Mean success and seconds by size, norm and mode."""
    lines = []
    for key, part in frame.groupby(["data", "norm", "method", "p", "mode"], sort=False):
        data, norm, method, p, mode = key
        means = part.groupby("size", sort=False)[["success", "seconds"]].mean()
        cells = [f"{row['success']:.2f} / {row['seconds']:.3g} s" for _, row in means.iterrows()]
        lines.append((DATA[data], NORM[norm], variant(method, p), mode, *cells))
    sizes = list(dict.fromkeys(frame["size"]))
    type2 = frame[(frame["data"] == "type2") & (frame["method"] == "admm") & (frame["mode"] == "paper")]
    rates = type2[type2["norm"] == "l1"].groupby("size", sort=False)["success"].mean()
    grows = [bool(rates.iloc[-1] > rates.iloc[0]), bool((np.diff(rates) >= 0).all())]
    words = (
        "The paper: the largest instances are recovered best, the smallest worst (Type 2). Entrywise norm, "
        f"mean success of ADMM-P {', '.join(f'{size} {rate:.2f}' for size, rate in rates.items())}."
    )
    parts = [
        "## Ablation: sizes and regulariser",
        "The table shows the mean success rate over the levels / the seconds per run, with the parameters "
        "tuned for the medium size. "
        "On Type 1 data the large size keeps 90 of the 190 midpoints, so that it has the paper's 110 "
        "columns.",
        table(("data", "norm", "algorithm", "mode", *sizes), lines),
        figure("sizes-success", "Success by size, Type 2, entrywise norm, paper mode"),
        figure("sizes-seconds", "Seconds of ADMM-P by size, Type 2, paper mode"),
        verdict(share_that_holds(grows), words) if len(rates) > 1 else undecided(words),
    ]
    if frame["norm"].nunique() > 1:
        times = type2.groupby(["norm", "size"])["seconds"].median()
        ratios = [times[("nuclear", size)] / times[("l1", size)] for size in sizes]
        parts.append(
            verdict(
                ratios[-1] > 2,
                "The paper: the entrywise norm is the cheaper one. The nuclear norm takes "
                f"{', '.join(f'{ratio:.3g}' for ratio in ratios)} times as long ({', '.join(sizes)}).",
            )
        )
    return "\n\n".join(parts)


EXPERIMENT = Experiment(
    name="sizes",
    title="Ablation: three sizes, both norms",
    trials=trials,
    run=recovery.recover,
    draw=draw,
    tell=tell,
)
