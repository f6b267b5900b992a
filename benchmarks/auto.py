"""How good `sepnmf.select(M, r)` is with no parameter, next to every other method with its defaults.

    python benchmarks/auto.py                  # everything, then docs/auto.md and its figures (hours)
    python benchmarks/auto.py type1 scenes     # some items
    python benchmarks/auto.py --page           # docs/auto.md and its figures from the figures measured last
    python benchmarks/auto.py type1 --method xray --seeds 5 --to trial  # another method in its place

Real data come from the folder named by SEPNMF_DATA; scikit-image computes the gestures' HOG features. Each
item writes benchmarks/auto_results/ITEM.json. What the other methods do is measured once and kept in
ITEM_baselines.json next to it: delete that to measure again. Exits with 1 when something that must hold
does not. The items are type1, type2, scenes, rae, topics, gestures, rank and million.
"""

import argparse
import inspect
import json
import os
import platform
import re
import select
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import sepnmf
from sepnmf._overview import ready_methods
from sepnmf._parallel import available_cores
from sepnmf.datasets import _loaders as loaders
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.datasets._loaders import Dataset
from sepnmf.experiments import svm
from sepnmf.experiments.gesture_features import hog
from sepnmf.experiments.recovery import NEAREST, nearest_the_mean
from sepnmf.metrics import rae, sam
from sepnmf.text import topic_words

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "benchmarks/auto_results"

R = 10  # anchors in the paper's synthetic data
TYPE1 = (0.0, 0.05, 0.1, 0.1833, 0.25, 0.30, 0.35, 0.38)
BEYOND = (0.41, 0.43, 0.46, 0.5)  # about 0.43 the anchors enter the cone of the other columns
TYPE1_WANTED = {0.30: 0.98, 0.35: 0.9, 0.38: 0.9}  # 1.0 elsewhere; 0.35 has no bar of its own, but 0.38 has
TYPE2 = tuple(np.logspace(-2, 0, 20).tolist())
# Hottopixx takes 3 to 5 s a solve, so it gets few seeds at the levels where Type 2 is easy or hopeless.
FEW_SEEDS, MANY_FROM, MANY_TO = 5, 0.1, 0.62

LIMIT, AUTO_LIMIT = 20, 60  # seconds another method, and auto, has on a real data set
MEMORY = 4 * 2**30  # bytes of address space it has there
SCENES = {"samson": 2.5, "jasper_ridge": 5.0}  # the mean SAM wanted
SIZES = {  # the number of anchors on each data set
    "samson": 3,  # its three materials
    "jasper_ridge": 4,  # its four materials
    "amino_acids": 3,  # its three substances
    "swimmer": 16,  # four limbs in four positions
    "swimmer (r = rank)": 13,  # its rank: more is refused by the greedy methods
    "cbcl_faces": 20,
    "bbc_news counts": 10,  # as many as there are topics below
    "bbc_news co-occurrence": 10,
    "gestures_gray HOG": 20,
    "gestures_binary HOG": 78,  # a tenth of the features, as below
}
TOPICS, TOP = 10, 10
CLASSES = ("business", "entertainment", "politics", "sport", "tech")
SPLITS, SHARE, DRAWS = 50, 0.1, 5
RIVALS = ("spa", "fgnsr", "merit")
SHAPES, RANKS, RANK_NOISE, RANK_SEEDS = (
    ((50, 100), (100, 300), (200, 1000)),
    range(2, 21),
    (0, 0.01, 0.03, 0.05),
    1,
)
MILLION, MILLION_ROWS, MILLION_SEEDS = 10**6, 100, 3

Check = tuple[str, str, str, bool]  # what, measured, wanted, whether it holds


# Running a method --------------------------------------------------------------------------------------


def others() -> list[str]:
    """Every other method in the registry that runs with its defaults."""
    return [name for name in ready_methods() if name != "auto"]


def choose(M: Any, r: int, method: str, **options: Any) -> Any:
    """One selection; random methods get the seed 0."""
    if method == "auto":
        return sepnmf.select(M, r, **options)
    if "random_state" in inspect.signature(sepnmf.METHODS[method]).parameters:
        options["random_state"] = 0
    return sepnmf.select(M, r, method=method, **options)


def success(make: Callable[..., Any], level: float, seeds: int, method: str) -> dict[str, Any]:
    """Share of the seeds on which all anchors are found, and seconds per selection."""
    hits, unidentifiable, seconds = 0, 0, 0.0
    for seed in range(seeds):
        M, true = make(level, random_state=seed)
        began = time.perf_counter()
        if method == NEAREST:
            anchors, status = nearest_the_mean(M, R), ""
        else:
            selection = choose(M, R, method, negative="allow")
            anchors, status = selection.anchors, selection.status
        seconds += time.perf_counter() - began
        hits += set(anchors.tolist()) == set(true.tolist())
        unidentifiable += status == "not identifiable"
    return {
        "rate": hits / seeds,
        "not identifiable": unidentifiable / seeds,
        "seconds": seconds / seeds,
        "seeds": seeds,
    }


