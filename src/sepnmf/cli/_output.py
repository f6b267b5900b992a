"""The output folder of a command, which always holds the files of one run.

A run is written to a hidden folder beside the output folder and takes its place when it is complete.
`run.json` lists the files of the run. Only files that it lists are ever replaced or removed: other files in
the folder belong to the user and stay where they are. A command that would overwrite one of them is refused
before it begins to work.
"""

import errno
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import count
from pathlib import Path
from typing import Any

from sepnmf.cli._app import SHOWN_AS, UserError, command_line, versions

MANIFEST = "run.json"
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
STAGED, REPLACED = "sepnmf-new", "sepnmf-old"  # in the names of hidden folders


@dataclass(frozen=True)
class Output:
    """Where a run is written, where its files are when it is complete, and which parents did not exist.

    `source` is the file that the run is about; empty if there is none.
    """

    staging: Path
    folder: Path
    given: Path
    made: tuple[Path, ...]
    source: str = ""

    def has(self, path: object) -> bool:
        """Return whether a path is one of those that a run writes to."""
        hidden = self.folder.with_name(f".{self.folder.name}.")
        inside = (f"{self.staging}{os.sep}", f"{self.folder}{os.sep}", str(hidden))
        return path is not None and f"{path}{os.sep}".startswith(inside)


class NotUndone(UserError):
    """Files could not be moved into a folder, nor out of it again: both folders stay as they are."""


@contextmanager
def output(
    given: Path, writes: Sequence[str], reads: Sequence[Path] = (), *, is_default: bool = False
) -> Iterator[Path]:
    """Yield a new folder to write to; its files replace those of the last run if there is no exception.

    `writes` are patterns of the names of the files that the run may write, such as "abundances.*"; `reads`
    are the files that it reads, the one that it is about first. If the name of the folder is the default,
    results of another file are not replaced. Messages that name the new folder show the output folder.
    """
    target = prepare(given, writes, reads, is_default=is_default)
    lock = locked(target.staging)
    SHOWN_AS[str(target.staging)] = str(given)
    kept = False
    try:
        yield target.staging
        publish(target)
    except NotUndone:
        kept = True
        del SHOWN_AS[str(target.staging)]
        raise
    except OSError as error:
        if not error.strerror or (error.errno not in NO_SPACE and not target.has(error.filename)):
            raise
        reason = f"{given} cannot be written: {error.strerror}. The results of an earlier run are kept."
        raise UserError(reason) from None
    finally:
        with uninterrupted():
            if not kept:
                shutil.rmtree(target.staging, ignore_errors=True)
            if lock is not None:
                os.close(lock)
            for parent in target.made:
                with suppress(OSError):  # it is not empty: the run was complete
                    parent.rmdir()


# Before the work ---------------------------------------------------------------------------------------


def prepare(given: Path, writes: Sequence[str], reads: Sequence[Path], *, is_default: bool = False) -> Output:
    """Make a folder to write to, or raise UserError if the output folder could not be replaced later."""
    folder = given.resolve()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{given} is a file, not a folder: choose another name with --out.")
    try:
        made = tuple(parent for parent in folder.parents if not parent.exists())  # the innermost first
        folder.parent.mkdir(parents=True, exist_ok=True)
        recover(folder)
        check_foreign(folder, given, writes)
        check_inputs(folder, given, reads)
        source = str(reads[0].resolve()) if reads else ""
        if is_default:
            check_source(folder, given, source)
        return Output(make_staging(folder), folder, given, made, source)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{given} cannot be written: {reason}. Choose another folder with --out.") from None


def make_staging(folder: Path) -> Path:
    """Create the folder to write to: beside the output folder, or inside it if it cannot be moved there."""
    if not folder.exists():
        return new_folder(folder.parent, folder.name, STAGED)
    with suppress(OSError):
        staging = new_folder(folder.parent, folder.name, STAGED)
        try:
            probe = new_folder(staging, "probe", STAGED)
            os.rename(probe, folder / probe.name)  # fails if the folder is on another device
            os.rmdir(folder / probe.name)
            return staging
        except OSError:
            shutil.rmtree(staging, ignore_errors=True)
    return new_folder(folder, "", STAGED)


def new_folder(parent: Path, name: str, mark: str) -> Path:
    """Create a hidden folder with a new name and the usual permissions."""
    folder = Path(tempfile.mkdtemp(prefix=f".{name}.{mark}-".replace("..", "."), dir=parent))
    mask = os.umask(0)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)
    return folder


def check_foreign(folder: Path, given: Path, writes: Sequence[str]) -> None:
    """Refuse to overwrite files that no run of sepnmf wrote."""
    for name in foreign(folder):
        if name == MANIFEST or any(fnmatch(name, pattern) for pattern in writes):
            raise UserError(
                f"{given / name} was not written by sepnmf and would be overwritten: move it, or choose "
                "another folder with --out."
            )


def check_inputs(folder: Path, given: Path, reads: Sequence[Path]) -> None:
    """Refuse to read a file of the last run, which is going to be replaced."""
    ours = listed(folder)
    for file in reads:
        path = file.resolve()
        if any(folder / name in (path, *path.parents) for name in ours):
            raise UserError(f"{given} has {file.name}, which is read: choose another folder with --out.")


def check_source(folder: Path, given: Path, source: str) -> None:
    """Refuse to replace the results of another file, whose name happens to begin alike."""
    other = manifest(folder).get("input", source)
    if other != source:
        raise UserError(f"{given} has the results of {other}: choose another folder with --out.")


