"""A window of the explorer: all views of a session, and the acts that they start."""

from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn
from tornado.ioloop import IOLoop

from sepnmf._markup import element, group, name
from sepnmf._typing import Bools
from sepnmf.explorer._address import address, column_at
from sepnmf.explorer._cards import Cards
from sepnmf.explorer._columns_view import ColumnsView
from sepnmf.explorer._explorer import Act, Explorer
from sepnmf.explorer._export_view import ExportView
from sepnmf.explorer._keyboard import HELP, Keyboard
from sepnmf.explorer._pointing import Pointing
from sepnmf.explorer._profile_view import ProfileView
from sepnmf.explorer._rank_view import RankView
from sepnmf.explorer._scene_view import SceneView
from sepnmf.registry import ready_methods

LEFT, RIGHT = {"flex": "0 1 540px", "min-width": "0"}, {"flex": "1 1 380px", "min-width": "0"}
STYLE = """
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 10px 0 0; border-top: 1px solid #c9ced3; padding-top: 8px; }
p { margin: 2px 0; color: #50575e; overflow-wrap: anywhere; }
strong { color: #16191c; font-size: 18px; }
.help { font-size: 13px; }
.failed { color: #7a2e00; background: #fdf0e6; border-left: 4px solid; padding: 4px 8px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 12px; margin: 0; font-size: 14px; }
dt { font-weight: 650; } dd { margin: 0; }
"""


