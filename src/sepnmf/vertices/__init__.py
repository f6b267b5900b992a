"""Vertices from anchors: outside of the data (minimum volume), or convex combinations of columns."""

from sepnmf.vertices._archetypes import archetypes
from sepnmf.vertices._minimum_volume import minimum_volume

__all__ = ["archetypes", "minimum_volume"]
