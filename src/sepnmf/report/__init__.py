"""One self-contained HTML page about a selection."""

from sepnmf.report.contents import Contents
from sepnmf.report.page import render, write_report

__all__ = ["Contents", "render", "write_report"]
