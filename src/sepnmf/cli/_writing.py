"""The files that the commands write: anchors, columns, weights, and how they were computed."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepnmf.cli._app import command_line, versions
from sepnmf.cli._output import output
from sepnmf.cli._progress import stage

if TYPE_CHECKING:
    from sepnmf._typing import Floats
    from sepnmf.io import Data
    from sepnmf.matrix import Matrix
    from sepnmf.selection import Selection

MOST_WEIGHTS = 20_000  # columns up to which their weights are written as a table
MOST_ROWS = 100_000  # rows up to which the anchors' columns are written as a table


def anchor_rows(data: "Data", sel: "Selection") -> list[dict[str, Any]]:
    """Return the rank, column, name and score of each anchor, and its line and sample in an image."""
    rows = []
    for rank, column in enumerate(sel.anchors.tolist(), start=1):
        row = {"rank": rank, "column": column, "name": data.column_label(column)}
        if data.image_shape is not None:
            row |= dict(zip(("line", "sample"), data.pixel(column), strict=True))
        row["score"] = float(sel.scores[column])
        if sel.stability is not None:
            row["stability"] = float(sel.stability[rank - 1])
        rows.append(row)
    return rows


def counted_from(data: "Data") -> dict[str, int]:
    """Return the index of the first column, and of the first line, sample and band of an image."""
    image = {"line": 0, "sample": 0, "band": 1} if data.image_shape is not None else {"row": 0}
    return {"column": 0} | image


def record(data: "Data", sel: "Selection", fit: float, **more: Any) -> dict[str, Any]:
    """Return the contents of anchors.json: the selection, its fit, and how it was computed."""
    from sepnmf._overview import doubts

    return {
        "file": str(data.file),
        "variable": data.variable or None,
        "rows": int(data.M.shape[0]),
        "columns": int(data.M.shape[1]),
        "method": sel.method,
        "status": sel.status,
        "converged": sel.converged,
        "seconds": round(sel.seconds, 6),
        "fit": fit,
        "noise": str(sel.history["noise"][0]) if "noise" in sel.history else None,
        "left_out": list(data.left_out),
        "assumptions": list(data.assumptions),
        "warnings": list(doubts(sel, fit, data)),
        "counted_from": counted_from(data),
        "anchors": anchor_rows(data, sel),
        **more,
        "command": command_line(),
        "versions": versions(),
    }


def new_folder(
    file: Path, out: Path | None, what: str, writes: Sequence[str], *others: Path | None
) -> AbstractContextManager[Path]:
    """Return a context with the folder to write to (see `output`); by default it is named after the file.

    `writes` are patterns of the names of the files that are written, `others` files that are read besides.
    Results of another file in the default folder are not replaced.
    """
    folder = out if out is not None else Path(f"{file.stem}-{what}")
    reads = [path for path in (file, *others) if path is not None]
    return output(folder, writes, reads, is_default=out is None)


def write_text(path: Path, text: str) -> Path:
    """Write a text file, which appears only when it is complete."""
    from sepnmf.io._filling import replacing

    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="")
    return path


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a CSV file; texts that a spreadsheet would take for formulas begin with an apostrophe."""
    from sepnmf.io._guards import harmless

    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([harmless(cell) for cell in row] for row in (head, *rows))
    return write_text(path, text.getvalue())


def write_json(path: Path, content: Any) -> Path:
    """Write an indented JSON file."""
    return write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def write_anchors(folder: Path, data: "Data", sel: "Selection", content: dict[str, Any]) -> list[Path]:
    """Write anchors.csv and anchors.json, and history.csv if the method recorded a history."""
    rows = anchor_rows(data, sel)
    table = write_csv(folder / "anchors.csv", list(rows[0]), [list(row.values()) for row in rows])
    paths = [table, write_json(folder / "anchors.json", content)]
    if sel.history:
        steps = zip(*(values.tolist() for values in sel.history.values()), strict=True)
        paths.append(write_csv(folder / "history.csv", list(sel.history), steps))
    return paths


def write_columns(path: Path, data: "Data", W: "Floats", labels: Sequence[str]) -> Path:
    """Write the anchors' columns as a CSV file with one line per row that is used."""
    is_image = data.image_shape is not None
    used = range(data.M.shape[0]) if data.row_mask is None else data.row_mask.nonzero()[0].tolist()
    numbers = [row + is_image for row in used]
    names: Sequence[Any] = data.used_wavelengths() or data.used_row_names() or numbers
    head = "wavelength" if data.wavelengths else "band" if is_image else "row"
    return write_csv(
        path, [head, *labels], ([name, *row] for name, row in zip(names, W.tolist(), strict=True))
    )


def write_vertices(folder: Path, data: "Data", sel: "Selection") -> list[Path]:
    """Write what the anchors look like without noise, if it is known and has not very many rows."""
    if sel.vertices is None or len(sel.vertices) > MOST_ROWS:
        return []
    labels = data.column_labels(sel.anchors)
    return [write_columns(folder / "vertices.csv", data, sel.vertices, labels)]


def write_weights(
    folder: Path, data: "Data", matrix: "Matrix", sel: "Selection", of_vertices: bool
) -> list[Path]:
    """Write the anchors' columns and, of not too many columns, the weights; nothing of lazy data.

    The weights are those of the anchors, or of the vertices of the selection.

    Columns of very many rows are written as a NumPy array.
    """
    if matrix.lazy:
        return []
    import numpy as np

    from sepnmf.io._cubes import write_table
    from sepnmf.least_squares import nnls

    W, labels = matrix.at(sel.anchors), data.column_labels(sel.anchors)
    if len(W) <= MOST_ROWS:
        paths = [write_columns(folder / "anchor_columns.csv", data, W, labels)]
    else:
        paths = [folder / "anchor_columns.npy"]
        np.save(paths[0], W)
    if data.M.shape[1] <= MOST_WEIGHTS:
        with stage("computing weights"):
            explaining = sel.vertices if of_vertices and sel.vertices is not None else W
            paths.append(write_table(folder / "weights", nnls(explaining, matrix), data, labels))
    return paths
