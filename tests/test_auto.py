"""The method without parameters."""

import _thread
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sepnmf
from sepnmf._descent._likelihood import Descent, VertexModel
from sepnmf._descent._scaling import scaled
from sepnmf.datasets import make_dirichlet, make_family, make_midpoint
from sepnmf.matrix import Dense, Sparse
from sepnmf.tuning import auto
from sepnmf.tuning._clusters import bisecting_clusters, cluster_means, halves
from sepnmf.tuning._consensus import on_clusters


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.25, 0.3, 0.38])
def test_midpoints(noise):
    for seed in range(3):
        M, anchors = make_midpoint(noise, random_state=seed)
        assert set(sepnmf.select(M, 10, negative="allow").anchors) == set(anchors)


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2, 0.3])
def test_mixtures_with_noise(noise):
    for seed in range(3):
        M, anchors = make_dirichlet(noise, random_state=seed)
        assert set(sepnmf.select(M, 10, negative="allow").anchors) == set(anchors)


def test_history_says_what_was_tried():
    M, _ = make_dirichlet(0.1, random_state=0)
    sel = auto(M, 10, negative="allow")
    table = pd.DataFrame(sel.history)
    assert table["start"].tolist() == ["snpa", "spa", "xray"]
    assert set(table["criterion"]) == {"likelihood"}
    assert (table["after"] <= table["before"] + 1e-12).all()
    want = sum(np.square(M - M[:, sel.anchors] @ sepnmf.nnls(M[:, sel.anchors], M)).ravel())
    assert table["residual"].min() == pytest.approx(want, rel=1e-9)
    assert sel.n_outer == 3


def test_the_ratio_model_is_asked_where_the_others_disagree(monkeypatch):
    M, _ = make_dirichlet(0.05, random_state=0)
    assert "tuned_admm" not in auto(M, 10, negative="allow").history["start"]
    monkeypatch.setattr(
        VertexModel, "descend", lambda self, anchors, _: Descent(self.start(anchors), 0.0, 0, settled=True)
    )
    M, _ = make_dirichlet(0.9, random_state=0)
    assert "tuned_admm" in auto(M, 10, negative="allow").history["start"]


@pytest.mark.slow
def test_anchors_in_the_cone_of_others_are_not_identifiable():
    assert auto(make_midpoint(0.3, random_state=0)[0], 10, negative="allow").status == "done"
    assert auto(make_midpoint(0.5, random_state=0)[0], 10, negative="allow").status == "not identifiable"
    copies = np.repeat(make_dirichlet(0.0, n=30, r=4, random_state=0)[0], 2, axis=1)
    assert auto(copies, 4).status == "done"  # a copy is not another column


def test_scores_are_what_an_anchor_is_worth():
    M, _ = make_dirichlet(0.05, n=40, r=4, random_state=1)
    sel = auto(M, 4, negative="allow")

    def residual(columns):
        return np.square(M - M[:, columns] @ sepnmf.nnls(M[:, columns], M)).sum()

    for k in sel.anchors:
        rest = [a for a in sel.anchors if a != k]
        assert sel.scores[k] == pytest.approx((residual(rest) - residual(sel.anchors)) / np.square(M).sum())
    assert (np.delete(sel.scores, sel.anchors) == 0).all()


def smooth_scene(n, seed=0):
    """Spectra that mix not quite linearly, n pixels, a few of them nearly dark: no white noise."""
    rng = np.random.default_rng(seed)
    bands = np.linspace(0, 1, 80)[:, None]
    W = np.exp(-((bands - np.array([0.15, 0.45, 0.8])) ** 2) / 0.02) + 0.1
    H = rng.dirichlet(0.4 * np.ones(3), n).T
    M = W @ H * (1 + 0.05 * np.sin(7 * bands + 6 * H[0])) * (0.6 + 0.8 * rng.random(n))
    M[:, :20] = 1e-6 * rng.random((80, 20))
    return M, W


@pytest.mark.parametrize("n", [250, 800, 3000])
def test_smooth_variability(n):
    M, W = smooth_scene(n)
    sel = auto(M, 3)
    assert sepnmf.metrics.sam(M[:, sel.anchors], W) < 4
    assert sel.anchors.min() >= 20  # no dark pixel
    assert set(sel.history["criterion"]) == {"residual"}
    assert any("clusters" in start for start in sel.history["start"]) == (n == 3000)


