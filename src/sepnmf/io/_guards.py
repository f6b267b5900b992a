"""What keeps a file from doing harm: bounds on memory, errors of one line, libraries that may be missing."""

import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# A file may become 1 GiB in memory, or a hundred times its size on disk, and never more than is available.
FREE_GROWTH = 2**30
GROWTH = 100


def available_memory() -> int:
    """Bytes that can be taken without swapping, as far as the system says."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def check_size(nbytes: int, file: Path) -> None:
    """Refuse to read what would not fit into memory, or what a small file only claims to hold."""
    check_claim(nbytes, file)
    if nbytes > available_memory():
        raise ValueError(
            f"{file.name} would take {nbytes / 2**30:.1f} GiB of memory, more than is available: save the "
            "data as .npy, .zarr or ENVI, which are read in parts."
        )


def check_claim(nbytes: int, file: Path) -> None:
    """Refuse a file, or a folder of files, that is small and claims to hold much."""
    if nbytes > FREE_GROWTH and not is_as_large(file, nbytes // GROWTH):
        raise ValueError(
            f"{file.name} would take {nbytes / 2**30:.1f} GiB of memory, more than {GROWTH} times its size "
            "on disk: it is damaged or meant to do harm; if it is neither, save the data uncompressed."
        )


def is_as_large(file: Path, nbytes: int) -> bool:
    """Whether a file, or a folder of files, has so many bytes; a folder is read no further than that."""
    files = iter([file]) if file.is_file() else (path for path in file.rglob("*") if path.is_file())
    found = 0
    for path in files:
        found += path.stat().st_size
        if found >= nbytes:
            return True
    return False


def one_line(error: BaseException) -> str:
    """What an error says, in one line of bounded length and without a full stop."""
    text = " ".join(str(error).split()) or type(error).__name__
    return (text if len(text) <= 300 else f"{text[:300]}…").rstrip(".")


@contextmanager
def parsing(file: Path, kind: str) -> Iterator[None]:
    """Turn whatever a library raises over a damaged file into one line; its warnings add nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        raise ValueError(f"{file.name} cannot be read as {kind}: {one_line(error)}.") from error


def needed(module: str) -> Any:
    """Import a module of a library that is not always installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ValueError(f"{library} is not installed: pip install 'sepnmf[files]'.") from error
