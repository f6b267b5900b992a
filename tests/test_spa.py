"""SPA: against plain deflation in extended precision and LAPACK's pivoted QR, and by what must not matter."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.matrix import Dense, as_matrix
from sepnmf.methods._complement import Complement
from sepnmf.methods._spa import project_successively, successive_projections
from sepnmf.selection import best_first


def deflation(M, r, normalize="none"):
    """SPA as published, on a copy of M in extended precision."""
    R = np.array(M, dtype=np.longdouble)
    if normalize == "l1":
        R = R / np.abs(R).sum(axis=0)
    anchors, scores = [], []
    for _ in range(r):
        norms = np.sqrt((R**2).sum(axis=0))
        norms[anchors] = -1
        j = int(norms.argmax())
        anchors.append(j)
        scores.append(float(norms[j]))
        u = R[:, j] / norms[j]
        R = R - np.outer(u, u @ R)
    return anchors, scores


def random_matrix(seed, m=20, n=60):
    return np.random.default_rng(seed).random((m, n))


@pytest.mark.parametrize("normalize", ["none", "l1"])
@pytest.mark.parametrize("seed", range(10))
def test_chooses_as_plain_deflation_does_up_to_full_rank(seed, normalize):
    M = random_matrix(seed)
    sel = sepnmf.spa(M, 20, normalize=normalize)
    anchors, scores = deflation(M, 20, normalize)
    assert sel.anchors.tolist() == anchors
    np.testing.assert_allclose(sel.scores[sel.anchors], scores, rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_chooses_as_pivoted_qr_does(seed):
    M = random_matrix(seed, 40, 100)
    _, _, pivots = linalg.qr(M, mode="economic", pivoting=True)
    assert sepnmf.spa(M, 40).anchors.tolist() == pivots[:40].tolist()


def nearly_parallel(seed, gap, m=15, n=50):
    """Columns that differ by `gap` only: after one step the running norms have lost their digits."""
    rng = np.random.default_rng(seed)
    return rng.random((m, 1)) + gap * rng.random((m, n))


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("seed", range(5))
def test_cancellation_does_not_change_the_choice(seed, gap):
    M = nearly_parallel(seed, gap)
    anchors, scores = deflation(M, 12)
    sel = sepnmf.spa(M, 12)
    assert sel.anchors.tolist() == anchors
    np.testing.assert_allclose(sel.scores[sel.anchors], scores, rtol=1e-14 / gap)


def test_without_the_safeguard_cancellation_would_change_the_choice(monkeypatch):
    monkeypatch.setattr(Complement, "recompute", lambda self, columns: None)
    wrong = 0
    for seed in range(5):
        M = nearly_parallel(seed, 1e-7)
        with np.errstate(invalid="ignore"):
            wrong += project_successively(Dense(M), 6, "none")[0].tolist() != deflation(M, 6)[0]
    assert wrong >= 3


def test_columns_of_very_different_size_keep_their_order():
    rng = np.random.default_rng(3)
    M = rng.random((30, 12)) * 10.0 ** -np.arange(12)
    sel = sepnmf.spa(M, 12)
    assert sel.anchors.tolist() == deflation(M, 12)[0]


def test_basis_stays_orthonormal_for_a_badly_conditioned_matrix():
    M = linalg.hilbert(14)
    _, _, complement = project_successively(Dense(M), 9, "none")
    Q = complement.basis
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-14)


@pytest.mark.parametrize("make", [make_midpoint, make_dirichlet])
def test_finds_all_anchors_without_noise(make):
    for seed in range(50):
        M, anchors = make(noise=0.0, random_state=seed)
        assert set(sepnmf.spa(M, 10).anchors) == set(anchors)


# Rates of the authors' MATLAB code over 20 instances; ours over 50.
@pytest.mark.parametrize(
    ("make", "noise", "reference"),
    [(make_midpoint, 0.1, 0.5), (make_dirichlet, 0.35, 0.95), (make_dirichlet, 0.45, 0.35)],
)
def test_success_rate_is_the_published_codes(make, noise, reference):
    hits = 0
    for seed in range(50):
        M, anchors = make(noise=noise, random_state=seed)
        hits += set(sepnmf.spa(M, 10, negative="allow").anchors) == set(anchors)
    assert hits / 50 >= reference - 0.15


@pytest.mark.parametrize("normalize", ["none", "l1"])
@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        sparse.csc_array,
        sparse.csr_array,
        sparse.coo_matrix,
        lambda M: np.repeat(np.repeat(M, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda M: M.tolist(),
    ],
)
def test_layout_and_sparsity_do_not_matter(convert, normalize):
    M = random_matrix(1) * (random_matrix(2) < 0.4)
    M[:, 7] = 0
    expected = sepnmf.spa(M, 15, normalize=normalize)
    sel = sepnmf.spa(convert(M), 15, normalize=normalize)
    assert sel.anchors.tolist() == expected.anchors.tolist()
    np.testing.assert_allclose(sel.scores, expected.scores, atol=1e-7)


def test_integers_and_read_only_input_are_fine_and_left_alone():
    M = np.random.default_rng(4).integers(0, 50, (10, 30))
    before = M.copy()
    M.flags.writeable = False
    assert sepnmf.spa(M, 9).anchors.tolist() == deflation(M, 9)[0]
    S = sparse.csr_array(before)
    sepnmf.spa(S, 9, normalize="l1", negative="clip")
    np.testing.assert_array_equal(S.toarray(), before)
    np.testing.assert_array_equal(M, before)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csc_array])
def test_float32_is_multiplied_in_float32_and_chosen_as_in_float64(convert, monkeypatch):
    types = set()
    plain = Complement.products
    monkeypatch.setattr(
        Complement,
        "products",
        lambda self, u: (types.add(self.M.times(u.astype(self.M.dtype)).dtype), plain(self, u))[1],
    )
    for gap in (1.0, 1e-2):
        M = nearly_parallel(0, gap).astype(np.float32)
        assert sepnmf.spa(convert(M), 12).anchors.tolist() == deflation(M, 12)[0]
    assert types == {np.dtype(np.float32)}


@pytest.mark.parametrize("normalize", ["none", "l1"])
def test_no_temporary_is_larger_than_a_few_rows(normalize):
    M = random_matrix(5, 300, 6000)
    project_successively(Dense(M[:, :20]), 2, normalize)
    tracemalloc.start()
    project_successively(Dense(M), 10, normalize)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    basis, rows, block = 300 * 10, 12 * 6000, 2**16
    assert peak < 8 * (basis + rows + 3 * block) < M.nbytes / 4


def test_sparse_data_are_not_made_dense():
    M = sparse.random_array(
        (100_000, 50_000), density=1e-5, random_state=np.random.default_rng(6), format="csc"
    )
    sel = sepnmf.spa(M, 5)
    lengths = np.sqrt(M.multiply(M).sum(axis=0))
    assert sel.anchors[0] == lengths.argmax()


def check_contract(sel, r, n):
    assert len(set(sel.anchors.tolist())) == r
    assert sel.scores.shape == (n,)
    assert np.isfinite(sel.scores).all()
    assert best_first(sel.scores, r).tolist() == sel.anchors.tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 12), st.integers(2, 4))
def test_small_integers_full_of_ties_give_distinct_anchors_or_an_error(seed, m, n, top):
    rng = np.random.default_rng(seed)
    M = rng.integers(0, top, (m, n))
    rank = np.linalg.matrix_rank(M)
    for r in range(1, n + 1):
        if r <= rank:
            check_contract(sepnmf.spa(M, r), r, n)
        else:
            with pytest.raises(ValueError, match=f"numerical rank {rank}, so SPA can find at most {rank}"):
                sepnmf.spa(M, r)
        anchors, scores = successive_projections(M.astype(float), r)
        assert len(set(anchors.tolist())) == r
        assert best_first(scores, r).tolist() == anchors.tolist()


def test_ties_go_to_the_smallest_index():
    assert sepnmf.spa(np.eye(6), 6).anchors.tolist() == list(range(6))
    M = random_matrix(7, 10, 4)
    order = sepnmf.spa(M, 4).anchors
    doubled = np.hstack([M, M, M])
    assert sepnmf.spa(doubled, 4).anchors.tolist() == order.tolist()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.permutations(range(12)),
    st.integers(-288, 290),  # scores below 2⁻⁹⁶⁰ have other units, so that no digits are lost
    st.sampled_from(["none", "l1"]),
)
def test_permutation_and_scale_carry_over(seed, order, power, normalize):
    M = np.random.default_rng(seed).random((6, 12))
    expected = sepnmf.spa(M, 6, normalize=normalize)
    moved = sepnmf.spa(M[:, order], 6, normalize=normalize)
    assert np.array(order)[moved.anchors].tolist() == expected.anchors.tolist()
    scaled = sepnmf.spa(M * 10.0**power, 6, normalize=normalize)
    assert scaled.anchors.tolist() == expected.anchors.tolist()
    unit = 1.0 if normalize == "l1" else 10.0**power
    np.testing.assert_allclose(
        scaled.scores[scaled.anchors] / unit, expected.scores[expected.anchors], rtol=1e-9
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csc_array])
def test_extreme_entries_are_brought_into_range(dtype, convert):
    for top in (np.finfo(dtype).max / 2, np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal * 8):
        M = np.array([[0, 1, 0.5], [0, 0, 0.75]]).astype(dtype) * dtype(top)
        scaled = as_matrix(convert(M)).in_range()
        assert scaled.dtype == dtype
        dense = scaled.toarray()
        np.testing.assert_array_equal(dense.astype(np.longdouble) * np.longdouble(scaled.scale), M)
        np.testing.assert_allclose(np.sqrt(scaled.squares), np.hypot(*dense), rtol=1e-6)
        assert sepnmf.spa(convert(M), 2).anchors.tolist() == [1, 2]


def test_l1_normalisation_ignores_the_lengths_of_columns():
    M, anchors = make_dirichlet(noise=0.0, random_state=1)
    lengths = 10.0 ** np.random.default_rng(8).uniform(-3, 3, 100)
    assert set(sepnmf.spa(M * lengths, 10, normalize="l1").anchors) == set(anchors)
    assert set(sepnmf.spa(M * lengths, 10).anchors) != set(anchors)


def test_zero_columns_are_never_anchors():
    M = np.zeros((5, 9))
    M[:, [2, 5, 8]] = np.random.default_rng(9).random((5, 3))
    for normalize in ("none", "l1"):
        assert set(sepnmf.spa(M, 3, normalize=normalize).anchors) == {2, 5, 8}
    with pytest.raises(ValueError, match="numerical rank 3, so SPA can find at most 3 anchors, got r=4"):
        sepnmf.spa(M, 4)
    with pytest.raises(ValueError, match="numerical rank 0"):
        sepnmf.spa(np.zeros((2, 3)), 1)
    with pytest.raises(ValueError, match="numerical rank 0"):
        sepnmf.spa(sparse.csc_array((2, 3), dtype=int), 1)


def test_beyond_the_rank_the_longest_columns_come_next():
    W = np.array([[4.0, 0, 2, 3, 0], [0, 3, 0, 0, 0]])
    anchors, scores = successive_projections(W, 4)
    assert anchors.tolist() == [0, 1, 3, 2]
    assert scores[4] == 0
    assert successive_projections(np.zeros((3, 4)), 3)[0].tolist() == [0, 1, 2]


def test_rank_of_a_product_is_seen_in_both_precisions():
    rng = np.random.default_rng(10)
    for dtype in (np.float64, np.float32):
        M = (rng.random((80, 7)) @ rng.random((7, 300))).astype(dtype)
        assert len(sepnmf.spa(M, 7).anchors) == 7
        with pytest.raises(ValueError, match="numerical rank 7"):
            sepnmf.spa(M, 8)


def test_one_column_and_all_columns():
    assert sepnmf.spa([[3.0], [4.0]], 1).scores.tolist() == [5.0]
    M = random_matrix(11, 9, 9)
    check_contract(sepnmf.spa(M, 9), 9, 9)


def test_column_norms_of_sparse_matrices_with_empty_columns():
    M = random_matrix(12, 6, 9) - 0.5
    M[:, [0, 3, 4, 8]] = 0
    for A in (M, sparse.csc_array(M), np.asfortranarray(M)):
        matrix = as_matrix(A, "allow")
        np.testing.assert_allclose(matrix.squares, (M**2).sum(axis=0), rtol=1e-14)
        np.testing.assert_allclose(matrix.l1_norms, np.abs(M).sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize(
    ("M", "r", "options", "message"),
    [
        ([[1.0, -1]], 1, {}, "M has 1 negative entries"),
        ([[1.0, np.nan]], 1, {}, "M has 1 NaN"),
        ([[1.0, 2]], 3, {}, "r must lie between 1 and the number of columns, 2, got 3"),
        ([[1.0, 2]], 1, {"normalize": "l2"}, "normalize must be one of 'none', 'l1', got 'l2'"),
        ([[1.0, 2]], 1, {"negative": "keep"}, "negative must be one of"),
        (sparse.csc_array([[1.0, -1]]), 1, {}, "M has 1 negative entries"),
    ],
)
def test_wrong_arguments_are_named(M, r, options, message):
    with pytest.raises(ValueError, match=message):
        sepnmf.spa(M, r, **options)


def test_negative_entries_can_be_clipped_or_kept():
    M = np.array([[3.0, -9, 1], [0, 1, 2]])
    assert sepnmf.spa(M, 2, negative="allow").anchors.tolist() == [1, 2]
    assert sepnmf.spa(M, 2, negative="clip").anchors.tolist() == [0, 2]
    assert sepnmf.spa(sparse.csr_array(M), 2, negative="clip").anchors.tolist() == [0, 2]


def test_columns_that_only_rounding_tells_apart_are_a_tie():
    rng = np.random.default_rng(13)
    for _ in range(20):
        entries = rng.random(30)
        M = np.stack([rng.permutation(entries) for _ in range(40)], axis=1)
        assert sepnmf.spa(M, 1).anchors.tolist() == [0]
