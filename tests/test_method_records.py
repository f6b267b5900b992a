"""One record per method, and everything that follows from it."""

import importlib.util
import json
import re
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import sepnmf
from sepnmf._overview import compare
from sepnmf.cli import app
from sepnmf.datasets import make_dirichlet
from sepnmf.matrix import as_matrix
from sepnmf.methods import Method
from sepnmf.registry import ready_methods
from sepnmf.selection import Selection, best_first

ROOT = Path(__file__).parents[1]


def longest(M, r, *, power=2.0, negative="error"):
    """Pick the r longest columns."""
    scores = as_matrix(M, negative).in_memory().squares ** (power / 2)
    return Selection(anchors=best_first(scores, r), scores=scores)


@pytest.fixture
def toy(monkeypatch):
    record = Method(longest, summary="the longest columns", use="never", cost="one pass over M")
    monkeypatch.setitem(sepnmf.METHODS, "longest", record)
    return record


@pytest.fixture
def M():
    M, _ = make_dirichlet(0.0, m=20, n=300, r=4, random_state=0)
    return M


def written_from_source():
    """The file that writes the tables of the documentation; it needs no Sphinx to be read."""
    path = ROOT / "docs" / "written_from_source.py"
    spec = importlib.util.spec_from_file_location("written_from_source", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_method_is_one_record(toy, M, tmp_path, monkeypatch):
    expected = np.argsort(-np.linalg.norm(M, axis=0), kind="stable")[:4]
    # in select, dense and sparse
    sel = sepnmf.select(M, 4, "longest")
    np.testing.assert_array_equal(sel.anchors, expected)
    assert sel.method == "longest"
    assert sel.seconds > 0
    np.testing.assert_array_equal(sepnmf.select(sparse.csr_array(M), 4, "longest").anchors, expected)
    with pytest.raises(ValueError, match="'speed' is not an option of method 'longest', which takes pow"):
        sepnmf.select(M, 4, "longest", speed=1)
    with pytest.raises(ValueError, match="M has 6000 negative entries"):
        sepnmf.select(-M, 4, "longest")
    # on data in chunks: small ones are loaded, others are screened and the choice is improved
    D = da.from_array(M, chunks=(7, 50))
    np.testing.assert_array_equal(sepnmf.select(D, 4, "longest").anchors, expected)
    monkeypatch.setattr("sepnmf.matrix._chunked.SMALL", 0)
    screened = sepnmf.select(D, 4, "longest")
    assert screened.history["which"].tolist() == ["held", "all"]
    assert screened.history["columns"][1] == 300
    # in an estimator
    model = sepnmf.SeparableNMF(4, method="longest").fit(M.T)
    np.testing.assert_array_equal(model.anchor_indices_, expected)
    # in a comparison, in Python and on the command line
    assert "longest" in ready_methods()
    rows = compare(M, 4, ["spa", "longest"])
    assert rows[1]["columns"] == expected.tolist()
    np.save(tmp_path / "M.npy", M[:, :40])
    monkeypatch.chdir(tmp_path)
    words = ["compare", "M.npy", "-r", "3", "-m", "longest", "-m", "spa", "--json"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    assert {row["method"] for row in json.loads(answer.stdout)["methods"]} == {"longest", "spa"}
    # in the list of methods
    listed = CliRunner().invoke(app, ["methods", "--json"])
    facts = {fact["method"]: fact for fact in json.loads(listed.stdout)}
    assert facts["longest"]["summary"] == "the longest columns"
    assert facts["longest"]["options"] == ["power", "negative"]
    assert "the longest columns" in " ".join(CliRunner().invoke(app, ["methods"]).stdout.split())
    # in the tables of the documentation
    pages = written_from_source()
    assert "``longest``\n     - the longest columns" in pages.methods_table()
    assert "| `longest` | the longest columns | never |" in pages.readme_table()


def test_the_readme_shows_the_records():
    pages = written_from_source()
    text = (ROOT / "README.md").read_text("utf-8")
    table = text.partition(pages.README_BEGIN)[2].partition(pages.README_END)[0]
    assert table.strip() == pages.readme_table(), "run python docs/written_from_source.py"


def test_every_record_says_what_a_user_needs():
    for name, method in sepnmf.METHODS.items():
        assert method.name == name == getattr(sepnmf, name).__name__
        assert getattr(sepnmf, name).method is method
        for words in (method.summary, method.use, method.cost):
            assert 5 < len(words) < 90, name
        assert method.default("negative") == "error"
        assert method.chunks in ("exactly", "screened")
        assert not (method.square and method.sparse)
    assert [name for name, method in sepnmf.METHODS.items() if method.required] == ["admm", "dca"]
    assert sepnmf.METHODS["fgnsr"].iteration_limit({"max_iter": 7}) == 7
    assert sepnmf.METHODS["spa"].iteration_limit({}) is None


def test_hyphens_are_accepted_on_input(M):
    for name in ("preconditioned-spa", "preconditioned_spa"):
        assert sepnmf.select(M, 3, name).method == "preconditioned_spa"
    assert sepnmf.SeparableNMF(3, method="smoothed-vca", random_state=0).fit(M.T).selection_.method == (
        "smoothed_vca"
    )
    with pytest.raises(ValueError, match=r"method must be one of 'auto', .*, got 'spas'"):
        sepnmf.select(M, 3, "spas")


def test_modules_do_not_hide_functions():
    import sepnmf.methods
    import sepnmf.tuning

    assert callable(sepnmf.methods.spa)
    assert callable(sepnmf.tuning.auto)
    assert sepnmf.io.read is not None
    assert sepnmf.report.write_report is not None


def test_only_the_matrix_and_files_ask_for_the_kind_of_container():
    asked = re.compile(r"is_chunked|is_dask|issparse|is_sparse")
    places = {
        path.relative_to(ROOT / "src" / "sepnmf").parts[0]
        for path in (ROOT / "src").rglob("*.py")
        if asked.search(path.read_text("utf-8"))
    }
    assert places <= {"matrix", "io"}
