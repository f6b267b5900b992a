"""The files of an export are those of the command, which gives the same anchors, names and weights again."""

import csv
import errno
import html
import json
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import io as sio
from scipy import sparse

from sepnmf.explorer._session import Session
from sepnmf.io import read

NAMES = ['wet, "soft" soil', "<script>alert('water')</script>", "-tree $HOME `ls`"]


def mixtures(n=120, m=20, r=3, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.dirichlet(np.full(r, 0.5), n).T
    H[:, :r] = np.eye(r)
    return rng.random((m, r)) @ H + 0.001 * rng.random((m, n))


def run_again(command, folder):
    """Run the line as a shell does, with another output folder."""
    words = shlex.split(command)
    words[words.index("--out") + 1] = str(folder)
    assert words[0] == "sepnmf"
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True)


def anchors_in(folder):
    found = json.loads((folder / "anchors.json").read_text(encoding="utf-8"))
    return [(row["column"], row["name"]) for row in found["anchors"]], found["fit"]


def assert_same(session, exported, *folders):
    """The session and the files have the same anchors, names, fit and weights.

    Files have the anchors with the largest scores first.
    """
    assert all(path.exists() for path in exported.paths)
    expected = [(anchor.column, anchor.name) for anchor in session.anchors]
    for path in folders:
        anchors, fit = anchors_in(path)
        assert sorted(anchors) == sorted(expected)
        assert fit == pytest.approx(session.fit, abs=1e-7)
        assert (path / "report.html").exists()
        order = [expected.index(anchor) for anchor in anchors]
        np.testing.assert_allclose(weights_in(path, session), session.weights()[order], atol=1e-6)


def weights_in(folder, session):
    if session.kind == "image":
        return read(folder / "abundances.npy").M if (folder / "abundances.npy").exists() else cube_in(folder)
    with (folder / "weights.csv").open(encoding="utf-8", newline="") as stream:
        _, *rows = csv.reader(stream)
    return np.array([[float(cell) if cell else np.nan for cell in row[1:]] for row in rows])


def cube_in(folder):
    data = read(next(path for path in folder.glob("abundances.*") if path.suffix != ".png"))
    return np.asarray(data.M)


def rename_all(session):
    for position, name in enumerate(NAMES):
        session.rename(position, name)


def test_an_image_with_a_mask_and_names(tmp_path):
    np.save(tmp_path / "my scene.npy", mixtures().T.reshape(12, 10, 20))
    session = Session.open(tmp_path / "my scene.npy", 3)
    session.replace(1, 57)
    mask = np.ones((12, 10), bool)
    mask[11] = mask[:, 9] = False
    session.use(mask)
    while session.r < 3:
        session.add(int(np.flatnonzero(mask)[7 * session.r]))
    rename_all(session)
    folder = tmp_path / "out"
    exported = session.export(folder)
    assert exported.command == session.command(folder)
    run_again(exported.command, tmp_path / "again")
    assert_same(session, exported, folder, tmp_path / "again")


def test_a_table_with_names(tmp_path):
    M = mixtures()
    names = [f"sample {j}" for j in range(120)]
    pd.DataFrame(M, columns=names).to_csv(tmp_path / "table.csv", index=False)
    session = Session.open(tmp_path / "table.csv", 3, header=True)
    session.add(100)
    session.drop(0)
    session.rename(1, NAMES[0])
    assert session.anchors[2].name == "sample 100"
    exported = session.export(tmp_path / "out")
    run_again(exported.command, tmp_path / "again")
    assert_same(session, exported, tmp_path / "out", tmp_path / "again")


def test_word_counts_and_names_that_are_text_in_the_report(tmp_path):
    counts = np.random.default_rng(0).poisson(3 * mixtures(m=30) ** 4).T
    sio.mmwrite(tmp_path / "counts.mtx", sparse.csr_array(counts))
    (tmp_path / "words.txt").write_text("\n".join(f"word{i}" for i in range(30)), encoding="utf-8")
    session = Session.open(
        tmp_path / "counts.mtx", 3, axis="rows", names=tmp_path / "words.txt", method="spa"
    )
    assert session.kind == "text"
    rename_all(session)
    assert session.row_axis[0][:2] == ("word0", "word1")
    exported = session.export(tmp_path / "out")
    run_again(exported.command, tmp_path / "again")
    assert_same(session, exported, tmp_path / "out", tmp_path / "again")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert NAMES[1] not in page
    assert html.escape(NAMES[1]) in page


