"""The number of anchors."""

import re

import numpy as np
import pytest
from scipy import sparse

import sepnmf
from sepnmf._descent._noise import noise_variance, squared_spectrum, white_rank
from sepnmf.datasets import make_dirichlet
from sepnmf.matrix import Dense, Sparse


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("r", [2, 5, 13, 20])
def test_right_on_separable_data(noise, r):
    M, _ = make_dirichlet(noise, r=r, random_state=r)
    estimate = sepnmf.estimate_rank(M, negative="allow")
    assert (estimate.low, estimate.high) == (r, r)
    assert estimate.certain
    assert "stand out of noise" in estimate.evidence


def test_pure_noise_has_no_directions_but_its_edge():
    """One false alarm in a thousand: none in forty."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        N = rng.standard_normal((60, 90))
        assert white_rank(squared_spectrum(Dense(N)), 60, 90)[0] == 0


def test_variance_of_the_noise():
    rng = np.random.default_rng(1)
    N = rng.random((80, 4)) @ rng.random((4, 200)) * 30 + 0.3 * rng.standard_normal((80, 200))
    assert noise_variance(squared_spectrum(Dense(N)), 80, 200, 4) == pytest.approx(0.09, rel=0.03)
    exact = rng.random((80, 4)) @ rng.random((4, 200))
    assert noise_variance(squared_spectrum(Dense(exact)), 80, 200, 4) == 0.0
    assert noise_variance(squared_spectrum(Dense(exact)), 80, 200, 80) == 0.0


@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (3, 1_400_000), (2100, 2100)])
def test_spectrum_of_every_shape(shape):
    if shape == (2100, 2100):
        assert squared_spectrum(Dense(np.zeros(shape))) is None
        return
    M = np.random.default_rng(2).random(shape)
    want = np.linalg.svd(M, compute_uv=False)[:3] ** 2
    np.testing.assert_allclose(squared_spectrum(Dense(M))[:3], want, rtol=1e-9)
    if shape[1] < 100:
        np.testing.assert_allclose(squared_spectrum(Sparse(sparse.csc_array(M)))[:3], want, rtol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_sparse_data_give_the_same_number(noise):
    M, _ = make_dirichlet(noise, r=7, random_state=0)
    for kind in (sparse.csc_array, sparse.csr_array):
        estimate = sepnmf.estimate_rank(kind(M), negative="allow")
        assert (estimate.low, estimate.high) == (7, 7)


@pytest.mark.parametrize("scale", [1e-200, 1e160])
def test_scale_does_not_matter(scale):
    M, anchors = make_dirichlet(0.0, n=40, r=4, random_state=0)
    assert sepnmf.estimate_rank(scale * M).high == 4
    assert set(sepnmf.select(scale * M, 4).anchors) == set(anchors)
    single = (M * 1e25).astype(np.float32)
    assert set(sepnmf.select(sparse.csc_array(single), 4).anchors) == set(anchors)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 3), (4, 3)])
def test_little_data_cannot_tell(shape):
    estimate = sepnmf.estimate_rank(np.random.default_rng(0).random(shape))
    assert estimate.low == 1
    assert estimate.high == min(shape)


def test_noise_alone():
    estimate = sepnmf.estimate_rank(np.random.default_rng(0).standard_normal((20, 40)), negative="allow")
    assert "No singular value" in estimate.evidence
    with pytest.raises(ValueError, match="most must be an integer of at least 2"):
        sepnmf.estimate_rank(np.ones((3, 3)), most=1)


@pytest.mark.slow
def test_without_white_noise_it_is_a_range_with_a_curve():
    rng = np.random.default_rng(3)
    bands = np.linspace(0, 1, 60)[:, None]
    W = np.exp(-((bands - np.array([0.2, 0.5, 0.8])) ** 2) / 0.02) + 0.1
    M = W @ rng.dirichlet(np.ones(3), 250).T
    M *= 1 + 0.1 * np.sin(8 * bands + 6 * rng.random(250))  # spectra vary smoothly: that is not white
    estimate = sepnmf.estimate_rank(M)
    assert estimate.low <= 3 <= estimate.high <= 6
    assert len(estimate.curve["r"]) == len(estimate.curve["relative_residual"]) == 15
    assert (np.diff(estimate.curve["relative_residual"]) <= 1e-12).all()


def test_select_takes_the_number_from_the_data():
    M, anchors = make_dirichlet(0.01, r=6, random_state=0)
    assert set(sepnmf.select(M, "auto", negative="allow").anchors) == set(anchors)
    with pytest.raises(ValueError, match='r must be an integer or "auto"'):
        sepnmf.select(M, "six")


def test_select_warns_when_the_data_do_not_settle_it(monkeypatch):
    M, _ = make_dirichlet(0.01, r=6, random_state=0)
    estimate = sepnmf.RankEstimate(3, 4, "Because.", {})
    monkeypatch.setattr("sepnmf.registry.estimate_rank", lambda M, **_: estimate)
    with pytest.warns(UserWarning, match="3 to 4. Because"):
        assert len(sepnmf.select(M, "auto", "spa", negative="allow").anchors) == 3


def percentages(sentence):
    return [float(text) / 100 for text in re.findall(r"([\d.]+)%", sentence)]


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_the_explanation_of_a_number_says_what_one_more_would_gain(noise):
    M, _ = make_dirichlet(noise, r=5, random_state=0)
    sentence = sepnmf.estimate_rank(M, negative="allow").explanation
    assert sentence.startswith("5 anchors: one more would reduce what is unexplained only from about ")
    assert sentence.endswith(", no more than in noise alone.")
    values = np.linalg.svd(M, compute_uv=False)
    left = [np.linalg.norm(values[k:]) / np.linalg.norm(values) for k in (5, 6)]
    assert percentages(sentence) == pytest.approx(left, abs=5e-4)
    assert percentages(sentence)[0] > percentages(sentence)[1]


def test_the_explanation_of_a_range_has_what_each_number_leaves():
    curve = {"r": np.arange(1, 7), "relative_residual": np.array([0.5, 0.2, 0.06, 0.05, 0.048, 0.047]) ** 2}
    sentence = sepnmf.RankEstimate(3, 4, "", curve).explanation
    assert sentence == (
        "3 to 4 anchors: 3 leave about 6.0% of the data unexplained, 4 leave 5.0%, and one more gains little "
        "(4.8%)."
    )
    sentence = sepnmf.RankEstimate(5, 5, "", curve).explanation
    assert sentence == "5 anchors: one more would reduce what is unexplained only from about 4.8% to 4.7%."


def test_the_explanation_says_when_there_is_nothing_to_tell():
    M, _ = make_dirichlet(0.0, r=4, random_state=0)
    assert sepnmf.estimate_rank(M).explanation == "4 anchors: they can explain all of the data."
    assert sepnmf.estimate_rank(np.ones((30, 40))).explanation == "1 anchor: it can explain all of the data."
    noise = np.random.default_rng(0).standard_normal((20, 40))
    explanation = sepnmf.estimate_rank(noise, negative="allow").explanation
    assert explanation == "1 anchor: the data look like noise alone."
    explanation = sepnmf.estimate_rank(np.random.default_rng(0).random((4, 3))).explanation
    assert explanation == "1 to 3 anchors: the data are too few to tell."


@pytest.mark.slow
def test_noise_of_counts_is_not_taken_for_hundreds_of_anchors():
    rng = np.random.default_rng(0)
    programmes = rng.gamma(0.3, 1.0, (700, 4))
    rates = programmes / programmes.sum(axis=0) @ rng.dirichlet(np.full(4, 0.3), 700).T
    counts = rng.poisson(5000 * rates).astype(float)
    assert white_rank(squared_spectrum(Dense(counts)), 700, 700)[0] > 100
    assert sepnmf.estimate_rank(counts).high <= 15


def test_an_estimate_is_printed_as_a_sentence_and_a_short_table():
    M, _ = make_dirichlet(0.02, r=7, random_state=0)
    estimate = sepnmf.estimate_rank(M, negative="allow")
    sentence, head, *rows = str(estimate).splitlines()
    assert sentence == estimate.explanation
    assert head.split() == ["r", "unexplained"]
    assert [int(row.split()[0]) for row in rows] == [4, 5, 6, 7, 8, 9, 10]
    assert percentages(rows[3])[0] == pytest.approx(estimate.unexplained()[6], abs=5e-4)
    assert repr(estimate) == f"RankEstimate(low=7, high=7, evidence={estimate.evidence!r})"
    assert str(sepnmf.RankEstimate(3, 4, "", {})) == "3 to 4 anchors: the data are too few to tell."
