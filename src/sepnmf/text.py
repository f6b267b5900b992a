"""Anchor words: word counts of texts, co-occurrences of words, topics, and their shares in documents."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np
from scipy import sparse

from sepnmf._typing import Bools, Floats, Ints, Seed, Sparse
from sepnmf._validation import check_count, check_generator
from sepnmf.least_squares import nnls
from sepnmf.matrix import MatrixLike, as_matrix
from sepnmf.matrix._tall import FewRows

__all__ = [
    "Cooccurrence",
    "cooccurrence",
    "document_limits",
    "document_topics",
    "topic_words",
    "used_words",
    "vectorize",
]

WORD = r"(?u)\b[^\W\d_]\w+\b"  # a letter and one character more
# What is left of contractions such as "don't" and "we'll", besides the words of scikit-learn's list.
CONTRACTED = frozenset({
    "ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll", "mustn", "shan",
    "shouldn", "ve", "wasn", "weren", "wouldn",
})  # fmt: skip
# Stop words among all words of a text, at least, if it is English: about 0.4; in other languages below 0.1.
ENGLISH_SHARE = 0.2
PROJECTED_ROWS = 1000  # of the co-occurrences of many words
LEAST_ROWS, MOST_ENTRIES = 250, 25_000_000  # fewer rows if there would be more entries (200 MB)
BLOCK = 4_000_000  # entries of a projection that are computed at a time


def vectorize(documents: Iterable[str]) -> tuple[Sparse, tuple[str, ...]]:
    """Count the words of documents, with scikit-learn's `CountVectorizer`.

    A word begins with a letter and has two characters or more; upper case becomes lower case.

    Parameters
    ----------
    documents : iterable of str
        The texts, which are read once.

    Returns
    -------
    counts : sparse array of shape (n_documents, n_words)
        How often each word is in each document.
    words : tuple of str
        The words in alphabetical order.

    Raises
    ------
    ValueError
        If no document has a word.

    Examples
    --------
    >>> from sepnmf.text import vectorize
    >>> counts, words = vectorize(["The sea, the sky", "the 2 seas"])
    >>> words
    ('sea', 'seas', 'sky', 'the')
    >>> counts.toarray()
    array([[1, 0, 1, 2],
           [0, 1, 0, 1]])
    """
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(token_pattern=WORD)
    try:
        counts = sparse.csr_array(vectorizer.fit_transform(documents))
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        raise ValueError("documents contain no words of two letters or more.") from None
    return counts, tuple(vectorizer.get_feature_names_out().tolist())


def stop_words_of(language: str) -> frozenset[str]:
    """Return words that carry no topic: scikit-learn's list for "english", with contractions."""
    if language != "english":
        raise ValueError(f"language must be 'english', got {language!r}: pass a list of words instead.")
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS) | CONTRACTED


def looks_english(counts: MatrixLike, words: Sequence[str]) -> bool:
    """Return whether a fifth of all words in the documents or more are English stop words."""
    frequency = np.asarray(documents_by_words(counts).sum(axis=0)).ravel()
    common = stop_words_of("english")
    return bool(frequency[[word in common for word in words]].sum() >= ENGLISH_SHARE * frequency.sum())


def document_limits(
    n_documents: int, min_df: float | None = None, max_df: float | None = None
) -> tuple[int, int]:
    """Return in how many documents a word must be, at least and at most, to be used.

    Parameters
    ----------
    n_documents : int
        Number of documents.
    min_df, max_df : int or float, optional
        A number of documents (int), or a fraction of them (float). By default at least 0.5 % of the
        documents, and not less than 5 of them (2 if there are fewer than 100), and at most half of them.

    Returns
    -------
    low, high : int

    Examples
    --------
    >>> from sepnmf.text import document_limits
    >>> document_limits(2225)
    (12, 1112)
    >>> document_limits(2225, min_df=3, max_df=0.1)
    (3, 222)
    """
    low = max(5 if n_documents >= 100 else 2, ceil(n_documents / 200))
    if min_df is not None:
        share = check_limit(min_df, "min_df")
        low = int(share) if isinstance(min_df, int | np.integer) else ceil(share * n_documents)
    high = n_documents // 2
    if max_df is not None:
        share = check_limit(max_df, "max_df")
        high = int(share) if isinstance(max_df, int | np.integer) else floor(share * n_documents)
    return low, high