class Kept:
    """Figures of the other methods, measured once: `kept(row, column, measure)`."""

    def __init__(self, item: str, root: Path):
        file = f"{item}_baselines.json"
        self.path = root / FOLDER / file
        self.cells: dict[str, dict[str, Any]] = read_json(self.path) or read_json(ROOT / FOLDER / file) or {}

    def __call__(self, row: str, column: str, measure: Callable[[], Any]) -> Any:
        cells = self.cells.setdefault(row, {})
        if column not in cells:
            cells[column] = measure()
            write_json(self.path, self.cells)
            print(f"  {row}, {column}: {cells[column]}", flush=True)
        return cells[column]


def in_a_process(name: str, r: int, method: str, limit: float, memory: int = 0) -> dict[str, Any]:
    """One selection in a process of its own: {anchors, seconds, megabytes, …} or {failure}.

    The limit holds for the selection alone, after the data are there and the kernels are compiled.
    """
    command = [sys.executable, __file__, "--child", json.dumps([name, r, method, memory])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        answer = child.stdout.readline()
        if answer.strip() == "ready":
            if not select.select([child.stdout], [], [], limit)[0]:
                child.kill()
                return {"failure": f"over {limit:g} s"}
            answer = child.stdout.read()
    return json.loads(answer) if answer else {"failure": "killed"}


def child(name: str, r: int, method: str, memory: int) -> None:
    """The other end of `in_a_process`."""
    try:
        choose(make_dirichlet(0.01, m=20, n=60, r=3)[0], 3, method, negative="allow")  # compiles
        data = load(name)
        M = data.M
        if sparse.issparse(M) and method in sepnmf.registry.DENSE_ONLY:
            M = M.toarray()
        if memory:
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        print("ready", flush=True)
        options = {"negative": "allow"} if name.startswith("million") else {}
        began = time.perf_counter()
        selection = choose(M, r, method, **options)
        answer = {
            "anchors": selection.anchors.tolist(),
            "seconds": time.perf_counter() - began,
            "megabytes": peak_megabytes(),
            "status": selection.status,
            "history": plain(selection.history),
        }
        if data.anchors is not None:
            answer["success"] = set(answer["anchors"]) == set(data.anchors.tolist())
    except MemoryError:
        answer = {"failure": f"over {memory / 2**30:g} GB"}
    except Exception as error:  # any refusal is a result of the comparison, with its reason
        answer = {"failure": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)


def peak_megabytes() -> float:
    """Largest resident memory of this process; ru_maxrss would count what the parent had at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s*(\d+)", status.read_text())[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


# Data --------------------------------------------------------------------------------------------------


@cache
def load(name: str) -> Dataset:
    """A data set as every method gets it; columns of zeros, which some methods refuse, are left out."""
    if name.startswith("million"):
        return million_columns(int(name.split()[1]))
    if name.startswith("gestures"):
        return Dataset(M=without_zeros(hog_features(name.split(maxsplit=1)[0])[0]))
    folder = name.split(maxsplit=1)[0]
    data = getattr(sepnmf.datasets, f"load_{folder}")()
    if name == "bbc_news co-occurrence":
        return Dataset(M=co_occurrence(data.M))
    if folder == "amino_acids":
        return Dataset(M=np.maximum(data.M, 0), anchors=data.anchors)
    if folder == "swimmer":
        return Dataset(M=without_zeros(data.M))
    return data


def without_zeros(M: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(M[:, M.any(axis=0)])


@cache
def hog_features(folder: str) -> tuple[np.ndarray, np.ndarray]:
    """Images × HOG features, and the labels."""
    data = getattr(sepnmf.datasets, f"load_{folder}")()
    return np.array([hog(image) for image in data.images]), data.labels


def pair_rates(counts: Any) -> Any:
    """Each article's counts over its number of pairs of words, so that articles weigh the same."""
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    return sparse.csc_array(sparse.diags_array(1 / np.maximum(lengths * (lengths - 1), 1)) @ counts)


def co_occurrence(counts: Any, least: int = 20) -> np.ndarray:
    """Co-occurrence of the words in at least 20 articles, each column over the root of its sum."""
    X = sparse.csc_array(counts)[:, np.flatnonzero(np.diff(sparse.csc_array(counts).indptr) >= least)]
    A = pair_rates(X)
    Q = (X.T @ A).toarray()
    Q[np.diag_indices_from(Q)] -= np.asarray(A.sum(axis=0)).ravel()  # a word does not occur with itself
    Q = np.maximum(Q, 0)
    return Q / np.sqrt(Q.sum(axis=0))


def million_columns(seed: int) -> Dataset:
    """Type 2 with a million columns, made in pieces: `make_dirichlet` would hold it several times."""
    rng = np.random.default_rng(seed)
    W = rng.random((MILLION_ROWS, R))
    W /= W.sum(axis=0)
    anchors = np.sort(rng.choice(MILLION, R, replace=False))
    M = np.empty((MILLION_ROWS, MILLION))
    pieces = [slice(j, min(j + 10**5, MILLION)) for j in range(0, MILLION, 10**5)]
    for piece in pieces:
        M[:, piece] = W @ rng.dirichlet(np.ones(R), size=piece.stop - piece.start).T
    M[:, anchors] = W
    level = 0.01 * np.sqrt(np.mean(M[:, pieces[0]] ** 2))
    for piece in pieces:
        M[:, piece] += level * rng.standard_normal((MILLION_ROWS, piece.stop - piece.start))
    return Dataset(M=M, anchors=anchors)


# The items: each measures and returns what goes into its JSON file --------------------------------------


def synthetic(item: str, make: Callable[..., Any], levels: Iterable[float], args: Any) -> dict[str, Any]:
    kept, auto, rows = Kept(item, args.to), {}, {}
    names = [*others(), *([NEAREST] if item == "type1" else [])]
    for level in levels:
        key = f"{level:.4f}"
        auto[key] = success(make, level, args.seeds, args.method)
        print(f"  {args.method}, ε = {key}: {auto[key]}", flush=True)
    for level in levels:
        key = f"{level:.4f}"
        for name in names:
            few = name == "hottopixx" and item == "type2" and not MANY_FROM <= level <= MANY_TO
            seeds = FEW_SEEDS if few else 50
            cell = kept(name, key, lambda n=name, e=level, s=seeds: success(make, e, s, n))
            rows.setdefault(name, {})[key] = cell
    return {"auto": auto, "others": rows, "seeds": args.seeds}


def type1(args: Any) -> dict[str, Any]:
    return synthetic("type1", make_midpoint, TYPE1 + BEYOND, args)


def type2(args: Any) -> dict[str, Any]:
    return synthetic("type2", make_dirichlet, TYPE2, args)


def scenes(args: Any) -> dict[str, Any]:
    result = {}
    for name in SCENES:
        answer = in_a_process(name, SIZES[name], args.method, 10 * AUTO_LIMIT)
        if "anchors" in answer:
            data = load(name)
            answer["sam"] = sam(data.M[:, answer["anchors"]], data.W)
        result[name] = answer
        print(f"  {name}: {without(answer, 'history')}", flush=True)
    return {"scenes": result}


def explained(name: str, r: int, method: str) -> dict[str, Any]:
    """RAE of one method on one data set, and SAM where there are reference spectra."""
    answer = without(
        in_a_process(name, r, method, AUTO_LIMIT if method == "auto" else LIMIT, MEMORY), "history"
    )
    if "anchors" in answer:
        data = load(name)
        answer["rae"] = rae(data.M, answer["anchors"])
        if data.W is not None:
            answer["sam"] = sam(data.M[:, answer["anchors"]], data.W)
    return answer


def relative_errors(args: Any) -> dict[str, Any]:
    kept, result = Kept("rae", args.to), {}
    for name, r in SIZES.items():
        auto = explained(name, r, args.method)
        print(f"  {name}, {args.method}: {without(auto, 'anchors')}", flush=True)
        rows = {q: kept(name, q, lambda n=name, k=r, q=q: explained(n, k, q)) for q in others()}
        result[name] = {"r": r, "shape": load(name).M.shape, "auto": auto, "others": rows}
        load.cache_clear()
    return {"sets": result}


def topics(args: Any) -> dict[str, Any]:
    data = load("bbc_news")
    words = np.array(data.column_names)
    classes = np.array([name.split(".")[0] for name in data.row_names])
    together = sepnmf.cooccurrence(data.M)
    selection = choose(together, TOPICS, args.method)
    weights = topic_words(together, selection.anchors)
    rows = []
    for k, anchor in enumerate(selection.anchors):
        top = np.argsort(-weights[k], kind="stable")[:TOP]
        use = [float(data.M[classes == c][:, top].sum() / np.sum(classes == c)) for c in CLASSES]
        best = int(np.argmax(use))
        row = {"anchor": str(words[anchor]), "words": words[top].tolist()}
        rows.append(row | {"class": CLASSES[best], "share": use[best] / sum(use)})
        print(f"  {row['anchor']:15s} {CLASSES[best]:14s} {' '.join(row['words'])}", flush=True)
    return {"topics": rows, "seconds": selection.seconds, "status": selection.status}


def accuracy(F: np.ndarray, y: np.ndarray, columns: np.ndarray) -> dict[str, float]:
    """Mean accuracy of a linear SVM (one against one) over the splits."""
    scores = svm.accuracies(F, y, columns, svm.all_splits(y, SPLITS))
    return {"mean": float(np.mean(scores)), "std": float(np.std(scores))}


def gesture_features(args: Any) -> dict[str, Any]:
    F, y = hog_features("gestures_binary")
    F = without_zeros(F)
    n = F.shape[1]
    r = round(SHARE * n)

    def by(method: str) -> dict[str, float]:
        selection = choose(F, r, method)
        return accuracy(F, y, selection.anchors) | {"seconds": selection.seconds}

    def at_random() -> dict[str, float]:
        rng = np.random.default_rng(0)
        rows = [accuracy(F, y, rng.choice(n, r, replace=False)) for _ in range(DRAWS)]
        return {key: float(np.mean([row[key] for row in rows])) for key in ("mean", "std")} | {"seconds": 0.0}

    auto = by(args.method)
    print(f"  {args.method}: {auto}", flush=True)
    kept = Kept("gestures", args.to)
    rows = {name: kept("accuracy", name, lambda q=name: by(q)) for name in RIVALS}
    rows["random"] = kept("accuracy", "random", at_random)
    rows["all features"] = kept("accuracy", "all", lambda: accuracy(F, y, np.arange(n)) | {"seconds": 0.0})
    return {"images": len(y), "features": n, "r": r, "auto": auto, "others": rows}


def rank(_args: Any) -> dict[str, Any]:
    cells, real = [], {}
    for m, n in SHAPES:
        for noise in RANK_NOISE:
            answers = []
            for r in RANKS:
                for seed in range(RANK_SEEDS):
                    M, _ = make_dirichlet(noise, m=m, n=n, r=r, random_state=seed)
                    found = sepnmf.estimate_rank(M, negative="allow")
                    answers.append([r, found.low, found.high])
            cells.append({"m": m, "n": n, "noise": noise, "answers": answers})
            print(f"  {m} × {n}, ε = {noise}: right on {right(cells[-1:]):.3f}", flush=True)
    for name in SCENES:
        began = time.perf_counter()
        found = sepnmf.estimate_rank(load(name).M)
        answer = {"low": found.low, "high": found.high, "evidence": found.evidence}
        real[name] = answer | {"seconds": time.perf_counter() - began, "curve": plain(found.curve)}
        print(f"  {name}: {answer}", flush=True)
    return {"synthetic": cells, "scenes": real, "seeds": RANK_SEEDS}


def right(cells: list[dict[str, Any]]) -> float:
    """Share of the instances where the estimate is one number, and the right one."""
    return float(np.mean([low == true == high for cell in cells for true, low, high in cell["answers"]]))


def million(args: Any) -> dict[str, Any]:
    runs = []
    for seed in range(MILLION_SEEDS):
        runs.append(without(in_a_process(f"million {seed}", R, args.method, 30 * AUTO_LIMIT), "history"))
        print(f"  seed {seed}: {without(runs[-1], 'anchors')}", flush=True)
    return {"runs": runs}


ITEMS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "type1": type1,
    "type2": type2,
    "scenes": scenes,
    "rae": relative_errors,
    "topics": topics,
    "gestures": gesture_features,
    "rank": rank,
    "million": million,
}


