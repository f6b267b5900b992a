"""The commands on files: select, unmix, topics, compare; and demo."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepnmf.cli import _cluster as cluster
from sepnmf.cli import _options as opt
from sepnmf.cli import _work as work
from sepnmf.cli._app import UserError, app, command_line, say, show_json, show_table, versions
from sepnmf.cli._options import Axis, Scale, Sign
from sepnmf.cli._progress import bar, passing

if TYPE_CHECKING:
    from sepnmf._typing import Floats
    from sepnmf.io import Data
    from sepnmf.matrix import Matrix
    from sepnmf.selection import Selection

FEW = 5_000_000  # entries; up to here a report compares the quick methods


@app.command()
def select(
    file: opt.File,
    anchors: opt.Anchors,
    method: opt.Method = "auto",
    set_: opt.Set = None,
    axis: opt.Along = Axis.columns,
    normalize: opt.Normalize = Scale.none,
    negative: opt.Negative = Sign.error,
    variable: opt.Variable = None,
    header: opt.Header = None,
    index: opt.Index = None,
    shape: opt.Shape = None,
    picture: opt.Picture = None,
    out: opt.Out = None,
    report: opt.Report = False,
    as_json: opt.Json = False,
    seed: opt.Seed = 0,
    memory: opt.Memory = None,
    dask: opt.Dask = None,
) -> None:
    """Find the columns that explain all the others.

    Shows the anchors with their names, scores and fit, and writes them as anchors.csv and anchors.json.
    """
    from sepnmf.matrix import as_matrix
    from sepnmf.metrics import rae

    sides = None if picture is None else work.two_sides(picture, "--picture")
    given = work.method_options(set_)
    with cluster.connected(dask, memory):
        data = work.load(
            file,
            variable=variable,
            header=header,
            index=index,
            shape=shape,
            axis=axis,
            memory=memory,
            in_parts=dask is not None,
        )
        M = as_matrix(data.M, negative.value)
        r = work.how_many(M, anchors, seed)
        sel = work.choose(M, r, method, normalize, seed, given)
        with passing():
            fit = rae(M, sel.anchors)
        folder = work.folder_for(file, out, "anchors")
        content = work.record(
            data, sel, fit, axis=axis.value, normalize=normalize.value, seed=seed, options=given
        )
        paths = work.write_anchors(folder, data, sel, content)
        if report:
            W = M.take(sel.anchors)
            scale = normalize is Scale.l1
            paths.append(write_page(folder, data, M, sel, W, fit, scale, seed, anchor_images=sides))
    show(data, sel, content, paths, as_json)


@app.command()
def unmix(
    file: opt.File,
    anchors: opt.Anchors,
    method: opt.Method = "auto",
    set_: opt.Set = None,
    normalize: opt.Normalize = Scale.none,
    negative: opt.Negative = Sign.error,
    sum_to_one: opt.SumToOne = False,
    variable: opt.Variable = None,
    shape: opt.Shape = None,
    out: opt.Out = None,
    report: opt.Report = False,
    as_json: opt.Json = False,
    seed: opt.Seed = 0,
    memory: opt.Memory = None,
    dask: opt.Dask = None,
) -> None:
    """Unmix a hyperspectral image: spectra of pure pixels, and a map of each.

    Writes endmembers.csv, the abundances as PNG and as a cube in the format of the image, and the anchors.
    """
    import numpy as np

    from sepnmf._overview import maps, thinning
    from sepnmf.cli._pictures import draw_maps, draw_spectra
    from sepnmf.io import read_maps, write_cube
    from sepnmf.least_squares import nnls
    from sepnmf.matrix import as_matrix
    from sepnmf.metrics import rae

    given = work.method_options(set_)
    with cluster.connected(dask, memory):
        data = work.load(file, variable=variable, shape=shape, memory=memory, in_parts=dask is not None)
        if data.image_shape is None:
            raise UserError(
                f"{file.name} holds a matrix, not an image: if its columns are pixels, say "
                "--shape LINESxSAMPLES."
            )
        M = as_matrix(data.M, negative.value)
        r = work.how_many(M, anchors, seed)
        sel = work.choose(M, r, method, normalize, seed, given)
        with passing():
            fit = rae(M, sel.anchors)
        W = M.take(sel.anchors)
        H: Any = nnls(W, M, sum_to_one=sum_to_one)
        folder = work.folder_for(file, out, "unmixed")
        labels = data.column_labels(sel.anchors)
        content = work.record(data, sel, fit, normalize=normalize.value, seed=seed, options=given)
        paths = [
            *work.write_anchors(folder, data, sel, content),
            work.write_columns(folder / "endmembers.csv", data, W, labels),
        ]
        with passing():
            cube = write_cube(folder / "abundances", H.astype(np.float32) if M.lazy else H, data, labels)
        # Weights that are never held are computed once, and shown from where they were written.
        pictures = read_maps(cube, thinning(data.image_shape)) if M.lazy else maps(data, H)
        paths += [
            cube,
            draw_maps(folder / "abundances.png", pictures, labels),
            draw_spectra(folder / "endmembers.png", data, W, labels),
        ]
        if report:
            scale = normalize is Scale.l1
            paths.append(write_page(folder, data, M, sel, W, fit, scale, seed, maps=pictures))
    show(data, sel, content, paths, as_json)


@app.command()
def topics(
    file: opt.File,
    vocabulary: opt.Vocabulary,
    anchors: opt.Anchors,
    method: opt.Method = "auto",
    set_: opt.Set = None,
    words: opt.Words = 10,
    variable: opt.Variable = None,
    out: opt.Out = None,
    report: opt.Report = False,
    as_json: opt.Json = False,
    seed: opt.Seed = 0,
) -> None:
    """Find anchor words and the topics they stand for, from word counts.

    FILE has counts of words in documents; the side that is as long as the vocabulary has the words.
    """
    import numpy as np

    from sepnmf.io import read_names
    from sepnmf.matrix import as_matrix
    from sepnmf.metrics import rae
    from sepnmf.text import cooccurrence, topic_words

    given = work.method_options(set_)
    names = read_names(vocabulary)
    data = work.load(file, variable=variable)
    if data.M.shape[1] != len(names):
        data = data.transposed()
    if data.M.shape[1] != len(names):
        raise UserError(
            f"{vocabulary.name} has {len(names)} words, but {file.name} is {data.M.shape[1]} × "
            f"{data.M.shape[0]}: one side must have as many."
        )
    together = cooccurrence(data.M)
    about = words_of(data, names, together)
    M = as_matrix(together)
    r = work.how_many(M, anchors, seed)
    sel = work.choose(M, r, method, Scale.none, seed, given)
    fit = rae(M, sel.anchors)
    shares = topic_words(together, sel.anchors)
    found = []
    for anchor, share in zip(sel.anchors, shares, strict=True):
        top = np.argsort(-share, kind="stable")[:words]
        found.append((names[anchor], [(names[j], float(share[j])) for j in top]))
    folder = work.folder_for(file, out, "topics")
    content = work.record(about, sel, fit, seed=seed, options=given)
    content["topics"] = [{"anchor": anchor, "words": dict(top)} for anchor, top in found]
    rows = [[k, anchor, word, share] for k, (anchor, top) in enumerate(found, 1) for word, share in top]
    paths = [
        *work.write_anchors(folder, about, sel, content),
        work.write_csv(folder / "topics.csv", ["topic", "anchor", "word", "share"], rows),
    ]
    if report:
        W = M.take(sel.anchors)
        paths.append(write_page(folder, about, M, sel, W, fit, False, seed, topics=found))
    if as_json:
        show_json(content)
        return
    head = {"": "right", "anchor word": "left", "top words": "left"}
    show_table(head, [[str(k), a, ", ".join(w for w, _ in top)] for k, (a, top) in enumerate(found, 1)])
    show_rest(sel, fit, paths)


@app.command()
def compare(
    file: opt.File,
    anchors: opt.Anchors,
    methods: opt.Methods = None,
    axis: opt.Along = Axis.columns,
    normalize: opt.Normalize = Scale.none,
    negative: opt.Negative = Sign.error,
    variable: opt.Variable = None,
    header: opt.Header = None,
    index: opt.Index = None,
    shape: opt.Shape = None,
    out: opt.Out = None,
    report: opt.Report = False,
    as_json: opt.Json = False,
    seed: opt.Seed = 0,
) -> None:
    """Run all methods side by side: anchors, fit, time.

    A method that refuses the data says why. Writes comparison.csv and comparison.json.
    """
    from sepnmf._overview import choose, compare
    from sepnmf.matrix import as_matrix
    from sepnmf.registry import find_method

    names = None if not methods else [find_method(name, "--method").name for name in methods]
    data = work.load(file, variable=variable, header=header, index=index, shape=shape, axis=axis)
    M = as_matrix(data.M, negative.value)
    if M.lazy:
        raise UserError(f"{file.name} is too large for a comparison: sepnmf select takes it.")
    scale = normalize is Scale.l1
    r = work.how_many(M, anchors, seed)
    with bar() as progress:
        task = progress.add_task("methods", total=None, now="")

        def on_progress(name: str, done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, now=name)

        rows = compare(
            M,
            r,
            names,
            scale=scale,
            random_state=seed,
            label=data.column_label,
            on_progress=on_progress,
        )
    folder = work.folder_for(file, out, "comparison")
    rows.sort(key=lambda row: (row["fit"] is None, -(row["fit"] or 0.0)))
    content = {"file": str(data.file), "command": command_line(), "versions": versions(), "methods": rows}
    head = ["method", "fit", "seconds", "status", "columns", "anchors", "failure"]
    table = [[shown(row[key]) for key in head] for row in rows]
    paths = [
        work.write_csv(folder / "comparison.csv", head, table),
        work.write_json(folder / "comparison.json", content),
    ]
    best = next((row for row in rows if row["fit"] is not None), None)
    if report and best is not None:
        sel = choose(M.normalised(normalize.value), r, best["method"], random_state=seed)
        W = M.take(sel.anchors)
        paths.append(write_page(folder, data, M, sel, W, best["fit"], scale, seed, comparison=rows))
    if as_json:
        show_json(content)
        return
    sides = {"method": "left", "fit": "right", "seconds": "right", "anchors": "left"}
    lines = []
    for row in rows:
        fit = "" if row["fit"] is None else f"{row['fit']:.2%}"
        lines.append(
            [row["method"], fit, f"{row['seconds']:.3f}", row["failure"] or ", ".join(row["anchors"])]
        )
    show_table(sides, lines)
    say(f"Written: {', '.join(map(str, paths))}")


@app.command()
def demo(out: opt.Out = None) -> None:
    """Show the main job on generated data: a table, a picture and a report."""
    from sepnmf.cli._demonstration import demonstrate

    folder = Path("demo") if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    demonstrate(folder)


# What the commands share that is about showing ---------------------------------------------------------


def show(data: "Data", sel: "Selection", content: dict[str, Any], paths: list[Path], as_json: bool) -> None:
    """The anchors as JSON or as a table."""
    if as_json:
        show_json(content)
        return
    rows = [
        [str(row["rank"]), str(row["column"]), row["name"], f"{row['score']:.4g}"]
        for row in content["anchors"]
    ]
    show_table({"": "right", "column": "right", "name": "left", "score": "right"}, rows)
    show_rest(sel, content["fit"], paths)


def show_rest(sel: "Selection", fit: float, paths: list[Path]) -> None:
    """Below the table: what the anchors are worth, and what was written."""
    say(f"The anchors explain {fit:.2%} of the data ({sel.method}, {sel.status}, {sel.seconds:.2f} s).")
    if sel.status == "stopped":
        say(f"You stopped it after {sel.n_outer} iterations: these are the anchors it had then.")
    elif not sel.converged:
        say("It did not converge: allow more iterations, or look at the convergence in the report.")
    say(f"Written: {', '.join(map(str, paths))}")


def shown(value: Any) -> Any:
    """A value in a cell of a CSV file."""
    return " ".join(map(str, value)) if isinstance(value, list) else value


def words_of(data: "Data", names: tuple[str, ...], together: Any) -> "Data":
    """The co-occurrences as data from the same file."""
    from dataclasses import replace

    return replace(data, M=together, row_names=names, column_names=names, wavelengths=(), image_shape=None)


def write_page(
    folder: Path,
    data: "Data",
    M: "Matrix",
    sel: "Selection",
    W: "Floats",
    fit: float,
    scale: bool,
    seed: int,
    **more: Any,
) -> Path:
    """report.html, with what can be computed quickly beside what is there."""
    from sepnmf import _overview as overview
    from sepnmf.registry import METHODS, ready_methods
    from sepnmf.report import Contents, write_report

    labels = tuple(data.column_labels(sel.anchors))
    picture = None if data.image_shape is None else overview.scene(data)
    if "maps" not in more and data.image_shape is not None:
        more["maps"] = overview.maps_from(data, M, W)
    if "comparison" not in more and not M.lazy and M.shape[0] * M.shape[1] <= FEW:
        quick = [name for name in ready_methods() if METHODS[name].quick_up_to is None and name != "auto"]
        with bar() as progress:
            task = progress.add_task("comparing methods", total=len(quick), now="")
            others = overview.compare(
                M,
                len(labels),
                [name for name in quick if name != sel.method],
                scale=scale,
                random_state=seed,
                label=data.column_label,
                on_progress=lambda name, done, _: progress.update(task, completed=done, now=name),
            )
        own = {"method": sel.method, "anchors": list(labels), "fit": fit, "seconds": sel.seconds}
        more["comparison"] = [own | {"status": sel.status, "failure": None}, *others]
    contents = Contents(
        data=data,
        selection=sel,
        labels=labels,
        anchor_columns=W,
        summary=overview.summary(data),
        fit=fit,
        picture=picture,
        curve=overview.curve_of_residuals(M),
        command=command_line(),
        versions=versions(),
        **more,
    )
    return write_report(folder / "report.html", contents)
