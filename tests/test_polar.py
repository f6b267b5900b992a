"""Polar factors by matrix products, against the singular value decomposition."""

import numpy as np
import pytest

from sepnmf.model import _norms as norms
from sepnmf.model import prox_power
from sepnmf.model._polar import Polar


def matrix(singular_values, seed=0):
    n = len(singular_values)
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    return (U * singular_values) @ V.T, U @ V.T


@pytest.mark.parametrize("least", [0.7, 0.9, 0.99, 0.9999, 1.0])
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_the_factor_is_that_of_the_decomposition(least, scale):
    B, want = matrix(scale * np.linspace(least, 1, 40))
    polar = Polar(40)
    for _ in range(2):
        Q, bound = polar.factor(B)
        np.testing.assert_allclose(Q, want, atol=2e-12)
        assert 0 < bound <= scale * least * (1 + 1e-12)


@pytest.mark.parametrize("least", [0.0, 0.01, 0.2])
def test_singular_values_that_are_far_apart_are_left_to_others(least):
    B, _ = matrix(np.linspace(least, 1, 40))
    assert Polar(40).factor(B) is None


@pytest.mark.parametrize(("p", "gamma"), [(1, 0.05), (1.5, 5e-3), (2, 1e-3), (4, 1e-7), (4, 1e-3), (2, 0.5)])
@pytest.mark.parametrize("form", ["exact", "paper"])
def test_the_proximal_map_in_an_iteration_is_the_map(p, gamma, form):
    """Also where the threshold exceeds singular values, so that the polar factor is of no use."""
    if form == "paper" and p == 1.5:
        return
    B, _ = matrix(np.linspace(0.8, 1, 40))
    warm_start = norms.WarmStart(B)
    for _ in range(2):
        X, size = norms.NORMS["nuclear"].prox(B, gamma, p, form, warm_start)
        want = prox_power(B, gamma, p, "nuclear", form)
        np.testing.assert_allclose(X, want, atol=2e-12)
        assert size == pytest.approx(np.linalg.norm(want, "nuc"), rel=1e-9, abs=1e-11)
