"""The experiments: what is kept, resumed and told, and the numbers of their quick modes on toy sizes."""

import dataclasses
import gc
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import psutil
import pytest

import sepnmf
from sepnmf import experiments
from sepnmf.datasets import _loaders as loaders
from sepnmf.experiments import gestures, noise_free, noise_sweep, recovery, runner, tune_recovery
from sepnmf.experiments.auto.limited import select_apart
from sepnmf.experiments.experiment import Check, Experiment, stored_parameters
from sepnmf.experiments.markdown import cell, link, section, table, verdict
from sepnmf.experiments.page import VERDICTS, counted, wrapped
from sepnmf.experiments.store import Store
from sepnmf.tuning import search

STORED = Path(__file__).parent / "experiment_values.json"
MEASURED_TIME = {"seconds"}


def no_times(frame):
    return frame.drop(columns=[c for c in frame if c in MEASURED_TIME])


# What is kept ------------------------------------------------------------------------------------------


def test_a_trial_is_known_by_its_values_not_by_their_order(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.add("e", {"a": 1, "b": 0.1}, [{"x": 1.0}, {"x": 2.0}])
        assert store.missing("e", [{"b": 0.1, "a": 1}, {"a": 2, "b": 0.1}]) == [{"a": 2, "b": 0.1}]
        assert store.missing("other", [{"a": 1, "b": 0.1}]) == [{"a": 1, "b": 0.1}]
    with Store(tmp_path / "s.sqlite") as store:  # and it is still there
        frame = store.frame("e", [{"b": 0.1, "a": 1}])
        assert frame.to_dict("list") == {"b": [0.1, 0.1], "a": [1, 1], "x": [1.0, 2.0]}


def test_floats_survive_the_store(tmp_path):
    value = 0.1 + 0.2
    with Store(tmp_path / "s.sqlite") as store:
        store.add("e", {"a": value}, [{"x": value, "none": None}])
        assert store.frame("e", [{"a": value}])["x"][0] == value


def slow_square(number):
    time.sleep(0.05)
    return [{"square": number**2}]


TOY = Experiment(
    name="toy",
    title="squares",
    trials=lambda scale: [{"number": i} for i in range(6)],
    run=slow_square,
    draw=lambda frame: {},
    tell=lambda frame: f"Sum of squares: {frame['square'].sum()}",
)


def test_a_run_leaves_tables_page_and_manifest(tmp_path):
    frames = runner.reproduce([TOY], tmp_path, scale="quick")
    assert frames["toy"]["square"].tolist() == [0, 1, 4, 9, 16, 25]
    assert pd.read_csv(tmp_path / "paper/toy.csv").equals(pd.read_parquet(tmp_path / "paper/toy.parquet"))
    text = (tmp_path / "paper.md").read_text()
    assert "Sum of squares: 55" in text
    assert "Not measured yet" not in text
    (entry,) = json.loads((tmp_path / "paper/manifest.json").read_text())
    assert entry["experiments"] == ["toy"]
    assert entry["scale"] == "quick"
    assert entry["versions"]["numpy"] == np.__version__
    assert {"command", "commit", "machine", "seeds", "jobs", "threads per trial"} <= entry.keys()


def test_resuming_repeats_nothing(tmp_path):
    runner.reproduce([TOY], tmp_path)
    with closing(sqlite3.connect(tmp_path / runner.STORE)) as connection, connection:
        connection.execute("DELETE FROM results WHERE trial LIKE '%5%'")
        connection.execute("""UPDATE results SET rows = '[{"square": -1}]' WHERE trial LIKE '%3%'""")
    with pytest.raises(FileExistsError, match="--resume"):
        runner.reproduce([TOY], tmp_path)
    frame = runner.reproduce([TOY], tmp_path, page=[TOY, gestures.EXPERIMENT], resume=True)["toy"]
    text = " ".join((tmp_path / "paper.md").read_text().split())
    assert f"Not measured yet: {gestures.EXPERIMENT.title}." in text
    assert frame["square"].tolist() == [0, 1, 4, -1, 16, 25]


def test_a_run_begins_with_the_table_of_another(tmp_path):
    longer = dataclasses.replace(TOY, trials=lambda scale: [{"number": i} for i in range(8)])
    runner.reproduce([TOY], tmp_path)
    table = tmp_path / "paper/toy.parquet"
    pd.read_parquet(table).replace({"square": {9: -1}}).to_parquet(table)
    (tmp_path / runner.STORE).unlink()
    frame = runner.reproduce([longer], tmp_path, resume=True)["toy"]
    assert frame["square"].tolist() == [0, 1, 4, -1, 16, 25, 36, 49]


def damaged_header(store):
    store.write_bytes(b"garbage" * 1000)


def damaged_page(store):
    content = bytearray(store.read_bytes())
    content[4096:] = b"x" * (len(content) - 4096)
    store.write_bytes(content)


def damaged_rows(store):
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE results SET rows = '[{' WHERE trial LIKE '%3%'")


def open_files_in(folder):
    return [file.path for file in psutil.Process().open_files() if Path(file.path).is_relative_to(folder)]


@pytest.mark.parametrize("damage", [damaged_header, damaged_page, damaged_rows])
def test_a_damaged_store_is_one_sentence_and_is_kept(tmp_path, damage):
    runner.reproduce([TOY], tmp_path)
    store = tmp_path / runner.STORE
    damage(store)
    before = store.read_bytes()
    manifest = (tmp_path / "paper/manifest.json").read_text()
    with pytest.raises(OSError, match=r"results\.sqlite cannot be used \(.*\): it is damaged; move it away"):
        runner.reproduce([TOY], tmp_path, resume=True)
    assert store.read_bytes() == before
    assert not open_files_in(tmp_path)
    if damage is not damaged_rows:
        assert (tmp_path / "paper/manifest.json").read_text() == manifest


def test_a_store_that_is_locked_or_on_a_full_disk_is_one_sentence(tmp_path):
    with Store(tmp_path / "s.sqlite") as store, closing(sqlite3.connect(store.path)) as other:
        store.execute("PRAGMA busy_timeout = 10")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match="another run uses it"):
            store.add("e", {"a": 1}, [])
        other.rollback()
        store.execute("PRAGMA max_page_count = 4")
        with pytest.raises(OSError, match="make room on the disk and go on with --resume"):
            store.add("e", {"a": 1}, [{"x": "x" * 100_000}])


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked")
def test_a_folder_that_another_run_uses_is_refused(tmp_path):
    def meanwhile(*_):
        with pytest.raises(FileExistsError, match=r"^Another run uses .*: wait for its end or choose"):
            runner.reproduce([TOY], tmp_path, resume=True)
        with pytest.raises(FileExistsError, match=r"^Another run uses "):
            runner.rewrite([TOY], tmp_path)

    runner.reproduce([TOY], tmp_path)
    runner.reproduce([TOY], tmp_path, resume=True, progress=meanwhile)
    runs = json.loads((tmp_path / "paper/manifest.json").read_text())
    assert ["seconds" in run for run in runs] == [True, True]
    assert runner.rewrite([TOY], tmp_path)
    assert not open_files_in(tmp_path)


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
def test_a_thread_that_ends_for_lack_of_memory_ends_the_run(handler):
    def fails():
        raise RuntimeError("can't start new thread")

    def wait():  # as joblib does for a thread of its own
        threading.Thread(target=fails).start()
        for _ in range(1000):
            time.sleep(0.01)

    before, known = threading.excepthook, signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(MemoryError, match="can't start new thread"), runner.dying_threads_raised():
            wait()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, known)
    with pytest.raises(KeyboardInterrupt), runner.dying_threads_raised():
        raise KeyboardInterrupt
    assert threading.excepthook is before


