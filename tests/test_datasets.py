"""The synthetic data are what the paper describes."""

import numpy as np
import pytest

from sepnmf.datasets import make_dirichlet, make_midpoint


@pytest.mark.parametrize("seed", range(5))
def test_midpoint_data_are_anchors_and_displaced_midpoints(seed):
    M0, anchors = make_midpoint(0.0, random_state=seed)
    M, same = make_midpoint(0.3, random_state=seed)
    np.testing.assert_array_equal(anchors, same)
    assert M.shape == (50, 55)
    W = M0[:, anchors]
    np.testing.assert_allclose(W.sum(axis=0), 1)
    assert W.min() >= 0
    N = M - M0
    assert np.linalg.norm(N) == pytest.approx(0.3)
    assert not N[:, anchors].any()
    rest = np.setdiff1d(np.arange(55), anchors)
    H = np.linalg.lstsq(W, M0[:, rest], rcond=None)[0]
    np.testing.assert_allclose(np.sort(H, axis=0)[-2:], 0.5)
    assert len({tuple(np.flatnonzero(h > 0.25)) for h in H.T}) == 45
    push = M0[:, rest] - W.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(N[:, rest], 0.3 * push / np.linalg.norm(push), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_dirichlet_data_are_anchors_mixtures_and_noise(seed):
    M0, anchors = make_dirichlet(0.0, random_state=seed)
    M, same = make_dirichlet(0.2, random_state=seed)
    np.testing.assert_array_equal(anchors, same)
    assert M.shape == (50, 100)
    W = M0[:, anchors]
    np.testing.assert_allclose(W.sum(axis=0), 1)
    H = np.linalg.lstsq(W, M0, rcond=None)[0]
    np.testing.assert_allclose(H.sum(axis=0), 1)
    assert H.min() > -1e-10
    assert np.linalg.norm(M - M0) == pytest.approx(0.2 * np.linalg.norm(M0))
    assert np.abs(M - M0)[:, anchors].min() > 0


def test_mixtures_are_uniform_on_the_simplex():
    M0, anchors = make_dirichlet(0.0, m=6, n=4003, r=3, random_state=0)
    rest = np.setdiff1d(np.arange(4003), anchors)
    H = np.linalg.lstsq(M0[:, anchors], M0[:, rest], rcond=None)[0]
    np.testing.assert_allclose(H.mean(axis=1), 1 / 3, atol=0.015)
    np.testing.assert_allclose(H.var(axis=1), 1 / 18, atol=0.005)  # Dirichlet(1, 1, 1)


def test_columns_are_permuted_and_seeded():
    first, again, other = (make_dirichlet(0.1, random_state=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[1], other[1])
    assert not np.array_equal(first[1], np.arange(10))
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(make_dirichlet(0.1, random_state=generator)[0], first[0])


def test_smallest_sizes():
    M, _ = make_midpoint(0.5, m=3, r=2)
    assert M.shape == (3, 3)
    np.testing.assert_allclose(M, make_midpoint(0.0, m=3, r=2)[0])  # the only midpoint is the centre
    assert make_dirichlet(0.0, m=2, n=1, r=1)[1].tolist() == [0]


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_midpoint, {"noise": -1}, "noise must be"),
        (make_midpoint, {"noise": 0, "r": 1}, "r must be an integer of at least 2"),
        (make_dirichlet, {"noise": 0, "n": 5}, "n must be an integer of at least 10"),
        (make_dirichlet, {"noise": 0, "random_state": "a"}, "random_state must be"),
    ],
)
def test_bad_arguments_are_named(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
