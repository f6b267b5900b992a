"""Vertices from anchors: minimum volume and archetypes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize, nnls
from sklearn.exceptions import ConvergenceWarning

import sepnmf
from sepnmf import archetypes, minimum_volume
from sepnmf._descent._facets import LeastVolume, smallest_cone
from sepnmf.datasets import make_capped, make_dirichlet
from sepnmf.metrics import mrsa
from sepnmf.vertices._archetypes import descend, nearest_of_hull

BOTH = pytest.mark.parametrize("function", [minimum_volume, archetypes])


# Minimum volume ------------------------------------------------------------------------------------------


def volume_objective(W, X, variance):
    """Squared distances outside of the three planes through pairs of vertices, and nσ²/2 · log volume."""
    total = 0.0
    for k in range(3):
        a, b = (W[:, j] for j in range(3) if j != k)
        normal = np.cross(a, b)
        normal /= np.linalg.norm(normal) * np.sign(normal @ W[:, k])
        total += np.sum(np.minimum(normal @ X, 0) ** 2)
    u = np.linalg.svd(X)[0][:, 0]
    corners = W / (u @ W)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])) / 2
    return total + X.shape[1] * variance / 2 * np.log(area)


def blunt(seed, n=60, noise=0.01):
    """Three coordinates of columns without pure ones, and the vertices."""
    rng = np.random.default_rng(seed)
    W = np.eye(3) + 0.2 * rng.random((3, 3))
    H = rng.dirichlet(np.ones(3), 4 * n)
    H = H[H.max(axis=1) <= 0.85][:n].T
    return W @ H + noise * rng.standard_normal((3, n)), W


@pytest.mark.parametrize("seed", range(4))
def test_the_cone_is_a_minimum_of_the_objective(seed):
    X, truth = blunt(seed)
    anchors = sepnmf.spa(X, 3, negative="allow").anchors
    found = smallest_cone(X, anchors, 1e-4, np.ones(60), tol=1e-13)
    W = X[:, anchors] @ found.weights
    value = volume_objective(W, X, 1e-4)
    u = np.linalg.svd(X)[0][:, 0]
    plane = np.linalg.svd(u[None])[2][1:]  # vertices as points of the plane uᵀx = 1

    def vertices(t):
        return np.sign(u.sum()) * u[:, None] + plane.T @ t.reshape(2, 3)

    start = plane @ (truth / (np.sign(u.sum()) * u @ truth))
    best = min(
        (
            minimize(
                lambda t: volume_objective(vertices(t), X, 1e-4),
                start.ravel() + jump,
                method="Nelder-Mead",
                options={"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-13},
            ).fun
            for jump in (0.0, 0.01)
        ),
    )
    assert value <= best + 1e-4 * 60 * 1e-4  # of the weight of log volume
    assert found.settled


def test_the_slope_is_that_of_the_objective():
    rng = np.random.default_rng(0)
    X, _ = blunt(0)
    inverse = np.linalg.inv(X[:, :3])
    model = LeastVolume(inverse @ X, rng.uniform(0.5, 1, 60), inverse @ inverse.T, np.array([1.0, 0.9, 1.2]))
    A = (np.eye(3) + 0.05 * rng.standard_normal((3, 3))).ravel()
    slope = approx_fprime(A, lambda a: model.at(a, 0.01)[0], 1e-7)
    np.testing.assert_allclose(model.at(A, 0.01)[1], slope, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.05])
def test_minimum_volume_halves_the_error_of_anchors_that_are_not_pure(noise):
    errors = []
    for seed in range(4):
        drawn = make_capped(0.8, noise, 50, 200, 4, random_state=seed)
        sel = sepnmf.spa(drawn.M, 4, negative="allow")
        outside = minimum_volume(drawn.M, sel, negative="allow")
        errors.append([mrsa(W, drawn.vertices) for W in (drawn.M[:, sel.anchors], outside.vertices)])
    before, after = np.mean(errors, axis=0)
    assert after <= before / 2


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("r", [2, 4, 8])
def test_minimum_volume_does_no_harm_to_pure_anchors(noise, r):
    for seed in range(2):
        drawn = make_capped(1.0, noise, 50, 200, r, random_state=seed)
        outside = minimum_volume(drawn.M, drawn.anchors, negative="allow").vertices
        assert mrsa(outside, drawn.vertices) <= 1.05 * mrsa(drawn.M[:, drawn.anchors], drawn.vertices) + 1e-3


def test_vertices_are_scaled_so_that_weights_sum_to_one():
    drawn = make_capped(0.8, 0.001, 50, 400, 4, random_state=0)
    W = drawn.vertices * np.array([1.0, 5.0, 0.3, 2.0])  # vertices of different lengths
    M = W @ sepnmf.nnls(drawn.vertices, drawn.M)
    found = minimum_volume(M, drawn.anchors).vertices
    np.testing.assert_allclose(found, W, atol=0.05 * W.max())
    np.testing.assert_allclose(np.median(sepnmf.nnls(found, M).sum(axis=0)), 1, atol=0.01)


def test_brightness_and_noise_of_other_kinds_are_no_matter():
    drawn = make_capped(0.8, 0.0, 60, 300, 4, brightness=0.7, random_state=3)
    rng = np.random.default_rng(0)
    M = drawn.M * (1 + 0.01 * rng.standard_normal(drawn.M.shape))
    sel = sepnmf.select(M, 4)
    assert (sel.status, mrsa(minimum_volume(M, sel).vertices, drawn.vertices) < 1.5) == (
        "no pure columns",
        True,
    )
    assert mrsa(M[:, sel.anchors], drawn.vertices) > 4


def test_one_vertex_is_the_leading_direction():
    M, _ = make_dirichlet(0.05, m=20, n=50, r=1, random_state=0)
    found = minimum_volume(M, [3], negative="allow").vertices
    u = np.linalg.svd(M)[0][:, 0]
    np.testing.assert_allclose(abs(found[:, 0] @ u), np.linalg.norm(found))


def test_data_with_fewer_directions_than_anchors_are_refused():
    rng = np.random.default_rng(0)
    M = rng.random((20, 3)) @ rng.random((3, 40))
    with pytest.raises(ValueError, match=r"direction|dependent"):
        minimum_volume(M, [0, 1, 2, 3])
    with pytest.raises(ValueError, match="linearly dependent"):
        minimum_volume(np.hstack([M[:, :1], M]), [0, 1, 2])


# Archetypes ----------------------------------------------------------------------------------------------


def least_squares_on_simplex(A, b, heavy=1e4):
    """Cutler and Breiman's way: nonnegative least squares with a heavy row of ones."""
    return nnls(np.vstack([A, heavy * np.ones(A.shape[1])]), np.append(b, heavy))[0]


