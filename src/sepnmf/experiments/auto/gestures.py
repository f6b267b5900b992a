"""Features of gestures chosen without labels, judged by a support vector machine."""

import numpy as np

from sepnmf.experiments.auto.common import PAGE, choose, label
from sepnmf.experiments.auto.data import hog_features
from sepnmf.experiments.experiment import Check, Experiment, Frame, Row, Scale, pick, where
from sepnmf.experiments.gesture_features import without_zero_columns
from sepnmf.experiments.markdown import section, table
from sepnmf.experiments.svm import accuracies, all_splits

ALL, RANDOM = "all features", "random"
METHODS = ("auto", "spa", "fgnsr", "merit", RANDOM, ALL)
DRAWS = 5  # of random features
SHARE, SPLITS = 0.1, 50


def trials(scale: Scale) -> list[Row]:
    """A selection each."""
    methods = pick(scale, METHODS, ("auto", "spa", RANDOM, ALL), ("auto", "spa", RANDOM))
    share, splits = pick(scale, (SHARE, SPLITS), (0.02, 10), (0.005, 3))
    return [{"method": method, "share": share, "splits": splits} for method in methods]


def run(method: str, share: float, splits: int) -> list[Row]:
    """Mean and standard deviation of the accuracy over the splits."""
    F, y = hog_features("gestures_binary")
    F = np.ascontiguousarray(without_zero_columns(F))
    n: int = F.shape[1]
    r, seconds = round(share * n), 0.0
    if method == RANDOM:
        rng = np.random.default_rng(0)
        kept = [rng.choice(n, r, replace=False) for _ in range(DRAWS)]
    elif method == ALL:
        kept = [np.arange(n)]
    else:
        selection = choose(F, r, method)
        kept, seconds = [selection.anchors], selection.seconds
    parts = all_splits(y, splits)
    scores = np.array([accuracies(F, y, columns, parts) for columns in kept])
    mean, std = float(scores.mean(axis=1).mean()), float(scores.std(axis=1).mean())
    return [{"images": len(y), "features": n, "r": r, "mean": mean, "std": std, "seconds": seconds}]


def tell(frame: Frame) -> str:
    """The accuracies, best first."""
    ranked = frame.sort_values("mean", ascending=False, kind="stable")
    first, others = where(ranked, method="auto"), ranked[ranked["method"] != "auto"]
    rows = [
        (label(row["method"]), f"{row['mean']:.4f}", f"{row['std']:.4f}", f"{row['seconds']:.1f}")
        for part in (first, others)
        for _, row in part.iterrows()
    ]
    one = frame.iloc[0]
    return section(
        "## Features of gestures",
        f"The data are HOG features of the {one['images']} distinct pictures of gestures_binary. A "
        f"method chooses {one['r']} of the {one['features']} features without labels, on all pictures. A "
        f"linear support vector machine (one against one) is then trained on {one['splits']} stratified "
        f"splits, 80 % for training (seed 0, the same splits for every row). “{RANDOM}” is the mean of "
        f"{DRAWS} draws.",
        table(("features", "mean accuracy", "standard deviation", "seconds to select"), rows),
    )


def checks(frame: Frame) -> list[Check]:
    """No selection is better than auto's."""
    means = frame.set_index("method")["mean"]
    others = means.drop(["auto", ALL], errors="ignore")
    wanted = f"≥ {others.max():.4f} ({others.idxmax()})"
    holds = bool(means["auto"] >= others.max() - 1e-12)
    return [Check("gestures_binary, mean accuracy", f"{means['auto']:.4f}", wanted, holds)]


EXPERIMENT = Experiment(
    "auto-gestures",
    "auto: a tenth of the HOG features of gestures, judged by a support vector machine",
    trials,
    run,
    tell,
    data=("gestures_binary",),
    page=PAGE,
    checks=checks,
)
