"""A million columns: whether auto finds the anchors, how long it takes, and its memory."""

from sepnmf.experiments.auto.common import PAGE, at_least, at_most
from sepnmf.experiments.auto.limited import select_apart
from sepnmf.experiments.experiment import Check, Experiment, Frame, Row, Scale, pick
from sepnmf.experiments.markdown import section, table

ROWS, ANCHORS, LIMIT = 100, 10, 1800


def trials(scale: Scale) -> list[Row]:
    """Three instances, or one of fewer columns."""
    columns = pick(scale, 10**6, 10**5, 2000)
    return [
        {"m": ROWS, "n": columns, "r": ANCHORS, "seed": seed, "method": "auto", "limit": LIMIT}
        for seed in range(pick(scale, 3, 1, 1))
    ]


def run(m: int, n: int, r: int, seed: int, method: str, limit: float) -> list[Row]:
    """One selection in a process of its own."""
    row: Row = {"failure": None, "success": 0, "seconds": None, "megabytes": None}
    answer = select_apart(f"dirichlet {m} {n} {r} {seed}", r, method, limit, 0)
    answer.pop("history", None)
    return [row | answer]


def tell(frame: Frame) -> str:
    """A line per instance."""
    rows = []
    for _, row in frame.iterrows():
        found = "yes" if row["success"] else "no"
        values = (found, f"{row['seconds']:.1f}", f"{row['megabytes'] / 1000:.2f} GB")
        rows.append((row["seed"], *((row["failure"], "", "") if isinstance(row["failure"], str) else values)))
    m, n = frame["m"].iloc[0], frame["n"].iloc[0]
    size = "10⁶" if n == 10**6 else str(n)
    return section(
        "## A million columns",
        f"The data have {m} rows × {size} columns, ten anchors, mixtures as in Type 2 data, and noise of "
        "1 % of the norm. The peak memory is that of the whole process; the data take "
        f"{8e-9 * m * n:.1g} GB of it.",
        table(("seed", "all ten found", "seconds", "peak memory"), rows),
    )


def checks(frame: Frame) -> list[Check]:
    """All anchors found, in three minutes and 4 GB."""
    found = [at_least("A million columns, success", float(frame["success"].mean()), 1.0)]
    if frame["seconds"].notna().any():
        found += [
            at_most("A million columns, longest time", float(frame["seconds"].max()), 180, " s"),
            at_most("A million columns, peak memory", float(frame["megabytes"].max()) / 1000, 4, " GB"),
        ]
    return found


EXPERIMENT = Experiment(
    "auto-million", "auto on a million columns", trials, run, tell, page=PAGE, checks=checks
)
