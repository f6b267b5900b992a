"""Hottopixx: the expanded programme against the whole one, and what it does with awkward input."""

from importlib import import_module

import cvxpy as cp
import numpy as np
import pytest
from scipy import optimize, sparse
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning

import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.methods._linear_programme import Budget, WorkUsedUp, minimise
from sepnmf.model import project_omega

module = import_module("sepnmf.methods._hottopixx")


def whole_programme(M, p, noise):
    """The optimum of the programme with all its unknowns and constraints."""
    n = M.shape[1]
    w = np.abs(M).sum(axis=0)
    X, size = cp.Variable((n, n)), cp.Variable(M.shape)  # size bounds |M − MX|
    d = cp.diag(X)
    rules = [
        X >= 0,
        d <= 1,
        cp.multiply(w[:, None], X) <= cp.reshape(d, (n, 1), order="F") @ w[None, :],
        size >= M - M @ X,
        size >= M @ X - M,
        cp.sum(size, axis=0) <= noise * w,
    ]
    problem = cp.Problem(cp.Minimize(p @ d), rules)
    problem.solve(solver="HIGHS")
    return problem.value


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(
    ("make", "level", "sizes"),
    [
        (make_midpoint, 0.1, {"m": 8, "r": 5}),
        (make_dirichlet, 0.1, {"m": 8, "n": 20, "r": 3}),
        (make_dirichlet, 0.4, {"m": 6, "n": 18, "r": 3}),
    ],
    ids=["midpoints", "mixtures", "noisy mixtures"],
)
def test_expansion_ends_at_the_optimum_of_the_whole_programme(make, level, sizes, noise):
    M, _ = make(level, random_state=2, **sizes)
    M = M * np.linspace(1, 4, M.shape[1])
    p = 1 + 0.01 * (np.random.default_rng(5).random(M.shape[1]) - 0.5)
    sel = sepnmf.hottopixx(M, 1, noise=noise, negative="allow", random_state=5)
    w = np.abs(M).sum(axis=0)
    assert p @ np.diag(sel.X) == pytest.approx(whole_programme(M, p, noise), abs=1e-5)
    assert sel.history["objective"][-1] == pytest.approx(p @ np.diag(sel.X))
    np.testing.assert_allclose(project_omega(sel.X, w), sel.X, atol=1e-6)
    assert (np.abs(M - M @ sel.X).sum(axis=0) <= (noise + 1e-5) * w).all()


def test_rows_and_columns_join_until_nothing_is_missing(monkeypatch):
    monkeypatch.setattr("sepnmf.methods._linear_programme.MAX_ADDED", 3)
    M, _ = make_midpoint(0.1, random_state=0, r=6)
    sel = sepnmf.hottopixx(M, 6, noise=0.1, negative="allow", random_state=0)
    assert sel.n_outer == len(sel.history["seconds"]) > 2
    for name in ("rows", "columns"):
        sizes = sel.history[name]
        assert sizes[0] == 6
        assert sizes[0] < sizes[-1] <= M.shape[1]
        assert (np.diff(sizes) >= 0).all()
    assert sel.converged


def test_filling_in_a_column_leaves_the_diagonal():
    programme = module.Programme(
        np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]), np.ones(3), 0.01, Budget(1.0, 1e-6, (1.5, 0))
    )
    programme.add(columns=[0, 1], rows=[2])
    programme.X = np.diag([1.0, 1.0, 0.3])
    assert programme.violated_columns() == []
    np.testing.assert_allclose(programme.X[:, 2], [0.35, 0.35, 0.3])


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_midpoint, make_dirichlet])
@pytest.mark.parametrize("seed", range(3))
def test_finds_every_anchor_without_noise(make, seed):
    M, anchors = make(0.0, random_state=seed)
    sel = sepnmf.hottopixx(M, 10, random_state=0)
    assert set(sel.anchors) == set(anchors)
    np.testing.assert_allclose(np.sort(sel.scores)[-10:], 1, atol=1e-3)


def test_finds_anchors_where_spa_does_not():
    M, anchors = make_midpoint(0.1833, random_state=0)
    assert set(sepnmf.spa(M, 10, negative="allow").anchors) != set(anchors)
    sel = sepnmf.hottopixx(M, 10, noise=0.15, negative="allow", random_state=0)
    assert set(sel.anchors) == set(anchors)


