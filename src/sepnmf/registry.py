"""METHODS, the record of every method by name, and select(), the one door to all of them."""

import warnings
from typing import Any, Literal

from sepnmf import methods
from sepnmf._typing import ArrayLike, WhichColumns
from sepnmf._validation import check_choice, without_rng
from sepnmf.matrix import Matrix, MatrixLike, as_matrix, known_columns
from sepnmf.methods import Method, refined
from sepnmf.selection import Selection
from sepnmf.tuning import auto, estimate_rank, tuned_admm

PUBLIC = (auto, tuned_admm, *(getattr(methods, name) for name in methods.__all__))
METHODS: dict[str, Method] = {
    function.__name__: function.method for function in PUBLIC if hasattr(function, "method")
}


def find_method(name: object, argument: str = "method") -> Method:
    """Return the record of the method with this name, in which hyphens count as underscores."""
    spelled = name.replace("-", "_") if isinstance(name, str) else name
    return METHODS[check_choice(spelled, argument, METHODS)]


def ready_methods() -> list[str]:
    """Return the methods that run without an option; "auto" is the first."""
    return [name for name, method in METHODS.items() if not method.required]


def select(
    M: MatrixLike,
    r: int | Literal["auto"],
    method: str = "auto",
    *,
    refine: bool = False,
    mask: ArrayLike | None = None,
    row_mask: ArrayLike | None = None,
    include: WhichColumns = (),
    exclude: WhichColumns = (),
    **options: Any,
) -> Selection:
    """Find r columns of M that explain all the others.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data: array_like, sparse, a pandas or polars frame, AnnData, an `xarray.DataArray` (see `as_matrix`),
        or read in chunks. Some methods refuse a sparse M (`sepnmf methods` says which). A Dask array, a Zarr
        array, an HDF5 data set and a NumPy memmap of more than 500 MB are never held at once, but a few
        chunks at a time.
    r : int or "auto"
        Number of anchors, 1 ≤ r ≤ n. "auto" asks `estimate_rank`, and warns when the data do not settle
        it; of data in chunks, it looks at a random sample of twenty thousand columns.
    method : str, default "auto"
        A name in `sepnmf.METHODS`. "auto" needs no parameter.
    refine : bool, default False
        Descend from the method's anchors by exchanging one at a time until no exchange helps, on the
        criterion that "auto" would take. X, if the method has one, still belongs to the anchors before
        that.
    mask : array_like of bool of shape (n,), optional
        Whether each column is used (an image of these if M is one). The others, such as pixels without data,
        are neither candidates nor to be explained; they may have any entries.
    row_mask : array_like of bool of shape (m,), optional
        Whether each row is used.
    include : collection of int or str, optional
        Columns that are known to be anchors, at most r: indices of columns of M, or names where M has names.
        The others are chosen to go with them; `refine` does not exchange them. With r of them the answer is
        these columns. r="auto" is at least their number.
    exclude : collection of int or str, optional
        Columns that are known to be no anchors. Other than with `mask`, they are still to be explained.
        "auto", "spa", "snpa", "xray", "vca", "nfindr", "preconditioned_spa", "pseudo_point_spa",
        "randomized_spa", "robust_spa", "smoothed_spa" and "smoothed_vca" can include and exclude.
    **options
        Options of the method; an unknown one is an error. `rng` is accepted for `random_state`.

    Returns
    -------
    Selection
        Its anchors index the columns of M as it was passed, masked ones included; `names` are theirs.

    Warns
    -----
    UserWarning
        If r is "auto" and the data leave more than one number; the smallest is taken. If the first column
        of a frame is an axis, such as wavelengths; it is left out.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0.01, random_state=0)
    >>> set(sepnmf.select(M, 10).anchors) == set(anchors)
    True
    >>> len(sepnmf.select(M, "auto", method="spa").anchors)
    10
    >>> 54 in sepnmf.select(M, 10, include=[54]).anchors
    True
    """
    record = find_method(method)
    options = dict(without_rng(record.function, (), options))
    record.check_options(options)
    shared = {name: options[name] for name in ("n_jobs", "random_state") if options.get(name) is not None}
    if isinstance(r, str) and r != "auto":
        raise ValueError(f'r must be an integer or "auto", got {r!r}.')
    given = as_matrix(M, options.get("negative", "error"), mask=mask, row_mask=row_mask)
    matrix = given.bare().with_few_rows()
    known = known_columns(given, matrix, include, exclude)
    if record.takes_known:
        options |= vars(known)
    elif len(known.include) or len(known.exclude):
        raise ValueError(cannot_know(record))
    rank = max(number_of_anchors(matrix, shared), len(known.include)) if isinstance(r, str) else r
    if given.columns is not None:
        options = given.columns.used_options(options)
    sel = record(matrix, rank, **options)
    if refine:
        if options.get("normalize") in ("none", "l1", "sqrt"):
            shared["normalize"] = options["normalize"]
        sel = refined(matrix, sel, known, **shared)
    return sel if given.columns is None else sel.among(given.columns)


def cannot_know(record: Method) -> str:
    """Return what to say of a method that can neither include nor exclude columns."""
    able = ", ".join(name for name, each in METHODS.items() if each.takes_known)
    return f"method {record.name!r} can neither include nor exclude columns; these can: {able}."


def number_of_anchors(matrix: Matrix, options: dict[str, Any]) -> int:
    """Return the smallest number of anchors that the data allow; warn when they allow more."""
    estimate = estimate_rank(matrix, **options)
    if not estimate.certain:
        warnings.warn(
            f"The data do not settle the number of anchors: {estimate.low} to {estimate.high}. "
            f"{estimate.evidence} {estimate.low} is taken; pass r to choose.",
            UserWarning,
            stacklevel=3,
        )
    return estimate.low
