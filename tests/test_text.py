"""Words as columns."""

import numpy as np
import pytest
from scipy import sparse

import sepnmf
from sepnmf.text import Cooccurrence, cooccurrence, topic_words


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


# Without forming the co-occurrences.


def zipf_corpus(n_words=800, n_documents=400, n_topics=5, seed=0):
    """Counts of words with frequencies by Zipf's law; the words 0 … n_topics − 1 belong to one topic each."""
    rng = np.random.default_rng(seed)
    topics = rng.gamma(0.2, 5.0, (n_topics, n_words)) / (np.arange(n_words) + 10.0)
    topics[:, :n_topics] = 0.0
    topics /= topics.sum(axis=1, keepdims=True)
    topics[:, :n_topics] = 0.03 * np.eye(n_topics)
    topics /= topics.sum(axis=1, keepdims=True)
    mixtures = rng.dirichlet(np.full(n_topics, 0.2), n_documents)
    counts = np.stack([rng.multinomial(120, chances) for chances in mixtures @ topics])
    shares = topics / np.maximum(topics.sum(axis=0), 1e-300)
    return sparse.csr_array(counts), shares


def pairs_of_words(counts):
    """Q from its definition, document by document."""
    counts = counts.toarray().astype(float)
    Q = np.zeros((counts.shape[1], counts.shape[1]))
    long = [document for document in counts if document.sum() > 1]
    for document in long:
        length = document.sum()
        Q += (np.outer(document, document) - np.diag(document)) / (length * (length - 1)) / len(long)
    return Q


def test_products_with_cooccurrences_are_those_with_the_matrix():
    counts, _ = zipf_corpus(200, 100)
    Q, together = pairs_of_words(counts), Cooccurrence.of(counts)
    U = np.random.default_rng(1).standard_normal((200, 3))
    np.testing.assert_allclose(together.times(U), U.T @ Q, atol=1e-13)
    np.testing.assert_allclose(together.columns(np.array([7, 3])), Q[:, [7, 3]], atol=1e-15)
    np.testing.assert_allclose(together.frequency, Q.sum(axis=0), atol=1e-14)
    np.testing.assert_allclose(together.matrix().toarray(), Q, atol=1e-15)


def test_projected_inner_products_are_those_of_the_cooccurrences():
    counts, _ = zipf_corpus()
    Q, projected = pairs_of_words(counts), Cooccurrence.of(counts).projected(200)
    assert projected.shape == (200, 800)
    used = Q.any(axis=0)
    exact, found = Q[:, used].T @ Q[:, used], projected.array[:, used].T @ projected.array[:, used]
    lengths = np.sqrt(np.diag(exact))
    wrong = np.abs(found - exact) / np.outer(lengths, lengths)
    assert np.sqrt(np.mean(wrong**2)) < 0.5 / np.sqrt(200)  # 1 / √200 with a Gaussian projection
    assert wrong.max() < 0.3
    np.testing.assert_allclose(projected.l1_norms, Q.sum(axis=0), atol=1e-14)
    scaled = projected.normalised("sqrt").array
    np.testing.assert_allclose(scaled[:, used] * np.sqrt(Q.sum(axis=0))[used], projected.array[:, used])


def test_projected_inner_products_are_unbiased():
    counts, _ = zipf_corpus(60, 50)
    Q, together = pairs_of_words(counts), Cooccurrence.of(counts)
    drawn = [together.projected(20, random_state=seed).array for seed in range(500)]
    mean = np.mean([A.T @ A for A in drawn], axis=0)
    spread = np.std([A.T @ A for A in drawn], axis=0) / np.sqrt(500)
    assert (np.abs(mean - Q.T @ Q) <= 6 * spread + 1e-15).all()


def test_projection_depends_on_the_seed_only_and_of_as_many_rows_it_is_exact():
    counts, _ = zipf_corpus(200, 100)
    together = Cooccurrence.of(counts)
    seen = []
    one, same, other = (together.projected(50, seed, seen.append).array for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    assert seen == [200, 200, 200]
    Q, whole = pairs_of_words(counts), together.projected(200).array
    np.testing.assert_allclose(whole.T @ whole, Q.T @ Q, atol=1e-15)
    with pytest.raises(ValueError, match="rows must be an integer of at least 1, got 0"):
        together.projected(0)


@pytest.mark.parametrize(("n", "rows"), [(3000, 1000), (30_000, 833), (200_000, 250)])
def test_projections_have_a_bounded_size(n, rows):
    documents = sparse.csr_array(([1.0, 1.0, 2.0], ([0, 0, 0], [0, 1, n - 1])), shape=(1, n))
    projected = Cooccurrence.of(documents).projected()
    assert projected.shape == (rows, n)
    assert projected.height == n


def test_blocks_of_a_projection_do_not_change_it(monkeypatch):
    counts, _ = zipf_corpus(200, 100)
    together, seen = Cooccurrence.of(counts), []
    whole = together.projected(50).array
    monkeypatch.setattr("sepnmf.text._cooccurrence.BLOCK", 50 * 64)
    np.testing.assert_array_equal(together.projected(50, 0, seen.append).array, whole)
    assert seen == [64, 128, 192, 200]


@pytest.mark.parametrize("method", ["auto", "spa", "xray"])
def test_anchors_with_a_projection_are_those_without(method):
    counts, shares = zipf_corpus(600, 4000)
    documents = counts.astype(bool).sum(axis=0)
    used = np.flatnonzero(documents >= 40)
    together = Cooccurrence.of(counts[:, used])
    options = {"spa": {"normalize": "l1"}, "auto": {"noise": "none"}}.get(method, {})
    with_all = sepnmf.select(together.matrix(), 5, method, **options).anchors
    projected = sepnmf.select(together.projected(200), 5, method, **options).anchors
    for found in (with_all, projected):
        assert sorted(shares[:, used[found]].argmax(axis=0)) == [0, 1, 2, 3, 4]
    assert len(set(with_all) & set(projected)) >= 4


def test_methods_that_need_the_entries_refuse_a_projection():
    projected = Cooccurrence.of(zipf_corpus(200, 100)[0]).projected(50)
    with pytest.raises(ValueError, match="random projection, and this method needs their entries"):
        sepnmf.select(projected, 3, "admm", lam=1.0, rho=1.0)


def test_topics_without_the_matrix_are_those_with_it():
    counts, _ = zipf_corpus()
    anchors = np.array([0, 1, 2, 3, 4])
    exact = topic_words(cooccurrence(counts), anchors)
    np.testing.assert_allclose(topic_words(Cooccurrence.of(counts), anchors), exact, rtol=1e-8, atol=1e-12)
