"""Commands under faults: interrupts, kills, full disks, read-only folders, damaged files, little memory.

    python fuzz/faults.py --times 3 --seconds 600

After each fault no half-written output is taken for a whole one, nothing that was there is lost, the message
is one line (besides lines of progress, and notes that an undisturbed run prints too), and nothing goes on
running. Faults that this system or user cannot cause are named and left out.
"""

import argparse
import errno
import functools
import http
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parents[1] / "src"
NOBODY = 65534
LONGEST = 120  # seconds of a command that is not interrupted
PROMPT = 2.0  # seconds until an interrupted command has ended, and until its children have
OFTEN = 0.05  # seconds between two looks at a process
# Lines of progress, and notes on what was taken for granted, which are printed before the work.
ALSO_PRINTED = re.compile(
    r"(selecting anchors|computing|writing|reading|checking|counting|choosing words|projecting|comparing"
    r"|opening|drawing|estimating|running the demonstration|pass \d+ over|geometry:?|Axes are taken as"
    r"|\d+ words|No candidates for anchor words|The text does not look"
    r"|mkdir -p failed for path|Matplotlib created a temporary)\b"
)
# Compiled libraries that have no memory end the process, which no program can catch.
ENDED_BY_LIBRARY = re.compile(
    "LLVM ERROR: out of memory|OpenBLAS error: Memory allocation|std::bad_alloc"
    "|cannot allocate memory for thread-local data"
)
SHAPE = (40, 50, 12)  # lines, samples and bands of the image


class Fell(Exception):
    """Something that must hold does not."""


class LeftOut(Exception):
    """The fault cannot be caused here."""


# Data and commands -------------------------------------------------------------------------------------


