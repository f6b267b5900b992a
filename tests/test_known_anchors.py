"""Columns that are known to be anchors, and columns that are known not to be."""

import re

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

import sepnmf
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.matrix import Known, _chunked, as_matrix
from sepnmf.methods import _screening
from sepnmf.methods._subspace import basis_of_included
from sepnmf.selection import best_first

ABLE = [name for name, method in sepnmf.METHODS.items() if method.takes_known]
CONTAINERS = {
    "array": lambda M: M,
    "float32": lambda M: M.astype(np.float32),
    "sparse": sparse.csr_array,
    "frame": lambda M: pd.DataFrame(M, columns=[f"c{j}" for j in range(M.shape[1])]),
    "chunks": lambda M: da.from_array(M, chunks=(M.shape[0], 17)),
    "screened": lambda M: da.from_array(M, chunks=(M.shape[0], 17)),
}
EVERY = pytest.mark.parametrize("method", ABLE)


def mixtures(seed=0, m=12, n=60, r=4, noise=0.02):
    rng = np.random.default_rng(seed)
    W = rng.random((m, r))
    M = W @ np.hstack([np.eye(r), rng.dirichlet(np.ones(r), n - r).T])
    return np.abs(M + noise * rng.standard_normal((m, n)))


def call(method, M, r, **options):
    seed = {"random_state": 0} if "random_state" in sepnmf.METHODS[method].options else {}
    return sepnmf.select(M, r, method, **(seed | options))


@pytest.fixture
def screening(monkeypatch):
    """Thresholds so low that small data in chunks are screened, and violations and the worst columns few."""

    def lower():
        monkeypatch.setattr(_chunked, "SMALL", 0)
        monkeypatch.setattr(_chunked, "SAMPLE", 20)
        monkeypatch.setattr(_screening, "SKEWERS", 10)
        monkeypatch.setattr(_screening, "WORST", 3)

    return lower


def squared_misfits(M, W):
    return np.array([optimize.nnls(W, column)[1] ** 2 for column in M.T])


# What must hold for every method that can ------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("container", CONTAINERS)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 99), data=st.data())
def test_included_columns_are_anchors_and_excluded_ones_never(method, container, screening, seed, data):
    if container == "sparse" and not sepnmf.METHODS[method].sparse:
        return
    if container == "screened":
        screening()
    M = mixtures(seed)
    held, n, r = CONTAINERS[container](M), M.shape[1], 4
    # The columns that the method would take are the ones to exclude.
    taken = call(method, held, r).anchors.tolist()
    others = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(n), taken)).tolist()
    include = others[: data.draw(st.integers(0, r))]
    exclude = taken[: data.draw(st.integers(0, r))] + others[10:20]
    refine = data.draw(st.booleans())
    sel = call(method, held, r, include=include, exclude=exclude, refine=refine)
    assert set(include) <= set(sel.anchors.tolist())
    assert not set(exclude) & set(sel.anchors.tolist())
    assert len(set(sel.anchors.tolist())) == r
    assert np.isfinite(sel.scores).all()
    assert sel.anchors.tolist() == best_first(sel.scores, r).tolist()
    assert sel.scores[exclude].max() <= sel.scores[sel.anchors].min()


@EVERY
@pytest.mark.parametrize("refine", [False, True])
def test_as_many_included_columns_as_anchors_are_the_answer(method, refine):
    M = mixtures()
    sel = call(method, M, 4, include=[9, 33, 50, 17], refine=refine)
    assert sorted(sel.anchors) == [9, 17, 33, 50]
    assert call(method, M, 1, include=[7]).anchors.tolist() == [7]
    first = int(call(method, M, 1).anchors[0])
    assert call(method, M, 1, exclude=[first]).anchors.tolist() != [first]


