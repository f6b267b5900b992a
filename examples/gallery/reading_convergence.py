"""
Read a convergence plot
=======================

The parameters λ and ρ of :func:`sepnmf.admm` are chosen by the caller. With unsuitable values the iteration
stagnates, oscillates, or collapses to X ≈ 0. The history of a run distinguishes these cases.
(:func:`sepnmf.tuned_admm` finds λ and ρ from the data, and ``method="auto"`` needs no parameter.)
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

import sepnmf

# %%
# Four runs
# ---------
# All runs use the same data. A run that does not reach its tolerance issues a warning; here the warnings are
# recorded and printed.

M, true = sepnmf.datasets.make_midpoint(noise=0.03, random_state=0)
M = np.maximum(M, 0)
parameters = {
    "it converges": {"lam": 1e-3, "rho": 0.01},
    "ρ too large: it stagnates": {"lam": 1e-3, "rho": 10},
    "ρ too small: it oscillates": {"lam": 1e-3, "rho": 1e-4},
    "λ too large: it collapses": {"lam": 1, "rho": 0.1},
}


def run(lam, rho, **options):
    """ADMM-P with the row norm and three equal penalties; its warning, if any, is printed."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        sel = sepnmf.admm(M, 10, norm="rows", lam=lam, rho=(rho, rho, rho), max_outer=200, **options)
    right = len({*sel.anchors} & {*true})
    print(f"λ = {lam}, ρ = {rho}: {sel.status} after {sel.n_outer} iterations, {right} of 10 anchors right")
    for warning in said:
        print("   ", warning.message)
    return sel


runs = {title: run(**values) for title, values in parameters.items()}

# %%
# What to look for
# ----------------
# - **It converges**: the objective becomes constant. The residuals (the distances of X from its copies in the
#   splitting) and the change of X between iterations fall by orders of magnitude.
# - **It stagnates**: the residuals are small from the beginning, and X hardly changes. Small residuals alone
#   do not show convergence: the objective is still far above that of the first run. Decrease ρ.
# - **It oscillates**: the residuals and the change stay large. Increase ρ.
# - **It collapses**: X is so small that the fit equals that of X = 0, the dotted line, and dominates the
#   objective. Decrease λ.

figure, axes = plt.subplots(2, 4, figsize=(12, 5.6), layout="constrained", sharex=True, sharey="row")
nothing = 0.5 * np.linalg.norm(M) ** 2
for (top, bottom), (title, sel) in zip(axes.T, runs.items(), strict=True):
    outer = np.arange(1, sel.n_outer + 1)
    top.semilogy(outer, sel.history["objective"], color="#0072b2", label="objective")
    top.semilogy(outer, sel.history["fit"], color="#d55e00", linestyle="--", label="fit ½‖MX − M‖²")
    top.axhline(nothing, color="0.5", linestyle=":", label="fit of X = 0")
    bottom.semilogy(outer, sel.history["residual_y"], color="#009e73", label="residual ‖X − Y‖")
    bottom.semilogy(outer, sel.history["residual_z"], "--", color="#cc79a7", label="residual ‖X − Z‖")
    bottom.semilogy(outer, sel.history["change"], color="k", linewidth=0.9, label="relative change of X")
    top.set(title=title, ylim=(1e-4, 10))
    bottom.set(xlabel="outer iteration", ylim=(1e-7, 1e4))
    for panel in (top, bottom):
        panel.spines[["top", "right"]].set_visible(False)
axes[0, 0].set_ylabel("objective and fit")
axes[1, 0].set_ylabel("residuals and change")
for row in axes:
    row[0].legend(frameon=False, fontsize="small")
plt.show()

# %%
# Stop early with a callback
# --------------------------
# The anchors are often right long before X has converged. A callback is called with the iterate after every
# outer iteration. If it returns true, the run ends with status "stopped". This callback ends the run when the
# anchors have not changed for ten iterations.

seen = []


def settled(state):
    """Tell whether the ten largest diagonal entries have not changed for ten iterations."""
    seen.append(frozenset(np.argsort(-np.diag(state.X))[:10]))
    return len(seen) >= 10 and len(set(seen[-10:])) == 1


sel = run(lam=1e-3, rho=0.01, callback=settled)

# %%
# With p = 1 a λ that is too large sets all entries to zero at once, and the status is "collapsed".

sel = run(lam=1, rho=0.1, p=1)
