"""A card for each anchor: its map or its largest rows, its name and colour, and what can be done with it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import panel as pn

from sepnmf._markup import Markup, element, group, name
from sepnmf.report._pictures import Scale

if TYPE_CHECKING:
    from sepnmf.explorer._explorer import Act
    from sepnmf.explorer._session import Session
    from sepnmf.explorer._state import Change

WIDTH = 268  # screen pixels of the contents of a card
GAP = (6, 4, 0, 0)
TOP_ROWS = 8
STYLE = """
img { width: 100%; max-height: 250px; object-fit: contain; image-rendering: pixelated; display: block; }
ol { margin: 0; padding-left: 1.8em; font-size: 14px; overflow-wrap: anywhere; }
p { margin: 0 0 4px; font-size: 14px; overflow-wrap: anywhere; }
img + p { font-size: 13px; color: #50575e; margin: 2px 0 0; }
.number { display: inline-block; min-width: 1.2em; padding: 0 0.3em; border-radius: 4px; font-weight: 650;
  text-align: center; color: #ffffff; text-shadow: 0 0 3px #000000, 0 0 2px #000000; margin-right: 0.4em; }
"""
FRAME = {"border": "1px solid #c9ced3", "border-radius": "6px", "padding": "8px", "box-sizing": "border-box"}


class Card:
    """One anchor. `on_act` runs an act; `on_replace` and `on_show` get the position of the anchor."""

    def __init__(
        self,
        session: "Session",
        position: int,
        on_act: Callable[["Act"], None],
        on_replace: Callable[[int], None],
        on_show: Callable[[int], None],
    ) -> None:
        self.session, self.position, self.on_act = session, position, on_act
        number = position + 1
        self.picture = pn.pane.HTML("", stylesheets=[STYLE], width=WIDTH, margin=0)
        self.name = pn.widgets.TextInput(label=f"Name of anchor {number}", width=WIDTH - 60, margin=GAP)
        self.colour = pn.widgets.ColorPicker(label="Colour", width=48, margin=GAP)
        self.lock = pn.widgets.Toggle(label="Lock", margin=GAP)
        replace = pn.widgets.Button(label="Replace", margin=GAP)
        drop = pn.widgets.Button(label="Drop", margin=GAP)
        show = pn.widgets.Button(label="Show", margin=GAP, visible=session.kind == "image")
        self.name.param.watch(self.changed(lambda value: session.rename(self.position, value)), "value")
        self.colour.param.watch(self.changed(lambda value: session.recolour(self.position, value)), "value")
        self.lock.param.watch(self.changed(lambda value: session.lock(self.position, value)), "value")
        replace.on_click(lambda _: on_replace(self.position))
        drop.on_click(lambda _: on_act(lambda session, _: session.drop(self.position)))
        show.on_click(lambda _: on_show(self.position))
        fields = pn.Row(self.name, self.colour, margin=0)
        buttons = pn.Row(self.lock, replace, drop, show, margin=0)
        self.layout = pn.Column(self.picture, fields, buttons, width=WIDTH + 18, margin=0, styles=FRAME)
        self.updating = False

    def changed(self, act: Callable[[Any], "Change"]) -> Callable[[Any], None]:
        """Return what happens when the user, and not `refresh`, changes a value."""

        def change(event: Any) -> None:
            if not self.updating:
                self.on_act(lambda _session, _report: act(event.new))

        return change

    def refresh(self) -> None:
        """Show the anchor as it is."""
        anchor = self.session.anchors[self.position]
        self.updating = True
        self.name.value, self.colour.value, self.lock.value = anchor.name, anchor.colour, anchor.locked
        self.updating = False
        self.lock.label = "Locked" if anchor.locked else "Lock"
        number = element("span", self.position + 1, class_="number", style=f"background:{anchor.colour}")
        where = element("p", number, name(self.session.data.column_label(anchor.column)))
        self.picture.object = group(where, self.content())

    def content(self) -> Markup:
        """Return the map of the anchor, or its largest rows."""
        if self.session.kind == "image":
            weights = self.session.maps()[self.position]
            scale = Scale.of(weights, from_zero=True)
            picture = element(
                "img", src=scale.uri(weights, "cividis"), alt=f"Map of anchor {self.position + 1}"
            )
            return group(picture, element("p", "weights from {} (blue) to {} (yellow)".format(*scale.ends)))
        rows = self.session.top_rows(self.position, TOP_ROWS)
        return element("ol", (element("li", name(row)) for row in rows))


class Cards:
    """The cards of all anchors."""

    def __init__(
        self,
        session: "Session",
        on_act: Callable[["Act"], None],
        on_replace: Callable[[int], None],
        on_show: Callable[[int], None],
    ) -> None:
        self.session = session
        self.make: Callable[[int], Card] = lambda position: Card(
            session, position, on_act, on_replace, on_show
        )
        self.cards: list[Card] = []
        self.layout = pn.FlexBox(gap="12px", sizing_mode="stretch_width", margin=(8, 10))

    def refresh(self) -> None:
        """Show the anchors as they are, with the cards that there are already."""
        r = self.session.r
        self.cards += [self.make(position) for position in range(len(self.cards), r)]
        for card in self.cards[:r]:
            card.refresh()
        wanted = [card.layout for card in self.cards[:r]]
        if len(wanted) != len(self.layout):
            self.layout[:] = wanted
