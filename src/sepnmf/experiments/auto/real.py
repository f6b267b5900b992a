"""Real data: the spectra found in two hyperspectral scenes, and how much of each data set anchors explain."""

import json
import re
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from sepnmf.datasets._loaders import available
from sepnmf.experiments.auto.common import PAGE, at_most, label
from sepnmf.experiments.auto.data import COMMON, load
from sepnmf.experiments.auto.limited import select_apart
from sepnmf.experiments.experiment import Check, Experiment, Figure, Frame, Row, Scale, Series, pick, where
from sepnmf.experiments.markdown import figure, section, table
from sepnmf.least_squares import nnls
from sepnmf.metrics import rae, sam
from sepnmf.registry import ready_methods

LIMIT, AUTO_LIMIT, SCENE_LIMIT = 20, 60, 600  # seconds of other methods, of auto, and of auto on a scene
MEMORY = 4  # GB
MATERIALS = {"samson": 3, "jasper_ridge": 4}
WANTED = {"samson": 2.5, "jasper_ridge": 5.0}  # mean SAM in degrees
SIZES = {  # the number of anchors on each data set
    **MATERIALS,
    "amino_acids": 3,  # its three substances
    "swimmer": 16,  # four limbs in four positions
    "swimmer (r = rank)": 13,  # its rank: more is refused by the greedy methods
    "cbcl_faces": 20,
    "bbc_news counts": 10,  # as many as there are topics in `auto-topics`
    "bbc_news co-occurrence": 10,
    "gestures_gray HOG": 20,
    "gestures_binary HOG": 78,  # a tenth of the features
}


def trials_on(sizes: dict[str, int], auto: dict[str, int], scale: Scale) -> list[Row]:
    """All methods, some that are fast, or two, on some data sets; auto has limits of its own."""
    methods = pick(scale, ready_methods(), ["auto", "nfindr", "snpa", "spa", "xray"], ["auto", "spa"])
    others = {"limit": LIMIT, "memory": MEMORY}
    return [
        {"data": data, "r": r, "method": method} | (auto if method == "auto" else others)
        for data, r in sizes.items()
        for method in methods
    ]


def scene_trials(scale: Scale) -> list[Row]:
    """Every method on every pixel of a scene; auto has no bound on memory."""
    scenes = pick(scale, MATERIALS, MATERIALS, {"samson": 3})
    return trials_on(scenes, {"limit": SCENE_LIMIT, "memory": 0}, scale)


def explained_trials(scale: Scale) -> list[Row]:
    """Every method on every data set."""
    names = pick(scale, SIZES, ("samson", "amino_acids"), ("amino_acids",))
    return trials_on({name: SIZES[name] for name in names}, {"limit": AUTO_LIMIT, "memory": MEMORY}, scale)


def run(data: str, r: int, method: str, limit: float, memory: float) -> list[Row]:
    """One selection: RAE, SAM where there are reference spectra, seconds and memory, or why it failed."""
    answer = select_apart(data, r, method, limit, memory)
    known: Any = load(data)
    m, n = known.M.shape
    row: Row = {"m": m, "n": n, "failure": None, "rae": None, "sam": None, **answer}
    if row["failure"] is None:
        anchors = indices(row["anchors"])
        row["rae"] = round(rae(known.M, anchors), 9)
        if known.W is not None:
            row["sam"] = round(sam(known.M[:, anchors], known.W), 9)
    return [row]


def indices(text: Any) -> list[int]:
    """The anchors of a row."""
    return [int(word) for word in text.split()]


# Scenes ------------------------------------------------------------------------------------------------


def draw(frame: Frame) -> dict[str, Figure]:
    """Abundance maps of the anchors that auto found, and the reference maps.

    The table has the anchors; the pixels come from the data set, and without it there is no figure.
    """
    rows = frame[(frame["method"] == "auto") & frame["failure"].isna()]
    return {
        f"abundances-{name}": abundance_maps(load(name), indices(text))
        for name, text in zip(rows["data"], rows["anchors"], strict=True)
        if not available(name)
    }


def abundance_maps(data: Any, anchors: list[int]) -> Figure:
    """Weights of the anchors above the reference abundances that they are nearest to in angle."""
    from matplotlib.figure import Figure

    found = data.M[:, anchors]
    H = nnls(found, data.M)
    unit_found, unit_true = (A / np.linalg.norm(A, axis=0) for A in (found, data.W))
    rows, columns = linear_sum_assignment(-unit_found.T @ unit_true)
    picture = Figure(figsize=(2.6 * len(rows), 5.4), layout="constrained")
    axes: Any = picture.subplots(2, len(rows), squeeze=False)
    for i, j, pair in zip(rows, columns, axes.T, strict=True):
        for panel, weights in zip(pair, (H[i], data.H[j]), strict=True):
            image = weights.reshape(data.image_shape, order="F")
            most = max(float(np.quantile(weights, 0.995)), 1e-12)
            panel.imshow(image, vmin=0, vmax=most, cmap="viridis", interpolation="none")
            panel.set(xticks=[], yticks=[])
        pair[0].set_title(data.names[j])
    axes[0, 0].set_ylabel("found")
    axes[1, 0].set_ylabel("reference")
    return picture