@EVERY
def test_a_copy_of_an_included_column_can_be_included_too(method):
    if method == "nfindr":  # has a sentence of its own
        return
    M = mixtures()
    M = np.hstack([M, M[:, [5]]])
    sel = call(method, M, 4, include=[5, 60])
    assert {5, 60} <= set(sel.anchors.tolist())
    assert sel.anchors.tolist() == best_first(sel.scores, 4).tolist()


@EVERY
def test_masked_columns_do_not_shift_indices_nor_names(method):
    M = mixtures()
    plain = call(method, M, 4, include=[30], exclude=[1, 40])
    mask = np.r_[np.zeros(3, bool), np.ones(60, bool)]
    wide = pd.DataFrame(np.hstack([M[:, :3], M]), columns=[f"c{j}" for j in range(63)])
    sel = call(method, wide, 4, include=["c33"], exclude=["c4", 43], mask=mask)
    assert sel.anchors.tolist() == (plain.anchors + 3).tolist()
    assert sel.names == tuple(f"c{j}" for j in sel.anchors)


@pytest.mark.parametrize("method", ["spa", "xray", "vca"])
@pytest.mark.parametrize("normalize", ["none", "l1"])
def test_in_chunks_the_same_columns_are_chosen_as_in_memory(method, normalize, monkeypatch):
    if normalize == "l1" and method != "spa":
        return
    options = {"normalize": "l1"} if normalize == "l1" else {}
    monkeypatch.setattr(_chunked, "PEEKS", 1)
    monkeypatch.setattr(_chunked, "PEEK", 3)
    for seed in range(5):
        M = mixtures(seed, n=200)
        farthest = call(method, M, 5, **options).scores.argsort()[-60:].tolist()
        known = {"include": [111, 7], "exclude": sorted({*farthest, 0, 1, 2} - {111, 7})}
        there = call(method, da.from_array(M, chunks=(12, 30)), 5, **known, **options)
        here = call(method, M, 5, **known, **options)
        assert there.anchors.tolist() == here.anchors.tolist()
        np.testing.assert_allclose(there.scores, here.scores, rtol=1e-6, atol=1e-9 * here.scores.max())


# Against plain transcriptions ------------------------------------------------------------------------------


def farthest_outside(M, include, exclude, r):
    """SPA by projections of the whole matrix."""
    chosen = list(include)
    while len(chosen) < r:
        Q = np.linalg.qr(M[:, chosen])[0]
        lengths = np.linalg.norm(M - Q @ (Q.T @ M), axis=0)
        lengths[[*chosen, *exclude]] = -1
        chosen.append(int(lengths.argmax()))
    return chosen


def extreme_rays(M, include, exclude, r):
    """XRAY with the rule "max", by the least squares of SciPy."""
    chosen = list(include)
    while len(chosen) < r:
        W = M[:, chosen]
        rest = M - W @ np.column_stack([optimize.nnls(W, column)[0] for column in M.T])
        barred = [*chosen, *exclude]
        lengths = np.linalg.norm(rest, axis=0)
        lengths[barred] = -1
        gains = rest[:, lengths.argmax()] @ M / M.sum(axis=0)
        gains[barred] = -np.inf
        chosen.append(int(gains.argmax()))
    return chosen


def farthest_from_hull(M, include, exclude, r):
    """SNPA: weights that sum to at most one, by the least squares of SciPy with a heavy row for the sum."""
    heavy, n = 1e4, M.shape[1]
    chosen = list(include)
    while len(chosen) < r:
        W = np.hstack([M[:, chosen], np.zeros((len(M), 1))])  # the origin takes what is missing to one
        tall = np.vstack([W, heavy * np.ones(W.shape[1])])
        H = np.column_stack([optimize.nnls(tall, np.append(M[:, j], heavy))[0] for j in range(n)])
        lengths = np.linalg.norm(M - W @ H, axis=0)
        lengths[[*chosen, *exclude]] = -1
        chosen.append(int(lengths.argmax()))
    return chosen


