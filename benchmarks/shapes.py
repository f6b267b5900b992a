"""Seconds of auto at many shapes, against SPA and the weights of all columns in the same process.

    python benchmarks/shapes.py                      all shapes, and topics of a large corpus
    python benchmarks/shapes.py 50x1000x10 samson    some of them; any ROWSxCOLUMNSxANCHORS will do
    python benchmarks/shapes.py --noise 0.05 --jobs 1 50x1000x10

Wanted: at most 60 times the seconds of `spa` plus `nnls` of all columns, or 2 s, whichever is more; the
status "done" or "not identifiable"; at most 2 GB beyond the data. Topics: 60 s and 2 GB. Exits 1 if a limit
is missed. Generated data are mixtures that are uniform on the simplex, with white noise. Every shape is
measured in a process of its own, in which the kernels are compiled first. Real data are in the folder
SEPNMF_DATA.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

SHAPES = (
    "50x1000x10",
    "300x1000x50",
    "2000x2000x50",
    "200x20000x10",
    "20000x500x10",
    "200000x60x10",
    "5000x5000x20",
    "100x100000x10",
    "100x1000000x10",
)
SCENES = {"samson": 3, "jasper_ridge": 4}
TOPICS = "topics"
WORDS, DOCUMENTS, NUMBER, LENGTH = 61_000, 11_000, 20, 150  # of the corpus
TIMES, SECONDS, GIGABYTES, TOPIC_SECONDS = 60, 2.0, 2.0, 60.0
PIECE = 50_000  # columns that are made at a time
HEAD = ("shape", "auto", "spa+nnls", "ratio", "limit", "found", "GB beyond", "status")


def generated(m, n, r, noise):
    """Mixtures with white noise, made in pieces so that little beyond the data is held; and the anchors."""
    rng = np.random.default_rng(0)
    W = rng.random((m, r))
    W /= W.sum(axis=0)
    anchors = np.sort(rng.choice(n, r, replace=False))
    level = noise * np.sqrt(np.mean(W**2))
    M = np.empty((m, n))
    step = max(1, min(n, PIECE * 100 // m))
    for start in range(0, n, step):
        here = slice(start, min(start + step, n))
        M[:, here] = W @ rng.dirichlet(np.ones(r), size=here.stop - start).T
    M[:, anchors] = W
    for start in range(0, n, step):
        here = slice(start, min(start + step, n))
        M[:, here] += level * rng.standard_normal((m, here.stop - start))
    return M, anchors


def data_of(shape, noise):
    """The data, the number of anchors, and which they are if that is known."""
    if shape in SCENES:
        from sepnmf import datasets

        return np.asarray(getattr(datasets, f"load_{shape}")().M), SCENES[shape], None
    m, n, r = map(int, shape.split("x"))
    M, anchors = generated(m, n, r, noise)
    return M, r, anchors


def measured(shape, noise, jobs):
    """One shape in this process."""
    import sepnmf

    warnings.simplefilter("ignore")
    options = {"negative": "allow"}
    small, _ = sepnmf.datasets.make_dirichlet(0.05, m=20, n=60, r=3)
    sepnmf.nnls(small[:, sepnmf.select(small, 3, "spa", **options).anchors], small)
    sepnmf.select(small, 3, **options)
    M, r, anchors = data_of(shape, noise)

    began = time.perf_counter()
    chosen = sepnmf.select(M, r, "spa", **options).anchors
    sepnmf.nnls(M[:, chosen], M)
    plain = time.perf_counter() - began

    held = reset_peak()
    began = time.perf_counter()
    sel = sepnmf.select(M, r, random_state=0, n_jobs=jobs, **options)
    seconds = time.perf_counter() - began
    found = None if anchors is None else len(set(sel.anchors) & set(anchors)) / r
    beyond = (peak() - held) / 2**20
    return {"seconds": seconds, "plain": plain, "found": found, "status": sel.status, "beyond": beyond}


def reset_peak():
    """Forget the largest resident set so far, and return the present one, in kB."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def peak():
    """Largest resident set since it was forgotten, in kB."""
    return memory("VmHWM")


