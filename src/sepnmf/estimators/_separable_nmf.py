"""SeparableNMF: an estimator whose components are samples."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from sepnmf._typing import Floats
from sepnmf._validation import check_choice, check_count, refuse_masked
from sepnmf.estimators._base import ACCEPTED, AnchorEstimator, RandomState
from sepnmf.least_squares import nnls, residual_norm
from sepnmf.matrix import Matrix, MatrixLike, Negative, is_lazy, lazy_array, refuse_wrong_indices
from sepnmf.vertices import archetypes, minimum_volume

# Components that are computed from the anchors.
FROM_ANCHORS = {"minimum_volume": minimum_volume, "archetypes": archetypes}


class SeparableNMF(ClassNamePrefixFeaturesOutMixin, AnchorEstimator):  # type: ignore[misc]
    """Nonnegative matrix factorisation whose components are samples.

    X ≈ W · X[K] with W ≥ 0: a method of `sepnmf.METHODS` selects the r samples K, the anchors, and the
    weights of every sample are the solution of nonnegative least squares.

    Parameters
    ----------
    n_components : int or "auto", default 2
        Number of anchors r, at most the number of samples. "auto" asks `sepnmf.estimate_rank`, and warns when
        the data do not settle it.
    method : str, default "auto"
        A name in `sepnmf.METHODS`.
    method_options : dict, optional
        Options of the method, except `negative` and `random_state`.
    negative : {"error", "clip", "allow"}, default "error"
        Treatment of negative entries of X: refuse them, set them to zero, or keep them.
    components : {"anchors", "vertices", "minimum_volume", "archetypes"}, default "anchors"
        The rows of `components_`: the anchors as they are in X; the pure samples without noise that "auto"
        estimates from all samples in memory (`Selection.vertices`); the vertices of the smallest cone around
        the samples, for data without pure ones (`sepnmf.minimum_volume`); convex combinations of samples
        (`sepnmf.archetypes`). The last two need data in memory too.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Passed to a method that uses random numbers. With None, "auto" uses a fixed seed and the other
        methods use none. With an integer, every fit gives the same result.

    Attributes
    ----------
    anchor_indices_ : ndarray of shape (n_components,)
        Indices of the selected samples, best first.
    components_ : ndarray of shape (n_components, n_features)
        ``X[anchor_indices_]``, dense, or what `components` asks for, which may have small negative entries.
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
        n_components: int | Literal["auto"] = 2,
        *,
        method: str = "auto",
        method_options: Mapping[str, Any] | None = None,
        negative: Negative = "error",
        components: Literal["anchors", "vertices", "minimum_volume", "archetypes"] = "anchors",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.method_options = method_options
        self.negative = negative
        self.components = components
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
        if self.n_components != "auto":
            check_count(self.n_components, 'n_components, unless it is "auto",')
        check_choice(self.components, "components", ("anchors", "vertices", *FROM_ANCHORS))
        matrix = self._matrix(X, "rows", reset=True)
        r, n_samples = self.n_components, matrix.shape[1]
        if r != "auto" and int(r) > n_samples:
            raise ValueError(f"n_components={r} must be at most n_samples={n_samples}.")
        self._select(matrix, r, "samples")
        self.n_components_ = len(self.anchor_indices_)
        if self.components in FROM_ANCHORS:
            self.selection_ = FROM_ANCHORS[self.components](matrix, self.selection_)
        found = matrix.at(self.anchor_indices_) if self.components == "anchors" else self._vertices()
        self.components_ = np.ascontiguousarray(found.T, matrix.dtype)
        self.reconstruction_err_ = residual_norm(matrix, self.components_.T)
        return matrix

    def _vertices(self) -> Floats:
        """Return the pure samples without noise, if the method has estimated them."""
        if self.selection_.vertices is None:
            raise ValueError(
                'components="vertices" needs data in memory and method="auto", or method="eeht" with '
                'choice="centroids": pass components="anchors".'
            )
        return self.selection_.vertices

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
        refuse_masked(X, "X")
        refuse_wrong_indices(X, "X")
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
