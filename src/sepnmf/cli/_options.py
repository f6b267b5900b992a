"""Arguments and options of the commands on files: names, types and help texts."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., None])

unset = partial(typer.Option, show_default=False)  # an option whose default is described by its help text


class Axis(StrEnum):
    """Whether anchors are columns or rows."""

    columns = "columns"
    rows = "rows"


class Scale(StrEnum):
    """How columns are normalised before anchors are selected."""

    l1 = "l1"
    none = "none"


class Sign(StrEnum):
    """How negative entries are handled."""

    error = "error"
    clip = "clip"
    allow = "allow"


class Corners(StrEnum):
    """Vertices that are computed from the anchors, in place of these."""

    minimum_volume = "minimum-volume"
    archetypes = "archetypes"


def method_names(incomplete: str) -> list[str]:
    """Return the methods whose names begin with `incomplete`, for tab completion."""
    from sepnmf.registry import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


FILE_HELP = (
    "Matrix or image: .npy, .npz, .csv, .tsv, .txt, .parquet, .mat, .mtx, .zarr, ENVI (.hdr), "
    "GeoTIFF (.tif), NetCDF (.nc), HDF5 (.h5), AnnData (.h5ad)."
)
ANCHORS_HELP = (
    "Number of anchors (pure pixels, anchor words, …) to find; auto estimates it from the data and says why."
)
METHOD_HELP = (
    "Selection method; auto needs no options. sepnmf methods lists all, sepnmf compare FILE -r N runs them."
)
METHODS_HELP = "Run only this method; can be repeated. By default all methods that need no option are run."
SET_HELP = (
    "Option of the method, e.g. --set lam=0.001 --set rho=0.01,0.01,0.01. Can be repeated. sepnmf methods "
    "--json lists them."
)
VARIABLE_HELP = (
    "Name of the array to read if FILE has several (.mat, .npz, NetCDF, HDF5, .zarr), e.g. cube or "
    "group/cube; by default the only matrix or image. Of .h5ad: raw, a layer or an entry of obsm; by default "
    "X."
)
NAMES_HELP = "Whether the first {} of a .csv or .tsv file contains names; by default this is detected."
DECIMAL_HELP = "Decimal separator of a .csv, .tsv or text file, a point or a comma; by default detected."
OMIT_HELP = "Column of a table that is not data, e.g. a class; it is left out, as text is. Can be repeated."
LABELS_HELP = "Names of the {} of FILE: a text file with one name per line, or a variable of FILE."
NORMALIZE_HELP = "Divide columns by their sums before the selection (l1), so that brightness does not count."
MASK_HELP = (
    "File with one number per pixel (lines × samples), in any format. Pixels where it is zero are left out."
)
NODATA_HELP = (
    "Value of pixels without data, e.g. -9999, nan or 0,65535; they are left out. Can be repeated. By "
    "default the value that FILE declares."
)
BANDS_HELP = "Bands to use, counted from 1 as in ENVI, e.g. 1-100,115-150; by default all but bad ones."
AXES_HELP = (
    "Order of the axes of an array of three dimensions, e.g. bands,lines,samples; by default that of the "
    "names of its dimensions, or lines,samples,bands."
)
ORDER_HELP = (
    "Order of the pixels with --shape: C, line by line, or F, sample by sample, as in MATLAB; by default F "
    "for .mat files and C for others."
)
INCLUDE_HELP = (
    "Columns that are anchors, with commas between them: indices, names, or line:sample of an image, e.g. "
    "12,asphalt,40:7. Numbers are indices, counted from 0; a name with a comma is put in quotation marks."
)
EXCLUDE_HELP = "Columns that are no anchors, as for --include; they are still to be explained."
ANCHOR_LABELS_HELP = "What you call the columns of --include, in their order, e.g. soil,tree,water."
INCLUDED_WORDS_HELP = "Words that are anchor words, with commas between them."
EXCLUDED_WORDS_HELP = "Words that are no anchor words, with commas between them."
SHAPE_HELP = "Shape of the image if the columns of the matrix are its pixels, e.g. 95x95."
PICTURE_HELP = "Shape of the images in the report if each column is an image."
STABILITY_HELP = (
    "Show how often each anchor is found again in twenty runs, each on a part of the columns and with more "
    "noise if there is any (only with auto)."
)
VERTICES_HELP = (
    "Use vertices that are no columns in place of the anchors: of the smallest cone around the data "
    "(minimum-volume, if no column is pure), or convex combinations of columns (archetypes)."
)
MEMORY_HELP = (
    "Memory limit per machine, e.g. 2GB. ENVI, GeoTIFF, NetCDF, HDF5, .npy, .zarr and .h5ad files are read "
    "in chunks that fit."
)
OUT_HELP = (
    "Output folder; by default a folder in the working folder that is named after FILE and the command."
)
DASK_HELP = (
    "Run on the Dask cluster with this scheduler, e.g. tcp://10.0.0.1:8786; local starts a cluster on this "
    "machine. FILE must have one of the formats of --memory, and workers must find it under the same path. "
    "With several machines use .zarr: no two of them write to the same file."
)
TEXTS_HELP = (
    "Folder of .txt files, .txt file with one document per line, .csv or .tsv file (--text-column), or word "
    "counts in any format of sepnmf select."
)
VOCABULARY_HELP = "Text file with one word per line, for counts without names."
TEXT_COLUMN_HELP = "Column of a .csv or .tsv file that contains the documents."
MIN_DF_HELP = (
    "Leave out words in fewer documents than this: a number (5) or a fraction (0.01). By default 0.5 % of "
    "the documents, and at least 5 (2 if there are fewer than 100 documents)."
)
MAX_DF_HELP = "Leave out words in more documents than this: a number or a fraction; by default half of them."
STOP_WORDS_HELP = "Words to leave out; by default english if texts look English, and none for word counts."

Texts = Annotated[Path, typer.Argument(metavar="FILE", help=TEXTS_HELP, show_default=False)]
File = Annotated[Path, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)]
Anchors = Annotated[str, unset("--anchors", "-r", metavar="NUMBER", help=ANCHORS_HELP)]
Method = Annotated[str, typer.Option("--method", "-m", help=METHOD_HELP, autocompletion=method_names)]
Methods = Annotated[list[str] | None, unset("--method", "-m", help=METHODS_HELP, autocompletion=method_names)]
Set = Annotated[list[str] | None, unset("--set", metavar="NAME=VALUE", help=SET_HELP)]
Along = Annotated[Axis, typer.Option("--axis", help="Select anchors among the columns or among the rows.")]
Normalize = Annotated[Scale, typer.Option("--normalize", help=NORMALIZE_HELP)]
Negative = Annotated[
    Sign, typer.Option("--negative", help="Refuse negative entries, set them to zero, or keep them.")
]
Include = Annotated[str | None, unset("--include", metavar="COLUMNS", help=INCLUDE_HELP)]
Exclude = Annotated[str | None, unset("--exclude", metavar="COLUMNS", help=EXCLUDE_HELP)]
Labels = Annotated[str | None, unset("--labels", metavar="NAMES", help=ANCHOR_LABELS_HELP)]
IncludedWords = Annotated[str | None, unset("--include", metavar="WORDS", help=INCLUDED_WORDS_HELP)]
ExcludedWords = Annotated[str | None, unset("--exclude", metavar="WORDS", help=EXCLUDED_WORDS_HELP)]
Variable = Annotated[str | None, unset("--variable", metavar="NAME", help=VARIABLE_HELP)]
Header = Annotated[bool | None, unset("--header/--no-header", help=NAMES_HELP.format("line"))]
Index = Annotated[bool | None, unset("--index/--no-index", help=NAMES_HELP.format("column"))]
Decimal = Annotated[str | None, unset("--decimal", metavar=".|,", help=DECIMAL_HELP)]
Omit = Annotated[list[str] | None, unset("--omit", metavar="NAME", help=OMIT_HELP)]
Names = Annotated[str | None, unset("--names", metavar="FILE|VARIABLE", help=LABELS_HELP.format("columns"))]
RowNames = Annotated[
    str | None, unset("--row-names", metavar="FILE|VARIABLE", help=LABELS_HELP.format("rows or bands"))
]
Mask = Annotated[Path | None, unset("--mask", metavar="FILE", help=MASK_HELP)]
Nodata = Annotated[list[str] | None, unset("--nodata", metavar="VALUE|nan", help=NODATA_HELP)]
Bands = Annotated[str | None, unset("--bands", metavar="RANGES", help=BANDS_HELP)]
Axes = Annotated[str | None, unset("--axes", metavar="ORDER", help=AXES_HELP)]
Order = Annotated[str | None, unset("--order", metavar="C|F", help=ORDER_HELP)]
Shape = Annotated[str | None, unset("--shape", metavar="LINESxSAMPLES", help=SHAPE_HELP)]
Picture = Annotated[str | None, unset("--picture", metavar="HEIGHTxWIDTH", help=PICTURE_HELP)]
Out = Annotated[Path | None, unset("--out", metavar="FOLDER", help=OUT_HELP)]
Report = Annotated[bool, typer.Option("--report", help="Also write report.html, an interactive page.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of methods that use random numbers.")]
Stability = Annotated[bool, typer.Option("--stability", help=STABILITY_HELP)]
Vertices = Annotated[Corners | None, unset("--vertices", help=VERTICES_HELP)]
SumToOne = Annotated[bool, typer.Option("--sum-to-one", help="Make the weights of each pixel sum to one.")]
Vocabulary = Annotated[Path | None, unset("--vocab", metavar="FILE", help=VOCABULARY_HELP)]
TextColumn = Annotated[str | None, unset("--text-column", metavar="NAME", help=TEXT_COLUMN_HELP)]
MinDf = Annotated[str | None, unset("--min-df", metavar="NUMBER", help=MIN_DF_HELP)]
MaxDf = Annotated[str | None, unset("--max-df", metavar="NUMBER", help=MAX_DF_HELP)]
StopWords = Annotated[str | None, unset("--stop-words", metavar="english|none|FILE", help=STOP_WORDS_HELP)]
Words = Annotated[int, typer.Option("--words", min=1, help="Number of words to show per topic.")]
Memory = Annotated[str | None, unset("--memory", metavar="SIZE", help=MEMORY_HELP)]
Dask = Annotated[str | None, unset("--dask", metavar="ADDRESS", help=DASK_HELP)]

# How a table is read, and an image: arguments of `sepnmf.io.read`, in the order of the help.
TABLE = {
    "variable": Variable,
    "header": Header,
    "index": Index,
    "decimal": Decimal,
    "omit": Omit,
    "names": Names,
    "row_names": RowNames,
    "mask": Mask,
    "nodata": Nodata,
    "bands": Bands,
    "axes": Axes,
    "order": Order,
    "shape": Shape,
}
IMAGE = {name: kind for name, kind in TABLE.items() if name not in ("header", "index", "decimal", "omit")}


def reading(options: dict[str, Any], before: str) -> Callable[[Command], Command]:
    """Give a command, which gets them as `**reading`, the options of reading a file, before another one."""

    def decorate(command: Command) -> Command:
        *own, _ = inspect.signature(command).parameters.values()
        place = [parameter.name for parameter in own].index(before)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        own[place:place] = [
            inspect.Parameter(name, kind, default=None, annotation=option) for name, option in options.items()
        ]
        command.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in own}
        return command

    return decorate
