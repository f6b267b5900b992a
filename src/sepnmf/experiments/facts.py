"""Facts about the paper's formulas and data that are ours, each measured.

They are numbered as in the design: 1, the printed proximal map; 2, the constrained one; 5, the cost of the
X-update; 6, what the entrywise ratio asks for; 7, where Type 1 data stop being separable.
"""

from collections.abc import Callable
from timeit import repeat
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sepnmf._typing import Floats, Ints
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.experiments.complexity import SPAN, exponent, finish, guide
from sepnmf.experiments.experiment import Experiment, Figure, Frame, Row, Scale, Series, pick, where
from sepnmf.experiments.labels import COLOURS, one_panel
from sepnmf.experiments.markdown import fact, figure, section, table, verdict
from sepnmf.experiments.proximal_facts import run_constrained, run_map, tell_constrained, tell_map
from sepnmf.experiments.recovery import POWERS, nearest_the_mean
from sepnmf.least_squares import nnls
from sepnmf.model import ratio

GAMMA = 0.05
MAKERS: dict[str, Callable[..., tuple[Floats, Ints]]] = {"type1": make_midpoint, "type2": make_dirichlet}
NORMS = {"l1": "R_{p,1}", "nuclear": "R_{p,*}", "rows": "R_{p,rows}"}
ALL_SIDES, ONE_SIDE, SMALL = "Cholesky, n right-hand sides", "Cholesky, one right-hand side", "m × m identity"
INSIDE = 1e-8  # residual, relative to the column's length, of a column inside the cone of the others


def trials(scale: Scale) -> list[Row]:
    """Trials of all five facts."""
    seeds = range(pick(scale, 50, 10, 2))
    sizes = pick(scale, (100, 200, 400, 800, 1600), (100, 200, 400, 800), (20, 40))
    levels = np.round(pick(scale, np.arange(0, 1.001, 0.02), np.arange(0, 0.61, 0.05), [0, 0.4, 0.5]), 4)
    found: list[Row] = [
        {"fact": number, "p": p, "seed": seed, "gamma": GAMMA}
        for number in (1, 2)
        for p in POWERS
        for seed in seeds
    ]
    found += [{"fact": 5, "n": n, "m": 50, "seed": 0, "repeats": pick(scale, 7, 5, 2)} for n in sizes]
    found += [{"fact": 6, "data": data, "seed": seed} for data in MAKERS for seed in seeds]
    found += [{"fact": 7, "noise": noise, "seeds": len(seeds)} for noise in levels.tolist()]
    return found


def run(fact: int, **trial: Any) -> list[Row]:
    """One trial of one fact."""
    return FACTS[fact][0](**trial)


# Fact 5: the X-update.


def run_solve(n: int, m: int, seed: int, repeats: int) -> list[Row]:
    """Best seconds of a solve with MᵀM + ρI, in three ways, and how far apart the answers are."""
    rng = np.random.default_rng(seed)
    M, B, rho = rng.random((m, n)) / np.sqrt(n), rng.random((n, n)), 1.0
    large = cho_factor(M.T @ M + rho * np.eye(n))
    small = cho_factor(M @ M.T + rho * np.eye(m))
    ways: dict[str, Callable[[], Floats]] = {
        ALL_SIDES: lambda: cho_solve(large, B),
        ONE_SIDE: lambda: cho_solve(large, B[:, 0]),
        SMALL: lambda: (B - M.T @ cho_solve(small, M @ B)) / rho,
    }
    apart = float(np.abs(ways[ALL_SIDES]() - ways[SMALL]()).max())
    return [
        {"way": way, "seconds": min(repeat(call, number=1, repeat=repeats)), "apart": apart}
        for way, call in ways.items()
    ]


# Fact 6: what the ratios ask for.


def run_ratios(data: str, seed: int) -> list[Row]:
    """The ratios at X = I, at the anchors' X and halfway: three exact factorisations of noise-free data."""
    M, anchors = MAKERS[data](0.0, random_state=seed)
    identity = np.eye(M.shape[1])
    few = np.zeros_like(identity)
    few[anchors] = nnls(M[:, anchors], M)
    points = {"identity": identity, "anchors": few, "halfway": (identity + few) / 2}
    misfit = max(float(np.linalg.norm(M @ X - M)) for X in points.values())
    rows: list[Row] = []
    for norm in NORMS:
        for p in (1, 2):
            row: Row = {"norm": norm, "power": p, "misfit": misfit}
            rows.append(row | {name: ratio(X, p, norm) for name, X in points.items()})
    return rows


# Fact 7: separability of Type 1.


