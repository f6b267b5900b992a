"""The output folder: it is checked before the work, holds one run, and nothing of the user's is lost."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr
from spectral.io import envi

from sepnmf.cli import _output as outputs
from sepnmf.cli._app import UserError
from sepnmf.datasets import make_dirichlet
from sepnmf.io._filling import reserve


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder with a matrix, an image, and word counts."""
    monkeypatch.chdir(tmp_path)
    M, _ = make_dirichlet(0.0, m=12, n=60, r=3, random_state=0)
    np.save("M.npy", M)
    np.save("scene.npy", M.T.reshape(10, 6, 12))
    Path("words.txt").write_text("\n".join(f"w{j}" for j in range(60)) + "\n")
    return tmp_path


@pytest.fixture
def reads_nothing(monkeypatch):
    """Fail if a command reads its file."""

    def read(*_, **__):
        raise AssertionError("the file was read")

    monkeypatch.setattr("sepnmf.io.read", read)
    monkeypatch.setattr("sepnmf.cli._work.load", read)


SELECT = {"anchors.csv", "anchors.json", "anchor_columns.csv", "weights.csv", "run.json"}


def names(folder):
    return {path.name for path in Path(folder).iterdir()}


def hidden(folder):
    return [path.name for path in Path(folder).iterdir() if path.name.startswith(".")]


def in_another_process(code, *words):
    """Run the command line behind some Python code, and return its exit code."""
    program = f"import os\nfrom sepnmf.cli import _output, _writing, run\n{code}\nrun()"
    done = subprocess.run([sys.executable, "-c", program, *map(str, words)], capture_output=True, check=False)
    return done.returncode


# One file -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["b/x.npy", "a/x.csv"])
def test_results_of_another_file_with_the_same_name_are_not_replaced(here, sepnmf_says, monkeypatch, second):
    for folder in ("a", "b"):
        Path(folder).mkdir()
        shutil.copy("M.npy", f"{folder}/x.npy")
    np.savetxt("a/x.csv", np.load("M.npy"), delimiter=",")
    assert sepnmf_says("select", "a/x.npy", "-r", 3, "-m", "spa")[0] == 0
    before = Path("x-anchors/run.json").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("sepnmf.cli._work.load", lambda *_, **__: 1 / 0)
        code, _, err = sepnmf_says("select", second, "-r", 3, "-m", "spa")
    read = here / "a" / "x.npy"
    assert (code, err) == (2, f"x-anchors has the results of {read}: choose another folder with --out.\n")
    assert Path("x-anchors/run.json").read_bytes() == before
    assert sepnmf_says("select", "a/x.npy", "-r", 2, "-m", "spa")[0] == 0  # the same file again
    assert sepnmf_says("select", second, "-r", 3, "-m", "spa", "--out", "x-anchors")[0] == 0


# One run ------------------------------------------------------------------------------------------------


def test_a_folder_holds_the_files_of_its_last_run_only(here, sepnmf_says):
    words = ("select", "M.npy", "-r", 3, "--out", "o")
    assert sepnmf_says(*words, "-m", "merit", "--set", "max_iter=20", "--report")[0] == 0
    assert {"history.csv", "report.html"} < names("o")
    assert sepnmf_says(*words, "-m", "spa")[0] == 0
    assert names("o") == SELECT
    record = json.loads(Path("o/run.json").read_text())
    assert record["complete"]
    assert set(record["files"]) == names("o")
    assert record["command"] == "sepnmf select M.npy -r 3 --out o -m spa"
    assert not hidden(here)


@pytest.mark.parametrize("own", [True, False])
def test_another_command_replaces_the_run(here, sepnmf_says, own):
    zarr.create_array("scene.zarr", data=np.load("scene.npy"), chunks=(5, 6, 12))
    assert sepnmf_says("unmix", "scene.zarr", "-r", 3, "-m", "spa", "--out", "o")[0] == 0
    if not own:
        Path("o/notes.txt").write_text("mine")
    assert sepnmf_says("unmix", "scene.npy", "-r", 3, "-m", "spa", "--out", "o")[0] == 0
    assert {"abundances.npy"} == {
        name for name in names("o") if name.startswith("abundances") and "png" not in name
    }
    assert sepnmf_says("compare", "M.npy", "-r", 3, "-m", "spa", "--out", "o")[0] == 0
    assert names("o") - {"notes.txt"} == {"comparison.csv", "comparison.json", "run.json"}
    assert Path("o/notes.txt").exists() is not own
    assert not hidden(here)


