"""Both algorithms against a line-by-line transcription of the printed ones."""

import warnings

import numpy as np
import pytest

import oracles
import sepnmf

PARAMETERS = np.log([1e-5, 3e3])  # the range the paper tunes over
OUTER = 20
DRAWS = 6


def instance(kind, seed, **size):
    make = getattr(sepnmf.datasets, f"make_{kind}")
    if kind == "dirichlet" and not size:
        size = {"n": 25}
    M, _ = make(0.05, random_state=seed, **({"m": 20, "r": 5} | size))
    return M, np.abs(M).sum(axis=0)


def follow(method, M, r, **options):
    """Every X_{k+1} of a run; one that stays exactly where it is has converged, and would stay there."""
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        sel = method(
            M,
            r,
            tol=0,
            max_outer=OUTER,
            negative="allow",
            callback=lambda s: seen.append(s.X.copy()),
            **options,
        )
    if sel.status == "converged":
        seen += [seen[-1]] * (OUTER - len(seen))
    return seen, sel


def assert_same_path(seen, transcription, n):
    """Equal to 1e-8, iterate by iterate.

    Some draws make the printed algorithm unstable or chaotic. Then no two programs agree for long, and the
    comparison goes on only as long as the transcription agrees with itself from a start moved by 1e-15.
    """
    moved = np.eye(n) * (1 + 1e-15 * np.random.default_rng(0).standard_normal((n, n)))
    with np.errstate(all="ignore"):
        pairs = list(zip(transcription(np.eye(n)), transcription(moved), strict=False))
    compared = 0
    for got, (want, twin) in zip(seen, pairs, strict=False):
        scale = max(1.0, np.abs(want).max())
        if np.abs(want - twin).max() > 1e-10 * scale:
            break
        assert np.abs(got - want).max() <= 1e-8 * scale
        compared += 1
    return compared


@pytest.mark.parametrize("kind", ["midpoint", pytest.param("dirichlet", marks=pytest.mark.slow)])
@pytest.mark.parametrize("norm", ["l1", "nuclear", "rows"])
@pytest.mark.parametrize("p", [1, 2, *(pytest.param(p, marks=pytest.mark.slow) for p in (3, 4))])
def test_admm_follows_algorithm_2(p, norm, kind):
    rng = np.random.default_rng([p, len(norm), len(kind)])
    compared = []
    for seed in range(DRAWS):
        M, w = instance(kind, seed)
        lam, *rho = np.exp(rng.uniform(*PARAMETERS, 4))
        seen, _ = follow(sepnmf.admm, M, 5, p=p, norm=norm, lam=lam, rho=rho, prox="paper")

        def transcription(X0, M=M, lam=lam, rho=rho, w=w):
            return oracles.printed_admm(M, X0, p, norm, lam, rho, w, OUTER, 10, 0, 1e-5)

        compared.append(assert_same_path(seen, transcription, M.shape[1]))
    assert compared.count(OUTER) >= 1


@pytest.mark.parametrize("kind", ["midpoint", pytest.param("dirichlet", marks=pytest.mark.slow)])
@pytest.mark.parametrize("norm", ["l1", "nuclear", "rows"])
@pytest.mark.parametrize("p", [1, 2, *(pytest.param(p, marks=pytest.mark.slow) for p in (3, 4))])
def test_dca_follows_algorithm_1(p, norm, kind):
    rng = np.random.default_rng([p, len(norm), len(kind), 1])
    compared = []
    for seed in range(DRAWS):
        M, w = instance(kind, seed)
        lam, rho, beta = np.exp(rng.uniform(*PARAMETERS, 3))
        if seed % 2:  # for p > 1 most draws blow up; penalties as strong as ‖X‖^p keep these tame
            rho, beta = rho * M.shape[1] ** p, beta * M.shape[1] ** p
        seen, _ = follow(sepnmf.dca, M, 5, p=p, norm=norm, lam=lam, rho=rho, beta=beta, v_update="projected")

        def transcription(X0, M=M, lam=lam, rho=rho, beta=beta, w=w):
            def projected(A, gamma):
                shrunk = oracles.printed_prox(A, gamma, p, norm)
                return oracles.project_by_sorting(shrunk, w) if np.isfinite(shrunk).all() else shrunk

            return oracles.printed_dca(M, X0, p, norm, lam, rho, beta, w, OUTER, 10, 0, 1e-5, projected)

        compared.append(assert_same_path(seen, transcription, M.shape[1]))
    assert compared.count(OUTER) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["midpoint", "dirichlet"])