def tell_scenes(frame: Frame) -> str:
    """SAM, seconds and memory of every method, and the starts that auto tried."""
    parts = [
        "## Whole scenes",
        "The methods select among all pixels of a hyperspectral scene, as the loader gives them. SAM is the "
        f"mean angle to the reference spectra. The other methods have {LIMIT} s and {MEMORY} GB.",
    ]
    for name, part in frame.groupby("data", sort=False):
        auto = where(part, method="auto").iloc[0]
        others = part[part["method"] != "auto"].sort_values("sam", kind="stable", na_position="last")
        rows = [scene_row(auto), *(scene_row(row) for _, row in others.iterrows())]
        parts.append(f"### {name}, r = {auto['r']}")
        parts.append(table(("method", "mean SAM", "seconds", "peak memory"), rows))
        if answered(auto):
            caption = f"Abundance maps of {name}: found and reference"
            parts.append(figure(f"abundances-{name}", caption, PAGE))
            parts.append("The starts that `auto` tried (`sel.history`):\n\n" + tried(auto["history"]))
    return section(*parts)


def scene_row(row: Series) -> tuple[str, ...]:
    """One line of a scene's table."""
    if not answered(row):
        return label(row["method"]), short(row["failure"]), "", ""
    values = f"{row['sam']:.2f}°", f"{row['seconds']:.1f}", f"{row['megabytes']:.0f} MB"
    return label(row["method"]), *values


def tried(history: str) -> str:
    """The history as a table."""
    columns: dict[str, list[Any]] = json.loads(history.replace("preconditioned-spa", "preconditioned_spa"))
    return table(columns, zip(*columns.values(), strict=True))


def answered(row: Series) -> bool:
    """Whether a method gave anchors."""
    return not isinstance(row["failure"], str)


def short(reason: str) -> str:
    """The first sentence of an error."""
    return re.split(r"(?<=[a-z0-9])[.:;] ", reason.partition(": ")[2] or reason)[0].rstrip(".")


def check_scenes(frame: Frame) -> list[Check]:
    """Angle, seconds and memory of auto."""
    found = []
    for _, row in where(frame, method="auto").iterrows():
        name = row["data"]
        if not answered(row):
            found.append(Check(f"{name}, whole scene", row["failure"], "an answer", False))
            continue
        found += [
            at_most(f"{name}, mean SAM", row["sam"], WANTED[name], "°"),
            at_most(f"{name}, time", row["seconds"], 60, " s"),
            at_most(f"{name}, peak memory", row["megabytes"] / 1000, 2, " GB"),
        ]
    return found


# How much is explained ---------------------------------------------------------------------------------


def tell_explained(frame: Frame) -> str:
    """RAE by data set and method, and why there is none."""
    order = list(dict.fromkeys(frame["method"]))
    rows = []
    for name, part in frame.groupby("data", sort=False):
        values = part.set_index("method")["rae"]
        head = part.iloc[0]
        cells = [None if np.isnan(values[method]) else f"{values[method]:.4f}" for method in order]
        cells[0] = f"**{cells[0]}**" if cells[0] else None
        rows.append([name, f"{head['m']} × {head['n']}", head["r"], *cells])
    reasons: dict[str, list[str]] = {}
    for _, row in frame.iterrows():
        if not answered(row):
            reasons.setdefault(short(row["failure"]), []).append(f"{row['method']} on {row['data']}")
    failures = [f"- {why}: {', '.join(who)}" for why, who in sorted(reasons.items())]
    return section(
        "## How much of M the anchors explain",
        "The table shows RAE (`sepnmf.metrics.rae`), which is 1 if the anchors explain all of M. The "
        "number of anchors r was set before any run: the materials of a scene, the substances, the "
        "positions of the limbs, a tenth of the features, and otherwise a round number. All methods get "
        f"the same matrix without columns of zeros, {LIMIT} s ({AUTO_LIMIT} s for `auto`) and {MEMORY} "
        "GB; they are compared to four decimals. “bbc_news co-occurrence” is the co-occurrence matrix "
        f"of the words in at least {COMMON} articles. The columns of the gestures are HOG features.",
        table(["data", "shape", "r", *order], rows),
        "Reasons for a missing value (–):",
        "\n".join(failures) or "- none is missing",
    )


def check_explained(frame: Frame) -> list[Check]:
    """No method explains more than auto, to four decimals."""
    found = []
    for name, part in frame.groupby("data", sort=False):
        values = part.set_index("method")["rae"].dropna()
        others = values.drop("auto", errors="ignore")
        best, bound = (others.idxmax(), others.max()) if len(others) else ("none", 0.0)
        what = f"RAE, {name}, r = {part['r'].iloc[0]}"
        wanted = f"≥ {bound:.4f} ({best})"
        if "auto" in values:
            holds = bool(round(values["auto"], 4) >= round(bound, 4))
            found.append(Check(what, f"{values['auto']:.4f}", wanted, holds))
        else:
            failure = where(part, method="auto")["failure"].iloc[0]
            found.append(Check(what, failure, wanted, False))
    return found


SCENES = Experiment(
    "auto-scenes",
    "auto beside every method: spectra of two hyperspectral scenes",
    scene_trials,
    run,
    tell_scenes,
    draw,
    data=tuple(MATERIALS),
    page=PAGE,
    checks=check_scenes,
)
EXPLAINED = Experiment(
    "auto-rae",
    "auto beside every method: how much the anchors of ten data sets explain",
    explained_trials,
    run,
    tell_explained,
    data=tuple(dict.fromkeys(name.split()[0] for name in SIZES)),
    page=PAGE,
    checks=check_explained,
)
