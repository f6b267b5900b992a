"""Data in chunks: the answers of data in memory, whatever the chunks, and the same refusals."""

import warnings

import dask
import dask.array as da
import h5py
import numpy as np
import pytest
import zarr
from scipy import sparse

import sepnmf
from sepnmf.datasets import make_dirichlet
from sepnmf.least_squares import unexplained
from sepnmf.matrix import (
    _chunked,
    _spectrum,
    _stored,
    as_matrix,
    is_lazy,
    lazy_array,
    leading_spectrum,
)
from sepnmf.matrix._extremes import Ends, Extremes
from sepnmf.matrix._held import Ranked
from sepnmf.matrix._reducers import Extent, Inspection
from sepnmf.matrix._spectrum import Moments, Spectrum, Triangle
from sepnmf.methods import _screening as screening
from sepnmf.tuning import _auto

EXACT = [name for name, method in sepnmf.METHODS.items() if method.chunks == "exactly"]

# Options that the methods need, and a seed for those that draw.
OPTIONS = {
    "vca": {"random_state": 3},
    "ppi": {"random_state": 3},
    "nfindr": {"random_state": 3},
    "smoothed_vca": {"random_state": 3, "n_average": 2},
    "smoothed_spa": {"n_average": 2},
    "fgnsr": {"random_state": 3},
    "hottopixx": {"random_state": 3, "noise": 0.05},
    "admm": {"lam": 2.23e-4, "rho": (8.62e-5, 3.66, 1.48e-4), "max_outer": 20},
    "dca": {"lam": 1e-3, "rho": 1e-3, "beta": 1.0, "max_outer": 5},
    "merit": {"lam": 0.1},
}


def random_chunks(rng, size):
    """Cuts of 0 … size at random places."""
    cuts = np.sort(rng.choice(np.arange(1, size), min(rng.integers(0, 9), size - 1), replace=False))
    return tuple(np.diff([0, *cuts, size]).tolist())


def in_chunks(M, seed):
    rng = np.random.default_rng(seed)
    return da.from_array(M, chunks=(random_chunks(rng, M.shape[0]), random_chunks(rng, M.shape[1])))


def mapped(folder, M, order="C"):
    written = np.memmap(folder / f"M{order}.dat", M.dtype, "w+", shape=M.shape, order=order)
    written[:] = M
    written.flush()
    return np.memmap(folder / f"M{order}.dat", M.dtype, "r", shape=M.shape, order=order)


@pytest.fixture
def memmaps_in_chunks(monkeypatch):
    """Memory maps of any size are read in chunks, small ones."""
    monkeypatch.setattr(_stored, "LARGE", 0)
    monkeypatch.setattr(_stored, "CHUNK", 20_000)


@pytest.fixture
def screened(monkeypatch):
    """Screening also where the data would be loaded."""
    monkeypatch.setattr(_chunked, "SMALL", 0)
    monkeypatch.setattr(_chunked, "SAMPLE", 200)


# The same answers --------------------------------------------------------------------------------------


def test_the_methods_that_choose_exactly_as_in_memory_are_known():
    assert EXACT == ["ppi", "spa", "vca", "xray"]


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("method", EXACT)
def test_exact_methods_choose_as_in_memory_from_dask_zarr_hdf5_and_memmaps(
    method, noise, seed, tmp_path, memmaps_in_chunks
):
    M, _ = make_dirichlet(noise, m=30, n=700, r=6, random_state=seed)
    M = np.maximum(M, 0)
    M[:, seed::97] = 0.0
    options = OPTIONS.get(method, {})
    expected = sepnmf.select(M, 6, method, **options)
    store = zarr.create_array(tmp_path / "M.zarr", shape=M.shape, chunks=(11, 100), dtype=M.dtype)
    store[:] = M
    with h5py.File(tmp_path / "M.h5", "w") as file:
        kinds = {
            "dask": in_chunks(M, seed),
            "other chunks": in_chunks(M, seed + 100),
            "memmap": mapped(tmp_path, M),
            "memmap by columns": mapped(tmp_path, M, "F"),
            "zarr": store,
            "hdf5": file.create_dataset("M", data=M, chunks=(30, 70)),
        }
        for kind, data in kinds.items():
            found = sepnmf.select(data, 6, method, **options)
            np.testing.assert_array_equal(found.anchors, expected.anchors, err_msg=kind)
            np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-7, atol=1e-7, err_msg=kind)


@pytest.mark.parametrize("method", ["spa", "snpa"])
def test_columns_divided_by_their_sums_are_chosen_as_in_memory(method):
    M, _ = make_dirichlet(0.05, m=30, n=400, r=8, random_state=1)
    M = np.maximum(M, 0) * np.linspace(1, 5, 400)
    expected = sepnmf.select(M, 8, method, normalize="l1")
    found = sepnmf.select(in_chunks(M, 1), 8, method, normalize="l1")
    np.testing.assert_array_equal(found.anchors, expected.anchors)


