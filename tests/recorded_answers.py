"""What every method answers on 300 random matrices, recorded so that a later version can be compared.

The matrices come from seeds alone. They are made with additions and multiplications of single numbers, never
with a matrix product, so that they are the same on every machine. Each has a container (dense, sparse, Dask,
memory map, Zarr, HDF5), a number of anchors, and a list of calls.

    python tests/recorded_answers.py --check                 # all 300 against recorded_answers.json
    python tests/recorded_answers.py --write                 # write recorded_answers.json
    python tests/recorded_answers.py --write-exact FILE      # write a record that is exact to the last bit
    python tests/recorded_answers.py --exact FILE            # compare with such a record

Set OPENBLAS_NUM_THREADS=1 for exact records. Some answers hang on the last bits: ties that rounding decides,
iterations that diverge. To find these, write exact records under other conditions, for example with
OPENBLAS_CORETYPE=Nehalem NUMBA_CPU_NAME=nehalem, and name them behind --agreeing: with --write, calls whose
anchors, status or error differ between the records are listed as fragile and left out, and scores that differ
are left out; with --write-exact, calls that differ in any bit are left out. What the stored file leaves out
stays out when it is written again.
"""

import argparse
import hashlib
import importlib
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import dask
import dask.array as da
import h5py
import numpy as np
import zarr
from scipy import sparse

import sepnmf

STORED = Path(__file__).with_suffix(".json")
COUNT = 300
TESTED_EVERY = 3  # The test runs every third matrix.
GROUPS = 20  # The test runs them in so many groups.

# Thresholds -------------------------------------------------------------------------------------------

# The constants of the library that decide when data are loaded, screened or cut. Each has a meaning and the
# places, as module and attribute, where it may be found; the first that exists is used.
PLACES = {
    "entries of data that are loaded": [("sepnmf.matrix._chunked", "SMALL")],
    "columns that are loaded for n by n coefficients": [("sepnmf.methods._screening", "FEW")],
    "columns of a random sample": [("sepnmf.matrix._chunked", "SAMPLE")],
    "random lines": [("sepnmf.methods._screening", "SKEWERS")],
    "columns that are explained worst": [("sepnmf.methods._screening", "WORST")],
    "columns that represent others": [("sepnmf.methods._screening", "REPRESENTATIVES")],
    "places that are looked at first": [("sepnmf.matrix._chunked", "PEEKS")],
    "columns that are looked at in each place": [("sepnmf.matrix._chunked", "PEEK")],
    "violating columns, held of one pass": [("sepnmf.methods._working_set", "MOST_VIOLATIONS")],
    "bytes of a memory map that is loaded": [("sepnmf.matrix._stored", "LARGE")],
    "bytes of a chunk": [("sepnmf.matrix._stored", "CHUNK")],
}
SCREENING = {
    "entries of data that are loaded": 0,
    "columns that are loaded for n by n coefficients": 0,
    "columns of a random sample": 40,
    "random lines": 40,
    "columns that are explained worst": 6,
    "columns that represent others": 25,
    "places that are looked at first": 2,
    "columns that are looked at in each place": 6,
    "violating columns, held of one pass": 8,
}
MAPPING = {"bytes of a memory map that is loaded": 0, "bytes of a chunk": 2000}


def place_of(meaning):
    """Return the module and the name of the constant that has this meaning."""
    for module_name, attribute in PLACES[meaning]:
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError:
            continue
        if hasattr(module, attribute):
            return module, attribute
    raise LookupError(f"No constant was found for {meaning!r}: add its place to PLACES.")


@contextmanager
def thresholds(values):
    """Give constants of the library other values for a while."""
    with ExitStack() as stack:
        for meaning, value in values.items():
            stack.enter_context(mock.patch.object(*place_of(meaning), value))
        yield


# Matrices ---------------------------------------------------------------------------------------------


def product(W, H):
    """Multiply two matrices with the same rounding on every machine."""
    total = np.zeros((W.shape[0], H.shape[1]))
    for k in range(W.shape[1]):
        total += W[:, [k]] * H[k]
    return total


