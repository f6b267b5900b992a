"""scikit-learn estimators: SeparableNMF, whose anchors are samples, and AnchorSelector, for features."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from sepnmf._typing import Floats
from sepnmf._validation import check_choice, check_count, check_number
from sepnmf.least_squares import nnls, residual_norm
from sepnmf.matrix import Matrix, MatrixLike, Negative, as_matrix, is_lazy, lazy_array
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
        if is_lazy(X):
            X = self._lazy(X, reset=reset)
            if not reset and self.negative == "error":  # in `fit`, the method checks the entries
                X = X.map_blocks(refuse_negative, type(self).__name__)
            return as_matrix(X, self.negative, choose_among=choose_among)
        X = validate_data(self, X, reset=reset, **ACCEPTED)
        matrix = as_matrix(X, "clip" if self.negative == "clip" else "allow", choose_among=choose_among)
        if self.negative == "error":
            refuse_negative(matrix.in_memory().values, type(self).__name__)
        return matrix

    def _lazy(self, X: Any, *, reset: bool) -> Any:
        """Return X as a Dask array with the right number of features."""
        X = lazy_array(X)
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: its shape is {X.shape}.")
        n_features = X.shape[1]
        if reset:
            self.n_features_in_ = n_features
            self.__dict__.pop("feature_names_in_", None)  # from an earlier fit
        elif n_features != self.n_features_in_:
            raise ValueError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X

    def _select(self, matrix: Matrix, r: int, columns: Literal["samples", "features"]) -> None:
        """Select r columns of a matrix, which are the samples or the features of X."""
        method = find_method(self.method)
        options = {} if self.method_options is None else self.method_options
        if not isinstance(options, Mapping):
            raise ValueError(f"method_options must be None or a dict, got {options!r}.")
        for name in ("negative", "random_state"):
            if name in options:
                raise ValueError(f"method_options must not contain {name!r}: pass {name} to the estimator.")
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


class SeparableNMF(ClassNamePrefixFeaturesOutMixin, AnchorEstimator):  # type: ignore[misc]
    """Nonnegative matrix factorisation whose components are samples.

    X ≈ W · X[K] with W ≥ 0: a method of `sepnmf.METHODS` selects the r samples K, the anchors, and the
    weights of every sample are the solution of nonnegative least squares.

    Parameters
    ----------
    n_components : int, default 2
        Number of anchors r, at most the number of samples.
    method : str, default "auto"
        A name in `sepnmf.METHODS`.
    method_options : dict, optional
        Options of the method, except `negative` and `random_state`.
    negative : {"error", "clip", "allow"}, default "error"
        Treatment of negative entries of X: refuse them, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Passed to a method that uses random numbers. With None, "auto" uses a fixed seed and the other
        methods use none. With an integer, every fit gives the same result.

    Attributes
    ----------
    anchor_indices_ : ndarray of shape (n_components,)
        Indices of the selected samples, best first.
    components_ : ndarray of shape (n_components, n_features)
        ``X[anchor_indices_]``, dense.
    reconstruction_err_ : float
        Frobenius norm of X − W · `components_` on the training data.
    n_components_ : int
        Number of anchors.
    n_iter_ : int
        Outer iterations of the method; 0 if it does not iterate to a tolerance.
    selection_ : Selection
        Result of the method; the columns of its M are the samples.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has names and all are strings.

    See Also
    --------
    AnchorSelector : selects features.
    sklearn.decomposition.NMF : components need not be samples.

    Notes
    -----
    `fit` and `transform` do not make sparse X dense; a method that needs dense data raises an error. Zero
    samples are never anchors. A Dask array, a Zarr array or a large memmap is read a few chunks at a time,
    with whole samples in a chunk, and its weights are a Dask array.

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf import SeparableNMF
    >>> X = np.array([[2.0, 0.0, 2.0], [1.0, 1.0, 1.0], [0.0, 4.0, 0.0], [1.0, 2.0, 1.0]])
    >>> model = SeparableNMF(n_components=2)
    >>> model.fit_transform(X).round(3)
    array([[0.  , 1.  ],
           [0.25, 0.5 ],
           [1.  , 0.  ],
           [0.5 , 0.5 ]])
    >>> model.anchor_indices_
    array([2, 0])
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        method: str = "auto",
        method_options: Mapping[str, Any] | None = None,
        negative: Negative = "error",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.method_options = method_options
        self.negative = negative
        self.random_state = random_state

    def fit_transform(self, X: MatrixLike, y: object = None) -> Floats:
        """Select anchors among the samples and return the weights of every sample.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Data.
        y : Ignored

        Returns
        -------
        W : ndarray of shape (n_samples, n_components)
            A Dask array if X is one.
        """
        return self._weights(self._fit(X))

    def _fit(self, X: MatrixLike) -> Matrix:
        r = check_count(self.n_components, "n_components")
        matrix = self._matrix(X, "rows", reset=True)
        n_samples = matrix.shape[1]
        if r > n_samples:
            raise ValueError(f"n_components={r} must be at most n_samples={n_samples}.")
        self._select(matrix, r, "samples")
        self.n_components_ = r
        self.components_ = np.ascontiguousarray(matrix.take(self.anchor_indices_).T, matrix.dtype)
        self.reconstruction_err_ = residual_norm(matrix, self.components_.T)
        return matrix

    def _weights(self, matrix: Matrix) -> Floats:
        """Return argmin_{W ≥ 0} ‖X − W · components_‖_F; a Dask array if X is in chunks."""
        weights: Floats = nnls(self.components_.T, matrix).T.copy()
        return weights

    def transform(self, X: MatrixLike) -> Floats:
        """Return the nonnegative weights of the anchors in every sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        W : ndarray of shape (n_samples, n_components)
            ``argmin_{W ≥ 0} ‖X − W · components_‖_F``; a Dask array if X is one.
        """
        check_is_fitted(self)
        return self._weights(self._matrix(X, "rows", reset=False))

    def inverse_transform(self, X: MatrixLike) -> Floats:
        """Return the samples with the given weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_components)
            Weights.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            X · `components_`.
        """
        check_is_fitted(self)
        weights: Any = lazy_array(X) if is_lazy(X) else check_array(X, **ACCEPTED)
        n = weights.shape[1]
        if n != self.n_components_:
            raise ValueError(f"X has {n} columns, but there are {self.n_components_} components.")
        original: Floats = weights @ self.components_
        return original

    @property
    def _n_features_out(self) -> int:
        """Number of columns of the output, for `get_feature_names_out`."""
        return self.n_components_


