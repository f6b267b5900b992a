"""The fused passes of DCA, each against its plain NumPy twin."""

import numpy as np
import pytest

from sepnmf._kernels import splitting

N = 11


@pytest.fixture
def matrices():
    return np.random.default_rng(0).standard_normal((5, N, N))


@pytest.fixture(params=["compiled", "python"])
def passes(request, monkeypatch):
    """The kernels, compiled and as plain Python."""
    if request.param == "python":
        for name in ("lengths", "advance", "compare"):
            monkeypatch.setattr(splitting, name, getattr(splitting, name).py_func)
    return splitting


def in_blocks(kernel, *arguments):
    sums = np.zeros((2, 2))
    kernel(*arguments, 0, 4, sums[0])
    kernel(*arguments, 4, N, sums[1])
    return sums.sum(axis=0)


def test_advance(passes, matrices):
    X_k, X_last, V, D, X = matrices
    want = X + 0.3 * X_k - 0.7 * (V - (D - V))
    want_D = want + (D - V)
    sums = in_blocks(passes.advance, X_k, X_last, V, D, (0.3, -0.7), X)
    np.testing.assert_allclose(X, want, atol=1e-14)
    np.testing.assert_allclose(D, want_D, atol=1e-14)
    np.testing.assert_allclose(sums, [np.sum((X - X_last) ** 2), np.sum(X**2)])


def test_compare(passes, matrices):
    X, X_k, V, *_ = matrices
    np.testing.assert_allclose(
        in_blocks(passes.compare, X, X_k, V), [np.sum((X - X_k) ** 2), np.sum((X - V) ** 2)]
    )