@pytest.mark.parametrize(
    ("method", "oracle"), [("spa", farthest_outside), ("xray", extreme_rays), ("snpa", farthest_from_hull)]
)
def test_greedy_methods_go_on_from_the_included_columns(method, oracle):
    for seed in range(10):
        M = mixtures(seed)
        taken = call(method, M, 4).anchors.tolist()
        include, exclude = [j for j in (20, 45) if j not in taken], taken[:2]
        sel = call(method, M, 5, include=include, exclude=exclude)
        assert sel.anchors.tolist() == oracle(M, include, exclude, 5)


@pytest.mark.parametrize("init", ["spa", "random"])
def test_no_swap_that_is_allowed_enlarges_the_simplex(init):
    M = mixtures(noise=0.05)
    include, exclude = [20, 45], call("nfindr", M, 4).anchors[:2].tolist()
    anchors = call("nfindr", M, 4, include=include, exclude=exclude, init=init).anchors
    centred = M - M.mean(axis=1, keepdims=True)
    Y = np.vstack([np.linalg.svd(centred)[0][:, :3].T @ centred, np.ones(60)])
    volume = abs(np.linalg.det(Y[:, anchors]))
    for k in np.flatnonzero(~np.isin(anchors, include)):
        for j in np.setdiff1d(np.arange(60), exclude):
            other = anchors.copy()
            other[k] = j
            assert abs(np.linalg.det(Y[:, other])) <= volume * (1 + 1e-8)


@pytest.mark.parametrize("how", ["auto", "refine"])
def test_no_exchange_that_is_allowed_explains_more(how):
    M = np.sqrt(mixtures(n=80, noise=0.0))  # misfit: neighbours are missed alike
    include, exclude = [20], call("spa", M, 4).anchors[:2].tolist()
    if how == "auto":
        sel = call("auto", M, 4, include=include, exclude=exclude)
        assert set(sel.history["criterion"]) == {"residual"}
    else:
        sel = call("robust_spa", M, 4, include=include, exclude=exclude, refine=True)
        assert sel.refinement["criterion"] == "residual"
        assert sel.refinement["exchanges"] > 0
    residual = squared_misfits(M, M[:, sel.anchors]).sum()
    for k in np.flatnonzero(sel.anchors != 20):
        for j in np.setdiff1d(np.arange(80), [*exclude, *sel.anchors]):
            other = sel.anchors.copy()
            other[k] = j
            assert squared_misfits(M, M[:, other]).sum() >= residual * (1 - 2e-6)


# What the knowledge is good for ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_midpoint, make_dirichlet])
@pytest.mark.parametrize("method", ["spa", "auto"])
def test_with_all_anchors_but_one_the_last_is_found_at_least_as_often_as_without(make, method):
    found = {"with": 0, "without": 0}
    for seed in range(8):
        M, true = make(noise=0.3, random_state=seed)
        last, others = true[seed], np.delete(true, seed)
        found["without"] += last in sepnmf.select(M, 10, method, negative="allow").anchors
        found["with"] += last in sepnmf.select(M, 10, method, negative="allow", include=others).anchors
    assert found["with"] >= found["without"]
    assert found["with"] == 8


def test_spectra_in_many_clusters_keep_the_included_columns():
    """More than a thousand columns with misfit: `auto` decides on means of clusters."""
    rng = np.random.default_rng(0)
    W = rng.random((30, 4))
    H = np.hstack([np.eye(4), rng.dirichlet(0.5 * np.ones(4), 1496).T])
    M = (W @ H) ** 1.5 * rng.uniform(0.8, 1.2, 1500)
    sel = sepnmf.select(M, 4, noise="none", include=[1, 700], exclude=[0])
    assert {1, 700} <= set(sel.anchors.tolist())
    assert 0 not in sel.anchors
    assert any("clusters" in start for start in sel.history["start"])
    mixed = sepnmf.metrics.rae(M, sel.anchors)
    assert mixed >= sepnmf.metrics.rae(M, [1, 700, *sepnmf.spa(M, 2).anchors])


