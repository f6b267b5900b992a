"""Smoothed SPA and VCA against transcriptions with explicit projectors."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint

SEEDS = range(20)


def many_pure(seed, noise, m=30, r=4, copies=15, mixed=100):
    """Anchors that occur many times, with noise on every column; the first r·copies columns are pure."""
    rng = np.random.default_rng(seed)
    W = rng.random((m, r))
    H = np.hstack([np.repeat(np.eye(r), copies, axis=1), rng.dirichlet(np.ones(r), size=mixed).T])
    return W @ H + noise * rng.random((m, H.shape[1])), W


def smoothed_spa_by_hand(M, r, p, average):
    P, W, anchors = np.eye(len(M)), np.empty((len(M), 0)), []
    for _ in range(r):
        R = P @ M
        d = R[:, np.linalg.norm(R, axis=0).argmax()]
        J = np.argsort(-(d @ R))[:p]
        w = average(M[:, J], axis=1)
        free = [j for j in J if j not in anchors]
        anchors.append(min(free, key=lambda j: np.linalg.norm(M[:, j] - w)))
        W = np.column_stack([W, w])
        P = np.eye(len(M)) - W @ np.linalg.pinv(W)
    return anchors


def smoothed_vca_by_hand(M, r, p, average, rng):
    U = np.linalg.svd(M)[0][:, :r]
    U = U * np.sign(U[np.abs(U).argmax(axis=0), np.arange(r)])
    Y = U @ U.T @ M
    W, anchors = np.zeros((len(M), 1)), []
    for _ in range(r):
        WU = U @ U.T @ W
        d = (np.eye(len(M)) - WU @ np.linalg.pinv(WU)) @ U @ rng.standard_normal(r)
        order = np.argsort(d @ Y)
        low, high = order[:p], order[::-1][:p]
        J = high if abs(average(d @ Y[:, high])) >= abs(average(d @ Y[:, low])) else low
        w = average(Y[:, J], axis=1)
        free = [j for j in J if j not in anchors]
        anchors.append(min(free, key=lambda j: np.linalg.norm(Y[:, j] - U @ U.T @ w)))
        W = np.column_stack([W, w])
    return anchors


@pytest.mark.parametrize("average", ["mean", "median"])
@pytest.mark.parametrize("p", [1, 3, 8])
def test_smoothed_spa_takes_the_published_steps(p, average):
    for seed in range(6):
        M, _ = many_pure(seed, noise=0.3)
        want = smoothed_spa_by_hand(M, 4, p, getattr(np, average))
        assert_array_equal(sepnmf.smoothed_spa(M, 4, n_average=p, average=average).anchors, want)


@pytest.mark.slow
@pytest.mark.parametrize("average", ["mean", "median"])
@pytest.mark.parametrize("p", [1, 3, 8])
def test_smoothed_vca_takes_the_published_steps(p, average):
    for seed in range(6):
        M, _ = many_pure(seed, noise=0.3)
        want = smoothed_vca_by_hand(M, 4, p, getattr(np, average), np.random.default_rng(seed))
        sel = sepnmf.smoothed_vca(M, 4, n_average=p, average=average, random_state=seed)
        assert_array_equal(sel.anchors, want)


# Type 1 with noise is left out: the midpoints' residuals tie at the last step.
@pytest.mark.parametrize(
    ("make", "noise"), [(make_midpoint, 0), (make_dirichlet, 0), (make_dirichlet, 0.1), (make_dirichlet, 0.4)]
)
def test_with_one_column_per_average_it_is_spa(make, noise):
    for seed in SEEDS:
        M, anchors = make(noise, random_state=seed)
        sel = sepnmf.smoothed_spa(M, 10, negative="allow")
        assert_array_equal(sel.anchors, sepnmf.spa(M, 10, negative="allow").anchors)
        if noise == 0:
            assert_array_equal(np.sort(sel.anchors), anchors)


def test_smoothed_vca_finds_the_anchors_of_noise_free_data():
    found = 0
    for seed in SEEDS:
        M, anchors = make_dirichlet(0, random_state=seed)
        found += set(sepnmf.smoothed_vca(M, 10, random_state=seed).anchors) == set(anchors)
    assert found >= 0.9 * len(SEEDS)


def angle(A, B):
    cosines = (A / np.linalg.norm(A, axis=0)).T @ (B / np.linalg.norm(B, axis=0))
    return np.degrees(np.arccos(cosines.max(axis=0))).mean()


@pytest.mark.parametrize("average", ["mean", "median"])
def test_smoothing_finds_less_noisy_anchors_than_spa(average):
    smoothed, plain = 0.0, 0.0
    for seed in range(10):
        M, W = many_pure(seed, noise=0.3)
        W = W + 0.15  # the noise has this mean
        smoothed += angle(M[:, sepnmf.smoothed_spa(M, 4, n_average=12, average=average).anchors], W)
        plain += angle(M[:, sepnmf.spa(M, 4).anchors], W)
    assert smoothed < 0.95 * plain


@pytest.mark.parametrize("name", ["smoothed_spa", "smoothed_vca"])
def test_anchors_stay_distinct_when_the_averages_overlap(name):
    options = {"random_state": 0} if name == "smoothed_vca" else {}
    rng = np.random.default_rng(0)
    for _ in range(30):
        M = rng.random((5, 8)) ** 8
        sel = sepnmf.select(M, 4, name, n_average=2, **options)
        assert len(set(sel.anchors)) == 4


@pytest.mark.parametrize("name", ["smoothed_spa", "smoothed_vca"])
def test_too_many_columns_per_average_are_refused(name):
    M, _ = many_pure(0, noise=0.1)
    M = np.insert(M, 0, 0.0, axis=1)
    with pytest.raises(
        ValueError, match=r"^n_average must be at most n/r, 40 for 160 nonzero columns and r=4, got 41"
    ):
        sepnmf.select(M, 4, name, n_average=41)
    for bad in (0, 2.0):
        with pytest.raises(ValueError, match=r"^n_average must"):
            sepnmf.select(M, 4, name, n_average=bad)
    with pytest.raises(ValueError, match=r"^average must be one of 'mean', 'median'"):
        sepnmf.select(M, 4, name, average="mode")


def test_averages_that_cancel_are_an_error():
    # The second average is a multiple of the first: columns cancel off it.
    M = np.array([[9.0, 9.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    with pytest.raises(ValueError, match=r"nothing left of M after 2 step\(s\), got r=3: ask for fewer"):
        sepnmf.smoothed_spa(np.vstack([np.hstack([M, M]), np.zeros(8)]), 3, n_average=2)


def test_an_average_of_nothing_is_an_error():
    with pytest.raises(ValueError, match=r"smoothed VCA found nothing left of M after 0 step\(s\)"):
        sepnmf.smoothed_vca([[1, -1], [2, -2]], 1, n_average=2, negative="allow", random_state=0)


def test_smoothed_vca_is_a_function_of_the_seed():
    M, _ = many_pure(0, noise=0.5)
    runs = [sepnmf.smoothed_vca(M, 4, n_average=5, random_state=s).anchors for s in (0, 0, 1, 2)]
    assert_array_equal(runs[0], runs[1])
    assert any(not np.array_equal(runs[0], other) for other in runs[2:])
