"""Anchor words: the co-occurrence matrix of words, and the topics of given anchor words."""

import numpy as np
from scipy import sparse

from sepnmf._typing import Floats, Ints, Sparse
from sepnmf.least_squares import nnls
from sepnmf.matrix import MatrixLike, as_matrix


def cooccurrence(counts: MatrixLike) -> Sparse:
    """Return the co-occurrence matrix of words, the input of anchor-word methods.

    Entry (i, j) is the probability, averaged over the documents, that two different words of a document
    are i and j: for a document with counts c and length l, c_i(c_j − [i = j]) / l(l − 1). This is an
    unbiased estimate of the co-occurrence probabilities of the topic model; ccᵀ is biased. Documents of fewer
    than two words are ignored.

    Parameters
    ----------
    counts : array_like or sparse of shape (n_documents, n_words)
        Nonnegative counts.

    Returns
    -------
    sparse array of shape (n_words, n_words)
        Symmetric; its entries sum to one.

    References
    ----------
    S. Arora et al., "A practical algorithm for topic modeling with provable guarantees", ICML 2013.

    Examples
    --------
    >>> from sepnmf import cooccurrence
    >>> cooccurrence([[1, 1, 0], [0, 2, 1]]).toarray().round(3)
    array([[0.   , 0.25 , 0.   ],
           [0.25 , 0.167, 0.167],
           [0.   , 0.167, 0.   ]])
    """
    data = sparse.csr_array(
        sparse.csc_array(as_matrix(counts, name="counts").in_memory().array).astype(np.float64)
    )
    lengths = np.asarray(data.sum(axis=1)).ravel()
    pairs = lengths * (lengths - 1)
    used = pairs > 0
    if not used.any():
        raise ValueError("counts has no document of two words or more: co-occurrences need such documents.")
    weights = np.where(used, 1 / np.where(used, pairs, 1.0), 0.0) / used.sum()
    weighted = sparse.csr_array(sparse.diags_array(weights) @ data)
    same_word = np.asarray(weighted.sum(axis=0)).ravel()
    together = sparse.csc_array(data.T @ weighted - sparse.diags_array(same_word))
    together.data = np.maximum(together.data, 0.0)  # rounding errors on the diagonal
    together.eliminate_zeros()
    return together


def topic_words(together: Sparse, anchors: Ints) -> Floats:
    """Return the probability of each word in the topic of each anchor word.

    Given word j, word i occurs with probability Q_ij / Σ_i Q_ij. These columns are approximated by
    nonnegative combinations of the columns of the anchor words (`sepnmf.nnls`). The weights are the
    probabilities of the topics given the word; multiplied by the word frequency Σ_i Q_ij and normalised,
    they are the probabilities of the words given the topic.

    Parameters
    ----------
    together : sparse array of shape (n_words, n_words)
        Q, the result of `cooccurrence`. It is not made dense.
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
    Q = sparse.csc_array(as_matrix(together).in_memory().array)
    frequency = np.asarray(Q.sum(axis=0)).ravel()
    given = sparse.csc_array(Q @ sparse.diags_array(1 / np.where(frequency > 0, frequency, 1.0)))
    W = given[:, anchors].toarray()
    shares = nnls(W, given) * frequency
    topics: Floats = shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return topics
