"""Words as columns."""

import numpy as np
import pytest
from scipy import sparse

import sepnmf
from sepnmf.text import cooccurrence, topic_words


def test_cooccurrence_is_the_mean_over_pairs_of_words():
    counts = np.array([[2, 1, 0], [0, 1, 3], [0, 0, 1], [1, 1, 1]])  # the third has no pair
    want = np.zeros((3, 3))
    for document in counts[[0, 1, 3]]:
        words = np.repeat(np.arange(3), document)
        pairs = [(a, b) for i, a in enumerate(words) for j, b in enumerate(words) if i != j]
        for a, b in pairs:
            want[a, b] += 1 / len(pairs) / 3
    for kind in (np.asarray, sparse.csr_array, sparse.csc_array):
        np.testing.assert_allclose(sepnmf.cooccurrence(kind(counts)).toarray(), want, atol=1e-15)
    assert sepnmf.cooccurrence(counts).sum() == pytest.approx(1)


def test_anchor_words_of_a_topic_model():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(0.1 * np.ones(60), 4).T
    topics[:4] = 0.03 * np.eye(4)  # words 0 … 3 belong to one topic each
    topics /= topics.sum(axis=0)
    mixtures = rng.dirichlet(0.3 * np.ones(4), 3000)
    counts = np.array([rng.multinomial(150, topics @ h) for h in mixtures])
    anchors = sepnmf.select(sepnmf.cooccurrence(sparse.csr_array(counts)), 4).anchors
    share = topics[anchors] / topics[anchors].sum(axis=1, keepdims=True)
    assert sorted(share.argmax(axis=1)) == [0, 1, 2, 3]
    assert share.max(axis=1).min() > 0.9


def test_no_pair_of_words():
    with pytest.raises(ValueError, match="no document of two words"):
        sepnmf.cooccurrence(np.eye(3))


def test_topics_get_the_words_of_documents_drawn_from_them():
    """Against the topics that generated the counts, not against the formula."""
    rng = np.random.default_rng(0)
    A = rng.dirichlet(np.full(30, 0.3), size=3)
    A[:, :3] = 0.1 * np.eye(3)  # one anchor word a topic
    A[:, 3:] *= 0.9 / A[:, 3:].sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.full(3, 0.3), size=20_000)
    counts = np.stack([rng.multinomial(60, chances) for chances in shares @ A])
    found = topic_words(cooccurrence(counts), np.arange(3))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.abs(found - A).max() < 0.01
