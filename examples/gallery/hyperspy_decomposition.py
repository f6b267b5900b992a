"""
HyperSpy: pure spectra as a decomposition
=========================================

HyperSpy decomposes a signal with any scikit-learn estimator. With :class:`sepnmf.SeparableNMF` the factors
are spectra that were measured somewhere in the map, and the loadings are their nonnegative weights.
"""

import hyperspy.api as hs
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

import sepnmf

# %%
# A spectrum image
# ----------------
# Three phases with peaks at different energies, counted with Poisson noise. Your file would be read with
# ``hs.load``.

rng = np.random.default_rng(1)
shape = (40, 50)
patches = np.stack([gaussian_filter(rng.standard_normal(shape), 6) for _ in range(3)])
shares = np.exp(5 * patches / patches.std(axis=(1, 2), keepdims=True))
shares /= shares.sum(axis=0)
energy = np.linspace(0, 10, 200)
lines = [(1.5, 4.0), (2.3, 6.4), (3.7, 8.0)]
phases = np.stack([sum(np.exp(-(((energy - e) / 0.2) ** 2)) for e in pair) for pair in lines])
counts = rng.poisson(200 * np.tensordot(shares, phases, (0, 0)) + 2).astype(float)

signal = hs.signals.Signal1D(counts)
signal.axes_manager[-1].name, signal.axes_manager[-1].units = "Energy", "keV"
signal.axes_manager[-1].scale = energy[1]
print(signal)

# %%
# Decomposition
# -------------

signal.decomposition(
    algorithm=sepnmf.SeparableNMF(n_components=3, random_state=0), output_dimension=3, print_info=False
)
factors = signal.get_decomposition_factors()
loadings = signal.get_decomposition_loadings()
print(factors, loadings)

# %%
# Factors and loadings
# --------------------

figure = plt.figure(figsize=(10, 5), layout="constrained")
top, bottom = figure.subfigures(2, 1)
axes = top.subplots()
for k, colour in enumerate(("#0072b2", "#d55e00", "#009e73")):
    axes.plot(energy, factors.data[k], color=colour, linewidth=1)
axes.set(xlabel="energy (keV)", ylabel="counts")
axes.spines[["top", "right"]].set_visible(False)
grid = bottom.subplots(1, 3, sharey=True)
for axis, picture in zip(grid, loadings.data, strict=True):
    shown = axis.imshow(picture, vmin=0, vmax=1, cmap="cividis")
bottom.colorbar(shown, ax=grid, label="weight")
plt.show()
