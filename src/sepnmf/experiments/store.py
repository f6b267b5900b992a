"""Results of trials in one SQLite file: a row per trial, written as soon as it is there."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from sepnmf.experiments.experiment import Frame, Row

# What to do about an error of SQLite, by its code.
DAMAGED = "it is damaged; move it away or choose another --out."
ADVICE = {
    sqlite3.SQLITE_BUSY: "another run uses it; wait for its end or choose another --out.",
    sqlite3.SQLITE_LOCKED: "another run uses it; wait for its end or choose another --out.",
    sqlite3.SQLITE_FULL: "make room on the disk and go on with --resume.",
    sqlite3.SQLITE_IOERR: "make sure that the disk has room and works, and go on with --resume.",
    sqlite3.SQLITE_CANTOPEN: "choose another --out.",
    sqlite3.SQLITE_READONLY: "choose another --out.",
}
SETUP = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "CREATE TABLE IF NOT EXISTS results"
    " (experiment TEXT, trial TEXT, rows TEXT NOT NULL, PRIMARY KEY (experiment, trial))",
    "CREATE TABLE IF NOT EXISTS scale (name TEXT PRIMARY KEY)",
)


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
        self.path = path
        with self.explained():
            self.connection = sqlite3.connect(path, isolation_level=None)
        with ExitStack() as unless_it_works:
            unless_it_works.callback(self.connection.close)
            for statement in SETUP:
                self.execute(statement)
            unless_it_works.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raise OSError with one sentence for an error of SQLite or of what is in the file."""
        try:
            yield
        except (sqlite3.Error, ValueError) as error:
            code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the other bits tell details
            advice = ADVICE.get(code, DAMAGED)
            raise OSError(f"{self.path} cannot be used ({error}): {advice}") from None

    def execute(self, statement: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        with self.explained():
            return self.connection.execute(statement, values).fetchall()

    def add(self, experiment: str, trial: Row, rows: list[Row]) -> None:
        """Keep the rows of a trial."""
        values = (experiment, key(trial), json.dumps(rows))
        self.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", values)

    def rows(self, experiment: str) -> dict[str, list[Row]]:
        """Rows by the trial's key."""
        query = "SELECT trial, rows FROM results WHERE experiment = ?"
        found = self.execute(query, (experiment,))
        with self.explained():
            return {trial: json.loads(rows) for trial, rows in found}

    def missing(self, experiment: str, trials: Iterable[Row]) -> list[Row]:
        """Trials without a result."""
        done = self.rows(experiment)
        return [trial for trial in trials if key(trial) not in done]

    def frame(self, experiment: str, trials: Iterable[Row]) -> Frame:
        """A tidy table of these trials' results, in their order: first the trial's columns."""
        import pandas as pd

        results = self.rows(experiment)
        return pd.DataFrame([trial | row for trial in trials for row in results.get(key(trial), [])])

    def take(self, experiment: str, trials: Iterable[Row], frame: Frame) -> None:
        """Keep what a tidy table has of these trials, all of it or, if the process is killed, nothing."""
        found: dict[tuple[str, ...], dict[tuple[Any, ...], list[Row]]] = {}
        lines = frame.astype(object).where(frame.notna(), None).to_dict("records")
        self.execute("BEGIN")
        for trial in trials:
            names = tuple(sorted(trial))
            if names not in found:
                found[names] = {}
                for line in lines if set(names) <= set(frame.columns) else ():
                    row = {name: value for name, value in line.items() if value is not None}
                    if row.keys() >= set(names):
                        rest = {name: value for name, value in row.items() if name not in trial}
                        found[names].setdefault(tuple(row[name] for name in names), []).append(rest)
            rows = found[names].get(tuple(trial[name] for name in names))
            if rows:
                self.add(experiment, trial, rows)
        self.execute("COMMIT")

    def scale(self, name: str) -> str:
        """The scale of the results in this file: `name`, if there are none yet."""
        self.execute("INSERT INTO scale SELECT ? WHERE NOT EXISTS (SELECT 1 FROM scale)", (name,))
        return str(self.execute("SELECT name FROM scale")[0][0])

    def experiments(self) -> set[str]:
        """Names of the experiments that have results."""
        return {name for (name,) in self.execute("SELECT DISTINCT experiment FROM results")}


def key(trial: Row) -> str:
    """A trial as text, the same for the same values."""
    return json.dumps(trial, sort_keys=True)
