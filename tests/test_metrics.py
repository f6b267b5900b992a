"""Metrics against values worked out by hand, assignments by brute force, and SciPy's NNLS."""

import tracemalloc
from itertools import permutations
from math import acos, degrees, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse

from sepnmf.datasets import make_dirichlet
from sepnmf.matrix import _passes
from sepnmf.metrics import mean_recovery, mrsa, rae, sam, success_rate


def test_success_rate_compares_sets_not_order():
    assert success_rate([2, 0, 1], [0, 1, 2]) == 1.0
    assert success_rate({2, 0, 1}, np.array([0, 1, 2])) == 1.0
    assert success_rate([0, 1, 3], [0, 1, 2]) == 0.0
    assert success_rate([0, 1], [0, 1, 2]) == 0.0
    assert success_rate([0, 1, 2, 3], [0, 1, 2]) == 0.0


def test_success_rate_is_the_share_of_trials():
    found = [[0, 1], [5, 2], [3, 4]]
    true = [(1, 0), (2, 5), (3, 7)]
    assert success_rate(found, true) == pytest.approx(2 / 3)
    assert success_rate(np.array(found), np.array(true)) == pytest.approx(2 / 3)


def test_mean_recovery_counts_true_anchors_found():
    assert mean_recovery([0, 1, 9, 8], [0, 1, 2, 3]) == 0.5
    assert mean_recovery([0, 1, 2, 3, 4, 5], [0, 1, 2, 3]) == 1.0
    assert mean_recovery([[0, 1], [0, 9], [8, 9]], [[0, 1], [0, 1], [0, 1]]) == pytest.approx(0.5)


@pytest.mark.parametrize("rate", [success_rate, mean_recovery])
@pytest.mark.parametrize(
    ("found", "true", "message"),
    [
        ([0, 0, 1], [0, 1, 2], "found must be distinct"),
        ([[0, 1]], [[0, 1], [0, 1]], "one index set per trial each, got 1 and 2"),
        ([0.0, 1.0], [0, 1], "found must be a non-empty collection of integers"),
        ([True, False], [0, 1], "found must be a non-empty collection of integers"),
        ([0, 1], [], "true must be a non-empty collection of integers"),
        ([[0], []], [[0], [1]], r"found\[1\] must be a non-empty"),
        ([[0], 1], [[0], [1]], "found must be a non-empty collection of integers"),
        (3, [3], "found must be a non-empty collection of integers"),
    ],
)
def test_rates_refuse_what_is_not_index_sets(rate, found, true, message):
    with pytest.raises(ValueError, match=message):
        rate(found, true)


def test_sam_by_hand():
    assert sam([[1.0], [0.0]], [[1.0], [1.0]]) == pytest.approx(45)
    assert sam([[1.0], [0.0]], [[0.0], [7.0]]) == pytest.approx(90)
    # (3, 4) and (4, 3): cos = 24/25
    assert sam([[3.0], [4.0]], [[4.0], [3.0]]) == pytest.approx(degrees(acos(24 / 25)))


def test_mrsa_by_hand():
    # Without its mean (1, 0, 0) is (2, −1, −1)/3 and (0, 1, 0) is (−1, 2, −1)/3: cos = −1/2.
    assert mrsa([[1.0], [0.0], [0.0]], [[0.0], [1.0], [0.0]]) == pytest.approx(100 / pi * acos(-0.5))
    # Two entries without their mean are ±(1, −1): the same direction, or opposite.
    assert mrsa([[5.0], [1.0]], [[9.0], [8.0]]) == pytest.approx(0, abs=1e-12)
    assert mrsa([[5.0], [1.0]], [[8.0], [9.0]]) == pytest.approx(100)


def angle(a, b, centre):
    a, b = (v - v.mean() if centre else v for v in (a, b))
    return acos(np.clip(a @ b / sqrt((a @ a) * (b @ b)), -1, 1))