# Input ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def easy():
    return make_dirichlet(0.01, m=10, n=15, r=4, random_state=0)


def solve(M, r, **options):
    return sepnmf.hottopixx(M, r, **{"noise": 0.05, "random_state": 0, **options})


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
    assert set(solve(data, 4).anchors) == set(anchors)
    np.testing.assert_array_equal(data, copy)


def test_integer_data():
    M = np.array([[4, 0, 2, 1], [0, 4, 2, 3]])
    assert set(solve(M, 2, noise=0.0).anchors) == {0, 1}


def test_permuting_columns_permutes_the_anchors(easy):
    M, anchors = easy
    order = np.random.default_rng(1).permutation(15)
    assert set(order[solve(M[:, order], 4).anchors]) == set(anchors)


def test_scaling_columns_leaves_the_diagonal(easy):
    M, _ = easy
    scaled = M * np.random.default_rng(0).uniform(0.1, 1e4, 15)
    np.testing.assert_allclose(solve(M, 4).scores, solve(scaled, 4).scores, atol=1e-6)


def test_same_seed_same_answer(easy):
    M, _ = easy
    np.testing.assert_array_equal(solve(M, 4).X, solve(M, 4).X)


def test_of_two_equal_columns_one_is_taken(easy):
    M, anchors = easy
    doubled = np.hstack([M, M[:, anchors]])
    origin = np.concatenate([np.arange(15), anchors])
    for pick in ("diag", "rows", "spa"):
        assert set(origin[solve(doubled, 4, pick=pick).anchors]) == set(anchors)


def test_scores_rank_the_anchors(easy):
    M, _ = easy
    for pick in ("diag", "rows"):
        sel = solve(M, 4, pick=pick)
        assert np.isfinite(sel.scores).all()
        np.testing.assert_array_equal(sel.anchors, np.argsort(-sel.scores, kind="stable")[:4])


@pytest.mark.parametrize(
    ("M", "r"), [(np.eye(4), 4), (np.array([[2.0]]), 1)], ids=["r equals n", "one column"]
)
def test_all_columns_may_be_anchors(M, r):
    assert set(solve(M, r, noise=0.0).anchors) == set(range(r))


