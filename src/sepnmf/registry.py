"""METHODS, the list of every method, and select(), the one door to all of them."""

import inspect
from collections.abc import Callable
from typing import Any

from sepnmf.methods.admm import admm
from sepnmf.methods.dca import dca
from sepnmf.methods.fgnsr import fgnsr
from sepnmf.methods.hottopixx import hottopixx
from sepnmf.methods.merit import merit
from sepnmf.methods.spa import spa
from sepnmf.selection import Selection
from sepnmf.typing import ArrayLike
from sepnmf.validation import check_choice

METHODS: dict[str, Callable[..., Selection]] = {
    "admm": admm,
    "dca": dca,
    "fgnsr": fgnsr,
    "hottopixx": hottopixx,
    "merit": merit,
    "spa": spa,
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
