"""What the commands on files show: a table or JSON, and the report."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepnmf.cli import _work as work
from sepnmf.cli._app import command_line, print_line, show_json, show_table, versions
from sepnmf.cli._known import KnownColumns
from sepnmf.cli._options import Scale
from sepnmf.cli._progress import stage

if TYPE_CHECKING:
    from sepnmf._typing import Floats
    from sepnmf.io import Data
    from sepnmf.matrix import Matrix
    from sepnmf.selection import Selection

SMALL_MATRIX = 5_000_000  # entries up to which a report compares the fast methods
ANCHOR_HEAD = {"": "right", "column": "right", "name": "left", "score": "right"}
# Said below a table, by whether the data are an image.
COUNTED = {
    False: "Columns are counted from 0.",
    True: "Columns, lines and samples are counted from 0.",
}


def show(
    data: "Data",
    sel: "Selection",
    content: dict[str, Any],
    paths: list[Path],
    as_json: bool,
    head: dict[str, str] = ANCHOR_HEAD,
    rows: list[list[str]] | None = None,
) -> None:
    """Print the result as JSON, or as a table (by default of the anchors) with a summary below it."""
    if as_json:
        show_json(content)
        return
    note = ""
    if rows is None and content.get("axis") == "rows":
        head = {("row" if title == "column" else title): side for title, side in head.items()}
    if rows is None:
        rows = [
            [str(row["rank"]), str(row["column"]), row["name"], f"{row['score']:.4g}"]
            for row in content["anchors"]
        ]
        if sel.stability is not None:
            head = head | {"stability": "right"}
            rows = [[*cells, f"{share:.0%}"] for cells, share in zip(rows, sel.stability, strict=True)]
        note = COUNTED["line" in content["counted_from"]]
        note = note if "row" not in head else "Rows are counted from 0."
    show_table(head, rows)
    if note:
        print_line(note)
    kind = "" if content.get("noise") in (None, "none") else f"noise: {content['noise']}, "
    run = f"{sel.method}, {kind}{sel.status}, {sel.seconds:.2f} s"
    fit = content["fit"]
    print_line(f"The anchors explain {fit:.2%} of the data; {1 - fit:.2%} is unexplained ({run}).")
    for sentence in content["warnings"]:
        if sentence not in data.warnings:  # they are printed when the file has been read
            print_line(sentence)
    print_line(f"Written: {', '.join(map(str, paths))}")


def write_page(
    folder: Path,
    data: "Data",
    M: "Matrix",
    sel: "Selection",
    W: "Floats",
    fit: float,
    normalize: Scale,
    seed: int,
    known: KnownColumns,
    *,
    sum_to_one: bool = False,
    **more: Any,
) -> Path:
    """Write report.html; maps and a comparison of fast methods are computed unless they are in `more`."""
    from sepnmf import _overview as overview
    from sepnmf.registry import METHODS, ready_methods
    from sepnmf.report import Contents, write_report

    labels = tuple(data.column_labels(sel.anchors))
    if "maps" not in more and data.image_shape is not None:
        with stage("computing maps"):
            more["maps"] = overview.maps_from(data, M, W, sum_to_one)
    if "comparison" not in more and not M.lazy and M.shape[0] * M.shape[1] <= SMALL_MATRIX:
        omitted = ("auto", sel.method)
        quick = [name for name in ready_methods() if METHODS[name].quick_up_to is None]
        fast = [name for name in quick if name not in omitted]
        if any(known.values()):
            fast = [name for name in fast if METHODS[name].takes_known]
        r = len(labels)
        others = work.compare_methods(data, M, r, fast, normalize, seed, known, sum_to_one=sum_to_one)
        own = {"method": sel.method, "anchors": list(labels), "fit": fit, "seconds": sel.seconds}
        more["comparison"] = [own | {"status": sel.status, "failure": None}, *others]
    with stage("writing report.html"):
        contents = Contents(
            data=data,
            selection=sel,
            labels=labels,
            anchor_columns=W,
            summary=overview.summary(data),
            fit=fit,
            warnings=overview.doubts(sel, fit, data),
            notes=(*data.left_out, *data.assumptions),
            picture=None if data.image_shape is None else overview.scene(data),
            curve=overview.curve_of_residuals(M),
            command=command_line(),
            versions=versions(),
            **more,
        )
        return write_report(folder / "report.html", contents)
