"""
Add a norm
==========

The numerator of the ratio can be any norm that is a sum of magnitudes of a matrix: of its entries, its
singular values or its rows. A norm is one class with one method, ``split``, which returns the magnitudes and
a function that rebuilds a matrix from new magnitudes. The proximal map for every power p and both
algorithms are derived from it.
"""

import matplotlib.pyplot as plt
import numpy as np

import sepnmf
from sepnmf.model import NORMS, Norm, Split, prox_power, ratio

# %%
# The class
# ---------
# The new norm is the sum of the Euclidean norms of the *columns*. The magnitudes are the norms of the
# columns. To rebuild a matrix, each column is scaled to its new norm.


class ColumnNorm(Norm):
    """Σ_j ‖A_:j‖₂, the sum of the Euclidean norms of the columns."""

    name = "columns"

    def split(self, A):
        """Norms of columns, attached to their directions."""
        lengths = np.linalg.norm(A, axis=0)
        safe = np.where(lengths > 0, lengths, 1)
        return Split(lengths, lambda x: A * (x / safe), A.shape[1])


# %%
# Register it
# -----------
# In a script it is enough to add an instance to the dictionary. A contribution to the library adds the class
# to the tuple behind ``NORMS`` in ``sepnmf/model/norms.py`` (:doc:`/contributing`).

NORMS["columns"] = ColumnNorm()

rng = np.random.default_rng(0)
A = rng.standard_normal((12, 16)) * np.linspace(0.2, 1.5, 16) * np.linspace(1.2, 0.4, 12)[:, None]
print(f"R_2 = ‖A‖²/‖A‖_F with the new norm: {ratio(A, p=2, norm='columns'):.2f}")
shrunk = {
    norm: prox_power(A, gamma=gamma, p=2, norm=norm)
    for norm, gamma in (("l1", 0.006), ("rows", 0.1), ("columns", 0.1))
}

# %%
# The proximal map X can be tested independently of how it is computed: A − X is γ times a subgradient of
# ‖·‖^p at X, so that ⟨A − X, X⟩ = pγ‖X‖^p.

X = shrunk["columns"]
print(f"{np.vdot(A - X, X):.6f} = {2 * 0.1 * NORMS['columns'].value(X) ** 2:.6f}")

# %%
# :func:`sepnmf.admm` accepts the name too. The new norm is only an example: it favours few nonzero
# *columns* of X. To select anchors use "rows", which favours few nonzero rows.

M, _ = sepnmf.datasets.make_midpoint(noise=0.01, random_state=0)
sel = sepnmf.admm(M, 10, norm="columns", lam=1e-3, rho=(0.1, 0.1, 0.1))
print(sel.status, "after", sel.n_outer, "outer iterations")

# %%
# Plot
# ----
# Each proximal map sets to zero what its norm sums over: single entries, whole rows or whole columns.

figure, axes = plt.subplots(2, 2, figsize=(8, 5.6), layout="constrained", sharex=True, sharey=True)
for panel, (title, matrix) in zip(axes.flat, {"A": A, **shrunk}.items(), strict=True):
    image = panel.imshow(matrix, cmap="RdBu_r", vmin=-2, vmax=2)
    panel.set_title(title if title == "A" else f'norm="{title}"')
    panel.set(xlabel="column", ylabel="row", xticks=[0, 5, 10, 15], yticks=[0, 5, 10])
    panel.label_outer()
figure.colorbar(image, ax=axes, label="entry", pad=0.02)
plt.show()

# %%
# Restore the registry.

del NORMS["columns"]