@pytest.mark.parametrize("method", [name for name in sepnmf.METHODS if name not in EXACT])
def test_other_methods_choose_as_in_memory_while_the_data_are_small(method):
    M, _ = make_dirichlet(0.02, m=20, n=60, r=4, random_state=0)
    M = np.maximum(M, 0)
    options = OPTIONS.get(method, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some stop before they converge
        expected = sepnmf.select(M, 4, method, **options)
        found = sepnmf.select(in_chunks(M, 2), 4, method, **options)
    np.testing.assert_array_equal(found.anchors, expected.anchors)
    np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("method", EXACT)
def test_sparse_blocks_are_chosen_from_as_in_memory(method):
    rng = np.random.default_rng(0)
    M = sparse.random_array((25, 300), density=0.2, random_state=rng, format="csc")
    M = sparse.csc_array(M @ sparse.diags_array(rng.random(300) + 0.5))
    blocks = da.from_array(M.toarray(), chunks=(25, 60)).map_blocks(sparse.csr_matrix)
    options = OPTIONS.get(method, {})
    expected = sepnmf.select(M.toarray(), 5, method, **options)
    np.testing.assert_array_equal(sepnmf.select(blocks, 5, method, **options).anchors, expected.anchors)


def test_sparse_blocks_along_both_axes_are_put_together():
    M = sparse.random_array((24, 90), density=0.4, random_state=np.random.default_rng(1)).toarray()
    blocks = da.from_array(M, chunks=(8, 30)).map_blocks(sparse.csc_matrix)
    np.testing.assert_array_equal(sepnmf.select(blocks, 4, "spa").anchors, sepnmf.spa(M, 4).anchors)


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("factor", [1e-165, 1e-100, 1e100])
def test_squares_that_leave_the_range_do_no_harm(method, factor):
    M, _ = make_dirichlet(0.02, m=20, n=200, r=4, random_state=0)
    M = np.maximum(M, 0)
    options = OPTIONS.get(method, {})
    expected = sepnmf.select(M, 4, method, **options)
    found = sepnmf.select(in_chunks(M * factor, 0), 4, method, **options)
    np.testing.assert_array_equal(found.anchors, expected.anchors)


@pytest.mark.parametrize("dtype", [np.float32, np.uint16, np.int8, bool])
def test_spa_takes_every_real_type(dtype, tmp_path, memmaps_in_chunks):
    rng = np.random.default_rng(0)
    M = (rng.random((12, 90)) * 100 > 50 if dtype is bool else rng.random((12, 90)) * 100).astype(dtype)
    expected = sepnmf.spa(M.astype(np.float64), 4).anchors
    np.testing.assert_array_equal(sepnmf.select(in_chunks(M, 1), 4, "spa").anchors, expected)
    np.testing.assert_array_equal(sepnmf.select(mapped(tmp_path, M), 4, "spa").anchors, expected)


@pytest.mark.parametrize("method", EXACT)
def test_of_equal_columns_the_first_is_chosen_and_none_twice(method):
    base = np.random.default_rng(0).random((6, 5))
    M = np.tile(base, 400)
    options = OPTIONS.get(method, {})
    found = sepnmf.select(da.from_array(M, chunks=(6, 7)), 4, method, **options)
    np.testing.assert_array_equal(found.anchors, sepnmf.select(M, 4, method, **options).anchors)
    assert set(found.anchors) <= set(range(5))


@pytest.mark.parametrize("method", EXACT)
def test_of_equal_columns_the_first_is_chosen_though_the_working_set_has_another(method):
    """The first look takes in columns from 1500 on, where there are copies of columns 300 to 303."""
    rng = np.random.default_rng(1)
    W = rng.random((12, 4))
    M = W @ (0.5 * rng.dirichlet(np.ones(4), 6000).T + 0.125)
    M[:, 300:304] = M[:, 1500:1504] = M[:, 5000:5004] = W
    options = OPTIONS.get(method, {})
    expected = sepnmf.select(M, 4, method, **options)
    found = sepnmf.select(da.from_array(M, chunks=(12, 1500)), 4, method, **options)
    assert set(expected.anchors) == {300, 301, 302, 303}
    np.testing.assert_array_equal(found.anchors, expected.anchors)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", EXACT)
def test_columns_of_very_different_lengths_are_chosen_as_in_memory(method, seed):
    """Most columns are not in the first look, the longest is a mixture, and it decides what XRAY sees."""
    M, _ = make_dirichlet(0.05, m=15, n=6000, r=5, random_state=seed)
    M = np.maximum(M, 0) * np.random.default_rng(seed).lognormal(0, 1, 6000)
    options = OPTIONS.get(method, {})
    expected = sepnmf.select(M, 5, method, **options)
    found = sepnmf.select(da.from_array(M, chunks=(15, 1500)), 5, method, **options)
    np.testing.assert_array_equal(found.anchors, expected.anchors)


def test_clipping_and_keeping_negative_entries_are_those_of_data_in_memory():
    M, _ = make_dirichlet(0.3, m=20, n=300, r=4, random_state=0)
    assert (M < 0).any()
    for negative in ("clip", "allow"):
        for method in ("spa", "xray"):
            expected = sepnmf.select(M, 4, method, negative=negative)
            found = sepnmf.select(in_chunks(M, 1), 4, method, negative=negative)
            np.testing.assert_array_equal(found.anchors, expected.anchors)


@pytest.mark.parametrize("snr", [None, 0.0, 60.0])
def test_vca_sees_the_columns_in_the_view_of_data_in_memory(snr):
    M, _ = make_dirichlet(0.1, m=20, n=500, r=5, random_state=3)
    expected = sepnmf.vca(M, 5, snr=snr, negative="allow", random_state=1)
    found = sepnmf.select(in_chunks(M, 1), 5, "vca", snr=snr, negative="allow", random_state=1)
    np.testing.assert_array_equal(found.anchors, expected.anchors)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-7, atol=1e-9)


