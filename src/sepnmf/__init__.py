"""Find the few columns of a matrix that explain all the others.

Separable nonnegative matrix factorisation: given M, find anchors K and H ≥ 0 with M ≈ M[:, K] @ H.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sepnmf import datasets, methods, metrics, model
    from sepnmf.estimators import AnchorSelector, SeparableNMF
    from sepnmf.methods.admm import admm
    from sepnmf.methods.dca import dca
    from sepnmf.methods.nfindr import nfindr
    from sepnmf.methods.ppi import ppi
    from sepnmf.methods.preconditioned import preconditioned_spa
    from sepnmf.methods.smoothed import smoothed_spa, smoothed_vca
    from sepnmf.methods.snpa import snpa
    from sepnmf.methods.spa import spa
    from sepnmf.methods.vca import vca
    from sepnmf.methods.xray import xray
    from sepnmf.nnls import nnls
    from sepnmf.registry import METHODS, select
    from sepnmf.selection import Selection

__version__ = "0.1.0.dev0"

# Where each public name lives. Loaded on first use, so that `import sepnmf` is quick.
_HOME = {
    "AnchorSelector": "estimators",
    "METHODS": "registry",
    "Selection": "selection",
    "SeparableNMF": "estimators",
    "admm": "methods.admm",
    "dca": "methods.dca",
    "nfindr": "methods.nfindr",
    "nnls": "nnls",
    "ppi": "methods.ppi",
    "preconditioned_spa": "methods.preconditioned",
    "select": "registry",
    "smoothed_spa": "methods.smoothed",
    "smoothed_vca": "methods.smoothed",
    "snpa": "methods.snpa",
    "spa": "methods.spa",
    "vca": "methods.vca",
    "xray": "methods.xray",
}
_ROOMS = ("datasets", "methods", "metrics", "model")

__all__ = [
    "METHODS",
    "AnchorSelector",
    "Selection",
    "SeparableNMF",
    "admm",
    "datasets",
    "dca",
    "methods",
    "metrics",
    "model",
    "nfindr",
    "nnls",
    "ppi",
    "preconditioned_spa",
    "select",
    "smoothed_spa",
    "smoothed_vca",
    "snpa",
    "spa",
    "vca",
    "xray",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        value = import_module(f"sepnmf.{name}")
    elif name in _HOME:
        value = getattr(import_module(f"sepnmf.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'sepnmf' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
