"""The scikit-learn faces: the full estimator checks, and what the checks do not look at."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import sepnmf
from sepnmf import METHODS, AnchorSelector, Selection, SeparableNMF
from sepnmf.datasets import make_dirichlet
from sepnmf.methods import Method

SPARSE = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix]


# No check is expected to fail.
@parametrize_with_checks([SeparableNMF(), AnchorSelector()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SeparableNMF(negative="allow"),
        SeparableNMF(negative="clip"),
        AnchorSelector(negative="allow"),
        AnchorSelector(1, negative="clip"),
    ]
)
def test_scikit_learn_checks_with_negative_entries(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    """X (samples × features, and M = X.T) with five anchors."""
    M, anchors = make_dirichlet(0.01, m=12, n=40, r=5, random_state=3)
    return np.maximum(M.T, 0), anchors


def coin(M, r, *, negative="error", random_state=None):
    """A method that draws its anchors."""
    anchors = np.random.default_rng(random_state).permutation(M.shape[1])[:r]
    scores = np.zeros(M.shape[1])
    scores[anchors] = np.arange(r, 0, -1)
    return Selection(anchors=anchors, scores=scores, method="coin")


# --- SeparableNMF: anchors are samples


def test_anchors_are_the_samples_the_method_chooses_as_columns(data):
    X, anchors = data
    model = SeparableNMF(5).fit(X)
    np.testing.assert_array_equal(model.anchor_indices_, sepnmf.auto(X.T, 5).anchors)
    assert set(model.anchor_indices_) == set(anchors)
    np.testing.assert_array_equal(model.components_, X[model.anchor_indices_])
    assert isinstance(model.selection_, Selection)
    assert (model.n_components_, model.n_features_in_) == (5, 12)


def test_transform_is_nonnegative_least_squares(data):
    X, _ = data
    model = SeparableNMF(5).fit(X[:30])
    expected = np.array([optimize.nnls(model.components_.T, x)[0] for x in X])
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-10)


def test_fit_transform_and_errors_agree_with_their_definition(data):
    X, _ = data
    model = SeparableNMF(4)
    W = model.fit_transform(X)
    np.testing.assert_allclose(W, model.transform(X), atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(W), W @ X[model.anchor_indices_], atol=1e-12)
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - model.inverse_transform(W)))
    assert 1 - model.reconstruction_err_ / np.linalg.norm(X) == pytest.approx(
        sepnmf.metrics.rae(X.T, model.anchor_indices_)
    )
    np.testing.assert_allclose(model.inverse_transform(sparse.csr_array(W)), W @ model.components_)


def test_components_may_be_the_pure_samples_without_noise():
    noisy, _ = make_dirichlet(0.1, random_state=0)
    clean, anchors = make_dirichlet(0.0, random_state=0)
    pixels = SeparableNMF(10, negative="allow").fit(noisy.T)
    model = SeparableNMF(10, negative="allow", components="vertices")
    weights = model.fit_transform(noisy.T)
    np.testing.assert_array_equal(model.components_, model.selection_.vertices.T)
    np.testing.assert_allclose(weights, model.transform(noisy.T))
    error = np.linalg.norm(noisy.T - model.inverse_transform(weights))
    assert model.reconstruction_err_ == pytest.approx(error)
    true = np.argsort(np.argsort(pixels.anchor_indices_))
    clean = clean[:, np.sort(anchors)].T[true]
    assert np.linalg.norm(model.components_ - clean) < np.linalg.norm(pixels.components_ - clean)


@pytest.mark.parametrize("parameters", [{"method": "spa"}, {"components": "samples"}])
def test_components_that_are_not_there_are_refused(data, parameters):
    with pytest.raises(ValueError, match="components"):
        SeparableNMF(3, **({"components": "vertices"} | parameters)).fit(data[0])


def test_inverse_transform_refuses_a_wrong_number_of_weights(data):
    model = SeparableNMF(4).fit(data[0])
    with pytest.raises(ValueError, match="X has 5 columns, but there are 4 components"):
        model.inverse_transform(np.ones((2, 5)))


def test_output_names_follow_scikit_learn(data):
    model = SeparableNMF(3).fit(data[0])
    assert model.get_feature_names_out().tolist() == ["separablenmf0", "separablenmf1", "separablenmf2"]


def test_more_components_than_samples_is_an_error():
    with pytest.raises(ValueError, match="n_components=4 must be at most n_samples=3"):
        SeparableNMF(4).fit(np.eye(3))


# --- AnchorSelector: anchors are features


def test_selector_keeps_the_anchors_in_their_order(data):
    X, anchors = data
    M = X.T
    selector = AnchorSelector(5).fit(M)
    found = sepnmf.auto(M, 5)
    np.testing.assert_array_equal(selector.anchor_indices_, found.anchors)
    np.testing.assert_array_equal(selector.scores_, found.scores)
    np.testing.assert_array_equal(selector.get_support(indices=True), np.sort(anchors))
    np.testing.assert_array_equal(selector.transform(M), M[:, np.sort(anchors)])
    filled = selector.inverse_transform(selector.transform(M))
    np.testing.assert_array_equal(filled, np.where(selector.get_support(), M, 0))
    assert selector.get_feature_names_out().tolist() == [f"x{j}" for j in np.sort(anchors)]


@pytest.mark.parametrize(
    ("wanted", "shape", "count"),
    [
        (None, (30, 12), 6),
        (None, (30, 13), 6),
        (None, (4, 12), 4),
        (None, (30, 1), 1),
        (3, (30, 12), 3),
        (np.int64(3), (30, 12), 3),
        (12, (30, 12), 12),
        (1.0, (30, 12), 12),
        (0.25, (30, 12), 3),
        (np.float32(0.25), (30, 12), 3),
        (0.3, (30, 12), 3),
        (0.01, (30, 12), 1),
    ],
)
def test_number_of_features_kept(wanted, shape, count):
    X = np.random.default_rng(0).random(shape)
    assert AnchorSelector(wanted).fit(X).get_support().sum() == count


def test_transform_of_a_selector_takes_negative_values(data):
    M = data[0].T
    selector = AnchorSelector(5).fit(M)
    np.testing.assert_array_equal(selector.transform(-M), -M[:, selector.get_support()])


@pytest.mark.parametrize("estimator", [AnchorSelector(), SeparableNMF()])
def test_unfitted_is_an_error(estimator):
    with pytest.raises(NotFittedError):
        estimator.get_feature_names_out()
    with pytest.raises(NotFittedError):
        estimator.inverse_transform(np.ones((2, 2)))


# --- what both take


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_input_gives_the_dense_answer_and_is_not_changed(data, kind):
    X = np.where(data[0] < 0.03, 0, data[0])
    given = kind(X)
    before = given.copy()
    model, dense = SeparableNMF(5).fit(given), SeparableNMF(5).fit(X)
    np.testing.assert_array_equal(model.anchor_indices_, dense.anchor_indices_)
    assert isinstance(model.components_, np.ndarray)
    np.testing.assert_array_equal(model.components_, dense.components_)
    np.testing.assert_allclose(model.transform(given), dense.transform(X), atol=1e-10)
    assert model.reconstruction_err_ == pytest.approx(dense.reconstruction_err_, rel=1e-8)

    selector = AnchorSelector(5).fit(given)
    np.testing.assert_array_equal(selector.anchor_indices_, AnchorSelector(5).fit(X).anchor_indices_)
    assert sparse.issparse(selector.transform(given))
    np.testing.assert_array_equal(selector.transform(given).toarray(), X[:, selector.get_support()])
    assert (given != before).nnz == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "most"),
    [(SeparableNMF(5, method="spa"), 0.5), (AnchorSelector(5, method="spa"), 0.5), (SeparableNMF(5), 0.75)],
)
def test_sparse_input_is_not_made_dense(estimator, most):
    rng = np.random.default_rng(0)
    where = rng.integers(4000, size=20000), rng.integers(5000, size=20000)
    X = sparse.csr_array((rng.random(20000), where), shape=(4000, 5000))
    tracemalloc.start()
    estimator.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < most * 8 * 4000 * 5000


@pytest.mark.parametrize("estimator", [SeparableNMF, AnchorSelector])
def test_a_method_for_dense_data_says_so(data, estimator):
    options = {"lam": 1e-3, "rho": (1.0, 1.0, 1.0)}
    with pytest.raises(ValueError, match=r"M is sparse, and this needs a dense array.*Method 'admm'"):
        estimator(2, method="admm", method_options=options).fit(sparse.csr_array(data[0]))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_zero_samples_and_features_are_never_anchors(data, kind):
    X = data[0].copy()
    X[::3], X[:, ::4] = 0, 0
    model = SeparableNMF(5).fit(kind(X))
    assert X[model.anchor_indices_].any(axis=1).all()
    np.testing.assert_array_equal(model.transform(kind(X))[::3], 0)
    assert X[:, AnchorSelector(5).fit(kind(X)).get_support()].any(axis=0).all()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("estimator", [SeparableNMF, AnchorSelector])
def test_negative_values_are_refused_clipped_or_kept(data, kind, estimator):
    X = data[0] - 0.02
    assert (X < 0).any()
    with pytest.raises(ValueError, match=rf'Negative values in data passed to {estimator.__name__}.*"clip"'):
        estimator(4).fit(kind(X))
    before = X.copy()
    clipped = estimator(4, negative="clip").fit(kind(X))
    kept = estimator(4, negative="allow").fit(kind(X))
    np.testing.assert_array_equal(X, before)
    M = X.T if estimator is SeparableNMF else X
    np.testing.assert_array_equal(clipped.anchor_indices_, sepnmf.auto(np.maximum(M, 0), 4).anchors)
    np.testing.assert_array_equal(kept.anchor_indices_, sepnmf.auto(M, 4, negative="allow").anchors)


def test_clipping_also_holds_in_transform(data):
    X = data[0] - 0.02
    model = SeparableNMF(4, negative="clip").fit(X)
    assert model.components_.min() == 0
    np.testing.assert_allclose(model.transform(X), model.transform(np.maximum(X, 0)), atol=1e-12)
    with pytest.raises(ValueError, match="Negative values in data passed to SeparableNMF"):
        SeparableNMF(4).fit(data[0]).transform(X)


@pytest.mark.parametrize("estimator", [SeparableNMF, AnchorSelector])
def test_float32_stays_float32(data, estimator):
    X = data[0].astype(np.float32)
    model = estimator(4).fit(X)
    assert model.transform(X).dtype == np.float32
    assert "float32" in get_tags(model).transformer_tags.preserves_dtype
    if estimator is SeparableNMF:
        assert model.components_.dtype == np.float32


@pytest.mark.parametrize("estimator", [SeparableNMF, AnchorSelector])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "spam"}, "method must be one of .*'spa'.*, got 'spam'"),
        ({"negative": "keep"}, "negative must be one of"),
        ({"method_options": [1]}, r"method_options must be None or a dict, got \[1\]"),
        ({"method_options": {"colour": "red"}}, "'colour' is not an option of method 'auto'"),
        ({"method_options": {"negative": "clip"}}, "method_options must not contain 'negative'"),
        ({"method_options": {"random_state": 0}}, "method_options must not contain 'random_state'"),
    ],
)
def test_wrong_parameters_are_named(estimator, parameters, message):
    with pytest.raises(ValueError, match=message):
        estimator(2, **parameters).fit(np.eye(4))


@pytest.mark.parametrize("value", [0, -1, 1.5, "two", True, None])
def test_n_components_must_be_a_count(value):
    with pytest.raises(ValueError, match=r"n_components.* must be an integer of at least 1"):
        SeparableNMF(value).fit(np.eye(4))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "n_features_to_select must be an integer of at least 1"),
        (True, "n_features_to_select must be an integer of at least 1"),
        ("half", "n_features_to_select must be an integer of at least 1"),
        (5, "n_features_to_select=5 must be at most n_features=4"),
        (0.0, "n_features_to_select must be finite and greater than 0"),
        (1.5, r"n_features_to_select as a fraction must be in \(0, 1\], got 1.5"),
    ],
)
def test_n_features_to_select_must_be_a_count_or_a_share(value, message):
    with pytest.raises(ValueError, match=message):
        AnchorSelector(value).fit(np.eye(4))


def test_errors_of_a_method_say_what_the_columns_are():
    with pytest.raises(
        ValueError, match=r"columns of M are the samples of X, .*n_samples=3 and n_features=2"
    ):
        SeparableNMF(3, method="spa").fit(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(
        ValueError, match=r"columns of M are the features of X, .*n_samples=2 and n_features=3"
    ):
        AnchorSelector(3, method="spa").fit(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))


@pytest.mark.parametrize("estimator", [SeparableNMF, AnchorSelector])
def test_random_state_reaches_a_method_that_draws(data, estimator, monkeypatch):
    record = Method(coin, summary="drawn anchors", use="in a test", cost="nothing")
    monkeypatch.setitem(METHODS, "coin", record)
    X, _ = data

    def anchors(random_state):
        return estimator(5, method="coin", random_state=random_state).fit(X).anchor_indices_.tolist()

    M = X.T if estimator is SeparableNMF else X
    assert anchors(7) == coin(M, 5, random_state=7).anchors.tolist()
    assert anchors(7) != anchors(8)
    assert anchors(np.random.default_rng(7)) == anchors(7)
    assert anchors(np.random.RandomState(7)) == anchors(np.random.RandomState(7))


def test_method_options_reach_the_method(data):
    X, _ = data
    options = {"lam": 1e-3, "rho": (0.1, 0.1, 0.1), "norm": "rows", "max_outer": 2, "tol": 0}
    with pytest.warns(match="admm stopped after 2 outer iterations"):
        model = SeparableNMF(5, method="admm", method_options=options).fit(X)
    assert model.n_iter_ == model.selection_.n_outer == 2


# --- scikit-learn's machinery


def test_pipeline_grid_search_and_clone():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.random((60, 12))
    X[:, 5] += 10 * y
    pipeline = make_pipeline(AnchorSelector(), LogisticRegression())
    search = GridSearchCV(
        pipeline,
        {
            "anchorselector__n_features_to_select": [1, 0.5],
            "anchorselector__method_options": [None, {}],
        },
        cv=3,
    ).fit(X, y)
    assert search.best_score_ == 1.0
    assert "x5" in search.best_estimator_[:-1].get_feature_names_out()

    model = make_pipeline(SeparableNMF(3), LogisticRegression()).fit(X, y)
    assert model[:-1].transform(X).shape == (60, 3)
    copy = clone(SeparableNMF(3, method_options={"max_outer": 5}))
    assert copy.get_params() == {
        "n_components": 3,
        "method": "auto",
        "method_options": {"max_outer": 5},
        "negative": "error",
        "components": "anchors",
        "random_state": None,
    }


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_go_in_and_come_out(data, library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    M = data[0].T
    names = [f"word{j}" for j in range(M.shape[1])]
    frame = frames.DataFrame(dict(zip(names, M.T, strict=True)))

    selector = AnchorSelector(5).set_output(transform=library).fit(frame)
    kept = selector.transform(frame)
    assert isinstance(kept, frames.DataFrame)
    assert list(kept.columns) == [names[j] for j in selector.get_support(indices=True)]
    np.testing.assert_array_equal(kept.to_numpy(), M[:, selector.get_support()])
    assert selector.feature_names_in_.tolist() == names

    model = SeparableNMF(5).set_output(transform=library)
    weights = model.fit_transform(frame)
    assert isinstance(weights, frames.DataFrame)
    assert list(weights.columns) == [f"separablenmf{k}" for k in range(5)]
    np.testing.assert_allclose(model.transform(frame).to_numpy(), weights.to_numpy(), atol=1e-12)


def test_the_package_loads_scikit_learn_only_for_the_estimators():
    script = (
        "import sys, sepnmf; assert 'sklearn' not in sys.modules; "
        "sepnmf.SeparableNMF, sepnmf.AnchorSelector; assert 'sklearn' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("negative", ["clip", "allow"])
@pytest.mark.parametrize("estimator", [SeparableNMF, AnchorSelector])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_unsorted_sparse_indices_stay_unsorted(kind, estimator, negative):
    dense = np.arange(-1.0, 11.0).reshape(4, 3)
    sorted_one = kind(dense)
    lengths = np.diff(sorted_one.indptr)
    order = np.concatenate(
        [
            np.arange(stop - 1, stop - 1 - n, -1)
            for stop, n in zip(sorted_one.indptr[1:], lengths, strict=True)
        ]
    )
    X = kind((sorted_one.data[order], sorted_one.indices[order], sorted_one.indptr), shape=dense.shape)
    before = X.data.copy(), X.indices.copy()
    estimator(2, method="spa", negative=negative).fit_transform(X)
    assert np.array_equal(X.data, before[0])
    assert np.array_equal(X.indices, before[1])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", [SeparableNMF, AnchorSelector])
def test_a_column_of_text_is_named(estimator, library):
    frame = pytest.importorskip(library).DataFrame({"a": [1.0, 2.0], "town": ["x", "y"], "b": [0.5, 1.0]})
    with pytest.raises(ValueError, match=r"X has a column 'town' of type .*: drop or convert it"):
        estimator(1).fit(frame)


@pytest.mark.parametrize("estimator", [SeparableNMF, AnchorSelector])
def test_the_name_of_a_file_is_refused_with_the_call_that_reads_it(estimator, tmp_path):
    file = tmp_path / "a.npy"
    np.save(file, np.eye(4))
    with pytest.raises(ValueError, match=r"X is the name of a file: read it first, with sepnmf.io.read\("):
        estimator(2).fit(str(file))
    assert len(estimator(2).fit(sepnmf.io.read(file).M).anchor_indices_) == 2
