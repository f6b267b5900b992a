"""What the two estimators share: checks of X and the call of the method."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from sepnmf._validation import check_choice
from sepnmf.matrix import (
    Container,
    Matrix,
    MatrixLike,
    Negative,
    as_matrix,
    check_columns,
    is_lazy,
    labelled,
    lazy_array,
    refuse_wrong_indices,
)
from sepnmf.registry import find_method, select
from sepnmf.selection import Selection

RandomState = int | np.random.Generator | np.random.RandomState | None
ACCEPTED: dict[str, Any] = {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32)}


class AnchorEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the two estimators: checks of X and the call of the method."""

    method: str
    method_options: Mapping[str, Any] | None
    negative: Negative
    random_state: RandomState

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Select the anchors: samples with `SeparableNMF`, features with `AnchorSelector`.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Data.
        y : Ignored

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def _fit(self, X: MatrixLike) -> Matrix:
        """Set the fitted attributes and return X as a matrix whose columns are the candidates."""
        raise NotImplementedError

    def _matrix(self, X: MatrixLike, choose_among: Literal["columns", "rows"], *, reset: bool) -> Matrix:
        """Return X as a matrix with finite entries, whose columns are the features or the samples of X.

        Data in chunks are not loaded; their entries are checked when they are read.
        """
        check_choice(self.negative, "negative", ("error", "clip", "allow"))
        container = labelled(X)
        if container is not None:
            return self._labelled(X, container, choose_among, reset=reset)
        if is_lazy(X):
            X = self._lazy(X, reset=reset)
            if not reset and self.negative == "error":  # in `fit`, the method checks the entries
                X = X.map_blocks(refuse_negative, type(self).__name__)
            return as_matrix(X, self.negative, choose_among=choose_among)
        refuse_wrong_indices(X, "X")
        with np.errstate(over="ignore", invalid="ignore"):  # it adds up all entries
            try:
                X = validate_data(self, X, reset=reset, **ACCEPTED)
            except (TypeError, ValueError):
                check_columns(X, "X")  # it names the column; scikit-learn converts what can be converted
                raise
            except OverflowError:
                raise ValueError("X has integers beyond the range of float64: scale it first.") from None
        matrix = as_matrix(X, "clip" if self.negative == "clip" else "allow", choose_among=choose_among)
        if self.negative == "error":
            refuse_negative(matrix.in_memory().values, type(self).__name__)
        return matrix

    def _labelled(
        self, X: Any, container: Container, choose_among: Literal["columns", "rows"], *, reset: bool
    ) -> Matrix:
        """Return a labelled array or annotated data as a matrix; the pixels of an image are the samples."""
        if container.spectral:
            choose_among = "columns" if choose_among == "rows" else "rows"
        matrix = as_matrix(X, self.negative, choose_among=choose_among)
        if not reset and self.negative == "error":  # in `fit`, the method checks the entries
            matrix = matrix.refusing_negative(partial(refuse_negative, name=type(self).__name__))
        self._check_features(container.array.shape[0 if container.spectral else 1], reset=reset)
        name_of = container.row_name if container.spectral else container.column_name
        if reset and name_of is not None:
            self.feature_names_in_ = np.array([name_of(j) for j in range(self.n_features_in_)], object)
        return matrix

    def _lazy(self, X: Any, *, reset: bool) -> Any:
        """Return X as a Dask array with the right number of features."""
        X = lazy_array(X)
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: its shape is {X.shape}.")
        self._check_features(X.shape[1], reset=reset)
        return X

    def _check_features(self, n_features: int, *, reset: bool) -> None:
        """Note the number of features in `fit`; refuse another one afterwards."""
        if reset:
            self.n_features_in_ = n_features
            self.__dict__.pop("feature_names_in_", None)  # from an earlier fit
        elif n_features != self.n_features_in_:
            raise ValueError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _select(
        self, matrix: Matrix, r: int | Literal["auto"], columns: Literal["samples", "features"]
    ) -> None:
        """Select r columns of a matrix, which are the samples or the features of X."""
        method = find_method(self.method)
        options = {} if self.method_options is None else self.method_options
        if not isinstance(options, Mapping):
            raise ValueError(f"method_options must be None or a dict, got {options!r}.")
        for name in ("negative", "random_state", "rng"):
            if name in options:
                own = "random_state" if name == "rng" else name
                raise ValueError(f"method_options must not contain {name!r}: pass {own} to the estimator.")
        if "random_state" in method.options and self.random_state is not None:
            seed = self.random_state
            if isinstance(seed, np.random.RandomState):  # the methods do not accept this class
                seed = int(seed.randint(2**31 - 1))
            options = {**options, "random_state": seed}
        try:
            self.selection_: Selection = select(matrix, r, method.name, **options)
        except ValueError as error:
            n_features, n_samples = matrix.shape if columns == "samples" else matrix.shape[::-1]
            size = f"n_samples={n_samples} and n_features={n_features}"
            where = f"the columns of M are the {columns} of X, which has {size}"
            raise ValueError(f"{error} (Method {self.method!r}; {where}.)") from error
        self.anchor_indices_ = self.selection_.anchors
        self.n_iter_ = self.selection_.n_outer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = find_method(self.method).sparse
        tags.input_tags.positive_only = self.negative == "error"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def refuse_negative(values: Any, name: str) -> Any:
    """Return the values passed to the estimator `name`, or raise ValueError if one is negative."""
    if values.size and values.min() < 0:
        raise ValueError(
            f"Negative values in data passed to {name}: pass "
            'negative="clip" to set them to zero or negative="allow" to keep them.'
        )
    return values
