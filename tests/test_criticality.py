"""The criticality residual: zero at critical points and nowhere else."""

import warnings

import numpy as np
import pytest

import sepnmf
from sepnmf.model import NORMS, criticality, objective, project_omega, prox_power_omega, ratio


def gradient(function, X, h=1e-6):
    G = np.zeros_like(X)
    for index in np.ndindex(X.shape):
        up, down = X.copy(), X.copy()
        up[index] += h
        down[index] -= h
        G[index] = (function(up) - function(down)) / (2 * h)
    return G


@pytest.fixture
def interior():
    """A point well inside Ω, where the model is smooth."""
    rng = np.random.default_rng(0)
    n = 5
    M = rng.random((4, n)) + 0.5
    w = np.full(n, 1.0)
    X = 0.3 + 0.05 * rng.random((n, n)) + 0.3 * np.eye(n)
    return M, X, w, np.linalg.norm(M, 2) ** 2


def test_inside_omega_it_is_the_length_of_the_gradient(interior):
    M, X, w, L = interior
    G = gradient(lambda Y: objective(M, Y, lam=0.1, p=1), X)
    assert (X - G / L > 0).all()
    got = criticality(M, X, lam=0.1, p=1, weights=w)
    assert got == pytest.approx(np.linalg.norm(G) / L / np.linalg.norm(X), rel=1e-6)


def test_inside_omega_the_dca_condition_has_its_own_gradient(interior):
    M, X, w, L = interior
    alpha = ratio(X, 1)
    G = gradient(
        lambda Y: 0.1 * np.abs(Y).sum() + 0.5 * np.sum((M @ Y - M) ** 2) - alpha * np.linalg.norm(Y), X
    )
    assert (X - G / L > 0).all()
    got = criticality(M, X, lam=0.1, p=1, weights=w, condition="dca")
    assert got == pytest.approx(np.linalg.norm(G) / L / np.linalg.norm(X), rel=1e-6)
    assert got != pytest.approx(criticality(M, X, lam=0.1, p=1, weights=w), rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("p", "small"), [(1, 1e-4), (2, 1e-7)])
def test_plain_proximal_gradient_runs_into_its_zero(norm, p, small):
    """Linearise the part with 1/‖X‖_F and iterate: the limit is critical by construction."""
    rng = np.random.default_rng(1)
    M = rng.random((4, 6))
    w, lam, L = M.sum(axis=0), 0.02, np.linalg.norm(M, 2) ** 2
    X = project_omega(rng.random((6, 6)) + np.eye(6), w)
    before = criticality(M, X, lam=lam, p=p, norm=norm)
    for _ in range(2000):
        length, size = np.linalg.norm(X), ratio(X, 1, norm) * np.linalg.norm(X)
        G = M.T @ (M @ X - M) - lam * size**p / length**3 * X
        X = prox_power_omega(X - G / L, lam / (length * L), p, w, norm)
    assert before > 0.1
    assert criticality(M, X, lam=lam, p=p, norm=norm) < small


@pytest.mark.parametrize("norm", NORMS)
def test_the_papers_start_is_already_critical_for_p_1(norm):
    """X₀ = I fits exactly, and the ratio's own derivative vanishes there on Ω: why p = 1 moves so little."""
    M, _ = sepnmf.datasets.make_midpoint(0.0, m=12, r=4)
    n = M.shape[1]
    assert criticality(M, np.eye(n), lam=0.3, p=1, norm=norm) < 1e-12
    assert criticality(M, np.eye(n), lam=0.3, p=2, norm=norm) > 0.1


@pytest.fixture(scope="module")
def data():
    M, _ = sepnmf.datasets.make_dirichlet(0.02, m=8, n=14, r=3, random_state=0)
    return np.abs(M)


@pytest.mark.parametrize(
    ("norm", "rho", "outer", "inner", "small"),
    [("rows", 0.1, 400, 300, 1e-8), ("l1", 1.0, 400, 300, 1e-8), ("nuclear", 1.0, 400, 30, 1e-3)],
)
def test_admm_with_exact_inner_solves_ends_at_a_critical_point(data, norm, rho, outer, inner, small):
    """The nuclear inner problem is not convex in X and Z together and converges slowly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        sel = sepnmf.admm(
            data,
            3,
            norm=norm,
            lam=1e-3,
            rho=(rho,) * 3,
            max_outer=outer,
            max_inner=inner,
            tol=1e-9,
            inner_tol=1e-11,
        )
    assert criticality(data, np.eye(14), lam=1e-3, norm=norm) > 1.9e-3
    assert criticality(data, sel.X, lam=1e-3, norm=norm) < small


def test_ten_inner_iterations_are_not_exact_but_near(data):
    sel = sepnmf.admm(data, 3, norm="rows", lam=1e-3, rho=(0.1,) * 3, max_outer=400, tol=1e-9)
    assert sel.converged
    assert 1e-7 < criticality(data, sel.X, lam=1e-3, norm="rows") < 1e-4


@pytest.mark.parametrize("norm", ["l1", "rows"])
def test_dca_ends_at_a_critical_point_of_its_own_limit(data, norm):
    start = project_omega(np.random.default_rng(0).random((14, 14)), data.sum(axis=0))
    sel = sepnmf.dca(
        data, 3, norm=norm, lam=0.5, rho=1, beta=0.5, init=start,
        max_outer=3000, max_inner=500, tol=1e-10, inner_tol=1e-12,
    )  # fmt: skip
    assert sel.converged
    assert sel.n_outer > 3
    assert criticality(data, sel.X, lam=0.5, p=1, norm=norm, condition="dca") < 1e-6


def test_scaling_the_data_leaves_it_unchanged():
    rng = np.random.default_rng(0)
    M, X = rng.random((5, 6)), rng.random((6, 6))
    for norm in NORMS:
        want = criticality(M, X, lam=0.1, norm=norm)
        assert criticality(1e4 * M, X, lam=0.1e8, norm=norm) == pytest.approx(want, rel=1e-6)


def test_zero_is_not_a_point_of_the_model():
    for function in (criticality, objective):
        with pytest.raises(ValueError, match="X is zero"):
            function(np.eye(2), np.zeros((2, 2)), lam=0.1)