@pytest.mark.parametrize(
    ("M", "needed"),
    [(np.ones((3, 4)), 1), (np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]), 2)],
    ids=["equal columns", "rank below r"],
)
def test_says_when_fewer_anchors_are_enough(M, needed):
    with pytest.raises(ValueError, match=f"needs {needed} rows of X at noise=0, got r=3"):
        solve(M, 3, noise=0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -0.1}, "noise must be finite and at least 0"),
        ({"pick": "best"}, "pick must be one of"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_refuses_bad_options(easy, options, message):
    M, _ = easy
    with pytest.raises(ValueError, match=message):
        solve(M, 4, **options)


def test_refuses_bad_data():
    with pytest.raises(ValueError, match=r"zero column\(s\), the first is column 1"):
        solve([[1.0, 0.0]], 1)
    with pytest.raises(ValueError, match="negative entries"):
        solve([[1.0, -1.0]], 1)
    with pytest.raises(ValueError, match="between 1 and the number of columns"):
        solve([[1.0, 1.0]], 3)


def test_negative_entries_are_clipped_on_request():
    M = np.array([[1.0, 0.0, 0.5], [-0.1, 1.0, 0.5]])
    np.testing.assert_array_equal(solve(M, 2, negative="clip").X, solve(np.maximum(M, 0), 2).X)


def test_a_failure_of_the_solver_is_an_error(easy, monkeypatch):
    def fail(*_, **__):
        return optimize.OptimizeResult(status=4, nit=0, message="numerical difficulties")

    monkeypatch.setattr("scipy.optimize.linprog", fail)
    with pytest.raises(RuntimeError, match="HiGHS did not solve the linear programme: numerical"):
        solve(easy[0], 4)


def test_a_programme_that_one_algorithm_does_not_solve_is_given_to_the_next(easy, monkeypatch):
    want = solve(easy[0], 4)
    linprog = optimize.linprog
    tried = []

    def fail_at_first(*args, method, options, **more):
        tried.append((method, options["presolve"]))
        if method == "highs":
            return optimize.OptimizeResult(status=4, nit=0, message="numerical difficulties")
        return linprog(*args, method=method, options=options, **more)

    monkeypatch.setattr("scipy.optimize.linprog", fail_at_first)
    found = solve(easy[0], 4)
    assert set(found.anchors) == set(want.anchors)
    assert tried[:3] == [("highs", True), ("highs", False), ("highs-ipm", True)]


def test_a_programme_that_an_algorithm_does_not_end_is_given_to_the_next(monkeypatch):
    tried = []

    def linprog(cost, method, options, **constraints):
        tried.append(options)
        ended = options["primal_feasibility_tolerance"] >= 1e-7
        return OptimizeResult(status=0 if ended else 1, nit=10, message="Iteration limit reached.")

    monkeypatch.setattr("scipy.optimize.linprog", linprog)
    equations = {"A_eq": sparse.csc_array(np.ones((9, 5000))), "b_eq": np.ones(9)}
    assert minimise(np.ones(5000), budget=Budget(1e9, 1e-6, (1.5, 0)), tol=1e-10, **equations).status == 0
    assert [one["primal_feasibility_tolerance"] for one in tried] == [1e-10, 1e-10, 1e-10, 1e-7]
    assert [one["maxiter"] for one in tried] == [5009, 5009, 5009, 20 * 5009]


@pytest.mark.parametrize("powers", [(1.5, 0), (2, 1)])
def test_programmes_share_their_work(monkeypatch, powers):
    allowed, take = [], [400, 300, 1]

    def linprog(cost, method, options, **constraints):
        allowed.append(options["maxiter"])
        return OptimizeResult(status=0, nit=take[len(allowed) - 1])

    monkeypatch.setattr("scipy.optimize.linprog", linprog)
    a, b = powers
    left = 0.01 * 600.5**a * 7**b
    budget = Budget(left, 0.01, powers)
    for k, (size, nit) in enumerate(zip([7, 5, 3], take, strict=True)):
        minimise(np.ones(size), budget=budget, A_eq=sparse.csc_array(np.ones((1, size))), b_eq=np.ones(1))
        # One iteration more than allowed would be too many.
        assert 0.01 * allowed[k] ** a * size**b <= left * (1 + 1e-9) or allowed[k] == 1000
        assert 0.01 * (allowed[k] + 1) ** a * size**b > left or allowed[k] == 1000
        left -= 0.01 * nit**a * size**b
    assert max(allowed[1:]) < 1000


def test_a_programme_whose_budget_is_used_up_is_not_given_to_the_next_algorithm(monkeypatch):
    tried = []

    def linprog(cost, method, options, **constraints):
        tried.append(method)
        return OptimizeResult(status=1, nit=options["maxiter"])

    monkeypatch.setattr("scipy.optimize.linprog", linprog)
    budget = Budget(50.0, 1.0, (1, 0))
    for _ in range(2):  # the second has no iteration left, and does not call HiGHS
        with pytest.raises(WorkUsedUp):
            minimise(np.ones(2), budget=budget)
    assert tried == ["highs"]


def test_a_limit_on_the_work_is_kept_and_said():
    M = np.random.default_rng(0).random((30, 60))
    whole = solve(M, 10, noise=0.0)
    with pytest.warns(ConvergenceWarning, match=r"hottopixx stopped after \d+ rounds before X was optimal"):
        part = solve(M, 10, noise=0.0, max_work=0.2)
    assert whole.status == "converged"
    assert (part.status, part.converged) == ("max_outer", False)
    assert 1 <= part.n_outer < whole.n_outer
    np.testing.assert_array_equal(part.history["objective"], whole.history["objective"][: part.n_outer])
    assert np.unique(part.anchors).size == 10
    with pytest.warns(ConvergenceWarning, match="hottopixx stopped after 0 rounds"):
        none = solve(M, 10, noise=0.0, max_work=1e-9)
    assert set(none.anchors) == set(sepnmf.spa(M, 10, normalize="l1").anchors)
    assert none.history["objective"].size == 0
