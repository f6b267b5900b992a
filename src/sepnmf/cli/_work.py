"""Functions that the commands on files share: reading, selecting, comparing, writing."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepnmf.cli._app import UserError, command_line, print_error, versions
from sepnmf.cli._options import Axis, Scale
from sepnmf.cli._progress import bar, passing, watched

if TYPE_CHECKING:
    from sepnmf._typing import Floats
    from sepnmf.io import Data
    from sepnmf.matrix import Matrix
    from sepnmf.selection import Selection


def load(file: Path, *, shape: str | None = None, axis: Axis = Axis.columns, **options: Any) -> "Data":
    """Read a file with `sepnmf.io.read`; with `axis` rows, the data are transposed."""
    from sepnmf.io import read

    data = read(file, shape=None if shape is None else parse_shape(shape, "--shape"), **options)
    return data.transposed() if axis is Axis.rows else data


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


def number_of_anchors(matrix: "Matrix", text: str, seed: int) -> int:
    """Return the given number of anchors; for "auto", estimate it and print the evidence."""
    from sepnmf.tuning import estimate_rank

    if text.isdigit() and int(text) > 0:
        return int(text)
    if text != "auto":
        raise UserError(f'--anchors must be a positive integer or "auto", got {text!r}.')
    with bar() as progress:
        progress.add_task("number of anchors", total=None, now="")
        estimate = estimate_rank(matrix, random_state=seed)
    interval = "" if estimate.certain else f" to {estimate.high}; {estimate.low} is used, -r sets another"
    print_error(f"{estimate.evidence} Anchors: {estimate.low}{interval}.")
    return estimate.low


def find_anchors(
    matrix: "Matrix", anchors: str, method: str, normalize: Scale, seed: int, options: dict[str, Any]
) -> tuple["Selection", float]:
    """Select anchors and return the selection and its fit; progress bars are shown meanwhile."""
    from sepnmf._overview import choose
    from sepnmf.metrics import rae
    from sepnmf.registry import find_method

    r = number_of_anchors(matrix, anchors, seed)
    record = find_method(method, "--method")
    with watched(record, options) as watching:
        seeds = watching.pop("random_state", seed) if "random_state" in record.options else seed
        scaled = matrix.normalised(normalize.value)
        sel = choose(scaled, r, record.name, random_state=seeds, **watching)
    with passing():
        return sel, rae(matrix, sel.anchors)


def compare_methods(
    data: "Data", matrix: "Matrix", r: int, names: list[str] | None, normalize: Scale, seed: int
) -> list[dict[str, Any]]:
    """Run methods one after another (see `sepnmf._overview.compare`) and show a progress bar."""
    from sepnmf._overview import compare

    with bar() as progress:
        task = progress.add_task("comparing methods", total=None, now="")

        def on_progress(name: str, done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, now=name)

        scale = normalize is Scale.l1
        label = data.column_label
        return compare(matrix, r, names, scale=scale, random_state=seed, label=label, on_progress=on_progress)


def anchor_rows(data: "Data", sel: "Selection") -> list[dict[str, Any]]:
    """Return the rank, column, name and score of each anchor, and its line and sample in an image."""
    rows = []
    for rank, column in enumerate(sel.anchors.tolist(), start=1):
        row = {"rank": rank, "column": column, "name": data.column_label(column)}
        if data.image_shape is not None:
            row |= dict(zip(("line", "sample"), data.pixel(column), strict=True))
        rows.append(row | {"score": float(sel.scores[column])})
    return rows


def record(data: "Data", sel: "Selection", fit: float, **more: Any) -> dict[str, Any]:
    """Return the contents of anchors.json: the selection, its fit, and how it was computed."""
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
        "anchors": anchor_rows(data, sel),
        **more,
        "command": command_line(),
        "versions": versions(),
    }


def folder_for(file: Path, out: Path | None, what: str) -> Path:
    """Create and return the output folder; by default it is named after the file."""
    folder = out if out is not None else Path(f"{file.stem}-{what}")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder: choose another name with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_text(path: Path, text: str) -> Path:
    """Write a text file, which appears only when it is complete."""
    from sepnmf.io._cubes import replacing

    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="")
    return path


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows(rows)
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
    """Write the anchors' columns as a CSV file with one line per row of the data."""
    names: Sequence[Any] = data.wavelengths or data.row_names or range(len(W))
    head = "wavelength" if data.wavelengths else "row"
    return write_csv(
        path, [head, *labels], ([name, *row] for name, row in zip(names, W.tolist(), strict=True))
    )
