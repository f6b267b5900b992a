"""Functions that the commands on files share: reading, selecting, comparing."""

import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepnmf.cli._app import UserError, print_error
from sepnmf.cli._cluster import LOCAL
from sepnmf.cli._known import Asked, KnownColumns
from sepnmf.cli._options import Axis, Corners, Scale, Sign
from sepnmf.cli._progress import stage, watched

if TYPE_CHECKING:
    from sepnmf._typing import Floats
    from sepnmf.io import Data
    from sepnmf.matrix import Matrix
    from sepnmf.selection import Selection

MANY_ANCHORS = 100  # of more, a warning says that they take long


def load(file: Path, *, axis: Axis = Axis.columns, **options: Any) -> "Data":
    """Read a file with `sepnmf.io.read` and the options that are given; with `axis` rows, transpose it."""
    from sepnmf.io import ROWS_ARE_PIXELS, read

    given = reading_options(**options)
    with stage(f"reading {file.name}"):
        data = read(file, **given)
    if axis is Axis.rows and ROWS_ARE_PIXELS not in data.assumptions:  # then it is transposed already
        said = "Anchors are rows of the file (--axis rows); results call them columns."
        return replace(data.transposed(), assumptions=(*data.assumptions, said))
    return data


def reading_options(
    *, shape: str | None = None, nodata: list[str] | None = None, **options: Any
) -> dict[str, Any]:
    """Return options of the command line that are given as arguments of `sepnmf.io.read`."""
    given = {name: value for name, value in options.items() if value is not None}
    if shape is not None:
        given["shape"] = parse_shape(shape, "--shape")
    if nodata:
        given["nodata"] = ",".join(nodata)
    return given


def matrix_of(data: "Data", negative: Sign, anchors: str) -> tuple["Data", "Matrix"]:
    """Return the data and the rows and columns that are used; say what was left out and assumed, and warn.

    If negative entries are set to zero, the data say so.
    """
    from sepnmf._validation import check_rank

    with stage(f"checking the entries of {data.file.name}"):
        said = said_of_clipping(data) if negative is Sign.clip else ()
        data = replace(data, assumptions=data.assumptions + said)
        matrix = data.matrix(negative.value)
    r = check_anchors(anchors)
    if r is not None:
        check_rank(r, matrix.shape[1])
        data = replace(data, warnings=data.warnings + said_of_many(r, matrix.shape[0], data))
    for sentence in (*data.left_out, *data.assumptions, *data.warnings):
        print_error(sentence)
    return data, matrix


def said_of_many(r: int, rows: int, data: "Data") -> tuple[str, ...]:
    """Return a warning if there are more anchors than rows, or so many that they take very long."""
    many = f"{r:,} anchors may take very long to find"
    if r > rows:
        what = "rows" if data.image_shape is None else "bands"
        many = (
            f"{r:,} anchors are more than the {rows:,} {what} can tell apart, and may take very long to find"
        )
    return (f"{many}: -r auto estimates how many the data hold.",) if r > min(rows, MANY_ANCHORS) else ()


def said_of_clipping(data: "Data") -> tuple[str, ...]:
    """Return how many entries are negative and the smallest, in a sentence; data in chunks are not read."""
    from sepnmf.matrix import is_lazy

    if is_lazy(data.M):
        return ("Negative entries are set to zero.",)
    matrix = data.matrix("allow").in_memory()
    least, count = matrix.extent()[0], int((matrix.values < 0).sum())
    if not count:
        return ()
    share = count / (matrix.shape[0] * matrix.shape[1])
    part = f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
    return (f"{count:,} entries ({part}) are negative, the smallest {least:.4g}, and are set to zero.",)


def parse_shape(text: str, option: str) -> tuple[int, int]:
    """Parse two positive integers separated by an x, such as 95x95."""
    sizes = text.lower().replace("×", "x").split("x")
    if len(sizes) != 2 or not all(size.strip().isdigit() and int(size) > 0 for size in sizes):
        raise UserError(f"{option} must be two numbers with an x between them, such as 95x95, got {text!r}.")
    return int(sizes[0]), int(sizes[1])


