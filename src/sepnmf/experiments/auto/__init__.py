"""Measurements of `method="auto"` beside every other method that runs with its defaults: the page auto.md."""

from sepnmf.experiments.auto import (
    families,
    gestures,
    million,
    purity,
    rank,
    real,
    stability,
    synthetic,
    topics,
)

EXPERIMENTS = (
    synthetic.TYPE1,
    synthetic.TYPE2,
    families.EXPERIMENT,
    stability.EXPERIMENT,
    purity.EXPERIMENT,
    real.SCENES,
    real.EXPLAINED,
    topics.EXPERIMENT,
    gestures.EXPERIMENT,
    rank.EXPERIMENT,
    million.EXPERIMENT,
)
