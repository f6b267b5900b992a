"""Call everything that computes with hostile matrices, and check what must hold of every answer.

    python fuzz/numeric.py --seconds 300 --seed 0
    python fuzz/numeric.py --seed 0 --only 123              # case 123 of this seed again
    python fuzz/numeric.py --replay fuzz/found/0-123.npz    # a failure that was saved

A case depends on the seed and its number alone. It is a matrix, a container for it, and one call. What must
hold: no exception but a ValueError or TypeError that names an argument; no RuntimeWarning; at most `LIMIT`
seconds; finite numbers; r distinct anchors, none of them masked, and none a zero column while r others are
left; an unmodified input; the same answer twice; the same anchors after multiplication with a power of two,
from columns in another order, and from sparse data, where the method promises that. Failures are saved in
fuzz/found.
"""

import argparse
import faulthandler
import json
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import sepnmf
from sepnmf import metrics
from sepnmf.methods._preconditioned import PRECONDITIONERS

FOUND = Path(__file__).parent / "found"
LIMIT = 20.0  # seconds for one call
PATIENCE = 6 * LIMIT  # seconds until a call that cannot be interrupted ends the process
# Words of which a refusal must have one.
NAMED = re.compile(
    r"\b(M|W|W_true|X|r|anchors|mask|row_mask|n_average|n_skewers|noise|mu|lam|rho|beta|weights|column|columns"
    r"|n_components|n_features_to_select|method|rule|negative|init|method_options|averages)\b"
)

# Matrices ---------------------------------------------------------------------------------------------


def mixtures(rng: np.random.Generator, m: int, n: int) -> Any:
    """Anchors and mixtures of them."""
    r = int(rng.integers(1, min(m, n) + 1))
    return rng.random((m, r)) @ np.hstack([np.eye(r), rng.dirichlet(np.ones(r), n).T])[:, :n]


def nearly_equal(rng: np.random.Generator, m: int, n: int) -> Any:
    """Columns that differ in their last digits."""
    return rng.random((m, 1)) * (1 + 10.0 ** -rng.integers(6, 17) * rng.random((m, n)))


def wide_columns(rng: np.random.Generator, m: int, n: int) -> Any:
    """Columns of very different lengths."""
    return rng.random((m, n)) * 10.0 ** (int(rng.choice([3, 9, 18, 150])) * rng.uniform(-1, 1, n))


KINDS: dict[str, Callable[[np.random.Generator, int, int], Any]] = {
    "uniform": lambda rng, m, n: rng.random((m, n)),
    "digits": lambda rng, m, n: rng.integers(0, 4, (m, n)).astype(float),
    "ones": lambda rng, m, n: np.ones((m, n)),
    "identity": lambda rng, m, n: np.eye(m, n)[:, rng.permutation(n)],
    "low rank": lambda rng, m, n: rng.random((m, 2)) @ rng.random((2, n)),
    "mostly zero": lambda rng, m, n: rng.random((m, n)) * (rng.random((m, n)) < 0.3),
    "exponents": lambda rng, m, n: 10.0 ** rng.uniform(-9, 9, (m, n)),
    "mixtures": mixtures,
    "nearly equal": nearly_equal,
    "wide columns": wide_columns,
}
SCALES = (1e-300, 1e-160, 1e-120, 1e-9, 1e9, 1e120, 1e160, 1e300)
TYPES = (np.float32, np.int64, np.int8, np.uint16, np.bool_)


def hostile_matrix(rng: np.random.Generator) -> Any:
    """Draw a matrix; most are small, so that everything meets everything."""
    largest = 60 if rng.random() < 0.05 else 9
    m, n = (1 if rng.random() < 0.05 else int(rng.integers(1, largest + 1)) for _ in range(2))
    n += int(rng.integers(0, 6))
    A = KINDS[str(rng.choice(list(KINDS)))](rng, m, n)
    if rng.random() < 0.25:
        A = A[:, rng.integers(0, n, n)]  # copies
    if rng.random() < 0.3:
        A[:, rng.random(n) < rng.choice([0.2, 0.7])] = 0.0
    if rng.random() < 0.15:
        A[rng.random(m) < 0.3] = 0.0
    if rng.random() < 0.15:
        A = A * np.where(rng.random((m, n)) < 0.3, -1.0, 1.0)
    change = rng.random()
    if change < 0.25:
        with np.errstate(over="ignore"):
            A = np.clip(A * float(rng.choice(SCALES)), -1.7e308, 1.7e308)
    elif change < 0.30:
        A = A / (np.abs(A).max() or 1.0) * 1.7e308
    elif change < 0.35:
        A = np.round(A / (np.abs(A).max() or 1.0) * 5) * 5e-324
    elif change < 0.55:
        kind = np.dtype(rng.choice(TYPES))
        if kind != np.float32:
            A = np.round(A / (np.abs(A).max() or 1.0) * 5)
            A = np.abs(A) if kind.kind == "u" else A
        elif rng.random() < 0.3:
            A = A / (np.abs(A).max() or 1.0) * float(rng.choice([1e-44, 1e-38, 1e-20, 1e20, 3e38]))
        with np.errstate(over="ignore", under="ignore"):
            A = np.clip(A, -3e38, 3e38).astype(kind)
    return np.ascontiguousarray(A)


