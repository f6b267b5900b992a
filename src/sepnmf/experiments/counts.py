"""How many instances a table has beside the paper's: what is said of it, and what the others would take."""

from sepnmf.experiments.experiment import Frame
from sepnmf.experiments.labels import NORM, variant

SETTING = ("noise", "sweep", "budget")  # what varies within a line of a table or a curve
CELL = ("data", "norm", "method", "p", "mode", "protocol", "size", *SETTING)
TYPE = {"type1": "Type 1", "type2": "Type 2"}


def instances(frame: Frame, per: str) -> str:
    """The sentence on the number of instances."""
    most = int(cells(frame)["instances"].max())
    less = smaller(frame, most)
    return f"{most} instances per {per}{f', but {less}' if less else ''}."


def fewer(frame: Frame, name: str, wanted: int, settings: int, setting: str) -> list[str]:
    """Where a table has fewer instances than the paper, or fewer noise levels, and the cost of the others."""
    found = []
    if less := smaller(frame, wanted):
        counted = cells(frame)
        missing = (wanted - counted["instances"]).clip(lower=0)
        cost = float((missing * counted["seconds"]).sum())
        found.append(
            f"{name}: {wanted} instances, but {less}. "
            f"The other {missing.sum()} runs take about {duration(cost)} on one core."
        )
    there = len(frame[[column for column in SETTING if column in frame]].drop_duplicates())
    if there < settings:
        found.append(f"{name}: {there} {setting} instead of {settings}.")
    return found


def cells(frame: Frame) -> Frame:
    """The number of instances of each cell, and the mean seconds of one."""
    keys = [column for column in CELL if column in frame]
    groups = frame.groupby(keys, dropna=False, sort=False)
    return groups.agg(instances=("seed", "nunique"), seconds=("seconds", "mean")).reset_index()


def smaller(frame: Frame, wanted: int) -> str:
    """Which cells have fewer instances, and how many: by norm, or else by mode and type too."""
    counted = cells(frame)
    counted["what"] = [
        f"{NORM[norm]} norm" if norm else variant(method)
        for norm, method in zip(counted["norm"], counted["method"], strict=True)
    ]
    counted["data"] = counted["data"].map(TYPE)
    counted["mode"] = [f"{mode} mode" if mode else "" for mode in counted["mode"]]
    return "; ".join(groups(counted, wanted, "what", "mode", "data"))


def groups(counted: Frame, wanted: int, key: str, *others: str, words: tuple[str, ...] = ()) -> list[str]:
    """The groups of cells that have fewer instances; a group is divided where some of it has enough."""
    found = []
    for value, part in counted.groupby(key, sort=False):
        name = (*words, *([str(value)] if value else []))
        few = part.loc[part["instances"] < wanted, "instances"]
        if 0 < len(few) < len(part) and others:
            found += groups(part, wanted, *others, words=name)
        elif len(few):
            count = " to ".join(map(str, sorted({few.min(), few.max()})))
            share = f" in {len(few)} of {len(part)} cells" if len(few) < len(part) else ""
            found.append(f"{count} for {', '.join(name)}{share}")
    return found


def duration(seconds: float) -> str:
    """Seconds as minutes or hours."""
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
