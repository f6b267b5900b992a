"""Singular value thresholding without the singular values that are cut away."""

import numpy as np

from sepnmf.kernels import shrink
from sepnmf.typing import Floats

SPARE = 16  # directions carried beyond the rank
WIDEST = 0.2  # of n: with more directions the full decomposition is as fast
SWEEPS = 12  # of subspace iteration before the full decomposition is called
PRECISION = 1e-6


def threshold_low_rank(B: Floats, gamma: float, p: float, V: Floats) -> tuple[Floats, float, Floats] | None:
    """Proximal map of γ‖·‖_*^p at B when its rank is small, its nuclear norm, and the next start.

    Subspace iteration from the right singular vectors V of the last call gives U, s, V with UᵀB = diag(s)Vᵀ,
    and the threshold τ that belongs to s gives X = U(s − τ)₊Vᵀ. This is the answer if no other singular
    value exceeds τ (`nothing_above`): then (B − X)/τ is a subgradient of the nuclear norm at X.

    The directions kept are settled to ε = 1e-6 of τ, so that ‖B − X‖₂ ≤ τ(1 + ε); X is then the map of a
    matrix no farther than ε‖B − X‖_F from B, and as near to the map of B.

    Returns None when the subspace has to grow too wide, does not settle, or nothing certifies it.
    """
    n = B.shape[1]
    precision = max(PRECISION, 100 * float(np.finfo(B.dtype).eps))
    rng = np.random.default_rng(0)
    BV = B @ V
    for _ in range(SWEEPS):
        Q, _ = np.linalg.qr(BV)
        Z = B.T @ Q
        P, T = np.linalg.qr(Z)
        U, s, Wt = np.linalg.svd(T.T)
        V = P @ Wt.T
        BV = B @ V
        left = np.empty_like(s)
        size = float(shrink.shrink_power(s, gamma, p, left))
        k = int((left > 0).sum())
        if k == 0 or 2 * k > WIDEST * n:
            return None
        if k > len(s) - SPARE // 2:
            more = rng.standard_normal(V.shape).astype(V.dtype)
            V, BV = np.hstack([V, more]), np.hstack([BV, B @ more])
            continue
        tau = float(s[0] - left[0])
        U_kept = Q @ U[:, :k]
        if np.linalg.norm(BV[:, :k] - U_kept * s[:k]) > precision * tau:
            continue
        if not nothing_above(tau, float(s[k]), B, Q, Z, (U_kept * s[:k]) @ V[:, :k].T):
            return None
        X: Floats = (U_kept * left[:k]) @ V[:, :k].T
        return X, size, V[:, : k + SPARE]
    return None


def nothing_above(tau: float, first_cut: float, B: Floats, Q: Floats, Z: Floats, kept: Floats) -> bool:
    """Whether no singular value of B − `kept`, what is cut, exceeds τ.

    It is made of E = B − QZᵀ, Z = BᵀQ, and of a part in the span of Q with norm `first_cut`, orthogonal to
    E: ‖E‖₂² ≤ τ² − first_cut² is enough. Bounds on ‖E‖₂², each dearer and sharper than the last, are
    ‖E‖²_F and ‖EᵀE‖_F; where they do not settle it, whether τ²I − (B − kept)ᵀ(B − kept) has a Cholesky
    factor does.
    """
    room = tau**2 - first_cut**2
    if float(np.linalg.norm(B)) ** 2 - float(np.linalg.norm(Z)) ** 2 <= room:
        return True
    E = B - Q @ Z.T
    if float(np.linalg.norm(E.T @ E)) <= room:
        return True
    cut = B - kept
    gap = -(cut.T @ cut)
    gap[np.diag_indices_from(gap)] += tau**2
    try:
        np.linalg.cholesky(gap)
    except np.linalg.LinAlgError:
        return False
    return True
