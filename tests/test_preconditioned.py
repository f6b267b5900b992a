"""Preconditioned SPA: the ellipsoid against a convex solver, the preconditioners against their formulas."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, optimize
from sklearn.exceptions import ConvergenceWarning

import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.methods._preconditioned import design_weights, enclosing_ellipsoid
from sepnmf.methods._spa import successive_projections

SEEDS = range(20)
PRECONDITIONERS = ["ellipsoid", "spa", "whitening"]


def points(kind, r, n, seed):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((r, n))
    if kind == "cone":
        Y = np.abs(Y)
    elif kind == "sphere":
        Y /= np.linalg.norm(Y, axis=0)
    elif kind == "mixtures":
        Y = rng.standard_normal((r, r)) @ np.hstack([np.eye(r), rng.dirichlet(np.ones(r), size=n - r).T])
    return Y


def ellipsoid(Y, tol=1e-8, max_iter=100_000):
    return enclosing_ellipsoid(Y, successive_projections(Y, len(Y))[0], tol, max_iter)


@pytest.mark.parametrize("kind", ["gauss", "cone", "sphere", "mixtures"])
@pytest.mark.parametrize(("r", "n"), [(2, 12), (4, 30)])
def test_the_ellipsoid_is_the_convex_solvers(kind, r, n):
    Y = points(kind, r, n, seed=r)
    A = cp.Variable((r, r), PSD=True)
    problem = cp.Problem(cp.Maximize(cp.log_det(A)), [cp.quad_form(y, A) <= 1 for y in Y.T])
    problem.solve(solver=cp.CLARABEL)
    S, _, converged = ellipsoid(Y)
    assert converged
    assert_allclose(-np.linalg.slogdet(r * S)[1], problem.value, atol=1e-6)
    # The solver's A is less exact than its objective.
    assert_allclose(np.linalg.inv(S) / r, A.value, rtol=0, atol=2e-4 * np.abs(A.value).max())


@pytest.mark.parametrize("kind", ["gauss", "cone", "mixtures"])
def test_the_ellipsoid_holds_every_column_and_touches_enough_of_them(kind):
    """More columns than one round of the active set takes, so that columns must join it."""
    Y = points(kind, 6, 5000, seed=0)
    S, _, converged = ellipsoid(Y, tol=1e-6)
    inside = np.einsum("ij,ij->j", Y, np.linalg.solve(S, Y)) / 6
    assert converged
    assert inside.max() <= 1 + 1.1e-6
    assert (inside >= 1 - 1e-5).sum() >= 6
    # John: weights on the touching columns reproduce S.
    touching = Y[:, inside >= 1 - 1e-5]
    squares = np.stack([np.outer(y, y).ravel() for y in touching.T], axis=1)
    weights = optimize.nnls(squares, S.ravel())[0]
    assert_allclose(weights.sum(), 1, rtol=1e-4)
    assert_allclose(squares @ weights, S.ravel(), atol=1e-4 * np.abs(S).max())


def test_the_ellipsoid_follows_a_change_of_coordinates():
    Y = points("gauss", 4, 200, seed=1)
    T = np.random.default_rng(2).standard_normal((4, 4)) + 3 * np.eye(4)
    assert_allclose(ellipsoid(T @ Y)[0], T @ ellipsoid(Y)[0] @ T.T, rtol=1e-5)


def test_mixtures_need_no_step_beyond_their_anchors():
    Y = points("mixtures", 5, 300, seed=3)
    S, steps, converged = enclosing_ellipsoid(Y, np.arange(5), 1e-10, 100)
    assert converged
    assert steps == 0
    assert_allclose(S, Y[:, :5] @ Y[:, :5].T / 5)


def test_away_steps_clear_the_weight_of_inner_columns():
    """Column 0 is well inside: its weight must become exactly zero (κ < 1: in one step)."""
    Y = np.array([[0.1, 1.0, 0.0], [0.1, 0.0, 1.0]])
    u, steps, converged = design_weights(Y, np.full(3, 1 / 3), 1e-10, 100)
    assert converged
    assert steps <= 2
    assert_allclose(u, [0, 0.5, 0.5], atol=1e-9)
    assert u[0] == 0


def test_each_step_raises_the_determinant():
    Y = points("gauss", 4, 40, seed=5)
    values = []
    for steps in range(40):
        u, _, _ = design_weights(Y, np.full(40, 1 / 40), 1e-12, steps)
        assert_allclose(u.sum(), 1)
        assert u.min() >= 0
        values.append(np.linalg.slogdet((Y * u) @ Y.T)[1])
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] > values[0] + 0.1


@pytest.mark.parametrize("start", [np.full(40, 1 / 40), np.eye(40)[:4].mean(axis=0)])
def test_a_step_goes_as_far_as_the_line_search_would(start):
    """From these weights the first step puts weight on a column."""
    Y = points("gauss", 4, 40, seed=6)
    after, _, _ = design_weights(Y, start, 1e-12, 1)
    j = int(np.argmax(after - start))

    def value(beta):
        u = (1 - beta) * start + beta * (np.arange(40) == j)
        return np.linalg.slogdet((Y * u) @ Y.T)[1]

    best = optimize.minimize_scalar(
        lambda b: -value(b), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
    )
    assert_allclose(after, (1 - best.x) * start + best.x * (np.arange(40) == j), atol=1e-6)


def preconditioned(M, r, preconditioner):
    """QY with Q from its formula in the paper."""
    U = np.linalg.svd(M, full_matrices=False)[0][:, :r]
    Y = U.T @ M
    if preconditioner == "whitening":
        Q = np.linalg.inv(linalg.sqrtm(Y @ Y.T))
    elif preconditioner == "spa":
        Q = np.linalg.pinv(Y[:, plain_spa(Y, r)])
    else:
        A = cp.Variable((r, r), PSD=True)
        scale = np.abs(Y).max(axis=1, keepdims=True)
        constraints = [cp.quad_form(y, A) <= 1 for y in (Y / scale).T]
        cp.Problem(cp.Maximize(cp.log_det(A)), constraints).solve(solver=cp.CLARABEL)
        Q = linalg.sqrtm(A.value / scale / scale.T)
    return Q @ Y


def plain_spa(Y, r):
    P, chosen = np.eye(len(Y)), []
    for _ in range(r):
        chosen.append(int(np.linalg.norm(P @ Y, axis=0).argmax()))
        P -= P @ np.outer(Y[:, chosen[-1]], Y[:, chosen[-1]] @ P) / (Y[:, chosen[-1]] @ P @ Y[:, chosen[-1]])
    return chosen


def could_be_spa(Z, anchors, slack):
    """Whether SPA on Z takes these columns, in some order, when residual norms within `slack` tie."""
    return any(follows_spa(Z, order, slack) for order in itertools.permutations(anchors))


def follows_spa(Z, order, slack):
    R = Z.copy()
    for j in order:
        norms = np.linalg.norm(R, axis=0)
        if norms[j] < (1 - slack) * norms.max():
            return False
        R -= np.outer(R[:, j], R[:, j] @ R) / norms[j] ** 2
    return True


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_each_preconditioner_is_its_formula(preconditioner):
    # All columns that touch the ellipsoid tie, and both solvers find it to a tolerance.
    slack = 1e-4 if preconditioner == "ellipsoid" else 1e-10
    for seed in range(12):
        M, _ = make_dirichlet(0.5, m=12, n=40, r=4, random_state=seed)
        Z = preconditioned(M, 4, preconditioner)
        sel = sepnmf.preconditioned_spa(M, 4, preconditioner=preconditioner, tol=1e-7, negative="allow")
        assert could_be_spa(Z, sel.anchors, slack)


def test_the_formulas_differ_from_spa_and_from_each_other():
    """Otherwise the test above would show nothing."""
    agree = dict.fromkeys(itertools.permutations((*PRECONDITIONERS, "none"), 2), 0)
    for seed in range(12):
        M, _ = make_dirichlet(0.5, m=12, n=40, r=4, random_state=seed)
        views = {p: preconditioned(M, 4, p) for p in PRECONDITIONERS} | {"none": M}
        for one, other in agree:
            agree[one, other] += could_be_spa(views[one], plain_spa(views[other], 4), 1e-4)
    assert max(agree.values()) < 12


@pytest.mark.slow
@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
@pytest.mark.parametrize("make", [make_midpoint, make_dirichlet])
def test_noise_free_anchors_are_found_on_every_seed(preconditioner, make):
    for seed in SEEDS:
        M, anchors = make(0, random_state=seed)
        sel = sepnmf.preconditioned_spa(M, 10, preconditioner=preconditioner)
        assert_array_equal(np.sort(sel.anchors), anchors)


@pytest.mark.slow
@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_preconditioning_helps_where_spa_begins_to_fail(preconditioner):
    """Type 1 at ε = 0.1: SPA finds all anchors on half the instances, as its authors' code does."""
    found = 0
    for seed in SEEDS:
        M, anchors = make_midpoint(0.1, random_state=seed)
        sel = sepnmf.preconditioned_spa(M, 10, preconditioner=preconditioner, negative="allow")
        found += set(sel.anchors) == set(anchors)
    assert found == len(SEEDS)


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_ill_conditioned_anchors_are_found(preconditioner):
    rng = np.random.default_rng(0)
    W = np.ones((20, 5)) + 1e-6 * rng.random((20, 5))
    M = W @ np.hstack([np.eye(5), rng.dirichlet(np.ones(5), size=50).T])
    sel = sepnmf.preconditioned_spa(M, 5, preconditioner=preconditioner)
    assert_array_equal(np.sort(sel.anchors), np.arange(5))


