"""Two sections of the page: what the anchors are, and where they are."""

import numpy as np
from numpy.typing import NDArray

from sepnmf._markup import Markup, element, group, name
from sepnmf._overview import dominant
from sepnmf._typing import Floats
from sepnmf.io import Data
from sepnmf.report._contents import Contents, Topics, Weighted
from sepnmf.report._figures import Axis, Curve, bar_list, cards, line_chart, top_rows
from sepnmf.report._pictures import category_map, gallery, is_stretched, marked_scene, value_map
from sepnmf.report._tables import bar_cell, head, head_cell, index_cell, row, table, text_cell
from sepnmf.report._values import baseline, finite_range, shown

SHOWN_AT_FIRST = 8  # curves that are visible initially, if there are more than FEW
FEW = 12


def anchors(contents: Contents) -> Markup:
    """Return the table of the anchors with their scores, and the anchors as images, topics or curves."""
    selection = contents.selection
    scores = selection.scores[selection.anchors]
    largest, base = max(map(abs, finite_range(scores))), baseline(scores)
    known = selection.stability is not None
    shares = scores if selection.stability is None else selection.stability
    rows = (
        row(
            head_cell(i),
            text_cell(name(label), label),
            index_cell(column),
            bar_cell(score, largest, base),
            *([text_cell(f"{share:.0%}", float(share))] if known else []),
        )
        for i, (label, column, score, share) in enumerate(
            zip(contents.labels, selection.anchors.tolist(), scores, shares, strict=True), 1
        )
    )
    caption = (
        f"Anchors, best first; columns are counted from 0. Scores are those of {selection.method}; larger "
        f"is better.{bars_start(base)}"
    )
    heads = [head("no."), head("name"), head("column", numbers=True), head("score", numbers=True)]
    if known:
        heads.append(head("stability"))
        caption += " Stability is how often an anchor came back when the data were drawn again."
    return group(table(caption, heads, rows, sortable=True), shapes(contents))


def bars_start(base: float, what: str = "") -> str:
    """Return a sentence that says where bars start, if not at zero."""
    return f" Bars {what}start at {shown(base, 6)}, not at 0." if base else ""


def shapes(contents: Contents) -> Markup:
    """Return the anchors as images, topics, lists of named rows, or curves."""
    data = contents.data
    columns = on_all_rows(contents.anchor_columns, data.row_mask)
    if contents.anchor_images is not None:
        images = [column.reshape(contents.anchor_images, order="F") for column in columns.T]
        text = "Each anchor as an image, from its least value (black) to its largest (white)."
        shape = contents.anchor_images
        pictures = gallery(images, contents.names, "gray", what="Image", common=False, full_shape=shape)
        return figure("images", "The anchors as images", text, pictures)
    if contents.topics is not None:
        return topics(contents.topics, contents.documents)
    x, label = abscissas(data, len(columns))
    if x is None and len(data.row_names) == len(columns) and data.image_shape is None:
        return named_rows(contents.names, columns, data.row_names)
    return spectra(contents, columns, x, label)


def abscissas(data: Data, m: int) -> tuple[Floats | None, str]:
    """Return where the m rows are on the axis of a chart, and its label.

    These are the wavelengths, or the names of the rows if they are numbers. None: the rows are counted.
    """
    is_image = data.image_shape is not None
    wavelengths = np.array(data.wavelengths if len(data.wavelengths) == m else [])
    used = slice(None) if data.row_mask is None or len(data.row_mask) != m else data.row_mask
    if wavelengths.size > 0 and bool(np.isfinite(wavelengths[used]).all()):
        unit = data.wavelength_unit
        return wavelengths, f"wavelength ({unit})" if unit else "wavelength"
    numbers = numbers_of(data.row_names) if len(data.row_names) == m else None
    if numbers is not None:
        return numbers, "band name" if is_image else "row name"
    return None, "band" if is_image else "row"


def counted_rows(data: Data, m: int) -> Floats:
    """Return the numbers of the rows: bands are counted from 1, rows of a matrix from 0."""
    return np.arange(float(m)) + (data.image_shape is not None)


def numbers_of(names: tuple[str, ...]) -> Floats | None:
    """Return names as numbers, with decimal points or commas; None if one is no number, or two are equal."""
    try:
        numbers = np.array([float(text.replace(",", ".").replace("_", "?")) for text in names])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() and np.unique(numbers).size == numbers.size > 1 else None


def on_all_rows(columns: Floats, mask: NDArray[np.bool_] | None) -> Floats:
    """Return columns of the rows that are used, or of all, with NaN in the rows that are left out."""
    if mask is None or len(columns) not in {len(mask), np.count_nonzero(mask)}:
        return columns
    whole = np.full((len(mask), columns.shape[1]), np.nan)
    whole[mask] = columns[mask] if len(columns) == len(mask) else columns
    return whole


def topics(found: Topics, documents: list[Weighted] | None) -> Markup:
    """Return a card for each topic: its most probable words, and its documents."""
    made = []
    for i, (word, words) in enumerate(found):
        lists = [("Words", bar_list(words))]
        if documents and documents[i]:
            lists.append(("Documents", bar_list(documents[i], bars=False)))
        made.append((f"{i + 1}: {word}", lists))
    text = "The most probable words in the topic of each anchor word"
    text += ", and the documents in which the topic has the largest share." if documents else "."
    return figure("topics", "The topics", f"{text} Bars are relative to the first word.", cards(made))


