"""What the ratio methods accept, and what they refuse in one sentence that names the argument."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import sepnmf
from sepnmf import model
from sepnmf.matrix import as_matrix

GOOD = {
    "admm": {"lam": 1e-3, "rho": (0.01, 0.01, 0.01), "norm": "rows"},
    "dca": {"lam": 0.01, "rho": 1.0, "beta": 1.0},
}
M0 = np.array([[1.0, 0.0, 0.5, 0.3], [0.0, 1.0, 0.5, 0.7], [0.2, 0.1, 0.15, 0.1]])


def spoilt(index, value):
    M = M0.copy()
    M[index] = value
    return M


def call(method, M=M0, r=2, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        return sepnmf.select(M, r, method, **(GOOD[method] | options))


BAD_DATA = {
    "NaN": (spoilt((1, 2), np.nan), r"M has 1 NaN or infinite entries, the first at \(1, 2\)"),
    "infinite": (spoilt((0, 0), -np.inf), "M has 1 NaN or infinite"),
    "negative": (spoilt((2, 3), -0.1), r"M has 1 negative entries, the first at \(2, 3\).*clip.*allow"),
    "zero column": (spoilt((slice(None), 1), 0), r"M has 1 zero column\(s\), the first is column 1"),
    "vector": (M0[0], r"M must have 2 dimension\(s\), got shape \(4,\)"),
    "cube": (M0[None], "M must have 2"),
    "empty": (np.zeros((3, 0)), r"M is empty: its shape is \(3, 0\)"),
    "text": (M0.astype(str), "M must hold real numbers"),
    "complex": (M0 + 0j, "M must hold real numbers"),
    "sparse": (sparse.csr_array(M0), r"M is sparse.*M.toarray\(\)"),
}
BAD_RANKS = {
    0: "r must lie between 1 and the number of columns, 4, got 0",
    -1: "r must lie",
    5: "r must lie between 1 and the number of columns, 4, got 5",
    2.0: "r must be an integer, got 2.0",
    True: "r must be an integer",
    "3": "r must be an integer",
}
BAD_OPTIONS = [
    ("both", "lam", 0, "lam must be finite and greater than 0, got 0.0"),
    ("both", "lam", -1.0, "lam must be"),
    ("both", "lam", np.nan, "lam must be"),
    ("both", "lam", np.inf, "lam must be"),
    ("both", "lam", "1", "lam must be a number"),
    ("both", "lam", None, "lam must be a number"),
    ("admm", "rho", (1, 0, 1), r"rho\[1\] must be finite and greater than 0"),
    ("admm", "rho", (1, 1), "rho must be three numbers"),
    ("admm", "rho", 1.0, "rho must be three numbers"),
    ("admm", "rho", (1, 1, np.inf), r"rho\[2\] must be"),
    ("dca", "rho", 0.0, "rho must be"),
    ("dca", "rho", (1, 1, 1), "rho must be a number"),
    ("dca", "beta", -2, "beta must be"),
    ("dca", "ratio_weight", 0, "ratio_weight must be"),
    ("both", "p", 0.5, "p must be finite and at least 1, got 0.5"),
    ("both", "p", np.nan, "p must be"),
    ("both", "norm", "l2", "norm must be one of 'l1', 'nuclear', 'rows', got 'l2'"),
    ("admm", "prox", "fast", "prox must be one of 'exact', 'paper'"),
    ("dca", "prox", "fast", "prox must be one of 'exact', 'paper'"),
    ("dca", "prox", "paper", 'prox="paper" goes with v_update="projected"'),
    ("dca", "v_update", "other", "v_update must be one of"),
    ("both", "pick", "best", "pick must be one of 'diag', 'rows', 'spa'"),
    ("both", "negative", "ignore", "negative must be one of"),
    ("both", "init", "random", "init must be one of 'identity', 'spa'"),
    ("both", "init", np.eye(3), r"init must be square, 4 × 4, got shape \(3, 3\)"),
    ("both", "init", np.full((4, 4), np.nan), "init has 16 NaN"),
    ("both", "init", np.zeros((4, 4)), "init is zero"),
    ("both", "weights", [1, 1, 1], r"weights must hold one number per column \(4\), got 3"),
    ("both", "weights", [1, 0, 1, 1], "weights must be positive, got 0.0 at index 1"),
    ("both", "weights", [1, np.nan, 1, 1], "weights has 1 NaN"),
    ("both", "weights", [1e-100, 1e100, 1, 1], "weights differ by a factor of more than 1e150"),
    ("both", "max_outer", 0, "max_outer must be an integer of at least 1"),
    ("both", "max_inner", 1.5, "max_inner must be an integer"),
    ("both", "tol", -1e-9, "tol must be finite and at least 0"),
    ("both", "inner_tol", np.nan, "inner_tol must be"),
    ("both", "callback", 3, "callback must be callable"),
    ("admm", "random_state", -1, "random_state must be an integer of at least 0"),
    (
        "both",
        "lamda",
        1.0,
        "'lamda' is not an option of method '(admm|dca)': did you mean lam. It takes p, norm, lam",
    ),
]


@pytest.mark.parametrize("method", GOOD)
@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_is_named(method, kind):
    M, message = BAD_DATA[kind]
    with pytest.raises(ValueError, match=message):
        call(method, M)


@pytest.mark.parametrize("method", GOOD)
@pytest.mark.parametrize("r", BAD_RANKS, ids=repr)
def test_bad_rank_is_named(method, r):
    with pytest.raises(ValueError, match=BAD_RANKS[r]):
        call(method, r=r)


@pytest.mark.parametrize(("which", "name", "value", "message"), BAD_OPTIONS)
def test_bad_option_is_named(which, name, value, message):
    for method in GOOD if which == "both" else [which]:
        with pytest.raises(ValueError, match=message):
            call(method, **{name: value})


def test_parameters_are_required():
    with pytest.raises(TypeError, match="lam"):
        sepnmf.admm(M0, 2, rho=(1, 1, 1))
    with pytest.raises(TypeError, match="beta"):
        sepnmf.dca(M0, 2, lam=1, rho=1)


def test_unknown_method_is_named():
    with pytest.raises(ValueError, match="method must be one of 'auto', 'tuned_admm', 'admm', 'dca'"):
        sepnmf.select(M0, 2, "magic")


def test_paper_form_refuses_other_powers():
    for method, options in (("admm", {"prox": "paper"}), ("dca", {"v_update": "projected"})):
        with pytest.raises(ValueError, match="p must be 1, 2, 3 or 4"):
            call(method, p=1.5, **options)


@pytest.mark.parametrize("method", GOOD)
def test_negative_entries_may_be_clipped_or_allowed(method):
    M = spoilt((2, 3), -0.1)
    clipped, allowed = call(method, M, negative="clip"), call(method, M, negative="allow")
    np.testing.assert_array_equal(clipped.X, call(method, np.maximum(M, 0)).X)
    assert not np.array_equal(clipped.X, allowed.X)
    assert M[2, 3] == -0.1


@pytest.mark.parametrize("method", GOOD)
def test_shapes_and_types_of_input_do_not_matter_and_nothing_is_modified(method):
    rng = np.random.default_rng(0)
    M = rng.integers(1, 9, (5, 7))
    want = call(method, M.astype(float), 3)
    wide = np.zeros((10, 14))
    wide[::2, ::2] = M
    frozen = M.astype(float)
    frozen.flags.writeable = False
    for variant in (M, M.tolist(), np.asfortranarray(M, float), wide[::2, ::2], frozen, M.astype(np.uint8)):
        before = np.array(variant)
        got = call(method, variant, 3)
        np.testing.assert_allclose(got.X, want.X, atol=1e-12)
        np.testing.assert_array_equal(np.array(variant), before)
    for dtype, work in ((np.float32, np.float32), (np.float16, np.float32), (np.int64, np.float64)):
        assert call(method, M.astype(dtype), 3).X.dtype == work


@pytest.mark.parametrize("method", GOOD)
def test_start_and_weights_are_never_modified(method):
    start, weights = np.eye(4), np.ones(4)
    start.flags.writeable = weights.flags.writeable = False
    sel = call(method, init=start, weights=weights)
    assert sel.X is not start
    np.testing.assert_array_equal(start, np.eye(4))


@pytest.mark.parametrize("method", GOOD)
@pytest.mark.parametrize("norm", model.NORMS)
def test_edges_work(method, norm):
    rng = np.random.default_rng(0)
    assert call(method, [[2.0]], 1, norm=norm).anchors.tolist() == [0]
    one_row = call(method, rng.random((1, 5)) + 0.1, 2, norm=norm)
    assert len(set(one_row.anchors)) == 2
    assert sorted(call(method, rng.random((3, 6)), 6, norm=norm).anchors) == list(range(6))
    copies = np.repeat(rng.random((4, 3)), 3, axis=1)
    sel = call(method, copies, 5, norm=norm)
    assert len(set(sel.anchors)) == 5
    assert np.isfinite(sel.scores).all()
    tall = call(method, rng.random((40, 3)), 2, norm=norm)
    assert len(set(tall.anchors)) == 2


def test_model_functions_name_their_arguments():
    for function, arguments, message in [
        (model.prox_power, (M0, 0.0), "gamma must be finite and greater than 0"),
        (model.prox_power, (M0, 1.0, 0.9), "p must be finite and at least 1"),
        (model.prox_power, (M0, 1.0, 1, "l1", "printed"), "form must be one of"),
        (model.prox_power, ([[np.nan]], 1.0), "A has 1 NaN"),
        (model.project_omega, (M0, np.ones(4)), "Z must be square, 3 × 3"),
        (model.project_omega, (np.eye(2), [1, -1]), "weights must be positive"),
        (model.prox_power_omega, (np.eye(2), 1.0, 1, [1, 1], "l3"), "norm must be one of"),
        (model.ratio, (np.zeros((2, 2)),), "X is zero"),
    ]:
        with pytest.raises(ValueError, match=message):
            function(*arguments)
    for options, message in [
        ({"lam": -1}, "lam must be"),
        ({"lam": 1, "condition": "best"}, "condition must be one of"),
        ({"lam": 1, "weights": [1, 1]}, r"weights must hold one number per column \(4\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.criticality(M0, np.eye(4), **options)
    with pytest.raises(ValueError, match="X must be square, 4 × 4"):
        model.objective(M0, np.eye(3), lam=1)


def test_sparse_data_are_checked_without_being_densified_or_modified():
    A = sparse.coo_array(([1, 2, 3], ([0, 0, 1], [0, 0, 2])), shape=(2, 3))  # a duplicate entry
    csc = as_matrix(A)
    np.testing.assert_array_equal(csc.toarray(), [[3, 0, 0], [0, 0, 3]])
    assert csc.dtype == np.float64
    assert A.nnz == 3
    B = sparse.csc_array(np.array([[1.0, -2.0]], dtype=np.float32))
    np.testing.assert_array_equal(as_matrix(B, "clip").toarray(), [[1, 0]])
    assert as_matrix(B, "allow").dtype == np.float32
    with pytest.raises(ValueError, match=r"M has 1 negative entries, the first at \(0, 1\): pass"):
        as_matrix(B)
    with pytest.raises(ValueError, match=r"M has 1 NaN or infinite entries, the first at \(0, 0\)"):
        as_matrix(sparse.csr_array(np.array([[np.nan, 1.0]])))
    with pytest.raises(ValueError, match="M must be a non-empty matrix"):
        as_matrix(sparse.csr_array((0, 3)))
    assert as_matrix(sparse.csr_array((2, 3))).array.nnz == 0


def test_numbers_out_of_range_are_named():
    for M in (1e160 * M0, 1e-160 * M0, (1e25 * M0).astype(np.float32), 1e308 * M0):
        for method in GOOD:
            with pytest.raises(ValueError, match="M has largest entry"):
                call(method, M)
        with pytest.raises(ValueError, match="M has largest entry"):
            sepnmf.fgnsr(M, 2)
    for name, value, message in [
        ("lam", 10**400, "lam must be finite"),
        ("rho", (1e308, 1e308, 1e308), "the sum of rho must be finite"),
        ("init", 1e160 * np.eye(4), "the Frobenius norm of init exceeds"),
    ]:
        with pytest.raises(ValueError, match=message):
            call("admm", **{name: value})
    with pytest.raises(ValueError, match="the Frobenius norm of init exceeds"):
        call("admm", M0.astype(np.float32), init=1e200 * np.eye(4))


def test_options_without_default_are_asked_for():
    with pytest.raises(ValueError, match=r"method 'admm' needs the option.* lam, rho"):
        sepnmf.select(M0, 2, "admm")


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_criticality_survives_extreme_scales(scale):
    assert model.criticality(M0, scale * np.eye(4), lam=0.1, p=1) >= 0


@pytest.mark.parametrize(("kind", "power"), [("l1", 1.0), ("sqrt", 0.5)])
def test_columns_are_divided_by_a_power_of_their_sums(kind, power):
    from scipy import sparse

    from sepnmf.matrix import as_matrix

    M = np.random.default_rng(0).random((5, 7)) * np.arange(7)
    sums = np.where(M.sum(axis=0) > 0, M.sum(axis=0), 1.0)
    for data in (M, sparse.csc_array(M)):
        np.testing.assert_allclose(as_matrix(data).normalised(kind).toarray(), M / sums**power)


@pytest.mark.parametrize("value", [-9999.0, -32768.0, float(np.finfo(np.float32).min)])
def test_a_negative_number_that_marks_missing_data_is_named_with_the_mask_to_pass(value):
    M, anchors = sepnmf.datasets.make_dirichlet(0.0, random_state=0)
    M[3, [j for j in (2, 40) if j not in anchors]] = value
    with pytest.raises(ValueError, match="looks like nodata: leave its columns out with mask=") as caught:
        sepnmf.select(M, 10)
    written = str(caught.value).partition("with mask=")[2].partition(", or pass negative=")[0]
    if value > -1e9:
        mask = eval(written, {"np": np, "M": M})
        assert set(sepnmf.select(M, 10, mask=mask).anchors) == set(anchors)
