"""Data with known anchors."""

from sepnmf.datasets.loaders import (
    Dataset,
    load_amino_acids,
    load_bbc_news,
    load_cbcl_faces,
    load_jasper_ridge,
    load_samson,
    load_swimmer,
)
from sepnmf.datasets.synthetic import make_dirichlet, make_midpoint

__all__ = [
    "Dataset",
    "load_amino_acids",
    "load_bbc_news",
    "load_cbcl_faces",
    "load_jasper_ridge",
    "load_samson",
    "load_swimmer",
    "make_dirichlet",
    "make_midpoint",
]
