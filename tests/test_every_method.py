"""What every method in the registry owes a user, whatever it computes."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import sepnmf
from sepnmf.datasets import make_midpoint
from sepnmf.selection import best_first

# Parameters that have no default yet, and seeds, so that every method can be called and repeats itself.
OPTIONS = {
    "admm": {"norm": "rows", "lam": 1e-3, "rho": (0.01, 0.01, 0.01)},
    "dca": {"norm": "rows", "lam": 0.01, "rho": 0.01, "beta": 0.01, "ratio_weight": 0.01},
}
EVERY = pytest.mark.parametrize("method", sepnmf.METHODS)


def call(method, M, r, **options):
    seed = {"random_state": 0} if "random_state" in sepnmf.METHODS[method].options else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        return sepnmf.select(M, r, method, **(OPTIONS.get(method, {}) | seed | options))


def assert_sound(sel, method, r, n):
    """r distinct anchors, best first, by finite scores; the one result type, filled in."""
    assert isinstance(sel, sepnmf.Selection)
    assert sel.method == method
    assert sel.anchors.shape == (r,)
    assert sel.anchors.dtype.kind == "i"
    assert len(set(sel.anchors.tolist())) == r
    assert 0 <= sel.anchors.min() <= sel.anchors.max() < n
    assert sel.scores.shape == (n,)
    assert np.isfinite(sel.scores).all()
    assert sel.anchors.tolist() == best_first(sel.scores, r).tolist()
    assert sel.seconds > 0
    assert sel.X is None or sel.X.shape == (n, n)


# What a refusal of hostile data may say: each sentence names what was found, and what to do about it.
REFUSALS = (
    r"M has numerical rank (?P<rank>\d+), so [\w -]+ can find at most (?P=rank) anchor\(?s\)?, "
    r"got r=(?P<r>\d+): ask for fewer\.",
    r"The columns of M span an affine space of dimension \d+, so [\w -]+ can find at most \d+ anchor\(s\), "
    r"got r=(?P<r>\d+): ask for fewer\.",
    r"\d+ columns explain all of M to rounding, so SNPA can find no more anchors, got r=(?P<r>\d+): .+\.",
    r"The cone of \d+ columns has all of M in it to rounding, so XRAY can find no more anchors, "
    r"got r=(?P<r>\d+): ask for fewer\.",
    r"Only \d+ column\(s\) of M were extreme along any of \d+ skewers, got r=(?P<r>\d+): .+\.",
    r"smoothed (?:SPA|VCA) found nothing left of M after \d+ step\(s\), got r=(?P<r>\d+): ask for .+\.",
    r"The pseudo-points of M have \d+ vertices, fewer than the r=(?P<r>\d+) anchors asked for: take a .+\.",
    r"M has (?P<zero>\d+) zero column\(s\), the first is column (?P<first>\d+): remove them, .+\.",
    r"the optimum needs \d+ rows of X at noise=[\d.e-]+, got r=(?P<r>\d+): ask for .+\.",
)


def sound_or_explained(method, M, r, **options):
    """Return a sound answer, or None after a ValueError that names what is wrong with these data."""
    try:
        sel = call(method, M, r, **options)
    except ValueError as error:
        explanation = str(error)
    else:
        assert_sound(sel, method, r, M.shape[1])
        return sel
    found = next((m for m in (re.fullmatch(text, explanation) for text in REFUSALS) if m), None)
    assert found, f"{method} refuses M with an unknown sentence: {explanation}"
    named = {name: int(value) for name, value in found.groupdict().items() if value is not None}
    zero = np.flatnonzero(~np.asarray(M).any(axis=0))
    assert named.get("r", r) == r
    assert named.get("zero", zero.size) == zero.size
    assert "first" not in named or named["first"] == zero[0]
    assert named.get("rank", 0) <= np.linalg.matrix_rank(M) < max(r, 1) or "rank" not in named
    return None


@pytest.fixture(scope="module")
def easy():
    return sepnmf.datasets.make_dirichlet(0.0, m=12, n=24, r=4, random_state=5)


@EVERY
def test_noise_free_anchors_are_found(method, easy):
    M, anchors = easy
    sel = call(method, M, 4)
    assert_sound(sel, method, 4, 24)
    assert set(sel.anchors) == set(anchors)


@EVERY
def test_the_same_call_gives_the_same_answer(method, easy):
    first, again = call(method, easy[0], 4), call(method, easy[0], 4)
    np.testing.assert_array_equal(first.anchors, again.anchors)
    np.testing.assert_array_equal(first.scores, again.scores)


@EVERY
def test_permuting_the_columns_permutes_the_anchors(method, easy):
    M, anchors = easy
    order = np.random.default_rng(0).permutation(24)
    sel = call(method, M[:, order], 4)
    assert set(order[sel.anchors]) == set(anchors)


@EVERY
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scaling_the_data_leaves_the_anchors(method, easy, scale):
    M, anchors = easy
    t = scale**2
    scaled = {
        "admm": {"lam": t * 1e-3, "rho": (t * 0.01,) * 3},
        "dca": dict.fromkeys(("lam", "rho", "beta", "ratio_weight"), t * 0.01),
    }
    assert set(call(method, scale * M, 4, **scaled.get(method, {})).anchors) == set(anchors)


@EVERY
def test_form_of_the_input_does_not_matter_and_it_is_not_modified(method, easy):
    M, anchors = easy
    frozen = M.copy()
    frozen.flags.writeable = False
    strided = np.repeat(M, 2, axis=1)[:, ::2]
    for data in (frozen, np.asfortranarray(M), strided, M.tolist()):
        before = np.array(data)
        assert set(call(method, data, 4).anchors) == set(anchors)
        np.testing.assert_array_equal(np.array(data), before)
    assert set(call(method, M.astype(np.float32), 4).anchors) == set(anchors)
    counts = np.round(1000 * M).astype(int)
    assert_sound(call(method, counts, 4), method, 4, 24)


@EVERY
def test_duplicate_columns_and_ties(method, easy):
    M, anchors = easy
    copies = np.hstack([M, M[:, anchors], M[:, :3]])
    sel = sound_or_explained(method, copies, 4)
    if sel is not None and method not in OPTIONS:
        assert np.linalg.matrix_rank(copies[:, sel.anchors]) >= 3
    sound_or_explained(method, np.eye(6), 3)
    sound_or_explained(method, np.eye(6), 6)
    sound_or_explained(method, np.ones((3, 5)), 2)


@EVERY
def test_zero_columns_are_never_anchors(method, easy):
    M, anchors = easy
    padded = np.insert(M, [0, 10, 24], 0.0, axis=1)
    sel = sound_or_explained(method, padded, 4)
    if sel is not None:
        assert padded[:, sel.anchors].any(axis=0).all()
        assert {tuple(c) for c in padded[:, sel.anchors].T} == {tuple(c) for c in M[:, anchors].T}


@EVERY
def test_rank_deficiency_and_the_largest_r(method, easy):
    M, _ = easy
    sound_or_explained(method, M, 6)  # rank 4
    sound_or_explained(method, np.random.default_rng(0).random((5, 7)), 7)
    sound_or_explained(method, np.random.default_rng(0).random((7, 5)), 5)
    assert_sound(call(method, [[3.0], [1.0]], 1), method, 1, 1)


@EVERY
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_matrix])
def test_sparse_data_are_taken_or_refused_in_one_sentence(method, easy, form):
    M, _ = easy
    data = form(np.where(np.quantile(M, 0.02) < M, M, 0))
    if not sepnmf.METHODS[method].sparse:
        with pytest.raises(ValueError, match="M is sparse"):
            call(method, data, 4)
    else:
        assert call(method, data, 4).anchors.tolist() == call(method, data.toarray(), 4).anchors.tolist()


@EVERY
def test_bad_input_is_named(method, easy):
    M, _ = easy
    for data, r, message in [
        (np.where(M.max() == M, np.nan, M), 4, "M has 1 NaN"),
        (-M, 4, "M has 288 negative entries"),
        (M[0], 1, "M must have 2 dimension"),
        (M[:, :0], 1, "M is empty"),
        (M, 0, "r must lie between 1"),
        (M, 25, "r must lie between 1 and the number of columns, 24"),
        (M, 2.5, "r must be an integer"),
    ]:
        with pytest.raises(ValueError, match=message):
            call(method, data, r)
    with pytest.raises(ValueError, match="'speed' is not an option of method"):
        call(method, M, 4, speed=1)
    with pytest.raises(ValueError, match="negative must be one of"):
        call(method, M, 4, negative="drop")


@EVERY
def test_docstring_says_what_a_user_needs(method):
    text = sepnmf.METHODS[method].function.__doc__
    parts = "Parameters Returns Raises References Examples Cost Memory"
    for part in [*parts.split(), "When to use"]:
        assert part in text, f"{method} does not say: {part}"


@pytest.mark.parametrize("name", ["fgnsr", "merit"])
def test_a_callback_sees_every_iteration_and_can_end_the_run(name):
    M, _ = make_midpoint(0.1, random_state=0)
    seen = []

    def third(state):
        seen.append(state)
        return state.n_outer == 3

    sel = sepnmf.select(M, 10, name, negative="allow", callback=third)
    assert (sel.status, sel.converged, sel.n_outer) == ("stopped", False, 3)
    assert [state.n_outer for state in seen] == [1, 2, 3]
    assert all(state.method == name for state in seen)
    np.testing.assert_array_equal([state.numbers["objective"] for state in seen], sel.history["objective"])


def test_a_callback_of_auto_sees_every_answer():
    M, _ = make_midpoint(0.1, random_state=0)
    seen = []
    sel = sepnmf.auto(M, 10, negative="allow", callback=seen.append)
    assert [state.numbers["after"] for state in seen] == sel.history["after"].tolist()
    np.testing.assert_array_equal(sel.anchors, sepnmf.auto(M, 10, negative="allow").anchors)


@EVERY
@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array])
def test_no_zero_column_is_an_anchor_while_others_are_left(method, kind):
    """Few rows, many zero columns, and as many anchors as the rank or as there are other columns."""
    rng = np.random.default_rng(0)
    for m, r in ((3, 3), (2, 2), (1, 1), (4, 2)):
        M = rng.random((m, 4 * r)) * (rng.random((m, 4 * r)) < 0.6)
        M[:, ::2] = 0.0
        M[0, 1::4] = 0.5
        nonzero = M.any(axis=0)
        try:
            anchors = call(method, kind(M), r).anchors
        except ValueError as refusal:
            assert any(word in str(refusal) for word in ("zero column", "sparse", "ask for fewer"))  # noqa: PT017
        else:
            assert nonzero.sum() < r or nonzero[anchors].all()
