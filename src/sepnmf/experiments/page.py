"""The pages: an introduction, claims or requirements, and a section per experiment, in short lines."""

import re
import textwrap
from collections import Counter
from collections.abc import Sequence

from sepnmf.experiments.experiment import Experiment, Frame
from sepnmf.experiments.markdown import Claim, link, section, table

# A word that Markdown would read as a list, a heading or a quotation at the beginning of a line.
MARK = re.compile(r" (?=(?:[-+*>]|#{1,6}|\d+[.)])(?: |$))")
CODE = re.compile(r"`[^`]+`")
ITEM = r" *(?:[-+*]|\d+[.)]) +"

PAPER = """# The paper, re-run

M. McCarver and J. Qin, *Separable nonnegative matrix factorization using powered ratio-of-norms
regularization*: every table and figure of its sections 4 and 5, measured with this library. Each
claim is a link to the section that has the paper's values beside ours.
"""

COUNTS = """**Counts.** The paper has 50 instances per cell (25 in the ablations of p and of iterations, 20 in
that of sizes), J = 10 inner and K = 100 outer iterations, 50 splits of the images, and 40 evaluations per
search of parameters (a search for each noise level or rank; here one serves a range of levels, or all ranks).
"""

MEASURED = """## How it was measured

The results were measured by

    {command}

and the runs before it. The folder `paper/` has a table of the results of each experiment, and
[`manifest.json`](paper/manifest.json) has the commands, versions, machine and commit.
`sepnmf reproduce --page --out docs` writes this page again from these tables.

- **Paper mode** is the paper's algorithm with its printed formulas: the proximal map of ADMM-P with k = mn,
  and DCA's V-update as a proximal map followed by a projection. **Exact mode** minimises what the formulas
  are meant to minimise. For ADMM-P with p = 1 the two modes are the same. Parameters are tuned separately
  for each mode. DCA with the nuclear norm has no exact mode, because its constrained map takes hundreds of
  singular value decompositions.
- Parameters come from Bayesian optimisation over [1e-5, 3e3], as in the paper, and are stored in
  `src/sepnmf/experiments/parameters/` with the command that found them and the counts of each search. They
  are tuned for each condition: a data type, norm, method, power, mode and noise regime (not each of the
  twenty levels). The instances used for tuning are in no table. A search begins with one or two vectors that
  are known to work on some instances, and has more evaluations where the first ones found nothing.
- Where the paper tunes on the data that it then reports (high noise on Type 1, the gesture tables), the
  result of a protocol that does not is shown beside it.
- MRSA compares the columns found with the (noisy) columns at the true anchors.
- Our seconds are processor time on one thread per run; those of the gestures and of the sections on costs are
  wall-clock time. The paper's are MATLAB's on another machine. Compare methods with each other, not our
  seconds with the paper's.
"""

AUTO = """# What `method="auto"` achieves without any parameter

This page compares `sepnmf.select(M, r)`, which needs no parameter, with every other method of the library
that runs with its defaults. No method is shown the true anchors. The results were measured by

    {command}

The folder `auto/` has a table of the results of each experiment, and [`manifest.json`](auto/manifest.json)
has the commands, versions, machine and commit. `sepnmf reproduce auto` measures everything again, and
`sepnmf reproduce --page --out docs` writes this page again from the tables. Real data are read by the
loaders of `sepnmf.datasets` from the folder named by `SEPNMF_DATA`. Methods that use random numbers have
`random_state=0`.
"""

STATE_OF_THE_ART = """# State of the art

Every method of this library on the same data, beside the figures that authors published where their protocol
can be followed, and what newer variants of SPA claim. Losses are shown as they are. The results were
measured by

    {command}

The folder `state-of-the-art/` has a table of the results of each experiment, and
[`manifest.json`](state-of-the-art/manifest.json) has the commands, versions, machine and commit.
`sepnmf reproduce state-of-the-art` measures everything again, and `sepnmf reproduce --page --out docs` writes
this page again from the tables. Real data are read by the loaders of `sepnmf.datasets` from the folder named
by `SEPNMF_DATA`. Methods that use random numbers have `random_state=0`.

[What `auto` achieves](auto.md) has more levels of noise and more seeds, and vertices outside of the data
(`minimum_volume`, `archetypes`). [Which method](which-method.md) says when to use which.
"""

INTRODUCTIONS = {"paper": PAPER, "auto": AUTO, "state-of-the-art": STATE_OF_THE_ART}
PROTOCOLS = {"paper": MEASURED}
VERDICTS = {
    "holds": "hold",
    "partly": "hold in part",
    "does not hold": "do not hold",
    "undecided": "are undecided",
}


def write_page(
    name: str,
    sections: Sequence[tuple[Experiment, Frame]],
    missing: Sequence[Experiment],
    command: str,
) -> str:
    """The whole page, a section per experiment that has all its results, and a list of the others."""
    body = section(*(experiment.tell(frame) for experiment, frame in sections))
    parts = [INTRODUCTIONS[name].format(command=command)]
    if body.claims:
        exceptions = [line for experiment, frame in sections for line in experiment.exceptions(frame)]
        parts += [judged(body.claims), counted(exceptions)]
    if missing:
        parts.append(f"Not measured yet: {'; '.join(experiment.title for experiment in missing)}.")
    checks = [check for experiment, frame in sections for check in experiment.checks(frame)]
    if checks:
        rows = [(*check[:3], "holds" if check.holds else "MISSED") for check in checks]
        parts.append("## Requirements\n\n" + table(("what", "measured", "wanted", ""), rows))
    if name in PROTOCOLS:
        parts.append(PROTOCOLS[name].format(command=command))
    return wrapped("\n\n".join(part.strip() for part in (*parts, body)) + "\n")


def judged(claims: Sequence[Claim]) -> str:
    """How many claims hold, and a line for each."""
    numbers = Counter(claim.verdict for claim in claims)
    said = [f"{numbers[mark]} {words}" for mark, words in VERDICTS.items() if numbers[mark]]
    rows = [(link(claim.words, claim.heading), claim.verdict, claim.number) for claim in claims]
    return section(
        f"Of {len(claims)} claims, {', '.join(said)}.",
        table(("the paper's claim", "verdict", "decided by"), rows),
    )


def counted(exceptions: Sequence[str]) -> str:
    """The paper's counts, and where those of this page are smaller."""
    if not exceptions:
        return f"{COUNTS}Every cell of this page has the same counts."
    return section(
        f"{COUNTS}This page has the same counts, with these exceptions:",
        "\n".join(f"- {line}" for line in exceptions),
    )


def wrapped(text: str, width: int = 100) -> str:
    """Markdown with its paragraphs and list items in lines of at most `width` characters.

    Tables, code, headings and images stay as they are, and so does a word that is longer than a line.
    """
    done = [
        part
        if part.startswith(("\n", "|", "#", "![", "    "))
        else "\n".join(filled(block, width) for block in re.split(rf"\n(?={ITEM})", part))
        for part in re.split(r"(\n\n+)", text.rstrip("\n"))
    ]
    return "".join(done) + "\n"


def filled(text: str, width: int) -> str:
    """One paragraph or list item."""
    item = re.match(ITEM, text)
    head = item.group() if item else ""
    # "\0" is a blank at which no line is broken.
    words = MARK.sub("\0", " ".join(text[len(head) :].split()))
    words = CODE.sub(lambda code: code.group().replace(" ", "\0"), words)
    wrap = textwrap.TextWrapper(width, head, " " * len(head), break_long_words=False, break_on_hyphens=False)
    return wrap.fill(words).replace("\0", " ")
