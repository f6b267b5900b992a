"""The command line: files in, anchors and pictures out; exit codes, and one line for a mistake."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer
import zarr
from dask import array as da
from matplotlib import image
from scipy import io, sparse
from spectral import envi

import sepnmf
from malformed import make_malformed
from sepnmf import _overview as overview
from sepnmf.cli._app import STOPPED, run
from sepnmf.cli._work import method_options, parse_shape
from sepnmf.datasets import make_dirichlet
from sepnmf.io import READERS
from sepnmf.io._envi import read_envi
from sepnmf.matrix import _chunked, as_matrix
from sepnmf.registry import ready_methods

LINES, SAMPLES, BANDS = 12, 10, 20
WRITTEN = {"anchors.csv", "anchors.json", "anchor_columns.csv", "weights.csv", "run.json"}


def planted(n=60, r=3, seed=0):
    M, anchors = make_dirichlet(0.0, m=BANDS, n=n, r=r, random_state=seed)
    return M, np.sort(anchors)


@pytest.fixture
def cube():
    """A scene of lines × samples × bands with three pure pixels."""
    M, anchors = planted(LINES * SAMPLES)
    return M.T.reshape(LINES, SAMPLES, BANDS), anchors


def table(path):
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def found(out):
    return sorted(row["column"] for row in json.loads(out)["anchors"])


# select ------------------------------------------------------------------------------------------------


def test_select_shows_a_table_and_writes_csv_and_json(sepnmf_says, tmp_path):
    M, true = planted()
    names = [f"sample {j}" for j in range(M.shape[1])]
    lines = [
        ",".join(["", *names]),
        *(f"band {i}," + ",".join(map(repr, row)) for i, row in enumerate(M.tolist())),
    ]
    Path("table.csv").write_text("\n".join(lines))
    code, out, _ = sepnmf_says("select", "table.csv", "-r", 3)
    assert code == 0
    assert all(f"sample {j}" in out for j in true)
    assert "explain 100.00% of the data" in out
    rows = table("table-anchors/anchors.csv")
    assert sorted(int(row["column"]) for row in rows) == true.tolist()
    assert all(row["name"] == f"sample {row['column']}" for row in rows)
    record = json.loads(Path("table-anchors/anchors.json").read_text())
    assert record["command"] == "sepnmf select table.csv -r 3"
    assert record["fit"] == pytest.approx(1.0)
    assert record["versions"]["sepnmf"] == sepnmf.__version__


def test_select_speaks_json(sepnmf_says):
    M, true = planted()
    np.save("M.npy", M)
    code, out, _ = sepnmf_says("select", "M.npy", "-r", 3, "--json", "--method", "spa", "--out", "here")
    assert code == 0
    assert found(out) == true.tolist()
    assert {path.name for path in Path("here").iterdir()} == WRITTEN


@pytest.mark.parametrize("container", ["table", "sparse"])
def test_select_writes_the_columns_of_the_anchors_and_the_weights(sepnmf_says, container):
    M, true = planted()
    if container == "sparse":
        sparse.save_npz("M.npz", sparse.csc_array(M))
        name, words = "M.npz", ()
    else:
        M[3, 7] = np.nan  # is left out
        name, words = "M.csv", ("--nodata", "nan")
        with open(name, "w") as stream:
            csv.writer(stream).writerows(
                [["", *(f"s{j}" for j in range(60))], *([f"b{i}", *row] for i, row in enumerate(M.tolist()))]
            )
    code, out, err = sepnmf_says("select", name, "-r", 3, "-m", "spa", "--json", "--out", "o", *words)
    assert code == 0, err
    anchors = [row["column"] for row in json.loads(out)["anchors"]]
    assert sorted(anchors) == true.tolist()
    assert 7 not in anchors
    columns, weights = (
        list(csv.reader(Path(f"o/{file}.csv").read_text().splitlines()))
        for file in ("anchor_columns", "weights")
    )
    W = np.array([row[1:] for row in columns[1:]], float)
    np.testing.assert_array_equal(W, M[:, anchors])
    H = np.array([row[1:] for row in weights[1:]], float)
    assert H.shape == (3, 60)
    left = [] if container == "sparse" else [7]
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(H).any(axis=0)), left)
    used = np.setdiff1d(np.arange(60), left)
    np.testing.assert_allclose(W @ H[:, used], M[:, used], atol=1e-8)
    if container == "table":
        assert columns[0][1:] == [row[0] for row in weights[1:]] == [f"s{j}" for j in anchors]
        assert weights[0][1:] == [f"s{j}" for j in range(60)]
        assert [row[0] for row in columns[1:]] == [f"b{i}" for i in range(BANDS)]


def test_weights_of_many_columns_and_of_lazy_data_are_not_written(sepnmf_says, monkeypatch):
    np.save("M.npy", planted()[0])
    words = ("select", "M.npy", "-r", 3, "-m", "spa", "--out", "o")
    monkeypatch.setattr("sepnmf.cli._writing.MOST_WEIGHTS", 59)
    assert sepnmf_says(*words)[0] == 0
    assert {path.name for path in Path("o").iterdir()} == WRITTEN - {"weights.csv"}
    monkeypatch.setattr("sepnmf.io.limits", lambda _: {"large": 0, "chunk": 10**6})
    assert sepnmf_says(*words, "--memory", "1GB")[0] == 0
    assert not {path.name for path in Path("o").iterdir()} & {"anchor_columns.csv", "weights.csv"}


def test_the_history_is_written_as_data(sepnmf_says):
    np.save("M.npy", planted()[0])
    sepnmf_says("select", "M.npy", "-r", 3, "--method", "merit", "--set", "max_iter=20")
    rows = table("M-anchors/history.csv")
    assert len(rows) == 20
    assert list(rows[0]) == ["objective", "fit", "gap", "seconds"]


def test_the_data_say_how_many_anchors_there_are(sepnmf_says):
    np.save("M.npy", planted(r=4)[0])
    code, out, err = sepnmf_says("select", "M.npy", "-r", "auto", "--json")
    assert code == 0
    assert len(json.loads(out)["anchors"]) == 4
    assert err == "4 anchors: they can explain all of the data.\n"


def test_rows_can_be_chosen_among(sepnmf_says):
    M, true = planted()
    np.save("M.npy", M.T.copy())
    _, out, _ = sepnmf_says("select", "M.npy", "-r", 3, "--axis", "rows", "--json")
    assert found(out) == true.tolist()


def test_columns_can_be_divided_by_their_sums_first(sepnmf_says):
    M, true = planted()
    M = M * np.where(np.isin(np.arange(60), true), 0.01, 1.0)  # pure columns, but short
    np.save("M.npy", M)
    _, plain, _ = sepnmf_says("select", "M.npy", "-r", 3, "--method", "spa", "--json")
    _, scaled, _ = sepnmf_says("select", "M.npy", "-r", 3, "--method", "spa", "--normalize", "l1", "--json")
    assert found(scaled) == true.tolist() != found(plain)


def test_sparse_counts_stay_sparse(sepnmf_says):
    M, true = planted()
    io.mmwrite("M.mtx", sparse.csc_array(M))
    _, out, _ = sepnmf_says("select", "M.mtx", "-r", 3, "--json")
    assert found(out) == true.tolist()


def test_more_anchors_than_the_rows_can_tell_apart_are_warned_of_before_the_work(sepnmf_says, monkeypatch):
    np.save("M.npy", np.random.default_rng(0).random((5, 300)))
    np.save("image.npy", np.random.default_rng(0).random((20, 20, 150)))
    monkeypatch.setattr(
        "sepnmf.cli._work.find_anchors", lambda *_, **__: (_ for _ in ()).throw(ValueError("enough"))
    )
    ask = "-r auto estimates how many the data hold.\nenough\n"
    for file, command, r, words in (
        ("M.npy", "select", 6, "6 anchors are more than the 5 rows can tell apart, and may take very long"),
        ("image.npy", "unmix", 151, "151 anchors are more than the 150 bands can tell apart, and may take"),
        ("image.npy", "unmix", 101, "101 anchors may take very long to find"),
    ):
        code, _, err = sepnmf_says(command, file, "-r", r)
        assert code == 2
        assert words in err
        assert err.endswith(ask)
    assert "may take" not in sepnmf_says("unmix", "image.npy", "-r", 100)[2]


def test_options_of_a_method_are_passed_on(sepnmf_says):
    M, true = planted()
    np.save("M.npy", M)
    words = ["--set", "lam=1e-3", "--set", "rho=0.01,0.01,0.01", "--set", "norm=rows"]
    code, out, _ = sepnmf_says("select", "M.npy", "-r", 3, "--method", "admm", *words, "--json")
    assert code == 0
    assert found(out) == true.tolist()
    assert json.loads(out)["options"] == {"lam": 1e-3, "rho": [0.01, 0.01, 0.01], "norm": "rows"}
    code, _, err = sepnmf_says("select", "M.npy", "-r", 3, "--method", "admm")
    assert code == 2
    assert "needs the option(s) lam, rho" in err
    code, _, err = sepnmf_says("select", "M.npy", "-r", 3, "--method", "admm", "--set", "lamda=1")
    assert code == 2
    assert "'lamda' is not an option of method 'admm': did you mean lam? It takes p, norm, lam" in err


@pytest.mark.parametrize(("text", "value"), [("a=1", 1), ("a=1e-3", 1e-3), ("a=x", "x"), ("a=None", None)])
def test_values_of_options_are_numbers_or_words(text, value):
    assert method_options([text]) == {"a": value}
    assert parse_shape("9×12", "--shape") == (9, 12)


def test_a_seed_makes_random_methods_repeatable(sepnmf_says):
    np.save("M.npy", np.random.default_rng(0).random((20, 300)))
    answers = [
        found(sepnmf_says("select", "M.npy", "-r", 5, "-m", "vca", "--seed", s, "--json")[1])
        for s in (1, 1, 2)
    ]
    assert answers[0] == answers[1] != answers[2]


def test_a_report_is_written_on_request(sepnmf_says):
    M, _ = planted()
    np.save("<b>M.npy", M)
    code, _, _ = sepnmf_says("select", "<b>M.npy", "-r", 3, "--report", "--out", "o")
    page = Path("o/report.html").read_text()
    assert code == 0
    assert "<b>M" not in page
    assert "preconditioned_spa" in page


# unmix -------------------------------------------------------------------------------------------------


def write(path, cube, interleave="bil"):
    if path.suffix == ".npy":
        np.save(path, cube)
    elif path.suffix == ".npz":
        np.savez(path, scene=cube)
    elif path.suffix == ".mat":
        io.savemat(path, {"scene": cube})
    elif path.suffix == ".zarr":
        zarr.create_array(str(path), data=cube, chunks=(5, 4, 7)[: cube.ndim])
    else:
        envi.save_image(
            str(path), cube, dtype=np.float64, interleave=interleave, metadata={"wavelength": range(BANDS)}
        )


@pytest.mark.parametrize("ending", [".npy", ".npz", ".mat", ".hdr", ".zarr"])
def test_unmix_writes_spectra_maps_and_a_cube_in_the_format_of_the_image(sepnmf_says, cube, ending):
    scene, true = cube
    path = Path(f"scene{ending}")
    write(path, scene)
    code, out, _ = sepnmf_says("unmix", path, "-r", 3, "--json")
    assert code == 0
    assert found(out) == true.tolist()
    places = {(row["line"], row["sample"]) for row in json.loads(out)["anchors"]}
    assert places == {(j // SAMPLES, j % SAMPLES) for j in true.tolist()}
    folder = Path("scene-unmixed")
    assert image.imread(folder / "abundances.png").ndim == 3
    assert image.imread(folder / "endmembers.png").ndim == 3
    table = np.loadtxt(folder / "endmembers.csv", delimiter=",", skiprows=1)
    order = [row["column"] for row in json.loads(out)["anchors"]]
    np.testing.assert_allclose(table[:, 1:], scene.reshape(-1, BANDS).T[:, order])
    read = {
        ".npy": lambda: np.load(folder / "abundances.npy"),
        ".npz": lambda: np.load(folder / "abundances.npz")["abundances"],
        ".mat": lambda: io.loadmat(folder / "abundances.mat")["abundances"],
        ".hdr": lambda: np.asarray(envi.open(str(folder / "abundances.hdr")).load()),
        ".zarr": lambda: zarr.open_array(folder / "abundances.zarr")[...],
    }
    H = sepnmf.nnls(scene.reshape(-1, BANDS).T[:, order], scene.reshape(-1, BANDS).T)
    np.testing.assert_allclose(read[ending](), H.T.reshape(LINES, SAMPLES, 3), atol=1e-6)


def test_a_matrix_is_an_image_once_its_shape_is_said(sepnmf_says, cube):
    M = cube[0].transpose(2, 1, 0).reshape(BANDS, -1)  # pixels along the columns of the image, as in MATLAB
    io.savemat("flat.mat", {"Y": M})
    code, _, err = sepnmf_says("unmix", "flat.mat", "-r", 3)
    assert code == 2
    assert "give their shape with --shape LINESxSAMPLES" in err
    code, out, _ = sepnmf_says(
        "unmix", "flat.mat", "-r", 3, "--shape", f"{LINES}x{SAMPLES}", "--json", "--report"
    )
    assert code == 0
    assert {(row["line"], row["sample"]) for row in json.loads(out)["anchors"]} == {
        (j // SAMPLES, j % SAMPLES) for j in cube[1].tolist()
    }
    assert Path("flat-unmixed/report.html").exists()


def test_weights_can_be_made_to_sum_to_one(sepnmf_says, cube):
    np.save("scene.npy", cube[0] + 0.01 * np.random.default_rng(0).random(cube[0].shape))
    sepnmf_says("unmix", "scene.npy", "-r", 3, "--sum-to-one")
    np.testing.assert_allclose(np.load("scene-unmixed/abundances.npy").sum(axis=2), 1.0, atol=1e-6)


def test_a_cube_larger_than_memory_is_read_in_chunks(sepnmf_says, cube, monkeypatch):
    monkeypatch.setitem(READERS, ".hdr", partial(read_envi, large=100))
    monkeypatch.setattr("sepnmf.matrix._chunked.SMALL", 0)
    write(Path("scene.hdr"), cube[0])
    code, out, _ = sepnmf_says("unmix", "scene.hdr", "-r", 3, "--json", "--report")
    assert code == 0
    assert found(out) == cube[1].tolist()
    assert "read in chunks" in Path("scene-unmixed/report.html").read_text()
    code, _, err = sepnmf_says("compare", "scene.hdr", "-r", 3)
    assert (code, err) == (2, "scene.hdr is too large for a comparison: use sepnmf select.\n")


@pytest.fixture
def in_chunks(monkeypatch):
    """What --memory makes of these small files: chunks of a line and a bit."""
    bounds = {"large": 0, "chunk": 8 * BANDS * (SAMPLES + 3)}
    monkeypatch.setattr("sepnmf.io.limits", lambda memory: bounds)


@pytest.mark.parametrize("ending", [".npy", ".hdr", ".zarr"])
@pytest.mark.parametrize("report", [False, True])
def test_weights_of_a_large_image_are_computed_once_and_never_held(
    sepnmf_says, cube, in_chunks, monkeypatch, ending, report
):
    write(Path(f"scene{ending}"), cube[0])
    drawn, solved, held = [], [], []
    solve, compute = _chunked.on_columns, da.Array.compute

    def counted(chunk, *rest, block_info=None, **options):
        solved.append(chunk.shape[1])
        return solve(chunk, *rest, block_info=block_info, **options)

    def watched(array, **options):
        held.append(array.shape)
        return compute(array, **options)

    monkeypatch.setattr(_chunked, "on_columns", counted)
    monkeypatch.setattr(da.Array, "compute", watched)
    monkeypatch.setattr(
        "sepnmf.cli._pictures.draw_maps", lambda path, maps, labels: drawn.append(maps) or path
    )
    monkeypatch.setattr("sepnmf._overview.SIDE", 5)  # every third line and sample
    words = ["--memory", "1GB", *(["--report"] if report else [])]
    code, _, err = sepnmf_says("unmix", f"scene{ending}", "-r", 3, "-m", "spa", *words)
    assert code == 0, err
    assert sum(solved) == LINES * SAMPLES
    assert (3, LINES * SAMPLES) not in held
    np.asarray(da.ones((3, 2)))
    assert held[-1] == (3, 2)  # what is watched is what is called
    maps = sepnmf.io.read(f"scene-unmixed/abundances{ending}")
    assert maps.M.dtype == np.float32
    pictures = maps.M.reshape(3, LINES, SAMPLES)[:, ::3, ::3]
    np.testing.assert_array_equal(drawn[0], pictures)


@pytest.mark.parametrize("ending", [".npy", ".zarr"])
def test_a_large_matrix_of_pixels_is_unmixed_in_matlabs_order(sepnmf_says, cube, in_chunks, ending):
    write(Path(f"flat{ending}"), np.ascontiguousarray(cube[0].transpose(2, 1, 0).reshape(BANDS, -1)))
    shape = ("--shape", f"{LINES}x{SAMPLES}")
    code, out, err = sepnmf_says(
        "unmix", f"flat{ending}", "-r", 3, "-m", "spa", *shape, "--order", "F", "--json", "--memory", "1GB"
    )
    assert (code, err) == (0, "")
    pixels = cube[0].reshape(-1, BANDS).T
    anchors = [row["line"] * SAMPLES + row["sample"] for row in json.loads(out)["anchors"]]
    assert sorted(anchors) == cube[1].tolist()
    maps = sepnmf.io.read(f"flat-unmixed/abundances{ending}")
    assert maps.image_shape == (LINES, SAMPLES)
    np.testing.assert_allclose(maps.M, sepnmf.nnls(pixels[:, anchors], pixels), atol=1e-6)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("side", [600, 5, 1])
def test_pictures_of_a_large_image_are_those_of_a_small_one(monkeypatch, cube, order, side):
    monkeypatch.setattr(overview, "SIDE", side)
    M = cube[0].reshape(-1, BANDS).T
    small = sepnmf.io.Data(M=M, file=Path("a.npy"), image_shape=(LINES, SAMPLES), image_order=order)
    large = replace(small, M=da.from_array(M, chunks=(BANDS, 17)))
    np.testing.assert_allclose(overview.scene(large), overview.scene(small), rtol=1e-12)
    W = M[:, cube[1]]
    found, expected = (overview.maps_from(data, as_matrix(data.M), W) for data in (large, small))
    assert max(found.shape[1:]) <= max(side, 1)
    np.testing.assert_allclose(found, expected, atol=1e-10)


# topics ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words_are", ["rows", "columns"])
def test_topics_finds_the_words_of_planted_topics(sepnmf_says, words_are):
    rng = np.random.default_rng(0)
    names = [f"{kind}{i}" for kind in ("sea", "sky") for i in range(6)] + ["the", "of"]
    chances = np.zeros((2, 14))
    chances[0, :6], chances[1, 6:12], chances[:, 12:] = 1.0, 1.0, 1.5
    chances /= chances.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(60, chances[d % 2]) for d in range(80)])
    io.mmwrite("counts.mtx", sparse.coo_array(counts.T if words_are == "rows" else counts))
    Path("words.txt").write_text("\n".join(names) + "\n")
    code, out, _ = sepnmf_says("topics", "counts.mtx", "--vocab", "words.txt", "-r", 2, "--json", "--report")
    assert code == 0
    topics = json.loads(out)["topics"]
    assert {topic["anchor"][:3] for topic in topics} == {"sea", "sky"}
    for topic in topics:
        others = [word for word in topic["words"] if word not in ("the", "of")][:6]
        assert {word[:3] for word in others} == {topic["anchor"][:3]}
    code, out, _ = sepnmf_says("topics", "counts.mtx", "--vocab", "words.txt", "-r", 2, "--words", 3)
    assert code == 0
    assert "anchor word" in out
    Path("words.txt").write_text("one\ntwo\n")
    code, _, err = sepnmf_says("topics", "counts.mtx", "--vocab", "words.txt", "-r", 2)
    assert code == 2
    assert "words.txt has 2 words" in err


# compare and demo --------------------------------------------------------------------------------------


def test_compare_puts_the_methods_side_by_side(sepnmf_says):
    M, true = planted(40)
    M[:, np.setdiff1d(np.arange(40), true)[7]] = 0.0
    np.save("M.npy", M)
    code, out, _ = sepnmf_says("compare", "M.npy", "-r", 3, "-m", "spa", "-m", "fgnsr", "--json")
    assert code == 0
    rows = {row["method"]: row for row in json.loads(out)["methods"]}
    assert sorted(rows["spa"]["columns"]) == true.tolist()
    assert rows["spa"]["fit"] == pytest.approx(1.0, abs=1e-6)
    assert rows["fgnsr"]["fit"] is None
    assert "zero column" in rows["fgnsr"]["failure"]
    code, out, _ = sepnmf_says("compare", "M.npy", "-r", 3, "-m", "spa", "-m", "fgnsr", "--report")
    assert code == 0
    assert "zero column" in out
    assert [row["method"] for row in table("M-comparison/comparison.csv")] == ["spa", "fgnsr"]
    assert "fgnsr" in Path("M-comparison/report.html").read_text()


def test_compare_scales_for_the_choice_and_judges_the_data_as_they_are(sepnmf_says):
    M = np.random.default_rng(0).random((20, 40)) * np.linspace(0.1, 5, 40)
    np.save("M.npy", M)
    _, one, _ = sepnmf_says("select", "M.npy", "-r", 3, "-m", "spa", "--normalize", "l1", "--json")
    _, all_, _ = sepnmf_says("compare", "M.npy", "-r", 3, "-m", "spa", "--normalize", "l1", "--json")
    row = json.loads(all_)["methods"][0]
    assert sorted(row["columns"]) == found(one)
    assert row["fit"] == pytest.approx(json.loads(one)["fit"])
    assert row["fit"] == pytest.approx(sepnmf.metrics.rae(M, found(one)))


def test_compare_leaves_out_what_would_take_minutes(monkeypatch):
    monkeypatch.setitem(sepnmf.METHODS, "merit", replace(sepnmf.METHODS["merit"], quick_up_to=10))
    M, _ = planted(40)
    rows = {row["method"]: row for row in overview.compare(M, 3)}
    assert set(rows) == set(ready_methods())
    assert "more than 10 columns" in rows["merit"]["failure"]
    assert rows["auto"]["fit"] == pytest.approx(1.0)


def test_the_demo_finds_all_anchors(sepnmf_says):
    code, out, _ = sepnmf_says("demo")
    assert code == 0
    assert "10 of 10 true anchors found" in out
    assert {path.name for path in Path("demo").iterdir()} == {"anchors.png", "report.html", "run.json"}


# Mistakes ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def malformed(tmp_path_factory):
    return make_malformed(tmp_path_factory.mktemp("malformed"))


@pytest.mark.slow
def test_every_malformed_file_gives_exit_code_two_and_one_line(sepnmf_says, malformed):
    assert len(malformed) >= 100
    for name, path, options in malformed:
        words = [word for key, value in options.items() for word in option(key, value)]
        code, out, err = sepnmf_says("select", path, "-r", 2, "--negative", "allow", *words)
        assert (code, out, err.count("\n")) == (2, "", 1), (name, code, err)
        assert len(err.strip()) > 10, (name, err)


def option(key, value):
    if isinstance(value, bool):
        return [f"--{key}" if value else f"--no-{key}"]
    return [f"--{key}", "x".join(map(str, value)) if key == "shape" else value]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["select"], "Missing argument 'FILE'"),
        (["select", "M.npy"], "Missing option '--anchors'"),
        (["select", "M.npy", "-r", "0"], "--anchors must be a positive integer or \"auto\", got '0'"),
        (["select", "M.npy", "-r", "2", "--method", "magic"], "--method must be one of 'auto'"),
        (["select", "M.npy", "-r", "2", "--nonsense"], "--nonsense"),
        (["select", "M.npy", "-r", "99"], "got 99"),
        (["select", "M.npy", "-r", "2", "--set", "lam"], "--set must be NAME=VALUE"),
        (["select", "M.npy", "-r", "2", "--set", "lam=1"], "not an option of method 'auto'"),
        (["select", "M.npy", "-r", "2", "--picture", "5"], "--picture must be two numbers"),
        (["select", "M.npy", "-r", "2", "--shape", "5x5"], "5"),
        (["select", "absent.npy", "-r", "2"], "absent.npy"),
        (["select", "signed.npy", "-r", "2"], "--negative clip"),
        (["select", "M.npy", "-r", "2", "--out", "M.npy"], "M.npy is a file, not a folder"),
        (
            ["select", "M.npy", "-r", "2", "--memory", "much"],
            "--memory must be a number of bytes such as 2GB",
        ),
        (["unmix", "M.npy", "-r", "2", "--memory", "1MB"], "--memory must be at least 700 MB"),
        (["compare", "M.npy", "-r", "2", "-m", "magic"], "--method must be one of 'auto'"),
        (["magic"], "No such command 'magic'"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_two(sepnmf_says, words, hint):
    np.save("M.npy", planted()[0])
    np.save("signed.npy", planted()[0] - 0.1)
    code, out, err = sepnmf_says(*words)
    assert (code, out) == (2, "")
    assert hint in err
    assert err.count("\n") == 1


def test_internal_errors_give_exit_code_one(sepnmf_says, monkeypatch):
    np.save("M.npy", planted()[0])
    monkeypatch.setattr("sepnmf.metrics.rae", lambda *_: 1 / 0)
    code, _, err = sepnmf_says("select", "M.npy", "-r", 2)
    assert code == 1
    assert "Internal error, please report it: ZeroDivisionError" in err


def raised_from(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "There is not enough memory.\n"),
        (MemoryError("Unable to allocate 8 GiB"), "Unable to allocate 8 GiB\n"),
        (ImportError("a.so: failed to map segment from shared object"), "There is not enough memory.\n"),
        (RuntimeError("can't start new thread"), "There is not enough memory.\n"),
        (raised_from(RuntimeError("no such thread"), MemoryError()), "There is not enough memory.\n"),
    ],
)
def test_a_lack_of_memory_is_one_line_that_needs_none(sepnmf_says, monkeypatch, error, said):
    def fails(*_, **__):
        raise error

    np.save("M.npy", planted()[0])
    monkeypatch.setattr("sepnmf.metrics.rae", fails)
    monkeypatch.setattr("rich.console.Console.print", fails)
    code, _, err = sepnmf_says("select", "M.npy", "-r", 2)
    assert (code, err) == (2, said)


def test_names_from_a_file_cannot_command_the_terminal(sepnmf_says):
    Path("M.csv").write_text("\x1b[31mred,[bold]b[/bold],c\n1,0,0.5\n0,1,0.5\n")
    code, out, _ = sepnmf_says("select", "M.csv", "-r", 2)
    assert code == 0
    assert "\x1b" not in out
    assert "[bold]b[/bold]" in out


def test_a_csv_of_names_survives_commas_quotes_and_lines(sepnmf_says):
    Path("M.csv").write_text('"a,""b""",c,d\n1,0,0.5\n0,1,0.5\n')
    sepnmf_says("select", "M.csv", "-r", 2)
    rows = table("M-anchors/anchors.csv")
    assert {row["name"] for row in rows} == {'a,"b"', "c"}


