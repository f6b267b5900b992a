"""The page for users of other packages: its session and the calls in its tables run."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

import sepnmf

PAGE = Path(__file__).parents[1] / "docs" / "coming-from.md"
NOT_RUN = 'sepnmf.io.read("scene.mat")'  # a file that is not there


def calls():
    """The second cells of all rows of the tables."""
    rows = re.findall(r"^\|[^|\n]+\| `([^`]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    return [call for call in dict.fromkeys(rows) if call != NOT_RUN]


@pytest.fixture(scope="module")
def names():
    rng = np.random.default_rng(0)
    W = rng.random((20, 4))
    M = W @ np.hstack([np.eye(4), rng.dirichlet(np.ones(4), 60).T])
    return {"np": np, "sepnmf": sepnmf, "M": M, "W": W, "r": 4, "mask": np.arange(64) < 60}


@pytest.mark.parametrize("call", calls())
def test_calls_in_the_tables_run(call, names):
    answer = eval(call, dict(names))
    if isinstance(answer, sepnmf.Selection) and "n_average" not in call:
        assert set(answer.anchors) == {0, 1, 2, 3}
    elif isinstance(answer, sepnmf.RankEstimate):
        assert answer.low == 4
    elif np.shape(answer) == (4, 64):
        np.testing.assert_allclose(names["W"] @ answer, names["M"], atol=1e-10)


def test_there_are_calls_for_every_package():
    assert len(calls()) > 20


def test_the_session_runs():
    session = doctest.DocTestParser().get_doctest(PAGE.read_text("utf-8"), {}, PAGE.name, str(PAGE), 0)
    assert len(session.examples) > 8
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(session).failed == 0
