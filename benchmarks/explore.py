"""The explorer's weights against `nnls` of all columns, and the memory that a large scene takes.

    python benchmarks/explore.py            # weights: 100 000 pixels × 200 bands, r = 6
    python benchmarks/explore.py --scene    # opens a scene of 5 GB, which it writes to a temporary folder

Times are the best of several rounds in which all are run in turn. Memory is the peak of a process of its own
that opens the scene, adds an anchor and asks for the maps.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import sepnmf
from sepnmf.explorer._session import Session

LINES, SAMPLES, BANDS, R = 250, 400, 200, 6
SCENE, ROUNDS = 2500, 7  # lines and samples of the large scene; rounds of each measurement


def mixtures(n, m, seed, noise):
    """Pixels that are mixtures of R spectra, in float64."""
    rng = np.random.default_rng(seed)
    H = rng.dirichlet(np.full(R, 0.3), n).T
    H[:, :R] = np.eye(R)
    spectra = np.random.default_rng(0).random((m, R)) ** 3
    return np.maximum(spectra @ H + noise * rng.standard_normal((m, n)), 0.0)


def measure_weights(noise):
    M = mixtures(LINES * SAMPLES, BANDS, 1, noise)
    session = Session.open(M, R, method="spa")
    anchors = [anchor.column for anchor in session.anchors]
    times = {"nnls of all columns": [], "new set of anchors": [], "one anchor replaced": []}
    others = np.random.default_rng(2).permutation(len(M[0]))
    error = 0.0
    for k in range(ROUNDS):
        start = time.perf_counter()
        sepnmf.nnls(M[:, anchors], M)
        times["nnls of all columns"].append(time.perf_counter() - start)
        start = time.perf_counter()
        session._weights.products.clear()
        session.use(None)
        session.weights()
        times["new set of anchors"].append(time.perf_counter() - start)
        start = time.perf_counter()
        session.replace(k % R, int(others[k]))
        found = session.weights()
        times["one anchor replaced"].append(time.perf_counter() - start)
        columns = [anchor.column for anchor in session.anchors]
        expected = sepnmf.nnls(M[:, columns], M)
        error = max(error, float(np.abs(found - expected).max() / expected.max()))
        session.undo()
    print(f"{LINES * SAMPLES:,} pixels × {BANDS} bands, r = {R}, noise {noise}; error {error:.1e}")
    full = min(times["nnls of all columns"])
    for name, seconds in times.items():
        print(f"  {name:<20} {1e3 * min(seconds):6.1f} ms   {min(seconds) / full:.2f} of nnls")


def measure_scene():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scene.npy")
        shape = (SCENE, SCENE, BANDS)
        scene = np.lib.format.open_memmap(path, "w+", np.float32, shape)
        for line in range(SCENE):
            scene[line] = mixtures(SCENE, BANDS, line, 0.001).T
        scene.flush()
        del scene
        print(f"{path.stat().st_size / 1e9:.1f} GB: {SCENE} × {SCENE} pixels × {BANDS} bands, float32")
        subprocess.run([sys.executable, __file__, "--open", str(path)], check=True)


def open_scene(path):
    start = time.perf_counter()
    session = Session.open(path, R, method="spa")
    opened = time.perf_counter() - start
    start = time.perf_counter()
    session.add(SCENE * SCENE - 1)
    maps = session.maps()
    added = time.perf_counter() - start
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9
    print(f"  opened in {opened:.1f} s, fit {session.fit:.4f}, maps {maps.shape}")
    print(f"  an anchor that is not shown added in {added:.2f} s; peak memory {peak:.2f} GB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--scene", action="store_true")
    parser.add_argument("--open")
    given = parser.parse_args()
    if given.open:
        open_scene(given.open)
    elif given.scene:
        measure_scene()
    else:
        for noise in (0.01, 0.1):
            measure_weights(noise)