@pytest.mark.parametrize("content", ["", "[", '{"command": 1}', "[1]", '[{"scale": "full"}]'])
def test_a_damaged_manifest_is_one_sentence(tmp_path, content):
    runner.reproduce([TOY], tmp_path)
    (tmp_path / "paper/manifest.json").write_text(content)
    with pytest.raises(ValueError, match=r"manifest\.json is damaged: move it away"):
        runner.reproduce([TOY], tmp_path, resume=True)
    assert (tmp_path / "paper/manifest.json").read_text() == content


def test_a_damaged_table_is_one_sentence(sepnmf_says):
    Path("o/paper").mkdir(parents=True)
    Path("o/paper/geometry.parquet").write_bytes(b"PAR1 garbage PAR1")
    code, _, err = sepnmf_says("reproduce", "--page", "--out", "o")
    assert code == 2
    assert "geometry.parquet is damaged" in err
    assert err.count("\n") == 1


def test_a_table_is_replaced_when_the_new_one_is_complete(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        runner.write(path, "new\ud800")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_workers_end_with_a_killed_parent():
    code = """
import os, subprocess, sys
child = f"import time, sepnmf._parallel as p; p.end_with_parent({os.getpid()}); print(1, flush=True)"
child += "; time.sleep(60)"
worker = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE)
worker.stdout.readline()  # now it watches
print(worker.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    assert_worker_ends(code)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_processes_of_reproduce_end_with_it_before_they_have_a_trial():
    """Joblib's own would wait for work for five minutes."""
    code = """
import os, joblib
from sepnmf.cli._reproduce import backend
with backend(None):
    pids = joblib.Parallel(2)(joblib.delayed(os.getpid)() for _ in range(4))
print(pids[0], flush=True)
os.kill(os.getpid(), 9)
"""
    assert_worker_ends(code)


def assert_worker_ends(code):
    """Run a process that prints the number of its worker and kills itself: the worker must end too."""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        worker = Path("/proc") / parent.stdout.readline().strip() / "stat"
    end = time.monotonic() + 10
    while worker.exists() and " Z " not in worker.read_text():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_workers_end_whose_parent_has_ended_before_they_watch_it():
    code = "import time, sepnmf._parallel as p; p.end_with_parent(2**22 + 1); time.sleep(60)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 1


def test_a_trial_of_a_pool_watches_its_parent(monkeypatch):
    watched = []
    monkeypatch.setattr(runner, "end_with_parent", watched.append)
    for name in ("LokyProcess-1", "Dask Worker process", "MainProcess"):
        monkeypatch.setattr(runner, "current_process", lambda name=name: SimpleNamespace(name=name))
        runner.run_one(lambda: [], {}, {}, 7)
    assert watched == [7]


def end_this_process(number):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_one_line(sepnmf_says, monkeypatch):
    killed = dataclasses.replace(TOY, run=end_this_process)
    monkeypatch.setitem(experiments.EXPERIMENTS, "geometry", killed)
    code, _, err = sepnmf_says("reproduce", "geometry", "--jobs", 2, "--out", "o")
    reason = "A worker was ended, perhaps for lack of memory."
    assert (code, err) == (2, f"{reason} The results so far are in o: continue with --resume.\n")


def test_a_store_that_fails_while_trials_run_gives_no_warning(tmp_path, monkeypatch):
    def full(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(Store, "add", full)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(OSError, match="the disk is full"):
            runner.reproduce([TOY], tmp_path, jobs=2)
        gc.collect()
    assert not [one for one in heard if "cancelled" in str(one.message)]


def test_data_that_are_not_there_are_one_sentence_and_the_rest_goes_on(tmp_path, monkeypatch):
    monkeypatch.delenv(loaders.VARIABLE, raising=False)
    said = []
    frames = runner.reproduce([gestures.EXPERIMENT, TOY], tmp_path, scale="toy", say=said.append)
    assert list(frames) == ["toy"]
    assert len(said) == 1
    assert "gestures is left out" in said[0]
    assert "download" in said[0]
    assert loaders.VARIABLE in said[0]


MISSED = dataclasses.replace(
    TOY,
    name="bound",
    page="auto",
    tell=lambda frame: "## Squares",
    checks=lambda frame: [Check("sum of squares", str(frame["square"].sum()), "≤ 50", False)],
)


def test_a_page_has_the_experiments_that_belong_to_it(tmp_path):
    said = []
    runner.reproduce([TOY, MISSED], tmp_path, say=said.append)
    paper, auto = ((tmp_path / name).read_text() for name in ("paper.md", "auto.md"))
    assert "Sum of squares" in paper
    assert "Squares" not in paper
    assert "Sum of squares" not in auto
    assert "| sum of squares | 55 | ≤ 50 | MISSED |" in auto
    assert said == ["Missed: sum of squares is 55, wanted ≤ 50."]
    for name, page in (("toy", "paper"), ("bound", "auto")):
        assert (tmp_path / page / f"{name}.parquet").exists()
        (entry,) = json.loads((tmp_path / page / "manifest.json").read_text())
        assert entry["experiments"] == [name]


def test_pages_are_written_again_from_the_tables_alone(tmp_path):
    runner.reproduce([TOY, MISSED], tmp_path)
    pages = {name: (tmp_path / name).read_text() for name in ("paper.md", "auto.md")}
    for name in (*pages, runner.STORE):
        (tmp_path / name).unlink()
    assert runner.rewrite([TOY, MISSED], tmp_path) == [tmp_path / name for name in pages]
    assert {name: (tmp_path / name).read_text() for name in pages} == pages
    assert runner.rewrite([TOY], tmp_path / "elsewhere") == []


# Killed and resumed ------------------------------------------------------------------------------------

KILLED = """
import sys
from pathlib import Path
from sepnmf.experiments import EXPERIMENTS, runner
names, out = sys.argv[1].split(","), Path(sys.argv[2])
runner.reproduce([EXPERIMENTS[name] for name in names], out, scale="toy", jobs=int(sys.argv[3]), resume=True)
"""


def run_in_a_process(out, jobs, names):
    command = [sys.executable, "-c", KILLED, names, str(out), str(jobs)]
    return subprocess.Popen(command, start_new_session=True)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["noise-sweep", "tune-recovery"])
def test_killed_three_times_a_run_ends_with_the_results_of_an_undisturbed_one(tmp_path, names):
    undisturbed = run_in_a_process(tmp_path / "a", 1, names)
    assert undisturbed.wait() == 0
    rng = random.Random(0)
    kept = [0]
    for _ in range(3):
        process = run_in_a_process(tmp_path / "b", 2, names)
        wanted = kept[-1] + rng.randint(1, 3)
        while process.poll() is None and count(tmp_path / "b") < wanted:
            time.sleep(0.01)
        # Workers are killed too, but once: an orphan then finishes its trial beside the run that resumes.
        (os.kill if len(kept) == 2 else os.killpg)(process.pid, signal.SIGKILL)
        process.wait()
        kept.append(count(tmp_path / "b"))
    assert kept == sorted(kept)
    assert kept[-1] < count(tmp_path / "a")  # it was not finished when it was killed last
    last = run_in_a_process(tmp_path / "b", 2, names)
    assert last.wait() == 0
    tables = [no_times(pd.read_parquet(tmp_path / run / f"paper/{names}.parquet")) for run in "ab"]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    runs = json.loads((tmp_path / "b/paper/manifest.json").read_text())
    assert ["seconds" in run for run in runs] == [False] * (len(runs) - 1) + [True]


def count(out):
    """Results so far: trials, and evaluations of searches."""
    queries = [(out / runner.STORE, "results"), *((path, "trials") for path in out.glob("searches/*.db"))]
    return sum(rows_in(path, table) for path, table in queries)


def rows_in(path, name):
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0


# The search --------------------------------------------------------------------------------------------


def bowl(parameters):
    return abs(np.log(parameters["lam"])) + abs(np.log(parameters["rho"] / 3)), {
        "twice": 2 * parameters["lam"]
    }


def test_a_search_finds_the_bottom_of_a_bowl_and_keeps_notes():
    tried = search(bowl, ("lam", "rho"), name="bowl", n_evaluations=60)
    assert len(tried) == 60
    assert all(1e-5 <= value <= 3e3 for e in tried for value in e.parameters.values())
    assert all(e.notes["twice"] == 2 * e.parameters["lam"] for e in tried)
    at_random = min(e.loss for e in tried[:10])
    assert min(e.loss for e in tried) < min(2.0, at_random)


def test_a_search_that_is_interrupted_ends_as_if_it_had_not_been(tmp_path):
    wanted = search(bowl, ("lam", "rho"), name="bowl", n_evaluations=25)
    calls = []

    def failing(parameters):
        calls.append(parameters)
        if len(calls) in (1, 7, 15, 24):
            raise KeyboardInterrupt
        return bowl(parameters)

    storage = f"sqlite:///{tmp_path}/search.db"
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            search(failing, ("lam", "rho"), name="bowl", n_evaluations=25, storage=storage)
    assert search(failing, ("lam", "rho"), name="bowl", n_evaluations=25, storage=storage) == wanted
    assert len(calls) == 25 + 4  # nothing was evaluated twice
    assert not open_files_in(tmp_path)
    other = search(bowl, ("lam", "rho"), name="another bowl", n_evaluations=5)
    assert other != wanted[:5]


def test_a_search_begins_with_what_it_is_given_and_refuses_a_loss_that_is_no_number():
    first = ({"lam": 2.0, "rho": 0.5}, {"lam": 1.0, "rho": 3.0})
    tried = search(bowl, ("lam", "rho"), name="bowl", n_evaluations=3, first=first)
    assert [e.parameters for e in tried[:2]] == list(first)
    with pytest.raises(ValueError, match="loss must return a finite number"):
        search(lambda _: float("nan"), ("lam",), name="bowl")


# The trials --------------------------------------------------------------------------------------------


def test_the_paper_modes_are_the_printed_formulas():
    parameters = {"lam": 1e-3, "rho1": 0.1, "rho2": 0.2, "rho3": 0.3, "rho": 0.4, "beta": 0.5}
    admm = recovery.ratio_options("admm", 3, "l1", "paper", parameters)
    assert admm == {"p": 3, "norm": "l1", "lam": 1e-3, "rho": (0.1, 0.2, 0.3), "prox": "paper", "n_jobs": 1}
    dca = recovery.ratio_options("dca", 1, "nuclear", "paper", parameters)
    assert (dca["rho"], dca["beta"], dca["v_update"]) == (0.4, 0.5, "projected")
    assert recovery.ratio_options("dca", 1, "l1", "exact", parameters)["v_update"] == "exact"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_trial_measures_what_the_metrics_say():
    parameters = {"lam": 2.23e-4, "rho1": 8.62e-5, "rho2": 3.66, "rho3": 1.48e-4}
    (row,) = recovery.recover("type1", 0.1, 3, "admm", "l1", 2, "exact", **parameters)
    M, anchors = sepnmf.datasets.make_midpoint(0.1, random_state=3)
    sel = sepnmf.admm(M, 10, lam=2.23e-4, rho=(8.62e-5, 3.66, 1.48e-4), negative="allow", n_jobs=1)
    assert row["success"] == (set(sel.anchors) == set(anchors)) == 1
    assert row["rae"] == pytest.approx(sepnmf.metrics.rae(M, sel.anchors), abs=1e-9)
    assert row["mrsa"] == pytest.approx(0, abs=1e-6)
    assert row["n_inner"] == sel.n_inner
    (spa,) = recovery.recover("type1", 0.4, 3, "spa")
    M, anchors = sepnmf.datasets.make_midpoint(0.4, random_state=3)
    found = sepnmf.spa(M, 10, negative="allow").anchors
    assert spa["success"] == 0
    assert spa["found"] == len(set(found) & set(anchors)) / 10
    assert spa["mrsa"] == pytest.approx(sepnmf.metrics.mrsa(M[:, found], M[:, anchors]), abs=1e-9)
    assert spa["mrsa"] > 1


@pytest.mark.parametrize("method", ["fgnsr", "vca", "ppi"])
def test_a_trial_has_the_same_row_twice(method):
    rows = [recovery.recover("type1", 0.4, 3, method)[0] for _ in range(3)]
    assert all(row | {"seconds": 0} == rows[0] | {"seconds": 0} for row in rows)
    M, anchors = recovery.instance("type1", 0.4, 3)
    scores = [recovery.choose(M, len(anchors), method).scores for _ in range(2)]
    np.testing.assert_array_equal(*scores)


def test_the_large_midpoint_data_keep_all_anchors_and_the_papers_number_of_columns():
    M, anchors = recovery.instance("type1", 0.0, 0, "large")
    assert M.shape == (100, 110)
    assert set(sepnmf.spa(M, 20).anchors) == set(anchors)


def test_the_levels_and_the_switch_are_the_papers():
    assert len(recovery.LEVELS) == 20
    assert recovery.LEVELS[0] == pytest.approx(0.01)
    assert recovery.LEVELS[-1] == pytest.approx(1)
    assert pytest.approx(0.1833, abs=5e-5) == recovery.SWITCH
    assert [recovery.regime(e) for e in recovery.LEVELS[11:13]] == ["low", "high"]


def test_nearest_the_mean_is_what_it_says():
    M, _ = sepnmf.datasets.make_midpoint(1.0, random_state=0)
    chosen = recovery.nearest_the_mean(M, 3)
    distances = ((M - M.mean(axis=1)[:, None]) ** 2).sum(axis=0)
    assert set(chosen) == set(np.argsort(distances)[:3])


def test_the_full_size_is_the_papers():
    assert len(noise_free.trials("full")) == 50 * 2 * (
        9 + 8
    )  # nine variants with one norm, eight with the other
    sweep = pd.DataFrame(noise_sweep.trials("full"))
    cells = sweep.groupby(["data", "method", "norm", "p", "mode", "noise", "protocol"]).size()
    assert (cells == 50).all()
    assert sweep["noise"].nunique() == 20
    kinds = set(zip(sweep["data"], sweep["norm"], sweep["method"], sweep["p"], strict=True))
    for data in ("type1", "type2"):
        assert {(data, "", name, 0) for name in ("spa", "fgnsr", "merit", "vca", "xray")} <= kinds
        for norm in ("l1", "nuclear"):
            assert {(data, norm, "admm", p) for p in (1, 2, 3, 4)} | {(data, norm, "dca", 1)} <= kinds
    budget = pd.DataFrame(experiments.EXPERIMENTS["budgets"].trials("full"))
    assert set(budget[budget["sweep"] == "inner"]["max_inner"]) == {1, 2, 5, 10, 20, 50}
    assert set(budget[budget["sweep"] == "outer"]["max_outer"]) == {5, 10, 25, 50, 100, 200}
    assert pd.DataFrame(experiments.EXPERIMENTS["power"].trials("full"))["noise"].nunique() == 15
    assert pd.DataFrame(experiments.EXPERIMENTS["sizes"].trials("full"))["noise"].nunique() == 12


def test_tuning_and_tables_share_no_instance():
    seeds = {trial["seed"] for trial in noise_sweep.trials("full") + noise_free.trials("full")}
    assert max(seeds) < tune_recovery.FIRST_SEED


def test_the_loss_counts_instances_first():
    good = {"lam": 2.23e-4, "rho1": 8.62e-5, "rho2": 3.66, "rho3": 1.48e-4}
    variant = {"data": "type1", "norm": "l1", "method": "admm", "p": 2, "mode": "exact"}
    loss = tune_recovery.recovery_error((0.0, 0.1), good, **variant)
    assert 0 < loss < 0.05
    bad = tune_recovery.recovery_error((0.9,) * 10, good, **variant)
    assert 1 < bad < 1.1


# Quick modes against stored values ---------------------------------------------------------------------

CHECKED = {  # what to compare: seconds are not
    "noise-free": ["success", "found", "mrsa", "rae", "n_inner"],
    "noise-sweep": ["success"],
    "power": ["success", "found", "mrsa", "rae"],
    "budgets": ["success", "found", "n_inner"],
    "sizes": ["success", "found", "mrsa", "rae"],
    "gestures": ["accuracy", "honest", "columns"],
    "auto-type1": ["success", "unidentifiable"],
    "auto-type2": ["success", "unidentifiable"],
    "auto-families": ["found", "mrsa"],
    "auto-stability": ["share", "right"],
    "auto-purity": ["told", "anchors"],  # the others hang on when descents end
    "auto-scenes": ["rae", "sam"],
    "auto-rae": ["rae"],
    "auto-topics": ["share"],
    "auto-gestures": ["mean", "std"],
    "auto-rank": ["low", "high"],
    "auto-million": ["success"],
    "methods-generated": ["found", "mrsa", "sam", "rae"],
    "methods-scenes": ["mrsa", "sam", "rae"],
    "methods-bounds": ["success"],
    "methods-redic": ["pixels", "means"],
    "methods-claims": ["value"],
    "tune-recovery": ["loss", "lam"],
}
BY = ["data", "family", "set", "method", "norm", "p", "mode", "role", "protocol", "class"]
BY += ["purity", "brightness", "options", "claim"]


def means_of(name, frame):
    """Means by variant, as the file of stored values has them."""
    groups = frame.groupby([column for column in BY if column in frame])[CHECKED[name]].mean()
    return {" ".join(map(str, key)): row.to_dict() for key, row in groups.iterrows()}


SLOW = {"auto-topics", "auto-rae", "auto-scenes", "auto-rank", "auto-million", "auto-gestures"}
SLOW |= {
    "methods-scenes",
    "methods-redic",
    "methods-bounds",
    "gestures",
    "noise-sweep",
    "budgets",
    "tune-recovery",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in CHECKED]
)
def test_the_numbers_are_the_stored_ones(name, tmp_path):
    experiment = experiments.EXPERIMENTS[name]
    if any(trouble := [loaders.available(folder) for folder in experiment.data]):
        pytest.skip(" ".join(trouble))
    frame = runner.reproduce([experiment], tmp_path, scale="toy")[name]
    stored = json.loads(STORED.read_text())[name]
    found = means_of(name, frame)
    assert found.keys() == stored.keys()
    for key, row in stored.items():
        assert found[key] == pytest.approx(row, rel=1e-6, abs=1e-6), key
    text = experiment.tell(frame)
    assert text.startswith("## ")
    if experiment.page != "paper":
        assert experiment.checks(frame)
    elif experiment.best is None:
        assert any(f"**{mark}.**" in text for mark in ("Holds", "Does not hold", "Partly", "Undecided"))
    for figure_name, figure in experiment.draw(frame).items():
        assert all(axes.has_data() for axes in figure.axes), figure_name
        assert f"{experiment.page}/{figure_name}.svg" in text
        written = tmp_path.glob(f"{experiment.page}/{figure_name}.*")
        assert {path.suffix for path in written} >= {".svg", ".png"}


