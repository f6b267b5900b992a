"""Every argument and option of the commands on files, once: its name, its help, its default."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Axis(StrEnum):
    """What to choose among."""

    columns = "columns"
    rows = "rows"


class Scale(StrEnum):
    """What is done to the columns first."""

    l1 = "l1"
    none = "none"


class Sign(StrEnum):
    """What is done about negative entries."""

    error = "error"
    clip = "clip"
    allow = "allow"


def method_names(incomplete: str) -> list[str]:
    """Methods, for tab completion."""
    from sepnmf.registry import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Matrix: .npy, .npz, .csv, .tsv, .parquet, .mat, .mtx, .zarr, or an ENVI image (.hdr).",
        show_default=False,
    ),
]
Anchors = Annotated[
    str,
    typer.Option(
        "--anchors",
        "-r",
        metavar="NUMBER",
        help='How many anchors; "auto" asks the data, and says what it saw.',
        show_default=False,
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help="auto needs no option; the others: sepnmf compare FILE -r N tries them all.",
        autocompletion=method_names,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An option of the method, e.g. --set lam=0.001 --set rho=0.01,0.01,0.01. Can be repeated.",
        show_default=False,
    ),
]
Along = Annotated[Axis, typer.Option("--axis", help="Choose among the columns or among the rows.")]
Normalize = Annotated[
    Scale, typer.Option("--normalize", help="Divide the columns by their sums before choosing, or not.")
]
Negative = Annotated[
    Sign, typer.Option("--negative", help="Refuse negative entries, set them to zero, or keep them.")
]
Variable = Annotated[
    str | None,
    typer.Option("--variable", help="Which variable of a .mat or .npz file.", show_default=False),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a .csv or .tsv file has names; found out if not said.",
        show_default=False,
    ),
]
Index = Annotated[
    bool | None,
    typer.Option(
        "--index/--no-index",
        help="Whether the first column of a .csv or .tsv file has names; found out if not said.",
        show_default=False,
    ),
]
Shape = Annotated[
    str | None,
    typer.Option(
        "--shape",
        metavar="LINESxSAMPLES",
        help="If the columns of a matrix are the pixels of an image, its shape, e.g. 95x95.",
        show_default=False,
    ),
]
Picture = Annotated[
    str | None,
    typer.Option(
        "--picture",
        metavar="HEIGHTxWIDTH",
        help="If each column is itself a picture, its shape, for the report.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        help="Where to write; by default a folder named after the file.",
        show_default=False,
    ),
]
Report = Annotated[
    bool, typer.Option("--report", help="Also write report.html, a page to look at and to show.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="For methods that draw random numbers.")]
SumToOne = Annotated[bool, typer.Option("--sum-to-one", help="Weights of a pixel sum to one.")]
Vocabulary = Annotated[
    Path, typer.Option("--vocab", metavar="FILE", help="The words, one a line.", show_default=False)
]
Words = Annotated[int, typer.Option("--words", min=1, help="Words to show of a topic.")]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        help="Only this method. Can be repeated; without, all that need no option.",
        autocompletion=method_names,
        show_default=False,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory to use on a machine, e.g. 2GB: ENVI, .npy and .zarr are read in parts that suit it.",
        show_default=False,
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Work on the Dask cluster with this scheduler, e.g. tcp://10.0.0.1:8786; local starts one here. "
        "For ENVI, .npy and .zarr, which its workers must know by the same path. With several machines, "
        ".zarr is the safe choice: no two of them write to one file.",
        show_default=False,
    ),
]