def write_data(folder: Path) -> None:
    """Write an image in several formats, a table, and texts."""
    rng = np.random.default_rng(0)
    lines, samples, bands = SHAPE
    pure = rng.random((bands, 4)) + 0.1
    weights = rng.dirichlet(np.ones(4) * 0.4, lines * samples).T
    weights[:, :4] = np.eye(4)
    cube = (pure @ weights + 0.001 * rng.random((bands, lines * samples))).T.reshape(SHAPE)
    np.save(folder / "scene.npy", cube)
    np.savez(folder / "scene.npz", cube=cube)
    np.savetxt(
        folder / "table.csv", cube.reshape(-1, bands)[:300].T, delimiter=",", header=",".join("x" * 300)
    )
    texts = folder / "texts"
    texts.mkdir()
    words = np.array([f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"])
    for number in range(30):
        (texts / f"{number}.txt").write_text(" ".join(rng.choice(words[number % 3 * 8 :][:10], 60)))
    from scipy.io import savemat

    savemat(folder / "scene.mat", {"cube": cube})
    with suppress(ImportError):
        from spectral.io import envi

        envi.save_image(str(folder / "scene.hdr"), cube.astype("f4"))
    with suppress(ImportError):
        import zarr

        zarr.save_array(str(folder / "scene.zarr"), cube)
    with suppress(ImportError):
        import xarray

        xarray.Dataset({"cube": (("y", "x", "band"), cube)}).to_netcdf(folder / "scene.nc", engine="h5netcdf")
    with suppress(ImportError):
        import rasterio

        profile = {"driver": "GTiff", "dtype": "float64", "count": bands, "height": lines, "width": samples}
        transform = rasterio.transform.from_origin(500, 500, 10, 10)
        with rasterio.open(folder / "scene.tif", "w", transform=transform, **profile) as image:
            image.write(cube.transpose(2, 0, 1))


def commands(data: Path) -> dict[str, list[str]]:
    """Return commands by their names; --out is added."""
    return {
        "select": ["select", f"{data}/table.csv", "-r", "4", "--axis", "columns", "--report"],
        "unmix": ["unmix", f"{data}/scene.npy", "-r", "4"],
        "compare": ["compare", f"{data}/table.csv", "-r", "3", "-m", "spa", "-m", "snpa"],
        "topics": ["topics", f"{data}/texts", "-r", "3"],
        "demo": ["demo"],
    }


REPRODUCE = ["reproduce", "geometry", "--quick", "--jobs", "2"]
ADDRESS = re.compile(r"http://([\d.:]+)(/\S+)")


def explore(data: Path) -> list[str]:
    """Return the command that serves a page; it writes nothing by itself."""
    return ["explore", f"{data}/table.csv", "-r", "3", "--no-browser"]


def check_all_commands_are_tried(data: Path) -> None:
    """Check that no command of the command line is missing here."""
    import typer

    from sepnmf.cli import app

    every = {*commands(data), "reproduce", "explore", "methods"}
    there = set(typer.main.get_command(app).commands)
    must(every == there, f"not tried: {there - every}")


class Run:
    """A command in a session of its own, so that its children can be found."""

    def __init__(
        self,
        words: list[str],
        env: dict[str, str] | None = None,
        before: Callable[[], None] | None = None,
        prefix: tuple[str, ...] = (sys.executable,),
    ) -> None:
        self.words, self.delayed = words, 0.0
        self.process = subprocess.Popen(
            [*prefix, "-m", "sepnmf", *words],
            env=os.environ | {"PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"} | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=before,  # noqa: PLW1509 - there are no threads
        )

    def end(self, limit: float = LONGEST) -> tuple[int, str]:
        """Wait for the end; return the exit code and the messages."""
        end = time.monotonic() + limit
        while True:
            with suppress(subprocess.TimeoutExpired):
                err = self.process.communicate(timeout=OFTEN)[1]
                return self.process.returncode, err
            self.delayed = self.seconds_without_core()
            if time.monotonic() > end:
                os.killpg(self.process.pid, signal.SIGKILL)
                err = self.process.communicate()[1]
                raise Fell(f"still running after {limit:g} s: {err[-300:]}")

    def seconds_without_core(self) -> float:
        """Return how long the process could have run but other programs had the cores; 0 if unknown."""
        with suppress(OSError, ValueError, IndexError):
            return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[1]) / 1e9
        return 0.0

    def end_after(self, which: signal.Signals, *, group: bool = False) -> tuple[int, str, float]:
        """Send a signal, to the group too if a terminal would; return how long the end took as well.

        Seconds in which other programs had the cores do not count.
        """
        sent, delayed = time.monotonic(), self.seconds_without_core()
        if group:
            os.killpg(self.process.pid, which)
        else:
            self.process.send_signal(which)
        code, err = self.end()
        return code, err, time.monotonic() - sent - max(self.delayed - delayed, 0.0)

    def children(self) -> list[int]:
        """Return the processes of the session that are alive."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                if fields[0] != "Z" and int(fields[3]) == self.process.pid:
                    found.append(int(path.parent.name))
        return found


def run(words: list[str], **options: Any) -> tuple[int, str]:
    """Run a command; return the exit code and the messages."""
    return Run(words, **options).end()


def must(holds: object, message: str) -> None:
    """Raise Fell if something does not hold."""
    if not holds:
        raise Fell(message)


def one_line(err: str, code: int, wanted: tuple[int, ...]) -> None:
    """Check the exit code, and that a failure has one line as its message, and a success no traceback."""
    must(code in wanted, f"exit code {code}: {err[-600:]}")
    must("Traceback" not in err, f"a traceback: {err[-600:]}")
    lines = [line for line in err.splitlines() if not ALSO_PRINTED.match(line)]
    must(code == 0 or len(lines) == 1, f"exit code {code} with {len(lines)} lines: {err[-600:]}")


def before_main(err: str, code: int) -> bool:
    """Whether Ctrl-C came while Python itself started or ended, where a program cannot catch it."""
    return code in (1, -signal.SIGINT) and "/sepnmf/" not in err


# What must hold of an output folder --------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_run(folder: Path) -> None:
    """Check that a folder has a complete run, or none."""
    manifest = folder / "run.json"
    if not manifest.exists():
        must(not folder.exists() or set(os.listdir(folder)) <= {"notes.txt"}, "files without a manifest")
        return
    record = json.loads(manifest.read_text())
    if not record["complete"]:
        return  # it says so itself
    for name in record["files"]:
        path = folder / name
        must(path.exists(), f"{name} is missing")
        must(not name.endswith(".part"), f"{name} is left")
        if name.endswith(".json"):
            json.loads(path.read_text())
        elif name.endswith(".npy"):
            np.load(path)
        elif name.endswith(".png"):
            must(path.read_bytes()[-8:-4] == b"IEND", f"{name} is cut short")
        elif name.endswith(".html"):
            must(path.read_text().rstrip().endswith("</html>"), f"{name} is cut short")


def left_over(folder: Path) -> list[str]:
    """Return the hidden files beside a folder."""
    return [path.name for path in folder.parent.iterdir() if path.name.startswith(".")]


# Faults ------------------------------------------------------------------------------------------------

FAULTS: dict[str, Callable[["Place"], None]] = {}


class Place:
    """A new folder for one repetition, and what all repetitions share."""

    def __init__(self, folder: Path, data: Path, seed: str) -> None:
        self.folder, self.data, self.random = folder, data, random.Random(seed)

    def command(self) -> list[str]:
        """Return one of the commands, with its output folder."""
        return [*self.random.choice(list(commands(self.data).values())), "--out", str(self.folder / "o")]


def fault(function: Callable[[Place], None]) -> Callable[[Place], None]:
    """Add a fault to the list."""
    FAULTS[function.__name__.replace("_", "-")] = function
    return function


@functools.cache
def seconds_of(*words: str) -> float:
    """Return how long a command takes."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        code, err = run([*words, "--out", f"{folder}/o"])
    must(code == 0, f"{' '.join(words)} fails without a fault: {err[-300:]}")
    return time.monotonic() - begin


def at_a_random_moment(place: Place, words: list[str], out: Path) -> tuple[Run, dict[str, bytes]]:
    """Start a command and wait; its folder may have an earlier run and a user's file."""
    out.parent.mkdir()
    if place.random.random() < 0.5:
        must(run([*words, "--out", str(out)])[0] == 0, f"{words[0]} fails without a fault")
        (out / "notes.txt").write_text("mine")
    before = contents(out) if out.exists() else {}
    started = Run([*words, "--out", str(out)])
    time.sleep(place.random.uniform(0.2, seconds_of(*words)))
    return started, before


def check_signalled(out: Path, started: Run, before: dict[str, bytes]) -> None:
    """Check the folder after a signal, and that the next run tidies up."""
    check_run(out)
    now = contents(out) if out.exists() else {}
    must("notes.txt" not in before or now.get("notes.txt") == b"mine", "a file of the user is lost")
    must(set(before) <= set(now) or not before, f"lost: {set(before) - set(now)}")
    must(run(started.words)[0] == 0, "the next run fails")
    check_run(out)
    must(not left_over(out), f"left beside the folder after the next run: {left_over(out)}")


def check_interrupted(code: int, err: str, waited: float, wanted: tuple[int, ...] = (0, 130)) -> None:
    """Check the exit code and the message after Ctrl-C, and that the end came soon."""
    if not before_main(err, code):
        one_line(err, code, wanted)
    must(waited < PROMPT or code == 0, f"ended {waited:.1f} s after the signal: {err[-300:]}")


@fault
def interrupt(place: Place) -> None:
    """SIGINT at a random moment of every command that writes a run."""
    for name, words in commands(place.data).items():
        out = place.folder / name / "o"
        started, before = at_a_random_moment(place, words, out)
        code, err, waited = started.end_after(signal.SIGINT, group=place.random.random() < 0.5)
        with named(name):
            check_interrupted(code, err, waited)
            must(code == 0 or not left_over(out), f"left beside the folder: {left_over(out)}")
            check_signalled(out, started, before)


@fault
def kill(place: Place) -> None:
    """SIGKILL at a random moment of every command that writes a run."""
    for name, words in commands(place.data).items():
        out = place.folder / name / "o"
        started, before = at_a_random_moment(place, words, out)
        started.end_after(signal.SIGKILL)
        with named(name):
            check_signalled(out, started, before)


@contextmanager
def named(command: str) -> Iterator[None]:
    """Say which command fell."""
    try:
        yield
    except Fell as reason:
        raise Fell(f"{command}: {reason}") from None


def check_nothing_runs(started: Run) -> None:
    """Check that the children of a process that has ended end too."""
    end = time.monotonic() + PROMPT
    while started.children() and time.monotonic() < end:
        time.sleep(OFTEN)
    must(not started.children(), f"still running: {[said_by(pid) for pid in started.children()]}")


def said_by(pid: int) -> str:
    """Return the command line of a process."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:200]
    return ""


@fault
def interrupt_reproduce(place: Place) -> None:
    """SIGINT of `reproduce`, with processes of joblib or of Dask: they end too, and --resume goes on."""
    out = place.folder / "o"
    words = [*REPRODUCE, "--out", str(out)]
    dask = ["--dask", "local"] if place.random.random() < 0.5 else []
    started = Run([*words, *dask])
    time.sleep(place.random.uniform(0.2, seconds_of(*REPRODUCE, *dask)))
    code, err, waited = started.end_after(signal.SIGINT, group=place.random.random() < 0.5)
    check_interrupted(code, err, waited)
    check_nothing_runs(started)
    code, err = run([*words, "--resume"])
    one_line(err, code, (0,))
    must(not [name for name in contents(out) if name.endswith(".new")], "a temporary file is left")


@functools.cache
def seconds_to_serve(data: Path) -> float:
    """Return how long it takes until the explorer listens."""
    begin, started = time.monotonic(), Run(explore(data))
    said = started.process.stdout.readline()  # type: ignore[union-attr]
    took = time.monotonic() - begin
    started.process.kill()
    must(ADDRESS.search(said), f"explore fails without a fault: {said}{started.end()[1]}")
    return took


@fault
def end_explore(place: Place) -> None:
    """SIGINT and SIGKILL of `explore` at random moments, before it listens and afterwards."""
    for which in (signal.SIGINT, signal.SIGKILL):
        started = Run(explore(place.data))
        time.sleep(place.random.uniform(0.2, 1.5 * seconds_to_serve(place.data)))
        code, err, waited = started.end_after(which, group=place.random.random() < 0.5)
        if which == signal.SIGINT:
            check_interrupted(code, err, waited, (130,))
        check_nothing_runs(started)


@fault
def end_methods(place: Place) -> None:
    """SIGINT of `methods`, which writes nothing, at a random moment."""
    started = Run(["methods"])
    time.sleep(place.random.uniform(0.1, 2))
    check_interrupted(*started.end_after(signal.SIGINT))


@fault
def kill_reproduce(place: Place) -> None:
    """SIGKILL of `reproduce`: its workers end too, and --resume gives the tables of an undisturbed run."""
    out = place.folder / "o"
    words = [*REPRODUCE, "--out", str(out)]
    started = Run(words)
    time.sleep(place.random.uniform(1, seconds_of(*REPRODUCE)))
    started.process.kill()
    # communicate() would wait for workers that hold the pipes
    started.process.wait()
    check_nothing_runs(started)
    code, err = run([*words, "--resume"])
    one_line(err, code, (0,))
    must(not [name for name in contents(out) if name.endswith(".new")], "a temporary file is left")


@contextmanager
def small_disk(folder: Path, size: int, *, read_only: bool = False) -> Iterator[Path]:
    """Yield the folder of a file system of a few bytes."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True, check=False
    )
    if done.returncode:
        raise LeftOut("a file system cannot be mounted by this user")
    try:
        if read_only:
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@fault
def full_disk(place: Place) -> None:
    """A disk that is full at a random moment, in every format of maps."""
    scenes = sorted(path for path in place.data.iterdir() if path.stem == "scene" and path.suffix != ".img")
    scene = place.random.choice(scenes)
    options = ["--shape", f"{SHAPE[0]}x{SHAPE[1]}"] if scene.suffix == ".npz" else []
    words = ["unmix", str(scene), "-r", "4", "-m", "spa", *options, "--report"]
    with small_disk(
        place.folder / "disk", place.random.choice([16, 48, 96, 160, 240, 400, 700]) * 1024
    ) as disk:
        out = disk / "o"
        code, err = run([*words, "--out", str(out)])
        one_line(err, code, (0, 2))
        check_run(out)
        must(code == 0 or not left_over(out), f"left beside the folder: {left_over(out)}")
        before = contents(out) if out.exists() else {}
        (disk / "filler").write_bytes(b"")
        with suppress(OSError), (disk / "filler").open("wb", buffering=0) as stream:
            while True:
                stream.write(bytes(4096))
        code, err = run([*words, "--out", str(out)])
        one_line(err, code, (2,))
        must((contents(out) if out.exists() else {}) == before, "the last run has changed")


