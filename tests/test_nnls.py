"""nnls: against SciPy and a convex solver, and by its optimality conditions where it is not unique."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from scipy.linalg import hilbert
from sklearn.exceptions import ConvergenceWarning

from sepnmf._kernels import activeset, descent, pivoting
from sepnmf.least_squares import _solvers, hull_weights, nnls


def scipy_nnls(W, M):
    return np.stack([optimize.nnls(W, column)[0] for column in M.T], axis=1)


def violation(W, M, H, sum_to_one=False):
    """How far H is from optimal: the worst of its conditions, relative to the numbers that enter them."""
    W, M, H = (np.asarray(A, dtype=np.float64) for A in (W, M, H))
    lengths = np.linalg.norm(W, axis=0)
    slopes = W.T @ (M - W @ H)
    if sum_to_one:
        slopes -= (H * slopes).sum(axis=0)
        lengths[:] = lengths.max()  # the constraint ties the slopes together
    scale = np.outer(lengths, np.linalg.norm(M, axis=0) + lengths @ H)
    scale[scale == 0] = 1.0
    slopes /= scale
    parts = [-H.min() / max(H.max(), 1e-300), slopes.max(), np.abs(slopes * (H > 0)).max()]
    if sum_to_one:
        parts.append(np.abs(H.sum(axis=0) - 1).max())
    return max(parts)


def problems(rng, m, r, n):
    W = rng.random((m, r))
    yield W, rng.random((m, n))
    yield W, W @ rng.dirichlet(np.ones(r), n).T + 0.05 * rng.standard_normal((m, n))
    yield W, W @ rng.standard_normal((r, n)) + 0.1 * rng.standard_normal((m, n))
    yield rng.standard_normal((m, r)), rng.standard_normal((m, n))


def test_agrees_with_scipy_on_ten_thousand_columns():
    W, M = next(problems(np.random.default_rng(0), 30, 10, 10_000))
    expected = scipy_nnls(W, M)
    np.testing.assert_allclose(nnls(W, M), expected, rtol=0, atol=1e-10 * expected.max())


@pytest.mark.parametrize("shape", [(12, 1), (15, 4), (60, 20), (90, 30)])
def test_agrees_with_scipy_for_every_kind_of_data(shape):
    for W, M in problems(np.random.default_rng(1), *shape, 150):
        expected = scipy_nnls(W, M)
        H = nnls(W, M)
        np.testing.assert_allclose(H, expected, rtol=0, atol=1e-10 * expected.max())


@pytest.mark.parametrize(
    "limits",
    [
        {"WELL_CONDITIONED": 0.0},  # pivoting only guesses
        {"INVERTIBLE": 0.0},  # active set from nothing
        {"ROUNDS": 1},  # pivoting leaves most columns over
        {"BITS": 3},  # sets do not fit an integer
    ],
)
def test_every_route_gives_the_same_answer(limits, monkeypatch):
    data = list(problems(np.random.default_rng(2), 25, 8, 200))
    expected = [nnls(W, M) for W, M in data]
    for name, value in limits.items():
        monkeypatch.setattr(_solvers, name, value)
    for (W, M), H in zip(data, expected, strict=True):
        np.testing.assert_allclose(nnls(W, M), H, rtol=0, atol=1e-11 * H.max())


def test_pivoting_finishes_nearly_all_well_conditioned_columns(monkeypatch):
    left_over = []
    plain = _solvers.run_active_set
    monkeypatch.setattr(_solvers, "run_active_set", lambda *a: (left_over.append(len(a[1])), plain(*a))[1])
    for W, M in problems(np.random.default_rng(3), 40, 10, 1000):
        nnls(W, M)
    assert sum(left_over) <= 10


def nasty(name, rng):
    """Columns that are dependent, repeated, zero, badly scaled or more than there are rows."""
    base = rng.random((12, 5))
    return {
        "duplicates": base[:, [0, 1, 1, 2, 0, 3, 4, 4]],
        "zero columns": np.hstack([np.zeros((12, 2)), base, np.zeros((12, 1))]),
        "all zero": np.zeros((12, 3)),
        "combinations": np.hstack([base, base @ rng.random((5, 6))]),
        "near duplicates": np.hstack([base, base + 1e-9 * rng.random(base.shape)]),
        "nearer duplicates": np.hstack([base, base + 1e-13 * rng.random(base.shape)]),
        "Hilbert": hilbert(12)[:, :9],
        "scaled": base * 10.0 ** np.array([-5, -2, 0, 2, 5]),
        "wide": rng.random((12, 30)),
        "signed and wide": rng.standard_normal((12, 30)),
        "rank one": np.outer(rng.random(12), rng.random(6)),
        "condition 1e5": base + 1e5 * base.mean(axis=1, keepdims=True),
        "one column": base[:, :1],
    }[name]


NASTY = (
    "duplicates",
    "zero columns",
    "all zero",
    "combinations",
    "near duplicates",
    "nearer duplicates",
    "Hilbert",
    "scaled",
    "wide",
    "signed and wide",
    "rank one",
    "condition 1e5",
    "one column",
)


@pytest.mark.parametrize("sum_to_one", [False, True])
@pytest.mark.parametrize("name", NASTY)
def test_answer_is_optimal_for_nasty_columns(name, sum_to_one):
    rng = np.random.default_rng(4)
    W = nasty(name, rng)
    inside = W @ rng.dirichlet(np.ones(W.shape[1]), 40).T
    M = np.hstack([rng.standard_normal((12, 40)), rng.random((12, 40)), inside, np.zeros((12, 1))])
    H = nnls(W, M, sum_to_one=sum_to_one)
    assert violation(W, M, H, sum_to_one) < 1e-12
    fit = np.linalg.norm(inside - W @ H[:, 80:120], axis=0)
    assert fit.max() <= 1e-10 * np.abs(W).max()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_answer_is_optimal_for_small_integers(seed, m, r, top, sum_to_one):
    rng = np.random.default_rng(seed)
    W, M = rng.integers(-1, top, (m, r)), rng.integers(-top, top + 1, (m, 30))
    assert violation(W, M, nnls(W, M, sum_to_one=sum_to_one), sum_to_one) < 1e-12


@pytest.mark.parametrize("r", [2, 6, 14])
def test_sum_to_one_agrees_with_a_convex_solver(r):
    rng = np.random.default_rng(5)
    W, M = rng.random((10, r)), rng.random((10, 25)) + rng.standard_normal((10, 25)) / 3
    H = nnls(W, M, sum_to_one=True)
    X = cp.Variable((r, 25), nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(W @ X - M)), [cp.sum(X, axis=0) == 1])
    best = problem.solve(solver="CLARABEL")
    assert np.linalg.norm(M - W @ H) ** 2 <= best * (1 + 1e-9)
    np.testing.assert_allclose(W @ H, W @ X.value, atol=2e-4)
    assert H.min() >= 0
    np.testing.assert_allclose(H.sum(axis=0), 1.0, rtol=1e-13)


def test_sum_to_one_finds_the_nearest_point_of_a_square():
    W = np.array([[0.0, 1, 0, 1], [0, 0, 1, 1]])
    M = np.array([[0.5, 2.0, -1, 0.25], [0.5, 0.5, -1, 3]])
    np.testing.assert_allclose(
        W @ nnls(W, M, sum_to_one=True), [[0.5, 1, 0, 0.25], [0.5, 0.5, 0, 1]], atol=1e-14
    )


def test_sum_to_one_starts_from_the_weights_it_is_given():
    rng = np.random.default_rng(6)
    atoms, C = rng.random((6, 4)), rng.random((50, 4))
    expected = hull_weights(atoms, C)
    start = rng.dirichlet(np.ones(6), 50)
    moved = hull_weights(atoms, C, start)
    np.testing.assert_allclose(moved @ atoms, expected @ atoms, atol=1e-12)
    again = hull_weights(atoms, C, expected.copy())
    np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize("r", [3, 10])
def test_hals_comes_as_near_as_its_tolerance(r):
    for W, M in problems(np.random.default_rng(7), 40, r, 100):
        exact = nnls(W, M)
        H = nnls(W, M, "hals", tol=1e-12, max_iter=100_000)
        np.testing.assert_allclose(H, exact, atol=1e-8 * exact.max())
        rough = nnls(W, M, "hals", tol=1e-2)
        assert np.linalg.norm(rough - exact) > 1e-6 * np.linalg.norm(exact)
        assert np.linalg.norm(M - W @ rough) <= np.linalg.norm(M - W @ exact) * 1.01


def test_hals_never_uses_a_zero_column_and_says_when_it_has_not_settled():
    rng = np.random.default_rng(8)
    W = np.hstack([rng.random((9, 3)), np.zeros((9, 1))])
    M = rng.random((9, 20))
    H = nnls(W, M, "hals", tol=1e-12, max_iter=10_000)
    assert not H[3].any()
    with pytest.warns(ConvergenceWarning, match="20 column.*after 2 sweeps"):
        nnls(W, M, "hals", tol=1e-12, max_iter=2)


@pytest.mark.parametrize("convert", [sparse.csc_array, sparse.csr_matrix, sparse.coo_array])
@pytest.mark.parametrize("options", [{}, {"sum_to_one": True}, {"method": "hals"}])
def test_sparse_is_as_dense(convert, options):
    rng = np.random.default_rng(9)
    M = rng.random((15, 40)) * (rng.random((15, 40)) < 0.3)
    W = rng.random((15, 4))
    expected = nnls(W, M, **options)
    np.testing.assert_allclose(nnls(W, convert(M), **options), expected, atol=1e-12)
    np.testing.assert_allclose(nnls(convert(W), convert(M), **options), expected, atol=1e-12)


def test_sparse_data_are_not_made_dense():
    m, n = 100_000, 50_000  # 40 GB if dense
    M = sparse.random_array((m, n), density=2e-6, random_state=np.random.default_rng(10), format="csc")
    W = M[:, [0, 1]].toarray() + 1.0
    assert nnls(W, M).shape == (2, n)


@pytest.mark.parametrize("options", [{}, {"sum_to_one": True}, {"method": "hals"}])
def test_float32_stays_and_is_accurate_to_its_precision(options):
    W, M = next(problems(np.random.default_rng(11), 20, 5, 50))
    H = nnls(W.astype(np.float32), M.astype(np.float32), **options)
    assert H.dtype == np.float32
    np.testing.assert_allclose(H, nnls(W, M, **options), atol=2e-5)


def test_input_is_left_alone_and_may_be_of_any_layout_and_type():
    rng = np.random.default_rng(12)
    W, M = rng.integers(0, 9, (10, 4)), rng.integers(0, 9, (10, 30))
    for A in (W, M):
        A.flags.writeable = False
    expected = nnls(W, M)
    assert expected.dtype == np.float64
    assert expected.flags.c_contiguous
    wide = np.zeros((20, 60))
    wide[::2, ::2] = M
    for other in (np.asfortranarray(M), M.tolist(), wide[::2, ::2]):
        np.testing.assert_allclose(nnls(W, other), expected, atol=1e-12)


@pytest.mark.parametrize("power", [-300, -160, 160, 300])
def test_scale_does_not_matter(power):
    W, M = next(problems(np.random.default_rng(13), 20, 5, 30))
    H = nnls(W, M)
    np.testing.assert_allclose(nnls(W * 10.0**power, M * 10.0**power), H, rtol=1e-9, atol=1e-12)
    S = nnls(W, M, sum_to_one=True)
    np.testing.assert_allclose(
        nnls(W * 10.0**power, M * 10.0**power, sum_to_one=True), S, rtol=1e-9, atol=1e-12
    )


def test_kernels_do_the_same_uncompiled(monkeypatch):
    W, M = next(problems(np.random.default_rng(14), 9, 4, 12))
    D = nasty("duplicates", np.random.default_rng(14))
    N = np.random.default_rng(15).standard_normal((12, 10))
    calls = [
        lambda: nnls(W, M),
        lambda: nnls(W, M, sum_to_one=True),
        lambda: nnls(W, M, "hals"),
        lambda: nnls(D, N),
        lambda: nnls(D, N, sum_to_one=True),
    ]
    compiled = [call() for call in calls]
    for module in (activeset, pivoting, descent):
        for name, function in vars(module).items():
            if hasattr(function, "py_func"):
                monkeypatch.setattr(module, name, function.py_func)
    for call, expected in zip(calls, compiled, strict=True):
        np.testing.assert_allclose(call(), expected, atol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "fast"}, "method must be one of"),
        ({"sum_to_one": 1}, "sum_to_one must be True or False, got 1"),
        ({"method": "hals", "sum_to_one": True}, 'sum_to_one needs method="exact"'),
        ({"tol": 0}, "tol must be finite and greater than 0"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"W": np.ones((3, 2))}, "same number of rows, got 3 and 4"),
        ({"W": np.ones(4)}, "W must have 2 dimension"),
        ({"M": np.full((4, 5), np.nan)}, "M has 20 NaN"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        nnls(**{"W": np.ones((4, 2)), "M": np.ones((4, 5))} | arguments)


@pytest.mark.parametrize("name", ["duplicates", "combinations", "nearer duplicates", "rank one"])
def test_a_start_on_dependent_columns_does_no_harm(name):
    rng = np.random.default_rng(16)
    atoms = np.ascontiguousarray(nasty(name, rng).T)
    C = rng.random((40, 12))
    H = hull_weights(atoms, C, rng.dirichlet(np.ones(len(atoms)), 40))
    assert violation(atoms.T, C.T, H.T, sum_to_one=True) < 1e-12
    H = rng.random((40, len(atoms)))
    _solvers.run_active_set(atoms, C, H, False)
    assert violation(atoms.T, C.T, H.T) < 1e-12


@pytest.mark.parametrize("name", ["Hilbert", "condition 1e5", "near duplicates"])
def test_columns_added_one_by_one_end_where_all_at_once_do(name):
    rng = np.random.default_rng(17)
    atoms = np.ascontiguousarray(nasty(name, rng).T)
    C = rng.dirichlet(np.ones(len(atoms)), 60) @ atoms
    H = np.ones((60, 1))
    for k in range(2, len(atoms) + 1):
        H = hull_weights(atoms[:k], C, np.column_stack([H, np.zeros(60)]))
    assert np.linalg.norm(C - H @ atoms, axis=1).max() <= 1e-11 * np.abs(atoms).max()


def test_a_weight_that_vanishes_beside_another_does_not_become_negative():
    """Met in XRAY: an atom's new weight was −3e-17 and its old one so large that the step did not see it."""
    W = np.array(
        [
            [510.92930874259133, 0, 0, 0, 0],
            [0, 648.7706116066611, 0, 0, 0],
            [0, 0, 395.0688630174728, 0, 0],
            [0, 0, 0, 474.22195568179325, 0],
            [0, 0, 0, 101.83722764701061, 214.0902759502699],
            [191.29690400617903, 0, 0, 422.77993663809235, -201.105521775324],
            [341.9366529023169, 696.2905853179051, 0, 141.9165443038346, -67.5060432567416],
        ]
    ).T
    m = np.array([516.9527064778878, 932.7057913969574, 0.01890990342090504, 0, 0])
    h = nnls(W, m[:, None])[:, 0]
    assert h.min() >= 0
    assert np.linalg.norm(m - W @ h) <= optimize.nnls(W, m)[1] + 1e-9