# The program -------------------------------------------------------------------------------------------


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom sepnmf.cli import run\n"
        "try:\n    run()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn', 'pandas', 'matplotlib', 'dask', 'zarr'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for words in (["--help"], ["select", "--help"], ["reproduce", "-h"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_tab_completion_knows_commands_and_methods():
    for typed, expected in (
        ("sepnmf un", "unmix"),
        ("sepnmf select M.npy --method preco", "preconditioned_spa"),
    ):
        environment = os.environ | {
            "_SEPNMF_COMPLETE": "complete_bash",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(typed.count(" ")),
        }
        code = "import sys; sys.argv[0] = 'sepnmf'; from sepnmf.cli import run; run()"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
        )
        assert expected in done.stdout, done


def test_ctrl_c_keeps_what_an_iterative_method_has(tmp_path):
    np.save(tmp_path / "M.npy", np.random.default_rng(0).random((60, 500)))
    words = [
        "select",
        "M.npy",
        "-r",
        "5",
        "-m",
        "fgnsr",
        "--set",
        "max_iter=10000000",
        "--set",
        "tol=0",
        "--json",
    ]
    command = [sys.executable, "-c", "from sepnmf.cli import run; run()", *words]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        stages = iter(child.stderr.readline, "")
        assert any(re.search(r": [1-9]\S* of at most \S+ iterations", line) for line in stages)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    assert json.loads(out)["status"] == "stopped"
    assert len(json.loads(out)["anchors"]) == 5


def test_the_first_ctrl_c_ends_a_command_that_still_compiles(tmp_path):
    np.save(tmp_path / "M.npy", np.random.default_rng(0).random((20, 60)))
    with subprocess.Popen(
        [sys.executable, "-m", "sepnmf", "select", "M.npy", "-r", "5"],
        cwd=tmp_path,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        stages = iter(child.stderr.readline, "")
        assert any(line.startswith("selecting anchors (auto)") for line in stages)  # some 20 seconds follow
        child.send_signal(signal.SIGINT)
        err = child.communicate(timeout=120)[1]
    assert (child.returncode, err) == (130, f"{STOPPED}\n")
    assert not (tmp_path / "M-select").exists()


def test_ctrl_c_in_the_import_of_an_extension_module_is_an_interrupt(monkeypatch, capsys):
    def interrupted(**_):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as pressed:
            raise ImportError("initialization failed") from pressed

    monkeypatch.setattr(typer.main, "get_command", lambda _: SimpleNamespace(main=interrupted))
    with pytest.raises(SystemExit, match="130"):
        run()
    assert capsys.readouterr().err == f"{STOPPED}\n"


def test_ctrl_c_in_the_first_imports_is_one_line():
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer':\n            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from sepnmf.__main__ import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")