@fault
def full_disk_reproduce(place: Place) -> None:
    """A disk that is full while experiments run; later they go on."""
    with small_disk(place.folder / "disk", place.random.choice([8, 40, 80, 160]) * 1024) as disk:
        out = disk / "o"
        code, err = run([*REPRODUCE, "--out", str(out)])
        one_line(err, code, (2,))
        subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
        code, err = run([*REPRODUCE, "--out", str(out), "--resume"])
        one_line(err, code, (0,))


@fault
def largest_file(place: Place) -> None:
    """A limit on the size of files."""
    size = place.random.choice([1000, 5000, 20_000, 60_000])
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))
    code, err = run(place.command(), before=limit)
    one_line(err, code, (0, 2))
    check_run(place.folder / "o")
    must(not left_over(place.folder / "o"), "left beside the folder")


@functools.cache
def failing_writes(folder: Path) -> Path:
    """Compile what makes calls of the C library fail."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        raise LeftOut("needs Linux and a C compiler")
    library, source = folder / "failing_writes.so", Path(__file__).with_name("failing_writes.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def failing_calls(place: Place, error: int) -> None:
    """Let calls that write fail, once or from then on, with an earlier run in the folder or without."""
    words, out = place.command(), place.folder / "o"
    env = {
        "LD_PRELOAD": str(failing_writes(place.data)),
        "FAULT_FOLDER": str(place.folder),
        "FAULT_ERROR": str(error),
        "FAULT_AFTER": str(int(place.random.expovariate(1 / 12))),
        "FAULT_CALLS": str(place.random.choice([1, 10**6])),
    }
    if place.random.random() < 0.5:
        must(run(words)[0] == 0, "it fails without a fault")
        (out / "notes.txt").write_text("mine")
    before = contents(out) if out.exists() else {}
    code, err = run(words, env=env)
    one_line(err, code, (0, 2))
    check_run(out)
    now = contents(out) if out.exists() else {}
    if "Other files are in" in err:  # renames fail from now on, also those that would undo the first ones
        must(not json.loads(now["run.json"])["complete"], "half a run is called complete")
        kept = set(contents(place.folder).values())
        lost = [name for name, content in before.items() if content not in kept]
        must(not lost, f"lost: {lost}, {err[-300:]}")
    else:
        must(code == 0 or not left_over(out), f"left beside the folder: {left_over(out)}")
        must(code == 0 or now == before, f"the last run has changed: {changed(before, now)}, {err[-300:]}")
    must(run(words)[0] == 0, "the next run fails")
    must(not left_over(out), f"left beside the folder after the next run: {left_over(out)}")
    must("notes.txt" not in before or (out / "notes.txt").read_text() == "mine", "a user's file is lost")


def changed(before: dict[str, bytes], now: dict[str, bytes]) -> list[str]:
    """Name the files that differ."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


