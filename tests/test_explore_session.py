"""A session of the explorer: what may be asked, acts, undo."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sepnmf import metrics, nnls, select
from sepnmf.explorer._session import BY_HAND, Session
from sepnmf.io import read

LINES, SAMPLES, BANDS, R = 12, 10, 20, 3


def mixtures(seed=0, n=LINES * SAMPLES, m=BANDS, r=R):
    """Columns that are mixtures of the first r."""
    rng = np.random.default_rng(seed)
    H = rng.dirichlet(np.full(r, 0.5), n).T
    H[:, :r] = np.eye(r)
    return rng.random((m, r)) @ H + 0.001 * rng.random((m, n))


@pytest.fixture
def table():
    M = mixtures()
    names = [f"s{j}" for j in range(M.shape[1])]
    return Session.open(pd.DataFrame(M, columns=names), R)


@pytest.fixture
def image(tmp_path):
    M = mixtures()
    path = tmp_path / "scene.npy"
    np.save(path, M.T.reshape(LINES, SAMPLES, BANDS))
    return Session.open(path, R)


def columns(session):
    return [anchor.column for anchor in session.anchors]


def test_a_session_opens_with_the_anchors_and_the_fit_of_the_method(image):
    M = mixtures()
    assert image.kind == "image"
    assert image.shape == (BANDS, LINES * SAMPLES)
    assert image.image_shape == (LINES, SAMPLES)
    assert set(columns(image)) == set(select(M, R).anchors.tolist())
    assert image.fit == pytest.approx(metrics.rae(M, columns(image)), abs=1e-7)


def test_weights_and_maps_are_those_of_nnls(image):
    M = mixtures()
    H = nnls(M[:, columns(image)], M)
    np.testing.assert_allclose(image.weights(), H, atol=1e-9)
    np.testing.assert_allclose(image.maps(), H.reshape(R, LINES, SAMPLES), atol=1e-9)


def test_the_number_of_anchors_is_estimated():
    M = mixtures()
    assert Session.open(M).r == R


def test_pictures_of_the_scene(image):
    M = mixtures()
    W = M[:, columns(image)]
    H = nnls(W, M)
    residual = np.linalg.norm(M - W @ H, axis=0) / np.linalg.norm(M, axis=0)
    found = image.overview()
    np.testing.assert_allclose(found.grey, M.mean(axis=0).reshape(LINES, SAMPLES))
    np.testing.assert_allclose(found.residual, residual.reshape(LINES, SAMPLES), atol=1e-7)
    np.testing.assert_array_equal(found.dominant, H.argmax(axis=0).reshape(LINES, SAMPLES))
    assert found.rgb.shape == (LINES, SAMPLES, 3)
    assert found.rgb.min() == 0
    assert found.rgb.max() == 1


def test_pixels_in_the_order_of_matlab(tmp_path):
    M = mixtures()
    path = tmp_path / "scene.npy"
    np.save(path, M)
    session = Session.open(path, R, shape=(LINES, SAMPLES), order="F")
    grey = M.mean(axis=0).reshape(LINES, SAMPLES, order="F")
    np.testing.assert_allclose(session.overview().grey, grey)
    mask = np.ones((LINES, SAMPLES), bool)
    mask[5, 7] = False
    session.use(mask)
    assert np.isnan(session.weights()[0]).nonzero()[0].tolist() == [5 + 7 * LINES]


def test_a_spectrum_and_its_reconstruction(image):
    M = mixtures()
    W = M[:, columns(image)]
    spectrum, weights = image.reconstruction(17)
    np.testing.assert_allclose(image.spectrum(17), M[:, 17])
    np.testing.assert_allclose(weights, nnls(W, M[:, [17]])[:, 0], atol=1e-12)
    np.testing.assert_allclose(spectrum, W @ weights)


@pytest.mark.parametrize("m", [1, 2, BANDS, 200])
@pytest.mark.parametrize("container", [np.asarray, sparse.csc_array])
def test_the_plane_has_the_two_leading_directions(m, container):
    M = np.random.default_rng(0).random((m, 120))
    session = Session.open(container(M), 1, method="spa")
    used = np.arange(120) != 7
    session.use(used | (np.arange(120) == session.anchors[0].column))
    used = session.mask
    centred = M[:, used] - M[:, used].mean(axis=1, keepdims=True)
    _, s, Vt = np.linalg.svd(centred, full_matrices=False)
    expected = np.zeros((2, used.sum()))
    expected[: min(2, m)] = (s[:, None] * Vt)[:2]
    np.testing.assert_allclose(np.abs(session.plane()[:, used]), np.abs(expected), atol=1e-9)
    assert np.isnan(session.plane()[:, ~used]).all()


def test_columns_are_listed_by_score_and_found_by_name(table):
    rows = table.table()
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)
    assert len(rows) == LINES * SAMPLES
    assert {row.column for row in table.table("S11")} == {11, *range(110, 120)}
    assert len(table.table(limit=7)) == 7
    H = nnls(mixtures()[:, columns(table)], mixtures())
    assert all(row.dominant == H[:, row.column].argmax() for row in rows)


def test_top_rows_are_those_with_the_largest_entries():
    M = np.array([[5, 0, 0, 1], [0, 4, 0, 1], [0, 0, 3, 1], [0, 1, 0, 0], [0, 0, 0, 0]])
    frame = pd.DataFrame(M, index=["goal", "vote", "bank", "law", "the"], columns=list("abcd"))
    session = Session.open(frame, 3, method="spa")
    assert session.kind == "text"
    assert session.row_axis == (("goal", "vote", "bank", "law", "the"), "row")
    position = columns(session).index(1)
    assert session.top_rows(position, 2) == ["vote", "law"]


def test_sparse_counts_are_text():
    counts = sparse.random_array((30, 40), density=0.2, rng=np.random.default_rng(0))
    counts.data = np.ceil(9 * counts.data)
    assert Session.open(counts, 3, method="spa").kind == "text"
    assert Session.open(mixtures(), 3, method="spa").kind == "table"


def test_the_fit_of_numbers_of_anchors_goes_on_where_it_was_stopped(table):
    assert [r for r, _ in table.fit_by_r(5, lambda done, total: done == 2)] == [1, 2]
    found = table.fit_by_r(3)
    assert [r for r, _ in found] == [1, 2, 3]
    fits = [fit for _, fit in found]
    assert fits == sorted(fits)
    assert fits[-1] == pytest.approx(table.fit, abs=1e-3)


def test_every_act_can_be_undone_and_done_again(image):
    mask = np.ones((LINES, SAMPLES), bool)
    mask[5:, 5:] = False
    acts = [
        lambda: image.add(50),
        lambda: image.replace(1, 51),
        lambda: image.drop(0),
        lambda: image.select_again(3, "spa"),
        lambda: image.exclude(51),
        lambda: image.lock(0),
        lambda: image.lock(0, False),
        lambda: image.rename(0, "soil"),
        lambda: image.recolour(0, "#123456"),
        lambda: image.use(mask),
    ]
    states, changes = [], []
    for act in acts:
        states.append((image.anchors, image.fit, image.status, image.method, image.excluded, image.weights()))
        changes.append(act())
        assert changes[-1].fit_before == states[-1][1]
        assert changes[-1].fit_after == image.fit
    last = image.anchors
    for state in reversed(states):
        assert image.can_undo
        image.undo()
        assert (image.anchors, image.fit, image.status, image.method, image.excluded) == state[:-1]
        np.testing.assert_array_equal(image.weights(), state[-1])
    assert not image.can_undo
    for _ in acts:
        image.redo()
    assert image.anchors == last
    assert not image.can_redo
    with pytest.raises(ValueError, match="nothing to be done again"):
        image.redo()


def test_a_new_act_ends_what_can_be_done_again(table):
    table.add(50)
    table.undo()
    table.add(51)
    assert not table.can_redo


def test_acts_on_anchors(table):
    first = columns(table)
    table.add(50)
    assert columns(table) == [*first, 50]
    assert table.status == BY_HAND
    assert table.anchors[3].name == "s50"
    colour = table.anchors[1].colour
    table.replace(1, 60)
    assert columns(table) == [first[0], 60, first[2], 50]
    assert table.anchors[1].colour == colour
    table.drop(2)
    assert columns(table) == [first[0], 60, 50]
    table.rename(0, "  wet <b>soil</b> ")
    assert table.anchors[0].name == "wet <b>soil</b>"
    M = mixtures()
    np.testing.assert_allclose(table.weights(), nnls(M[:, columns(table)], M), atol=1e-9)


def test_anchors_have_different_colours(table):
    table.select_again(8, "spa")
    assert len({anchor.colour for anchor in table.anchors}) == 8


def test_locked_anchors_stay_and_excluded_columns_are_not_selected(table):
    found = columns(table)
    table.add(50)
    table.lock(3)
    table.rename(3, "oil")
    table.exclude(found[0])
    change = table.select_again(4, "spa")
    assert columns(table)[0] == 50
    assert table.anchors[0].name == "oil"
    assert table.anchors[0].locked
    assert found[0] not in columns(table)
    assert table.r == 4
    assert change.text == "4 anchors selected by spa"
    expected = select(mixtures(), 4, "spa", include=[50], exclude=[found[0]]).anchors
    assert set(columns(table)) == set(expected.tolist())
    with pytest.raises(ValueError, match="r must be an integer of at least 1"):
        table.select_again(0)


def test_an_excluded_column_that_becomes_an_anchor_is_excluded_no_longer(table):
    table.exclude(50)
    assert table.excluded == (50,)
    table.add(50)
    assert table.excluded == ()
    table.lock(3)
    table.select_again(4, "spa")
    assert 50 in columns(table)


def test_excluded_columns_that_a_mask_leaves_out_do_no_harm(table):
    table.exclude(50)
    table.use(np.arange(LINES * SAMPLES) != 50)
    table.select_again(3, "spa")
    assert 50 not in columns(table)


def test_a_method_that_knows_no_anchors_says_so(table):
    table.lock(0)
    before = table.anchors
    with pytest.raises(ValueError, match="include"):
        table.select_again(R, "fgnsr")
    assert table.anchors == before


def test_anchors_that_are_found_again_keep_their_names(table):
    table.rename(1, "water")
    name = {anchor.column: anchor.name for anchor in table.anchors}
    table.select_again(R)
    assert {anchor.column: anchor.name for anchor in table.anchors} == name


def test_a_mask_leaves_columns_out_of_the_fit_and_of_the_selection(image):
    M = mixtures()
    lost = columns(image)[0]
    mask = np.ones(LINES * SAMPLES, bool)
    mask[lost] = mask[30:40] = False
    image.use(mask)
    assert lost not in columns(image)
    assert image.fit == pytest.approx(
        metrics.rae(M[:, mask], np.searchsorted(mask.nonzero()[0], columns(image)))
    )
    np.testing.assert_array_equal(image.mask.ravel(), mask)
    np.testing.assert_array_equal(np.isnan(image.weights()).any(axis=0), ~mask)
    image.select_again(R, "spa")
    assert columns(image) == select(M, R, "spa", mask=mask).anchors.tolist()
    image.use(None)
    assert image.mask.all()


def test_columns_without_data_stay_left_out():
    M = mixtures()
    M[3, 7] = np.nan
    session = Session.open(np.ma.masked_invalid(M), R)
    assert np.isnan(session.weights()[:, 7]).all()
    session.use(None)
    assert not session.mask[7]
    with pytest.raises(ValueError, match="column 7 is left out by the mask"):
        session.add(7)
    with pytest.raises(ValueError, match="Column 7 is left out by the mask"):
        session.spectrum(7)


def test_an_act_that_is_refused_changes_nothing(table):
    before, column = table.anchors, columns(table)[0]
    refused = {
        "is an anchor already": lambda: table.add(column),
        "column must be less than the number of columns, 120, got 120": lambda: table.add(120),
        "column must be an integer of at least 0, got -1": lambda: table.spectrum(-1),
        "position must be less than the number of anchors, 3, got 3": lambda: table.drop(3),
        "A name must have 1 to 80 printable characters": lambda: table.rename(0, "  "),
        "Another anchor is called": lambda: table.rename(0, before[1].name),
        "A colour is # and six hexadecimal digits": lambda: table.recolour(0, "red"),
        "mask must have one value per column, 120, got shape": lambda: table.use(np.ones(5)),
        "leaves out all anchors": lambda: table.use(np.zeros(120)),
        "r must lie between": lambda: table.select_again(121),
        "method must be one of": lambda: table.select_again(3, "magic"),
        "nothing to be undone": table.undo,
    }
    for sentence, act in refused.items():
        with pytest.raises(ValueError, match=sentence):
            act()
    assert table.anchors == before
    table.drop(0)
    table.drop(0)
    with pytest.raises(ValueError, match="is the only anchor"):
        table.drop(0)
    with pytest.raises(ValueError, match="is the only anchor"):
        table.exclude(columns(table)[0])


def test_a_zero_column_cannot_become_an_anchor():
    M = mixtures()
    M[:, 40] = 0
    session = Session.open(M, R)
    with pytest.raises(ValueError, match="column 40 is zero and has no direction"):
        session.add(40)
    assert (session.weights()[:, 40] == 0).all()


def test_options_of_files_are_refused_for_data_in_memory():
    with pytest.raises(ValueError, match="shape is for files"):
        Session.open(mixtures(), R, shape=(LINES, SAMPLES))
    with pytest.raises(ValueError, match="axis is for files"):
        Session.open(mixtures(), R, axis="rows")


def test_data_that_were_read_and_sparse_pixels_are_explored(tmp_path):
    M = np.where(mixtures() > 0.3, mixtures(), 0)
    sparse.save_npz(tmp_path / "pixels.npz", sparse.csc_array(M))
    data = read(tmp_path / "pixels.npz", shape=(LINES, SAMPLES), order="C")
    session = Session.open(data, R, method="spa")
    assert session.image_shape == (LINES, SAMPLES)
    np.testing.assert_allclose(session.overview().grey, M.mean(axis=0).reshape(LINES, SAMPLES))
    assert session.overview().rgb.shape == (LINES, SAMPLES, 3)
    with pytest.raises(ValueError, match="A Matrix cannot be explored"):
        Session.open(data.matrix(), R)


def test_progress_is_told_and_stops_a_method():
    told = []
    session = Session.open(mixtures(), R, on_progress=lambda done, most: told.append(done))
    assert told
    session.select_again(R, "auto", on_progress=lambda done, most: True)
    assert session.status == "stopped"
    assert session.r == R


def test_the_data_are_not_changed():
    M = mixtures()
    before = M.copy()
    session = Session.open(M, R)
    session.add(50)
    session.plane()
    np.testing.assert_array_equal(M, before)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_numbers_of_any_size(factor):
    session = Session.open(mixtures() * factor, R)
    assert session.fit == pytest.approx(Session.open(mixtures(), R).fit, abs=1e-7)
    np.testing.assert_allclose(session.spectrum(5), mixtures()[:, 5] * factor)
    np.testing.assert_allclose(
        session.weights().max(), nnls(mixtures()[:, columns(session)], mixtures()).max()
    )