@pytest.mark.slow
def test_a_selection_apart_keeps_to_its_limits():
    found = select_apart("dirichlet 20 60 3 0", 3, "spa", limit=60, memory=0)
    assert found["success"] == 1
    assert found["megabytes"] > 10
    refused = select_apart("dirichlet 20 60 3 0", 61, "preconditioned_spa", limit=60, memory=0)
    assert refused["failure"].startswith("ValueError: ")
    assert select_apart("dirichlet 50 2000 10 0", 10, "hottopixx", limit=0.05, memory=0) == {
        "failure": "over 0.05 s"
    }
    assert select_apart("dirichlet 50 9000 10 0", 10, "fgnsr", limit=60, memory=0.1) == {
        "failure": "over 0.1 GB"
    }


@pytest.mark.slow
def test_a_selection_apart_gives_the_same_row_twice_but_for_time_and_memory():
    rows = [select_apart("dirichlet 20 60 3 0", 3, "hottopixx", limit=60, memory=0) for _ in range(2)]
    assert "objective" in json.loads(rows[0]["history"])
    for measured in ("seconds", "processor", "megabytes"):
        assert all(row.pop(measured) > 0 for row in rows)
    assert rows[0] == rows[1]


# Verdicts on results made up for them ------------------------------------------------------------------


