"""Find the few columns of a matrix that explain all the others.

Separable nonnegative matrix factorisation: given M, find anchors K and H ≥ 0 with M ≈ M[:, K] @ H.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sepnmf import datasets, methods, model
    from sepnmf.methods.admm import admm
    from sepnmf.methods.dca import dca
    from sepnmf.methods.snpa import snpa
    from sepnmf.methods.spa import spa
    from sepnmf.methods.xray import xray
    from sepnmf.nnls import nnls
    from sepnmf.registry import METHODS, select
    from sepnmf.selection import Selection

__version__ = "0.1.0.dev0"

# Where each public name lives. Loaded on first use, so that `import sepnmf` is quick.
_HOME = {
    "METHODS": "registry",
    "Selection": "selection",
    "admm": "methods.admm",
    "dca": "methods.dca",
    "nnls": "nnls",
    "select": "registry",
    "snpa": "methods.snpa",
    "spa": "methods.spa",
    "xray": "methods.xray",
}
_ROOMS = ("datasets", "methods", "model")

__all__ = [
    "METHODS",
    "Selection",
    "admm",
    "datasets",
    "dca",
    "methods",
    "model",
    "nnls",
    "select",
    "snpa",
    "spa",
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
