"""Robust SPA: the steps of the paper, and anchors where outliers mislead SPA."""

import numpy as np
import pytest
from scipy import sparse

import sepnmf


def plain_robust_spa(M, r, d=10, beta=4.0, p=1.0):
    """The paper's steps with the residual and its images as matrices."""
    R, anchors = np.array(M, dtype=float), []
    for _ in range(r):
        Y, candidates = R.copy(), []
        for _ in range(d):
            j = int((Y**2).sum(axis=0).argmax())
            candidates.append(j)
            x = Y[:, j]
            u = x / np.linalg.norm(x)
            rest = ((Y - np.outer(u, u @ Y)) ** 2).sum(axis=0)
            if rest.max() < 1e-12:
                break
            y = Y[:, rest.argmax()]
            # β‖x − αu(uᵀx)‖² = ‖y − αu(uᵀy)‖² is linear in 2α − α².
            share = (beta * (x @ x) - y @ y) / (beta * (u @ x) ** 2 - (u @ y) ** 2)
            Y = Y - (1 - np.sqrt(1 - share)) * np.outer(u, u @ Y)

        def left(j, R=R):
            v = R[:, j] / np.linalg.norm(R[:, j])
            return (np.linalg.norm(R - np.outer(v, v @ R), axis=0) ** p).sum()

        k = min(candidates, key=left)
        anchors.append(k)
        v = R[:, k] / np.linalg.norm(R[:, k])
        R = R - np.outer(v, v @ R)
    return anchors


def with_outliers(seed, outliers, m=30, r=5, n=200, noise=0.01):
    """Anchors in the first r columns, mixtures, and columns that mix nothing at the end."""
    rng = np.random.default_rng(seed)
    W = rng.random((m, r))
    M = np.hstack([W, W @ rng.dirichlet(np.ones(r), n).T])
    M += noise * rng.standard_normal(M.shape)
    return np.abs(np.hstack([M, 2 * rng.random((m, outliers))]))


@pytest.mark.parametrize("options", [{}, {"n_candidates": 3, "beta": 2.0}, {"power": 2.0}])
@pytest.mark.parametrize("seed", range(5))
def test_steps_are_those_of_the_paper(seed, options):
    M = with_outliers(seed, outliers=seed)
    names = {"n_candidates": "d", "beta": "beta", "power": "p"}
    expected = plain_robust_spa(M, 5, **{names[key]: value for key, value in options.items()})
    assert sepnmf.robust_spa(M, 5, **options).anchors.tolist() == expected
    assert sepnmf.robust_spa(sparse.csc_array(M), 5, **options).anchors.tolist() == expected


def test_one_candidate_is_spa():
    M = with_outliers(0, outliers=2)
    for normalize in ("none", "l1"):
        plain = sepnmf.spa(M, 5, normalize=normalize)
        robust = sepnmf.robust_spa(M, 5, n_candidates=1, normalize=normalize)
        assert robust.anchors.tolist() == plain.anchors.tolist()


def test_anchors_are_found_where_outliers_mislead_spa():
    found = {"spa": [], "robust_spa": []}
    for seed in range(20):
        M = with_outliers(seed, outliers=3)
        for method, rates in found.items():
            rates.append(np.mean(np.isin(range(5), sepnmf.select(M, 5, method).anchors)))
    assert np.mean(found["spa"]) < 0.5  # 0.40
    assert np.mean(found["robust_spa"]) > 0.95  # 0.99


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_candidates", 0), ("beta", 1.0), ("beta", np.nan), ("power", 0.0), ("normalize", "l2")],
)
def test_wrong_options_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        sepnmf.robust_spa(np.eye(3), 2, **{name: value})
