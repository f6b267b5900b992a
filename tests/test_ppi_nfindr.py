"""PPI against counts made one skewer at a time; N-FINDR against determinants of all simplices."""

import itertools
import tracemalloc
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.matrix import Dense
from sepnmf.methods._subspace import affine_view

ppi_module = import_module("sepnmf.methods._ppi")

nfindr_module = import_module("sepnmf.methods._nfindr")

SEEDS = range(20)


def leading(A, d):
    U = np.linalg.svd(A, full_matrices=False)[0][:, :d]
    return U * np.sign(U[np.abs(U).argmax(axis=0), np.arange(d)])


# PPI


@pytest.mark.parametrize("noise", [0, 0.2])
def test_ppi_counts_the_ends_of_each_skewer(noise):
    M, _ = make_dirichlet(noise, m=20, n=60, r=5, random_state=3)
    sel = sepnmf.ppi(M, 5, n_skewers=300, negative="allow", random_state=7)
    rng = np.random.default_rng(7)
    X = leading(M, 5).T @ M
    counts = np.zeros(60)
    for _ in range(300):
        reach = rng.standard_normal(5) @ X
        counts[reach.argmax()] += 1
        counts[reach.argmin()] += 1
    lengths = np.linalg.norm(M, axis=0)
    assert_allclose(sel.scores, counts + lengths / lengths.max() / 2)
    assert_array_equal(np.floor(sel.scores), counts)


def test_the_number_of_skewers_held_at_once_does_not_matter(monkeypatch):
    M, _ = make_dirichlet(0.2, random_state=0)
    whole = sepnmf.ppi(M, 10, negative="allow", random_state=0).scores
    monkeypatch.setattr(ppi_module, "BLOCK", 700)
    assert_array_equal(sepnmf.ppi(M, 10, negative="allow", random_state=0).scores, whole)


def test_of_two_copies_the_first_is_counted():
    M, anchors = make_dirichlet(0, random_state=1)
    scores = sepnmf.ppi(np.hstack([M, M]), 10, random_state=0).scores
    assert scores[anchors].min() > 1
    assert scores[100:].max() <= 0.5


def test_columns_that_differ_by_rounding_count_as_copies():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 6))
    near = np.hstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])
    counts = ppi_module.count_extremes(near, 200, np.random.default_rng(1), rounding=1e-14)
    want = ppi_module.count_extremes(X, 200, np.random.default_rng(1), rounding=1e-14)
    assert_array_equal(counts, np.hstack([want, np.zeros(12)]))


def test_equal_counts_go_to_the_longer_column():
    # On a line each skewer has the same two ends.
    M = np.array([[1.0, 3.0, 2.0]])
    sel = sepnmf.ppi(M, 2, n_skewers=10, random_state=0)
    assert_array_equal(sel.anchors, [1, 0])
    assert_array_equal(np.floor(sel.scores), [10, 10, 0])


def test_ppi_says_when_too_few_columns_were_extreme():
    M, _ = make_dirichlet(0, random_state=0)
    with pytest.raises(
        ValueError,
        match=r"^Only 2 column\(s\) of M were extreme along any of 1 skewers, got r=10: raise n_skew",
    ):
        sepnmf.ppi(M, 10, n_skewers=1, random_state=0)


def test_ppi_can_find_more_vertices_than_the_rank():
    corners = np.array([[1.0, 3.0, 1.0, 3.0, 2.0], [1.0, 1.0, 3.0, 3.0, 2.0]])
    assert_array_equal(np.sort(sepnmf.ppi(corners, 4, random_state=0).anchors), [0, 1, 2, 3])


