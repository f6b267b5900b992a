"""What the papers on robust and denoised SPA claim, in one figure: outliers, noise, and conditioning."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from sepnmf._typing import Floats
from sepnmf.experiments.auto.common import choose
from sepnmf.experiments.experiment import Axes, Check, Experiment, Figure, Frame, Row, Scale, pick, where
from sepnmf.experiments.labels import curve_style, panels
from sepnmf.experiments.markdown import figure, section, table
from sepnmf.experiments.state_of_the_art.variants import PAGE

SEEDS = 50
# For each claim: what is on the abscissa, the levels, and the one that the requirement is about.
LEVELS = {
    "outliers": (0, 1, 2, 3, 5, 8),
    "noise": (0.0, 0.02, 0.05, 0.1, 0.15, 0.2),
    "condition": (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0),
}
CHECKED = {"outliers": 3, "noise": 0.1, "condition": 30.0}
# Methods of each claim, SPA first: name, method, and preconditioner if there is one.
METHODS = {
    "outliers": {"spa": ("spa", ""), "robust_spa": ("robust_spa", "")},
    "noise": {"spa": ("spa", ""), "pseudo_point_spa": ("pseudo_point_spa", "")},
    "condition": {
        "spa": ("spa", ""),
        "translation": ("preconditioned_spa", "translation"),
        "lifting": ("preconditioned_spa", "lifting"),
    },
}
ABSCISSA = {
    "outliers": "columns that are no mixtures",
    "noise": "standard deviation of the noise",
    "condition": "condition of the anchors without their common part",
}
ORDINATE = {
    "outliers": "share of the anchors found",
    "noise": "largest distance from a vertex",
    "condition": "share of the anchors found",
}


def trials(scale: Scale) -> list[Row]:
    """Every level of every claim."""
    return [
        {"claim": claim, "level": float(level), "method": name, "seed": seed}
        for claim, levels in LEVELS.items()
        for level in pick(scale, levels, levels, [CHECKED[claim]])
        for name in METHODS[claim]
        for seed in range(pick(scale, SEEDS, 10, 5))
    ]


def run(claim: str, level: float, method: str, seed: int) -> list[Row]:
    """One selection: the share of the anchors found, or the error of the vertices where there are copies."""
    W, M = {"outliers": with_outliers, "noise": with_copies, "condition": with_condition}[claim](level, seed)
    name, preconditioner = METHODS[claim][method]
    options = {"preconditioner": preconditioner} if preconditioner else {}
    anchors = choose(M, W.shape[1], name, **options).anchors
    if claim == "noise":
        return [{"value": round(largest_distance(W, M, M[:, anchors]), 9)}]
    return [{"value": float(np.isin(np.arange(W.shape[1]), anchors).mean())}]


def with_outliers(count: float, seed: int) -> tuple[Floats, Floats]:
    """Five anchors, 200 mixtures with 1 % noise, and columns of larger random numbers."""
    rng = np.random.default_rng(seed)
    W = rng.random((30, 5))
    M = np.hstack([W, W @ rng.dirichlet(np.ones(5), 200).T])
    M += 0.01 * rng.standard_normal(M.shape)
    return W, np.hstack([M, 2 * rng.random((30, int(count)))])


def with_copies(noise: float, seed: int) -> tuple[Floats, Floats]:
    """Thirty copies of each of three anchors, 510 mixtures, and white noise on all."""
    rng = np.random.default_rng(seed)
    W = rng.random((20, 3))
    H = np.hstack([np.repeat(np.eye(3), 30, axis=1), rng.dirichlet(np.ones(3), 510).T])
    M = W @ H
    return W, M + noise * rng.standard_normal(M.shape)


def with_condition(condition: float, seed: int) -> tuple[Floats, Floats]:
    """Ten anchors with much in common, and their midpoints moved outwards by a tenth."""
    rng = np.random.default_rng(seed)
    U, sigma, Vt = np.linalg.svd(rng.random((10, 10)) + 10)
    W: Floats = U @ np.diag([sigma[0], *(np.geomspace(1, 1 / condition, 9) * sigma[1])]) @ Vt
    i, j = np.triu_indices(10, 1)
    middle = (W[:, i] + W[:, j]) / 2
    return W, np.hstack([W, middle + 0.1 * (middle - W.mean(axis=1, keepdims=True))])


def largest_distance(W: Floats, M: Floats, found: Floats) -> float:
    """The largest distance of a vertex from the column found for it, in the principal coordinates of M."""
    centre = M.mean(axis=1, keepdims=True)
    U = np.linalg.svd(M - centre, full_matrices=False)[0][:, : W.shape[1] - 1]
    columns, vertices = (U.T @ (A - centre) for A in (found, W))
    distances = np.linalg.norm(columns[:, :, None] - vertices[:, None], axis=0)
    return float(distances[linear_sum_assignment(distances)].max())


def means(frame: Frame, claim: str) -> Frame:
    """Means over the seeds: a row per level, a column per method."""
    found: Frame = where(frame, claim=claim).pivot_table(index="level", columns="method", values="value")
    return found[list(METHODS[claim])]


def draw(frame: Frame) -> dict[str, Figure]:
    """A panel for each claim."""
    picture, grid = panels([""], LEVELS, width=4.4, height=3.6)
    for panel, _, claim in grid:
        draw_claim(panel, means(frame, claim), claim)
    return {"claims": picture}


def draw_claim(panel: Axes, found: Frame, claim: str) -> None:
    """The means over the level, a curve per method."""
    for i, name in enumerate(found):
        panel.plot(found.index, found[name], label=str(name), **curve_style(i))
    panel.set_xlabel(ABSCISSA[claim])
    panel.set_ylabel(ORDINATE[claim])
    if claim == "condition":
        panel.set_xscale("log")
    if claim != "noise":
        panel.set_ylim(-0.04, 1.04)
    panel.grid(alpha=0.25)
    panel.legend(fontsize=8)


def tell(frame: Frame) -> str:
    """The figure, and a table for each claim."""
    parts = [
        "## What robust and denoised SPA claim",
        f"Three kinds of data, seeds 0 to {frame['seed'].max()}, each made for what a paper claims; "
        'options are the defaults, and `negative="allow"`.',
        figure("claims", "Robust SPA, pseudo-point SPA, and translation and lifting beside SPA", PAGE),
        "- **Outliers.** Five anchors and 200 mixtures, 30 × 205, with 1 % noise, and columns of larger "
        "random numbers that mix nothing. Robust SPA (N. Gillis, arXiv:1908.04109) finds anchors where "
        "outliers mislead SPA. Without outliers it loses: mixtures are among its candidates.\n"
        "- **Noise.** Thirty copies of each of three anchors, and 510 mixtures, 20 × 600, with white noise. "
        "Shown is the largest distance of a vertex from the column found for it, in the principal plane. "
        "The error of pseudo-point SPA (arXiv:2403.11013) is smaller.\n"
        "- **Conditioning.** Ten anchors with much in common, and their midpoints moved outwards, 10 × 55. "
        "The condition number is that of what is left of the anchors without the common part. Lifting "
        "(arXiv:2411.16195) has this condition instead of the anchors' own, which is larger, and finds more "
        "of them. Translation, of the same paper, hardly differs from SPA here.",
    ]
    for claim in LEVELS:
        found = means(frame, claim)
        rows = [(f"{level:g}", *(f"{value:.3f}" for value in values)) for level, values in found.iterrows()]
        parts.append(f"{ORDINATE[claim].capitalize()}:")
        parts.append(table((ABSCISSA[claim], *found), rows))
    return section(*parts)


def checks(frame: Frame) -> list[Check]:
    """Each method is better than SPA at one level of what it is made for."""
    listed = []
    for claim, level in CHECKED.items():
        row: Any = means(frame, claim).loc[float(level)]
        for name in row.index[1:]:
            better = row[name] < row["spa"] if claim == "noise" else row[name] > row["spa"]
            sign = "<" if claim == "noise" else ">"
            what = f"{name}, {ORDINATE[claim]} ({ABSCISSA[claim]}: {level:g})"
            listed.append(Check(what, f"{row[name]:.3f}", f"{sign} {row['spa']:.3f} (spa)", bool(better)))
    return listed


EXPERIMENT = Experiment(
    "methods-claims",
    "robust SPA, pseudo-point SPA, translation and lifting: what they claim",
    trials,
    run,
    tell,
    draw,
    page=PAGE,
    checks=checks,
)
