"""A trial of an HDF5 file in another process: the library ends the process in which some files are read.

References that are a cycle, sizes of zero and false places are met in too many of its structures to be found
beforehand. The other process is this file, run as a program that imports h5py alone, within 0.2 s.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

SECONDS = 4.0  # of computing, after which a trial is ended: the library is in an endless loop
SECONDS_PER_BYTE = 1e-8  # more of them in large files
ENOUGH = 0.5  # part of this time after which a trial ends by itself
MEMORY = 4 * 2**30  # bytes of addresses
READ = 2**26  # bytes of data that are read
GROWTH = 2**29  # bytes of addresses for the file: a chunk may become much larger than declared
MANY = 10_000  # chunks, or entries of varying length, of which only the first and the last are read


def try_hdf5(file: Path) -> None:
    """Refuse a file that ends the process in which it is read, or is not read in a reasonable time."""
    if not sys.executable or getattr(sys, "frozen", False):  # Python is part of another program
        return
    seconds = SECONDS + SECONDS_PER_BYTE * file.stat().st_size
    words = [sys.executable, "-I", "-S", __file__, str(file), str(seconds), json.dumps(sys.path)]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    if done.returncode < 0:
        raise ValueError("it is damaged: the HDF5 library ends when it reads the file")


def limit(seconds: float) -> None:
    """Limit what this process may use, where the system can."""
    with suppress(ImportError):
        import resource

        for kind, wanted in (
            (resource.RLIMIT_CPU, int(seconds) + 1),
            (resource.RLIMIT_AS, MEMORY),
            (resource.RLIMIT_CORE, 0),
        ):
            with suppress(ValueError, OSError):  # it is lower already
                resource.setrlimit(kind, (wanted, wanted))


def limit_growth() -> None:
    """Limit the memory that is taken from now on, where the system says how much there is already."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        wanted = pages * resource.getpagesize() + GROWTH
        resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))


def visit(file: str, seconds: float) -> None:
    """Read all groups, attributes and chunks of a file, and as much of its data as takes little time."""
    import h5py

    limit_growth()
    with h5py.File(file, "r") as content:
        visit_all(h5py, content, seconds)


def visit_all(h5py: Any, content: Any, seconds: float) -> None:
    """Read what a file has; what cannot be read is passed over."""
    left, seen, budget = [content], set(), READ

    def enough() -> bool:
        return time.process_time() > ENOUGH * seconds

    while left and not enough():
        node = left.pop()
        with suppress(Exception):
            address = h5py.h5o.get_info(node.id).addr
            if address in seen:
                continue
            seen.add(address)
        with suppress(Exception):
            for name in node.attrs:
                if enough():
                    break
                with suppress(Exception):
                    node.attrs[name]
        if isinstance(node, h5py.Dataset):
            with suppress(Exception):
                budget -= read_some(node, budget, enough)
        elif isinstance(node, h5py.Group):
            with suppress(Exception):
                for name in node:
                    if enough():
                        break
                    with suppress(Exception):
                        if isinstance(node.get(name, getlink=True), h5py.HardLink):
                            left.append(node[name])


def read_some(dataset: Any, budget: int, enough: Callable[[], bool]) -> int:
    """Read what is said about a dataset, and all of it, or its first and last chunk; return the bytes."""
    if dataset.external or dataset.is_virtual:  # it is in other files, and refused
        return 0
    settings = dataset.id.get_create_plist()
    for k in range(settings.get_nfilters()):
        settings.get_filter(k)
    with suppress(Exception):
        _ = dataset.is_scale, [(dim.label, [scale.name for scale in dim.values()]) for dim in dataset.dims]
    with suppress(Exception):
        _ = dataset.fillvalue
    with suppress(Exception):
        dataset.id.get_offset()
    if dataset.chunks and hasattr(dataset.id, "chunk_iter"):
        with suppress(Exception):
            dataset.id.chunk_iter(lambda chunk: enough() or None)  # None goes on
    width, shape = dataset.dtype.itemsize, dataset.shape or ()
    chunk = dataset.chunks or shape
    pieces = prod(-(-size // part) for size, part in zip(shape, chunk, strict=True) if part)
    if dataset.dtype.hasobject:
        pieces, chunk = prod(shape), (1,) * len(shape)
    if width * prod(shape) <= budget and pieces <= MANY:
        _ = dataset[()]
        return int(width * prod(shape))
    if 2 * width * prod(chunk) > budget:
        return 0
    _ = dataset[tuple(slice(size) for size in chunk)]
    _ = dataset[tuple(slice(-size, None) for size in chunk)]
    return int(2 * width * prod(chunk))


if __name__ == "__main__":
    sys.path[:] = [path for path in json.loads(sys.argv[3]) if path]
    limit(float(sys.argv[2]))
    with suppress(Exception):
        visit(sys.argv[1], float(sys.argv[2]))