def recover(folder: Path) -> None:
    """Remove what killed runs left behind; restore the folder if one was killed while it was replaced."""
    for old in hidden(folder.parent, folder.name, REPLACED):
        if folder.exists():
            remove_run(old)
        else:
            os.rename(old, folder)
    for left in (*hidden(folder.parent, folder.name, STAGED), *hidden(folder, "", STAGED)):
        lock = locked(left)
        if lock is not None:  # otherwise another run is writing to it
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)


def hidden(parent: Path, name: str, mark: str) -> list[Path]:
    """Return the hidden folders that `new_folder` made."""
    start = f".{name}.{mark}-".replace("..", ".")
    if not parent.is_dir():
        return []
    return [path for path in parent.iterdir() if path.name.startswith(start) and path.is_dir()]


def locked(folder: Path) -> int | None:
    """Lock a folder and return the descriptor that holds the lock; None if it is locked, or cannot be."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


# After the work ----------------------------------------------------------------------------------------


def publish(target: Output) -> None:
    """Put the files of a complete run in the place of those of the last one, without copying."""
    folder, staging = target.folder, target.staging
    names = sorted(path.name for path in staging.iterdir())
    write_manifest(staging, names, target.source, complete=True)
    with uninterrupted():
        if not folder.exists():
            os.rename(staging, folder)
            return
        clash = [name for name in foreign(folder) if name in (*names, MANIFEST)]
        if clash:
            kept = free_name(folder)
            os.rename(staging, kept)
            raise UserError(
                f"{target.given / clash[0]} was written by another program meanwhile and is kept: the "
                f"results are in {kept}."
            )
        if not swapped(staging, folder):
            move_into(staging, folder, target.source)


def swapped(staging: Path, folder: Path) -> bool:
    """Replace a folder by another if it holds nothing but a run and can be renamed; return whether it was."""
    here = Path.cwd()
    if foreign(folder) or here == folder or folder in here.parents or staging.parent == folder:
        return False
    shutil.copymode(folder, staging)
    old = new_folder(folder.parent, folder.name, REPLACED)
    try:
        os.rmdir(old)
        os.rename(folder, old)
    except OSError:  # it is in use (Windows), or the root of a file system
        return False
    try:
        os.rename(staging, folder)
    except OSError:
        os.rename(old, folder)
        raise
    remove_run(old)
    return True


def move_into(staging: Path, folder: Path, source: str) -> None:
    """Move files into a folder, beside those of the user, and remove the other files of the last run.

    Meanwhile the manifest lists the files of both runs and says that the folder is not complete. If a step
    fails, the steps before it are undone.
    """
    new = [path.name for path in staging.iterdir() if path.name != MANIFEST]
    old = [name for name in listed(folder) if name not in (*new, MANIFEST)]
    aside = new_folder(staging, "aside", REPLACED)
    moves = []
    for name in (*old, *new):
        if os.path.lexists(folder / name):
            moves.append((folder / name, aside / name))
        if name in new:
            moves.append((staging / name, folder / name))
    with suppress(FileNotFoundError):
        shutil.copyfile(folder / MANIFEST, aside / MANIFEST)
    write_manifest(folder, [*new, *old], source, complete=False)  # if it fails, there is nothing to undo
    done = []
    try:
        for start, end in moves:
            os.rename(start, end)
            done.append((start, end))
        os.replace(staging / MANIFEST, folder / MANIFEST)
    except OSError as error:
        try:
            for start, end in reversed(done):
                os.rename(end, start)
            if (aside / MANIFEST).exists():
                os.replace(aside / MANIFEST, folder / MANIFEST)
            else:
                (folder / MANIFEST).unlink(missing_ok=True)
        except OSError:
            raise NotUndone(f"{folder} cannot be written: {error}. Other files are in {staging}.") from None
        raise


def remove_run(folder: Path) -> None:
    """Remove the files of a run, and the folder if there are no others."""
    for name in listed(folder):
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C for the few steps that must happen together."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def free_name(folder: Path) -> Path:
    """Return a name beside a folder that nothing has."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(path for path in numbered if not os.path.lexists(path))


# The manifest ------------------------------------------------------------------------------------------


def write_manifest(folder: Path, names: Iterable[str], source: str, complete: bool) -> None:
    """Write which files of a folder belong to a run, of which file, and whether they are all there."""
    content = {
        "writer": "sepnmf",
        "complete": complete,
        "command": command_line(),
        "input": source,
        "files": [*names, MANIFEST],
        "versions": versions(),
    }
    part = folder / f".{MANIFEST}.part"
    try:
        part.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        os.replace(part, folder / MANIFEST)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def listed(folder: Path) -> list[str]:
    """Return the names of the files of a run in a folder; none if sepnmf did not write it."""
    files = manifest(folder).get("files")
    names = [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
    return [name for name in names if Path(name).name == name and name not in ("", ".", "..")]


def manifest(folder: Path) -> dict[str, Any]:
    """Return what the manifest of a run in a folder says; nothing if sepnmf did not write it."""
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) and content.get("writer") == "sepnmf" else {}


def foreign(folder: Path) -> list[str]:
    """Return the names in a folder that are not of a run."""
    if not folder.is_dir():
        return []
    ours = set(listed(folder))
    left = {path.name for path in hidden(folder, "", STAGED)}
    return sorted(path.name for path in folder.iterdir() if path.name not in ours | left)
