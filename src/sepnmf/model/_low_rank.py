"""Singular value decompositions, and thresholding with only the singular values above the threshold."""

import math

import numpy as np
from scipy import linalg

from sepnmf._kernels import polar, shrink
from sepnmf._typing import Floats

OVERSAMPLING = 16  # vectors in the subspace in addition to the rank
MAX_RANK_FRACTION = 0.2  # of n: for a larger subspace the full decomposition is as fast
MAX_SWEEPS = 12  # of subspace iteration before the full decomposition is used
# Of the singular vectors, relative to the threshold: for large n, and for n up to `SMALL`, where another
# sweep takes little time and iterates are compared with those of a plain transcription.
PRECISION, HIGH_PRECISION, SMALL = 1e-6, 1e-11, 400
SMALL_ERROR = 1e-13  # there, relative to ‖B‖_F
FEW_MORE = 4  # vectors in addition to the rank, for n up to `SMALL`
NEARLY_ORTHOGONAL = 0.1  # smallest diagonal entry of a Cholesky factor that `orthonormal` accepts
SMALLEST_THRESHOLD = 1e-5  # relative to s₁, for which singular values are computed from a Gram matrix


def threshold_low_rank(B: Floats, gamma: float, p: float, V: Floats) -> tuple[Floats, float, Floats] | None:
    """Proximal map of γ‖·‖_*^p at B, if of low rank; its nuclear norm, and a basis for the next call.

    Subspace iteration from the right singular vectors V of the last call gives U, s, V with UᵀB = diag(s)Vᵀ,
    and the threshold τ computed from s gives X = U(s − τ)₊Vᵀ. This is the proximal map if no other singular
    value exceeds τ (`is_certified`): then (B − X)/τ is a subgradient of the nuclear norm at X.

    Singular vectors above the threshold are computed to ε = 1e-6 of τ (1e-11 for small n), so that
    ‖B − X‖₂ ≤ τ(1 + ε). Then X is the proximal map at a matrix within ε‖B − X‖_F of B and, as the map is
    nonexpansive, within that distance of the proximal map at B.

    Returns None if the subspace would become too large, the iteration does not converge, or the result is
    not certified.
    """
    n = B.shape[1]
    precision = max(HIGH_PRECISION if n <= SMALL else PRECISION, 100 * float(np.finfo(B.dtype).eps))
    rng = np.random.default_rng(0)
    BV = B @ V
    for _ in range(MAX_SWEEPS):
        Q, _ = orthonormal(BV)
        Z = B.T @ Q
        P, T = orthonormal(Z)
        U, s, Wt = np.linalg.svd(T.T)
        V = P @ Wt.T
        BV = B @ V
        left = np.empty_like(s)
        size = float(shrink.shrink_power(s, gamma, p, left))
        k = int((left > 0).sum())
        if k == 0 or 2 * k > MAX_RANK_FRACTION * n:
            return None
        if k > len(s) - OVERSAMPLING // 2:
            more = rng.standard_normal(V.shape).astype(V.dtype)
            V, BV = np.hstack([V, more]), np.hstack([BV, B @ more])
            continue
        tau = float(s[0] - left[0])
        U = Q @ U
        residual = BV - U * s
        if np.linalg.norm(residual[:, :k]) > precision * tau:
            continue
        if not is_certified(tau, B, Q, Z, V[:, k:] * s[k:], float(np.linalg.norm(residual))):
            return None
        X: Floats = (U[:, :k] * left[:k]) @ V[:, :k].T
        return X, size, V[:, : k + OVERSAMPLING]
    return None


def threshold_small(B: Floats, gamma: float, p: float, V: Floats) -> tuple[Floats, float, Floats] | None:
    """Like `threshold_low_rank`, for small n: subspace iteration on BᵀB, with compiled orthogonalisation.

    The squares of the singular values that are not computed sum up to at most ‖B‖²_F − Σθ, θ the Ritz values:
    if that is less than τ², they are cut. With the residuals R_j = BᵀBw_j − θ_j w_j and σ = √θ the result
    X = B·W diag(1 − τ/σ)₊Wᵀ has an error of about ‖B‖₂ R_j/(σ_j(σ_j + τ)).
    """
    k, n = V.shape[1], len(B)
    whole = float(np.vdot(B, B))
    if not 1e-200 < whole < 1e200:
        return None
    gram = B.T @ B
    W, squares, residuals = np.empty((k, n)), np.empty(k), np.empty(k)
    Y, product = V.T @ gram, np.empty((k, n))
    for _ in range(MAX_SWEEPS):
        if not polar.orthonormalise(Y):
            return None
        np.matmul(Y, gram, out=product)
        polar.rotate(Y, product, W, squares, residuals)
        Y, product = product, Y
        order = np.argsort(-squares)
        s, left = np.sqrt(np.maximum(squares[order], 0.0)), np.empty(k)
        size = float(shrink.shrink_power(s, gamma, p, left))
        rank = int((left > 0).sum())
        tau = float(s[0] - left[0])
        rest = whole - float(squares.sum()) + 1e-14 * whole
        if not 0 < rank < k or not rest < (1.0 - 1e-9) * tau**2:
            return None
        kept = order[:rank]
        error = s[0] * np.linalg.norm(residuals[kept] / (s[:rank] * (s[:rank] + tau)))
        if error <= SMALL_ERROR * math.sqrt(whole):
            rows = W[kept]
            X: Floats = ((B @ rows.T) * (left[:rank] / s[:rank])) @ rows
            return X, size, W[order[: rank + FEW_MORE]].T
    return None


