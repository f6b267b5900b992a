"""The steps of `auto`, one at a time."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy.optimize import nnls

from sepnmf._descent import Improved, Problem, VertexModel
from sepnmf._descent._likelihood import Factored
from sepnmf._descent._problem import DARK, candidates_of, leading_directions
from sepnmf.matrix import Dense
from sepnmf.tuning._answers import Answers
from sepnmf.tuning._consensus import most_central


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_reassigned_anchor_is_the_column_nearest_to_its_own_vertex(order):
    """The vertices are columns 0, 1 and 2 in some order; the anchors before are mixtures of them."""
    rng = np.random.default_rng(0)
    vertices = rng.random((6, 3))
    M = vertices @ np.hstack([np.eye(3), rng.dirichlet(np.ones(3), 7).T])
    H = np.array([nnls(vertices[:, order], column)[0] for column in M.T])
    model = VertexModel(M, 1e-6)
    before = model.start(np.array([5, 6, 7]))
    after = model.reassigned(before._replace(W=vertices[:, order].copy(), H=H))
    nearest = [np.argmin(np.linalg.norm(M.T - vertices[:, k], axis=1)) for k in order]
    assert after.anchors.tolist() == nearest == list(order)
    assert before.J > after.J


def directions(*angles):
    """Columns in the plane at these angles, of different lengths."""
    return (1.0 + np.arange(len(angles))) * np.array([np.cos(angles), np.sin(angles)])


def test_the_most_central_answer_has_the_least_sum_of_angles_to_the_others():
    X = directions(0.0, 0.1, 0.5, 1.4, 1.3, 1.2)
    # Pairs of columns, the second one in the other order: sums of angles 0.9, 0.7 and 1.2.
    answers = [np.array([0, 3]), np.array([4, 1]), np.array([2, 5])]
    for shuffled in itertools.permutations(answers):
        assert most_central(X, list(shuffled)).tolist() == [4, 1]
    assert most_central(X, []) is None


@pytest.mark.parametrize("shape", [(6, 400), (400, 8), (8, 8)])
def test_leading_directions_are_singular_vectors_and_need_no_square_of_the_longer_side(shape):
    X = np.random.default_rng(0).random(shape)
    tracemalloc.start()
    found = leading_directions(X, 4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    wanted = np.linalg.svd(X)[0][:, :4]
    np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(found * wanted, axis=0)), 1, rtol=1e-10)
    assert peak < 4 * max(shape) ** 2 + 16384  # half of a square, and the objects of Python


def test_dark_columns_are_no_candidates():
    rng = np.random.default_rng(0)
    X = directions(*rng.uniform(0.0, 1.5, 9))
    X[:, 8] = 0.0
    X[:, 4] *= 0.5 * DARK
    given = X.copy()
    bright = np.delete(np.arange(8), 4)
    choice = candidates_of(X, 7)
    np.testing.assert_array_equal(choice[:, [4, 8]], 0.0)
    np.testing.assert_array_equal(choice[:, bright], X[:, bright])
    np.testing.assert_array_equal(X, given)
    assert candidates_of(X, 8) is X  # r others are not left
    bright_ones = X[:, bright]
    assert candidates_of(bright_ones, 2) is bright_ones  # none is dark


@pytest.mark.parametrize("names", [("good", "bad"), ("bad", "good")])
def test_of_two_descents_the_one_that_ends_lower_is_the_answer(names, monkeypatch):
    rng = np.random.default_rng(0)
    M = np.hstack([np.eye(4), rng.dirichlet(np.ones(4), 8).T]) + 0.01 * rng.random((4, 12))

    def left(anchors):
        return sum(nnls(M[:, anchors], column)[1] ** 2 for column in M.T)

    def stays(anchors):
        return Improved("residual", left(anchors), left(anchors), 0, anchors, settled=True)

    monkeypatch.setattr("sepnmf.tuning._answers.descent", lambda problem: stays)
    starts = {"good": np.array([0, 1, 2]), "bad": np.array([0, 1, 11])}
    assert left(starts["good"]) < 0.9 * left(starts["bad"])
    answers = Answers(Problem.prepare(Dense(M), 3, "none", rng, 1), None)
    best = answers.best_by_descent({name: starts[name] for name in names})
    assert best.start == "good"
    assert best.residual == pytest.approx(left(starts["good"]))
    assert answers.history()["start"].tolist() == list(names)


def test_an_anchor_far_from_its_vertex_may_be_exchanged_for_a_column_that_is_explained_badly():
    """The other vertices leave much of both anchors; one is no noisy copy of its vertex."""
    rng = np.random.default_rng(0)
    vertices = np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]])
    H = np.hstack([np.eye(2), rng.dirichlet(np.ones(2), 18).T])
    M = vertices @ H + 1e-3 * rng.standard_normal((3, 20))
    model = VertexModel(M, 1e-6)
    near = model.start(np.array([0, 1]))
    worst = {column for place, column in model.worth_trying(near) if place == 0}
    moved = near.W + np.array([[0.0, 0.0], [0.0, 0.0], [0.05, 0.0]])
    more = {column for place, column in model.worth_trying(near._replace(W=moved)) if place == 0}
    assert len(worst) < len(more)


def test_a_factored_matrix_gives_inverse_solutions_and_determinant():
    rng = np.random.default_rng(0)
    A, B = rng.random((9, 6)), rng.random((6, 4))
    Q = A.T @ A
    kept, factored = Q.copy(), Factored(Q)
    np.testing.assert_allclose(factored.inverse(), np.linalg.inv(Q), rtol=1e-8)
    np.testing.assert_allclose(factored.solve(B), np.linalg.solve(Q, B), rtol=1e-8)
    assert factored.log_determinant() == pytest.approx(np.linalg.slogdet(Q)[1])
    np.testing.assert_array_equal(Q, kept)
    for wrong in (np.diag([1.0, -1.0]), np.full((2, 2), np.nan)):
        with pytest.raises(np.linalg.LinAlgError):
            Factored(wrong)
