"""How the methods are called, and requirements on a measured value."""

from typing import Any

from sepnmf.experiments import recovery
from sepnmf.experiments.experiment import Check
from sepnmf.registry import find_method
from sepnmf.selection import Selection

PAGE = "auto"


def choose(M: Any, r: int, method: str, **options: Any) -> Selection:
    """Anchors by a method with its defaults but for `options`, the seed 0 and one thread."""
    known = find_method(method).options
    repeatable = {name: value for name, value in (("random_state", 0), ("n_jobs", 1)) if name in known}
    return recovery.choose(M, r, method, **repeatable | options)


def label(method: str) -> str:
    """A method as a table names it, in bold if it is auto."""
    return f"**{method}**" if method == "auto" else method


def at_least(what: str, value: float, bound: float) -> Check:
    """The requirement that a value is not less than a bound."""
    return Check(what, f"{value:.3g}", f"≥ {bound:g}", value >= bound - 1e-9)


def at_most(what: str, value: float, bound: float, unit: str = "") -> Check:
    """The requirement that a value is not more than a bound."""
    return Check(what, f"{value:.3g}{unit}", f"≤ {bound:g}{unit}", value <= bound)
