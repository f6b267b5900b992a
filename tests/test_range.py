"""Entries near the ends of the floating-point range: the same anchors, and finite numbers."""

import warnings

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import sepnmf
from sepnmf.matrix import as_matrix
from sepnmf.methods._subspace import nonzero_columns
from sepnmf.metrics import rae

GREEDY = {
    "spa": {},
    "snpa": {},
    "xray": {},
    "xray dist": {"rule": "dist"},
    "xray greedy": {"rule": "greedy"},
    "vca": {"random_state": 0},
    "ppi": {"random_state": 0},
    "nfindr": {},
    "preconditioned_spa": {},
    "smoothed_spa": {},
    "smoothed_vca": {"random_state": 0},
    "robust_spa": {},
    "randomized_spa": {"random_state": 0},
    "pseudo_point_spa": {},
    "fippi": {},
    "eeht": {},
}
SCALES = {"huge": 2.0**1023, "near the root": 2.0**410, "small": 2.0**-900, "denormal": 2.0**-1074}
# Whole numbers, so that multiples of the smallest denormal number are exact.
M0 = np.array([[9.0, 0, 5, 3, 0, 4], [0, 8, 4, 4, 0, 1], [1, 1, 1, 1, 7, 3], [0, 0, 0, 0, 0, 1]])
CONTAINERS = {
    "dense": np.asarray,
    "sparse": sparse.csr_array,
    "chunks": lambda A: da.from_array(A, chunks=(2, 2)),
}
PAIRS = [
    (method, container)
    for method in GREEDY
    for container in CONTAINERS
    if (method, container) != ("smoothed_spa", "sparse") and not (" " in method and container == "chunks")
]


@pytest.mark.parametrize("r", [1, 3])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("method", "container"), PAIRS)
def test_the_scale_does_not_matter(method, container, scale, r):
    name, options = method.split()[0], GREEDY[method]
    # Of the largest numbers even sums of two overflow.
    data = np.ldexp(M0 / 16, 4) if SCALES[scale] < 1 else M0 / 16
    plain = sepnmf.select(CONTAINERS[container](data), r, name, **options)
    scaled = sepnmf.select(CONTAINERS[container](data * SCALES[scale]), r, name, **options)
    assert scaled.anchors.tolist() == plain.anchors.tolist()
    assert np.isfinite(scaled.scores).all()
    assert scaled.scores.max() > 0


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_weights_and_the_fit_do_not_depend_on_the_scale(container, scale):
    data = M0 / 16 if SCALES[scale] > 1 else M0
    M = CONTAINERS[container](data * SCALES[scale])
    W = data[:, :2] * SCALES[scale]
    for options in ({}, {"sum_to_one": True}, {"method": "hals"}):
        expected = sepnmf.nnls(data[:, :2], data, **options)
        np.testing.assert_allclose(np.asarray(sepnmf.nnls(W, M, **options)), expected, atol=1e-12)
    assert rae(M, [0, 1]) == pytest.approx(rae(data, [0, 1]))


def test_a_power_of_two_brings_the_largest_numbers_into_range():
    largest = np.finfo(np.float64).max
    scaled = as_matrix(np.full((2, 2), largest)).in_memory().in_range()
    assert scaled.array.max() * scaled.scale == largest


@pytest.mark.parametrize("container", CONTAINERS)
def test_normalised_columns_may_have_any_length(container):
    lengths = 10.0 ** np.array([0, 300, -310, 150, -160, 5])
    plain = sepnmf.spa(CONTAINERS[container](M0), 3, normalize="l1")
    scaled = sepnmf.spa(CONTAINERS[container](M0 * lengths), 3, normalize="l1")
    assert scaled.anchors.tolist() == plain.anchors.tolist()
    np.testing.assert_allclose(scaled.scores, plain.scores, rtol=1e-6)


