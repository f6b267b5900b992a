"""The commands select, unmix and compare, which read a file.

Each checks first that it can end: options, libraries and the output folder. Then it reads, works and writes.
"""

from typing import Any

from sepnmf.cli import _cluster as cluster
from sepnmf.cli import _options as opt
from sepnmf.cli import _work as work
from sepnmf.cli import _writing as writing
from sepnmf.cli._app import UserError, app, command_line, print_line, show_json, show_table, versions
from sepnmf.cli._known import Asked
from sepnmf.cli._options import Axis, Scale, Sign
from sepnmf.cli._progress import stage
from sepnmf.cli._result import COUNTED, show, write_page

# Patterns of the files that the commands may write.
ANCHORS = ("anchors.csv", "anchors.json", "history.csv", "report.html")
SELECT = (*ANCHORS, "anchor_columns.*", "vertices.csv", "weights.csv")
UNMIX = (*ANCHORS, "abundances.*", "endmembers.*", "vertices.csv", "residual.png", "dominant.png")
COMPARE = ("comparison.csv", "comparison.json", "report.html")


@app.command()
@opt.reading(opt.TABLE, before="picture")
def select(
    file: opt.File,
    anchors: opt.Anchors,
    method: opt.Method = "auto",
    set_: opt.Set = None,
    include: opt.Include = None,
    exclude: opt.Exclude = None,
    labels: opt.Labels = None,
    axis: opt.Along = Axis.columns,
    normalize: opt.Normalize = Scale.none,
    negative: opt.Negative = Sign.error,
    picture: opt.Picture = None,
    stability: opt.Stability = False,
    vertices: opt.Vertices = None,
    out: opt.Out = None,
    report: opt.Report = False,
    as_json: opt.Json = False,
    seed: opt.Seed = 0,
    memory: opt.Memory = None,
    dask: opt.Dask = None,
    **reading: Any,
) -> None:
    """Find the columns that explain all the others.

    Prints the anchors with their names, scores and fit, and writes them to anchors.csv and anchors.json,
    their columns to anchor_columns.csv (.npy if they have more than 100,000 rows), these without noise to
    vertices.csv (with auto, or those of --vertices), and the weights of all columns to weights.csv.
    """
    mask = reading.get("mask")
    image_shape = None if picture is None else work.parse_shape(picture, "--picture")
    options, asked = work.method_options(set_), Asked.of(include, exclude, labels)
    work.check_request(file, anchors, method, options, asked, memory=memory, dask=dask, others=[mask])
    work.check_stability(stability, method, asked)
    with writing.new_folder(file, out, "anchors", SELECT, mask) as folder, cluster.connected(dask, memory):
        data = work.load(file, axis=axis, memory=memory, in_parts=dask is not None, **reading)
        data, M = work.matrix_of(data, negative, anchors)
        data, known = asked.columns(data, M)
        sel, fit, reason = work.find_anchors(
            M, anchors, method, normalize, seed, options, known, stability=stability, vertices=vertices
        )
        data = work.with_vertices_noted(work.with_reason(data, reason), vertices)
        content = writing.record(
            data,
            sel,
            fit,
            axis=axis.value,
            normalize=normalize.value,
            vertices=vertices,
            seed=seed,
            options=options,
            **known,
        )
        paths = [
            *writing.write_anchors(folder, data, sel, content),
            *writing.write_weights(folder, data, M, sel, vertices is not None),
            *writing.write_vertices(folder, data, sel),
        ]
        if report:
            W = work.anchor_columns(M, sel, vertices)
            more: dict[str, Any] = {"anchor_images": image_shape}
            paths.append(write_page(folder, data, M, sel, W, fit, normalize, seed, known, **more))
    show(data, sel, content, paths, as_json)


