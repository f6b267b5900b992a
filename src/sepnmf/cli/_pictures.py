"""Figures of abundance maps and spectra, written as PNG files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepnmf.cli._app import UserError, printable

if TYPE_CHECKING:
    from sepnmf._typing import Floats
    from sepnmf.io import Data

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
LINES = ("-", "--", "-.", ":")


def draw_maps(path: Path, maps: "Floats", labels: list[str]) -> Path:
    """Draw one abundance map per anchor, each with its own colour scale."""
    import numpy as np

    plt = pyplot()
    columns = min(len(maps), 4)
    rows = -(-len(maps) // columns)
    height = 3.0 * maps.shape[1] / maps.shape[2]
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(3.4 * columns, (min(height, 6.0) + 0.6) * rows),
        squeeze=False,
        layout="constrained",
    )
    for panel in axes.flat[len(maps) :]:
        panel.set_visible(False)
    for k, (panel, image, label) in enumerate(zip(axes.flat, maps, labels, strict=False), start=1):
        top = float(np.quantile(image, 0.995)) or 1.0  # outliers must not darken the rest
        drawn = panel.imshow(image, vmin=0.0, vmax=top, cmap="cividis", interpolation="nearest")
        panel.set_title(f"{k}: {printable(label)}", fontsize=9, parse_math=False)
        panel.set(xticks=[], yticks=[])
        figure.colorbar(drawn, ax=panel, shrink=0.8)
    return save(figure, path)


def draw_spectra(path: Path, data: "Data", W: "Floats", labels: list[str]) -> Path:
    """Draw the anchors' columns as curves."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    x = data.wavelengths or range(len(W))
    for k, label in enumerate(labels):
        style = {"color": COLOURS[k % len(COLOURS)], "linestyle": LINES[k // len(COLOURS) % len(LINES)]}
        axes.plot(x, W[:, k], label=f"{k + 1}: {printable(label)}", linewidth=1.6, **style)
    axes.set(xlabel="wavelength" if data.wavelengths else "band", ylabel="value")
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
    from sepnmf.io._cubes import replacing

    with replacing(path) as part:
        figure.savefig(part, dpi=110, format="png")
    pyplot().close(figure)
    return path
