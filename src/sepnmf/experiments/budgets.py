"""Ablation: how many inner and outer iterations."""

from sepnmf.experiments import counts, recovery
from sepnmf.experiments.experiment import Experiment, Figure, Frame, Row, Scale, pick, where
from sepnmf.experiments.labels import DATA, NORM, curves, panels, shared_legend, variant
from sepnmf.experiments.markdown import figure, section, table, verdict

NOISE = 0.1
INNER, OUTER = (1, 2, 5, 10, 20, 50), (5, 10, 25, 50, 100, 200)
VARIANTS = [("dca", 1), ("admm", 1), ("admm", 2)]
BUDGETS = [("inner", J, 100, J) for J in INNER] + [("outer", K, K, 10) for K in OUTER]

KEYS = ["data", "norm", "method", "p", "mode"]
LABELS = {"inner": "inner iterations J (K = 100)", "outer": "outer iterations K (J = 10)"}


def trials(scale: Scale) -> list[Row]:
    """Both sweeps at ε = 0.1 with the parameters of the noise sweep."""
    return [
        recovery.ratio_trial(data, norm, method, p, mode, recovery.regime(NOISE, data))
        | {"sweep": sweep, "budget": budget, "max_outer": max_outer, "max_inner": max_inner}
        | {"noise": NOISE, "seed": seed}
        for norm in recovery.norms_of(scale)
        for data in recovery.TYPES
        for method, p, mode in recovery.variants(norm)
        if (method, p) in VARIANTS
        for sweep, budget, max_outer, max_inner in pick(scale, BUDGETS, BUDGETS[::3], BUDGETS[::6])
        for seed in recovery.ablation_seeds(scale, data, norm, mode)
    ]


def draw(frame: Frame) -> dict[str, Figure]:
    """Success over the budget, both sweeps and norms, Type 1 as in the paper, by mode."""
    figures = {}
    for mode in recovery.MODES:
        picture, grid = panels(recovery.norms_in(frame), LABELS)
        for panel, norm, sweep in grid:
            part = recovery.of_mode(where(frame, norm=norm, data="type1", sweep=sweep), mode)
            curves(panel, part, "budget", "success", order=VARIANTS)
            panel.set(xscale="log", xlabel=LABELS[sweep])
            panel.set_title(f"Type 1, {NORM[norm]} norm, {mode} mode", fontsize=10)
        shared_legend(picture, columns=3)
        figures[f"budgets-{mode}"] = picture
    return figures


def tell(frame: Frame) -> str:
    """The range of the success rate over each sweep."""
    lines = []
    rates: dict[tuple[str, int], list[float]] = {pair: [] for pair in VARIANTS}
    for (data, norm, method, p, mode), part in frame.groupby(KEYS, sort=False):
        over = {sweep: where(part, sweep=sweep).groupby("budget")["success"].mean() for sweep in LABELS}
        cells = [f"{each.min():.2f} – {each.max():.2f}" for each in over.values()]
        lines.append((DATA[data], NORM[norm], variant(method, p), mode, *cells))
        if (data, mode) == ("type1", "paper"):
            rates[(method, p)] += [rate for each in over.values() for rate in each]
    head = ("data", "norm", "algorithm", "mode", "success over J", "success over K")
    steady, least, most = min(rates[("admm", 2)]), min(rates[("dca", 1)]), max(rates[("dca", 1)])
    return section(
        "## Ablation: inner and outer iterations",
        f"The noise level is ε = {NOISE}. The numbers of iterations are "
        f"J ∈ {{{', '.join(map(str, INNER))}}} with K = 100 and "
        f"K ∈ {{{', '.join(map(str, OUTER))}}} with J = 10. "
        "The paper: ADMM-P with p = 2 is uniformly stable, DCA needs tuned budgets. "
        + counts.instances(frame, "budget"),
        table(head, lines),
        figure("budgets-paper", "Success over the iteration budget, paper mode"),
        figure("budgets-exact", "Success over the iteration budget, exact mode"),
        verdict(
            [steady >= 0.9, least < 0.9],
            f"On Type 1, in paper mode, ADMM-P with p = 2 has a success rate of at least {steady:.2f} "
            f"over all budgets, DCA between {least:.2f} and {most:.2f}.",
            claim="ADMM-P with p = 2 is stable over J and K, DCA is not",
            number=f"success ≥ {steady:.2f}, DCA {least:.2f}–{most:.2f}",
        ),
    )


def exceptions(frame: Frame) -> list[str]:
    """Where there are fewer instances or budgets than in the paper."""
    return counts.fewer(frame, "Ablation of J and K", recovery.ABLATION, len(BUDGETS), "budgets")


EXPERIMENT = Experiment(
    "budgets",
    "Ablation: inner and outer iterations",
    trials,
    recovery.recover,
    tell,
    draw,
    exceptions=exceptions,
)
