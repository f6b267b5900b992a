"""Results: files in a folder, and the command that gives them again."""

import panel as pn

from sepnmf._markup import element, group, name
from sepnmf.explorer._explorer import Explorer

STYLE = """
pre { background: #f6f7f8; border-radius: 6px; padding: 10px; margin: 0; font-size: 13px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
p, ul { margin: 4px 0; overflow-wrap: anywhere; }
ul { padding-left: 1.4em; }
"""
COPY = "navigator.clipboard.writeText(command.value)"


class ExportView:
    """A folder to write to, the files that were written, and the command."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        file = explorer.session.data.file
        self.folder = pn.widgets.TextInput(label="Folder", value=f"{file.stem}-explored", width=300)
        self.folder.param.watch(lambda _: self.refresh(), "value")
        write = pn.widgets.Button(label="Export", color="primary", align="end")
        write.on_click(lambda _: explorer.export(self.folder.value))
        self.command = pn.widgets.TextInput(visible=False)  # what the script copies
        copy = pn.widgets.Button(label="Copy the command", align="end")
        copy.js_on_click(args={"command": self.command}, code=COPY)
        self.result = pn.pane.HTML("", stylesheets=[STYLE], sizing_mode="stretch_width")
        self.layout = pn.Column(
            pn.FlexBox(self.folder, write, copy, self.command, align_items="end"),
            self.result,
            sizing_mode="stretch_width",
        )

    def refresh(self) -> None:
        """Show the command of the anchors as they are, and what was written."""
        self.command.value = self.explorer.session.command(self.folder.value)
        paths = self.explorer.exported
        files = element("ul", (element("li", name(str(path))) for path in paths))
        self.result.object = group(
            element("p", "This command gives these anchors, names and weights again:"),
            element("pre", self.command.value, id="command", tabindex=0),
            group(element("p", "Written:"), files) if paths else None,
        )
