"""Nonnegative weights H of given columns W, with M ≈ WH, and what they leave unexplained."""

# Public names are in `__all__`; the others are for the rest of the library.
from sepnmf.least_squares._solvers import BITS as BITS
from sepnmf.least_squares._solvers import cone_weights as cone_weights
from sepnmf.least_squares._solvers import hull_weights as hull_weights
from sepnmf.least_squares._solvers import weights_from_products as weights_from_products
from sepnmf.least_squares._unexplained import Unexplained as Unexplained
from sepnmf.least_squares._unexplained import checked_unexplained as checked_unexplained
from sepnmf.least_squares._unexplained import explained_share as explained_share
from sepnmf.least_squares._unexplained import misfits_from_products as misfits_from_products
from sepnmf.least_squares._unexplained import residual_norm as residual_norm
from sepnmf.least_squares._unexplained import squared_misfits as squared_misfits
from sepnmf.least_squares._unexplained import unexplained as unexplained
from sepnmf.least_squares._weights import Atoms as Atoms
from sepnmf.least_squares._weights import nnls

__all__ = ["nnls"]
