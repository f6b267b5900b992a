"""
scanpy: pure cells and marker genes
===================================

In single-cell data some cells are nearly pure: they express the programme of one cell type. The other cells
are mixtures. :class:`sepnmf.SeparableNMF` finds pure cells and weights of all cells;
:class:`sepnmf.AnchorSelector` finds genes that explain the others.
"""

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scanpy as sc
from scipy import sparse

import sepnmf

# %%
# Cells
# -----
# Three cell types and cells on the way between them; counts of 300 genes. Your file would be read with
# ``sc.read_h5ad``. Large files may be opened with ``backed="r"``: they are read in blocks.

rng = np.random.default_rng(0)
programmes = rng.gamma(0.3, 1.0, (3, 300))
mixture = np.vstack([np.repeat(np.eye(3), 40, axis=0), rng.dirichlet(np.full(3, 0.4), 480)])
rates = mixture @ (programmes / programmes.sum(axis=1, keepdims=True))
counts = sparse.csr_matrix(rng.poisson(5000 * rates))
adata = anndata.AnnData(
    counts.astype(np.float32),
    obs=pd.DataFrame(index=[f"cell {i}" for i in range(600)]),
    var=pd.DataFrame(index=[f"gene {j}" for j in range(300)]),
)
sc.pp.normalize_total(adata, target_sum=1e4)

# %%
# Pure cells, and the weights of all cells
# ----------------------------------------
# The estimators take AnnData. Results go where scanpy expects them: weights of cells into ``obsm``, the
# expression of the pure cells into ``varm``.

model = sepnmf.SeparableNMF(n_components=3, random_state=0)
adata.obsm["X_sepnmf"] = model.fit_transform(adata)
adata.varm["sepnmf"] = model.components_.T
print("pure cells:", model.selection_.names)

truth = np.corrcoef(adata.obsm["X_sepnmf"].T, mixture.T)[:3, 3:]
print("correlation with the true shares:", truth.max(axis=1).round(3))

# %%
# Marker genes
# ------------
# Genes are the columns of AnnData, so that :func:`sepnmf.select` chooses genes. ``sel.take`` returns AnnData.

sel = sepnmf.select(adata, 3, random_state=0)
print("genes:", sel.names)
print(sel.take(adata))

# %%
# A plot of the weights
# ---------------------
# Weights divided by their sums are shares, drawn here in a triangle whose corners are the pure cells.

share = adata.obsm["X_sepnmf"] / adata.obsm["X_sepnmf"].sum(axis=1, keepdims=True)
corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.87]])
places = share @ corners
figure, axis = plt.subplots(figsize=(6, 5), layout="constrained")
shown = axis.scatter(*places.T, c=mixture.max(axis=1), s=10, cmap="cividis")
axis.plot(*corners[[0, 1, 2, 0]].T, color="0.6", linewidth=1, zorder=0)
for name, corner in zip(model.selection_.names, corners, strict=True):
    axis.annotate(name, corner, textcoords="offset points", xytext=(0, 8 if corner[1] else -14), ha="center")
axis.set_axis_off()
axis.margins(0.12)
figure.colorbar(shown, label="largest true share of a type")
plt.show()
