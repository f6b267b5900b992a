"""EEHT: the expanded programme against the whole one, the choices, and awkward input."""

from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import oracles
import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint
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
    monkeypatch.setattr(f"{MODULE}.WHOLE", 0)
    M = noisy_mixtures(seed, m=8, n=20 + 4 * seed, r=2 + seed % 3, level=(0.0, 0.02, 0.1)[seed % 3])
    optimum_is_that_of_the_whole_programme(M, 2 + seed % 3, n_bases=1 + seed % 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_expansion_ends_at_the_optimum_of_programmes_with_up_to_200_columns(seed, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.WHOLE", 0)
    n, r = 20 + 180 * seed // 49, 2 + seed % 4
    M = noisy_mixtures(100 + seed, m=10, n=n, r=r, level=(0.0, 0.01, 0.05, 0.2)[seed % 4])
    optimum_is_that_of_the_whole_programme(M, r, n_bases=1 + seed % 3)


@pytest.mark.parametrize(("make", "level"), [(make_midpoint, 0.2), (make_dirichlet, 0.1)])
def test_the_whole_programme_at_once_and_its_expansion_have_one_optimum(make, level, monkeypatch):
    M, _ = make(level, m=20, r=5, random_state=3)
    once = sepnmf.eeht(M, 5, negative="allow")
    monkeypatch.setattr(f"{MODULE}.WHOLE", 0)
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
    module = pytest.importorskip(MODULE)
    points = np.array([[0.0, 0.1, 0.2, 5.0, 9.0]])
    # The first ball contains 1.4; of the 0.6 left the second contains all, and the third anchor is next.
    anchors, balls = module.from_balls(points, np.array([0.8, 0.6, 0.6, 0.5, 0.5]), 3, "largest")
    assert len(set(anchors.tolist())) == 3
    anchors, balls = module.from_balls(points, np.array([0.5, 1.0, 0.5, 0.0, 0.0]), 2, "largest")
    assert anchors.tolist() == [1, 0]
    anchors, balls = module.from_balls(np.zeros((1, 4)), np.full(4, 0.75), 3, "centroids")
    assert [len(ball) for ball in balls] == [4, 1, 1]
    assert sorted(anchors.tolist()) == [0, 1, 2]


def test_normalised_columns_do_not_depend_on_their_lengths():
    M, anchors = make_dirichlet(0.05, m=20, n=40, r=4, random_state=1)
    lengths = np.linspace(1, 50, 40)
    plain = sepnmf.eeht(M, 4, normalize="l1", negative="allow", choice="centroids")
    scaled = sepnmf.eeht(M * lengths, 4, normalize="l1", negative="allow", choice="centroids")
    assert set(plain.anchors) == set(anchors)
    assert scaled.anchors.tolist() == plain.anchors.tolist()
    np.testing.assert_allclose(scaled.vertices, plain.vertices * lengths[plain.anchors], rtol=1e-9)


def test_awkward_matrices():
    rng = np.random.default_rng(0)
    square = rng.random((4, 4))
    assert sorted(sepnmf.eeht(square, 4).anchors) == [0, 1, 2, 3]
    np.testing.assert_allclose(sepnmf.eeht(square, 4).scores, 1)
    assert sepnmf.eeht(rng.random((5, 9)), 1).anchors.shape == (1,)
    low = rng.random((6, 2)) @ rng.random((2, 12))
    assert len(set(sepnmf.eeht(low, 5).anchors.tolist())) == 5
    for choice in ("diagonal", "largest", "centroids"):
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
