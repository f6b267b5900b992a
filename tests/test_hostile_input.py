"""Input that once ended the process, gave a warning or an exception that names no argument."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import sepnmf
from sepnmf import metrics, text
from sepnmf.matrix import as_matrix

A = np.random.default_rng(0).random((5, 8))
COUNTS = (10 * A).astype(int)


@pytest.fixture(autouse=True)
def no_numbers_out_of_range():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def damaged(kind):
    """A sparse matrix whose indices were changed after it had been made."""
    M = getattr(sparse, f"{kind.split()[0]}_array")(np.eye(4))
    match kind.split()[1:]:
        case ["large"] if M.format == "coo":
            M.coords[0][0] = 99
        case ["large"]:
            M.indices[0] = 99
        case ["negative"]:
            M.indices[0] = -2
        case ["starts"]:
            M.indptr[1] = 77
        case ["falling"]:
            M.indptr[:] = [0, 2, 1, 3, 4]
        case ["short"]:
            M.data = M.data[:1]
    return M


DAMAGED = ["csr large", "csc large", "coo large", "bsr large", "csr negative", "csr starts", "csc falling"]


@pytest.mark.parametrize("kind", [*DAMAGED, "csc short"])
def test_sparse_indices_out_of_range_are_refused_before_scipy_follows_them(kind):
    with pytest.raises(ValueError, match=r"M is sparse, with indices outside its shape \(4, 4\)"):
        sepnmf.spa(damaged(kind), 2)
    for estimator in (sepnmf.SeparableNMF(2), sepnmf.AnchorSelector(2)):
        with pytest.raises(ValueError, match="X is sparse, with indices outside"):
            estimator.fit(damaged(kind))


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_indices_out_of_range_are_refused_in_chunks(kind):
    da = pytest.importorskip("dask.array")

    def spoilt(chunk):
        M = getattr(sparse, f"{kind}_array")(chunk)
        M.indices[0] = 99_999_999
        return M

    meta = getattr(sparse, f"{kind}_array")((0, 0), dtype=A.dtype)
    M = da.from_array(A, chunks=(5, 3)).map_blocks(spoilt, dtype=A.dtype, meta=meta)
    for call in (sepnmf.spa, sepnmf.select, lambda M, r: sepnmf.nnls(A[:, :r], M).compute()):
        with pytest.raises(ValueError, match="M is sparse, with indices outside its shape"):
            call(M, 2)
    with pytest.raises(ValueError, match="M is sparse, with indices outside its shape"):
        sepnmf.SeparableNMF(2).fit(M)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_sparse_matrices_with_right_indices_are_accepted(kind):
    M = getattr(sparse, f"{kind}_array")(np.kron(A, np.eye(2)))
    assert np.array_equal(sepnmf.spa(M, 3).anchors, sepnmf.spa(np.kron(A, np.eye(2)), 3).anchors)
    assert sepnmf.spa(getattr(sparse, f"{kind}_array")(np.eye(3)), 3).anchors.tolist() == [0, 1, 2]


def test_entries_beyond_the_range_of_float64_are_refused_as_infinite():
    huge = A.astype(np.longdouble) * np.longdouble(10) ** 400
    if not np.isfinite(huge).all():
        pytest.skip("the longest type is float64 here")
    da = pytest.importorskip("dask.array")
    for M in (huge, da.from_array(huge, chunks=(5, 3))):
        with pytest.raises(ValueError, match="M has 40 NaN or infinite entries"):
            sepnmf.spa(M, 2)
        with pytest.raises(ValueError, match="M has 40 NaN or infinite entries"):
            metrics.rae(M, [0])
    fits = A.astype(np.longdouble)
    assert np.array_equal(sepnmf.spa(da.from_array(fits, chunks=(5, 3)), 3).anchors, sepnmf.spa(A, 3).anchors)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_share_that_anchors_in_chunks_explain_refuses_what_is_not_finite(value):
    da = pytest.importorskip("dask.array")
    spoilt = A.copy()
    spoilt[1, 2] = value
    with pytest.raises(ValueError, match=r"M has 1 NaN or infinite entries, the first at \(1, 2\)"):
        metrics.rae(da.from_array(spoilt, chunks=(5, 3)), [2])


def test_a_sparse_matrix_of_float16_is_read_as_float32():
    half = A.astype(np.float16)
    rows = np.tile(np.arange(5)[::-1], 8)  # in descending order: SciPy sorts them, and not in float16
    M = sparse.csc_array((half[::-1].T.ravel().copy(), rows, np.arange(0, 41, 5)), shape=(5, 8))
    assert M.dtype == np.float16
    assert np.array_equal(sepnmf.spa(M, 3).anchors, sepnmf.spa(half, 3).anchors)


def test_rows_of_different_lengths_and_empty_labelled_arrays_are_refused_by_name():
    with pytest.raises(ValueError, match="M is not an array: its rows must have the same number of entries"):
        sepnmf.spa([[1.0, 2.0], [3.0]], 1)
    xr = pytest.importorskip("xarray")
    with pytest.raises(ValueError, match=r"W is empty: its shape is \(0, 3\)"):
        sepnmf.nnls(xr.DataArray(np.ones((0, 3))), A)


def test_a_fill_value_beyond_the_range_of_float64_marks_its_column():
    xr = pytest.importorskip("xarray")
    huge = A.astype(np.longdouble)
    huge[0, 0] *= np.longdouble(10) ** 400
    labelled = xr.DataArray(huge, dims=("row", "column"), attrs={"_FillValue": huge[0, 0]})
    np.testing.assert_array_equal(sepnmf.spa(labelled, 2).anchors, 1 + sepnmf.spa(A[:, 1:], 2).anchors)


@pytest.mark.parametrize("kind", [np.uint64, np.int64])
def test_fill_values_beyond_the_integers_of_float64_are_noticed(kind):
    xr = pytest.importorskip("xarray")
    fill = np.iinfo(kind).max - 1  # 2⁶⁴ − 2, the default of NetCDF, is 2⁶⁴ in float64
    counts = COUNTS.astype(kind)
    counts[2, 3] = fill
    for value in (kind(fill), fill, np.array([fill], kind)):
        labelled = xr.DataArray(counts, dims=("row", "column"), attrs={"_FillValue": value})
        assert 3 not in sepnmf.spa(labelled, 3).anchors
    for value in ("5.0", 5.0, 5.5, np.nan, np.inf, "inf"):  # 5 is among the counts
        labelled = xr.DataArray(COUNTS.astype(kind), dims=("row", "column"), attrs={"_FillValue": value})
        used = (float(value) != COUNTS).all(axis=0)
        assert used[sepnmf.spa(labelled, 2).anchors].all()


def test_a_column_of_the_largest_numbers_is_no_axis():
    pd = pytest.importorskip("pandas")
    M = np.random.default_rng(0).random((6, 7))
    M[:, 0] = [-4e307, 8.5e307, 0, 1.8e307, 1.6e308, 1e308]  # the sum of the steps is beyond the range
    frame = pd.DataFrame(M * [1, *[1e308] * 6], columns=[f"c{j}" for j in range(7)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert len(sepnmf.spa(frame, 7 - 1, negative="allow").anchors) == 6


@pytest.mark.parametrize("kind", ["missing", "folder", "table"])
def test_names_of_files_with_line_breaks_are_told_in_one_line(tmp_path, kind):
    path = tmp_path / "two\nlines.csv"
    if kind == "folder":
        path.mkdir()
    if kind == "table":
        path.write_text("1,2\n3,4\n")
    with pytest.raises((ValueError, FileNotFoundError), match=r"two lines\.csv") as raised:
        sepnmf.io.read(path, in_parts=True)
    assert "\n" not in str(raised.value)
    assert (kind == "missing") == isinstance(raised.value, FileNotFoundError)


def test_values_are_shown_in_one_line():
    for wrong in (np.ones((9, 9)), "x\ny" * 100):
        for call in (
            lambda wrong=wrong: sepnmf.spa(A, wrong),
            lambda wrong=wrong: sepnmf.spa(A, 2, normalize=wrong),
            lambda wrong=wrong: sepnmf.merit(A, 2, max_iter=wrong),
            lambda wrong=wrong: metrics.rae(A, wrong),
        ):
            with pytest.raises(ValueError, match=r"got .{3,}") as raised:
                call()
            assert "\n" not in str(raised.value)
            assert len(str(raised.value)) < 250


@pytest.mark.parametrize("method", ["auto", "merit", "fgnsr", "admm"])
def test_a_callback_that_cannot_be_called_is_refused_before_the_work(method):
    options = {"lam": 1.0, "rho": (1.0, 1.0, 1.0)} if method == "admm" else {}
    with pytest.raises(ValueError, match="callback must be callable, got 3"):
        sepnmf.select(A, 2, method, callback=3, **options)


def test_large_powers_and_conditions_stay_in_range():
    scaled = 1e9 * A
    assert len(set(sepnmf.robust_spa(scaled, 3, power=50.0).anchors)) == 3
    small, large = (sepnmf.robust_spa(scaled * 2.0**k, 3, power=8.0).anchors for k in (-60, 60))
    assert np.array_equal(small, large)
    assert len(set(sepnmf.randomized_spa(scaled, 3, condition=1e300, random_state=0).anchors)) == 3


def test_the_smallest_parameters_stay_in_range():
    assert len(sepnmf.admm(A, 2, lam=5e-324, rho=(1.0, 1.0, 1.0), max_outer=2, norm="l1").anchors) == 2
    with pytest.raises(ValueError, match="smoothing must be finite and at least"):
        sepnmf.merit(A, 2, smoothing=5e-324)


def test_vertices_of_the_largest_numbers_are_finite():
    rng = np.random.default_rng(0)
    M = rng.random((5, 10)) * np.append(np.ones(9) * 1e-3, 1)  # one long column: divided by roots of sums
    M = M / M.max() * 1.7e308
    sel = sepnmf.select(M, 3)
    assert np.isfinite(sel.vertices).all()
    small = sepnmf.select(M / 2.0**1000, 3)
    np.testing.assert_allclose(sel.vertices / 2.0**1000, small.vertices, rtol=1e-9)


@pytest.mark.parametrize("exponent", [-409, -400, -300, -200, 200, 300, 400])
def test_auto_and_refined_anchors_do_not_depend_on_the_unit(exponent):
    first = [4.497, 8.4787, 2.4434, 4.7169, 7.4443, 7.9405, 7.9405, 7.9405, 4.0087, 5.0502, 5.0502, 4.497]
    second = [3.7033, 7.0645, 2.0439, 4.336, 6.2651, 6.5816, 6.5816, 6.5816, 3.123, 4.0802, 4.0802, 3.7033]
    M = np.array([first, second]) / 8.4787
    scaled = np.ldexp(M, exponent)  # squares fit, and squares of these do not
    for options in ({"method": "auto"}, {"method": "spa", "refine": True}):
        want = sepnmf.select(M, 2, **options).anchors
        assert np.array_equal(sepnmf.select(scaled, 2, **options).anchors, want)


def test_arguments_of_functions_for_texts_are_checked():
    Q = text.cooccurrence(COUNTS)
    for call, said in {
        "anchors": (lambda: text.topic_words(Q, np.array([8])), "anchors must lie between 0 and 7"),
        "index": (lambda: text.topic_words(Q, 1.5), "anchors must be a non-empty collection"),
        "products": (lambda: text.topic_words(text.Cooccurrence.of(COUNTS), [8]), "anchors must lie between"),
        "scalar": (lambda: text.topic_words(Q, np.array(1)), "anchors must be a non-empty collection"),
        "together": (lambda: text.topic_words(A, [0]), "together must be words × words"),
        "topics": (lambda: text.document_topics(COUNTS, A[:, :3]), "topics and counts must be about"),
        "words": (lambda: text.used_words(COUNTS, ["a"], stop_words=["a"]), "words must be 8"),
        "n_documents": (lambda: text.document_limits(np.inf), "n_documents must be an integer"),
        "min_df": (lambda: text.used_words(COUNTS, min_df=10**400), "min_df must be a number"),
        "counts": (lambda: text.cooccurrence(A * 1e300), "counts has an entry of .*: no word occurs"),
    }.values():
        with pytest.raises(ValueError, match=said):
            call()
    for documents in ("a text", 3, ["a text", 3]):
        with pytest.raises(TypeError, match="documents must be"):
            text.vectorize(documents)


def test_entries_are_not_copied_to_check_indices():
    M = sparse.csc_array(A)
    assert np.shares_memory(as_matrix(M).in_memory().values, M.data)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok"])
def test_sparse_indices_out_of_range_are_refused_wherever_sparse_data_are_accepted(kind):
    def wrong(M):
        M = getattr(sparse, f"{kind}_array")(M)
        match kind:
            case "lil":
                M.rows[0][0] = 99
            case "dok":
                M._dict[(0, 99)] = 1.0
            case "coo":
                M.coords[1][0] = 99
            case _:
                M.indices[0] = 99
        return M

    with pytest.raises(ValueError, match="M is sparse, with indices outside"):
        sepnmf.spa(wrong(A), 2)
    for estimator in (sepnmf.SeparableNMF(3).fit(A), sepnmf.AnchorSelector(3).fit(A)):
        for call, X in ((estimator.transform, A), (estimator.inverse_transform, A[:, :3])):
            with pytest.raises(ValueError, match="X is sparse, with indices outside"):
                call(wrong(X))


def test_selected_columns_of_the_largest_numbers_are_no_warning():
    signs = np.where(np.random.default_rng(0).random((7, 12)) < 0.5, -1.0, 1.0)  # sums are inf − inf
    model = sepnmf.AnchorSelector(2, method="vca", negative="allow", random_state=0)
    X = tuple(map(tuple, (1.7e308 * signs).tolist()))
    kept = model.fit(X).transform(X)
    assert np.array_equal(kept, np.array(X)[:, np.sort(model.anchor_indices_)])
    back = model.inverse_transform(kept)
    assert np.array_equal(back[:, np.sort(model.anchor_indices_)], kept)


@pytest.mark.parametrize(
    "r", [10**400, np.timedelta64(2, "D"), "x" * 10**6], ids=["large", "duration", "text"]
)
def test_numbers_of_anchors_are_refused_in_one_short_line(r):
    with pytest.raises(ValueError, match=r"^r must .{10,200}$"):
        sepnmf.select(A, r, "spa")


def test_a_duration_is_no_number():
    day = np.timedelta64(1, "D")  # which NumPy counts among the integers
    for option, method in {"n_skewers": "ppi", "snr": "vca", "random_state": "nfindr"}.items():
        with pytest.raises(ValueError, match=f"{option} must be .* got (np|numpy).timedelta64"):
            sepnmf.select(A, 2, method, **{option: day})
    with pytest.raises(ValueError, match="anchors must be a non-empty collection of integers"):
        metrics.rae(A, [day])


@pytest.mark.parametrize("name", ["mask", "row_mask"])
def test_masks_with_rows_of_different_lengths_are_refused_by_name(name):
    with pytest.raises(ValueError, match=f"^{name} is not an array: its rows must have the same number"):
        sepnmf.spa(A, 2, **{name: [[1], [1, 0]]})


@pytest.mark.parametrize("refine", ["no", np.ones(8), 2, None])
def test_refine_is_a_truth_value(refine):
    with pytest.raises(ValueError, match="refine must be True or False, got"):
        sepnmf.select(A, 2, "spa", refine=refine)


def test_fill_values_that_the_type_cannot_hold_mark_nothing():
    xr = pytest.importorskip("xarray")
    for kind, value in (("f4", 1e300), ("f2", -1e30)):
        labelled = xr.DataArray(A.astype(kind), dims=("row", "column"), attrs={"_FillValue": value})
        assert np.array_equal(sepnmf.spa(labelled, 3).anchors, sepnmf.spa(A.astype(kind), 3).anchors)
    for kind in (float, int):
        labelled = xr.DataArray(A.astype(kind), dims=("row", "column"), attrs={"_FillValue": 10**400})
        with pytest.raises(
            ValueError, match=r"M has the fill value '1000.*, which is not a number in float64"
        ):
            sepnmf.spa(labelled, 2)


@pytest.mark.filterwarnings("ignore:Duplicate dimension names:UserWarning")
def test_two_dimensions_of_one_name_are_refused():
    xr = pytest.importorskip("xarray")
    with pytest.raises(ValueError, match="M has two dimensions of one name, a, a: rename one"):
        sepnmf.spa(xr.DataArray(A[:, :5], dims=("a", "a")), 2)


def test_integers_of_128_bits_in_a_frame_are_read():
    pl = pytest.importorskip("polars", minversion="1.18")  # older ones have no such integers
    frame = pl.DataFrame({f"c{j}": COUNTS[:, j] for j in range(8)}).cast(pl.Int128)
    assert np.array_equal(sepnmf.spa(frame, 3).anchors, sepnmf.spa(COUNTS, 3).anchors)


def test_estimators_refuse_integers_that_float64_does_not_have_and_sparse_tensors():
    for estimator in (sepnmf.SeparableNMF(1), sepnmf.AnchorSelector(1)):
        with pytest.raises(ValueError, match="X has integers beyond the range of float64"):
            estimator.fit([[10**400, 1], [1, 2]])
        for X in (sparse.coo_array(A[0]), sparse.coo_array(np.ones((2, 2, 2)))):
            with pytest.raises(ValueError, match=r"2D|dim"):
                estimator.fit(X)


def test_anchors_in_a_memory_view_are_indices_along_one_axis():
    assert metrics.rae(A, memoryview(np.array([0, 1]))) == metrics.rae(A, [0, 1])
    with pytest.raises(ValueError, match="anchors must be a non-empty collection of integers"):
        metrics.rae(A, memoryview(np.ones((2, 2), int)))


def test_anchors_in_chunks_of_large_numbers_are_refined():
    da = pytest.importorskip("dask.array")
    M = 4e153 * np.random.default_rng(0).random((7, 54))  # squares of lengths are in range, their sum is not
    chunks, exponent = da.from_array(M, chunks=(3, 18)), -500
    want = sepnmf.select(chunks, 3, "spa", refine=True)
    small = sepnmf.select(da.from_array(np.ldexp(M, exponent), chunks=(3, 18)), 3, "spa", refine=True)
    assert np.array_equal(want.anchors, small.anchors)


def test_fill_values_of_long_floats_are_not_rounded():
    xr = pytest.importorskip("xarray")
    A = np.array([[np.longdouble(1) / 3, 1, 2], [1, 2, 1]], dtype=np.longdouble)
    M = xr.DataArray(A, dims=("row", "column"), attrs={"_FillValue": A[0, 0]})
    assert set(sepnmf.spa(M, 2).anchors) == {1, 2}


def test_a_random_simplex_has_no_column_twice():
    """What rounding leaves of a column of 10¹² is as long as the differences of the others."""
    rng = np.random.default_rng(0)
    M = 1e5 + rng.random((9, 6))
    M[:, 5] *= 1e7
    for seed in range(20):
        assert sorted(sepnmf.nfindr(M, 6, init="random", random_state=seed).anchors) == list(range(6))


def test_residuals_whose_squares_overflow_have_a_likelihood_with_heavy_tails():
    from sepnmf._descent._noise_models import student

    residual = np.random.default_rng(0).standard_t(3, 500)
    # A factor in the residuals is a term in the logarithm of their density.
    assert student(1e200 * residual) == pytest.approx(student(residual) - 500 * np.log(1e200), rel=1e-9)
    assert np.isfinite(student(np.array([0.0, 0.0, 0.0, 1e200])))


@pytest.mark.parametrize("exponent", [-3, 0, 1, 40])
def test_one_row_has_no_better_column(exponent):
    """Each column explains all others: an exchange would follow rounding, which scaling changes."""
    M = sparse.csr_array(np.random.default_rng(1).random((1, 13)) ** 20 * 2.0**exponent)
    start = sepnmf.select(M, 1, "ppi", n_skewers=1, random_state=0).anchors
    refined = sepnmf.select(M, 1, "ppi", n_skewers=1, random_state=0, refine=True).anchors
    np.testing.assert_array_equal(refined, start)


EXPLAINED_BY_TWO = [
    [0.13188779747410886, 1.112739738946807, 1.1690108187972725, 1.3193994165688123],
    [0.05523036387303643, 0.09896940190245561, 0.24650677339903593, 0.19075550560056934],
    [0.23365577857467035, 0.2937689574682637, 0.9601352732894591, 0.6838611725568314],
]


def test_exchanges_that_gain_nothing_repeat_no_anchor():
    """Columns 1 and 4 explain all; the third anchor is of no use, and was replaced by one of the others."""
    M = np.zeros((3, 9))
    M[:, [1, 4, 5, 7]] = EXPLAINED_BY_TWO
    for factor in (1.0, 2.0**531):
        anchors = sepnmf.select(M * factor, 3, random_state=0).anchors
        assert M[:, anchors].any(axis=0).all()


def test_copies_of_one_column_have_no_better_anchors():
    """All are explained by each: a descent would follow rounding, which depends on the order in memory."""
    from sepnmf._descent import refine_anchors

    rng, start = np.random.default_rng(0), np.array([7, 9, 0, 6, 11])
    for _ in range(20):
        M = rng.random((8, 1)) * (1 + 1e-9 * rng.random((8, 13)))
        for array in (np.ascontiguousarray(M), np.asfortranarray(M)):
            assert set(refine_anchors(array, start)[0]) == set(start)


@pytest.mark.parametrize("exponent", [0, 8])
def test_columns_whose_squares_vanish_are_not_zero_in_chunks(exponent):
    zarr = pytest.importorskip("zarr")
    A = np.zeros((5, 3))
    A[:, 0], A[:, 2] = 1e-144 * np.arange(1, 6), 1e58 * np.array([5, 2, 1, 2, 3])
    M = zarr.array(np.ldexp(A, exponent), chunks=(5, 2))
    assert set(sepnmf.ppi(M, 2, random_state=0).anchors) == {0, 2}


def test_documents_with_the_smallest_counts_have_topics():
    counts = np.array([[3, 2, 0, 0], [0, 0, 4, 2], [6, 4, 0, 0]]) * np.array([[1], [1], [1e-311]])
    by_document = text.document_topics(counts, np.array([[0.6, 0.4, 0, 0], [0, 0, 0.7, 0.3]]))
    np.testing.assert_allclose(by_document, [[1, 0], [0, 1], [1, 0]], atol=1e-6)


def test_documents_whose_zeros_are_stored_have_no_topics():
    counts = sparse.csr_array(np.array([[3.0, 2], [0, 1], [1, 1]]))
    counts.data[2] = 0  # the second document is empty, with an entry
    by_document = text.document_topics(counts, np.array([[0.6, 0.4]]))
    np.testing.assert_allclose(by_document.ravel(), [1, 0, 1], atol=1e-6)