def test_weights_of_columns_of_very_different_lengths():
    W = np.array([[1e300, 0.0], [0.0, 1e-300]])
    M = np.array([[1e300, 3.0], [0.3, 1e-305]])
    np.testing.assert_allclose(sepnmf.nnls(W, M), [[1.0, 3e-300], [3e299, 1e-5]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_that_are_no_numbers_are_refused(dtype):
    tiny, huge = np.finfo(dtype).tiny, np.finfo(dtype).max
    with pytest.raises(ValueError, match=f"W has columns so short .* range of {np.dtype(dtype)}"):
        sepnmf.nnls(np.array([[tiny]], dtype), np.array([[huge]], dtype))


def test_weights_sum_to_one_however_far_the_data_are():
    assert sepnmf.nnls([[1e-9]], [[1e7]], sum_to_one=True).tolist() == [[1.0]]
    H = sepnmf.nnls([[1e-9, 2e-9]], [[1e7, -1e7, 1.25e-9, 1e300]], sum_to_one=True)
    np.testing.assert_allclose(H, [[0, 1, 0.75, 0], [1, 0, 0.25, 1]], atol=1e-12)


def test_what_is_orthogonal_to_the_hull_does_not_change_weights_that_sum_to_one():
    H = sepnmf.nnls([[0.0, 0.0], [0.0, 1.0]], [[0.0, 1e8, 1e14], [0.3, 0.3, 0.3]], sum_to_one=True)
    np.testing.assert_allclose(H, [[0.7] * 3, [0.3] * 3], atol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
def test_sums_of_the_largest_numbers_of_both_signs_give_no_warning(container):
    largest = np.finfo(np.float64).max
    M = CONTAINERS[container](np.array([[largest, largest, -largest, -largest], [0, largest, 0, 0]]))
    assert np.isfinite(np.asarray(sepnmf.nnls([[1.0, 0.0], [0.0, 1.0]], M))).all()
    assert len(sepnmf.ppi(M, 2, negative="allow", random_state=0).anchors) == 2
    assert len(sepnmf.AnchorSelector(2, method="spa", negative="allow").fit(M).anchor_indices_) == 2


@pytest.mark.parametrize("container", ["dense", "sparse"])
def test_coordinates_do_not_depend_on_a_power_of_two(container):
    rng = np.random.default_rng(0)
    for _ in range(20):
        data = rng.random((5, 8))
        matrices = [as_matrix(CONTAINERS[container](data * scale)) for scale in (1.0, 2.0**1023, 2.0**-1000)]
        first, *others = (nonzero_columns(matrix.in_memory(), 2)[0].toarray() for matrix in matrices)
        assert all(np.array_equal(other, first) for other in others)


@pytest.mark.parametrize("kind", ["l1", "sqrt"])
def test_columns_are_divided_by_powers_of_their_sums_beyond_the_range_of_squares(kind):
    M = np.random.default_rng(0).random((4, 3)) * [1e-200, 1.0, 1e200]
    sums = M.sum(axis=0)
    want = M / (sums if kind == "l1" else np.sqrt(sums))
    np.testing.assert_allclose(as_matrix(M).normalised(kind).toarray(), want, rtol=1e-14)


@pytest.mark.parametrize("method", ["admm", "dca"])
def test_columns_of_float32_whose_squared_lengths_overflow(method):
    M = np.array([[1e-4, 1e8, 2e5, 4e10, 1e-12, 4e2], [1e-4, 1e8, 1e5, 3e10, 0.0, 4e2]], dtype=np.float32)
    options = {"rho": (1, 1, 1)} if method == "admm" else {"rho": 1, "beta": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sel = getattr(sepnmf, method)(M, 2, lam=1e-3, **options)
    assert np.unique(sel.anchors).size == 2


def test_auto_on_columns_whose_squared_brightness_is_too_small_to_be_represented():
    exponents = [
        [171, 58, 180, -65, 179, -17, -230, 266],
        [-179, 120, -9, 176, -211, 22, -261, 83],
        [-97, 272, -224, -192, -63, 144, -178, -44],
        [194, 120, 261, -305, -95, -237, -203, 161],
    ]
    M = 10.0 ** np.array(exponents)
    sel = sepnmf.select(M, 1, random_state=0)
    assert sel.anchors.size == 1
    assert np.isfinite(sel.scores).all()


def test_stability_of_anchors_whose_weights_differ_by_more_than_there_are_digits():
    first = [6.27e-206, 1.79e-163, 3.68e-149, 2.36e-71, 1.0, 2.32e-149, 8.85e-46, 1.75e-189, 1.61e-158]
    second = [4.67e-205, 3.41e-163, 5.7e-148, 4.84e-71, 0.907, 6.31e-149, 3.61e-46, 1.01e-188, 2.13e-159]
    M = np.array([np.zeros(9), first, second, np.zeros(9)])
    found = sepnmf.stability(M, 2, normalize="none", random_state=0)
    assert np.isfinite(found.stability).all()
