"""How fast the ratio methods are, as ratios measured in one run. Run by `make bench`.

    python benchmarks/speed.py [--quick]

Writes benchmarks/RESULTS.md, and says what got slower than the figures that stood there by more than 20 %.
Every figure is a ratio to something measured next to it: the machine's memory bandwidth (a triad a = b + s·c
on all cores), a plain NumPy transcription of the paper's Algorithm 2, a sort-based projection.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import sepnmf
from sepnmf._kernels import omega
from sepnmf._parallel import Workers, available_cores
from sepnmf.model import _norms as norms
from sepnmf.model._problem import Fit

RESULTS = Path(__file__).parent / "RESULTS.md"
SLOWER = 1.2
NO_BAR = "–"


# What the figures are measured against -----------------------------------------------------------------


@njit(nogil=True)
def triad(a, b, c, lo, hi, _sums):
    for i in range(lo, hi):
        for j in range(a.shape[1]):
            a[i, j] = b[i, j] + 1.5 * c[i, j]


def seven_passes(n: int) -> float:
    """Seconds for reading or writing seven n × n arrays at the speed of the triad, which touches three."""
    a, b, c = (np.ones((n, n)) for _ in range(3))
    with Workers(n) as workers:
        return 7 / 3 * best(lambda: workers.run(triad, a, b, c), 30)


def plain_projection(Z: np.ndarray, w: np.ndarray) -> np.ndarray:
    """P_Ω with NumPy, all rows at once: sort the breakpoints z_ij/u_ij, find the piece, solve it."""
    n = len(w)
    u = w / w[:, None]
    z = np.where(np.eye(n, dtype=bool), 0, np.maximum(Z, 0))
    order = np.argsort(-z / u, axis=1)
    zs, us = np.take_along_axis(z, order, 1), np.take_along_axis(u, order, 1)
    own = np.diag(Z)[:, None]
    top = own + np.concatenate([np.zeros((n, 1)), np.cumsum(us * zs, axis=1)], axis=1)
    bottom = 1 + np.concatenate([np.zeros((n, 1)), np.cumsum(us * us, axis=1)], axis=1)
    next_break = np.concatenate([zs / us, np.full((n, 1), -np.inf)], axis=1)
    roots = top / bottom
    t = np.clip(roots[np.arange(n), np.argmax(roots >= next_break, axis=1)], 0, 1)
    X = np.clip(Z, 0, u * t[:, None])
    X[np.diag_indices(n)] = t
    return X


def plain_admm(M: np.ndarray, p: float, lam: float, rho: tuple, outer: int, inner: int) -> float:
    """Algorithm 2 in plain NumPy with the exact map, entrywise norm; seconds per inner iteration."""
    rho1, rho2, rho3 = rho
    n, w = M.shape[1], M.sum(axis=0)
    gram, eye = M.T @ M, np.eye(n)
    X, Y, U, Z, W = eye, eye, 0 * eye, eye, eye
    began = time.perf_counter()
    for _ in range(outer):
        A, V, S = Y - U / rho1, 0 * eye, 0 * eye
        for _ in range(inner):
            C = (rho1 * A + rho2 * (Z - V / rho2) + rho3 * (W - S / rho3)) / sum(rho)
            gamma = lam / (sum(rho) * np.linalg.norm(Z))
            tau = gamma if p == 1 else sorted_threshold(np.sort(np.abs(C).ravel())[::-1], gamma, p)
            X = np.sign(C) * np.maximum(np.abs(C) - tau, 0)
            C = X + V / rho2
            q = lam * np.abs(X).sum() ** p / (rho2 * np.linalg.norm(C) ** 3)
            s = np.cbrt((27 * q + 2 + np.sqrt((27 * q + 2) ** 2 - 4)) / 2)
            Z = (1 + s + 1 / s) / 3 * C
            W = plain_projection(X + S / rho3, w)
            V = V + rho2 * (X - Z)
            S = S + rho3 * (X - W)
        Y = np.linalg.solve(gram + rho1 * eye, gram + rho1 * X + U)
        U = U + rho1 * (X - Y)
    return (time.perf_counter() - began) / (outer * inner)


def sorted_threshold(a: np.ndarray, gamma: float, p: float) -> float:
    """Root of τ = pγs(τ)^(p−1) for magnitudes in falling order, by bisection on s with cumulated sums."""
    sums = np.cumsum(a)
    low, high = 0.0, float(sums[-1])
    for _ in range(60):
        s = 0.5 * (low + high)
        tau = p * gamma * s ** (p - 1)
        k = int(np.searchsorted(-a, -tau))
        if (sums[k - 1] - k * tau if k else 0.0) > s:
            low = s
        else:
            high = s
    return p * gamma * low ** (p - 1)


@njit
def sorting_projection(Z, w, X):
    """P_Ω row by row, compiled, with a sort."""
    n = w.size
    for i in range(n):
        u = w / w[i]
        ratios = Z[i] / u
        ratios[i] = -1.0
        order = np.argsort(-ratios)
        top, bottom, t = Z[i, i], 1.0, Z[i, i]
        for j in order:
            if ratios[j] <= max(t, 0.0):
                break
            top += u[j] * Z[i, j]
            bottom += u[j] * u[j]
            t = top / bottom
        t = min(max(t, 0.0), 1.0)
        for j in range(n):
            X[i, j] = min(max(Z[i, j], 0.0), u[j] * t)
        X[i, i] = t


def best(call: Callable[[], Any], repeats: int) -> float:
    """Least time of several calls, after one that is not counted."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


