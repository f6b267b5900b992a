"""EEHT: the expanded programme against the whole one, the choices, and awkward input."""

import itertools
import warnings
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning

import oracles
import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.methods._diagonal_choices import exchanged, from_balls, matched
from sepnmf.methods._reduction import cone_generators, samples
from sepnmf.metrics import mrsa

MODULE = "sepnmf.methods._eeht"


def noisy_mixtures(seed, m, n, r, level):
    """Mixtures whose columns differ in length, some of them twice, with noise."""
    rng = np.random.default_rng(seed)
    W = rng.random((m, r))
    M = np.hstack([W, W @ rng.dirichlet(np.ones(r), n - r - 3).T, W[:, :1], W[:, :1], W[:, -1:]])
    return np.maximum(M + level * rng.standard_normal(M.shape), 0) * rng.uniform(0.5, 1.5, M.shape[1])


def points(M, r, n_bases):
    """The points of the programme, from a plain singular value decomposition."""
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(len(s))])
    rank = min(r, np.linalg.matrix_rank(M))
    X = (signs * s)[:rank, None] * Vt[:rank]
    X = X / np.sqrt((X**2).sum(axis=0).max())
    rng, parts = np.random.default_rng(0), [X]
    parts += [np.linalg.qr(rng.standard_normal((rank, rank)))[0] @ X for _ in range(n_bases - 1)]
    return np.vstack(parts) / n_bases


def optimum_is_that_of_the_whole_programme(M, r, **options):
    sel = sepnmf.eeht(M, r, negative="allow", **options)
    A = points(M, r, options.get("n_bases", 8))
    assert sel.status == "converged"
    assert sel.history["objective"][-1] == pytest.approx(oracles.least_largest_residual(A, r), abs=1e-8)
    assert sel.scores.sum() == pytest.approx(r)
    assert ((sel.scores >= 0) & (sel.scores <= 1)).all()


