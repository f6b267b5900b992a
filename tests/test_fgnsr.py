"""FGNSR: the fused step, the optimum, the adapted μ, and what it does with awkward input."""

import warnings
from importlib import import_module

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import sepnmf
from sepnmf._kernels import fgnsr as kernels
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.least_squares import nnls
from sepnmf.model import project_omega

module = import_module("sepnmf.methods._fgnsr")

HISTORY = {"objective", "fit", "trace", "mu", "change", "seconds"}


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return sepnmf.fgnsr(*args, **options)


# The fused kernel -------------------------------------------------------------------------------------


def random_state_of_kernel(n, seed):
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.5, 1.0, n)
    X = project_omega(rng.normal(0, 0.3, (n, n)), w)
    X_old = project_omega(rng.normal(0, 0.3, (n, n)), w)
    X[1], X_old[1] = 0, 0  # an untouched row that stays
    X[2], X_old[2] = 0, 0  # and one that wakes up
    G = rng.normal(0, 1, (n, n))
    G[1], G[2] = 1, -1
    return X, X_old, G, rng.uniform(0, 0.1, n), w


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n", [3, 63, 64, 65, 130])
def test_advance_is_the_projected_step_from_the_extrapolated_point(n, compiled, monkeypatch):
    if not compiled:
        n = min(n, 65)
        for name in ("diagonal", "lengths"):
            monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    advance = kernels.advance if compiled else kernels.advance.py_func
    X, X_old, G, cost, w = random_state_of_kernel(n, seed=n)
    beta, step = 0.7, 0.2
    expected = project_omega(X + beta * (X - X_old) - step * G - np.diag(cost), w)
    before, diag, diag_old, sizes = X.copy(), np.diag(X).copy(), np.diag(X_old).copy(), np.full((n, 2), 9.0)
    half = n // 2
    for rows in (slice(0, half), slice(half, n)):
        advance(rows.start, (X, diag, X_old, diag_old), G[rows].copy(), beta, step, cost, w, sizes)
    assert not expected[1].any()
    assert expected[2].any()
    np.testing.assert_allclose(X_old, expected, atol=1e-14)
    np.testing.assert_allclose(diag_old, np.diag(expected), atol=1e-14)
    np.testing.assert_allclose(sizes[:, 0], ((expected - before) ** 2).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(sizes[:, 1], (expected**2).sum(axis=1), atol=1e-12)
    np.testing.assert_array_equal(X, before)


# The iteration ----------------------------------------------------------------------------------------


def plain_fgnsr(M, p, mu, target, iterations):
    """The recursion as printed, with full matrices and μ adapted every ten iterations."""
    n = M.shape[1]
    w = np.abs(M).sum(axis=0)
    L = np.linalg.norm(M, 2) ** 2
    X = Y = np.zeros((n, n))
    alpha, rate, direction, restarted = 0.05, 0.1, 0, False
    for k in range(1, iterations + 1):
        X_before = X
        X = project_omega(Y - (M.T @ (M @ Y - M) + mu * np.diag(p)) / L, w)
        after = (np.sqrt(alpha**4 + 4 * alpha**2) - alpha**2) / 2
        beta = alpha * (1 - alpha) / (alpha**2 + after)

        def objective(A, mu=mu):
            return 0.5 * np.linalg.norm(M - M @ A) ** 2 + mu * p @ np.diag(A)

        if objective(X) > objective(X_before) and not restarted:
            Y, alpha, restarted = X, 0.05, True
        else:
            Y, alpha, restarted = X + beta * (X - X_before), after, False
        if k % 10 == 0:
            turn = 1 if np.trace(X) >= target else -1
            if turn == -direction:
                rate /= 2
            direction = turn
            mu *= 1 + turn * rate
    return X, mu


def test_iterates_are_those_of_the_plain_recursion():
    M, _ = make_dirichlet(0.1, m=20, n=30, r=4, random_state=3)
    p = 1 + 0.01 * (np.random.default_rng(5).random(30) - 0.5)
    X, mu = plain_fgnsr(M, p, module.first_mu(M, 4, p), target=4, iterations=155)
    sel = quiet(M, 4, max_iter=155, tol=0, negative="allow", random_state=5)
    np.testing.assert_allclose(sel.X, X, atol=1e-9)
    assert sel.history["fit"][-1] == pytest.approx(0.5 * np.linalg.norm(M - M @ X) ** 2)
    assert sel.history["trace"][-1] == pytest.approx(np.trace(X))
    assert sel.history["mu"][-1] == pytest.approx(mu)
    assert sel.n_outer == 155


def test_first_mu_balances_trace_and_spa_residual():
    M, _ = make_dirichlet(0.3, random_state=0)
    p = np.linspace(0.99, 1.01, 100)
    anchors = sepnmf.spa(M, 10, negative="allow").anchors
    H = nnls(M[:, anchors], M)
    residual = np.linalg.norm(M - M[:, anchors] @ H) ** 2 + 1e-3 * np.linalg.norm(M) ** 2
    assert module.first_mu(M, 10, p) * p[anchors].sum() == pytest.approx(residual)


def test_fixed_mu_reaches_the_optimum_of_a_convex_solver(monkeypatch):
    monkeypatch.setattr(module, "SPREAD", 0.0)
    rng = np.random.default_rng(2)
    M, mu = rng.random((5, 8)), 0.05
    w = M.sum(axis=0)
    X = cp.Variable((8, 8), nonneg=True)
    d = cp.diag(X)
    rules = [d <= 1, cp.multiply(w[:, None], X) <= cp.reshape(d, (8, 1), order="F") @ w[None, :]]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(M - M @ X) / 2 + mu * cp.sum(d)), rules)
    problem.solve(solver="CLARABEL")
    sel = sepnmf.fgnsr(M, 2, mu=mu, tol=1e-9, max_iter=20000, random_state=0)
    assert sel.converged
    assert sel.history["objective"][-1] == pytest.approx(problem.value, rel=1e-6)
    np.testing.assert_allclose(project_omega(sel.X, w), sel.X, atol=1e-12)


