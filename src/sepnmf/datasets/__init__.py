"""Data sets: generators with known anchors, and loaders of real data."""

from sepnmf.datasets._capped import make_capped
from sepnmf.datasets._families import FAMILIES, Family, Instance, make_family
from sepnmf.datasets._gestures import (
    Gestures,
    load_gestures_binary,
    load_gestures_gray,
    load_goyal_2020,
    load_hgm4,
)
from sepnmf.datasets._loaders import (
    Dataset,
    load_amino_acids,
    load_bbc_news,
    load_cbcl_faces,
    load_jasper_ridge,
    load_samson,
    load_swimmer,
)
from sepnmf.datasets._synthetic import make_dirichlet, make_midpoint

__all__ = [
    "FAMILIES",
    "Dataset",
    "Family",
    "Gestures",
    "Instance",
    "load_amino_acids",
    "load_bbc_news",
    "load_cbcl_faces",
    "load_gestures_binary",
    "load_gestures_gray",
    "load_goyal_2020",
    "load_hgm4",
    "load_jasper_ridge",
    "load_samson",
    "load_swimmer",
    "make_capped",
    "make_dirichlet",
    "make_family",
    "make_midpoint",
]