def test_the_files_are_moved_and_never_copied(here, sepnmf_says, monkeypatch):
    """A cube may be as large as the disk."""
    inodes, publish = [], outputs.publish

    def watched(target):
        inodes.append((target.staging / "abundances.npy").stat().st_ino)
        publish(target)

    monkeypatch.setattr(outputs, "publish", watched)
    for _ in range(2):
        assert sepnmf_says("unmix", "scene.npy", "-r", 3, "-m", "spa", "--out", "o")[0] == 0
        Path("o/notes.txt").touch()
        assert Path("o/abundances.npy").stat().st_ino == inodes[-1]


def test_paths_that_are_shown_are_those_of_the_folder(here, sepnmf_says):
    _, out, _ = sepnmf_says("select", "M.npy", "-r", 3, "-m", "spa", "--out", "a/b")
    assert f"Written: {Path('a/b/anchors.csv')}, {Path('a/b/anchors.json')}, " in out
    _, out, _ = sepnmf_says("demo", "--out", "d")
    assert f"Figure: {Path('d/anchors.png')} " in out
    assert "sepnmf-new" not in out


def test_an_existing_folder_keeps_its_permissions(here, sepnmf_says):
    Path("o").mkdir(mode=0o750)
    for _ in range(2):
        assert sepnmf_says("select", "M.npy", "-r", 3, "-m", "spa", "--out", "o")[0] == 0
        assert Path("o").stat().st_mode & 0o777 == 0o750


def test_the_current_folder_can_be_the_output_folder(here, sepnmf_says):
    before = here.stat().st_ino
    for method in ("merit", "spa"):
        options = ("--set", "max_iter=20") if method == "merit" else ()
        code, _, err = sepnmf_says("select", "M.npy", "-r", 3, "-m", method, *options, "--out", ".")
        assert (code, err) == (0, "")
    assert names(".") == {"M.npy", "scene.npy", "words.txt"} | SELECT
    assert here.stat().st_ino == before


def test_a_folder_on_another_device_is_written_inside(here, sepnmf_says, monkeypatch):
    """As a volume of a container is: nothing can be renamed into it or out of it, nor itself."""
    volume, rename, staged = here / "o", os.rename, []
    volume.mkdir()

    def within_a_device(source, target):
        if volume == source or (volume in source.parents) != (volume in target.parents):
            raise OSError(18, "Invalid cross-device link")
        if target == volume / "anchors.csv":
            staged.append(source.parents[1])
        rename(source, target)

    monkeypatch.setattr(outputs.os, "rename", within_a_device)
    for _ in range(2):
        assert sepnmf_says("select", "M.npy", "-r", 3, "-m", "spa", "--out", "o")[0] == 0
        assert names("o") == SELECT
    assert set(staged) == {volume}
    assert not hidden(here)


# What belongs to the user ---------------------------------------------------------------------------------


def test_files_of_the_user_stay(here, sepnmf_says):
    words = ("select", "M.npy", "-r", 3, "-m", "spa", "--out", "o")
    Path("o/thesis").mkdir(parents=True)
    Path("o/thesis/chapter.txt").write_text("mine")
    for _ in range(2):
        assert sepnmf_says(*words)[0] == 0
        assert names("o") == SELECT | {"thesis"}
        assert Path("o/thesis/chapter.txt").read_text() == "mine"
    assert not hidden(here) + hidden("o")


@pytest.mark.parametrize("name", ["anchors.csv", "abundances.img", "run.json", "residual.png"])
def test_a_file_that_sepnmf_did_not_write_is_never_overwritten(here, sepnmf_says, reads_nothing, name):
    Path("o").mkdir()
    Path("o", name).write_text('{"files": ["a"]}')
    code, out, err = sepnmf_says("unmix", "scene.npy", "-r", 3, "--out", "o")
    assert (code, out) == (2, "")
    assert err.startswith(f"{Path('o', name)} was not written by sepnmf and would be overwritten: move it")
    assert err.count("\n") == 1
    assert Path("o", name).read_text() == '{"files": ["a"]}'
    assert not hidden(here) + hidden("o")


def test_a_manifest_cannot_name_files_outside_the_folder(here, sepnmf_says):
    Path("o").mkdir()
    victims = ["../M.npy", "..", ".", "", "/etc", 3, "o/../../M.npy"]
    Path("o/run.json").write_text(json.dumps({"writer": "sepnmf", "files": [*victims, "run.json"]}))
    assert outputs.listed(Path("o")) == ["run.json"]
    assert sepnmf_says("select", "M.npy", "-r", 3, "-m", "spa", "--out", "o")[0] == 0
    assert Path("M.npy").exists()


