"""The command line: each command turns words into calls of the library; nothing is computed here.

Only Typer and Rich are imported before a command runs, so that help appears at once.
"""

from sepnmf.cli._app import app, run
from sepnmf.cli._commands import compare, demo, select, topics, unmix
from sepnmf.cli._methods import methods
from sepnmf.cli._reproduce import reproduce

__all__ = ["app", "compare", "demo", "methods", "reproduce", "run", "select", "topics", "unmix"]
