"""Weights of anchors that change one at a time, and large scenes, of which a part is held."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import optimize, sparse

from sepnmf.explorer import _scene
from sepnmf.explorer._session import Session
from sepnmf.explorer._weights import CONDITION, KEPT, Weights, condition
from sepnmf.least_squares import BITS, _solvers
from sepnmf.matrix import as_matrix


def noisy_mixtures(m=15, n=60, r=4, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.dirichlet(np.full(r, 0.5), n).T
    H[:, :r] = np.eye(r)
    return rng.random((m, r)) @ H + 0.1 * rng.random((m, n))


def explained(M, columns):
    weights = Weights(as_matrix(M, "allow").in_memory())
    dense = M.toarray() if sparse.issparse(M) else M
    return weights.of({j: dense[:, j] for j in columns})


def assert_as_scipy(found, M, columns, atol=1e-9):
    answers = [optimize.nnls(M[:, columns], column) for column in M.T]
    np.testing.assert_allclose(found.weights, np.stack([h for h, _ in answers], axis=1), atol=atol)
    misfits = np.array([misfit for _, misfit in answers])
    squares = (M**2).sum(axis=0)
    np.testing.assert_allclose(np.sqrt(found.misfits), misfits, atol=1e-7 * np.sqrt(squares.max()))
    used = np.arange(M.shape[1]) % 3 > 0
    fit = 1 - np.sqrt((misfits[used] ** 2).sum() / squares[used].sum())
    assert found.fit(used) == pytest.approx(fit, abs=1e-8)
    np.testing.assert_allclose(found.relative(), misfits / np.sqrt(squares), atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_those_of_scipy(seed):
    M = noisy_mixtures(seed=seed)
    assert_as_scipy(explained(M, [0, 1, 2, 3]), M, [0, 1, 2, 3])
    assert_as_scipy(explained(M, [7]), M, [7])


def test_weights_of_sparse_columns():
    M = noisy_mixtures()
    M[M < 0.4] = 0
    assert_as_scipy(explained(sparse.csc_array(M), [0, 1, 5]), M, [0, 1, 5])


def test_only_the_products_of_new_anchors_are_computed(monkeypatch):
    M = noisy_mixtures()
    weights = Weights(as_matrix(M, "allow").in_memory())
    computed = []
    inner = type(weights.matrix).inner
    monkeypatch.setattr(
        type(weights.matrix), "inner", lambda self, other: computed.append(other) or inner(self, other)
    )
    for columns, new in ([0, 1, 2], [0, 1, 2]), ([0, 9, 2], [9]), ([2, 0], []), ([0, 1, 2, 3], [3]):
        computed.clear()
        found = weights.of({j: M[:, j] for j in columns})
        assert [int(np.flatnonzero((entries == M.T).all(axis=1))[0]) for entries in computed] == new
        assert_as_scipy(found, M, columns)


def test_products_of_a_limited_number_of_anchors_are_kept():
    M = noisy_mixtures(n=2 * KEPT)
    weights = Weights(as_matrix(M, "allow").in_memory())
    for j in range(2 * KEPT - 1):
        weights.of({0: M[:, 0], j + 1: M[:, j + 1]})
    assert len(weights.products) == KEPT
    assert 0 in weights.products  # used last


def test_nearly_dependent_anchors_have_accurate_weights():
    M = noisy_mixtures()
    M[:, 1] = M[:, 0] + 1e-9 * M[:, 1]
    assert condition(M[:, [0, 1, 2]]) > CONDITION
    found = explained(M, [0, 1, 2])
    np.testing.assert_allclose(
        M[:, [0, 1, 2]] @ found.weights,
        np.stack([M[:, [0, 1, 2]] @ optimize.nnls(M[:, [0, 1, 2]], column)[0] for column in M.T], axis=1),
        atol=1e-9,
    )


def test_anchors_of_which_one_is_zero():
    M = noisy_mixtures()
    M[:, 1] = 0
    found = explained(M, [0, 1])
    np.testing.assert_array_equal(found.weights[1], 0)
    np.testing.assert_allclose(found.weights[0], explained(M, [0]).weights[0])
    assert np.isnan(found.relative()[1])


def test_more_anchors_than_rows_and_more_than_a_passive_set_has_bits():
    M = np.random.default_rng(0).random((5, 100))
    found = explained(M, list(range(8)))
    np.testing.assert_allclose(found.misfits, [optimize.nnls(M[:, :8], c)[1] ** 2 for c in M.T], atol=1e-12)
    tall = np.random.default_rng(0).random((BITS + 10, BITS + 8))
    assert_as_scipy(explained(tall, list(range(BITS + 3))), tall, list(range(BITS + 3)), atol=1e-8)


def test_columns_that_pivoting_leaves_are_solved_too(monkeypatch):
    monkeypatch.setattr(_solvers, "ROUNDS", 1)
    M = noisy_mixtures()
    assert_as_scipy(explained(M, [0, 1, 2, 3]), M, [0, 1, 2, 3])


def test_the_fit_of_zero_columns_is_not_a_number():
    M = noisy_mixtures()
    M[:, 5] = 0
    assert np.isnan(explained(M, [0]).fit(np.arange(60) == 5))


# Large scenes ------------------------------------------------------------------------------------------


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A scene of 40 × 50 pixels of which 10 × 13 may be held, and its pixels."""
    monkeypatch.setattr(_scene, "SMALL", 15 * 130)
    M = noisy_mixtures(n=2000)
    path = tmp_path / "scene.npy"
    np.save(path, M.T.reshape(40, 50, 15))
    return path, M


