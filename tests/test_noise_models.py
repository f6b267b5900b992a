"""Kinds of noise: which one is found, what the data are divided by, and when there is none."""

import numpy as np
import pytest
from scipy import stats

import sepnmf
from sepnmf._descent import Problem
from sepnmf._descent import _lagged as lagged
from sepnmf._descent import _neighbours as neighbours
from sepnmf._descent import _noise_models as models
from sepnmf._descent import _whitening as whitening
from sepnmf._descent._criterion import vertex_model
from sepnmf.datasets import make_family
from sepnmf.matrix import Dense


def mixtures(seed, m=60, n=300, r=6):
    """Columns without noise, the anchors in front."""
    rng = np.random.default_rng(seed)
    H = np.hstack([np.eye(r), rng.dirichlet(np.ones(r), n - r).T])
    return rng, rng.random((m, r)) @ H


def noisy(kind, seed=0):
    """Data with one kind of noise, and the standard deviations of its rows and columns."""
    rng, M = mixtures(seed)
    m, n = M.shape
    a, b, N = np.ones(m), np.ones(n), rng.standard_normal(M.shape)
    if kind == "lengths":
        b = rng.lognormal(0, 1, n)
        M = M * b
    elif kind == "columns":
        b = np.where(rng.permutation(n) < n // 3, 8.0, 1.0)
    elif kind == "rows":
        a = 20 ** rng.random(m)
    elif kind == "heavy":
        N = rng.standard_t(2, M.shape)
    size = 0.05 * np.sqrt(np.mean(M**2)) / (a.mean() * b.mean())
    return M + size * a[:, None] * b * N, a / a.mean(), b / b.mean()


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("lengths", "columns"),
        ("columns", "columns"),
        ("rows", "rows"),
        ("heavy", "white, heavy-tailed"),
    ],
)
def test_kind_of_noise_is_found_and_divided_by(kind, label):
    M, a, b = noisy(kind)
    found = models.whitened(M, 6, "auto", np.random.default_rng(0))
    assert found.label == label
    assert found.structure < models.STRUCTURE
    np.testing.assert_allclose(np.log(found.rows / a).std(), 0, atol=0.1)
    np.testing.assert_allclose(np.log(found.columns / b).std(), 0, atol=0.35 if kind == "columns" else 0.12)


def test_counts_are_found():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(30 / np.arange(1, 201) / 5 + 0.01, size=6).T
    H = np.hstack([np.eye(6), rng.dirichlet(np.ones(6), 294).T])
    M = rng.poisson(1000 * rng.lognormal(0, 0.5, 300) * (topics @ H)).astype(float)
    found = models.whitened(M, 6, "auto", np.random.default_rng(0))
    assert found.label == "counts"


def test_misfit_is_no_noise():
    """Six directions are left by r = 6 of twelve; no division by rows and columns makes noise of them."""
    rng = np.random.default_rng(2)
    M = rng.random((60, 12)) @ rng.random((12, 300)) + 0.001 * rng.standard_normal((60, 300))
    assert models.whitened(M, 6, "auto", np.random.default_rng(0)) is None
    assert models.whitened(M, 6, "rows", np.random.default_rng(0)).label == "rows"


def test_rows_and_columns_without_noise_do_not_end_in_a_division_by_zero():
    M, _, _ = noisy("rows")
    M[3] = 0.0
    M[:, 5] = 0.0
    found = models.whitened(M, 6, "auto", np.random.default_rng(0))
    assert np.isfinite(found.data).all()
    assert found.data.shape == M.shape


@pytest.mark.parametrize(("m", "n", "r"), [(60, 300, 6), (80, 400, 40), (300, 50, 5)])
def test_structure_of_white_noise_is_one(m, n, r):
    rng = np.random.default_rng(3)
    signal = 30 * rng.standard_normal((m, r)) @ rng.standard_normal((r, n))
    U, s, Vt = np.linalg.svd(signal + rng.standard_normal((m, n)), full_matrices=False)
    residual = (U[:, r:] * s[r:]) @ Vt[r:]
    assert models.structure_left(residual, r, rng) == pytest.approx(1.0, abs=0.06)
    spike = residual + 2 * np.outer(U[:, r], Vt[r]) * s[r]
    assert models.structure_left(spike, r, rng) > 1.8