def run_separability(noise: float, seeds: int) -> list[Row]:
    """Per seed: anchors inside the cone of the others, negative entries, and the columns nearest the mean."""
    rows: list[Row] = []
    for seed in range(seeds):
        M, anchors = make_midpoint(noise, random_state=seed)
        rows.append(
            {
                "instance": seed,
                "limit": cone_limit(seed),
                "inside": float(np.mean([in_cone(M, j) for j in anchors])),
                "negative": float((M < 0).mean()),
                "nearest": int(set(nearest_the_mean(M, len(anchors))) == set(anchors)),
            }
        )
    return rows


def cone_limit(seed: int) -> float:
    """The noise ε at which the anchors enter the cone of the other columns: r/(r − 2)·‖N₀‖_F.

    In the coordinates of the anchors a midpoint is (1 + c)(e_i + e_j)/2 − (c/r)·1, c = ε/‖N₀‖_F. The sum of
    the r − 1 midpoints with i has (1 + c)/2 − (r − 1)c/r in every coordinate but the i-th, which is
    positive, as in all other columns' symmetric sums, until c = r/(r − 2); there it is a multiple of e_i.
    """
    M, anchors = make_midpoint(0.0, random_state=seed)
    push = np.delete(M, anchors, axis=1) - M[:, anchors].mean(axis=1, keepdims=True)
    r = len(anchors)
    return float(r / (r - 2) * np.linalg.norm(push))


def in_cone(M: Floats, j: int) -> bool:
    """Whether column j is a nonnegative combination of the others."""
    others, column = np.delete(M, j, axis=1), M[:, [j]]
    rest = np.linalg.norm(others @ nnls(others, column) - column)
    return bool(rest <= INSIDE * np.linalg.norm(column))


# What is shown.


def draw(frame: Frame) -> dict[str, Figure]:
    """One figure each for the facts 5 and 7."""
    return {
        "facts-solve": draw_solve(where(frame, fact=5)),
        "facts-separable": draw_separable(where(frame, fact=7)),
    }


def draw_solve(frame: Frame) -> Figure:
    """Seconds of a solve over n."""
    picture, panel = one_panel(6.8, 4.4)
    styles = {ALL_SIDES: ("red", "o"), SMALL: ("blue", "s"), ONE_SIDE: ("green", "^")}
    for way, (colour, marker) in styles.items():
        part = where(frame, way=way)
        panel.plot(part["n"], part["seconds"], color=COLOURS[colour], marker=marker, label=way)
    sizes = np.unique(frame["n"])
    for way, power, above in ((ALL_SIDES, "n³", 2.0), (ONE_SIDE, "n²", 0.4)):
        guide(panel, sizes, above * where(frame, way=way, n=sizes[0])["seconds"].iloc[0], power)
    finish(panel, sizes, "solve", 1.25)
    return picture


def draw_separable(frame: Frame) -> Figure:
    """What becomes of Type 1 data as the noise grows."""
    picture, panel = one_panel(7.2, 4.4)
    curves = separability(frame)
    styles = {
        "any": ("orange", "-", 6, "data sets with an anchor\nin the cone of the others"),
        "inside": ("red", "-", 2, "anchors in that cone"),
        "nearest": ("black", ":", 2, "success of the ten columns\nnearest the mean"),
        "negative": ("blue", "-.", 2, "negative entries"),
    }
    for name, (colour, style, width, label) in styles.items():
        panel.plot(curves.index, curves[name], style, color=COLOURS[colour], linewidth=width, label=label)
    panel.set(xlabel="noise ε", ylabel="share")
    panel.grid(color="0.9")
    panel.legend(loc="center right", frameon=False)
    return picture


def separability(frame: Frame) -> Frame:
    """Means over the seeds, by noise."""
    part = frame.assign(any=(frame["inside"] > 0).astype(float))
    return part.groupby("noise")[["inside", "any", "negative", "nearest"]].mean()


def tell(frame: Frame) -> str:
    """One part per fact."""
    parts = [teller(where(frame, fact=number)) for number, (_, teller) in FACTS.items()]
    return section("## Facts about the formulas and the data", *parts)


