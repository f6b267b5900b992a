"""Singular value thresholding through a few directions, against the full decomposition."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import sepnmf
from sepnmf.model import _norms as norms
from sepnmf.model import prox_power
from sepnmf.model._low_rank import is_certified, orthonormal, threshold_low_rank, threshold_small

N, RANK = 80, 6


def near_low_rank(seed, tail=0.3):
    """Six singular values between 5 and 9, the others below `tail`."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((N, N)))[0] for _ in range(2))
    s = np.concatenate([np.linspace(9, 5, RANK), tail * np.sort(rng.random(N - RANK))[::-1]])
    return (U * s) @ V.T, U, s, V


@pytest.mark.parametrize(("p", "gamma"), [(1, 1.0), (1.5, 0.1), (2, 0.02), (3, 1e-3)])
def test_agrees_with_the_full_decomposition(p, gamma):
    B, _, _, V = near_low_rank(0)
    start = V[:, : RANK + 4] + 0.1 * np.random.default_rng(1).standard_normal((N, RANK + 4))
    X, size, basis = threshold_low_rank(B, gamma, p, start)
    want = prox_power(B, gamma, p, "nuclear")
    np.testing.assert_allclose(X, want, atol=1e-5)
    assert size == pytest.approx(np.linalg.norm(want, "nuc"), rel=1e-8)
    again, _, _ = threshold_low_rank(B, gamma, p, basis)
    np.testing.assert_allclose(again, want, atol=1e-5)


def test_the_subspace_grows_when_more_singular_values_survive():
    B, _, _, V = near_low_rank(0)
    X, _, basis = threshold_low_rank(B, 1.0, 1, V[:, :3])
    np.testing.assert_allclose(X, prox_power(B, 1.0, 1, "nuclear"), atol=1e-5)
    assert basis.shape[1] > RANK


def test_a_direction_that_was_missed_is_noticed():
    """A start exactly orthogonal to a singular vector never sees it; the certificate must refuse."""
    B = np.diag(np.concatenate([[9.0, 8.0, 7.0], np.full(N - 3, 0.1)]))
    blind = np.eye(N)[:, [0, 1, *range(10, 18)]]
    assert threshold_low_rank(B, 1.0, 1, blind) is None


def test_gives_up_when_the_rank_is_not_small_or_nothing_is_left():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((N, N))
    assert threshold_low_rank(B, 1e-3, 1, rng.standard_normal((N, 10))) is None
    assert threshold_low_rank(B, 1e3, 1, rng.standard_normal((N, 10))) is None
    slow = np.diag(np.linspace(1.0, 0.9, N))
    assert threshold_low_rank(slow, 0.995, 1, rng.standard_normal((N, 10))) is None


@pytest.mark.parametrize("tail", [0.01, 0.3, 1.0])
def test_certificate_is_the_spectral_norm_of_what_is_cut(tail):
    """With a short, a longer and a flat tail, where each of the three bounds is the one that decides."""
    B, U, s, V = near_low_rank(3, tail)
    s[RANK:] = tail * np.linspace(1, 0.01, N - RANK) ** 3 if tail < 1 else tail
    B = (U * s) @ V.T
    Q, cut = U[:, : RANK + 2], V[:, RANK : RANK + 2] * s[RANK : RANK + 2]
    for tau, below in ((3.0, True), (s[RANK] * (1 + 1e-7), True), (s[RANK] * (1 - 1e-7), False)):
        assert is_certified(tau, B, Q, B.T @ Q, cut, 0.0) == below