def test_results_are_kept_if_the_folder_is_used_meanwhile(here):
    target = outputs.prepare(Path("o"), ["anchors.csv"], [])
    (target.staging / "anchors.csv").write_text("ours")
    Path("o-2").mkdir()
    Path("o").mkdir()
    Path("o/anchors.csv").write_text("mine")
    with pytest.raises(UserError, match=r"o/anchors.csv was written by another program .* are in .*o-3\."):
        outputs.publish(target)
    assert Path("o/anchors.csv").read_text() == "mine"
    assert Path("o-3/anchors.csv").read_text() == "ours"


def test_a_file_of_the_last_run_is_not_replaced_while_it_is_read(here, sepnmf_says):
    assert sepnmf_says("unmix", "scene.npy", "-r", 3, "-m", "spa", "--out", "o")[0] == 0
    code, _, err = sepnmf_says("select", "o/abundances.npy", "-r", 2, "--out", "o")
    assert (code, err) == (2, "o has abundances.npy, which is read: choose another folder with --out.\n")
    assert Path("o/abundances.npy").exists()


# A run that fails or is killed ----------------------------------------------------------------------------


def test_a_run_that_fails_leaves_the_last_one_as_it_was(here, sepnmf_says, monkeypatch):
    words = ("unmix", "scene.npy", "-m", "spa", "--out", "o")
    assert sepnmf_says(*words, "-r", 3)[0] == 0
    before = {path.name: path.read_bytes() for path in Path("o").iterdir()}

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sepnmf.cli._pictures.draw_spectra", full)
    code, _, err = sepnmf_says(*words, "-r", 2)
    assert code == 2
    assert "No space left on device" in err
    assert {path.name: path.read_bytes() for path in Path("o").iterdir()} == before
    assert sepnmf_says(*words[:-1], "new/folder", "-r", 2)[0] == 2
    assert not Path("new").exists()
    assert not hidden(here)


KILL = "os.kill(os.getpid(), 9)"


def killed_behind(condition):
    """Code that kills the process behind a rename of a to b."""
    return (
        f"remain = os.rename\ndef rename(a, b):\n    remain(a, b)\n    if {condition}: {KILL}\n"
        "_output.os.rename = rename"
    )


def test_a_run_that_is_killed_leaves_the_last_one_and_the_next_one_tidies_up(here, sepnmf_says):
    words = ("select", "M.npy", "-m", "spa", "--out", "o")
    assert sepnmf_says(*words, "-r", 3)[0] == 0
    before = {path.name: path.read_bytes() for path in Path("o").iterdir()}
    code = f"write = _writing.write_csv\n_writing.write_csv = lambda *a: (write(*a), {KILL})"
    assert in_another_process(code, *words, "-r", 2) == -9
    assert {path.name: path.read_bytes() for path in Path("o").iterdir()} == before
    (left,) = hidden(here)
    assert names(left) == {"anchors.csv"}
    assert sepnmf_says(*words, "-r", 2)[0] == 0
    assert not hidden(here)
    assert len(json.loads(Path("o/anchors.json").read_text())["anchors"]) == 2


def test_a_folder_that_was_being_replaced_is_restored(here, sepnmf_says):
    """The run is killed between two renames; a command that then fails brings the last run back."""
    words = ("select", "M.npy", "-m", "spa", "--out", "o")
    assert sepnmf_says(*words, "-r", 3)[0] == 0
    before = {path.name: path.read_bytes() for path in Path("o").iterdir()}
    assert in_another_process(killed_behind("a.name == 'o'"), *words, "-r", 2) == -9
    assert not Path("o").exists()
    assert len(hidden(here)) == 2
    assert sepnmf_says(*words, "-r", 99)[0] == 2
    assert {path.name: path.read_bytes() for path in Path("o").iterdir()} == before
    assert not hidden(here)