def made_up(experiment, success, scale="quick"):
    """Results in which `success(trial)` says how often a trial succeeds."""
    extra = {"found": 1.0, "mrsa": 0.0, "rae": 1.0, "seconds": 0.1, "n_inner": 10, "status": "converged"}
    rows = [trial | extra | {"success": success(trial)} for trial in experiment.trials(scale)]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", ["noise-free", "noise-sweep", "power", "budgets", "sizes"])
@pytest.mark.parametrize("success", [0, 1])
def test_a_page_can_be_written_whatever_comes_out(name, success):
    experiment = experiments.EXPERIMENTS[name]
    frame = made_up(experiment, lambda trial: success)
    text = experiment.tell(frame)
    experiment.draw(frame)
    assert "nan" not in text.replace("nearest the mean", "")
    marks = [line.split("**")[1] for line in text.splitlines() if line.startswith("**")]
    if name in ("noise-free", "power"):
        assert (marks[0] == "Holds.") == (success == 1 and name == "noise-free")
    if success == 0:
        assert "Does not hold." in marks or "Partly." in marks


def test_the_verdict_on_the_sweep_follows_the_success_rates():
    perfect = made_up(noise_sweep.EXPERIMENT, lambda trial: 1)
    assert "**Holds.** “ADMM-P maintains" in noise_sweep.tell(perfect)
    assert "**Holds.** “Every method" in noise_sweep.tell(perfect)
    failing = made_up(noise_sweep.EXPERIMENT, lambda trial: int(trial["method"] != "admm"))
    assert "**Does not hold.** “ADMM-P maintains" in noise_sweep.tell(failing)
    one = made_up(noise_sweep.EXPERIMENT, lambda trial: int(trial["p"] != 1 or trial["method"] != "admm"))
    assert "**Partly.** “ADMM-P maintains" in noise_sweep.tell(one)


