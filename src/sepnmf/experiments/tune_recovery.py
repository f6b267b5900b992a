"""Parameters for the synthetic data, by Bayesian optimisation on instances no table is measured on."""

from typing import Any

import numpy as np

from sepnmf.experiments import recovery
from sepnmf.experiments.counts import duration
from sepnmf.experiments.experiment import Experiment, Frame, Row, Scale, pick, storage_of
from sepnmf.experiments.labels import NORM
from sepnmf.experiments.markdown import table
from sepnmf.tuning._bayes import Parameters, search

J = 10  # inner iterations
FIRST_SEED = 10_000  # the tables use seeds from 0
HOPELESS = 4  # instances without a success after which an evaluation is given up
ENOUGH = 0.5  # a search whose best loss is larger gets more evaluations
MOST = {"l1": 120, "nuclear": 40}
EVALUATIONS = 40  # of a search, as in the paper
INSTANCES = 10  # of an evaluation, as the paper has splits; of synthetic data it gives no number
K, SHORT = 100, 30  # outer iterations of the tables' runs, and of most runs of the nuclear norm's searches
# Noise levels of the ten instances of an evaluation, easy ones first; the slow nuclear norm has six of them.
REGIMES = {
    "type1": {
        "noise-free": (0.0,) * 10,
        "low": tuple(recovery.LEVELS[i] for i in (1, 3, 5, 7, 8, 9, 10, 10, 11, 11)),
        "high": tuple(recovery.LEVELS[i] for i in (12, 13, 14, 15, 16, 17, 18, 19, 15, 16)),
        "all": tuple(recovery.LEVELS[i] for i in (2, 7, 10, 12, 13, 14, 15, 16, 17, 19)),
    },
    "type2": {
        "noise-free": (0.0,) * 10,
        "all": tuple(recovery.LEVELS[i] for i in (3, 8, 11, 13, 14, 14, 15, 15, 15, 16)),
    },
}
# Where a search begins: parameters known to find the anchors of Type 1 at ε = 0 and 0.1 (ADMM-P; the second
# vector from an earlier search with the nuclear norm), or of some instances with little noise (DCA).
FIRST = {
    "admm": (
        {"lam": 2.23e-4, "rho1": 8.62e-5, "rho2": 3.66, "rho3": 1.48e-4},
        {"lam": 4.66e-4, "rho1": 1.39e-4, "rho2": 1.76e-5, "rho3": 793.0},
    ),
    "dca": ({"lam": 5.13e-5, "rho": 2.77, "beta": 17.5}, {"lam": 25.2, "rho": 0.13, "beta": 10.2}),
}


def conditions() -> list[Row]:
    """Data, norm, method, power, mode and regime."""
    return [
        {"data": data, "norm": norm, "method": method, "p": p, "mode": mode, "regime": regime}
        for norm in recovery.NORMS
        for data in ("type2", "type1")
        for method, p, mode in recovery.variants(norm)
        for regime in REGIMES[data]
        if (norm, data, regime) != ("nuclear", "type1", "all")  # shown for the entrywise norm only
    ]


def trials(scale: Scale) -> list[Row]:
    """A search per condition, of 40 evaluations as in the paper, and more where these found nothing."""
    evaluations = pick(scale, EVALUATIONS, 12, 2)
    chosen = conditions()
    if scale != "full":
        chosen = [q for q in chosen if (q["norm"], q["p"], q["regime"]) == ("l1", 2, "noise-free")]
    most = MOST if scale == "full" else dict.fromkeys(MOST, evaluations)
    return [
        q | {"evaluations": evaluations, "most": most[str(q["norm"])], "max_outer": outer_iterations(q)}
        for q in chosen
    ]


def outer_iterations(condition: Row) -> int:
    """K of a search: short for the nuclear norm, but for p = 4 on Type 1, where 30 and 100 differ."""
    hard = (condition["data"], condition["p"]) == ("type1", 4)
    return SHORT if condition["norm"] == "nuclear" and not hard else K


