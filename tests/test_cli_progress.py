"""Progress: bars with the time left on a terminal, a line now and then elsewhere, never in the output."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress

import sepnmf
from sepnmf._kernels._apart import apart
from sepnmf.cli import _progress as progress
from sepnmf.cli._app import UserError
from sepnmf.cli._writing import write_csv
from sepnmf.datasets import make_dirichlet
from sepnmf.io._guards import harmless


@pytest.fixture
def M(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    M, _ = make_dirichlet(0.0, m=12, n=60, r=3, random_state=0)
    np.save("M.npy", M)
    return M


# Lines where there is no terminal ------------------------------------------------------------------------


def test_lines_come_after_two_seconds_and_then_ever_more_rarely():
    schedule = progress.Schedule()
    times = [seconds / 10 for seconds in range(10000)]
    lines = [seconds for seconds in times if schedule.is_due(schedule.began + seconds)]
    assert lines[:4] == pytest.approx([2, 12, 27, 49.5], abs=0.2)
    gaps = np.diff(lines)
    assert (np.diff(gaps) > -0.2).all()
    assert gaps.max() <= 120.2


def test_a_line_says_what_is_done_and_about_what_is_left():
    now = [0.0]
    with Progress(disable=True, get_time=lambda: now[0]) as shown:
        assert progress.state(shown) == ""
        shown.add_task("reading scene.hdr", total=None, now="")
        now[0] = 3.0
        assert progress.state(shown) == "reading scene.hdr, 3 s"
        method = shown.add_task("auto", total=60, now="", unit="iterations", bound="at most ")
        now[0] = 15.0
        shown.update(method, completed=14)
        assert progress.state(shown) == "auto: 14 of at most 60 iterations, 12 s"
        chunks = shown.add_task("pass 2 over the data", total=88, now="", unit="chunks")
        for done in range(32):
            now[0] = 15.0 + done
            shown.update(chunks, completed=done)
        assert progress.state(shown) == "pass 2 over the data: 31 of 88 chunks, 31 s, about 57 s left"
        shown.update(chunks, completed=88)
        assert progress.state(shown).startswith("auto: 14 of at most 60")
        shown.add_task("comparing methods", total=9, completed=2, now="vca", unit="methods")
        assert progress.state(shown) == "comparing methods: 2 of 9 methods, vca"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (99, "99 s"), (400, "7 min"), (7200, "2.0 h")])
def test_durations_are_short(seconds, text):
    assert progress.duration(seconds) == text


class Pipe(Console):
    """A console that is not a terminal, and tells when it has been written to."""

    def __init__(self):
        super().__init__(file=io.StringIO())
        self.lines, self.written = [], threading.Event()

    def print(self, text, **_):
        self.lines.append(text)
        self.written.set()


@pytest.fixture
def pipe(monkeypatch):
    pipe = Pipe()
    monkeypatch.setattr(progress, "error_console", pipe)
    return pipe


STAGES = [
    ("sepnmf.io.read", ("select", "M.npy", "-r", 3), "reading M.npy"),
    ("sepnmf._overview.choose", ("select", "M.npy", "-r", 3, "-m", "spa"), "selecting anchors (spa)"),
    ("sepnmf.tuning.estimate_rank", ("select", "M.npy", "-r", "auto"), "estimating the number of anchors"),
    ("sepnmf.metrics.rae", ("select", "M.npy", "-r", 3, "-m", "spa"), "computing the fit"),
    ("sepnmf.least_squares.nnls", ("unmix", "M.npy", "-r", 3, "--shape", "6x10"), "computing abundances"),
    ("sepnmf.io.write_cube", ("unmix", "M.npy", "-r", 3, "--shape", "6x10"), "writing abundances"),
    ("sepnmf.report.write_report", ("select", "M.npy", "-r", 3, "--report"), "writing report.html"),
    (
        "sepnmf._overview.choose",
        ("compare", "M.npy", "-r", 3, "-m", "spa"),
        "comparing methods: 0 of 1 methods",
    ),
    ("sepnmf.cli._demonstration.demonstrate", ("demo",), "running the demonstration"),
]


@pytest.mark.parametrize(("slow", "words", "line"), STAGES, ids=[f"{s[1][0]}-{s[0]}" for s in STAGES])
def test_every_long_stage_of_a_command_says_so_in_a_pipe(
    M, sepnmf_says, pipe, monkeypatch, slow, words, line
):
    module, name = slow.rsplit(".", 1)
    before = getattr(__import__(module, fromlist=[name]), name)

    def slowly(*args, **options):
        monkeypatch.setattr(progress.schedule, "due", 0.0)  # as if two seconds had passed
        pipe.written.clear()
        progress.schedule.wake.set()
        assert pipe.written.wait(60)
        return before(*args, **options)

    monkeypatch.setattr(slow, slowly)
    code, out, _ = sepnmf_says(*words)
    assert code == 0
    assert any(text.startswith(line) for text in pipe.lines), pipe.lines
    assert not any(text in out for text in pipe.lines)


def test_a_short_command_says_nothing(M, sepnmf_says, pipe):
    assert sepnmf_says("select", "M.npy", "-r", 3, "--report")[0] == 0
    assert not pipe.lines


def test_iterations_are_counted(M, pipe):
    method = sepnmf.METHODS["merit"]
    with progress.watched(method, {"max_iter": 50}) as options:
        options["callback"](SimpleNamespace(n_outer=7, numbers={"objective": 0.5}))
        pipe.written.clear()
        progress.schedule.due = 0.0
        progress.schedule.wake.set()
        assert pipe.written.wait(60)
    assert pipe.lines[0].startswith("selecting anchors (merit): 7 of at most 50 iterations, objective 0.5")


def test_the_first_ctrl_c_stops_a_method_that_has_anchors_and_the_second_ends_it():
    with progress.watched(sepnmf.METHODS["merit"], {}) as options:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        state = SimpleNamespace(n_outer=1, numbers={})
        assert options["callback"](state) is False
        signal.raise_signal(signal.SIGINT)
        assert options["callback"](state) is True
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_the_first_ctrl_c_ends_a_method_that_has_anchors_and_compiles(monkeypatch):
    with progress.watched(sepnmf.METHODS["merit"], {}) as options:
        options["callback"](SimpleNamespace(n_outer=1, numbers={}))

        def compiling():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)

        with pytest.raises(UserError, match="Interrupted"):
            apart(compiling)


# Bars on a terminal --------------------------------------------------------------------------------------


def test_json_stays_clean_while_bars_are_shown(M, sepnmf_says, monkeypatch):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(progress, "error_console", terminal)
    code, out, _ = sepnmf_says("select", "M.npy", "-r", 3, "--json")
    assert code == 0
    assert len(json.loads(out)["anchors"]) == 3
    assert "selecting anchors (auto)" in terminal.file.getvalue()


def test_bars_have_the_time_that_is_left():
    now = [0.0]
    columns = (progress.Counts(), progress.Remaining())
    with Progress(*columns, disable=True, get_time=lambda: now[0]) as shown:
        shown.add_task("pass 1", total=30)
        shown.add_task("reading", total=None)
        task, endless = shown.tasks
        for done in range(11):
            now[0] = float(done)
            shown.update(task.id, completed=done)
        assert [column.render(task).plain for column in columns] == ["10/30", "left 0:00:20"]
        assert [column.render(endless).plain for column in columns] == ["", ""]


# The program ---------------------------------------------------------------------------------------------


def test_without_a_command_there_is_a_help_that_can_be_read(sepnmf_says, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = sepnmf_says()
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "..." not in out.partition("COMMAND [ARGS]...")[2]  # every summary fits
    for name in ("select", "unmix", "topics", "compare", "demo", "methods", "reproduce"):
        assert sum(line.startswith(f"  {name} ") for line in out.splitlines()) == 1
    assert out.count("\n  sepnmf ") == 2
    assert sepnmf_says("--help")[:2] == (0, out)


def test_the_version_is_said(sepnmf_says):
    assert sepnmf_says("--version") == (0, f"sepnmf {sepnmf.__version__}\n", "")


def test_the_package_can_be_run_as_a_module(M):
    words = [sys.executable, "-m", "sepnmf", "select", "M.npy", "-r", "3", "-m", "spa", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)["anchors"]) == 3


# Tables --------------------------------------------------------------------------------------------------


def test_whether_indices_start_at_zero_is_said(M, sepnmf_says):
    _, out, _ = sepnmf_says("select", "M.npy", "-r", 3)
    assert "\nColumns are counted from 0.\n" in out
    _, out, _ = sepnmf_says("select", "M.npy", "-r", 3, "--json")
    assert json.loads(out)["counted_from"] == {"column": 0, "row": 0}
    _, out, _ = sepnmf_says("compare", "M.npy", "-r", 3, "-m", "spa")
    assert "\nColumns are counted from 0.\n" in out
    words = ("unmix", "M.npy", "-r", 3, "--shape", "6x10", "--out", "o")
    _, out, _ = sepnmf_says(*words)
    assert "\nColumns, lines and samples are counted from 0.\n" in out
    _, out, _ = sepnmf_says(*words, "--json")
    assert json.loads(out)["counted_from"] == {"column": 0, "line": 0, "sample": 0, "band": 1}
    with open("o/endmembers.csv") as stream:
        first = [line.split(",")[0] for line in stream]
    assert first == ["band", *map(str, range(1, 13))]


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", '=HYPERLINK("http://a")', "= 2"])
def test_a_name_is_no_formula(name, sepnmf_says, tmp_path):
    assert harmless(name) == f"'{name}"
    write_csv(tmp_path / "a.csv", [name], [[name, -1.5], ["plain", -2]])
    assert "\n=" not in (tmp_path / "a.csv").read_text()


@pytest.mark.parametrize("cell", [-1.5, "-1.5", "+3", "-1e-3", "name", "", "a=b", 0, None])
def test_numbers_and_other_names_stay_as_they_are(cell):
    assert harmless(cell) == cell


def test_formulas_in_names_of_a_file_are_harmless_in_every_table(sepnmf_says):
    with open("M.csv", "w") as stream:
        stream.write(",=a,+b,@c\n-row,1,0,0.5\n=row,0,1,0.5\n")
    assert sepnmf_says("select", "M.csv", "-r", 2, "-m", "spa", "--out", "o")[0] == 0
    with open("o/anchors.csv") as stream:
        text = stream.read()
    assert ",'=a," in text
    assert ",'+b," in text
    with open("o/anchor_columns.csv") as stream:
        assert stream.read().splitlines()[1].startswith("'-row,")
    with open("o/weights.csv") as stream:
        lines = stream.read().splitlines()
    assert lines[0] == ",'=a,'+b,'@c"
    assert {line.split(",")[0] for line in lines[1:]} == {"'=a", "'+b"}
