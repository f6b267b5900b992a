"""Scale factors: from the numbers in a file to the quantities they stand for."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepnmf._typing import Floats
from sepnmf._validation import computing_dtype
from sepnmf.matrix import is_lazy


@dataclass(frozen=True, eq=False)
class Scaling:
    """Numbers of a file are multiplied by `gain`, divided by `divisor`, and `offset` is added.

    Each is a number, or an array with one number per band.
    """

    gain: float | Floats = 1.0
    divisor: float | Floats = 1.0
    offset: float | Floats = 0.0

    def __call__(self, M: Any) -> Any:
        """Return the quantities of all bands; a Dask array stays one."""
        dtype = computing_dtype(M.dtype)
        if is_lazy(M):
            return M.map_blocks(partial(scaled, self, dtype), dtype=dtype, meta=np.empty((0, 0), dtype))
        return scaled(self, dtype, M)


def scaled(scaling: Scaling, dtype: np.dtype[Any], M: NDArray[Any]) -> Floats:
    """Return the quantities of some columns; numbers that mean "no data" may overflow."""
    numbers: Floats = M.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for combine, value in (
            (np.multiply, scaling.gain),
            (np.divide, scaling.divisor),
            (np.add, scaling.offset),
        ):
            by_row = np.reshape(np.asarray(value, dtype), (-1, 1))
            if not (by_row == (0 if combine is np.add else 1)).all():
                combine(numbers, by_row, out=numbers)
    return numbers


def scaling_of(
    gain: Any = 1.0, divisor: Any = 1.0, offset: Any = 0.0, *, what: str = "scale factor"
) -> Scaling | None:
    """Return a scaling, None if it changes nothing; refuse numbers that cannot be factors."""
    found = Scaling(*(value_or_array(value) for value in (gain, divisor, offset)))
    factors = np.concatenate([np.ravel(found.gain), np.ravel(found.divisor)])
    if not (np.isfinite(factors).all() and factors.all() and np.isfinite(found.offset).all()):
        raise ValueError(f"its {what} is zero or not finite")
    return None if (factors == 1).all() and np.all(found.offset == 0) else found


def value_or_array(value: Any) -> float | Floats:
    """Return one number, also of several that are equal, or an array."""
    array: Floats = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    return float(array[0]) if array.size and (array == array[0]).all() else array