def tell_solve(frame: Frame) -> str:
    """Fact 5."""
    powers = {way: exponent(part["n"], part["seconds"]) for way, part in frame.groupby("way", sort=False)}
    largest = frame[frame["n"] == frame["n"].max()].set_index("way")["seconds"]
    lines = [(way, power, float(largest[way])) for way, power in powers.items()]
    span = frame["n"].max() / frame["n"].min()
    words = (
        f"The unknown has n columns. The measured exponent is {powers[ALL_SIDES]:.2f} with all of them and "
        f"{powers[ONE_SIDE]:.2f} with one. With the m × m system it is {powers[SMALL]:.2f}, and at the "
        f"largest n this way is {largest[ALL_SIDES] / largest[SMALL]:.1f} times faster (the solutions differ "
        f"by at most {frame['apart'].max():.1g})."
    )
    return section(
        "### The cost of the X-update (fact 5)",
        "The paper: once MᵀM + ρI is factored, each solve costs O(n²).",
        figure("facts-solve", "Seconds of a solve with MᵀM + ρI, m = 50, on one core"),
        table(("way", "exponent of n", f"seconds at n = {frame['n'].max():g}"), lines),
        verdict(
            powers[ALL_SIDES] < 2.5,
            words,
            claim="The X-update, once factored, costs O(n²)",
            number=f"exponent {powers[ALL_SIDES]:.2f}",
            decided=span >= SPAN,
        ),
    )


def tell_ratios(frame: Frame) -> str:
    """Fact 6."""
    lines, as_said = [], True
    for (norm, data, p), part in frame.groupby(["norm", "data", frame["power"].astype(int)], sort=False):
        least = float((part["identity"] < part[["anchors", "halfway"]].min(axis=1)).mean())
        as_said &= least == (1.0 if norm == "l1" else 0.0)
        means = part[["identity", "anchors", "halfway"]].mean()
        lines.append((NORMS[norm], data, p, *means, f"{least:.0%}"))
    head = ("ratio", "data", "p", "X = I", "X of the anchors", "halfway", "X = I is least")
    return section(
        "### Which X minimises the ratios (fact 6)",
        "The paper: R_{p,1} “encourages entrywise sparsity consistent with the separability assumption”. "
        "With columns that sum to one, every exact factorisation MX = M has ‖X‖₁ = n, so that R_{p,1} is "
        "least where ‖X‖_F is largest: at X = I, which selects no columns.",
        f"Means over {frame['seed'].nunique()} noise-free data sets of each type; all three X are exact "
        f"(largest misfit {frame['misfit'].max():.1g}):",
        table(head, lines),
        fact(
            as_said,
            "Among these X, the entrywise ratio is least at X = I in every data set, the nuclear and the "
            f"row ratio in none: {'yes' if as_said else 'no'}.",
        ),
    )


def tell_separability(frame: Frame) -> str:
    """Fact 7."""
    curves = separability(frame)
    inside, nearest = curves["inside"], curves["nearest"]
    coarse = curves.index[np.unique(np.linspace(0, len(curves) - 1, 11).round().astype(int))]
    shown = curves.loc[coarse.union(curves.index[(inside > 0) & (inside < 1)])]
    lines = [
        (float(noise), *map(float, row)) for noise, row in zip(shown.index, shown.to_numpy(), strict=True)
    ]
    head = ("ε", "anchors inside", "data sets with any", "negative entries", "nearest the mean")
    return section(
        "### Where Type 1 data stop being separable (fact 7)",
        "The paper: ADMM-P has a perfect success rate on Type 1 data for all ε from 0.01 to 1.",
        figure("facts-separable", "Type 1 data (r = 10) over the noise level"),
        table(head, lines),
        "In the coordinates of the anchors the data are symmetric, so that all anchors enter the cone at "
        "the same noise level: ε = r/(r − 2)·‖N₀‖_F, where N₀ is the disturbance before it is scaled. "
        f"For these data sets the level is {frame['limit'].min():.3f} to {frame['limit'].max():.3f}, "
        f"with median {frame['limit'].median():.3f}.",
        verdict(
            not (inside > 0).any(),
            "The data are not separable over the whole sweep if labelled anchors lie in the cone of the "
            f"other columns. The first do at ε = {first(inside > 0)}, and all do at ε = "
            f"{first(inside == 1)}. Beyond that, a success rate of 1 does not come from separability. "
            "The ten columns nearest the mean are the anchors of every data set first at ε = "
            f"{first(nearest == 1)}; this rule uses no model, only how these data are made.",
            claim="Type 1 data are separable at every noise level",
            number=f"not from ε = {first(inside > 0)} on" if (inside > 0).any() else "yes",
        ),
    )


def first(reached: Series) -> str:
    """The first noise level where something is so, if there is one."""
    levels = reached.index[reached]
    return f"{levels[0]:g}" if len(levels) else "none of these levels"


FACTS: dict[int, tuple[Callable[..., list[Row]], Callable[[Frame], str]]] = {
    1: (run_map, tell_map),
    2: (run_constrained, tell_constrained),
    5: (run_solve, tell_solve),
    6: (run_ratios, tell_ratios),
    7: (run_separability, tell_separability),
}
EXPERIMENT = Experiment(
    "facts",
    "What is true of the printed maps, the X-update, the ratios and Type 1 data",
    trials,
    run,
    tell,
    draw,
)
