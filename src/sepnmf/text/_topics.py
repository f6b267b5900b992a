"""Topics of anchor words: their words, and their shares in documents."""

import numpy as np
from scipy import sparse

from sepnmf._typing import Floats, Ints, Sparse
from sepnmf._validation import check_array, check_indices
from sepnmf.least_squares import nnls
from sepnmf.matrix import MatrixLike, as_matrix
from sepnmf.text._cooccurrence import Cooccurrence
from sepnmf.text._words import documents_by_words


def topic_words(together: Sparse | Cooccurrence, anchors: Ints) -> Floats:
    """Return the probability of each word in the topic of each anchor word.

    Given word j, word i occurs with probability Q_ij / Σ_i Q_ij. These columns are approximated by
    nonnegative combinations of the columns of the anchor words (`sepnmf.nnls`). The weights are the
    probabilities of the topics given the word; multiplied by the word frequency Σ_i Q_ij and normalised,
    they are the probabilities of the words given the topic.

    Parameters
    ----------
    together : sparse array of shape (n_words, n_words), or Cooccurrence
        Q, the result of `cooccurrence`, which is not made dense; or `Cooccurrence`, with which only the
        columns of the anchors and their products with the others are formed.
    anchors : ndarray of shape (r,)
        Indices of the anchor words.

    Returns
    -------
    ndarray of shape (r, n_words)
        Each row sums to one.

    References
    ----------
    S. Arora et al., "A practical algorithm for topic modeling with provable guarantees", ICML 2013.
    This is their recovery of topics, with a least-squares loss.

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.text import cooccurrence, topic_words
    >>> counts = [[3, 2, 0, 0, 1], [2, 3, 0, 0, 1], [0, 0, 4, 2, 1], [0, 0, 2, 3, 1]]
    >>> topic_words(cooccurrence(counts), np.array([0, 2])).round(2)
    array([[0.43, 0.4 , 0.  , 0.  , 0.17],
           [0.  , 0.  , 0.45, 0.39, 0.16]])
    """
    if isinstance(together, Cooccurrence):
        check_indices(anchors, together.n_words)
        frequency = together.frequency
        scale = reciprocals(frequency)
        # ‖g − Wh‖² for W = UR is ‖Uᵀg − Rh‖² and what does not depend on h.
        U, R = np.linalg.qr(together.columns(anchors) * scale[anchors])
        shares = nnls(R, together.times(U) * scale) * frequency
    else:
        Q = sparse.csc_array(as_matrix(together, name="together").in_memory().array)
        if Q.shape[0] != Q.shape[1]:
            raise ValueError(f"together must be words × words, got shape {Q.shape}.")
        check_indices(anchors, Q.shape[1])
        frequency = np.asarray(Q.sum(axis=0), dtype=np.float64).ravel()
        given = sparse.csc_array(Q @ sparse.diags_array(reciprocals(frequency)))
        shares = nnls(given[:, anchors].toarray(), given) * frequency
    topics: Floats = shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return topics


def reciprocals(frequency: Floats) -> Floats:
    """1/f, and 1 for zero; f is not below the least number whose reciprocal is finite."""
    return np.asarray(1 / np.where(frequency > 0, np.maximum(frequency, np.finfo(np.float64).tiny), 1.0))


def document_topics(counts: MatrixLike, topics: Floats) -> Floats:
    """Return the share of each topic in each document.

    The word frequencies of a document are approximated by a mixture of the topics, in weighted least squares:
    the squared error of a word is divided by its frequency in all documents, as its variance is.

    Parameters
    ----------
    counts : array_like or sparse of shape (n_documents, n_words)
        Nonnegative counts of the words that have topics. It is not made dense.
    topics : ndarray of shape (r, n_words)
        Probabilities of the words in the topics, from `topic_words`.

    Returns
    -------
    ndarray of shape (n_documents, r)
        Each row sums to one; it is zero for a document without words.

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.text import cooccurrence, document_topics, topic_words
    >>> counts = [[3, 2, 0, 0, 1], [2, 3, 0, 0, 1], [0, 0, 4, 2, 1], [0, 0, 2, 3, 1], [3, 2, 2, 3, 2]]
    >>> topics = topic_words(cooccurrence(counts), np.array([0, 2]))
    >>> document_topics(counts, topics).round(1)
    array([[1. , 0. ],
           [1. , 0. ],
           [0. , 1. ],
           [0. , 1. ],
           [0.5, 0.5]])
    """
    data, topics = documents_by_words(counts), check_array(topics, "topics")
    if topics.shape[1] != data.shape[1]:
        raise ValueError(
            f"topics and counts must be about the same words, got {topics.shape[1]} and {data.shape[1]}."
        )
    lengths = np.asarray(data.sum(axis=1)).ravel()
    frequency = np.asarray(data.sum(axis=0)).ravel()
    scale = sparse.diags_array(1 / np.sqrt(np.where(frequency > 0, frequency, 1.0)))
    shares_of_words = data.copy()
    divisors = np.where(lengths > 0, lengths, 1.0)  # their inverses may overflow
    shares_of_words.data /= np.repeat(divisors, np.diff(data.indptr))
    by_document = shares_of_words @ scale
    shares = nnls((topics @ scale).T, sparse.csc_array(by_document.T))
    total = shares.sum(axis=0)
    return np.asarray((shares / np.where(total > 0, total, 1.0)).T)
