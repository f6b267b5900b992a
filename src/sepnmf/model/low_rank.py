"""Singular value thresholding without the singular values that are cut away."""

import numpy as np

from sepnmf.kernels import shrink
from sepnmf.typing import Floats

SPARE = 8  # directions carried beyond the rank
WIDEST = 0.2  # of n: with more directions the full decomposition is as fast
SWEEPS = 12  # of subspace iteration before the full decomposition is called
PRECISION = 1e-8


def threshold_low_rank(B: Floats, gamma: float, p: float, V: Floats) -> tuple[Floats, float, Floats] | None:
    """Proximal map of γ‖·‖_*^p at B when its rank is small, its nuclear norm, and the next start.

    Subspace iteration from the right singular vectors V of the last call gives U, s, V with UᵀBV = diag(s),
    and the threshold τ that belongs to s gives X = U(s − τ)₊Vᵀ. This is the answer if no other singular
    value exceeds τ, that is if D = B − X has norm at most τ: then D/τ is a subgradient of the nuclear norm
    at X. The certificate is a Cholesky factor of τ²(1 + ε)²I − DᵀD, which exists if and only if
    ‖D‖₂ < τ(1 + ε); X is then the map of a matrix no farther than ε‖D‖_F from B, and so as near to the map
    of B.

    Returns None when the subspace has to grow too wide, does not settle, or the certificate fails.
    """
    n = B.shape[1]
    precision = max(PRECISION, 100 * float(np.finfo(B.dtype).eps))
    rng = np.random.default_rng(0)
    for _ in range(SWEEPS):
        if V.shape[1] > WIDEST * n:
            return None
        Q, _ = np.linalg.qr(B @ V)
        P, T = np.linalg.qr(B.T @ Q)
        U, s, Wt = np.linalg.svd(T.T)
        V = P @ Wt.T
        left = np.empty_like(s)
        size = float(shrink.shrink_power(s, gamma, p, left))
        k = int((left > 0).sum())
        if k == 0:
            return None  # all is cut, or nothing was seen
        if k > V.shape[1] - SPARE // 2:
            V = np.hstack([V, rng.standard_normal(V.shape).astype(V.dtype)])
            continue
        tau = float(s[0] - left[0])
        U, s, left, V_kept = Q @ U[:, :k], s[:k], left[:k], V[:, :k]
        if np.linalg.norm(B @ V_kept - U * s) > precision * tau:
            continue
        X: Floats = (U * left) @ V_kept.T
        if norm_is_below(B - X, tau * (1.0 + precision)):
            return X, size, V[:, : k + SPARE]
        return None
    return None


def norm_is_below(D: Floats, tau: float) -> bool:
    """Whether the largest singular value of D is less than τ: whether τ²I − DᵀD has a Cholesky factor."""
    gap = D.T @ D
    np.negative(gap, out=gap)
    gap[np.diag_indices_from(gap)] += tau * tau
    try:
        np.linalg.cholesky(gap)
    except np.linalg.LinAlgError:
        return False
    return True
