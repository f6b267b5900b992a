"""The paper's tables and figures, from one command, and what holds of them."""

from sepnmf.experiments import (
    budgets,
    complexity,
    facts,
    geometry,
    gestures,
    noise_free,
    noise_sweep,
    power,
    sizes,
    tune_gestures,
    tune_recovery,
)
from sepnmf.experiments.experiment import Experiment

EXPERIMENTS = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        geometry,
        noise_free,
        noise_sweep,
        gestures,
        power,
        budgets,
        sizes,
        complexity,
        facts,
        tune_recovery,
        tune_gestures,
    )
}
# Searches of parameters take hours, and what they found is in the package.
TABLES = tuple(name for name, experiment in EXPERIMENTS.items() if experiment.best is None)

__all__ = ["EXPERIMENTS", "TABLES", "Experiment"]
