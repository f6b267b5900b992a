"""What the commands on files share: reading, choosing, writing."""

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepnmf.cli._app import UserError, command_line, complain, versions
from sepnmf.cli._options import Axis, Scale
from sepnmf.cli._progress import bar, watched

if TYPE_CHECKING:
    from sepnmf._typing import Floats
    from sepnmf.io import Data
    from sepnmf.matrix import Matrix
    from sepnmf.selection import Selection


def load(
    file: Path,
    *,
    variable: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    shape: str | None = None,
    axis: Axis = Axis.columns,
    memory: str | None = None,
    in_parts: bool = False,
) -> "Data":
    """What is in a file, with what is to be chosen among as columns."""
    from sepnmf.io import read

    sides = None if shape is None else two_sides(shape, "--shape")
    data = read(
        file,
        variable=variable,
        header=header,
        index=index,
        shape=sides,
        memory=memory,
        in_parts=in_parts,
    )
    return data.transposed() if axis is Axis.rows else data


def two_sides(text: str, option: str) -> tuple[int, int]:
    """Two whole numbers with an x between them."""
    sides = text.lower().replace("×", "x").split("x")
    if len(sides) != 2 or not all(side.strip().isdigit() and int(side) > 0 for side in sides):
        raise UserError(f"{option} must be two numbers with an x between them, such as 95x95, got {text!r}.")
    return int(sides[0]), int(sides[1])


def method_options(given: list[str] | None) -> dict[str, Any]:
    """NAME=VALUE as an option: a number, several numbers, a truth value or a word."""
    options: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UserError(f"--set wants NAME=VALUE, got {text!r}.")
        parts = [number_or_word(part) for part in value.split(",")]
        options[name.strip().replace("-", "_")] = parts[0] if len(parts) == 1 else tuple(parts)
    return options


def number_or_word(text: str) -> Any:
    """An int, a float, True, False, None or the word itself."""
    word = text.strip()
    if word in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[word]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def how_many(matrix: "Matrix", text: str, seed: int) -> int:
    """Return the number of anchors: as given, or the smallest that the data allow, with what they show."""
    from sepnmf.tuning import estimate_rank

    if text.isdigit() and int(text) > 0:
        return int(text)
    if text != "auto":
        raise UserError(f'--anchors must be a number from 1 on, or "auto", got {text!r}.')
    with bar() as progress:
        progress.add_task("how many anchors", total=None, now="")
        estimate = estimate_rank(matrix, random_state=seed)
    several = "" if estimate.certain else f" to {estimate.high}; {estimate.low} is taken, -r chooses another"
    complain(f"{estimate.evidence} Anchors: {estimate.low}{several}.")
    return estimate.low


def choose(
    matrix: "Matrix", r: int, method: str, normalize: Scale, seed: int, options: dict[str, Any]
) -> "Selection":
    """Return a selection, and show a bar while it is made."""
    from sepnmf._overview import choose
    from sepnmf.registry import find_method

    record = find_method(method, "--method")
    with watched(record, options) as watching:
        seeds = watching.pop("random_state", seed) if "random_state" in record.options else seed
        return choose(matrix.normalised(normalize.value), r, record.name, random_state=seeds, **watching)


def anchor_rows(data: "Data", sel: "Selection") -> list[dict[str, Any]]:
    """Per anchor: rank, column, name, score, and its place in the image."""
    rows = []
    for rank, column in enumerate(sel.anchors.tolist(), start=1):
        row = {"rank": rank, "column": column, "name": data.column_label(column)}
        if data.image_shape is not None:
            row |= dict(zip(("line", "sample"), data.pixel(column), strict=True))
        rows.append(row | {"score": float(sel.scores[column])})
    return rows


def record(data: "Data", sel: "Selection", fit: float, **more: Any) -> dict[str, Any]:
    """What a machine wants to know of a selection, and what made it."""
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
    """Where to write: what the user says, or a folder here that is named after the file."""
    folder = out if out is not None else Path(f"{file.stem}-{what}")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder: choose another name with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_text(path: Path, text: str) -> Path:
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", newline="")
    part.replace(path)
    return path


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a table."""
    import io

    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows(rows)
    return write_text(path, text.getvalue())


def write_json(path: Path, content: Any) -> Path:
    """Write JSON to be read by people too."""
    return write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def write_anchors(folder: Path, data: "Data", sel: "Selection", content: dict[str, Any]) -> list[Path]:
    """anchors.csv and anchors.json, and history.csv where there is a history."""
    rows = anchor_rows(data, sel)
    table = write_csv(folder / "anchors.csv", list(rows[0]), [list(row.values()) for row in rows])
    paths = [table, write_json(folder / "anchors.json", content)]
    if sel.history:
        steps = zip(*(values.tolist() for values in sel.history.values()), strict=True)
        paths.append(write_csv(folder / "history.csv", list(sel.history), steps))
    return paths


def write_columns(path: Path, data: "Data", W: "Floats", labels: Sequence[str]) -> Path:
    """The anchors' columns as a table with a line per row of the data, headed by names."""
    names: Sequence[Any] = data.wavelengths or data.row_names or range(len(W))
    head = "wavelength" if data.wavelengths else "row"
    return write_csv(
        path, [head, *labels], ([name, *row] for name, row in zip(names, W.tolist(), strict=True))
    )
