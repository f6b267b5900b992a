"""Slow, plain and independent versions of what the library computes.

Nothing here is imported from sepnmf. Each function follows the printed equations or a textbook definition.
"""

import decimal
import warnings

import cvxpy as cp
import numpy as np


def magnitudes(A, norm):
    if norm == "l1":
        return np.abs(A).ravel()
    if norm == "nuclear":
        return np.linalg.svd(A, compute_uv=False)
    return np.sqrt((A * A).sum(axis=1))


def norm_value(A, norm):
    return magnitudes(A, norm).sum()


def with_threshold(A, tau, norm):
    """Cut the magnitudes of A by tau."""
    if norm == "l1":
        return np.sign(A) * np.maximum(np.abs(A) - tau, 0)
    if norm == "nuclear":
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        return U @ np.diag(np.maximum(s - tau, 0)) @ Vt
    lengths = np.sqrt((A * A).sum(axis=1, keepdims=True))
    return np.where(lengths > tau, A * (1 - tau / np.maximum(lengths, 1e-300)), 0)


def bisect_threshold(left, gamma, p, high):
    """Root of τ = pγ·left(τ)^(p−1) by bisection, compared in logarithms; left(τ) falls to 0 at `high`."""
    if p == 1:
        return gamma
    low = 0.0
    for _ in range(2100):
        tau = 0.5 * (low + high)
        if tau in (low, high):
            break
        s = left(tau)
        if s > 0 and np.log(tau) < np.log(p) + np.log(gamma) + (p - 1) * np.log(s):
            low = tau
        else:
            high = tau
    return low


def prox_bisection(A, gamma, p, norm):
    a = magnitudes(A, norm)
    tau = bisect_threshold(lambda t: np.maximum(a - t, 0).sum(), gamma, p, a.max())
    return with_threshold(A, tau, norm)


def shrink_decimal(a, gamma, p, digits=200):
    """The vector map with `digits` digits: the truth for survivors that are tiny beside the entries."""
    with decimal.localcontext() as context:
        context.prec = digits
        context.Emin, context.Emax = -999999, 999999
        a = [decimal.Decimal(float(x)) for x in a]
        c = decimal.Decimal(float(gamma)) * decimal.Decimal(float(p))

        def power(s):
            return s.sqrt() if p == 1.5 else s ** int(p - 1)

        low, high = decimal.Decimal(0), max(a)
        for _ in range(int(digits * 3.4)):
            tau = (low + high) / 2
            s = sum(max(x - tau, decimal.Decimal(0)) for x in a)
            if s > 0 and tau < c * power(s):
                low = tau
            else:
                high = tau
        return np.array([float(max(x - low, decimal.Decimal(0))) for x in a])


def printed_prox(A, gamma, p, norm):
    """The paper's proximal map as printed, k = number of entries of A (of rows, for the row norm)."""
    a = magnitudes(A, norm)
    k = A.shape[0] if norm == "rows" else A.size
    total = a.sum()
    if p == 1:
        g = 1.0
    elif p == 2:
        g = total / (2 * k * gamma + 1)
    elif p == 3:
        g = (-1 + np.sqrt(1 + 12 * k * gamma * total)) / (6 * k * gamma)
    else:
        delta = total**2 + 1 / (27 * k * gamma)
        g = np.cbrt((total + np.sqrt(delta)) / (8 * k * gamma)) + np.cbrt(
            (total - np.sqrt(delta)) / (8 * k * gamma)
        )
    return with_threshold(A, p * gamma * g ** (p - 1), norm)


def project_by_sorting(Z, w):
    """P_Ω row by row: sort the breakpoints z_j/u_j, find the piece with the root, solve it."""
    n = len(w)
    X = np.zeros((n, n))
    for i in range(n):
        others = np.arange(n) != i
        u, z = (w / w[i])[others], Z[i][others]
        u, z = u[z > 0], z[z > 0]
        order = np.argsort(-z / u)
        top = Z[i, i] + np.concatenate([[0.0], np.cumsum((u * z)[order])])
        bottom = 1 + np.concatenate([[0.0], np.cumsum((u * u)[order])])
        breaks = np.concatenate([[np.inf], (z / u)[order], [-np.inf]])
        # With the k largest breakpoints above t, the root of the piece is top[k]/bottom[k].
        t = next(top[k] / bottom[k] for k in range(len(top)) if top[k] / bottom[k] >= breaks[k + 1])
        t = min(max(t, 0.0), 1.0)
        X[i] = np.clip(Z[i], 0, w / w[i] * t)
        X[i, i] = t
    return X


def prox_omega_bisection(A, gamma, p, w):
    """Entrywise norm on Ω: P_Ω(A − τ) with τ found by bisection."""
    tau = bisect_threshold(lambda t: project_by_sorting(A - t, w).sum(), gamma, p, np.abs(A).max())
    return project_by_sorting(A - tau, w)


def in_omega(X, w):
    off = ~np.eye(len(w), dtype=bool)
    return [
        X >= 0,
        cp.diag(X) <= 1,
        cp.multiply(X, w[:, None] * off)
        <= cp.multiply(cp.reshape(cp.diag(X), (len(w), 1), order="C") @ w[None, :], off),
    ]