# What must hold ----------------------------------------------------------------------------------------


def at_least(what: str, value: float, bound: float) -> Check:
    return what, f"{value:.3g}", f"≥ {bound:g}", value >= bound - 1e-9


def at_most(what: str, value: float, bound: float, unit: str = "") -> Check:
    return what, f"{value:.3g}{unit}", f"≤ {bound:g}{unit}", value <= bound


def checks_type1(result: dict[str, Any]) -> list[Check]:
    return [
        at_least(
            f"Type 1, success at ε = {e:g}", result["auto"][f"{e:.4f}"]["rate"], TYPE1_WANTED.get(e, 1.0)
        )
        for e in TYPE1
    ]


def checks_type2(result: dict[str, Any]) -> list[Check]:
    keys = list(result["auto"])
    auto = np.array([result["auto"][key]["rate"] for key in keys])
    rates = {name: np.array([row[key]["rate"] for key in keys]) for name, row in result["others"].items()}
    gaps = np.max(list(rates.values()), axis=0) - auto
    worst = int(np.argmax(gaps))
    gap = round(float(gaps[worst]), 6)
    best = max(rates, key=lambda name: rates[name].mean())
    mean, bound = float(auto.mean()), float(rates[best].mean())
    return [
        at_most(f"Type 2, furthest below the best other method (at ε = {keys[worst]})", gap, 0.04),
        ("Type 2, mean success", f"{mean:.4f}", f"> {bound:.4f} ({best})", mean > bound),
    ]


