"""Singular value thresholding without the singular values that are cut away."""

import math

import numpy as np

from sepnmf.kernels import shrink
from sepnmf.typing import Floats

SPARE = 16  # directions carried beyond the rank
WIDEST = 0.2  # of n: with more directions the full decomposition is as fast
SWEEPS = 12  # of subspace iteration before the full decomposition is called
PRECISION = 1e-6
NEARLY = 0.1


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
        Q, _ = orthonormal(BV)
        Z = B.T @ Q
        P, T = orthonormal(Z)
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
        U = Q @ U
        unsettled = BV - U * s
        if np.linalg.norm(unsettled[:, :k]) > precision * tau:
            continue
        if not nothing_above(tau, B, Q, Z, V[:, k:] * s[k:], float(np.linalg.norm(unsettled))):
            return None
        X: Floats = (U[:, :k] * left[:k]) @ V[:, :k].T
        return X, size, V[:, : k + SPARE]
    return None


def orthonormal(A: Floats) -> tuple[Floats, Floats]:
    """A = QR with orthonormal Q, faster than by reflections where the columns of A are nearly orthogonal.

    Then the Gram matrix of the columns at unit length is near the identity, and its Cholesky factor is R.
    """
    lengths = np.linalg.norm(A, axis=0)
    if lengths.min() > 0:
        unit = A / lengths
        try:
            L = np.linalg.cholesky(unit.T @ unit)
        except np.linalg.LinAlgError:
            L = np.zeros((1, 1))
        if np.diag(L).min() > NEARLY:  # it loses no more than a factor of 1/NEARLY² of the digits
            return unit @ np.linalg.inv(L).T, L.T * lengths
    return np.linalg.qr(A)


def nothing_above(tau: float, B: Floats, Q: Floats, Z: Floats, cut: Floats, unsettled: float) -> bool:
    """Whether no singular value of what is cut from B exceeds τ.

    That is E + F: E = B − QZᵀ, Z = BᵀQ, is what the subspace does not see, and F, with FᵀF = `cut` `cut`ᵀ,
    what is cut in it. EᵀF = 0, and FV⊥ = 0 outside the right subspace V, where E is short: ‖EV‖ =
    `unsettled`. So

        ‖E + F‖₂² ≤ max(‖F‖₂² + ‖EV‖², ‖E‖₂²) + ‖EV‖‖E‖₂,

    and ‖E‖²_F and ‖EᵀE‖_F are bounds on ‖E‖₂², each dearer and sharper than the last. Where they do not
    settle it, whether τ²I − EᵀE − FᵀF has a Cholesky factor does.
    """
    first_cut = float(np.square(cut).sum(axis=0).max())

    def enough(square: float) -> bool:
        return max(first_cut + unsettled**2, square) + unsettled * math.sqrt(square) <= tau**2

    whole = float(np.linalg.norm(B)) ** 2
    rounding = 10 * float(np.finfo(B.dtype).eps) * whole
    if enough(max(whole - float(np.linalg.norm(Z)) ** 2, 0.0) + rounding):
        return True
    E = Q @ Z.T
    np.subtract(B, E, out=E)
    gap = E.T @ E
    if enough(float(np.linalg.norm(gap))):
        return True
    np.negative(gap, out=gap)
    gap -= cut @ cut.T
    gap[np.diag_indices_from(gap)] += tau**2
    try:
        np.linalg.cholesky(gap)
    except np.linalg.LinAlgError:
        return False
    return True
