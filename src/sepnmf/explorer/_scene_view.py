"""The scene of an image: shown in one of several ways, with its anchors, a pointer and a drawn area."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import panel as pn
from bokeh.events import MouseMove, SelectionGeometry, Tap
from bokeh.models import BoxSelectTool, ColumnDataSource, LassoSelectTool, PolySelectTool, Range1d
from bokeh.plotting import figure

from sepnmf.explorer._colours import packed, painted, painted_bands, painted_categories
from sepnmf.explorer._drawing import corners, inside
from sepnmf.explorer._pointing import Pointing

if TYPE_CHECKING:
    from sepnmf.explorer._session import Session

LONGER_SIDE, SHORTEST_SIDE = 440, 120  # screen pixels of the scene; a strip is stretched
WAYS = ["Grey", "RGB", "Residual", "Dominant"]


class SceneView:
    """A figure of the scene."""

    def __init__(self, session: "Session", pointing: Pointing) -> None:
        self.session, self.pointing = session, pointing
        self.lines, self.samples = session.image_shape or (0, 0)
        self.map_shown: int | None = None  # position of the anchor whose map is shown in place of the scene
        self.way = pn.widgets.RadioButtonGroup(options=WAYS, value="Grey")
        self.way.param.watch(self.change_way, "value")
        self.image = ColumnDataSource({"image": []})
        self.marks = ColumnDataSource({"x": [], "y": [], "colour": [], "number": []})
        self.pointer = ColumnDataSource({"x": [], "y": []})
        self.area = ColumnDataSource({"x": [], "y": []})
        self.pane = pn.pane.Bokeh(self.drawn())
        self.layout = pn.Column(self.way, self.pane)

    def drawn(self) -> Any:
        """Return the figure."""
        scale = LONGER_SIDE / max(self.lines, self.samples)
        plot = figure(
            frame_width=max(round(self.samples * scale), SHORTEST_SIDE),
            frame_height=max(round(self.lines * scale), SHORTEST_SIDE),
            x_range=Range1d(0, self.samples, bounds="auto"),
            y_range=Range1d(self.lines, 0, bounds="auto"),
            x_axis_label="sample",
            y_axis_label="line",
            tools="pan,wheel_zoom,reset",
            active_scroll="wheel_zoom",
            background_fill_color="#e6e9ec",
        )
        plot.add_tools(LassoSelectTool(continuous=False), BoxSelectTool(), PolySelectTool())
        plot.grid.visible = False
        plot.toolbar.logo = None
        plot.image_rgba("image", x=0, y=0, dw=self.samples, dh=self.lines, source=self.image)
        plot.patch("x", "y", source=self.area, fill_color="#ffffff", fill_alpha=0.4, line_color="#000000")
        for size, colour, width in ((22, "#ffffff", 4), (20, "#000000", 1.5)):
            plot.scatter(
                "x", "y", source=self.pointer, marker="cross", size=size, line_color=colour, line_width=width
            )
        plot.scatter("x", "y", source=self.marks, size=13, color="colour", line_color="#ffffff", line_width=2)
        label = {"text_color": "#ffffff", "background_fill_color": "#16191c", "background_fill_alpha": 0.7}
        plot.text("x", "y", "number", source=self.marks, x_offset=9, y_offset=-3, padding=3, **label)
        plot.on_event(MouseMove, lambda event: self.at(event, self.pointing.on_point))
        plot.on_event(Tap, lambda event: self.at(event, self.pointing.on_choose))
        plot.on_event(SelectionGeometry, self.draw)
        return plot

    def at(self, event: Any, call: Callable[[int], None]) -> None:
        """Call a function with the column of the pixel of an event, unless it lies outside."""
        line, sample = int(np.floor(event.y)), int(np.floor(event.x))
        if 0 <= line < self.lines and 0 <= sample < self.samples:
            order = self.session.data.image_order
            call(int(np.ravel_multi_index((line, sample), (self.lines, self.samples), order=order)))

    def draw(self, event: Any) -> None:
        """Show an area that was drawn, and say which pixels have their centres in it."""
        xs, ys = corners(event.geometry)
        self.area.data = {"x": xs, "y": ys}
        lines, samples = self.session.mask.shape  # of the picture, which may be smaller than the image
        y, x = np.mgrid[0.5:lines, 0.5:samples]
        x, y = x * self.samples / samples, y * self.lines / lines
        self.pointing.on_draw(inside(x, y, xs, ys))

    def clear(self) -> None:
        """Remove the drawn area."""
        self.area.data = {"x": [], "y": []}

    def point(self, column: int) -> None:
        """Mark the pixel of a column."""
        line, sample = self.session.data.pixel(column)
        self.pointer.data = {"x": [sample + 0.5], "y": [line + 0.5]}

    def change_way(self, event: Any) -> None:
        """Show the scene in another way."""
        if event.new is not None:
            self.map_shown = None
            self.pointing.soon(self.refresh)

    def show_map(self, position: int) -> None:
        """Show the map of an anchor in place of the scene."""
        self.map_shown, self.way.value = position, None
        self.refresh()

    def refresh(self) -> None:
        """Show the state of the session."""
        anchors = self.session.anchors
        if self.map_shown is not None and self.map_shown >= len(anchors):
            self.map_shown, self.way.value = None, "Grey"
        places = np.array([self.session.data.pixel(anchor.column) for anchor in anchors]) + 0.5
        self.marks.data = {
            "x": places[:, 1],
            "y": places[:, 0],
            "colour": [anchor.colour for anchor in anchors],
            "number": [str(number) for number in range(1, len(anchors) + 1)],
        }
        self.image.data = {"image": [packed(self.colours(), self.session.mask)]}

    def colours(self) -> Any:
        """Return the colours of what is shown, lines × samples × 4."""
        if self.map_shown is not None:
            return painted(self.session.maps()[self.map_shown], "cividis", from_zero=True)
        overview = self.session.overview()
        if self.way.value == "RGB":
            return painted_bands(overview.rgb)
        if self.way.value == "Residual":
            return painted(overview.residual, "cividis", from_zero=True)
        if self.way.value == "Dominant":
            return painted_categories(overview.dominant, [anchor.colour for anchor in self.session.anchors])
        return painted(overview.grey, "gray", from_zero=False)
