"""The result of a session as files, and the command that writes them.

The files are written by that command itself, in a process of its own: what is exported is what it gives.
"""

import csv
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sepnmf._typing import Bools
from sepnmf.explorer._source import Source
from sepnmf.explorer._state import State
from sepnmf.io._arrays import array_suffix, write_array

# Files that the command reads, besides the data; in the folder that it writes to, where they stay.
MASK, NAMES, ROW_NAMES = "explored-mask.npy", "explored-names.txt", "explored-rows.txt"


class Exported(NamedTuple):
    """The files of an export, and the command that writes them again."""

    paths: tuple[Path, ...]
    command: str


class Command:
    """The command that gives the anchors, names and weights of a session.

    It reads the file of the session. Data that are not in a file are written, as is a mask.
    """

    def __init__(self, source: Source, state: State, seed: int, folder: Path) -> None:
        self.source, self.state, self.seed, self.folder = source, state, seed, folder
        self.is_masked = not np.array_equal(state.used, source.known())
        # A mask has one number for each column of the file, and cannot leave out rows.
        self.reads_file = source.is_file and not (self.is_masked and source.axis == "rows")

    def words(self) -> list[str]:
        """Return the words of the command."""
        data, anchors = self.source.data, self.state.anchors
        found = ["sepnmf", "unmix" if data.image_shape is not None else "select", str(self.file())]
        found += ["-r", str(len(anchors)), "--include", ",".join(str(anchor.column) for anchor in anchors)]
        if any(anchor.name != data.column_label(anchor.column) for anchor in anchors):
            found += ["--labels", with_commas([anchor.name for anchor in anchors])]
        found += self.reading_words() if self.reads_file else self.described_words()
        if self.masks():
            found += ["--mask", str(self.folder / MASK)]
        if self.source.negative != "error":
            found += ["--negative", self.source.negative]
        if self.seed:
            found += ["--seed", str(self.seed)]
        return [*found, "--report", "--out", str(self.folder)]

    def file(self) -> Path:
        """Return the file that the command reads: that of the session, or one that is written."""
        data = self.source.data
        return data.file if self.reads_file else self.folder / f"explored-data{array_suffix(data.M)}"

    def masks(self) -> bool:
        """Whether a mask is written: one that was drawn, or that of columns of a matrix without data."""
        return self.is_masked or not (self.reads_file or bool(self.state.used.all()))

    def reading_words(self) -> Iterator[str]:
        """Yield the options with which the file was read."""
        if self.source.axis == "rows":
            yield from ("--axis", "rows")
        for name, value in self.source.reading.items():
            option = f"--{name.replace('_', '-')}"
            # The mask that is written leaves out these columns too. Large files are read in parts anyway.
            if name == "in_parts" or (name == "mask" and self.is_masked):
                continue
            if isinstance(value, bool):
                yield option if value else f"--no-{name}"
                continue
            for text in texts_of(name, value):
                yield from (option, text)

    def described_words(self) -> Iterator[str]:
        """Yield the options that describe data that were written."""
        data = self.source.data
        if data.image_shape is not None:
            yield from ("--shape", "{}x{}".format(*data.image_shape), "--order", data.image_order)
        if data.column_names:
            yield from ("--names", str(self.folder / NAMES))
        if data.row_names:
            yield from ("--row-names", str(self.folder / ROW_NAMES))

    def written_names(self) -> list[str]:
        """Return the names of the files that the command reads and that may have to be written."""
        return [MASK] if self.reads_file else [MASK, NAMES, ROW_NAMES, self.file().name]

    def write_what_it_reads(self) -> None:
        """Write the mask, and the data if they are not in a file."""
        data = self.source.data
        if self.source.matrix.lazy and not self.reads_file:
            raise ValueError("The data are in chunks and not in a file: write them to one, and open that.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.masks():
            np.save(self.folder / MASK, self.mask().astype(np.uint8))
        if self.reads_file:
            return
        write_array(self.file(), data.M)
        for file, what, names in ((NAMES, "column", data.column_names), (ROW_NAMES, "row", data.row_names)):
            lines = [" ".join(name.split()) or f"{what} {index}" for index, name in enumerate(names)]
            (self.folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def mask(self) -> Bools:
        """Return which columns are used, as an image if they are pixels."""
        data, used = self.source.data, self.state.used
        return (
            used[None] if data.image_shape is None else np.reshape(used, data.image_shape, data.image_order)
        )


def with_commas(names: Sequence[str]) -> str:
    """Return names with commas between them; a name that has one is in quotation marks."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def texts_of(name: str, value: Any) -> Sequence[str]:
    """Return an option of `sepnmf.io.read` as texts of the command line, one for each time it is given."""
    if name == "shape":
        return ["{}x{}".format(*value)]
    if isinstance(value, list | tuple):
        return [str(each) for each in value]
    return [str(value)]


def shown_command(source: Source, state: State, seed: int, folder: Path) -> str:
    """Return the command as a line of a shell."""
    return shlex.join(Command(source, state, seed, folder).words())


def export(source: Source, state: State, seed: int, folder: Path) -> Exported:
    """Run the command, and return the files that it has written."""
    command = Command(source, state, seed, folder)
    words = command.words()
    with kept_if_it_fails(folder, command.written_names()):
        command.write_what_it_reads()
        run = subprocess.run(
            [sys.executable, "-m", *words], capture_output=True, text=True, encoding="utf-8", check=False
        )
        if run.returncode:
            reason = run.stderr.strip().splitlines()
            raise ValueError(reason[-1] if reason else f"sepnmf ended with exit code {run.returncode}.")
    files = json.loads((folder / "run.json").read_text(encoding="utf-8"))["files"]
    return Exported(tuple(folder / name for name in files), shlex.join(words))


@contextmanager
def kept_if_it_fails(folder: Path, names: Sequence[str]) -> Iterator[None]:
    """Put files of the last export aside; they come back if there is an exception."""
    was_there = folder.exists()
    aside = {folder / name: folder / f".{name}.old" for name in names}
    before = [file for file in aside if file.exists()]
    try:
        for file in before:
            if not aside[file].exists():  # otherwise it is of an export that was killed
                os.replace(file, aside[file])
        yield
    except BaseException:
        for file, old in aside.items():
            if old.exists():
                os.replace(old, file)
            elif file not in before:
                file.unlink(missing_ok=True)
        if not was_there:
            with suppress(OSError):  # it does not exist, or is not empty
                folder.rmdir()
        raise
    for old in aside.values():
        old.unlink(missing_ok=True)
