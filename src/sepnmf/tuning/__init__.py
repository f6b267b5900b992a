"""Parameters without a person: from the data alone, or by Bayesian optimisation."""

from sepnmf.tuning._auto import auto
from sepnmf.tuning._bayes import search
from sepnmf.tuning._rank import RankEstimate, estimate_rank
from sepnmf.tuning._ratio_path import tuned_admm
from sepnmf.tuning._residual_curve import least_residuals as least_residuals
from sepnmf.tuning._residual_curve import residual_curve as residual_curve
from sepnmf.tuning._stability import stability

__all__ = ["RankEstimate", "auto", "estimate_rank", "search", "stability", "tuned_admm"]
