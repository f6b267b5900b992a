"""Vertices that `auto` estimates, a search that is stopped, and columns that are no candidates."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

import sepnmf
from sepnmf import metrics
from sepnmf._descent import Problem
from sepnmf._descent._vertices import means_of_nearest_columns
from sepnmf.matrix import as_matrix


def test_vertices_are_nearer_to_the_truth_than_the_anchors():
    errors, standardised = [], []
    for seed in range(6):
        M, _ = sepnmf.datasets.make_dirichlet(0.1, random_state=seed)
        clean, _ = sepnmf.datasets.make_dirichlet(0.0, random_state=seed)
        sel = sepnmf.select(M, 10, negative="allow")
        W = clean[:, sel.anchors]
        errors.append((metrics.mrsa(sel.vertices, W), metrics.mrsa(M[:, sel.anchors], W)))
        standardised.append((sel.vertices - W) / sel.spread)
    of_vertices, of_anchors = np.mean(errors, axis=0)
    assert of_vertices < 0.85 * of_anchors
    assert 0.8 < np.mean(np.square(standardised)) < 1.7


def test_vertices_of_exact_data_are_the_anchors():
    M, _ = sepnmf.datasets.make_dirichlet(0.0, random_state=1)
    sel = sepnmf.select(M, 10)
    np.testing.assert_allclose(sel.vertices, M[:, sel.anchors], atol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e150])
@pytest.mark.parametrize("normalize", ["none", "l1", "sqrt"])
def test_vertices_have_the_units_of_the_data(scale, normalize):
    M, _ = sepnmf.datasets.make_dirichlet(0.01, random_state=2)
    M = np.maximum(M, 0) * np.linspace(1, 3, M.shape[1]) * scale
    sel = sepnmf.select(M, 10, normalize=normalize)
    np.testing.assert_allclose(sel.vertices / scale, M[:, sel.anchors] / scale, atol=0.02)


def test_vertices_of_data_with_noise_by_row_have_the_units_of_the_data():
    rng = np.random.default_rng(3)
    W = rng.random((60, 5))
    M = W @ np.hstack([np.eye(5), rng.dirichlet(np.ones(5), 295).T])
    size = 0.002 * 30 ** rng.random((60, 1))
    M = M + size * rng.standard_normal(M.shape)
    sel = sepnmf.select(M, 5, negative="allow")
    assert sel.history["noise"][0] == "rows"
    order = np.argsort(sel.anchors)
    assert set(sel.anchors) == set(range(5))
    z = (sel.vertices[:, order] - W) / sel.spread[:, order]
    assert 0.5 < np.mean(z**2) < 2


def test_vertices_beside_zero_columns_and_columns_whose_squares_vanish():
    """Neither has a direction: zero columns are in no mean, and such an anchor is its own vertex."""
    M = np.array([[0, 1, 0, 1, 2.0, 0, 1e-170], [0, 0, 1, 1, 1, 0, 0]])
    problem = SimpleNamespace(data=as_matrix(M), n=400, column_scale=np.ones(7))
    vertices, errors, *_ = means_of_nearest_columns(problem, np.array([1, 6]))
    np.testing.assert_array_equal(vertices[:, 1], M[:, 6])
    assert np.isnan(errors[:, 1]).all()
    assert np.isfinite(vertices).all()


def test_vertices_of_misfit_are_means_of_similar_columns():
    rng = np.random.default_rng(4)
    H = rng.dirichlet(0.3 * np.ones(3), 2000).T
    M = rng.random((40, 3)) @ H + 0.3 * rng.random((40, 8)) @ (rng.random((8, 2000)) * H.max(axis=0))
    sel = sepnmf.select(M, 3)
    assert sel.history["noise"][0] == "none"
    cosines = metrics.sam(sel.vertices, M[:, sel.anchors])
    assert 0 < cosines < 10
    assert (sel.spread > 0).all()


def test_true_answer_of_the_callback_ends_the_search_with_the_best_answer_so_far():
    M, _ = sepnmf.datasets.make_dirichlet(0.3, random_state=0)
    calls = []
    sel = sepnmf.auto(M, 10, negative="allow", callback=lambda state: calls.append(state.n_outer) or True)
    assert calls == [1]
    assert sel.status == "stopped"
    assert not sel.converged
    assert len(set(sel.anchors)) == 10
    assert len(sel.history["start"]) == 1


def test_interrupt_ends_the_search_with_the_best_answer_so_far():
    M, _ = sepnmf.datasets.make_midpoint(0.3, random_state=0)

    def interrupt(state):
        if state.n_outer == 2:
            raise KeyboardInterrupt

    sel = sepnmf.auto(M, 10, negative="allow", callback=interrupt)
    assert sel.status == "stopped"
    assert len(set(sel.anchors)) == 10
    assert len(sel.history["start"]) == 2


def test_zero_column_is_not_chosen_while_others_are_left():
    M = np.array([[0.3, 0.1, 0, 0, 0.2, 0], [0, 0, 0, 0.6, 0, 0.2], [0.8, 0, 0, 0, 0, 0.3]])
    sel = sepnmf.select(M, 3)
    assert 2 not in sel.anchors
    assert metrics.rae(M, sel.anchors) > 0.9


def test_zero_columns_take_no_time():
    M = np.zeros((3, 12))
    M[0, [3, 7, 11]] = 0.05, 0.53, 0.82
    M[1, [9, 10]] = 0.22, 0.6
    M[2, [5, 6, 8, 10, 11]] = 0.9, 0.96, 0.34, 0.47, 0.93
    sepnmf.select(M[:, :9], 2)  # compiles
    began = time.process_time()
    sel = sepnmf.select(M, 3)
    assert time.process_time() - began < 20
    assert M[:, sel.anchors].any(axis=0).all()


def test_anchors_of_easy_data_come_back_always_and_of_noisy_data_less_often():
    easy, _ = sepnmf.datasets.make_dirichlet(0.02, random_state=0)
    assert sepnmf.stability(easy, 10, draws=3, negative="allow").stability.tolist() == 10 * [1.0]
    hard, _ = sepnmf.datasets.make_dirichlet(0.7, random_state=0)
    sel = sepnmf.stability(hard, 10, draws=5, negative="allow")
    assert sel.stability.mean() < 0.8
    assert sel.anchors.tolist() == sepnmf.select(hard, 10, negative="allow").anchors.tolist()


@pytest.mark.parametrize(("share", "comes_back"), [(0.6, 0.0), (0.95, 0.0), (0.99, 1.0)])
def test_a_column_is_as_good_as_an_anchor_if_it_is_nearly_all_of_its_vertex(monkeypatch, share, comes_back):
    rng = np.random.default_rng(0)
    H = np.hstack([np.eye(4), rng.dirichlet(np.ones(4), 60).T])
    H[:, 4] = [share, 1 - share, 0, 0]
    M = rng.random((30, 4)) @ H + 1e-4 * rng.standard_normal((30, 64))
    fourth = {0: 4}  # is chosen instead of the first
    monkeypatch.setattr("sepnmf.tuning._stability.KEPT", 1.0)
    monkeypatch.setattr(
        "sepnmf.tuning._stability.descent",
        lambda _: lambda start: SimpleNamespace(anchors=np.array([fourth.get(j, j) for j in start])),
    )
    sel = sepnmf.stability(M, 4, draws=2, negative="allow", noise="white")
    assert dict(zip(sel.anchors.tolist(), sel.stability, strict=True)) == {0: comes_back, 1: 1, 2: 1, 3: 1}


def test_noise_of_a_draw_is_of_the_kind_that_was_found():
    """In counts the noise of a short column, of unit length, is larger."""
    M = sepnmf.datasets.make_family("counts", 1000.0, random_state=0).M
    problem = Problem.prepare(as_matrix(M).in_memory(), 6, "auto", np.random.default_rng(0), 1)
    assert problem.noise.kind == "counts"
    columns = np.arange(0, 300, 2)
    noisier = problem.with_more_noise(columns, 2.0, np.random.default_rng(1))
    added = noisier.data.array - problem.data.take(columns)
    sizes = np.sqrt(np.mean(added**2, axis=0))
    lengths = np.linalg.norm(M[:, columns], axis=0)
    assert np.corrcoef(np.log(sizes), np.log(lengths))[0, 1] < -0.95
    assert np.mean(added**2) == pytest.approx(4 * problem.noise.variance, rel=0.15)


def test_stability_keeps_masks_and_seeds():
    M, _ = sepnmf.datasets.make_dirichlet(0.3, n=60, r=4, random_state=1)
    mask = np.arange(60) != 7
    options = {"mask": mask, "draws": 3, "negative": "allow"}
    one, two = (sepnmf.stability(M, 4, random_state=5, **options) for _ in range(2))
    assert 7 not in one.anchors
    np.testing.assert_array_equal(one.stability, two.stability)
    with pytest.raises(ValueError, match="draws"):
        sepnmf.stability(M, 4, draws=0, negative="allow")


def test_stability_of_misfit_counts_similar_columns():
    rng = np.random.default_rng(6)
    H = rng.dirichlet(0.2 * np.ones(3), 600).T
    M = rng.random((30, 3)) @ H + 0.2 * rng.random((30, 6)) @ (rng.random((6, 600)) * H.max(axis=0))
    sel = sepnmf.stability(M, 3, draws=3)
    assert sel.history["noise"][0] == "none"
    assert ((sel.stability >= 0) & (sel.stability <= 1)).all()
    assert sel.stability.mean() > 0.3


def test_vertices_near_the_largest_number_are_finite():
    M = np.array([[2.7e307, 4.9e306, 1.3e308], [8.7e307, 1.7e308, 5e307]])
    sel = sepnmf.auto(M, 1)
    assert np.isfinite(sel.vertices).all()


def test_columns_that_differ_by_more_than_there_are_digits_have_an_answer():
    rng = np.random.default_rng(0)
    M = rng.random((6, 7)) * 10.0 ** np.array([-9, 13, -9, 4, 13, -9, 0])
    for method in ("auto", "tuned_admm"):
        sel = sepnmf.select(M, 3, method)
        assert len(set(sel.anchors)) == 3
        assert np.isfinite(sel.scores).all()