@fault
def input_output_error(place: Place) -> None:
    """EIO from a call that writes."""
    failing_calls(place, errno.EIO)


@fault
def no_permission(place: Place) -> None:
    """EACCES from a call that opens a file for writing, makes a folder, or renames."""
    failing_calls(place, errno.EACCES)


def failing_calls_of_reproduce(place: Place, error: int) -> None:
    """Let calls that write fail while experiments run; later they go on."""
    out = place.folder / "o"
    env = {
        "LD_PRELOAD": str(failing_writes(place.data)),
        "FAULT_FOLDER": str(place.folder),
        "FAULT_ERROR": str(error),
        "FAULT_AFTER": str(int(place.random.expovariate(1 / 30))),
        "FAULT_CALLS": str(place.random.choice([1, 10**6])),
    }
    code, err = run([*REPRODUCE, "--out", str(out)], env=env)
    one_line(err, code, (0, 2))
    code, err = run([*REPRODUCE, "--out", str(out), "--resume"])
    one_line(err, code, (0,))
    must(not [name for name in contents(out) if name.endswith(".new")], "a temporary file is left")


@fault
def failing_disk_reproduce(place: Place) -> None:
    """EIO or EACCES while experiments run; later they go on."""
    failing_calls_of_reproduce(place, place.random.choice([errno.EIO, errno.EACCES]))


