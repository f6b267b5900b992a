"""Call everything that computes with hostile matrices, and check what must hold of every answer.

    python fuzz/numeric.py --seconds 300 --seed 0
    python fuzz/numeric.py --seed 0 --only 123              # case 123 of this seed again
    python fuzz/numeric.py --replay fuzz/found/0-123.npz    # a failure that was saved

A case depends on the seed and its number alone. It is a matrix, a container for it, and one call. What must
hold: no exception but a ValueError or TypeError that names an argument; no RuntimeWarning; at most `LIMIT`
seconds; finite numbers; r distinct anchors, none of them masked, and none a zero column while r others are
left; an unmodified input; the same answer twice; the same anchors after multiplication with a power of two,
from columns in another order, and from other containers, where the method promises that. Failures are saved
in fuzz/found. Matrices and containers are in fuzz/hostile.py.
"""

import argparse
import faulthandler
import json
import re
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hostile import CONTAINERS, SAME_NUMBERS, contents, held, hostile_matrix
from scipy import sparse

import sepnmf
from sepnmf import metrics, text
from sepnmf.methods._preconditioned import PRECONDITIONERS

FOUND = Path(__file__).parent / "found"
DRAWS = 2  # of `stability`, which calls `auto` once more
LIMIT = 20.0  # seconds of processor time for one call: a busy machine is no fault
PATIENCE = 60 * LIMIT  # seconds until a call that cannot be interrupted ends the process
# Words of which a refusal must have one.
NAMED = re.compile(
    r"\b(M|W|W_true|X|r|anchors|mask|row_mask|n_average|n_skewers|noise|mu|lam|rho|beta|weights|column|columns"
    r"|n_components|n_features_to_select|method|rule|negative|init|method_options|averages|counts|components"
    r"|n_neighbors|p|together|topics|np\.matrix)\b"
)

# Calls ------------------------------------------------------------------------------------------------

Answer = dict[str, Any]


def selection(sel: Any) -> Answer:
    """The numbers of a selection."""
    parts = {"anchors": sel.anchors, "scores": sel.scores, "X": sel.X, "vertices": sel.vertices}
    return {name: value for name, value in parts.items() if value is not None}


def select(M: Any, case: "Case") -> Answer:
    """Any method."""
    return selection(sepnmf.select(M, case.r, case.call.partition(" ")[2], **case.options))


def nnls(M: Any, case: "Case") -> Answer:
    """Weights of some of the columns, scaled."""
    return {"H": np.asarray(sepnmf.nnls(other_columns(case, 0), M, **case.options))}


def rae(M: Any, case: "Case") -> Answer:
    """What some columns explain of all."""
    return {"rae": metrics.rae(M, np.flatnonzero(used_columns(case))[: case.r], **case.options)}


def angles(M: Any, case: "Case") -> Answer:
    """Angles between the columns and others."""
    W = other_columns(case, case.array.shape[1])
    return {"sam": metrics.sam(M, W), "mrsa": metrics.mrsa(M, W)}


def estimate_rank(M: Any, case: "Case") -> Answer:
    """The number of anchors."""
    found = sepnmf.estimate_rank(M, **case.options)
    return {"low": found.low, "high": found.high, **found.curve}


def stability(M: Any, case: "Case") -> Answer:
    """How often anchors are chosen again."""
    sel = sepnmf.stability(M, case.r, draws=DRAWS, **case.options)
    return selection(sel) | {"stability": sel.stability}


def separable_nmf(M: Any, case: "Case") -> Answer:
    """The estimator that chooses samples."""
    model = sepnmf.SeparableNMF(case.r, **case.options)
    X = M.T if hasattr(M, "T") else held(case.array.T, case.container)
    weights = np.asarray(model.fit_transform(X))
    found = {"weights": weights, "components": model.components_, "error": model.reconstruction_err_}
    if np.isfinite(weights).all():
        found["again"] = np.asarray(model.transform(X))
        # Approximations of the largest numbers may be larger.
        if np.abs(case.array).max() < np.finfo(weights.dtype).max / 1e3:
            found["back"] = np.asarray(model.inverse_transform(weights))
    return found


