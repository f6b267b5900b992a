"""
Add a method
============

A method is a function ``(M, r, …) -> Selection``. Once its name is in ``sepnmf.METHODS``, it can be called
through :func:`sepnmf.select`, refined by exchanges, and used in the scikit-learn estimators.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import sepnmf
from sepnmf import METHODS, Selection

# %%
# The function
# ------------
# Leverage scores: with the r leading right singular vectors V of M, a column's score is the squared length of
# its row of V. It says how much the column alone determines the best subspace of dimension r.


def leverage(M, r, *, negative="error"):
    """Pick the r columns with the largest leverage scores."""
    start = time.perf_counter()
    if negative == "error" and np.min(M) < 0:
        raise ValueError('M has negative entries: pass negative="clip" or "allow".')
    data = np.maximum(M, 0) if negative == "clip" else np.asarray(M)
    Vt = np.linalg.svd(data, full_matrices=False)[2][:r]
    scores = np.square(Vt).sum(axis=0)
    anchors = np.argsort(-scores, kind="stable")[:r]
    return Selection(anchors=anchors, scores=scores, method="leverage", seconds=time.perf_counter() - start)


# %%
# Register it
# -----------
# A contribution would be one file in ``sepnmf/methods/`` (:doc:`/contributing`), with its checks from
# ``sepnmf.validation``. In a script the dictionary will do.

METHODS["leverage"] = leverage

M, true = sepnmf.datasets.make_dirichlet(noise=0.05, random_state=0)
sel = sepnmf.select(M, 10, method="leverage", negative="allow")
print(sel)
model = sepnmf.SeparableNMF(n_components=10, method="leverage", negative="allow").fit(M.T)
print("the same samples from the estimator:", np.array_equal(model.anchor_indices_, sel.anchors))

# %%
# Compare it
# ----------
# With ``refine=True`` any method's answer is only a start: anchors are exchanged one at a time while that
# helps. On these data the columns between two anchors stick out, and from ε = 0.2 on neither rule sees
# through that.

levels = np.linspace(0, 0.35, 8)
seeds = range(4)
contestants = {
    "leverage": {"method": "leverage"},
    "leverage, refined": {"method": "leverage", "refine": True},
    "spa": {"method": "spa"},
}
shares = {name: [] for name in contestants}
for level in levels:
    data = [sepnmf.datasets.make_midpoint(level, random_state=seed) for seed in seeds]
    for name, options in contestants.items():
        found = [sepnmf.select(M, 10, negative="allow", **options).anchors for M, _ in data]
        shares[name].append(sepnmf.metrics.mean_recovery(found, [true for _, true in data]))

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
styles = [("#d55e00", "s--"), ("#0072b2", "o-"), ("#009e73", "^:")]
for (name, share), (colour, style) in zip(shares.items(), styles, strict=True):
    axes.plot(levels, share, style, color=colour, label=name)
axes.set(title="A new method, alone and refined", xlabel="noise level ε", ylabel="share of the anchors found")
axes.legend(frameon=False, loc="center left")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Leave the registry as it was.

del METHODS["leverage"]