def checks_scenes(result: dict[str, Any]) -> list[Check]:
    rows = []
    for name, answer in result["scenes"].items():
        if "failure" in answer:
            rows.append((f"{name}, whole scene", answer["failure"], "an answer", False))
            continue
        rows += [
            at_most(f"{name}, mean SAM", answer["sam"], SCENES[name], "°"),
            at_most(f"{name}, time", answer["seconds"], 60, " s"),
            at_most(f"{name}, peak memory", answer["megabytes"] / 1000, 2, " GB"),
        ]
    return rows


def checks_rae(result: dict[str, Any]) -> list[Check]:
    rows = []
    for name, entry in result["sets"].items():
        name_best, best = best_other(entry["others"])
        value = entry["auto"].get("rae", -1.0)
        shown = f"{value:.4f}" if "rae" in entry["auto"] else entry["auto"]["failure"]
        holds = round(value, 4) >= round(best, 4)
        rows.append((f"RAE, {name}, r = {entry['r']}", shown, f"≥ {best:.4f} ({name_best})", holds))
    return rows


def best_other(rows: dict[str, Any]) -> tuple[str, float]:
    values = {"none": 0.0} | {name: row["rae"] for name, row in rows.items() if "rae" in row}
    best = max(values, key=lambda name: values[name])
    return best, values[best]


