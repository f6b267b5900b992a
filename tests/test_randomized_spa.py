"""Randomised SPA: the steps, and a fit that is never worse than SPA's."""

import numpy as np
import pytest

import sepnmf
from sepnmf.datasets import make_dirichlet
from sepnmf.methods._randomized_spa import random_projections
from sepnmf.metrics import rae


def plain_random_projections(Y, n_directions, condition, rng):
    """The steps with projectors as matrices."""
    r = len(Y)
    P, anchors = np.eye(r), []
    for _ in range(r):
        V, _ = np.linalg.qr(rng.standard_normal((r, n_directions)))
        Q = np.diag(condition ** rng.random(n_directions)) @ V.T
        anchors.append(int(np.linalg.norm(Q @ P @ Y, axis=0).argmax()))
        W = Y[:, anchors]
        P = np.eye(r) - W @ np.linalg.pinv(W)
    return anchors


@pytest.mark.parametrize(("n_directions", "condition"), [(5, 1.5), (5, 10.0), (2, 1.0), (1, 1.0)])
def test_steps_are_those_described(n_directions, condition):
    for seed in range(10):
        Y = np.random.default_rng([1, seed]).random((5, 60))
        found = random_projections(Y, n_directions, condition, np.random.default_rng(seed))
        expected = plain_random_projections(Y, n_directions, condition, np.random.default_rng(seed))
        assert found.tolist() == expected


def test_equal_lengths_in_all_directions_are_spa():
    M, _ = make_dirichlet(0.05, m=8, n=80, r=5, random_state=0)
    options = {"negative": "allow"}
    sel = sepnmf.randomized_spa(M, 5, condition=1.0, random_state=0, **options)
    once = sepnmf.randomized_spa(M, 5, n_runs=1, **options)
    assert sel.anchors.tolist() == once.anchors.tolist()
    assert np.ptp(sel.history["error"]) == 0


def test_the_best_of_several_runs_fits_better_than_spa():
    gains = []
    for seed in range(10):
        M, _ = make_dirichlet(0.3, m=20, n=100, r=6, random_state=seed)
        M = np.abs(M)
        sel = sepnmf.randomized_spa(M, 6, n_runs=20, random_state=seed)
        errors = sel.history["error"]
        assert len(errors) == sel.n_outer == 20
        assert errors.min() == pytest.approx(1 - rae(M, sel.anchors), abs=1e-9)
        gains.append(errors[0] - errors.min())
    assert min(gains) >= 0
    assert np.mean(np.array(gains) > 1e-3) > 0.5


def test_different_seeds_may_give_different_runs():
    M = np.abs(make_dirichlet(0.3, m=20, n=100, r=6, random_state=0)[0])
    runs = [
        sepnmf.randomized_spa(M, 6, n_directions=1, random_state=seed).history["error"] for seed in (0, 1)
    ]
    assert runs[0][0] == runs[1][0]  # SPA
    assert runs[0].tolist() != runs[1].tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_runs", 0), ("n_directions", 0), ("n_directions", 3), ("condition", 0.5), ("random_state", "a")],
)
def test_wrong_options_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        sepnmf.randomized_spa(np.eye(3), 2, **{name: value})