def test_half_of_the_files_are_not_taken_for_a_run(here, sepnmf_says):
    """Beside files of the user, files are moved one by one: until the last is there, run.json says so."""
    words = ("select", "M.npy", "--out", "o", "-r", 3)
    assert sepnmf_says(*words, "-m", "merit", "--set", "max_iter=20", "--report")[0] == 0
    Path("o/notes.txt").write_text("mine")
    code = killed_behind("b.name == 'anchors.csv' and b.parent.name == 'o'")
    assert in_another_process(code, *words, "-m", "spa") == -9
    assert not json.loads(Path("o/run.json").read_text())["complete"]
    assert Path("o/notes.txt").read_text() == "mine"
    assert sepnmf_says(*words, "-m", "spa")[0] == 0
    assert json.loads(Path("o/run.json").read_text())["complete"]
    assert names("o") == SELECT | {"notes.txt"}
    assert Path("o/notes.txt").read_text() == "mine"
    assert not hidden(here) + hidden("o")


def test_a_run_that_is_still_working_is_left_alone(here, sepnmf_says):
    with outputs.output(Path("o"), ["anchors.csv"]) as folder:
        (folder / "first").touch()
        assert sepnmf_says("select", "M.npy", "-r", 3, "-m", "spa", "--out", "o")[0] == 0
        assert (folder / "first").exists()
    assert names("o") == {"first", "run.json"}


