"""Peak memory of `select` on a .h5ad file of a million cells × 2000 genes, among cells and among genes.

    python benchmarks/cells.py                     # writes the file to a temporary folder and measures
    python benchmarks/cells.py --cells 100000      # fewer cells
    python benchmarks/cells.py --file FILE.h5ad    # keeps the file there, or uses the one that is there
    python benchmarks/cells.py --along cells --method spa auto

The matrix is sparse (about 3 % of the entries) and separable along both axes: 20 profiles, of which each has
one gene of its own; the other genes belong to two profiles. Cells are mixtures of two profiles; the first of
every fifty thousand are pure. The file is written by anndata, block by block. Every measurement runs in a
process of its own; a part of the file is also read whole, and must give the same anchors.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROFILES, GENES, BLOCK = 20, 2000, 10_000
SHARED = 380  # genes of two profiles
SMALL = 50_000  # cells that are compared with the answer in memory
LIMIT = 1200  # MB


def profiles():
    """Genes of each profile: one of its own, 38 that it shares with others, on average."""
    import numpy as np

    rng = np.random.default_rng(0)
    P = np.zeros((PROFILES, GENES), np.float32)
    P[:, :PROFILES] = np.eye(PROFILES)
    for gene in range(PROFILES, PROFILES + SHARED):
        P[rng.choice(PROFILES, 2, replace=False), gene] = rng.uniform(0.3, 0.45, 2)
    return P


def block(start, stop, cells):
    """Some cells: twenty pure ones, spread evenly over all, and mixtures of two profiles with background."""
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(start + 1)
    count = stop - start
    share = rng.uniform(0.1, 0.9, count).astype(np.float32)
    which = np.array([rng.permutation(PROFILES)[:2] for _ in range(count)])
    W = np.zeros((count, PROFILES), np.float32)
    W[np.arange(count), which[:, 0]], W[np.arange(count), which[:, 1]] = share, 1 - share
    W *= rng.uniform(0.3, 0.9, (count, 1)).astype(np.float32)
    pure = pure_cells(cells)
    for k, cell in enumerate(pure):
        if start <= cell < stop:
            W[cell - start] = np.eye(PROFILES, dtype=np.float32)[k]
    X = sparse.csr_array(W @ profiles())
    noise = sparse.random_array(
        (count, GENES), density=0.002, random_state=rng, format="csr", dtype=np.float32
    )
    return sparse.csr_array(X + 1e-3 * noise)


def pure_cells(cells):
    """Cells that are pure, one per profile."""
    return [k * (cells // PROFILES) for k in range(PROFILES)]


def write(path, cells):
    """Write the file with anndata, block by block."""
    import h5py
    import pandas as pd
    from anndata.io import sparse_dataset, write_elem

    with h5py.File(path, "w") as content:
        content.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        for start in range(0, cells, BLOCK):
            part = block(start, min(start + BLOCK, cells), cells)
            if start == 0:
                write_elem(content, "X", part)
            else:
                sparse_dataset(content["X"]).append(part)
        write_elem(content, "obs", pd.DataFrame(index=[f"cell{i}" for i in range(cells)]))
        write_elem(content, "var", pd.DataFrame(index=[f"gene{j}" for j in range(GENES)]))


def peak():
    """Largest resident set of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def measure(path, along, method, whole):
    """Select and print the anchors, the seconds and the peak."""
    import sepnmf
    from sepnmf.io._cells import read_h5ad

    began = time.perf_counter()
    data = read_h5ad(Path(path)) if not whole else read_h5ad(Path(path), large=2**62)
    if along == "cells":
        data = data.transposed()
    sel = sepnmf.select(data.M, PROFILES, method)
    names = sorted(data.column_label(int(j)) for j in sel.anchors)
    print(*names, f"{time.perf_counter() - began:.1f}", f"{peak():.0f}", sep="\t")


def run(path, along, method, whole=False):
    """Measure in a process of its own: anchors, seconds, MB."""
    command = [sys.executable, __file__, "--measure", str(path), along, method, str(int(whole))]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        return [], found.stderr.strip().splitlines()[-1][:100], 0.0
    *names, seconds, megabytes = found.stdout.strip().split("\t")
    return names, f"{seconds} s", float(megabytes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--along", nargs="+", default=["cells", "genes"])
    parser.add_argument("--method", nargs="+", default=["spa", "auto"])
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        path, along, method, whole = given.measure
        measure(path, along, method, whole == "1")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder, "cells.h5ad")
        if not path.exists():
            began = time.perf_counter()
            write(path, given.cells)
            size = path.stat().st_size / 1e6
            print(f"written in {time.perf_counter() - began:.0f} s: {size:.0f} MB, peak {peak():.0f} MB")
        small = Path(folder, "small.h5ad")
        write(small, SMALL)
        cells = {f"cell{i}" for i in pure_cells(given.cells)}
        expected = {"cells": cells, "genes": {f"gene{k}" for k in range(PROFILES)}}
        failed = False
        for along in given.along:
            for method in given.method:
                names, said, megabytes = run(path, along, method)
                held, _, _ = run(small, along, method, whole=True)
                right = len(expected[along] & set(names))
                failed |= megabytes > LIMIT or right < PROFILES
                print(
                    f"{along:6} {method:5} {right:3} of {PROFILES} anchors, {megabytes:5.0f} MB, {said}",
                    end="",
                )
                known = expected[along] if along == "genes" else {f"cell{i}" for i in pure_cells(SMALL)}
                print(f"; in memory, {SMALL:,} cells: {len(known & set(held))} of {PROFILES}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
