"""
Choose the method
=================

Methods differ in how they recognise an anchor, and therefore in the noise that they tolerate. This example
runs several methods on two kinds of data with known anchors, at two noise levels each.
"""

import matplotlib.pyplot as plt
import numpy as np

import sepnmf

# %%
# Two kinds of noise
# ------------------
# In :func:`~sepnmf.datasets.make_midpoint` the midpoints of two anchors are moved outwards and the anchors
# are unchanged. This noise is adversarial for every method that looks for extreme columns. In
# :func:`~sepnmf.datasets.make_dirichlet` all columns, including the anchors, have white noise.

kinds = {
    ("midpoints\npushed out", 0.1): sepnmf.datasets.make_midpoint,
    ("midpoints\npushed out", 0.3): sepnmf.datasets.make_midpoint,
    ("white noise\non all", 0.1): sepnmf.datasets.make_dirichlet,
    ("white noise\non all", 0.4): sepnmf.datasets.make_dirichlet,
}
greedy = ["xray", "snpa", "spa", "preconditioned_spa", "nfindr", "vca"]
methods = ["auto", "tuned_admm", "fgnsr", "merit", *greedy]

# %%
# Share of the anchors found
# --------------------------
# Every method is a function with the same first arguments and is called with its defaults. ``nfindr`` and
# ``vca`` use random numbers and get a seed. ``negative="allow"`` keeps the negative entries that noise
# creates. (:func:`sepnmf.select` takes the same names as strings.)

seeds = range(4)
found = np.zeros((len(methods), len(kinds)))
seconds = np.zeros(len(methods))
for j, ((_, noise), make) in enumerate(kinds.items()):
    for seed in seeds:
        M, true = make(noise, random_state=seed)
        for i, method in enumerate(methods):
            options = {"random_state": 0} if method in ("nfindr", "vca") else {}
            sel = getattr(sepnmf, method)(M, 10, negative="allow", **options)
            found[i, j] += sepnmf.metrics.mean_recovery(sel.anchors, true) / len(seeds)
            seconds[i] += sel.seconds / len(seeds) / len(kinds)

for method, row, time in zip(methods, found, seconds, strict=True):
    print(f"{method:20}", *(f"{share:6.2f}" for share in row), f"{1000 * time:8.0f} ms")

# %%
# Plot
# ----
# Most methods fail on some of the data. The convex models ``fgnsr`` and ``merit`` tolerate the adversarial
# noise, the greedy methods do not. ``merit`` with its default λ does not tolerate white noise on every
# column. ``auto`` examines the data first; in every column it has the largest share, or shares it. See
# :doc:`/which-method` for the purpose of each method.

figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
image = axes.imshow(found, cmap="cividis", vmin=0, vmax=1, aspect="auto")
for (i, j), share in np.ndenumerate(found):
    axes.text(j, i, f"{share:.2f}", ha="center", va="center", color="k" if share > 0.5 else "w")
axes.set_xticks(range(len(kinds)), [f"{kind}\nε = {noise}" for kind, noise in kinds])
axes.set_yticks(range(len(methods)), methods)
axes.set(xlabel="kind of noise and its level", ylabel="method", title="Share of the ten anchors found")
figure.colorbar(image, label="share found")
plt.show()