@pytest.mark.parametrize("tail", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("astray", [1e-6, 0.03, 0.3])
def test_certificate_holds_in_a_subspace_that_has_not_settled(tail, astray):
    """Yes exactly when ‖B − kept‖₂ ≤ τ, but for the sufficient bounds, which may only say yes."""
    rng = np.random.default_rng(4)
    B, _, _, V = near_low_rank(3, tail)
    Q, _ = np.linalg.qr(B @ (V[:, : RANK + 4] + astray * rng.standard_normal((N, RANK + 4))))
    Z = B.T @ Q
    U, s, Vt = np.linalg.svd(Z.T, full_matrices=False)
    kept = (Q @ U[:, :RANK] * s[:RANK]) @ Vt[:RANK]
    unsettled = np.linalg.norm(B @ Vt.T - Q @ U * s)
    norm = np.linalg.norm(B - kept, 2)
    for factor, below in ((1 - 1e-7, False), (1 + 1e-7, True)):
        assert is_certified(factor * norm, B, Q, Z, Vt[RANK:].T * s[RANK:], unsettled) == below


@pytest.mark.parametrize("columns", ["orthogonal", "near", "random", "dependent", "zero"])
def test_orthonormal_is_a_qr_decomposition(columns):
    rng = np.random.default_rng(0)
    A = np.linalg.qr(rng.standard_normal((30, 6)))[0] * np.logspace(3, -9, 6)
    if columns != "orthogonal":
        A += {"near": 1e-3, "random": 10.0, "dependent": 0.0, "zero": 0.0}[columns] * rng.standard_normal(
            A.shape
        )
    if columns == "dependent":
        A[:, 1] = A[:, 0]
    if columns == "zero":
        A[:, 2] = 0
    Q, R = orthonormal(A)
    np.testing.assert_allclose(Q.T @ Q, np.eye(6), atol=1e-13)
    np.testing.assert_allclose(Q @ R, A, atol=1e-13 * np.abs(A).max())


def test_admm_finds_the_same_with_and_without(monkeypatch):
    M, _ = sepnmf.datasets.make_dirichlet(0.0, m=30, n=120, r=5, random_state=0)
    options = {"norm": "nuclear", "lam": 1e-3, "rho": (0.1, 0.1, 0.1), "init": "spa", "max_outer": 15}
    used = []
    for name in ("threshold_small", "threshold_low_rank"):
        plain = getattr(norms, name)
        monkeypatch.setattr(norms, name, lambda *a, plain=plain: used.append(plain(*a)) or used[-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        fast = sepnmf.admm(M, 5, **options)
        assert sum(answer is not None for answer in used) > 0.8 * fast.n_inner
        monkeypatch.setattr(norms, "MAX_RANK_FRACTION", 0.0)
        full = sepnmf.admm(M, 5, **options)
    assert fast.anchors.tolist() == full.anchors.tolist()
    np.testing.assert_allclose(fast.history["objective"], full.history["objective"], rtol=1e-6)
    np.testing.assert_allclose(fast.X, full.X, atol=1e-5)


@pytest.mark.parametrize("p", [1, 2, 4])
@pytest.mark.parametrize("form", ["exact", "paper"])
@pytest.mark.parametrize("spread", [0, 3, 8])
def test_the_cut_from_a_gram_matrix_is_the_one_from_singular_values(p, form, spread):
    """Singular values over `spread` decades; the threshold between a thousandth of and above the largest."""
    rng = np.random.default_rng(spread)
    U, V = (np.linalg.qr(rng.standard_normal((40, 40)))[0] for _ in range(2))
    s = np.logspace(0, -spread, 40)
    B = (U * s) @ V.T
    for gamma in (1e-6, 1e-4, 1e-2, 0.3):
        cut = norms.NORMS["nuclear"].shrinkage(Point(B), gamma, p, form, norms.WarmStart(B))
        left, size = norms.shrink_vector(s, gamma, p, form, B.size)
        np.testing.assert_allclose(cut.matrix, (U * left) @ V.T, atol=1e-9, rtol=0)
        assert cut.size == pytest.approx(size, rel=1e-8, abs=1e-9)


class Point:
    """What `cut` needs of ADMM-P's point: its matrix."""

    def __init__(self, B):
        self.B = B

    def matrix(self):
        return self.B


def test_a_decomposition_that_does_not_converge_is_tried_another_way(monkeypatch):
    B = np.random.default_rng(0).standard_normal((6, 6))

    def failing(*_, **__):
        raise np.linalg.LinAlgError("SVD did not converge")

    wanted = np.linalg.svd(B, compute_uv=False)
    monkeypatch.setattr(np.linalg, "svd", failing)
    U, s, Vt = norms.decompose(B)
    np.testing.assert_allclose(s, wanted)
    np.testing.assert_allclose((U * s) @ Vt, B, atol=1e-14)


def test_a_run_whose_decomposition_fails_has_diverged(monkeypatch):
    def failing(*_, **__):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(norms, "gram_decompose", failing)
    M, _ = sepnmf.datasets.make_dirichlet(0.0, m=10, n=15, r=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        sel = sepnmf.admm(M, 3, norm="nuclear", lam=1e-3, rho=(1, 1, 1))
    assert sel.status == "diverged"
    assert len(set(sel.anchors)) == 3


@pytest.mark.parametrize("p", [1, 1.5, 2, 4])
@pytest.mark.parametrize("tail", [0.0, 1e-6, 1e-3])
def test_the_map_for_small_n_is_the_map_by_singular_values(p, tail):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((55, 55)))[0] for _ in range(2))
    s = np.concatenate([[3.0, 1.0, 0.9], tail * np.linspace(1, 0.1, 52)])
    B = (U * s) @ V.T
    gamma = 0.5 / (p * 3.0 ** (p - 1))
    start = V[:, :7] + 1e-3 * rng.standard_normal((55, 7))
    left, want = norms.shrink_vector(s, gamma, p, "exact", B.size)
    X, size, basis = threshold_small(B, gamma, p, start)
    np.testing.assert_allclose(X, (U * left) @ V.T, atol=2e-12)
    assert size == pytest.approx(want, rel=1e-12)
    assert basis.shape[1] <= 7


def test_the_map_for_small_n_is_refused_without_a_certificate():
    """What is outside the subspace may exceed the threshold, be of high rank, or not be finite."""
    B, _, _, V = near_low_rank(3, 0.5)
    start = V[:, : RANK + 2]
    assert threshold_small(B, 1e-3, 1, start) is None
    assert threshold_small(np.eye(N), 0.1, 1, start) is None
    B[0, 0] = np.nan
    assert threshold_small(B, 1.0, 1, start) is None
