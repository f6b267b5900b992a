"""Protection against damaged and hostile files: memory limits, one-line errors, optional libraries."""

import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any

FORMULA = ("=", "+", "-", "@")  # what formulas of spreadsheets begin with

# A file may need 512 MiB of memory, or a hundred times its size on disk, but not more than is available.
UNCHECKED_SIZE = 2**29
MAX_RATIO = 100
TEXT_SIZE = 100  # bytes of a short text in memory

EXTRAS = {"anndata": "cells", "panel": "explore"}  # the extra of a library, if it is not "files"


def available_memory() -> int:
    """Return the number of bytes of memory that are available without swapping, as the system reports it."""
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
    """Refuse data that do not fit into memory, or whose declared size is implausible for the file."""
    check_claim(nbytes, file)
    if nbytes > available_memory():
        raise ValueError(
            f"{file.name} would take {in_gib(nbytes)} of memory, more than is available: save the "
            "data as .npy, .zarr, .tif or ENVI, which are read in chunks."
        )


def check_claim(nbytes: int, file: Path) -> None:
    """Refuse a file or a folder that is much smaller than the data that it declares."""
    if nbytes > UNCHECKED_SIZE and not is_as_large(file, nbytes // MAX_RATIO):
        raise ValueError(
            f"{file.name} would take {in_gib(nbytes)} of memory, more than {MAX_RATIO} times its "
            "size on disk: it is damaged or malicious; if it is neither, save the data uncompressed."
        )


def in_gib(nbytes: int) -> str:
    """Return a number of bytes in words; declared ones may exceed all floating-point numbers."""
    return f"{nbytes / 2**30:.1f} GiB" if nbytes < 2**80 else "more than 10¹⁵ GiB"


def is_as_large(file: Path, nbytes: int) -> bool:
    """Return whether a file or a folder has at least `nbytes` bytes; counting stops there."""
    files = iter([file]) if file.is_file() else (path for path in file.rglob("*") if path.is_file())
    found = 0
    for path in files:
        found += path.stat().st_size
        if found >= nbytes:
            return True
    return False


def check_regular(file: Path) -> None:
    """Refuse what exists and is no regular file, such as a pipe or a device, which would be waited for."""
    if file.exists() and not file.is_file():
        raise ValueError(f"{file} is not a regular file.")


def open_regular(file: Path) -> IO[bytes]:
    """Open a file; refuse what is none, such as a pipe or a device, without waiting for it."""
    number = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not S_ISREG(os.fstat(number).st_mode):
            raise ValueError(f"{file.name} is not a regular file.")
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line of at most 300 characters, without a full stop."""
    text = " ".join(str(error).split()) or type(error).__name__
    return (text if len(text) <= 300 else f"{text[:300]}…").rstrip(".")


@contextmanager
def parsing(file: Path, kind: str) -> Iterator[None]:
    """Convert any exception of a library into a one-line ValueError, and suppress warnings."""
    with in_one_line(file, kind), without_warnings():
        yield


@contextmanager
def in_one_line(file: Path, kind: str) -> Iterator[None]:
    """Convert any exception of a library into a one-line ValueError."""
    try:
        yield
    except Exception as error:
        if str(error).startswith(f"{file.name} cannot be read as "):
            raise  # from inside
        raise ValueError(f"{file.name} cannot be read as {kind}: {one_line(error)}.") from error


@contextmanager
def without_line_breaks() -> Iterator[None]:
    """Convert messages of several lines, as names with line breaks make them, into one line."""
    try:
        yield
    except (ValueError, OSError) as error:
        if "\n" not in str(error):
            raise
        kind = FileNotFoundError if isinstance(error, FileNotFoundError) else ValueError
        raise kind(f"{one_line(error)}.") from error


@contextmanager
def as_documented(file: Path) -> Iterator[None]:
    """Convert what a reader may not raise into a one-line ValueError: all but ValueError and OSError."""
    try:
        with without_line_breaks():
            yield
    except (ValueError, OSError):
        raise
    except MemoryError as error:
        raise ValueError(f"{file.name} does not fit into memory.") from error
    except Exception as error:
        raise ValueError(f"{file.name} cannot be read: {one_line(error)}.") from error


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress the warnings of a library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def text_of(word: object) -> str:
    """Return a text of a file."""
    return word.decode("utf-8", "replace") if isinstance(word, bytes) else str(word)


def needed(module: str) -> Any:
    """Import a module of an optional library, or raise ValueError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        extra = EXTRAS.get(library, "files")
        raise ValueError(f"{library} is not installed: pip install 'sepnmf[{extra}]'.") from error


def harmless(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers, also as texts, stay as they are."""
    if not isinstance(cell, str) or not cell.lstrip().startswith(FORMULA) or is_plain_number(cell):
        return cell
    return f"'{cell}"


def is_plain_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
