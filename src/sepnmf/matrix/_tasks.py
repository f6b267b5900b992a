"""What Dask runs on chunks: functions of a chunk, and results that are joined."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from sepnmf._parallel import SingleBLAS
from sepnmf._typing import Floats, Ints
from sepnmf._validation import computing_dtype, has_not_finite, not_finite
from sepnmf.matrix._dense import InMemory
from sepnmf.matrix._passes import WIDEST, Block, Change, Reducer
from sepnmf.matrix._reducers import first_position
from sepnmf.matrix._sparse import as_in_memory


def computed(tasks: list[Any]) -> list[Any]:
    """Return the results of tasks."""
    from dask import compute  # type: ignore[attr-defined]

    with SingleBLAS():  # here, so that the tasks of this process need not change it
        return [result[0, 0] for result in compute(*tasks)]  # type: ignore[no-untyped-call]


def on_one_core(
    chunk: Any,
    function: Callable[..., Any],
    argument: Any,
    changes: tuple[Change, ...],
    starts: Ints,
    block_id: tuple[int, int],
) -> Any:
    """Call a function of a chunk, with BLAS on one thread: Dask has a task for every core."""
    with SingleBLAS(), np.errstate(all="ignore"):
        block = Block(int(starts[block_id[1]]), as_in_memory(chunk), changes)
        return boxed(function(block, argument))


def on_columns(
    chunk: Any,
    mask: Any = None,
    *,
    function: Callable[[InMemory, int], Floats],
    changes: tuple[Change, ...],
    shape: tuple[int, Any],
    block_info: Any = None,
) -> Floats:
    """Call a function of the columns of a chunk that are used, a few at a time; the others give NaN.

    `shape` has the number of rows and the type of the result.
    """
    used = np.arange(chunk.shape[1]) if mask is None else np.flatnonzero(mask[0])
    stored = as_in_memory(chunk if mask is None else chunk[:, used])
    first = block_info[0]["array-location"][1][0]
    if has_not_finite(stored.values):
        found = stored.entries_where(lambda values: ~np.isfinite(values))
        found[:, 1] = used[found[:, 1]]
        raise ValueError(not_finite("M", len(found), first_position(found, first), " in a chunk"))
    rows, dtype = shape
    whole = np.full((rows, chunk.shape[1]), np.nan, dtype)
    width = max(WIDEST // stored.shape[0], 1)
    for start in range(0, stored.shape[1], width):
        part = stored.part(slice(start, start + width)).in_floats(computing_dtype(stored.dtype))
        columns = reduce(lambda c, change: change(c), changes, part)
        whole[:, used[start : start + width]] = function(columns, first + start)
    return whole


def with_checked_values(refuse: Callable[[Any], Any], columns: InMemory) -> InMemory:
    """Return the columns, or raise what `refuse` raises on their values."""
    refuse(columns.values)
    return columns


def boxed(result: Any) -> Any:
    """Return a result as the only entry of an array, which is what tasks of Dask arrays return."""
    box = np.empty((1, 1), object)
    box[0, 0] = result
    return box


def join_boxes(reducers: tuple[Reducer[Any], ...], boxes: list[Any]) -> Any:
    """Return the results of several chunks as those of one."""
    by_reducer = zip(*(box[0, 0] for box in boxes), strict=True)
    with np.errstate(all="ignore"):
        return boxed(
            tuple(reduce(each.join, found) for each, found in zip(reducers, by_reducer, strict=True))
        )


def take_from_chunk(block: Block, indices: Ints) -> Floats:
    """Return those of some columns that are in a chunk."""
    return block.dense(indices[(indices >= block.first) & (indices < block.stop)])


def stored_in_chunk(block: Block, _: None) -> Any:
    """Return all columns of a chunk as they are stored."""
    return block.stored.array