class View:
    """The widgets of one window. `document` and `loop` are those of Bokeh's server, None in a notebook.

    Bokeh 3.10 makes windows in threads of their own, where the loop of the server cannot be asked for.
    """

    def __init__(self, explorer: Explorer, document: Any = None, loop: IOLoop | None = None) -> None:
        self.explorer, self.session, self.document, self.loop = explorer, explorer.session, document, loop
        self.column: int | None = None  # under the pointer
        self.held = False  # whether it was clicked, so that the pointer may leave it
        self.drawn: Bools | None = None  # which columns are in the area that was drawn
        self.updating = False
        show = SceneView if self.session.kind == "image" else ColumnsView
        self.overview = show(self.session, Pointing(self.point, self.choose, self.draw, self.soon))
        self.profile = ProfileView(self.session)
        self.cards = Cards(self.session, self.act, self.replace, self.show_map)
        self.rank = RankView(self.session, self.select, explorer.compute_curve)
        self.export = ExportView(explorer)
        self.keyboard = Keyboard(everywhere=document is not None, keys=list(self.keys()), width=0, height=0)
        self.keyboard.on_msg(lambda event: self.keys()[event.data]())
        self.layout = self.laid_out()
        explorer.windows.append(self)
        if document is not None:
            document.on_session_destroyed(lambda _: explorer.windows.remove(self))
        self.refresh()

    # What is shown -----------------------------------------------------------------------------------

    def html(self, content: Any = "") -> pn.pane.HTML:
        """Return a pane for markup, which the functions of `_markup` make and escape."""
        return pn.pane.HTML(content, stylesheets=[STYLE], sizing_mode="stretch_width")

    def laid_out(self) -> pn.Column:
        """Return all views and widgets in their places."""
        self.title = self.html()
        self.message = self.html()
        self.r = pn.widgets.IntInput(label="Anchors", start=1, width=80)
        self.method = pn.widgets.Select(label="Method", options=ready_methods(), width=160)
        again = button("Select again", self.select)
        self.undo, self.redo = button("Undo", self.undo_act), button("Redo", self.redo_act)
        self.doing = pn.pane.HTML("", stylesheets=[STYLE], align="end")
        self.bar = pn.indicators.Progress(value=-1, active=True, width=160, align="end")
        self.stop = button("Stop", self.explorer.work.stop, color="danger")
        self.r.param.watch(self.on_value(lambda value: self.select(r=value)), "value")
        self.method.param.watch(self.on_value(lambda value: self.select(method=value)), "value")
        acts = (self.r, self.method, again, self.undo, self.redo, self.stop, self.bar, self.doing)
        controls = pn.FlexBox(*acts, align_items="end", sizing_mode="stretch_width")
        what = "pixel" if self.session.kind == "image" else "column"
        self.goto = pn.widgets.TextInput(
            label="Pixel (line:sample)" if what == "pixel" else "Column (name or number)", width=170
        )
        self.goto.param.watch(self.on_value(self.go_to), "value")
        pointed = pn.FlexBox(
            self.goto,
            button(f"Make this {what} an anchor", self.add),
            button("Never an anchor", self.exclude),
            align_items="end",
        )
        self.masking = pn.FlexBox(
            button("Leave out the area", lambda: self.use(inside=False)),
            button("Use only the area", lambda: self.use(inside=True)),
            visible=False,
        )
        self.use_all = button(f"Use all {what}s", lambda: self.act(lambda session, _: session.use(None)))
        keys = element("dl", (group(element("dt", key), element("dd", text)) for key, text in HELP.items()))
        help_text = f"To leave {what}s out, draw an area with the lasso or the box beside the picture."
        drawing = self.html(element("p", help_text, class_="help"))
        left = pn.Column(
            self.overview.layout,
            pointed,
            drawing,
            self.masking,
            self.use_all,
            styles=LEFT if what == "pixel" else RIGHT,
        )
        right = pn.Column(self.profile.layout, self.rank.layout, styles=RIGHT)
        return pn.Column(
            self.title,
            controls,
            self.message,
            pn.FlexBox(left, right, gap="16px", sizing_mode="stretch_width"),
            self.html(element("h2", "Anchors")),
            self.cards.layout,
            self.html(element("h2", "Results")),
            self.export.layout,
            self.html(group(element("h2", "Keys"), keys)),
            self.keyboard,
            css_classes=["sepnmf-explorer"],
            sizing_mode="stretch_width",
            styles={"max-width": "1320px", "margin": "0 auto", "padding": "10px 16px"},
        )

    def refresh(self) -> None:
        """Show the state of the session in all views."""
        session = self.session
        self.updating = True
        self.r.value, self.method.value = session.r, session.method
        self.updating = False
        self.undo.disabled, self.redo.disabled = not session.can_undo, not session.can_redo
        self.overview.refresh()
        self.profile.show(self.column)
        self.cards.refresh()
        self.rank.refresh(self.explorer.curve)
        self.export.refresh()
        self.use_all.visible = bool(session.mask.sum() < session.shown.known.sum())
        m, n = session.shape
        facts = f"{m:,} × {n:,}, {session.r} anchors by {session.method} ({session.status})"
        self.title.object = group(
            element("h1", name(session.data.file.name)),
            element("p", element("strong", f"{session.fit:.2%} explained"), f" · {facts}"),
        )
        self.message.object = element(
            "p",
            name(self.explorer.message),
            role="status",
            class_="failed" if self.explorer.failed else None,
        )
        self.refresh_progress()

    def refresh_progress(self) -> None:
        """Show what is being computed."""
        work = self.explorer.work
        self.stop.visible = self.bar.visible = self.doing.visible = bool(work.name)
        self.doing.object = element("p", f"{work.name} …")
        self.bar.value = -1 if work.share is None else round(100 * work.share)

    def changed(self) -> None:
        """Show the state of the session, from any thread."""
        self.soon(self.refresh)

    def progressed(self) -> None:
        """Show what is being computed, from any thread."""
        self.soon(self.refresh_progress)

    def soon(self, function: Callable[[], None]) -> None:
        """Call a function that changes what is shown; on a server in the thread of the server."""
        if self.loop is not None:
            self.loop.add_callback(self.at_once, function)
        else:
            function()
            pn.io.push_notebook(self.layout)

    def at_once(self, function: Callable[[], None]) -> None:
        """Call a function as soon as the document is free, unless the window has been closed."""
        if self in self.explorer.windows:
            self.document.add_next_tick_callback(function)

    # Columns -----------------------------------------------------------------------------------------

    def point(self, column: int) -> None:
        """Show the column under the pointer, unless one was clicked."""
        if not self.held and column != self.column:
            self.look_at(column)

    def choose(self, column: int) -> None:
        """Show a column that was clicked; a second click lets it go."""
        self.held = not (self.held and column == self.column)
        self.look_at(column)

    def look_at(self, column: int) -> None:
        """Show a column in all views."""
        self.column = column
        self.soon(self.show_column)

    def show_column(self) -> None:
        """Show the column under the pointer in all views."""
        if self.column is not None:
            self.overview.point(self.column)
            self.profile.show(self.column)
            self.updating = True
            self.goto.value = address(self.session.data, self.column)
            self.updating = False

    def go_to(self, text: str) -> None:
        """Choose a column that was typed."""
        try:
            column = column_at(self.session.data, text)
        except ValueError as error:
            self.explorer.say(str(error))
        else:
            self.held = True
            self.look_at(column)

    def show_map(self, position: int) -> None:
        """Show the map of an anchor in place of the scene."""
        if isinstance(self.overview, SceneView):
            self.soon(partial(self.overview.show_map, position))

    # Acts --------------------------------------------------------------------------------------------

    def act(self, act: Act, name: str = "Computing") -> None:
        """Do something to the session."""
        self.explorer.act(name, act)

    def on_value(self, act: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return what happens when the user, and not `refresh`, changes a value."""
        return lambda event: None if self.updating else act(event.new)

    def select(self, r: int | None = None, method: str | None = None) -> None:
        """Select anchors again."""
        self.act(lambda session, report: session.select_again(r, method, report), "Selecting anchors")

    def with_column(self, act: Callable[[int], Act]) -> None:
        """Do something with the column under the pointer, if there is one."""
        if self.column is None:
            self.explorer.say("Point at a column, click it or type it first.")
        else:
            self.act(act(self.column))

    def add(self) -> None:
        """Make the column under the pointer an anchor."""
        self.with_column(lambda column: lambda session, _: session.add(column))

    def exclude(self) -> None:
        """Mark the column under the pointer as no anchor."""
        self.with_column(lambda column: lambda session, _: session.exclude(column))

    def replace(self, position: int) -> None:
        """Replace an anchor by the column under the pointer."""
        self.with_column(lambda column: lambda session, _: session.replace(position, column))

    def draw(self, inside: Bools) -> None:
        """Remember which columns are in an area that was drawn."""
        self.drawn, self.masking.visible = inside, True

    def use(self, *, inside: bool) -> None:
        """Use only the columns inside of the drawn area, or only those outside of it."""
        if self.drawn is not None:
            mask = self.session.mask & (self.drawn if inside else ~self.drawn)
            self.clear()
            self.act(lambda session, _: session.use(mask))

    def clear(self) -> None:
        """Forget the area that was drawn."""
        self.drawn, self.masking.visible = None, False
        self.soon(self.overview.clear)

    def undo_act(self) -> None:
        """Take back the last act."""
        self.act(lambda session, _: session.undo())

    def redo_act(self) -> None:
        """Do again what was taken back."""
        self.act(lambda session, _: session.redo())

    def escape(self) -> None:
        """Stop a computation, and let go what was clicked or drawn."""
        self.explorer.work.stop()
        self.held = False
        self.clear()

    def keys(self) -> dict[str, Callable[[], None]]:
        """Return what each key does."""
        more, less = lambda: self.select(self.session.r + 1), lambda: self.select(self.session.r - 1)
        keys = {"a": self.add, "+": more, "-": less, "u": self.undo_act, "Ctrl-z": self.undo_act}
        keys |= {"Ctrl-y": self.redo_act, "Ctrl-Shift-z": self.redo_act, "Escape": self.escape}
        return keys | {str(k): lambda k=k: self.replace(k - 1) for k in range(1, 10)}


def button(label: str, act: Callable[[], None], **options: Any) -> pn.widgets.Button:
    """Return a button."""
    made = pn.widgets.Button(label=label, align="end", **options)
    made.on_click(lambda _: act())
    return made
