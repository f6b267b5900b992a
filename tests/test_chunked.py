"""Dask arrays: the answers of data in memory, whatever the chunks, and the same refusals."""

import dask.array as da
import numpy as np
import pytest

import sepnmf
from sepnmf.chunked import Chunks, screening, survey, unexplained
from sepnmf.chunked.passes import Ranked
from sepnmf.datasets import make_dirichlet


def random_chunks(rng, size):
    """Cuts of 0 … size at random places."""
    cuts = np.sort(rng.choice(np.arange(1, size), min(rng.integers(0, 9), size - 1), replace=False))
    return tuple(np.diff([0, *cuts, size]).tolist())


def in_chunks(M, seed):
    rng = np.random.default_rng(seed)
    return da.from_array(M, chunks=(random_chunks(rng, M.shape[0]), random_chunks(rng, M.shape[1])))


@pytest.fixture
def screened(monkeypatch):
    """Screening also where the data would be loaded."""
    monkeypatch.setattr(screening, "SMALL", 0)
    monkeypatch.setattr(screening, "SAMPLE", 200)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("normalize", ["none", "l1"])
def test_spa_chooses_as_in_memory_whatever_the_chunks(seed, normalize):
    M, _ = make_dirichlet(0.05, m=30, n=400, r=8, random_state=seed)
    M = np.maximum(M, 0)
    expected = sepnmf.spa(M, 8, normalize=normalize)
    found = sepnmf.select(in_chunks(M, seed), 8, "spa", normalize=normalize)
    np.testing.assert_array_equal(found.anchors, expected.anchors)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.uint16, np.int8, bool])
def test_spa_takes_every_real_type(dtype):
    rng = np.random.default_rng(0)
    M = (rng.random((12, 90)) * 100 > 50 if dtype is bool else rng.random((12, 90)) * 100).astype(dtype)
    expected = sepnmf.spa(M.astype(np.float64), 4).anchors
    np.testing.assert_array_equal(sepnmf.select(in_chunks(M, 1), 4, "spa").anchors, expected)


def test_spa_breaks_ties_between_equal_columns_by_index_and_never_repeats_one():
    base = np.random.default_rng(0).random((6, 5))
    M = np.tile(base, 40)
    found = sepnmf.select(da.from_array(M, chunks=(6, 7)), 5, "spa")
    np.testing.assert_array_equal(found.anchors, sepnmf.spa(M, 5).anchors)
    assert set(found.anchors) <= set(range(5))


def test_spa_needs_fewer_passes_than_anchors():
    M, _ = make_dirichlet(0.01, m=40, n=3000, r=20, random_state=0)
    found = sepnmf.select(da.from_array(M, chunks=(40, 500)), 20, "spa", negative="allow")
    assert len(found.history["pass"]) < 20
    assert found.history["anchors"][0] == 0


def test_spa_goes_back_to_the_data_when_those_left_behind_may_be_farther(monkeypatch):
    """With one column kept a pass, there are as many passes as anchors, and the same anchors."""
    M, _ = make_dirichlet(0.05, m=30, n=400, r=6, random_state=3)
    monkeypatch.setattr("sepnmf.chunked.spa.KEPT", 1)
    found = sepnmf.select(in_chunks(M, 0), 6, "spa", negative="allow")
    np.testing.assert_array_equal(found.anchors, sepnmf.spa(M, 6, negative="allow").anchors)
    assert len(found.history["pass"]) == 6


def test_the_columns_kept_are_the_first_of_equals():
    numbers, values = np.array([5, 3, 9, 1]), np.array([2.0, 7.0, 7.0, 2.0])
    top = Ranked.of(numbers, values, np.eye(4), 3)
    np.testing.assert_array_equal(top.numbers, [3, 9, 1])
    assert top.next_value == 2.0
    np.testing.assert_array_equal(top.columns.argmax(axis=0), [1, 2, 3])


@pytest.mark.parametrize("seed", range(3))
def test_auto_is_that_of_data_in_memory_while_they_are_small(seed):
    M, _ = make_dirichlet(0.05, m=30, n=150, r=5, random_state=seed)
    expected = sepnmf.auto(M, 5, negative="allow")
    found = sepnmf.select(in_chunks(M, seed), 5, negative="allow")
    np.testing.assert_array_equal(found.anchors, expected.anchors)
    np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("seed", range(3))
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


def test_screening_finds_a_column_that_the_sample_misses(screened, monkeypatch):
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
    right = screening.auto

    def wrong(columns, r, **options):
        sel = right(columns, r, **options)
        chosen = sel.anchors.copy()
        chosen[-1] = np.setdiff1d(np.arange(columns.shape[1]), chosen)[7]
        scores = np.zeros(columns.shape[1])
        scores[chosen] = np.arange(r, 0, -1)
        return sepnmf.Selection(anchors=chosen, scores=scores, method="auto", history=sel.history)

    monkeypatch.setattr(screening, "auto", wrong)
    sel = sepnmf.select(da.from_array(M, chunks=(30, 999)), 5)
    assert set(sel.anchors) == set(true)
    assert sel.history["exchanges"][-1] > 0


