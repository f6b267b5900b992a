"""Runs experiments: trials in parallel, results kept as they come; then tables, figures, page, manifest."""

import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import warnings
from _thread import interrupt_main
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import distributions
from multiprocessing import current_process
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from sepnmf._parallel import available_cores, end_with_parent
from sepnmf.datasets._loaders import available
from sepnmf.experiments.experiment import Experiment, Frame, Row, Scale
from sepnmf.experiments.page import write_page
from sepnmf.experiments.store import Store

PACKAGES = ("sepnmf", "numpy", "scipy", "scikit-learn", "numba", "optuna", "scikit-image", "pandas", "joblib")
EXTRAS = ("matplotlib", "optuna", "pandas", "pyarrow", "skimage")  # what an experiment may import
STORE, SEARCHES, MANIFEST = "results.sqlite", "searches", "manifest.json"

Progress = Callable[[Experiment, int, int], None]


def reproduce(
    experiments: Sequence[Experiment],
    out: Path,
    *,
    page: Sequence[Experiment] = (),
    scale: Scale = "full",
    jobs: int = 1,
    workers: int | None = None,
    resume: bool = False,
    progress: Progress = lambda experiment, done, total: None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Frame]:
    """Run experiments and write what they measured; return the tidy table of each experiment that ran.

    `out` gets results.sqlite and, for each page that an experiment belongs to, `PAGE.md` and a folder `PAGE`
    with a CSV and a Parquet file per experiment, figures as SVG and PNG, and manifest.json.

    Parameters
    ----------
    page
        What the pages have a section on, if all its results are there; by default `experiments`.
    jobs
        Trials that run at a time, through joblib's backend. The results do not depend on it, but for seconds.
    workers
        How many workers a cluster has, if joblib's backend is one; for the manifest.
    resume
        Go on with the results in `out`; nothing that is there is measured again. An experiment that is not
        in its results.sqlite begins with its table. Without it, or if they are of another scale, results in
        `out` raise FileExistsError.
    say
        Called with a line for the user, such as why an experiment is left out.
    """
    pages = list(dict.fromkeys(experiment.page for experiment in experiments))
    for name in pages:
        (out / name).mkdir(parents=True, exist_ok=True)
    notes, frames = {}, {}
    with alone(out), Store(out / STORE) as store:
        if not resume and (store.experiments() or (out / SEARCHES).exists()):
            raise FileExistsError(f"{out} holds results: go on with --resume, or choose another --out.")
        if (kept := store.scale(scale)) != scale:
            raise FileExistsError(f"{out} holds {kept} results, not {scale} ones: choose another --out.")
        for name in pages:
            own = [experiment.name for experiment in experiments if experiment.page == name]
            notes[name] = begin_manifest(out / name, own, scale, jobs, workers)
        for experiment in experiments:
            trouble = [line for name in experiment.data if (line := available(name))]
            if trouble:
                say(f"{experiment.name} is left out: {' '.join(trouble)}")
                continue
            trials = experiment.trials(scale)
            table = out / experiment.page / f"{experiment.name}.parquet"
            if resume and experiment.name not in store.experiments() and table.exists():
                store.take(experiment.name, trials, read_table(table))
            run_trials(experiment, trials, store, out, jobs, progress)
            frames[experiment.name] = frame = store.frame(experiment.name, trials)
            write_results(experiment, frame, out / experiment.page)
        sections = [
            (experiment, store.frame(experiment.name, trials))
            for experiment in page or experiments
            if experiment.name in store.experiments()
            and (trials := experiment.trials(scale))
            and not store.missing(experiment.name, trials)
        ]
        for name, note in notes.items():
            write_sections(out, name, sections, page or experiments)
            end_manifest(out / name, note)
    for experiment, frame in sections:
        for check in experiment.checks(frame) if experiment.name in frames else ():
            if not check.holds:
                say(f"Missed: {check.what} is {check.measured}, wanted {check.wanted}.")
    return frames


def rewrite(experiments: Sequence[Experiment], out: Path) -> list[Path]:
    """Write pages and figures again from the tables in `out`, and return the pages; nothing is measured.

    A page without a table is left as it is.
    """
    tables = {experiment: out / experiment.page / f"{experiment.name}.parquet" for experiment in experiments}
    sections = []
    for experiment, path in tables.items():
        if path.exists():
            sections.append((experiment, read_table(path)))
    if not sections:
        return []
    with alone(out):
        for experiment, frame in sections:
            write_figures(experiment, frame, out / experiment.page)
        pages = dict.fromkeys(experiment.page for experiment, _ in sections)
        return [write_sections(out, name, sections, experiments) for name in pages]


def read_table(path: Path) -> Frame:
    """Return the table of an experiment."""
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged ({error}): run the experiment again.") from None


def write_sections(
    out: Path,
    name: str,
    sections: Sequence[tuple[Experiment, Frame]],
    wanted: Sequence[Experiment],
) -> Path:
    """Write one page, with the command of its last run."""
    own = [section for section in sections if section[0].page == name]
    shown = [experiment for experiment, _ in own]
    missing = [experiment for experiment in wanted if experiment.page == name and experiment not in shown]
    path = out / f"{name}.md"
    past = runs(out / name)
    write(path, write_page(name, own, missing, past[-1]["command"] if past else command()))
    return path


