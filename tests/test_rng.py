"""`rng`, the other name of `random_state` in functions."""

import inspect

import numpy as np
import pytest

import sepnmf
from sepnmf.datasets import make_dirichlet, make_family, make_midpoint
from sepnmf.text import Cooccurrence

M = make_dirichlet(0.05, m=12, n=30, r=4, random_state=1)[0].clip(0)
COUNTS = np.random.default_rng(0).poisson(1.0, (20, 12)) + 1
OPTIONS = {
    "hottopixx": {"noise": 0.05},
    "admm": {"lam": 1.0, "rho": (1.0, 1.0, 1.0), "max_outer": 20, "tol": 1.0},
}
DRAWING = [name for name, record in sepnmf.METHODS.items() if "random_state" in record.options]

CALLS = {
    **{
        f"select {name}": lambda name=name, **seed: sepnmf.select(M, 4, name, **OPTIONS.get(name, {}), **seed)
        for name in DRAWING
    },
    **{
        name: lambda name=name, **seed: getattr(sepnmf, name)(M, 4, **OPTIONS.get(name, {}), **seed)
        for name in DRAWING
    },
    "refine": lambda **seed: sepnmf.select(M, 4, "vca", refine=True, **seed),
    "auto rank": lambda **seed: sepnmf.select(M, "auto", "vca", **seed),
    "record": lambda **seed: sepnmf.METHODS["vca"](M, 4, **seed),
    "estimate_rank": lambda **seed: sepnmf.estimate_rank(M, **seed),
    "stability": lambda **seed: sepnmf.stability(M, 4, draws=2, **seed),
    "make_midpoint": lambda **seed: make_midpoint(0.1, **seed),
    "make_dirichlet": lambda **seed: make_dirichlet(0.1, **seed),
    "make_family": lambda **seed: make_family("white", 0.1, **seed),
    "projected": lambda **seed: Cooccurrence.of(COUNTS).projected(6, **seed),
}
QUICK = ("select vca", "vca", "record", "make_midpoint", "make_dirichlet", "make_family", "projected")


def numbers(answer):
    """Return what was drawn or chosen, as an array."""
    if isinstance(answer, tuple):
        return answer[0]
    for name in ("anchors", "M", "low", "array"):
        if hasattr(answer, name):
            return np.asarray(getattr(answer, name))
    raise TypeError(type(answer))


@pytest.mark.parametrize("call", CALLS)
def test_an_integer_gives_the_same_answer_by_either_name(call):
    one, other = (numbers(CALLS[call](**{name: 3})) for name in ("random_state", "rng"))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("call", QUICK)
def test_generators_and_sequences_of_seeds_are_accepted(call):
    want = numbers(CALLS[call](random_state=3))
    sequence = np.random.SeedSequence(3)
    for rng in (np.random.default_rng(3), sequence, sequence):
        np.testing.assert_array_equal(numbers(CALLS[call](rng=rng)), want)
    assert numbers(CALLS[call](rng=None)).shape == want.shape


def test_a_sequence_of_seeds_is_left_as_it_was():
    sequence = np.random.SeedSequence(3)
    one, other = (sepnmf.stability(M, 4, draws=3, rng=sequence).stability for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert sequence.n_children_spawned == 0


@pytest.mark.parametrize("call", CALLS)
def test_both_names_are_refused(call):
    with pytest.raises(TypeError, match=r"^random_state and rng are names of one argument: pass one"):
        CALLS[call](random_state=0, rng=0)


def test_both_are_refused_also_if_one_is_passed_by_position():
    with pytest.raises(TypeError, match="pass one"):
        make_midpoint(0.1, 50, 10, 0, rng=0)


@pytest.mark.parametrize("call", QUICK)
def test_what_is_no_seed_is_refused_by_the_name_it_was_given(call):
    with pytest.raises(ValueError, match=r"^rng must be an integer of at least 0, got 'a'"):
        CALLS[call](rng="a")


def test_a_method_without_random_numbers_refuses_it():
    with pytest.raises(ValueError, match="'rng' is not an option of method 'spa'"):
        sepnmf.select(M, 4, "spa", rng=0)
    with pytest.raises(TypeError, match="rng"):
        sepnmf.spa(M, 4, rng=0)


def test_signatures_have_random_state_alone():
    for function in (sepnmf.vca, sepnmf.estimate_rank, sepnmf.stability, make_midpoint):
        names = inspect.signature(function).parameters
        assert "random_state" in names
        assert "rng" not in names
    assert all("rng" not in record.options for record in sepnmf.METHODS.values())
    with pytest.raises(ValueError, match="method_options must not contain 'rng': pass random_state"):
        sepnmf.SeparableNMF(4, method="vca", method_options={"rng": 0}).fit(M.T)
