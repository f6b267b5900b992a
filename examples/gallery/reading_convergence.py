"""
Read a convergence plot
=======================

:func:`sepnmf.admm` takes λ and ρ from you, and with the wrong ones it stagnates, swings or shrinks everything
to nothing. The history of a run tells these apart. (Without values at hand, :func:`sepnmf.tuned_admm` finds
them from the data, and ``method="auto"`` needs none.)
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

import sepnmf

# %%
# Four runs
# ---------
# The same data each time. A run that does not reach its tolerance says so in a warning; here the warnings are
# kept and printed.

M, true = sepnmf.datasets.make_midpoint(noise=0.03, random_state=0)
M = np.maximum(M, 0)
parameters = {
    "it converges": {"lam": 1e-3, "rho": 0.01},
    "ρ too large: it stagnates": {"lam": 1e-3, "rho": 10},
    "ρ too small: it swings": {"lam": 1e-3, "rho": 1e-4},
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
# - **It converges**: the objective settles, and the residuals (how far X is from its copies in the
#   splitting) fall by orders of magnitude, together with the change from one iterate to the next.
# - **It stagnates**: residuals are small from the beginning and little moves. Small residuals alone mean
#   nothing: the objective is still far above that of the first run. Make ρ smaller.
# - **It swings**: residuals and change stay large. Make ρ larger.
# - **It collapses**: X is so small that the fit is that of X = 0, the dotted line, and all of the objective.
#   Make λ smaller.

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
# Stop earlier, by a callback
# ---------------------------
# The anchors are often right long before X has converged. A callback sees the iterate after every outer
# iteration; if what it returns is true, the run ends, with status "stopped". This one ends when the anchors
# have been the same for ten iterations.

seen = []


def settled(state):
    """Tell whether the ten largest diagonal entries have not changed for ten iterations."""
    seen.append(frozenset(np.argsort(-np.diag(state.X))[:10]))
    return len(seen) >= 10 and len(set(seen[-10:])) == 1


sel = run(lam=1e-3, rho=0.01, callback=settled)

# %%
# With p = 1 a λ that is too large cuts everything to zero at once, and the status says "collapsed".

sel = run(lam=1, rho=0.1, p=1)