def test_dca_with_the_nuclear_norm_has_no_exact_column():
    text = noise_free.tell(made_up(noise_free.EXPERIMENT, lambda trial: 1))
    nuclear = text.split("### Nuclear norm")[1]
    rows = [line.split("|")[1:-1] for line in nuclear.splitlines() if "| DCA |" in line]
    assert [row[5].strip() for row in rows] == ["–", "–"]
    assert [row[4].strip() for row in rows] == ["1", "1"]


def test_the_nested_choice_takes_the_candidate_that_is_best_inside_the_training_part():
    base = {"set": "binary", "kind": "HOG", "method": "dca", "p": 1, "mode": "paper", "share": 0.1}
    rows = [
        base | {"role": role, "candidate": c, "split": split, "inner": inner, "honest": honest}
        for role, c, split, inner, honest in [
            ("candidate", 0, 0, 0.9, 0.1),
            ("candidate", 1, 0, 0.8, 1.0),
            ("candidate", 0, 1, 0.5, 0.2),
            ("candidate", 1, 1, 0.6, 0.3),
            ("candidate", 2, 1, 0.6, 0.4),
            ("tuned", None, 0, None, 1.0),
        ]
    ]
    chosen = gestures.nested(pd.DataFrame(rows))
    assert chosen["honest"].tolist() == [0.1, 0.3]


