"""METHODS, the list of every method, and select(), the one door to all of them."""

import inspect
from collections.abc import Callable
from typing import Any

from sepnmf import methods
from sepnmf.selection import Selection
from sepnmf.typing import ArrayLike, Sparse
from sepnmf.validation import check_choice

METHODS: dict[str, Callable[..., Selection]] = {
    name.replace("_", "-"): getattr(methods, name) for name in methods.__all__
}

# The methods that work on n × n coefficients, and the one that has not learnt it, take dense data only.
DENSE_ONLY = frozenset({"admm", "dca", "fgnsr", "hottopixx", "merit", "smoothed-spa"})


def select(M: ArrayLike | Sparse, r: int, method: str, **options: Any) -> Selection:
    """Find r columns of M that explain all the others, by the method named.

    Parameters
    ----------
    M : array_like or sparse of shape (m, n)
        Data. The methods in `sepnmf.registry.DENSE_ONLY` refuse a sparse M.
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
    parameters = list(inspect.signature(function).parameters.values())[2:]
    known = [parameter.name for parameter in parameters]
    missing = [p.name for p in parameters if p.default is p.empty and p.name not in options]
    if missing:
        raise ValueError(
            f"method {method!r} needs the option(s) {', '.join(missing)}, which have no default."
        )
    for name in options:
        if name not in known:
            raise ValueError(
                f"{name!r} is not an option of method {method!r}, which takes {', '.join(known)}."
            )
    return function(M, r, **options)
