"""Damaged files of every format, read in another process with limits on memory and time.

Each file is one that a library of its format wrote, changed at random. Reading it must give data, or a
ValueError or an OSError of one line. All else is saved for the tests, which read it again.

    python fuzz/files.py --seconds 600 --seed 0
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

SAVED = Path(__file__).parents[1] / "tests" / "fuzz_seeds"
SECONDS, ADDRESSES, GROWTH = 20, 3 * 2**30, 1_500_000  # per file: time, bytes of addresses, KiB of memory
LARGEST_SAVED = 200_000  # bytes of a file that is saved

INTEGERS = [0, 1, 2, 127, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1]
WORDS = [
    "0",
    "-1",
    "1",
    "65536",
    "4294967296",
    "9" * 19,
    "9" * 900,
    "1e308",
    "1e999",
    "nan",
    "inf",
    "True",
    "",
    "x",
]
VALUES = [
    None,
    True,
    0,
    -1,
    1.5,
    2**31,
    2**63,
    10**30,
    "",
    "nan",
    "x" * 100,
    [],
    {},
    [1],
    [[1]],
    {"name": "x"},
]
VALUES += ["pickle", {"id": "pickle"}, [0, 0], "|O", "<f4", "gzip", "zlib", "blosc", "string"]


# Files as libraries write them.


def make_seeds(folder):
    """Write a few files of every format, and return their paths; a folder is a file, too."""
    import anndata
    import h5py
    import pandas as pd
    import rasterio
    import xarray as xr
    import zarr
    from scipy import io as scipy_io
    from scipy import sparse
    from spectral.io import envi

    rng = np.random.default_rng(0)
    M, cube = rng.random((5, 7)).round(3), rng.random((4, 6, 3))
    sparse_M = sparse.random_array((6, 9), density=0.4, random_state=rng, format="csc")
    names = [f"n{k}" for k in range(7)]
    frame = pd.DataFrame(M, columns=names, index=[f"row {k}" for k in range(5)])
    scene = xr.Dataset(
        {"scene": (("y", "x", "band"), cube, {"scale_factor": 0.5, "_FillValue": -1.0})},
        {
            "band": [1.0, 2.0, 3.0],
            "y": np.arange(4.0),
            "x": np.arange(6.0),
            "label": ("band", ["a", "b", "c"]),
        },
    )

    np.save(folder / "matrix.npy", M)
    np.save(folder / "image.npy", np.asfortranarray(cube.astype(">f4")))
    np.savez(folder / "arrays.npz", A=M, names=np.array(names))
    np.savez_compressed(folder / "packed.npz", A=cube)
    sparse.save_npz(folder / "sparse.npz", sparse_M)
    frame.to_csv(folder / "table.csv")
    frame.to_csv(folder / "table.tsv", sep="\t", index=False)
    frame.to_csv(folder / "european.csv", sep=";", decimal=",")
    np.savetxt(folder / "plain.txt", M)
    frame.to_parquet(folder / "index.parquet")
    frame.reset_index(drop=True).to_parquet(folder / "numbers.parquet", compression="zstd")
    variables = {"A": M, "cube": cube[:1, :, 0], "nRow": 1.0, "nCol": 7.0, "s": {"inner": M}}
    scipy_io.savemat(folder / "plain.mat", variables)
    scipy_io.savemat(folder / "packed.mat", {"A": cube}, do_compression=True)
    scipy_io.savemat(folder / "sparse.mat", {"A": sparse_M})
    for name, dense in (("dense73.mat", True), ("sparse73.mat", False)):
        with h5py.File(folder / name, "w", userblock_size=512) as content:
            if dense:
                content.create_dataset("A", data=M.T, chunks=(4, 5), compression="gzip")
            else:
                content.create_group("A").attrs["MATLAB_sparse"] = 6
                content["A/data"], content["A/ir"] = sparse_M.data, sparse_M.indices
                content["A/jc"] = sparse_M.indptr
            content["A"].attrs["MATLAB_class"] = np.bytes_("double")
        with (folder / name).open("r+b") as stream:
            stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    (folder / "envi").mkdir()
    metadata = {"wavelength": ["1", "2", "3"], "data ignore value": "-1", "bbl": ["1", "1", "0"]}
    envi.save_image(str(folder / "envi" / "image.hdr"), cube, interleave="bil", metadata=metadata)
    scipy_io.mmwrite(folder / "coordinates.mtx", sparse_M)
    scipy_io.mmwrite(folder / "dense.mtx", M)
    (folder / "tenx").mkdir()
    with gzip.open(folder / "tenx" / "matrix.mtx.gz", "wb") as stream:
        scipy_io.mmwrite(stream, sparse_M)
    (folder / "tenx" / "features.tsv").write_text("".join(f"g{k}\tsymbol{k}\tx\n" for k in range(6)))
    (folder / "tenx" / "barcodes.tsv").write_text("".join(f"c{k}\n" for k in range(9)))
    for version in (2, 3):
        zarr.create_array(
            str(folder / f"array{version}.zarr"), data=cube, chunks=(3, 4, 2), zarr_format=version
        )
        scene.to_zarr(folder / f"group{version}.zarr", zarr_format=version)
    zarr.create_array(str(folder / "shards.zarr"), data=cube, chunks=(2, 3, 3), shards=(4, 6, 3))
    zarr.create_array(str(folder / "gzip.zarr"), data=M, chunks=(3, 4), compressors=zarr.codecs.GzipCodec())
    options = {"driver": "GTiff", "height": 4, "width": 6, "count": 3, "dtype": "float32", "nodata": -1}
    packed = {"compress": "deflate", "tiled": True, "blockxsize": 16, "blockysize": 16}
    for name, more in (("plain.tif", {}), ("packed.tif", packed)):
        with rasterio.open(folder / name, "w", **options, **more) as image:
            image.write(np.moveaxis(cube, 2, 0).astype("f4"))
    scene.to_netcdf(folder / "four.nc", engine="h5netcdf", encoding={"scene": {"zlib": True}})
    scene.to_netcdf(folder / "three.nc", engine="scipy")
    with h5py.File(folder / "plain.h5", "w") as content:
        options = {"chunks": (2, 3, 3), "compression": "gzip", "shuffle": True, "fletcher32": True}
        content.create_dataset("group/scene", data=cube, **options)
        content["group/wavelength"] = [1.0, 2.0, 3.0]
        content["names"] = ["a", "b", "c"]
    for name, X in (("dense.h5ad", M), ("sparse.h5ad", sparse.csr_matrix(M * (M > 0.3)))):
        cells = anndata.AnnData(X, pd.DataFrame(index=frame.index), pd.DataFrame(index=names))
        cells.write_h5ad(folder / name, compression="gzip")
    return sorted(folder.iterdir())


# Changes.


def changed(content, name, rng):
    """Return the bytes of a file with one to four changes."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        changes = [flipped, overwritten, truncated, repeated, removed, moved, numbered]
        if is_text(content):
            changes += [reworded] * 6
        if name.endswith((".json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")):
            changes += [restructured] * 20
        if name.endswith((".npz", ".gz")):
            changes += [repacked] * 8
        content = changes[rng.integers(len(changes))](content, rng)
    return content