@app.command()
@opt.reading(opt.IMAGE, before="out")
def unmix(
    file: opt.File,
    anchors: opt.Anchors,
    method: opt.Method = "auto",
    set_: opt.Set = None,
    include: opt.Include = None,
    exclude: opt.Exclude = None,
    labels: opt.Labels = None,
    normalize: opt.Normalize = Scale.none,
    negative: opt.Negative = Sign.error,
    sum_to_one: opt.SumToOne = False,
    stability: opt.Stability = False,
    vertices: opt.Vertices = None,
    out: opt.Out = None,
    report: opt.Report = False,
    as_json: opt.Json = False,
    seed: opt.Seed = 0,
    memory: opt.Memory = None,
    dask: opt.Dask = None,
    **reading: Any,
) -> None:
    """Unmix an image: spectra of pure pixels, abundance maps.

    The pure pixels (endmembers) are found in the hyperspectral image, and every pixel is a mixture of them.

    Writes the anchors, their spectra (endmembers.csv), these without noise (vertices.csv, with auto; the same
    as endmembers.csv with --vertices), and the abundances as PNG and as a cube in the format of the image.
    """
    mask, options = reading.get("mask"), work.method_options(set_)
    asked = Asked.of(include, exclude, labels)
    files: dict[str, Any] = {"memory": memory, "dask": dask, "others": [mask]}
    work.check_request(file, anchors, method, options, asked, pictures=True, **files)
    work.check_stability(stability, method, asked)
    with writing.new_folder(file, out, "unmixed", UNMIX, mask) as folder, cluster.connected(dask, memory):
        import numpy as np

        from sepnmf._overview import maps, residual_map, thinning
        from sepnmf.cli import _pictures as pictures
        from sepnmf.io import read_maps, write_cube
        from sepnmf.least_squares import nnls

        data = work.load(file, memory=memory, in_parts=dask is not None, **reading)
        if data.image_shape is None:
            raise UserError(
                f"{file.name} contains a matrix, not an image: if its columns are pixels, give their shape "
                "with --shape LINESxSAMPLES."
            )
        data, M = work.matrix_of(data, negative, anchors)
        data, known = asked.columns(data, M)
        how: dict[str, Any] = {"sum_to_one": sum_to_one, "stability": stability, "vertices": vertices}
        sel, fit, reason = work.find_anchors(M, anchors, method, normalize, seed, options, known, **how)
        data = work.with_vertices_noted(work.with_reason(data, reason), vertices)
        W = work.anchor_columns(M, sel, vertices)
        with stage("computing abundances"):
            H: Any = nnls(W, M, sum_to_one=sum_to_one)
        names = data.column_labels(sel.anchors)
        content = writing.record(
            data,
            sel,
            fit,
            normalize=normalize.value,
            sum_to_one=sum_to_one,
            vertices=vertices,
            seed=seed,
            options=options,
            **known,
        )
        paths = [
            *writing.write_anchors(folder, data, sel, content),
            writing.write_columns(folder / "endmembers.csv", data, W, names),
            *writing.write_vertices(folder, data, sel),
        ]
        with stage("writing abundances"):
            cube = write_cube(folder / "abundances", H.astype(np.float32) if M.lazy else H, data, names)
            # Lazy weights are computed once, while they are written; the maps are read from that file.
            shown = read_maps(cube, thinning(data.require_image())) if M.lazy else maps(data, H)
        with stage("computing the residual of each pixel"):
            residual = residual_map(data, M, W, sum_to_one)
        with stage("drawing maps"):
            paths += [
                cube,
                pictures.draw_maps(folder / "abundances.png", shown, names),
                pictures.draw_dominant(folder / "dominant.png", shown, names),
                pictures.draw_residual(folder / "residual.png", residual),
                pictures.draw_spectra(folder / "endmembers.png", data, W, names),
            ]
        if report:
            more: dict[str, Any] = {"maps": shown, "residual_map": residual, "sum_to_one": sum_to_one}
            paths.append(write_page(folder, data, M, sel, W, fit, normalize, seed, known, **more))
    show(data, sel, content, paths, as_json)


@app.command()
@opt.reading(opt.TABLE, before="out")
def compare(
    file: opt.File,
    anchors: opt.Anchors,
    methods: opt.Methods = None,
    include: opt.Include = None,
    exclude: opt.Exclude = None,
    labels: opt.Labels = None,
    axis: opt.Along = Axis.columns,
    normalize: opt.Normalize = Scale.none,
    negative: opt.Negative = Sign.error,
    out: opt.Out = None,
    report: opt.Report = False,
    as_json: opt.Json = False,
    seed: opt.Seed = 0,
    **reading: Any,
) -> None:
    """Compare methods: anchors, fit and time of each.

    A method that refuses the data is listed with the reason. Writes comparison.csv and comparison.json.
    """
    mask = reading.get("mask")
    asked = Asked.of(include, exclude, labels)
    work.check_request(file, anchors, others=[mask])
    from sepnmf._overview import choose
    from sepnmf.matrix import is_lazy
    from sepnmf.registry import find_method

    chosen = None if not methods else [find_method(name, "--method").name for name in methods]
    with writing.new_folder(file, out, "comparison", COMPARE, mask) as folder:
        data = work.load(file, axis=axis, **reading)
        if is_lazy(data.M):
            raise UserError(f"{file.name} is too large for a comparison: use sepnmf select.")
        data, M = work.matrix_of(data, negative, anchors)
        data, known = asked.columns(data, M)
        r, _ = work.number_of_anchors(M, anchors, seed, len(known["include"]))
        rows = work.compare_methods(data, M, r, chosen, normalize, seed, known)
        rows.sort(key=lambda row: (row["fit"] is None, -(row["fit"] or 0.0)))
        content = {
            "file": str(data.file),
            "left_out": list(data.left_out),
            "assumptions": list(data.assumptions),
            "warnings": list(data.warnings),
            "counted_from": writing.counted_from(data),
            "methods": rows,
            **known,
            "command": command_line(),
            "versions": versions(),
        }
        head = ["method", "fit", "seconds", "status", "columns", "anchors", "failure"]
        table = [
            [" ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in map(row.get, head)]
            for row in rows
        ]
        paths = [
            writing.write_csv(folder / "comparison.csv", head, table),
            writing.write_json(folder / "comparison.json", content),
        ]
        best = next((row for row in rows if row["fit"] is not None), None)
        if report and best is not None:
            with stage(f"selecting anchors ({best['method']})"):
                scaled = M.normalised(normalize.value)
                sel = choose(scaled, r, best["method"], random_state=seed, **known)
            W, fit = work.anchor_columns(M, sel), best["fit"]
            more: dict[str, Any] = {"comparison": rows}
            paths.append(write_page(folder, data, M, sel, W, fit, normalize, seed, known, **more))
    if as_json:
        show_json(content)
        return
    lines = []
    for row in rows:
        fit = "" if row["fit"] is None else f"{row['fit']:.2%}"
        result = row["failure"] or ", ".join(row["anchors"])
        lines.append([row["method"], fit, f"{row['seconds']:.3f}", result])
    show_table({"method": "left", "fit": "right", "seconds": "right", "anchors": "left"}, lines)
    if not data.column_names:
        print_line(COUNTED["line" in writing.counted_from(data)])
    print_line(f"Written: {', '.join(map(str, paths))}")