# The figures -------------------------------------------------------------------------------------------


def data(n: int, m: int = 150) -> np.ndarray:
    return np.random.default_rng(0).random((m, n))


def inner_seconds(M: np.ndarray, p: float, outer: int = 8, r: int = 10, **options: Any) -> float:
    """Best mean time per inner iteration over the later outer iterations, outer work included."""
    settings = {"lam": 1e-3, "rho": (1.0, 1.0, 1.0), "tol": 0, "inner_tol": 0, "max_outer": outer} | options
    sepnmf.admm(M, r, p=p, **(settings | {"max_outer": 1}))
    runs = [sepnmf.admm(M, r, p=p, **settings) for _ in range(3)]
    return min(float(np.median(np.diff(run.history["seconds"]))) / 10 for run in runs)


def against_bandwidth(quick: bool) -> list[tuple[str, float, str]]:
    rows = []
    for n in (1292,) if quick else (1292, 2048):
        passes = seven_passes(n)
        for p, bound in ((1, 3), (3, 5)):
            ratio = inner_seconds(data(n), p) / passes
            rows.append(
                (f"ADMM-P inner iteration, n = {n}, p = {p} / seven memory passes", ratio, f"≤ {bound}")
            )
    return rows


def against_transcription(quick: bool) -> list[tuple[str, float, str]]:
    rows = []
    for n, outer, bound in ((55, 10, 10), (100, 10, 10), *(() if quick else ((1292, 1, 40), (2048, 1, 40)))):
        M = data(n, 50 if n < 200 else 150)
        for p in (1, 3):
            rounds = 5 if n < 200 else 1  # in turn, the best of each: short times are the noisiest
            times = [
                (
                    plain_admm(M, p, 1e-3, (1.0, 1.0, 1.0), outer, 10 if n < 200 else 3),
                    inner_seconds(M, p),
                )
                for _ in range(rounds)
            ]
            ratio = min(plain for plain, _ in times) / min(ours for _, ours in times)
            rows.append(
                (f"plain transcription / ADMM-P inner iteration, n = {n}, p = {p}", ratio, f"≥ {bound}")
            )
    M, _ = sepnmf.datasets.make_midpoint(0.0, random_state=0)
    for p in (2, 3):
        options = {"p": p, "lam": 2.23e-4, "rho": (8.62e-5, 3.66, 1.48e-4), "tol": 0, "inner_tol": 0}
        seconds = best(lambda options=options: sepnmf.admm(M, 10, **options), 5)
        rows.append(
            (f"seconds for 1000 inner iterations, n = 55, p = {p}", seconds, "≤ 0.0657 (the paper's)")
        )
    return rows