def method_options(given: list[str] | None) -> dict[str, Any]:
    """Parse NAME=VALUE texts; a value is a number, True, False, None, a word, or several with commas."""
    options: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UserError(f"--set must be NAME=VALUE, got {text!r}.")
        parts = [parse_value(part) for part in value.split(",")]
        options[name.strip().replace("-", "_")] = parts[0] if len(parts) == 1 else tuple(parts)
    return options


def parse_value(text: str) -> Any:
    """Return an int, a float, True, False or None if the text is one, otherwise the text itself."""
    word = text.strip()
    if word in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[word]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def check_request(
    file: Path,
    anchors: str,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    asked: Asked | None = None,
    *,
    memory: str | None = None,
    dask: str | None = None,
    pictures: bool = False,
    others: Iterable[Path | None] = (),
) -> None:
    """Refuse what would fail after the work.

    `pictures` is whether Matplotlib is needed, `others` are files that are read besides.
    """
    for path in (file, *others):
        if path is not None and not path.exists():
            raise UserError(f"there is no file {path}.")
    check_anchors(anchors)
    if memory is not None and dask != LOCAL:
        from sepnmf.io._memory import limits

        limits(memory)
    if pictures:
        from sepnmf.cli._pictures import pyplot

        pyplot()
    if method is not None:
        from sepnmf.registry import cannot_know, find_method

        record = find_method(method, "--method")
        record.check_options(options or {})
        if asked and not record.takes_known:
            raise UserError(cannot_know(record))


def check_anchors(text: str) -> int | None:
    """Return the given number of anchors, or None for "auto"."""
    if text == "auto":
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UserError(f'--anchors must be a positive integer or "auto", got {text!r}.')
    return int(text)


def number_of_anchors(matrix: "Matrix", text: str, seed: int, least: int = 0) -> tuple[int, str]:
    """Return the given number of anchors; for "auto", estimate it, print the reason and return it too.

    An estimate below the number of included columns, `least`, is replaced by this.
    """
    given = check_anchors(text)
    if given is not None:
        return given, ""
    from sepnmf._overview import with_measured
    from sepnmf.tuning import estimate_rank

    with stage("estimating the number of anchors"):
        estimate = with_measured(estimate_rank(matrix, random_state=seed), matrix, seed)
    r = max(estimate.low, least)
    more = "" if estimate.certain else f" {r} is used; -r sets another number."
    if r > estimate.low:
        more = f" {r} is used, the number of columns that are included."
    reason = f"{estimate.explanation}{more}"
    print_error(reason)
    return r, reason


def find_anchors(
    matrix: "Matrix",
    anchors: str,
    method: str,
    normalize: Scale,
    seed: int,
    options: dict[str, Any],
    known: KnownColumns,
    *,
    sum_to_one: bool = False,
    stability: bool = False,
    vertices: Corners | None = None,
) -> tuple["Selection", float, str]:
    """Select anchors; return the selection, its fit, with weights that sum to one if asked for, and a reason.

    `known` are columns that are anchors, and columns that are not. The reason says why there are so many
    anchors; it is empty if their number was given. With `stability`,
    the selection says how often each anchor comes back. With `vertices`, it has these, and the fit is theirs.
    """
    from sepnmf._overview import choose, fit_of
    from sepnmf.metrics import rae
    from sepnmf.registry import find_method

    r, reason = number_of_anchors(matrix, anchors, seed, len(known["include"]))
    record = find_method(method, "--method")
    with watched(record, options) as watching:
        seeds = watching.pop("random_state", seed) if "random_state" in record.options else seed
        scaled = matrix.normalised(normalize.value)
        sel = choose(scaled, r, record.name, random_state=seeds, **(watching | known))
    if stability:
        sel = with_stability(scaled, sel, seed, options)
    if sel.vertices is not None and normalize is Scale.l1:  # back to the scale of the file
        sums = abs(anchor_columns(matrix, sel)).sum(axis=0)
        sel = replace(sel, vertices=sel.vertices * sums, spread=sel.spread * sums)
    if vertices is not None:
        sel = with_vertices(matrix, sel, vertices, seed)
    with stage("computing the fit"):
        if sum_to_one or vertices is not None:
            return sel, fit_of(matrix, anchor_columns(matrix, sel, vertices), sum_to_one), reason
        return sel, rae(matrix, sel.anchors), reason


