"""Data that are never held at once: Dask arrays, a few chunks at a time."""

from collections.abc import Callable

from sepnmf.chunked.misfit import explained_share, unexplained
from sepnmf.chunked.passes import Chunks
from sepnmf.chunked.ppi import chunked_ppi
from sepnmf.chunked.screening import SCREENED, drawn_by_lot, refined
from sepnmf.chunked.spa import chunked_spa
from sepnmf.chunked.vca import chunked_vca
from sepnmf.chunked.xray import chunked_xray
from sepnmf.selection import Selection

__all__ = ["CHUNKED", "NATIVE", "Chunks", "drawn_by_lot", "explained_share", "refined", "unexplained"]

# Methods that choose as they do in memory (VCA and PPI: up to four thousand rows, see `moments.spectrum`).
NATIVE: dict[str, Callable[..., Selection]] = {
    "spa": chunked_spa,
    "vca": chunked_vca,
    "xray": chunked_xray,
    "ppi": chunked_ppi,
}

CHUNKED: dict[str, Callable[..., Selection]] = SCREENED | NATIVE