def run(regime: str, evaluations: int, most: int, max_outer: int, folder: str, **variant: Any) -> list[Row]:
    """One search; its evaluations in order."""
    name = recovery.condition_name(**variant, regime=regime)
    noise, first = levels(variant["data"], variant["norm"], regime), FIRST[variant["method"]]
    storage = storage_of(folder, name, (noise, first, FIRST_SEED, HOPELESS, max_outer))
    names = recovery.parameter_names(variant["method"])

    def loss(parameters: Parameters) -> float:
        return recovery_error(noise, parameters, max_outer, **variant)

    tried = search(loss, names, name=name, n_evaluations=evaluations, storage=storage, first=first)
    if min(evaluation.loss for evaluation in tried) > ENOUGH:
        tried = search(loss, names, name=name, n_evaluations=most, storage=storage, first=first)
    return [{"evaluation": i, "loss": value, **parameters} for i, (parameters, value, _) in enumerate(tried)]


def levels(data: str, norm: str, regime: str) -> tuple[float, ...]:
    """Noise levels of the instances of an evaluation."""
    ten = REGIMES[data][regime]
    if regime == "noise-free" and norm == "nuclear" and data == "type1":
        return 5 * ten  # rates of 0.9 are common here
    return ten if norm == "l1" else ten[::2] + ten[-1:]


def recovery_error(
    levels: tuple[float, ...], parameters: Parameters, max_outer: int = K, **variant: Any
) -> float:
    """Share of the instances on which the anchors are not found exactly, the paper's loss.

    Ties are broken, in steps too small to outweigh one instance, by the share of the anchors that are missing
    and by the iterations. Parameters that fail on the first four instances are not tried on the others.
    """
    rows: list[Row] = []
    settings: dict[str, Any] = variant | parameters
    for t, noise in enumerate(levels):
        rows += recovery.recover(noise=noise, seed=FIRST_SEED + t, max_outer=max_outer, **settings)
        if t + 1 == HOPELESS and not any(row["success"] for row in rows):
            break
    success, found, inner = (
        float(np.mean([float(row[key] or 0) for row in rows])) for key in ("success", "found", "n_inner")
    )
    return 1 - success + 0.05 * (1 - found) + 0.02 * inner / 1000


def best(frame: Frame) -> dict[str, dict[str, object]]:
    """The best parameters of each condition, with their loss and the number of evaluations."""
    keys = ["data", "norm", "method", "p", "mode", "regime"]
    result = {}
    for values, part in frame.groupby(keys, sort=True):
        row = part.loc[part["loss"].idxmin()]
        result[recovery.condition_name(*values)] = {
            "parameters": recovery.rounded(row, recovery.parameter_names(str(row["method"]))),
            "loss": round(float(row["loss"]), 4),
            "evaluations": len(part),
            "max_outer": int(row["max_outer"]),
            "instances": len(levels(row["data"], row["norm"], row["regime"])),
        }
    return result


def shorter(found: dict[str, dict[str, Any]], frame: Frame) -> list[str]:
    """Which searches have smaller counts than intended, and what they would take with all of them.

    The cost is that of runs which use all iterations, from the seconds of an inner iteration in `frame`.
    """
    wanted = {"evaluations": EVALUATIONS, "max_outer": K, "instances": INSTANCES}
    words = {"evaluations": "evaluations", "max_outer": "outer iterations", "instances": "instances"}
    short = [name for name, entry in found.items() if any(entry[key] < wanted[key] for key in wanted)]
    if not short:
        return []
    parts = []
    for key, number in wanted.items():
        counts = [found[name][key] for name in short if found[name][key] < number]
        if counts:
            least = " or ".join(map(str, sorted(set(counts))))
            parts.append(f"{len(counts)} have {least} {words[key]} instead of {number}")
    each = frame.assign(seconds=frame["seconds"] / frame["n_inner"].replace(0, np.nan))
    seconds = each.groupby(["data", "norm", "method"])["seconds"].median()
    cost = sum(float(seconds.get(tuple(name.split()[:3]), 0)) for name in short)
    cost *= K * J * EVALUATIONS * INSTANCES
    norms = " and ".join(dict.fromkeys(NORM[name.split()[1]] for name in short))
    return [
        f"Searches of parameters for synthetic data: of {len(found)}, {', '.join(parts)} ({norms} norm). "
        f"With all of them they take at most {duration(cost)} on one core."
    ]


def tell(frame: Frame) -> str:
    """The best loss of each condition."""
    rows = [(name, entry["loss"], entry["parameters"]) for name, entry in best(frame).items()]
    return "## Parameters of the synthetic experiments\n\n" + table(("condition", "loss", "parameters"), rows)


EXPERIMENT = Experiment(
    "tune-recovery",
    "Bayesian optimisation of the parameters for the synthetic data",
    trials,
    run,
    tell,
    best=best,
)
