"""Pages that say what the source says, written anew with every build so that they cannot differ from it.

Before Sphinx reads anything, this extension writes

- generated/methods.rst: a table of the methods, from their records in the registry;
- generated/command_line.md: every command and option, from the Typer app;
- api/index.rst: every public name, from which autosummary makes a page each.

`python docs/written_from_source.py` writes the table of methods in the README.
"""

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer
from typer.cli import get_docs_for_click

import sepnmf
from sepnmf.cli import app as command_line

if TYPE_CHECKING:  # so that the tests can read this file without Sphinx
    from sphinx.application import Sphinx
    from sphinx.config import Config

README_BEGIN = "<!-- methods: begin (written by docs/written_from_source.py) -->"
README_END = "<!-- methods: end -->"
ROOMS = ["metrics", "datasets", "io", "report", "model", "tuning"]
GALLERY = [
    "unmixing",
    "geotiff",
    "anchor_words",
    "scanpy_cells",
    "hyperspy_decomposition",
    "raman",
    "feature_selection",
    "choosing_the_method",
    "choosing_r",
    "reading_convergence",
    "adding_a_norm",
    "adding_a_method",
]


def gallery_order(filename: str) -> tuple[int, str]:
    """First what people do, then what they decide, then what they add; unknown examples at the end."""
    name = Path(filename).stem
    return GALLERY.index(name) if name in GALLERY else len(GALLERY), name


def methods_table() -> str:
    """One row per method, from its record: what it does, when to use it, its cost, which data it takes."""
    head = ("method", "what it does", "when to use it", "cost", "sparse M", "M in chunks")
    rows = [head]
    for name, method in sepnmf.METHODS.items():
        link = f":py:func:`{name} <sepnmf.{name}>`" if hasattr(sepnmf, name) else f"``{name}``"
        sparse = "yes" if method.sparse else "no"
        rows.append((link, method.summary, method.use, method.cost, sparse, method.chunks))
    cells = ["   * - " + "\n     - ".join(row) for row in rows]
    return "\n".join([".. list-table::", "   :header-rows: 1", "   :widths: 16 28 24 20 6 8\n", *cells])


def readme_table() -> str:
    """The same for the README, in Markdown."""
    lines = ["| method | what it does | when to use it | sparse M |", "|---|---|---|---|"]
    for name, method in sepnmf.METHODS.items():
        sparse = "yes" if method.sparse else "no"
        lines.append(f"| `{name}` | {method.summary} | {method.use} | {sparse} |")
    return "\n".join(lines)


def write_readme() -> None:
    """Put the table of methods between its two marks in the README."""
    path = Path(__file__).parent.parent / "README.md"
    before, begin, rest = path.read_text("utf-8").partition(README_BEGIN)
    _, end, after = rest.partition(README_END)
    path.write_text(f"{before}{begin}\n\n{readme_table()}\n\n{end}{after}", "utf-8")


def first_sentence(doc: str) -> str:
    """The docstring's first paragraph, on one line."""
    return " ".join(doc.partition("\n\n")[0].split())


def command_line_reference() -> str:
    """A list of the commands, and Typer's own description of each under a heading of its own."""
    group = typer.main.get_command(command_line)
    context = typer.Context(group, info_name="sepnmf")
    listing, descriptions = [], []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        listing.append(f"- [`{name}`](#sepnmf-{name}): {first_sentence(command.help or '')}")
        own = typer.Context(command, info_name=name, parent=context)
        descriptions.append(get_docs_for_click(obj=command, ctx=own, call_prefix="sepnmf", indent=1))
    return "\n".join([*listing, "", *descriptions])


def api_sections() -> dict[str, list[str]]:
    """The API page's headings and the full names of what is under each; no name is left out or said twice."""
    names = public_names(sepnmf)
    methods = list(sepnmf.METHODS)
    chosen = {
        "Choose anchors": ["select", "METHODS", "Selection", "estimate_rank", "RankEstimate", "stability"],
        "Methods": [*methods, "merit_lam", "methods.Method", "methods.method", "methods.State"],
        "In scikit-learn": ["SeparableNMF", "AnchorSelector"],
    }
    chosen["What M may be"] = ["matrix.as_matrix", "matrix.Matrix"]
    chosen["Around them"] = [name for name in names if not any(name in group for group in chosen.values())]
    sections = {title: [f"sepnmf.{name}" for name in group] for title, group in chosen.items()}
    for room in ROOMS:
        module = import_module(f"sepnmf.{room}")
        sections[module.__name__] = [
            f"sepnmf.{room}.{name}" for name in public_names(module) if name not in names
        ]
    return {title: group for title, group in sections.items() if group}


def public_names(module: ModuleType) -> list[str]:
    """What is in `__all__`; where there is none, the functions and classes whose docstrings have sections."""
    names = getattr(module, "__all__", None)
    if names is None:
        own = inspect.getmembers(module, lambda value: getattr(value, "__module__", "") == module.__name__)
        names = [name for name, value in own if "\n    ----" in (value.__doc__ or "")]
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


def api_page(sections: dict[str, list[str]]) -> str:
    """A table of names under each heading; dictionaries are described on the spot by their keys."""
    lines = ["API reference", "=============", "", "Every public name, from its docstring.", ""]
    for title, names in sections.items():
        lines += [title, "-" * len(title), ""]
        if title.startswith("sepnmf."):
            lines += [first_sentence(import_module(title).__doc__ or ""), ""]
        tables = [name for name in names if isinstance(find(name), dict)]
        for name in tables:
            keys = ", ".join(f'``"{key}"``' for key in find(name))
            lines += [f".. py:data:: {name}", "", f"   A dictionary with the keys {keys}.", ""]
        lines += [".. autosummary::", "   :toctree:", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names if name not in tables] + [""]
    return "\n".join(lines)


def find(name: str) -> Any:
    """The object with this full name."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def write_pages(app: "Sphinx", _: "Config") -> None:
    """Write the three files, and remove pages of names that are gone."""
    docs = Path(app.srcdir)
    sections = api_sections()
    pages = {
        "generated/methods.rst": methods_table(),
        "generated/command_line.md": command_line_reference(),
        "api/index.rst": api_page(sections),
    }
    for name, text in pages.items():
        path = docs / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:  # an unchanged page is not read again
            path.write_text(text, "utf-8")
    known = {"index", *(name for names in sections.values() for name in names)}
    for path in (docs / "api").glob("*.rst"):
        if path.stem not in known:
            path.unlink()


def setup(app: "Sphinx") -> dict[str, bool]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    write_readme()