def test_running_out_of_steps_is_told():
    M = np.abs(np.random.default_rng(0).standard_normal((4, 60)))
    with pytest.warns(
        ConvergenceWarning, match=r"took 3 steps without finding the ellipsoid to tol=1e-06: raise max"
    ):
        sel = sepnmf.preconditioned_spa(M, 4, tol=1e-6, max_iter=3)
    assert not sel.converged
    assert sel.status == "max_outer"
    assert sel.n_outer == 3
    assert len(set(sel.anchors)) == 4


def test_the_steps_are_counted_over_all_rounds():
    M = np.abs(np.random.default_rng(0).standard_normal((6, 3000)))
    sel = sepnmf.preconditioned_spa(M, 6, tol=1e-7)
    assert sel.converged
    assert sel.status == "converged"
    tight = sel.n_outer
    assert 10 < sepnmf.preconditioned_spa(M, 6, tol=1e-2).n_outer < tight
    with pytest.warns(ConvergenceWarning, match=f"took {tight - 1} steps"):
        assert sepnmf.preconditioned_spa(M, 6, tol=1e-7, max_iter=tight - 1).n_outer == tight - 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("preconditioner", "svd"), ("tol", 0), ("tol", np.nan), ("max_iter", 0), ("max_iter", 1.5)],
)
def test_bad_options_name_themselves(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        sepnmf.preconditioned_spa(np.eye(3), 2, **{name: value})