# Counts on results made up for them --------------------------------------------------------------------

COUNTED = {"noise-free": 50, "noise-sweep": 50, "power": 25, "budgets": 25, "sizes": 20}  # as in the paper


@pytest.mark.parametrize("name", COUNTED)
def test_exceptions_are_named_where_counts_are_smaller_than_the_papers(name, monkeypatch):
    monkeypatch.setattr(tune_recovery, "shorter", lambda found, frame: [])
    experiment = experiments.EXPERIMENTS[name]
    full = made_up(experiment, lambda trial: 1, "full")
    assert experiment.exceptions(full) == []
    assert f"{COUNTED[name]} instances per " in experiment.tell(full)
    assert "but" not in experiment.tell(full).split("instances per ")[1].split("\n")[0]
    exact = (full["norm"] == "nuclear") & (full["mode"] == "exact")
    (line,) = experiment.exceptions(full[~exact | (full["seed"] < 4)])
    assert f": {COUNTED[name]} instances, but 4 for nuclear norm, exact mode. The other " in line
    runs = int((exact & (full["seed"] >= 4)).sum())
    assert f" {runs} runs take about {runs * 0.1 / 60:.0f} minutes" in line
    told = experiment.tell(full[~exact | (full["seed"] < 4)])
    assert f"{COUNTED[name]} instances per " in told
    assert ", but 4 for nuclear norm, exact mode." in " ".join(told.split())
    few = full[~exact | (full["data"] == "type1") | (full["seed"] < 7 + (full["noise"] > 0.5))]
    (line,) = experiment.exceptions(few)
    assert re.search("but 7( to 8)? for nuclear norm, exact mode, Type 2[.]", line)
    levels = full["noise"].unique()
    if len(levels) > 1:
        (line,) = experiment.exceptions(full[full["noise"].isin(levels[:3])])
        assert line.endswith(f": 3 noise levels instead of {len(levels)}.")


