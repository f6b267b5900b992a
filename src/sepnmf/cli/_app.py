"""The Typer application, its exit codes, and functions that print errors, tables and JSON."""

import json
import re
import shlex
import sys
import traceback
from collections.abc import Iterator
from typing import Annotated, Any, NoReturn

import typer
import typer.core
from rich.console import Console
from rich.table import Table
from rich.text import Text

SUMMARY = """Find the few columns of a matrix that explain all the others (separable NMF).

The columns may be pixels of an image, words of a corpus, genes or samples. The few are called anchors: pure
pixels, anchor words, markers. The others are mixtures of them."""

GROUPS = {
    "Work on a file": ("select", "unmix", "topics", "compare", "explore"),
    "Get to know it": ("demo", "methods"),
    "Research": ("reproduce",),
}

EXAMPLES = """Examples:
  sepnmf unmix scene.hdr -r 4 --report
      writes the spectra of four pure pixels, their abundance maps, and a page
  sepnmf select table.csv -r auto
      finds how many columns explain the table, and which

sepnmf COMMAND --help lists the options of a command."""


class Group(typer.core.TyperGroup):
    """The commands in groups, and examples below them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one line per command under the heading of its group."""
        names = self.list_commands(ctx)
        grouped = [name for group in GROUPS.values() for name in group]
        groups = GROUPS | {"Other commands": tuple(name for name in names if name not in grouped)}
        width = formatter.width - max(map(len, names)) - 6
        for title, group in groups.items():
            commands = [(name, self.commands[name]) for name in group if name in names]
            if commands:
                with formatter.section(title):
                    lines = [(name, command.get_short_help_str(width)) for name, command in commands]
                    formatter.write_dl(lines)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples as they are."""
        formatter.write(f"\n{EXAMPLES}\n")


app = typer.Typer(
    cls=Group,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()
SHOWN_AS: dict[str, str] = {}  # paths of temporary folders, and the paths that messages show instead
error_console = Console(stderr=True)

# Arguments of `sepnmf.io.read` that are options under the same name.
READING = "memory|shape|axes|order|nodata|mask|bands|names|row_names|variable|header|index|omit"

SUCCESS, INTERNAL_ERROR, INVALID_INPUT, INTERRUPTED = 0, 1, 2, 130

NO_MEMORY = "There is not enough memory."
# What Python says if there is none for a library that it loads, or for a thread.
NO_ROOM = re.compile("failed to map segment|Cannot allocate memory|can't start new thread")

STOPPED = "Interrupted: nothing was written, and the results of an earlier run are kept."


class UserError(Exception):
    """Invalid input or another condition that the user can correct; the message is one line."""

    def __init__(self, message: str, code: int = INVALID_INPUT) -> None:
        super().__init__(message)
        self.code = code


def show_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"sepnmf {version('sepnmf')}\n")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
]


@app.callback(help=SUMMARY)
def main(context: typer.Context, version: Version = False) -> None:
    """Print the help if no command is given."""
    from sepnmf.cli._progress import begin_command

    begin_command()
    SHOWN_AS.clear()
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


def run() -> NoReturn:
    """Run the command line.

    Exit codes: 0 success, 2 invalid input (one-line explanation), 1 internal error, 130 interrupted.
    """
    try:
        code = typer.main.get_command(app).main(standalone_mode=False)
        if code == INTERRUPTED:  # Typer returns this code after Ctrl-C
            print_error(STOPPED)
    except UserError as error:
        code = print_error(str(error), error.code)
    except (ValueError, OSError) as error:
        code = print_error(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = print_error(STOPPED, INTERRUPTED)
    except Exception as error:
        if is_interrupt(error):
            code = print_error(STOPPED, INTERRUPTED)
        elif lacks_memory(error):  # so that there is none for Rich either
            said = isinstance(error, MemoryError) and printable(str(error))
            sys.stderr.write(f"{said or NO_MEMORY}\n")
            code = INVALID_INPUT
        elif hasattr(error, "format_message"):  # invalid options or arguments, found by Typer
            code = print_error(error.format_message() or "Give a command: sepnmf --help lists them.")
        else:
            traceback.print_exc()
            message = f"Internal error, please report it: {type(error).__name__}: {error}"
            code = print_error(message, INTERNAL_ERROR)
    sys.exit(code if isinstance(code, int) else SUCCESS)


def is_interrupt(error: BaseException) -> bool:
    """Return whether Ctrl-C is behind an exception: extension modules raise ImportError when interrupted."""
    return any(isinstance(one, KeyboardInterrupt) for one in chain(error))


def lacks_memory(error: BaseException) -> bool:
    """Return whether there was no memory for numbers, for a library that is loaded, or for a thread."""
    return any(
        isinstance(one, MemoryError)
        or (isinstance(one, (ImportError, RuntimeError)) and NO_ROOM.search(str(one)))
        for one in chain(error)
    )


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it is raised from, or while they are handled."""
    behind: BaseException | None = error
    while behind is not None:
        yield behind
        behind = behind.__cause__ or behind.__context__


def print_error(message: str, code: int = INVALID_INPUT) -> int:
    """Print one line to standard error and return the exit code."""
    text = as_command_line_words(printable(as_shown(message)))
    error_console.print(text, markup=False, highlight=False, soft_wrap=True)
    return code


def as_shown(text: str) -> str:
    """Replace paths by what the user knows them as."""
    for path, name in SHOWN_AS.items():
        text = text.replace(path, name)
    return text


def as_command_line_words(message: str) -> str:
    """Replace names of Python arguments in a message by names of command line options."""
    message = re.sub(r'\bnegative="(\w+)"', r"--negative \1", message)
    message = re.sub(r'\bdecimal="([.,])"', r"--decimal \1", message)
    message = re.sub(
        r"columns out with (mask=np.isfinite[^,]*|nodata=.nan. in sepnmf.io.read)",
        "columns out with --nodata nan or --mask FILE",
        message,
    )
    message = re.sub(
        r'columns out with nodata="(\S+)" in sepnmf.io.read', r"columns out with --nodata \1", message
    )
    message = re.sub(r"^in_parts is for", "--dask is for", message)
    found = re.match(rf"({READING}) (is for|must|cannot|has|needs|names)\b", message)
    if found:
        message = f"--{found[1].replace('_', '-')}{message[found.end(1) :]}"
    return re.sub(r"\bgot r=(\d+)", r"got --anchors \1", message)


def printable(text: str) -> str:
    """Return text on one line without control characters, which a terminal would execute."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def print_line(text: str) -> None:
    """Print one line without markup."""
    console.print(printable(as_shown(text)), markup=False, highlight=False, soft_wrap=True)


def show_table(head: dict[str, str], rows: list[list[str]]) -> None:
    """Print a table; `head` maps the title of each column to its alignment, "left" or "right"."""
    table = Table(box=None, pad_edge=False)
    for title, alignment in head.items():
        table.add_column(title, justify=alignment, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)


def show_json(content: Any) -> None:
    """Print one JSON object."""
    sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")


def command_line() -> str:
    """Return the command as the user typed it."""
    return shlex.join(["sepnmf", *sys.argv[1:]])


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that determine the results."""
    import platform
    from importlib.metadata import version

    names = ("sepnmf", "numpy", "scipy", "numba", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
