"""What an experiment is: a list of independent trials, how to run one, and what to show of the results."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure
    import pandas as pd

# Names of types, as text: pandas and matplotlib are loaded by what needs them.
Frame: TypeAlias = "pd.DataFrame"
Series: TypeAlias = "pd.Series[Any]"
Figure: TypeAlias = "matplotlib.figure.Figure"
Axes: TypeAlias = "matplotlib.axes.Axes"
Scale = Literal["full", "quick", "toy"]
Value = str | int | float | None
Row = dict[str, Value]


class Check(NamedTuple):
    """A requirement on the results: what is measured, its value, the bound, and whether it is met."""

    what: str
    measured: str
    wanted: str
    holds: bool


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper, a demonstration of ours, or a measurement of methods.

    Attributes
    ----------
    name : str
        What `sepnmf reproduce` calls it.
    title : str
        One line for the list.
    trials : callable
        `trials(scale)` lists the trials. A trial is a flat dictionary of plain values that determines its
        result completely, seeds and parameters included; it is also its key in the store.
    run : callable
        `run(**trial)` returns the measured rows: a list of flat dictionaries. A function of a module, so that
        it can be sent to another process.
    tell : callable
        `tell(frame)` returns the section of the page, in Markdown: the paper's values, ours, and whether
        the claim holds. `frame` has a row per measured row, with the trial's columns.
    draw : callable, optional
        `draw(frame)` returns figures by name; `tell` shows them with `figure(name, caption)`.
    data : tuple of str
        Folders of real data it needs.
    best : callable, optional
        For a search of parameters: `best(frame)` returns what it found, by condition. Its trials are searches
        that keep their evaluations in files of their own: `run` gets a `folder` for them.
    page : {"paper", "auto", "state-of-the-art"}, default "paper"
        The page that has its section; tables and figures are in the folder of the same name.
    checks : callable, optional
        `checks(frame)` lists the requirements that the page shows before its sections.
    exceptions : callable, optional
        `exceptions(frame)` lists, in sentences, where the results have smaller counts than the paper's; the
        page shows them before its sections.
    """

    name: str
    title: str
    trials: Callable[[Scale], list[Row]]
    run: Callable[..., list[Row]]
    tell: Callable[[Frame], str]
    draw: Callable[[Frame], dict[str, Figure]] = lambda frame: {}
    data: tuple[str, ...] = ()
    best: Callable[[Frame], dict[str, dict[str, object]]] | None = None
    page: str = "paper"
    checks: Callable[[Frame], list[Check]] = lambda frame: []
    exceptions: Callable[[Frame], list[str]] = lambda frame: []


def pick(scale: Scale, full: Any, quick: Any, toy: Any) -> Any:
    """What belongs to the scale."""
    return {"full": full, "quick": quick, "toy": toy}[scale]


def where(frame: Frame, **values: Value) -> Frame:
    """The rows that have these values."""
    for column, value in values.items():
        frame = frame[frame[column] == value]
    return frame


@cache
def stored_parameters(name: str) -> dict[str, Any]:
    """What a search found, by condition: `parameters/NAME.json`, written by `sepnmf reproduce tune-NAME`."""
    path = Path(__file__).parent / "parameters" / f"{name}.json"
    conditions: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["conditions"]
    return conditions


def storage_of(folder: str, name: str, what: object) -> str:
    """Where a search keeps its evaluations; another file when what it evaluates has changed."""
    digest = hashlib.sha256(repr(what).encode()).hexdigest()[:8]
    return f"sqlite:///{folder}/{name.replace(' ', '_').replace('=', '')}_{digest}.db"
