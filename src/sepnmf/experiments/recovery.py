"""Anchors of the paper's synthetic data: one trial, what it measures, and the parameters that were found."""

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sepnmf._typing import Floats, Ints
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.experiments.experiment import Frame, Row, Scale, Series, pick, stored_parameters
from sepnmf.metrics import mrsa, rae
from sepnmf.registry import find_method, select
from sepnmf.selection import Selection

T = TypeVar("T")

LEVELS = tuple(np.logspace(-2, 0, 20).tolist())  # the paper's noise levels
SWITCH = LEVELS[12]  # 0.1833, where the paper changes the parameters on Type 1
POWERS = (1, 2, 3, 4)
ABLATION = 25  # instances of each cell of the ablations of power and iterations, as in the paper
NORMS = ("l1", "nuclear")
MODES = ("paper", "exact")
TYPES = ("type1", "type2")
BASELINES = ("spa", "fgnsr", "merit", "vca", "xray")
NEAREST = "nearest the mean"  # not a method: what a success on Type 1 beyond ε ≈ 0.43 is worth
SIZES = {  # m, n and r
    "small": {"type1": (30, 35, 5), "type2": (30, 60, 5)},
    "medium": {"type1": (50, 55, 10), "type2": (50, 100, 10)},
    "large": {"type1": (100, 110, 20), "type2": (100, 200, 20)},
}


def instance(data: str, noise: float, seed: int, size: str = "medium") -> tuple[Floats, Ints]:
    """M and its anchors.

    The large Type 1 has 20 anchors, so 190 midpoints; the paper's 110 columns keep 90.
    """
    m, n, r = SIZES[size][data]
    if data == "type2":
        return make_dirichlet(noise, m=m, n=n, r=r, random_state=seed)
    M, anchors = make_midpoint(noise, m=m, r=r, random_state=seed)
    if M.shape[1] <= n:
        return M, anchors
    others = np.setdiff1d(np.arange(M.shape[1]), anchors)
    kept = np.sort(np.append(anchors, np.random.default_rng(seed).permutation(others)[: n - r]))
    return M[:, kept], np.searchsorted(kept, anchors)


