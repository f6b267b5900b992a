"""SPA after translation and lifting: their formulas, and what they do for the condition of the anchors."""

import numpy as np
import pytest
from scipy import sparse

import sepnmf
from sepnmf.datasets import make_dirichlet

MOVES = pytest.mark.parametrize("move", ["translation", "lifting"])


def plain_spa(M, r):
    """SPA with the residual as a matrix."""
    R, anchors = M.copy(), []
    for _ in range(r):
        k = int(np.linalg.norm(R, axis=0).argmax())
        anchors.append(k)
        q = R[:, k] / np.linalg.norm(R[:, k])
        R = R - np.outer(q, q @ R)
    return anchors


def principal_coordinates(M, r):
    """The r − 1 leading ones."""
    X = M - M.mean(axis=1, keepdims=True)
    return np.linalg.svd(X, full_matrices=False)[0][:, : r - 1].T @ X


def translated(M, r):
    """The longest column, then distances from affine hulls, by least squares with weights that sum to one."""
    X = principal_coordinates(M, r)
    anchors = [int(np.linalg.norm(M, axis=0).argmax())]
    for _ in range(r - 1):
        first, others = X[:, anchors[:1]], X[:, anchors[1:]] - X[:, anchors[:1]]
        D = X - first
        if others.size:
            D = D - others @ np.linalg.lstsq(others, D, rcond=None)[0]
        anchors.append(int(np.linalg.norm(D, axis=0).argmax()))
    return anchors


def lifted(W):
    """Anchors about their mean, with one more coordinate, the geometric mean of the extreme ones."""
    v = W.mean(axis=1, keepdims=True)
    sigma = np.linalg.svd(W - v, compute_uv=False)
    r = W.shape[1]
    return v, np.sqrt(sigma[0] * sigma[r - 2] / r)


def lifted_spa(M, r):
    X = principal_coordinates(M, r)
    ones = np.ones((1, X.shape[1]))
    first = plain_spa(np.vstack([X, np.linalg.norm(X, axis=0).max() * ones]), r)
    v, c = lifted(X[:, first])
    return plain_spa(np.vstack([X - v, c * ones]), r)


def pushed_midpoints(seed, noise, offset=10.0, condition=30.0, m=10, r=10):
    """Anchors with much in common, and their midpoints pushed away from the centre."""
    rng = np.random.default_rng(seed)
    U, s, V = np.linalg.svd(rng.random((m, r)) + offset)
    W = U @ np.diag([s[0], *(np.geomspace(1, 1 / condition, r - 1) * s[1])]) @ V
    i, j = np.triu_indices(r, 1)
    middle = (W[:, i] + W[:, j]) / 2
    return W, np.hstack([W, middle + noise * (middle - W.mean(axis=1, keepdims=True))])


@MOVES
@pytest.mark.parametrize("seed", range(12))
def test_each_move_is_its_formula(move, seed):
    M = make_dirichlet(0.3, m=12, n=60, r=5, random_state=seed)[0]
    expected = {"translation": translated, "lifting": lifted_spa}[move](M, 5)
    sel = sepnmf.preconditioned_spa(M, 5, preconditioner=move, negative="allow")
    assert sel.anchors.tolist() == expected


@MOVES
def test_noise_free_anchors_are_found_in_every_container_of_arrays(move):
    for seed in range(10):
        M, anchors = make_dirichlet(0.0, m=12, n=60, r=5, random_state=seed)
        for data in (M, sparse.csr_array(M), M.astype(np.float32), np.insert(M, 60, 0.0, axis=1)):
            sel = sepnmf.preconditioned_spa(data, 5, preconditioner=move)
            assert set(sel.anchors) == set(anchors)


@MOVES
def test_there_may_be_one_anchor_more_than_the_rank(move):
    W = np.array([[1.0, 3.0, 2.0], [1.0, 1.0, 4.0]])  # a triangle in the plane
    M = np.hstack([W, W @ np.random.default_rng(0).dirichlet(np.ones(3), 50).T])
    with pytest.raises(ValueError, match="numerical rank 2"):
        sepnmf.spa(M, 3)
    assert sorted(sepnmf.preconditioned_spa(M, 3, preconditioner=move).anchors) == [0, 1, 2]


def test_lifting_improves_the_condition_of_the_anchors():
    for seed in range(5):
        W, _ = pushed_midpoints(seed, 0.0)
        v, c = lifted(W)
        best = np.linalg.cond(np.vstack([W - v, np.full((1, 10), c)]))
        assert best < 0.1 * np.linalg.cond(W)
        sigma = np.linalg.svd(W - v, compute_uv=False)
        assert best == pytest.approx(sigma[0] / sigma[8], rel=1e-6)
        for shift, height in ((0.1, c), (0.0, 0.1 * sigma[8]), (0.0, 10 * sigma[0])):
            other = np.vstack([W - v - shift * W[:, :1], np.full((1, 10), height)])
            assert np.linalg.cond(other) > best * (1 - 1e-9)


def test_lifting_finds_more_anchors_than_spa_where_they_have_much_in_common():
    found = {"spa": [], "lifting": []}
    for seed in range(20):
        _, M = pushed_midpoints(seed, 0.1)
        spa = sepnmf.spa(M, 10, negative="allow")
        lifting = sepnmf.preconditioned_spa(M, 10, preconditioner="lifting", negative="allow")
        for name, sel in (("spa", spa), ("lifting", lifting)):
            found[name].append(np.mean(np.isin(range(10), sel.anchors)))
    assert np.mean(found["spa"]) < 0.93  # 0.90
    assert np.mean(found["lifting"]) > 0.95  # 0.97


@MOVES
def test_refusals_name_what_is_wrong(move):
    with pytest.raises(ValueError, match="dimension 0, so preconditioned SPA can find at most 1"):
        sepnmf.preconditioned_spa(np.ones((3, 5)), 2, preconditioner=move)
    assert sepnmf.preconditioned_spa(np.diag([1.0, 3.0]), 1, preconditioner=move).anchors.tolist() == [1]
