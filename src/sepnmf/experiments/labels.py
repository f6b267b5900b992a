"""Words, colours and curves that the tables and figures share."""

from collections.abc import Collection, Iterable, Sequence
from itertools import product
from typing import Any

from sepnmf.experiments.experiment import Axes, Figure, Frame

# Okabe and Ito's colours, told apart by colour-blind readers too; grey and olive are added to them.
COLOURS = {
    "blue": "#0072B2",
    "red": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "black": "#000000",
    "grey": "#8C8C8C",
    "olive": "#B2A800",
}
CYCLE = tuple(COLOURS.values())  # for curves without a colour of their own
MARKERS = "osD^vP*Xh<>p"  # more than colours: where these begin anew, curves are dashed
DATA = {"type1": "Type 1 (midpoints)", "type2": "Type 2 (Dirichlet)"}
NORM = {"l1": "entrywise", "nuclear": "nuclear", "": ""}
METHOD = {
    "dca": "DCA",
    "admm": "ADMM-P",
    "spa": "SPA",
    "fgnsr": "FGNSR",
    "merit": "MERIT",
    "vca": "VCA",
    "xray": "XRAY",
    "auto": "auto (ours)",
    "random": "Random",
    "all": "All features",
}


def variant(method: str, p: float | None = None) -> str:
    """A method as a legend names it."""
    return f"{METHOD[method]} p = {p:g}" if method == "admm" and p else METHOD.get(method, method)


def panels(
    rows: Collection[Any],
    columns: Collection[Any],
    width: float = 5.2,
    height: float = 3.4,
    sharey: bool = False,
) -> tuple[Figure, list[tuple[Any, Any, Any]]]:
    """A figure with a grid of axes, each with what its row and column stand for; without pyplot's state."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(width * len(columns), height * len(rows)), layout="constrained")
    axes = picture.subplots(len(rows), len(columns), squeeze=False, sharey=sharey).flat
    return picture, [(panel, *cell) for panel, cell in zip(axes, product(rows, columns), strict=True)]


def one_panel(width: float, height: float) -> tuple[Figure, Any]:
    """A figure with one pair of axes."""
    picture, [(panel, _, _)] = panels([""], [""], width, height)
    return picture, panel


def curve_style(i: int) -> dict[str, Any]:
    """Colour and marker of the i-th curve."""
    return {"color": CYCLE[i % len(CYCLE)], "marker": MARKERS[i % len(MARKERS)], "markersize": 4}


def curves(
    axes: Axes,
    frame: Frame,
    x: str,
    y: str,
    by: Sequence[str] = ("method", "p"),
    order: Iterable[tuple[Any, ...]] = (),
) -> None:
    """The mean of y over x, a curve per variant.

    A variant has the same colour in every figure that lists it in the same order.
    """
    means = frame.groupby([*by, x], dropna=False)[y].mean().reset_index()
    groups = dict(iter(means.groupby([*by], dropna=False)))  # iter: with `keys`, it looks like a mapping
    for i, key in enumerate(order):
        if key not in groups:
            continue
        part = groups[key].sort_values(x)
        style = curve_style(i) | {"linestyle": "-" if i < len(CYCLE) else "--"}
        axes.plot(part[x], part[y], label=variant(*key[:2]), linewidth=1.4, alpha=0.9, **style)
    axes.set_xlabel({"noise": "noise ε"}.get(x, x))
    axes.set_ylabel({"success": "success rate", "mrsa": "MRSA", "rae": "RAE"}.get(y, y))
    axes.grid(alpha=0.25)
    if x == "noise":
        axes.set_xscale("log")
    if y == "success":
        axes.set_ylim(-0.04, 1.04)
    if y == "seconds":
        axes.set_yscale("log")


def shared_legend(picture: Figure, columns: int = 5) -> None:
    """One legend below all panels, each curve once."""
    handles: dict[str, Any] = {}
    for panel in picture.axes:
        handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    picture.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False)