def kill_children(started: Run, place: Place, most: int) -> int:
    """Kill a child again and again while a command runs; return how many were killed."""
    killed, end = 0, time.monotonic() + LONGEST
    while started.process.poll() is None and killed < most and time.monotonic() < end:
        time.sleep(place.random.uniform(0.3, 1.5))
        others = [pid for pid in started.children() if pid != started.process.pid and is_worker(pid)]
        if others:
            with suppress(ProcessLookupError):
                os.kill(place.random.choice(others), signal.SIGKILL)
                killed += 1
    return killed


def is_worker(pid: int) -> bool:
    """Whether a process runs trials: a worker of joblib's pool or of Dask."""
    with suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        return (b"loky" in line and b"resource_tracker" not in line) or b"spawn_main" in line
    return False


@fault
def killed_workers(place: Place) -> None:
    """Workers of `reproduce` are killed again and again: one line, and --resume goes on."""
    out = place.folder / "o"
    words = [*REPRODUCE, "--out", str(out)]
    dask = place.random.random() < 0.5
    started = Run([*words, *(("--dask", "local") if dask else ())])
    kill_children(started, place, 30)
    code, err = started.end(2 * LONGEST)
    one_line(err, code, (0, 2))
    check_nothing_runs(started)
    code, err = run([*words, "--resume"])
    one_line(err, code, (0,))


