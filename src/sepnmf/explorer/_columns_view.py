"""The columns of a table: a list that can be searched, and the plane of the two leading directions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import panel as pn
from bokeh.events import MouseMove, SelectionGeometry, Tap
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    DataRange1d,
    HoverTool,
    LassoSelectTool,
    NumberFormatter,
)
from bokeh.plotting import figure

from sepnmf._overview import dominant
from sepnmf._typing import Floats, Ints
from sepnmf.explorer._drawing import corners, inside
from sepnmf.explorer._pointing import Pointing
from sepnmf.report._png import OTHERS

if TYPE_CHECKING:
    from sepnmf.explorer._session import Session

TEXT, NUMBER = {"type": "plaintext"}, NumberFormatter(format="0.000")
LISTED = 200  # columns of the list
MOST_POINTS = 20_000  # columns that are drawn in the plane
NEAR = 0.04  # distance, relative to the sides of the plane, up to which a column is under the pointer


class ColumnsView:
    """A searchable list of the columns, and their places in a plane."""

    def __init__(self, session: "Session", pointing: Pointing) -> None:
        self.session, self.pointing = session, pointing
        self.search = pn.widgets.TextInput(
            placeholder="Search for names of columns", sizing_mode="stretch_width"
        )
        self.search.param.watch(lambda _: self.list_columns(), "value_input")
        self.columns_listed: list[int] = []
        self.list = pn.widgets.Tabulator(
            pd.DataFrame(columns=["column", "score", "mostly", "weight"]),
            disabled=True,
            formatters={"column": TEXT, "mostly": TEXT, "score": NUMBER, "weight": NUMBER},
            height=260,
            layout="fit_columns",
            selectable=False,
            show_index=False,
            sizing_mode="stretch_width",
        )
        self.list.on_click(lambda event: pointing.on_choose(self.columns_listed[event.row]))
        self.points = ColumnDataSource({"x": [], "y": [], "name": [], "colour": []})
        self.marks = ColumnDataSource({"x": [], "y": [], "colour": [], "number": []})
        self.pointer = ColumnDataSource({"x": [], "y": []})
        self.area = ColumnDataSource({"x": [], "y": []})
        self.places: Floats = np.empty((2, 0))
        self.columns: Ints = np.empty(0, dtype=int)
        self.plot = self.plane()
        self.pane = pn.pane.Bokeh(self.plot, sizing_mode="stretch_width")
        self.count = pn.pane.HTML("")
        self.layout = pn.Column(
            self.search,
            self.list,
            self.count,
            self.pane,
            sizing_mode="stretch_width",
        )

    def plane(self) -> Any:
        """Return the figure of the plane."""
        plot = figure(
            height=340,
            sizing_mode="stretch_width",
            x_range=DataRange1d(range_padding=0.15),
            y_range=DataRange1d(range_padding=0.15),
            x_axis_label="first direction",
            y_axis_label="second direction",
            tools="pan,wheel_zoom,reset",
        )
        plot.toolbar.logo = None
        points = plot.scatter("x", "y", source=self.points, size=6, color="colour", alpha=0.75)
        hover = HoverTool(renderers=[points], tooltips=[("column", "@name")])
        plot.add_tools(hover, LassoSelectTool(continuous=False), BoxSelectTool())
        plot.patch("x", "y", source=self.area, fill_color="#16191c", fill_alpha=0.1, line_color="#16191c")
        plot.scatter("x", "y", source=self.marks, size=14, color="colour", line_color="#16191c", line_width=2)
        plot.text("x", "y", "number", source=self.marks, x_offset=9, y_offset=-3, text_font_style="bold")
        plot.scatter(
            "x", "y", source=self.pointer, marker="cross", size=20, line_color="#16191c", line_width=2
        )
        plot.on_event(MouseMove, lambda event: self.at(event, self.pointing.on_point))
        plot.on_event(Tap, lambda event: self.at(event, self.pointing.on_choose))
        plot.on_event(SelectionGeometry, self.draw)
        return plot

    def at(self, event: Any, call: Callable[[int], None]) -> None:
        """Call a function with the column that is nearest to an event, if it is near."""
        x, y = self.places
        sides = np.nanmax(self.places, axis=1) - np.nanmin(self.places, axis=1)
        width, height = np.where(sides > 0, sides, 1.0)
        distances = np.hypot((x - event.x) / width, (y - event.y) / height)
        nearest = int(np.nanargmin(distances))
        if distances[nearest] <= NEAR:
            call(int(self.columns[nearest]))

    def draw(self, event: Any) -> None:
        """Show an area that was drawn, and say which columns are in it."""
        xs, ys = corners(event.geometry)
        self.area.data = {"x": xs, "y": ys}
        x, y = self.places
        self.pointing.on_draw(inside(x, y, xs, ys))

    def clear(self) -> None:
        """Remove the drawn area."""
        self.area.data = {"x": [], "y": []}

    def point(self, column: int) -> None:
        """Mark a column."""
        x, y = self.place(column)
        self.pointer.data = {"x": [x], "y": [y]}

    def place(self, column: int) -> tuple[float, float]:
        """Return where a column is in the plane; NaN if it is not shown there."""
        found = np.flatnonzero(self.columns == column)
        return tuple(self.places[:, found[0]]) if found.size else (np.nan, np.nan)

    def list_columns(self) -> None:
        """List the columns whose names contain what is searched for."""
        rows = self.session.table(self.search.value_input, LISTED)
        anchors = self.session.anchors
        self.columns_listed = [row.column for row in rows]
        self.list.value = pd.DataFrame(
            {
                "column": [row.name for row in rows],
                "score": [row.score for row in rows],
                "mostly": ["" if row.dominant is None else anchors[row.dominant].name for row in rows],
                "weight": [row.weight for row in rows],
            }
        )
        more = f"The first {LISTED} columns are listed: search for others." if len(rows) == LISTED else ""
        self.count.object = more or f"{len(rows)} columns"

    def refresh(self) -> None:
        """Show the state of the session."""
        self.list_columns()
        anchors = self.session.anchors
        colours = [anchor.colour for anchor in anchors]
        self.places, self.columns = self.session.plane(), self.session.shown.columns
        largest = dominant(self.session.weights())
        shown = np.arange(0, len(self.columns), -(-len(self.columns) // MOST_POINTS))
        self.points.data = {
            "x": self.places[0, shown],
            "y": self.places[1, shown],
            "name": [self.session.data.column_label(int(column)) for column in self.columns[shown]],
            "colour": [f"#{OTHERS}" if np.isnan(k) else colours[int(k)] for k in largest[shown]],
        }
        marks = [self.place(anchor.column) for anchor in anchors]
        self.marks.data = {
            "x": [x for x, _ in marks],
            "y": [y for _, y in marks],
            "colour": colours,
            "number": [str(number) for number in range(1, len(anchors) + 1)],
        }
