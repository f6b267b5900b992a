"""Answers without parameters: from the data alone."""

from sepnmf.tuning.auto import auto
from sepnmf.tuning.rank import RankEstimate, estimate_rank
from sepnmf.tuning.ratio_path import tuned_admm

__all__ = ["RankEstimate", "auto", "estimate_rank", "tuned_admm"]
