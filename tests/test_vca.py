"""VCA against its published steps, and what every geometric method owes: see GEOMETRIC."""

import tracemalloc
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.matrix import Dense, Sparse
from sepnmf.methods import _subspace as subspace
from sepnmf.selection import best_first

module = import_module("sepnmf.methods._vca")

SEEDS = range(20)

# Every geometric method with options under which it is deterministic.
GEOMETRIC = [
    ("vca", {"random_state": 0}),
    ("vca", {"random_state": 0, "snr": 0}),
    ("ppi", {"random_state": 0}),
    ("nfindr", {}),
    ("nfindr", {"init": "random", "random_state": 0}),
    ("preconditioned_spa", {}),
    ("preconditioned_spa", {"preconditioner": "spa"}),
    ("preconditioned_spa", {"preconditioner": "whitening"}),
    ("smoothed_spa", {}),
    ("smoothed_spa", {"n_average": 3, "average": "median"}),
    ("smoothed_vca", {"random_state": 0}),
    ("smoothed_vca", {"n_average": 3, "random_state": 0}),
]
EVERY = pytest.mark.parametrize(("method", "options"), GEOMETRIC)


def find(M, r, method, options):
    return sepnmf.select(M, r, method, negative="allow", **options)


def separable(seed, m=12, n=40, r=4, noise=0.0):
    return make_dirichlet(noise, m=m, n=n, r=r, random_state=seed)


def exact_options(options):
    """Averages of mixtures are not anchors: one column per average where the anchors occur once."""
    return {key: value for key, value in options.items() if key != "n_average"}


# What every geometric method owes


@EVERY
@pytest.mark.parametrize("noise", [0, 0.3])
def test_anchors_are_the_largest_scores_in_order(method, options, noise):
    M, _ = separable(1, noise=noise)
    sel = find(M, 4, method, options)
    assert sel.method == method
    assert sel.anchors.dtype == np.intp
    assert sel.scores.shape == (40,)
    assert np.isfinite(sel.scores).all()
    assert_array_equal(sel.anchors, best_first(sel.scores, 4))


@EVERY
def test_noise_free_anchors_are_found(method, options):
    for seed in range(5):
        M, anchors = separable(seed)
        assert_array_equal(np.sort(find(M, 4, method, exact_options(options)).anchors), anchors)


@EVERY
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), order=st.integers(0, 1000))
def test_permuted_columns_permute_the_anchors(method, options, seed, order):
    if options.get("init") == "random":
        options = {}  # a random start draws positions, not columns
    M, _ = separable(seed, noise=0.1)
    perm = np.random.default_rng(order).permutation(40)
    before = find(M, 4, method, options)
    after = find(M[:, perm], 4, method, options)
    assert_array_equal(np.sort(perm[after.anchors]), np.sort(before.anchors))


@EVERY
@pytest.mark.parametrize("scale", [2.0**-600, 1e-3, 7.0, 2.0**600])
def test_scaling_keeps_the_anchors(method, options, scale):
    M, _ = separable(3, noise=0.1)
    assert_array_equal(find(M * scale, 4, method, options).anchors, find(M, 4, method, options).anchors)


@EVERY
def test_layout_and_type_do_not_matter_and_the_input_stays(method, options):
    M, _ = separable(4, noise=0.01)
    want = find(M, 4, method, options).anchors
    wide = np.zeros((24, 80))
    wide[::2, ::2] = M
    frozen = M.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(M), wide[::2, ::2], frozen, M.tolist()):
        assert_array_equal(find(same, 4, method, options).anchors, want)
    assert_array_equal(frozen, M)
    single = find(M.astype(np.float32), 4, method, options)
    assert_array_equal(np.sort(single.anchors), np.sort(want))
    whole = np.round(M * 1e6).astype(int)
    assert_array_equal(find(whole, 4, method, options).anchors, find(whole * 1.0, 4, method, options).anchors)


