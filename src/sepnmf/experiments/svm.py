"""How well a linear support vector machine tells the classes apart by some of the features."""

from collections.abc import Iterator, Sequence
from itertools import chain, count, islice

import numpy as np

from sepnmf._typing import Floats, Ints

SEED = 0
FOLDS = 5
Split = tuple[Ints, Ints]  # images for training and for testing


def accuracies(F: Floats, y: Ints, columns: Ints, parts: Sequence[Split]) -> Floats:
    """Test accuracies of a linear support vector machine on some of the features.

    The machine is one against one, C = 1, as MATLAB's fitcecoc has it by default; features are not
    standardised.
    """
    gram = inner_products(F, columns)
    return np.array([accuracy(gram, y, train, test) for train, test in parts])


def inner_accuracies(
    F: Floats, y: Ints, columns: Ints, parts: Sequence[Split], groups: Ints | None = None
) -> list[float]:
    """Mean accuracies of five stratified folds within the training part of each split.

    For choosing among selections without a look at the test part. (The columns may still have been found on
    all images.) Images of a group are never in two folds.
    """
    gram = inner_products(F, columns)
    return [
        float(np.mean([accuracy(gram, y, fit, held_out) for fit, held_out in folds(train, y, groups)]))
        for train, _ in parts
    ]


def all_splits(y: Ints, n_splits: int = 50, groups: Ints | None = None) -> list[Split]:
    """Stratified random splits, 80 % for training and 20 % for testing.

    They depend on the arguments alone, so that all selections meet the same ones, and the first ones are the
    same for any number of them. Images of a group are never on both sides of a split.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedShuffleSplit

    if groups is None or np.unique(groups).size == len(y):
        return list(StratifiedShuffleSplit(n_splits, test_size=0.2, random_state=SEED).split(y, y))
    repetitions = (
        StratifiedGroupKFold(FOLDS, shuffle=True, random_state=repetition).split(y, y, groups)
        for repetition in count()
    )
    return list(islice(chain.from_iterable(repetitions), n_splits))


def folds(train: Ints, y: Ints, groups: Ints | None = None) -> Iterator[Split]:
    """Images to fit and to hold out, for each fold of a training part."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    own = None if groups is None else groups[train]
    for fit, held_out in kind(FOLDS, shuffle=True, random_state=SEED).split(train, y[train], own):
        yield train[fit], train[held_out]


def inner_products(F: Floats, columns: Ints) -> Floats:
    """Inner products of the images, by the chosen features: all that a linear machine needs."""
    chosen = F[:, columns]
    return chosen @ chosen.T


def accuracy(gram: Floats, y: Ints, train: Ints, test: Ints) -> float:
    """Share of the test images whose class is recognised after training."""
    from sklearn.svm import SVC

    machine = SVC(kernel="precomputed", C=1.0).fit(gram[np.ix_(train, train)], y[train])
    return float(np.mean(machine.predict(gram[np.ix_(test, train)]) == y[test]))
