"""Singular value thresholding by matrix products, against the singular value decomposition."""

import numpy as np
import pytest

from sepnmf._kernels import polar as kernels
from sepnmf.model import _norms as norms
from sepnmf.model import prox_power
from sepnmf.model._polar import Polar

ABOVE, BELOW = [1.5, 2.0], [0.0, 1e-9, 0.05, 0.3]


def matrix(singular_values, seed=0, turned=0.0):
    """A matrix with these singular values; `turned` moves its singular vectors."""
    n = len(singular_values)
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    V = np.linalg.qr(V + turned * rng.standard_normal((n, n)))[0]
    return (U * singular_values) @ V.T


def thresholded(B, tau):
    U, s, Vt = np.linalg.svd(B)
    return (U * np.maximum(s - tau, 0)) @ Vt, float(np.maximum(s - tau, 0).sum())


def fixed(tau):
    """The threshold τ, whatever the singular values are."""

    def threshold(sigma, mean, others):
        return tau, float(np.maximum(sigma - tau, 0).sum()) + others * (mean - tau)

    return threshold


def agree(found, B, tau):
    want, size = thresholded(B, tau)
    length = np.linalg.norm(B)
    np.testing.assert_allclose(found[0], want, atol=3e-13 * length)
    assert found[1] == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("least", [0.7, 0.9, 0.99, 0.9999, 1.0])
@pytest.mark.parametrize("tau", [0.0, 1e-9, 1e-3, 0.4])
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_close_singular_values_are_thresholded(least, tau, scale):
    B = matrix(scale * np.linspace(least, 1, 40))
    way = Polar(40)
    for _ in range(2):
        agree(way.shrink(B, fixed(scale * tau)), B, scale * tau)
        way.promising = True  # without looking for outliers first


@pytest.mark.parametrize("width", [1e-12, 1e-4, 1e-2])
@pytest.mark.parametrize("tau", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("outliers", [ABOVE, BELOW, ABOVE + BELOW])
def test_outliers_are_thresholded_apart(outliers, tau, width):
    values = np.concatenate([np.linspace(1 - width, 1, 40), outliers])
    values = np.sort(values)[::-1]
    way = Polar(len(values))
    _, s, Vt = np.linalg.svd(matrix(values))
    way.learn(s, Vt.T)
    assert len(way.outliers) >= len(outliers)
    for turned in (1e-6, 2e-6, 1e-4, 0.0):
        B = matrix(values, turned=turned)
        found = way.shrink(B, fixed(tau))
        if tau == 0.0 and outliers is not ABOVE and found is None:
            return  # singular vectors of tiny values would have to be exact
        agree(found, B, tau)


@pytest.mark.parametrize("least", [0.0, 0.01, 0.2])
def test_singular_values_that_are_far_apart_are_left_to_others(least):
    B = matrix(np.linspace(1, least, 40))
    way = Polar(40)
    assert way.shrink(B, fixed(1e-3)) is None
    _, s, Vt = np.linalg.svd(B)
    way.learn(s, Vt.T)
    assert way.shrink(B, fixed(1e-3)) is None


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e200])
def test_what_is_not_finite_is_left_to_others(wrong):
    B = matrix(np.linspace(0.9, 1, 40))
    B[3, 4] = wrong
    with np.errstate(all="ignore"):
        assert Polar(40).shrink(B, fixed(0.1)) is None


@pytest.mark.parametrize("nonzero", [1, 2, 8])
def test_singular_values_of_zero_are_no_cluster(nonzero):
    squares = np.where(np.arange(10) < nonzero, 1.0, 0.0)
    assert kernels.find_cluster(squares, 0.5, 0.01, 10.0) == ((0, 8) if nonzero == 8 else (0, 0))


@pytest.mark.parametrize("tau", [0.95, 2.0])
def test_a_threshold_inside_the_cluster_or_above_it_is_left_to_others(tau):
    assert Polar(40).shrink(matrix(np.linspace(1, 0.9, 40)), fixed(tau)) is None


@pytest.mark.parametrize(
    ("p", "gamma"), [(1, 0.05), (1, 50.0), (1.5, 5e-3), (2, 1e-3), (4, 1e-7), (4, 1e-3), (2, 0.5)]
)
@pytest.mark.parametrize("form", ["exact", "paper"])
@pytest.mark.parametrize("outliers", [[], ABOVE + BELOW, [50.0]])
def test_the_proximal_map_in_an_iteration_is_the_map(p, gamma, form, outliers):
    """Also where the threshold exceeds singular values, so that the polar factor is of no use."""
    if form == "paper" and p == 1.5:
        return
    values = np.concatenate([np.linspace(0.8, 1, 40), outliers])
    warm_start = norms.WarmStart(np.eye(len(values)))
    for turned in (0.0, 0.0, 1e-5, 1e-3, 0.0):
        B = matrix(values, turned=turned)
        X, size = norms.NORMS["nuclear"].prox(B, gamma, p, form, warm_start)
        want = prox_power(B, gamma, p, "nuclear", form)
        np.testing.assert_allclose(X, want, atol=2e-12 * max(values.max(), 1))
        assert size == pytest.approx(np.linalg.norm(want, "nuc"), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_ritz_vectors_are_those_of_a_dense_solver(k):
    rng = np.random.default_rng(k)
    K, W = rng.standard_normal((30, 30)), rng.standard_normal((k, 30))
    K += K.T
    assert kernels.orthonormalise(W)
    np.testing.assert_allclose(W @ W.T, np.eye(k), atol=1e-14)
    want = np.linalg.eigvalsh(W @ K @ W.T)
    ritz, products, e, residuals = np.empty_like(W), W @ K, np.empty(k), np.empty(k)
    kernels.rotate(W, products, ritz, e, residuals)
    np.testing.assert_allclose(np.sort(e), want, atol=1e-12)
    np.testing.assert_allclose(ritz @ K @ ritz.T, np.diag(e), atol=1e-12)
    np.testing.assert_allclose(products, ritz @ K, atol=1e-12)
    np.testing.assert_allclose(residuals, np.linalg.norm(ritz @ K - e[:, None] * ritz, axis=1), atol=1e-12)


def test_nearly_dependent_rows_become_orthonormal_and_zero_rows_are_reported():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((1, 30)) + 1e-9 * rng.standard_normal((4, 30))
    assert kernels.orthonormalise(W)
    np.testing.assert_allclose(W @ W.T, np.eye(4), atol=1e-14)
    assert not kernels.orthonormalise(np.zeros((2, 30)))


@pytest.mark.parametrize(("scale", "gamma"), [(1.0, 1e200), (1e-170, 1e-200), (1e160, 1e159), (1.0, 40.0)])
def test_thresholds_whose_squares_leave_the_range(scale, gamma):
    B = matrix(scale * np.linspace(0.8, 1, 40))
    X, _ = norms.NORMS["nuclear"].prox(B, gamma, 1, "exact", norms.WarmStart(B))
    want = prox_power(B, gamma, 1, "nuclear")
    np.testing.assert_allclose(X, want, atol=1e-10 * scale)
