"""Parameters without a person: from the data alone, or by Bayesian optimisation."""

from sepnmf.tuning.auto import auto
from sepnmf.tuning.bayes import search
from sepnmf.tuning.rank import RankEstimate, estimate_rank
from sepnmf.tuning.ratio_path import tuned_admm

__all__ = ["RankEstimate", "auto", "estimate_rank", "search", "tuned_admm"]