def memory(quick: bool) -> list[tuple[str, float, str]]:
    n = 1000 if quick else 2000
    M, options = data(n), {"p": 3, "lam": 1e-3, "rho": (1.0, 1.0, 1.0), "max_outer": 2}
    sepnmf.admm(M[:, :300], 10, **options)  # what compiling takes is not the solver's
    tracemalloc.start()
    sepnmf.admm(M, 10, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [(f"peak memory of ADMM-P above the input, n = {n}, in n² float64", peak / (8 * n**2), "≤ 6")]


def nuclear(quick: bool) -> list[tuple[str, float, str]]:
    n = 500 if quick else 1292
    M = np.abs(sepnmf.datasets.make_dirichlet(0.01, m=150, n=n, r=20, random_state=0)[0])
    options = {"norm": "nuclear", "init": "spa", "rho": (0.1, 0.1, 0.1)}
    rows = []
    for r in (20, 10):  # a start of the answer's rank, and one of half of it
        fast = inner_seconds(M, 2, outer=4, r=r, **options)
        widest, norms.MAX_RANK_FRACTION = norms.MAX_RANK_FRACTION, 0.0
        try:
            settings = options | {"lam": 1e-3, "tol": 0, "inner_tol": 0, "max_outer": 1, "max_inner": 4}
            full = min(sepnmf.admm(M, r, p=2, **settings).seconds for _ in range(2)) / 4
        finally:
            norms.MAX_RANK_FRACTION = widest
        name = f"full SVD / low-rank inner iteration, nuclear norm, n = {n}, rank 20, from rank {r}"
        rows.append((name, full / fast, "≥ 10"))
    return rows


def plain_nuclear(M: np.ndarray, p: float, lam: float, rho: tuple, outer: int, inner: int) -> float:
    """Algorithm 2 in plain NumPy with the exact map, nuclear norm; seconds per inner iteration."""
    rho1, rho2, rho3 = rho
    n, w = M.shape[1], M.sum(axis=0)
    gram, eye = M.T @ M, np.eye(n)
    X, Y, U, Z, W = eye, eye, 0 * eye, eye, eye
    began = time.perf_counter()
    for _ in range(outer):
        A, V, S = Y - U / rho1, 0 * eye, 0 * eye
        for _ in range(inner):
            C = (rho1 * A + rho2 * (Z - V / rho2) + rho3 * (W - S / rho3)) / sum(rho)
            gamma = lam / (sum(rho) * np.linalg.norm(Z))
            left, s, right = np.linalg.svd(C)
            x = np.maximum(s - (gamma if p == 1 else sorted_threshold(s, gamma, p)), 0)
            X = (left * x) @ right
            C = X + V / rho2
            q = lam * x.sum() ** p / (rho2 * np.linalg.norm(C) ** 3)
            s = np.cbrt((27 * q + 2 + np.sqrt((27 * q + 2) ** 2 - 4)) / 2)
            Z = (1 + s + 1 / s) / 3 * C
            W = plain_projection(X + S / rho3, w)
            V = V + rho2 * (X - Z)
            S = S + rho3 * (X - W)
        Y = np.linalg.solve(gram + rho1 * eye, gram + rho1 * X + U)
        U = U + rho1 * (X - Y)
    return (time.perf_counter() - began) / (outer * inner)


def small_nuclear(_quick: bool) -> list[tuple[str, float, str]]:
    """At the paper's sizes, with parameters of its ADMM-P with p = 2 on Type 1 and Type 2 data."""
    rows = []
    type1, type2 = (2.23e-4, (8.62e-5, 3.66, 1.48e-4)), (9.2e-4, (1.0, 6.27, 0.0754))
    for n, (lam, rho) in ((55, type1), (100, type2), (200, type2)):
        if n == 55:
            M, _ = sepnmf.datasets.make_midpoint(0.01, random_state=0)
        else:
            M, _ = sepnmf.datasets.make_dirichlet(0.01, m=n // 2, n=n, r=n // 10, random_state=0)
        M = np.maximum(M, 0)
        options = {"norm": "nuclear", "lam": lam, "rho": rho, "n_jobs": 1}
        times = [
            (plain_nuclear(M, 2, lam, rho, 5, 10), inner_seconds(M, 2, r=n // 10, **options))
            for _ in range(5)
        ]
        ratio = min(plain for plain, _ in times) / min(ours for _, ours in times)
        rows.append((f"plain transcription / ADMM-P inner iteration, nuclear norm, n = {n}", ratio, NO_BAR))
    return rows


def projection(quick: bool) -> list[tuple[str, float, str]]:
    n = 1000 if quick else 2048
    rng = np.random.default_rng(0)
    w = rng.random(n) + 0.5
    Z = np.eye(n) + 0.02 * rng.standard_normal((n, n))
    X, Y, t = np.empty_like(Z), np.empty_like(Z), np.ones(n)
    sorting = best(lambda: sorting_projection(Z, w, Y), 3)
    rows = (0, n, np.empty(2))
    cold = best(lambda: omega.project(Z, 0.0, w, np.ones(n), X, *rows), 5)
    omega.project(Z, 0.0, w, t, X, *rows)
    near = Z + 1e-4 * rng.standard_normal((n, n))
    warm = best(lambda: omega.project(near, 0.0, w, t.copy(), X, *rows), 5)
    omega.project(Z, 0.0, w, np.ones(n), X, *rows)
    assert np.abs(X - Y).max() < 1e-12
    return [
        (f"sort-based projection / ours from cold, n = {n}, one thread", sorting / cold, "≥ 2"),
        (f"sort-based projection / ours warm, n = {n}, one thread", sorting / warm, "≥ 5"),
    ]


def growth(quick: bool) -> list[tuple[str, float, str]]:
    sizes = (500, 1000, 2000) if quick else (500, 1000, 2000, 4000)
    times = [inner_seconds(data(n), 1, outer=5) for n in sizes]
    exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    return [
        (f"exponent of the time per inner iteration in n, n = {sizes[0]} … {sizes[-1]}", exponent, "≤ 2.2")
    ]


def single_precision(quick: bool) -> list[tuple[str, float, str]]:
    n = 500 if quick else 1292
    double, single = inner_seconds(data(n), 1), inner_seconds(data(n).astype(np.float32), 1)
    return [(f"float64 / float32, ADMM-P inner iteration, n = {n}, p = 1", double / single, NO_BAR)]


def plain_dca(M: np.ndarray, lam: float, rho: float, beta: float, inner: int) -> float:
    """Algorithm 1 in plain NumPy for p = 1, entrywise norm; seconds per inner iteration."""
    n, w = M.shape[1], M.sum(axis=0)
    gram, eye = M.T @ M, np.eye(n)
    began = time.perf_counter()
    length = np.linalg.norm(eye)
    pull = (beta + np.abs(eye).sum() / length**2) * eye
    V, Z = eye, 0 * eye
    for _ in range(inner):
        X = np.linalg.solve(gram + (beta + rho) * eye, gram + pull + rho * (V - Z))
        V = plain_projection(X + Z - lam / rho, w)
        Z = Z + X - V
    return (time.perf_counter() - began) / inner


def dca(quick: bool) -> list[tuple[str, float, str]]:
    n = 500 if quick else 1292
    M = data(n)
    options = {"lam": 1e-3, "rho": 1.0, "beta": 1.0, "tol": 0, "inner_tol": 0, "max_outer": 4}
    sepnmf.dca(M, 10, **(options | {"max_outer": 1}))
    ours = min(np.median(np.diff(sepnmf.dca(M, 10, **options).history["seconds"])) / 10 for _ in range(3))
    R = np.random.default_rng(0).random((150, n))
    with Workers(n) as workers:
        X, fit = np.eye(n), Fit(R)
        products = best(lambda: fit.back(fit.product(X, workers), X, workers), 10)
    return [
        (
            f"plain transcription / DCA inner iteration, n = {n}, p = 1",
            plain_dca(M, 1e-3, 1, 1, 3) / ours,
            NO_BAR,
        ),
        (f"DCA inner iteration / its two products, n = {n}, p = 1", ours / products, NO_BAR),
    ]


HELP = "from sepnmf.cli import run; run()"


def fresh_process(_quick: bool) -> list[tuple[str, float, str]]:
    def call(code: str, **environment: str) -> None:
        command, env = [sys.executable, "-c", code], os.environ | environment
        subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)

    def run(code: str) -> float:
        return best(lambda: call(code), 3)

    with tempfile.TemporaryDirectory() as place:
        shown = f"from pathlib import Path; from sepnmf.cli import demo; demo(Path({place!r}))"
        warm = run(shown)
        began = time.perf_counter()
        call(shown, NUMBA_CACHE_DIR=f"{place}/cache")
        cold = time.perf_counter() - began
    return [
        ("seconds for `import sepnmf` in a fresh process", run("import sepnmf") - run("pass"), "≤ 0.5"),
        ("seconds for `sepnmf --help`", run("import sys; sys.argv = ['sepnmf', '--help']; " + HELP), "≤ 0.5"),
        ("seconds for compiling what `make demo` needs, without a cache", cold - warm, "≤ 20"),
    ]


FIGURES = [
    against_bandwidth,
    against_transcription,
    memory,
    nuclear,
    small_nuclear,
    projection,
    growth,
    single_precision,
    dca,
    fresh_process,
]


# The report --------------------------------------------------------------------------------------------


def verdict(value: float, bound: str) -> str:
    if bound == NO_BAR:
        return ""
    limit = float(re.findall(r"[\d.]+", bound)[0])
    return "holds" if (value <= limit if "≤" in bound else value >= limit) else "MISSED"


def last_results() -> dict[str, float]:
    if not RESULTS.exists():
        return {}
    return {
        name: float(value)
        for name, value in re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", RESULTS.read_text(), re.M)
    }


def processor() -> str:
    try:
        names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, nothing written")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    before, lines, slower = last_results(), [], []
    for figure in FIGURES:
        for name, value, bound in figure(quick):
            mark = verdict(value, bound)
            lines.append(f"| {name} | {value:.3g} | {bound} | {mark} |")
            print(f"{value:9.3g}  {bound:22s} {mark:7s} {name}", flush=True)
            if name in before:
                more_is_worse = "≤" in bound or name.startswith("DCA")
                slow, fast = (value, before[name]) if more_is_worse else (before[name], value)
                if slow > SLOWER * fast:
                    slower.append(f"{name}: {before[name]:.3g} before, {value:.3g} now")
    if not quick:
        head = (
            "# Speed of the ratio methods\n\n"
            "Written by `make bench`. Figures are ratios measured in one run, or times where they say so.\n\n"
            f"{processor()}, {available_cores()} cores; Python {platform.python_version()}, "
            f"NumPy {np.__version__}; load {os.getloadavg()[0]:.1f} at the end.\n\n"
            "| figure | value | wanted | |\n|---|---|---|---|\n"
        )
        RESULTS.write_text(head + "\n".join(lines) + "\n")
    for text in slower:
        print(f"SLOWER by more than 20 %: {text}")
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