def is_text(content):
    return b"\0" not in content[:1000]


def place_in(content, rng):
    """A random place, half of the time near the beginning or the end, where headers are."""
    size = max(len(content), 1)
    near = min(int(rng.exponential(100)), size - 1)
    return int([rng.integers(size), rng.integers(size), near, size - 1 - near][rng.integers(4)])


def flipped(content, rng):
    found = bytearray(content or b"\0")
    for _ in range(rng.choice([1, 1, 3, 10])):
        found[place_in(content, rng)] ^= 1 << rng.integers(8)
    return bytes(found)


def overwritten(content, rng):
    place = place_in(content, rng)
    noise = rng.bytes(int(rng.choice([1, 2, 4, 16])))
    return content[:place] + noise + content[place + len(noise) :]


def numbered(content, rng):
    """Write an integer at which counters overflow."""
    place, width = place_in(content, rng), int(rng.choice([1, 2, 4, 8]))
    value = INTEGERS[rng.integers(len(INTEGERS))] % 2 ** (8 * width)
    order = ["little", "little", "big"][rng.integers(3)]
    return content[:place] + value.to_bytes(width, order) + content[place + width :]


def truncated(content, rng):
    return content[: place_in(content, rng)]


def repeated(content, rng):
    start, stop = sorted([place_in(content, rng), place_in(content, rng)])
    piece = content[start : min(stop, start + 4096)]
    return content[:start] + piece * int(rng.choice([2, 3, 20])) + content[start + len(piece) :]