def with_vertices(matrix: "Matrix", sel: "Selection", kind: Corners, seed: int) -> "Selection":
    """Return the selection with vertices that are computed from its anchors."""
    from sepnmf.vertices import archetypes, minimum_volume

    if matrix.lazy:
        raise UserError("--vertices needs data that fit into memory: omit it or raise --memory.")
    compute = minimum_volume if kind is Corners.minimum_volume else archetypes
    with stage(f"computing vertices ({kind.value})"), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = compute(matrix, sel, random_state=seed)
    for sentence in dict.fromkeys(str(warning.message) for warning in said):
        print_error(sentence)
    return found


def with_vertices_noted(data: "Data", kind: Corners | None) -> "Data":
    """Return the data with a sentence that vertices take the place of the anchors, if they do."""
    if kind is None:
        return data
    said = {
        Corners.minimum_volume: "vertices of the smallest cone around the data (--vertices minimum-volume)",
        Corners.archetypes: "convex combinations of columns (--vertices archetypes)",
    }[kind]
    sentence = f"Weights and fit are of {said}, each computed from an anchor, and not of the anchors."
    print_error(sentence)
    return replace(data, assumptions=(*data.assumptions, sentence))


def check_stability(stability: bool, method: str, asked: Asked) -> None:
    """Refuse --stability for another method than auto, and with columns that are included or excluded."""
    if stability and method != "auto":
        raise UserError(f"--stability is for --method auto, got {method!r}.")
    if stability and asked:
        raise UserError("--stability draws all anchors again: omit it, or --include and --exclude.")


def with_stability(matrix: "Matrix", sel: "Selection", seed: int, options: dict[str, Any]) -> "Selection":
    """Return the selection of auto with how often each anchor comes back."""
    from sepnmf.tuning import stability

    if matrix.lazy:
        raise UserError("--stability needs data that fit into memory: omit it or raise --memory.")
    known = {name: options[name] for name in ("normalize", "noise") if name in options}
    with stage("drawing the data again"):
        again = stability(matrix, len(sel.anchors), negative="allow", random_state=seed, **known)
    return replace(sel, stability=again.stability)


def with_reason(data: "Data", reason: str) -> "Data":
    """Return the data with the reason for the number of anchors among what is assumed."""
    return replace(data, assumptions=(*data.assumptions, reason)) if reason else data


def anchor_columns(matrix: "Matrix", sel: "Selection", vertices: Corners | None = None) -> "Floats":
    """Return the columns of the anchors, or the vertices in place of them, in the rows that are used."""
    return matrix.at(sel.anchors) if vertices is None or sel.vertices is None else sel.vertices


def compare_methods(
    data: "Data",
    matrix: "Matrix",
    r: int,
    names: list[str] | None,
    normalize: Scale,
    seed: int,
    known: KnownColumns,
    *,
    sum_to_one: bool = False,
) -> list[dict[str, Any]]:
    """Run methods one after another (see `sepnmf._overview.compare`) and show a progress bar."""
    from sepnmf._overview import compare

    with stage("comparing methods", unit="methods") as update:
        return compare(
            matrix,
            r,
            names,
            scale=normalize is Scale.l1,
            sum_to_one=sum_to_one,
            random_state=seed,
            known=known,
            label=data.column_label,
            on_progress=lambda name, done, total: update(completed=done, total=total, now=name),
        )
