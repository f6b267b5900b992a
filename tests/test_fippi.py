"""FIPPI, and ATGP, which is SPA."""

import numpy as np
import pytest
from scipy import sparse

import sepnmf
from sepnmf.datasets import make_dirichlet
from sepnmf.selection import best_first


def plain_atgp(M, r):
    """Automatic target generation: the pixel of largest energy behind the projector of those found."""
    anchors = [int((M**2).sum(axis=0).argmax())]
    for _ in range(r - 1):
        U = M[:, anchors]
        P = np.eye(len(M)) - U @ np.linalg.pinv(U)
        anchors.append(int(((P @ M) ** 2).sum(axis=0).argmax()))
    return anchors


def plain_fippi(M, r):
    """Counts of all columns: all skewers are projected in every round, until there is no new one."""
    X = M - M.mean(axis=1, keepdims=True)
    X = np.linalg.svd(X, full_matrices=False)[0][:, : r - 1].T @ X
    start = plain_atgp(np.vstack([X, np.full(X.shape[1], np.linalg.norm(X, axis=0).max())]), r)
    skewers = set(start)
    while True:
        counts = np.zeros(M.shape[1])
        for k in skewers:
            along = X[:, k] @ X
            counts[along.argmin()] += 1
            counts[along.argmax()] += 1
        extreme = set(np.flatnonzero(counts).tolist())
        if extreme <= skewers:
            return start, counts
        skewers |= extreme


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_atgp_is_spa(seed, noise):
    M = np.abs(make_dirichlet(noise, m=20, n=80, r=6, random_state=seed)[0])
    assert sepnmf.spa(M, 6).anchors.tolist() == plain_atgp(M, 6)


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_plain_rounds(seed, noise):
    M = np.abs(make_dirichlet(noise, m=20, n=80, r=6, random_state=seed)[0])
    start, counts = plain_fippi(M, 6)
    sel = sepnmf.fippi(M, 6)
    np.testing.assert_array_equal(np.where(sel.scores >= 1, np.floor(sel.scores), 0), counts)
    endmembers = set(np.flatnonzero(counts))
    if len(endmembers) >= 6:
        assert set(sel.anchors) <= endmembers
    else:
        assert set(sel.anchors) <= endmembers | set(start)
    assert sel.anchors.tolist() == best_first(sel.scores, 6).tolist()
    assert sepnmf.fippi(sparse.csr_array(M), 6).anchors.tolist() == sel.anchors.tolist()


def test_columns_of_atgp_follow_if_fewer_than_r_are_extreme():
    # Along the lines through the centre of a flat triangle its tips are extreme, the obtuse corner is not.
    M = np.array([[0.0, 10.0, 5.0, 5.0, 3.0], [0.0, 0.0, 0.1, 0.05, 0.02], [1.0, 1.0, 1.0, 1.0, 1.0]])
    sel = sepnmf.fippi(M, 3)
    assert sorted(sel.anchors) == [0, 1, 2]
    assert (sel.scores >= 1).sum() < 3


def test_the_longest_column_is_taken_for_one_anchor():
    assert sepnmf.fippi(np.diag([1.0, 3.0, 2.0]), 1).anchors.tolist() == [1]
