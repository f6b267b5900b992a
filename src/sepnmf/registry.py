"""METHODS, the list of every method, and select(), the one door to all of them."""

import dataclasses
import inspect
import time
import warnings
from collections.abc import Callable
from typing import Any, Literal

from sepnmf import methods
from sepnmf.chunked import CHUNKED, drawn_by_lot, refined
from sepnmf.selection import Selection
from sepnmf.sources import is_chunked
from sepnmf.tuning import auto, estimate_rank, tuned_admm
from sepnmf.tuning.auto import refine_anchors
from sepnmf.typing import ArrayLike, Sparse
from sepnmf.validation import check_choice

METHODS: dict[str, Callable[..., Selection]] = {
    "auto": auto,
    "tuned-admm": tuned_admm,
    **{name.replace("_", "-"): getattr(methods, name) for name in methods.__all__},
}

# The methods that work on n × n coefficients, and the one that has not learnt it, take dense data only.
DENSE_ONLY = frozenset({"admm", "dca", "fgnsr", "hottopixx", "merit", "smoothed-spa", "tuned-admm"})


def select(
    M: ArrayLike | Sparse,
    r: int | Literal["auto"],
    method: str = "auto",
    *,
    refine: bool = False,
    **options: Any,
) -> Selection:
    """Find r columns of M that explain all the others.

    Parameters
    ----------
    M : array_like, sparse, or something to be read in chunks, of shape (m, n)
        Data. The methods in `sepnmf.registry.DENSE_ONLY` refuse a sparse M. A Dask array, a Zarr array, an
        HDF5 data set and a NumPy memmap of more than 500 MB are never held at once, but a few chunks at a
        time: see `sepnmf.chunked`.
    r : int or "auto"
        Number of anchors, 1 ≤ r ≤ n. "auto" asks `estimate_rank`, and warns when the data do not settle
        it; of data in chunks, it asks twenty thousand columns drawn by lot.
    method : str, default "auto"
        A name in `sepnmf.METHODS`. "auto" needs no parameter.
    refine : bool, default False
        Descend from the method's anchors by exchanging one at a time until no exchange helps, on the
        criterion that "auto" would take. X, if the method has one, still belongs to the anchors before
        that.
    **options
        What that method takes; one it does not know is an error.

    Returns
    -------
    Selection

    Warns
    -----
    UserWarning
        If r is "auto" and the data leave more than one number; the least is taken.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0.01, random_state=0)
    >>> set(sepnmf.select(M, 10).anchors) == set(anchors)
    True
    >>> len(sepnmf.select(M, "auto", method="spa").anchors)
    10
    """
    function = METHODS[check_choice(method, "method", METHODS)]
    chunked = is_chunked(M)
    if chunked:
        function = CHUNKED[method]
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
    shared: dict[str, Any] = {
        name: options[name]
        for name in ("negative", "n_jobs", "random_state")
        if options.get(name) is not None
    }
    if isinstance(r, str):
        if r != "auto":
            raise ValueError(f'r must be an integer or "auto", got {r!r}.')
        columns = drawn_by_lot(M, shared.get("random_state", 0)) if chunked else M
        r = number_of_anchors(columns, shared)
    sel = function(M, r, **options)
    if not refine:
        return sel
    began = time.perf_counter()
    if options.get("normalize") in ("none", "l1", "sqrt"):
        shared["normalize"] = options["normalize"]
    if chunked:
        return refined(M, sel, **shared)
    anchors, scores, refinement = refine_anchors(M, sel.anchors, **shared)
    seconds = sel.seconds + time.perf_counter() - began
    return dataclasses.replace(sel, anchors=anchors, scores=scores, refinement=refinement, seconds=seconds)


def number_of_anchors(M: ArrayLike | Sparse, options: dict[str, Any]) -> int:
    """The least number of anchors that the data allow; a warning when they allow more."""
    estimate = estimate_rank(M, **options)
    if not estimate.certain:
        warnings.warn(
            f"The data do not settle the number of anchors: {estimate.low} to {estimate.high}. "
            f"{estimate.evidence} {estimate.low} is taken; pass r to choose.",
            UserWarning,
            stacklevel=3,
        )
    return estimate.low
