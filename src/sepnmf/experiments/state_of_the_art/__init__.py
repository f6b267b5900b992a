"""Every method on the same data, beside the figures that authors published: the page state-of-the-art.md."""

from sepnmf.experiments.state_of_the_art import bounds, claims, generated, redic, scenes

EXPERIMENTS = (
    generated.EXPERIMENT,
    bounds.EXPERIMENT,
    scenes.EXPERIMENT,
    redic.EXPERIMENT,
    claims.EXPERIMENT,
)
