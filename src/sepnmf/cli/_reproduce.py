"""The experiments from the command line."""

from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from sepnmf.cli import _cluster as cluster
from sepnmf.cli._app import INTERRUPTED, UserError, app, console

if TYPE_CHECKING:
    from sepnmf.experiments import Experiment


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Experiments to run; paper or auto stands for all of that page. Without a name, all but the "
            "searches.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Show what there is, and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer levels and trials: minutes.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Trials at a time; by default as many as there are cores.", show_default=False
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduced"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is in the folder.")] = False,
    page: Annotated[
        bool,
        typer.Option(
            "--page", help="Measure nothing: write pages and figures again from the folder's tables."
        ),
    ] = False,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Run the trials on the Dask cluster with this scheduler; local starts one here. Its workers "
            "need sepnmf[experiments] and SEPNMF_DATA; those of the searches, tune-*, keep what they have in "
            "the folder of --out, which they must know by the same path.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run experiments: tables, figures and pages on which claims of the paper hold and what auto achieves."""
    from sepnmf._parallel import available_cores
    from sepnmf.experiments import EXPERIMENTS, PAGES, TABLES, runner

    if show:
        listing = Table("name", "what it is", box=None)
        for name, experiment in EXPERIMENTS.items():
            listing.add_row(name, experiment.title)
        console.print(listing)
        return
    named = [one for name in names or TABLES for one in PAGES.get(name, (name,))]
    unknown = [name for name in named if name not in EXPERIMENTS]
    if unknown:
        raise UserError(f"There is no experiment {unknown[0]!r}: choose among {', '.join(EXPERIMENTS)}.")
    absent = [package for package in runner.EXTRAS if find_spec(package) is None]
    if absent:
        raise UserError(f"{', '.join(absent)} is not installed: pip install 'sepnmf[experiments]'.")
    if page:
        written = runner.rewrite([EXPERIMENTS[name] for name in TABLES], out)
        if not written:
            raise UserError(f"{out} holds no table of an experiment: give the folder of a run with --out.")
        report(written)
        return
    chosen = [EXPERIMENTS[name] for name in dict.fromkeys(named)]
    columns = (
        TextColumn("{task.description:16}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    try:
        with cluster.connected(dask) as client, backend(client), Progress(*columns, console=console) as bars:
            tasks: dict[str, TaskID] = {}

            def progress(experiment: "Experiment", done: int, total: int) -> None:
                if experiment.name not in tasks:
                    tasks[experiment.name] = bars.add_task(experiment.name)
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
                say=lambda line: bars.console.print(line, markup=False, highlight=False, soft_wrap=True),
            )
    except KeyboardInterrupt:
        message = f"Stopped. What was measured is in {out}: go on with --resume."
        raise UserError(message, INTERRUPTED) from None
    if not frames:
        raise typer.Exit(2)
    report([out / f"{name}.md" for name in dict.fromkeys(experiment.page for experiment in chosen)])


def report(pages: list[Path]) -> None:
    """Say where the pages are."""
    for path in pages:
        text = f"{path} is the page; tables, figures and the manifest are in {path.with_suffix('')}."
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def backend(client: Any) -> AbstractContextManager[Any]:
    """Joblib on a cluster, or here if there is none."""
    if client is None:
        return nullcontext()
    import joblib

    context: AbstractContextManager[Any] = joblib.parallel_config("dask")
    return context


def threads_of(client: Any) -> int:
    """Threads of a cluster; 1 as long as it has no workers."""
    return sum(client.nthreads().values()) or 1