def test_likelihoods_are_those_of_scipy():
    x = np.random.default_rng(4).standard_t(3, (20, 30))
    assert models.normal(x) == pytest.approx(stats.norm.logpdf(x, 0, np.sqrt(np.mean(x**2))).sum())
    want = max(
        stats.t.logpdf(x, nu, 0, np.median(np.abs(x)) / stats.t.ppf(0.75, nu)).sum() for nu in models.STUDENT
    )
    assert models.student(x) == pytest.approx(want)


def test_scale_of_the_data_changes_no_likelihood_ratio():
    """M and 7M are judged alike: the differences between kinds are the same."""
    M, _, _ = noisy("rows", 5)
    values = [
        [models.bic(models.rank_fit(scale * M, 6, kind)) for kind in models.KINDS] for scale in (1.0, 7.0)
    ]
    np.testing.assert_allclose(np.diff(values[0]), np.diff(values[1]), rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("shape", [(60, 300), (300, 60), (250, 300)])
def test_largest_singular_values_of_large_data_are_those_of_numpy(monkeypatch, shape):
    _, M = mixtures(6, *shape)
    M = M + 0.01 * np.random.default_rng(6).standard_normal(M.shape)
    exact = whitening.Leading.of(Dense(M), 6, np.random.default_rng(0))
    monkeypatch.setattr(whitening, "LARGE", 100)
    monkeypatch.setattr(whitening, "FEW", 100)
    fast = whitening.Leading.of(Dense(M), 6, np.random.default_rng(0))
    np.testing.assert_allclose(fast.squares[:6], np.linalg.svd(M, compute_uv=False)[:6] ** 2, rtol=1e-6)
    assert fast.total == pytest.approx(exact.total)
    assert fast.white_rank() == 6
    assert fast.as_noise(6).variance == pytest.approx(exact.as_noise(6).variance, rel=1e-6)


def test_data_without_noise_have_no_variance():
    for seed in range(20):
        _, M = mixtures(seed)
        assert whitening.Leading.of(Dense(M), 6, np.random.default_rng(0)).as_noise(6).variance == 0.0


def test_zero_columns_have_no_part_in_the_leading_directions():
    M = np.random.default_rng(0).random((20, 60))
    M[:, ::7] = 0.0
    found = whitening.Leading.of(Dense(M), 4, np.random.default_rng(0))
    assert (found.vectors[:, ::7] == 0.0).all()
    assert np.count_nonzero(found.vectors) == 4 * np.count_nonzero(M.any(axis=0))


@pytest.mark.parametrize("kind", ["lengths", "columns", "rows", "heavy"])
def test_auto_finds_the_anchors_under_every_kind_of_noise(kind):
    for seed in (0, 1):
        M, _, _ = noisy(kind, seed)
        sel = sepnmf.select(M, 6, negative="allow")
        assert set(sel.anchors) == set(range(6))
        assert sel.history["noise"][0] != "none"


@pytest.mark.parametrize("noise", ["white", "columns", "rows", "counts", "heavy", "none"])
def test_noise_may_be_named(noise):
    M, _, _ = noisy("rows")
    sel = sepnmf.select(M, 6, noise=noise, negative="allow")
    assert noise in sel.history["noise"][0]


def test_unknown_noise_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"noise must be .*'auto'"):
        sepnmf.select(np.eye(4), 2, noise="pink")


# More anchors than directions --------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "kept"), [(0.005, 4), (0.0, None)])
def test_directions_of_noise_alone_are_left_out_where_anchors_outnumber_the_others(noise, kept):
    """Eight vertices in four dimensions; without noise, nothing has to be left out."""
    M = sepnmf.datasets.make_family("low_rank", noise, random_state=3).M
    found = whitening.Leading.of(Dense(M), 8, np.random.default_rng(0)).as_noise(8)
    if kept is None:
        assert found.coordinates is None
        return
    _, s, V = np.linalg.svd(M)
    np.testing.assert_allclose(np.abs(found.coordinates), np.abs(s[:4, None] * V[:4]), rtol=1e-6)


def test_directions_are_kept_that_a_single_column_needs():
    """At much noise the spectrum shows few directions, but the anchors are outside of these."""
    for seed in range(3):
        M, _ = sepnmf.datasets.make_dirichlet(0.45, random_state=seed)
        leading = whitening.Leading.of(Dense(M), 10, np.random.default_rng(0))
        assert leading.white_rank() < 10
        assert leading.as_noise(10).coordinates is None


