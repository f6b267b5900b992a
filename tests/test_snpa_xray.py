"""SNPA and XRAY: against plain transcriptions with SciPy's solvers, and what all three greedy methods owe."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.selection import best_first

GREEDY = {
    "spa": sepnmf.spa,
    "snpa": sepnmf.snpa,
    "xray": sepnmf.xray,
    "xray dist": lambda M, r, **o: sepnmf.xray(M, r, rule="dist", **o),
    "xray rand": lambda M, r, **o: sepnmf.xray(M, r, rule="rand", random_state=0, **o),
    "xray greedy": lambda M, r, **o: sepnmf.xray(M, r, rule="greedy", **o),
}
# What finds extreme columns and no others, whatever the order of the columns.
EXTREME = ("spa", "snpa", "xray", "xray dist")
every_method = pytest.mark.parametrize("name", GREEDY)


def hull_residuals(W, M):
    """M − WH with H ≥ 0, column sums ≤ 1, by least squares with a heavy row for the sum (and a slack)."""
    weight = 1e5
    A = np.block([[W, np.zeros((len(W), 1))], [weight * np.ones((1, W.shape[1] + 1))]])
    H = np.stack([optimize.nnls(A, np.append(column, weight))[0][:-1] for column in M.T], axis=1)
    return M - W @ H


def cone_residuals(W, M):
    H = np.stack([optimize.nnls(W, column)[0] for column in M.T], axis=1)
    return M - W @ H


def plain_snpa(M, r):
    anchors, R = [], M
    for _ in range(r):
        norms = np.linalg.norm(R, axis=0)
        anchors.append(int(norms.argmax()))
        R = hull_residuals(M[:, anchors], M)
    return anchors


def plain_xray(M, r, rule):
    anchors, R = [], M
    for _ in range(r):
        if rule == "greedy":
            gain = np.linalg.norm(np.maximum(R.T @ M, 0), axis=0) / np.linalg.norm(M, axis=0)
        else:
            size = {
                "max": np.linalg.norm(R, axis=0),
                "dist": np.linalg.norm(np.maximum(R.T @ M, 0), axis=1),
            }[rule]
            gain = R[:, size.argmax()] @ M / M.sum(axis=0)
        gain[anchors] = -np.inf
        anchors.append(int(gain.argmax()))
        R = cone_residuals(M[:, anchors], M)
    return anchors


def data(seed, m=12, n=40):
    """Nonnegative columns of different lengths, and more extreme ones than rows."""
    return np.random.default_rng(seed).random((m, n))


@pytest.mark.parametrize("m", [3, 6, 12])
@pytest.mark.parametrize("seed", range(4))
def test_snpa_chooses_as_its_transcription_does(seed, m):
    M = data(seed, m)
    assert sepnmf.snpa(M, 10).anchors.tolist() == plain_snpa(M, 10)


def test_snpa_scores_are_distances_from_the_hull():
    M = data(20, 5, 12)
    sel = sepnmf.snpa(M, 4)
    W = M[:, sel.anchors[:3]]
    X = cp.Variable((3, 12), nonneg=True)
    cp.Problem(cp.Minimize(cp.sum_squares(M - W @ X)), [cp.sum(X, axis=0) <= 1]).solve(solver="CLARABEL")
    expected = np.linalg.norm(M - W @ X.value, axis=0)
    others = np.setdiff1d(np.arange(12), sel.anchors[:3])
    np.testing.assert_allclose(sel.scores[others], expected[others], atol=1e-5)


@pytest.mark.parametrize("rule", ["max", "dist", "greedy"])
@pytest.mark.parametrize("m", [3, 6, 12])
@pytest.mark.parametrize("seed", range(3))
def test_xray_chooses_as_its_transcription_does(seed, m, rule):
    M = data(seed, m) * np.random.default_rng(seed).uniform(0.1, 10, 40)
    r = 5 if m == 3 else 10  # in three dimensions six rays explain nearly everything
    assert sepnmf.xray(M, r, rule=rule).anchors.tolist() == plain_xray(M, r, rule)


@pytest.mark.parametrize("name", [*EXTREME, "xray rand"])
@pytest.mark.parametrize("make", [make_midpoint, make_dirichlet])
def test_finds_all_anchors_without_noise(name, make):
    for seed in range(50):
        M, anchors = make(noise=0.0, random_state=seed)
        assert set(GREEDY[name](M, 10).anchors) == set(anchors)


# Rates of the authors' MATLAB codes over 20 instances; ours over 50.
@pytest.mark.parametrize(
    ("name", "make", "noise", "reference"),
    [
        ("snpa", make_midpoint, 0.05, 1.0),
        ("snpa", make_midpoint, 0.1, 0.55),
        ("snpa", make_dirichlet, 0.4, 0.9),
        ("snpa", make_dirichlet, 0.45, 0.5),
        ("xray", make_midpoint, 0.05, 1.0),
        ("xray", make_midpoint, 0.1, 0.55),
        ("xray", make_dirichlet, 0.4, 0.9),
        ("xray", make_dirichlet, 0.45, 0.45),
    ],
)
def test_success_rate_is_the_published_codes(name, make, noise, reference):
    hits = 0
    for seed in range(50):
        M, anchors = make(noise=noise, random_state=seed)
        hits += set(GREEDY[name](M, 10, negative="allow").anchors) == set(anchors)
    assert hits / 50 >= reference - 0.15


def test_snpa_and_xray_choose_the_same_columns_of_normalised_data():
    same = 0
    for seed in range(10):
        for make in (make_midpoint, make_dirichlet):
            M, _ = make(noise=0.1, random_state=seed)
            options = {"r": 10, "negative": "allow"}
            same += set(sepnmf.snpa(M, **options).anchors) == set(sepnmf.xray(M, **options).anchors)
    assert same >= 18


@pytest.mark.parametrize("name", ["snpa", "xray", "xray dist", "xray rand"])
def test_more_anchors_than_the_rank(name):
    angles = np.linspace(0, 2 * np.pi, 9)[:-1]
    corners = np.vstack([np.ones(8), 0.5 + 0.4 * np.cos(angles), 0.5 + 0.4 * np.sin(angles)])
    inside = corners @ np.random.default_rng(1).dirichlet(np.ones(8), 30).T
    M = np.hstack([inside, corners])
    assert set(GREEDY[name](M, 8).anchors) == set(range(30, 38))
    with pytest.raises(ValueError, match=r"8 columns .* no more anchors, got r=9"):
        GREEDY[name](M, 9)


@pytest.mark.parametrize("gap", [1e-4, 1e-6])
def test_snpa_survives_cancellation(gap):
    rng = np.random.default_rng(2)
    W = rng.random((20, 1)) + gap * rng.random((20, 5))
    M = np.hstack([W @ rng.dirichlet(np.ones(5), 60).T, W])
    for name in ("snpa", "xray"):
        assert set(GREEDY[name](M, 5).anchors) == set(range(60, 65))


@pytest.mark.parametrize("name", ["xray", "xray dist", "xray rand"])
def test_xray_sees_rays_and_not_lengths(name):
    M, anchors = make_dirichlet(noise=0.0, random_state=3)
    lengths = 10.0 ** np.random.default_rng(3).uniform(-3, 3, 100)
    assert set(GREEDY[name](M * lengths, 10).anchors) == set(anchors)
    assert set(sepnmf.snpa(M * lengths, 10, normalize="l1").anchors) == set(anchors)


def test_xray_rand_depends_on_its_seed_alone():
    M = data(4)
    draws = {tuple(sepnmf.xray(M, 6, rule="rand", random_state=s).anchors) for s in range(8)}
    assert len(draws) > 1
    first, second = (sepnmf.xray(M, 6, rule="rand", random_state=5).anchors for _ in range(2))
    assert first.tolist() == second.tolist()


@every_method
@pytest.mark.parametrize("convert", [sparse.csc_array, sparse.csr_matrix, np.asfortranarray])
def test_sparse_and_fortran_are_as_dense(name, convert):
    M = data(5) * (data(6) < 0.5)
    M[:, 11] = 0
    before = M.copy()
    M.flags.writeable = False
    expected, sel = GREEDY[name](M, 8), GREEDY[name](convert(M), 8)
    assert sel.anchors.tolist() == expected.anchors.tolist()
    np.testing.assert_allclose(sel.scores, expected.scores, atol=1e-7)
    np.testing.assert_array_equal(M, before)


@pytest.mark.parametrize("name", ["snpa", "xray", "xray rand"])
def test_sparse_data_are_not_made_dense(name):
    M = sparse.random_array(
        (100_000, 20_000), density=1e-5, random_state=np.random.default_rng(7), format="csc"
    )
    assert len(GREEDY[name](M, 3).anchors) == 3


@every_method
def test_float32_chooses_as_float64(name):
    M = data(8).astype(np.float32)
    assert GREEDY[name](M, 8).anchors.tolist() == GREEDY[name](M.astype(np.float64), 8).anchors.tolist()


def cannot(method, M, r):
    """Whether the method says that it finds no r anchors, in the words it should."""
    try:
        method(M, r)
    except ValueError as error:
        return "ask for fewer" in str(error)
    return False


@every_method
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 10), st.integers(2, 4))
def test_small_integers_full_of_ties_give_distinct_anchors_or_an_error(name, seed, m, n, top):
    M = np.random.default_rng(seed).integers(0, top, (m, n))
    rank = np.linalg.matrix_rank(M)
    for r in range(1, n + 1):
        if r > rank and cannot(GREEDY[name], M, r):
            return
        sel = GREEDY[name](M, r)
        assert len(set(sel.anchors.tolist())) == r
        assert M[:, sel.anchors].any(axis=0).all()
        assert np.isfinite(sel.scores).all()
        assert best_first(sel.scores, r).tolist() == sel.anchors.tolist()


@pytest.mark.parametrize("name", EXTREME)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.permutations(range(15)), st.integers(-140, 140))
def test_permutation_and_scale_carry_over(name, seed, order, power):
    M = np.random.default_rng(seed).random((6, 15))
    expected = GREEDY[name](M, 5).anchors.tolist()
    assert np.array(order)[GREEDY[name](M[:, order], 5).anchors].tolist() == expected
    assert GREEDY[name](M * 2.0**power, 5).anchors.tolist() == expected


@every_method
def test_ties_go_to_the_smallest_index_and_duplicates_are_chosen_once(name):
    M = data(9, 10, 6)
    expected = GREEDY[name](M, 4).anchors.tolist()
    if name != "xray rand":
        assert GREEDY[name](np.hstack([M, M]), 4).anchors.tolist() == expected
    with pytest.raises(ValueError, match="ask for fewer"):
        GREEDY[name](np.hstack([M[:, :3], M[:, :3]]), 4)


@every_method
def test_one_column_all_columns_and_a_zero_matrix(name):
    sel = GREEDY[name]([[3.0], [4.0]], 1)
    assert (sel.anchors.tolist(), sel.scores.tolist()) == ([0], [5.0])
    assert sorted(GREEDY[name](data(10, 9, 7), 7).anchors) == list(range(7))
    with pytest.raises(ValueError, match="ask for fewer"):
        GREEDY[name](np.zeros((3, 4)), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda M: sepnmf.xray(M, 1, rule="best"), "rule must be one of 'max', 'dist', 'rand', 'greedy'"),
        (lambda M: sepnmf.xray(M, 1, random_state=-1), "random_state must be an integer"),
        (lambda M: sepnmf.snpa(M, 1, normalize="l2"), "normalize must be one of 'none', 'l1'"),
        (lambda M: sepnmf.snpa(-M, 1), "negative entries"),
        (lambda M: sepnmf.xray(-M, 1), "negative entries"),
        (lambda M: sepnmf.snpa(M, 6), "r must lie between 1 and the number of columns, 5, got 6"),
        (lambda M: sepnmf.xray(M, 0), "r must lie between 1"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.ones((4, 5)))


@every_method
def test_names_the_method_and_leaves_no_coefficients(name):
    sel = GREEDY[name](data(11), 3)
    assert sel.method == name.split()[0]
    assert sel.X is None
    assert sel.converged
    assert sepnmf.select(data(11), 3, method=sel.method).method == sel.method


@pytest.mark.parametrize("rule", ["max", "dist", "greedy", "rand"])
@pytest.mark.parametrize("short", [1e-20, 1e-60])
def test_a_very_short_column_is_the_ray_of_long_ones(rule, short):
    M = np.array([[short, 1.0, 0.5], [0.0, 0.0, 0.1]])
    assert set(sepnmf.xray(M, 2, rule=rule, random_state=0).anchors) in ({0, 2}, {1, 2})


@pytest.mark.parametrize("exponent", [-60, 0, 60])
def test_columns_too_short_for_squares_do_not_count_whatever_the_unit(exponent):
    M = np.ldexp([[8.7e-25, 1.6e-160, 7.9e17, 3.2e-111], [0.0, 0.0, 0.0, 0.0]], exponent)
    assert sepnmf.xray(M, 1, rule="dist").anchors.tolist() == [0]
    with pytest.raises(ValueError, match="cone of 1 columns has all of M"):
        sepnmf.xray(M, 2, rule="dist")