@pytest.mark.parametrize("kind", ["frame", "sparse", "masked", "image"])
def test_data_in_memory_are_written_beside_the_result(tmp_path, kind):
    M = mixtures()
    if kind == "frame":
        M = pd.DataFrame(M, columns=[f" s\n{j}" for j in range(120)], index=[f"b{i}" for i in range(20)])
    elif kind == "sparse":
        M = sparse.csc_array(np.where(M > 0.5, M, 0))
    elif kind == "masked":
        M[3, 7] = np.nan
        M = np.ma.masked_invalid(M)
    else:
        xarray = pytest.importorskip("xarray")
        M = xarray.DataArray(M.T.reshape(12, 10, 20), dims=("y", "x", "band"))
    session = Session.open(M, 3, method="spa")
    rename_all(session)
    exported = session.export(tmp_path / "out")
    assert_same(session, exported, tmp_path / "out")


def test_rows_of_a_file_with_a_mask_are_written_too(tmp_path):
    np.save(tmp_path / "table.npy", mixtures().T)
    session = Session.open(tmp_path / "table.npy", 3, axis="rows")
    rename_all(session)
    used = np.ones(120, bool)
    used[60:70] = False
    session.use(used)
    exported = session.export(tmp_path / "out")
    assert_same(session, exported, tmp_path / "out")


def test_an_export_replaces_the_last_one_and_leaves_other_files(tmp_path):
    np.save(tmp_path / "table.npy", mixtures())
    session = Session.open(tmp_path / "table.npy", 3, method="spa")
    session.export(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    session.add(50)
    session.export(tmp_path / "out")
    assert len(anchors_in(tmp_path / "out")[0]) == 4
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_an_export_that_is_refused_says_why(tmp_path):
    np.save(tmp_path / "table.npy", mixtures())
    session = Session.open(tmp_path / "table.npy", 3)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "anchors.csv").write_text("mine")
    with pytest.raises(ValueError, match="was not written by sepnmf and would be overwritten"):
        session.export(tmp_path / "out")


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("fails", ["command", "disk"])
def test_an_export_that_fails_leaves_the_last_one_with_its_mask(tmp_path, monkeypatch, fails):
    np.save(tmp_path / "table.npy", mixtures())
    session = Session.open(tmp_path / "table.npy", 3, method="spa")
    used = np.ones(120, bool)
    used[110:] = False
    session.use(used)
    session.export(tmp_path / "out")
    before = files_in(tmp_path / "out")
    assert "explored-mask.npy" in before
    used[100:] = False
    session.use(used)
    if fails == "command":
        (tmp_path / "table.npy").unlink()
    else:

        def full(file, array):
            file.write_bytes(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device", str(file))

        monkeypatch.setattr(np, "save", full)
    for folder in ("out", "other"):
        with pytest.raises((ValueError, OSError)):
            session.export(tmp_path / folder)
    assert files_in(tmp_path / "out") == before
    assert not (tmp_path / "other").exists()


def test_an_export_that_was_killed_has_put_the_last_mask_aside(tmp_path):
    np.save(tmp_path / "table.npy", mixtures())
    session = Session.open(tmp_path / "table.npy", 3, method="spa")
    used = np.ones(120, bool)
    used[110:] = False
    session.use(used)
    session.export(tmp_path / "out")
    before = files_in(tmp_path / "out")
    mask, old = tmp_path / "out/explored-mask.npy", tmp_path / "out/.explored-mask.npy.old"
    mask.rename(old)
    mask.write_bytes(b"half of it")
    (tmp_path / "table.npy").rename(tmp_path / "elsewhere.npy")
    with pytest.raises(ValueError, match="table"):
        session.export(tmp_path / "out")
    assert files_in(tmp_path / "out") == before
    (tmp_path / "elsewhere.npy").rename(tmp_path / "table.npy")
    session.export(tmp_path / "out")
    assert files_in(tmp_path / "out").keys() == before.keys()


def test_options_of_reading_are_in_the_command(tmp_path):
    np.save(tmp_path / "scene.npy", mixtures())
    session = Session.open(
        tmp_path / "scene.npy", 3, shape=(12, 10), order="F", nodata=[-1, -2], negative="clip", random_state=7
    )
    words = shlex.split(session.command())
    assert words[:2] == ["sepnmf", "unmix"]
    for option in (["--shape", "12x10"], ["--order", "F"], ["--nodata", "-1"], ["--nodata", "-2"]):
        assert any(words[k : k + 2] == option for k in range(len(words)))
    assert words[words.index("--negative") + 1] == "clip"
    assert words[words.index("--seed") + 1] == "7"
    assert "--labels" not in words
    assert words[-1] == "scene-explored"


def test_data_in_chunks_that_are_in_no_file_cannot_be_exported(tmp_path):
    array = pytest.importorskip("dask.array").from_array(mixtures(), chunks=(20, 30))
    session = Session.open(array, 3, method="spa")
    with pytest.raises(ValueError, match="not in a file"):
        session.export(tmp_path / "out")
