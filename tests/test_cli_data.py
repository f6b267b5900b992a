"""Options on what the file does not say: nodata, masks, bands, axes, order of pixels, names, constraints."""

import csv
import json
import re
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image
from scipy import sparse
from spectral import envi

import sepnmf
from sepnmf.datasets import make_dirichlet
from sepnmf.io import READERS

LINES, SAMPLES, BANDS = 12, 10, 20
EMPTY = [(0, 0), (3, 4), (3, 5), (11, 9)]  # pixels without data


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A clean image of lines × samples × bands, with pure pixels that have data."""
    monkeypatch.chdir(tmp_path)
    M, _ = make_dirichlet(0.0, m=BANDS, n=LINES * SAMPLES, r=3, random_state=0)
    cube = 5 + 100 * M.T.reshape(LINES, SAMPLES, BANDS)
    np.save("clean.npy", cube)
    return cube


def with_empty(scene, value):
    cube = scene.copy()
    for line, sample in EMPTY:
        cube[line, sample] = value
    return cube


def places(out):
    return sorted((row["line"], row["sample"]) for row in json.loads(out)["anchors"])


def clean_places(scene):
    mask = np.ones((LINES, SAMPLES), bool)
    for place in EMPTY:
        mask[place] = False
    columns = np.flatnonzero(mask.ravel())
    anchors = sepnmf.spa(scene.reshape(-1, BANDS).T[:, columns], 3).anchors
    return sorted((int(j) // SAMPLES, int(j) % SAMPLES) for j in columns[anchors])


UNMIX = ("unmix", "scene.npy", "-r", 3, "-m", "spa", "--out", "o")


# Every option reaches the reader -------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["select", "unmix", "compare"])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("nodata", "-9999"),
        ("nodata", "nan"),
        ("nodata", "0,65535"),
        ("mask", "mask.npy"),
        ("bands", "1-10,12"),
        ("axes", "bands,lines,samples"),
        ("order", "F"),
        ("names", "names.txt"),
        ("row_names", "names.txt"),
    ],
)
def test_options_are_passed_to_the_reader_as_they_are(
    scene, sepnmf_says, monkeypatch, command, option, value
):
    given = []

    def read(file, **options):
        given.append(options)
        raise ValueError("enough")

    np.save("mask.npy", np.ones((LINES, SAMPLES)))
    monkeypatch.setattr("sepnmf.io.read", read)
    words = (command, "clean.npy", "-r", 3, f"--{option.replace('_', '-')}", value)
    assert sepnmf_says(*words)[::2] == (2, "enough\n")
    assert str(given[0][option]) == value


def test_nodata_may_be_repeated(scene, sepnmf_says):
    cube = scene.copy()
    cube[0, 0], cube[1, 1], cube[2, 2] = -1, 65535, 0
    np.save("scene.npy", cube)
    words = ("--nodata", "-1", "--nodata", "65535,0", "--json")
    code, out, err = sepnmf_says(*UNMIX, *words)
    assert code == 0, err
    (said,) = json.loads(out)["left_out"]
    assert said.startswith("3 of 120 pixels are left out: ")
    assert all(value in said for value in ("-1", "65535", "0"))


@pytest.mark.parametrize(("option", "parameter"), [("--variable", "variable"), ("--memory", "large")])
def test_the_help_names_every_format_that_an_option_is_for(sepnmf_says, option, parameter):
    words = {".hdr": "ENVI", ".tif": "GeoTIFF", ".tiff": "GeoTIFF", ".nc": "NetCDF", ".nc4": "NetCDF"}
    words |= dict.fromkeys((".h5", ".hdf5", ".he5"), "HDF5")
    _, out, _ = sepnmf_says("select", "--help")
    text = out.partition(f"  {option} ")[2].partition("\n  --")[0]
    readers = {kind for kind, reader in READERS.items() if parameter in signature(reader).parameters}
    assert readers
    assert {kind for kind in readers if words.get(kind, kind) not in text} == set()


def test_the_help_says_that_bands_are_counted_from_one(sepnmf_says):
    for command in ("select", "unmix", "compare"):
        _, out, _ = sepnmf_says(command, "--help")
        assert "counted from 1 as in ENVI" in " ".join(out.split())


def test_a_mask_that_is_missing_is_said_before_the_work(scene, sepnmf_says, monkeypatch):
    monkeypatch.setattr("sepnmf.io.read", lambda *_, **__: 1 / 0)
    code, _, err = sepnmf_says("unmix", "clean.npy", "-r", 3, "--mask", "absent.npy")
    assert (code, err) == (2, "there is no file absent.npy.\n")


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (("--bands", "0-3"), "--bands "),
        (("--bands", "x"), "--bands "),
        (("--axes", "bands,lines"), "--axes "),
        (("--order", "Z", "--shape", "12x10"), "--order "),
        (("--nodata", "much"), "--nodata "),
    ],
)
def test_a_wrong_value_is_one_line_that_begins_with_the_option(scene, sepnmf_says, words, start):
    np.save("flat.npy", scene.reshape(-1, BANDS).T)
    file = "flat.npy" if "--shape" in words else "clean.npy"
    code, out, err = sepnmf_says("unmix", file, "-r", 3, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(start), err


# What is left out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "text"), [(65535.0, "65535"), (-9999.0, "-9999"), (np.nan, "nan")])
def test_pixels_without_data_are_neither_chosen_nor_explained(scene, sepnmf_says, value, text):
    np.save("scene.npy", with_empty(scene, value))
    code, out, err = sepnmf_says(*UNMIX, "--nodata", text, "--json", "--report")
    assert code == 0, err
    assert places(out) == clean_places(scene)
    record = json.loads(out)
    assert record["fit"] == pytest.approx(1.0, abs=1e-6)
    assert len(record["left_out"]) == 1
    assert re.match(r"4 of 120 pixels", record["left_out"][0])
    for sentence in (*record["left_out"], *record["assumptions"]):
        assert f"{sentence}\n" in err
        assert sentence.partition(":")[0] in Path("o/report.html").read_text()
    maps = np.load("o/abundances.npy")
    empty = np.isnan(maps).all(axis=2)
    assert sorted(map(tuple, np.argwhere(empty).tolist())) == EMPTY
    assert np.isfinite(maps[~empty]).all()


def test_nan_is_refused_with_the_options_that_leave_it_out(scene, sepnmf_says):
    np.save("scene.npy", with_empty(scene, np.nan))
    code, out, err = sepnmf_says(*UNMIX)
    assert (code, out) == (2, "")
    assert "the first at (0, 0): leave their columns out with --nodata nan or --mask FILE, or" in err


def test_nodata_below_zero_is_refused_with_the_option_that_leaves_it_out(scene, sepnmf_says):
    np.save("scene.npy", with_empty(scene, -9999.0))
    code, out, err = sepnmf_says(*UNMIX)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "looks like nodata: leave its columns out with --nodata -9999, or pass --negative clip" in err
    np.savetxt("table.csv", with_empty(scene, -9999.0).reshape(-1, BANDS).T, delimiter=",")
    _, _, err = sepnmf_says("select", "table.csv", "-r", 3)
    assert "looks like nodata: leave its columns out with --nodata -9999, or pass --negative clip" in err


def test_a_mask_leaves_pixels_out(scene, sepnmf_says):
    mask = np.ones((LINES, SAMPLES), np.uint8)
    for place in EMPTY:
        mask[place] = 0
    np.save("mask.npy", mask)
    np.save("scene.npy", with_empty(scene, 1000.0))
    for command in ("unmix", "select"):
        code, out, err = sepnmf_says(command, *UNMIX[1:], "--mask", "mask.npy", "--json")
        assert code == 0, err
        assert places(out) == clean_places(scene)
        assert "4 of 120 pixels" in err
    code, out, _ = sepnmf_says("compare", *UNMIX[1:], "--mask", "mask.npy", "--json")
    (row,) = json.loads(out)["methods"]
    assert sorted((j // SAMPLES, j % SAMPLES) for j in row["columns"]) == clean_places(scene)
    assert "4 of 120 pixels" in json.loads(out)["left_out"][0]


def test_bands_are_left_out_and_the_others_keep_their_numbers(scene, sepnmf_says):
    noisy = scene.copy()
    noisy[..., [4, 5, 19]] += 1000 * np.random.default_rng(0).random((LINES, SAMPLES, 3))
    np.save("scene.npy", noisy)
    code, out, err = sepnmf_says(*UNMIX, "--bands", "1-4,7-19", "--json", "--report")
    assert code == 0, err
    assert json.loads(out)["fit"] == pytest.approx(1.0, abs=1e-6)
    assert "3 of 20 bands" in err
    with open("o/endmembers.csv") as stream:
        head, *rows = csv.reader(stream)
    assert head[0] == "band"
    assert [int(row[0]) for row in rows] == [*range(1, 5), *range(7, 20)]
    values = np.array([row[1:] for row in rows], float)
    line, sample = next((a["line"], a["sample"]) for a in json.loads(out)["anchors"])
    np.testing.assert_allclose(values[:, 0], scene[line, sample, [*range(4), *range(6, 19)]])


def test_bad_bands_of_a_header_are_left_out_and_it_is_said(scene, sepnmf_says):
    noisy = scene.copy()
    noisy[..., :2] += 1000 * np.random.default_rng(0).random((LINES, SAMPLES, 2))
    metadata = {"wavelength": list(range(400, 420)), "bbl": [0, 0] + [1] * 18}
    envi.save_image("scene.hdr", noisy, dtype=np.float64, metadata=metadata)
    code, out, err = sepnmf_says("unmix", "scene.hdr", *UNMIX[2:], "--json")
    assert code == 0
    assert json.loads(out)["fit"] == pytest.approx(1.0, abs=1e-6)
    assert "2 of 20 bands" in err
    with open("o/endmembers.csv") as stream:
        _, *rows = csv.reader(stream)
    assert [float(row[0]) for row in rows] == list(range(402, 420))


def test_a_value_that_looks_like_nodata_is_a_warning_everywhere(scene, sepnmf_says):
    cube = scene.copy()
    cube[:3] = 65535.0
    np.save("scene.npy", cube)
    code, out, err = sepnmf_says(*UNMIX, "--json", "--report")
    assert code == 0
    warnings = [text for text in json.loads(out)["warnings"] if "looks like nodata" in text]
    assert len(warnings) == 1
    assert "pass --nodata 65535." in warnings[0]
    assert f"{warnings[0]}\n" in err
    assert "looks like nodata" in Path("o/report.html").read_text()


@pytest.mark.parametrize("lazy", [False, True])
def test_an_anchor_that_looks_like_nodata_is_named_everywhere(scene, sepnmf_says, monkeypatch, lazy):
    read = sepnmf.io.read
    monkeypatch.setattr("sepnmf.io.read", lambda file, **given: read(file, **given | {"in_parts": lazy}))
    dn = np.round(100 * scene).astype("u2")
    dn[:3] = 65535
    wavelengths = [400 + k for k in range(BANDS)]
    metadata = {"reflectance scale factor": 3, "wavelength": wavelengths, "bbl": [0] + [1] * (BANDS - 1)}
    envi.save_image("scene.hdr", dn, dtype="u2", metadata=metadata)
    words = ["unmix", "scene.hdr", "-r", 3, "-m", "spa", "--out", "o"]
    code, out, err = sepnmf_says(*words, "--report")
    assert code == 0, err
    record = json.loads(Path("o/anchors.json").read_text())
    (row,) = [row for row in record["anchors"] if row["line"] < 3]
    said = (
        f"Anchor {row['rank']} ({row['name']}) has the value 65535 in every band: it is probably no data; "
        "pass --nodata 65535."
    )
    assert said in record["warnings"]
    assert out.count(said) == 1
    assert said in Path("o/report.html").read_text()
    code, out, _ = sepnmf_says(*words, "--nodata", "65535", "--json")
    assert json.loads(out)["warnings"] == []


@pytest.mark.parametrize("axis", ["columns", "rows"])
def test_rows_that_are_pixels_are_those_that_are_selected(scene, sepnmf_says, axis):
    np.save("rows.npy", scene.reshape(-1, BANDS))
    shape = ("--shape", f"{LINES}x{SAMPLES}")
    code, out, err = sepnmf_says("select", "rows.npy", "-r", 3, "-m", "spa", *shape, "--axis", axis, "--json")
    assert code == 0, err
    assert "The rows are taken as pixels" in err
    assert {row["column"] for row in json.loads(out)["anchors"]} == set(
        sepnmf.spa(scene.reshape(-1, BANDS).T, 3).anchors.tolist()
    )


def test_what_is_set_to_zero_is_said_everywhere(scene, sepnmf_says, monkeypatch):
    cube = scene.copy()
    cube[0, 1, :5], cube[3, 3, 7] = -0.5, -2.25
    cube[0, 0] = -9999
    np.save("scene.npy", cube)
    words = (*UNMIX, "--nodata", "-9999", "--negative")
    code, out, err = sepnmf_says(*words, "clip", "--json", "--report")
    assert code == 0, err
    said = "6 entries (0.3%) are negative, the smallest -2.25, and are set to zero."
    assert said in json.loads(out)["assumptions"]
    assert f"{said}\n" in err
    assert said in Path("o/report.html").read_text()
    assert "set to zero" not in sepnmf_says(*words, "allow")[2]
    np.save("scene.npy", scene)
    assert "set to zero" not in sepnmf_says(*UNMIX, "--negative", "clip")[2]
    read = sepnmf.io.read
    monkeypatch.setattr("sepnmf.io.read", lambda file, **given: read(file, **given | {"in_parts": True}))
    assert "Negative entries are set to zero.\n" in sepnmf_says(*UNMIX, "--negative", "clip")[2]


def test_what_is_set_to_zero_in_a_sparse_matrix_is_said(tmp_path, sepnmf_says):
    M = sparse.random_array((30, 40), density=0.3, format="csc", random_state=np.random.default_rng(0))
    M.data[:2] = -1.5
    sparse.save_npz(tmp_path / "a.npz", M)
    words = ("select", tmp_path / "a.npz", "-r", 3, "-m", "spa", "--out", tmp_path / "o")
    code, _, err = sepnmf_says(*words, "--negative", "clip")
    assert code == 0, err
    assert "2 entries (0.2%) are negative, the smallest -1.5, and are set to zero.\n" in err


# Axes, order and names -----------------------------------------------------------------------------------


def test_bands_may_come_first(scene, sepnmf_says):
    np.save("scene.npy", scene.transpose(2, 0, 1))
    code, out, _ = sepnmf_says(*UNMIX, "--axes", "bands,lines,samples", "--json")
    assert code == 0
    _, clean, _ = sepnmf_says("unmix", "clean.npy", *UNMIX[2:], "--json")
    assert places(out) == places(clean)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_of_pixels_is_what_is_said(scene, sepnmf_says, order):
    pixels = scene.reshape(-1, BANDS) if order == "C" else scene.transpose(1, 0, 2).reshape(-1, BANDS)
    np.save("scene.npy", pixels.T)
    code, out, err = sepnmf_says(*UNMIX, "--shape", f"{LINES}x{SAMPLES}", "--order", order, "--json")
    assert (code, err) == (0, "")
    _, clean, _ = sepnmf_says("unmix", "clean.npy", *UNMIX[2:-1], "clean", "--json")
    assert places(out) == places(clean)
    assert np.load("o/abundances.npy").shape == (LINES, SAMPLES, 3)


def test_what_is_assumed_is_said_on_standard_error(scene, sepnmf_says):
    code, out, err = sepnmf_says("unmix", "clean.npy", *UNMIX[2:], "--json")
    assert code == 0
    (sentence,) = json.loads(out)["assumptions"]
    assert "lines × samples × bands" in sentence
    assert err == f"{sentence}\n"


def test_a_refusal_behind_what_is_assumed_is_still_one_line(scene, sepnmf_says):
    code, _, err = sepnmf_says("unmix", "clean.npy", "-r", 9999)
    assert (code, err.count("\n")) == (2, 1)


def test_names_come_from_files(sepnmf_says):
    M, true = make_dirichlet(0.0, m=4, n=9, r=3, random_state=0)
    np.save("M.npy", M)
    Path("columns.txt").write_text("\n".join(f"gene {j}" for j in range(9)) + "\n")
    Path("rows.txt").write_text("\n".join(f"cell {i}" for i in range(4)) + "\n")
    words = ("select", "M.npy", "-r", 3, "-m", "spa", "--names", "columns.txt", "--row-names", "rows.txt")
    code, out, err = sepnmf_says(*words, "--report")
    assert code == 0, err
    assert all(f"gene {j}" in out for j in true)
    with open("M-anchors/anchors.csv") as stream:
        assert {row["name"] for row in csv.DictReader(stream)} == {f"gene {j}" for j in true}
    assert "cell 2" in Path("M-anchors/report.html").read_text()


# The constraint and the pictures -------------------------------------------------------------------------


def test_the_fit_is_that_of_the_weights_that_are_written(scene, sepnmf_says):
    cube = scene * np.linspace(0.5, 1.5, SAMPLES)[:, None]  # brightness varies: sums are not one
    np.save("scene.npy", cube)
    fits = {}
    for words in ((), ("--sum-to-one",)):
        code, out, _ = sepnmf_says(*UNMIX, *words, "--json", "--report")
        assert code == 0
        pixels = cube.reshape(-1, BANDS)
        columns = [row["column"] for row in json.loads(out)["anchors"]]
        H = np.load("o/abundances.npy").reshape(-1, 3)
        left = np.linalg.norm(pixels - H @ pixels[columns]) / np.linalg.norm(pixels)
        fits[words] = json.loads(out)["fit"]
        assert fits[words] == pytest.approx(1 - left, abs=1e-6)
        assert f"{fits[words]:.2%}"[:4] in Path("o/report.html").read_text()
        _, out, _ = sepnmf_says(*UNMIX, *words)
        assert f"The anchors explain {fits[words]:.2%} of the data" in out
    assert fits[("--sum-to-one",)] < fits[()] - 0.01
    assert json.loads(Path("o/anchors.json").read_text())["sum_to_one"] is True


def test_a_report_compares_methods_with_the_constraint_asked_for(scene, sepnmf_says, monkeypatch):
    np.save("scene.npy", scene * np.linspace(0.5, 1.5, SAMPLES)[:, None])
    written = []
    monkeypatch.setattr("sepnmf.report.write_report", lambda path, contents: written.append(contents) or path)
    for words in ((), ("--sum-to-one",)):
        assert sepnmf_says(*UNMIX, "-m", "vca", *words, "--report")[0] == 0
    free, bound = ({row["method"]: row["fit"] for row in page.comparison} for page in written)
    pixels = np.load("scene.npy").reshape(-1, BANDS).T
    W = pixels[:, sepnmf.spa(pixels, 3).anchors]
    H = sepnmf.nnls(W, pixels, sum_to_one=True)
    fit = 1 - np.linalg.norm(pixels - W @ H) / np.linalg.norm(pixels)
    assert bound["spa"] == pytest.approx(fit, abs=1e-6)
    assert bound["spa"] < free["spa"] - 0.01


@pytest.mark.parametrize("words", [(), ("--sum-to-one",)])
def test_the_residual_and_the_dominant_anchor_are_drawn(scene, sepnmf_says, words):
    np.save("scene.npy", with_empty(scene, -1.0))
    code, out, err = sepnmf_says(*UNMIX, "--nodata", "-1", *words)
    assert code == 0, err
    for name in ("residual.png", "dominant.png"):
        assert image.imread(Path("o", name)).ndim == 3
        assert str(Path("o", name)) in out


def test_the_reason_for_the_number_of_anchors_is_kept(scene, sepnmf_says):
    np.save("scene.npy", scene)
    code, out, err = sepnmf_says("unmix", "scene.npy", "-r", "auto", "-m", "spa", "--json", "--out", "o")
    assert code == 0, err
    reason = next(line for line in err.splitlines() if "anchors:" in line)
    assert reason in json.loads(out)["assumptions"]


def test_the_reason_and_the_table_have_one_measure_of_what_is_unexplained(sepnmf_says):
    rng = np.random.default_rng(1)
    M = rng.random((40, 4)) @ rng.dirichlet(np.full(4, 0.3), 600).T
    np.save("M.npy", M + 0.3 * rng.random(M.shape) * np.linspace(0.1, 1, 600))
    code, out, err = sepnmf_says("select", "M.npy", "-r", "auto")
    assert code == 0, err
    table = re.search(r"explain ([\d.]+)% of the data; ([\d.]+)% is unexplained", out)
    assert float(table[1]) + float(table[2]) == pytest.approx(100)
    reason = re.search(r"about ([\d.]+)%", err)
    assert float(reason[1]) == pytest.approx(float(table[2]), rel=0.1)


def test_very_long_columns_are_not_written_as_a_table(sepnmf_says, monkeypatch):
    monkeypatch.setattr("sepnmf.cli._writing.MOST_ROWS", 30)
    for rows, name in ((30, "anchor_columns.csv"), (31, "anchor_columns.npy")):
        M = np.random.default_rng(0).random((rows, 5))
        np.save("M.npy", M)
        code, out, err = sepnmf_says("select", "M.npy", "-r", 2, "-m", "spa", "--out", "o")
        assert code == 0, err
        assert [path.name for path in Path("o").glob("anchor_columns*")] == [name]
        assert str(Path("o", name)) in out
    found = json.loads(Path("o/anchors.json").read_text())["anchors"]
    columns = M[:, [anchor["column"] for anchor in found]]
    np.testing.assert_array_equal(np.load("o/anchor_columns.npy"), columns)


def test_anchors_that_are_rows_are_called_rows(scene, sepnmf_says):
    np.save("samples.npy", scene.reshape(-1, BANDS))
    code, out, err = sepnmf_says("select", "samples.npy", "-r", 3, "-m", "spa", "--axis", "rows")
    assert code == 0, err
    assert "Rows are counted from 0." in out
    assert out.split()[0] == "row"
    assert "Anchors are rows of the file (--axis rows)" in err


def test_select_writes_vertices_and_shows_stability(sepnmf_says):
    rng = np.random.default_rng(0)
    M = rng.random((40, 3)) @ np.hstack([np.eye(3), rng.dirichlet(np.ones(3), 57).T])
    np.save("M.npy", M + 0.01 * rng.random(M.shape))
    code, out, err = sepnmf_says("select", "M.npy", "-r", 3, "--stability", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["noise"] == "white"
    assert [row["stability"] for row in found["anchors"]] == [1.0, 1.0, 1.0]
    written = np.loadtxt("M-anchors/vertices.csv", delimiter=",", skiprows=1)[:, 1:]
    anchors = [row["column"] for row in found["anchors"]]
    np.testing.assert_allclose(written, np.load("M.npy")[:, anchors], atol=0.02)
    code, out, _ = sepnmf_says("select", "M.npy", "-r", 3, "--stability")
    assert "stability" in out.splitlines()[0]
    assert "noise: white" in out
    code, _, err = sepnmf_says("select", "M.npy", "-r", 3, "--stability", "-m", "spa")
    assert (code, err) == (2, "--stability is for --method auto, got 'spa'.\n")
