"""--include, --exclude and --labels: what is known goes in on the command line."""

import csv
import json

import numpy as np
import pytest

import sepnmf


@pytest.fixture
def table(tmp_path):
    """Mixtures of three columns, with names of which one has a comma and one is a formula."""
    rng = np.random.default_rng(0)
    W = rng.random((8, 3))
    M = np.abs(W @ np.hstack([np.eye(3), rng.dirichlet(np.ones(3), 27).T]) + 0.01 * rng.random((8, 30)))
    names = ["soil", "tree, old", "=water", *(f"mixed {j}" for j in range(27))]
    path = tmp_path / "spectra.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *M.tolist()])
    return path, M


@pytest.fixture
def image(tmp_path):
    rng = np.random.default_rng(1)
    W = rng.random((6, 3))
    M = W @ np.hstack([np.eye(3), rng.dirichlet(np.ones(3), 32).T])
    cube = M.T.reshape(5, 7, 6)
    path = tmp_path / "scene.npy"
    np.save(path, cube)
    return path, M


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_indices_and_names_are_included_and_excluded_under_the_labels(sepnmf_says, table):
    path, M = table
    known = ("--include", '7,"tree, old"', "--exclude", "0,=water", "--labels", "<b>grass</b>,=tree")
    code, out, err = sepnmf_says("select", path, "-r", 3, *known, "--report", "--out", "o")
    assert code == 0, err
    assert "<b>grass</b>" in out
    assert "Given as anchors (--include): <b>grass</b>; =tree." in err
    assert "Not taken as anchors (--exclude): soil; =water." in err
    folder = path.parent / "o"
    rows = rows_of(folder / "anchors.csv")
    by_column = {int(row["column"]): row["name"] for row in rows}
    assert by_column[7] == "<b>grass</b>"
    assert by_column[1] == "'=tree"  # as all texts that a spreadsheet would take for formulas
    assert not {0, 2} & set(by_column)
    content = json.loads((folder / "anchors.json").read_text())
    assert (content["include"], content["exclude"]) == ([7, 1], [0, 2])
    assert {anchor["name"] for anchor in content["anchors"]} > {"<b>grass</b>", "=tree"}
    for name in ("anchor_columns.csv", "vertices.csv"):
        assert {"<b>grass</b>", "'=tree"} < set(rows_of(folder / name)[0])
    page = (folder / "report.html").read_text()
    assert "&lt;b&gt;grass&lt;/b&gt;" in page
    assert "<b>grass</b>" not in page
    expected = sepnmf.select(M, 3, include=[7, 1], exclude=[0, 2], random_state=0)
    assert [int(row["column"]) for row in rows] == expected.anchors.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_pixels_are_given_by_line_and_sample(sepnmf_says, image, order):
    path, M = image
    if order == "F":  # the same image, as a matrix whose columns are its pixels, sample by sample
        places = np.arange(35).reshape(5, 7).ravel(order="F")
        np.save(path, M[:, places])
    shape = ("--shape", "5x7", "--order", "F") if order == "F" else ()
    known = ("--include", "2:3,0:1", "--labels", "meadow,lake", "--exclude", "0:0,0:2")
    code, _, err = sepnmf_says("unmix", path, "-r", 3, *shape, *known, "--report", "--out", "o")
    assert code == 0, err
    rows = {row["name"]: row for row in rows_of(path.parent / "o" / "anchors.csv")}
    assert (rows["meadow"]["line"], rows["meadow"]["sample"]) == ("2", "3")
    assert (rows["lake"]["line"], rows["lake"]["sample"]) == ("0", "1")
    others = {(row["line"], row["sample"]) for row in rows.values()}
    assert not {("0", "0"), ("0", "2")} & others
    spectra = rows_of(path.parent / "o" / "endmembers.csv")
    np.testing.assert_allclose([float(row["meadow"]) for row in spectra], M[:, 2 * 7 + 3])
    page = (path.parent / "o" / "report.html").read_text()
    assert "meadow" in page


