"""What is shown beside anchors: fit, doubts, summary, and maps, with nodata left out."""

import re
from dataclasses import replace
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from scipy import optimize, sparse

import sepnmf
from sepnmf import _overview as overview
from sepnmf.io import read
from sepnmf.io._data import Data
from sepnmf.matrix import as_matrix
from sepnmf.selection import Selection

BANDS, LINES, SAMPLES = 12, 7, 9
NODATA = 1e4


def fitted(W, M, sum_to_one):
    """W times its nonnegative weights, column by column; Σh = 1 by a row of large numbers."""
    level = 1e6 * np.abs(M).max() if sum_to_one else 0.0
    A, B = (np.vstack([X, np.full(X.shape[1], level)]) for X in (W, M))
    return W @ np.column_stack([optimize.nnls(A, column)[0] for column in B.T])


@pytest.fixture
def pixels():
    """Pixels that three of them explain up to noise, one of which is zero."""
    rng = np.random.default_rng(0)
    W = rng.random((BANDS, 3))
    M = np.hstack([W, W @ rng.dirichlet(np.ones(3), LINES * SAMPLES - 4).T, np.zeros((BANDS, 1))])
    M[:, 3:-1] += 0.1 * rng.random((BANDS, LINES * SAMPLES - 4))
    M[:, 3:-1] *= rng.uniform(0.5, 2.0, LINES * SAMPLES - 4)
    return M


def containers(M):
    return {"dense": M, "sparse": sparse.csc_array(M), "chunks": da.from_array(M, chunks=(BANDS, 17))}


@pytest.mark.parametrize("sum_to_one", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "chunks"])
def test_the_fit_is_that_of_the_weights_asked_for(pixels, kind, sum_to_one):
    W = pixels[:, :3]
    expected = 1 - np.linalg.norm(pixels - fitted(W, pixels, sum_to_one)) / np.linalg.norm(pixels)
    found = overview.fit_of(as_matrix(containers(pixels)[kind]), W, sum_to_one)
    assert found == pytest.approx(expected, abs=1e-8)
    assert (found < overview.fit_of(as_matrix(pixels), W) - 0.01) == sum_to_one


@pytest.mark.parametrize("sum_to_one", [False, True])
@pytest.mark.parametrize("kind", ["dense", "chunks"])
def test_the_fit_of_extreme_entries_is_the_same(pixels, kind, sum_to_one):
    expected = overview.fit_of(as_matrix(pixels), pixels[:, :3], sum_to_one)
    huge = containers(pixels * 1e200)[kind]
    assert overview.fit_of(as_matrix(huge), pixels[:, :3] * 1e200, sum_to_one) == pytest.approx(expected)


@pytest.mark.parametrize("sum_to_one", [False, True])
def test_other_methods_are_compared_with_the_weights_asked_for(pixels, sum_to_one):
    mask = np.arange(LINES * SAMPLES) != 5
    M = np.where(mask, pixels, np.nan)
    rows = overview.compare(as_matrix(M, mask=mask), 3, ["spa", "xray"], sum_to_one=sum_to_one)
    for row in rows:
        rest = (pixels - fitted(pixels[:, row["columns"]], pixels, sum_to_one))[:, mask]
        expected = 1 - np.linalg.norm(rest) / np.linalg.norm(pixels[:, mask])
        assert row["fit"] == pytest.approx(expected, abs=1e-7)


def noisy(columns=1500, rows=40, r=4):
    """Many noisy mixtures of r columns; averages of them have much less noise."""
    rng = np.random.default_rng(1)
    W = rng.random((rows, r))
    M = W @ rng.dirichlet(np.full(r, 0.3), columns).T
    return M + 0.05 * rng.random(M.shape)


@pytest.mark.slow
def test_the_curve_and_the_explanation_measure_what_the_fit_measures():
    M = noisy()
    sel = sepnmf.select(M, 4)
    unexplained = 1 - sepnmf.metrics.rae(M, sel.anchors)
    curve = overview.curve_of_residuals(M)
    assert curve["unexplained"][3] == pytest.approx(unexplained, rel=0.1)
    assert (np.diff(curve["unexplained"]) <= 0).all()
    estimate = sepnmf.RankEstimate(4, 4, "", {"r": np.arange(1, 6), "relative_residual": np.full(5, 1e-4)})
    said = overview.with_measured(estimate, M).explanation
    before = float(re.search(r"from about ([\d.]+)% to", said)[1]) / 100
    assert before == pytest.approx(unexplained, rel=0.1)


