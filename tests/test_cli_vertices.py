"""No pure columns on the command line: what is said, and `--vertices`."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import sepnmf
from sepnmf.datasets import make_capped

SENTENCE = "There are no pure columns"


@pytest.fixture
def blunt(tmp_path, monkeypatch):
    """Mixtures without pure ones as a matrix and as an image."""
    monkeypatch.chdir(tmp_path)
    drawn = make_capped(0.8, 0.01, 20, 120, 3, random_state=0)
    np.save("M.npy", drawn.M)
    np.save("scene.npy", drawn.M.T.reshape(12, 10, 20))
    return drawn


def table(path):
    with open(path, newline="") as file:
        return np.array([[float(x) for x in row[1:]] for row in list(csv.reader(file))[1:]])


def test_the_command_says_that_there_are_no_pure_columns_and_what_to_do(blunt, sepnmf_says):
    code, out, _ = sepnmf_says("select", "M.npy", "-r", 3, "--out", "o", "--report")
    assert code == 0
    (line,) = [line for line in " ".join(out.split()).split(". ") if SENTENCE in line]
    assert "--vertices minimum-volume" in line
    record = json.loads(Path("o/anchors.json").read_text())
    assert (record["status"], record["vertices"]) == ("no pure columns", None)
    assert SENTENCE in Path("o/report.html").read_text()


@pytest.mark.parametrize(("kind", "least"), [("minimum-volume", 0.35), ("archetypes", 1.0)])
def test_vertices_take_the_place_of_anchors(blunt, sepnmf_says, kind, least):
    code, _, err = sepnmf_says("unmix", "scene.npy", "-r", 3, "--vertices", kind, "--out", "o", "--report")
    assert code == 0
    assert f"--vertices {kind}" in err
    W = table("o/endmembers.csv")
    np.testing.assert_array_equal(W, table("o/vertices.csv"))
    record = json.loads(Path("o/anchors.json").read_text())
    assert record["vertices"] == kind
    assert any(kind in sentence for sentence in record["assumptions"])
    anchors = [row["column"] for row in record["anchors"]]
    errors = [sepnmf.metrics.mrsa(each, blunt.vertices) for each in (W, blunt.M[:, anchors])]
    assert errors[0] < least * errors[1]
    H = sepnmf.nnls(W, blunt.M)
    np.testing.assert_allclose(np.load("o/abundances.npy").reshape(120, 3).T, H, atol=1e-6)
    assert record["fit"] == pytest.approx(1 - np.linalg.norm(blunt.M - W @ H) / np.linalg.norm(blunt.M))


def test_weights_of_a_table_are_those_of_the_vertices(blunt, sepnmf_says):
    words = ("select", "M.npy", "-r", 3, "-m", "spa", "--out", "o")
    assert sepnmf_says(*words, "--vertices", "minimum-volume", "--report")[0] == 0
    W, H = table("o/vertices.csv"), table("o/weights.csv")
    np.testing.assert_allclose(H, sepnmf.nnls(W, blunt.M), atol=1e-6)
    anchors = sepnmf.spa(blunt.M, 3).anchors
    np.testing.assert_allclose(table("o/anchor_columns.csv"), blunt.M[:, anchors])
    np.testing.assert_allclose(W, sepnmf.minimum_volume(blunt.M, anchors).vertices)
    assert sepnmf_says(*words)[0] == 0
    assert not Path("o/vertices.csv").exists()
    np.testing.assert_allclose(table("o/weights.csv"), sepnmf.nnls(blunt.M[:, anchors], blunt.M), atol=1e-6)


def test_vertices_after_division_by_sums_have_the_scale_of_the_file(blunt, sepnmf_says):
    words = ("select", "M.npy", "-r", 3, "-m", "spa", "--normalize", "l1", "--out", "o")
    assert sepnmf_says(*words, "--vertices", "minimum-volume")[0] == 0
    np.testing.assert_allclose(sepnmf.nnls(table("o/vertices.csv"), blunt.M).sum(axis=0).mean(), 1, atol=0.05)


def test_misfit_is_said(blunt, sepnmf_says):
    rng = np.random.default_rng(0)
    np.save("six.npy", rng.random((30, 6)) @ rng.dirichlet(np.ones(6), 40).T)
    code, _, err = sepnmf_says("select", "six.npy", "-r", 3, "--vertices", "minimum-volume", "--out", "o")
    assert code == 0
    assert "is no noise" in err


def test_wrong_requests_are_refused(blunt, sepnmf_says):
    assert sepnmf_says("select", "M.npy", "-r", 3, "--vertices", "outside", "--out", "o")[0] == 2
    code, _, err = sepnmf_says(
        "select", "M.npy", "-r", 3, "-m", "spa", "--vertices", "archetypes", "--memory", "1kB", "--out", "o"
    )
    assert code == 2
    assert "memory" in err
