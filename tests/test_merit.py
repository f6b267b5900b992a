"""MERIT: Frank–Wolfe in whole numbers against the plain formulas, its gap, its rule for λ, its memory."""

import tracemalloc
from importlib import import_module

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import sepnmf
from sepnmf._kernels import merit as kernels
from sepnmf.datasets import make_dirichlet, make_midpoint

module = import_module("sepnmf.methods._merit")


def plain_merit(M, lam, smoothing, iterations):
    """The method with full matrices: C, and the objective and the gap before each step."""
    M = M / M.sum(axis=0)
    n = M.shape[1]
    C = np.zeros((n, n))
    objectives, gaps = [], []
    for t in range(1, iterations + 1):
        G = 2 * M.T @ (M @ C - M) + lam * softmax(C / smoothing, axis=1)
        S = np.eye(n)[:, G.argmin(axis=0)]
        penalty = smoothing * (logsumexp(C / smoothing, axis=1) - np.log(n))
        objectives.append(np.linalg.norm(M - M @ C) ** 2 + lam * penalty.sum())
        gaps.append(((C - S) * G).sum())
        C = C + (S - C) * 2 / (t + 1)
    return C, objectives, gaps


@pytest.mark.parametrize("smoothing", [1e-5, 1e-2])
@pytest.mark.parametrize("make", [make_midpoint, make_dirichlet])
def test_iterates_are_those_of_the_plain_method(make, smoothing):
    M, _ = make(0.3, random_state=1)
    C, objectives, gaps = plain_merit(M, 0.01, smoothing, 80)
    sel = sepnmf.merit(M, 10, lam=0.01, smoothing=smoothing, max_iter=80, negative="allow")
    np.testing.assert_allclose(sel.X.toarray(), C, atol=1e-12)
    np.testing.assert_allclose(sel.history["objective"], objectives, rtol=1e-9)
    np.testing.assert_allclose(sel.history["gap"], gaps, rtol=1e-8)
    assert (C > 0).sum(axis=0).max() > module.INITIAL_CAPACITY  # so the room for nonzeros has grown
    assert sel.n_outer == len(sel.history["seconds"]) == 80
    assert sel.status == "done"


@pytest.mark.parametrize("compiled", [True, False])
def test_kernels_follow_the_dense_formulas(compiled):
    add_vertices, row_sums, penalise = (
        k if compiled else k.py_func for k in (kernels.add_vertices, kernels.row_sums, kernels.penalise)
    )
    rng = np.random.default_rng(0)
    n, scale, lam = 7, 0.3, 0.8
    index, value = np.zeros((n, 9), np.int32), np.zeros((n, 9), np.intp)
    count, used, peak = (np.zeros(n, np.intp) for _ in range(3))
    coefficients = (index, value, count, peak, used)
    V = np.zeros((n, n))
    for t in range(1, 9):
        choice = rng.integers(0, 4, n)
        add_vertices(choice, t, coefficients)
        V[choice, np.arange(n)] += t
    np.testing.assert_array_equal(peak, V.max(axis=1))
    np.testing.assert_array_equal(used, (V > 0).sum(axis=1))
    total, inner = np.empty(n), np.full(n, np.nan)
    row_sums(coefficients, scale, total)
    E = np.exp(scale * (V - V.max(axis=1, keepdims=True)))
    np.testing.assert_allclose(total, E.sum(axis=1))
    E /= E.sum(axis=1, keepdims=True)
    H = np.tile(lam * np.exp(-scale * peak) / total, (n, 1))
    for rows in (slice(0, 3), slice(3, n)):
        penalise(H[rows], rows.start, coefficients, total, scale, lam, inner)
    np.testing.assert_allclose(H, lam * E.T)
    np.testing.assert_allclose(inner, (V * E).sum(axis=0))