def anchor_selector(M: Any, case: "Case") -> Answer:
    """The estimator that chooses features."""
    model = sepnmf.AnchorSelector(case.r, **case.options).fit(M)
    if not (sparse.issparse(M) and M.dtype == np.float16):  # of which SciPy takes no columns
        assert model.transform(M).shape == (case.array.shape[0], case.r)
    return {"anchors": model.anchor_indices_, "scores": model.scores_}


def topics(M: Any, case: "Case") -> Answer:
    """Words and topics, with the entries of M as counts."""
    together = text.cooccurrence(M)
    words = np.flatnonzero(np.asarray(together.sum(axis=0)))[: case.r]
    if not words.size:
        return {"together": together}
    by_word = text.topic_words(together, words)
    by_document = text.document_topics(M, by_word)
    used = text.used_words(M, min_df=1, max_df=1.0)
    return {"together": together, "words": by_word, "documents": by_document, "used": used}


CALLS: dict[str, Callable[[Any, "Case"], Answer]] = {
    **{f"select {method}": select for method in sepnmf.METHODS},
    "nnls": nnls,
    "rae": rae,
    "angles": angles,
    "estimate_rank": estimate_rank,
    "stability": stability,
    "SeparableNMF": separable_nmf,
    "AnchorSelector": anchor_selector,
    "topics": topics,
}
# Whose anchors must not change when the data are multiplied with a power of two.
SCALE_FREE = (
    "spa",
    "snpa",
    "xray",
    "vca",
    "ppi",
    "nfindr",
    "preconditioned_spa",
    "smoothed_spa",
    "robust_spa",
    "pseudo_point_spa",
    "fippi",
    "eeht",
)
# Whose anchors are the same columns after a permutation. Left out are methods that draw a number for each
# column (hottopixx, fgnsr, xray with "rand", nfindr from random ones), that draw starts or samples by place
# (admm, tuned_admm, auto), that draw directions in a basis whose signs depend on the order (vca, ppi,
# smoothed_vca), that iterate n × n coefficients to a tolerance, with sums in the order of the columns (dca,
# merit; xray with "greedy" and "dist" compares such sums), after which extreme columns have equal lengths
# (preconditioned_spa), and that average neighbours, so that two columns have one average (smoothed_spa).
PERMUTABLE = ("spa", "snpa", "xray")
# Whose anchors do not depend on the container.
SAME_ANYWHERE = ("spa", "snpa", "xray")
ESTIMATORS = ("SeparableNMF", "AnchorSelector")
PICKS = ("diag", "rows", "spa")
NOISES = ("auto", "white", "columns", "rows", "counts", "heavy", "none")


def is_slow(case: "Case") -> bool:
    """Whether a case runs a search, which takes seconds."""
    return case.method in ("auto", "tuned_admm") or case.call in ("estimate_rank", "stability")


def options_of(rng: np.random.Generator, call: str, A: Any) -> dict[str, Any]:
    """Options for a call."""
    negative = str(rng.choice(["allow", "clip"])) if A.dtype.kind in "fi" and (A < 0).any() else "error"
    if call == "nnls":
        to_one = bool(rng.random() < 0.5)
        return {"sum_to_one": to_one, "method": "exact" if to_one else str(rng.choice(["exact", "hals"]))}
    if call in ("rae", "angles", "topics"):
        return {}
    if call in ESTIMATORS:
        method = str(rng.choice(["spa", "snpa", "xray", "vca", "nfindr", "auto"]))
        more = {"components": "vertices"} if call == "SeparableNMF" and method == "auto" else {}
        return {"method": method, "negative": negative, "random_state": 0, **more}
    options: dict[str, Any] = {"negative": negative}
    method = call.partition(" ")[2]
    if call in ("estimate_rank", "stability") or "random_state" in sepnmf.METHODS[method].options:
        options["random_state"] = 0
    if method and rng.random() < 0.1:
        options["refine"] = True
    if rng.random() < 0.1:
        options["mask"] = [int(k) for k in rng.random(A.shape[1]) < 0.8]
    if rng.random() < 0.05:
        options["row_mask"] = [int(k) for k in rng.random(A.shape[0]) < 0.8]
    return options | options_of_method(rng, "auto" if call == "stability" else method, A)