@pytest.mark.parametrize("make", [make_midpoint, make_dirichlet])
@pytest.mark.parametrize("seed", range(5))
def test_finds_every_anchor_without_noise(make, seed):
    M, anchors = make(0.0, random_state=seed)
    sel = sepnmf.fgnsr(M, 10, random_state=0)
    assert sel.converged
    assert set(sel.anchors) == set(anchors)


def test_finds_anchors_where_spa_does_not():
    M, anchors = make_midpoint(0.1833, random_state=0)
    assert set(sepnmf.spa(M, 10, negative="allow").anchors) != set(anchors)
    assert set(sepnmf.fgnsr(M, 10, negative="allow", random_state=0).anchors) == set(anchors)


def test_ends_only_when_still_and_near_its_trace():
    M, _ = make_midpoint(0.3, random_state=0)
    sel = sepnmf.fgnsr(M, 10, target=8, negative="allow", random_state=0)
    assert sel.converged
    assert sel.status == "converged"
    assert sel.history["change"][-1] <= 1e-4
    assert abs(sel.history["trace"][-1] - 8) <= 0.08
    early = (sel.history["change"] <= 1e-4) & (abs(sel.history["trace"] - 8) <= 0.08)
    assert early.sum() == 1
    assert set(sel.history) == HISTORY
    assert {len(v) for v in sel.history.values()} == {sel.n_outer}


def test_warns_when_the_iterations_run_out():
    M, _ = make_dirichlet(0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="fgnsr stopped after 3 iterations"):
        sel = sepnmf.fgnsr(M, 10, max_iter=3, negative="allow", random_state=0)
    assert not sel.converged
    assert sel.status == "max_outer"


def test_threads_share_the_work_without_changing_the_answer():
    M, _ = make_dirichlet(0.05, m=30, n=400, r=5, random_state=1)
    options = {"max_iter": 60, "tol": 0, "negative": "allow", "random_state": 0}
    one = quiet(M, 5, n_jobs=1, **options)
    three, again = (quiet(M, 5, n_jobs=3, **options) for _ in range(2))
    np.testing.assert_allclose(three.X, one.X, atol=1e-12)
    np.testing.assert_array_equal(three.X, again.X)


# Input ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def easy():
    return make_dirichlet(0.01, m=20, n=30, r=4, random_state=0)