def run_trials(
    experiment: Experiment, trials: list[Row], store: Store, out: Path, jobs: int, progress: Progress
) -> None:
    """Run the trials that have no result yet, and keep each result as it comes."""
    missing = store.missing(experiment.name, trials)
    total = len(trials)
    progress(experiment, total - len(missing), total)
    extra = {}
    if experiment.best is not None:
        searches = out / SEARCHES
        searches.mkdir(exist_ok=True)
        extra = {"folder": str(searches.resolve())}  # for workers elsewhere
    calls = (delayed(run_one)(experiment.run, trial, extra, os.getpid()) for trial in missing)
    # One at a time: a batch would be lost as a whole. Joblib's Dask takes all cores of a cluster whatever
    # n_jobs is, so that no more than this are handed out.
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=jobs)
    with dying_threads_raised():
        results: Generator[tuple[Row, list[Row]]] = parallel(calls)
        try:
            for done, (trial, rows) in enumerate(results, start=total - len(missing) + 1):
                store.add(experiment.name, trial, rows)
                progress(experiment, done, total)
        finally:
            with warnings.catch_warnings():  # after an exception, joblib warns of trials that are cancelled
                warnings.simplefilter("ignore", UserWarning)
                results.close()


@contextmanager
def dying_threads_raised() -> Iterator[None]:
    """Raise MemoryError if a thread ends for lack of memory: joblib would wait for its own without end."""
    said: list[str] = []
    before = threading.excepthook

    def interrupt(*_: Any) -> None:
        if said:
            raise KeyboardInterrupt

    def ended(thread: threading.ExceptHookArgs) -> None:
        error = thread.exc_value
        if isinstance(error, MemoryError) or "can't start new thread" in str(error):
            said.append(str(error))
            interrupt_main()
        else:
            before(thread)

    # A shell that runs this in the background has it ignore Ctrl-C; then a thread cannot interrupt it either.
    deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    deaf = deaf and threading.current_thread() is threading.main_thread()
    threading.excepthook = ended
    if deaf:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        if said:
            raise MemoryError(said[0]) from None
        raise
    finally:
        threading.excepthook = before
        if deaf:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_one(
    run: Callable[..., list[Row]], trial: Row, extra: dict[str, str], parent: int
) -> tuple[Row, list[Row]]:
    """One trial on one thread, so that neither its figures nor its seconds depend on the other jobs."""
    if current_process().name.startswith("Loky"):  # joblib's worker, and no worker of Dask
        end_with_parent(parent)
    with threadpool_limits(1):
        return trial, run(**trial, **extra)


def write_results(experiment: Experiment, frame: Frame, folder: Path) -> None:
    """A tidy table as CSV and Parquet, the figures as SVG and PNG, and parameters that were found."""
    with whole(folder / f"{experiment.name}.csv") as new:
        frame.to_csv(new, index=False, float_format="%.6g")
    with whole(folder / f"{experiment.name}.parquet") as new:
        frame.to_parquet(new, index=False)
    if experiment.best is not None:
        found = {"command": command(), "conditions": experiment.best(frame)}
        name = experiment.name.removeprefix("tune-")
        write(folder / f"parameters-{name}.json", json.dumps(found, indent=1) + "\n")
    write_figures(experiment, frame, folder)


def write_figures(experiment: Experiment, frame: Frame, folder: Path) -> None:
    """The figures as SVG and PNG; the same table gives the same files."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "sepnmf"}):
        for name, figure in experiment.draw(frame).items():
            with whole(folder / f"{name}.svg") as new:
                figure.savefig(new, format="svg", metadata={"Date": None})
            with whole(folder / f"{name}.png") as new:
                figure.savefig(new, format="png", dpi=150)


def begin_manifest(
    folder: Path, names: list[str], scale: Scale, jobs: int, workers: int | None
) -> dict[str, Any]:
    """Add what makes the results to the list of runs in manifest.json, before anything is measured."""
    known = {found.name: found.version for found in distributions()}
    note: dict[str, Any] = {
        "command": command(),
        "experiments": names,
        "scale": scale,
        "seeds": "part of each trial: see the tables",
        "jobs": jobs,
        **({} if workers is None else {"workers": workers}),
        "threads per trial": 1,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "python": platform.python_version(),
        "versions": {name: known[name] for name in PACKAGES if name in known},
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": available_cores()},
    }
    write(folder / MANIFEST, json.dumps([*runs(folder), note], indent=1) + "\n")
    return note


def end_manifest(folder: Path, note: dict[str, Any]) -> None:
    """Say how long a run took; one that was killed has no seconds."""
    began = datetime.fromisoformat(note["began"])
    ended = note | {"seconds": round((datetime.now(UTC) - began).total_seconds(), 1)}
    earlier = [run for run in runs(folder) if run != note]
    write(folder / MANIFEST, json.dumps([*earlier, ended], indent=1) + "\n")


def runs(folder: Path) -> list[dict[str, Any]]:
    """The runs in the manifest."""
    path = folder / MANIFEST
    if not path.exists():
        return []
    try:
        found = [dict(run) for run in json.loads(path.read_text(encoding="utf-8"))]
        return [run | {"command": str(run["command"])} for run in found]
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{path} is damaged: move it away or choose another --out.") from None


def write(path: Path, text: str) -> None:
    """Write a text file at once."""
    with whole(path) as new:
        new.write_text(text, encoding="utf-8")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Refuse a folder that another run writes to; the system frees it when that run ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said = f"Another run uses {folder}: wait for its end or choose another --out."
            raise FileExistsError(said) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which then replaces `path`: a kill leaves the old file or the new one."""
    new = path.with_name(f".{path.name}.new")
    try:
        yield new
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def command() -> str:
    """The command as it was typed, without the folder of the program and the address of a cluster."""
    typed = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return re.sub(r"--dask[ =](?!local\b)\S+", "--dask ADDRESS", typed)


def commit() -> str | None:
    """The commit of the checkout this code runs from, marked when files are changed; None outside of one."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        told = subprocess.run(git, capture_output=True, text=True, check=True, env=quiet)
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.stdout.strip()
