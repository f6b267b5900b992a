"""Command line interface. Each command parses its options and calls the library.

Only Typer and Rich are imported before a command runs, so that --help is fast.
"""

from sepnmf.cli._app import app, run
from sepnmf.cli._commands import compare, select, unmix
from sepnmf.cli._explore import explore
from sepnmf.cli._listing import demo, methods
from sepnmf.cli._reproduce import reproduce
from sepnmf.cli._topics import topics

__all__ = ["app", "compare", "demo", "explore", "methods", "reproduce", "run", "select", "topics", "unmix"]