def test_excluded_columns_do_not_crowd_out_candidates_in_chunks(screening):
    """Many columns far outside, which are excluded: the extreme ones and the worst ones are others."""
    screening()
    rng = np.random.default_rng(1)
    W = rng.random((12, 4))
    pure = W @ np.hstack([np.eye(4), rng.dirichlet(np.ones(4), 396).T])
    far = 5 * rng.random((12, 50))
    M = np.hstack([far, pure])[:, rng.permutation(450)]
    is_far = np.flatnonzero(M.sum(axis=0) > pure.sum(axis=0).max() * 1.5)
    columns = da.from_array(M, chunks=(12, 50))
    for method in ("auto", "snpa"):
        sel = sepnmf.select(columns, 4, method, exclude=is_far)
        W_found = M[:, sel.anchors]
        rest = np.setdiff1d(np.arange(450), is_far)
        share = squared_misfits(M[:, rest], W_found).sum() / np.square(M[:, rest]).sum()
        assert not set(sel.anchors) & set(is_far)
        assert share < 0.02


def test_candidates_are_extreme_among_the_columns_that_are_not_excluded(screening, monkeypatch):
    screening()
    monkeypatch.setattr(_chunked, "SAMPLE", 1)
    monkeypatch.setattr(_screening, "SKEWERS", 200)
    rng = np.random.default_rng(2)
    pure = mixtures(noise=0.0)
    M = np.hstack([pure, pure + 5 * rng.random(pure.shape)])
    far = np.arange(60, 120)
    matrix = as_matrix(da.from_array(M, chunks=(12, 50)))
    candidates = _screening.screened(matrix, 4, rng, Known.of([30], far))
    assert {0, 1, 2, 3, 30} <= set(candidates.held.indices.tolist())
    left = candidates.left_by(M[:, :4])
    assert not set(left.worst.indices.tolist()) & set(far.tolist())
    np.testing.assert_allclose(left.residual, squared_misfits(M, M[:, :4]).sum())


def test_a_column_in_the_span_of_those_before_adds_no_direction():
    Y = mixtures(noise=0.0)[:4]
    Y = np.hstack([Y, Y[:, [5]] * 2])
    basis = basis_of_included(Y, Known.of([5, 60, 8], []))
    assert not basis[:, 1].any()
    np.testing.assert_allclose(basis.T @ basis, np.diag([1.0, 0.0, 1.0]), atol=1e-12)
    inside = basis @ (basis.T @ Y[:, [5, 8, 60]])
    np.testing.assert_allclose(inside, Y[:, [5, 8, 60]], rtol=1e-9)


def test_auto_tells_a_number_of_anchors_of_at_least_the_included_ones():
    M, _ = make_dirichlet(noise=0.01, random_state=0)
    assert len(sepnmf.select(M, "auto", "spa", include=range(12)).anchors) == 12
    assert len(sepnmf.select(M, "auto", "spa", include=[3]).anchors) == 10


def test_a_method_called_by_its_own_name_includes_and_excludes():
    M = mixtures()
    frame = pd.DataFrame(M, columns=[f"c{j}" for j in range(60)])
    first = int(sepnmf.spa(M, 1).anchors[0])
    anchors = sepnmf.spa(frame, 3, include=["c30"], exclude=[first]).anchors
    assert anchors.tolist() == sepnmf.select(M, 3, "spa", include=[30], exclude=[first]).anchors.tolist()


# Wrong input -----------------------------------------------------------------------------------------------