@pytest.mark.parametrize("squares", [(0.5, 0.2, 0.0, 0.0), (0.5, 0.2)])
def test_an_explanation_without_percentages_is_kept(squares):
    curve = {"r": np.arange(1, len(squares) + 1), "relative_residual": np.array(squares)}
    estimate = sepnmf.RankEstimate(3, 3, "", curve)
    assert overview.with_measured(estimate, noisy()) is estimate


def test_the_curve_ends_where_columns_explain_everything():
    M = noisy(columns=30, rows=3, r=2)
    assert len(overview.curve_of_residuals(M)["r"]) == 3
    assert overview.curve_of_residuals(np.zeros((4, 9))) is None
    estimate = sepnmf.RankEstimate(1, 3, "", {"r": np.arange(1, 5), "relative_residual": np.full(4, 0.1)})
    assert overview.with_measured(estimate, M) is estimate


def test_the_fit_of_nothing_is_refused():
    with pytest.raises(ValueError, match="M is zero"):
        overview.fit_of(as_matrix(np.zeros((3, 4))), np.ones((3, 1)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["dense", "chunks"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sum_to_one", [False, True])
@pytest.mark.parametrize("side", [600, 3])
def test_maps_and_residuals_are_those_of_each_pixel(
    monkeypatch, pixels, order, kind, masked, sum_to_one, side
):
    monkeypatch.setattr(overview, "SIDE", side)
    M, W = pixels.copy(), pixels[:, :3]
    mask = np.random.default_rng(1).random(LINES * SAMPLES) < 0.7
    if masked:
        M[:, ~mask] = np.nan if kind == "dense" else NODATA
    data = Data(
        containers(M)[kind],
        Path("a.npy"),
        image_shape=(LINES, SAMPLES),
        image_order=order,
        mask=mask if masked else None,
    )
    fit = fitted(W, pixels, sum_to_one)
    with np.errstate(invalid="ignore", divide="ignore"):
        residual = np.linalg.norm(pixels - fit, axis=0) / np.linalg.norm(pixels, axis=0)
    residual[-1] = np.nan  # of a pixel that is zero
    weights = np.linalg.lstsq(W, fit, rcond=None)[0]
    if masked:
        residual[~mask], weights[:, ~mask] = np.nan, np.nan
    step = -(-SAMPLES // side)

    def picture(row):
        return row.reshape((LINES, SAMPLES), order=order)[::step, ::step]

    matrix = data.matrix()
    found = overview.residual_map(data, matrix, W, sum_to_one)
    np.testing.assert_allclose(found, picture(residual), atol=1e-7)
    maps = overview.maps_from(data, matrix, W, sum_to_one)
    np.testing.assert_allclose(maps, [picture(row) for row in weights], atol=1e-6)
    np.testing.assert_allclose(overview.maps(data, weights), [picture(row) for row in weights])
    means = pixels.mean(axis=0)
    np.testing.assert_allclose(
        overview.scene(data), picture(np.where(mask, means, np.nan) if masked else means)
    )


def test_no_residual_is_computed_where_no_shown_pixel_has_data(pixels, monkeypatch):
    monkeypatch.setattr(overview, "SIDE", 1)  # the first pixel alone
    mask = np.arange(LINES * SAMPLES) > 0
    data = Data(pixels, Path("a.npy"), image_shape=(LINES, SAMPLES), mask=mask)
    assert np.isnan(overview.residual_map(data, data.matrix(), pixels[:, :3])).all()


def test_residuals_of_extreme_entries_are_the_same(pixels):
    data = Data(pixels, Path("a.npy"), image_shape=(LINES, SAMPLES))
    W = pixels[:, :3]
    expected = overview.residual_map(data, data.matrix(), W)
    for kind in ("dense", "chunks"):
        huge = replace(data, M=containers(pixels * 1e200)[kind])
        found = overview.residual_map(huge, huge.matrix(), W * 1e200)
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_the_dominant_anchor_has_the_largest_weight():
    weights = np.array([[0.2, 0.0, np.nan, 0.5, 3.0], [0.7, 0.0, np.nan, 0.5, 4.0]])[:, None]
    np.testing.assert_array_equal(overview.dominant(weights), [[1, np.nan, np.nan, 0, 1]])


@pytest.mark.parametrize("kind", ["dense", "chunks"])
def test_a_summary_counts_only_what_is_used(pixels, kind):
    M = pixels.copy()
    M[:, 5], M[0] = NODATA, -1.0
    mask, row_mask = np.arange(LINES * SAMPLES) != 5, np.arange(BANDS) > 0
    data = Data(containers(M)[kind], Path("a.npy"), mask=mask, row_mask=row_mask)
    shown = overview.summary(data)
    assert (shown["rows"], shown["columns"]) == ("11 of 12 used", "62 of 63 used")
    assert shown["smallest entry"] == "0"
    assert float(shown["largest entry"]) == pytest.approx(pixels[1:, mask].max(), rel=1e-3)
    everything = overview.summary(replace(data, mask=None, row_mask=None))
    assert (everything["rows"], everything["columns"]) == ("12", "63")
    assert everything["largest entry"] == "10,000"
    assert everything["smallest entry"] == "-1"


def test_large_entries_are_written_out():
    assert [overview.written(x) for x in (65535.0, 12345.4, 9999.4, 1e15)] == [
        "65,535",
        "12,345",
        "9999",
        "1e+15",
    ]


def run(status="done", converged=True):
    return Selection(np.array([0]), np.ones(2), "auto", status, converged)


def test_a_good_result_has_no_doubts():
    assert overview.doubts(run(), 0.8) == ()
    assert overview.doubts(run("converged"), 1.0) == ()
    assert overview.doubts(run(), float("nan")) == (), "a fit that is not known is not a bad one"


def test_anchors_that_seldom_come_back_are_explained():
    sel = Selection(np.arange(3), np.ones(3), "auto", stability=np.array([0.2, 0.5, 0.9]))
    (sentence,) = overview.doubts(sel, 0.95)
    assert sentence.startswith("Most anchors come back in at most half of the draws. Where many columns are")
    scene = Data(np.ones((2, 4)), Path("a.npy"), image_shape=(2, 2))
    assert "Where many pixels are alike" in overview.doubts(sel, 0.95, scene)[0]
    assert overview.doubts(replace(sel, stability=np.array([0.2, 0.6, 0.9])), 0.95) == ()


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        ("max_outer", "allow more iterations"),
        ("stopped", "let it finish"),
        ("diverged", "do not rely on them"),
        ("collapsed", "do not rely on them"),
        ("not identifiable", "use fewer anchors"),
        ("no pure columns", "--vertices minimum-volume"),
    ],
)
def test_a_run_that_ended_badly_is_one_sentence_with_advice(status, advice):
    (sentence,) = overview.doubts(run(status), 0.95)
    assert advice in sentence
    assert sentence.endswith(".")
    assert sentence.count(".") == 1


def test_every_doubt_is_said():
    warned = "450 pixels have the value 65535 in every band: pass --nodata 65535."
    data = Data(np.ones((2, 2)), Path("a.npy"), warnings=(warned,))
    found = overview.doubts(run("not identifiable", converged=False), 0.524, data)
    assert found[0] == warned
    assert "only 52.4% of the data" in found[1]
    assert "cone" in found[2]
    assert "before it settled" in found[3]
    assert len(found) == 4
    assert len(overview.doubts(run("no pure columns", converged=False), 0.95)) == 2
    assert "explain nothing of the data" in overview.doubts(run(), -0.03)[0]


def test_a_poor_fit_casts_doubt_on_axes_that_were_assumed(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 4, 5)))
    assumed, given = (read(tmp_path / "a.npy", axes=axes) for axes in (None, "lines,samples,bands"))
    assert "--axes" in overview.doubts(run(), 0.7, assumed)[1]
    assert len(overview.doubts(run(), 0.7, given)) == 1
    assert overview.doubts(run(), 0.9, assumed) == ()