def removed(content, rng):
    start, stop = sorted([place_in(content, rng), place_in(content, rng)])
    return content[:start] + content[min(stop, start + int(rng.choice([1, 8, 4096]))) :]


def moved(content, rng):
    start, length = place_in(content, rng), int(rng.choice([1, 4, 8, 64]))
    piece, place = content[start : start + length], place_in(content, rng)
    return content[:place] + piece + content[place + length :]


def reworded(content, rng):
    """Replace a word of a text, often a number, by a value that is unusual."""
    words = list(re.finditer(rb"[+-]?\d[\d.eE+-]*|\w+|[,;={}\n\"]", content[:20000]))
    if not words:
        return content
    word = words[rng.integers(len(words))]
    new = (
        WORDS[rng.integers(len(WORDS))].encode() if rng.random() < 0.7 else words[rng.integers(len(words))][0]
    )
    return content[: word.start()] + new + content[word.end() :]


def restructured(content, rng):
    """Replace, remove or copy a value of a JSON document."""
    try:
        found = json.loads(content)
    except ValueError:
        return content
    nodes = [
        (node, key) for node in walk(found) for key in (node if isinstance(node, dict) else range(len(node)))
    ]
    if not nodes:
        return content
    node, key = nodes[rng.integers(len(nodes))]
    action = rng.integers(4)
    if action == 0:
        del node[key]
    elif action == 1:
        other, place = nodes[rng.integers(len(nodes))]
        node[key] = json.loads(json.dumps(other[place]))
    else:
        node[key] = VALUES[rng.integers(len(VALUES))]
    return json.dumps(found).encode()


def walk(node):
    """Yield all lists and mappings of a JSON document."""
    if isinstance(node, (dict, list)):
        yield node
        for child in list(node.values()) if isinstance(node, dict) else list(node):
            yield from walk(child)


def repacked(content, rng):
    """Change what is compressed, and compress it again."""
    try:
        if content[:2] == b"\x1f\x8b":
            return gzip.compress(changed(gzip.decompress(content), "", rng))
        stream = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
            members = old.namelist()
            chosen = members[rng.integers(len(members))]
            for name in members:
                data = old.read(name)
                new.writestr(name, changed(data, "", rng) if name == chosen else data, zipfile.ZIP_DEFLATED)
        return stream.getvalue()
    except Exception:  # it is damaged already
        return content


