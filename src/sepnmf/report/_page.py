"""The HTML page of a report: its sections, and the file that contains them."""

import base64
import hashlib
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from sepnmf._typing import Floats
from sepnmf.io._cubes import replacing
from sepnmf.report._contents import Contents
from sepnmf.report._figures import Axis, Curve, Mark, bar_lists, line_chart, top_rows
from sepnmf.report._markup import Markup, asset, element, group, name
from sepnmf.report._pictures import gallery, marked_scene
from sepnmf.report._tables import bar_cell, definitions, head, head_cell, number_cell, row, table, text_cell
from sepnmf.report._values import finite_range, shown

Section = tuple[str, str, Markup]  # id, heading, content

SHOWN_AT_FIRST = 8  # curves that are visible initially, if there are more than FEW
FEW = 12
ASIDE = {"seconds", "n_inner"}  # quantities of a history that do not describe convergence

STATUS = {
    "converged": "The method converged.",
    "max_outer": "The iteration limit was reached before convergence: more iterations may change the result.",
    "stopped": "The run was stopped before the method converged.",
    "diverged": "The iterates overflowed. The result comes from the last valid iterate: do not rely on it.",
    "collapsed": "The iterates became zero. The result comes from the last valid iterate: do not rely on it.",
    "done": "The method finished.",
    "not identifiable": "An anchor is in the cone of the other columns: other anchors fit equally well.",
}


