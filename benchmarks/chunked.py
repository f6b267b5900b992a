"""Data larger than memory: SPA and auto on a memmap, against a plain sequential sum over the same file.

    python benchmarks/chunked.py FOLDER                 12 GB: 100 × 15 million float64, r = 10
    python benchmarks/chunked.py FOLDER --growth        1, 2, 4 and 8 million columns
    python benchmarks/chunked.py FOLDER --jobs sum vca xray ppi --columns 4000000
    python benchmarks/chunked.py --generated            the same, of Dask arrays that are in no file
    python benchmarks/chunked.py FOLDER --cold          drop the file from the system's cache before each run

The files stay in FOLDER, so that the next run finds them. Every run is a process of its own; its peak is the
largest resident set that the system saw, pages of the file included.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROWS, ANCHORS, NOISE = 100, 10, 0.01
STEP = 250_000  # columns that are made at a time
WIDTH = 80_000  # columns of a chunk that is in no file: 64 MB


def file_of(folder, n):
    """The file with n columns: W·H with noise, clipped at zero; r columns are W. Made if it is not there."""
    path = folder / f"{ROWS}x{n}.dat"
    _, anchors, rng = anchors_of(n)
    if path.exists() and path.stat().st_size == 8 * ROWS * n:
        return path, anchors
    for start in range(0, n, STEP):
        width = min(STEP, n - start)
        mode = "r+" if start else "w+"
        part = np.memmap(path, np.float64, mode, shape=(ROWS, n))
        part[:, start : start + width] = mixtures(rng, n, start, width)
        part.flush()
        del part
    return path, anchors


def anchors_of(n):
    """The columns that are mixed, which of all n they are, and the generator that made them."""
    rng = np.random.default_rng(0)
    return rng.random((ROWS, ANCHORS)), np.sort(rng.choice(n, ANCHORS, replace=False)), rng


def mixtures(rng, n, start, width):
    """Some of n columns: mixtures with noise, clipped at zero."""
    W, anchors, _ = anchors_of(n)
    H = rng.standard_exponential((ANCHORS, width))
    H /= H.sum(axis=0)
    here = (anchors >= start) & (anchors < start + width)
    H[:, anchors[here] - start] = np.eye(ANCHORS)[:, here]
    M = W @ H
    M += NOISE * np.linalg.norm(M) / np.sqrt(M.size) * rng.standard_normal(M.shape, dtype=np.float32)
    return np.maximum(M, 0, out=M)


def generated(n):
    """Such data as a Dask array whose chunks are made when they are asked for, and are in no file."""
    import dask.array as da

    anchors = anchors_of(n)[1]
    widths = tuple(min(WIDTH, n - start) for start in range(0, n, WIDTH))

    def chunk(block_id):
        start = block_id[1] * WIDTH
        rng = np.random.default_rng([1, block_id[1]])
        return mixtures(rng, n, start, widths[block_id[1]])

    array = da.map_blocks(chunk, chunks=((ROWS,), widths), dtype=np.float64, meta=np.empty((0, 0)))
    return array, anchors


def work(job, path, n):
    """One job in this process: seconds, passes and what it found; without a path, on generated data."""
    M = generated(n)[0] if path is None else np.memmap(path, np.float64, "r", shape=(ROWS, n))
    if job == "sum":
        began = time.perf_counter()
        total = float(M.sum())
        return {"seconds": time.perf_counter() - began, "passes": 1, "found": total}
    import sepnmf

    options = {"random_state": 0} if job in ("auto", "vca", "ppi") else {}
    compile_kernels(job, options)
    passes = counted_passes()
    began = time.perf_counter()
    sel = sepnmf.select(M, ANCHORS, job, **options)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "passes": len(passes), "found": sorted(sel.anchors.tolist())}


def compile_kernels(job, options):
    """Run the method on a few columns, so that the kernels are there."""
    import dask.array as da

    import sepnmf
    from sepnmf.matrix import _chunked

    small, _ = sepnmf.datasets.make_dirichlet(0.01, random_state=0)
    before, _chunked.SMALL = _chunked.SMALL, 0
    sepnmf.select(da.from_array(small, chunks=(50, 30)), 10, job, negative="clip", **options)
    _chunked.SMALL = before


def counted_passes():
    """A list that grows with every pass over the data."""
    from sepnmf.matrix import Chunked

    scan, passes = Chunked.scan, []

    def counting(self, *reducers):
        passes.append(len(reducers))
        return scan(self, *reducers)

    Chunked.scan = counting
    return passes


def peak_of_this_process():
    """Largest resident set in MB. (That of `resource` would be the parent's, if it was larger.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def run(job, path, n, cold):
    """One job in a process of its own."""
    if cold:
        with path.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    place = ["--generated"] if path is None else [str(path.parent)]
    command = [sys.executable, __file__, *place, "--job", job, "--columns", str(n)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout)


def report(folder, n, jobs, cold):
    """One line per job; its rate counts every pass."""
    path, anchors = (None, anchors_of(n)[1]) if folder is None else file_of(folder, n)
    size = 8e-9 * ROWS * n
    where = "in no file" if folder is None else "cold cache" if cold else "warm cache"
    print(f"\n{ROWS} × {n:,} float64, {size:.1f} GB, r = {ANCHORS}, {where}")
    print("job      seconds  passes    GB/s  of sum  peak MB  anchors found")
    results, base = {}, None
    for job in jobs:
        result = run(job, path, n, cold)
        seconds, passes = result["seconds"], result["passes"]
        rate = size * passes / seconds
        base = rate if job == "sum" else base
        share = rate / base if base else np.nan
        found = "" if job == "sum" else len(set(result["found"]) & set(anchors.tolist()))
        numbers = f"{seconds:8.2f}{passes:8}{rate:8.2f}{share:8.2f}{result['peak']:9.0f}"
        print(f"{job:8}{numbers}  {found}", flush=True)
        results[job] = result
    return results


def main():
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shape)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--generated", action="store_true")
    parser.add_argument("--columns", type=int, default=15_000_000)
    # The sum before and after, because other work on the machine comes and goes.
    parser.add_argument("--jobs", nargs="+", default=["sum", "spa", "sum", "spa", "auto"])
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        path = None if given.generated else file_of(given.folder, given.columns)[0]
        result = work(given.job, path, given.columns)
        print(json.dumps(result | {"peak": peak_of_this_process()}))
        return
    if given.folder is None and not given.generated:
        parser.error("say a folder for the files, or --generated")
    if not given.growth and not given.generated:
        report(given.folder, given.columns, given.jobs, given.cold)
        return
    sizes = [1_000_000, 2_000_000, 4_000_000, 8_000_000]
    jobs = ("spa", "auto") if given.generated else ("sum", "spa", "auto")
    rows = [report(None if given.generated else given.folder, n, jobs, given.cold) for n in sizes]
    for job in ("spa", "auto"):
        seconds = [row[job]["seconds"] for row in rows]
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        peaks = ", ".join(f"{row[job]['peak']:.0f}" for row in rows)
        print(f"\n{job}: time grows with exponent {slope:.2f}; peaks {peaks} MB")


if __name__ == "__main__":
    main()
