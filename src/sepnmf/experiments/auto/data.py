"""The data sets on which the methods are compared."""

from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from sepnmf import datasets
from sepnmf._typing import Floats, Ints
from sepnmf.datasets import Dataset, Gestures
from sepnmf.experiments.gesture_features import hog, without_zero_columns
from sepnmf.text import cooccurrence

COMMON = 20  # articles that have a word of the co-occurrence matrix
PIECE = 10**5  # columns that are made at a time


@lru_cache(maxsize=1)
def load(name: str) -> Dataset:
    """A data set as every method gets it; columns of zeros, which some methods refuse, are left out.

    The name is a folder of real data, with a remark after a blank, or "dirichlet ROWS COLUMNS ANCHORS SEED".
    """
    folder, *words = name.split()
    if folder == "dirichlet":
        return many_columns(*map(int, words))
    if folder.startswith("gestures"):
        return Dataset(M=np.ascontiguousarray(without_zero_columns(hog_features(folder)[0])))
    data: Dataset = getattr(datasets, f"load_{folder}")()
    if name == "bbc_news co-occurrence":
        return Dataset(M=common_words(data.M))
    if folder == "amino_acids":
        return Dataset(M=np.maximum(np.asarray(data.M), 0))
    if folder == "swimmer":
        return Dataset(M=np.ascontiguousarray(without_zero_columns(np.asarray(data.M))))
    return data


@cache
def hog_features(folder: str) -> tuple[Floats, Ints]:
    """Images × HOG features, and the labels, of a set of gestures."""
    data: Gestures = getattr(datasets, f"load_{folder}")()
    return np.array([hog(image) for image in data.images]), data.labels


def common_words(counts: Any) -> Floats:
    """Co-occurrence of the words in at least 20 articles, each column over the root of its sum."""
    words = sparse.csc_array(counts)
    together: Any = cooccurrence(words[:, np.flatnonzero(np.diff(words.indptr) >= COMMON)]).toarray()
    scaled: Floats = together / np.sqrt(together.sum(axis=0))
    return scaled


def many_columns(rows: int, columns: int, r: int, seed: int) -> Dataset:
    """Type 2 data with 1 % of noise, made in pieces: `make_dirichlet` would hold them several times."""
    rng = np.random.default_rng(seed)
    W = rng.random((rows, r))
    W /= W.sum(axis=0)
    anchors = np.sort(rng.choice(columns, r, replace=False))
    M = np.empty((rows, columns))
    pieces = [slice(j, min(j + PIECE, columns)) for j in range(0, columns, PIECE)]
    for piece in pieces:
        M[:, piece] = W @ rng.dirichlet(np.ones(r), size=piece.stop - piece.start).T
    M[:, anchors] = W
    level = 0.01 * np.sqrt(np.mean(M[:, pieces[0]] ** 2))
    for piece in pieces:
        M[:, piece] += level * rng.standard_normal((rows, piece.stop - piece.start))
    return Dataset(M=M, anchors=anchors)
