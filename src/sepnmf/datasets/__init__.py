"""Data with known anchors."""

from sepnmf.datasets.synthetic import make_dirichlet, make_midpoint

__all__ = ["make_dirichlet", "make_midpoint"]
