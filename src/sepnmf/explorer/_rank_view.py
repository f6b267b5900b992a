"""The fit against the number of anchors; a click on a number selects so many."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import panel as pn
from bokeh.events import Tap
from bokeh.models import AdaptiveTicker, ColumnDataSource, HoverTool, NumeralTickFormatter
from bokeh.plotting import figure

if TYPE_CHECKING:
    from sepnmf.explorer._session import Session

UP_TO = 10  # anchors, if there are fewer at first


class RankView:
    """A curve of the fit, computed when it is asked for."""

    def __init__(
        self, session: "Session", on_choose: Callable[[int], None], on_compute: Callable[[int], None]
    ) -> None:
        self.session, self.on_choose = session, on_choose
        self.up_to = pn.widgets.IntInput(label="up to", start=2, value=UP_TO, width=70)
        self.compute = pn.widgets.Button(label="Fit against r", align="end")
        self.compute.on_click(lambda _: on_compute(int(self.up_to.value)))
        self.curve = ColumnDataSource({"r": [], "fit": []})
        self.now = ColumnDataSource({"r": [], "fit": []})
        plot = figure(
            height=200,
            sizing_mode="stretch_width",
            x_axis_label="number of anchors r: click one to select so many",
            y_axis_label="fit",
            tools="",
            toolbar_location=None,
        )
        plot.xaxis.ticker = AdaptiveTicker(base=10, mantissas=[1, 2, 5], min_interval=1, num_minor_ticks=0)
        plot.yaxis.formatter = NumeralTickFormatter(format="0.0 %")
        plot.line("r", "fit", source=self.curve, color="#00558c", line_width=2)
        points = plot.scatter("r", "fit", source=self.curve, color="#00558c", size=9)
        plot.scatter("r", "fit", source=self.now, color="#d55e00", size=13, marker="diamond")
        plot.add_tools(HoverTool(renderers=[points], tooltips=[("r", "@r"), ("fit", "@fit{0.00 %}")]))
        plot.on_event(Tap, self.choose)
        self.pane = pn.pane.Bokeh(plot, sizing_mode="stretch_width")
        self.layout = pn.Column(pn.Row(self.compute, self.up_to), self.pane, sizing_mode="stretch_width")

    def choose(self, event: Any) -> None:
        """Select as many anchors as the number nearest to a click, if it is on the curve."""
        r = round(event.x)
        if r in self.curve.data["r"]:
            self.on_choose(r)

    def refresh(self, curve: list[tuple[int, float]]) -> None:
        """Show the curve as far as it is known, and mark the anchors as they are."""
        self.curve.data = {"r": [r for r, _ in curve], "fit": [fit for _, fit in curve]}
        self.pane.visible = bool(curve)
        self.now.data = {"r": [self.session.r], "fit": [self.session.fit]}