@pytest.mark.parametrize("form", ["fortran", "strided", "readonly", "float32", "list"])
def test_form_of_the_input_does_not_matter(easy, form):
    M, anchors = easy
    data = {
        "fortran": lambda: np.asfortranarray(M),
        "strided": lambda: np.repeat(M, 2, axis=1)[:, ::2],
        "readonly": lambda: np.array(M),
        "float32": lambda: M.astype(np.float32),
        "list": M.tolist,
    }[form]()
    if form == "readonly":
        data.flags.writeable = False
    copy = np.array(data)
    sel = sepnmf.fgnsr(data, 4, random_state=0)
    assert set(sel.anchors) == set(anchors)
    np.testing.assert_array_equal(data, copy)
    assert sel.X.dtype == (np.float32 if form == "float32" else np.float64)


def test_integer_data():
    M = np.array([[4, 0, 2, 1], [0, 4, 2, 3]])
    assert set(sepnmf.fgnsr(M, 2, random_state=0).anchors) == {0, 1}


def test_permuting_columns_permutes_the_anchors(easy):
    M, anchors = easy
    order = np.random.default_rng(1).permutation(30)
    sel = sepnmf.fgnsr(M[:, order], 4, random_state=0)
    assert set(order[sel.anchors]) == set(anchors)


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_scaling_leaves_the_iterates(easy, scale):
    M, _ = easy
    plain, scaled = (sepnmf.fgnsr(t * M, 4, random_state=0) for t in (1.0, scale))
    np.testing.assert_array_equal(plain.anchors, scaled.anchors)
    np.testing.assert_allclose(plain.X, scaled.X, atol=1e-6)


def test_same_seed_same_answer(easy):
    M, _ = easy
    first, second = (sepnmf.fgnsr(M, 4, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)


def test_scores_rank_the_anchors(easy):
    M, _ = easy
    for pick in ("diag", "rows"):
        sel = sepnmf.fgnsr(M, 4, pick=pick, random_state=0)
        assert np.isfinite(sel.scores).all()
        np.testing.assert_array_equal(sel.anchors, np.argsort(-sel.scores, kind="stable")[:4])


def test_picking_by_spa_takes_no_two_copies_of_an_anchor(easy):
    M, anchors = easy
    doubled = np.hstack([M, M[:, anchors]])
    sel = sepnmf.fgnsr(doubled, 4, pick="spa", random_state=0)
    origin = np.concatenate([np.arange(30), anchors])
    assert set(origin[sel.anchors]) == set(anchors)


@pytest.mark.parametrize(
    ("M", "r"),
    [
        (np.ones((3, 4)), 2),
        (np.outer([1.0, 2.0], [1.0, 2.0, 3.0]), 2),
        (np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]), 3),
        (np.eye(4), 4),
        (np.array([[2.0]]), 1),
    ],
    ids=["equal columns", "rank below r", "r equals n", "identity", "one column"],
)
@pytest.mark.parametrize("pick", ["diag", "rows", "spa"])
def test_degenerate_data_still_give_distinct_anchors(M, r, pick):
    sel = quiet(M, r, pick=pick, random_state=0)
    assert len(set(sel.anchors)) == r
    assert np.isfinite(sel.scores).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": 0}, "mu must be finite and greater than 0"),
        ({"mu": 1e6}, "so large that X = 0"),
        ({"target": -1}, "target must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1}, "tol must be"),
        ({"pick": "best"}, "pick must be one of"),
        ({"weights": [1.0]}, "weights must hold one number per column"),
        ({"random_state": "a"}, "random_state must be"),
    ],
)
def test_refuses_bad_options(easy, options, message):
    M, _ = easy
    with pytest.raises(ValueError, match=message):
        quiet(M, 4, **{"max_iter": 5, **options})


def test_refuses_bad_data():
    with pytest.raises(ValueError, match=r"zero column\(s\), the first is column 1"):
        sepnmf.fgnsr([[1.0, 0.0]], 1)
    with pytest.raises(ValueError, match="negative entries"):
        sepnmf.fgnsr([[1.0, -1.0]], 1)
    with pytest.raises(ValueError, match="between 1 and the number of columns"):
        sepnmf.fgnsr([[1.0, 1.0]], 3)


def test_negative_entries_are_clipped_on_request():
    M = np.array([[1.0, 0.0, 0.5], [-0.1, 1.0, 0.5]])
    clipped = sepnmf.fgnsr(M, 2, negative="clip", random_state=0)
    np.testing.assert_array_equal(clipped.X, sepnmf.fgnsr(np.maximum(M, 0), 2, random_state=0).X)
