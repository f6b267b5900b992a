"""The main job on generated data: find the anchors, print them beside the true ones, draw a picture.

Run by `make demo`. Takes no arguments and writes demo/anchors.png.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import sepnmf

r = 10
M, true = sepnmf.datasets.make_midpoint(noise=0.03, random_state=0)
sel = sepnmf.admm(M, r, p=2, norm="rows", lam=1e-3, rho=(0.01, 0.01, 0.01), negative="clip")

print(f"M is {M.shape[0]} × {M.shape[1]}: {r} anchors, and the midpoints of every pair of them, disturbed.\n")
print("  rank  column  score x_ii  a true anchor?")
for rank, column in enumerate(sel.anchors, start=1):
    print(f"  {rank:4d}  {column:6d}  {sel.scores[column]:10.4f}  {'yes' if column in true else 'NO'}")
next_best = np.delete(sel.scores, sel.anchors).max()
print(f"\n  The best column that was not chosen has score {next_best:.4f}.")
print(
    f"  {len(set(sel.anchors) & set(true))} of {r} true anchors found; {sel.status} after {sel.n_outer} outer"
)
print(f"  iterations in {sel.seconds:.2f} s; λR + fit = {sel.history['objective'][-1]:.4g}.")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")

# The two leading principal components of the columns: anchors are the corners of what the others fill.
centred = M - M.mean(axis=1, keepdims=True)
plane = np.linalg.svd(centred, full_matrices=False)[0][:, :2].T @ centred
left.scatter(*plane, s=22, color="0.65", label="columns of M")
left.scatter(
    *plane[:, true], s=150, facecolors="none", edgecolors="#0072b2", linewidths=1.6, label="true anchors"
)
left.scatter(*plane[:, sel.anchors], s=36, color="#d55e00", marker="x", linewidths=1.8, label="anchors found")
left.set(title="Columns, in their two leading principal components", xticks=[], yticks=[])
left.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False)
left.spines[:].set_visible(False)

order = np.argsort(-sel.scores)
colours = np.where(np.isin(order, true), "#0072b2", "0.65")
right.bar(np.arange(order.size), sel.scores[order], color=colours, width=0.85)
right.axvline(r - 0.5, color="#d55e00", linestyle="--", linewidth=1.2)
right.annotate(f"r = {r}", (r - 0.2, sel.scores.max()), color="#d55e00", va="top")
right.set(title="Score of every column (blue: true anchors)", xlabel="columns, best first", ylabel="$x_{ii}$")
right.spines[["top", "right"]].set_visible(False)

folder = Path("demo")
folder.mkdir(exist_ok=True)
unfinished = folder / "anchors.part.png"
figure.savefig(unfinished, dpi=130)
unfinished.replace(folder / "anchors.png")
print(f"\n  Picture: {folder / 'anchors.png'}")