def checks_topics(result: dict[str, Any]) -> list[Check]:
    covered = {row["class"] for row in result["topics"]}
    what = "bbc_news, classes that are the main one of a topic's top ten words"
    return [(what, f"{len(covered)}", "5", len(covered) == len(CLASSES))]


def checks_gestures(result: dict[str, Any]) -> list[Check]:
    auto, rivals = result["auto"]["mean"], without(result["others"], "all features")
    best = max(rivals, key=lambda name: rivals[name]["mean"])
    bound = rivals[best]["mean"]
    return [
        ("gestures_binary, mean accuracy", f"{auto:.4f}", f"≥ {bound:.4f} ({best})", auto >= bound - 1e-12)
    ]


def checks_rank(result: dict[str, Any]) -> list[Check]:
    rows = [at_least("Number of anchors, Type 2: right", right(result["synthetic"]), 0.9)]
    low, high = (result["scenes"]["samson"][key] for key in ("low", "high"))
    return [
        *rows,
        ("Number of anchors, samson", between(low, high), "3, or a range with 3 in it", low <= 3 <= high),
    ]


def checks_million(result: dict[str, Any]) -> list[Check]:
    done = [run for run in result["runs"] if "seconds" in run]
    rate = sum(run["success"] for run in done) / len(result["runs"])
    rows = [at_least("A million columns, success", rate, 1.0)]
    if done:
        rows += [
            at_most("A million columns, longest time", max(run["seconds"] for run in done), 180, " s"),
            at_most("A million columns, peak memory", max(run["megabytes"] for run in done) / 1000, 4, " GB"),
        ]
    return rows


CHECKS: dict[str, Callable[[dict[str, Any]], list[Check]]] = {
    "type1": checks_type1,
    "type2": checks_type2,
    "scenes": checks_scenes,
    "rae": checks_rae,
    "topics": checks_topics,
    "gestures": checks_gestures,
    "rank": checks_rank,
    "million": checks_million,
}


# The page ----------------------------------------------------------------------------------------------


