"""The command line: words to calls; nothing is computed here.

Only Typer and Rich are imported before a command runs, so that help comes at once.
"""

from sepnmf.cli.app import app, run
from sepnmf.cli.commands import compare, demo, select, topics, unmix
from sepnmf.cli.reproduce import reproduce

__all__ = ["app", "compare", "demo", "reproduce", "run", "select", "topics", "unmix"]
