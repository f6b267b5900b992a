"""The column under the pointer beside the anchors: its entries, its reconstruction, its weights."""

from typing import TYPE_CHECKING

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, HoverTool, PlainText
from bokeh.plotting import figure

from sepnmf._markup import Markup, element, group, name
from sepnmf._typing import Floats, Ints
from sepnmf.report._values import shown

if TYPE_CHECKING:
    from sepnmf.explorer._session import Session

MOST_NAMED = 25  # rows with names that are drawn; of more, those with the largest entries
STYLE = """
table { border-collapse: collapse; font-size: 14px; width: 100%; }
td { padding: 2px 6px; vertical-align: middle; overflow-wrap: anywhere; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; width: 4em; }
td.room { width: 40%; }
.bar { height: 0.8em; min-width: 1px; }
h3 { font-size: 15px; margin: 0 0 4px; overflow-wrap: anywhere; }
p { margin: 2px 0 6px; color: #50575e; font-size: 13px; }
"""
MATHEMATICS = ("$$", r"\(", r"\[")  # with which Bokeh lets TeX begin


class ProfileView:
    """Curves of one column, its reconstruction and all anchors, and a table of its weights."""

    def __init__(self, session: "Session") -> None:
        self.session = session
        values, axis_label = session.row_axis
        self.names = values if isinstance(values, tuple) else None
        self.x = np.arange(len(values)) if isinstance(values, tuple) else np.asarray(values, dtype=float)
        self.curve = ColumnDataSource({"x": [], "entry": [], "fitted": [], "row": []})
        self.anchors = ColumnDataSource({"xs": [], "ys": [], "colour": []})
        plot = figure(
            height=300,
            sizing_mode="stretch_width",
            x_axis_label=axis_label if self.names is None else None,
            tools="pan,box_zoom,wheel_zoom,reset",
        )
        plot.toolbar.logo = None
        wide = plot.line("x", "entry", source=self.curve, color="#9aa3ab", line_width=6, line_alpha=0.8)
        plot.multi_line("xs", "ys", source=self.anchors, color="colour", line_width=1.5)
        plot.line("x", "fitted", source=self.curve, color="#16191c", line_width=2, line_dash="dotted")
        tips = [(axis_label, "@row"), ("entry", "@entry"), ("reconstruction", "@fitted")]
        plot.add_tools(HoverTool(renderers=[wide], tooltips=tips, mode="vline"))
        if self.names is not None:
            plot.xaxis.major_label_orientation = 0.9
        self.axis = plot.xaxis[0]
        self.pane = pn.pane.Bokeh(plot, sizing_mode="stretch_width")
        self.table = pn.pane.HTML("", stylesheets=[STYLE], sizing_mode="stretch_width")
        self.layout = pn.Column(self.pane, self.table, sizing_mode="stretch_width")

    def show(self, column: int | None) -> None:
        """Show one column beside the anchors; None shows the anchors only."""
        anchors = self.session.anchors
        W = np.stack([self.session.spectrum(anchor.column) for anchor in anchors])
        entries = None if column is None else self.session.spectrum(column)
        rows = self.rows(W.max(axis=0) if entries is None else entries)
        x = self.x if self.names is None else np.arange(len(rows))
        self.anchors.data = {
            "xs": [x] * len(anchors),
            "ys": list(W[:, rows]),
            "colour": [anchor.colour for anchor in anchors],
        }
        if self.names is not None:
            self.axis.ticker = x.tolist()
            self.axis.major_label_overrides = {
                place: label(self.names[row]) for place, row in enumerate(rows)
            }
        if column is None or entries is None:
            self.table.object = element("p", "Point at a column to see what it is a mixture of.")
            return
        fitted, weights = self.session.reconstruction(column)
        words = (
            [shown(float(place)) for place in x] if self.names is None else [self.names[row] for row in rows]
        )
        self.curve.data = {"x": x, "entry": entries[rows], "fitted": fitted[rows], "row": words}
        length = float(np.linalg.norm(entries))
        missed = float(np.linalg.norm(entries - fitted)) / length if length else 0.0
        said = f"Wide and grey: its entries. Dotted: its reconstruction, which misses {missed:.2%}."
        heading = element("h3", name(self.session.data.column_label(column)))
        self.table.object = group(heading, element("p", said), self.weights(weights))

    def rows(self, entries: Floats) -> Ints:
        """Return the rows that are drawn: all, or of many that have names the largest."""
        if self.names is None or len(entries) <= MOST_NAMED:
            return np.arange(len(entries))
        return np.argsort(-entries, kind="stable")[:MOST_NAMED]

    def weights(self, weights: Floats) -> Markup:
        """Return a table of the weights, with a bar each."""
        largest = float(weights.max(initial=0.0)) or 1.0
        rows = []
        for number, (anchor, weight) in enumerate(zip(self.session.anchors, weights, strict=True), 1):
            style = f"width:{100 * weight / largest:.1f}%;background:{anchor.colour}"
            rows.append(
                element(
                    "tr",
                    element("td", f"{number} ", name(anchor.name)),
                    element("td", element("div", class_="bar", style=style), class_="room"),
                    element("td", shown(float(weight), 3), class_="number"),
                )
            )
        return element("table", rows)


def label(text: str) -> str | PlainText:
    """Return a name as the label of an axis: text, even if it looks like TeX."""
    return PlainText(text) if any(mark in text for mark in MATHEMATICS) else text
