"""The commands select, unmix, topics and compare, which read a file, and methods and demo."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepnmf.cli import _cluster as cluster
from sepnmf.cli import _options as opt
from sepnmf.cli import _work as work
from sepnmf.cli._app import UserError, app, command_line, print_line, show_json, show_table, versions
from sepnmf.cli._options import Axis, Scale, Sign
from sepnmf.cli._progress import passing

if TYPE_CHECKING:
    from sepnmf._typing import Floats
    from sepnmf.io import Data
    from sepnmf.matrix import Matrix
    from sepnmf.selection import Selection

SMALL_MATRIX = 5_000_000  # entries up to which a report compares the fast methods
ANCHOR_HEAD = {"": "right", "column": "right", "name": "left", "score": "right"}


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

    Prints the anchors with their names, scores and fit, and writes them to anchors.csv and anchors.json.
    """
    from sepnmf.matrix import as_matrix

    image_shape = None if picture is None else work.parse_shape(picture, "--picture")
    options = work.method_options(set_)
    with cluster.connected(dask, memory):
        data = work.load(
            file,
            shape=shape,
            axis=axis,
            variable=variable,
            header=header,
            index=index,
            memory=memory,
            in_parts=dask is not None,
        )
        M = as_matrix(data.M, negative.value)
        sel, fit = work.find_anchors(M, anchors, method, normalize, seed, options)
        folder = work.folder_for(file, out, "anchors")
        content = work.record(
            data, sel, fit, axis=axis.value, normalize=normalize.value, seed=seed, options=options
        )
        paths = work.write_anchors(folder, data, sel, content)
        if report:
            W = M.take(sel.anchors)
            paths.append(write_page(folder, data, M, sel, W, fit, normalize, seed, anchor_images=image_shape))
    show(sel, content, paths, as_json)


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
    """Unmix a hyperspectral image into spectra of pure pixels (endmembers) and abundance maps.

    Writes the anchors, endmembers.csv, and the abundances as PNG and as a cube in the format of the image.
    """
    import numpy as np

    from sepnmf._overview import maps, thinning
    from sepnmf.cli._pictures import draw_maps, draw_spectra
    from sepnmf.io import read_maps, write_cube
    from sepnmf.least_squares import nnls
    from sepnmf.matrix import as_matrix

    options = work.method_options(set_)
    with cluster.connected(dask, memory):
        data = work.load(file, variable=variable, shape=shape, memory=memory, in_parts=dask is not None)
        if data.image_shape is None:
            raise UserError(
                f"{file.name} contains a matrix, not an image: if its columns are pixels, give their shape "
                "with --shape LINESxSAMPLES."
            )
        M = as_matrix(data.M, negative.value)
        sel, fit = work.find_anchors(M, anchors, method, normalize, seed, options)
        W = M.take(sel.anchors)
        H: Any = nnls(W, M, sum_to_one=sum_to_one)
        folder = work.folder_for(file, out, "unmixed")
        labels = data.column_labels(sel.anchors)
        content = work.record(data, sel, fit, normalize=normalize.value, seed=seed, options=options)
        paths = [
            *work.write_anchors(folder, data, sel, content),
            work.write_columns(folder / "endmembers.csv", data, W, labels),
        ]
        with passing():
            cube = write_cube(folder / "abundances", H.astype(np.float32) if M.lazy else H, data, labels)
        # Lazy weights are computed once, while they are written; the pictures are read from that file.
        pictures = read_maps(cube, thinning(data.image_shape)) if M.lazy else maps(data, H)
        paths += [
            cube,
            draw_maps(folder / "abundances.png", pictures, labels),
            draw_spectra(folder / "endmembers.png", data, W, labels),
        ]
        if report:
            paths.append(write_page(folder, data, M, sel, W, fit, normalize, seed, maps=pictures))
    show(sel, content, paths, as_json)


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
    """Find anchor words and their topics from word counts.

    FILE contains the counts of words in documents. The dimension that equals the size of the vocabulary
    is the dimension of the words.
    """
    import numpy as np

    from sepnmf.io import read_names
    from sepnmf.matrix import as_matrix
    from sepnmf.text import cooccurrence, topic_words

    options = work.method_options(set_)
    names = read_names(vocabulary)
    data = work.load(file, variable=variable)
    if data.M.shape[1] != len(names):
        data = data.transposed()
    if data.M.shape[1] != len(names):
        raise UserError(
            f"{vocabulary.name} has {len(names)} words, but {file.name} is {data.M.shape[1]} × "
            f"{data.M.shape[0]}: the number of rows or columns must equal the number of words."
        )
    Q = cooccurrence(data.M)
    data = replace(data, M=Q, row_names=names, column_names=names, wavelengths=(), image_shape=None)
    M = as_matrix(Q)
    sel, fit = work.find_anchors(M, anchors, method, Scale.none, seed, options)
    found = []
    for anchor, share in zip(sel.anchors, topic_words(Q, sel.anchors), strict=True):
        top = np.argsort(-share, kind="stable")[:words]
        found.append((names[anchor], [(names[j], float(share[j])) for j in top]))
    folder = work.folder_for(file, out, "topics")
    content = work.record(data, sel, fit, seed=seed, options=options)
    content["topics"] = [{"anchor": anchor, "words": dict(top)} for anchor, top in found]
    rows = [[k, anchor, word, share] for k, (anchor, top) in enumerate(found, 1) for word, share in top]
    paths = [
        *work.write_anchors(folder, data, sel, content),
        work.write_csv(folder / "topics.csv", ["topic", "anchor", "word", "share"], rows),
    ]
    if report:
        W = M.take(sel.anchors)
        paths.append(write_page(folder, data, M, sel, W, fit, Scale.none, seed, topics=found))
    head = {"": "right", "anchor word": "left", "top words": "left"}
    lines = [[str(k), anchor, ", ".join(word for word, _ in top)] for k, (anchor, top) in enumerate(found, 1)]
    show(sel, content, paths, as_json, head, lines)


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
    """Compare methods: anchors, fit and time of each.

    A method that refuses the data is listed with the reason. Writes comparison.csv and comparison.json.
    """
    from sepnmf._overview import choose
    from sepnmf.matrix import as_matrix
    from sepnmf.registry import find_method

    names = None if not methods else [find_method(name, "--method").name for name in methods]
    data = work.load(file, variable=variable, header=header, index=index, shape=shape, axis=axis)
    M = as_matrix(data.M, negative.value)
    if M.lazy:
        raise UserError(f"{file.name} is too large for a comparison: use sepnmf select.")
    r = work.number_of_anchors(M, anchors, seed)
    rows = work.compare_methods(data, M, r, names, normalize, seed)
    folder = work.folder_for(file, out, "comparison")
    rows.sort(key=lambda row: (row["fit"] is None, -(row["fit"] or 0.0)))
    content = {"file": str(data.file), "command": command_line(), "versions": versions(), "methods": rows}
    head = ["method", "fit", "seconds", "status", "columns", "anchors", "failure"]
    table = [[csv_cell(row[key]) for key in head] for row in rows]
    paths = [
        work.write_csv(folder / "comparison.csv", head, table),
        work.write_json(folder / "comparison.json", content),
    ]
    best = next((row for row in rows if row["fit"] is not None), None)
    if report and best is not None:
        sel = choose(M.normalised(normalize.value), r, best["method"], random_state=seed)
        W = M.take(sel.anchors)
        paths.append(write_page(folder, data, M, sel, W, best["fit"], normalize, seed, comparison=rows))
    if as_json:
        show_json(content)
        return
    lines = []
    for row in rows:
        fit = "" if row["fit"] is None else f"{row['fit']:.2%}"
        result = row["failure"] or ", ".join(row["anchors"])
        lines.append([row["method"], fit, f"{row['seconds']:.3f}", result])
    show_table({"method": "left", "fit": "right", "seconds": "right", "anchors": "left"}, lines)
    print_line(f"Written: {', '.join(map(str, paths))}")


