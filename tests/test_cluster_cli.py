"""The command line on a Dask cluster: the same answers; one line where there is no cluster."""

import contextlib
import http.server
import json
import os
import re
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import zarr
from dask import array as da
from distributed import Client, LocalCluster, get_client
from rich.progress import Progress
from spectral import envi

from sepnmf.cli import _cluster as cluster
from sepnmf.cli import _local_cluster as local_cluster
from sepnmf.cli import _progress as progress
from sepnmf.cli._app import UserError
from sepnmf.datasets import make_dirichlet
from sepnmf.experiments import EXPERIMENTS, runner
from sepnmf.io import Data, read, write_cube
from sepnmf.io import _memory as memory
from sepnmf.matrix import as_matrix
from sepnmf.matrix._reducers import Inspection

LINES, SAMPLES, BANDS = 30, 10, 12


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster of two processes."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as two:
        yield two.scheduler_address


@pytest.fixture
def scene():
    M, _ = make_dirichlet(0.01, m=BANDS, n=LINES * SAMPLES, r=3, random_state=0)
    return np.abs(M).T.reshape(LINES, SAMPLES, BANDS)


def save(path, scene):
    if path.endswith(".npy"):
        np.save(path, scene)
    elif path.endswith(".zarr"):
        zarr.create_array(path, data=scene, chunks=(4, 5, BANDS))
    else:
        envi.save_image(path, scene, dtype=np.float64, interleave="bil")


# select and unmix --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scene.npy", "scene.hdr", "scene.zarr"])
def test_unmix_on_a_cluster_writes_what_it_writes_without(sepnmf_says, scheduler, scene, monkeypatch, name):
    save(name, scene)
    words = ("unmix", name, "-r", 3, "-m", "spa", "--json")
    code, alone, _ = sepnmf_says(*words, "--out", "alone")
    assert code == 0
    monkeypatch.setattr("sepnmf.io._memory.CHUNK", 8 * BANDS * SAMPLES * 4)
    code, out, err = sepnmf_says(*words, "--out", "there", "--memory", "1GB", "--dask", scheduler)
    assert code == 0, err
    assert [row["column"] for row in json.loads(out)["anchors"]] == [
        row["column"] for row in json.loads(alone)["anchors"]
    ]
    ending = Path(name).suffix
    maps = [read(f"{folder}/abundances{ending}") for folder in ("there", "alone")]
    assert maps[0].M.dtype == np.float32
    assert maps[0].image_shape == (LINES, SAMPLES)
    np.testing.assert_allclose(maps[0].M, maps[1].M, atol=1e-6)
    if ending == ".zarr":
        assert zarr.open_array("there/abundances.zarr").chunks == (4, SAMPLES, 3)
    there, without = ({path.name for path in Path(folder).iterdir()} for folder in ("there", "alone"))
    assert there - {"history.csv"} == without
    with pytest.raises(ValueError, match="client"):
        get_client()


@pytest.mark.slow
def test_select_makes_its_report_on_a_cluster(sepnmf_says, scheduler, scene):
    save("scene.npy", scene)
    code, _, err = sepnmf_says("select", "scene.npy", "-r", 3, "-m", "spa", "--report", "--dask", scheduler)
    assert code == 0, err
    assert "read in chunks" in Path("scene-anchors/report.html").read_text()


@pytest.mark.parametrize(
    ("program", "reason"),
    [('print(\'["", "Nanny failed to start."]\')', "Nanny failed to start."), ("", "its process ended")],
)
def test_a_cluster_that_cannot_be_started_is_one_line(sepnmf_says, scene, monkeypatch, program, reason):
    save("scene.npy", scene)
    Path("program.py").write_text(program)
    monkeypatch.setattr(local_cluster, "__file__", "program.py")
    code, _, err = sepnmf_says("select", "scene.npy", "-r", 3, "--dask", "local")
    assert (code, err) == (2, f"A Dask cluster cannot be started on this machine: {reason}\n")


def test_the_program_says_why_there_is_no_cluster_and_ends(capsys, monkeypatch):
    def fail(**_):
        raise RuntimeError("Nanny failed\nto start.")

    ended = []
    monkeypatch.setattr("distributed.LocalCluster", fail)
    monkeypatch.setattr(local_cluster, "end_group", lambda: ended.append(True))
    local_cluster.main(workers=1, threads=1, memory="auto", folder=".")
    assert json.loads(capsys.readouterr().out) == ["", "Nanny failed to start."]
    assert ended