@EVERY
def test_zero_columns_are_never_picked(method, options):
    M, _ = separable(5, noise=0.05)
    padded = np.insert(M, [0, 7, 40], 0.0, axis=1)
    where = np.flatnonzero(padded.any(axis=0))
    sel = find(padded, 4, method, options)
    assert_array_equal(sel.scores[[0, 8, 42]], 0)
    assert_array_equal(sel.anchors, where[find(M, 4, method, options).anchors])


@EVERY
def test_copies_are_not_picked_twice(method, options):
    M, anchors = separable(6)
    sel = find(np.hstack([M, M, M]), 4, method, options)
    assert_array_equal(np.sort(sel.anchors % 40), anchors)


@EVERY
def test_as_many_anchors_as_columns(method, options):
    M = np.random.default_rng(0).random((6, 5))
    sel = find(M, 5, method, exact_options(options))
    assert_array_equal(np.sort(sel.anchors), np.arange(5))


@EVERY
def test_a_single_column_or_anchor(method, options):
    options = exact_options(options)
    assert_array_equal(find([[2.0], [1.0]], 1, method, options).anchors, [0])
    M = np.array([[1.0, 5.0, 2.0], [1.0, 4.0, 3.0]])
    assert_array_equal(find(M, 1, method, options).anchors, [1])


@EVERY
def test_ties_give_distinct_anchors(method, options):
    sel = find(np.eye(6), 6, method, exact_options(options))
    assert_array_equal(np.sort(sel.anchors), np.arange(6))


@EVERY
def test_too_small_a_rank_is_an_error_that_says_why(method, options):
    rng = np.random.default_rng(0)
    M = rng.random((12, 3)) @ rng.dirichlet(np.ones(3), size=40).T
    M /= M.sum(axis=0)
    with pytest.raises(ValueError, match=r"ask for fewer"):
        find(M, 5, method, {**options, "n_skewers": 2} if method == "ppi" else options)


@EVERY
def test_fewer_nonzero_columns_than_anchors_is_an_error(method, options):
    M = np.zeros((5, 6))
    M[:, 2] = 1.0
    with pytest.raises(ValueError, match=r"1 nonzero column\(s\), fewer than the r=2"):
        find(M, 2, method, exact_options(options))


@EVERY
def test_equal_columns_are_an_error_not_nonsense(method, options):
    if method == "ppi":
        options = {**options, "n_skewers": 50}
    with pytest.raises(ValueError, match="ask for fewer"):
        find(np.ones((5, 9)), 3, method, options)


@EVERY
def test_negative_entries_are_refused_clipped_or_kept(method, options):
    M, _ = separable(7)
    M[0, 0] = -1e-3
    with pytest.raises(ValueError, match="1 negative entries"):
        sepnmf.select(M, 4, method, **options)
    clipped = sepnmf.select(M, 4, method, negative="clip", **options)
    assert_array_equal(clipped.anchors, find(np.maximum(M, 0), 4, method, options).anchors)


@EVERY
def test_columns_on_both_sides_of_the_origin_are_handled(method, options):
    M = np.random.default_rng(8).standard_normal((6, 30))
    sel = find(M, 3, method, options)
    assert len(set(sel.anchors)) == 3
    assert np.isfinite(sel.scores).all()


@EVERY
def test_sparse_data_give_the_dense_answer_or_are_refused(method, options):
    rng = np.random.default_rng(9)
    M = np.where(rng.random((30, 50)) < 0.3, rng.random((30, 50)), 0)
    if method == "smoothed_spa":
        with pytest.raises(ValueError, match=r"M is sparse, and this needs a dense array: pass M.toarray"):
            find(sparse.csr_array(M), 4, method, options)
        return
    want = find(M, 4, method, options)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        sel = find(form(M), 4, method, options)
        assert_array_equal(sel.anchors, want.anchors)
        assert_allclose(sel.scores, want.scores, rtol=1e-6, atol=1e-8)
    square = M[:5, :5] + np.eye(5)
    assert_array_equal(
        find(sparse.csc_array(square), 5, method, exact_options(options)).anchors,
        find(square, 5, method, exact_options(options)).anchors,
    )


