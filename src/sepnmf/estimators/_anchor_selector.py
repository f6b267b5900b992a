"""AnchorSelector: an estimator that selects features."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sepnmf._validation import check_count, check_number
from sepnmf.estimators._base import AnchorEstimator, RandomState
from sepnmf.matrix import (
    Matrix,
    MatrixLike,
    Negative,
    is_lazy,
    labelled,
    refuse_wrong_indices,
    take_columns,
)


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
            Annotated data or an `xarray.DataArray` if X is that; of an image, an array of pixels × bands.
        """
        container = labelled(X)
        if container is not None:
            check_is_fitted(self)
            self._matrix(X, "columns", reset=False)
            kept = np.flatnonzero(self._get_support_mask())
            return container.array[kept].T if container.spectral else take_columns(X, kept)
        if not is_lazy(X):
            refuse_wrong_indices(X, "X")
            with np.errstate(over="ignore", invalid="ignore"):  # it adds up all entries
                return super().transform(X)
        return self._lazy(X, reset=False)[:, np.flatnonzero(self._get_support_mask())]

    def inverse_transform(self, X: MatrixLike) -> Any:
        """Return the selected features among columns of zeros.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features_to_select)
            The selected columns.

        Returns
        -------
        X_original : array or sparse matrix of shape (n_samples, n_features)
            The selected columns in their places, and zeros in the places of the others.
        """
        refuse_wrong_indices(X, "X")
        with np.errstate(over="ignore", invalid="ignore"):  # it adds up all entries
            return super().inverse_transform(X)

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