def options_of_method(rng: np.random.Generator, method: str, A: Any) -> dict[str, Any]:
    """Options that a method alone has."""
    number = lambda: float(10.0 ** rng.uniform(-3, 2))  # noqa: E731
    one_of = lambda *choices: choices[rng.integers(len(choices))]  # noqa: E731
    if method in ("admm", "dca"):
        norm = "nuclear" if rng.random() < 0.2 else one_of("l1", "rows")
        options = {"lam": number(), "norm": norm, "p": one_of(1, 2, 3, 4, 1.5), "pick": one_of(*PICKS)}
        options["init"] = one_of(None, "identity", "spa")
        if method == "admm":
            return options | {"rho": [number() for _ in range(3)], "prox": one_of("exact", "paper")}
        # The exact map of the nuclear norm is for small data: thousands of decompositions.
        projected = rng.random() < 0.5 or (norm == "nuclear" and A.shape[1] > 20)
        return options | {
            "rho": number(),
            "beta": number(),
            "v_update": "projected" if projected else "exact",
        }
    drawn: dict[str, dict[str, Any]] = {
        "auto": {"noise": one_of(*NOISES), "normalize": one_of("auto", "none", "l1", "sqrt")},
        "tuned_admm": {"p": one_of(1, 2, 3), "norm": one_of("l1", "rows"), "max_solves": 3},
        "fgnsr": {"mu": one_of(None, number()), "pick": one_of(*PICKS), "max_iter": one_of(1, 500)},
        "merit": {"lam": one_of(None, number()), "pick": one_of("max", "sum"), "max_iter": one_of(1, 100)},
        "hottopixx": {"noise": one_of(0.0, 0.0, 1e-9, number()), "pick": one_of(*PICKS)},
        "smoothed_spa": {"n_average": one_of(1, 2), "average": one_of("mean", "median")},
        "smoothed_vca": {"n_average": one_of(1, 2), "average": one_of("mean", "median")},
        "eeht": {
            "choice": one_of("diagonal", "exchange", "largest", "centroids"),
            "normalize": one_of("none", "l1"),
            "n_bases": one_of(None, 1, 3),
            **one_of({}, {}, {"n_columns": 300}, {"n_columns": 300, "n_runs": 2, "choice": "centroids"}),
        },
        "xray": {"rule": one_of("max", "dist", "rand", "greedy")},
        "spa": {"normalize": one_of("none", "l1")},
        "snpa": {"normalize": one_of("none", "l1")},
        "nfindr": {"init": one_of("spa", "random")},
        "vca": {"snr": one_of(None, -1000.0, 0.0, 15.0, 1000.0)},
        "ppi": {"n_skewers": one_of(1, 2, 1000)},
        "preconditioned_spa": {"preconditioner": one_of(*PRECONDITIONERS), "tol": one_of(1e-4, 1e-12)},
        "robust_spa": {
            "n_candidates": one_of(1, 2, 5, 10),
            "beta": one_of(1.5, 4.0, 1e300),
            "power": one_of(0.1, 1.0, 2.0, 50.0),
            "normalize": one_of("none", "l1"),
        },
        "pseudo_point_spa": one_of({}, {"radius": 0.0}, {"radius": number()}, {"n_neighbors": one_of(1, 3)}),
        "randomized_spa": {"n_directions": one_of(None, 1, 20), "condition": one_of(1.0, 3.0, 1e300)},
    }
    return drawn.get(method, {})


