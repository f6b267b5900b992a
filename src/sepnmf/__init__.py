"""Find the few columns of a matrix that explain all the others.

Separable nonnegative matrix factorisation: given M, find anchors K and H ≥ 0 with M ≈ M[:, K] @ H.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sepnmf import datasets, methods, model
    from sepnmf.methods.admm import admm
    from sepnmf.methods.dca import dca
    from sepnmf.methods.fgnsr import fgnsr
    from sepnmf.methods.hottopixx import hottopixx
    from sepnmf.methods.merit import merit, merit_lam
    from sepnmf.methods.spa import spa
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
    "fgnsr": "methods.fgnsr",
    "hottopixx": "methods.hottopixx",
    "merit": "methods.merit",
    "merit_lam": "methods.merit",
    "nnls": "nnls",
    "select": "registry",
    "spa": "methods.spa",
}
_ROOMS = ("datasets", "methods", "model")

__all__ = [
    "METHODS",
    "Selection",
    "admm",
    "datasets",
    "dca",
    "fgnsr",
    "hottopixx",
    "merit",
    "merit_lam",
    "methods",
    "model",
    "nnls",
    "select",
    "spa",
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
