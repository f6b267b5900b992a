"""The optimisation problem: norms and their ratio, proximal maps, the set Ω, objective, criticality."""

from sepnmf.model._norms import NORMS, Norm, Split
from sepnmf.model._omega import project_omega
from sepnmf.model._problem import criticality, objective, ratio
from sepnmf.model._proximal import prox_power, prox_power_omega

__all__ = [
    "NORMS",
    "Norm",
    "Split",
    "criticality",
    "objective",
    "project_omega",
    "prox_power",
    "prox_power_omega",
    "ratio",
]
