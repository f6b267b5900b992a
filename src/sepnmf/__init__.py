"""Find the few columns of a matrix that explain all the others.

Separable nonnegative matrix factorisation: given M, find anchors K and H ≥ 0 with M ≈ M[:, K] @ H.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sepnmf import datasets, io, matrix, methods, metrics, model, report, text, tuning, vertices
    from sepnmf.estimators import AnchorSelector, SeparableNMF
    from sepnmf.explorer import explore
    from sepnmf.least_squares import nnls
    from sepnmf.methods import (
        admm,
        dca,
        eeht,
        fgnsr,
        fippi,
        hottopixx,
        merit,
        merit_lam,
        nfindr,
        ppi,
        preconditioned_spa,
        pseudo_point_spa,
        randomized_spa,
        robust_spa,
        smoothed_spa,
        smoothed_vca,
        snpa,
        spa,
        vca,
        xray,
    )
    from sepnmf.registry import METHODS, select
    from sepnmf.selection import Selection
    from sepnmf.text import cooccurrence
    from sepnmf.tuning import RankEstimate, auto, estimate_rank, stability, tuned_admm
    from sepnmf.vertices import archetypes, minimum_volume

__version__ = "0.1.0"

# Where public names live that are not methods. Loaded on first use, so that `import sepnmf` is quick.
_HOME = {
    "estimators": ("AnchorSelector", "SeparableNMF"),
    "explorer": ("explore",),
    "least_squares": ("nnls",),
    "registry": ("METHODS", "select"),
    "selection": ("Selection",),
    "text": ("cooccurrence",),
    "tuning": ("RankEstimate", "auto", "estimate_rank", "stability", "tuned_admm"),
    "vertices": ("archetypes", "minimum_volume"),
}
_ROOMS = ("datasets", "io", "matrix", "methods", "metrics", "model", "report", "text", "tuning", "vertices")

__all__ = [
    "METHODS",
    "AnchorSelector",
    "RankEstimate",
    "Selection",
    "SeparableNMF",
    "admm",
    "archetypes",
    "auto",
    "cooccurrence",
    "datasets",
    "dca",
    "eeht",
    "estimate_rank",
    "explore",
    "fgnsr",
    "fippi",
    "hottopixx",
    "io",
    "matrix",
    "merit",
    "merit_lam",
    "methods",
    "metrics",
    "minimum_volume",
    "model",
    "nfindr",
    "nnls",
    "ppi",
    "preconditioned_spa",
    "pseudo_point_spa",
    "randomized_spa",
    "report",
    "robust_spa",
    "select",
    "smoothed_spa",
    "smoothed_vca",
    "snpa",
    "spa",
    "stability",
    "text",
    "tuned_admm",
    "tuning",
    "vca",
    "vertices",
    "xray",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        value = import_module(f"sepnmf.{name}")
    elif name in __all__:
        home = next((home for home, names in _HOME.items() if name in names), "methods")
        value = getattr(import_module(f"sepnmf.{home}"), name)
    else:
        raise AttributeError(f"module 'sepnmf' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
