"""Proximal maps of powered norms, against bisection, 120-digit arithmetic and a convex solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from sepnmf._kernels import shrink
from sepnmf.model import NORMS, prox_power
from sepnmf.model._norms import NuclearNorm

POWERS = [1, 1.5, 2, 3, 4, 7]
SHAPES = [(1, 1), (1, 7), (5, 1), (8, 9), (30, 20), pytest.param((200, 200), marks=pytest.mark.slow)]
GAMMAS = [1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6]


def matrices(shape):
    rng = np.random.default_rng(7)
    G = rng.standard_normal(shape)
    return {
        "gaussian": G,
        "zero": np.zeros(shape),
        "constant": np.full(shape, -0.7),
        "huge": 1e150 * G,
        "tiny": 1e-150 * G,
        "sparse": np.where(rng.random(shape) < 0.1, G, 0),
    }


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_exact_map_agrees_with_bisection(shape, p, norm):
    large = shape == (200, 200)
    for kind, A in matrices(shape).items():
        for gamma in (1e-12, 1.0, 1e6) if large else GAMMAS:
            got = prox_power(A, gamma, p, norm)
            want = oracles.prox_bisection(A, gamma, p, norm) if A.any() else A
            scale = np.abs(A).max() or 1.0
            assert np.abs(got - want).max() <= 1e-10 * scale, (kind, gamma)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 3), (8, 9)], ids=str)
def test_exact_map_agrees_with_a_convex_solver(shape, p, norm):
    A = np.random.default_rng(1).standard_normal(shape)
    for gamma in (1e-3, 0.05, 2.0):
        got = prox_power(A, gamma, p, norm)
        want = oracles.solve_convex(A, gamma, p, norm)
        assert np.linalg.norm(got - want) < 1e-6 * np.linalg.norm(A)


@pytest.mark.parametrize("p", [1.5, 2, 3, 4, 7])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_survivors_keep_their_digits_however_hard_the_shrinking(p, scale, gamma):
    a = scale * np.array([1.0, 1.0 - 1e-13, 0.75, 0.3, 1e-8, 0.0])
    out = np.empty_like(a)
    size = shrink.shrink_power(a, gamma, p, out)
    want = oracles.shrink_decimal(a, gamma, p)
    if want.max() > 1e-290:
        np.testing.assert_allclose(out[0], want[0], rtol=1e-10)
        assert size == pytest.approx(want.sum(), rel=1e-10)
        np.testing.assert_allclose(out, want, atol=1e-15 * scale)


@given(
    a=st.lists(st.floats(0, 1e6), min_size=1, max_size=12),
    gamma=st.floats(1e-9, 1e6),
    p=st.floats(1, 9),
)
def test_threshold_satisfies_its_equation(a, gamma, p):
    a = np.array(a)
    out = np.empty_like(a)
    s = shrink.shrink_power(a, gamma, p, out)
    assert s == pytest.approx(out.sum())
    if s > 1e-30:
        tau = p * gamma * s ** (p - 1)
        np.testing.assert_allclose(out, np.maximum(a - tau, 0), atol=1e-9 * (a.max() + tau))


def test_python_twin_of_the_kernel_gives_the_same():
    rng = np.random.default_rng(3)
    for p in (1.0, 1.5, 3.0):
        for a in (rng.random(40), np.zeros(3), np.ones(4)):
            x, y = np.empty_like(a), np.empty_like(a)
            assert shrink.shrink_power(a, 0.3, p, x) == shrink.shrink_power.py_func(a, 0.3, p, y)
            np.testing.assert_array_equal(x, y)
    assert shrink.log_root(2.0, 3.0) == shrink.log_root.py_func(2.0, 3.0)


def test_figures_of_the_design_for_the_printed_map():
    """8×9 Gaussian, γ = 0.05, p = 4: the printed map is off by two orders of magnitude in the objective."""
    A = np.random.default_rng(0).standard_normal((8, 9))

    def cost(X):
        return 0.05 * np.abs(X).sum() ** 4 + 0.5 * np.sum((X - A) ** 2)

    exact, printed = cost(prox_power(A, 0.05, 4)), cost(prox_power(A, 0.05, 4, form="paper"))
    assert exact == pytest.approx(cost(oracles.solve_convex(A, 0.05, 4, "l1")), rel=1e-7)
    assert printed > 50 * exact


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_printed_form_is_the_printed_formula(p, norm):
    A = np.random.default_rng(5).standard_normal((7, 7))
    for gamma in (1e-4, 0.1, 5.0):
        got = prox_power(A, gamma, p, norm, form="paper")
        np.testing.assert_allclose(got, oracles.printed_prox(A, gamma, p, norm), atol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_printed_form_is_exact_while_nothing_is_cut(p):
    A = 5 + np.random.default_rng(5).random((4, 6))
    got = prox_power(A, 1e-7, p, form="paper")
    assert got.min() > 0
    np.testing.assert_allclose(got, prox_power(A, 1e-7, p), rtol=1e-9)


def test_printed_form_knows_four_powers_only():
    with pytest.raises(ValueError, match=r"p must be 1, 2, 3 or 4 .*got 2.5"):
        prox_power(np.eye(2), 0.1, 2.5, form="paper")


@pytest.mark.parametrize("norm", NORMS)
def test_moreau_identity_for_the_norm_itself(norm):
    """A = prox(A) + projection onto the dual ball; the dual norm of the remainder is at most γ."""
    A = np.random.default_rng(2).standard_normal((6, 6))
    rest = A - prox_power(A, 0.8, 1, norm)
    dual = {"l1": np.abs(rest).max(), "nuclear": np.linalg.norm(rest, 2)}.get(
        norm, np.linalg.norm(rest, axis=1).max()
    )
    assert dual == pytest.approx(0.8)


@pytest.mark.parametrize("norm", NORMS)
def test_map_is_firmly_nonexpansive(norm):
    rng = np.random.default_rng(4)
    for p in (1, 2.5, 4):
        A, B = rng.standard_normal((2, 5, 8))
        PA, PB = prox_power(A, 0.2, p, norm), prox_power(B, 0.2, p, norm)
        assert np.vdot(PA - PB, PA - PB) <= np.vdot(PA - PB, A - B) + 1e-12


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("form", ["exact", "paper"])
def test_single_precision_stays_single(norm, form):
    A = np.random.default_rng(1).standard_normal((6, 6))
    got = prox_power(A.astype(np.float32), 0.1, 3, norm, form)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, prox_power(A, 0.1, 3, norm, form), atol=1e-5)


def test_nuclear_value_needs_no_vectors_and_agrees():
    A = np.random.default_rng(1).standard_normal((5, 9))
    assert NuclearNorm().value(A) == pytest.approx(np.linalg.norm(A, "nuc"))