def solve_convex(A, gamma, p, norm, w=None):
    """argmin γ‖X‖^p + ½‖X − A‖² by a convex solver, over Ω when weights are given; gamma=0: projection.

    An interior-point solver's gap of 1e-12 leaves an error of 1e-6 in X, and asked for less it may stop
    early. So it is asked in two units of the norm and at several tolerances, and its best answer counts.
    """

    def cost(X):
        return gamma * norm_value(X, norm) ** p + 0.5 * np.sum((X - A) ** 2)

    def attempt(unit, tol):
        X, t = cp.Variable(A.shape), cp.Variable(nonneg=True)
        size = {
            "l1": lambda: cp.sum(cp.abs(X)),
            "nuclear": lambda: cp.normNuc(X),
            "rows": lambda: cp.sum(cp.norm(X, 2, axis=1)),
        }[norm]()
        weight = gamma * unit**p
        scale = max(weight, 1.0)
        power = t if p == 1 else cp.power(t, p)
        problem = cp.Problem(
            cp.Minimize(0.5 / scale * cp.sum_squares(X - A) + weight / scale * power),
            [size <= unit * t] + ([] if w is None else in_omega(X, w)),
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
        return X.value

    first = attempt(1.0, 1e-10)
    unit = max(norm_value(first, norm), 1e-6)
    return min([first, *(attempt(unit, tol) for tol in (1e-9, 1e-10, 1e-11))], key=cost)


def printed_admm(M, X0, p, norm, lam, rho, weights, outer, inner, tol, inner_tol, prox=printed_prox):
    """Algorithm 2, line by line; yields X_{k+1} after each outer iteration."""
    rho1, rho2, rho3 = rho
    n = M.shape[1]
    gram = M.T @ M
    X, Y, U = X0.copy(), X0.copy(), np.zeros((n, n))
    Z, W = X0.copy(), X0.copy()
    for _ in range(outer):
        V, S = np.zeros((n, n)), np.zeros((n, n))
        A = Y - U / rho1
        X_k = X
        for _ in range(inner):
            B, D = Z - V / rho2, W - S / rho3
            C_tilde = (rho1 * A + rho2 * B + rho3 * D) / (rho1 + rho2 + rho3)
            gamma = lam / ((rho1 + rho2 + rho3) * np.linalg.norm(Z))
            X_old, X = X, prox(C_tilde, gamma, p, norm)
            C = X + V / rho2
            d = lam * norm_value(X, norm) ** p
            q = d / (rho2 * np.linalg.norm(C) ** 3)
            s = np.cbrt((27 * q + 2 + np.sqrt((27 * q + 2) ** 2 - 4)) / 2)
            Z = (1 / 3 + (s + 1 / s) / 3) * C
            if not np.isfinite(Z).all():
                return  # the printed updates have no value here
            W = project_by_sorting(X + S / rho3, weights)
            V = V + rho2 * (X - Z)
            S = S + rho3 * (X - W)
            if np.linalg.norm(X_old - X) / np.linalg.norm(X_old) < inner_tol:
                break
        Y = np.linalg.solve(gram + rho1 * np.eye(n), gram + rho1 * X + U)
        U = U + rho1 * (X - Y)
        yield X
        if np.linalg.norm(X_k - X) / np.linalg.norm(X_k) < tol:
            break


def printed_dca(M, X0, p, norm, lam, rho, beta, weights, outer, inner, tol, inner_tol, v_update):
    """Algorithm 1, line by line; `v_update(A, γ)` maps X + Z to V; yields X_{k+1}."""
    n = M.shape[1]
    gram = M.T @ M
    X = X0.copy()
    alpha = norm_value(X, norm) ** p / np.linalg.norm(X)
    for _ in range(outer):
        X_k, V, Z = X, X.copy(), np.zeros((n, n))
        for _ in range(inner):
            right = gram + beta * X_k + alpha * X_k / np.linalg.norm(X_k) + rho * (V - Z)
            X_old, X = X, np.linalg.solve(gram + (beta + rho) * np.eye(n), right)
            if not np.isfinite(X).all():
                return
            V = v_update(X + Z, lam / rho)
            Z = Z + X - V
            if np.linalg.norm(X - X_old) / np.linalg.norm(X_old) < inner_tol:
                break
        alpha = norm_value(X, norm) ** p / np.linalg.norm(X)
        yield X
        if np.linalg.norm(X - X_k) / np.linalg.norm(X_k) <= tol:
            break


def least_largest_residual(A, r):
    """min max_j ‖a_j − Ax_j‖₁ with trace r and 0 ≤ x_ij ≤ x_ii ≤ 1: all unknowns and constraints at once."""
    n = A.shape[1]
    X, size, top = cp.Variable((n, n)), cp.Variable(A.shape), cp.Variable()
    d = cp.diag(X)
    rules = [
        X >= 0,
        d <= 1,
        cp.trace(X) == r,
        cp.reshape(d, (n, 1), order="F") @ np.ones((1, n)) >= X,
        size >= A - A @ X,
        size >= A @ X - A,
        cp.sum(size, axis=0) <= top,
    ]
    problem = cp.Problem(cp.Minimize(top), rules)
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    problem.solve(solver="HIGHS", highs_options=tight)
    return problem.value


def balls_with_enough(A, p, r):
    """Columns of the smallest balls of more than r/(r + 1) of the weights p, a ball at a time."""
    p, balls = np.array(p), []
    for _ in range(r):
        best = (np.inf, None)
        for i in range(A.shape[1]):
            apart = [sum(abs(A[:, i] - A[:, j])) for j in range(A.shape[1])]
            for radius in sorted(apart):
                inside = [j for j in range(A.shape[1]) if apart[j] <= radius * (1 + 1e-9)]
                if sum(p[j] for j in inside) > r / (r + 1):
                    best = min(best, (radius, inside), key=lambda pair: pair[0])
                    break
        balls.append(best[1])
        p[best[1]] = 0
    return balls
