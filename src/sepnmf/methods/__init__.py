"""How: each method is one private file with one function (M, r, …) -> Selection, and its record.

A new method is its file and its name here; `sepnmf.METHODS` and `sepnmf.select` follow from `__all__`.
"""

from sepnmf.methods._admm import admm
from sepnmf.methods._dca import dca
from sepnmf.methods._eeht import eeht
from sepnmf.methods._fgnsr import fgnsr
from sepnmf.methods._fippi import fippi
from sepnmf.methods._hottopixx import hottopixx
from sepnmf.methods._iteration import Callback as Callback
from sepnmf.methods._iteration import State
from sepnmf.methods._merit import merit, merit_lam
from sepnmf.methods._method import Method, method
from sepnmf.methods._nfindr import nfindr
from sepnmf.methods._ppi import ppi
from sepnmf.methods._preconditioned import preconditioned_spa
from sepnmf.methods._pseudo_points import pseudo_point_spa
from sepnmf.methods._randomized_spa import randomized_spa
from sepnmf.methods._robust_spa import robust_spa
from sepnmf.methods._screening import refined as refined
from sepnmf.methods._smoothed import smoothed_spa, smoothed_vca
from sepnmf.methods._snpa import snpa
from sepnmf.methods._spa import spa
from sepnmf.methods._vca import vca
from sepnmf.methods._xray import xray

__all__ = [
    "Method",
    "State",
    "admm",
    "dca",
    "eeht",
    "fgnsr",
    "fippi",
    "hottopixx",
    "merit",
    "merit_lam",
    "method",
    "nfindr",
    "ppi",
    "preconditioned_spa",
    "pseudo_point_spa",
    "randomized_spa",
    "robust_spa",
    "smoothed_spa",
    "smoothed_vca",
    "snpa",
    "spa",
    "vca",
    "xray",
]
