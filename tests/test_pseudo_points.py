"""Pseudo-point SPA: the steps of the paper, and less error than SPA with noise."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import sepnmf
from sepnmf.matrix import Dense
from sepnmf.methods._pseudo_points import neighbourhood_means, noise_level


def principal(M, r):
    """Principal directions, r − 1 of them, and the mean."""
    centre = M.mean(axis=1, keepdims=True)
    return np.linalg.svd(M - centre, full_matrices=False)[0][:, : r - 1], centre


def plain_pseudo_point_spa(M, r, radius, least):
    """The paper's steps, point by point; then the column nearest to each pseudo-point."""
    U, centre = principal(M, r)
    X = U.T @ (M - centre)
    points, kept = [], []
    for j in range(M.shape[1]):
        near = np.linalg.norm(X - X[:, [j]], axis=0) <= radius
        if near.sum() >= least:
            points.append(X[:, near].mean(axis=1))
            kept.append(j)
    V = np.array(points).T
    R = np.vstack([V, np.full(V.shape[1], np.linalg.norm(V, axis=0).max())])
    anchors = []
    for _ in range(r):
        k = int(np.linalg.norm(R, axis=0).argmax())
        q = R[:, k] / np.linalg.norm(R[:, k])
        R = R - np.outer(q, q @ R)
        near = np.flatnonzero(np.linalg.norm(X - X[:, [kept[k]]], axis=0) <= radius)
        near = np.setdiff1d(near, anchors)
        anchors.append(int(near[np.linalg.norm(X[:, near] - V[:, [k]], axis=0).argmin()]))
    return anchors


def noisy(seed, m=20, r=3, n=600, copies=30, noise=0.1):
    """Copies of the anchors, and mixtures, with white noise on all columns."""
    rng = np.random.default_rng(seed)
    W = rng.random((m, r))
    H = np.hstack([np.repeat(np.eye(r), copies, axis=1), rng.dirichlet(np.ones(r), n - copies * r).T])
    return W, W @ H + noise * rng.standard_normal((m, n))


@pytest.mark.parametrize(("radius", "least"), [(0.1, 3), (0.3, 10), (0.0, 1)])
@pytest.mark.parametrize("seed", range(4))
def test_steps_are_those_of_the_paper(seed, radius, least):
    _, M = noisy(seed)
    sel = sepnmf.pseudo_point_spa(M, 3, radius=radius, n_neighbors=least, negative="allow")
    assert sel.anchors.tolist() == plain_pseudo_point_spa(M, 3, radius, least)


def test_the_error_is_less_than_that_of_spa():
    """The largest distance of a vertex from its anchor, in the principal coordinates."""
    errors = {"spa": [], "pseudo_point_spa": []}
    for seed in range(10):
        W, M = noisy(seed)
        U, centre = principal(M, 3)
        true = U.T @ (W - centre)
        for method, values in errors.items():
            columns = M[:, sepnmf.select(M, 3, method, negative="allow").anchors]
            distances = np.linalg.norm((U.T @ (columns - centre))[:, :, None] - true[:, None], axis=0)
            values.append(distances[linear_sum_assignment(distances)].max())
    assert np.mean(errors["pseudo_point_spa"]) < 0.6 * np.mean(errors["spa"])


def test_outliers_have_no_neighbours():
    _, M = noisy(0, noise=0.02)
    M = np.hstack([M, 3 * np.eye(20)[:, :4]])
    assert set(sepnmf.spa(M, 3, negative="allow").anchors) & set(range(600, 604))
    sel = sepnmf.pseudo_point_spa(M, 3, radius=0.15, negative="allow")
    assert not set(sel.anchors) & set(range(600, 604))


def test_means_in_blocks_are_those_in_one_go(monkeypatch):
    X = np.random.default_rng(0).random((3, 50))
    means, counts = neighbourhood_means(X, 0.3)
    monkeypatch.setattr("sepnmf.methods._pseudo_points.BLOCK", 170)
    again, same = neighbourhood_means(X, 0.3)
    np.testing.assert_allclose(again, means, rtol=1e-13)
    np.testing.assert_array_equal(same, counts)


def test_the_noise_level_is_estimated_from_what_is_projected_out():
    _, M = noisy(0, m=40, n=2000, noise=0.05)
    U, centre = principal(M, 3)
    assert noise_level(Dense(M), U.T @ (M - centre)) == pytest.approx(0.05, rel=0.02)
    clean = noisy(0, noise=0.0)[1]
    U, centre = principal(clean, 3)
    assert noise_level(Dense(clean), U.T @ (clean - centre)) == 0


def test_the_radius_has_the_units_of_the_data():
    _, M = noisy(1)
    small = sepnmf.pseudo_point_spa(M, 3, radius=0.2, negative="allow")
    large = sepnmf.pseudo_point_spa(1000 * M, 3, radius=200.0, negative="allow")
    assert small.anchors.tolist() == large.anchors.tolist()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("radius", -1.0, "radius"),
        ("n_neighbors", 0, "n_neighbors"),
        ("radius", 100.0, "pseudo-points of M have 0 vertices, fewer than the r=3"),
        ("n_neighbors", 1000, "pseudo-points of M have 0 vertices, fewer than the r=3"),
    ],
)
def test_wrong_options_are_named(name, value, message):
    _, M = noisy(0)
    with pytest.raises(ValueError, match=message):
        sepnmf.pseudo_point_spa(M, 3, negative="allow", **{name: value})
