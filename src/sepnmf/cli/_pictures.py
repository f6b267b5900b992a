"""Figures of abundance maps and spectra, written as PNG files."""

import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from sepnmf._overview import dominant
from sepnmf._typing import Floats
from sepnmf.cli._app import UserError, printable
from sepnmf.io import Data
from sepnmf.io._filling import replacing
from sepnmf.report._anchors import abscissas, counted_rows, on_all_rows
from sepnmf.report._pictures import (
    Categories,
    Scale,
    any_missing,
    common_scale,
    display_ratio,
    is_stretched,
)

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#a09000")
LINES = ("-", "--", "-.", ":")
WIDTH, HEIGHT = 3.0, 4.0  # inches: largest width and height of one of several maps


def draw_maps(path: Path, maps: Floats, labels: list[str]) -> Path:
    """Draw one abundance map per anchor, all with the same colour scale."""
    width, height = size_of(maps.shape[1:], WIDTH, HEIGHT)
    across = max(1, min(len(maps), round(4 * WIDTH / (max(width, 1.0) + 0.4))))
    down = -(-len(maps) // across)
    size = (
        max(across * (max(width, 1.0) + 0.4) + 1.0, 3.4),
        down * (height + 0.6) + (0.9 if height < 1 else 0.3),
    )
    figure, axes = pyplot().subplots(down, across, figsize=size, squeeze=False, layout="constrained")
    scale = common_scale([Scale.of(image, from_zero=True) for image in maps])
    for panel in axes.flat[len(maps) :]:
        panel.set_visible(False)
    for k, (panel, image, label) in enumerate(zip(axes.flat, maps, labels, strict=False), start=1):
        drawn = draw_values(panel, image, scale.low, scale.high)
        panel.set_title(wrapped(f"{k}: {printable(label)}", max(width, 1.0)), fontsize=9, parse_math=False)
    add_bar(figure, drawn, axes, maps, clipped=scale.clipped)
    return save(figure, path)


def draw_residual(path: Path, residual: Floats) -> Path:
    """Draw what is unexplained of every pixel, relative to its norm; NaN is no data."""
    figure, panel = one_panel(residual.shape, 1.4)
    scale = Scale.of(residual, from_zero=True)
    drawn = draw_values(panel, residual, scale.low, scale.high)
    panel.set_title("Unexplained, relative to the pixel", fontsize=10)
    add_bar(figure, drawn, panel, residual[None], clipped=scale.clipped)
    return save(figure, path)


def draw_dominant(path: Path, maps: Floats, labels: list[str]) -> Path:
    """Draw the anchor with the largest weight in every pixel, with a legend; NaN is no data."""
    from matplotlib.patches import Patch

    image = dominant(maps)
    found = Categories.of(image, [f"{k}: {printable(label)}" for k, label in enumerate(labels, start=1)])
    colours = np.zeros((*image.shape, 4))  # where there is no data, transparent
    for slot, (colour, _, _) in enumerate(found.shares):
        colours[found.entries == slot] = [*(part / 255 for part in bytes.fromhex(colour)), 1.0]
    figure, panel = one_panel(image.shape, 3.0)
    prepare(panel, image.shape)
    panel.imshow(colours, aspect=aspect_of(image.shape), interpolation="nearest")
    panel.set_title("Dominant anchor", fontsize=10)
    handles = [
        Patch(facecolor=f"#{colour}", edgecolor="0.4", label=wrapped(f"{label} ({share:.1%})", 3.4))
        for colour, label, share in found.shares
    ]
    handles += [no_data()] if np.isnan(image).any() else []
    legend = figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return save(figure, path)


def size_of(shape: tuple[int, ...], width: float, height: float) -> tuple[float, float]:
    """Return the size in which an image is drawn, within a width and a height."""
    ratio = display_ratio(shape)
    return min(width, height * ratio), min(height, width / ratio)


def one_panel(shape: tuple[int, ...], beside: float) -> tuple[Any, Any]:
    """Return a figure for one image, with room beside it for a legend or a colour bar."""
    width, height = size_of(shape, 5.0, 5.0)
    size = (max(width, 1.6) + beside, max(height, 1.2) + 0.8)
    figure, panel = pyplot().subplots(figsize=size, layout="constrained")
    return figure, panel


def draw_values(panel: Any, image: Floats, low: float, high: float) -> Any:
    """Draw an image in the colours of a scale, with hatching where there is no data."""
    prepare(panel, image.shape)
    top = high if high > low else low + 1.0
    options = {"vmin": low, "vmax": top, "cmap": "cividis", "interpolation": "nearest"}
    return panel.imshow(image, aspect=aspect_of(image.shape), **options)


def prepare(panel: Any, shape: tuple[int, ...]) -> None:
    """Give a panel its aspect ratio and the ground that shows where there is no data."""
    panel.set(xticks=[], yticks=[], facecolor="white")
    panel.patch.set(hatch="/////", edgecolor="0.6", linewidth=0)
    panel.set_box_aspect(1 / display_ratio(shape))


def aspect_of(shape: tuple[int, ...]) -> str:
    """Return whether pixels are squares, or stretched because the image is a strip."""
    return "auto" if is_stretched(shape) else "equal"


def add_bar(figure: Any, drawn: Any, axes: Any, images: Floats, *, clipped: bool) -> None:
    """Add one colour bar for all panels, below flat ones; its end is pointed if values exceed it.

    Below it, a legend says what pixels without data look like, if there are any.
    """
    _, lines, samples = images.shape
    beside = {"location": "right", "aspect": 30, "fraction": 0.05, "pad": 0.02}
    below = {"location": "bottom", "aspect": 25, "fraction": 0.3, "pad": 0.1, "shrink": 0.6}
    options = below if samples > 3 * lines else beside
    bar = figure.colorbar(drawn, ax=axes, extend="max" if clipped else "neither", extendfrac=0.03, **options)
    bar.ax.tick_params(labelsize=8)
    if any_missing([images]):
        figure.legend(handles=[no_data()], loc="outside lower left", frameon=False, fontsize=9)


def no_data() -> Any:
    """Return the entry of a legend for pixels without data."""
    from matplotlib.patches import Patch

    return Patch(facecolor="white", edgecolor="0.6", hatch="/////", label="no data")


def wrapped(text: str, width: float) -> str:
    """Return a text in at most three lines that are as long as a figure of this width has room for."""
    return "\n".join(textwrap.wrap(text, max(int(width * 14), 12), max_lines=3, placeholder=" …"))


def draw_spectra(path: Path, data: Data, W: Floats, labels: list[str]) -> Path:
    """Draw the anchors' columns as curves, interrupted where bands are left out."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    W = on_all_rows(W, data.row_mask)
    places, label = abscissas(data, len(W))
    x = counted_rows(data, len(W)) if places is None else places
    for k, name in enumerate(labels):
        style = {"color": COLOURS[k % len(COLOURS)], "linestyle": LINES[k // len(COLOURS) % len(LINES)]}
        axes.plot(x, W[:, k], label=wrapped(f"{k + 1}: {printable(name)}", 3), linewidth=1.6, **style)
    axes.set(xlabel=printable(label), ylabel="value")
    axes.spines[["top", "right"]].set_visible(False)
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return save(figure, path)


def pyplot() -> Any:
    """Return matplotlib.pyplot with a backend that needs no display."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise UserError(
            "Matplotlib is needed to draw maps and is not installed: pip install 'sepnmf[files]'."
        ) from None
    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure: Any, path: Path) -> Path:
    """Write a figure to a file, which appears only when it is complete, and close it."""
    with replacing(path) as part, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # names in scripts that the font lacks are drawn as boxes
        figure.savefig(part, dpi=110, format="png")
    pyplot().close(figure)
    return path
