"""Co-occurrences of words: the matrix, products with it, and a random projection of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from sepnmf._typing import Floats, Ints, Seed, Sparse
from sepnmf._validation import accepts_rng, check_count, check_generator
from sepnmf.matrix import MatrixLike
from sepnmf.matrix._tall import FewRows
from sepnmf.text._words import documents_by_words

PROJECTED_ROWS = 1000  # of the co-occurrences of many words
LEAST_ROWS, MOST_ENTRIES = 250, 25_000_000  # fewer rows if there would be more entries (200 MB)
BLOCK = 4_000_000  # entries of a projection that are computed at a time


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
    return Cooccurrence.of(counts).matrix()


@dataclass(frozen=True, eq=False)
class Projected(FewRows):
    """Columns whose lengths and angles are about those of longer columns, and which have their l1 norms."""

    kind = "random projection"

    def dense(self) -> Floats:
        """Refuse: the entries are not those of the data."""
        raise ValueError(
            "The co-occurrences of so many words are a random projection, and this method needs their "
            "entries: choose another method, such as auto or spa, or use fewer words (min_df)."
        )


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """The co-occurrence matrix Q of `cooccurrence`, of which only products are formed.

    Q = Dᵀ diag(w) D − diag(s) for the counts D, documents × words, with w = 1 / l(l − 1) for a document of
    length l, divided by the number of documents, and s = Dᵀw. Q has up to n_words² entries; its products with
    few vectors take as long as some passes over D.

    Attributes
    ----------
    counts : sparse array of shape (n_documents, n_words)
        D.
    weighted : sparse array of shape (n_documents, n_words)
        diag(w) D.
    same_word : ndarray of shape (n_words,)
        s: the pairs of a word of a document with itself.

    Examples
    --------
    >>> from sepnmf.text import Cooccurrence
    >>> Q = Cooccurrence.of([[1, 1, 0], [0, 2, 1]])
    >>> Q.columns([1]).ravel().round(3)
    array([0.25 , 0.167, 0.167])
    """

    counts: Sparse
    weighted: Sparse
    same_word: Floats

    @classmethod
    def of(cls, counts: MatrixLike) -> "Cooccurrence":
        """Return the co-occurrences of counts, documents × words; one document needs two words."""
        data = documents_by_words(counts)
        lengths = np.asarray(data.sum(axis=1)).ravel()
        pairs = lengths * (lengths - 1)
        used = pairs > 0
        if not used.any():
            raise ValueError(
                "counts has no document of two words or more: co-occurrences need such documents."
            )
        weights = np.where(used, 1 / np.where(used, pairs, 1.0), 0.0) / used.sum()
        weighted = sparse.csr_array(sparse.diags_array(weights) @ data)
        same_word = np.asarray(weighted.sum(axis=0), dtype=np.float64).ravel()
        return cls(data, weighted, same_word)

    @property
    def n_words(self) -> int:
        """Number of words."""
        return int(self.counts.shape[1])

    @cached_property
    def frequency(self) -> Floats:
        """Σ_i Q_ij: the probability of each word."""
        sums = self.times(np.ones((self.n_words, 1)))[0]
        return np.asarray(np.maximum(sums, 0.0))

    def matrix(self) -> Sparse:
        """Return Q."""
        together = sparse.csc_array(self.counts.T @ self.weighted - sparse.diags_array(self.same_word))
        together.data = np.maximum(together.data, 0.0)  # rounding errors on the diagonal
        together.eliminate_zeros()
        return together

    def columns(self, words: Ints) -> Floats:
        """Return the columns of some words, dense."""
        found = (self.counts.T @ self.weighted[:, words]).toarray()
        found[words, np.arange(len(words))] -= self.same_word[words]
        return np.asarray(np.maximum(found, 0.0))

    def times(self, U: Floats) -> Floats:
        """Return UᵀQ for a dense U with a row for each word."""
        return np.asarray((self.weighted.T @ (self.counts @ U)).T - U.T * self.same_word)

    @accepts_rng
    def projected(
        self,
        rows: int | None = None,
        random_state: Seed = 0,
        on_progress: Callable[[int], object] = lambda words: None,
    ) -> Projected:
        """Return SQ for a random S, whose columns have about the inner products of those of Q.

        The rows of the most frequent words, half as many as S has, are kept as they are: they have most of
        the squared lengths. Those of the others are added up in as many groups, with random signs (a count
        sketch, which preserves inner products as a Gaussian S does). S is sparse, so that this costs no more
        than Q does. The l1 norms of the columns are known to be those of Q.

        Parameters
        ----------
        rows : int, optional
            Rows of S; by default 1000, or fewer of more than 25 000 words, so that SQ takes 200 MB, but 250
            at least.
        random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default 0
            For the groups and the signs.
        on_progress : callable, optional
            Called with the number of words that are done.

        Returns
        -------
        Projected
            A `sepnmf.matrix.Matrix` with a column for each word.

        References
        ----------
        M. Charikar, K. Chen and M. Farach-Colton, "Finding frequent items in data streams", ICALP 2002.
        """
        n = self.n_words
        rows = min(PROJECTED_ROWS, max(MOST_ENTRIES // n, LEAST_ROWS)) if rows is None else rows
        rows = min(check_count(rows, "rows"), n)
        rng = check_generator(random_state)
        frequent = np.argsort(-self.frequency, kind="stable")[: rows if rows == n else rows // 2]
        row, sign = rng.integers(rows // 2, rows, n), rng.choice([-1.0, 1.0], n)
        row[frequent], sign[frequent] = np.arange(len(frequent)), 1.0
        S = sparse.csc_array((sign, (row, np.arange(n))), shape=(rows, n))
        by_row = sparse.csr_array(S @ self.counts.T)
        weighted = self.weighted.tocsc()
        found = np.empty((rows, n))
        width = max(BLOCK // rows, 1)
        for start in range(0, n, width):
            block = np.arange(start, min(start + width, n))
            found[:, block] = (by_row @ weighted[:, block]).toarray()
            found[row[block], block] -= sign[block] * self.same_word[block]
            on_progress(int(block[-1]) + 1)
        return Projected(found, sums=self.frequency, rows=n)
