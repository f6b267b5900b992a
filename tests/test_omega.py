"""The feasible set: its projection and the constrained proximal maps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from sepnmf._kernels import omega
from sepnmf._parallel import Workers
from sepnmf.model import NORMS, project_omega, prox_power_omega
from sepnmf.model._norms import NORMS as CLASSES
from sepnmf.model._norms import Norm, WarmStart

POWERS = [1, 1.5, 2, 3, 4, 7]


def inside(X, w, slack=1e-12):
    t = np.diag(X)
    return X.min() >= 0 and t.max() <= 1 and (w[:, None] * X <= np.outer(t, w) * (1 + slack) + 1e-300).all()


def sums_of(kernel, A, tau, w, diag, out):
    """Run a kernel over two blocks of rows; return the sums over both."""
    sums = np.full((2, 2), np.nan)
    kernel(A, tau, w, diag, out, 0, len(A) // 2, sums[0])
    kernel(A, tau, w, diag, out, len(A) // 2, len(A), sums[1])
    return sums.sum(axis=0)


def kinds(n, rng):
    G = rng.standard_normal((n, n))
    return {
        "gaussian": G,
        "near": np.eye(n) + 0.2 * G,
        "zero": np.zeros((n, n)),
        "constant": np.full((n, n), 0.4),
        "negative": -np.abs(G),
        "huge": 1e150 * G,
        "tiny": 1e-150 * G,
    }


@pytest.mark.parametrize("n", [1, 2, 7, 40, 200])
@pytest.mark.parametrize("spread", [0.0, 1.0, 6.0])
def test_projection_agrees_with_sorting(n, spread):
    rng = np.random.default_rng(n)
    w = np.exp(spread * rng.standard_normal(n))
    for kind, Z in kinds(n, rng).items():
        X = project_omega(Z, w)
        assert inside(X, w), kind
        want = oracles.project_by_sorting(Z, w)
        assert np.abs(X - want).max() <= 1e-10 * np.abs(want).max(), kind


@pytest.mark.parametrize("n", [1, 2, 6])
def test_projection_agrees_with_a_convex_solver(n):
    rng = np.random.default_rng(n)
    for _ in range(3):
        w = rng.random(n) + 0.1
        Z = rng.standard_normal((n, n)) + 0.5 * np.eye(n)
        want = oracles.solve_convex(Z, 0, 1, "l1", w)
        assert np.abs(project_omega(Z, w) - want).max() < 1e-6


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
def test_projection_is_idempotent_and_obeys_its_variational_inequality(seed, n):
    rng = np.random.default_rng(seed)
    w = rng.random(n) + 0.01
    Z = 2 * rng.standard_normal((n, n))
    X = project_omega(Z, w)
    np.testing.assert_allclose(project_omega(X, w), X, atol=1e-12)
    for _ in range(5):
        other = project_omega(rng.standard_normal((n, n)), w)
        assert np.vdot(Z - X, other - X) <= 1e-10


def test_projection_does_not_depend_on_where_newton_starts():
    rng = np.random.default_rng(0)
    Z, w = rng.standard_normal((30, 30)), rng.random(30) + 0.1
    want = project_omega(Z, w)
    for start in (np.zeros(30), np.full(30, 0.5), np.diag(want).copy(), rng.random(30)):
        X = np.empty_like(Z)
        sums_of(omega.project, Z, 0.0, w, start, X)
        np.testing.assert_allclose(X, want, atol=1e-15)
        np.testing.assert_array_equal(start, np.diag(X))


def test_projection_ignores_the_scale_of_the_weights():
    rng = np.random.default_rng(0)
    Z, w = rng.standard_normal((9, 9)), rng.random(9) + 0.1
    np.testing.assert_allclose(project_omega(Z, w), project_omega(Z, 1e200 * w), atol=1e-14)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("n", [1, 3, pytest.param(12, marks=pytest.mark.slow)])
def test_constrained_entrywise_map_agrees_with_bisection(p, n):
    rng = np.random.default_rng(n)
    w = rng.random(n) + 0.1
    for kind, A in kinds(n, rng).items():
        for gamma in (1e-12, 1e-3, 0.3, 1e6):
            got = prox_power_omega(A, gamma, p, w)
            assert inside(got, w), kind
            want = oracles.prox_omega_bisection(A, gamma, p, w) if A.any() else A
            assert np.abs(got - want).max() <= 1e-10 * min(max(np.abs(A).max(), 1e-150), 1.0), (kind, gamma)


def test_constrained_entrywise_map_agrees_with_bisection_at_200():
    rng = np.random.default_rng(200)
    A, w = np.eye(200) + 0.3 * rng.standard_normal((200, 200)), rng.random(200) + 0.1
    for p, gamma in ((1, 0.1), (3, 1e-6)):
        want = oracles.prox_omega_bisection(A, gamma, p, w)
        assert np.abs(prox_power_omega(A, gamma, p, w) - want).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("p", POWERS)
def test_constrained_maps_agree_with_a_convex_solver(p, norm):
    rng = np.random.default_rng(3)
    for n, gamma in ((1, 0.2), (4, 1e-3), (5, 0.05), (4, 1.0)):
        w = rng.random(n) + 0.2
        A = rng.standard_normal((n, n)) + 1.2 * np.eye(n)
        got = prox_power_omega(A, gamma, p, w, norm)
        assert inside(got, w)
        want = oracles.solve_convex(A, gamma, p, norm, w)
        assert np.linalg.norm(got - want) < 1e-6 * np.linalg.norm(A), (n, gamma)


@pytest.mark.parametrize("norm", ["l1", "rows"])
@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_closed_forms_agree_with_the_general_method(p, norm):
    """The dual method serves any norm; for the two norms with a closed form both must say the same."""
    rng = np.random.default_rng(8)
    w = rng.random(12) + 0.2
    A = 0.8 * rng.standard_normal((12, 12)) + 2 * np.eye(12)  # some diagonals at the cap
    for gamma in (1e-2, 0.2):
        direct, general = np.empty_like(A), np.empty_like(A)
        size = CLASSES[norm].prox_omega(A, gamma, p, w, WarmStart(A), Workers(12, 1), direct)
        Norm.prox_omega(CLASSES[norm], A, gamma, p, w, WarmStart(A), Workers(12, 1), general)
        np.testing.assert_allclose(direct, general, atol=1e-8)
        assert size == pytest.approx(oracles.norm_value(direct, norm))
    assert np.diag(direct).max() == 1.0 or p == 3


@pytest.mark.parametrize("norm", NORMS)
def test_warm_start_changes_nothing_but_the_work(norm):
    rng = np.random.default_rng(8)
    w = rng.random(10) + 0.2
    A = 0.5 * rng.standard_normal((10, 10)) + np.eye(10)
    warm_start = WarmStart(np.empty((10, 10)))
    for step in range(3):
        B = A + 0.01 * step * rng.standard_normal((10, 10))
        warm = np.empty_like(B)
        CLASSES[norm].prox_omega(B, 0.05, 2, w, warm_start, Workers(10, 1), warm)
        np.testing.assert_allclose(warm, prox_power_omega(B, 0.05, 2, w, norm), atol=1e-9)


def test_slopes_are_the_derivatives_of_the_sums():
    rng = np.random.default_rng(8)
    n = 15
    A, w = 0.5 * rng.standard_normal((n, n)) + 1.5 * np.eye(n), rng.random(n) + 0.2
    for kernel, tau in ((omega.project, 0.1), (omega.shrink_rows, 0.3)):
        out, h = np.empty_like(A), 1e-7
        _, slope = sums_of(kernel, A, tau, w, np.ones(n), out)
        up, _ = sums_of(kernel, A, tau + h, w, np.ones(n), out)
        down, _ = sums_of(kernel, A, tau - h, w, np.ones(n), out)
        assert slope == pytest.approx((up - down) / (2 * h), rel=1e-5)


def test_python_twins_of_the_kernels_give_the_same():
    rng = np.random.default_rng(8)
    n = 9
    A, w = 0.7 * rng.standard_normal((n, n)) + 1.5 * np.eye(n), rng.random(n) + 0.2
    A[2] = -1.0
    for kernel in (omega.project, omega.shrink_rows):
        X, Y, d, e = np.empty_like(A), np.empty_like(A), np.ones(n), np.ones(n)
        got, twin = sums_of(kernel, A, 0.2, w, d, X), sums_of(kernel.py_func, A, 0.2, w, e, Y)
        np.testing.assert_allclose(got, twin, rtol=1e-13)
        np.testing.assert_allclose(X, Y, atol=1e-15)
    row = A[0]
    rest = np.append(0.0, row[1:])
    got, twin = (f(rest, row[0], w, w[0], 1.0, 0.3) for f in (omega.diagonal, omega.diagonal.py_func))
    assert got == pytest.approx(twin, rel=1e-14)
    x, y = row - 0.1, row - 0.1
    np.testing.assert_allclose(omega.clip_row(x, w, 0.5), omega.clip_row.py_func(y, w, 0.5))
    np.testing.assert_allclose(x, y)
    np.testing.assert_allclose(
        omega.capped_scaling(row, 0, 0.2, w), omega.capped_scaling.py_func(row, 0, 0.2, w)
    )


@pytest.mark.parametrize("norm", NORMS)
def test_single_precision_stays_single(norm):
    rng = np.random.default_rng(8)
    A, w = (0.5 * rng.standard_normal((6, 6)) + np.eye(6)).astype(np.float32), rng.random(6) + 0.2
    got = prox_power_omega(A, 0.05, 2, w, norm)
    assert got.dtype == project_omega(A, w).dtype == np.float32
    np.testing.assert_allclose(got, prox_power_omega(A.astype(float), 0.05, 2, w, norm), atol=1e-5)