def write_report(path: str | os.PathLike[str], contents: Contents) -> Path:
    """Write the report to a file, which appears only when it is complete.

    Parameters
    ----------
    path : path-like
        Path of the file; an existing file is replaced.
    contents : Contents
        Contents of the report.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    text = render(contents)
    with replacing(Path(path)) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


def render(contents: Contents) -> str:
    """Return the report as one HTML document, which makes no network requests.

    Parameters
    ----------
    contents : Contents
        Contents of the report.

    Returns
    -------
    str
        The document. Equal contents give equal documents.
    """
    style, script = (
        resources.files("sepnmf.report").joinpath(file).read_text(encoding="utf-8")
        for file in ("report.css", "report.js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    r = len(contents.labels)
    title = f"{contents.data.file.name}: {r} anchor{'s' if r != 1 else ''}"
    preamble = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        asset("style", style),
    )
    sections = list(all_sections(contents))
    links = (element("li", element("a", heading, href=f"#{identity}")) for identity, heading, _ in sections)
    body = element(
        "body",
        element("a", "Skip to the contents", href="#main", class_="skip"),
        element("header", element("h1", name(title)), lead(contents), class_="top"),
        element("nav", element("ul", links), aria_label="Sections"),
        element(
            "main",
            (
                element(
                    "section",
                    element("h2", heading, id=f"{identity}-heading"),
                    content,
                    id=identity,
                    aria_labelledby=f"{identity}-heading",
                )
                for identity, heading, content in sections
            ),
            id="main",
            tabindex=-1,
        ),
        asset("script", script),
    )
    return f"<!doctype html>\n{element('html', preamble, body, lang='en')}\n"


def all_sections(contents: Contents) -> Iterator[Section]:
    """Yield the sections in order; sections without contents are omitted."""
    yield "data", "The data", data_summary(contents)
    yield "anchors", "The anchors", anchors(contents)
    if contents.picture is not None or contents.maps is not None:
        yield "maps", "Where they are", maps(contents)
    if contents.curve is not None:
        yield "curve", "How many anchors", curve(contents)
    if contents.comparison:
        yield "comparison", "Other methods", comparison(contents)
    yield "convergence", "How they were found", convergence(contents)
    if contents.command or contents.versions:
        yield "made", "How this page was made", made(contents)


def lead(contents: Contents) -> Markup:
    """Return the result in one sentence and four figures."""
    selection, n, r = contents.selection, contents.data.M.shape[1], len(contents.labels)
    share = f"{contents.fit:.2%}".replace("%", "\u00a0%") if np.isfinite(contents.fit) else "–"
    figures = [
        ("anchors" if r != 1 else "anchor", str(r)),
        ("of the data explained", share),
        ("method", selection.method),
        ("seconds", shown(selection.seconds, 3)),
    ]
    tiles = (
        element("div", element("dd", value), element("dt", term), class_="tile") for term, value in figures
    )
    sentence = f"{r} of {n} columns explain{'s' if r == 1 else ''} the others. {STATUS[selection.status]}"
    warned = selection.status not in {"converged", "done"}
    return group(
        element("p", sentence, class_="warning" if warned else "lead"),
        element("dl", tiles, class_="tiles"),
    )


def data_summary(contents: Contents) -> Markup:
    """Return the file of the data and their summary."""
    data = contents.data
    about = {"file": str(data.file)} | ({"variable": data.variable} if data.variable else {})
    pairs = (about | contents.summary).items()
    return element("div", definitions((term, name(value)) for term, value in pairs), class_="facts")


def anchors(contents: Contents) -> Markup:
    """Return the table of the anchors with their scores, and the anchors as images, topics or curves."""
    selection = contents.selection
    scores = selection.scores[selection.anchors]
    largest = max(map(abs, finite_range(scores)))
    rows = (
        row(head_cell(i), text_cell(name(label), label), number_cell(int(column)), bar_cell(score, largest))
        for i, (label, column, score) in enumerate(
            zip(contents.labels, selection.anchors, scores, strict=True), 1
        )
    )
    caption = f"Anchors, best first. Scores are those of {selection.method}; larger is better."
    heads = head("no."), head("name"), head("column", numbers=True), head("score", numbers=True)
    return group(table(caption, heads, rows, sortable=True), shapes(contents))


def shapes(contents: Contents) -> Markup:
    """Return the anchors as images, topics, bars of named rows, or curves."""
    data, columns = contents.data, contents.anchor_columns
    if contents.anchor_images is not None:
        images = [column.reshape(contents.anchor_images, order="F") for column in columns.T]
        text = "Each anchor as an image, from its least value (black) to its largest (white)."
        pictures = gallery(
            images, contents.names, "gray", what="Image", from_zero=False, full_shape=contents.anchor_images
        )
        return figure("images", "The anchors as images", text, pictures)
    if contents.topics is not None:
        lists = [(f"{i}: {word}", words) for i, (word, words) in enumerate(contents.topics, 1)]
        text = "The most probable words in the topic of each anchor word. Bars are relative to the first."
        return figure("topics", "The topics", text, bar_lists(lists))
    m = len(columns)
    measured = len(data.wavelengths) == m and bool(np.isfinite(data.wavelengths).all())
    if len(data.row_names) == m and not measured:
        tops = [
            (label, top_rows(column, data.row_names))
            for label, column in zip(contents.names, columns.T, strict=True)
        ]
        text = "The rows in which each anchor is largest, at most twenty. Bars are relative to the first."
        return figure("rows", "What the anchors are made of", text, bar_lists(tops))
    return spectra(contents, np.array(data.wavelengths) if measured else None)


def spectra(contents: Contents, wavelengths: Floats | None) -> Markup:
    """Return the anchors' columns as curves over the wavelengths, or over the row numbers."""
    columns = contents.anchor_columns
    m, r = columns.shape
    x = np.arange(float(m)) if wavelengths is None else wavelengths
    order = np.argsort(x, kind="stable")
    few = r <= FEW
    curves = [
        Curve(label, column[order], on=few or i < SHOWN_AT_FIRST)
        for i, (label, column) in enumerate(zip(contents.names, columns.T, strict=True))
    ]
    text = "Column of each anchor."
    if not few:
        text += f" The first {SHOWN_AT_FIRST} of {r} are shown; the legend turns the others on."
    x_axis = Axis("row", integer=True) if wavelengths is None else Axis("wavelength")
    return line_chart(
        "spectra", "The anchors' columns", text, x[order], curves, x_axis, Axis("value", log=False)
    )


def maps(contents: Contents) -> Markup:
    """Return the scene with marked anchors, and the abundance map of each anchor."""
    data, picture, weights = contents.data, contents.picture, contents.maps
    scene = None
    if picture is not None and data.image_shape is not None:
        lines, samples = data.image_shape
        pixels = (data.pixel(int(column)) for column in contents.selection.anchors)
        points = [((sample + 0.5) / samples, (line + 0.5) / lines) for line, sample in pixels]
        scene = marked_scene(picture, points, contents.names)
    if weights is None:
        labels = element("ol", (element("li", name(label)) for label in contents.labels), class_="key")
        return group(element("div", scene, class_="views"), labels)
    text = (
        "Weight of an anchor in every pixel. The colour scale of a map ends at the 99.5th percentile of its "
        "weights; ≥ means that some weights exceed it. "
    )
    how = element("span", "Choose a map by a click or with the arrow keys.", class_="screen")
    shape = data.image_shape or weights.shape[1:]
    options: dict[str, Any] = {"what": "Weights", "from_zero": True, "full_shape": shape, "scene": scene}
    pictures = gallery(list(weights), contents.names, "cividis", **options)
    return group(pictures, element("p", text, how, class_="caption"))


