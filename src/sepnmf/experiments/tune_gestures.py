"""Parameters for the gestures, by Bayesian optimisation of the test accuracy, as in the paper."""

import numpy as np

from sepnmf.experiments.experiment import Experiment, Frame, Row, Scale, pick, storage_of
from sepnmf.experiments.gesture_features import features
from sepnmf.experiments.markdown import table
from sepnmf.experiments.recovery import modes, parameter_names, rounded
from sepnmf.experiments.selection_of_features import SHARES, kept_by_ratio
from sepnmf.experiments.svm import accuracies, all_splits
from sepnmf.tuning._bayes import Parameters, search

SETS = ("binary", "gray")
KINDS = ("HOG", "LBP")
# The power the paper reports for ADMM-P on each set and kind of features.
POWER = {("binary", "HOG"): 3, ("binary", "LBP"): 1, ("gray", "HOG"): 3, ("gray", "LBP"): 4}
SPLITS = 10  # of the fifty of the tables
OUTER = 5  # outer iterations: the paper finds five enough, and a hundred would take hours
CANDIDATES = 5  # of the first evaluations, for the nested choice


def variants(dataset: str, kind: str) -> list[tuple[str, int, str]]:
    """Method, power and mode."""
    pairs = [("dca", 1), ("admm", POWER[(dataset, kind)])]
    return [(method, p, mode) for method, p in pairs for mode in modes(method, p)]


def trials(scale: Scale) -> list[Row]:
    """A search per set, kind of features and variant. Each evaluation serves all five numbers of features."""
    evaluations = pick(scale, 40, 2, 1)
    return [
        {"set": dataset, "kind": kind, "method": method, "p": p, "mode": mode, "evaluations": evaluations}
        for dataset in pick(scale, SETS, SETS, SETS[:1])
        for kind in pick(scale, KINDS, KINDS[:1], KINDS[:1])
        for method, p, mode in variants(dataset, kind)[: pick(scale, None, 1, 1)]
    ]


def run(set: str, kind: str, method: str, p: int, mode: str, evaluations: int, folder: str) -> list[Row]:
    """One search; a row per evaluation and share."""
    name = search_name(set, kind, method, p, mode)
    F, y = features(set, kind)

    def loss(parameters: Parameters) -> tuple[float, dict[str, float]]:
        kept = kept_by_ratio(set, kind, method, p, mode, SHARES, parameters, max_outer=OUTER)
        parts = all_splits(y, SPLITS)
        scores = {share: accuracies(F, y, kept[share].columns, parts).mean() for share in SHARES}
        errors = {str(share): 1 - float(score) for share, score in scores.items()}
        return float(np.mean(list(errors.values()))), errors

    storage = storage_of(folder, name, (OUTER, SPLITS, F.shape))
    names = parameter_names(method)
    tried = search(loss, names, name=name, n_evaluations=evaluations, storage=storage)
    return [
        {"evaluation": i, "share": share, "loss": errors[str(share)], **parameters}
        for i, (parameters, _, errors) in enumerate(tried)
        for share in SHARES
    ]


def search_name(set: str, kind: str, method: str, p: int, mode: str) -> str:
    """How a search is called in its storage and in the parameter file."""
    return f"{set} {kind} {method} p={p} {mode}"


def best(frame: Frame) -> dict[str, dict[str, object]]:
    """The best parameters for each share, and the first five tried, which no accuracy has had a say in."""
    result: dict[str, dict[str, object]] = {}
    for values, part in frame.groupby(["set", "kind", "method", "p", "mode"], sort=True):
        names = parameter_names(str(part["method"].iloc[0]))
        rows = {share: rows.loc[rows["loss"].idxmin()] for share, rows in part.groupby("share")}
        first = part[(part["evaluation"] < CANDIDATES) & (part["share"] == SHARES[0])]
        result[search_name(*values)] = {
            "parameters": {str(share): rounded(row, names) for share, row in rows.items()},
            "loss": {str(share): round(float(row["loss"]), 4) for share, row in rows.items()},
            "evaluations": int(part["evaluation"].nunique()),
            "candidates": [rounded(row, names) for _, row in first.iterrows()],
        }
    return result


def tell(frame: Frame) -> str:
    """The best loss of each search."""
    rows = [(name, entry["loss"]) for name, entry in best(frame).items()]
    return "## Parameters of the gesture experiments\n\n" + table(("search", "loss by share"), rows)


EXPERIMENT = Experiment(
    "tune-gestures",
    "Bayesian optimisation of the parameters for the gestures",
    trials,
    run,
    tell,
    data=("gestures_binary", "gestures_gray"),
    best=best,
)
