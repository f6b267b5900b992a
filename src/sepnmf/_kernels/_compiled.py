"""The decorator of all kernels: compiled on first call, and cached on disk.

The cache is never a reason to fail. Numba's own raises an exception where no folder can be written (another
user's installation, no home), where the disk is full, and where a file of the cache is damaged.
"""

# mypy: disable-error-code="no-untyped-call"

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from pickle import loads
from typing import Any

from numba import njit
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    _CacheLocator,
    _SourceFileBackedLocatorMixin,
)
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from sepnmf._kernels._apart import apart


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function so that it runs without the interpreter's lock; cache it if that is possible."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(nogil=True, **options)(function)
        with suppress(RuntimeError, OSError):  # no folder can be written: every process compiles it
            kernel._cache = Cache(function)
        if hasattr(kernel, "compile"):  # otherwise NUMBA_DISABLE_JIT is set
            kernel.compile = partial(compile_apart, kernel.compile)
        return kernel

    return decorate


def compile_apart(compile_kernel: Callable[[Any], Any], signature: Any) -> Any:
    """Compile a kernel for a signature, or load it from the cache; Ctrl-C does not reach numba's work."""
    if global_compiler_lock.is_locked():  # by this thread, for a kernel that calls this one
        return compile_kernel(signature)
    return apart(partial(compile_kernel, signature))


class Temporary(_SourceFileBackedLocatorMixin, _CacheLocator):
    """A folder among the temporary files that is this user's alone: what is found there is run."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        """Return the folder for a source file; raise OSError if others can write to it."""
        user = os.getuid() if hasattr(os, "getuid") else None
        folder = Path(tempfile.gettempdir(), "sepnmf-kernels" if user is None else f"sepnmf-kernels-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        private = user is None or (found.st_uid, found.st_mode & 0o077) == (user, 0)
        if not (stat.S_ISDIR(found.st_mode) and private):
            raise PermissionError(f"{folder} is not private.")
        return str(folder / self.get_suitable_cache_subpath(self._py_file))


class Checked(CompileResultCacheImpl):
    """What is in a file of the cache: a kernel, and a digest of it and of its source file."""

    _locator_classes = [*CompileResultCacheImpl._locator_classes, Temporary]  # noqa: RUF012

    def reduce(self, result: Any) -> tuple[bytes, bytes]:
        """Return what is written to the file."""
        kernel: bytes = dumps(super().reduce(result))
        return self.digest(kernel), kernel

    def rebuild(self, context: Any, written: tuple[bytes, bytes]) -> Any:
        """Return the compiled function; raise ValueError if the file is damaged or of another source file."""
        digest, kernel = written
        if self.digest(kernel) != digest:
            raise ValueError("a file of the cache is damaged.")
        return super().rebuild(context, loads(kernel))

    def digest(self, kernel: bytes) -> bytes:
        """Return the digest of a compiled function and its source file."""
        return sha256(repr(self.locator.get_source_stamp()).encode() + kernel).digest()


class Cache(FunctionCache):
    """The files of one kernel: a damaged one is written again, and one that cannot be written is not."""

    _impl_class = Checked

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled function for a signature; None if it is not there, or not whole."""
        try:
            found = super().load_overload(signature, context)
            # Two processes that save at the same time may give one file to two signatures.
            if found is None or tuple(found.signature.args) == tuple(normalize_signature(signature)[0]):
                return found
        except Exception:  # unpickling a damaged file may raise anything
            pass
        self.drop()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Save a compiled function if that is possible."""
        try:
            super().save_overload(signature, result)
        except Exception:  # a full disk, or a damaged index
            self.drop()

    def drop(self) -> None:
        """Remove the index, without which the other files are not read."""
        with suppress(OSError):
            os.unlink(self._cache_file._index_path)
