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

from the results beside it (a table per experiment in `paper/`, with
[`manifest.json`](paper/manifest.json) on versions, machine and commit).

- **Paper mode** is the paper's algorithm with its printed formulas: the proximal map of ADMM-P with k = mn,
  DCA's V-update as a proximal map followed by a projection. **Exact mode** minimises what the formulas are
  meant to minimise. For p = 1 ADMM-P has no difference between them. Parameters are tuned for each mode by
  itself. With the nuclear norm DCA has no exact mode: its constrained map takes hundreds of singular value
  decompositions.
- Parameters come from Bayesian optimisation over [1e-5, 3e3], as in the paper, and are stored in
  `src/sepnmf/experiments/parameters/` with the command that found them. A condition is a data type, norm,
  method, power, mode and noise regime (not each of the twenty levels), on instances that no table uses. It
  has 40 evaluations, or 120 where 40 found nothing (entrywise norm), unless the file says another number;
  a search begins with one or two vectors known to work somewhere. Most of the nuclear norm's searches run
  30 outer iterations on six instances instead of 100 on ten.
- Where the paper tunes on what it then reports (high noise on Type 1, the gesture tables), the figure from
  an honest protocol stands beside it.
- MRSA compares the columns found with the (noisy) columns at the true anchors.
- Seconds are ours, one thread a run, other runs beside it; the paper's are MATLAB's on another machine.
  Compare rows, not machines.
"""


def write_page(
    sections: "Sequence[tuple[Experiment, pd.DataFrame]]", missing: Sequence[Experiment], command: str
) -> str:
    """The whole page, a section per experiment that has all its results, and a word on the others."""
    parts = [INTRODUCTION.format(command=command)]
    if missing:
        parts.append(f"Not measured yet: {'; '.join(experiment.title for experiment in missing)}.")
    parts += [experiment.tell(frame) for experiment, frame in sections]
    return "\n\n".join(part.strip() for part in parts) + "\n"