@fault
def read_only(place: Place) -> None:
    """A folder on a read-only file system."""
    with small_disk(place.folder / "disk", 2**20, read_only=True) as disk:
        words = place.random.choice([*commands(place.data).values(), REPRODUCE])
        code, err = run([*words, "--out", str(disk / "o")])
        one_line(err, code, (2,))


@fault
def damaged_store(place: Place) -> None:
    """Damage to the store, the manifest or a table, and --resume."""
    out = place.folder / "o"
    words = [*REPRODUCE, "--out", str(out)]
    must(run(words)[0] == 0, "it fails without a fault")
    files = [out / "results.sqlite", out / "paper/manifest.json", *out.glob("paper/*.parquet")]
    file = place.random.choice(files)
    content = bytearray(file.read_bytes())
    kind = place.random.choice(["empty", "cut", "garbage", "bytes", "locked"])
    if kind == "locked":
        with closing(sqlite3.connect(out / "results.sqlite")) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            code, err = run([*words, "--resume"])
            one_line(err, code, (0, 2))
        return
    if kind == "empty":
        content = bytearray()
    elif kind == "cut":
        del content[place.random.randrange(len(content)) :]
    elif kind == "garbage":
        content = bytearray(place.random.randbytes(len(content)))
    else:
        for _ in range(20):
            content[place.random.randrange(len(content))] = place.random.randrange(256)
    file.write_bytes(content)
    before = file.read_bytes()
    code, err = run([*words, "--resume"])
    one_line(err, code, (0, 2))
    must(code == 0 or file.suffix == ".parquet" or file.read_bytes() == before, f"{file.name} was changed")
    code, err = run(["reproduce", "--page", "--out", str(out)])
    one_line(err, code, (0, 2))


@fault
def two_runs(place: Place) -> None:
    """Two runs on one folder at the same time."""
    words = place.command()
    first, second = Run(words), Run(words)
    ends = [first.end(), second.end()]
    for code, err in ends:
        one_line(err, code, (0, 2))
    must(0 in [code for code, _ in ends], f"both ended with {ends}")
    check_run(place.folder / "o")
    must(not left_over(place.folder / "o"), "left beside the folder")


@fault
def two_runs_reproduce(place: Place) -> None:
    """Two runs of experiments on one folder: one of them ends well, and no run is missing in the manifest."""
    out = place.folder / "o"
    words = [*REPRODUCE, "--resume", "--out", str(out)]
    first = Run(words)
    time.sleep(place.random.choice([0, place.random.uniform(0, seconds_of(*REPRODUCE))]))
    second = Run(words)
    ends = [first.end(), second.end()]
    for code, err in ends:
        one_line(err, code, (0, 2))
    well = [code for code, _ in ends].count(0)
    runs = json.loads((out / "paper/manifest.json").read_text()) if well else []
    must(well, f"both ended with {ends}")
    must(len(runs) == well and all("seconds" in one for one in runs), f"{well} runs, in the manifest: {runs}")
    must(not [name for name in contents(out) if name.endswith(".new")], "a temporary file is left")
    one_line(*reversed(run(words)), (0,))


@fault
def little_memory(place: Place) -> None:
    """A limit on the memory of the process."""
    size = place.random.randrange(500, 2500) * 2**20
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_AS, (size, size))
    words, out = place.command(), place.folder / "o"
    code, err = run(words, before=limit)
    check_run(out)
    if not ENDED_BY_LIBRARY.search(err):
        one_line(err, code, (0, 2))
        must(not left_over(out), "left beside the folder")
    must(run(words)[0] == 0, "the next run fails")
    check_run(out)
    must(not left_over(out), "left beside the folder after the next run")


@fault
def little_memory_others(place: Place) -> None:
    """A limit on the memory of `reproduce`, which goes on without it, of `explore` and of `methods`."""
    size = place.random.randrange(300, 2500) * 2**20
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_AS, (size, size))
    words = [*REPRODUCE, "--out", str(place.folder / "o")]
    with named("reproduce"):
        started = Run(words, before=limit)
        code, err = started.end()
        if not ENDED_BY_LIBRARY.search(err):
            one_line(err, code, (0, 2))
        check_nothing_runs(started)
        code, err = run([*words, "--resume"])
        one_line(err, code, (0,))
    with named("explore"):
        started = Run(explore(place.data), before=limit)
        if ADDRESS.search(started.process.stdout.readline()):  # type: ignore[union-attr]
            check_interrupted(*started.end_after(signal.SIGINT), (130,))
        else:
            code, err = started.end()
            if not ENDED_BY_LIBRARY.search(err):
                one_line(err, code, (2,))
    with named("methods"):
        code, err = run(["methods"], before=limit)
        one_line(err, code, (0, 2))