@dataclass
class Case:
    """A matrix, its container, and a call."""

    array: Any
    container: str
    call: str
    r: int
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def drawn(cls, seed: int, number: int) -> "Case":
        """The case with this number."""
        rng = np.random.default_rng([seed, number])
        array = hostile_matrix(rng)
        container = str(rng.choice(list(CONTAINERS)))
        call = str(rng.choice(list(CALLS)))
        if container == "image" and call in ESTIMATORS:
            container = "xarray"  # the pixels of an image are samples, and its bands are features
        options = options_of(rng, call, array)
        n = sum(options.get("mask", array.shape[1] * [1])) or 1
        r = n if rng.random() < 0.1 else int(rng.integers(1, min(n, max(array.shape[0], 2)) + 1))
        return cls(array, container, call, r, number, options)

    @property
    def method(self) -> str:
        """The method that is called, if one is."""
        return str(self.options.get("method", self.call.partition(" ")[2]))

    def save(self, path: Path, failures: list[str]) -> None:
        """Write the case and what is wrong with it."""
        path.parent.mkdir(exist_ok=True)
        np.savez(path.with_suffix(".npz"), array=self.array)
        about = {name: getattr(self, name) for name in ("container", "call", "r", "seed", "options")}
        path.with_suffix(".json").write_text(json.dumps(about | {"failures": failures}, indent=1))

    @classmethod
    def load(cls, path: Path) -> "Case":
        """Read a case that was saved."""
        about = json.loads(path.with_suffix(".json").read_text())
        del about["failures"]
        with np.load(path.with_suffix(".npz")) as stored:
            return cls(stored["array"], **about)


def used_rows(case: Case) -> Any:
    """The rows that no mask leaves out."""
    return np.flatnonzero(case.options.get("row_mask", np.ones(case.array.shape[0])))


def used_columns(case: Case) -> Any:
    """Whether each column is used: not left out by a mask, and without missing entries in rows in use."""
    rows, used = used_rows(case), np.ones(case.array.shape[1], bool)
    A, M = case.array[rows], held(case.array, case.container)
    if isinstance(M, np.ma.MaskedArray):
        used = ~np.ma.getmaskarray(M)[rows].any(axis=0)
    if "_FillValue" in getattr(M, "attrs", {}) and A.dtype.kind != "b":
        value = case.array[0, 0]
        used = A.any(axis=0) if value == 0 else ~(np.isnan(A) if np.isnan(value) else value == A).any(axis=0)
    return used & np.array(case.options.get("mask", used), bool)


def other_columns(case: Case, count: int) -> Any:
    """Draw columns as long as those of the case: some of them, scaled, and others; `count` if given."""
    rng = np.random.default_rng(case.seed)
    with np.errstate(over="ignore"):
        A = case.array.astype(np.float64)
    m, n = A.shape
    count = count or int(rng.integers(1, 6))
    W = A[:, rng.integers(0, n, count)]
    if rng.random() < 0.5:
        with np.errstate(over="ignore"):
            W[:, 0] = np.resize(hostile_matrix(rng).astype(np.float64), m)
    with np.errstate(over="ignore"):
        scaled = W * float(rng.choice([1.0, 1e-9, 1e9, 1e-300, 1e300]))
    return scaled if np.isfinite(scaled).all() else W


# What must hold -----------------------------------------------------------------------------------------


class TooSlow(BaseException):
    """A call takes too long."""


def interrupt(*_: Any) -> None:
    """End the call that is running."""
    raise TooSlow