def test_clusters_too_coarse_are_made_finer(monkeypatch):
    M, _ = smooth_scene(1500)
    monkeypatch.setattr("sepnmf.tuning._consensus.on_clusters", lambda *_: np.arange(30, 33))
    sel = auto(M, 3)  # never better than the starts, so in the end single columns are exchanged
    starts = sel.history["start"].tolist()
    assert "100 clusters" in starts
    assert "200 clusters" in starts
    assert sel.history["residual"][-1] == np.nanmin(sel.history["residual"])


def test_answers_on_clusters_do_not_depend_on_the_number_of_threads():
    M, _ = smooth_scene(1500)
    one, *more = (auto(M, 3, n_jobs=jobs) for jobs in (1, 2, 4))
    assert "100 clusters" in one.history["start"]
    for sel in more:
        assert sel.anchors.tolist() == one.anchors.tolist()
        np.testing.assert_allclose(sel.history["residual"], one.history["residual"], rtol=1e-12)


def test_large_parts_are_not_grouped_in_several_threads(monkeypatch):
    M, _ = smooth_scene(1500)
    want, threads = auto(M, 3, n_jobs=2).anchors.tolist(), set()

    def noted(*given):
        threads.add(threading.get_ident())
        return on_clusters(*given)

    monkeypatch.setattr("sepnmf.tuning._consensus.on_clusters", noted)
    monkeypatch.setattr("sepnmf.tuning._consensus.HELD", 2 * 80 * 1200 - 1)
    assert auto(M, 3, n_jobs=2).anchors.tolist() == want
    assert threads == {threading.get_ident()}


def test_ctrl_c_while_columns_are_grouped_ends_with_the_best_start(monkeypatch):
    """Whichever thread is grouping: the others stop before their next split."""
    M, _ = smooth_scene(1500)
    here, splits, before = threading.get_ident(), [], _thread._count()

    def split(A):
        splits.append(threading.get_ident())
        if threading.get_ident() == here and len(set(splits)) == 2:
            raise KeyboardInterrupt
        return halves(A)

    monkeypatch.setattr("sepnmf.tuning._clusters.halves", split)
    sel = auto(M, 3, n_jobs=2)
    assert sel.status == "stopped"
    assert not any("clusters" in start for start in sel.history["start"])
    left = M - M[:, sel.anchors] @ sepnmf.nnls(M[:, sel.anchors], M)
    assert np.square(left).sum() == pytest.approx(sel.history["residual"].min())
    assert len(splits) < 200  # nine answers take 99 splits and more each
    assert _thread._count() == before


@pytest.mark.parametrize("n", [1500, 30_000])
def test_many_columns_with_noise(n):
    M, anchors = make_dirichlet(0.05, n=n, r=6, random_state=0)
    sel = auto(M, 6, negative="allow")
    assert set(sel.anchors) == set(anchors)
    assert set(sel.history["criterion"]) == {"likelihood"}


def test_same_seed_same_answer_whatever_the_number_of_threads():
    M, _ = smooth_scene(1500)
    one, two = (auto(M, 3, n_jobs=jobs, random_state=1) for jobs in (1, 2))
    assert one.anchors.tolist() == two.anchors.tolist()


def test_sparse_and_long_columns():
    rng = np.random.default_rng(0)
    M = rng.random((900, 5)) * (rng.random((900, 5)) < 0.2)
    M = M @ np.hstack([np.eye(5), rng.dirichlet(np.ones(5), 700).T])
    dense, thin = auto(M, 5), auto(sparse.csc_array(M), 5)
    assert set(dense.anchors) == set(thin.anchors) == set(range(5))