@fault
def cold_cache(place: Place) -> None:
    """Eight processes that compile the same kernels into one empty cache, which is then damaged."""
    cache = place.folder / "cache"
    env = {"NUMBA_CACHE_DIR": str(cache)}
    words = ["select", f"{place.data}/table.csv", "-r", "4", "-m", "merit", "--axis", "columns"]
    runs = [Run([*words, "--out", str(place.folder / f"o{k}")], env) for k in range(8)]
    for one in runs:
        one_line(*reversed(one.end(3 * LONGEST)), (0,))
    answers = {(place.folder / f"o{k}/weights.csv").read_bytes() for k in range(8)}
    must(len(answers) == 1, "the answers differ")
    files = [path for path in cache.rglob("*") if path.is_file()]
    must(files, "nothing was cached")
    for file in place.random.sample(files, len(files) // 2):
        file.write_bytes(place.random.choice([b"", place.random.randbytes(3000)]))
    for name in ("o0", "o1"):
        code, err = run([*words, "--out", str(place.folder / name)], env=env)
        one_line(err, code, (0,))
    must((place.folder / "o1/weights.csv").read_bytes() in answers, "another answer after the damage")


EVERY_METHOD = """
import numpy as np
import sepnmf
M = sepnmf.datasets.make_dirichlet(0.01, m=12, n=30, r=3, random_state=0)[0]
needed = {"admm": {"lam": 1.0, "rho": (1.0, 1.0, 1.0)}, "dca": {"lam": 1.0, "rho": 1.0, "beta": 1.0}}
for name in sepnmf.METHODS:
    found = sepnmf.select(M, 3, name, negative="allow", **needed.get(name, {}))
    assert len(set(found.anchors.tolist())) == 3, name
assert np.isfinite(sepnmf.nnls(M[:, found.anchors], M)).all()
assert sepnmf.estimate_rank(M, negative="allow").low >= 1
assert sepnmf.SeparableNMF(3, negative="allow").fit(M.T).components_.shape == (3, 12)
"""


def as_nobody(place: Place, temporary: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return how commands of a user without home or writable installation begin, and their environment."""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise LeftOut("needs root and setpriv")
    prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    # Workers run sys.executable again, without what setpriv may still be allowed to do.
    again = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', '']).returncode)"
    for python in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        if not subprocess.run([*prefix, python, "-c", again], capture_output=True, check=False).returncode:
            break
    else:
        raise LeftOut(f"no Python {version} that another user may run")
    for folder in (place.folder.parent, place.folder):
        folder.chmod(0o755)
    for name in ("out", "tmp"):
        (place.folder / name).mkdir()
        os.chown(place.folder / name, NOBODY, NOBODY)
    site = sysconfig.get_paths()["purelib"]
    env = {"HOME": "/nonexistent", "PYTHONPATH": f"{SOURCE}:{site}", "PYTHONDONTWRITEBYTECODE": "1"}
    return (*prefix, python), env | {"TMPDIR": temporary, "OPENBLAS_NUM_THREADS": "1"}


@fault
def nobody(place: Place) -> None:
    """A user without a home or a writable installation: every command, or one where nothing can be cached."""
    cached = place.random.random() < 0.5
    prefix, env = as_nobody(place, str(place.folder / "tmp") if cached else "/nonexistent")
    every = [*commands(place.data).items(), ("reproduce", REPRODUCE)]
    for name, words in every if cached else [place.random.choice(every)]:
        out = place.folder / "out" / name
        code, err = run([*words, "--out", str(out)], env=env, prefix=prefix)
        one_line(err, code, (0,))
        written = out / ("results.sqlite" if name == "reproduce" else "run.json")
        must(written.exists(), f"{name} wrote nothing")
    code, err = run(["methods"], env=env, prefix=prefix)
    one_line(err, code, (0,))
    started = Run(explore(place.data), env=env, prefix=prefix)
    said = started.process.stdout.readline()  # type: ignore[union-attr]
    page = ADDRESS.search(said)
    if page:
        connection = HTTPConnection(page[1], timeout=LONGEST)
        connection.request("GET", page[2])
        status = connection.getresponse().status
        connection.close()
        must(status == http.HTTPStatus.OK, f"explore answers with {status}")
    code, err, waited = started.end_after(signal.SIGINT)
    must(page, f"explore does not listen: {said}{err[-500:]}")
    check_interrupted(code, err, waited, (130,))


@fault
def nobody_in_python(place: Place) -> None:
    """A user without a home or a writable installation: import, every method, and what uses methods."""
    prefix, env = as_nobody(place, str(place.random.choice([place.folder / "tmp", "/nonexistent"])))
    done = subprocess.run(
        [*prefix, "-W", "ignore", "-c", EVERY_METHOD],
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=5 * LONGEST,
        check=False,
    )
    must(done.returncode == 0 and not done.stderr, f"exit code {done.returncode}: {done.stderr[-500:]}")


INTERRUPTED = """
import random, signal, sys, time
import numpy as np
import scipy.linalg  # its own BLAS
import sepnmf
from threadpoolctl import threadpool_info, threadpool_limits

def threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

def interrupt(*_):
    raise KeyboardInterrupt

seed, times = map(int, sys.argv[1:])
rng = random.Random(seed)
M, _ = sepnmf.datasets.make_dirichlet(0.05, m=30, n=260, r=5, random_state=seed)
names = ["auto", "merit", "fgnsr", "snpa"]
seeded = {"auto": {"random_state": 0}, "fgnsr": {"random_state": 0}}  # the others draw nothing

def select(name):
    return sepnmf.select(M, 5, name, negative="allow", **seeded.get(name, {})).anchors.tolist()

threadpool_limits(3, user_api="blas")
before = threads()
want, took = {}, {}
for name in names:
    for _ in range(2):  # the first call compiles
        begin = time.monotonic()
        want[name] = select(name)
        took[name] = time.monotonic() - begin
signal.signal(signal.SIGALRM, interrupt)
hits = 0
for k in range(times):
    name = rng.choice(names)
    moment = rng.uniform(1e-4, took[name])
    begin = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, moment)
        select(name)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        hits += 1
    late = time.monotonic() - begin - max(moment, took[name])
    assert threads() == before, f"{name}: BLAS has {threads()} threads, not {before}"
    assert late < 2, f"{name}: {late:.1f} s late"
for name, anchors in want.items():
    assert select(name) == anchors, f"{name}: another answer"
print(hits)
"""


@fault
def interrupts_in_python(place: Place) -> None:
    """Exceptions at 100 random moments of methods: BLAS keeps its threads, the answers stay the same."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(place.random.randrange(1000)), "100"],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=5 * LONGEST,
        check=False,
    )
    must(done.returncode == 0, done.stderr[-500:])