@app.command()
def methods(as_json: opt.Json = False) -> None:
    """List the methods: what each does, when to use it, its cost, and which data it accepts."""
    from sepnmf.registry import METHODS

    facts = [method.facts() for method in METHODS.values()]
    if as_json:
        show_json(facts)
        return
    rows = []
    for fact in facts:
        rows += [
            [fact["method"], fact["summary"], "yes" if fact["sparse"] else "no", fact["chunks"]],
            ["", f"when: {fact['use']}", "", ""],
            ["", f"cost: {fact['cost']}", "", ""],
        ]
    show_table({"method": "left", "what it does": "left", "sparse M": "left", "M in chunks": "left"}, rows)
    needing = [f"{fact['method']} ({', '.join(fact['required'])})" for fact in facts if fact["required"]]
    print_line(f"Options without a default: {'; '.join(needing)}. Options are passed as --set NAME=VALUE.")
    print_line(
        "On data in chunks, a method selects exactly as in memory, or among columns that are screened first."
    )


@app.command()
def demo(out: opt.Out = None) -> None:
    """Run a demonstration on generated data: prints a table, writes a figure and a report."""
    from sepnmf.cli._demonstration import demonstrate

    folder = Path("demo") if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    demonstrate(folder)


def show(
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
    if rows is None:
        rows = [
            [str(row["rank"]), str(row["column"]), row["name"], f"{row['score']:.4g}"]
            for row in content["anchors"]
        ]
    show_table(head, rows)
    run = f"{sel.method}, {sel.status}, {sel.seconds:.2f} s"
    print_line(f"The anchors explain {content['fit']:.2%} of the data ({run}).")
    if sel.status == "stopped":
        print_line(f"The method was stopped after {sel.n_outer} iterations; these are its anchors so far.")
    elif not sel.converged:
        print_line(
            "The method did not converge: allow more iterations, or see the convergence in the report."
        )
    print_line(f"Written: {', '.join(map(str, paths))}")


def csv_cell(value: Any) -> Any:
    """Return a value for a cell of a CSV file; the items of a list are separated by spaces."""
    return " ".join(map(str, value)) if isinstance(value, list) else value


def write_page(
    folder: Path,
    data: "Data",
    M: "Matrix",
    sel: "Selection",
    W: "Floats",
    fit: float,
    normalize: Scale,
    seed: int,
    **more: Any,
) -> Path:
    """Write report.html; maps and a comparison of fast methods are computed unless they are in `more`."""
    from sepnmf import _overview as overview
    from sepnmf.registry import METHODS, ready_methods
    from sepnmf.report import Contents, write_report

    labels = tuple(data.column_labels(sel.anchors))
    if "maps" not in more and data.image_shape is not None:
        more["maps"] = overview.maps_from(data, M, W)
    if "comparison" not in more and not M.lazy and M.shape[0] * M.shape[1] <= SMALL_MATRIX:
        omitted = ("auto", sel.method)
        fast = [name for name in ready_methods() if METHODS[name].quick_up_to is None and name not in omitted]
        others = work.compare_methods(data, M, len(labels), fast, normalize, seed)
        own = {"method": sel.method, "anchors": list(labels), "fit": fit, "seconds": sel.seconds}
        more["comparison"] = [own | {"status": sel.status, "failure": None}, *others]
    contents = Contents(
        data=data,
        selection=sel,
        labels=labels,
        anchor_columns=W,
        summary=overview.summary(data),
        fit=fit,
        picture=None if data.image_shape is None else overview.scene(data),
        curve=overview.curve_of_residuals(M),
        command=command_line(),
        versions=versions(),
        **more,
    )
    return write_report(folder / "report.html", contents)
