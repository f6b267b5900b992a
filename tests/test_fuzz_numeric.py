"""A short round of `fuzz/numeric.py`: what must hold of every answer holds of some hundred."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[1] / "fuzz" / "numeric.py"


@pytest.fixture(scope="module")
def numeric():
    sys.path.insert(0, str(PATH.parent))  # it imports its neighbour
    spec = importlib.util.spec_from_file_location("fuzz_numeric", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_numeric"] = module
    spec.loader.exec_module(module)
    sys.path.remove(str(PATH.parent))
    return module


# Cases of "auto" and of what calls it take most of the time, and have tests of their own.
NUMBERS = range(300)


def test_nothing_falls_in_a_short_round(numeric):
    cases = {number: numeric.Case.drawn(0, number) for number in NUMBERS}
    quick = {number: case for number, case in cases.items() if not numeric.is_slow(case)}
    assert len(quick) > 200
    found = {number: numeric.failures(case) for number, case in quick.items()}
    assert not {number: wrong for number, wrong in found.items() if wrong}


def test_a_failure_is_noticed_saved_and_replayed(numeric, monkeypatch, tmp_path):
    case = numeric.Case(np.eye(3), "csr", "select spa", 2)
    assert numeric.failures(case) == []
    for answer, complaint in {
        "scores": ({"anchors": np.array([0, 1]), "scores": np.full(3, np.nan)}, "scores is not finite"),
        "copies": ({"anchors": np.array([1, 1]), "scores": np.ones(3)}, "are not 2 distinct columns"),
    }.values():
        monkeypatch.setitem(numeric.CALLS, "select spa", lambda M, case, found=answer: found)
        assert complaint in numeric.failures(case)[0]

    def change(M, case):
        M.data[0] = 7.0
        raise KeyError("no argument")

    monkeypatch.setitem(numeric.CALLS, "select spa", change)
    wrong = numeric.failures(case)
    assert wrong[0].startswith("KeyError")
    assert wrong[1] == "changed its input"
    case.save(tmp_path / "0-1", wrong)
    loaded = numeric.Case.load(tmp_path / "0-1.npz")
    assert np.array_equal(loaded.array, case.array)
    assert numeric.failures(loaded) == wrong


def test_zero_columns_and_masked_ones_are_noticed(numeric):
    case = numeric.Case(np.array([[1.0, 0, 2, 3]] * 2), "C", "select spa", 2)
    answer = {"anchors": np.array([0, 1]), "scores": np.ones(4)}
    assert "zero column" in numeric.wrong_numbers(case, answer)[0]
    case = numeric.Case(np.ones((2, 6)), "masked", "select spa", 2)
    answer = {"anchors": np.array([0, 1]), "scores": np.ones(6)}
    assert "not 2 distinct columns in use" in numeric.wrong_numbers(case, answer)[0]


def test_anchors_that_depend_on_the_order_of_the_columns_are_noticed(numeric, monkeypatch):
    case = numeric.Case(np.random.default_rng(0).random((4, 6)), "C", "select spa", 2, 1)
    assert not np.array_equal(numeric.permutation(case), np.arange(6))
    assert numeric.failures(case) == []
    first = {"anchors": np.array([0, 1]), "scores": np.ones(6)}
    monkeypatch.setitem(numeric.CALLS, "select spa", lambda M, case: first)
    assert "other anchors in the order" in numeric.failures(case)[0]


def test_ties_are_no_dependence_on_the_order(numeric):
    columns = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    for seed in range(5):
        assert numeric.failures(numeric.Case(columns, "C", "select spa", 1, seed)) == []
