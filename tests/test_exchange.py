"""Exchanging anchors: the small solver against SciPy, the descent against trying every exchange."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

import sepnmf
from sepnmf._descent._exchange import DISTINCT
from sepnmf._descent._exchange import exchange_anchors as exchange_columns
from sepnmf._kernels import exchange as kernels
from sepnmf.matrix import as_matrix


def exchange_anchors(D, C, start, *args, **options):
    return exchange_columns(as_matrix(D, "allow"), as_matrix(C, "allow"), start, *args, **options)


def outside_span(C, W):
    """What the columns of C have outside the span of W."""
    n = C.shape[1]
    both = as_matrix(np.column_stack([C, W]), "allow")
    return both.outside_span(np.arange(n, n + W.shape[1]), DISTINCT)[:n]


def residual(D, W, weights=None):
    """Σ_j w_j min_{h ≥ 0} ‖d_j − Wh‖² by SciPy."""
    squares = np.array([nnls(W, d)[1] ** 2 for d in D.T])
    return float(squares.sum() if weights is None else squares @ weights)


@pytest.fixture(params=["compiled", "python"])
def kernel(request, monkeypatch):
    if request.param == "python":
        names = (
            "append",
            "back_substitute",
            "keep_positive",
            "nonnegative",
            "solve",
            "gain_bound",
            "gains",
            "passive_sets",
            "best_exchange",
        )
        for name in names:
            monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    return kernels


@pytest.mark.parametrize("kind", ["random", "correlated", "repeated", "zero atom"])
def test_small_solver_agrees_with_scipy(kernel, kind):
    rng = np.random.default_rng(0)
    W, D = rng.random((9, 6)), rng.random((9, 25))
    if kind == "correlated":
        W = W[:, :1] + 0.05 * W
    if kind == "repeated":
        W[:, 3] = W[:, 1]
    if kind == "zero atom":
        W[:, 2] = 0
    squares = np.einsum("ij,ij->j", D, D)
    for start in (np.zeros((25, 6)), rng.random((25, 6))):
        H, E = start.copy(), np.empty(25)
        kernel.solve(W.T @ W, np.ascontiguousarray(D.T @ W), squares, -1, H, E, 0, 25, np.empty(4))
        want = [nnls(W, d)[1] ** 2 for d in D.T]
        np.testing.assert_allclose(E, want, atol=1e-9)
        np.testing.assert_allclose(np.square(D - W @ H.T).sum(axis=0), want, atol=1e-9)
        assert H.min() >= 0


def test_small_solver_leaves_an_atom_out(kernel):
    rng = np.random.default_rng(1)
    W, D = rng.random((9, 5)), rng.random((9, 8))
    H, E = rng.random((8, 5)), np.empty(8)
    squares = np.einsum("ij,ij->j", D, D)
    kernel.solve(W.T @ W, np.ascontiguousarray(D.T @ W), squares, 2, H, E, 0, 8, np.empty(4))
    np.testing.assert_allclose(E, [nnls(np.delete(W, 2, axis=1), d)[1] ** 2 for d in D.T], atol=1e-12)
    assert (H[:, 2] == 0).all()


def test_bounds_are_never_below_what_a_candidate_gains(kernel):
    rng = np.random.default_rng(2)
    W, C, D, w = rng.random((8, 3)), rng.random((8, 20)), rng.random((8, 30)), rng.random(30)
    H = np.array([nnls(W, d)[0] for d in D.T])
    E = np.square(D - W @ H.T).sum(axis=0)
    bound = np.empty(20)
    perp = outside_span(C, W)
    kernel.gains(C.T @ (D - W @ H.T), np.square(C).sum(axis=0), perp, w, E, bound)
    gains = [E @ w - residual(D, np.column_stack([W, c]), w) for c in C.T]
    assert (bound >= np.array(gains) - 1e-12).all()
    assert (bound <= E @ w).all()
    assert np.corrcoef(bound, gains)[0, 1] > 0.8  # and they are good for something


def test_bounds_are_the_sums_of_the_bounds_of_all_columns(kernel):
    """With candidates that are none, candidates in the span of the atoms, and columns without a residual."""
    rng = np.random.default_rng(3)
    S, squares, w, E = rng.standard_normal((12, 37)), rng.random(12), rng.random(37), rng.random(37)
    perp = 0.5 * squares
    perp[:2], perp[2:4], E[:3], S[:, 4] = -1.0, 0.0, 0.0, 0.0
    bound = np.full(12, np.nan)
    kernel.gains(S, squares, perp, w, E, bound)
    want = np.where(S > 0, np.minimum(S**2 / np.where(perp > 0, perp, 1e-300)[:, None], E), 0.0) @ w
    want[:2] = 0.0
    np.testing.assert_allclose(bound, want, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_no_single_exchange_helps_afterwards(kernel, weighted, seed):
    rng = np.random.default_rng(seed)
    M = rng.random((12, 3)) @ rng.dirichlet(np.ones(3), 14).T + 0.05 * rng.random((12, 14))
    w = rng.random(14) if weighted else None
    got = exchange_anchors(M, M, np.array([0, 1, 2]), w)
    assert got.start == pytest.approx(residual(M, M[:, :3], w))
    assert got.residual == pytest.approx(residual(M, M[:, got.anchors], w))
    assert got.residual <= got.start
    for k, c in itertools.product(range(3), range(14)):
        if c not in got.anchors:
            other = got.anchors.copy()
            other[k] = c
            assert residual(M, M[:, other], w) >= got.residual * (1 - 2e-6)


def test_anchors_may_be_more_than_dimensions():
    """A pyramid on a square: four rays in three dimensions, any three of which span everything."""
    rng = np.random.default_rng(0)
    W = np.array([[0.0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1]])
    M = W @ np.hstack([rng.dirichlet(np.ones(4), 20).T, np.eye(4)])
    got = exchange_anchors(M, M, np.arange(4))
    assert set(got.anchors) == {20, 21, 22, 23}
    assert got.residual == pytest.approx(0, abs=1e-12)


def test_candidates_need_not_be_the_columns_to_explain():
    rng = np.random.default_rng(3)
    W = rng.random((10, 4))
    D = W @ rng.dirichlet(np.ones(4), 60).T
    C = np.column_stack([rng.random((10, 15)), W])
    got = exchange_anchors(D, C, np.arange(4))
    assert set(got.anchors) == {15, 16, 17, 18}
    assert got.residual == pytest.approx(0, abs=1e-12)


def test_one_anchor_and_all_columns():
    M = np.random.default_rng(4).random((6, 9))
    one = exchange_anchors(M, M, np.array([0]))
    assert one.residual == pytest.approx(min(residual(M, M[:, [j]]) for j in range(9)))
    every = exchange_anchors(M, M, np.arange(9))
    assert every.n_exchanges == 0
    assert every.residual == pytest.approx(0, abs=1e-12)


def test_polishing_repairs_spa_where_midpoints_are_pushed_out():
    M, anchors = sepnmf.datasets.make_midpoint(0.2, random_state=0)
    start = sepnmf.spa(M, 10, negative="allow").anchors
    assert set(start) != set(anchors)
    assert set(exchange_anchors(M, M, start).anchors) == set(anchors)


def test_sparse_columns_give_the_same():
    rng = np.random.default_rng(7)
    M = rng.random((30, 60)) * (rng.random((30, 60)) < 0.3)
    dense = exchange_anchors(M, M, np.arange(5))
    thin = exchange_anchors(sparse.csc_array(M), sparse.csc_array(M), np.arange(5))
    assert dense.anchors.tolist() == thin.anchors.tolist()
    assert thin.residual == pytest.approx(dense.residual)
    assert thin.n_exchanges > 0


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_a_crowded_sparse_matrix_is_copied_for_products(monkeypatch, share):
    """Sparse products of co-occurrences, most of which are not zero, took most of the time of topics."""
    rng = np.random.default_rng(8)
    M = rng.random((40, 90)) * (rng.random((40, 90)) < share)
    thin = as_matrix(sparse.csc_array(M))
    held = thin.for_products()
    assert isinstance(held.array, np.ndarray) == (share > 0.1)
    np.testing.assert_array_equal(held.take(slice(None)), M)
    monkeypatch.setattr("sepnmf.matrix._sparse.COPIED", 40 * 90 - 1)
    assert thin.for_products() is thin


def test_number_of_threads_changes_nothing():
    M = np.random.default_rng(5).random((20, 400))
    one, two = (exchange_anchors(M, M, np.arange(6), n_jobs=jobs) for jobs in (1, 2))
    assert one.anchors.tolist() == two.anchors.tolist()
    assert one.n_exchanges == two.n_exchanges > 0


def test_what_is_outside_a_span():
    rng = np.random.default_rng(6)
    W = rng.random((7, 3))
    C = np.column_stack([W @ rng.random((3, 2)), rng.random((7, 2)), np.zeros(7)])
    got = outside_span(C, W)
    want = [np.linalg.lstsq(W, c, rcond=None)[1].sum() for c in C.T]
    assert (got[[0, 1, 4]] == 0).all()
    np.testing.assert_allclose(got[2:4], want[2:4])


def test_gains_that_are_rounding_end_the_descent():
    """Two rows are a million times as large as the others: the residual is as small as rounding errors."""
    M, _ = sepnmf.datasets.make_dirichlet(0.0, m=12, n=60, r=4, random_state=0)
    A = np.insert(M, [3, 7], 1e6 * np.random.default_rng(0).random((2, 60)), axis=0)
    start = sepnmf.spa(A, 4).anchors
    got = exchange_columns(as_matrix(A, "error"), as_matrix(A, "error"), start)
    assert got.n_exchanges < 20  # it was 1000, the limit
    assert got.residual < got.start
