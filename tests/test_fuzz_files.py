"""Randomly damaged files for a few seconds, and those that once fell: read, or refused in one line."""

import importlib.util
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "fuzz" / "files.py"
SAVED = sorted(path for path in (Path(__file__).parent / "fuzz_seeds").glob("*") if path.suffix != ".md")


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz_files", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_damaged_files_are_read_or_refused_in_one_line(fuzz, tmp_path, capsys):
    status = fuzz.main(["--seconds", "4", "--seed", "0", "--save", str(tmp_path)])
    said = capsys.readouterr().out
    assert status == 0, said
    assert int(said.split()[0]) > 5, said  # a busy machine reads few


def test_files_that_once_fell_are_read_or_refused(fuzz):
    worker = fuzz.Worker()
    try:
        answers = {
            (path.name, part): worker.read(fuzz.file_in(path), part)
            for path in SAVED
            for part in (False, True)
        }
    finally:
        worker.stop()
    assert answers
    assert not {read: answer for read, answer in answers.items() if answer.startswith("wrong")}


def test_what_is_not_documented_is_found(fuzz):
    error = ValueError("no room")
    error.__cause__ = MemoryError()
    assert fuzz.judged(error).startswith("wrong: MemoryError")
    assert fuzz.judged(KeyError("x")).startswith("wrong: KeyError")
    assert fuzz.judged(ValueError("two\nlines")).startswith("wrong: ValueError says")
    assert fuzz.judged(ValueError("a.npy cannot be read: x.")).startswith("wrong: ValueError says")
    assert fuzz.judged(ValueError("one line")) == fuzz.judged(OSError("one line")) == "refused"


def test_a_process_that_does_not_answer_or_ends_is_found_and_replaced(fuzz, tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS", 1)
    worker = fuzz.Worker("import sys, time\nprint(flush=True)\nsys.stdin.readline()\ntime.sleep(60)")
    assert worker.read(tmp_path) == "wrong: no answer in 1 s"
    worker = fuzz.Worker(
        "import os, signal, sys\nprint(flush=True)\nsys.stdin.readline()\nos.kill(os.getpid(), 11)"
    )
    assert worker.read(tmp_path) == worker.read(tmp_path) == "wrong: the process ended with -11"
