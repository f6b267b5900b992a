"""The paper's figure on the geometry of R_p(x) = ‖x‖₁^p/‖x‖₂ in the plane."""

from typing import Any

import numpy as np

from sepnmf._typing import Floats
from sepnmf.experiments.experiment import Experiment, Figure, Frame, Row, Scale, pick
from sepnmf.experiments.labels import COLOURS, panels
from sepnmf.experiments.markdown import figure, section, table, verdict
from sepnmf.model import ratio

RATIOS = ("R1", "R2", "R3", "R4")
STANDARD = {"l1": 1.0, "l2": 2.0, "linf": np.inf}
EXTENT = 1.25
LEVEL = 1.0
FLAT_LEVEL = 1.15  # of R₁, whose values lie between 1 and √2
CURVES = {  # symbol, colour and style
    "R1": ("R₁", "orange", ":"),
    "R2": ("R₂", "blue", "-"),
    "R3": ("R₃", "green", "--"),
    "R4": ("R₄", "red", "-."),
    "l1": ("‖x‖₁", "black", "--"),
    "l2": ("‖x‖₂", "purple", "-."),
    "linf": ("‖x‖∞", "sky", "-"),
}


def trials(scale: Scale) -> list[Row]:
    """One trial per function of the plane."""
    points = pick(scale, 41, 21, 6)
    names = (*RATIOS, "R2 nuclear", *STANDARD)
    return [{"function": name, "points": points, "extent": EXTENT} for name in names]


def run(function: str, points: int, extent: float) -> list[Row]:
    """Values on a square grid over the positive quadrant; a ratio has none at the origin."""
    axis = np.linspace(0, extent, points).tolist()
    return [{"x": x, "y": y, "value": value_at(function, x, y)} for y in axis for x in axis]


def value_at(function: str, x: float, y: float) -> float | None:
    """R_p of the vector (x, y), or of the matrix diag(x, y), or a norm of the vector."""
    if function in STANDARD:
        return float(np.linalg.norm([x, y], STANDARD[function]))
    if x == y == 0:
        return None
    p = int(function[1])
    if function.endswith("nuclear"):
        return ratio(np.diag([x, y]), p, "nuclear")
    return ratio([[x, y]], p)


def grids(frame: Frame) -> tuple[Floats, dict[str, Floats]]:
    """The axis, and the values of each function with y down the rows.

    No function here knows signs, so that one quadrant, mirrored, is the plane.
    """
    half = np.unique(frame["x"])
    both = np.r_[len(half) - 1 : 0 : -1, 0 : len(half)]
    found = {}
    for name, part in frame.groupby("function"):
        square = part.pivot_table(index="y", columns="x", values="value", dropna=False)
        found[str(name)] = square.to_numpy(dtype=float)[np.ix_(both, both)]
    return np.append(-half[:0:-1], half), found


def reach(axis: Floats, values: Floats) -> float:
    """How far the level set goes along a ray, on which the function is a power of the distance.

    A power is straight in logarithms, so that two points tell. Infinite if the function is constant.
    """
    inside = (axis > 0) & np.isfinite(values)
    t, v = np.log(axis[inside]), np.log(values[inside])
    if np.ptp(v) < 1e-9:
        return np.inf
    slope, offset = np.polyfit(t, v, 1)
    return float(np.exp((np.log(LEVEL) - offset) / slope))


def reaches(axis: Floats, grid: Floats) -> tuple[float, float]:
    """How far the level set goes along an axis, and along a diagonal."""
    middle = len(axis) // 2
    return reach(axis, grid[middle]), reach(axis * np.sqrt(2), np.diag(grid))


def draw(frame: Frame) -> dict[str, Figure]:
    """Two panels: the level sets for each p, and one of them beside those of norms."""
    names = {"(a) Varying p": RATIOS, "(b) Comparison with standard norms": ("R2", *STANDARD)}
    axis, values = grids(frame)
    picture, grid = panels([""], names, width=4.2, height=5.0, sharey=True)
    for panel, _, title in grid:
        for name in names[title]:
            draw_level(panel, axis, values[name], name)
        panel.set(aspect="equal", title=title, xlabel="x₁")
        panel.axhline(0, color="0.85", linewidth=0.8, zorder=0)
        panel.axvline(0, color="0.85", linewidth=0.8, zorder=0)
        panel.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False, handlelength=2.4
        )
    grid[0][0].set_ylabel("x₂")
    return {"geometry": picture}


def draw_level(panel: Any, axis: Floats, grid: Floats, name: str) -> None:
    """One level set, with a handle for the legend; that of R₁ is a set of rays."""
    symbol, colour, style = CURVES[name]
    level = FLAT_LEVEL if name == "R1" else LEVEL
    colour = COLOURS[colour]
    panel.contour(axis, axis, grid, levels=[level], colors=[colour], linestyles=[style], linewidths=1.8)
    panel.plot([], [], color=colour, linestyle=style, linewidth=1.8, label=f"{symbol} = {level:g}")


def tell(frame: Frame) -> str:
    """What the level sets look like, in numbers."""
    axis, values = grids(frame)
    lines = []
    for name, (label, _, _) in CURVES.items():
        along, across = reaches(axis, values[name])
        closed = np.isfinite(along)
        lines.append((label, *((along, across, across / along) if closed else (None, None, None))))
    flat = values["R1"]
    bends = [across / along for along, across in (reaches(axis, values[name]) for name in RATIOS[1:])]
    pinched = bool(max(bends) < np.sqrt(0.5) - 1e-6 and np.isinf(reaches(axis, flat)).all())
    same = float(np.nanmax(np.abs(values["R2 nuclear"] - values["R2"])))
    return section(
        "## Geometry of R_p in the plane",
        "The paper: the level sets “retain a sparsity-promoting geometry concentrated along the "
        "coordinate axes, while their shapes vary with p”.",
        figure("geometry", "Level sets of R_p, and of the usual norms, in the plane"),
        f"Distance from the origin at which the function has the value {LEVEL:g}:",
        table(("function", "along an axis", "along a diagonal", "diagonal / axis"), lines),
        "R₁ does not depend on the length of x, and its level sets are rays: its values lie between "
        f"{np.nanmin(flat):.4g} on the axes and {np.nanmax(flat):.4g} on the diagonals. For p ≥ 2 "
        "the level sets are closed curves that bend inwards, and grow with p to the ball of ‖x‖₁. "
        f"The nuclear ratio at diag(x₁, x₂) has the same values (largest difference {same:.1g}).",
        verdict(
            pinched,
            "The level sets are thinner between the axes than the ball of ‖x‖₁ for every p: "
            f"{yes(pinched)}. They become rounder, not sharper, as p grows: "
            f"{yes(bends == sorted(bends))}.",
            claim="The level sets of R_p are concentrated along the axes",
            number=f"diagonal / axis ≤ {max(bends):.2f} (‖x‖₁: {np.sqrt(0.5):.2f})",
        ),
    )


def yes(answer: bool) -> str:
    """Yes or no."""
    return "yes" if answer else "no"


EXPERIMENT = Experiment(
    "geometry",
    "Level sets of the powered ratio in the plane (the paper's figure in section 2)",
    trials,
    run,
    tell,
    draw,
)
