"""Peak memory and time of MERIT at n = 20000, m = 100, r = 10; the memory must stay under 1 GB.

    python benchmarks/merit.py [iterations]

Runs in a process of its own, whose peak is everything: interpreter, libraries, data and method. An n × n
array would take 3.2 GB.
"""

import resource
import subprocess
import sys

import sepnmf

M, N, R = 100, 20_000, 10
KILOBYTES = 1024 if sys.platform == "linux" else 1  # the unit of ru_maxrss


def run(iterations: int) -> None:
    data, anchors = sepnmf.datasets.make_dirichlet(0.01, m=M, n=N, r=R, random_state=0)
    sel = sepnmf.merit(data, R, max_iter=iterations, negative="allow")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTES
    found = len(set(sel.anchors.tolist()) & set(anchors.tolist()))
    print(f"{M} × {N}, {sel.n_outer} iterations, {found} of {R} anchors found")
    print(f"nonzeros of C per column {sel.X.nnz / N:8.1f}")
    print(f"seconds                  {sel.seconds:8.1f}")
    print(f"peak memory              {peak / 1e9:8.2f} GB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        run(int(sys.argv[2]))
    else:
        iterations = sys.argv[1] if len(sys.argv) > 1 else "500"
        subprocess.run([sys.executable, __file__, "--inside", iterations], check=True)