def write_changed(seed, folder, rng):
    """Write a changed copy of a seed into a folder, and return the path that is to be read."""
    path = folder / seed.name
    if seed.is_file():
        path.write_bytes(changed(seed.read_bytes(), seed.name, rng))
        return path
    shutil.copytree(seed, path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    texts = [file for file in files if file.suffix in (".json", ".hdr") or file.name.startswith(".z")]
    files = texts if texts and rng.random() < 0.7 else files
    file = files[rng.integers(len(files))]
    if rng.random() < 0.03:
        file.unlink()
        os.mkfifo(file)
    else:
        file.write_bytes(changed(file.read_bytes(), file.name, rng))
    return path


# The process that reads.


def work():
    """Read the files whose paths are lines of the input, and answer each with one line."""
    import anndata
    import h5py
    import numcodecs
    import pyarrow.parquet
    import rasterio
    import xarray
    from dask import config

    from sepnmf.io import read

    assert all(
        [anndata, h5py, numcodecs, pyarrow.parquet, rasterio, xarray]
    )  # loaded before memory is counted
    warnings.simplefilter("ignore")
    config.set(scheduler="single-threaded")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries in C write to it
    limit = addresses() + ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(flush=True)
    for line in sys.stdin:
        path, in_parts = json.loads(line)
        before = reset_peak()
        try:
            data = read(path, in_parts=in_parts)
            if hasattr(data.M, "compute"):
                data.M[:, :3].compute()
            answer = "read"
        except BaseException as error:
            answer = judged(error)
        grown = peak() - before
        if grown > GROWTH:
            answer = f"wrong: {grown // 1024} MiB of memory"
        print(json.dumps(answer), flush=True)


def judged(error):
    """Return what is wrong about an error, or "refused"."""
    said, cause = str(error), error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return f"wrong: MemoryError, {said[:200]}"
        cause = cause.__cause__ or cause.__context__
    if not isinstance(error, (ValueError, OSError)):
        return f"wrong: {type(error).__name__}, {said[:200]}"
    if not said or "\n" in said or "cannot be read: " in said or len(said) > 2000:
        return f"wrong: {type(error).__name__} says {said[:200]!r}"
    return "refused"


def addresses():
    return 1024 * int(re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def peak():
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def reset_peak():
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


class Worker:
    """A process that reads one file after another; it is started again if it ends or does not answer."""

    def __init__(self, program=None):
        self.words = [sys.executable, "-c", program] if program else [sys.executable, __file__, "--worker"]
        self.process = None

    def read(self, path, in_parts=False):
        """Return "read", "refused", or what is wrong."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            self.answer(120)  # when libraries are loaded
        self.process.stdin.write(json.dumps([str(path), in_parts]) + "\n")
        self.process.stdin.flush()
        line = self.answer(SECONDS)
        if line:
            return json.loads(line)
        code = self.stop()
        return f"wrong: no answer in {SECONDS} s" if line is None else f"wrong: the process ended with {code}"

    def answer(self, seconds):
        """Return a line, or None if there is none in time."""
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline() if ready else None

    def stop(self):
        """End the process, and return its exit code."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        process.stdin.close()
        try:
            code = process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        process.stdout.close()
        return code


def file_in(path):
    """Return what is to be read of a seed or a file that was saved: of a folder of ENVI, the header."""
    return path / "image.hdr" if path.name.endswith("envi") else path


def save(path, folder):
    """Keep a file that something is wrong with, if it is small."""
    files = [path] if path.is_file() else [file for file in sorted(path.rglob("*")) if file.is_file()]
    contents = [file.read_bytes() for file in files]
    if sum(map(len, contents)) > LARGEST_SAVED:
        return None
    target = folder / f"{hashlib.sha256(b''.join(contents)).hexdigest()[:8]}-{path.name}"
    for file, content in zip(files, contents, strict=True):
        copy = target / file.relative_to(path) if path.is_dir() else target
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
    return target


def main(arguments=None):
    """Read changed files for some seconds; return 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--save", type=Path, default=SAVED, help="folder of the files that something is wrong with"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        work()
        return 0
    rng = np.random.default_rng(options.seed)
    worker, tried, wrong = Worker(), Counter(), {}
    with tempfile.TemporaryDirectory() as name:
        seeds_folder = Path(name, "seeds")
        seeds_folder.mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seeds = make_seeds(seeds_folder)
        for seed in seeds:
            answer = worker.read(file_in(seed))
            assert answer == "read" or "several" in answer, (seed.name, answer)
        start, number = time.monotonic(), 0
        try:
            while time.monotonic() - start < options.seconds:
                seed = seeds[number % len(seeds)]
                folder = Path(name, "changed")
                folder.mkdir()
                path = write_changed(seed, folder, rng)
                in_parts = number // len(seeds) % 4 == 3 and supports_parts(seed)
                answer = worker.read(file_in(path), in_parts)
                tried[answer if answer in ("read", "refused") else "wrong"] += 1
                if answer.startswith("wrong"):
                    kept = save(path, options.save)
                    wrong.setdefault((seed.name, answer[:60]), []).append(f"{answer} (file {number}: {kept})")
                shutil.rmtree(folder)
                number += 1
        finally:
            worker.stop()
    print(f"{number} files of {len(seeds)} kinds, seed {options.seed}: {dict(tried)}")
    for (name, _), found in wrong.items():
        print(f"{name}, {len(found)} times: {found[0]}")
    return int(bool(wrong))


def supports_parts(seed):
    return seed.suffix in (".npy", ".zarr", ".tif", ".nc", ".h5", ".h5ad") or seed.name == "envi"


if __name__ == "__main__":
    sys.exit(main())
