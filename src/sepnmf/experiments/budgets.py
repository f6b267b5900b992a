"""Ablation: how many inner and outer iterations."""

from typing import TYPE_CHECKING

from sepnmf.experiments import recovery
from sepnmf.experiments.experiment import (
    Experiment,
    Row,
    Scale,
    figure,
    pick,
    share_that_holds,
    table,
    verdict,
)
from sepnmf.experiments.labels import DATA, NORM, curves, panels, shared_legend, variant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NOISE = 0.1
INNER, OUTER = (1, 2, 5, 10, 20, 50), (5, 10, 25, 50, 100, 200)
VARIANTS = [("dca", 1), ("admm", 1), ("admm", 2)]
BUDGETS = [("inner", J, 100, J) for J in INNER] + [("outer", K, K, 10) for K in OUTER]


def trials(scale: Scale) -> list[Row]:
    """Both sweeps at ε = 0.1 with the parameters of the noise sweep."""
    found: list[Row] = []
    for norm in pick(scale, recovery.NORMS, recovery.NORMS, ("l1",)):
        for data in recovery.TYPES:
            for method, p, mode in [v for v in recovery.variants(norm) if v[:2] in VARIANTS]:
                head = recovery.ratio_trial(data, norm, method, p, mode, "low" if data == "type1" else "all")
                slow = norm == "nuclear" and (mode == "exact" or data == "type2")
                seeds = pick(scale, 3 if slow else 25, 1 if slow else 2, 1)
                for sweep, budget, max_outer, max_inner in pick(scale, BUDGETS, BUDGETS[::3], BUDGETS[::6]):
                    limits: Row = {
                        "sweep": sweep,
                        "budget": budget,
                        "max_outer": max_outer,
                        "max_inner": max_inner,
                    }
                    found += [head | limits | {"noise": NOISE, "seed": seed} for seed in range(seeds)]
    return found


def draw(frame: "pd.DataFrame") -> "dict[str, Figure]":
    """Success over the budget, both sweeps and norms, Type 1 as in the paper, by mode."""
    norms = [norm for norm in recovery.NORMS if norm in set(frame["norm"])]
    figures = {}
    for mode in ("paper", "exact"):
        picture, axes = panels(len(norms), 2)
        for line, norm in zip(axes, norms, strict=True):
            for panel, sweep in zip(line, ("inner", "outer"), strict=True):
                part = frame[(frame["norm"] == norm) & (frame["data"] == "type1") & (frame["sweep"] == sweep)]
                one_mode = (part["method"] == "admm") & (part["p"] == 1)
                curves(panel, part[(part["mode"] == mode) | one_mode], "budget", "success", order=VARIANTS)
                panel.set_xscale("log")
                panel.set_xlabel(
                    "inner iterations J (K = 100)" if sweep == "inner" else "outer iterations K (J = 10)"
                )
                panel.set_title(f"Type 1, {NORM[norm]} norm, {mode} mode", fontsize=10)
        shared_legend(picture, axes, columns=3)
        figures[f"budgets-{mode}"] = picture
    return figures


def tell(frame: "pd.DataFrame") -> str:
    """The range of the success rate over each sweep."""
    lines = []
    keys = ["data", "norm", "method", "p", "mode"]
    ranges: dict[tuple[str, int], list[tuple[float, float]]] = {pair: [] for pair in VARIANTS}
    for key, part in frame.groupby(keys, sort=False):
        data, norm, method, p, mode = key
        cells = []
        for sweep in ("inner", "outer"):
            rates = part[part["sweep"] == sweep].groupby("budget")["success"].mean()
            cells.append(f"{rates.min():.2f} – {rates.max():.2f}")
            if (data, mode) == ("type1", "paper"):
                ranges[(method, p)].append((float(rates.min()), float(rates.max())))
        lines.append((DATA[data], NORM[norm], variant(method, p), mode, *cells))
    head = ("data", "norm", "algorithm", "mode", "success over J", "success over K")
    steady = min(least for least, _ in ranges[("admm", 2)])
    unsteady = min(least for least, _ in ranges[("dca", 1)]), max(most for _, most in ranges[("dca", 1)])
    return "\n\n".join(
        [
            "## Ablation: inner and outer iterations",
            f"The noise level is ε = {NOISE}. The numbers of iterations are "
            f"J ∈ {{{', '.join(map(str, INNER))}}} with K = 100 and "
            f"K ∈ {{{', '.join(map(str, OUTER))}}} with J = 10. "
            "The paper: ADMM-P with p = 2 is uniformly stable, DCA needs tuned budgets.",
            table(head, lines),
            figure("budgets-paper", "Success over the iteration budget, paper mode"),
            figure("budgets-exact", "Success over the iteration budget, exact mode"),
            verdict(
                share_that_holds([steady >= 0.9, unsteady[0] < 0.9]),
                f"On Type 1, in paper mode, ADMM-P with p = 2 has a success rate of at least {steady:.2f} "
                f"over all budgets, DCA between {unsteady[0]:.2f} and {unsteady[1]:.2f}.",
            ),
        ]
    )


EXPERIMENT = Experiment(
    name="budgets",
    title="Ablation: inner and outer iterations",
    trials=trials,
    run=recovery.recover,
    draw=draw,
    tell=tell,
)