def test_searches_with_smaller_counts_are_named():
    frame = made_up(noise_sweep.EXPERIMENT, lambda trial: 1)  # 0.01 s an inner iteration
    enough = {"evaluations": 120, "max_outer": 100, "instances": 10}
    found = {f"type1 {norm} admm p=2 paper low": dict(enough) for norm in ("l1", "nuclear")}
    assert tune_recovery.shorter(found, frame) == []
    found["type1 nuclear admm p=2 paper low"] |= {"max_outer": 30, "instances": 6}
    (line,) = tune_recovery.shorter(found, frame)
    assert "of 2, 1 have 30 outer iterations instead of 100, 1 have 6 instances instead of 10" in line
    assert "(nuclear norm)" in line
    assert f"at most {1000 * 0.01 * 400 / 60:.0f} minutes" in line
    found["type1 l1 admm p=2 paper low"] |= {"evaluations": 20}
    (line,) = tune_recovery.shorter(found, frame)
    assert "1 have 20 evaluations instead of 40" in line
    assert "(entrywise and nuclear norm)" in line


def made_up_gestures(sets, outer, splits=50, seconds=9.0):
    """Selections of one variant and of two baselines."""
    rows = []
    for own, split in ((own, split) for own in sets for split in range(splits)):
        head = {"set": own, "kind": "HOG", "split": split, "share": 0.3, "columns": 10, "accuracy": 0.9}
        head |= {"honest": 0.9, "inner": 0.9, "like_spa": 0.5}
        baseline = head | {"role": "baseline", "mode": "", "p": 0, "seconds": 3.0}
        rows += [baseline | {"method": method} for method in ("fgnsr", "merit", "random")]
        ratio = head | {"method": "dca", "p": 1, "mode": "paper", "max_outer": outer, "seconds": seconds}
        rows += [ratio | {"role": "tuned"}, ratio | {"role": "candidate", "candidate": 0}]
    return pd.DataFrame(rows)


def test_gestures_name_fewer_iterations_and_splits_and_other_images():
    both = (*gestures.STAND_IN, *gestures.STAND_IN.values())
    full = made_up_gestures(both, 100)
    assert gestures.exceptions(full) == []
    assert "K = 100 outer iterations, as in the paper. FGNSR" in gestures.tell(full)
    iterations, images = gestures.exceptions(made_up_gestures(["binary"], 5))
    assert "K = 5 outer iterations instead of 100" in iterations
    assert "at most 2.0 hours" in iterations  # 40 evaluations of 20 · 9 s
    assert "instead of the paper's" in images
    assert gestures.exceptions(made_up_gestures(both, 100, splits=9)) == [
        "Hand gestures: 9 splits instead of 50."
    ]


@pytest.mark.parametrize(
    ("outer", "seconds", "mark"), [(100, 6, "holds"), (100, 9, "does not hold"), (5, 1, "undecided")]
)
def test_the_verdict_on_runtimes_needs_the_papers_iterations(outer, seconds, mark):
    told = gestures.tell(made_up_gestures(["binary"], outer, splits=3, seconds=seconds))
    (claim,) = (claim for claim in told.claims if "as fast as" in claim.words)
    assert claim.verdict == mark
    assert claim.number == ("K = 100 not run" if outer == 5 else f"up to {seconds / 3:.2g} times the seconds")


@pytest.mark.slow
def test_noise_free_success_is_the_one_the_paper_reports():
    """The whole table has 50 instances a cell; here 3, wherever the paper reports a success rate of 1."""
    trials = [q for q in noise_free.trials("full") if q["seed"] < 3 and q["mode"] == "paper"]
    for trial in trials:
        success, _ = noise_free.PAPER[trial["norm"]][(trial["method"], trial["p"])][trial["data"]]
        if success == 1:
            assert recovery.recover(**trial)[0]["success"] == 1, trial


# The page and the command line -------------------------------------------------------------------------


def test_tables_are_markdown():
    text = table(("a", "b"), [(1.23456, None), ("x|y", float("nan"))])
    assert text.splitlines() == ["| a | b |", "| --- | --- |", "| 1.235 | – |", "| x\\|y | – |"]
    assert cell(3) == "3"


MARKDOWN = """# A heading that is longer than a line of twenty characters

A paragraph of several words
in two lines, with `a span of code` in it.
- an item of a list that is long
- another - one
  1. a nested item, long too

    code that is not broken at all

| a table | that is not broken |
| --- | --- |

![a caption that is not broken](paper/x.svg)
"""

WRAPPED = """# A heading that is longer than a line of twenty characters

A paragraph of
several words in two
lines, with
`a span of code` in
it.
- an item of a list
  that is long
- another - one
  1. a nested item,
     long too

    code that is not broken at all

| a table | that is not broken |
| --- | --- |

![a caption that is not broken](paper/x.svg)
"""


def test_only_prose_is_wrapped_and_only_once():
    assert wrapped(MARKDOWN, 20) == WRAPPED
    assert wrapped(WRAPPED, 20) == WRAPPED


def test_no_line_begins_with_a_word_that_markdown_reads_as_a_mark():
    for mark in ("-", "+", "*", "#", ">", "1.", "2)"):
        text = wrapped(f"nine words {mark} nine words {mark} nine words {mark} end\n", 10)
        assert not any(line.startswith(mark) for line in text.splitlines())
        assert " ".join(text.split()) == f"nine words {mark} nine words {mark} nine words {mark} end"


@pytest.mark.parametrize("name", experiments.PAGES)
def test_the_pages_of_the_documentation_are_those_of_their_tables(name, tmp_path):
    docs = Path(__file__).parent.parent / "docs"
    own = [experiments.EXPERIMENTS[one] for one in experiments.PAGES[name]]
    (tmp_path / name).symlink_to(docs / name)
    sections = [(one, pd.read_parquet(docs / name / f"{one.name}.parquet")) for one in own]
    runner.write_sections(tmp_path, name, sections, own)
    text = (tmp_path / f"{name}.md").read_text()
    assert text == (docs / f"{name}.md").read_text()
    long = [line for line in text.splitlines() if len(line) > 100]
    assert all(line.startswith(("|", "    ", "![")) for line in long)
    for shown in re.findall(r"\(([\w-]+/[\w-]+\.svg)\)", text):
        assert (docs / shown).exists()


