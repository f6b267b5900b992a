"""How much of a file may be in memory at a time."""

import sys
from collections import Counter

from sepnmf.io._guards import needed
from sepnmf.matrix import CHUNK

# Python and the libraries take about 300 MB, and the columns that a method holds to search among them
# some 200 MB more. Measured on an image of 1 GB: 540 MB with the smallest chunks, 620 MB with the largest.
LEAST = 700_000_000
# Every thread holds a chunk, and Dask has the next ones read; the chunk is copied once while it is read, and
# a few copies of a part of it are made in work.
SHARES = 16


def limits(memory: int | str) -> dict[str, int]:
    """From how many bytes on data are read in parts, and in chunks of how many, both as float64."""
    size = in_bytes(memory)
    if size < LEAST:
        raise ValueError(f"memory must be at least {LEAST // 10**6} MB, got {memory!r}: ask for more.")
    return {"large": size // 4, "chunk": min(size // (SHARES * threads()), CHUNK)}


def in_bytes(memory: int | str) -> int:
    """A number of bytes, also from text such as "2GB"."""
    try:
        return int(needed("dask.utils").parse_bytes(memory))
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise ValueError(f"memory must be a number of bytes such as 2GB, got {memory!r}.") from None


def threads() -> int:
    """Threads that Dask will use on one machine: of a cluster, on the machine that has most of them."""
    if "distributed" in sys.modules:
        try:
            client = needed("distributed").get_client()
        except ValueError:
            pass  # there is no cluster
        else:
            on_host: Counter[str] = Counter()
            for address, count in client.nthreads().items():
                on_host[address.rpartition(":")[0]] += count
            return max(on_host.values(), default=1)
    return int(needed("dask.config").get("num_workers", None) or needed("dask.system").CPU_COUNT)