def test_normalisation():
    rng = np.random.default_rng(0)
    M = make_dirichlet(0.0, n=200, r=4, random_state=0)[0]
    counts = M * 1000 * (1 + np.arange(200)) ** -1.5  # a few words have nearly all the occurrences
    np.testing.assert_allclose(scaled(Dense(M), "auto").array, M)
    np.testing.assert_allclose(scaled(Dense(counts), "auto").array, counts / np.sqrt(counts.sum(axis=0)))
    np.testing.assert_allclose(scaled(Dense(counts), "l1").array.sum(axis=0), 1)
    thin = scaled(Sparse(sparse.csc_array(counts)), "l1")
    np.testing.assert_allclose(thin.toarray(), scaled(Dense(counts), "l1").array)
    zero = np.column_stack([counts, np.zeros(50)])
    assert np.isfinite(scaled(Dense(zero), "l1").array).all()
    with pytest.raises(ValueError, match="normalize must be one of"):
        auto(rng.random((5, 6)), 2, normalize="l2")


def test_refine_works_from_every_start():
    M, anchors = make_midpoint(0.25, random_state=0)
    plain = sepnmf.select(M, 10, "spa", negative="allow")
    better = sepnmf.select(M, 10, "spa", negative="allow", refine=True)
    assert set(plain.anchors) != set(anchors)
    assert plain.refinement is None
    assert set(better.anchors) == set(anchors)
    assert better.method == "spa"
    assert better.refinement["after"] < better.refinement["before"]
    assert better.refinement["criterion"] == "likelihood"


@pytest.mark.slow
def test_refine_never_makes_many_columns_worse():
    for seed in range(3):
        M, _ = smooth_scene(2500, seed)
        given = sepnmf.select(M, 3)
        refined = sepnmf.select(M, 3, refine=True)
        before, after = (
            np.square(M - M[:, s.anchors] @ sepnmf.nnls(M[:, s.anchors], M)).sum() for s in (given, refined)
        )
        assert after <= before * (1 + 1e-9)


def test_a_descent_that_takes_too_long_says_so(monkeypatch):
    monkeypatch.setattr("sepnmf._descent._likelihood.MOST_WORK", 1e6)
    sel = auto(make_dirichlet(0.5, random_state=0)[0], 10, negative="allow")
    assert sel.status == "max_outer"
    assert not sel.converged
    assert not sel.history["settled"].all()


def test_descents_share_the_work_of_a_call(monkeypatch):
    from sepnmf._descent import _criterion
    from sepnmf._descent._likelihood import VertexModel

    allowed, taken = [], []
    descend = VertexModel.descend

    def watched(self, anchors, most_work):
        allowed.append(most_work)
        got = descend(self, anchors, most_work)
        taken.append(self.work)
        return got

    monkeypatch.setattr(VertexModel, "descend", watched)
    M, _ = make_dirichlet(0.5, random_state=0)
    auto(M, 10, negative="allow")
    whole = list(taken)
    assert allowed[0] == _criterion.MOST_WORK_IN_ALL
    monkeypatch.setattr("sepnmf._descent._criterion.MOST_WORK_IN_ALL", 0.6 * sum(whole))
    allowed.clear(), taken.clear()
    sel = auto(M, 10, negative="allow")
    assert sel.status == "max_outer"
    assert sum(taken) < sum(whole)
    np.testing.assert_allclose(np.diff(allowed), -np.array(taken)[:-1])


def test_more_anchors_than_directions():
    M = np.array([[0.0, 0, 1, 1, 0.5], [0, 1, 0, 1, 0.5], [1, 1, 1, 1, 1.0]])
    assert set(auto(M, 4).anchors) == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="M is zero"):
        auto(np.zeros((3, 4)), 2)
    with pytest.raises(ValueError, match="M is zero"):
        auto(sparse.csc_array((2500, 2500)), 2)


def test_clusters():
    rng = np.random.default_rng(0)
    centres = 10 * rng.standard_normal((4, 5))
    X = np.repeat(centres, 30, axis=1) + 0.1 * rng.standard_normal((4, 150))
    labels = bisecting_clusters(X, 5)
    assert [len(set(labels[30 * k : 30 * k + 30])) for k in range(5)] == [1] * 5
    means, sizes = cluster_means(X, labels)
    assert sizes.tolist() == [30] * 5
    np.testing.assert_allclose(means[:, labels[0]], X[:, :30].mean(axis=1))
    assert len(set(bisecting_clusters(np.ones((3, 8)), 4))) == 1  # equal columns are not split
    assert len(set(bisecting_clusters(X, 149))) == 149