class AnchorSelector(SelectorMixin, AnchorEstimator):  # type: ignore[misc]
    """Select the few features that explain all the others.

    X ≈ X[:, K] · H with H ≥ 0: a method of `sepnmf.METHODS` selects the features K, the anchors. No target
    is used.

    Parameters
    ----------
    n_features_to_select : int, float or None, default None
        Number of anchors r: an integer between 1 and the number of features; a fraction of the features in
        (0, 1], rounded down, at least one feature; or None for half of the features, at most the number of
        samples (most methods cannot select more anchors than the rank of X).
    method : str, default "auto"
        A name in `sepnmf.METHODS`.
    method_options : dict, optional
        Options of the method, except `negative` and `random_state`.
    negative : {"error", "clip", "allow"}, default "error"
        Treatment of negative entries of X by `fit`: refuse them, set them to zero, or keep them.
        `transform` only extracts columns and accepts any X.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Passed to a method that uses random numbers. With None, "auto" uses a fixed seed and the other
        methods use none. With an integer, every fit gives the same result.

    Attributes
    ----------
    anchor_indices_ : ndarray of shape (r,)
        Indices of the selected features, best first. `transform` and `get_support` keep the order of X.
    scores_ : ndarray of shape (n_features,)
        The method's score of every feature; the anchors have the largest.
    n_iter_ : int
        Outer iterations of the method; 0 if it does not iterate to a tolerance.
    selection_ : Selection
        Result of the method.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has names and all are strings.

    See Also
    --------
    SeparableNMF : selects samples.

    Notes
    -----
    Sparse X is not made dense; a method that needs dense data raises an error. Zero features are never
    anchors. `inverse_transform` sets removed features to zero, as scikit-learn's selectors do;
    `X_kept @ sepnmf.nnls(X_kept, X)` reconstructs them.

    Examples
    --------
    >>> import numpy as np
    >>> from sepnmf import AnchorSelector
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 1.5, 5.0], [1.0, 2.0, 0.0]])
    >>> selector = AnchorSelector(n_features_to_select=2).fit(X)
    >>> selector.anchor_indices_
    array([2, 1])
    >>> selector.get_feature_names_out()
    array(['x1', 'x2'], dtype=object)
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        method: str = "auto",
        method_options: Mapping[str, Any] | None = None,
        negative: Negative = "error",
        random_state: RandomState = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.method = method
        self.method_options = method_options
        self.negative = negative
        self.random_state = random_state

    def _fit(self, X: MatrixLike) -> Matrix:
        matrix = self._matrix(X, "columns", reset=True)
        self._select(matrix, self._count(*matrix.shape), "features")
        self.scores_ = self.selection_.scores
        return matrix

    def transform(self, X: MatrixLike) -> Any:
        """Return the selected features.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Data.

        Returns
        -------
        X_kept : array, sparse matrix or Dask array of shape (n_samples, n_features_to_select)
            The selected columns, in the order of X; a Dask array, without loading, if X is in chunks.
        """
        if not is_lazy(X):
            return super().transform(X)
        return self._lazy(X, reset=False)[:, np.flatnonzero(self._get_support_mask())]

    def _count(self, n_samples: int, n_features: int) -> int:
        """Return the number of features to select."""
        wanted = self.n_features_to_select
        if wanted is None:
            return max(1, min(n_features // 2, n_samples))
        if isinstance(wanted, (float, np.floating)):
            fraction = check_number(float(wanted), "n_features_to_select")
            if fraction > 1:
                raise ValueError(f"n_features_to_select as a fraction must be in (0, 1], got {fraction}.")
            return max(1, int(fraction * n_features))
        r = check_count(wanted, "n_features_to_select")
        if r > n_features:
            raise ValueError(f"n_features_to_select={r} must be at most n_features={n_features}.")
        return r

    def _get_support_mask(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return for every feature whether it is an anchor."""
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.anchor_indices_] = True
        return mask


def refuse_negative(values: Any, name: str) -> Any:
    """Return the values passed to the estimator `name`, or raise ValueError if one is negative."""
    if values.size and values.min() < 0:
        raise ValueError(
            f"Negative values in data passed to {name}: pass "
            'negative="clip" to set them to zero or negative="allow" to keep them.'
        )
    return values
