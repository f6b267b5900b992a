"""Leading eigenvectors of a large symmetric operator, the same at every call.

ARPACK is not used: where the vectors so far span an invariant subspace, as with equal singular values, it
goes on from random vectors of its own, or fails.
"""

from collections.abc import Callable

import numpy as np

from sepnmf._typing import Floats

EPS = float(np.finfo(np.float64).eps)
RESTARTS = 200  # more leave the vectors as they are


def leading_eigenvectors(times: Callable[[Floats], Floats], size: int, k: int) -> Floats:
    """Return k orthonormal vectors that span the leading eigenvectors of an operator without negative ones.

    Lanczos steps with full orthogonalisation and thick restarts: from the k leading Ritz vectors, half of
    the others, and the residual. A step that leaves nothing goes on from a random vector, and so does the
    iteration where it has settled, until that adds nothing: one vector does not show copies of an eigenvalue.

    Parameters
    ----------
    times : callable
        Returns the operator's product with a vector.
    size : int
        Length of the vectors.
    k : int
        Number of eigenvectors, at most `size`.

    Returns
    -------
    ndarray of shape (size, k)
    """
    rng = np.random.default_rng(0)
    width = min(size, max(2 * k + 1, 20))
    Q = np.empty((size, width), order="F")
    H = np.zeros((width, width))
    following: Floats = rng.standard_normal(size)
    kept, largest, before = 0, 0.0, np.full(k, -np.inf)
    for _ in range(RESTARTS):
        for j in range(kept, width):
            Q[:, j] = unit(following, Q[:, :j], rng)
            following = times(Q[:, j])
            along = Q[:, : j + 1].T @ following
            H[: j + 1, j] = H[j, : j + 1] = along
            following = orthogonal(following, Q[:, : j + 1])
            largest = max(largest, float(np.linalg.norm(along)))
            if np.linalg.norm(following) <= 10 * EPS * largest:  # rounding errors
                following = np.zeros(size)
        values, vectors = np.linalg.eigh(H)
        values, vectors = values[::-1], vectors[:, ::-1]
        residuals = np.linalg.norm(following) * np.abs(vectors[-1, :k])
        settled = bool((residuals <= EPS * largest).all())
        if width == size or (settled and float((values[:k] - before).max()) <= 100 * EPS * largest):
            break
        if settled:
            before, following = values[:k], np.zeros(size)
        kept = k + (width - k) // 2
        Q[:, :kept] = Q @ vectors[:, :kept]
        H[:] = 0.0
        H[np.arange(kept), np.arange(kept)] = values[:kept]
    return np.asarray(np.linalg.qr(Q @ vectors[:, :k])[0])


def orthogonal(vector: Floats, basis: Floats) -> Floats:
    """Return the part of a vector that is orthogonal to a basis; once leaves rounding errors, twice none."""
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
    return vector


def unit(vector: Floats, basis: Floats, rng: np.random.Generator) -> Floats:
    """Return a vector with length one, or a random one that is orthogonal to the basis if it is zero."""
    length = float(np.linalg.norm(vector))
    while length == 0.0:
        vector = orthogonal(rng.standard_normal(len(vector)), basis)
        length = float(np.linalg.norm(vector))
    return np.asarray(vector / length)
