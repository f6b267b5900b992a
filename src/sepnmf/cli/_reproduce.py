"""The command reproduce, which runs the experiments."""

import os
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import TaskID

from sepnmf.cli import _cluster as cluster
from sepnmf.cli._app import (
    INTERRUPTED,
    INVALID_INPUT,
    NO_MEMORY,
    UserError,
    app,
    console,
    print_line,
    show_table,
)
from sepnmf.cli._options import unset
from sepnmf.cli._progress import bar

if TYPE_CHECKING:
    from sepnmf.experiments import Experiment

NAMES_HELP = "Experiments to run, or the name of a page: all of it. By default all but the searches."
PAGE_HELP = "Do not run anything: write pages and figures again from the tables in the folder."
DASK_HELP = (
    "Run the trials on the Dask cluster with this scheduler; local starts a cluster on this machine. Workers "
    "need sepnmf[experiments] and SEPNMF_DATA. The searches, tune-*, store their progress in the folder of "
    "--out, which workers must find under the same path."
)


@app.command()
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help=NAMES_HELP)] = None,
    show: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer levels and trials: minutes.")] = False,
    jobs: Annotated[int | None, unset(min=1, help="Parallel trials; by default one per core.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduced"),
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    page: Annotated[bool, typer.Option("--page", help=PAGE_HELP)] = False,
    dask: Annotated[str | None, unset("--dask", metavar="ADDRESS", help=DASK_HELP)] = None,
) -> None:
    """Run the experiments of the documentation again.

    Writes tables, figures and pages on the claims of the paper, on the method auto, and on all methods.
    """
    from sepnmf._parallel import available_cores
    from sepnmf.experiments import EXPERIMENTS, PAGES, TABLES, runner

    if show:
        titles = [[name, experiment.title] for name, experiment in EXPERIMENTS.items()]
        show_table({"name": "left", "title": "left"}, titles)
        return
    named = [one for name in names or TABLES for one in PAGES.get(name, (name,))]
    unknown = [name for name in named if name not in EXPERIMENTS]
    if unknown:
        raise UserError(f"There is no experiment {unknown[0]!r}: choose one of {', '.join(EXPERIMENTS)}.")
    absent = [package for package in runner.EXTRAS if find_spec(package) is None]
    if absent:
        raise UserError(f"{', '.join(absent)} is not installed: pip install 'sepnmf[experiments]'.")
    if page:
        written = runner.rewrite([EXPERIMENTS[name] for name in TABLES], out)
        if not written:
            raise UserError(f"{out} contains no table of an experiment: give the folder of a run with --out.")
        report(written)
        return
    chosen = [EXPERIMENTS[name] for name in dict.fromkeys(named)]
    try:
        with cluster.connected(dask) as client, backend(client), bar(console) as bars:
            tasks: dict[str, TaskID] = {}

            def progress(experiment: "Experiment", done: int, total: int) -> None:
                if experiment.name not in tasks:
                    tasks[experiment.name] = bars.add_task(experiment.name, now="", unit="trials")
                bars.update(tasks[experiment.name], completed=done, total=total)

            frames = runner.reproduce(
                chosen,
                out,
                page=[EXPERIMENTS[name] for name in TABLES],
                scale="quick" if quick else "full",
                jobs=jobs or (available_cores() if client is None else threads_of(client)),
                workers=None if client is None else len(client.nthreads()),
                resume=resume,
                progress=progress,
                say=print_line,
            )
    except KeyboardInterrupt:
        message = f"Interrupted. The results so far are in {out}: continue with --resume."
        raise UserError(message, INTERRUPTED) from None
    except MemoryError:
        message = f"{NO_MEMORY} The results so far are in {out}: continue with --resume."
        raise UserError(message) from None
    except Exception as error:
        package = type(error).__module__.split(".")[0]
        if package in ("joblib", "distributed"):
            reason = "A worker was ended, perhaps for lack of memory."
            raise UserError(f"{reason} The results so far are in {out}: continue with --resume.") from None
        if package not in ("optuna", "sqlalchemy"):
            raise
        message = f"{out / runner.SEARCHES} cannot be used ({error}): move it away or choose another --out."
        raise UserError(message) from None
    if not frames:
        raise typer.Exit(INVALID_INPUT)
    report([out / f"{name}.md" for name in dict.fromkeys(experiment.page for experiment in chosen)])


def report(pages: list[Path]) -> None:
    """Print where the pages are."""
    for path in pages:
        print_line(f"{path} is the page; tables, figures and the manifest are in {path.with_suffix('')}.")


def backend(client: Any) -> AbstractContextManager[Any]:
    """Return a context in which joblib runs on the cluster, or on this machine if there is no client.

    Processes on this machine watch their parent from the moment they run, also before they have a trial.
    """
    import joblib

    from sepnmf._parallel import end_with_parent

    ends = {"initializer": end_with_parent, "initargs": (os.getpid(),)}
    context: AbstractContextManager[Any] = (
        joblib.parallel_config("loky", **ends) if client is None else joblib.parallel_config("dask")
    )
    return context


def threads_of(client: Any) -> int:
    """Return the number of threads of a cluster; 1 if it has no workers yet."""
    return sum(client.nthreads().values()) or 1