def ratio_options(method: str, p: int, norm: str, mode: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `admm` or `dca` in paper mode (the printed formulas) or exact mode."""
    options: dict[str, Any] = {"p": p, "norm": norm, "lam": parameters["lam"], "n_jobs": 1}
    if method == "admm":
        rho = tuple(parameters[name] for name in ("rho1", "rho2", "rho3"))
        return options | {"rho": rho, "prox": mode}
    v_update = "projected" if mode == "paper" else "exact"
    return options | {"rho": parameters["rho"], "beta": parameters["beta"], "v_update": v_update}


def parameter_names(method: str) -> tuple[str, ...]:
    """What there is to tune."""
    return ("lam", "rho1", "rho2", "rho3") if method == "admm" else ("lam", "rho", "beta")


def rounded(row: Series, names: tuple[str, ...]) -> dict[str, float]:
    """Parameters to six digits."""
    return {name: float(f"{row[name]:.6g}") for name in names}


def modes(method: str, p: int, norm: str = "l1") -> tuple[str, ...]:
    """Both modes; only one for ADMM-P with p = 1, and for DCA with the nuclear norm.

    The printed map of ADMM-P with p = 1 is exact. The nuclear norm's map on Ω has no closed form: each inner
    iteration of an exact DCA is hundreds of singular value decompositions.
    """
    alone = (method == "admm" and p == 1) or (method == "dca" and norm == "nuclear")
    return MODES[:1] if alone else MODES


def of_mode(frame: Frame, mode: str) -> Frame:
    """Rows of a mode; ADMM-P with p = 1 has one for both."""
    return frame[(frame["mode"] == mode) | ((frame["method"] == "admm") & (frame["p"] == 1))]


def norms_of(scale: Scale) -> tuple[str, ...]:
    """The norms that are measured."""
    norms: tuple[str, ...] = pick(scale, NORMS, NORMS, NORMS[:1])
    return norms


def norms_in(frame: Frame) -> list[str]:
    """The norms that were measured."""
    return [norm for norm in NORMS if norm in set(frame["norm"])]


def regime(noise: float, data: str = "type1") -> str:
    """What the parameters are tuned for: on Type 1 the paper has two configurations."""
    return "all" if data == "type2" else "low" if noise < SWITCH else "high"


def ablation_seeds(scale: Scale, data: str, norm: str, mode: str) -> range:
    """Seeds of an ablation: 25 as in the paper; the quick run has fewer of the slow nuclear norm."""
    slow = norm == "nuclear" and (mode == "exact" or data == "type2")
    return range(pick(scale, ABLATION, 1 if slow else 2, 1))


def variants(norm: str) -> list[tuple[str, int, str]]:
    """Method, power and mode of everything the paper proposes with a norm."""
    pairs = [("dca", 1), *(("admm", p) for p in POWERS)]
    return [(method, p, mode) for method, p in pairs for mode in modes(method, p, norm)]


def nearest_the_mean(M: Floats, r: int) -> Ints:
    """The r columns nearest the mean column."""
    distances = np.linalg.norm(M - M.mean(axis=1, keepdims=True), axis=0)
    return np.argsort(distances, kind="stable")[:r]


def choose(M: Floats, r: int, method: str, **options: Any) -> Selection:
    """Anchors by any method, with a seed where it draws; a run that does not converge is a result too."""
    if find_method(method).default("random_state", 0) is None:
        options = {"random_state": 0} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return select(M, r, method=method, negative="allow", **options)


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """Return what a call returns, and its processor time, in which other processes have hardly a part."""
    began = time.process_time()
    return call(), time.process_time() - began


def recover(
    data: str,
    noise: float,
    seed: int,
    method: str,
    norm: str = "",
    p: int = 0,
    mode: str = "",
    size: str = "medium",
    max_outer: int = 100,
    max_inner: int = 10,
    **others: Any,
) -> list[Row]:
    """One trial: anchors found, success, MRSA, RAE, processor seconds and iterations.

    The other values of a trial are parameters of the method, or labels of an experiment.
    """
    M, anchors = instance(data, noise, seed, size)
    options: dict[str, Any] = {}
    if method in ("admm", "dca"):
        options = ratio_options(method, p, norm, mode, others)
        options |= {"max_outer": max_outer, "max_inner": max_inner}
    if method in ("vca", "fgnsr"):
        options["random_state"] = seed
    if method in ("fgnsr", "merit", "auto"):
        options["n_jobs"] = 1
    measured: Row = {"seconds": 0.0, "n_inner": 0, "status": ""}
    if method == NEAREST:
        chosen = nearest_the_mean(M, len(anchors))
    else:
        run, seconds = timed(partial(choose, M, len(anchors), method, **options))
        chosen, measured = run.anchors, {"seconds": seconds, "n_inner": run.n_inner, "status": run.status}
    hits = np.intersect1d(chosen, anchors).size
    quality: Row = {
        "success": int(hits == anchors.size),
        "found": hits / anchors.size,
        # Rounded: the last digits depend on where an array lies in memory.
        "mrsa": round(mrsa(M[:, chosen], M[:, anchors]), 9),
        "rae": round(rae(M, chosen), 9),
    }
    return [quality | measured]


def condition_name(data: str, norm: str, method: str, p: int, mode: str, regime: str) -> str:
    """How a condition is called in the parameter file and in the storage of its search."""
    return f"{data} {norm} {method} p={p} {mode} {regime}"


def ratio_trial(data: str, norm: str, method: str, p: int, mode: str, regime: str) -> Row:
    """The part of a trial that says which variant runs, with the parameters tuned for a regime."""
    name = condition_name(data, norm, method, p, mode, regime)
    parameters: Row = stored_parameters("recovery")[name]["parameters"]
    head: Row = {"data": data, "method": method, "norm": norm, "p": p, "mode": mode, "regime": regime}
    return head | parameters
