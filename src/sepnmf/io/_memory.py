"""Memory limits of data that are read in chunks."""

import sys
from collections import Counter

from sepnmf.io._guards import needed
from sepnmf.matrix import CHUNK

# Python and the libraries take about 300 MB, and the candidate columns of a method about 200 MB.
# Measured on an image of 1 GB: 540 MB with the smallest chunks, 620 MB with the largest. Of up to 20 million
# entries, methods that need all columns load them (160 MB) and make up to three copies: 820 MB for `auto`.
LEAST = 700_000_000
# Chunks in memory per thread: Dask reads the next chunks in advance, a chunk is copied once while it is
# read, and a method makes a few copies of parts of it.
SHARES = 16


def limits(memory: int | str) -> dict[str, int]:
    """Return the size above which data are read in chunks, and the chunk size, in bytes as float64."""
    size = in_bytes(memory)
    if size < LEAST:
        raise ValueError(f"memory must be at least {LEAST // 10**6} MB, got {memory!r}: increase it.")
    return {"large": size // 4, "chunk": min(size // (SHARES * threads()), CHUNK)}


def in_bytes(memory: int | str) -> int:
    """Return a number of bytes, given as a number or as text such as "2GB"."""
    try:
        return int(needed("dask.utils").parse_bytes(memory))
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise ValueError(f"memory must be a number of bytes such as 2GB, got {memory!r}.") from None


def threads() -> int:
    """Return the number of Dask threads per machine; of a cluster, the maximum over its machines."""
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