def test_sparse_data_are_not_made_dense():
    rng = np.random.default_rng(0)
    M = sparse.random_array((4000, 20000), density=2e-4, format="csc", random_state=rng)
    sepnmf.ppi(M[:50], 2, n_skewers=5, random_state=0)
    tracemalloc.start()
    sel = sepnmf.ppi(M, 4, n_skewers=50, random_state=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(set(sel.anchors)) == 4
    assert peak < 4000 * 20000 * 8 / 10


def test_ppi_finds_the_anchors_of_noise_free_data():
    found = 0
    for seed in SEEDS:
        M, anchors = make_dirichlet(0, random_state=seed)
        found += set(sepnmf.ppi(M, 10, random_state=seed).anchors) == set(anchors)
    assert found >= 0.9 * len(SEEDS)


@pytest.mark.parametrize("n_skewers", [0, 1.5, "many"])
def test_ppi_refuses_a_bad_number_of_skewers(n_skewers):
    with pytest.raises(ValueError, match=r"^n_skewers must"):
        sepnmf.ppi(np.eye(3), 2, n_skewers=n_skewers)


# N-FINDR


def volume(M, columns):
    """|det| of the simplex in principal coordinates, from its definition."""
    centred = M - M.mean(axis=1, keepdims=True)
    X = leading(centred, len(columns) - 1).T @ centred
    edges = X[:, columns[1:]] - X[:, columns[:1]]
    return abs(np.linalg.det(edges))


@pytest.mark.parametrize("init", ["spa", "random"])
@pytest.mark.parametrize("noise", [0.05, 0.3, 0.8])
def test_no_swap_enlarges_the_simplex_found(init, noise):
    for seed in range(5):
        M, _ = make_dirichlet(noise, m=15, n=40, r=5, random_state=seed)
        anchors = sepnmf.nfindr(M, 5, init=init, negative="allow", random_state=seed).anchors
        best = volume(M, anchors)
        for k, j in itertools.product(range(5), range(40)):
            swapped = anchors.copy()
            swapped[k] = j
            assert volume(M, swapped) <= best * (1 + 1e-8)


def test_without_noise_no_simplex_is_larger():
    for seed in range(5):
        M, anchors = make_dirichlet(0, m=8, n=16, r=4, random_state=seed)
        largest = max(itertools.combinations(range(16), 4), key=lambda K: volume(M, list(K)))
        assert_array_equal(np.sort(sepnmf.nfindr(M, 4).anchors), largest)
        assert_array_equal(largest, anchors)


def test_swaps_repair_a_bad_start_and_are_counted():
    M, anchors = make_dirichlet(0, random_state=0)
    Y = affine_view(Dense(M), 10, method="N-FINDR")
    start = np.setdiff1d(np.arange(100), anchors)[:10]
    found, B, swaps = nfindr_module.enlarge(Y, start)
    assert_array_equal(np.sort(found), anchors)
    assert swaps >= 10
    assert_allclose(Y[:, found] @ B, Y, atol=1e-10)
    assert_array_equal(nfindr_module.enlarge(Y, found)[2], 0)
    # Already at the vertices, the start is kept.
    assert sepnmf.nfindr(M, 10).n_outer == 0


def test_an_exchange_is_what_solving_anew_gives():
    Y = np.random.default_rng(0).standard_normal((4, 9))
    B = np.linalg.solve(Y[:, :4], Y)
    nfindr_module.exchange(B, 2, 7)
    assert_allclose(B, np.linalg.solve(Y[:, [0, 1, 7, 3]], Y), rtol=1e-10, atol=1e-12)


def test_scores_are_heights_and_relative_volumes():
    M, _ = make_dirichlet(0.3, m=15, n=40, r=5, random_state=1)
    sel = sepnmf.nfindr(M, 5, negative="allow")
    best = volume(M, sel.anchors)
    for j in np.setdiff1d(np.arange(40), sel.anchors):
        swapped = [np.where(np.arange(5) == k, j, sel.anchors) for k in range(5)]
        assert_allclose(sel.scores[j], max(volume(M, K) for K in swapped) / best, rtol=1e-8)
    centred = M - M.mean(axis=1, keepdims=True)
    X = leading(centred, 4).T @ centred
    heights = []
    for vertex in sel.anchors:
        corner, *others = (X[:, j] for j in sel.anchors if j != vertex)
        face = np.stack(others, axis=1) - corner[:, None]
        edge = X[:, vertex] - corner
        heights.append(np.linalg.norm(edge - face @ np.linalg.lstsq(face, edge, rcond=None)[0]))
    assert_allclose(sel.scores[sel.anchors], 1 + np.array(heights) / max(heights), rtol=1e-8)


def test_the_random_start_is_independent_and_seeded():
    M, _ = make_dirichlet(0, m=15, n=40, r=5, random_state=1)
    Y = affine_view(Dense(np.hstack([M[:, :1]] * 30 + [M])), 5, method="N-FINDR")
    starts = [nfindr_module.random_simplex(Y, np.random.default_rng(s)) for s in (0, 0, 1, 2, 3)]
    for start in starts:
        assert np.linalg.cond(Y[:, start]) < 1e6
    assert_array_equal(starts[0], starts[1])
    assert any(not np.array_equal(starts[0], start) for start in starts[2:])


def test_three_corners_in_the_plane_are_a_simplex_though_the_rank_is_two():
    M = np.array([[0.1, 1.0, 0.0, 0.4], [0.1, 0.0, 1.0, 0.4]])
    assert_array_equal(np.sort(sepnmf.nfindr(M, 3).anchors), [0, 1, 2])


def test_too_small_a_dimension_is_told():
    with pytest.raises(
        ValueError,
        match=r"^The columns of M span an affine space of dimension 1, so N-FINDR can find at most 2 anch",
    ):
        sepnmf.nfindr([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]], 3)


@pytest.mark.parametrize("init", ["spa", "random"])
def test_nfindr_finds_the_anchors_of_noise_free_data(init):
    found = 0
    for seed in SEEDS:
        M, anchors = make_dirichlet(0, random_state=seed)
        found += set(sepnmf.nfindr(M, 10, init=init, random_state=seed).anchors) == set(anchors)
    assert found >= 0.9 * len(SEEDS)


def test_nfindr_improves_on_spa_where_the_volume_shows_it():
    """Type 1 at ε = 0.1: SPA finds all anchors on half the instances, N-FINDR on all."""
    found = {"spa": 0, "nfindr": 0}
    for seed in SEEDS:
        M, anchors = make_midpoint(0.1, random_state=seed)
        for method in found:
            found[method] += set(sepnmf.select(M, 10, method, negative="allow").anchors) == set(anchors)
    assert found["spa"] < 0.8 * len(SEEDS)
    assert found["nfindr"] == len(SEEDS)


def test_nfindr_refuses_an_unknown_start():
    with pytest.raises(ValueError, match=r"^init must be one of 'spa', 'random'"):
        sepnmf.nfindr(np.eye(3), 2, init="vca")