def test_admm_follows_algorithm_2_at_the_papers_size(kind):
    M, w = instance(kind, 0, m=50, r=10)
    lam, rho = 2.23e-4, (8.62e-5, 3.66, 1.48e-4)
    seen, _ = follow(sepnmf.admm, M, 10, p=2, lam=lam, rho=rho, prox="paper")

    def transcription(X0):
        return oracles.printed_admm(M, X0, 2, "l1", lam, rho, w, OUTER, 10, 0, 1e-5)

    assert assert_same_path(seen, transcription, M.shape[1]) == OUTER


@pytest.mark.parametrize("norm", ["l1", "nuclear", "rows"])
@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_exact_mode_differs_by_the_exact_map_only(p, norm):
    M, w = instance("midpoint", 1)
    lam, rho = 0.01, (0.1, 0.2, 0.3)
    seen, _ = follow(sepnmf.admm, M, 5, p=p, norm=norm, lam=lam, rho=rho)

    def transcription(X0):
        return oracles.printed_admm(
            M, X0, p, norm, lam, rho, w, OUTER, 10, 0, 1e-5, prox=oracles.prox_bisection
        )

    assert assert_same_path(seen, transcription, M.shape[1]) == OUTER


@pytest.mark.slow
def test_exact_dca_differs_by_the_exact_v_update_only():
    M, w = instance("midpoint", 1)
    seen, _ = follow(sepnmf.dca, M, 5, p=2, lam=0.3, rho=3, beta=40)

    def transcription(X0):
        return oracles.printed_dca(
            M, X0, 2, "l1", 0.3, 3, 40, w, OUTER, 10, 0, 1e-5,
            lambda A, gamma: oracles.prox_omega_bisection(A, gamma, 2, w),
        )  # fmt: skip

    assert assert_same_path(seen, transcription, M.shape[1]) == OUTER


def test_projected_dca_takes_any_power_with_the_exact_map():
    M, w = instance("midpoint", 1)
    seen, _ = follow(sepnmf.dca, M, 5, p=1.5, lam=1e-3, rho=0.5, beta=0.4, v_update="projected", prox="exact")

    def transcription(X0):
        return oracles.printed_dca(
            M, X0, 1.5, "l1", 1e-3, 0.5, 0.4, w, OUTER, 10, 0, 1e-5,
            lambda A, gamma: oracles.project_by_sorting(oracles.prox_bisection(A, gamma, 1.5, "l1"), w),
        )  # fmt: skip

    assert assert_same_path(seen, transcription, M.shape[1]) == OUTER


def test_both_stopping_rules_are_the_printed_ones():
    """The loops end where the transcription's end: at the same outer and the same inner counts."""
    M, w = instance("dirichlet", 1)
    lam, rho = 1e-3, (0.1, 0.1, 0.1)
    for tol, inner_tol in ((1e-2, 1e-2), (2e-3, 0.3), (0.5, 1e-5)):
        want = list(oracles.printed_admm(M, np.eye(len(w)), 2, "l1", lam, rho, w, 500, 10, tol, inner_tol))
        sel = sepnmf.admm(
            M,
            5,
            lam=lam,
            rho=rho,
            tol=tol,
            inner_tol=inner_tol,
            max_outer=500,
            prox="paper",
            negative="allow",
        )
        assert sel.n_outer == len(want) < 500
        np.testing.assert_allclose(sel.X, want[-1], atol=1e-8)
        projected = lambda A, g: oracles.project_by_sorting(oracles.printed_prox(A, g, 1, "l1"), w)  # noqa: E731
        want = list(
            oracles.printed_dca(M, np.eye(len(w)), 1, "l1", 0.01, 1, 1, w, 500, 10, tol, inner_tol, projected)
        )
        sel = sepnmf.dca(
            M, 5, lam=0.01, rho=1, beta=1, tol=tol, inner_tol=inner_tol, max_outer=500,
            v_update="projected", negative="allow",
        )  # fmt: skip
        assert sel.n_outer == len(want) < 500
        np.testing.assert_allclose(sel.X, want[-1], atol=1e-8)


def test_a_start_outside_omega_is_taken_as_it_is():
    """W⁰ = X₀ in the first inner step, not its projection."""
    M, w = instance("midpoint", 1)
    start = np.random.default_rng(0).standard_normal((len(w), len(w)))
    lam, rho = 0.01, (0.1, 0.2, 0.3)
    seen, _ = follow(sepnmf.admm, M, 5, p=2, lam=lam, rho=rho, prox="paper", init=start)
    want = list(oracles.printed_admm(M, start, 2, "l1", lam, rho, w, OUTER, 10, 0, 1e-5))
    for got, expected in zip(seen[:3], want[:3], strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-8)
