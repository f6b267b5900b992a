"""What several test files need."""

import sys

import pytest


@pytest.fixture
def sepnmf_says(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder: exit code, standard output, standard error."""
    from sepnmf.cli import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sepnmf.cli._progress.FIRST_LINE", 1e9)  # no lines of progress on a slow machine

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["sepnmf", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            run()
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return call