@pytest.mark.parametrize(("size", "kept"), [(1.5, None), (2.5, 3)])
def test_directions_that_hardly_stand_out_are_not_kept_alone(monkeypatch, size, kept):
    """The third is 1.5 or 2.5 times as large, squared, as the largest direction of the noise."""
    monkeypatch.setattr(whitening.Leading, "white_rank", lambda self: 3)
    m, n, variance = 30, 80, 0.01
    edge = variance * (np.sqrt(m) + np.sqrt(n)) ** 2
    squares = edge * np.array([9.0, 8.0, size, 0.9, 0.8])
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((n, 5)))[0].T
    lengths = squares[:3] @ vectors[:3] ** 2 + variance * (m - 3)
    leading = whitening.Leading(squares, vectors, squares.sum(), (m, n), lengths)
    assert leading.few_directions(4, variance) == kept


@pytest.mark.parametrize(("family", "r", "height"), [("low_rank", 8, 4), ("white", 6, 60)])
def test_vertices_of_few_directions_have_only_these(family, r, height):
    M = sepnmf.datasets.make_family(family, 0.01, random_state=3).M
    problem = Problem.prepare(Dense(M), r, "none", np.random.default_rng(0), 1)
    columns = np.arange(M.shape[1])
    assert vertex_model(problem, columns, np.ones(len(columns))).height == height


def test_a_plane_has_no_third_vertex_so_that_other_directions_are_kept():
    """Noise around one direction or two: what else there is to choose by is in the noise."""
    rng = np.random.default_rng(0)
    for rank in (1, 2):
        M = 10 * rng.random((30, rank)) @ rng.random((rank, 80)) + rng.standard_normal((30, 80))
        found = whitening.Leading.of(Dense(M), 4, rng)
        assert found.white_rank() == rank
        assert found.as_noise(4).coordinates is None


def test_auto_finds_more_vertices_than_directions():
    """The answers of these seeds lacked a vertex while all directions counted."""
    for level, seed in ((0.005, 3), (0.01, 3), (0.02, 5)):
        instance = sepnmf.datasets.make_family("low_rank", level, random_state=seed)
        assert instance.share_found(sepnmf.auto(instance.M, 8, negative="allow").anchors) == 1


def test_auto_finds_more_vertices_than_directions_among_many_columns():
    rng = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, 6)[:5]
    W = rng.random((40, 3)) @ np.vstack([np.ones(5), 0.5 + 0.4 * np.cos(angles), 0.5 + 0.4 * np.sin(angles)])
    M = W @ np.hstack([np.eye(5), rng.dirichlet(np.ones(5), 1500).T])
    sel = sepnmf.auto(M + 1e-3 * rng.standard_normal(M.shape), 5)
    assert set(sel.anchors) == set(range(5))
    assert sel.vertices.shape == (40, 5)


@pytest.mark.parametrize(("structure", "found"), [(1.0, True), (1.5, False)])
def test_what_has_structure_gets_no_noise_model_unless_it_is_named(monkeypatch, structure, found):
    M, _, _ = noisy("rows")
    monkeypatch.setattr(models, "structure_left", lambda *_: structure)
    assert (models.whitened(M, 6, "auto", np.random.default_rng(0)) is not None) == found
    assert models.whitened(M, 6, "rows", np.random.default_rng(0)) is not None


def test_entries_far_out_are_moved_to_twice_the_standard_deviation():
    residual = np.append(np.random.default_rng(0).standard_normal(10_001), [1e3, -1e3])
    kept = models.moved(residual)
    assert kept.max() == -kept.min() == pytest.approx(2.0, rel=0.03)
    inside = np.abs(residual) < 1.9
    np.testing.assert_array_equal(kept[inside], residual[inside])


# Correlated rows ---------------------------------------------------------------------------------------


def autoregressive(shape, lag, rng):
    """Stationary noise of variance one whose rows have this correlation with the row above."""
    N = rng.standard_normal(shape)
    for i in range(1, shape[0]):
        N[i] = lag * N[i - 1] + np.sqrt(1 - lag**2) * N[i]
    return N


@pytest.mark.parametrize("lag", [-0.6, 0.0, 0.8])
def test_rows_without_lag_are_the_inverse_of_the_cholesky_factor_times_the_rows(lag):
    """The covariance of the noise is φ^|i − j|; its Cholesky factor makes it of white noise."""
    m = 7
    covariance = lag ** np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
    M = np.random.default_rng(0).standard_normal((m, 4))
    given = M.copy()
    white = np.linalg.solve(np.linalg.cholesky(covariance), M)
    # The first row of the factor has length one, the others √(1 − φ²).
    np.testing.assert_allclose(lagged.without_lag(M, lag), np.sqrt(1 - lag**2) * white, atol=1e-12)
    np.testing.assert_allclose(lagged.with_lag(lagged.without_lag(M, lag), lag), M, atol=1e-12)
    np.testing.assert_array_equal(M, given)


