"""METHODS, the list of every method, and select(), the one door to all of them."""

import inspect
from collections.abc import Callable
from typing import Any

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
from sepnmf.selection import Selection
from sepnmf.typing import ArrayLike
from sepnmf.validation import check_choice

METHODS: dict[str, Callable[..., Selection]] = {
    "admm": admm,
    "dca": dca,
    "nfindr": nfindr,
    "ppi": ppi,
    "preconditioned-spa": preconditioned_spa,
    "smoothed-spa": smoothed_spa,
    "smoothed-vca": smoothed_vca,
    "snpa": snpa,
    "spa": spa,
    "vca": vca,
    "xray": xray,
}


def select(M: ArrayLike, r: int, method: str, **options: Any) -> Selection:
    """Find r columns of M that explain all the others, by the method named.

    Parameters
    ----------
    M : array_like of shape (m, n)
        Data.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    method : str
        A name in `sepnmf.METHODS`.
    **options
        What that method takes; one it does not know is an error.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0.01, random_state=0)
    >>> set(sepnmf.select(M, 10, method="spa").anchors) == set(anchors)
    True
    """
    function = METHODS[check_choice(method, "method", METHODS)]
    known = list(inspect.signature(function).parameters)[2:]
    for name in options:
        if name not in known:
            raise ValueError(
                f"{name!r} is not an option of method {method!r}, which takes {', '.join(known)}."
            )
    return function(M, r, **options)
