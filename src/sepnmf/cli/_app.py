"""The Typer application, its exit codes, and functions that print errors, tables and JSON."""

import json
import re
import shlex
import sys
import traceback
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

app = typer.Typer(
    help="Find the few columns of a matrix that explain all the others.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()
error_console = Console(stderr=True)

SUCCESS, INTERNAL_ERROR, INVALID_INPUT, INTERRUPTED = 0, 1, 2, 130

STOPPED = "Interrupted; complete files are kept, and no incomplete file is left."


class UserError(Exception):
    """Invalid input or another condition that the user can correct; the message is one line."""

    def __init__(self, message: str, code: int = INVALID_INPUT) -> None:
        super().__init__(message)
        self.code = code


@app.callback()
def main() -> None:
    """Find the few columns of a matrix that explain all the others."""


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
    except (ValueError, OSError, MemoryError) as error:
        code = print_error(str(error) or "There is not enough memory.")
    except (KeyboardInterrupt, typer.Abort):
        code = print_error(STOPPED, INTERRUPTED)
    except Exception as error:
        if hasattr(error, "format_message"):  # invalid options or arguments, found by Typer
            code = print_error(error.format_message() or "Give a command: sepnmf --help lists them.")
        else:
            traceback.print_exc()
            message = f"Internal error, please report it: {type(error).__name__}: {error}"
            code = print_error(message, INTERNAL_ERROR)
    sys.exit(code if isinstance(code, int) else SUCCESS)


def print_error(message: str, code: int = INVALID_INPUT) -> int:
    """Print one line to standard error and return the exit code."""
    text = as_command_line_words(printable(message))
    error_console.print(text, markup=False, highlight=False, soft_wrap=True)
    return code


def as_command_line_words(message: str) -> str:
    """Replace names of Python arguments in a message by names of command line options."""
    message = re.sub(r'\bnegative="(\w+)"', r"--negative \1", message)
    message = re.sub(r"^in_parts is for", "--dask is for", message)
    message = re.sub(r"^memory (is for|must be)", r"--memory \1", message)
    return re.sub(r"\bgot r=(\d+)", r"got --anchors \1", message)


def printable(text: str) -> str:
    """Return text on one line without control characters, which a terminal would execute."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def print_line(text: str) -> None:
    """Print one line without markup."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


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