def mixtures(rng, m, n, r, noise=0.0):
    """Make r random anchors and n - r mixtures of them, with noise on everything, in random order."""
    W = rng.random((m, r))
    W /= W.sum(axis=0)
    M = product(W, np.hstack([np.eye(r), rng.dirichlet(np.ones(r), n - r).T]))
    M += noise / m * rng.standard_normal((m, n))
    return np.ascontiguousarray(M[:, rng.permutation(n)])


def midpoints(rng, m, r, push):
    """Make r random anchors and the midpoints of all pairs, pushed away from the centre, in random order."""
    W = rng.random((m, r))
    W /= W.sum(axis=0)
    first, second = np.triu_indices(r, k=1)
    middle = (W[:, first] + W[:, second]) / 2
    middle = middle + push * (middle - W.mean(axis=1, keepdims=True))
    M = np.hstack([W, middle])
    return np.ascontiguousarray(M[:, rng.permutation(M.shape[1])])


class Kinds:
    """The kinds of matrices; each method returns a matrix, a number r and options for all calls."""

    def __init__(self, rng, widest):
        self.rng = rng
        self.m = int(rng.integers(5, 41))
        self.n = int(rng.integers(12, widest + 1))
        self.r = int(rng.integers(2, 5))

    def mixed(self, noise=0.0):
        """Mixtures of the size drawn."""
        return mixtures(self.rng, self.m, self.n, self.r, noise)

    def clean(self):
        return self.mixed(), self.r, {}

    def noise_allowed(self):
        return self.mixed(0.2), self.r, {"negative": "allow"}

    def noise_clipped(self):
        return self.mixed(0.5), self.r, {"negative": "clip"}

    def noise_kept_positive(self):
        return np.abs(self.mixed(0.05)), self.r, {}

    def midpoints_clean(self):
        r = self.r + 2
        return midpoints(self.rng, self.m, r, 0.0), r, {}

    def midpoints_pushed(self):
        r = self.r + 2
        return midpoints(self.rng, self.m, r, 0.3), r, {"negative": "allow"}

    def single_precision(self):
        return np.abs(self.mixed(0.02)).astype(np.float32), self.r, {}

    def counts(self):
        return self.rng.poisson(400 * self.m * self.mixed()), self.r, {}

    def small_integers(self):
        return self.rng.integers(0, 4, (self.m, self.n)).astype(np.int8), self.r, {}

    def fortran(self):
        return np.asfortranarray(np.abs(self.mixed(0.1))), self.r, {}

    def nested_lists(self):
        return np.abs(self.mixed(0.1)).tolist(), self.r, {}

    def tall(self):
        return self.rng.random((40, int(self.rng.integers(3, 9)))), 3, {}

    def wide(self):
        return self.rng.random((3, self.n)), int(self.rng.integers(1, 4)), {}

    def square(self):
        return self.rng.random((self.n, self.n)) ** 2, self.r, {}

    def one_column(self):
        return self.rng.random((self.m, 1)), 1, {}

    def one_row(self):
        return self.rng.random((1, self.n)), int(self.rng.integers(1, 3)), {}

    def one_anchor(self):
        return np.abs(self.mixed(0.1)), 1, {}

    def every_column(self):
        n = int(self.rng.integers(3, 9))
        return self.rng.random((int(self.rng.integers(3, 12)), n)), n, {}

    def more_than_the_rank(self):
        return self.mixed(), min(self.r + 2, self.n), {}

    def out_of_range(self):
        return self.mixed(), int(self.rng.choice([0, -1, self.n + 1])), {}

    def identity(self):
        n = int(self.rng.integers(3, 13))
        return np.eye(n), int(self.rng.integers(1, n + 1)), {}

    def ones(self):
        return np.ones((self.m, self.n)), int(self.rng.integers(1, 3)), {}

    def permutations(self):
        n = int(self.rng.integers(3, 9))
        blocks = [np.eye(n)[:, self.rng.permutation(n)] for _ in range(3)]
        return np.hstack(blocks), int(self.rng.integers(2, n + 1)), {}

    def copies(self):
        M = np.abs(self.mixed(0.05))
        return M[:, self.rng.integers(0, self.n, self.n + 10)], self.r, {}

    def low_rank(self):
        left, right = self.rng.random((self.m, 3)), self.rng.random((3, self.n))
        return product(left, right), 3, {}

    def zero_columns(self):
        M = np.abs(self.mixed(0.05))
        M[:, self.rng.random(self.n) < 0.3] = 0.0
        return M, self.r, {}

    def all_zero(self):
        return np.zeros((self.m, self.n)), self.r, {}

    def unequal_lengths(self):
        return self.mixed() * 10.0 ** self.rng.integers(-6, 7, self.n), self.r, {}

    def long_mixtures(self):
        return np.abs(self.mixed(0.03)) * self.rng.uniform(0.2, 5.0, self.n), self.r, {}

    def huge(self):
        return np.abs(self.mixed(0.02)) * 1e150, self.r, {}

    def tiny(self):
        return np.abs(self.mixed(0.02)) * 1e-150, self.r, {}

    def huge_single(self):
        return (np.abs(self.mixed(0.02)) * 1e30).astype(np.float32), self.r, {}

    def tiny_single(self):
        return (np.abs(self.mixed(0.02)) * 1e-30).astype(np.float32), self.r, {}

    def not_numbers(self):
        return self.spoilt(np.nan), self.r, {}

    def infinite(self):
        return self.spoilt(np.inf), self.r, {"negative": "clip"}

    def refused_negative(self):
        return self.spoilt(-0.5), self.r, {}

    def spoilt(self, value):
        """Put a value in two places of a matrix."""
        M = np.abs(self.mixed(0.1))
        M[self.rng.integers(0, self.m, 2), self.rng.integers(0, self.n, 2)] = value
        return M

    def mostly_zero(self):
        M = self.rng.random((self.m, self.n)) * (self.rng.random((self.m, self.n)) < 0.3)
        return M, self.r, {}

    def true_and_false(self):
        return self.rng.random((self.m, self.n)) < 0.5, self.r, {}