def test_local_starts_a_cluster_and_ends_it(sepnmf_says, scene, monkeypatch):
    save("scene.npy", scene)
    found = {}

    def check(client):
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        found["limits"] = [worker["memory_limit"] for worker in workers]
        found["folders"] = {Path(worker["local_directory"]).parents[1] for worker in workers}
        found["address"] = client.scheduler.address.removeprefix("tcp://").split(":")
        begin(client)

    begin = cluster.check_workers
    monkeypatch.setattr(cluster, "check_workers", check)
    words = ("--dask", "local", "--memory", "9GB")
    code, _, err = sepnmf_says("select", "scene.npy", "-r", 3, "-m", "spa", *words)
    assert code == 0, err
    limits = found["limits"]
    assert limits == [9 * 10**9 // (len(limits) + 1)] * len(limits)
    assert not [folder for folder in found["folders"] if folder.exists()]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((found["address"][0], int(found["address"][1])), timeout=10)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no process groups")
@pytest.mark.parametrize("seconds", [0.8, 1.3, 1.8, 2.5, 3.5])
def test_ctrl_c_ends_a_cluster_that_is_being_started_without_a_word(tmp_path, scene, seconds):
    np.save(tmp_path / "scene.npy", scene)
    # A shell that runs tests in the background has its children ignore Ctrl-C.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from sepnmf.__main__ import main; main()"
    words = ["select", "scene.npy", "-r", "3", "-m", "spa", "--dask", "local"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130)
    assert "distributed" not in err
    assert "Traceback" not in err


def test_a_cluster_may_not_have_less_memory_than_python_takes(sepnmf_says, scene):
    save("scene.npy", scene)
    code, _, err = sepnmf_says("select", "scene.npy", "-r", 3, "--dask", "local", "--memory", "600MB")
    assert code == 2
    assert re.fullmatch(r"--memory must be at least \d+ MB with --dask local, [^\n]*, got 600MB\.\n", err)


def test_threads_are_counted_by_machine(scheduler):
    with Client(scheduler):
        assert memory.threads() == 2
        assert memory.limits("1GB")["chunk"] == 10**9 // 32


def test_a_worker_that_is_lost_while_it_writes_does_no_harm(tmp_path):
    """It is killed, not asked to go, when it has written a part; another one writes all of it."""

    def slowly(block):
        time.sleep(0.2)
        return block

    H = np.random.default_rng(0).random((2, 60))
    like = Data(M=np.ones((3, 60)), file=tmp_path / "a.npy", image_shape=(6, 10))
    lazy = da.from_array(H, chunks=(2, 5)).map_blocks(slowly, dtype=float, meta=np.empty((0, 0)))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two,
        Client(two) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        timer = threading.Timer(0.7, os.kill, (victim, signal.SIGKILL))
        timer.start()
        path = write_cube(tmp_path / "maps", lazy, like, ["a", "b"])
        timer.join()
    np.testing.assert_array_equal(read(path).M, H)


# Where there is no cluster -----------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 2)


@pytest.mark.parametrize(
    "command", [["select", "scene.npy", "-r", "3"], ["reproduce", "geometry", "--quick"]]
)
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "magic://here:1", "tls://127.0.0.1:9"])
def test_an_address_without_a_scheduler_is_one_line(sepnmf_says, impatient, scene, command, address):
    save("scene.npy", scene)
    began = time.monotonic()
    code, out, err = sepnmf_says(*command, "--dask", address)
    assert (code, out.strip()) == (2, "")
    assert err.startswith(f"There is no Dask scheduler at {address}: ")
    assert err.count("\n") == 1
    assert time.monotonic() - began < 5