def curve(contents: Contents) -> Markup:
    """Return the curve of the relative residual over the number of anchors."""
    values = contents.curve or {}
    curves = [Curve(key, np.asarray(y, dtype=float)) for key, y in values.items() if key != "r"]
    r = len(contents.labels)
    text = f"Relative residual for each number of anchors. This page is about r = {r}."
    x = np.asarray(values["r"], dtype=float)
    axes = Axis("number of anchors r", integer=True), Axis("relative residual", log=False)
    return line_chart(
        "residuals", "Fit against the number of anchors", text, x, curves, *axes, Mark(r, f"r = {r}")
    )


def comparison(contents: Contents) -> Markup:
    """Return a table of the results of other methods."""
    caption = "Methods compared. “In common” counts the anchors that are also on this page."
    measures = (head(title, numbers=True) for title in ("explained", "seconds", "in common"))
    heads = [head("method"), *measures, head("status"), head("anchors")]
    rows = (compared(entry, set(contents.labels)) for entry in contents.comparison)
    return table(caption, heads, rows, sortable=True)


def compared(entry: dict[str, Any], labels_here: set[str]) -> Markup:
    """Return the row of a method: its result, or the reason why there is none."""
    method = head_cell(name(str(entry["method"])), str(entry["method"]))
    if entry.get("failure"):
        sentence = f"No result: {entry['failure']}"
        return row(method, element("td", name(sentence), colspan=5, class_="failure"))
    labels = [str(label) for label in entry["anchors"]]
    listed = [group("; " if i else "", name(label)) for i, label in enumerate(labels)]
    scrolls = len(labels) > FEW
    box = element("div", listed, class_="names", tabindex=0 if scrolls else None)
    return row(
        method,
        bar_cell(entry["fit"], 1.0),
        number_cell(entry["seconds"], 3),
        number_cell(len(labels_here & set(labels))),
        text_cell(str(entry["status"])),
        text_cell(box, "; ".join(labels)),
    )


def convergence(contents: Contents) -> Markup:
    """Return the history of a run: curves of numbers, or a table if some values are text."""
    selection = contents.selection
    history = {key: np.asarray(values) for key, values in selection.history.items()}
    n = selection.n_outer
    history = {key: values for key, values in history.items() if n and values.shape == (n,)}
    numeric = all(values.dtype.kind in "iuf" for values in history.values())
    if not history:
        found = element("p", f"{selection.method} does not iterate, so that there is no history of a run.")
    elif numeric and n > 1:
        curves = [
            Curve(key, values.astype(float), on=key not in ASIDE or history.keys() <= ASIDE)
            for key, values in history.items()
        ]
        text = f"Quantities that {selection.method} recorded in each of its {n} outer iterations."
        axes = Axis("iteration", integer=True), Axis("value", log=True)
        found = line_chart("history", "Convergence", text, np.arange(1.0, n + 1), curves, *axes)
    else:
        rows = (row(*(history_cell(values[i]) for values in history.values())) for i in range(n))
        heads = (head(key, numbers=values.dtype.kind in "iuf") for key, values in history.items())
        found = table(f"Trials of {selection.method}, in order.", heads, rows, sortable=True)
    return group(found, refinement(contents))


def history_cell(value: Any) -> Markup:
    """Return the cell of a value of a history: a number, text, yes or no."""
    if isinstance(value, str | bool | np.bool_):
        return text_cell(shown(value))
    return number_cell(value)


def refinement(contents: Contents) -> Markup | None:
    """Return what the exchange of anchors after the method achieved; None if there was none."""
    facts = contents.selection.refinement
    if facts is None:
        return None
    items = [(key, shown(value)) for key, value in facts.items() if np.ndim(value) == 0]
    return group(
        element(
            "p", "The anchors were then exchanged one at a time, as long as this improved the criterion:"
        ),
        element("div", definitions(items), class_="facts"),
    )


def made(contents: Contents) -> Markup:
    """Return the command and the versions."""
    command = element("pre", element("code", contents.command), tabindex=0, id="command")
    return group(
        command if contents.command else None,
        element("div", definitions(contents.versions.items()), class_="facts"),
        element(
            "p", "This page is one file, which contains its data, style and script and needs no network."
        ),
    )


def figure(identity: str, title: str, caption: str, content: Markup) -> Markup:
    """Return a figure without axes."""
    heading = element("h3", title, id=f"{identity}-title")
    attributes = {"id": identity, "aria_labelledby": f"{identity}-title"}
    return element("figure", heading, content, element("figcaption", caption), **attributes)