@pytest.mark.parametrize(("metric", "scale", "centre"), [(sam, 180 / pi, False), (mrsa, 100 / pi, True)])
@pytest.mark.parametrize("seed", range(5))
def test_assignment_is_the_best_of_all_permutations(metric, scale, centre, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.random((6, 5)), rng.random((6, 5))
    sums = [
        sum(angle(A[:, i], B[:, j], centre) for i, j in enumerate(order)) for order in permutations(range(5))
    ]
    assert metric(A, B) == pytest.approx(scale * min(sums) / 5, rel=1e-9)


@given(seed=st.integers(0, 2**32 - 1), r=st.integers(1, 6))
def test_angles_ignore_order_and_positive_scale(seed, r):
    rng = np.random.default_rng(seed)
    A, B = rng.random((8, r)), rng.random((8, r))
    order, scale = rng.permutation(r), rng.uniform(0.1, 10, r)
    assert sam(A[:, order] * scale, B) == pytest.approx(sam(A, B), rel=1e-9)
    assert mrsa(A[:, order] * scale + 3, B) == pytest.approx(mrsa(A, B), rel=1e-7)
    assert sam(A, B) == pytest.approx(sam(B, A), rel=1e-9)


@pytest.mark.parametrize("metric", [sam, mrsa])
def test_equal_columns_are_at_exactly_zero(metric):
    W = np.random.default_rng(0).random((50, 7))
    assert metric(W, W[:, ::-1]) == 0.0


def test_small_angles_keep_their_digits():
    # The arccos of a cosine rounded to 1 would be 0 or 2e-8.
    tiny = 1e-9
    assert sam([[1.0], [0.0]], [[1.0], [tiny]]) == pytest.approx(degrees(tiny), rel=1e-9)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_extreme_sizes_do_not_overflow(size):
    A, B = np.random.default_rng(1).random((2, 6, 3))
    assert sam(A * size, B) == pytest.approx(sam(A, B))
    assert mrsa(A * size, B) == pytest.approx(mrsa(A, B))


def test_constant_and_zero_columns_have_no_direction():
    constant, other = np.full((7, 1), 0.1), np.arange(7.0)[:, None]
    zero = np.zeros((7, 1))
    assert mrsa(constant, constant / 3) == 0.0
    assert mrsa(constant, other) == mrsa(other, constant) == pytest.approx(50)
    assert mrsa(zero, other) == pytest.approx(50)
    assert sam(zero, other) == sam(other, zero) == pytest.approx(90)
    assert sam(zero, zero) == 0.0


@pytest.mark.parametrize("metric", [sam, mrsa])
def test_angles_need_matrices_of_one_shape(metric):
    with pytest.raises(ValueError, match=r"same shape, got \(4, 2\) and \(4, 3\)"):
        metric(np.ones((4, 2)), np.ones((4, 3)))
    with pytest.raises(ValueError, match="W_true must have 2 dimension"):
        metric(np.ones((4, 1)), np.ones(4))


def test_rae_by_hand():
    M = np.array([[1.0, 0.0, 3.0], [0.0, 4.0, 0.0]])
    assert rae(M, [0, 1]) == 1.0
    assert rae(M, [0]) == pytest.approx(1 - 4 / sqrt(26))
    assert rae(M, [1]) == pytest.approx(1 - sqrt(10 / 26))
    # The second column is minus the first: its best nonnegative weight is 0.
    assert rae(np.array([[1.0, -1.0], [-1.0, 1.0]]), [0]) == pytest.approx(1 - sqrt(2 / 4))


def test_rae_of_negative_data():
    assert rae(-np.eye(3), [0, 1, 2]) == 1.0
    assert rae(-np.eye(3), [0, 1]) == pytest.approx(1 - sqrt(1 / 3))


def naive_rae(M, K):
    squares = [optimize.nnls(M[:, K], column)[1] ** 2 for column in M.T]
    return 1 - sqrt(sum(squares)) / np.linalg.norm(M)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_rae_agrees_with_scipy_for_dense_and_sparse(noise, kind):
    M = np.maximum(make_dirichlet(noise, m=20, n=30, r=4, random_state=1)[0], 0)
    M[M < 0.02] = 0
    K = [3, 11, 7, 20]
    assert rae(kind(M), K) == pytest.approx(naive_rae(M, K), abs=1e-12)


def test_rae_does_not_depend_on_the_blocks(monkeypatch):
    M, K = make_dirichlet(0.1, m=20, n=30, r=4)
    whole = rae(M, K)
    for name in ("PART", "WIDEST"):
        monkeypatch.setattr(_passes, name, 20 * 7)  # blocks of 7, 7, 7, 7 and 2 columns
    assert rae(M, K) == pytest.approx(whole, rel=1e-14)
    for name in ("PART", "WIDEST"):
        monkeypatch.setattr(_passes, name, 1)
    assert rae(sparse.csr_array(M), K) == pytest.approx(whole, rel=1e-14)


def test_rae_keeps_the_digits_of_a_tiny_residual():
    M, K = make_dirichlet(0.0, m=20, n=30, r=4)
    # Through Gram matrices the residual could not be told from 1e-8.
    assert 0 <= 1 - rae(M, K) < 1e-14


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_rae_does_not_depend_on_the_size_of_M(size):
    M = make_dirichlet(0.1, m=20, n=30, r=4)[0]
    assert rae(M * size, [0, 1, 2]) == pytest.approx(rae(M, [0, 1, 2]))
    assert rae(sparse.csc_array(M * size), [0, 1, 2]) == pytest.approx(rae(M, [0, 1, 2]))


def test_rae_does_not_make_a_sparse_matrix_dense():
    rng = np.random.default_rng(0)
    where = rng.integers(4000, size=20000), rng.integers(5000, size=20000)
    M = sparse.csr_array((rng.random(20000), where), shape=(4000, 5000))
    tracemalloc.start()
    value = rae(M, range(5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 < value < 1
    assert peak < 0.5 * 8 * 4000 * 5000


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        ([0, 3], r"anchors must lie between 0 and 2, got \[0, 3\]"),
        ([-1], "anchors must lie between 0 and 2"),
        ([0, 0], "anchors must be distinct"),
        ([], "anchors must be a non-empty collection of integers"),
        ([0.5], "anchors must be a non-empty collection of integers"),
    ],
)
def test_rae_refuses_what_are_not_anchors(anchors, message):
    with pytest.raises(ValueError, match=message):
        rae(np.eye(3), anchors)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rae_refuses_a_zero_matrix(kind):
    with pytest.raises(ValueError, match="M is zero"):
        rae(kind(np.zeros((3, 3))), [0])