@EVERY
def test_bad_arguments_name_themselves(method, options):
    M, _ = separable(10)
    for r in (0, 41, 2.0, True):
        with pytest.raises(ValueError, match=r"^r must"):
            find(M, r, method, options)
    with pytest.raises(ValueError, match="NaN"):
        find(np.full((3, 3), np.nan), 2, method, options)
    with pytest.raises(ValueError, match="negative must be one of"):
        sepnmf.select(M, 4, method, **{**options, "negative": "maybe"})


# VCA itself


def vca_by_the_paper(M, r, snr, rng):
    """The steps of the paper's pseudo-code, with explicit projectors."""
    mean = M.mean(axis=1, keepdims=True)

    def leading(A, d):
        U = np.linalg.svd(A)[0][:, :d]
        return U * np.sign(U[np.abs(U).argmax(axis=0), np.arange(d)])

    if snr is None:
        m, n = M.shape
        power = (M**2).sum() / n
        signal = ((leading(M - mean, r).T @ (M - mean)) ** 2).sum() / n + (mean**2).sum()
        snr = 10 * np.log10((signal - r / m * power) / (power - signal))
    if snr < 15 + 10 * np.log10(r):
        X = leading(M - mean, r - 1).T @ (M - mean)
        c = np.sqrt((X**2).sum(axis=0).max())
        Y = np.vstack([X, c * np.ones(M.shape[1])])
    else:
        X = leading(M, r).T @ M
        u = X.mean(axis=1)
        Y = X / (u @ X)
    A = np.zeros((r, r))
    A[-1, 0] = 1
    chosen = []
    for i in range(r):
        w = rng.standard_normal(r)
        f = w - A @ np.linalg.pinv(A) @ w
        f /= np.linalg.norm(f)
        chosen.append(int(np.argmax(np.abs(f @ Y))))
        A[:, i] = Y[:, chosen[-1]]
    return snr, chosen


@pytest.mark.parametrize("noise", [0.001, 0.02, 0.1, 0.3])
@pytest.mark.parametrize("snr", [None, -100.0, 100.0])
def test_vca_takes_the_published_steps(noise, snr):
    for seed in range(5):
        M, _ = make_dirichlet(noise, r=6, random_state=seed)
        M = M * np.random.default_rng(seed).uniform(0.8, 1.2, size=100)  # so that the two views differ
        _, want = vca_by_the_paper(M, 6, snr, np.random.default_rng(seed))
        sel = sepnmf.vca(M, 6, snr=snr, negative="allow", random_state=seed)
        assert_array_equal(sel.anchors, want)


def test_the_two_views_differ_and_the_threshold_separates_them():
    M, _ = make_dirichlet(0.1, r=6, random_state=0)
    bound = 15 + 10 * np.log10(6)
    below, at = (module.simplex_view(Dense(M), 6, snr) for snr in (bound - 1e-9, bound))
    assert_allclose(below[-1], below[-1, 0])
    assert_allclose(below[:-1].sum(axis=1), 0, atol=1e-12)
    assert np.ptp(at[-1]) > 0.1
    mean = M.mean(axis=1)
    assert_allclose((M.T @ mean) * np.linalg.norm(at, axis=0) / np.linalg.norm(M, axis=0), 1, rtol=0.1)


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.5])
def test_the_snr_is_estimated_as_published(noise):
    M, _ = make_dirichlet(noise, r=6, random_state=2)
    want, _ = vca_by_the_paper(M, 6, None, np.random.default_rng(0))
    assert_allclose(module.estimate_snr(Dense(M), 6), want, rtol=1e-9)
    assert_allclose(module.estimate_snr(Sparse(sparse.csc_array(M)), 6), want, rtol=1e-6)


