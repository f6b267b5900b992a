"""Keys that act on the explorer."""

from typing import ClassVar

import param
from panel.custom import JSComponent

HELP = {
    "A": "make the column under the pointer an anchor",
    "1 … 9": "replace this anchor by the column under the pointer",
    "+ and −": "select one anchor more, or less",
    "Ctrl-Z or U": "undo",
    "Ctrl-Y or Ctrl-Shift-Z": "redo",
    "Escape": "stop a computation; let a column go that was clicked",
}


class Keyboard(JSComponent):  # type: ignore[misc]
    """Sends the keys that are pressed outside of fields.

    In a notebook, which has keys of its own, only those pressed inside of the explorer.
    """

    everywhere = param.Boolean(default=True)
    keys = param.List(default=[])

    _esm: ClassVar[str] = """
export function render({ model, el }) {
  const fields = ["INPUT", "TEXTAREA", "SELECT"];
  const press = (event) => {
    const path = event.composedPath();
    const control = event.ctrlKey || event.metaKey;
    const key = (control ? "Ctrl-" : "") + (control && event.shiftKey ? "Shift-" : "") +
      (event.key.length === 1 ? event.key.toLowerCase() : event.key);
    const inside = path.some((node) => node.classList?.contains("sepnmf-explorer"));
    if (!model.keys.includes(key) || event.altKey || fields.includes(path[0].tagName)) return;
    if (!model.everywhere && !inside) return;
    event.preventDefault();
    model.send_msg(key);
  };
  document.addEventListener("keydown", press);
  model.on("remove", () => document.removeEventListener("keydown", press));
}
"""
