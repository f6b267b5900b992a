"""Checks of what a user passes in. Each failure is one sentence: what, where, what to do."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import ArrayLike, Floats, Indices, Ints

F = TypeVar("F", bound=Callable[..., Any])

# Numbers below zero that mark missing data in many files, and the magnitude from which any number does.
USUAL_NODATA = frozenset({-99.0, -999.0, -9999.0, -99999.0, -32767.0, -32768.0, -2147483648.0})
HUGE = 1e15

# Ω compares w_i x_ij with w_j x_ii; squares of w_j / w_i must stay finite.
WIDEST_WEIGHTS = 1e150


@dataclass(frozen=True)
class Remedy:
    """How the caller leaves columns out, as messages write it.

    Attributes
    ----------
    nan : str
        What leaves out columns with NaN or infinite entries.
    value : str
        What leaves out columns with a value, which stands for {}; empty if nothing simple does.
    nodata : str or None
        The value below zero that looks like nodata; empty if there is none, None to look for it.
    """

    nan: str = "mask=np.isfinite(M).all(axis=0)"
    value: str = "mask=(M != {}).all(axis=0)"
    nodata: str | None = None


OF_ARRAYS = Remedy()


def check_array(A: ArrayLike, name: str, ndim: int = 2) -> Floats:
    """Return `A` as a finite floating-point array of `ndim` dimensions, copied only if it must be.

    float32 stays float32 (and float16 becomes it); every other real type becomes float64.
    """
    given = check_real_array(A, name, ndim)
    array: Floats = in_computing_dtype(given)
    if has_not_finite(array):
        bad = ~np.isfinite(array)
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(not_finite(name, int(bad.sum()), where))
    return array


def check_real_array(A: ArrayLike, name: str, ndim: int = 2) -> NDArray[Any]:
    """Return `A` as a non-empty array of real numbers with `ndim` dimensions, in its own type."""
    # Of a sparse matrix, NumPy makes an array with one object.
    if hasattr(A, "toarray") and not isinstance(A, np.ndarray):
        raise ValueError(f"{name} is sparse, and this needs a dense array: pass {name}.toarray().")
    refuse_masked(A, name)
    array = array_of(A, name)
    check_real(array.dtype, name)
    if array.ndim != ndim:
        raise ValueError(wrong_dimensions(name, ndim, array.shape))
    if array.size == 0:
        raise ValueError(f"{name} is empty: its shape is {array.shape}.")
    return array


def array_of(A: Any, name: str) -> NDArray[Any]:
    """Return `A` as an array, and refuse lists of different lengths."""
    try:
        return np.asarray(A)
    except ValueError:
        raise ValueError(f"{name} is not an array: its rows must have the same number of entries.") from None


def refuse_masked(A: Any, name: str) -> None:
    """Refuse masked entries, also of rows in a list: NumPy would take what is behind the mask."""
    if any(np.ma.is_masked(part) for part in (A if isinstance(A, list | tuple) else (A,))):
        raise ValueError(f"{name} has masked entries: fill or remove them.")


def wrong_dimensions(name: str, ndim: int, shape: tuple[int, ...]) -> str:
    """Return what to say of an array with another number of dimensions."""
    said = f"{name} must have {ndim} dimension(s), got shape {shape}"
    if ndim == 2 and len(shape) == 3:
        return f"{said}: of an image of lines × samples × bands, pass {name}.reshape(-1, {shape[2]}).T."
    return f"{said}."


def has_not_finite(array: Floats) -> bool:
    """Return whether an entry is NaN or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(array.sum())  # one pass without a temporary settles nearly every case
    return suspicious and not bool(np.isfinite(array).all())


def computing_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the floating-point type that numbers of a type are computed in: float32 stays float32."""
    return np.dtype(np.float32 if dtype in (np.float32, np.float16) else np.float64)


def in_computing_dtype(array: Any) -> Any:
    """Return numbers, sparse ones too, in the type they are computed in; too large ones become infinite."""
    with np.errstate(over="ignore"):
        return array.astype(computing_dtype(array.dtype), copy=False)


def check_real(dtype: np.dtype[Any], name: str) -> None:
    """Refuse a type that does not hold real numbers."""
    if dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {dtype}: convert it to float first.")


def not_finite(
    name: str, count: int, first: tuple[int, ...] | None, where: str = "", remedy: Remedy = OF_ARRAYS
) -> str:
    """Return what to say of NaN and infinite entries."""
    advice = "remove or replace them"
    if name == "M":
        advice = f"leave their columns out with {remedy.nan}, or replace them"
    return f"{name} has {count} NaN or infinite entries{where}, the first at {first}: {advice}."


def level_outside() -> int:
    """Return the `stacklevel` with which a warning of the caller points at the code that uses the library."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "sepnmf":
        frame, level = frame.f_back, level + 1
    return level


def negative_entries(
    count: int, first: tuple[int, ...] | None, remedy: Remedy = OF_ARRAYS, values: Floats | None = None
) -> str:
    """Return what to say of negative entries that are refused; `values` are all of them, if known."""
    nodata, advice = remedy.nodata, ""
    if nodata is None and values is not None and is_nodata(values):
        nodata = f"{values.min():.9g}"
    if nodata and remedy.value:
        out = remedy.value.format(nodata)
        advice = f"the smallest, {nodata}, looks like nodata: leave its columns out with {out}, or "
    return (
        f"M has {count} negative entries, the first at {first}{'; ' if advice else ': '}{advice}"
        'pass negative="clip" to set them to zero or negative="allow" to keep them.'
    )