def test_a_port_of_something_else_is_one_line(sepnmf_says, impatient, scene):
    save("scene.npy", scene)

    class Silent(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        code, _, err = sepnmf_says("select", "scene.npy", "-r", 3, "--dask", address)
        server.shutdown()
    assert code == 2
    assert err == f"The service at {address} is not a Dask scheduler: is this the port of the dashboard?\n"


@pytest.mark.parametrize(
    "greeting",
    [b"HTTP/1.0 400 Bad\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"\x15\x03\x03\x00\x02\x02\x46\x00", bytes(16)],
    ids=["http", "ssh", "tls", "zeros"],
)
def test_a_service_that_speaks_first_is_one_line(sepnmf_says, impatient, scene, greeting):
    save("scene.npy", scene)

    class Greets(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.sendall(greeting)
            self.request.recv(1000)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greets) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        code, _, err = sepnmf_says("select", "scene.npy", "-r", 3, "--dask", address)
        server.shutdown()
    assert code == 2
    assert err == f"The service at {address} is not a Dask scheduler: is this the port of the dashboard?\n"


def test_distributed_may_be_missing(sepnmf_says, monkeypatch, scene):
    save("scene.npy", scene)
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = sepnmf_says("select", "scene.npy", "-r", 3, "--dask", "local")
    assert (code, err) == (2, "distributed is not installed: pip install 'sepnmf[files]'.\n")


@pytest.mark.parametrize("words", [("--dask", "local"), ("--memory", "1GB")])
def test_a_file_that_is_read_at_once_has_no_use_for_them(sepnmf_says, monkeypatch, scheduler, words):
    Path("M.csv").write_text("1,0,1\n0,1,1\n")
    monkeypatch.setattr(cluster, "LOCAL", "")
    words = tuple(word.replace("local", scheduler) for word in words)
    code, _, err = sepnmf_says("select", "M.csv", "-r", 2, *words)
    assert code == 2
    assert re.fullmatch(rf"{words[0]} is for \.npy, [^\n]* and the file is M\.csv\.\n", err)


def test_workers_must_have_sepnmf(capsys):
    def client(**workers):
        told = {name: {"packages": {"sepnmf": version}} for name, version in workers.items()}
        return SimpleNamespace(get_versions=lambda packages: {"workers": told})

    cluster.check_workers(client(a="1.0"))
    with pytest.raises(UserError, match=r"^The worker at b has no sepnmf"):
        cluster.check_workers(client(a="1.0", b=None))
    cluster.check_workers(client())
    assert "no workers yet" in capsys.readouterr().err


# Progress ----------------------------------------------------------------------------------------------


def bars(shown):
    return [(task.description, task.completed, task.total) for task in shown.tasks]


@pytest.fixture
def M():
    return da.from_array(np.random.default_rng(0).random((4, 60)), chunks=(4, 10))


def test_passes_here_count_chunks(M):
    with Progress(disable=True) as shown, progress.passes(shown):
        as_matrix(M).scan(Inspection())
        as_matrix(M[:, :30]).scan(Inspection())
        (M + 1).compute()
    assert bars(shown)[:2] == [("pass 1 over the data", 6, 6), ("pass 2 over the data", 3, 3)]
    _, completed, total = bars(shown)[2]  # of other tasks, all count
    assert completed == total >= 6


def test_passes_on_a_cluster_count_chunks(scheduler, M, monkeypatch):
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.01)
    with Client(scheduler) as client:
        as_matrix(M).scan(Inspection())  # before: not shown
        with Progress() as shown, progress.passes(shown):
            time.sleep(0.2)
            as_matrix(M).scan(Inspection())
            time.sleep(0.2)
            as_matrix(M[:, :30]).scan(Inspection())
            time.sleep(0.2)
        total, done = client.run_on_scheduler(progress.chunk_counts)
    assert total == done >= 15
    assert bars(shown) == [("pass 1 over the data", 6, 6), ("pass 2 over the data", 3, 3)]


def test_a_cluster_that_does_not_tell_is_no_error(monkeypatch):
    def fail(_):
        raise RuntimeError("no pickles here")

    monkeypatch.setattr(progress, "current_client", lambda: SimpleNamespace(run_on_scheduler=fail))
    with Progress() as shown, progress.passes(shown):
        time.sleep(0.05)
    assert not shown.tasks


def test_a_pass_begins_when_all_chunks_known_are_done():
    with Progress(disable=True) as bar:
        shown = progress.Passes(bar)
        for total, done in [(0, 0), (6, 0), (6, 4), (8, 4), (8, 8), (8, 8), (11, 9), (11, 11)]:
            shown.update(total, done)
        assert bars(bar) == [("pass 1 over the data", 8, 8), ("pass 2 over the data", 3, 3)]


# reproduce ---------------------------------------------------------------------------------------------


def no_times(frame):
    return frame.drop(columns="seconds", errors="ignore")


@pytest.mark.parametrize("name", ["geometry", pytest.param("tune-recovery", marks=pytest.mark.slow)])
def test_trials_on_a_cluster_have_the_results_they_have_without(tmp_path, scheduler, monkeypatch, name):
    from sepnmf.cli._reproduce import backend, threads_of

    monkeypatch.chdir(tmp_path)
    alone = runner.reproduce([EXPERIMENTS[name]], Path("alone"), scale="toy")[name]
    with cluster.connected(scheduler) as client, backend(client):
        assert threads_of(client) == 2
        frames = runner.reproduce([EXPERIMENTS[name]], Path("there"), scale="toy", jobs=2, workers=2)
    pd.testing.assert_frame_equal(no_times(frames[name]), no_times(alone))
    (entry,) = json.loads(Path("there/paper/manifest.json").read_text())
    assert (entry["jobs"], entry["workers"]) == (2, 2)
    if name == "tune-recovery":
        assert [path.name for path in Path("there/searches").glob("*.db")]


def test_reproduce_says_how_many_workers_there_were_and_not_where(sepnmf_says, scheduler):
    code, out, _ = sepnmf_says("reproduce", "geometry", "--quick", "--out", "o", "--dask", scheduler)
    assert code == 0, out
    text = Path("o/paper/manifest.json").read_text()
    (entry,) = json.loads(text)
    assert (entry["jobs"], entry["workers"]) == (2, 2)
    assert "--dask ADDRESS" in entry["command"]
    assert scheduler not in text + Path("o/paper.md").read_text()


def test_no_more_trials_run_at_a_time_than_jobs_says(tmp_path, scheduler):
    from sepnmf.cli._reproduce import backend

    most = []
    with cluster.connected(scheduler) as client, backend(client):

        def running(experiment, done, total):
            states = client.run_on_scheduler(
                lambda dask_scheduler: [t.state for t in dask_scheduler.tasks.values()]
            )
            most.append(sum(state == "processing" for state in states))

        runner.reproduce([EXPERIMENTS["geometry"]], tmp_path, scale="toy", jobs=1, progress=running)
    assert max(most) <= 1