def test_the_snr_is_infinite_without_noise_and_vanishes_without_signal():
    M, _ = make_dirichlet(0, random_state=0)
    assert module.estimate_snr(Dense(M), 10) == np.inf
    # White data: the r leading directions hold no more than their share r/m of the power.
    assert module.estimate_snr(Dense(np.kron([1.0, -1.0], np.eye(8))), 3) < -100


def test_vca_is_a_function_of_the_seed():
    M, _ = make_dirichlet(0.4, random_state=0)
    runs = [sepnmf.vca(M, 10, negative="allow", random_state=s) for s in (1, 1, 2)]
    assert_array_equal(runs[0].scores, runs[1].scores)
    assert not np.array_equal(runs[0].anchors, runs[2].anchors)
    again = sepnmf.vca(M, 10, negative="allow", random_state=np.random.default_rng(1))
    assert_array_equal(again.anchors, runs[0].anchors)


def test_columns_behind_the_projective_plane_are_seen_in_the_affine_view():
    M = np.random.default_rng(8).standard_normal((6, 30))
    assert_array_equal(
        module.simplex_view(Dense(M), 3, 100.0), subspace.affine_view(Dense(M), 3, method="VCA")
    )
    M = np.abs(M)
    assert np.ptp(module.simplex_view(Dense(M), 3, 100.0)[-1]) > 0


def test_vca_refuses_an_snr_that_is_no_number():
    for snr in (np.nan, np.inf, "high"):
        with pytest.raises(ValueError, match=r"^snr must"):
            sepnmf.vca(np.eye(3), 2, snr=snr)


def test_a_sparse_singular_subspace_is_the_dense_one():
    rng = np.random.default_rng(0)
    M = np.where(rng.random((40, 60)) < 0.2, rng.random((40, 60)), 0)
    for centre in (None, M.mean(axis=1)):
        U, sigma = Dense(M).leading_left(7, centre)
        V, tau = Sparse(sparse.csc_array(M)).leading_left(7, centre)
        A = M if centre is None else M - centre[:, None]
        assert_allclose(sigma, np.linalg.svd(A, compute_uv=False)[:7])
        assert_allclose(tau, sigma)
        assert_allclose(V, U, atol=1e-10)
        assert_allclose(np.linalg.norm(U.T @ A, axis=1), sigma)


def test_the_singular_subspace_of_many_columns_is_found_in_blocks_without_a_copy_of_all(monkeypatch):
    M = np.random.default_rng(0).random((6, 20_000))
    whole = {centred: Dense(M).leading_left(4, M.mean(axis=1) if centred else None) for centred in (0, 1)}
    monkeypatch.setattr("sepnmf.matrix._dense.FACTORED", 6 * 700)
    for centred, (U, sigma) in whole.items():
        centre = M.mean(axis=1) if centred else None
        tracemalloc.start()
        V, tau = Dense(M).leading_left(4, centre)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < M.nbytes / 4
        assert_allclose(tau, sigma)
        assert_allclose(V, U, atol=1e-10)


# Reference figures of the authors' code: VCA, 10 runs on each of 20 instances.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "noise", "rate"),
    [
        (make_midpoint, 0.0, 1.0),
        (make_midpoint, 0.01, 0.60),
        (make_midpoint, 0.03, 0.18),
        (make_dirichlet, 0.0, 1.0),
        (make_dirichlet, 0.1833, 1.0),
        (make_dirichlet, 0.3, 0.77),
        (make_dirichlet, 0.35, 0.41),
    ],
)
def test_vca_succeeds_as_often_as_its_authors_code(make, noise, rate):
    found = 0
    for seed in SEEDS:
        M, anchors = make(noise, random_state=seed)
        for run in range(5):
            sel = sepnmf.vca(M, 10, negative="allow", random_state=10 * seed + run)
            found += set(sel.anchors) == set(anchors)
    assert found / (5 * len(SEEDS)) >= rate - 0.15
