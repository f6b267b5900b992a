"""Data that are never held at once: Dask arrays, a few chunks at a time."""

from sepnmf.chunked.misfit import unexplained
from sepnmf.chunked.passes import Chunks, survey
from sepnmf.chunked.screening import chunked_auto
from sepnmf.chunked.spa import chunked_spa

__all__ = ["Chunks", "chunked_auto", "chunked_spa", "survey", "unexplained"]