# All of them -------------------------------------------------------------------------------------------


def main() -> int:
    """Cause the faults in turn, until each had its repetitions or the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", "--repeat", type=int, default=3, help="how often each fault (3)")
    parser.add_argument("--seconds", type=float, default=600, help="no repetition begins later (600)")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments (0)")
    parser.add_argument("--only", nargs="+", choices=list(FAULTS), help="some of the faults")
    given = parser.parse_args()
    # A shell that runs this in the background has its children ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    names, end = given.only or list(FAULTS), time.monotonic() + given.seconds
    counts, left_out, fell = dict.fromkeys(names, 0), {}, []
    with tempfile.TemporaryDirectory(prefix="sepnmf-faults-") as root:
        data = Path(root, "data")
        data.mkdir()
        write_data(data)
        check_all_commands_are_tried(data)
        for repetition in range(given.times):
            for name in names:
                if time.monotonic() > end or name in left_out:
                    continue
                folder = Path(root, f"{name}-{repetition}")
                folder.mkdir()
                try:
                    FAULTS[name](Place(folder, data, f"{given.seed} {name} {repetition}"))
                except LeftOut as reason:
                    left_out[name] = str(reason)
                    continue
                except Fell as reason:
                    fell.append(f"{name} {repetition}: {' '.join(str(reason).split())}")
                    print(f"fell: {fell[-1]}", flush=True)
                counts[name] += 1
                shutil.rmtree(folder, ignore_errors=True)
    for name in names:
        failures = sum(line.startswith(f"{name} ") for line in fell)
        print(f"{name:22} {left_out.get(name) or f'{counts[name]} times, {failures} fell'}")
    return bool(fell) or not any(counts.values())


if __name__ == "__main__":
    sys.exit(main())