# Before the work ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("select", "M.npy", "-r", 3),
        ("unmix", "scene.npy", "-r", 3),
        ("compare", "M.npy", "-r", 3),
        ("topics", "M.npy", "--vocab", "words.txt", "-r", 3),
        ("demo",),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("folder", ["M.npy", "M.npy/sub", "/proc/sepnmf"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(
    here, sepnmf_says, reads_nothing, monkeypatch, words, folder
):
    monkeypatch.setattr("sepnmf.cli._demonstration.demonstrate", lambda folder: 1 / 0)
    code, out, err = sepnmf_says(*words, "--out", folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"{folder} ")
    assert "with --out" in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("-r", "0"), "--anchors must be a positive integer"),
        (("-r", "three"), "--anchors must be a positive integer"),
        (("-r", "²"), "--anchors must be a positive integer"),
        (("-r", "3", "--set", "magic=1"), "'magic' is not an option of method 'auto'"),
        (("-r", "3", "-m", "admm"), "needs the option(s) lam, rho"),
        (("-r", "3", "-m", "magic"), "--method must be one of"),
        (("-r", "3", "--memory", "much"), "--memory must be a number of bytes"),
        (("-r", "3", "--memory", "1MB"), "--memory must be at least 700 MB"),
    ],
)
@pytest.mark.parametrize("command", ["select", "unmix"])
def test_a_request_that_cannot_be_met_is_refused_before_the_work(
    here, sepnmf_says, reads_nothing, command, words, hint
):
    code, out, err = sepnmf_says(command, "scene.npy", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert hint in err
    assert names(here) == {"M.npy", "scene.npy", "words.txt"}


@pytest.mark.parametrize("words", [("unmix", "scene.npy", "-r", 3), ("demo",)])
def test_matplotlib_is_missed_before_the_work(here, sepnmf_says, reads_nothing, monkeypatch, words):
    monkeypatch.setattr("sepnmf.cli._demonstration.demonstrate", lambda folder: 1 / 0)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = sepnmf_says(*words)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("Matplotlib is needed to draw maps and is not installed")


@pytest.mark.parametrize("file", ["scene.npy", "scene.hdr"])
@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system cannot reserve space")
def test_a_full_disk_is_one_line_and_the_last_run_is_kept(here, sepnmf_says, monkeypatch, file):
    """A map of a file without its space on the disk would end the process by a signal."""
    envi.save_image("scene.hdr", np.load("scene.npy").astype("f4"))
    words = ("unmix", file, "-r", 3, "-m", "spa", "--out", "o")
    assert sepnmf_says(*words)[0] == 0
    before = {path.name: path.read_bytes() for path in Path("o").iterdir()}

    def full(descriptor, start, size):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    code, _, err = sepnmf_says(*words)
    assert code == 2
    said = "o cannot be written: No space left on device. The results of an earlier run are kept."
    assert err.splitlines()[-1] == said
    assert "Traceback" not in err
    assert {path.name: path.read_bytes() for path in Path("o").iterdir()} == before
    assert not hidden(here)


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_file_that_cannot_be_written_is_one_line_with_the_folder(here, sepnmf_says, monkeypatch, number):
    def failing(self, *args, **options):
        raise OSError(number, os.strerror(number))  # of a write, which knows no name

    monkeypatch.setattr(Path, "write_text", failing)
    code, _, err = sepnmf_says("select", "M.npy", "-r", 3, "-m", "spa", "--out", "o")
    said = f"o cannot be written: {os.strerror(number)}. The results of an earlier run are kept.\n"
    assert (code, err) == (2, said)
    assert not Path("o").exists()
    assert not hidden(here)


def test_an_error_of_reading_is_not_taken_for_one_of_writing(here):
    with pytest.raises(PermissionError), outputs.output(here / "o", ["*"]):
        raise PermissionError(errno.EACCES, "Permission denied", str(here / "scene.npy"))


@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.parametrize("succeeding", range(4))
def test_moving_files_beside_those_of_the_user_is_undone_if_it_fails(here, monkeypatch, earlier, succeeding):
    def write(content):
        with outputs.output(here / "o", ["a*", "b*"]) as folder:
            for name in ("a", "b"):
                (folder / name).write_text(content)

    if earlier:
        write("old")
    Path("o").mkdir(exist_ok=True)
    Path("o/notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in Path("o").iterdir()}
    rename, calls = os.rename, []

    def failing(source, target):
        if Path(source).name in ("a", "b"):
            calls.append(source)
            if len(calls) == succeeding + 1:
                raise PermissionError(errno.EACCES, "Permission denied", str(source))
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    if not earlier and succeeding > 1:
        return  # there are two steps only
    with pytest.raises(UserError, match=r"cannot be written: Permission denied"):
        write("new")
    assert {path.name: path.read_bytes() for path in Path("o").iterdir()} == before
    assert not hidden(here)


def test_what_cannot_be_undone_is_not_removed(here, monkeypatch):
    Path("o").mkdir()
    Path("o/notes.txt").write_text("mine")
    with outputs.output(here / "o", ["a"]) as folder:
        (folder / "a").write_text("old")
    rename = os.rename

    def failing(source, target):
        if Path(source).name == "a" and Path(source).parent != here / "o":
            raise PermissionError(errno.EACCES, "Permission denied", str(source))
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(UserError, match="Other files are in "), outputs.output(here / "o", ["a"]) as folder:
        (folder / "a").write_text("new")
    (left,) = hidden(here)
    assert {path.read_text() for path in here.rglob("a")} == {"new", "old"}, left


def test_nothing_is_to_be_undone_before_the_first_step(here, monkeypatch):
    Path("o").mkdir()
    Path("o/notes.txt").write_text("mine")
    with outputs.output(here / "o", ["a"]) as folder:
        (folder / "a").write_text("old")
    before = {path.name: path.read_bytes() for path in Path("o").iterdir()}
    replace = os.replace

    def failing(source, target):
        if Path(target) == here / "o/run.json":  # from now on, as where permissions have been withdrawn
            raise PermissionError(errno.EACCES, "Permission denied", str(source))
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with (
        pytest.raises(UserError, match=r"Permission denied\. The results of an earlier run are kept"),
        outputs.output(here / "o", ["a"]) as folder,
    ):
        (folder / "a").write_text("new")
    assert {path.name: path.read_bytes() for path in Path("o").iterdir()} == before
    assert not hidden(here)


@pytest.mark.parametrize("reserves", [True, False])
def test_a_file_is_given_all_its_space(tmp_path, monkeypatch, reserves):
    file = tmp_path / "holes"
    with file.open("wb") as stream:
        stream.write(b"start")
        stream.truncate(3_000_000)
    if not reserves:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    reserve(file)
    assert file.stat().st_size == 3_000_000
    assert file.stat().st_blocks * 512 >= 3_000_000
    assert file.read_bytes() == b"start".ljust(3_000_000, b"\0")


def test_ctrl_c_while_a_failed_run_is_removed_leaves_nothing(here, monkeypatch):
    rmtree = shutil.rmtree

    def slow(path, **options):
        os.kill(os.getpid(), signal.SIGINT)
        rmtree(path, **options)

    def fail():
        with outputs.output(here / "o", ["*"]) as folder:
            (folder / "part").touch()
            monkeypatch.setattr(shutil, "rmtree", slow)
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        fail()
    assert not hidden(here)


def test_a_file_whose_name_begins_like_the_folder_is_not_in_it(tmp_path):
    target = outputs.Output(tmp_path / ".o.sepnmf-new.1", tmp_path / "o", Path("o"), ())
    for path in ("o", "o/anchors.csv", ".o.sepnmf-new.1/anchors.csv", ".o.sepnmf-old.1"):
        assert target.has(tmp_path / path), path
    for path in ("o.hdr", "other/anchors.csv", "scene.hdr"):
        assert not target.has(tmp_path / path), path
    assert not target.has(None)
