"""Ablation: the power p over fifteen noise levels."""

from itertools import product

import numpy as np

from sepnmf.experiments import counts, recovery
from sepnmf.experiments.experiment import Experiment, Figure, Frame, Row, Scale, pick, where
from sepnmf.experiments.labels import DATA, NORM, curves, panels, shared_legend
from sepnmf.experiments.markdown import figure, section, table, verdict

LEVELS = tuple(np.logspace(-2, 0, 15).tolist())
# The powers the paper finds safe: success near 1 at every level on Type 1.
SAFE = {"l1": (2, 3), "nuclear": (1, 2, 3)}


def trials(scale: Scale) -> list[Row]:
    """ADMM-P with each power at every level."""
    return [
        recovery.ratio_trial(data, norm, "admm", p, mode, recovery.regime(noise, data))
        | {"noise": noise, "seed": seed}
        for norm in recovery.norms_of(scale)
        for data in recovery.TYPES
        for p in recovery.POWERS
        for mode in recovery.modes("admm", p)
        for noise in pick(scale, LEVELS, LEVELS[1::4], LEVELS[4::10])
        for seed in recovery.ablation_seeds(scale, data, norm, mode)
    ]


def draw(frame: Frame) -> dict[str, Figure]:
    """Success over the noise by power: Type 1 as in the paper, both modes; Type 2 too."""
    figures = {}
    for data in recovery.TYPES:
        picture, grid = panels(recovery.norms_in(frame), recovery.MODES)
        for panel, norm, mode in grid:
            part = recovery.of_mode(where(frame, norm=norm, data=data), mode)
            curves(panel, part, "noise", "success", order=[("admm", p) for p in recovery.POWERS])
            panel.set_title(f"{DATA[data]}, {NORM[norm]} norm, {mode} mode", fontsize=10)
        shared_legend(picture, columns=4)
        figures[f"power-{data}"] = picture
    return figures


def tell(frame: Frame) -> str:
    """The least success rate over the levels, by power."""
    lines, agree = [], []
    for norm, p in product(recovery.norms_in(frame), recovery.POWERS):
        cells = []
        for mode in recovery.MODES:
            part = recovery.of_mode(where(frame, data="type1", norm=norm, p=p), mode)
            rates = part.groupby("noise")["success"].mean()
            cells += [float(rates.min()), float(rates.mean())]
        safe = p in SAFE[norm]
        agree.append(safe == (cells[0] >= 0.9))
        paper = "near 1 throughout" if safe else "dips towards 0 near ε = 0.2–0.3"
        lines.append((NORM[norm], p, paper, *cells))
    head = ("norm", "p", "paper", "paper mode: least", "mean", "exact mode: least", "mean")
    return section(
        "## Ablation: the power p",
        "The table shows the least and the mean success rate of ADMM-P over the levels in [0.01, 1] on Type "
        "1 data, with one parameter vector for low noise and another for high noise. "
        + counts.instances(frame, "level"),
        table(head, lines),
        figure("power-type1", "Success of ADMM-P by power, Type 1"),
        figure("power-type2", "Success of ADMM-P by power, Type 2"),
        verdict(
            agree,
            "The paper: p = 2, 3 are safe for the entrywise norm, p = 1, 2, 3 for the nuclear one. Here "
            f"{sum(agree)} of {len(agree)} combinations of norm and p agree with that, where safe means a "
            "success rate of at least 0.9 at every level.",
            claim="p = 2, 3 are safe (entrywise), p = 1, 2, 3 (nuclear)",
            number=f"{sum(agree)} of {len(agree)} agree",
        ),
    )


def exceptions(frame: Frame) -> list[str]:
    """Where there are fewer instances or levels than in the paper."""
    return counts.fewer(frame, "Ablation of p", recovery.ABLATION, len(LEVELS), "noise levels")


EXPERIMENT = Experiment(
    "power",
    "Ablation: the power p over 15 noise levels",
    trials,
    recovery.recover,
    tell,
    draw,
    exceptions=exceptions,
)
