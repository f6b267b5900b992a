"""Parameters by Bayesian optimisation, as the paper finds them, in a search that can be resumed."""

import hashlib
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from sepnmf._validation import check_count

LOWEST, HIGHEST = 1e-5, 3e3  # the paper's range of every parameter
STARTUP = 10  # evaluations at random before the model of the loss is asked

Parameters = dict[str, float]


class Evaluation(NamedTuple):
    """Parameters that were tried, their loss, and what else was noted of them."""

    parameters: Parameters
    loss: float
    notes: dict[str, Any]


def search(
    loss: Callable[[Parameters], float | tuple[float, dict[str, Any]]],
    names: tuple[str, ...],
    *,
    name: str,
    n_evaluations: int = 40,
    storage: Any = None,
    first: tuple[Mapping[str, float], ...] = (),
) -> list[Evaluation]:
    """Minimise a loss over parameters in [1e-5, 3e3], on a logarithmic scale, by a tree of Parzen estimators.

    Parameters
    ----------
    loss : callable
        What to minimise: a function of a dictionary of parameters. It may return, beside its value, a
        dictionary of plain values to be kept with it.
    names : tuple of str
        The parameters' names.
    name : str
        The search's name in the storage, and its seed.
    n_evaluations : int, default 40
        How often `loss` is called, calls of an interrupted search included.
    storage : str or optuna storage, optional
        Where evaluations are kept, such as "sqlite:///search.db"; by default they are not. A search of the
        same name goes on where it was stopped, and ends with the evaluations it would have had
        without the stop: each proposal depends on the completed evaluations alone.
    first : tuple of dict, optional
        Parameters to evaluate before any other.

    Returns
    -------
    list of Evaluation
        Every evaluation in order. The first ten are drawn before any loss is looked at, apart from
        those in `first`.

    Examples
    --------
    >>> from sepnmf.tuning import search
    >>> tried = search(lambda q: abs(q["lam"] - 1), ("lam",), name="example", n_evaluations=20)
    >>> best = min(tried, key=lambda evaluation: evaluation.loss)
    >>> 0.1 < best.parameters["lam"] < 10
    True
    """
    import optuna

    check_count(n_evaluations, "n_evaluations")
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with opened(storage) as database:
            study = optuna.create_study(storage=database, study_name=name, load_if_exists=True)
            space = {key: optuna.distributions.FloatDistribution(LOWEST, HIGHEST, log=True) for key in names}
            tried = completed(study, names)
            while len(tried) < n_evaluations:
                given = propose(tried, space, name) if len(tried) >= len(first) else first[len(tried)]
                parameters = {key: float(given[key]) for key in names}
                answer = loss(parameters)
                value, notes = answer if isinstance(answer, tuple) else (answer, {})
                tried.append(Evaluation(parameters, finite(value), notes))
                study.add_trial(as_trial(tried[-1], space))
            return tried[:n_evaluations]
    finally:
        optuna.logging.set_verbosity(verbosity)


@contextmanager
def opened(storage: Any) -> Iterator[Any]:
    """Give Optuna a storage by its address and close its connections at the end, which Optuna does not."""
    if not isinstance(storage, str):
        yield storage
        return
    from optuna.storages import RDBStorage

    database = RDBStorage(storage)
    try:
        yield database
    finally:
        database.remove_session()
        database.engine.dispose()


def propose(tried: list[Evaluation], space: dict[str, Any], name: str) -> Parameters:
    """What to try next, a function of the evaluations so far and of nothing else."""
    import optuna

    digest = hashlib.sha256(f"{name}/{len(tried)}".encode()).digest()
    with warnings.catch_warnings():  # before version 5 Optuna calls `multivariate` an experiment
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=STARTUP, multivariate=True, seed=int.from_bytes(digest[:4], "big")
        )
    study = optuna.create_study(sampler=sampler)
    study.add_trials(as_trial(evaluation, space) for evaluation in tried)
    return dict(study.ask(space).params)


def as_trial(evaluation: Evaluation, space: dict[str, Any]) -> Any:
    """An evaluation as Optuna keeps it."""
    from optuna.trial import create_trial

    parameters, value, notes = evaluation
    return create_trial(params=parameters, distributions=space, value=value, user_attrs=notes)


def completed(study: Any, names: tuple[str, ...]) -> list[Evaluation]:
    """Evaluations in the storage, in order.

    A killed search can leave a worker behind that goes on for a while beside the one that resumes it. Both
    make the same evaluations in the same order, so that each is counted where it comes first.
    """
    found: dict[tuple[float, ...], Evaluation] = {}
    for trial in study.get_trials(deepcopy=False):
        parameters = {name: trial.params[name] for name in names}
        found.setdefault(tuple(parameters.values()), Evaluation(parameters, trial.value, trial.user_attrs))
    return list(found.values())


def finite(value: float) -> float:
    """Return a loss, which must be a finite number."""
    if not math.isfinite(value):
        raise ValueError(f"loss must return a finite number, got {value!r}.")
    return float(value)
