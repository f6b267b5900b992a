"""The status "no pure columns": when `auto` says so, when it is silent, and what the test computes."""

import numpy as np
import pytest
from scipy.optimize import minimize

import sepnmf
from sepnmf._descent import Problem, cloud, has_no_pure_columns
from sepnmf._descent._facets import distances_outside
from sepnmf._descent._purity import are_dependent, nearest_to_rays
from sepnmf.datasets import make_capped, make_dirichlet, make_family, make_midpoint
from sepnmf.matrix import as_matrix

SAID = "no pure columns"


def status(M, r, **options):
    return sepnmf.select(M, r, negative="allow", n_jobs=1, **options).status


def problem_of(M, r, noise="auto"):
    rng = np.random.default_rng(0)
    return Problem.prepare(as_matrix(M, "allow").in_memory(), r, "auto", rng, 1, noise)


@pytest.mark.parametrize("purity", [0.6, 0.7, 0.8, 0.9])
def test_mixtures_without_pure_columns_are_told(purity):
    for seed, size in enumerate([(50, 150, 4), (20, 100, 3), (30, 120, 5)]):
        assert status(make_capped(purity, 0.01, *size, random_state=seed).M, size[2]) == SAID


@pytest.mark.parametrize("brightness", [0.0, 0.5])
@pytest.mark.parametrize("noise", [0.001, 0.01, 0.1])
def test_pure_columns_are_not_doubted(noise, brightness):
    sizes = [(50, 150, 4), (20, 100, 3), (60, 100, 8)] + [(30, 1500, 3)] * (noise == 0.01)
    for seed, size in enumerate(sizes):
        M = make_capped(1.0, noise, *size, brightness=brightness, random_state=seed).M
        assert status(M, size[2]) == "done"


@pytest.mark.parametrize("eps", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_midpoints_that_were_moved_outwards_are_not_taken_for_blunt_corners(eps, dtype):
    assert status(make_midpoint(eps, random_state=1)[0].astype(dtype), 10) != SAID


@pytest.mark.parametrize(
    ("family", "level", "seed"),
    [
        ("brightness", 0.1, 0),
        ("counts", 1000, 501),
        ("heavy_tails", 0.06, 0),
        ("by_row", 0.1, 0),
        ("by_column", 0.02, 0),
        ("outliers", 0.04, 0),
        ("spikes", 0.002, 501),  # a spike puts one column 16 standard deviations outside
        ("spikes", 0.005, 502),
        ("low_rank", 0.01, 0),
        ("smooth", 0.03, 0),
    ],
)
def test_other_kinds_of_noise_are_not_taken_for_blunt_corners(family, level, seed):
    instance = make_family(family, level, seed)
    assert status(instance.M, len(instance.anchors)) == "done"


def test_anchors_that_are_not_the_purest_columns_are_no_evidence():
    M = make_capped(1.0, 0.01, 50, 200, 4, random_state=0)
    problem = problem_of(M.M, 4)
    wrong = np.array([j for j in range(200) if j not in set(M.anchors)])
    H = sepnmf.nnls(M.vertices, M.M)
    anchors = np.array([wrong[H[k, wrong].argmax()] for k in range(4)])  # the next best columns
    found = cloud(problem)
    sizes = np.sqrt(found.variance) * found.sizes
    assert distances_outside(found.X, anchors, sizes).max() > 6
    assert not has_no_pure_columns(problem, anchors)


def test_nothing_is_said_without_noise_with_misfit_or_beyond_the_rank():
    M = make_capped(0.8, 0.01, 50, 150, 4, random_state=0).M
    assert status(M, 4) == SAID
    exact = make_capped(0.8, 0.0, 50, 150, 4, random_state=0).M
    assert status(exact, 4) == "done"
    assert status(exact.astype(np.float32), 4) == "done"  # rounding is no noise
    assert status(M, 4, noise="none") == "done"
    assert status(M, 1) == "done"
    assert status(M, 6) != SAID  # two directions are noise
    two = make_capped(0.7, 0.01, 30, 100, 2, random_state=0).M
    assert status(two, 2) == "done"  # any two extreme columns explain the others


def test_the_answer_is_the_same_as_without_the_test(monkeypatch):
    M = make_capped(0.8, 0.01, 50, 1200, 3, random_state=0).M
    told = sepnmf.select(M, 3, n_jobs=1)
    monkeypatch.setattr("sepnmf.tuning._auto.has_no_pure_columns", lambda problem, anchors: False)
    silent = sepnmf.select(M, 3, n_jobs=1)
    assert (told.status, silent.status) == (SAID, "done")
    for name in ("anchors", "scores", "vertices", "spread"):
        np.testing.assert_array_equal(getattr(told, name), getattr(silent, name))
    assert told.converged == silent.converged


def test_distances_are_those_of_the_best_facets():
    rng = np.random.default_rng(1)
    X = rng.random((3, 3)) @ np.hstack([np.eye(3), rng.dirichlet(np.ones(3), 40).T])
    X += 0.03 * rng.standard_normal(X.shape)
    anchors, sizes = np.arange(3), rng.uniform(0.5, 2, 43)
    expected = np.zeros(43)
    for k in range(3):
        others = [j for j in range(3) if j != k]

        def plane(t, k=k):  # planes with distance one from the own anchor, up to the length of the normal
            free = np.linalg.svd(X[:, [k]].T)[2][1:]
            return X[:, k] / (X[:, k] @ X[:, k]) + t @ free

        def cost(t, k=k, others=others, plane=plane):
            heights = plane(t) @ X / sizes
            below = np.minimum(heights, 0)
            below[:3] = 0
            return np.sum(heights[others] ** 2) + np.sum(below**2)

        start = np.linalg.inv(X[:, :3])[k] - X[:, k] / (X[:, k] @ X[:, k])
        start = np.linalg.svd(X[:, [k]].T)[2][1:] @ start
        best = minimize(
            cost, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 9999}
        )
        v = plane(best.x)
        outside = -(v @ X) / np.linalg.norm(v) / sizes
        outside[others] = np.abs(outside[others])
        expected = np.maximum(expected, outside)
    np.testing.assert_allclose(distances_outside(X, anchors, sizes), expected, atol=2e-3 * expected.max())