def run(case: Case, array: Any, container: str) -> tuple[Answer | None, list[str]]:
    """Call, and return the answer (None if it is a refusal) and what is wrong with it."""
    M = held(array, container)
    before, began = contents(M), time.process_time()
    wrong, answer = [], None
    limit = LIMIT * (1 + DRAWS) if case.call == "stability" else LIMIT
    handler = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, 2 * limit)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # numbers that left the range unnoticed
            answer = CALLS[case.call](M, case)
    except (ValueError, TypeError) as error:
        if isinstance(error, np.linalg.LinAlgError) or not NAMED.search(str(error)):
            wrong.append(f"{type(error).__name__}: {error}\n{last_frames()}")
    except TooSlow:
        wrong.append(f"interrupted after {2 * limit:g} s\n{last_frames()}")
    except Exception as error:
        wrong.append(f"{type(error).__name__}: {error}\n{last_frames()}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
    seconds = time.process_time() - began
    if seconds > limit:
        wrong.append(f"took {seconds:.0f} s")
    if contents(M) != before:
        wrong.append("changed its input")
    return answer, wrong


def last_frames() -> str:
    """Where an exception was raised, in a few lines."""
    frames = traceback.extract_tb(sys.exc_info()[2])[-3:]
    return "\n".join(f"  {Path(one.filename).name}:{one.lineno} {one.line}" for one in frames)


def failures(case: Case) -> list[str]:
    """Return everything that does not hold."""
    answer, wrong = run(case, case.array, case.container)
    if answer is None:
        return wrong
    wrong += wrong_numbers(case, answer)
    again, _ = run(case, case.array, case.container)
    if again is None or not same(answer, again):
        wrong.append(f"is not the same twice: {shown(answer)}, {shown(again)}")
    if "anchors" not in answer or wrong:
        return wrong
    if "refine" in case.options:  # exchanges are those of "auto", for which equal columns are equally good
        return wrong
    scaled = multiplied(case)
    if scaled is not None and case.method in SCALE_FREE and "radius" not in case.options:
        other, more = run(case, scaled, case.container)
        wrong += more
        if other is None or not np.array_equal(other["anchors"], answer["anchors"]):
            wrong.append(f"other anchors after scaling: {shown(answer)}, {shown(other)}")
    order = permutation(case)
    if order is not None:
        other, more = run(case, case.array[:, order], case.container)
        wrong += more
        same_columns = other is not None and np.array_equal(order[other["anchors"]], answer["anchors"])
        tied = not same_columns and (
            is_tied(case, case.array, answer)
            or (other is not None and is_tied(case, case.array[:, order], other))
        )
        if not same_columns and not tied:
            wrong.append(f"other anchors in the order {order.tolist()}: {shown(answer)}, {shown(other)}")
    # The rule "dist" of XRAY compares sums over all columns, whose ties rounding decides.
    exact = case.method in SAME_ANYWHERE and case.options.get("rule", "max") == "max"
    if case.container in SAME_NUMBERS and exact:
        other, more = run(case, case.array, "C")
        wrong += more
        # SNPA and XRAY compute weights in the type of the data, so that rounding decides ties in float32. In
        # XRAY the rounding of products decides where they cancel.
        rounded = case.array.dtype.itemsize < 8 or case.method == "xray"
        same_columns = other is not None and np.array_equal(other["anchors"], answer["anchors"])
        if not same_columns and not (rounded and is_tied(case, case.array, answer)):
            wrong.append(f"other anchors from an array: {shown(answer)}, {shown(other)}")
    return wrong


def wrong_numbers(case: Case, answer: Answer) -> list[str]:
    """Say what is wrong with the numbers of an answer."""
    wrong, used = [], used_columns(case)
    for name, value in answer.items():
        numbers = np.asarray(value.toarray() if sparse.issparse(value) else value, dtype=np.float64)
        if name == "H":  # of an image, it is one
            numbers = numbers.reshape(len(numbers), -1)[:, used]
        if name in ("weights", "again", "back"):
            numbers = numbers[used]
        if not np.isfinite(numbers).all():
            wrong.append(f"{name} is not finite: {numbers.ravel()[:20]}")
    anchors = answer.get("anchors")
    if anchors is None:
        return wrong
    A = case.array[used_rows(case)]
    nonzero = used & (A > 0 if case.options.get("negative") == "clip" else A != 0).any(axis=0)
    if len(set(anchors.tolist())) != case.r or not used[anchors].all():
        wrong.append(f"anchors {anchors} are not {case.r} distinct columns in use")
    elif nonzero.sum() >= case.r and not nonzero[anchors].all():
        wrong.append(f"anchors {anchors} have a zero column")
    return wrong


def same(a: Answer, b: Answer) -> bool:
    """Whether two answers are equal: anchors exactly, other numbers but for the last digits."""
    if a.keys() != b.keys() or not np.array_equal(a.get("anchors", 0), b.get("anchors", 0)):
        return False
    named = ("scores", "H", "weights", "rae", "sam", "mrsa", "stability", "words", "documents")
    return all(np.allclose(a[name], b[name], rtol=1e-6, equal_nan=True) for name in a if name in named)


def multiplied(case: Case) -> Any:
    """Return the matrix times a power of two, None if that changes more than exponents."""
    A = case.array
    if A.dtype.kind != "f" or not A.any():
        return None
    exponent = int(np.random.default_rng(case.seed).integers(-40, 41))
    smallest, limits = np.abs(A[A != 0]).min(), np.finfo(min(A.dtype, np.dtype(np.float64)))
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(A, exponent)
    fits = smallest >= limits.tiny and np.abs(scaled[A != 0]).min() >= limits.tiny
    return scaled if fits and np.abs(scaled).max() <= limits.max else None


def permutation(case: Case) -> Any:
    """Return another order of the columns, None if the method does not promise the same anchors."""
    if case.method not in PERMUTABLE or case.options.get("rule", "max") != "max":
        return None
    # Masks are drawn by place; columns of one row that are divided by their sums are equal.
    if not used_columns(case).all() or case.array.dtype.kind != "f" or used_rows(case).size == 1:
        return None
    tiny = float(np.finfo(min(case.array.dtype, np.dtype(np.float64))).tiny)
    largest = np.array([float(size) for size in np.abs(case.array).max(axis=0)])
    if (largest[largest > 0] < 1e12 * tiny).any():  # too small for `is_tied`
        return None
    return np.random.default_rng(case.seed).permutation(case.array.shape[1])


def is_tied(case: Case, array: Any, answer: Answer) -> bool:
    """Whether small changes of the data change the anchors: the order then decides between equals.

    Methods take columns for equal that differ by little: changes of the size of rounding are too small. Zeros
    are changed every second time, as changes of their signs may hide a tie.
    """
    A, rng = array.astype(np.float64), np.random.default_rng(case.seed)
    if case.options.get("negative") == "clip":
        A = np.maximum(A, 0)
    for column in A[:, answer["anchors"]].T:
        if (column[:, None] == A).all(axis=0).sum() > 1:  # it has a copy
            return True
    for k, size in enumerate(np.repeat([1e-12, 1e-8, 1e-4], 6)):
        changed = A + size * (np.abs(A).max(axis=0) if k % 2 else A) * rng.uniform(-1, 1, A.shape)
        changed = changed if (A < 0).any() else np.abs(changed)
        other, _ = run(case, changed.astype(case.array.dtype), case.container)
        if other is None or not np.array_equal(other["anchors"], answer["anchors"]):
            return True
    return False


def shown(answer: Answer | None) -> Any:
    """An answer in a line."""
    if answer is None:
        return "a refusal"
    return answer["anchors"].tolist() if "anchors" in answer else "other numbers"


# Commands ---------------------------------------------------------------------------------------------


def fuzz(seed: int, seconds: float, number: int = 0) -> tuple[Counter[str], dict[int, list[str]]]:
    """Try cases for some seconds; return how often each call was tried, and what failed."""
    tried: Counter[str] = Counter()
    found: dict[int, list[str]] = {}
    FOUND.mkdir(exist_ok=True)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        case = Case.drawn(seed, number)
        (FOUND / "running").write_text(f"--seed {seed} --only {number}")
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        wrong = failures(case)
        faulthandler.cancel_dump_traceback_later()
        tried[case.call] += 1
        if wrong:
            found[number] = wrong
            case.save(FOUND / f"{seed}-{number}", wrong)
            report(f"{seed}-{number}", case, wrong)
        number += 1
    (FOUND / "running").unlink(missing_ok=True)
    return tried, found


def report(name: str, case: Case, wrong: list[str]) -> None:
    """Show what is wrong with a case."""
    shape = " × ".join(map(str, case.array.shape))
    print(f"{name}: {case.call}, {case.container}, {shape} {case.array.dtype}, r={case.r}, {case.options}")
    for one in wrong:
        print(f"  {one}", flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long")
    parser.add_argument("--seed", type=int, default=0, help="which cases")
    parser.add_argument("--only", type=int, help="the number of one case")
    parser.add_argument("--replay", type=Path, help="a case that was saved")
    arguments = parser.parse_args()
    if arguments.only is not None or arguments.replay is not None:
        path = arguments.replay
        case = Case.load(path) if path else Case.drawn(arguments.seed, arguments.only)
        wrong = failures(case)
        report("replayed", case, wrong)
        sys.exit(bool(wrong))
    tried, found = fuzz(arguments.seed, arguments.seconds)
    print(f"numeric: {tried.total()} cases, {len(found)} failed")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
