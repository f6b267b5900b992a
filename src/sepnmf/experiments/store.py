"""Results of trials in one SQLite file: a row per trial, written as soon as it is there."""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from sepnmf.experiments.experiment import Frame, Row


class Store:
    """What has been measured, by experiment and trial.

    A result is in the file when `add` returns, so that a process killed at any moment loses no more than the
    trials it was running. A trial is known by its own values, in whatever order they are written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
    ...     store.add("demo", {"seed": 0}, [{"success": 1}])
    ...     store.missing("demo", [{"seed": 0}, {"seed": 1}])
    [{'seed': 1}]
    """

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute(
            "CREATE TABLE IF NOT EXISTS results"
            " (experiment TEXT, trial TEXT, rows TEXT NOT NULL, PRIMARY KEY (experiment, trial))"
        )
        self.connection.execute("CREATE TABLE IF NOT EXISTS scale (name TEXT PRIMARY KEY)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()

    def add(self, experiment: str, trial: Row, rows: list[Row]) -> None:
        """Keep the rows of a trial."""
        values = (experiment, key(trial), json.dumps(rows))
        self.connection.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", values)

    def rows(self, experiment: str) -> dict[str, list[Row]]:
        """Rows by the trial's key."""
        query = "SELECT trial, rows FROM results WHERE experiment = ?"
        return {trial: json.loads(rows) for trial, rows in self.connection.execute(query, (experiment,))}

    def missing(self, experiment: str, trials: Iterable[Row]) -> list[Row]:
        """Trials without a result."""
        done = self.rows(experiment)
        return [trial for trial in trials if key(trial) not in done]

    def frame(self, experiment: str, trials: Iterable[Row]) -> Frame:
        """A tidy table of these trials' results, in their order: first the trial's columns."""
        import pandas as pd

        results = self.rows(experiment)
        return pd.DataFrame([trial | row for trial in trials for row in results.get(key(trial), [])])

    def scale(self, name: str) -> str:
        """The scale of the results in this file: `name`, if there are none yet."""
        self.connection.execute("INSERT INTO scale SELECT ? WHERE NOT EXISTS (SELECT 1 FROM scale)", (name,))
        return str(self.connection.execute("SELECT name FROM scale").fetchone()[0])

    def experiments(self) -> set[str]:
        """Names of the experiments that have results."""
        return {name for (name,) in self.connection.execute("SELECT DISTINCT experiment FROM results")}


def key(trial: Row) -> str:
    """A trial as text, the same for the same values."""
    return json.dumps(trial, sort_keys=True)