MARKS = ("Holds", "Partly", "Does not hold", "Undecided")


def test_the_first_screen_has_a_line_for_each_verdict_and_its_links_exist():
    from mdit_py_plugins.anchors.index import slugify  # what MyST calls, for the site

    text = (Path(__file__).parent.parent / "docs/paper.md").read_text()
    screen, sections = text.split("\n## How it was measured\n")
    rows = [line.split(" | ") for line in screen.splitlines() if line.startswith("| ")][2:]
    headings, judged = [], []
    for line in sections.splitlines():
        if line.startswith("#"):
            headings.append(line.lstrip("# "))
        elif found := re.match(rf"[*][*]({'|'.join(MARKS)})[.][*][*]", line):
            judged.append((found[1].lower(), headings[-1]))
    github = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    assert len(set(github)) == len(github)
    assert [slugify(heading) for heading in headings] == github
    names = dict(zip(headings, github, strict=True))
    linked = [(row[1], re.search(r"\(#(.+)\)", row[0])[1]) for row in rows]
    assert linked == [(mark, names[heading]) for mark, heading in judged]
    assert len(rows) == len({row[0] for row in rows}) > 20
    for mark, words in VERDICTS.items():
        assert f" {[row[1] for row in rows].count(mark)} {words}" in " ".join(screen.split())


def test_a_claim_belongs_to_the_last_heading_before_it():
    one, two = (verdict([True, i > 0], "words", claim=f"{i}", number=f"{i}") for i in range(2))
    told = section("## A (b)", section("text", one), section("### C: d", "text"), two)
    assert told == "## A (b)\n\ntext\n\n**Partly.** words\n\n### C: d\n\ntext\n\n**Holds.** words"
    assert told.claims == (("0", "partly", "0", "A (b)"), ("1", "holds", "1", "C: d"))
    assert link("x", "A (b)") == "[x](#a-b)"


def test_counts_without_an_exception_are_one_sentence():
    assert counted([]).endswith("Every cell of this page has the same counts.")
    assert counted(["One: 3.", "Two: 4."]).endswith("exceptions:\n\n- One: 3.\n- Two: 4.")


def test_the_command_lists_what_there_is(sepnmf_says):
    code, out, _ = sepnmf_says("reproduce", "--list")
    assert code == 0
    for name in experiments.EXPERIMENTS:
        assert name in out


def test_an_unknown_name_is_one_line(sepnmf_says):
    code, _, err = sepnmf_says("reproduce", "nosuch")
    assert code == 2
    assert "There is no experiment 'nosuch': choose one of geometry" in err
    assert err.count("\n") == 1


def test_the_command_runs_refuses_and_resumes(sepnmf_says):
    words = ("reproduce", "geometry", "--quick", "--jobs", "1", "--out", "o")
    code, out, _ = sepnmf_says(*words)
    assert code == 0, out
    assert Path("o/paper.md").exists()
    assert list(Path("o/paper").glob("*.svg"))
    assert sepnmf_says("reproduce", "--page", "--out", "o")[0] == 0
    code, _, err = sepnmf_says(*words)
    assert code == 2
    assert "--resume" in err
    assert err.count("\n") == 1
    assert sepnmf_says(*words, "--resume")[0] == 0


def test_the_command_writes_pages_again(sepnmf_says):
    code, _, err = sepnmf_says("reproduce", "--page", "--out", "nowhere")
    assert code == 2
    assert "contains no table" in err


def test_searches_are_not_part_of_everything():
    assert [name for page in experiments.PAGES.values() for name in page] == list(experiments.TABLES)
    assert set(experiments.EXPERIMENTS) - set(experiments.TABLES) == {"tune-recovery", "tune-gestures"}


@pytest.mark.parametrize("name", ["recovery", "gestures"])
def test_stored_parameters_come_with_the_command_that_found_them(name):
    path = Path(experiments.__file__).parent / "parameters" / f"{name}.json"
    assert f"reproduce tune-{name}" in json.loads(path.read_text())["command"]
    for entry in stored_parameters(name).values():
        assert entry["evaluations"] >= 40
        assert name == "gestures" or min(entry["instances"], entry["max_outer"]) > 0
        vectors = [entry["parameters"]]
        if name == "gestures":  # one for each share, and five that no accuracy has had a say in
            vectors = [*entry["parameters"].values(), *entry["candidates"]]
            assert len(vectors) == 5 + 5
        for vector in vectors:
            assert all(0.99e-5 <= value <= 3.01e3 for value in vector.values())


def test_every_condition_of_the_searches_has_its_parameters():
    names = {
        recovery.condition_name(*(q[k] for k in ("data", "norm", "method", "p", "mode", "regime")))
        for q in tune_recovery.conditions()
    }
    assert names == stored_parameters("recovery").keys()


if __name__ == "__main__":  # writes the stored values anew
    import tempfile

    values = {}
    for wanted in CHECKED:
        with tempfile.TemporaryDirectory() as place:
            table_of = runner.reproduce([experiments.EXPERIMENTS[wanted]], Path(place), scale="toy")[wanted]
        values[wanted] = means_of(wanted, table_of)
    STORED.write_text(json.dumps(values, indent=1) + "\n")