def test_remaining_lag_is_zero_for_white_noise_in_whatever_directions_are_left():
    rng = np.random.default_rng(1)
    U, _ = np.linalg.qr(np.cumsum(rng.standard_normal((40, 6)), axis=0))  # smooth directions
    N = rng.standard_normal((40, 5000))
    assert lagged.remaining_lag(N - U @ (U.T @ N), U) == pytest.approx(0.0, abs=0.01)
    N = autoregressive((40, 5000), 0.5, rng)
    assert lagged.remaining_lag(N, np.zeros((40, 0))) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(("lag", "kind"), [(0.8, "white"), (-0.5, "white"), (0.8, "rows")])
def test_correlation_of_rows_is_found_and_removed(lag, kind):
    rng, M = mixtures(7)
    size = 0.1 * np.sqrt(np.mean(M**2)) * (20 ** rng.random((60, 1)) if kind == "rows" else 1.0)
    M = M + size * autoregressive(M.shape, lag, rng)
    found = models.whitened(M, 6, "auto", np.random.default_rng(0))
    assert found.label.endswith(", correlated rows")
    assert found.lag == pytest.approx(lag, abs=0.1 if kind == "rows" else 0.03)
    assert found.structure < models.STRUCTURE


def test_rows_that_are_not_correlated_have_no_lag():
    for seed in range(5):
        M, _, _ = noisy("rows", seed)
        assert models.whitened(M, 6, "auto", np.random.default_rng(0)).lag == 0.0


def test_likelihood_of_correlated_rows_is_that_of_scipy():
    """A fit of rank 0 has no directions: BIC is the normal density of the columns, less its price."""
    rng = np.random.default_rng(2)
    M = 3.0 * autoregressive((8, 400), 0.6, rng)
    fit = models.rank_fit(M, 1, models.Kind("white", lagged=True))
    lag, residual = fit.lag, lagged.with_lag(fit.residual, fit.lag)
    variance = float(np.mean(fit.residual**2)) / (1 - lag**2)
    covariance = variance * lag ** np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    want = stats.multivariate_normal.logpdf(residual.T, np.zeros(8), covariance).sum()
    assert models.bic(fit) == pytest.approx(want - 0.5 * np.log(M.size), rel=1e-6)


def test_auto_finds_anchors_and_vertices_under_correlated_noise():
    instance = make_family("correlated", 0.2, 3)
    sel = sepnmf.select(instance.M, 6, negative="allow")
    assert sel.history["noise"][0].endswith("correlated rows")
    assert instance.share_found(sel.anchors) == 1
    assert instance.share_found(sepnmf.select(instance.M, 6, negative="allow", noise="none").anchors) < 1
    order = [next(k for k, near in enumerate(instance.accepted) if a in near) for a in sel.anchors]
    true = instance.vertices[:, order]
    error = np.linalg.norm(sel.vertices - true)
    assert error < 0.7 * np.linalg.norm(instance.M[:, sel.anchors] - true)
    # The standard errors are of the size of the errors; those of white noise would be 1.7 times too small.
    assert 0.7 < np.sqrt(np.mean(((sel.vertices - true) / sel.spread) ** 2)) < 2


# Lengths of their own ----------------------------------------------------------------------------------


def test_lengths_are_free_only_if_weights_do_not_sum_to_one():
    for seed in range(5):
        rng, M = mixtures(seed)
        lengths = rng.uniform(0.2, 1, M.shape[1])
        exact = whitening.Leading.of(Dense(M * lengths), 6, rng)
        assert exact.free_lengths(6) is None  # without noise, short columns are as precise as long ones
        for size in (0.01, 0.1):
            N = size * np.sqrt(np.mean(M**2)) * rng.standard_normal(M.shape)
            assert whitening.Leading.of(Dense(M + N), 6, rng).free_lengths(6) is None
            found = whitening.Leading.of(Dense(M * lengths + N), 6, rng).free_lengths(6)
            along = np.linalg.svd(M * lengths + N, full_matrices=False)[2][0]
            np.testing.assert_allclose(found, along / along.mean(), rtol=1e-6)


