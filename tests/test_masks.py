"""Columns and rows that are left out are neither candidates nor to be explained, whatever holds them."""

from functools import cache

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sepnmf
from sepnmf.matrix import as_matrix

M, TRUE = sepnmf.datasets.make_dirichlet(0.0, m=12, n=60, r=4, random_state=0)
LEFT_OUT = np.setdiff1d(np.arange(0, 60, 7), TRUE)
MASK = np.isin(np.arange(60), LEFT_OUT, invert=True)
KEPT = np.flatnonzero(MASK)

CONTAINERS = {
    "array": lambda A: A,
    "float32": lambda A: A.astype(np.float32),
    "Dask": lambda A: da.from_array(A, chunks=(12, 11)),
    "Dask with rows in chunks": lambda A: da.from_array(A, chunks=(5, 13)),
    "frame": pd.DataFrame,
    "Dask with a chunk that is left out": lambda A: da.from_array(A, chunks=((12,), (1, 6, 1, 52))),
}
METHODS = {
    "spa": {},
    "auto": {},
    "xray": {},
    "vca": {"random_state": 0},
    "fgnsr": {"random_state": 0},
    "tuned_admm": {},
}


def spoiled(value):
    """Return M with a value in all entries of the columns that are left out."""
    A = M.copy()
    A[:, LEFT_OUT] = value
    return A


@cache
def without_the_others(method):
    return sepnmf.select(M[:, KEPT], 4, method, **METHODS[method])


@pytest.mark.parametrize("value", [65535.0, np.nan, -9999.0, 0.0])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("method", METHODS)
def test_a_mask_gives_the_answer_of_the_columns_that_are_used(method, container, value):
    expected = without_the_others(method)
    given = CONTAINERS[container](spoiled(value))
    sel = sepnmf.select(given, 4, method, mask=MASK, **METHODS[method])
    if container == "float32":
        assert set(sel.anchors) == set(KEPT[expected.anchors])
    else:
        assert sel.anchors.tolist() == KEPT[expected.anchors].tolist()
    assert sel.scores.shape == (60,)
    assert np.isfinite(sel.scores).all()
    assert set(np.argsort(-sel.scores, kind="stable")[:4]) == set(sel.anchors)


def test_sparse_columns_can_be_left_out():
    given = sparse.csr_array(spoiled(65535.0))
    assert set(sepnmf.select(given, 4, mask=MASK).anchors) == set(TRUE)


def test_without_a_mask_the_value_of_missing_pixels_is_an_anchor():
    assert set(LEFT_OUT) & set(sepnmf.select(spoiled(65535.0), 4).anchors)


def test_masked_entries_of_numpy_leave_their_columns_out():
    given = np.ma.masked_equal(spoiled(65535.0), 65535.0)
    sel = sepnmf.select(given, 4)
    assert set(sel.anchors) == set(TRUE)
    assert np.isnan(sepnmf.nnls(M[:, TRUE], given)[:, LEFT_OUT]).all()
    one = np.ma.MaskedArray(M, mask=np.arange(M.size).reshape(M.shape) == TRUE[0])  # one entry of an anchor
    assert TRUE[0] not in sepnmf.select(one, 3).anchors


def test_coefficients_of_columns_that_are_left_out_are_zero():
    options = {"lam": 1e-3, "rho": (0.1, 0.1, 0.1), "max_outer": 5}
    with pytest.warns(UserWarning, match="max_outer"):
        sel = sepnmf.select(spoiled(np.nan), 4, "admm", mask=MASK, **options)
    with pytest.warns(UserWarning, match="max_outer"):
        expected = sepnmf.admm(M[:, KEPT], 4, **options)
    assert sel.X.shape == (60, 60)
    np.testing.assert_array_equal(sel.X[np.ix_(KEPT, KEPT)], expected.X)
    assert not sel.X[LEFT_OUT].any()
    assert not sel.X[:, LEFT_OUT].any()


@pytest.mark.parametrize("container", ["array", "Dask", "Dask with rows in chunks"])
def test_weights_of_columns_that_are_left_out_are_nan(container):
    given = CONTAINERS[container](spoiled(np.nan))
    H = np.asarray(sepnmf.nnls(M[:, TRUE], given, mask=MASK))
    assert np.isnan(H[:, LEFT_OUT]).all()
    np.testing.assert_allclose(H[:, KEPT], sepnmf.nnls(M[:, TRUE], M[:, KEPT]), atol=1e-12)


@pytest.mark.parametrize("container", ["array", "Dask"])
def test_fit_and_number_of_anchors_count_the_columns_that_are_used(container):
    given = CONTAINERS[container](spoiled(65535.0))
    assert sepnmf.metrics.rae(given, TRUE, mask=MASK) == pytest.approx(1.0)
    position = np.searchsorted(KEPT, TRUE[:2])
    expected = sepnmf.metrics.rae(M[:, KEPT], position)
    assert sepnmf.metrics.rae(given, TRUE[:2], mask=MASK) == pytest.approx(expected, abs=1e-12)
    estimate = sepnmf.estimate_rank(given, mask=MASK)
    assert (estimate.low, estimate.high) == (4, 4)


def test_rows_can_be_left_out():
    A = np.insert(M, [3, 7], 100 * np.random.default_rng(0).random((2, 60)), axis=0)
    rows = np.ones(14, bool)
    rows[[3, 8]] = False
    assert np.array_equal(A[rows], M)
    assert set(sepnmf.select(A, 4).anchors) != set(TRUE)
    for container in ("array", "Dask", "Dask with rows in chunks"):
        sel = sepnmf.select(CONTAINERS[container](A), 4, row_mask=rows)
        assert set(sel.anchors) == set(TRUE), container