@pytest.mark.parametrize("seed", range(6))
def test_expansion_ends_at_the_optimum_of_the_whole_programme(seed, monkeypatch):
    monkeypatch.setattr("sepnmf.methods._expansion.WHOLE", 0)
    M = noisy_mixtures(seed, m=8, n=20 + 4 * seed, r=2 + seed % 3, level=(0.0, 0.02, 0.1)[seed % 3])
    optimum_is_that_of_the_whole_programme(M, 2 + seed % 3, n_bases=1 + seed % 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_expansion_ends_at_the_optimum_of_programmes_with_up_to_200_columns(seed, monkeypatch):
    monkeypatch.setattr("sepnmf.methods._expansion.WHOLE", 0)
    n, r = 20 + 180 * seed // 49, 2 + seed % 4
    M = noisy_mixtures(100 + seed, m=10, n=n, r=r, level=(0.0, 0.01, 0.05, 0.2)[seed % 4])
    optimum_is_that_of_the_whole_programme(M, r, n_bases=1 + seed % 3)


@pytest.mark.parametrize(("make", "level"), [(make_midpoint, 0.2), (make_dirichlet, 0.1)])
def test_the_whole_programme_at_once_and_its_expansion_have_one_optimum(make, level, monkeypatch):
    M, _ = make(level, m=20, r=5, random_state=3)
    once = sepnmf.eeht(M, 5, negative="allow")
    monkeypatch.setattr("sepnmf.methods._expansion.WHOLE", 0)
    expanded = sepnmf.eeht(M, 5, negative="allow")
    assert once.n_outer == 1 < expanded.n_outer
    assert expanded.history["objective"][-1] == pytest.approx(once.history["objective"][-1], abs=1e-9)


@pytest.mark.parametrize(("make", "level"), [(make_midpoint, 0.25), (make_dirichlet, 0.25)])
def test_noise_that_greedy_methods_do_not_stand(make, level):
    """With `hottopixx` and its best bound on the noise, these anchors are found too."""
    M, anchors = make(level, random_state=0)
    assert set(sepnmf.eeht(M, 10, negative="allow").anchors) == set(anchors)


@pytest.mark.parametrize(("r", "n_bases"), [(3, 8), (10, 8), (11, 7), (30, 2), (45, 1)])
def test_by_default_points_have_at_most_eighty_coordinates(monkeypatch, r, n_bases):
    counts = []
    several = import_module(MODULE).in_several_bases
    monkeypatch.setattr(f"{MODULE}.in_several_bases", lambda X, count: counts.append(count) or several(X, 1))
    sepnmf.eeht(np.random.default_rng(0).random((50, 50)), r)
    assert counts == [n_bases]


def test_one_basis_is_not_enough_in_few_dimensions():
    M, anchors = make_midpoint(0.25, random_state=0)
    assert set(sepnmf.eeht(M, 10, n_bases=1, negative="allow").anchors) != set(anchors)


@pytest.fixture(scope="module")
def clouds():
    """Three materials with many noisy columns each, and mixtures."""
    rng = np.random.default_rng(2)
    W = rng.random((30, 3))
    M = np.hstack([np.repeat(W, 40, axis=1), W @ rng.dirichlet(np.ones(3), 80).T])
    return np.maximum(M + 0.03 * rng.standard_normal(M.shape), 0), W


def test_centroids_are_nearer_to_the_vertices_than_single_columns(clouds):
    M, W = clouds
    sel = sepnmf.eeht(M, 3, choice="centroids")
    assert sorted(sel.anchors // 40) == [0, 1, 2]
    assert mrsa(sel.vertices, W) < 0.9 * mrsa(M[:, sel.anchors], W)


@pytest.mark.parametrize("choice", ["largest", "centroids"])
def test_balls_are_those_of_a_plain_search(choice):
    M = noisy_mixtures(5, m=8, n=30, r=3, level=0.05)
    diagonal = sepnmf.eeht(M, 3).scores
    sel = sepnmf.eeht(M, 3, choice=choice)
    A = points(M, 3, 8)
    left, chosen = diagonal.copy(), []
    for ball in oracles.balls_with_enough(A, diagonal, 3):
        free = [j for j in ball if j not in chosen]
        if choice == "largest":
            chosen.append(max(free, key=lambda j: left[j]))
        else:
            mean = A[:, ball].mean(axis=1)
            chosen.append(min(free, key=lambda j: sum(abs(A[:, j] - mean))))
            np.testing.assert_allclose(sel.vertices[:, len(chosen) - 1], M[:, ball].mean(axis=1))
            error = M[:, ball].std(axis=1, ddof=1) / len(ball) ** 0.5 if len(ball) > 1 else np.full(8, np.nan)
            np.testing.assert_allclose(sel.spread[:, len(chosen) - 1], error)
        left[ball] = -1
    assert sel.anchors.tolist() == chosen
    assert (sel.vertices is None) == (choice == "largest")


def test_balls_that_use_up_the_diagonal_leave_the_largest_entries():
    points = np.array([[0.0, 0.1, 0.2, 5.0, 9.0]])
    # The first ball contains 1.4; of the 0.6 left the second contains all, and the third anchor is next.
    anchors, balls = from_balls(points, np.array([0.8, 0.6, 0.6, 0.5, 0.5]), 3, "largest")
    assert len(set(anchors.tolist())) == 3
    anchors, balls = from_balls(points, np.array([0.5, 1.0, 0.5, 0.0, 0.0]), 2, "largest")
    assert anchors.tolist() == [1, 0]
    anchors, balls = from_balls(np.zeros((1, 4)), np.full(4, 0.75), 3, "centroids")
    assert [len(ball) for ball in balls] == [4, 1, 1]
    assert sorted(anchors.tolist()) == [0, 1, 2]


def sum_of_eighth_powers(X, chosen):
    """The criterion of exchanges, from bounded least squares for each column."""
    fits = [lsq_linear(X[:, chosen], x, bounds=(0, np.inf), method="bvls", tol=1e-14) for x in X.T]
    return sum(np.linalg.norm(X[:, chosen] @ fit.x - x) ** 8 for fit, x in zip(fits, X.T, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_no_single_exchange_improves_exchanged_anchors(seed):
    rng = np.random.default_rng(seed)
    X = points(noisy_mixtures(seed, m=8, n=16, r=4, level=0.2), 4, 1)
    p = np.where(rng.random(16) < 0.6, rng.random(16), 0.0)
    first = np.argsort(-p, kind="stable")[:4]
    found = exchanged(X, p, 4)
    least = sum_of_eighth_powers(X, found)
    assert least < sum_of_eighth_powers(X, first)
    assert (p[found] > 0).all()
    assert np.unique(found).size == 4
    for k, other in itertools.product(range(4), np.setdiff1d(np.flatnonzero(p > 0), found)):
        trial = found.copy()
        trial[k] = other
        assert sum_of_eighth_powers(X, trial) >= (1 - 1e-5) * least


def test_exchanges_without_work_or_gain_leave_the_largest_entries(monkeypatch):
    X = points(noisy_mixtures(0, m=8, n=16, r=4, level=0.2), 4, 1)
    p = np.linspace(0.1, 0.9, 16)
    assert exchanged(X, p, 4).tolist() != [15, 14, 13, 12]
    monkeypatch.setattr("sepnmf.methods._diagonal_choices.MOST_WORK", 16 * 4**2 * 11)  # one trial too few
    assert exchanged(X, p, 4).tolist() == [15, 14, 13, 12]
    # Four vertices of exact mixtures explain all; nothing is exchanged for the sake of rounding.
    W = np.random.default_rng(1).random((4, 4))
    exact = np.hstack([W, W @ np.random.default_rng(2).dirichlet(np.ones(4), 12).T])
    assert exchanged(exact, np.linspace(0.9, 0.1, 16), 4).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("make", "level", "seed"),
    [(make_midpoint, 0.35, 3), pytest.param(make_dirichlet, 0.35, 9, marks=pytest.mark.slow)],
)
def test_exchanges_find_anchors_that_are_not_the_largest_entries(make, level, seed):
    M, anchors = make(level, random_state=seed)
    assert set(sepnmf.eeht(M, 10, negative="allow").anchors) != set(anchors)
    sel = sepnmf.eeht(M, 10, negative="allow", choice="exchange")
    assert set(sel.anchors) == set(anchors)
    np.testing.assert_array_equal(sel.scores[sel.anchors], np.arange(11, 1, -1))


def test_normalised_columns_do_not_depend_on_their_lengths():
    M, anchors = make_dirichlet(0.05, m=20, n=40, r=4, random_state=1)
    lengths = np.linspace(1, 50, 40)
    plain = sepnmf.eeht(M, 4, normalize="l1", negative="allow", choice="centroids")
    scaled = sepnmf.eeht(M * lengths, 4, normalize="l1", negative="allow", choice="centroids")
    assert set(plain.anchors) == set(anchors)
    assert scaled.anchors.tolist() == plain.anchors.tolist()
    np.testing.assert_allclose(scaled.vertices, plain.vertices * lengths[plain.anchors], rtol=1e-9)


def test_centroids_of_normalised_columns_near_the_largest_numbers():
    M = np.array([[1.0, 0.9, 0.0, 0.1], [1.0, 1.0, 0.0, 0.1], [0.0, 0.0, 1.0, 0.8], [1.0, 0.9, 0.2, 1.0]])
    options = {"choice": "centroids", "normalize": "l1"}
    plain, large = (sepnmf.eeht(scale * M, 2, **options) for scale in (1.0, 1.7e308))
    np.testing.assert_array_equal(large.anchors, plain.anchors)
    assert np.isfinite(large.vertices).all()
    np.testing.assert_allclose(large.vertices, np.minimum(plain.vertices, 1.05) * 1.7e308, rtol=0.01)


def test_normalised_columns_count_however_short_they_are():
    M = np.eye(4) * np.array([1e-300, 1e250, 1e-200, 1.0])
    sel = sepnmf.eeht(np.hstack([M, M[:, :1]]), 4, choice="centroids", normalize="l1")
    assert {0, 1, 2, 3} == {j % 4 for j in sel.anchors}
    np.testing.assert_allclose(np.sort(sel.vertices.max(axis=0)), [1e-300, 1e-200, 1.0, 1e250], rtol=1e-9)
    short = sepnmf.eeht(M, 4, choice="centroids")  # two of them are zero beside the longest
    assert np.isfinite(short.vertices).all()


def test_awkward_matrices():
    rng = np.random.default_rng(0)
    square = rng.random((4, 4))
    assert sorted(sepnmf.eeht(square, 4).anchors) == [0, 1, 2, 3]
    np.testing.assert_allclose(sepnmf.eeht(square, 4).scores, 1)
    assert sepnmf.eeht(rng.random((5, 9)), 1).anchors.shape == (1,)
    low = rng.random((6, 2)) @ rng.random((2, 12))
    assert len(set(sepnmf.eeht(low, 5).anchors.tolist())) == 5
    for choice in ("diagonal", "exchange", "largest", "centroids"):
        same = sepnmf.eeht(np.ones((3, 6)), 3, choice=choice)
        assert len(set(same.anchors.tolist())) == 3
    with_zeros = np.insert(square, [0, 2], 0.0, axis=1)
    assert not {0, 3} & set(sepnmf.eeht(with_zeros, 4).anchors.tolist())
    with pytest.raises(ValueError, match=r"M has 4 nonzero column\(s\), fewer than the r=5"):
        sepnmf.eeht(with_zeros, 5)


def test_sparse_data_give_the_answer_of_dense_ones(clouds):
    M = np.where(clouds[0] > 0.3, clouds[0], 0)
    dense, thin = (sepnmf.eeht(data, 3, choice="centroids") for data in (M, sparse.csc_array(M)))
    assert dense.anchors.tolist() == thin.anchors.tolist()
    np.testing.assert_allclose(thin.vertices, dense.vertices, rtol=1e-9, atol=1e-12)


def test_a_limit_on_the_rounds_is_kept_and_said(clouds):
    with pytest.warns(ConvergenceWarning, match="eeht stopped after 2 rounds before its diagonal"):
        sel = sepnmf.eeht(clouds[0], 3, max_outer=2)
    assert (sel.status, sel.converged, sel.n_outer) == ("max_outer", False, 2)
    assert len(set(sel.anchors.tolist())) == 3


def test_a_limit_on_the_work_is_kept_and_said():
    M = np.random.default_rng(0).random((30, 110))
    whole = sepnmf.eeht(M, 6)
    with pytest.warns(ConvergenceWarning, match=r"eeht stopped after \d+ rounds .* raise max_work"):
        part = sepnmf.eeht(M, 6, max_work=0.15)
    assert (part.status, part.converged) == ("max_outer", False)
    assert 1 < part.n_outer < whole.n_outer
    with pytest.warns(ConvergenceWarning, match=r"rounds .* raise max_outer"):
        rounds = sepnmf.eeht(M, 6, max_outer=part.n_outer)
    np.testing.assert_array_equal(part.scores, rounds.scores)
    np.testing.assert_array_equal(part.history["objective"], whole.history["objective"][: part.n_outer])


@pytest.mark.parametrize("choice", ["diagonal", "largest", "centroids"])
def test_without_a_single_programme_the_anchors_are_those_of_spa(choice):
    M = np.random.default_rng(0).random((30, 60))
    with pytest.warns(ConvergenceWarning, match="eeht stopped after 0 rounds"):
        sel = sepnmf.eeht(M, 6, choice=choice, max_work=1e-9)
    leading = sepnmf.spa(points(M, 6, 1), 6, negative="allow")
    assert set(sel.anchors) == set(leading.anchors)
    assert sel.history["objective"].size == sel.n_outer == 0


def test_runs_share_their_work():
    M = noisy_mixtures(4, m=20, n=300, r=4, level=0.1)
    options = {"choice": "centroids", "n_columns": 60, "n_runs": 4, "random_state": 0}
    assert sepnmf.eeht(M, 4, **options).n_outer == 4
    with pytest.warns(ConvergenceWarning, match="raise max_work"):
        sel = sepnmf.eeht(M, 4, max_work=0.2, **options)
    assert 1 <= sel.n_outer < 4
    assert np.unique(sel.anchors).size == 4


def test_a_callback_sees_the_rounds_and_can_end_the_run(clouds):
    seen = []

    def second(state):
        seen.append(state.numbers["objective"])
        return state.n_outer == 2

    sel = sepnmf.eeht(clouds[0], 3, callback=second)
    assert (sel.status, sel.n_outer) == ("stopped", 2)
    assert seen == sel.history["objective"].tolist()


def test_refined_anchors_have_no_vertices_of_others(clouds):
    M, _ = clouds
    sel = sepnmf.select(M, 3, "eeht", choice="centroids", refine=True)
    plain = sepnmf.eeht(M, 3, choice="centroids")
    assert (sel.vertices is None) == (sel.anchors.tolist() != plain.anchors.tolist())


def test_an_estimator_takes_the_centroids(clouds):
    M, _ = clouds
    model = sepnmf.SeparableNMF(
        3, method="eeht", method_options={"choice": "centroids"}, components="vertices"
    ).fit(M.T)
    np.testing.assert_allclose(model.components_, model.selection_.vertices.T)


def in_the_cone(A, b):
    found = lsq_linear(A, b, bounds=(0, np.inf), method="bvls", tol=1e-15)
    return np.linalg.norm(A @ found.x - b) <= 1e-7 * np.linalg.norm(b)


@pytest.mark.parametrize("seed", range(8))
def test_the_reduction_keeps_one_column_of_each_extreme_ray(seed):
    rng = np.random.default_rng(seed)
    r, n = 3 + seed % 3, 60
    X = rng.standard_normal((r, n)) if seed == 7 else noisy_mixtures(seed, m=r, n=n, r=r, level=0.05)
    X = np.hstack([X, 3 * X[:, :5], np.zeros((r, 2))])
    kept = cone_generators(X)
    for k in kept:
        others = np.setdiff1d(kept, [k])
        assert seed == 7 or not in_the_cone(X[:, others], X[:, k])
    for k in np.setdiff1d(np.arange(X.shape[1]), kept):
        assert in_the_cone(X[:, kept], X[:, k])
    assert not np.isin([n + 5, n + 6], kept).any()


def test_samples_are_the_extreme_rays_and_random_others():
    X = noisy_mixtures(0, m=3, n=80, r=3, level=0.0)
    kept = cone_generators(X)
    parts = list(samples(X, 30, 4, np.random.default_rng(0)))
    assert [part.size for part in parts] == [30] * 4
    assert all(np.isin(kept, part).all() and np.unique(part).size == 30 for part in parts)
    assert any(not np.array_equal(parts[0], part) for part in parts[1:])
    assert [part.size for part in samples(X, 1, 2, np.random.default_rng(0))] == [kept.size] * 2
    (whole,) = samples(X, 1000, 1, np.random.default_rng(0))
    np.testing.assert_array_equal(whole, np.arange(80))


def test_runs_are_matched_as_by_trying_all_orders():
    rng = np.random.default_rng(3)
    A = rng.random((6, 40))
    chosen = [rng.choice(40, 4, replace=False) for _ in range(3)]
    groups = chosen[0][:, None]
    for columns in chosen[1:]:
        before = A[:, groups].mean(axis=2)
        orders = [np.array(order) for order in itertools.permutations(columns)]
        costs = [np.abs(A[:, order] - before).sum() for order in orders]
        groups = np.column_stack([groups, orders[int(np.argmin(costs))]])
    anchors, found = matched(A, chosen)
    np.testing.assert_array_equal(found, groups)
    assert np.unique(anchors).size == 4
    first = np.abs(A[:, np.unique(groups)] - A[:, groups[0]].mean(axis=1)[:, None]).sum(axis=0)
    assert anchors[0] == np.unique(groups)[np.argmin(first)]


def test_fewer_columns_and_several_runs(clouds):
    M, W = clouds
    whole = sepnmf.eeht(M, 3, choice="centroids")
    same = sepnmf.eeht(M, 3, choice="centroids", n_columns=M.shape[1], random_state=0)
    np.testing.assert_array_equal(same.anchors, whole.anchors)
    np.testing.assert_array_equal(same.vertices, whole.vertices)
    options = {"choice": "centroids", "n_columns": 40, "n_runs": 4}
    sel, again = (sepnmf.eeht(M, 3, random_state=5, **options) for _ in range(2))
    np.testing.assert_array_equal(sel.anchors, again.anchors)
    np.testing.assert_array_equal(sel.vertices, again.vertices)
    assert sel.status == "converged"
    assert mrsa(sel.vertices, W) < mrsa(M[:, sel.anchors], W)
    # The anchors are scored best first, and the vertices are means of four columns each.
    np.testing.assert_array_equal(sel.scores[sel.anchors], [4, 3, 2])
    assert np.isfinite(sel.spread).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_columns": 2}, "n_columns must be at least r=3, got 2"),
        ({"n_runs": 0}, "n_runs"),
        ({"n_runs": 2}, "n_runs=2 needs n_columns"),
        ({"n_runs": 2, "n_columns": 20}, "n_runs=2 needs n_columns"),
    ],
)
def test_numbers_of_columns_and_runs_that_do_not_go_together(clouds, options, message):
    with pytest.raises(ValueError, match=message):
        sepnmf.eeht(clouds[0], 3, **options)


def test_a_callback_ends_all_runs(clouds, monkeypatch):
    monkeypatch.setattr("sepnmf.methods._expansion.WHOLE", 0)
    options = {"choice": "centroids", "n_columns": 40, "n_runs": 4, "random_state": 0}
    rounds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sel = sepnmf.eeht(clouds[0], 3, callback=lambda state: rounds.append(state) or True, **options)
    assert len(rounds) == 1
    assert sel.status == "stopped"
    assert np.unique(sel.anchors).size == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "published"), [("samson", 3.23), ("jasper_ridge", 6.88)], ids=["samson", "jasper ridge"]
)
def test_scenes_with_all_their_pixels(load, published):
    """REDIC's mean MRSA, with the pixels nearest to the reference spectra as references, and a tenth."""
    try:
        scene = getattr(sepnmf.datasets, f"load_{load}")()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    r = scene.W.shape[1]
    angles = [[mrsa(scene.M[:, [j]], scene.W[:, [k]]) for j in range(scene.M.shape[1])] for k in range(r)]
    references = scene.M[:, np.argmin(angles, axis=1)]
    sel = sepnmf.eeht(scene.M, r, choice="centroids")
    assert sel.status == "converged"
    assert mrsa(scene.M[:, sel.anchors], references) < 1.1 * published