# Containers -------------------------------------------------------------------------------------------


def unsorted_csr(A: Any) -> Any:
    """A sparse matrix with the entries of each row in descending order, and explicit zeros."""
    m, n = A.shape
    columns = np.tile(np.arange(n)[::-1], m)
    return sparse.csr_array((A[:, ::-1].ravel().copy(), columns, np.arange(0, m * n + 1, n)), shape=(m, n))


def memmap(A: Any) -> Any:
    """A memory map of a file that is removed when it is no longer used."""
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=A.dtype, shape=A.shape)
        mapped[:] = A
        return mapped


def dask_array(A: Any) -> Any:
    import dask.array as da

    return da.from_array(A, chunks=(max(A.shape[0] // 2, 1), max(A.shape[1] // 3, 1)))


def masked(A: Any) -> Any:
    """A masked array; what is masked depends on its shape, and is the largest number where that fits."""
    mask = np.zeros(A.shape, bool)
    mask[:, 1 : A.shape[1] // 3] = A.shape[0] % 2 == 0
    data = A.copy()
    data[mask] = np.finfo(A.dtype).max if A.dtype.kind == "f" else 1
    return np.ma.MaskedArray(data, mask)


def frame(A: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(A, columns=[f"c{j}" for j in range(A.shape[1])])


def labelled(A: Any) -> Any:
    import xarray as xr

    return xr.DataArray(A, dims=("row", "column"))


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "C": np.array,
    "F": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "unsorted csr": unsorted_csr,
    "dask": dask_array,
    "memmap": memmap,
    "masked": masked,
    "frame": frame,
    "xarray": labelled,
}
SPARSE = ("csr", "csc", "coo", "unsorted csr")


def contents(M: Any) -> list[bytes]:
    """Everything that a call must not change, as bytes."""
    if sparse.issparse(M):
        parts = [M.data, *(M.coords if M.format == "coo" else (M.indices, M.indptr))]
    elif isinstance(M, np.ma.MaskedArray):
        parts = [M.data, np.ma.getmaskarray(M)]
    else:
        parts = [np.asarray(M)]
    return [part.tobytes() for part in parts]


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
    A = masked(case.array) if case.container == "masked" else None
    used = np.arange(case.array.shape[1]) if A is None else np.flatnonzero(~A.mask.any(axis=0))
    return {"rae": metrics.rae(M, used[: case.r])}


def angles(M: Any, case: "Case") -> Answer:
    """Angles between the columns and others."""
    W = other_columns(case, case.array.shape[1])
    return {"sam": metrics.sam(M, W), "mrsa": metrics.mrsa(M, W)}


def estimate_rank(M: Any, case: "Case") -> Answer:
    """The number of anchors."""
    found = sepnmf.estimate_rank(M, **case.options)
    return {"low": found.low, "high": found.high, **found.curve}


def separable_nmf(M: Any, case: "Case") -> Answer:
    """The estimator that chooses samples."""
    model = sepnmf.SeparableNMF(case.r, **case.options)
    weights = np.asarray(model.fit_transform(M.T))
    return {"weights": weights, "components": model.components_, "error": model.reconstruction_err_}


def anchor_selector(M: Any, case: "Case") -> Answer:
    """The estimator that chooses features."""
    model = sepnmf.AnchorSelector(case.r, **case.options).fit(M)
    return {"anchors": model.anchor_indices_, "scores": model.scores_}


CALLS: dict[str, Callable[[Any, "Case"], Answer]] = {
    **{f"select {method}": select for method in sepnmf.METHODS},
    "nnls": nnls,
    "rae": rae,
    "angles": angles,
    "estimate_rank": estimate_rank,
    "SeparableNMF": separable_nmf,
    "AnchorSelector": anchor_selector,
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
SPARSE_AS_DENSE = ("spa", "snpa", "xray")


def is_slow(case: "Case") -> bool:
    """Whether a case runs a search, which takes seconds."""
    return case.method in ("auto", "tuned_admm") or case.call == "estimate_rank"


def options_of(rng: np.random.Generator, call: str, A: Any) -> dict[str, Any]:
    """Options for a call."""
    negative = str(rng.choice(["allow", "clip"])) if A.dtype.kind in "fi" and (A < 0).any() else "error"
    number = lambda: float(10.0 ** rng.uniform(-3, 2))  # noqa: E731
    if call == "nnls":
        to_one = bool(rng.random() < 0.5)
        return {"sum_to_one": to_one, "method": "exact" if to_one else str(rng.choice(["exact", "hals"]))}
    if call in ("rae", "angles"):
        return {}
    if call in ("SeparableNMF", "AnchorSelector"):
        method = str(rng.choice(["spa", "snpa", "xray", "vca", "nfindr", "auto"]))
        return {"method": method, "negative": negative, "random_state": 0}
    options: dict[str, Any] = {"negative": negative}
    method = call.partition(" ")[2]
    if call == "estimate_rank" or "random_state" in sepnmf.METHODS[method].options:
        options["random_state"] = 0
    if method in ("admm", "dca"):
        norm = "nuclear" if rng.random() < 0.2 else str(rng.choice(["l1", "rows"]))
        options |= {"lam": number(), "norm": norm, "p": int(rng.integers(1, 5))}
        if method == "admm":
            options |= {"rho": [number() for _ in range(3)], "prox": str(rng.choice(["exact", "paper"]))}
        else:
            # The exact map of the nuclear norm is for small data: thousands of decompositions.
            projected = rng.random() < 0.5 or (norm == "nuclear" and A.shape[1] > 20)
            options |= {"rho": number(), "beta": number(), "v_update": "projected" if projected else "exact"}
    elif method in ("smoothed_spa", "smoothed_vca"):
        options |= {"n_average": int(rng.integers(1, 3)), "average": str(rng.choice(["mean", "median"]))}
    elif method == "xray":
        options["rule"] = str(rng.choice(["max", "dist", "rand", "greedy"]))
    elif method in ("spa", "snpa"):
        options["normalize"] = str(rng.choice(["none", "l1"]))
    elif method == "nfindr":
        options["init"] = str(rng.choice(["spa", "random"]))
    elif method == "preconditioned_spa":
        options["preconditioner"] = str(rng.choice(PRECONDITIONERS))
    elif method == "robust_spa":
        options |= {"n_candidates": int(rng.integers(1, 6)), "normalize": str(rng.choice(["none", "l1"]))}
    elif method == "randomized_spa":
        options |= {"n_directions": 1, "condition": float(rng.choice([1.0, 3.0]))}
    return options


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
        n = array.shape[1]
        r = n if rng.random() < 0.1 else int(rng.integers(1, min(n, max(array.shape[0], 2)) + 1))
        return cls(array, container, call, r, number, options_of(rng, call, array))

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


def other_columns(case: Case, count: int) -> Any:
    """Draw columns as long as those of the case: some of them, scaled, and others; `count` if given."""
    rng = np.random.default_rng(case.seed)
    A = case.array.astype(np.float64)
    m, n = A.shape
    count = count or int(rng.integers(1, 6))
    W = A[:, rng.integers(0, n, count)]
    if rng.random() < 0.5:
        other = hostile_matrix(rng).astype(np.float64)
        W[:, 0] = np.resize(other, m)
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
    M = CONTAINERS[container](array)
    before, began = contents(M), time.perf_counter()
    wrong, answer = [], None
    handler = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 2 * LIMIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # numbers that left the range unnoticed
            answer = CALLS[case.call](M, case)
    except (ValueError, TypeError) as error:
        if isinstance(error, np.linalg.LinAlgError) or not NAMED.search(str(error)):
            wrong.append(f"{type(error).__name__}: {error}\n{last_frames()}")
    except TooSlow:
        wrong.append(f"interrupted after {2 * LIMIT:g} s\n{last_frames()}")
    except Exception as error:
        wrong.append(f"{type(error).__name__}: {error}\n{last_frames()}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    seconds = time.perf_counter() - began
    if seconds > LIMIT:
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
    scaled = multiplied(case)
    if scaled is not None and case.method in SCALE_FREE:
        other, more = run(case, scaled, case.container)
        wrong += more
        if other is None or not np.array_equal(other["anchors"], answer["anchors"]):
            wrong.append(f"other anchors after scaling: {shown(answer)}, {shown(other)}")
    order = permutation(case)
    if order is not None:
        other, more = run(case, case.array[:, order], case.container)
        wrong += more
        same_columns = other is not None and np.array_equal(order[other["anchors"]], answer["anchors"])
        if not same_columns and not is_tied(case, answer):
            wrong.append(f"other anchors in the order {order.tolist()}: {shown(answer)}, {shown(other)}")
    # The rule "dist" of XRAY compares sums over all columns, whose ties rounding decides.
    exact = case.method in SPARSE_AS_DENSE and case.options.get("rule", "max") == "max"
    if case.container in SPARSE and exact:
        other, more = run(case, case.array, "C")
        wrong += more
        if other is None or not np.array_equal(other["anchors"], answer["anchors"]):
            wrong.append(f"other anchors from dense data: {shown(answer)}, {shown(other)}")
    return wrong


def wrong_numbers(case: Case, answer: Answer) -> list[str]:
    """Say what is wrong with the numbers of an answer."""
    wrong = []
    M = CONTAINERS[case.container](case.array)
    used = np.ones(case.array.shape[1], bool)
    if case.container == "masked":
        used = ~M.mask.any(axis=0)
    for name, value in answer.items():
        numbers = np.asarray(value.toarray() if sparse.issparse(value) else value, dtype=np.float64)
        if name == "H":
            numbers = numbers[:, used]
        if name == "weights":
            numbers = numbers[used]
        if not np.isfinite(numbers).all():
            wrong.append(f"{name} is not finite: {numbers.ravel()[:20]}")
    anchors = answer.get("anchors")
    if anchors is None:
        return wrong
    nonzero = used & (np.asarray(case.array) != 0).any(axis=0)
    if case.options.get("negative") == "clip":
        nonzero = used & (np.asarray(case.array) > 0).any(axis=0)
    if len(set(anchors.tolist())) != case.r or not used[anchors].all():
        wrong.append(f"anchors {anchors} are not {case.r} distinct columns in use")
    elif nonzero.sum() >= case.r and not nonzero[anchors].all():
        wrong.append(f"anchors {anchors} have a zero column")
    return wrong


def same(a: Answer, b: Answer) -> bool:
    """Whether two answers are equal: anchors exactly, other numbers but for the last digits."""
    if a.keys() != b.keys() or not np.array_equal(a.get("anchors", 0), b.get("anchors", 0)):
        return False
    pairs = ((a[name], b[name]) for name in a if name in ("scores", "H", "weights", "rae", "sam", "mrsa"))
    return all(np.allclose(x, y, rtol=1e-6, equal_nan=True) for x, y in pairs)


def multiplied(case: Case) -> Any:
    """Return the matrix times a power of two, None if that changes more than exponents."""
    A = case.array
    if A.dtype.kind != "f" or not A.any():
        return None
    exponent = int(np.random.default_rng(case.seed).integers(-40, 41))
    smallest, limits = np.abs(A[A != 0]).min(), np.finfo(A.dtype)
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(A, exponent)
    fits = smallest >= limits.tiny and np.abs(scaled[A != 0]).min() >= limits.tiny
    return scaled if fits and np.isfinite(scaled).all() else None


def permutation(case: Case) -> Any:
    """Return another order of the columns, None if the method does not promise the same anchors."""
    if case.method not in PERMUTABLE or case.options.get("rule", "max") != "max":
        return None
    m, kind = case.array.shape[0], case.array.dtype.kind
    # Masks are drawn by place; columns of one row that are divided by their sums are equal.
    if case.container == "masked" or kind != "f" or m == 1:
        return None
    if np.abs(case.array).max() < np.finfo(case.array.dtype).tiny / 1e-12:  # too small for `is_tied`
        return None
    return np.random.default_rng(case.seed).permutation(case.array.shape[1])


def is_tied(case: Case, answer: Answer) -> bool:
    """Whether small changes of the data change the anchors: the order then decides between equals.

    Methods take columns for equal that differ by little: changes of the size of rounding are too small.
    """
    A, rng = case.array.astype(np.float64), np.random.default_rng(case.seed)
    for size in np.repeat([1e-12, 1e-8, 1e-4], 5):
        changed = A + size * np.abs(A).max(axis=0) * rng.random(A.shape)
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