@pytest.mark.parametrize("family", ["shaded", "free_sums"])
def test_long_mixtures_are_not_preferred_to_short_anchors(family):
    found = []
    for seed in (2, 3):
        instance = make_family(family, 0.05, seed)
        found.append(instance.share_found(sepnmf.select(instance.M, 6, negative="allow").anchors))
    assert np.mean(found) > 0.9


def test_a_descent_that_gains_what_chance_gives_is_not_followed():
    kept = 0
    for seed in (0, 2):
        M = make_family("shaded", 0.2, seed).M
        sel = sepnmf.select(M, 6, negative="allow")
        before, after = sel.history["before"], sel.history["after"]
        best = np.argmin(before)
        noise = whitening.Leading.of(Dense(M), 6, np.random.default_rng(0)).with_lengths(6)
        X = M if noise.coordinates is None else noise.coordinates
        chance = 0.5 * 400 * noise.variance / np.sum(X**2)
        if sel.history["start"][-1].endswith(", kept"):
            kept += 1
            assert sel.history["start"][-1] == f"{sel.history['start'][best]}, kept"
            assert after[-1] == before[best]
            assert 0 < before[best] - after.min() <= chance
        elif sel.history["exchanges"][best] > 0:
            assert before[best] - after.min() > chance
    assert kept > 0


# Independent columns -----------------------------------------------------------------------------------


def test_likeness_of_neighbours_is_that_of_a_plain_loop():
    rng = np.random.default_rng(3)
    M = rng.random((20, 4)) @ rng.random((4, 60)) + 0.1 * rng.random((20, 60))
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    C, R = s[:4, None] * Vt[:4], (U[:, 4:] * s[4:]) @ Vt[4:]
    cosine = []
    for j in range(60):
        angles = [C[:, j] @ C[:, k] / np.linalg.norm(C[:, j]) / np.linalg.norm(C[:, k]) for k in range(60)]
        angles[j] = -2
        k = int(np.argmax(angles))
        cosine.append(R[:, j] @ R[:, k] / np.linalg.norm(R[:, j]) / np.linalg.norm(R[:, k]))
    assert neighbours.likeness_of_neighbours(M, 4) == pytest.approx(np.mean(cosine), abs=1e-6)


def test_misfit_that_depends_on_the_mixture_is_told_from_noise():
    rng, M = mixtures(8)
    bent = M + 0.5 * (M - M.mean()) ** 2  # what is left is a function of the mixture
    assert not neighbours.has_independent_columns(np.repeat(bent, 2, axis=1), 6, rng)
    structured = rng.standard_normal((60, 20)) @ rng.standard_normal((20, 300))
    assert neighbours.has_independent_columns(M + 0.01 * structured, 6, rng)
    assert not neighbours.has_independent_columns(M[:, :40], 6, rng)  # too few to tell


def test_one_anchor_has_the_best_fit_where_columns_have_no_neighbours():
    """In one direction all angles are zero, so that the residual of any other column would be compared."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        M = rng.random((40, 8)) @ rng.dirichlet(np.ones(8), 200).T
        fits = [sepnmf.metrics.rae(M, [j]) for j in range(200)]
        assert sepnmf.metrics.rae(M, sepnmf.select(M, 1).anchors) == pytest.approx(max(fits), abs=1e-12)


def test_bilinear_mixtures_have_independent_columns_and_their_anchors_are_found():
    instance = make_family("bilinear", 1.0, 1)
    sel = sepnmf.select(instance.M, 5, negative="allow")
    assert sel.history["noise"][0] == "independent columns"
    assert instance.share_found(sel.anchors) == 1
    assert instance.share_found(sepnmf.select(instance.M, 5, negative="allow", noise="none").anchors) < 1


@pytest.mark.parametrize("seed", [0, 104, 118])  # neighbours are alike by 0.11; gaps of 7 and 3
def test_varying_spectra_are_told_from_misfit_also_where_they_vary_much(seed):
    instance = make_family("variability", 0.1, seed)
    sel = sepnmf.select(instance.M, 5, negative="allow")
    assert sel.history["noise"][0] == "independent columns"
    misfit = sepnmf.select(instance.M, 5, negative="allow", noise="none")
    assert instance.share_found(sel.anchors) > instance.share_found(misfit.anchors)


def test_fewer_anchors_than_vertices_are_chosen_by_their_fit():
    """Directions that are left may be further vertices: these are no noise."""
    M = make_family("white", 0.15, 0).M
    assert sepnmf.select(M, 4, negative="allow").history["noise"][0] == "none"
