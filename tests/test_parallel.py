"""Threads: the same answer for any number of them, and no trace left behind."""

import _thread
import hashlib
import importlib
import linecache
import os
import pkgutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import joblib
import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - has a BLAS library of its own
from numba.core.dispatcher import Dispatcher
from threadpoolctl import threadpool_info, threadpool_limits

import sepnmf
import sepnmf._kernels
from sepnmf._parallel import SMALLEST, SingleBLAS, Workers, available_cores, in_threads, interruptible

N = SMALLEST + 30  # large enough for threads


def data(seed=0):
    return np.random.default_rng(seed).random((20, N)) + 0.1


def solve(n_jobs=None, norm="l1", seed=0):
    options = {"p": 2, "norm": norm, "lam": 1e-3, "rho": (1, 1, 1), "n_jobs": n_jobs}
    return sepnmf.admm(data(seed), 5, callback=lambda state: state.n_outer == 3, **options)


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@pytest.fixture
def threads_before():
    """The threads of the BLAS libraries: three each, so that one is fewer."""
    with threadpool_limits(3, user_api="blas"):
        yield blas_threads()


@pytest.mark.parametrize("norm", ["l1", "rows"])
def test_the_number_of_threads_does_not_change_the_answer(norm):
    one, two, many = (solve(n_jobs, norm) for n_jobs in (1, 2, 5))
    for other in (two, many):
        assert other.anchors.tolist() == one.anchors.tolist()
        np.testing.assert_allclose(other.X, one.X, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(solve(2, norm).X, two.X)


@pytest.mark.parametrize("norm", ["l1", "rows"])
@pytest.mark.parametrize("p", [1, 2])
def test_nor_does_it_change_the_answer_of_dca(norm, p):
    def run(n_jobs):
        options = {"lam": 1e-3, "rho": 1.0, "beta": 1.0, "norm": norm, "p": p, "ratio_weight": 1e-3}
        return sepnmf.dca(data(), 5, n_jobs=n_jobs, callback=lambda state: state.n_outer == 3, **options)

    one, two = run(1), run(2)
    assert two.anchors.tolist() == one.anchors.tolist()
    np.testing.assert_allclose(two.X, one.X, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(run(2).X, two.X)


@pytest.mark.slow
def test_a_process_that_compiles_the_kernels_finds_the_same_bits_as_one_that_loads_them(tmp_path):
    """With an empty cache, the first process compiles all kernels; the second one loads them."""
    code = """
import hashlib, numpy as np, sepnmf
M = np.random.default_rng(0).random((8, 24))
options = {"lam": 1e-3, "rho": (0.01, 0.01, 0.01), "callback": lambda state: state.n_outer == 20}
print(hashlib.sha256(sepnmf.admm(M, 4, 1, "l1", n_jobs=1, tol=0, **options).X.tobytes()).hexdigest())
"""
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    compiled, loaded = (
        subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
        for _ in range(2)
    )
    assert list(tmp_path.rglob("consensus.advance-*.nbc"))
    assert loaded.stdout == compiled.stdout


def kernels():
    """All compiled functions, by their full names."""
    for module in pkgutil.iter_modules(sepnmf._kernels.__path__, "sepnmf._kernels."):
        for name, kernel in vars(importlib.import_module(module.name)).items():
            if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == module.name:
                yield f"{module.name}.{name}", kernel


def called(kernel):
    """The kernels that a kernel calls."""
    function = kernel.py_func
    used = [function.__globals__.get(name) for name in function.__code__.co_names]
    return [other for other in used if isinstance(other, Dispatcher)]


def test_reordered_sums_are_inlined_into_the_kernels_that_call_them():
    """Otherwise there are two machine codes for one sum; which one runs depends on the state of the cache."""
    found = dict(kernels())
    reordering = {name for name, kernel in found.items() if kernel.targetoptions.get("fastmath")}
    assert "sepnmf._kernels.omega.excess_sums" in reordering
    names = {kernel: name for name, kernel in found.items()}
    while True:
        above = {
            name for name, kernel in found.items() if any(names[k] in reordering for k in called(kernel))
        }
        if above <= reordering:
            break
        reordering |= above
    assert "sepnmf._kernels.consensus.advance" in reordering
    for caller in found.values():
        for kernel in called(caller):
            if names[kernel] in reordering:
                assert kernel.targetoptions.get("forceinline"), names[kernel]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_it_works_under_joblib(backend):
    want = [solve(1, seed=seed).anchors.tolist() for seed in range(3)]
    results = joblib.Parallel(2, backend=backend)(joblib.delayed(solve)(None, seed=seed) for seed in range(3))
    assert [result.anchors.tolist() for result in results] == want


def test_small_problems_use_no_threads():
    with Workers(SMALLEST - 1, 8) as workers:
        assert workers.count == 1
    with Workers(N, 8) as workers:
        assert workers.count > 1


def test_blocks_cover_the_rows_once_whatever_the_number_of_threads():
    cuts = []
    for n_jobs in (1, 2, 3):
        with Workers(1000, n_jobs) as workers:
            seen = np.zeros(1000)
            workers.each(lambda block, seen=seen: np.add.at(seen, np.arange(1000)[block], 1))
            assert (seen == 1).all()
            cuts.append(workers.blocks)
    assert cuts[0] == cuts[1] == cuts[2]


def test_blas_has_its_threads_back_even_when_calls_overlap(threads_before):
    start = threading.Barrier(4)

    def one(seed):
        start.wait()
        return solve(2, seed=seed).anchors.tolist()

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(one, range(4)))
    assert together == [solve(2, seed=seed).anchors.tolist() for seed in range(4)]
    assert blas_threads() == threads_before


def test_the_thread_that_leaves_last_restores_blas_while_the_first_is_alive():
    in_first, in_second, out_first, seen = (threading.Event() for _ in range(4))

    def first():
        with SingleBLAS():
            in_first.set()
            assert in_second.wait(60)
        out_first.set()
        assert seen.wait(60)

    with threadpool_limits(3, user_api="blas"), ThreadPoolExecutor(1) as pool:
        before = blas_threads()
        ended = pool.submit(first)
        assert in_first.wait(60)
        with SingleBLAS():
            in_second.set()
            assert out_first.wait(60)
            assert set(blas_threads()) == {1}
        after = blas_threads()
        seen.set()
        ended.result(60)
    assert after == before


def test_an_error_in_a_thread_reaches_the_caller_and_blas_its_threads(threads_before):
    def broken(block):
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"), Workers(N, 2) as workers:
        workers.each(broken)
    assert blas_threads() == threads_before


def test_the_last_thread_to_leave_gives_blas_its_threads_back_whichever_it_is():
    """Dask's threads go on after Ctrl-C. threadpoolctl listens to the first thread that sets a number."""
    with threadpool_limits(3, user_api="blas"):
        before = blas_threads()
        entered, left = threading.Event(), threading.Event()

        def other():
            with SingleBLAS():
                entered.set()
                left.wait(60)

        thread = threading.Thread(target=other)
        with SingleBLAS():
            thread.start()
            entered.wait(60)
        assert blas_threads() == [1] * len(before)
        left.set()
        thread.join()
        assert blas_threads() == before


def interrupted(function, moment):
    """Call a function that Ctrl-C interrupts at a moment; return how many lines and calls there were.

    Lines that begin with `with` are not counted. They are also where the block ends, and there the
    interpreter delivers no signal before it has called `__exit__`; an exception would leave a lock locked.
    """
    passed = 0

    def trace(frame, event, _):
        nonlocal passed
        if linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
            return trace
        passed += 1
        if passed == moment:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return passed
    finally:
        sys.settrace(before)
    return passed


def in_a_context():
    with SingleBLAS():
        pass


def with_workers():
    with Workers(N, 2) as workers:
        workers.each(lambda block: None)


def over_items():
    in_threads(lambda item, check: check(), range(5), 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in callbacks of ctypes
@pytest.mark.parametrize("function", [in_a_context, with_workers, over_items])
@pytest.mark.parametrize("every", [307, pytest.param(31, marks=pytest.mark.slow)])
def test_blas_has_its_threads_back_and_ours_end_whenever_ctrl_c_comes(function, every):
    """Including the first line of __exit__, and the lines between two libraries."""
    with threadpool_limits(3, user_api="blas"):
        before, threads = blas_threads(), _thread._count()
        moments = interrupted(function, 0)
        for moment in {*range(1, moments, every), *range(moments - 150, moments)}:
            interrupted(function, moment)
            assert blas_threads() == before, f"moment {moment} of {moments}"
            assert not SingleBLAS._inside
            assert not SingleBLAS._lock._is_owned(), f"moment {moment}: others would wait"
    end = time.monotonic() + 10
    while _thread._count() > threads:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("n_jobs", [1, 2, 4, 20])
def test_results_are_in_the_order_of_the_items(n_jobs):
    def task(item, check):
        time.sleep(0.002 * (7 - item))
        return item**2

    assert in_threads(task, range(7), n_jobs) == [item**2 for item in range(7)]
    assert in_threads(task, [], n_jobs) == []


@pytest.mark.parametrize("where", ["here", "there"])
def test_an_error_ends_the_tasks_of_the_other_threads(where):
    here, both, begun = threading.get_ident(), threading.Barrier(2, timeout=60), []

    def task(item, check):
        begun.append(item)
        both.wait()
        if (threading.get_ident() == here) == (where == "here"):
            raise KeyError(item)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            check()
            time.sleep(0.001)
        raise AssertionError("it was not told to end")

    threads = _thread._count()
    with pytest.raises(KeyError):
        in_threads(task, range(9), 2)
    assert len(begun) == 2
    assert _thread._count() == threads


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_it_works_in_processes_started_after_it_has_run(start):
    want = solve(2).anchors.tolist()
    with ProcessPoolExecutor(2, mp_context=get_context(start)) as pool:
        results = [pool.submit(solve, 2) for _ in range(2)]
        assert [r.result(timeout=120).anchors.tolist() for r in results] == [want, want]


def test_the_default_is_all_cores_unless_the_environment_says_fewer(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert available_cores() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert available_cores() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert available_cores() >= 1
    monkeypatch.delattr(os, "sched_getaffinity")
    assert available_cores() == os.cpu_count()


def test_bad_number_of_jobs_is_named():
    for n_jobs in (0, -1, 1.5):
        with pytest.raises(ValueError, match="n_jobs must be an integer of at least 1"):
            solve(n_jobs)


def test_importing_in_a_fresh_process_is_quick_and_compiles_nothing():
    """A guard against work at import: the kernels' module must not be loaded by `import sepnmf`."""
    code = "import sys, sepnmf; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_inside_leaves_blas_its_threads_in_the_child(threads_before):
    with Workers(N, 2):
        child = os.fork()
        if child == 0:
            os._exit(0 if blas_threads() == threads_before else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers of the system")
def test_compiled_code_that_ignores_signals_is_not_waited_for_after_ctrl_c():
    def work():  # some seconds, without Python's lock
        hashlib.pbkdf2_hmac("sha256", b"", b"", 8_000_000)

    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            interruptible(work)
        assert time.monotonic() - began < 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def test_results_and_errors_come_back_from_the_other_thread():
    assert interruptible(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
    with ThreadPoolExecutor(1) as pool:  # a thread that Ctrl-C does not interrupt
        assert pool.submit(interruptible, threading.get_ident).result() in [t.ident for t in pool._threads]