def named_rows(labels: list[str], columns: Floats, row_names: tuple[str, ...]) -> Markup:
    """Return a card for each anchor: the rows in which it is largest, and those that set it apart."""
    text = (
        "The rows in which each anchor has its largest entries. Bars are relative to the largest of a list."
    )
    several = columns.shape[1] > 1
    if several:
        text += (
            " Below them, the rows whose share of the anchor’s sum is most above that in every other anchor."
        )
    made = []
    for k, label in enumerate(labels):
        lists = [("Largest entries", bar_list(top_rows(columns[:, k], row_names, 12 if several else 20)))]
        apart = distinctive_rows(columns, k, row_names, 8) if several else []
        if apart:
            lists.append(("Most above the other anchors", bar_list(apart)))
        made.append((label, lists))
    return figure("rows", "What the anchors are made of", text, cards(made))


def distinctive_rows(columns: Floats, k: int, row_names: tuple[str, ...], count: int) -> Weighted:
    """Return the rows whose share of the k-th column most exceeds their largest share of another one."""
    sizes = np.nan_to_num(np.abs(columns), nan=0.0, posinf=0.0)
    largest = sizes.max(axis=0)
    sizes = sizes / np.where(largest > 0, largest, 1.0)  # so that sums do not overflow
    sums = sizes.sum(axis=0)
    shares = sizes / np.where(sums > 0, sums, 1.0)
    above = shares[:, k] - np.delete(shares, k, axis=1).max(axis=1)
    best = np.argsort(-above, kind="stable")[:count]
    return [(row_names[i], float(columns[i, k])) for i in best if above[i] > 0]


def spectra(contents: Contents, columns: Floats, places: Floats | None, label: str) -> Markup:
    """Return the anchors' columns as curves over places on an axis, or over row numbers if they are None."""
    m, r = columns.shape
    x = counted_rows(contents.data, m) if places is None else places
    order = np.argsort(x, kind="stable")
    order = order[np.isfinite(x[order])]
    few = r <= FEW
    curves = [
        Curve(label, column[order], on=few or i < SHOWN_AT_FIRST)
        for i, (label, column) in enumerate(zip(contents.names, columns.T, strict=True))
    ]
    text = "Column of each anchor."
    if not few:
        text += f" The first {SHOWN_AT_FIRST} of {r} are shown; the legend turns the others on."
    if contents.data.row_mask is not None:
        text += " Curves are interrupted where rows are left out."
    x_axis = Axis(label, integer=places is None)
    return line_chart(
        "spectra", "The anchors' columns", text, x[order], curves, x_axis, Axis("value", log=False)
    )


def maps(contents: Contents) -> Markup:
    """Return the scene with marked anchors, the map of each anchor, and maps of all anchors together."""
    data, picture, weights = contents.data, contents.picture, contents.maps
    scene = None
    if picture is not None and data.image_shape is not None:
        lines, samples = data.image_shape
        pixels = (data.pixel(int(column)) for column in contents.selection.anchors)
        points = [((sample + 0.5) / samples, (line + 0.5) / lines) for line, sample in pixels]
        scene = marked_scene(picture, points, contents.names)
    if weights is not None:
        text = (
            "Weight of an anchor in every pixel. All maps have one colour scale, which ends where the "
            "largest of their 99.5th percentiles is; ≥ means that some weights exceed it. "
        )
        how = element(
            "span",
            "“Own scale” gives each map its own. Choose a map by a click or with the arrow keys.",
            class_="screen",
        )
        shape = data.image_shape or weights.shape[1:]
        whole = gallery(
            list(weights),
            contents.names,
            "cividis",
            what="Weights",
            common=True,
            full_shape=shape,
            scene=scene,
        )
        found = group(whole, element("p", text, how, class_="caption"))
    else:
        labels = element("ol", (element("li", name(label)) for label in contents.labels), class_="key")
        found = group(element("div", scene, class_="views"), labels)
    return group(found, together(contents), stretched_note(contents))


def together(contents: Contents) -> Markup | None:
    """Return the map of the dominant anchor and that of the residual, if they are known."""
    weights, residual = contents.maps, contents.residual_map
    views, text = [], []
    if weights is not None:
        shape = contents.data.image_shape or weights.shape[1:]
        views.append(category_map("Dominant anchor", dominant(weights), contents.names, shape))
        text.append("The dominant anchor of a pixel is the one with the largest weight.")
    if residual is not None:
        shape = contents.data.image_shape or residual.shape
        views.append(value_map("Unexplained", residual, "cividis", shape))
        text.append(
            "What is unexplained of a pixel is the norm of what the anchors leave of it, relative to its own "
            "norm: where it is large, an anchor may be missing."
        )
    if not views:
        return None
    caption = element("p", " ".join(text), class_="caption")
    return element("div", element("div", views, class_="views"), caption, class_="together")


def stretched_note(contents: Contents) -> Markup | None:
    """Return a sentence for an image so narrow that its pixels are not displayed as squares."""
    shape = contents.data.image_shape
    if shape is None or not is_stretched(shape):
        return None
    text = "The image has {:,} × {:,} pixels (lines × samples); they are stretched here.".format(*shape)
    return element("p", text, class_="caption")


def figure(identity: str, title: str, caption: str, content: Markup) -> Markup:
    """Return a figure without axes."""
    heading = element("h3", title, id=f"{identity}-title")
    attributes = {"id": identity, "aria_labelledby": f"{identity}-title"}
    return element("figure", heading, content, element("figcaption", caption), **attributes)
