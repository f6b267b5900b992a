"""Ablation: three sizes of the matrix, both norms."""

import numpy as np

from sepnmf.experiments import counts, recovery
from sepnmf.experiments.experiment import Axes, Experiment, Figure, Frame, Row, Scale, pick, where
from sepnmf.experiments.labels import DATA, NORM, curve_style, panels, variant
from sepnmf.experiments.markdown import figure, section, table, verdict

LEVELS = tuple(np.logspace(-2, 0, 12).tolist())
VARIANTS = [("dca", 1), ("admm", 2)]
INSTANCES = 20  # of each level, as in the paper


def trials(scale: Scale) -> list[Row]:
    """DCA and ADMM-P (p = 2) on small, medium and large data."""
    return [
        recovery.ratio_trial(data, norm, method, p, mode, recovery.regime(noise, data))
        | {"size": size, "noise": noise, "seed": seed}
        for norm in recovery.norms_of(scale)
        for size in pick(scale, recovery.SIZES, recovery.SIZES, ("small",))
        for data in recovery.TYPES
        for method, p in VARIANTS
        for mode in recovery.modes(method, p, norm)
        for noise in pick(scale, LEVELS, LEVELS[2::5], LEVELS[5:6])
        for seed in range(pick(scale, INSTANCES, 1, 1))
    ]


def draw(frame: Frame) -> dict[str, Figure]:
    """Success of both algorithms by size, and the seconds of ADMM-P by norm, on Type 2 in paper mode."""
    part = where(frame, data="type2", mode="paper")
    success, grid = panels(["l1"], VARIANTS)
    for panel, norm, (method, p) in grid:
        rows = where(part, norm=norm, method=method)
        by_size(panel, rows, "success", f"{variant(method, p)}, entrywise norm")
    seconds, grid = panels(["admm"], recovery.norms_in(frame)[::-1])
    for panel, method, norm in grid:
        rows = where(part, norm=norm, method=method)
        by_size(panel, rows, "seconds", f"ADMM-P p = 2, {NORM[norm]} norm")
        panel.set_yscale("log")
    return {"sizes-success": success, "sizes-seconds": seconds}


def by_size(axes: Axes, rows: Frame, measure: str, title: str) -> None:
    """A curve per size."""
    for i, (size, part) in enumerate(rows.groupby("size", sort=False)):
        means = part.groupby("noise")[measure].mean()
        m, n, _ = recovery.SIZES[str(size)]["type2"]
        axes.plot(means.index, means, label=f"{m} × {n}", **curve_style(i))
    axes.set(xscale="log", xlabel="noise ε", ylabel=measure, title=title)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)


def tell(frame: Frame) -> str:
    """Mean success and seconds by size, norm and mode."""
    lines = []
    for key, part in frame.groupby(["data", "norm", "method", "p", "mode"], sort=False):
        data, norm, method, p, mode = key
        means = part.groupby("size", sort=False)[["success", "seconds"]].mean()
        cells = [f"{row['success']:.2f} / {row['seconds']:.3g} s" for _, row in means.iterrows()]
        lines.append((DATA[data], NORM[norm], variant(method, p), mode, *cells))
    sizes = list(dict.fromkeys(frame["size"]))
    type2 = where(frame, data="type2", method="admm", mode="paper")
    rates = where(type2, norm="l1").groupby("size", sort=False)["success"].mean()
    parts = [
        "## Ablation: sizes and regulariser",
        "The table shows the mean success rate over the levels / the seconds per run, with the parameters "
        "tuned for the medium size. "
        "On Type 1 data the large size keeps 90 of the 190 midpoints, so that it has the paper's 110 "
        "columns. " + counts.instances(frame, "level"),
        table(("data", "norm", "algorithm", "mode", *sizes), lines),
        figure("sizes-success", "Success by size, Type 2, entrywise norm, paper mode"),
        figure("sizes-seconds", "Seconds of ADMM-P by size, Type 2, paper mode"),
        verdict(
            [bool(rates.iloc[-1] > rates.iloc[0]), bool((np.diff(rates) >= 0).all())],
            "The paper: the largest instances are recovered best, the smallest worst (Type 2). Entrywise "
            "norm, mean success of ADMM-P "
            f"{', '.join(f'{size} {rate:.2f}' for size, rate in rates.items())}.",
            claim="Type 2: larger instances are recovered better",
            number=f"success {', '.join(f'{rate:.2f}' for rate in rates[::-1])}",
            decided=len(rates) > 1,
        ),
    ]
    if frame["norm"].nunique() > 1:
        times = type2.groupby(["norm", "size"])["seconds"].median()
        ratios = [times[("nuclear", size)] / times[("l1", size)] for size in sizes]
        parts += [
            verdict(
                ratios[-1] > 2,
                "The paper: the entrywise norm is the cheaper one. The nuclear norm takes "
                f"{', '.join(f'{ratio:.3g}' for ratio in ratios)} times as long ({', '.join(sizes)}).",
                claim="The entrywise norm is the cheaper one",
                number=f"nuclear takes {ratios[-1]:.3g} times as long",
            )
        ]
    return section(*parts)


def exceptions(frame: Frame) -> list[str]:
    """Where there are fewer instances or levels than in the paper."""
    return counts.fewer(frame, "Ablation of sizes", INSTANCES, len(LEVELS), "noise levels")


EXPERIMENT = Experiment(
    "sizes",
    "Ablation: three sizes, both norms",
    trials,
    recovery.recover,
    tell,
    draw,
    exceptions=exceptions,
)
