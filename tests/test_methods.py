"""ADMM-P and DCA as a user meets them: recovery, descent, history, endings, invariances."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import oracles
import sepnmf
from sepnmf._parallel import Workers
from sepnmf.least_squares import nnls
from sepnmf.methods._admm import InnerLoop, z_factor
from sepnmf.methods._iteration import Problem
from sepnmf.model import NORMS, project_omega

# The design's fact 9: success 1.0 over 50 seeds on Type 1 data, entrywise norm, p = 2 and 3.
FACT_9 = {"lam": 2.23e-4, "rho": (8.62e-5, 3.66, 1.48e-4)}
ROWS = {"norm": "rows", "lam": 1e-3, "rho": (0.01, 0.01, 0.01)}
DCA = {"lam": 0.01, "rho": 1.0, "beta": 1.0}


def quietly(method, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        return method(*args, **options)


@pytest.fixture(scope="module")
def small():
    M, anchors = sepnmf.datasets.make_dirichlet(0.0, m=12, n=20, r=4, random_state=0)
    return M, anchors


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("p", [2, 3])
def test_success_rate_is_one_with_the_parameters_of_fact_9(p, noise):
    found = 0
    for seed in range(50):
        M, anchors = sepnmf.datasets.make_midpoint(noise, random_state=seed)
        sel = quietly(sepnmf.admm, M, 10, p=p, negative="allow", **FACT_9)
        found += set(sel.anchors) == set(anchors)
    assert found == 50


def test_row_ratio_and_dca_find_the_anchors_and_converge():
    for seed in range(5):
        M, anchors = sepnmf.datasets.make_midpoint(0.01, random_state=seed)
        sel = sepnmf.admm(M, 10, **ROWS)
        assert sel.converged
        assert set(sel.anchors) == set(anchors)
        M, anchors = sepnmf.datasets.make_dirichlet(0.0, random_state=seed)
        sel = sepnmf.dca(M, 10, **DCA)
        assert sel.converged
        assert set(sel.anchors) == set(anchors)


def dca_subproblem(M, X_k, p, norm, lam, beta, w):
    """The outer DCA step by a convex solver, and the function it minimises.

    The norm is measured in units of that of X_k: its powers are then numbers that the solver can handle.
    """
    X, t = cp.Variable(X_k.shape), cp.Variable(nonneg=True)
    unit = oracles.norm_value(X_k, norm)
    size = {
        "l1": lambda: cp.sum(X),  # X ≥ 0 on Ω
        "nuclear": lambda: cp.normNuc(X),
        "rows": lambda: cp.sum(cp.norm(X, 2, axis=1)),
    }[norm]()
    alpha = unit**p / np.linalg.norm(X_k)

    def value(Y):
        return (
            lam * oracles.norm_value(Y, norm) ** p
            + 0.5 * np.sum((M @ Y - M) ** 2)
            - alpha * np.vdot(Y, X_k) / np.linalg.norm(X_k)
            + 0.5 * beta * np.sum((Y - X_k) ** 2)
        )

    cost = (
        lam * unit**p * (t if p == 1 else cp.power(t, p))
        + 0.5 * cp.sum_squares(M @ X - M)
        - alpha * cp.sum(cp.multiply(X, X_k / np.linalg.norm(X_k)))
        + 0.5 * beta * cp.sum_squares(X - X_k)
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        constraints = [size <= unit * t, *oracles.in_omega(X, w)]
        cp.Problem(cp.Minimize(cost), constraints).solve(solver=cp.CLARABEL)
    return X.value, value


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("p", [1, 2, 2.5])
def test_outer_dca_step_solves_its_subproblem_and_descends(p, norm):
    """Φ_k(X_{k+1}) + (β/2)‖X_{k+1} − X_k‖² ≤ Φ_k(X_k), with the inner loop run to convergence."""
    rng = np.random.default_rng(0)
    M = rng.random((5, 7))
    w, lam, rho, beta = M.sum(axis=0), 0.3, 2.0, 1.5
    X_k = project_omega(rng.random((7, 7)) + 0.5 * np.eye(7), w)

    def phi(X, alpha):
        g = lam * oracles.norm_value(X, norm) ** p + 0.5 * np.sum((M @ X - M) ** 2)
        return g - alpha * np.linalg.norm(X)

    for _ in range(3):
        sel = quietly(
            sepnmf.dca, M, 3, p=p, norm=norm, lam=lam, rho=rho, beta=beta, init=X_k,
            max_outer=1, max_inner=3000, inner_tol=1e-13,
        )  # fmt: skip
        assert sel.history["residual_v"][0] < 1e-9
        X = project_omega(sel.X, w)  # the limit lies in Ω; take away the last rounding
        best, value = dca_subproblem(M, X_k, p, norm, lam, beta, w)
        assert value(X) <= value(best) + 1e-6 * abs(value(best))
        np.testing.assert_allclose(X, best, atol=2e-3)
        alpha = oracles.norm_value(X_k, norm) ** p / np.linalg.norm(X_k)
        before, after = phi(X_k, alpha), phi(X, alpha)
        assert after + 0.5 * beta * np.sum((X - X_k) ** 2) <= before + 1e-8 * abs(before)
        X_k = X


@pytest.mark.parametrize("d", [0.0, 1e-12, 0.3, 7.0, 1e12])
@pytest.mark.parametrize("length", [1e-100, 1.0, 1e80])
def test_z_update_is_the_minimiser(d, length):
    """z = ζ‖C‖ is where the derivative of d/z + ½(z − ‖C‖)² vanishes: z³ − ‖C‖z² = d."""
    d *= length**3
    z = z_factor(d, length) * length
    assert (z - length) == pytest.approx(d / z / z, rel=1e-7, abs=1e-12 * z)


def test_z_update_from_a_far_too_short_c_keeps_the_norm():
    assert z_factor(8.0, 1e-150) * 1e-150 == pytest.approx(2.0)


def test_z_update_from_zero_is_random_seeded_and_of_the_right_norm(small):
    def from_zero(seed):
        problem = Problem.check(small[0], 4, 2, "l1", 0.1, None, "error")
        with Workers(20, 1) as workers:
            inner = InnerLoop(problem, np.eye(20), (1, 1, 1), "exact", workers, np.random.default_rng(seed))
        inner.C[:] = inner.length_c = 0.0
        inner.update_z(0.027)
        assert inner.zeta * inner.length_c == pytest.approx(0.3)
        return inner.zeta * inner.C

    first, again, other = from_zero(1), from_zero(1), from_zero(2)
    assert np.linalg.norm(first) == pytest.approx(0.3)
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.parametrize("method", ["admm", "dca"])
def test_history_tells_what_happened(small, method):
    M, _ = small
    options = {"admm": {**ROWS, "p": 2}, "dca": {**DCA, "p": 1.5, "tol": 1e-3}}[method]
    norm, p = options.get("norm", "l1"), options["p"]
    seen = []
    sel = quietly(sepnmf.select, M, 4, method, callback=seen.append, **options)
    h = sel.history
    residuals = {"admm": {"residual_y", "residual_z", "residual_w"}, "dca": {"residual_v"}}[method]
    assert set(h) == {"objective", "ratio", "fit", "change", "n_inner", "seconds"} | residuals
    assert all(len(v) == sel.n_outer == len(seen) for v in h.values())
    assert sel.n_inner == h["n_inner"].sum()
    assert (np.diff(h["seconds"]) >= 0).all()
    assert h["seconds"][-1] <= sel.seconds
    for k, state in enumerate(seen):
        X, before = state.X, np.eye(20) if k == 0 else seen[k - 1].X
        fit, ratio = 0.5 * np.sum((M @ X - M) ** 2), oracles.norm_value(X, norm) ** p / np.linalg.norm(X)
        assert h["fit"][k] == pytest.approx(fit, rel=1e-9, abs=1e-15)
        assert h["ratio"][k] == pytest.approx(ratio)
        assert h["objective"][k] == pytest.approx(options["lam"] * ratio + fit)
        assert h["change"][k] == pytest.approx(np.linalg.norm(X - before) / np.linalg.norm(before), abs=1e-12)
        assert (state.method, state.n_outer) == (method, k + 1)
        assert state.numbers["fit"] == h["fit"][k]
    np.testing.assert_array_equal(seen[-1].X, sel.X)


def test_residuals_are_the_distances_between_the_copies(small):
    """With one inner step from X₀ = I the copies can be written down."""
    M, _ = small
    w, (rho1, rho2, rho3) = M.sum(axis=0), (0.3, 0.2, 0.1)
    sel = quietly(sepnmf.admm, M, 4, p=1, lam=0.1, rho=(rho1, rho2, rho3), max_outer=1, max_inner=1)
    X = sel.X
    W = oracles.project_by_sorting(X, w)
    Y = np.linalg.solve(M.T @ M + rho1 * np.eye(20), M.T @ M + rho1 * X)
    q = 0.1 * np.abs(X).sum() / rho2 / np.linalg.norm(X) ** 3
    zeta = max(np.roots([1, -1, 0, -q]).real)
    assert sel.history["residual_w"][0] == pytest.approx(np.linalg.norm(X - W), abs=1e-12)
    assert sel.history["residual_y"][0] == pytest.approx(np.linalg.norm(X - Y))
    assert sel.history["residual_z"][0] == pytest.approx((zeta - 1) * np.linalg.norm(X))


@pytest.mark.parametrize("method", ["admm", "dca"])
def test_callback_may_stop_a_run(small, method):
    M, _ = small
    options = {"admm": ROWS, "dca": {**DCA, "p": 1.5}}[method]
    sel = sepnmf.select(M, 4, method, callback=lambda state: state.n_outer == 2, tol=0, **options)
    assert (sel.status, sel.converged, sel.n_outer) == ("stopped", False, 2)


def test_callback_cannot_change_the_iterate(small):
    M, _ = small

    def vandal(state):
        state.X[:] = 5

    np.testing.assert_array_equal(sepnmf.admm(M, 4, callback=vandal, **ROWS).X, sepnmf.admm(M, 4, **ROWS).X)


def test_interrupt_leaves_nothing_changed(small):
    M, start = small[0].copy(), np.eye(20)

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sepnmf.admm(M, 4, init=start, callback=interrupt, **ROWS)
    np.testing.assert_array_equal(M, small[0])
    np.testing.assert_array_equal(start, np.eye(20))
    assert np.geterr()["over"] == "warn"


@pytest.mark.parametrize("method", ["admm", "dca"])
def test_running_out_of_iterations_is_a_warning(small, method):
    M, _ = small
    options = {"admm": ROWS, "dca": {**DCA, "p": 1.5}}[method]
    with pytest.warns(ConvergenceWarning, match=f"{method} stopped after 3 outer iterations"):
        sel = sepnmf.select(M, 4, method, max_outer=3, tol=0, **options)
    assert (sel.status, sel.converged, sel.n_outer) == ("max_outer", False, 3)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("admm", {"p": 4, "prox": "paper", "lam": 9.2, "rho": (91, 2100, 140)}),
        ("admm", {"p": 4, "prox": "paper", "norm": "nuclear", "lam": 420, "rho": (5.4e-5, 8, 6e-3)}),
        ("admm", {"p": 4, "prox": "paper", "norm": "rows", "lam": 0.39, "rho": (9e-5, 2.8e-2, 1e-5)}),
        ("dca", {"p": 4, "lam": 1e3, "rho": 2e-4, "beta": 1.0, "v_update": "projected"}),
        ("dca", {"p": 3, "lam": 2e3, "rho": 8e-5, "beta": 0.07, "v_update": "projected", "norm": "nuclear"}),
    ],
)
def test_divergence_is_a_warning_and_a_usable_answer(method, options):
    M, _ = sepnmf.datasets.make_dirichlet(0.0, m=20, n=25, r=5, random_state=1)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        sel = sepnmf.select(M, 5, method, **options)
    assert (sel.status, sel.converged) == ("diverged", False)
    assert len(set(sel.anchors)) == 5
    assert np.isfinite(sel.scores).all()
    assert np.isfinite(sel.X).all()
    assert sel.n_outer < 100
    assert not any(np.isnan(v).any() for v in sel.history.values())


@pytest.mark.parametrize(
    ("method", "options"),
    [("admm", {"p": 1, "lam": 50, "rho": (0.5, 1e-3, 0.5)}), ("dca", {"lam": 78, "rho": 546, "beta": 1.4})],
)
def test_collapse_to_zero_is_a_warning_and_a_usable_answer(small, method, options):
    with pytest.warns(ConvergenceWarning, match="reached X = 0"):
        sel = sepnmf.select(small[0], 4, method, **options)
    assert (sel.status, sel.converged) == ("collapsed", False)
    assert len(set(sel.anchors)) == 4
    assert sel.X.any()


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_rescaling_the_data_and_the_parameters_changes_nothing(scale):
    M, _ = sepnmf.datasets.make_midpoint(0.0, random_state=0)
    t = scale**2
    for p in (2, 3):
        want = quietly(sepnmf.admm, M, 10, p=p, **FACT_9)
        rho = tuple(t * x for x in FACT_9["rho"])
        got = quietly(sepnmf.admm, scale * M, 10, p=p, lam=t * FACT_9["lam"], rho=rho)
        assert got.anchors.tolist() == want.anchors.tolist()
        np.testing.assert_allclose(got.X, want.X, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_rescaling_for_dca_includes_the_weight_of_its_ratio(scale):
    M, _ = sepnmf.datasets.make_dirichlet(0.0, random_state=0)
    want = sepnmf.dca(M, 10, **DCA)
    scaled = {k: scale**2 * v for k, v in DCA.items()}
    got = sepnmf.dca(scale * M, 10, ratio_weight=scale**2, **scaled)
    assert set(got.anchors) == set(want.anchors)
    np.testing.assert_allclose(got.X, want.X, atol=1e-8)
    printed = quietly(sepnmf.dca, scale * M, 10, **scaled)  # the paper has no such weight
    assert set(printed.anchors) != set(want.anchors)


@pytest.mark.parametrize("method", ["admm", "dca"])
@pytest.mark.parametrize("norm", NORMS)
def test_permuting_the_columns_permutes_the_anchors(method, norm):
    M = np.abs(sepnmf.datasets.make_dirichlet(0.01, m=12, n=20, r=4, random_state=3)[0])
    options = {"admm": ROWS, "dca": {**DCA, "p": 1.2}}[method] | {"norm": norm}
    order = np.random.default_rng(0).permutation(20)
    want = quietly(sepnmf.select, M, 4, method, **options)
    got = quietly(sepnmf.select, M[:, order], 4, method, **options)
    assert order[got.anchors].tolist() == want.anchors.tolist()


@pytest.mark.parametrize("pick", ["diag", "rows", "spa"])
def test_anchors_are_the_best_scores_by_every_rule(small, pick):
    M, anchors = small
    sel = sepnmf.admm(M, 4, pick=pick, **ROWS)
    assert set(sel.anchors) == set(anchors)
    assert sel.anchors.tolist() == np.argsort(-sel.scores, kind="stable")[:4].tolist()
    want = {"diag": np.diag(sel.X), "rows": np.linalg.norm(sel.X, axis=1)}.get(pick)
    if want is not None:
        np.testing.assert_allclose(sel.scores, want)


def test_picking_by_spa_does_not_take_two_copies_of_one_anchor():
    M = np.array([[1.0, 1.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.5]])
    start = np.array([[0.5, 0.5, 0, 0.3], [0.5, 0.5, 0, 0.3], [0, 0, 0.4, 0.2], [0, 0, 0, 0]])
    options = {"init": start, "lam": 1e-9, "rho": (1e3, 1e3, 1e3), "max_outer": 1, "max_inner": 1}
    by_rows = quietly(sepnmf.admm, M, 2, pick="rows", **options).anchors
    by_spa = quietly(sepnmf.admm, M, 2, pick="spa", **options).anchors
    assert set(by_rows) == {0, 1}
    assert 2 in by_spa


def test_starts_are_the_three_of_the_paper(small):
    M, anchors = small
    first = {}
    for name, init in {"default": None, "identity": "identity", "given": np.eye(20), "spa": "spa"}.items():
        sel = quietly(sepnmf.admm, M, 4, init=init, max_outer=1, max_inner=1, **ROWS)
        first[name] = sel.X
    np.testing.assert_array_equal(first["default"], first["identity"])
    np.testing.assert_array_equal(first["default"], first["given"])
    H = nnls(M[:, anchors], M)
    X0 = np.zeros((20, 20))
    X0[anchors] = H
    np.testing.assert_allclose(M @ X0, M, atol=1e-10)
    spa = quietly(sepnmf.admm, M, 4, init=X0, max_outer=1, max_inner=1, **ROWS).X
    np.testing.assert_allclose(first["spa"], spa, atol=1e-10)
    assert not np.allclose(first["spa"], first["default"], atol=1e-3)


def test_weights_are_the_l1_norms_of_the_columns_unless_given(small):
    M = small[0] * np.linspace(0.5, 2, 20)
    default = quietly(sepnmf.admm, M, 4, max_outer=5, **ROWS)
    given = quietly(sepnmf.admm, M, 4, max_outer=5, weights=7 * M.sum(axis=0), **ROWS)
    other = quietly(sepnmf.admm, M, 4, max_outer=5, weights=np.ones(20), **ROWS)
    np.testing.assert_allclose(default.X, given.X, atol=1e-12)
    assert not np.allclose(default.X, other.X, atol=1e-6)


def test_same_seed_same_bits(small):
    runs = [quietly(sepnmf.admm, small[0], 4, random_state=1, **ROWS).X for _ in range(2)]
    np.testing.assert_array_equal(*runs)


@pytest.mark.parametrize("norm", NORMS)
def test_single_precision_stays_single(small, norm):
    M, _ = small
    for method, given in (("admm", ROWS), ("dca", {**DCA, "p": 1.2})):
        options = given | {"norm": norm, "max_outer": 20}
        single = quietly(sepnmf.select, M.astype(np.float32), 4, method, **options)
        double = quietly(sepnmf.select, M, 4, method, **options)
        assert single.X.dtype == np.float32
        np.testing.assert_allclose(single.X, double.X, atol=2e-3)
    assert set(sepnmf.admm(M.astype(np.float32), 4, tol=1e-4, **ROWS).anchors) == set(small[1])


def test_the_maps_of_a_run_take_a_bounded_number_of_steps(monkeypatch):
    steps = 0
    prox = NORMS["nuclear"].prox

    def counted(*arguments):
        nonlocal steps
        steps += 1
        return prox(*arguments)

    monkeypatch.setattr("sepnmf.model._norms.STEPS_OF_A_RUN", 2000)
    monkeypatch.setattr(NORMS["nuclear"], "prox", counted)
    M = np.array([[5.0, 1, 3, 2, 4, 1, 2, 5]])
    options = {"p": 2, "norm": "nuclear", "lam": 98.7, "rho": 9e-4, "beta": 512.0, "max_outer": 20}
    with pytest.warns(ConvergenceWarning):
        sel = sepnmf.dca(M, 1, **options)
    assert np.isfinite(sel.scores).all()
    assert 2000 <= steps <= 3000 + 10 * sel.n_inner
