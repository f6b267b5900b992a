"""Words of documents: how often each is in each, and which of them are candidates for anchor words."""

from collections.abc import Collection, Iterable, Sequence
from math import ceil, floor
from typing import Any

import numpy as np
from scipy import sparse

from sepnmf._typing import Bools, Sparse
from sepnmf.matrix import MatrixLike, as_matrix

WORD = r"(?u)\b[^\W\d_]\w+\b"  # a letter and one character more
# What is left of contractions such as "don't" and "we'll", besides the words of scikit-learn's list.
CONTRACTED = frozenset({
    "ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll", "mustn", "shan",
    "shouldn", "ve", "wasn", "weren", "wouldn",
})  # fmt: skip
# Stop words among all words of a text, at least, if it is English: about 0.4; in other languages below 0.1.
ENGLISH_SHARE = 0.2


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
