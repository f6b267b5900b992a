"""Lazy arrays of rows × image, as rows × pixels."""

from math import prod
from typing import Any

from sepnmf.matrix import _stored
from sepnmf.matrix._stored import dask_array


def flattened(array: Any) -> Any:
    """Return a Dask array of rows × lines × … as rows × pixels, in chunks of whole lines and all rows.

    Lines are cut out of the array one chunk after another: merging the chunks of an array makes Dask hold
    more of it than is worked on.
    """
    rows, lines, *others = array.shape
    step = max(_stored.CHUNK // max(8 * rows * prod(others), 1), 1)
    if array.ndim == 2:
        return array
    whole = array.numblocks[0] == 1 and prod(array.numblocks[2:]) == 1
    if whole and max(array.chunks[1]) <= 2 * step:
        return array.reshape(rows, -1)
    cuts = [array[:, start : start + step].rechunk(-1).reshape(rows, -1) for start in range(0, lines, step)]
    return dask_array().concatenate(cuts, axis=1)
