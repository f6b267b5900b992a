"""From given anchors to better ones: noise or misfit, the criterion this calls for, and descent on it."""

from sepnmf._descent._criterion import Improve, Improved, descent
from sepnmf._descent._exchange import Exchanged, exchange_anchors
from sepnmf._descent._facets import Smallest, smallest_cone
from sepnmf._descent._likelihood import VertexModel
from sepnmf._descent._noise import noise_variance, squared_spectrum, white_rank
from sepnmf._descent._noise_models import Noise, check_noise
from sepnmf._descent._problem import Problem
from sepnmf._descent._purity import are_dependent, cloud, has_no_pure_columns
from sepnmf._descent._refine import refine_anchors
from sepnmf._descent._scaling import Normalize, check_normalize, needs_root_of_sums
from sepnmf._descent._vertices import Estimate, estimated_vertices, weights_of_all_columns
from sepnmf._descent._worth import importance, lies_in_cone, residual

__all__ = [
    "Estimate",
    "Exchanged",
    "Improve",
    "Improved",
    "Noise",
    "Normalize",
    "Problem",
    "Smallest",
    "VertexModel",
    "are_dependent",
    "check_noise",
    "check_normalize",
    "cloud",
    "descent",
    "estimated_vertices",
    "exchange_anchors",
    "has_no_pure_columns",
    "importance",
    "lies_in_cone",
    "needs_root_of_sums",
    "noise_variance",
    "refine_anchors",
    "residual",
    "smallest_cone",
    "squared_spectrum",
    "weights_of_all_columns",
    "white_rank",
]
