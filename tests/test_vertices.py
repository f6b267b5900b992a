"""The likelihood of anchors under noise."""

import numpy as np
import pytest
from scipy.optimize import minimize

import sepnmf
from sepnmf._descent._likelihood import PRICE, VertexModel
from sepnmf._descent._noise import noise_variance, squared_spectrum
from sepnmf._kernels import vertices as kernels
from sepnmf.matrix import Dense


def small(seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    M = rng.random((6, 3)) @ np.hstack([np.eye(3), rng.dirichlet(np.ones(3), 7).T])
    return M + noise * rng.standard_normal(M.shape)


def objective(M, anchors, H, noise):
    """‖M − WH‖² + κmσ² log det(HHᵀ) at the best W, written down plainly; H is r × n."""
    H = H.copy()
    H[:, anchors] = np.eye(len(anchors))
    W = np.linalg.lstsq(H.T, M.T, rcond=None)[0].T
    return np.sum((M - W @ H) ** 2) + PRICE * len(M) * noise * np.linalg.slogdet(H @ H.T)[1]


@pytest.mark.parametrize("noise", [0.0, 1e-4, 1e-2])
def test_fit_is_a_minimum_of_the_objective(noise):
    M = small()
    anchors = np.array([0, 1, 2])
    got = VertexModel(M, noise).fit(VertexModel(M, noise).start(anchors), 5000, 1e-13)
    value = objective(M, anchors, got.H.T, noise)
    assert value == pytest.approx(got.J, rel=1e-9)
    # A general optimiser, from there and from elsewhere, finds nothing lower nearby.
    free = [j for j in range(10) if j not in anchors]

    def f(x):
        H = np.zeros((3, 10))
        H[:, free] = x.reshape(3, 7)
        return objective(M, anchors, H, noise)

    start = got.H.T[:, free].ravel()
    better = minimize(f, start, bounds=[(0, None)] * start.size, method="L-BFGS-B", options={"maxiter": 2000})
    assert better.fun >= value - 1e-6 * abs(value)


def test_every_step_of_a_fit_lowers_the_objective():
    M = small(1)
    model = VertexModel(M, 1e-3)
    at = model.start(np.array([4, 5, 6]))._replace(J=np.inf)
    at = at._replace(W=M[:, [4, 5, 6]], H=np.eye(10)[:, [4, 5, 6]])
    values = []
    for _ in range(30):
        at = model.fit(at, 1, 0.0)
        values.append(at.J)
    assert (np.diff(values) <= 1e-12).all()


def test_compiled_weights_are_those_of_plain_python():
    M = small(2)
    W = M[:, :3]
    G, B, squares = W.T @ W + 0.1 * np.eye(3), np.ascontiguousarray(M.T @ W), np.square(M).sum(axis=0)
    owner = np.array([0, 1, 2] + 7 * [-1])
    results = []
    for run in (kernels.weigh, kernels.weigh.py_func):
        H, E = np.zeros((10, 3)), np.empty(10)
        run(G, B, squares, owner, H, E, 0, 10, np.empty(0))
        results.append((H, E))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-14)
    H, E = results[0]
    np.testing.assert_array_equal(H[:3], np.eye(3))
    np.testing.assert_allclose(E, squares - 2 * np.sum(B * H, axis=1) + np.einsum("ni,ij,nj->n", H, G, H))


def test_descent_ends_where_no_exchange_helps():
    M = small(3, 0.02)
    model = VertexModel(M, noise_variance(squared_spectrum(Dense(M)), 6, 10, 3))
    best, first, moves, settled = model.descend(np.array([7, 8, 9]))
    assert moves > 0
    assert settled
    assert first == model.start(np.array([7, 8, 9])).J
    assert best.J <= model.start(np.array([7, 8, 9])).J
    for k in range(3):
        for c in range(10):
            if c not in best.anchors:
                other = best.anchors.copy()
                other[k] = c
                assert model.start(other).J >= best.J * (1 - 1e-3)


def test_noise_is_not_taken_for_vertices():
    """At this noise the residual of nonnegative least squares prefers other columns to the true ones."""
    wrong = 0
    for seed in range(6):
        M, anchors = sepnmf.datasets.make_dirichlet(0.3, random_state=seed)
        model = VertexModel(M, noise_variance(squared_spectrum(Dense(M)), 50, 100, 10))
        best = model.descend(sepnmf.snpa(M, 10, negative="allow").anchors).best
        assert set(best.anchors) == set(anchors)
        from sepnmf._descent._exchange import exchange_anchors

        wrong += set(exchange_anchors(Dense(M), Dense(M), anchors).anchors) != set(anchors)
    assert wrong > 0