def is_nodata(values: Floats) -> bool:
    """Return whether the smallest of negative values usually marks missing data, and is far from others."""
    least = values.min()
    return is_usual_nodata(float(least), float(values.min(where=values > least, initial=0)))


def is_usual_nodata(least: float, second: float) -> bool:
    """Return whether a smallest value usually marks missing data, and is far below the second smallest."""
    return (least in USUAL_NODATA or least <= -HUGE) and second > least / 2


def check_weights(weights: ArrayLike | None, M: Floats) -> Floats:
    """Weights of Ω, scaled so that the largest is 1; by default the l1 norms of the columns of M."""
    given = np.abs(M).sum(axis=0, dtype=np.float64) if weights is None else weights
    return scaled_weights(given, M.shape[1])


def scaled_weights(weights: ArrayLike, n: int) -> Floats:
    """`weights` as n positive float64 numbers of which the largest is 1 (Ω does not notice)."""
    array = check_array(weights, "weights", ndim=1).astype(np.float64)
    if array.size != n:
        raise ValueError(f"weights must hold one number per column ({n}), got {array.size}.")
    if not array.min() > 0:
        raise ValueError(
            f"weights must be positive, got {float(array.min())!r} at index {int(array.argmin())}."
        )
    array /= array.max()
    if not array.min() >= 1 / WIDEST_WEIGHTS:
        raise ValueError(
            "weights differ by a factor of more than 1e150, too much to be told apart in "
            "floating point: rescale them."
        )
    return array


def shown(value: object) -> str:
    """Return a value in one line, as messages write it."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def is_number(value: object, kind: type) -> bool:
    """Return whether a value is an integer or a real number; truth values and durations are not."""
    return isinstance(value, kind) and not isinstance(value, bool | np.timedelta64)


def check_rank(r: Any, n: int) -> int:
    """Return the number of anchors, an integer with 1 ≤ r ≤ n."""
    if not is_number(r, Integral):
        raise ValueError(f"r must be an integer, got {shown(r)}.")
    rank = int(r)
    if not 1 <= rank <= n:
        raise ValueError(f"r must lie between 1 and the number of columns, {n}, got {shown(rank)}.")
    return rank


def check_indices(anchors: Indices, n: int) -> Ints:
    """Return distinct column indices between 0 and n − 1."""
    K = index_set(anchors, "anchors")
    if min(K) < 0 or max(K) >= n:
        raise ValueError(f"anchors must lie between 0 and {n - 1}, got {shown(sorted(K))}.")
    return np.array(sorted(K), dtype=np.intp)


def index_set(indices: Indices, name: str) -> frozenset[int]:
    """Return a non-empty collection of distinct integers as a set."""
    no_items = not isinstance(indices, Collection) or getattr(indices, "ndim", 1) != 1
    items = [] if no_items else list(indices)
    if not items or not all(is_number(i, Integral) for i in items):
        raise ValueError(f"{name} must be a non-empty collection of integers, got {shown(indices)}.")
    distinct = frozenset(int(i) for i in items)
    if len(distinct) < len(items):
        raise ValueError(f"{name} must be distinct, got {shown(indices)}.")
    return distinct


def check_number(value: Any, name: str, *, least: float = 0.0, strict: bool = True) -> float:
    """Return a finite real number above `least` (or at least `least` when not `strict`)."""
    bound = f"{'greater than' if strict else 'at least'} {least:g}"
    if not is_number(value, Real):
        raise ValueError(f"{name} must be a number {bound}, got {shown(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number) or number < least or (strict and number == least):
        raise ValueError(f"{name} must be finite and {bound}, got {number!r}.")
    return number


def check_count(value: Any, name: str, *, least: int = 1) -> int:
    """Return an integer that is at least `least`."""
    if not is_number(value, Integral) or int(value) < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {shown(value)}.")
    return int(value)


def check_bool(value: object, name: str) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def check_choice(value: object, name: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`."""
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {shown(value)}.")
    return value


def check_square(A: ArrayLike, name: str, n: int | None = None) -> Floats:
    """Return `A` as a finite square array, of order n when given."""
    array = check_array(A, name)
    order = array.shape[0] if n is None else n
    if array.shape != (order, order):
        raise ValueError(f"{name} must be square, {order} × {order}, got shape {array.shape}.")
    return array


def check_generator(random_state: object, name: str = "random_state") -> np.random.Generator:
    """Return a NumPy generator from None, an integer seed, a sequence of seeds or a generator."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.SeedSequence):
        # A copy: generators that are spawned from it would change the caller's, and so the next answer.
        return np.random.default_rng(np.random.SeedSequence(**random_state.state))
    return np.random.default_rng(check_count(random_state, name, least=0))


def without_rng(
    function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the options of a call with `rng` under its other name, `random_state`, if there is such a one.

    Functions are declared with `random_state`, as in scikit-learn; `rng` is the name in SPEC 7 of the
    scientific Python projects, https://scientific-python.org/specs/spec-0007.
    """
    if "rng" not in options:
        return options
    signature = inspect.signature(function)
    if "random_state" not in signature.parameters:
        return options
    if "random_state" in {*options, *signature.bind_partial(*args).arguments}:
        raise TypeError("random_state and rng are names of one argument: pass one of them.")
    check_generator(options["rng"], "rng")
    return {"random_state" if name == "rng" else name: value for name, value in options.items()}


def accepts_rng(function: F) -> F:
    """Let a function that has a parameter `random_state` accept `rng` for it."""

    @functools.wraps(function)
    def public(*args: Any, **options: Any) -> Any:
        return function(*args, **without_rng(function, args, options))

    return cast(F, public)
