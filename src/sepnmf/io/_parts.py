"""Parts of arrays that are stored in chunks of one size."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

MOST_CHUNKS = 200_000  # that are read at once


def ranges_of(index: tuple[Any, ...], shape: Sequence[int]) -> list[range]:
    """Return the entries of each axis that an index means: a number, or a slice with a positive step."""
    index = (*index, *(slice(None),) * (len(shape) - len(index)))
    return [
        range(size)[which] if isinstance(which, slice) else range(size)[which : which + 1]
        for which, size in zip(index, shape, strict=True)
    ]


def overlaps(ranges: Sequence[range], chunks: Sequence[int]) -> list[list[tuple[int, slice, slice]]]:
    """Return for each axis the chunks with wanted entries: number, where these go, where they are in it."""
    pairs = list(zip(ranges, chunks, strict=True))
    if prod(-(-len(wanted) // -(-size // wanted.step)) for wanted, size in pairs) > MOST_CHUNKS:
        raise ValueError(f"it has more than {MOST_CHUNKS} chunks: save it with larger ones")
    return [list(overlaps_of(wanted, size)) for wanted, size in pairs]


def overlaps_of(wanted: range, size: int) -> Iterator[tuple[int, slice, slice]]:
    """Yield the chunks of one axis."""
    place = 0
    while place < len(wanted):
        number, first = divmod(wanted[place], size)
        count = min(-(-(size - first) // wanted.step), len(wanted) - place)
        last = first + (count - 1) * wanted.step
        yield number, slice(place, place + count), slice(first, last + 1, wanted.step)
        place += count
