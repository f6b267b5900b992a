"""Report of a selection as one self-contained HTML page."""

from sepnmf.report._contents import Contents
from sepnmf.report._page import render, write_report

__all__ = ["Contents", "render", "write_report"]
