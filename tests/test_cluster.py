"""A Dask cluster of two processes: the answers of one process, also when a worker is killed in the middle."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest

import sepnmf
from sepnmf.datasets import make_dirichlet

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def noticed(block, folder, pause):
    """A block, after a while, with a note of the process that read it."""
    if block.size:
        (folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(pause)
    return block


def data(seed=0):
    M, true = make_dirichlet(0.02, m=20, n=2400, r=5, random_state=seed)
    return np.maximum(M, 0), true


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "spa", "vca", "xray", "ppi", "snpa"])
def test_a_cluster_chooses_as_one_process_does(client, monkeypatch, method):
    monkeypatch.setattr("sepnmf.matrix._chunked.SMALL", 0)
    M, _ = data()
    D = da.from_array(M, chunks=(7, 300))
    options = {} if method in ("spa", "xray", "snpa") else {"random_state": 0}
    with dask.config.set(scheduler="threads"):
        here = sepnmf.select(D, 5, method, **options)
    there = sepnmf.select(D, 5, method, **options)
    np.testing.assert_array_equal(there.anchors, here.anchors)
    np.testing.assert_allclose(there.scores, here.scores, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spa", "auto"])
def test_a_worker_killed_in_the_middle_of_a_fit_does_not_change_the_answer(
    client, tmp_path, monkeypatch, method
):
    monkeypatch.setattr("sepnmf.matrix._chunked.SMALL", 0)
    M, _ = data(1)
    with dask.config.set(scheduler="threads"):
        expected = sepnmf.select(da.from_array(M, chunks=(20, 100)), 5, method)
    D = da.from_array(M, chunks=(20, 100)).map_blocks(noticed, tmp_path, 0.05, dtype=float)
    killed = []

    def kill_one():
        while len(list(tmp_path.iterdir())) < 12:
            time.sleep(0.01)
        victim = int(next(iter(tmp_path.iterdir())).name.partition("-")[0])
        os.kill(victim, signal.SIGKILL)
        killed.append((victim, len(list(tmp_path.iterdir()))))

    killer = threading.Thread(target=kill_one)
    killer.start()
    found = sepnmf.select(D, 5, method)
    killer.join()
    ((victim, then),) = killed
    readers = {int(path.name.partition("-")[0]) for path in tmp_path.iterdir()}
    assert len(list(tmp_path.iterdir())) > then, "the fit went on after the worker was killed"
    assert len(readers) > 1
    assert victim in readers
    np.testing.assert_array_equal(found.anchors, expected.anchors)


def test_weights_are_computed_and_written_by_the_workers(client, tmp_path):
    M, true = data(2)
    D = da.from_array(M, chunks=(20, 300)).map_blocks(noticed, tmp_path, 0.0, dtype=float)
    H = sepnmf.nnls(M[:, true], D)
    np.testing.assert_allclose(H.compute(), sepnmf.nnls(M[:, true], M), atol=1e-10)
    assert str(os.getpid()) not in {path.name.partition("-")[0] for path in tmp_path.iterdir()}