KINDS = [name for name in vars(Kinds) if name not in ("mixed", "spoilt") and not name.startswith("_")]

# The larger matrices: their numbers, with rows, columns, anchors and noise.
LARGER = {
    **dict.fromkeys((11, 30, 61, 80, 101, 151, 177, 211, 224, 237, 261, 285, 294), (60, 300, 6, 0.1)),
    **dict.fromkeys((45, 121, 190, 252), (40, 1500, 5, 0.1)),
    **dict.fromkeys((90, 200, 233), (30, 2500, 4, 0.05)),
}
# The first number of each container.
FIRST = {"dense": 0, "sparse": 150, "dask": 210, "memmap": 260, "zarr": 280, "hdf5": 290}


@dataclass
class Case:
    """One of the matrices, and what is to be done with it."""

    number: int
    kind: str
    container: str
    matrix: object
    r: int
    options: dict

    @property
    def shape(self):
        """The shape of the matrix."""
        return np.shape(self.matrix)

    @property
    def lazy(self):
        """Whether the matrix is read a part at a time."""
        return self.container in ("dask", "zarr", "hdf5") or (self.container == "memmap" and self.number % 2)

    @property
    def screened(self):
        """Whether all calls are also made with low thresholds."""
        return self.lazy and (self.number // 2) % 2 == 0


def case(number):
    """Make the matrix with this number."""
    rng = np.random.default_rng([1, number])
    container = [name for name, first in FIRST.items() if first <= number][-1]
    place = number - FIRST[container]
    if number in LARGER:
        m, n, r, noise = LARGER[number]
        noise *= number % 2
        kind = f"{m}x{n}"
        M, options = mixtures(rng, m, n, r, noise), {"negative": "clip"} if noise else {}
    else:
        kind = KINDS[(place + 7 * list(FIRST).index(container)) % len(KINDS)]
        M, r, options = getattr(Kinds(rng, 40 if container in ("dense", "sparse") else 120), kind)()
    return Case(number, kind, container, M, r, options)


# Containers -------------------------------------------------------------------------------------------


def random_chunks(rng, size):
    """Cut 0 … size at random places."""
    cuts = np.sort(rng.choice(np.arange(1, size), min(int(rng.integers(0, 4)), size - 1), replace=False))
    return tuple(np.diff([0, *cuts, size]).tolist())


def sparse_form(rng, M):
    """Put a matrix into one of the sparse formats, now and then with explicit zeros or with duplicates."""
    if rng.random() < 0.5:
        M = np.where(rng.random(M.shape) < 0.6, M, np.zeros_like(M))
    if rng.random() < 0.3:
        M[:, rng.integers(0, M.shape[1])] = 0
    form = int(rng.integers(0, 6))
    if form >= 3:
        return (sparse.csr_array, sparse.csc_array, sparse.csc_matrix)[form - 3](M)
    rows, columns = np.nonzero(M)
    values = M[rows, columns]
    if form == 1:  # Explicit zeros.
        rows, columns = np.append(rows, [0, 0]), np.append(columns, [0, M.shape[1] - 1])
        values = np.append(values, np.zeros(2, M.dtype))
        return sparse.csr_array(sparse.coo_array((values, (rows, columns)), M.shape))
    if form == 2 and M.dtype.kind == "f":  # Every entry in two halves.
        rows, columns, values = np.tile(rows, 2), np.tile(columns, 2), np.tile(values / 2, 2)
    return sparse.coo_array((values, (rows, columns)), M.shape)


@contextmanager
def in_container(case, folder):
    """Put the matrix of a case into its container."""
    rng = np.random.default_rng([2, case.number])
    if case.container == "dense":
        yield case.matrix
        return
    M = np.array(case.matrix)
    path = Path(folder) / f"{case.number}"
    chunks = tuple(max(random_chunks(rng, size)) for size in M.shape)
    if case.container == "sparse":
        yield sparse_form(rng, M)
    elif case.container == "dask":
        array = da.from_array(M, chunks=tuple(random_chunks(rng, size) for size in M.shape))
        if case.number % 4 == 1:
            array = array.map_blocks((sparse.csr_matrix, sparse.csc_array)[case.number // 4 % 2])
        yield array
    elif case.container == "memmap":
        order = "CF"[case.number // 2 % 2]
        written = np.memmap(path, M.dtype, "w+", shape=M.shape, order=order)
        written[:] = M
        written.flush()
        yield np.memmap(path, M.dtype, "r", shape=M.shape, order=order)
    elif case.container == "zarr":
        stored = zarr.create_array(path, shape=M.shape, chunks=chunks, dtype=M.dtype)
        stored[:] = M
        yield stored
    else:
        with h5py.File(path, "w") as file:
            yield file.create_dataset("M", data=M, chunks=chunks)


# Calls ------------------------------------------------------------------------------------------------

CHEAP = (
    "nfindr",
    "ppi",
    "preconditioned_spa",
    "smoothed_spa",
    "smoothed_vca",
    "snpa",
    "spa",
    "vca",
    "xray",
    "fippi",
    "pseudo_point_spa",
    "randomized_spa",
    "robust_spa",
    "eeht",
)
SQUARE = ("admm", "dca", "fgnsr", "hottopixx", "merit", "tuned_admm")
METHODS = (*CHEAP, *SQUARE, "auto")
ITERATIVE = {*SQUARE, "preconditioned_spa", "eeht"}
# The most columns that methods with n by n unknowns are called with, but for screening.
WIDEST = dict.fromkeys(SQUARE, 120) | {"hottopixx": 50, "eeht": 40}

# Options that a method cannot do without.
NEEDED = {
    "admm": {"norm": "rows", "lam": 1e-3, "rho": (0.01, 0.01, 0.01)},
    "dca": {"norm": "rows", "lam": 0.01, "rho": 0.01, "beta": 0.01, "ratio_weight": 0.01},
}
# Calls with options, a few of which are made of each matrix.
CHEAP_VARIANTS = [
    ("spa", {"normalize": "l1"}),
    ("snpa", {"normalize": "l1"}),
    ("xray", {"rule": "dist"}),
    ("xray", {"rule": "greedy"}),
    ("xray", {"rule": "rand"}),
    ("preconditioned_spa", {"preconditioner": "spa"}),
    ("preconditioned_spa", {"preconditioner": "whitening"}),
    ("vca", {"snr": 5.0}),
    ("vca", {"snr": 80.0}),
    ("ppi", {"n_skewers": 50}),
    ("smoothed_spa", {"n_average": 2}),
    ("smoothed_spa", {"n_average": 3, "average": "median"}),
    ("smoothed_vca", {"n_average": 2}),
    ("smoothed_vca", {"n_average": 3, "average": "median"}),
    ("nfindr", {"init": "random"}),
    ("spa", {"refine": True}),
    ("spa", {"refine": True, "normalize": "l1"}),
    ("vca", {"refine": True}),
    ("spa", {"r": "auto"}),
    ("spa", {"speed": 1}),
]
# The same of methods and options that were added later, with random numbers of their own.
LATER_VARIANTS = [
    ("preconditioned_spa", {"preconditioner": "translation"}),
    ("preconditioned_spa", {"preconditioner": "lifting"}),
    ("robust_spa", {"n_candidates": 3, "normalize": "l1"}),
    ("randomized_spa", {"n_directions": 1}),
    ("pseudo_point_spa", {"radius": 0.05, "n_neighbors": 2}),
]
SQUARE_VARIANTS = [
    ("admm", {"pick": "rows"}),
    ("admm", {"pick": "spa", "norm": "l1", "p": 1}),
    ("admm", {"norm": "nuclear", "max_outer": 20}),
    ("dca", {"pick": "rows", "max_outer": 20}),
    ("dca", {"v_update": "projected", "norm": "l1", "max_outer": 20}),
    ("fgnsr", {"pick": "rows"}),
    ("fgnsr", {"pick": "spa", "max_iter": 200}),
    ("hottopixx", {"noise": 0.05}),
    ("hottopixx", {"pick": "spa"}),
    ("merit", {"pick": "sum"}),
    ("merit", {"lam": 0.1, "max_iter": 50}),
    ("tuned_admm", {"norm": "l1", "max_solves": 4}),
]
AUTO_VARIANTS = [("auto", {"normalize": "l1"}), ("auto", {"normalize": "sqrt"})]


@dataclass
class Call:
    """A call of a method, or of estimate_rank, nnls or rae."""

    name: str
    options: dict
    screening: bool = False

    @property
    def label(self):
        """The words that tell this call from the others of the same matrix."""
        words = [self.name, *(f"{key}={value}" for key, value in self.options.items())]
        return " ".join(words) + (" (screening)" if self.screening else "")


def calls(case):
    """List the calls that are made of a matrix: all cheap methods, and a few of the others by lot."""
    rng = np.random.default_rng([3, case.number])
    n = case.shape[1]
    square = rng.permutation(len(SQUARE))[:2].tolist()
    with_auto = rng.random() < 0.5
    made = [(name, {}) for name in CHEAP]
    made += [CHEAP_VARIANTS[k] for k in rng.permutation(len(CHEAP_VARIANTS))[:5].tolist()]
    variant = SQUARE_VARIANTS[int(rng.integers(len(SQUARE_VARIANTS)))]
    made += [(SQUARE[k], {}) for k in square]
    made += [variant] if rng.random() < 0.4 else []
    if with_auto or case.number in LARGER:
        made += [("auto", {})]
    elif rng.random() < 0.2:
        made += [AUTO_VARIANTS[int(rng.integers(2))]]
    later = np.random.default_rng([6, case.number]).permutation(len(LATER_VARIANTS))[:2].tolist()
    made += [LATER_VARIANTS[k] for k in later]
    extras = [("estimate_rank", {}), ("nnls", {}), ("rae", {})]
    made += [extras[k] for k in range(3) if case.number % 7 == 2 * k and case.number not in LARGER]
    listed = [Call(name, options) for name, options in made if n <= WIDEST.get(name, n)]
    if case.screened:
        listed += [Call(name, options, True) for name, options in made if name != "estimate_rank"]
    return listed


def spelled(name):
    """Spell a method as the library does."""
    return name if name in sepnmf.METHODS else name.replace("_", "-")


def select(case, call, data):
    """Call a method, with a seed if it takes one, and return its answer and its scores."""
    options = NEEDED.get(call.name, {}) | case.options | call.options
    r = options.pop("r", case.r)
    method = spelled(call.name)
    if "random_state" in sepnmf.METHODS[method].options:
        options["random_state"] = 0
    sel = sepnmf.select(data, r, method, **options)
    answer = {"anchors": sel.anchors.tolist(), "status": sel.status, "converged": bool(sel.converged)}
    return answer | {"n_outer": int(sel.n_outer)}, sel.scores, [*sel.scores[sel.anchors], sel.scores.sum()]


def estimate_rank(case, call, data):
    """Call estimate_rank; it has no numbers that are rounded."""
    options = {key: value for key, value in case.options.items() if key == "negative"}
    found = sepnmf.estimate_rank(data, **options, random_state=0)
    return {"low": int(found.low), "high": int(found.high), "evidence": found.evidence}, np.zeros(0), []


def nnls(case, call, data):
    """Fit random columns to those of the matrix, in one of three ways."""
    W = np.random.default_rng([4, case.number]).random((case.shape[0], 3))
    options = [{}, {"method": "hals"}, {"sum_to_one": True}][case.number % 3]
    H = sepnmf.nnls(W, data, **options)
    if hasattr(H, "compute"):
        H = H.compute()
    total = H.sum(axis=1, dtype=np.float64)
    return {"shape": list(H.shape), "dtype": str(H.dtype)}, H, [*total, H.max()]


def rae(case, call, data):
    """Measure how much random columns explain."""
    rng = np.random.default_rng([5, case.number])
    n = case.shape[1]
    value = sepnmf.metrics.rae(data, rng.permutation(n)[: min(3, n)].tolist())
    return {}, np.array([value]), [value]


OTHERS = {"estimate_rank": estimate_rank, "nnls": nnls, "rae": rae}


def outcome(case, call, data):
    """Make a call and return what is recorded of it."""
    values = (MAPPING if case.container == "memmap" and case.lazy else {}) | (
        SCREENING if call.screening else {}
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"), thresholds(values):
        warnings.simplefilter("ignore")
        try:
            answer, numbers, digest = OTHERS.get(call.name, select)(case, call, data)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {with_underscores(str(error))}"}
    bits = np.ascontiguousarray(numbers, np.float64).tobytes()
    scores = [float(f"{float(x):.6g}") for x in digest]
    return answer | {"bits": hashlib.sha256(bits).hexdigest(), "scores": scores}


def with_underscores(message):
    """Spell all methods in a message with underscores."""
    for name in METHODS:
        message = message.replace(name.replace("_", "-"), name)
    return message


def run(number):
    """Make all calls of a matrix; yield each with its outcome and its seconds."""
    this = case(number)
    with (
        dask.config.set(scheduler="synchronous"),
        tempfile.TemporaryDirectory() as folder,
        in_container(this, folder) as data,
    ):
        for call in calls(this):
            began = time.perf_counter()
            found = outcome(this, call, data)
            yield call, found, time.perf_counter() - began


def tested(group):
    """Return the numbers of the matrices that the test runs in one of its groups."""
    return range(0, COUNT, TESTED_EVERY)[group::GROUPS]


# Records ----------------------------------------------------------------------------------------------


def record(numbers):
    """Run some matrices; return outcomes by number and label, and seconds by method."""
    made, seconds = {}, Counter()
    for number in numbers:
        made[str(number)] = {}
        for call, found, taken in run(number):
            made[str(number)][call.label] = found
            seconds[call.name] += taken
    return made, seconds


# Anchors of these methods often have the same score to rounding, and then come in any order: the stored
# record has them sorted.
UNORDERED = ("nfindr", "tuned_admm")
# On these kinds all columns are alike, and these calls alone do not leave the choice to rounding.
ALIKE = ("identity", "ones", "permutations")
SURE = ("spa", "snpa", "xray", "estimate_rank", "nnls", "rae")


def left_to_rounding(kind, label, found):
    """Tell whether the answer of a call must be expected to hang on the last bits.

    Besides columns that are alike, this is so for averages of two columns, which are equally far from both.
    """
    if label.startswith("smoothed_vca n_average=2"):
        return "anchors" in found
    return kind in ALIKE and label.split()[0] not in SURE


def robust(found, label):
    """Reduce an outcome to what another machine must find too; what is as usual is not mentioned."""
    if label.split()[0] in UNORDERED and "anchors" in found:
        order = np.argsort(found["anchors"]).tolist()
        scores = [*(found["scores"][k] for k in order), found["scores"][-1]]
        found = found | {"anchors": sorted(found["anchors"]), "scores": scores}
    usual = {"status": "done", "converged": True, "n_outer": 0}
    left_out = {"bits", "converged"} | ({"n_outer"} if label.split()[0] in ITERATIVE else set())
    return {
        key: value
        for key, value in found.items()
        if key not in left_out and not (key in usual and usual[key] == value)
    }


def same_answer(found, expected):
    """Tell whether two outcomes agree in all but their scores."""
    return found | {"scores": None} == expected | {"scores": None}


def same_scores(found, expected):
    """Tell whether two outcomes have the same scores to four digits; scores that are not recorded agree."""
    if "scores" not in expected:
        return True
    largest = max(map(abs, expected["scores"]), default=0.0)
    return len(found["scores"]) == len(expected["scores"]) and np.allclose(
        found["scores"], expected["scores"], rtol=1e-4, atol=1e-9 * largest
    )


def differences(number, stored, found):
    """Compare the outcomes of a matrix with those stored; return a line for every difference."""
    expected = stored["answers"][str(number)]
    labels = [label for label in found if label not in stored["fragile"].get(str(number), [])]
    lines = [f"{number} {label}: no longer called" for label in expected if label not in found]
    for label in labels:
        if label not in expected:
            lines.append(f"{number} {label}: not recorded")
            continue
        was, now = expected[label], robust(found[label], label)
        if "error" in was:
            was = {"error": stored["errors"][was["error"]]}
        if not (same_answer(now, was) and same_scores(now, was)):
            lines.append(f"{number} {label}: was {json.dumps(was)}, is {json.dumps(now)}")
    return lines


def exact_difference(found, expected):
    """Say in a few words how two outcomes differ, or return None if they agree to the last bit."""
    if found == expected:
        return None
    if found is None or expected is None:
        return "is not in both records"
    if {**found, "bits": None} == {**expected, "bits": None}:
        return "scores differ in their last bits"
    keys = [key for key in {**expected, **found} if found.get(key) != expected.get(key) and key != "bits"]
    return "; ".join(f"{key} was {expected.get(key)}, is {found.get(key)}" for key in keys)


def agreeing(made, others):
    """Sort out what hangs on the last bits.

    Returns the robust answers, and the labels, by matrix, of the calls whose answers differ between records.
    An answer of which only the scores differ loses its scores.
    """
    answers, fragile = {}, {}
    for number, found in made.items():
        answers[number] = {}
        kind = case(int(number)).kind
        for label, one in found.items():
            kept = robust(one, label)
            again = [robust(other[number][label], label) for other in others]
            hanging = left_to_rounding(kind, label, one)
            if hanging or not all(same_answer(other, kept) for other in again):
                fragile.setdefault(number, []).append(label)
                continue
            if label.startswith("tuned_admm") or not all(same_scores(other, kept) for other in again):
                kept.pop("scores", None)  # The path that tuned_admm searches, and with it X, is sensitive.
            answers[number][label] = kept
    return answers, fragile


def stored_record():
    """Read the record that is kept with the tests."""
    return json.loads(STORED.read_text())


# Commands ---------------------------------------------------------------------------------------------


def say(line):
    """Write a line."""
    sys.stdout.write(f"{line}\n")


def containers(numbers):
    """Return the container of each matrix, by its number as a string."""
    return {str(number): case(number).container for number in numbers}


def table(title, counts):
    """Show counts by method and container."""
    say(f"{title}:")
    say(f"{'':20}" + "".join(f"{name:>9}" for name in FIRST))
    for method in sorted({method for method, _ in counts}):
        say(f"{method:20}" + "".join(f"{counts[method, name]:9}" for name in FIRST))


def counted(record, where):
    """Count the calls of a record by method and container."""
    return Counter((label.split()[0], where[number]) for number in record for label in record[number])


def keep_out(stored, answers, fragile):
    """Leave out what the stored record leaves out: calls that are fragile, and scores that are."""
    for number, found in answers.items():
        for label in stored["fragile"].get(number, []):
            if found.pop(label, None) is not None:
                fragile.setdefault(number, []).append(label)
        for label, one in stored["answers"].get(number, {}).items():
            if label in found and "anchors" in one and "scores" not in one:
                found[label].pop("scores", None)


def write(path, made, others, where):
    """Write the robust record, in lines that are short enough to be read."""
    answers, fragile = agreeing(made, others)
    if path.exists():
        keep_out(json.loads(path.read_text()), answers, fragile)
    fragile = {number: sorted(fragile[number]) for number in answers if number in fragile}
    errors = sorted({one["error"] for found in answers.values() for one in found.values() if "error" in one})
    places = {error: place for place, error in enumerate(errors)}
    blocks = []
    for number, found in answers.items():
        lines = []
        for label, one in found.items():
            short = {"error": places[one["error"]]} if "error" in one else one
            lines.append(f"{json.dumps(label)}:{json.dumps(short, separators=(',', ':'))}")
        blocks.append(f'"{number}":{{\n' + ",\n".join(lines) + "\n}")
    path.write_text(
        '{"errors":'
        + json.dumps(errors, indent=0)
        + ',\n"fragile":'
        + json.dumps(fragile, indent=0)
        + ',\n"answers":{\n'
        + ",\n".join(blocks)
        + "\n}}\n"
    )
    table("Recorded", counted(answers, where))
    table("Left out as fragile", counted(fragile, where))


def write_exact(path, made, others, where):
    """Write the exact record, without the calls that differ in any bit from other records."""
    dropped = {}
    for number, found in made.items():
        labels = [
            label for label in found if any(other[number].get(label) != found[label] for other in others)
        ]
        for label in labels:
            del found[label]
        dropped[number] = labels
    path.write_text(json.dumps(made, indent=0))
    table("Recorded", counted(made, where))
    table("Left out because they differ", counted(dropped, where))


def compare_exact(expected, made, where):
    """Show every difference from an exact record, and return how many there are."""
    same, different = Counter(), Counter()
    for number, found in made.items():
        for label in expected[number]:
            how = exact_difference(found.get(label), expected[number][label])
            (different if how else same)[label.split()[0], where[number]] += 1
            if how:
                say(f"{number} {where[number]} {label}: {how}")
    table("Same", same)
    table("Different", different)
    say(f"{same.total()} same, {different.total()} different")
    return different.total()


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="compare all matrices with the stored record")
    mode.add_argument("--write", action="store_true", help="write the stored record")
    mode.add_argument("--exact", type=Path, metavar="FILE", help="compare with an exact record")
    mode.add_argument("--write-exact", type=Path, metavar="FILE", help="write an exact record")
    parser.add_argument("--agreeing", type=Path, nargs="*", default=[], metavar="FILE", help="exact records")
    parser.add_argument(
        "--only", type=int, nargs="*", metavar="NUMBER", help="matrices to run, by default all"
    )
    parser.add_argument("--times", action="store_true", help="say how long each method took")
    arguments = parser.parse_args()
    numbers = arguments.only or range(COUNT)
    where = containers(numbers)
    others = [json.loads(path.read_text()) for path in arguments.agreeing]
    began = time.perf_counter()
    made, seconds = record(numbers)
    failed = 0
    if arguments.write:
        write(STORED, made, others, where)
    elif arguments.write_exact:
        write_exact(arguments.write_exact, made, others, where)
    elif arguments.exact:
        failed = compare_exact(json.loads(arguments.exact.read_text()), made, where)
    else:
        stored = stored_record()
        lines = [line for number in numbers for line in differences(number, stored, made[str(number)])]
        failed = len(lines)
        say("\n".join([*lines, f"{failed} differences"]))
    if arguments.times:
        for name, taken in seconds.most_common():
            say(f"{name:20}{taken:8.1f} s")
    say(f"{time.perf_counter() - began:.0f} seconds")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
