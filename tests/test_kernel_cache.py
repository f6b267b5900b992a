"""The cache of compiled kernels is never a reason to fail."""

import errno
import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from numba import float32, float64
from numba.core.caching import IndexDataCacheFile, NullCache
from numba.core.dispatcher import Dispatcher

import sepnmf._kernels
from sepnmf._kernels._compiled import Cache, Checked, Temporary, compiled


def some_kernel():
    """A new kernel: one that was compiled before would not use the cache."""

    @compiled()
    def double(x):
        return 2 * x

    return double


def hits():
    """Run the kernel; return how often it was found in the cache."""
    kernel = some_kernel()
    assert kernel(1.5) == 3
    return sum(kernel.stats.cache_hits.values())


def empty(data):
    return b""


def garbage(data):
    return bytes(np.random.default_rng(0).integers(0, 256, len(data), np.uint8))


def cut(data):
    return data[: len(data) // 2]


def with_zeros(data):
    """What a crash of the machine may leave: a part of the file was never written."""
    return data[: len(data) // 2] + bytes(400) + data[len(data) // 2 + 400 :]


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [("nbi", empty), ("nbi", garbage), ("nbc", empty), ("nbc", garbage), ("nbc", cut), ("nbc", with_zeros)],
)
def test_a_damaged_cache_is_written_again(monkeypatch, tmp_path, suffix, damage):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert (hits(), hits()) == (0, 1)
    (file,) = tmp_path.rglob(f"*.{suffix}")
    file.write_bytes(damage(file.read_bytes()))
    assert (hits(), hits()) == (0, 1)


def test_on_a_full_disk_kernels_are_compiled_and_not_kept(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def full(self, *_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(IndexDataCacheFile, "_save_data", full)
        assert (hits(), hits()) == (0, 0)
    assert (hits(), hits()) == (0, 1)


def test_without_another_folder_the_cache_is_among_the_temporary_files(monkeypatch, tmp_path):
    monkeypatch.setattr(Checked, "_locator_classes", [Temporary])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert (hits(), hits()) == (0, 1)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")
def test_a_temporary_folder_that_others_can_write_to_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(Checked, "_locator_classes", [Temporary])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    theirs = tmp_path / f"sepnmf-kernels-{os.getuid()}"
    theirs.mkdir()
    theirs.chmod(0o777)
    kernel = some_kernel()
    assert kernel(1.5) == 3
    assert isinstance(kernel._cache, NullCache)
    assert not list(theirs.iterdir())


def test_without_any_folder_there_is_no_cache(monkeypatch):
    monkeypatch.setattr(Checked, "_locator_classes", [])
    assert (hits(), hits()) == (0, 0)


def test_a_kernel_of_another_signature_or_source_is_not_run(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    kernel = some_kernel()
    assert kernel(np.float32(1.5)) == 3
    cache = kernel._cache
    context = kernel.targetctx
    assert cache.load_overload((float32,), context).signature.args == (float32,)

    single = cache._index_key((float32,), context.codegen())
    double = cache._index_key((float64,), context.codegen())
    (name,) = cache._cache_file._load_index().values()
    cache._cache_file._save_index({single: name, double: name})
    assert cache.load_overload((float64,), context) is None

    cache._cache_file._save_index({single: name})
    assert cache.load_overload((float32,), context) is not None
    monkeypatch.setattr(cache._impl.locator, "get_source_stamp", lambda: "another")
    assert cache.load_overload((float32,), context) is None


def test_all_kernels_have_this_cache():
    for module in pkgutil.iter_modules(sepnmf._kernels.__path__, "sepnmf._kernels."):
        for name, kernel in vars(importlib.import_module(module.name)).items():
            if isinstance(kernel, Dispatcher):
                assert isinstance(kernel._cache, Cache), f"{name}: decorate it with compiled()"


def test_ctrl_c_while_numba_is_imported_does_no_harm():
    """Numba that was imported in part cannot be used: "module 'numba' has no attribute 'core'"."""
    code = """
import random, signal, sepnmf
def stop(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)
for moment in (0.1, 0.2, 0.3, 0.5):
    try:
        signal.setitimer(signal.ITIMER_REAL, moment)
        from sepnmf._kernels.descent import descend
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
import numpy as np
from sepnmf._kernels.descent import descend
assert descend(np.eye(2), np.ones((3, 2)), 1e-9, 10, np.zeros((3, 2))) == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_numba_is_imported_apart_also_while_another_thread_still_imports_it(monkeypatch):
    """After Ctrl-C it may be in sys.modules and not whole: the main thread must not import the rest."""
    asked = []
    monkeypatch.setattr("sepnmf._kernels._apart.apart", lambda function: asked.append(function()))
    assert "numba" in sys.modules
    importlib.reload(sepnmf._kernels)
    assert asked == [sys.modules["numba"]]