@pytest.mark.parametrize("options", [{}, {"in_parts": True}])
def test_of_a_large_scene_some_lines_and_samples_are_held(scene, options):
    path, M = scene
    session = Session.open(path, 4, method="spa", **options)
    cube = M.reshape(15, 40, 50)[:, ::4, ::4]
    assert session.shown.step == 4
    assert session.source.held.shape == (15, 130)
    np.testing.assert_allclose(session.overview().grey, cube.mean(axis=0))
    assert session.maps().shape == (4, 10, 13)
    assert all(anchor.column // 50 % 4 == 0 and anchor.column % 50 % 4 == 0 for anchor in session.anchors)
    assert session.notes[-1].startswith("Every 4th line and sample is shown")


@pytest.mark.parametrize("options", [{}, {"in_parts": True}])
def test_any_pixel_of_a_large_scene_can_become_an_anchor(scene, options):
    path, M = scene
    session = Session.open(path, 3, method="spa", **options)
    np.testing.assert_allclose(session.spectrum(1777), M[:, 1777])
    session.add(1777)
    assert session.anchors[-1].name == "line 35, sample 27"
    columns = [anchor.column for anchor in session.anchors]
    shown = M.reshape(15, 40, 50)[:, ::4, ::4].reshape(15, -1)
    expected = [optimize.nnls(M[:, columns], column)[0] for column in shown.T]
    np.testing.assert_allclose(session.weights(), np.stack(expected, axis=1), atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"in_parts": True}])
def test_a_locked_pixel_that_is_not_held_stays(scene, options):
    path, _ = scene
    session = Session.open(path, 3, method="spa", **options)
    session.add(1777)
    session.lock(3)
    mask = np.ones((40, 50), bool)
    mask[:5] = False
    session.use(mask)
    session.select_again(4, "spa")
    assert session.r == 4
    assert session.anchors[0].column == 1777
    assert all(anchor.column >= 250 for anchor in session.anchors)
    assert len(session._state.scores) == session.source.held.shape[1]


def test_a_mask_drawn_on_a_part_of_the_pixels_is_one_of_all(scene):
    path, _ = scene
    session = Session.open(path, 3, method="spa")
    mask = np.ones((10, 13), bool)
    mask[0, 12] = mask[9, 0] = False
    session.use(mask)
    full = np.ones((40, 50), bool)
    full[:4, 48:] = full[36:, :4] = False
    np.testing.assert_array_equal(session._state.used.reshape(40, 50), full)
    np.testing.assert_array_equal(session.mask, mask)


def test_a_large_table_is_held_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(_scene, "SMALL", 15 * 130)
    np.save(tmp_path / "table.npy", noisy_mixtures(n=2000))
    session = Session.open(tmp_path / "table.npy", 3, method="spa", in_parts=True)
    assert session.source.held.shape == (15, 125)
    assert session.notes[-1].startswith("Every 16th column is shown")


def test_a_large_scene_is_opened_in_little_memory(tmp_path):
    lines, samples, bands = 1000, 500, 200
    path = tmp_path / "scene.npy"
    pixels = noisy_mixtures(bands, samples).T.astype(np.float32)
    with path.open("wb") as stream:
        header = {"descr": "<f4", "fortran_order": False, "shape": (lines, samples, bands)}
        np.lib.format.write_array_header_1_0(stream, header)
        for _ in range(lines):
            stream.write(pixels.tobytes())
    assert path.stat().st_size > 400e6
    code = (
        "import sys\n"
        "import dask.array\n"
        "from sepnmf.explorer import _scene\n"
        "from sepnmf.explorer._session import Session\n"
        "_scene.SMALL = 1_000_000\n"
        "def peak():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM')) / 1e3\n"
        "start = peak()\n"
        "session = Session.open(sys.argv[1], 3, method='spa', memory='700MB')\n"
        "session.add(12_345)\n"
        "session.maps()\n"
        "print(peak() - start)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
    assert float(run.stdout) < 200, "MB, of a scene of 400 MB"
