"""One self-contained HTML page about a selection."""

from sepnmf.report._contents import Contents
from sepnmf.report._page import render, write_report

__all__ = ["Contents", "render", "write_report"]
