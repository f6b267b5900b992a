"""The HTML page of a report: its sections, and the file that contains them."""

import base64
import hashlib
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from sepnmf._display import ASIDE
from sepnmf._markup import Markup, asset, element, group, name
from sepnmf._overview import doubts
from sepnmf.io._filling import replacing
from sepnmf.report._anchors import FEW, anchors, bars_start, maps
from sepnmf.report._contents import Contents
from sepnmf.report._figures import Axis, Curve, line_chart
from sepnmf.report._tables import bar_cell, definitions, head, head_cell, number_cell, row, table, text_cell
from sepnmf.report._values import baseline, shown

Section = tuple[str, str, Markup]  # id, heading, content

ENDED = {"converged": "The method converged.", "done": "The method finished."}


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
    if any(part is not None for part in (contents.picture, contents.maps, contents.residual_map)):
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
    selection, mask, r = contents.selection, contents.data.mask, len(contents.labels)
    n = contents.data.M.shape[1] if mask is None else int(np.count_nonzero(mask))
    share = percent(contents.fit) if np.isfinite(contents.fit) else "–"
    figures = [
        ("anchors" if r != 1 else "anchor", str(r)),
        ("of the data explained", share),
        ("method", selection.method),
        ("seconds", shown(selection.seconds, 3)),
    ]
    tiles = (
        element("div", element("dd", value), element("dt", term), class_="tile") for term, value in figures
    )
    sentence = f"{r} of {n:,} columns explain{'s' if r == 1 else ''} the others."
    ended = ENDED.get(selection.status, "") if selection.converged else ""
    return group(
        element("p", f"{sentence} {ended}".strip(), class_="lead"),
        warning_box(contents),
        element("dl", tiles, class_="tiles"),
    )


def percent(fraction: float) -> str:
    """Return a fraction in percent with two digits, as it is typeset."""
    return f"{fraction:.2%}".replace("%", "\u00a0%").replace("-", "−")


def warning_box(contents: Contents) -> Markup | None:
    """Return a box that says why the result is doubtful; None if it is not."""
    fit = 1.0 if contents.topics is not None else contents.fit  # co-occurrences are explained less
    found = dict.fromkeys([*contents.warnings, *doubts(contents.selection, fit)])
    if not found:
        return None
    items = (element("li", name(sentence)) for sentence in found)
    title = element("p", "Before you use this result", id="doubts")
    return element(
        "div", title, element("ul", items), class_="warning", role="note", aria_labelledby="doubts"
    )


def data_summary(contents: Contents) -> Markup:
    """Return the file of the data, their summary, and what was left out and assumed."""
    data = contents.data
    about = {"file": str(data.file)} | ({"variable": data.variable} if data.variable else {})
    pairs = (about | contents.summary).items()
    facts = element("div", definitions((term, name(value)) for term, value in pairs), class_="facts")
    items = [element("li", name(note)) for note in contents.notes]
    return group(facts, element("ul", items, class_="notes") if items else None)


def curve(contents: Contents) -> Markup:
    """Return the curve of what is unexplained over the number of anchors."""
    values = contents.curve or {}
    curves = [Curve(key, np.asarray(y, dtype=float)) for key, y in values.items() if key != "r"]
    r = len(contents.labels)
    text = (
        "What the best anchors leave unexplained, ‖M − WH‖ / ‖M‖ with nonnegative weights H, for each number "
        "of anchors, estimated from at most 300 of the columns."
    )
    if np.isfinite(contents.fit):
        text += f" This page is about r = {r}; its anchors leave {percent(1 - contents.fit)} unexplained."
    x = np.asarray(values["r"], dtype=float)
    axes = Axis("number of anchors r", integer=True), Axis("unexplained", log=False)
    return line_chart(
        "residuals", "Unexplained, against the number of anchors", text, x, curves, *axes, (r, f"r = {r}")
    )


def comparison(contents: Contents) -> Markup:
    """Return a table of the results of other methods."""
    fits = np.array([entry["fit"] for entry in contents.comparison if entry["fit"] is not None], dtype=float)
    base = baseline(fits)
    largest = float(fits.max(initial=0.0)) if base else 1.0
    caption = (
        "Methods compared. “In common” counts the anchors that are also on this page."
        f"{bars_start(base, 'of what is explained ')}"
    )
    measures = (head(title, numbers=True) for title in ("explained", "seconds", "in common"))
    heads = [head("method"), *measures, head("status"), head("anchors")]
    rows = (compared(entry, set(contents.labels), largest, base) for entry in contents.comparison)
    return table(caption, heads, rows, sortable=True)


def compared(entry: dict[str, Any], labels_here: set[str], largest: float, base: float) -> Markup:
    """Return the row of a method, with a bar from `base` to its fit, or the reason why it has no result."""
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
        bar_cell(entry["fit"], largest, base),
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