@pytest.mark.parametrize("order", ["C", "F"])
def test_clusters_leave_the_columns_as_they_are(order):
    X = np.random.default_rng(0).random((3, 40)).copy(order)
    before = X.copy()
    bisecting_clusters(X, 6)
    np.testing.assert_array_equal(X, before)


def test_tuned_admm_reaches_its_trace():
    M, anchors = make_dirichlet(0.05, random_state=0)
    sel = sepnmf.tuned_admm(M, 10, negative="clip")
    assert set(sel.anchors) == set(anchors)
    assert sel.converged
    assert abs(sel.history["trace"][-1] - 10) <= 0.2
    assert (np.diff(np.log(sel.history["lam"])) != 0).all()
    short = sepnmf.tuned_admm(M, 10, max_solves=1, negative="clip")
    assert short.status == "max_outer"
    assert len(short.history["lam"]) == 1


def interrupted_after_an_answer(problem, answers):
    answers.best_by_descent({"spa": np.arange(problem.r)})
    raise KeyboardInterrupt


@pytest.mark.parametrize("noise", ["auto", "none"])
def test_ctrl_c_ends_what_runs_auto_as_a_step(monkeypatch, noise):
    """The best answer so far would be taken for the whole one, and the next steps would go on."""
    M = sepnmf.datasets.make_dirichlet(0.02, m=20, n=60, r=4, random_state=0)[0].clip(0)
    monkeypatch.setattr("sepnmf.tuning._auto.best_answer", interrupted_after_an_answer)
    assert sepnmf.auto(M, 4, noise=noise).status == "stopped"
    with pytest.raises(KeyboardInterrupt):
        sepnmf.stability(M, 4, noise=noise, draws=2)
    hard, _ = make_midpoint(0.3, random_state=0)  # greedy methods do not explain it
    with pytest.raises(KeyboardInterrupt):
        sepnmf.estimate_rank(hard, negative="allow")


def test_ctrl_c_in_a_draw_ends_the_draws(monkeypatch):
    M = sepnmf.datasets.make_dirichlet(0.02, m=20, n=60, r=4, random_state=0)[0].clip(0)
    found = sepnmf.auto(M, 4, noise="none")
    monkeypatch.setattr("sepnmf.tuning._stability.auto", lambda *_, **__: found)
    monkeypatch.setattr("sepnmf.tuning._auto.best_answer", interrupted_after_an_answer)
    with pytest.raises(KeyboardInterrupt):
        sepnmf.stability(M, 4, noise="none", draws=2)


def test_more_anchors_than_directions_stand_out_of_the_noise():
    rng = np.random.default_rng(0)
    W = rng.random((60, 22))
    M = W @ np.hstack([np.eye(22), rng.dirichlet(np.full(22, 0.2), 150).T])
    M += 0.002 * rng.standard_normal(M.shape)
    found = sepnmf.select(M, 25, negative="allow")
    assert len(set(found.anchors)) == 25
    assert set(range(22)) <= set(found.anchors)


def test_fewer_directions_than_anchors_have_a_start_that_looks_at_all_rows():
    """The starts in four directions lead to the same local minimum, above that of the six true columns."""
    instance = make_family("dependent", 5000, 6)
    sel = sepnmf.select(instance.M, 6, negative="allow")
    after = dict(zip(sel.history["start"], sel.history["after"], strict=True))
    assert after["ppi"] < min(after["snpa"], after["xray"])
    assert instance.share_found(sel.anchors) == 1


def test_very_many_columns_have_no_start_that_takes_longer_than_the_descent(monkeypatch):
    M, anchors = make_dirichlet(noise=0.05, n=6000, r=5, random_state=0)
    sel = sepnmf.select(M, 5, negative="allow")
    assert set(sel.history["start"]) == {"snpa", "spa", "xray"}
    monkeypatch.setattr("sepnmf.tuning._auto.CROWDED", 5000)
    few = sepnmf.select(M, 5, negative="allow")
    assert set(few.history["start"]) == {"spa", "xray"}
    assert set(few.anchors) == set(sel.anchors) == set(anchors)
