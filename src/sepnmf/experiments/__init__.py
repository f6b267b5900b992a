"""The tables and figures of the paper, of `auto` and of all methods, from one command."""

from sepnmf.experiments import (
    auto,
    budgets,
    complexity,
    facts,
    geometry,
    gestures,
    noise_free,
    noise_sweep,
    power,
    sizes,
    state_of_the_art,
    tune_gestures,
    tune_recovery,
)
from sepnmf.experiments.experiment import Experiment

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        geometry.EXPERIMENT,
        noise_free.EXPERIMENT,
        noise_sweep.EXPERIMENT,
        gestures.EXPERIMENT,
        power.EXPERIMENT,
        budgets.EXPERIMENT,
        sizes.EXPERIMENT,
        complexity.EXPERIMENT,
        facts.EXPERIMENT,
        *auto.EXPERIMENTS,
        *state_of_the_art.EXPERIMENTS,
        tune_recovery.EXPERIMENT,
        tune_gestures.EXPERIMENT,
    )
}
# Searches of parameters take hours, and what they found is in the package.
TABLES = tuple(name for name, experiment in EXPERIMENTS.items() if experiment.best is None)
# The experiments of each page, by the page's name.
PAGES = {
    page: tuple(name for name in TABLES if EXPERIMENTS[name].page == page)
    for page in dict.fromkeys(EXPERIMENTS[name].page for name in TABLES)
}

__all__ = ["EXPERIMENTS", "PAGES", "TABLES", "Experiment"]