def test_gap_bounds_the_distance_to_the_optimum():
    rng = np.random.default_rng(3)
    M = rng.random((4, 6))
    M /= M.sum(axis=0)
    lam, smoothing = 0.05, 0.1
    C = cp.Variable((6, 6), nonneg=True)
    rows = [smoothing * (cp.log_sum_exp(C[i] / smoothing) - np.log(6)) for i in range(6)]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(M - M @ C) + lam * sum(rows)), [cp.sum(C, axis=0) == 1])
    problem.solve(solver="CLARABEL")
    sel = sepnmf.merit(M, 2, lam=lam, smoothing=smoothing, tol=1e-3, max_iter=20000)
    above = sel.history["objective"][1:] - problem.value
    assert sel.converged
    assert sel.status == "converged"
    assert (above > -1e-7).all()
    assert (above <= sel.history["gap"][1:] + 1e-7).all()
    assert above[-1] < 2e-3 * problem.value


def test_warns_when_the_gap_stays_above_the_tolerance():
    M, _ = make_dirichlet(0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="merit stopped after 5 iterations"):
        sel = sepnmf.merit(M, 10, tol=1e-6, max_iter=5, negative="allow")
    assert not sel.converged
    assert sel.status == "max_outer"


def test_rule_is_the_residual_of_spa_on_the_simplex():
    M, _ = make_dirichlet(0.2, m=12, n=15, r=3, random_state=0)
    M = np.abs(M) * np.linspace(1, 3, 15)
    unit = M / M.sum(axis=0)
    W = unit[:, sepnmf.spa(unit, 3).anchors]
    C = cp.Variable((3, 15), nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.norm(unit - W @ C, "fro")), [cp.sum(C, axis=0) == 1])
    problem.solve(solver="CLARABEL")
    assert sepnmf.merit_lam(M, 3) == pytest.approx(problem.value / 3, rel=1e-4)


def test_default_lam_is_the_rule():
    M, _ = make_midpoint(0.3, random_state=0)
    by_rule, given = (
        sepnmf.merit(M, 10, lam=lam, max_iter=30, negative="allow")
        for lam in (None, sepnmf.merit_lam(M, 10, negative="allow"))
    )
    np.testing.assert_array_equal(by_rule.X.toarray(), given.X.toarray())


def test_projection_onto_the_simplex():
    rng = np.random.default_rng(0)
    Z = rng.normal(0, 2, (4, 50))
    P = module.project_simplex(Z)
    np.testing.assert_allclose(P.sum(axis=0), 1)
    assert P.min() == 0
    # ⟨Z − P, V − P⟩ ≤ 0 for every vertex V of the simplex
    inner = (Z - P) - ((Z - P) * P).sum(axis=0)
    assert inner.max() <= 1e-12


@pytest.mark.parametrize("make", [make_midpoint, make_dirichlet])
@pytest.mark.parametrize("pick", ["sum", "max"])
@pytest.mark.parametrize("seed", range(5))
def test_finds_every_anchor_without_noise(make, pick, seed):
    M, anchors = make(0.0, random_state=seed)
    assert set(sepnmf.merit(M, 10, pick=pick).anchors) == set(anchors)


def test_finds_anchors_where_spa_does_not():
    M, anchors = make_midpoint(0.3, random_state=0)
    assert set(sepnmf.spa(M, 10, negative="allow").anchors) != set(anchors)
    assert set(sepnmf.merit(M, 10, negative="allow").anchors) == set(anchors)


def test_row_sums_find_anchors_that_row_maxima_miss():
    M, anchors = make_dirichlet(0.05, random_state=0)
    assert set(sepnmf.merit(M, 10, negative="allow").anchors) != set(anchors)
    assert set(sepnmf.merit(M, 10, pick="sum", negative="allow").anchors) == set(anchors)


@pytest.mark.parametrize("pick", ["sum", "max"])
def test_scores_rank_the_anchors(pick):
    M, _ = make_dirichlet(0.2, random_state=0)
    sel = sepnmf.merit(M, 10, pick=pick, negative="allow")
    C = sel.X.toarray()
    np.testing.assert_allclose(sel.scores, C.sum(axis=1) if pick == "sum" else C.max(axis=1))
    np.testing.assert_array_equal(sel.anchors, np.argsort(-sel.scores, kind="stable")[:10])


