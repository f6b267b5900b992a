"""The fused passes of ADMM-P, each against its plain NumPy twin."""

import numpy as np
import pytest

import oracles
from sepnmf._kernels import consensus

N = 13


@pytest.fixture
def state():
    rng = np.random.default_rng(0)
    A, C, X = rng.standard_normal((3, N, N))
    E = 0.6 * rng.standard_normal((N, N)) + 0.4 * np.eye(N)
    w = rng.random(N) + 0.3
    W = oracles.project_by_sorting(E, w)
    return A, C, E, X, np.diag(W).copy(), w, W


@pytest.fixture(autouse=True)
def plain_stretches(request, monkeypatch):
    """The Python twin of a pass runs the Python twins of the stretches it is made of."""
    if "python" in request.node.name:
        for name in ("row_above", "row_square", "advance_row", "row_gaps"):
            monkeypatch.setattr(consensus, name, getattr(consensus, name).py_func)


def both(kernel):
    return pytest.mark.parametrize("run", [kernel, kernel.py_func], ids=["compiled", "python"])


MIX = (0.3, -0.7, 0.9, -0.4)


def point(A, C, E, W):
    a, c, d, e = MIX
    return a * A + c * C + d * W + e * E


def in_blocks(run, arguments, n_sums):
    """Sums over two blocks of rows."""
    total = np.zeros(n_sums)
    for lo, hi in ((0, 5), (5, N)):
        sums = np.full(n_sums, np.nan)
        run(*arguments, lo, hi, sums)
        total += sums
    return total


@both(consensus.count_above)
def test_count_above(run, state):
    A, C, E, _, t, w, W = state
    B = np.abs(point(A, C, E, W))
    for tau in (-1.0, 0.0, 0.5, 100.0):
        got = in_blocks(run, ((A, C, E, t, w), MIX, tau), 2)
        np.testing.assert_allclose(got, [(tau < B).sum(), B[tau < B].sum()], rtol=1e-13)


@both(consensus.combine)
def test_combine(run, state):
    A, C, E, _, t, w, W = state
    B = np.empty_like(A)
    total = in_blocks(run, ((A, C, E, t, w), MIX, B), 1)
    np.testing.assert_allclose(B, point(A, C, E, W), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(total, np.sum(B**2))


@both(consensus.measure_rows)
def test_measure_rows(run, state):
    A, C, E, _, t, w, W = state
    lengths = np.empty(N)
    run((A, C, E, t, w), MIX, lengths, 0, N, np.empty(1))
    np.testing.assert_allclose(lengths, np.linalg.norm(point(A, C, E, W), axis=1))


@both(consensus.advance)
@pytest.mark.parametrize(("v_kept", "s_kept"), [(0.0, 0.0), (-0.3, 1.0)])
def test_advance(run, state, v_kept, s_kept):
    A, C, E, X, t, w, W = state
    factors, tau = np.linspace(0.2, 1.5, N), 0.25
    B = point(A, C, E, W)
    X_new = factors[:, None] * np.sign(B) * np.maximum(np.abs(B) - tau, 0)
    C_new, E_new = X_new + v_kept * C, X_new + s_kept * (E - W)
    want = [np.abs(X_new).sum(), np.sum((X_new - X) ** 2), np.sum(C_new**2), np.sum(X_new**2)]
    A_before = A.copy()
    got = in_blocks(run, ((A, C, E, t, w), X, MIX, (v_kept, s_kept, factors, tau)), 4)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    for array, expected in ((X, X_new), (C, C_new), (E, E_new), (A, A_before)):
        np.testing.assert_allclose(array, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(t, np.diag(oracles.project_by_sorting(E_new, w)), atol=1e-14)


@both(consensus.compare)
@pytest.mark.parametrize("keep", [True, False])
def test_compare(run, state, keep):
    A, C, E, X, t, w, W = state
    before = A.copy()
    got = in_blocks(run, ((A, C, E, t, w), X, 1.3, before, keep), 3)
    want = [np.sum((X - 1.3 * C) ** 2), np.sum((X - W) ** 2), np.sum((X - A) ** 2)]
    np.testing.assert_allclose(got, want, rtol=1e-12)
    np.testing.assert_array_equal(before, X if keep else A)