FRAME = pd.DataFrame(
    {
        "soil": [1.0, 0, 0],
        "tree": [0.0, 1, 0],
        "water": [0.0, 0, 1],
        "mixed": [0.3, 0.3, 0.4],
        "dark": [0.0, 0, 0],
    }
)
MASK = np.array([True, True, True, False, True])


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({"include": [9]}, "include has column 9, but M has the columns 0 to 4."),
        ({"exclude": [-1]}, "exclude has column -1, but M has the columns 0 to 4."),
        ({"include": [1, 0, 1]}, "include has column 1 more than once: name it once."),
        ({"include": [1, "tree"]}, "include has column 1 more than once: name it once."),
        ({"include": [True]}, "include must hold column indices or names, got True."),
        ({"exclude": [np.False_]}, f"exclude must hold column indices or names, got {np.False_!r}."),
        (
            {"include": np.array([1.0])},
            f"include must hold column indices or names, got {np.float64(1.0)!r}.",
        ),
        ({"include": "soil"}, "include must be a list of column indices or names, got 'soil'."),
        ({"exclude": 3}, "exclude must be a list of column indices or names, got 3."),
        ({"include": None}, "include must be a list of column indices or names, got None."),
        ({"include": ["treee"]}, "include has 'treee', which is no name of a column: did you mean 'tree'?"),
        ({"exclude": ["x"]}, "exclude has 'x', which is no name of a column: check the spelling."),
        (
            {"include": ["soil"], "exclude": [0]},
            "Column 0 is in include and in exclude: leave it in one of them.",
        ),
        ({"include": [3]}, "include has column 3, which is left out by the mask: choose another."),
        ({"exclude": ["mixed"]}, "exclude has column 3, which is left out by the mask: choose another."),
        (
            {"include": [0, 1, 2]},
            "include has 3 columns, more than the r=2 anchors asked for: include fewer, or ask for more "
            "anchors.",
        ),
        (
            {"exclude": [0, 1, 2]},
            "exclude leaves 1 of 4 columns, fewer than the r=2 anchors asked for: exclude fewer, or ask for "
            "fewer anchors.",
        ),
        ({"include": ["dark"]}, "include has column 4, which is zero and has no direction: leave it out."),
    ],
)
def test_wrong_columns_are_refused_in_one_sentence(known, says):
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        sepnmf.select(FRAME, 2, "spa", mask=MASK, **known)


def test_names_need_columns_with_names_and_one_column_each():
    with pytest.raises(
        ValueError, match=r"^include has the name 'soil', but the columns of M have no names: pass"
    ):
        sepnmf.select(FRAME.to_numpy(), 2, include=["soil"])
    twice = FRAME.set_axis(["a", "a", "b", "c", "d"], axis=1).to_numpy()
    named = xr.DataArray(twice, dims=("band", "pixel"), coords={"pixel": ["a", "a", "b", "c", "d"]})
    says = r"^include has 'a', the name of several columns, such as 0 and 1: pass an index.$"
    with pytest.raises(ValueError, match=says):
        sepnmf.select(named, 2, include=["a"])


def test_methods_that_cannot_name_those_that_can():
    with pytest.raises(
        ValueError, match=r"^method 'fgnsr' can neither include nor exclude columns; these can: auto, "
    ):
        sepnmf.select(mixtures(), 2, "fgnsr", exclude=[1])
    with pytest.raises(TypeError, match="include"):
        sepnmf.fgnsr(mixtures(), 2, include=[1])


def test_dependent_vertices_are_refused():
    M = mixtures()
    M = np.hstack([M, M[:, [5]]])
    with pytest.raises(
        ValueError, match=r"^include has columns of which one is an affine combination of others"
    ):
        sepnmf.select(M, 4, "nfindr", include=[5, 60])


def test_too_few_columns_that_are_neither_zero_nor_excluded_are_told():
    M = np.hstack([np.eye(3), np.zeros((3, 3))])
    for method in ("vca", "nfindr"):
        for data in (M, da.from_array(M, chunks=(3, 2))):
            with pytest.raises(ValueError, match=r"^M without its excluded columns has 1 nonzero column"):
                call(method, data, 2, exclude=[0, 1])
    with pytest.raises(
        ValueError, match=r"^M without its excluded columns has numerical rank 1, so SPA can find"
    ):
        sepnmf.select(M, 2, "spa", exclude=[0, 1])
