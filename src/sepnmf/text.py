"""Words as columns: the matrix in which anchor words are looked for, and the topics they stand for."""

import numpy as np
from scipy import sparse

from sepnmf._typing import Floats, Ints, Sparse
from sepnmf.least_squares import nnls
from sepnmf.matrix import MatrixLike, as_matrix


def cooccurrence(counts: MatrixLike) -> Sparse:
    """How often two words are drawn together: the word–word matrix of anchor-word methods.

    Entry (i, j) is the probability, averaged over the documents, that two different words of a document
    are i and j: for a document with counts c and length l, c_i(c_j − [i = j]) / l(l − 1). It is
    an unbiased estimate of what the topics imply, which ccᵀ is not. Documents of fewer than two words are
    left out.

    Parameters
    ----------
    counts : array_like or sparse of shape (n_documents, n_words)
        Nonnegative counts.

    Returns
    -------
    sparse array of shape (n_words, n_words)
        Symmetric, entries that sum to one.

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
        raise ValueError("counts has no document of two words or more: there are no pairs of words.")
    weights = np.where(used, 1 / np.where(used, pairs, 1.0), 0.0) / used.sum()
    weighted = sparse.csr_array(sparse.diags_array(weights) @ data)
    alone = np.asarray(weighted.sum(axis=0)).ravel()
    together = sparse.csc_array(data.T @ weighted - sparse.diags_array(alone))
    together.data = np.maximum(together.data, 0.0)  # rounding on the diagonal
    together.eliminate_zeros()
    return together


def topic_words(together: Sparse, anchors: Ints) -> Floats:
    """How probable each word is in the topic of each anchor word.

    Given word j, the next word is i with probability Q_ij / Σ_i Q_ij. These columns are nonnegative
    combinations of the anchors' (`sepnmf.nnls`); the weights are the topics' shares in the word, and times
    Σ_i Q_ij, how often the word occurs, the word's share in the topics.

    Parameters
    ----------
    together : sparse array of shape (n_words, n_words)
        Q, as `cooccurrence` makes it. It stays sparse.
    anchors : ndarray of shape (r,)
        The anchor words.

    Returns
    -------
    ndarray of shape (r, n_words)
        Rows that sum to one.

    References
    ----------
    S. Arora et al., "A practical algorithm for topic modeling with provable guarantees", ICML 2013, whose
    recovery of the topics this is, with least squares.

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
    often = np.asarray(Q.sum(axis=0)).ravel()
    given = sparse.csc_array(Q @ sparse.diags_array(1 / np.where(often > 0, often, 1.0)))
    W = given[:, anchors].toarray()
    shares = nnls(W, given) * often
    topics: Floats = shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return topics
