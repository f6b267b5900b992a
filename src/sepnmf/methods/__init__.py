"""How: each method is one file with one function (M, r, …) -> Selection.

A new method is its file and its name here; `sepnmf.METHODS` and `sepnmf.select` follow from `__all__`.
"""

from sepnmf.methods.admm import admm
from sepnmf.methods.dca import dca
from sepnmf.methods.fgnsr import fgnsr
from sepnmf.methods.hottopixx import hottopixx
from sepnmf.methods.merit import merit
from sepnmf.methods.nfindr import nfindr
from sepnmf.methods.ppi import ppi
from sepnmf.methods.preconditioned import preconditioned_spa
from sepnmf.methods.smoothed import smoothed_spa, smoothed_vca
from sepnmf.methods.snpa import snpa
from sepnmf.methods.spa import spa
from sepnmf.methods.vca import vca
from sepnmf.methods.xray import xray

__all__ = [
    "admm",
    "dca",
    "fgnsr",
    "hottopixx",
    "merit",
    "nfindr",
    "ppi",
    "preconditioned_spa",
    "smoothed_spa",
    "smoothed_vca",
    "snpa",
    "spa",
    "vca",
    "xray",
]
