"""
Choose the method
=================

Methods differ in what they take for a sign of an anchor, and so in the noise they stand. This example runs
several of them on two kinds of data at two levels of noise each, where the anchors are known.
"""

import matplotlib.pyplot as plt
import numpy as np

import sepnmf

# %%
# Two kinds of noise
# ------------------
# In :func:`~sepnmf.datasets.make_midpoint` the columns between two anchors are pushed outwards and the
# anchors are left alone: an adversary of every method that looks for extreme columns. In
# :func:`~sepnmf.datasets.make_dirichlet` all columns, anchors included, have the same white noise.

kinds = {
    ("midpoints\npushed out", 0.1): sepnmf.datasets.make_midpoint,
    ("midpoints\npushed out", 0.3): sepnmf.datasets.make_midpoint,
    ("white noise\non all", 0.1): sepnmf.datasets.make_dirichlet,
    ("white noise\non all", 0.4): sepnmf.datasets.make_dirichlet,
}
greedy = ["xray", "snpa", "spa", "preconditioned-spa", "nfindr", "vca"]
methods = ["auto", "tuned-admm", "fgnsr", "merit", *greedy]

# %%
# Share of the anchors found
# --------------------------
# Every method is called in the same way, through :func:`sepnmf.select`, with its defaults; one of them
# draws random numbers. Noise makes some entries negative; ``negative="allow"`` keeps them.

seeds = range(4)
found = np.zeros((len(methods), len(kinds)))
seconds = np.zeros(len(methods))
for j, ((_, noise), make) in enumerate(kinds.items()):
    for seed in seeds:
        M, true = make(noise, random_state=seed)
        for i, method in enumerate(methods):
            options = {"random_state": 0} if method == "vca" else {}
            sel = sepnmf.select(M, 10, method, negative="allow", **options)
            found[i, j] += sepnmf.metrics.mean_recovery(sel.anchors, true) / len(seeds)
            seconds[i] += sel.seconds / len(seeds) / len(kinds)

for method, row, time in zip(methods, found, seconds, strict=True):
    print(f"{method:20}", *(f"{share:6.2f}" for share in row), f"{1000 * time:8.0f} ms")

# %%
# The picture
# -----------
# Most methods fail somewhere. Convex models (``fgnsr``, ``merit``) withstand the adversary, greedy
# ones do not; white noise on every column is what ``merit`` cannot stand with its default λ. ``auto`` looks
# at the data first and is the best, or as good, in every column. Which method is made for what:
# :doc:`/which-method`.

figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
image = axes.imshow(found, cmap="cividis", vmin=0, vmax=1, aspect="auto")
for (i, j), share in np.ndenumerate(found):
    axes.text(j, i, f"{share:.2f}", ha="center", va="center", color="k" if share > 0.5 else "w")
axes.set_xticks(range(len(kinds)), [f"{kind}\nε = {noise}" for kind, noise in kinds])
axes.set_yticks(range(len(methods)), methods)
axes.set(xlabel="kind of noise and its level", ylabel="method", title="Share of the ten anchors found")
figure.colorbar(image, label="share found")
plt.show()
