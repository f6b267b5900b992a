"""Peak memory of every public function on a Dask array of 4 GB that is made chunk by chunk.

    python benchmarks/memory.py            # all, each in a process of its own
    python benchmarks/memory.py spa nnls   # some of them

The array has 200 rows and 2 500 000 columns in float64, in chunks of 40 MB; it is in no file. Exits 1 if a
function takes more than 1.2 GB.
"""

import subprocess
import sys
import time
from pathlib import Path

ROWS, COLUMNS, WIDTH, ANCHORS = 200, 2_500_000, 25_000, 6
LIMIT = 1200  # MB


def chunk(block_info=None):
    """One chunk: mixtures of six columns, with a little noise."""
    import numpy as np

    (_, (start, stop)) = block_info[None]["array-location"]
    rng = np.random.default_rng(start)
    W = np.random.default_rng(0).random((ROWS, ANCHORS))
    H = rng.dirichlet(np.ones(ANCHORS), stop - start).T
    if start == 0:
        H[:, :ANCHORS] = np.eye(ANCHORS)
    return np.maximum(W @ H + 1e-3 * rng.standard_normal((ROWS, stop - start)), 0.0)


def data():
    """The array; nothing is computed yet."""
    import dask.array as da
    import numpy as np

    widths = (WIDTH,) * (COLUMNS // WIDTH)
    return da.map_blocks(chunk, chunks=((ROWS,), widths), dtype=float, meta=np.empty((0, 0)))


def jobs():
    """The functions, by name."""
    import numpy as np

    import sepnmf

    def weights(H):
        """Compute lazy weights chunk by chunk, as a user would who writes them to a file."""
        return float(H.sum().compute())

    def nmf(M):
        model = sepnmf.SeparableNMF(ANCHORS, method="spa").fit(M.T)
        return weights(model.transform(M.T)), model.reconstruction_err_

    def selector(M):
        model = sepnmf.AnchorSelector(ANCHORS, method="spa").fit(M)
        return model.transform(M).sum().compute()

    every = {
        name: lambda M, name=name: getattr(sepnmf, name)(M, ANCHORS).anchors
        for name in ("spa", "xray", "vca", "ppi", "snpa", "fgnsr", "auto")
    }
    return every | {
        "select": lambda M: sepnmf.select(M, ANCHORS).anchors,
        "select, refined": lambda M: sepnmf.select(M, ANCHORS, "spa", refine=True).anchors,
        "estimate_rank": sepnmf.estimate_rank,
        "SeparableNMF": nmf,
        "AnchorSelector": selector,
        "nnls": lambda M: weights(sepnmf.nnls(np.asarray(M[:, :ANCHORS]), M)),
        "metrics.rae": lambda M: sepnmf.metrics.rae(M, range(ANCHORS)),
        "metrics.sam": lambda M: sepnmf.metrics.sam(M[:, :ANCHORS], M[:, :ANCHORS]),
        "metrics.mrsa": lambda M: sepnmf.metrics.mrsa(M[:, :ANCHORS], M[:, :ANCHORS]),
    }


def peak():
    """Largest resident set of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def main():
    if sys.argv[1:2] == ["--job"]:
        began = time.perf_counter()
        answer = jobs()[sys.argv[2]](data())
        seconds = time.perf_counter() - began
        print(f"| {sys.argv[2]} | {peak():.0f} | {seconds:.0f} | {str(answer)[:60]} |")
        sys.exit(peak() > LIMIT)
    wanted = sys.argv[1:] or list(jobs())
    print(f"| function | peak, MB (at most {LIMIT}) | seconds | answer |\n|---|---|---|---|", flush=True)
    codes = [
        subprocess.run([sys.executable, __file__, "--job", name], check=False).returncode for name in wanted
    ]
    sys.exit(any(codes))


if __name__ == "__main__":
    main()