def test_all_anchors_included_are_the_same_result_again(sepnmf_says, image):
    path, _ = image
    assert sepnmf_says("unmix", path, "-r", 3, "--out", "first")[0] == 0
    first = json.loads((path.parent / "first" / "anchors.json").read_text())
    columns = [anchor["column"] for anchor in first["anchors"]]
    include, labels = ",".join(map(str, columns)), "a,b,c"
    code, _, err = sepnmf_says(
        "unmix", path, "-r", 3, "--include", include, "--labels", labels, "--out", "again"
    )
    assert code == 0, err
    again = json.loads((path.parent / "again" / "anchors.json").read_text())
    assert {anchor["column"]: anchor["name"] for anchor in again["anchors"]} == dict(
        zip(columns, "abc", strict=True)
    )
    assert again["fit"] == first["fit"]
    np.testing.assert_array_equal(
        np.sort(np.load(path.parent / "again" / "abundances.npy"), axis=-1),
        np.sort(np.load(path.parent / "first" / "abundances.npy"), axis=-1),
    )


def test_a_comparison_runs_the_methods_that_can(sepnmf_says, table):
    path, _ = table
    code, out, err = sepnmf_says("compare", path, "-r", 3, "--include", "9", "--labels", "given", "--json")
    assert code == 0, err
    rows = json.loads(out)["methods"]
    assert {row["method"] for row in rows} == {name for name, m in sepnmf.METHODS.items() if m.takes_known}
    assert all("given" in row["anchors"] for row in rows if row["failure"] is None)
    code, out, _ = sepnmf_says("compare", path, "-r", 3, "--include", "9", "-m", "ppi", "--json")
    assert "can neither include nor exclude columns" in json.loads(out)["methods"][0]["failure"]


def test_a_number_of_anchors_that_is_estimated_is_at_least_that_of_the_included(sepnmf_says, table):
    path, _ = table
    code, _, err = sepnmf_says("select", path, "-r", "auto", "--include", "3,4,5,6,7,8", "-m", "snpa")
    assert code == 0
    assert "6 is used, the number of columns that are included." in err


def test_anchor_words_are_given_by_words_even_if_they_are_numbers(sepnmf_says, tmp_path):
    rng = np.random.default_rng(0)
    words = ["2003", "ball", "vote", "film", *(f"word{j}" for j in range(20))]
    topics = rng.dirichlet(0.1 * np.ones(24), 4)
    counts = rng.poisson(60 * rng.dirichlet(0.2 * np.ones(4), 80) @ topics) + (rng.random((80, 24)) < 0.2)
    with (tmp_path / "counts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([words, *counts.tolist()])
    known = ("--include", "2003", "--exclude", "ball,vote")
    code, out, err = sepnmf_says("topics", "counts.csv", "-r", 3, *known, "--max-df", 1.0, "--json")
    assert code == 0, err
    anchors = [topic["anchor"] for topic in json.loads(out)["topics"]]
    assert "2003" in anchors
    assert not {"ball", "vote"} & set(anchors)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--include", "99"], "include has column 99, but M has the columns 0 to 29."),
        (["--exclude=-1"], "exclude has column -1, but M has the columns 0 to 29."),
        (["--include", "soli"], "include has 'soli', which is no name of a column: did you mean 'soil'?"),
        (["--include", "0,soil"], "include has column 0 more than once: name it once."),
        (["--include", "0,,1"], "--include must have parts with commas between them, none of them empty"),
        (["--include", "a\nb"], "--include must have parts with commas between them, none of them empty"),
        (["--labels", "a"], "--labels has 1 name(s), and --include 0 column(s): give one name for each"),
        (["--include", "0,1", "--labels", "a"], "--labels has 1 name(s), and --include 2 column(s): give"),
        (["--include", "0,1", "--labels", "a,a"], "--labels has 'a' more than once: give each column a name"),
        (
            ["--include", "0", "-m", "ppi"],
            "method 'ppi' can neither include nor exclude columns; these can: ",
        ),
        (["--include", "0", "--stability"], "--stability draws all anchors again: omit it, or --include and"),
        (["--include", "0,1,2,3"], "include has 4 columns, more than the r=3 anchors asked for"),
    ],
)
def test_wrong_columns_are_refused_in_one_line(sepnmf_says, table, words, says):
    code, out, err = sepnmf_says("select", table[0], "-r", 3, *words)
    assert code == 2
    assert not out
    assert err.splitlines()[-1].startswith(says)
    assert [path.name for path in table[0].parent.iterdir()] == ["spectra.csv"]


def test_pixels_outside_of_the_image_are_refused(sepnmf_says, image):
    code, _, err = sepnmf_says("unmix", image[0], "-r", 3, "--include", "5:0")
    assert code == 2
    assert "--include: There is no pixel 5:0: the image has 5 lines and 7 samples, counted from 0." in err