def table(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    names = [str(name) for name in head]
    lines = [names, ["---"] * len(names), *([str(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(value.replace("|", "\\|") for value in line) + " |" for line in lines)


def rate_table(result: dict[str, Any], keys: list[str], method: str, mean: bool = False) -> str:
    def row(name: str, cells: dict[str, Any]) -> list[str]:
        values = [cells[key]["rate"] for key in keys]
        return [name, *(f"{v:.2f}" for v in values), *([f"{np.mean(values):.3f}"] if mean else [])]

    head = ["ε =", *(f"{float(key):.3g}" for key in keys), *(["mean"] if mean else [])]
    ranked = sorted(result["others"].items(), key=lambda item: -sum(item[1][key]["rate"] for key in keys))
    return table(head, [row(f"**{method}**", result["auto"]), *(row(*item) for item in ranked)])


def page_type1(result: dict[str, Any], method: str) -> str:
    inside, beyond = ([f"{level:.4f}" for level in levels] for levels in (TYPE1, BEYOND))
    told = [
        [f"{float(key):.3g}", f"{result['auto'][key]['not identifiable']:.2f}"] for key in inside + beyond
    ]
    seconds = np.mean([result["auto"][key]["seconds"] for key in inside])
    return f"""## Type 1: midpoints pushed outwards

![Success against noise on both types](auto/success.svg)

Ten anchors and their 45 midpoints, 50 × 55 (`make_midpoint`), seeds 0 to {result["seeds"] - 1},
`negative="allow"`. Share of the instances on which all ten anchors are found; {seconds:.2g} s a selection.

{rate_table(result, inside, method)}

Near ε = 0.43 the anchors enter the cone of the other columns, and nothing in the data marks them any more.
"{NEAREST.capitalize()}" takes the ten columns closest to the average: the noise pushes only the midpoints
outwards, so it succeeds there without looking for extreme columns at all. A success beyond 0.43 is worth no
more than that row.

{rate_table(result, beyond, method)}

How often `sel.status` is "not identifiable":

{table(["ε", "share"], told)}
"""


def page_type2(result: dict[str, Any], method: str) -> str:
    keys = list(result["auto"])
    few = sorted(
        {float(k) for k in keys if result["others"].get("hottopixx", {}).get(k, {}).get("seeds") == FEW_SEEDS}
    )
    note = (
        f"\nhottopixx, which is slow, has {FEW_SEEDS} seeds below {MANY_FROM} and above {MANY_TO}.\n"
        if few
        else ""
    )
    seconds = np.mean([cell["seconds"] for cell in result["auto"].values()])
    return f"""## Type 2: Dirichlet mixtures with Gaussian noise

Ten anchors and 90 mixtures, 50 × 100 (`make_dirichlet`), the paper's 20 levels, seeds 0 to
{result["seeds"] - 1}, `negative="allow"`; {seconds:.2g} s a selection. The other methods run with their
defaults; those with random numbers get `random_state=0`.

{rate_table(result, keys, method, mean=True)}
{note}"""


def page_scenes(result: dict[str, Any], method: str, results: dict[str, Any]) -> str:
    parts = [
        "## Whole scenes\n",
        "Every pixel as the loader gives it, no parameter. SAM is the mean angle to the reference spectra.",
    ]
    for name, answer in result["scenes"].items():
        parts.append(f"\n### {name}, r = {SIZES[name]}\n")
        rows = [[f"**{method}**", *scene_row(answer)]]
        if "rae" in results:
            rest = results["rae"]["sets"][name]["others"]
            ranked = sorted(rest.items(), key=lambda item: item[1].get("sam", np.inf))
            rows += [[other, *scene_row(row)] for other, row in ranked]
        parts.append(table(["method", "mean SAM", "seconds", "peak memory"], rows))
        if "anchors" in answer:
            parts.append(f"\n![Abundance maps of {name}, found and reference](auto/abundances_{name}.png)")
        tried = history_table(answer.get("history", {}))
        if tried:
            parts.append(f"\nWhat was tried (`sel.history`):\n\n{tried}")
    return "\n".join(parts) + "\n"


def scene_row(answer: dict[str, Any]) -> list[str]:
    if "failure" in answer:
        return [short(answer["failure"]), "", ""]
    return [f"{answer['sam']:.2f}°", f"{answer['seconds']:.1f}", f"{answer['megabytes']:.0f} MB"]


def history_table(history: dict[str, list[Any]]) -> str:
    """The history as a table, if it is one: arrays of one length, not a long one."""
    lengths = {len(values) for values in history.values()}
    if len(lengths) != 1 or not 0 < next(iter(lengths)) <= 30:
        return ""

    def cell(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    return table(history, ([cell(v) for v in row] for row in zip(*history.values(), strict=True)))


def page_rae(result: dict[str, Any], method: str) -> str:
    sets = result["sets"]
    names = list(next(iter(sets.values()))["others"])
    reasons: dict[str, list[str]] = {}

    def cell(name: str, other: str, answer: dict[str, Any]) -> str:
        if "rae" in answer:
            return f"{answer['rae']:.4f}"
        reasons.setdefault(short(answer["failure"]), []).append(f"{other} on {name}")
        return "–"

    rows = []
    for name, entry in sets.items():
        m, n = entry["shape"]
        values = [cell(name, q, entry["others"][q]) for q in names]
        rows.append([name, f"{m} × {n}", entry["r"], f"**{cell(name, method, entry['auto'])}**", *values])
    failures = "\n".join(f"- {why}: {', '.join(who)}" for why, who in sorted(reasons.items()))
    return f"""## How much of M the anchors explain

RAE (`sepnmf.metrics.rae`; 1 is everything) with r chosen before any run: materials of a scene, substances,
positions of the limbs, a tenth of the features, otherwise a round number. All methods get the same matrix,
without columns of zeros, and {LIMIT} s ({AUTO_LIMIT} s for auto) and {MEMORY / 2**30:g} GB each; they are
compared to four decimals.
"bbc_news co-occurrence" is that of the words in at least 20 articles; HOG features are columns.

{table(["data", "shape", "r", method, *names], rows)}

No answer (–):

{failures or "- none"}
"""


def page_topics(result: dict[str, Any], method: str) -> str:
    rows = [
        [row["anchor"], " ".join(row["words"]), row["class"], f"{row['share']:.2f}"]
        for row in result["topics"]
    ]
    return f"""## Topics of news articles

`sepnmf.select(counts, {TOPICS})` on the sparse counts of 9635 words in 2225 BBC articles chose these anchor
words in {result["seconds"]:.1f} s. Words are stemmed, as in the file. The top ten words of a topic are
those with the largest weights: NNLS of each word's co-occurrences on those of the anchor words, times how
common the word is. The class is the one whose articles use these ten words most, with its share of their
use, an even share being 0.20; the method never saw the classes. Whether a reader would
agree is for the reader to say: the list is there to be read.

{table(["anchor word", "top ten words", "class", "share"], rows)}
"""


def page_gestures(result: dict[str, Any], method: str) -> str:
    def row(name: str, cells: dict[str, float]) -> list[str]:
        return [name, f"{cells['mean']:.4f}", f"{cells['std']:.4f}", f"{cells['seconds']:.1f}"]

    ranked = sorted(result["others"].items(), key=lambda item: -item[1]["mean"])
    rows = [row(f"**{method}**", result["auto"]), *(row(*item) for item in ranked)]
    return f"""## Features of gestures

HOG features of the {result["images"]} distinct pictures of gestures_binary, {result["r"]} of
{result["features"]} features chosen without labels on all pictures, then a linear SVM (one against one) on
{SPLITS} stratified splits, 80 % to train (seed 0, the same splits for every row). "random" is the mean of
{DRAWS} draws.

{table(["features", "mean accuracy", "standard deviation", "seconds to select"], rows)}
"""


def page_rank(result: dict[str, Any], _method: str) -> str:
    rows = []
    for cell in result["synthetic"]:
        answers = cell["answers"]
        open_ended = np.mean([low != high for _, low, high in answers])
        within = np.mean([low <= r <= high for r, low, high in answers])
        shape = f"{cell['m']} × {cell['n']}"
        rows.append([shape, cell["noise"], f"{right([cell]):.3f}", f"{within:.3f}", f"{open_ended:.3f}"])
    real = [
        [name, SIZES[name], between(a["low"], a["high"]), f"{a['seconds']:.1f}", a["evidence"]]
        for name, a in result["scenes"].items()
    ]
    count = len(RANKS) * result["seeds"]
    return f"""## The number of anchors

`sepnmf.estimate_rank` on Type 2 data, r from {RANKS[0]} to {RANKS[-1]}, {result["seeds"]} seeds each: {count}
instances a row, `negative="allow"`. "Right" means that it gave the true number and no other, "in the range"
that the true number is among those it gave, "several numbers" that it could not tell.

{table(["shape", "ε", "right", "in the range", "several numbers"], rows)}

{table(["scene", "reference", "estimate", "seconds", "evidence"], real)}

![What the estimate for Samson rests on](auto/rank_samson.svg)
"""


def between(low: int, high: int) -> str:
    return str(low) if low == high else f"between {low} and {high}"


def page_million(result: dict[str, Any], _method: str) -> str:
    rows = [
        [seed, run["failure"], "", ""]
        if "failure" in run
        else [
            seed,
            "yes" if run["success"] else "no",
            f"{run['seconds']:.1f}",
            f"{run['megabytes'] / 1000:.2f} GB",
        ]
        for seed, run in enumerate(result["runs"])
    ]
    return f"""## A million columns

{MILLION_ROWS} rows × 10⁶ columns, ten anchors, mixtures as in Type 2, noise of 1 % of the norm. Peak memory
is that of the whole process, 0.8 GB of it the data.

{table(["seed", "all ten found", "seconds", "peak memory"], rows)}
"""


PAGES: dict[str, Callable[..., str]] = {
    "type1": page_type1,
    "type2": page_type2,
    "scenes": page_scenes,
    "rae": page_rae,
    "topics": page_topics,
    "gestures": page_gestures,
    "rank": page_rank,
    "million": page_million,
}


def write_page(docs: Path, results: dict[str, Any], method: str) -> list[Check]:
    """Write docs/auto.md and its figures; return what was checked."""
    checks = [check for item in results for check in CHECKS[item](results[item])]
    rows = [[*check[:3], "holds" if check[3] else "MISSED"] for check in checks]
    missing = [item for item in ITEMS if item not in results]
    machines: dict[str, list[str]] = {}
    for item, result in results.items():
        machines.setdefault(result["machine"], []).append(item)
    parts = [
        f'# What `method="{method}"` does without any parameter\n',
        "Written by `python benchmarks/auto.py`, which measures everything on this page, with the same",
        "defaults throughout and no ground truth shown to the method (`python benchmarks/auto.py --page`",
        "writes it again from the last figures). Real data are those of the loaders in `sepnmf.datasets`, in",
        "the folder named by SEPNMF_DATA.\n",
        *(f"Measured on {machine}: {', '.join(items)}.\n" for machine, items in machines.items()),
        *([f"Not measured yet: {', '.join(missing)}.\n"] if missing else []),
        "## What must hold\n",
        table(["what", "measured", "wanted", ""], rows) + "\n",
    ]
    for item, result in results.items():
        extra = (results,) if item == "scenes" else ()
        parts.append(PAGES[item](result, method, *extra))
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "auto.md").write_text("\n".join(parts))
    draw(docs / "auto", results, method)
    return checks


# Figures -----------------------------------------------------------------------------------------------


def draw(folder: Path, results: dict[str, Any], method: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "sepnmf"  # the same figure gives the same file
    folder.mkdir(parents=True, exist_ok=True)
    if "type1" in results or "type2" in results:
        draw_success(folder / "success.svg", results, method)
    if "rank" in results:
        draw_rank(folder / "rank_samson.svg", results["rank"]["scenes"]["samson"])
    for name, answer in results.get("scenes", {}).get("scenes", {}).items():
        if "anchors" in answer and os.environ.get(loaders.VARIABLE):
            draw_abundances(folder / f"abundances_{name}.png", load(name), answer["anchors"])


def save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    metadata = {"Date": None} if path.suffix == ".svg" else None  # the same figures, the same file
    figure.savefig(path, metadata=metadata, bbox_inches="tight", dpi=80)
    plt.close(figure)


def draw_success(path: Path, results: dict[str, Any], method: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
    colours = dict(zip([*others(), NEAREST], plt.get_cmap("tab20").colors, strict=False))
    for axis, item, title in zip(axes, ("type1", "type2"), ("Type 1", "Type 2"), strict=True):
        axis.set(title=title, xlabel="noise ε", ylim=(-0.03, 1.03))
        if item not in results:
            continue
        for name, row in results[item]["others"].items():
            x, y = ([float(key) for key in row], [cell["rate"] for cell in row.values()])
            style = ":" if name == NEAREST else "-"
            axis.plot(x, y, style, lw=1, color=colours.get(name, "grey"), label=name)
        row = results[item]["auto"]
        x, y = ([float(key) for key in row], [cell["rate"] for cell in row.values()])
        axis.plot(x, y, "o-", color="black", lw=2.2, ms=4, label=method)
        if item == "type2":
            axis.set_xscale("log")
        else:
            axis.axvspan(0.43, max(x), color="0.92", label="anchors inside the cone")
    axes[0].set_ylabel("share of instances with all anchors found")
    entries = {
        name: line for axis in axes for line, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        entries.values(), entries.keys(), loc="center left", bbox_to_anchor=(0.91, 0.5), frameon=False
    )
    save(figure, path)


def draw_rank(path: Path, answer: dict[str, Any]) -> None:
    """One panel per quantity of the curve, against its "r" or its "index"."""
    import matplotlib.pyplot as plt

    x = answer["curve"].get("r") or answer["curve"]["index"]
    curve = without(answer["curve"], "r", "index")
    figure, axes = plt.subplots(1, max(1, len(curve)), figsize=(4.2 * max(1, len(curve)), 3.4), squeeze=False)
    for axis, (name, values) in zip(axes[0], curve.items(), strict=False):
        axis.plot(x, values, "o-", color="black", ms=4)
        if all(value > 0 for value in values) and max(values) > 50 * min(values):
            axis.set_yscale("log")
        axis.axvspan(answer["low"] - 0.2, answer["high"] + 0.2, color="tab:orange", alpha=0.3)
        axis.set(xlabel="number of anchors", title=name.replace("_", " "))
    figure.suptitle(f"Samson: {between(answer['low'], answer['high'])}")
    figure.tight_layout()
    save(figure, path)


def draw_abundances(path: Path, data: Dataset, anchors: list[int]) -> None:
    """Weights of the anchors above the reference abundances they are nearest to in angle."""
    import matplotlib.pyplot as plt

    found = data.M[:, anchors]
    H = sepnmf.nnls(found, data.M)
    unit_found, unit_true = (A / np.linalg.norm(A, axis=0) for A in (found, data.W))
    rows, columns = linear_sum_assignment(-unit_found.T @ unit_true)
    figure, axes = plt.subplots(2, len(rows), figsize=(2.6 * len(rows), 5.4))
    for axis, i, j in zip(axes.T, rows, columns, strict=True):
        for place, weights in zip(axis, (H[i], data.H[j]), strict=True):
            top = np.quantile(weights, 0.995)
            place.imshow(
                weights.reshape(data.image_shape, order="F"), vmin=0, vmax=max(top, 1e-12), cmap="viridis"
            )
            place.set(xticks=[], yticks=[])
        axis[0].set_title(data.names[j])
    axes[0, 0].set_ylabel("found")
    axes[1, 0].set_ylabel("reference")
    figure.tight_layout()
    save(figure, path)


# Small things ------------------------------------------------------------------------------------------


def without(answer: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key not in names}


def short(reason: str) -> str:
    """The first sentence of an error."""
    return re.split(r"(?<=[a-z0-9])[.:;] ", reason.partition(": ")[2] or reason)[0].rstrip(".")


def plain(arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays as lists, for JSON."""
    return {name: np.asarray(values).ravel().tolist() for name, values in arrays.items()}


def read_json(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def machine() -> str:
    try:
        names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        names = []
    processor = names[0] if names else platform.processor() or platform.machine()
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    return f"{processor}, {available_cores()} core(s); {versions}, sepnmf {sepnmf.__version__}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("items", nargs="*", metavar="item", help=", ".join(ITEMS))
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--method", default="auto", help="put this method in auto's place; needs --to")
    parser.add_argument("--seeds", type=int, default=50, help="of type1 and type2, for the method itself")
    parser.add_argument(
        "--to", type=Path, default=ROOT, help="write below this folder instead of the checkout"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # convergence warnings, one per instance
    if args.child:
        child(*json.loads(args.child))
        return 0
    unknown = set(args.items) - set(ITEMS)
    if unknown:
        parser.error(f"no item {', '.join(sorted(unknown))}: the items are {', '.join(ITEMS)}")
    if (args.method, args.seeds) != ("auto", 50) and args.to == ROOT:
        parser.error(
            "--method and --seeds are for trials: say --to FOLDER, so that they do not replace the figures"
        )
    folder = args.to / FOLDER
    for item in [] if args.page else args.items or ITEMS:
        print(item, flush=True)
        write_json(
            folder / f"{item}.json", {"method": args.method, "machine": machine(), **ITEMS[item](args)}
        )
    measured = {item: read_json(folder / f"{item}.json") for item in ITEMS}
    results = {
        item: result for item, result in measured.items() if result and result["method"] == args.method
    }
    checks = write_page(args.to / "docs", results, args.method) if results else []
    for what, value, wanted, holds in checks:
        print(f"{'holds ' if holds else 'MISSED'}  {value:>12s}  {wanted:28s} {what}")
    return int(not all(check[3] for check in checks))


if __name__ == "__main__":
    sys.exit(main())