def test_refined_anchors_are_in_the_terms_of_the_caller():
    noisy = M + 0.02 * np.random.default_rng(1).random(M.shape)
    expected = sepnmf.select(noisy[:, KEPT], 4, "spa", refine=True)
    noisy[:, LEFT_OUT] = np.nan
    sel = sepnmf.select(noisy, 4, "spa", refine=True, mask=MASK)
    assert sel.anchors.tolist() == KEPT[expected.anchors].tolist()


def test_a_matrix_carries_its_mask():
    matrix = as_matrix(spoiled(np.nan), mask=MASK)
    assert matrix.shape == (12, len(KEPT))
    assert matrix.given_columns == 60
    sel = sepnmf.select(matrix, 4)
    assert set(sel.anchors) == set(TRUE)
    assert set(sepnmf.spa(matrix.normalised("l1"), 4).anchors) == set(TRUE)
    np.testing.assert_array_equal(matrix.at(sel.anchors), M[:, sel.anchors])
    assert sepnmf.metrics.rae(matrix, sel.anchors) == pytest.approx(1.0)
    assert np.isnan(sepnmf.nnls(M[:, TRUE], matrix)[:, LEFT_OUT]).all()
    with pytest.raises(ValueError, match=f"Column {LEFT_OUT[0]} is left out by the mask"):
        sepnmf.metrics.rae(matrix, [int(LEFT_OUT[0])])


@pytest.mark.parametrize("container", ["array", "Dask", "Dask with rows in chunks"])
@pytest.mark.parametrize(("value", "words"), [(-1.0, "negative entries"), (np.nan, "NaN or infinite")])
def test_entries_that_are_refused_are_placed_as_the_caller_counts(container, value, words):
    A = np.vstack([spoiled(np.nan), np.full((1, 60), np.nan)])[[12, *range(12)]]
    A[5, TRUE[0]] = value
    rows = np.arange(13) > 0
    with pytest.raises(ValueError, match=rf"{words}.*the first at \(5, {TRUE[0]}\)"):
        sepnmf.select(CONTAINERS[container](A), 4, "spa", mask=MASK, row_mask=rows)
    with pytest.raises(ValueError, match=rf"{words}.*the first at \(5, {TRUE[0]}\)"):
        sepnmf.select(CONTAINERS[container](A), 4, "auto", mask=MASK, row_mask=rows)
    with pytest.raises(ValueError, match=rf"{words}.*the first at \(5, {TRUE[0]}\)"):
        sepnmf.estimate_rank(CONTAINERS[container](A), mask=MASK, row_mask=rows)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.ones(59), "mask must have one number per column, 60"),
        (np.ones((6, 10)), "mask must have one number per column, 60"),
        (np.zeros(60), "The mask leaves no column of M"),
        (np.full(60, np.nan), "mask has NaN"),
        (np.array(["a"] * 60), "mask must have one number per column"),
    ],
)
def test_a_wrong_mask_is_refused(mask, words):
    with pytest.raises(ValueError, match=words):
        sepnmf.select(M, 4, mask=mask)
    with pytest.raises(ValueError, match="row_mask must have one number per row, 12"):
        sepnmf.select(M, 4, row_mask=np.ones(60))


def test_more_anchors_than_columns_that_are_used_are_refused():
    with pytest.raises(ValueError, match="number of columns, 3"):
        sepnmf.select(M, 4, mask=np.arange(60) < 3)


def test_the_input_is_not_changed():
    A = spoiled(np.nan)
    before = A.copy()
    sepnmf.select(A, 4, mask=MASK, negative="clip")
    np.testing.assert_array_equal(A, before)


def test_masked_entries_are_refused_where_no_column_can_be_left_out():
    square = np.ma.MaskedArray(np.eye(3), mask=np.arange(9).reshape(3, 3) == 0)
    weights = np.ma.MaskedArray(np.ones(3), mask=[True, False, False])
    admm = {"lam": 1.0, "rho": (1.0, 1.0, 1.0)}
    calls = {
        "W": lambda: sepnmf.nnls(square, np.eye(3)),
        "W_true": lambda: sepnmf.metrics.mrsa(np.eye(3), square),
        "X": lambda: sepnmf.model.ratio(square),
        "mask": lambda: sepnmf.spa(np.eye(3), 1, mask=weights),
        "weights": lambda: sepnmf.admm(np.eye(3), 1, weights=weights, **admm),
        "init": lambda: sepnmf.admm(np.eye(3), 1, init=square, **admm),
        "M": lambda: sepnmf.spa(list(square), 1),
    }
    for name, call in calls.items():
        with pytest.raises(
            ValueError, match=rf"^{name} has (masked|missing) entries.*: fill or remove them\."
        ):
            call()
    with pytest.raises(ValueError, match=r"^X has masked entries"):
        sepnmf.SeparableNMF(1, method="spa").fit(np.eye(3)).inverse_transform(weights[:, None])


def test_dask_arrays_of_masked_arrays_are_refused():
    masked = da.from_array(np.ma.MaskedArray(M, mask=np.zeros(M.shape, bool)), chunks=(12, 11))
    with pytest.raises(ValueError, match=r"M is a Dask array of masked arrays: .* mask="):
        sepnmf.spa(masked, 4)
    filled = masked.map_blocks(np.ma.filled, 0)
    assert sepnmf.spa(filled, 4).anchors.tolist() == sepnmf.spa(M, 4).anchors.tolist()