def test_vca_turns_to_the_affine_view_when_a_column_is_on_the_other_side():
    """The one column that cannot be seen projectively is far from where the first look goes."""
    M, _ = make_dirichlet(0.001, m=20, n=6000, r=4, random_state=3)
    M[:, 4567] = -M[:, 4567]
    expected = sepnmf.vca(M, 4, snr=100.0, negative="allow", random_state=1)
    D = da.from_array(M, chunks=(20, 1500))
    found = sepnmf.select(D, 4, "vca", snr=100.0, negative="allow", random_state=1)
    np.testing.assert_array_equal(found.anchors, expected.anchors)


def test_one_anchor_is_the_longest_column():
    M = np.random.default_rng(0).random((5, 80))
    for method in EXACT:
        options = OPTIONS.get(method, {})
        expected = sepnmf.select(M, 1, method, **options)
        np.testing.assert_array_equal(
            sepnmf.select(in_chunks(M, 4), 1, method, **options).anchors, expected.anchors
        )


def test_xray_knows_its_other_rules_in_memory_only():
    with pytest.raises(ValueError, match="rule must be one of 'max', got 'greedy'"):
        sepnmf.select(da.ones((4, 9), chunks=3), 2, "xray", rule="greedy")


# Passes ------------------------------------------------------------------------------------------------


class Counted:
    """An array that counts how often it is read."""

    def __init__(self, M):
        self.M, self.shape, self.dtype, self.ndim = M, M.shape, M.dtype, 2
        self.read = self.largest = 0

    def __getitem__(self, key):
        part = self.M[key]
        self.read += part.size
        self.largest = max(self.largest, part.size)
        return part


@pytest.mark.parametrize(("method", "passes"), [("spa", 3), ("xray", 3), ("vca", 3), ("ppi", 2)])
def test_a_few_passes_are_enough(method, passes):
    M, _ = make_dirichlet(0.01, m=40, n=40_000, r=10, random_state=0)
    counted = Counted(np.maximum(M, 0))
    D = da.from_array(counted, chunks=(40, 2000), lock=True)
    options = OPTIONS.get(method, {})
    found = sepnmf.select(D, 10, method, **options)
    peek = 8 * 2000 * 40
    assert counted.read <= passes * M.size + peek
    np.testing.assert_array_equal(found.anchors, sepnmf.select(counted.M, 10, method, **options).anchors)


def test_the_history_says_how_many_anchors_were_certain_after_each_pass():
    M, _ = make_dirichlet(0.01, m=40, n=8000, r=10, random_state=0)
    found = sepnmf.select(da.from_array(M, chunks=(40, 500)), 10, "spa", negative="allow")
    assert found.history["pass"].tolist() == list(range(1, len(found.history["pass"]) + 1))
    assert found.history["certain"][-1] == 10
    assert (np.diff(found.history["certain"]) > 0).all()


@pytest.mark.parametrize("method", ["spa", "xray", "vca"])
def test_a_poor_first_working_set_costs_passes_and_nothing_else(method, monkeypatch):
    """From a peek at zeros, with one violation a step, the answer is the same."""
    monkeypatch.setattr("sepnmf.methods._working_set.MOST_VIOLATIONS", 1)
    monkeypatch.setattr("sepnmf.matrix._chunked.PEEKS", 1)
    M, _ = make_dirichlet(0.05, m=30, n=2000, r=6, random_state=3)
    M = np.maximum(M, 0)
    M[:, :400] = 0.0
    options = OPTIONS.get(method, {})
    found = sepnmf.select(da.from_array(M, chunks=(30, 300)), 6, method, **options)
    np.testing.assert_array_equal(found.anchors, sepnmf.select(M, 6, method, **options).anchors)


def test_violating_columns_are_ranked_by_value_and_then_by_number():
    one = Ranked(np.array([7.0, 2.0]), np.array([9, 1]), np.eye(4)[:, :2])
    two = Ranked(np.array([7.0 - 1e-12, 3.0]), np.array([3, 5]), np.eye(4)[:, 2:])
    both = one.joined(two, 3, rounding=1e-9)
    np.testing.assert_array_equal(both.indices, [3, 9, 5])
    np.testing.assert_array_equal(both.columns.argmax(axis=0), [2, 0, 3])


def test_only_the_chunks_asked_for_are_read():
    counted = Counted(np.arange(120.0).reshape(3, 40))
    chunks = as_matrix(da.from_array(counted, chunks=(3, 10)))
    np.testing.assert_array_equal(chunks.take(np.array([39, 0, 31])), counted.M[:, [39, 0, 31]])
    assert counted.read <= 2 * 30


def test_small_data_are_loaded_row_by_row_in_memory_whatever_their_order_in_chunks():
    """So that no method needs a copy in another order."""
    M = np.asfortranarray(np.random.default_rng(0).random((10, 300)))
    loaded = as_matrix(da.from_array(M, chunks=(10, 100))).loaded().array
    assert loaded.flags.c_contiguous
    np.testing.assert_array_equal(loaded, M)


