"""
Add a method
============

A method is a function ``(M, r, …) -> Selection`` and a record. When the record is in ``sepnmf.METHODS``, the
method can be called through :func:`sepnmf.select`, refined by exchanges, used in the scikit-learn estimators
and on Dask arrays, and is listed by ``sepnmf methods``.
"""

import matplotlib.pyplot as plt
import numpy as np

import sepnmf
from sepnmf import METHODS, Selection
from sepnmf.matrix import as_matrix
from sepnmf.methods import Method

# %%
# The function
# ------------
# This method uses leverage scores. With the r leading right singular vectors V of M, the score of a column
# is the squared length of its row of V. It measures how much the column determines the best subspace of
# dimension r.


def leverage(M, r, *, negative="error"):
    """Pick the r columns with the largest leverage scores."""
    data = as_matrix(M, negative).dense()
    Vt = np.linalg.svd(data, full_matrices=False)[2][:r]
    scores = np.square(Vt).sum(axis=0)
    anchors = np.argsort(-scores, kind="stable")[:r]
    return Selection(anchors=anchors, scores=scores)


# %%
# Its record
# ----------
# The record says what has to be known to choose, run and show the method. In a script it is enough to add
# it to the dictionary. A contribution to the library is one file in ``sepnmf/methods/`` whose function has
# the decorator ``@method(…)`` with the same facts (:doc:`/contributing`).

METHODS["leverage"] = Method(
    leverage,
    summary="largest leverage scores",
    use="to have a simple method to compare with",
    cost="SVD",
    sparse=False,
)

M, true = sepnmf.datasets.make_dirichlet(noise=0.05, random_state=0)
sel = sepnmf.select(M, 10, method="leverage", negative="allow")
print(sel)
model = sepnmf.SeparableNMF(n_components=10, method="leverage", negative="allow").fit(M.T)
print("the same samples from the estimator:", np.array_equal(model.anchor_indices_, sel.anchors))

# %%
# Compare it
# ----------
# With ``refine=True`` the answer of a method is a starting point: anchors are exchanged one at a time while
# that improves the criterion. In these data the noise moves the midpoints of two anchors outwards. From
# ε = 0.2 on, neither of the two selection rules finds the anchors without refinement.

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
# Restore the registry.

del METHODS["leverage"]
