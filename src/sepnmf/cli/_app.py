"""The application, its exit codes, and how it speaks: one line for a mistake, tables for results."""

import json
import re
import shlex
import sys
import traceback
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(
    help="Find the few columns of a matrix that explain all the others.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()
complaints = Console(stderr=True)

OK, OURS, USERS, INTERRUPTED = 0, 1, 2, 130


STOPPED = "Stopped before the end; files that were complete are kept, and nothing else."


class UserError(Exception):
    """Something that the user did or can mend; its text is one line."""

    def __init__(self, message: str, code: int = USERS) -> None:
        super().__init__(message)
        self.code = code


@app.callback()
def main() -> None:
    """Find the few columns of a matrix that explain all the others."""


def run() -> NoReturn:
    """Run the command line: exit code 0 done, 2 the user's mistake, 1 ours, 130 interrupted."""
    try:
        code = typer.main.get_command(app).main(standalone_mode=False)
        if code == INTERRUPTED:  # what Typer makes of Ctrl-C
            complain(STOPPED)
    except UserError as error:
        code = complain(str(error), error.code)
    except (ValueError, OSError, MemoryError) as error:
        code = complain(str(error) or "There is not enough memory.")
    except (KeyboardInterrupt, typer.Abort):
        code = complain(STOPPED, INTERRUPTED)
    except Exception as error:
        if hasattr(error, "format_message"):  # a mistake in the command itself
            code = complain(error.format_message() or "Say what to do: sepnmf --help.")
        else:
            traceback.print_exc()
            code = complain(f"This is our mistake, please report it: {type(error).__name__}: {error}", OURS)
    sys.exit(code if isinstance(code, int) else OK)


def complain(message: str, code: int = USERS) -> int:
    """Print one line to the standard error; return the exit code."""
    complaints.print(in_words_of_the_shell(plain(message)), markup=False, highlight=False, soft_wrap=True)
    return code


def in_words_of_the_shell(message: str) -> str:
    """What Python's messages say of arguments, said of options."""
    message = re.sub(r'\bnegative="(\w+)"', r"--negative \1", message)
    message = re.sub(r"^in_parts is for", "--dask is for", message)
    message = re.sub(r"^memory (is for|must be)", r"--memory \1", message)
    return re.sub(r"\bgot r=(\d+)", r"got --anchors \1", message)


def plain(text: str) -> str:
    """Text on one line, with nothing in it that a terminal would obey."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def say(text: str) -> None:
    """Print a line as it is."""
    console.print(plain(text), markup=False, highlight=False, soft_wrap=True)


def show_table(head: dict[str, str], rows: list[list[str]]) -> None:
    """Print a table; `head` has the columns' titles and whether they are set "left" or "right"."""
    table = Table(box=None, pad_edge=False)
    for title, side in head.items():
        table.add_column(title, justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(rich_text(cell) for cell in row))
    console.print(table)


def rich_text(cell: str) -> Any:
    """A cell without markup."""
    from rich.text import Text

    return Text(plain(cell))


def show_json(content: Any) -> None:
    """Print JSON, one object."""
    sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")


def command_line() -> str:
    """The command as it was given."""
    return shlex.join(["sepnmf", *sys.argv[1:]])


def versions() -> dict[str, str]:
    """Of Python, and of what the answer depends on."""
    import platform
    from importlib.metadata import version

    names = ("sepnmf", "numpy", "scipy", "numba", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