def test_rows_in_chunks_do_not_make_chunks_of_everything(monkeypatch):
    monkeypatch.setattr(_stored, "CHUNK", 8000)
    M = np.random.default_rng(0).random((10, 3000))
    counted = Counted(M)
    chunks = as_matrix(da.from_array(counted, chunks=(1, 3000)))
    assert max(chunks.array.chunks[1]) == 100
    assert chunks.array.numblocks[0] == 1
    chunks.scan(Extent())
    assert counted.read == M.size
    assert counted.largest <= 100
    np.testing.assert_array_equal(chunks.loaded().array, M)
    np.testing.assert_array_equal(
        sepnmf.select(da.from_array(M, chunks=(1, 3000)), 4, "spa").anchors, sepnmf.spa(M, 4).anchors
    )


# Memory maps -------------------------------------------------------------------------------------------


def test_views_of_memory_maps_are_read_from_the_file(tmp_path, memmaps_in_chunks):
    M = np.random.default_rng(0).random((30, 500))
    whole = mapped(tmp_path, M)
    views = {
        "columns": whole[:, 100:400],
        "every third": whole[:, ::3],
        "rows": whole[5:25],
        "transposed": whole.T,
        "backwards": whole[:, ::-1],
    }
    for name, view in views.items():
        found = lazy_array(view).compute()
        np.testing.assert_array_equal(found, np.array(view), err_msg=name)


def test_short_parts_of_many_rows_are_read_right(tmp_path, memmaps_in_chunks):
    M = np.random.default_rng(0).random((300, 90))
    whole = mapped(tmp_path, M)
    for view in (whole, whole[7:290, 20:80], whole[::2]):
        assert len(view) > _stored.MANY_ROWS
        np.testing.assert_array_equal(lazy_array(view).compute(), np.array(view))


def test_a_map_with_an_offset_or_foreign_bytes_is_read_right(tmp_path, memmaps_in_chunks):
    M = np.random.default_rng(0).integers(0, 1000, (7, 900)).astype(">i2")
    (tmp_path / "M.dat").write_bytes(b"header!" + M.tobytes())
    view = np.memmap(tmp_path / "M.dat", ">i2", "r", offset=7, shape=M.shape)
    found = lazy_array(view)
    assert found.dtype.isnative
    np.testing.assert_array_equal(found.compute(), M)


def test_changes_of_a_private_map_are_seen(tmp_path, memmaps_in_chunks):
    mapped(tmp_path, np.ones((5, 400)))
    private = np.memmap(tmp_path / "MC.dat", np.float64, "c", shape=(5, 400))
    private[:, 7] = 3.0
    assert sepnmf.select(private, 1, "spa").anchors.tolist() == [7]


def test_small_maps_are_arrays(tmp_path):
    assert not is_lazy(mapped(tmp_path, np.ones((4, 50))))


def test_without_dask_large_maps_are_refused_in_one_sentence(tmp_path, memmaps_in_chunks, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ValueError, match=r"needs Dask: pip install 'sepnmf\[dask\]'"):
        sepnmf.select(mapped(tmp_path, np.ones((4, 50))), 2, "spa")


# Principal directions ----------------------------------------------------------------------------------


def exact(M):
    centred = M - M.mean(axis=1, keepdims=True)
    return [np.linalg.svd(A, full_matrices=False)[:2] for A in (M, centred)]


@pytest.mark.parametrize("kind", ["products", "triangles", "sketch"])
def test_principal_directions_are_those_of_the_singular_value_decomposition(kind, monkeypatch):
    M, _ = make_dirichlet(0.01, m=40, n=900, r=5, random_state=0)
    chunks = as_matrix(in_chunks(M, 2), "allow")
    if kind == "products":
        seen = Spectrum.of_sums(chunks.scan(Moments())[0])
    elif kind == "triangles":
        seen = Spectrum.of_triangle(chunks.scan(Triangle())[0])
    else:
        monkeypatch.setattr(_spectrum, "LONG", 10)
        _, seen = leading_spectrum(chunks, 5)
    (U, sigma), (V, tau) = exact(M)
    np.testing.assert_allclose(seen.centre, M.mean(axis=1), rtol=1e-2 if kind == "sketch" else 1e-10)
    np.testing.assert_allclose(seen.energy, np.sum(M**2), rtol=1e-10)
    assert seen.count == 900
    tolerance = 1e-3 if kind == "sketch" else 1e-9
    for found, expected in ((seen.sigma, sigma), (seen.centred_sigma, tau)):
        np.testing.assert_allclose(found[:4], expected[:4], rtol=tolerance)
    for found, expected in ((seen.vectors, U), (seen.centred_vectors, V)):
        between = np.linalg.svd(found[:, :4].T @ expected[:, :4], compute_uv=False)
        np.testing.assert_allclose(between, 1.0, atol=tolerance)


def test_random_combinations_are_the_same_whatever_the_chunks(monkeypatch):
    monkeypatch.setattr(_spectrum, "LONG", 10)
    M, _ = make_dirichlet(0.01, m=40, n=3000, r=5, random_state=0)
    one, two = (leading_spectrum(as_matrix(in_chunks(M, seed), "allow"), 5)[1] for seed in (1, 2))
    np.testing.assert_allclose(one.vectors, two.vectors, atol=1e-9)
    found = sepnmf.select(in_chunks(M, 1), 5, "vca", negative="allow", random_state=0)
    assert len(set(found.anchors)) == 5