def test_coefficients_are_sparse_with_columns_on_the_simplex():
    M, _ = make_dirichlet(0.2, random_state=0)
    C = sepnmf.merit(M, 10, max_iter=40, negative="allow").X
    assert sparse.issparse(C)
    assert C.has_sorted_indices
    assert C.min() == 0
    np.testing.assert_allclose(C.sum(axis=0), 1)


def test_no_array_of_order_n_squared_is_made():
    n = 3000
    M, _ = make_dirichlet(0.01, m=10, n=n, r=5, random_state=0)
    with threadpool_limits(1, user_api="blas"):
        sepnmf.merit(M[:, :50], 5, lam=0.01, max_iter=1, negative="allow")  # compiles
        tracemalloc.start()
        sepnmf.merit(M, 5, max_iter=20, negative="allow")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 8 * n * n / 6


def test_threads_share_the_work_without_changing_the_answer():
    M, _ = make_dirichlet(0.05, m=30, n=400, r=5, random_state=1)
    answers = [sepnmf.merit(M, 5, max_iter=30, n_jobs=k, negative="allow").X.toarray() for k in (1, 3)]
    np.testing.assert_array_equal(*answers)


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
    assert set(sepnmf.merit(data, 4).anchors) == set(anchors)
    np.testing.assert_array_equal(data, copy)


def test_integer_data():
    M = np.array([[4, 0, 2, 1], [0, 4, 2, 3]])
    assert set(sepnmf.merit(M, 2).anchors) == {0, 1}


def test_permuting_columns_permutes_the_anchors(easy):
    M, anchors = easy
    order = np.random.default_rng(1).permutation(30)
    assert set(order[sepnmf.merit(M[:, order], 4).anchors]) == set(anchors)


def test_scaling_columns_leaves_the_answer(easy):
    M, _ = easy
    scaled = M * np.random.default_rng(0).uniform(0.1, 1e4, 30)
    plain, other = sepnmf.merit(M, 4, lam=0.01), sepnmf.merit(scaled, 4, lam=0.01)
    np.testing.assert_allclose(plain.X.toarray(), other.X.toarray(), atol=1e-12)


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
@pytest.mark.parametrize("lam", [None, 0.0, 100.0])
def test_degenerate_data_still_give_distinct_anchors(M, r, lam):
    sel = sepnmf.merit(M, r, lam=lam)
    assert len(set(sel.anchors)) == r
    assert np.isfinite(sel.scores).all()
    assert sel.n_outer >= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lam": -1}, "lam must be finite and at least 0"),
        ({"smoothing": 0}, "smoothing must be finite and at least"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1}, "tol must be"),
        ({"pick": "diag"}, "pick must be one of"),
    ],
)
def test_refuses_bad_options(easy, options, message):
    M, _ = easy
    with pytest.raises(ValueError, match=message):
        sepnmf.merit(M, 4, **options)


def test_refuses_bad_data():
    with pytest.raises(ValueError, match=r"zero column\(s\), the first is column 1"):
        sepnmf.merit([[1.0, 0.0]], 1)
    with pytest.raises(ValueError, match="negative entries"):
        sepnmf.merit([[1.0, -1.0]], 1)
    with pytest.raises(ValueError, match="column 1 of M sums to -1"):
        sepnmf.merit([[1.0, -1.0]], 1, negative="allow")
    with pytest.raises(ValueError, match="between 1 and the number of columns"):
        sepnmf.merit_lam([[1.0, 1.0]], 3)


def test_negative_entries_are_clipped_on_request():
    M = np.array([[1.0, 0.0, 0.5], [-0.1, 1.0, 0.5]])
    clipped, positive = sepnmf.merit(M, 2, negative="clip"), sepnmf.merit(np.maximum(M, 0), 2)
    np.testing.assert_array_equal(clipped.X.toarray(), positive.X.toarray())
