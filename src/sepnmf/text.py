"""Words as columns: the matrix in which anchor words are looked for."""

import numpy as np
from scipy import sparse

from sepnmf.typing import ArrayLike, Sparse
from sepnmf.validation import check_columns


def cooccurrence(counts: ArrayLike | Sparse) -> Sparse:
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
    data = sparse.csr_array(sparse.csc_array(check_columns(counts)).astype(np.float64))
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