def test_faint_directions_are_found_where_products_have_lost_them():
    """Singular values of 1 and 1e-7: their squares differ by more digits than there are."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((12, 3)))[0]
    V = np.linalg.qr(rng.standard_normal((300, 3)))[0]
    M = U @ np.diag([1.0, 0.1, 1e-7]) @ V.T
    _, seen = leading_spectrum(as_matrix(in_chunks(M, 0), "allow"), 3)
    np.testing.assert_allclose(seen.sigma[:3], [1.0, 0.1, 1e-7], rtol=1e-6)


def test_extremes_are_those_of_all_inner_products():
    M = np.random.default_rng(0).random((8, 500))
    M[:, 100:130] = 0.0
    lines = np.random.default_rng(1).standard_normal((50, 8))
    (ends,) = as_matrix(in_chunks(M, 3)).scan(Extremes(np.eye(8), lines, 1e-14, hold=True))
    reach = lines @ M
    reach[:, 100:130] = np.nan
    np.testing.assert_array_equal(ends.indices[0], np.nanargmax(reach, axis=1))
    np.testing.assert_array_equal(ends.indices[1], np.nanargmin(reach, axis=1))
    np.testing.assert_array_equal(ends.held.indices, np.unique(ends.indices))
    np.testing.assert_array_equal(ends.held.columns, M[:, ends.held.indices])


def test_of_extremes_that_rounding_cannot_tell_apart_the_first_is_counted():
    def ends(top, number):
        return Ends(np.full((2, 1), top), np.full((2, 1), number), np.full((2, 1), top))

    extremes = Extremes(np.eye(1), np.ones((1, 1)), 1e-14)
    assert extremes.join(ends(1.0, 3), ends(1.0 + 1e-15, 7)).indices.tolist() == [[3], [3]]
    assert extremes.join(ends(1.0, 3), ends(1.0 + 1e-13, 7)).indices.tolist() == [[7], [7]]
    assert extremes.join(ends(1.0, 3), ends(1.0 - 1e-15, 7)).indices.tolist() == [[3], [3]]


# Screening ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("normalize", ["auto", "l1", "sqrt"])
def test_screening_finds_the_anchors_whatever_the_chunks(screened, seed, normalize):
    M, true = make_dirichlet(0.01, m=40, n=3000, r=6, random_state=seed)
    answers = [
        sepnmf.select(in_chunks(M, cut), 6, negative="clip", normalize=normalize) for cut in (seed, seed + 10)
    ]
    assert all(set(sel.anchors) == set(true) for sel in answers)
    np.testing.assert_allclose(answers[0].scores, answers[1].scores, rtol=1e-6, atol=1e-12)


def test_screening_says_what_was_screened_and_what_can_have_been_lost(screened):
    M, _ = make_dirichlet(0.05, m=40, n=3000, r=6, random_state=0)
    sel = sepnmf.select(da.from_array(M, chunks=(40, 700)), 6, negative="allow")
    history = {key: values[-1] for key, values in sel.history.items()}
    assert history["start"] == "all columns"
    assert history["columns"] == 3000 > sel.history["columns"][0]
    H = sepnmf.nnls(M[:, sel.anchors], M)
    np.testing.assert_allclose(history["residual"], np.linalg.norm(M - M[:, sel.anchors] @ H) ** 2, rtol=1e-8)
    tail = np.sum(np.linalg.svd(M, compute_uv=False)[6:] ** 2)
    np.testing.assert_allclose(history["least"], tail, rtol=1e-8)
    assert history["least"] <= history["residual"] <= history["before"]
    assert len({len(values) for values in sel.history.values()}) == 1


def test_screening_finds_a_column_that_the_sample_misses(screened):
    """A single pure column of a rare material, found through the extremes."""
    rng = np.random.default_rng(0)
    W = rng.random((30, 4))
    H = rng.dirichlet(np.ones(3), size=5000).T
    M = W[:, :3] @ H
    M[:, :3] = W[:, :3]
    M[:, 4321] = W[:, 3]
    sel = sepnmf.select(da.from_array(M, chunks=(30, 999)), 4)
    assert set(sel.anchors) == {0, 1, 2, 4321}


def test_polishing_exchanges_what_leaves_more_of_all_columns(screened, monkeypatch):
    """Anchors that the search got wrong on purpose are mended by the pass over all columns."""
    M, true = make_dirichlet(0.0, m=30, n=4000, r=5, random_state=2)
    right = _auto.choose_in_memory

    def wrong(columns, r, *options):
        sel = right(columns, r, *options)
        chosen = sel.anchors.copy()
        chosen[-1] = np.setdiff1d(np.arange(columns.shape[1]), chosen)[7]
        scores = np.zeros(columns.shape[1])
        scores[chosen] = np.arange(r, 0, -1)
        return sepnmf.Selection(anchors=chosen, scores=scores, method="auto", history=sel.history)

    monkeypatch.setattr(_auto, "choose_in_memory", wrong)
    sel = sepnmf.select(da.from_array(M, chunks=(30, 999)), 5)
    assert set(sel.anchors) == set(true)
    assert sel.history["exchanges"][-1] > 0


@pytest.mark.parametrize("method", ["fgnsr", "merit", "tuned_admm", "snpa", "nfindr", "preconditioned_spa"])
def test_other_methods_find_the_anchors_through_screening(screened, monkeypatch, method):
    monkeypatch.setattr(screening, "REPRESENTATIVES", 60)
    M, true = make_dirichlet(0.01, m=30, n=4000, r=4, random_state=1)
    M = np.maximum(M, 0)
    sel = sepnmf.select(in_chunks(M, 3), 4, method, **OPTIONS.get(method, {}))
    assert set(sel.anchors) == set(true)
    assert sel.X is None
    history = sel.history
    assert history["columns"][1] == 4000 > history["columns"][0]
    H = sepnmf.nnls(M[:, sel.anchors], M)
    residual = np.linalg.norm(M - M[:, sel.anchors] @ H) ** 2
    np.testing.assert_allclose(history["residual"][1], residual, rtol=1e-7)
    assert history["least"][1] <= residual <= history["total"][1] == pytest.approx(np.sum(M**2))
    assert np.argsort(-sel.scores)[:4].tolist() == sel.anchors.tolist()


def test_what_representatives_can_have_lost_is_a_bound(screened, monkeypatch):
    """The roots of the residuals of the columns held and of all columns differ by the root of "lost"."""
    monkeypatch.setattr(screening, "REPRESENTATIVES", 30)
    monkeypatch.setattr(screening, "ROUNDS", 0)
    for seed in range(3):
        M, _ = make_dirichlet(0.1, m=20, n=3000, r=4, random_state=seed)
        sel = sepnmf.select(in_chunks(M, seed), 4, "fgnsr", negative="clip")
        held, everything = np.sqrt(sel.history["residual"])
        assert 0 < abs(held - everything) <= np.sqrt(sel.history["lost"][1])


def test_the_number_of_anchors_can_be_asked_of_chunks():
    M, _ = make_dirichlet(0.02, m=30, n=800, r=5, random_state=0)
    assert len(sepnmf.select(in_chunks(M, 0), "auto", "spa", negative="allow").anchors) == 5


def test_refining_descends_on_all_columns():
    M, true = make_dirichlet(0.0, m=30, n=900, r=5, random_state=1)
    M = M * np.linspace(1, 4, 900)  # long mixtures mislead SPA
    plain = sepnmf.select(in_chunks(M, 1), 5, "spa")
    sel = sepnmf.select(in_chunks(M, 1), 5, "spa", refine=True)
    assert set(sel.anchors) == set(true) != set(plain.anchors)
    assert sel.refinement["after"] < sel.refinement["before"]


# Weights, fit, estimators ------------------------------------------------------------------------------


def test_weights_and_fit_of_chunks_are_those_of_data_in_memory(tmp_path, memmaps_in_chunks):
    M, anchors = make_dirichlet(0.1, m=20, n=300, r=4, random_state=0)
    D = in_chunks(M, 5)
    H = sepnmf.nnls(M[:, anchors], D)
    assert isinstance(H, da.Array)
    assert H.chunks[1] == D.chunks[1]
    expected = sepnmf.nnls(M[:, anchors], M)
    np.testing.assert_allclose(H.compute(), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        sepnmf.nnls(M[:, anchors], mapped(tmp_path, M)).compute(), expected, atol=1e-10
    )
    assert sepnmf.nnls(M[:, anchors], D, sum_to_one=True).compute().sum(axis=0) == pytest.approx(1)
    for data in (D, mapped(tmp_path, M)):
        assert sepnmf.metrics.rae(data, anchors) == pytest.approx(sepnmf.metrics.rae(M, anchors), abs=1e-9)
    left = unexplained(as_matrix(D), M[:, anchors], 3)
    E = np.square(M - M[:, anchors] @ H.compute()).sum(axis=0)
    np.testing.assert_array_equal(left.worst.indices, np.argsort(-E)[:3])
    np.testing.assert_allclose(left.worst.columns, M[:, left.worst.indices])
    with pytest.raises(ValueError, match="same number of rows, got 3 and 20"):
        sepnmf.nnls(np.eye(3), D)


def test_fit_of_sparse_blocks_and_of_huge_entries():
    M = sparse.random_array((20, 200), density=0.4, random_state=np.random.default_rng(1)).toarray()
    expected = sepnmf.metrics.rae(M, [1, 5, 9])
    blocks = da.from_array(M, chunks=(20, 60)).map_blocks(sparse.csc_array)
    assert sepnmf.metrics.rae(blocks, [1, 5, 9]) == pytest.approx(expected, abs=1e-9)
    for factor in (1e-200, 1e100):
        assert sepnmf.metrics.rae(in_chunks(factor * M, 1), [1, 5, 9]) == pytest.approx(expected, abs=1e-9)


def test_an_exact_fit_is_exact():
    M, anchors = make_dirichlet(0.0, m=20, n=500, r=4, random_state=0)
    assert 1 - sepnmf.metrics.rae(in_chunks(M, 0), anchors) < 1e-13


def test_angles_take_columns_of_dask_arrays():
    M, anchors = make_dirichlet(0.0, m=20, n=100, r=4, random_state=0)
    D = in_chunks(M, 1)
    found = sepnmf.select(D, 4, "spa").anchors
    assert sepnmf.metrics.mrsa(D[:, np.sort(found)], M[:, anchors]) == pytest.approx(0, abs=1e-5)
    assert sepnmf.metrics.sam(D[:, np.sort(found)], M[:, anchors]) == pytest.approx(0, abs=1e-5)


def test_float32_weights_stay_float32():
    D = da.from_array(np.random.default_rng(0).random((5, 40)).astype(np.float32), chunks=(5, 11))
    H = sepnmf.nnls(np.eye(5), D)
    assert H.dtype == H.compute().dtype == np.float32


@pytest.mark.parametrize("method", ["auto", "spa"])
def test_the_estimator_fits_and_transforms_dask_arrays(method):
    M, _ = make_dirichlet(0.02, m=20, n=400, r=4, random_state=0)
    X = np.maximum(M, 0).T
    D = da.from_array(X, chunks=(90, 7))
    expected = sepnmf.SeparableNMF(4, method=method, random_state=0).fit(X)
    model = sepnmf.SeparableNMF(4, method=method, random_state=0)
    W = model.fit_transform(D)
    assert isinstance(W, da.Array)
    np.testing.assert_array_equal(model.anchor_indices_, expected.anchor_indices_)
    np.testing.assert_array_equal(model.components_, expected.components_)
    np.testing.assert_allclose(W.compute(), expected.transform(X), atol=1e-10)
    np.testing.assert_allclose(model.transform(D[:50]).compute(), expected.transform(X[:50]), atol=1e-10)
    assert model.reconstruction_err_ == pytest.approx(expected.reconstruction_err_, rel=1e-6)
    assert model.n_features_in_ == 20
    with pytest.raises(ValueError, match="X has 19 features, but SeparableNMF is expecting 20"):
        model.transform(D[:, :19])
    with pytest.raises(ValueError, match=r"n_components=4 must be at most n_samples=3\."):
        sepnmf.SeparableNMF(4).fit(D[:3])


def test_the_estimator_on_chunks_refuses_what_it_refuses_in_memory():
    X = np.maximum(make_dirichlet(0.02, m=20, n=400, r=4, random_state=0)[0], 0).T
    D = da.from_array(X, chunks=(90, 20))
    model = sepnmf.SeparableNMF(4, method="spa").fit(D)
    with pytest.raises(ValueError, match="Negative values in data passed to SeparableNMF"):
        model.transform(-D).compute()
    with pytest.raises(ValueError, match="Negative values in data passed to SeparableNMF"):
        model.transform(-X)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        sepnmf.SeparableNMF(2).fit(da.ones(4))
    with pytest.raises(ValueError, match="negative entries"):
        sepnmf.SeparableNMF(4, method="spa").fit(-D)
    back = model.inverse_transform(model.transform(D))
    assert isinstance(back, da.Array)
    np.testing.assert_allclose(back.compute(), model.inverse_transform(model.transform(X)), atol=1e-9)
    assert sepnmf.SeparableNMF(4, method="spa").fit(D.astype(np.float32)).components_.dtype == np.float32


# Refusals ----------------------------------------------------------------------------------------------


def spoilt(value):
    M = np.random.default_rng(0).random((6, 50)) + 0.1
    M[4, 31] = M[2, 40] = value
    return M


@pytest.mark.parametrize("method", ["auto", *EXACT])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_entries_are_refused_in_the_words_of_data_in_memory(screened, method, value):
    M = spoilt(value)
    with pytest.raises(ValueError, match="entries, the first at") as expected:
        sepnmf.select(M, 2, "spa")
    for data in (M, M[:, ::-1]):
        with pytest.raises(ValueError, match="entries, the first at") as expected:
            sepnmf.select(data, 2, "spa")
        with pytest.raises(ValueError, match="entries, the first at") as found:
            sepnmf.select(da.from_array(data, chunks=(3, 9)), 2, method)
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("method", EXACT)
def test_clipping_does_not_hide_what_is_infinite(method):
    M = spoilt(-np.inf)
    with pytest.raises(ValueError, match=r"2 NaN or infinite entries, the first at \(2, 40\)"):
        sepnmf.select(da.from_array(M, chunks=(3, 9)), 2, method, negative="clip")
    blocks = da.from_array(M, chunks=(6, 9)).map_blocks(sparse.csc_array)
    with pytest.raises(ValueError, match="2 NaN or infinite entries"):
        sepnmf.select(blocks, 2, method, negative="clip")


@pytest.mark.parametrize("method", ["auto", *EXACT])
def test_empty_chunks_are_left_out(screened, method):
    """Boolean indexing makes them."""
    M, _ = make_dirichlet(0.02, m=10, n=300, r=3, random_state=0)
    M = np.maximum(M, 0)
    kept = np.arange(300) // 50 != 1
    D = da.from_array(M, chunks=(10, 50))[:, da.from_array(kept, chunks=50)]
    D.compute_chunk_sizes()
    assert 0 in D.chunks[1]
    options = OPTIONS.get(method, {})
    found = sepnmf.select(D, 3, method, **options)
    if method != "auto":
        np.testing.assert_array_equal(found.anchors, sepnmf.select(M[:, kept], 3, method, **options).anchors)
    weights = sepnmf.nnls(M[:, :3], D).compute()
    np.testing.assert_allclose(weights, sepnmf.nnls(M[:, :3], M[:, kept]), atol=1e-10)


@pytest.mark.parametrize("seed", range(12, 18))
@pytest.mark.parametrize("method", ["spa", "xray"])
def test_a_first_look_at_fewer_columns_than_anchors_does_no_harm(method, seed, monkeypatch):
    monkeypatch.setattr("sepnmf.matrix._chunked.PEEK", 2)
    M = np.random.default_rng(seed).random((5, 9))
    found = sepnmf.select(da.from_array(M, chunks=(5, 9)), 5, method)
    np.testing.assert_array_equal(found.anchors, sepnmf.select(M, 5, method).anchors)


def test_vca_knows_the_precision_of_float32():
    rng = np.random.default_rng(0)
    M = (rng.random((20, 2)) @ rng.random((2, 50))).astype(np.float32)
    with pytest.raises(ValueError, match="ask for fewer") as expected:
        sepnmf.vca(M, 4, random_state=0)
    with pytest.raises(ValueError, match="ask for fewer") as found:
        sepnmf.select(da.from_array(M, chunks=(20, 10)), 4, "vca", random_state=0)
    assert str(found.value) == str(expected.value)


def test_many_candidates_are_examined_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr("sepnmf.methods._working_set.WAITING", 100)
    monkeypatch.setattr("sepnmf.matrix._chunked.PEEKS", 1)
    M, _ = make_dirichlet(0.05, m=20, n=2000, r=5, random_state=0)
    M = np.maximum(M, 0)
    M[:, :300] = 0.0
    for method in ("spa", "xray"):
        found = sepnmf.select(da.from_array(M, chunks=(20, 600)), 5, method)
        np.testing.assert_array_equal(found.anchors, sepnmf.select(M, 5, method).anchors)


def test_weights_of_what_is_no_matrix_of_numbers_are_refused():
    with pytest.raises(ValueError, match="2 dimension"):
        sepnmf.nnls(np.eye(3), da.ones(3))
    with pytest.raises(ValueError, match="must hold real numbers"):
        sepnmf.nnls(np.eye(3), da.ones((3, 4), dtype=complex))
    M = np.ones((3, 40))
    M[2, 33] = np.nan
    with pytest.raises(ValueError, match=r"M has 1 NaN .* in a chunk, the first at \(2, 33\)"):
        sepnmf.nnls(np.eye(3), da.from_array(M, chunks=(2, 10))).compute()


def test_bad_entries_of_sparse_blocks_are_placed():
    M = sparse.csc_array(spoilt(np.nan))
    blocks = da.from_array(M.toarray(), chunks=(6, 9)).map_blocks(sparse.csc_array)
    with pytest.raises(ValueError, match=r"M has 2 NaN or infinite entries, the first at \(2, 40\)"):
        sepnmf.select(blocks, 2, "spa")


def test_a_fit_of_bad_entries_is_refused():
    with pytest.raises(ValueError, match="2 NaN or infinite entries"):
        sepnmf.metrics.rae(da.from_array(spoilt(np.nan), chunks=(3, 9)), [1, 2])


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (da.zeros((4, 0)), "M is empty"),
        (da.zeros((4, 9), chunks=3), "M is zero"),
        (da.ones((4, 9), dtype=complex), "must hold real numbers"),
        (da.ones(9), "2 dimension"),
        (da.ones((9, 4))[da.from_array(np.arange(9)) > 3].T, "unknown size"),
    ],
)
def test_arrays_that_cannot_be_chosen_from_are_refused(screened, array, words):
    for method in ("auto", "snpa", "fgnsr", *EXACT):
        with pytest.raises(ValueError, match=words):
            sepnmf.select(array, 2, method)


def test_a_rank_too_low_and_a_number_too_large_are_refused_as_in_memory():
    M = np.outer(np.arange(1.0, 5), np.linspace(1, 2, 30))
    for method in EXACT:
        options = OPTIONS.get(method, {})
        for r in (3, 31):
            with pytest.raises(ValueError, match=r"ask for fewer|number of columns, 30, got 31") as expected:
                sepnmf.select(M, r, method, **options)
            with pytest.raises(ValueError, match=r"ask for fewer|number of columns, 30, got 31") as found:
                sepnmf.select(da.from_array(M, chunks=(4, 7)), r, method, **options)
            assert str(found.value) == str(expected.value)


def test_zero_columns_and_unequal_chunks_do_no_harm():
    M, true = make_dirichlet(0.0, m=20, n=200, r=4, random_state=0)
    M[:, np.setdiff1d(np.arange(150, 180), true)] = 0.0
    D = da.from_array(M, chunks=(20, (1, 149, 30, 20)))
    for method in ("auto", *EXACT):
        assert set(sepnmf.select(D, 4, method, **OPTIONS.get(method, {})).anchors) == set(true)


def test_an_inspection_finds_what_is_there():
    M = np.random.default_rng(0).integers(-2, 5, (7, 60)).astype(float)
    entries, (least, most, zeros) = as_matrix(in_chunks(M, 3)).scan(Inspection(), Extent())
    assert (entries.n_negative, zeros, least, most) == ((M < 0).sum(), (M == 0).sum(), M.min(), M.max())
    assert entries.longest == pytest.approx(np.square(M).sum(axis=0).max())
    assert entries.energy == pytest.approx(np.square(M).sum())
    assert entries.n_nonzero == M.any(axis=0).sum()


def test_any_scheduler_of_dask_will_do():
    M, _ = make_dirichlet(0.05, m=20, n=400, r=4, random_state=0)
    expected = sepnmf.spa(M, 4, negative="allow").anchors
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            found = sepnmf.select(in_chunks(M, 0), 4, "spa", negative="allow")
        np.testing.assert_array_equal(found.anchors, expected)