def memory(field):
    """A field of /proc/self/status in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def corpus(folder):
    """Word counts of a generated corpus and its vocabulary, as files: words × documents, Zipf's law."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    zipf = 1 / np.arange(1, WORDS + 1)
    topics = zipf[:, None] * rng.gamma(0.3, size=(WORDS, NUMBER))
    heap = np.cumsum(topics / topics.sum(axis=0), axis=0)
    lengths = rng.poisson(LENGTH * rng.lognormal(-0.125, 0.5, DOCUMENTS)) + 5
    document = np.repeat(np.arange(DOCUMENTS), lengths)
    shares = np.cumsum(rng.dirichlet(np.full(NUMBER, 0.1), DOCUMENTS), axis=1)
    topic = (shares[document] < rng.random((len(document), 1))).sum(axis=1).clip(max=NUMBER - 1)
    word = np.empty(len(document), dtype=np.intp)
    for k in range(NUMBER):
        own = topic == k
        word[own] = np.searchsorted(heap[:, k], rng.random(own.sum())).clip(max=WORDS - 1)
    counts = sparse.coo_array((np.ones(len(word)), (word, document)), shape=(WORDS, DOCUMENTS)).tocsc()
    sparse.save_npz(folder / "counts.npz", counts)
    names = "\n".join(f"word{i:05d}" for i in range(WORDS))
    (folder / "words.txt").write_text(names + "\n")


def topics_of_a_corpus():
    """The command line on the corpus: seconds and GB of the whole process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        maker = [sys.executable, __file__, "--corpus", name]
        subprocess.run(maker, check=True)
        line = [sys.executable, "-m", "sepnmf", "topics", str(folder / "counts.npz"), "-r", str(NUMBER)]
        line += ["--vocab", str(folder / "words.txt"), "--out", str(folder / "out")]
        began = time.perf_counter()
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
    done = "done" if status == 0 else f"exit code {os.waitstatus_to_exitcode(status)}"
    beyond = usage.ru_maxrss / 2**20
    return {"seconds": seconds, "plain": None, "found": None, "status": done, "beyond": beyond}


def in_a_process(shape, noise, jobs):
    """The measurement of a shape, of another process."""
    if shape == TOPICS:
        return topics_of_a_corpus()
    line = [sys.executable, __file__, "--measure", shape, "--noise", str(noise)]
    line += [] if jobs is None else ["--jobs", str(jobs)]
    ended = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])


def report(shape, found):
    """Print a line; return whether the limits are kept."""
    plain = found["plain"]
    limit = TOPIC_SECONDS if plain is None else max(TIMES * plain, SECONDS)
    kept = found["seconds"] <= limit and found["beyond"] <= GIGABYTES
    kept = kept and found["status"] in ("done", "not identifiable")
    values = (
        f"{found['seconds']:.2f}",
        "–" if plain is None else f"{plain:.3f}",
        "–" if plain is None else f"{found['seconds'] / plain:.1f}",
        f"{limit:.1f}",
        "–" if found["found"] is None else f"{found['found']:.2f}",
        f"{found['beyond']:.2f}",
        found["status"] + ("" if kept else "  MISSED"),
    )
    print(f"{shape:18}" + "".join(f"{value:>10}" for value in values[:-1]) + f"  {values[-1]}", flush=True)
    return kept


def main():
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shape)
    parser.add_argument("shapes", nargs="*", default=[*SHAPES, *SCENES, TOPICS])
    parser.add_argument("--noise", type=float, default=0.05, help="relative to the anchors' entries")
    parser.add_argument("--jobs", type=int, default=None, help="threads of auto; all cores by default")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure, given.noise, given.jobs)))
        return
    if given.corpus:
        corpus(given.corpus)
        return
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f} at the start; seconds; noise {given.noise:g}\n")
    print(f"{HEAD[0]:18}" + "".join(f"{name:>10}" for name in HEAD[1:-1]) + f"  {HEAD[-1]}")
    kept = [report(name, in_a_process(name, given.noise, given.jobs)) for name in given.shapes]
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
