"""The ratio of norms: Proposition 2.2 of the paper, for the three norms where it applies."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sepnmf.model import NORMS, objective, ratio
from sepnmf.model._norms import Norm, Split

powers = st.floats(1, 5)
matrices = hnp.arrays(
    float,
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    elements=st.floats(-10, 10).map(lambda x: round(x, 3)),
).filter(lambda X: X.any())


def frobenius(X):
    return np.sqrt((X * X).sum())


def at_most(a, b):
    return a <= b * (1 + 1e-9)


@given(X=matrices, p=powers)
def test_ordering(X, p):
    """‖X‖_F^(p−1) ≤ R_{p,*} ≤ R_{p,rows} ≤ R_{p,1}: the paper's two, with ours between them."""
    chain = [frobenius(X) ** (p - 1)] + [ratio(X, p, norm) for norm in ("nuclear", "rows", "l1")]
    assert all(at_most(a, b) for a, b in itertools.pairwise(chain))


@given(
    u=hnp.arrays(float, 4, elements=st.floats(0.1, 5)),
    v=hnp.arrays(float, 5, elements=st.floats(-5, 5)),
    p=powers,
)
def test_nuclear_ratio_is_one_exactly_at_rank_one(u, v, p):
    if np.linalg.norm(v) < 1e-3:
        v = v + 1
    X = np.outer(u, v)
    assert ratio(X / frobenius(X), p, "nuclear") == pytest.approx(1)
    Y = X + frobenius(X) * np.eye(4, 5)[::-1] * np.array([1, -1, 2, -3])[:, None]
    if np.linalg.svd(Y, compute_uv=False)[1] > 1e-3 * frobenius(Y):
        assert ratio(Y / frobenius(Y), p, "nuclear") > 1 + 1e-4


def test_entrywise_and_row_ratios_are_one_exactly_at_one_entry_and_one_row():
    E = np.zeros((3, 4))
    E[1, 2] = -1.0
    assert ratio(E, 3, "l1") == ratio(E, 3, "rows") == 1
    E[1] = [0.5, 0.5, 0.5, 0.5]
    assert ratio(E, 3, "rows") == pytest.approx(1)
    assert ratio(E, 3, "l1") == pytest.approx(8)
    E[0, 0] = 0.1
    assert ratio(E / frobenius(E), 3, "rows") > 1.01


@given(X=matrices, p=powers, c=st.floats(1e-6, 1e6), norm=st.sampled_from(list(NORMS)))
def test_scaling(X, p, c, norm):
    """R_p(cX) = |c|^(p−1) R_p(X)."""
    assert ratio(-c * X, p, norm) == pytest.approx(c ** (p - 1) * ratio(X, p, norm), rel=1e-9)


@given(X=matrices, p=powers)
def test_bounds_by_rank_and_by_rows(X, p):
    length = frobenius(X) ** (p - 1)
    m, n = X.shape
    r, s = np.linalg.matrix_rank(X), int(X.any(axis=1).sum())
    assert at_most(ratio(X, p, "nuclear"), r ** (p / 2) * length)
    assert at_most(ratio(X, p, "rows"), s ** (p / 2) * length)
    assert at_most(ratio(X, p, "l1"), (s * n) ** (p / 2) * length)
    assert at_most(ratio(X, p, "l1"), (m * n) ** (p / 2) * ratio(X, p, "nuclear"))


@settings(max_examples=20)
@given(p=powers, r=st.integers(1, 5))
def test_bounds_are_reached(p, r):
    Q = np.linalg.qr(np.random.default_rng(r).standard_normal((6, r)))[0]
    X = 3 * Q @ Q.T
    assert ratio(X, p, "nuclear") == pytest.approx(r ** (p / 2) * frobenius(X) ** (p - 1))
    Y = np.zeros((6, 4))
    Y[:r] = -2.0
    assert ratio(Y, p, "l1") == pytest.approx((r * 4) ** (p / 2) * frobenius(Y) ** (p - 1))
    assert ratio(Y, p, "rows") == pytest.approx(r ** (p / 2) * frobenius(Y) ** (p - 1))


def test_identity_minimises_the_entrywise_ratio_among_exact_factorisations():
    """The design's fact 6: with columns summing to one, ‖X‖₁ = n for every exact X, and ‖X‖_F ≤ √n."""
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.ones(6), size=3).T
    H = np.hstack([np.eye(3), rng.dirichlet(np.ones(3), size=5).T])
    M, n = W @ H, 8
    X = np.zeros((n, n))
    X[:3] = H
    np.testing.assert_allclose(M @ X, M)
    for p in (1, 2, 3):
        assert ratio(np.eye(n), p, "l1") <= ratio(X, p, "l1")
        for norm in ("nuclear", "rows"):
            assert ratio(X, p, norm) < ratio(np.eye(n), p, norm)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_ratio_survives_extreme_scales(scale):
    X = scale * np.array([[3.0, 0.0], [0.0, 4.0]])
    for norm in NORMS:
        assert ratio(X, 1, norm) == pytest.approx(7 / 5)
    assert ratio(X, 7, "l1") in (0.0, np.inf)


def test_objective_is_ratio_plus_half_the_squared_misfit():
    rng = np.random.default_rng(0)
    for m in (3, 12):  # wider and taller than square
        M, X = rng.random((m, 7)), rng.random((7, 7))
        for norm in NORMS:
            want = 0.3 * ratio(X, 2.5, norm) + 0.5 * np.sum((M @ X - M) ** 2)
            assert objective(M, X, lam=0.3, p=2.5, norm=norm) == pytest.approx(want)


def test_a_norm_needs_no_more_than_its_magnitudes():
    """One that is not a sum over rows is not taken apart by rows, however many there are."""

    class ColumnNorm(Norm):
        name = "columns"

        def split(self, A):
            return Split(np.linalg.norm(A, axis=0), lambda x: A * x, A.shape[1])

    A = np.random.default_rng(0).random((300, 40))
    assert ColumnNorm().value(A) == pytest.approx(np.linalg.norm(A, axis=0).sum())