def check_limit(value: Any, name: str) -> float:
    """Return a number of documents, or a fraction of them; refuse anything else."""
    is_count = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1
    is_fraction = isinstance(value, float | np.floating) and 0 < value <= 1
    if not (is_count or is_fraction):
        raise ValueError(
            f"{name} must be a number of documents, such as 5, or a fraction of them, such as 0.01, "
            f"got {value!r}."
        )
    return float(value)


def used_words(
    counts: MatrixLike,
    words: Sequence[str] = (),
    *,
    min_df: float | None = None,
    max_df: float | None = None,
    stop_words: Collection[str] = (),
) -> Bools:
    """Return which words are candidates for anchor words: neither rare, nor in most documents.

    The co-occurrences of a word that is in a handful of documents, such as a misspelling, are those of these
    documents, so that it looks like an anchor word of a topic of its own. Words in most documents belong to
    no topic. Both are left out before co-occurrences are counted, which also takes less time and memory.

    Parameters
    ----------
    counts : array_like or sparse of shape (n_documents, n_words)
        Nonnegative counts.
    words : sequence of n_words str, optional
        The words; needed if there are stop words.
    min_df, max_df : int or float, optional
        In how many documents a word must be; see `document_limits`.
    stop_words : collection of str
        Words that are left out.

    Returns
    -------
    ndarray of bool of shape (n_words,)

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf.text import used_words
    >>> used_words(np.array([[1, 1, 0], [2, 0, 0], [1, 1, 0], [3, 1, 1]]), min_df=2, max_df=0.75)
    array([False,  True, False])
    """
    data = documents_by_words(counts)
    low, high = document_limits(data.shape[0], min_df, max_df)
    documents = data.count_nonzero(axis=0)
    used = (documents >= low) & (documents <= high)
    if stop_words:
        known = frozenset(stop_words)
        used &= ~np.fromiter((word in known for word in words), bool, count=data.shape[1])
    return np.asarray(used)


def documents_by_words(counts: MatrixLike) -> Sparse:
    """Return counts in memory, sparse and by rows, in float64."""
    data = sparse.csc_array(as_matrix(counts, name="counts").in_memory().array)
    return sparse.csr_array(data.astype(np.float64))


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
        random_state : None, int or numpy.random.Generator, default 0
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
        frequency = together.frequency
        scale = 1 / np.where(frequency > 0, frequency, 1.0)
        # ‖g − Wh‖² for W = UR is ‖Uᵀg − Rh‖² and what does not depend on h.
        U, R = np.linalg.qr(together.columns(anchors) * scale[anchors])
        shares = nnls(R, together.times(U) * scale) * frequency
    else:
        Q = sparse.csc_array(as_matrix(together).in_memory().array)
        frequency = np.asarray(Q.sum(axis=0), dtype=np.float64).ravel()
        given = sparse.csc_array(Q @ sparse.diags_array(1 / np.where(frequency > 0, frequency, 1.0)))
        shares = nnls(given[:, anchors].toarray(), given) * frequency
    topics: Floats = shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return topics


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
    data = documents_by_words(counts)
    lengths = np.asarray(data.sum(axis=1)).ravel()
    frequency = np.asarray(data.sum(axis=0)).ravel()
    scale = sparse.diags_array(1 / np.sqrt(np.where(frequency > 0, frequency, 1.0)))
    by_document = sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ data @ scale
    shares = nnls((topics @ scale).T, sparse.csc_array(by_document.T))
    total = shares.sum(axis=0)
    return np.asarray((shares / np.where(total > 0, total, 1.0)).T)
