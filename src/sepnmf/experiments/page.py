"""The page that puts the paper's values beside ours."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sepnmf.experiments.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd

INTRODUCTION = """# The paper, re-run

M. McCarver and J. Qin, *Separable nonnegative matrix factorization using powered ratio-of-norms
regularization*: every table and figure of its sections 4 and 5, measured with this library, and one line
on whether each claim holds. This page is written by

    {command}

from the results beside it (a table per experiment in `paper/`, as CSV and Parquet, with
[`manifest.json`](paper/manifest.json) on versions, machine and commit).

- **Paper mode** is the paper's algorithm with its printed formulas: the proximal map of ADMM-P with k = mn,
  DCA's V-update as a proximal map followed by a projection. **Exact mode** minimises what the formulas are
  meant to minimise. For p = 1 ADMM-P has no difference between them. Parameters are tuned for each mode by
  itself.
- Parameters come from Bayesian optimisation, 40 evaluations a condition, as in the paper, and are stored in
  `src/sepnmf/experiments/parameters/` with the command that found them. Where the paper tunes on what it then
  reports (high noise on Type 1, the gesture tables), the figure from an honest protocol stands beside it.
- Seconds are ours on two cores, one thread a run, other runs beside it; the paper's are MATLAB's on another
  machine. Compare rows, not machines.
"""


def write_page(sections: "Sequence[tuple[Experiment, pd.DataFrame]]", command: str) -> str:
    """The whole page, a section per experiment that has all its results."""
    parts = [INTRODUCTION.format(command=command)]
    parts += [experiment.tell(frame) for experiment, frame in sections]
    return "\n\n".join(part.strip() for part in parts) + "\n"