def test_weights_and_fit_of_chunks_are_those_of_data_in_memory():
    M, anchors = make_dirichlet(0.1, m=20, n=300, r=4, random_state=0)
    D = in_chunks(M, 5)
    H = sepnmf.nnls(M[:, anchors], D)
    assert isinstance(H, da.Array)
    assert H.chunks[1] == D.chunks[1]
    np.testing.assert_allclose(H.compute(), sepnmf.nnls(M[:, anchors], M), rtol=1e-10, atol=1e-12)
    assert sepnmf.nnls(M[:, anchors], D, sum_to_one=True).compute().sum(axis=0) == pytest.approx(1)
    assert sepnmf.metrics.rae(D, anchors) == pytest.approx(sepnmf.metrics.rae(M, anchors), abs=1e-9)
    left = unexplained(D, M[:, anchors], 3)
    E = np.square(M - M[:, anchors] @ H.compute()).sum(axis=0)
    np.testing.assert_array_equal(left.worst.numbers, np.argsort(-E)[:3])
    with pytest.raises(ValueError, match="same number of rows, got 3 and 20"):
        sepnmf.nnls(np.eye(3), D)


def test_float32_weights_stay_float32():
    D = da.from_array(np.random.default_rng(0).random((5, 40)).astype(np.float32), chunks=(5, 11))
    H = sepnmf.nnls(np.eye(5), D)
    assert H.dtype == H.compute().dtype == np.float32


def spoilt(value):
    M = np.random.default_rng(0).random((6, 50)) + 0.1
    M[4, 31] = M[2, 40] = value
    return M


@pytest.mark.parametrize("method", ["auto", "spa"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_entries_are_refused_in_the_words_of_data_in_memory(screened, method, value):
    M = spoilt(value)
    with pytest.raises(ValueError, match="entries, the first at") as expected:
        sepnmf.select(M, 2, "spa")
    with pytest.raises(ValueError, match="entries, the first at") as found:
        sepnmf.select(da.from_array(M, chunks=(3, 9)), 2, method)
    assert str(found.value) == str(expected.value)


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
    for method in ("auto", "spa"):
        with pytest.raises(ValueError, match=words):
            sepnmf.select(array, 2, method)


def test_a_rank_too_low_and_a_number_too_large_are_refused():
    D = da.from_array(np.outer(np.arange(1.0, 5), np.ones(30)), chunks=(4, 7))
    with pytest.raises(ValueError, match="numerical rank 1, so SPA can find at most 1"):
        sepnmf.select(D, 3, "spa")
    with pytest.raises(ValueError, match="between 1 and the number of columns, 30, got 31"):
        sepnmf.select(D, 31, "spa")


@pytest.mark.parametrize("words", [{"method": "admm"}, {"refine": True}, {"r": "auto"}])
def test_what_needs_all_data_in_memory_says_so(words):
    D = da.ones((4, 9), chunks=3)
    with pytest.raises(ValueError, match=r"A Dask array is not held in memory: .* or pass M.compute\(\)"):
        sepnmf.select(D, **({"r": 2} | words))


def test_zero_columns_and_unequal_chunks_do_no_harm():
    M, true = make_dirichlet(0.0, m=20, n=200, r=4, random_state=0)
    M[:, np.setdiff1d(np.arange(150, 180), true)] = 0.0
    D = da.from_array(M, chunks=(20, (1, 149, 30, 20)))
    for method in ("spa", "auto"):
        assert set(sepnmf.select(D, 4, method).anchors) == set(true)


def test_a_survey_counts_what_is_there():
    M = np.random.default_rng(0).integers(-2, 5, (7, 60)).astype(float)
    seen = survey(Chunks(in_chunks(M, 3)))
    assert (seen.n_negative, seen.n_zeros, seen.least, seen.most) == (
        (M < 0).sum(),
        (M == 0).sum(),
        M.min(),
        M.max(),
    )
    np.testing.assert_allclose(seen.gram, M @ M.T)


def test_only_the_chunks_asked_for_are_read():
    read = []

    def remember(block, block_info=None):
        read.append(block_info[0]["chunk-location"][1])
        return block

    D = da.ones((3, 40), chunks=(3, 10)).map_blocks(remember, dtype=float, meta=np.empty((0, 0)))
    found = Chunks(D).take(np.array([39, 0, 31]))
    assert found.shape == (3, 3)
    assert set(read) == {0, 3}