def printed_archetypes(X, anchors, rounds):
    """The alternation of Cutler and Breiman (1994), written down plainly; the residuals of all rounds."""
    Z, found = X[:, anchors].copy(), []
    for _ in range(rounds):
        H = np.column_stack([least_squares_on_simplex(Z, x) for x in X.T])
        found.append(np.sum((X - Z @ H) ** 2))
        for k in range(len(anchors)):
            if not H[k].any():
                continue
            others = X - Z @ H + np.outer(Z[:, k], H[k])
            Z[:, k] = X @ least_squares_on_simplex(X, others @ H[k] / (H[k] @ H[k]))
    return Z, found


@pytest.mark.parametrize("seed", range(3))
def test_archetypes_are_those_of_the_printed_alternation(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((4, 3)) @ rng.dirichlet(np.ones(3), 25).T + 0.05 * rng.standard_normal((4, 25))
    anchors = sepnmf.spa(X, 3, negative="allow").anchors
    Z, printed = printed_archetypes(X, anchors, 12)
    for rounds in (1, 3, 12):
        C, _ = descend(X, anchors, 1e-300, rounds)
        H = np.column_stack([least_squares_on_simplex(X @ C, x) for x in X.T])
        value = np.sum((X - X @ C @ H) ** 2)
        if rounds < 12:
            assert value == pytest.approx(printed[rounds], rel=1e-4)
        np.testing.assert_allclose(C.sum(axis=0), 1, atol=1e-10)
        assert C.min() >= 0
    np.testing.assert_allclose(X @ C, Z, atol=1e-3)
    assert np.all(np.diff(printed) <= 1e-9)


def test_the_nearest_point_of_the_hull_is_that_of_a_plain_solver():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 40))
    for target in 2 * rng.standard_normal((10, 5)):
        weights = nearest_of_hull(X, target, np.array([0]), 1e-12)
        np.testing.assert_allclose(X @ weights, X @ least_squares_on_simplex(X, target, 1e5), atol=1e-5)
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1)


def test_archetypes_fit_better_than_anchors_and_stay_in_the_hull():
    drawn = make_capped(0.8, 0.05, 30, 150, 3, random_state=0)
    sel = sepnmf.spa(drawn.M, 3, negative="allow")
    found = archetypes(drawn.M, sel, negative="allow").vertices

    def left(W):
        return np.linalg.norm(drawn.M - W @ sepnmf.nnls(W, drawn.M, sum_to_one=True))

    assert left(found) < 0.98 * left(drawn.M[:, sel.anchors])
    C = sepnmf.nnls(drawn.M, found, sum_to_one=True)
    np.testing.assert_allclose(drawn.M @ C, found, atol=1e-6)


def test_archetypes_of_exact_data_are_the_anchors():
    M, anchors = make_dirichlet(0.0, random_state=0)
    np.testing.assert_array_equal(archetypes(M, anchors).vertices, M[:, anchors])