def test_of_many_columns_those_near_a_facet_decide(monkeypatch):
    found = cloud(problem_of(make_capped(0.9, 0.01, 30, 3000, 3, random_state=0).M, 3))
    anchors, sizes = sepnmf.spa(found.X, 3, negative="allow").anchors, np.sqrt(found.variance) * found.sizes
    few = distances_outside(found.X, anchors, sizes)
    monkeypatch.setattr("sepnmf._descent._facets.NEAR", 10**6)
    np.testing.assert_allclose(few, distances_outside(found.X, anchors, sizes), rtol=1e-6, atol=1e-9)


def test_a_column_for_each_ray_and_no_two_the_same():
    X = np.array([[1.0, 0.9, 0.1, 0.0], [0.0, 0.1, 0.2, -1.0]])
    W = np.array([[1.0, 1.0], [0.0, 0.05]])
    chosen = nearest_to_rays(X, W, np.ones(4), np.array([True, True, True, True]))
    assert chosen.tolist() == [0, 1]
    assert nearest_to_rays(X, W, np.ones(4), np.array([False, True, True, True])).tolist() == [2, 1]
    assert are_dependent(np.ones((2, 2)))
    assert are_dependent(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert not are_dependent(1e-8 * np.eye(3))


def test_many_anchors_are_no_evidence_because_their_determinant_is_small():
    for purity, said in ((1.0, False), (0.8, True)):
        drawn = make_capped(purity, 0.001, 80, 600, 40, random_state=0)
        assert (
            abs(np.linalg.det(np.linalg.qr(drawn.vertices)[1] / np.linalg.norm(drawn.vertices, axis=0)))
            < 1e-12
        )
        assert has_no_pure_columns(problem_of(drawn.M, 40), drawn.anchors) == said


def test_shares_of_vertices_are_capped():
    for purity, r in ((0.55, 2), (0.6, 4), (0.8, 3), (1.0, 5)):
        drawn = make_capped(purity, 0.0, 30, 200, r, random_state=1)
        H = sepnmf.nnls(drawn.vertices, drawn.M)
        np.testing.assert_allclose(H.sum(axis=0), 1, atol=1e-8)
        np.testing.assert_allclose(H[np.arange(r), drawn.anchors], purity, atol=1e-8)
        assert H.max() <= purity + 1e-8
        assert H.max(axis=0).mean() > 1 / r + 0.02
    dim = make_capped(0.8, 0.0, brightness=0.5).M.sum(axis=0)
    assert 0.4 < np.log(dim).std() < 0.6
    noisy, clean = (make_capped(0.8, noise, random_state=2).M for noise in (0.05, 0.0))
    assert np.linalg.norm(noisy - clean) / np.linalg.norm(clean) == pytest.approx(0.05)
    np.testing.assert_array_equal(noisy, make_capped(0.8, 0.05, rng=2).M)


@pytest.mark.parametrize(
    "wrong",
    [{"purity": 0.5}, {"purity": 1.1}, {"noise": -1}, {"r": 1}, {"n": 3}, {"brightness": -1}],
)
def test_arguments_of_capped_data_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make_capped(**({"purity": 0.8} | wrong))


def test_type_2_data_are_silent():
    for seed in range(5):
        assert status(make_dirichlet(0.01, random_state=seed)[0], 10) == "done"