def orthonormal(A: Floats) -> tuple[Floats, Floats]:
    """QR factorization, faster than by Householder reflections if the columns of A are nearly orthogonal.

    In that case the Gram matrix of the normalised columns is close to the identity, and R is obtained from
    its Cholesky factor.
    """
    lengths = np.linalg.norm(A, axis=0)
    if lengths.min() > 0:
        unit = A / lengths
        try:
            L = np.linalg.cholesky(unit.T @ unit)
        except np.linalg.LinAlgError:
            L = np.zeros((1, 1))
        if np.diag(L).min() > NEARLY_ORTHOGONAL:  # so the error grows by at most 1/NEARLY_ORTHOGONAL²
            return unit @ np.linalg.inv(L).T, L.T * lengths
    return np.linalg.qr(A)


def is_certified(tau: float, B: Floats, Q: Floats, Z: Floats, cut: Floats, residual: float) -> bool:
    """Whether the spectral norm of the part of B that is set to zero is at most τ.

    This part is E + F: E = B − QZᵀ, Z = BᵀQ, is orthogonal to the subspace, and F, with FᵀF = `cut` `cut`ᵀ,
    consists of the singular values below the threshold inside it. EᵀF = 0, F vanishes on the orthogonal
    complement of the right subspace V, and E is small on V: ‖EV‖ = `residual`. So

        ‖E + F‖₂² ≤ max(‖F‖₂² + ‖EV‖², ‖E‖₂²) + ‖EV‖‖E‖₂,

    and ‖E‖²_F and ‖EᵀE‖_F are upper bounds on ‖E‖₂², the second one sharper and more expensive. If neither is
    sufficient, the test is whether τ²I − EᵀE − FᵀF has a Cholesky factorization.
    """
    largest_cut = float(np.square(cut).sum(axis=0).max())

    def suffices(square: float) -> bool:
        return max(largest_cut + residual**2, square) + residual * math.sqrt(square) <= tau**2

    whole = float(np.linalg.norm(B)) ** 2
    rounding = 10 * float(np.finfo(B.dtype).eps) * whole
    if suffices(max(whole - float(np.linalg.norm(Z)) ** 2, 0.0) + rounding):
        return True
    E = Q @ Z.T
    np.subtract(B, E, out=E)
    gap = E.T @ E
    if suffices(float(np.linalg.norm(gap))):
        return True
    np.negative(gap, out=gap)
    gap -= cut @ cut.T
    gap[np.diag_indices_from(gap)] += tau**2
    try:
        np.linalg.cholesky(gap)
    except np.linalg.LinAlgError:
        return False
    return True


def decompose(A: Floats) -> tuple[Floats, Floats, Floats]:
    """Singular value decomposition by gesdd; by gesvd if that does not converge."""
    try:
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
    except np.linalg.LinAlgError:
        U, s, Vt = linalg.svd(A, full_matrices=False, lapack_driver="gesvd")
    return U, s, Vt


def gram_decompose(A: Floats) -> tuple[Floats, Floats, Floats]:
    """US, s and V of the singular value decomposition, from the eigenvectors of AᵀA, in half the time.

    Forming AᵀA loses accuracy, but little of it in a proximal map with threshold τ: the map is A·f(AᵀA), and
    an error of ε s₁² in AᵀA changes it by about ε s₁²/τ. It is not used for τ below `SMALLEST_THRESHOLD`.
    """
    if A.dtype != np.float64 or not 1e-100 < np.abs(A).max(initial=0.0) < 1e100:
        U, s, Vt = decompose(A)
        return U * s, s, Vt.T
    V = np.linalg.eigh(A.T @ A)[1][:, ::-1]
    along = A @ V
    s = np.sqrt(np.einsum("ij,ij->j", along, along))
    order = np.argsort(-s, kind="stable")
    return along[:, order], s[order], V[:, order]