# Both ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn():
    return make_capped(0.8, 0.01, 30, 120, 3, random_state=0)


@BOTH
def test_the_selection_is_the_same_but_for_the_vertices(function, drawn):
    sel = sepnmf.select(drawn.M, 3)
    found = function(drawn.M, sel)
    assert (found.method, found.status) == ("auto", "no pure columns")
    np.testing.assert_array_equal(found.anchors, sel.anchors)
    np.testing.assert_array_equal(found.scores, sel.scores)
    assert found.spread is None
    np.testing.assert_array_equal(found.vertices, function(drawn.M, sel.anchors).vertices)
    plain = function(drawn.M, sel.anchors.tolist())
    assert plain.scores.argmax() == plain.anchors[0] == sel.anchors[0]
    np.testing.assert_array_equal(found.vertices, plain.vertices)  # the same twice


@BOTH
def test_containers_masks_and_names(function, drawn):
    M, anchors = drawn.M, drawn.anchors
    expected = function(M, anchors).vertices
    np.testing.assert_allclose(function(sparse.csc_array(M), anchors).vertices, expected, atol=1e-6)
    frame = pd.DataFrame(M, columns=[f"pixel {j}" for j in range(120)])
    found = function(frame, anchors)
    assert found.names == tuple(f"pixel {j}" for j in anchors)
    np.testing.assert_allclose(found.vertices, expected, atol=1e-10)
    np.testing.assert_allclose(function(M.astype(np.float32), anchors).vertices, expected, atol=1e-4)
    wide = np.hstack([np.full((30, 2), np.nan), M])
    masked = function(wide, anchors + 2, mask=np.arange(122) >= 2)
    np.testing.assert_array_equal(masked.anchors, anchors + 2)
    np.testing.assert_allclose(masked.vertices, expected, atol=1e-10)
    rows = np.arange(30) < 25
    np.testing.assert_allclose(
        function(M, anchors, row_mask=rows).vertices, function(M[rows], anchors).vertices, atol=1e-12
    )


@BOTH
@pytest.mark.parametrize("scale", [1e-160, 1e150])
def test_vertices_have_the_units_of_the_data(function, drawn, scale):
    expected = function(drawn.M, drawn.anchors).vertices
    found = function(drawn.M * scale, drawn.anchors).vertices
    np.testing.assert_allclose(found / scale, expected, rtol=1e-3, atol=1e-4 * expected.max())


@BOTH
@pytest.mark.parametrize(
    ("anchors", "words"),
    [
        ([0, 120], "from 0 to 119"),
        ([-1, 2], "from 0 to 119"),
        ([3, 3], "distinct"),
        ([], "Selection or a list"),
        ([0.5, 1.0], "Selection or a list"),
        ([[0, 1]], "Selection or a list"),
        ("auto", "Selection or a list"),
    ],
)
def test_wrong_anchors_are_refused(function, drawn, anchors, words):
    with pytest.raises(ValueError, match=words):
        function(drawn.M, anchors)


@BOTH
def test_wrong_data_and_options_are_refused(function, drawn):
    with pytest.raises(ValueError, match="negative"):
        function(-drawn.M, drawn.anchors)
    with pytest.raises(ValueError, match="M is zero"):
        function(np.zeros((4, 5)), [0, 1])
    with pytest.raises(ValueError, match="tol"):
        function(drawn.M, drawn.anchors, tol=0)
    with pytest.raises(ValueError, match="max_iter"):
        function(drawn.M, drawn.anchors, max_iter=0)
    with pytest.raises(ValueError, match="left out by the mask"):
        function(drawn.M, [0, 1], mask=np.arange(120) > 0)
    other = sepnmf.Selection(np.array([500]), np.ones(501))
    with pytest.raises(ValueError, match="from 0 to 119"):
        function(drawn.M, other)


@BOTH
def test_a_descent_that_does_not_settle_warns(function, drawn):
    with pytest.warns(ConvergenceWarning, match="did not settle within 1"):
        function(drawn.M, drawn.anchors, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(drawn.M, drawn.anchors)


@pytest.mark.parametrize("components", ["minimum_volume", "archetypes"])
def test_components_of_the_estimator_may_be_vertices(components, drawn):
    model = sepnmf.SeparableNMF(3, components=components, method="spa").fit(drawn.M.T)
    expected = getattr(sepnmf, components)(drawn.M, sepnmf.spa(drawn.M, 3)).vertices
    np.testing.assert_allclose(model.components_.T, expected, atol=1e-8)
    W = model.transform(drawn.M.T)
    assert W.min() >= 0
    assert np.linalg.norm(drawn.M.T - W @ model.components_) == pytest.approx(model.reconstruction_err_)
