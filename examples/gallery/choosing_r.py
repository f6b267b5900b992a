"""
Choose the number of anchors
============================

:func:`sepnmf.estimate_rank` estimates the number of anchors, or a range for it, and returns the evidence.
``sepnmf.select(M, "auto")`` uses the smallest number of the range.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d

import sepnmf

# %%
# White noise: the singular values
# --------------------------------
# The data are seven anchors and 93 mixtures of them, with white noise on all columns. The squared singular
# values of white noise stay below an edge that can be computed. The singular values above it belong to the
# anchors.

M, _ = sepnmf.datasets.make_dirichlet(noise=0.1, r=7, random_state=0)
white = sepnmf.estimate_rank(M, negative="allow")
print(white.low, white.high, white.evidence)

# %%
# No white noise: the residual curve
# ----------------------------------
# In measured data the misfit is not white noise. Here each of 400 columns is a mixture of five spectra with
# smooth deviations of its own, so the singular values have no edge. The estimate then uses the residual of
# the best r columns as a function of r. The curve bends at the number of anchors. If the bend is not sharp,
# the result is a range, and ``certain`` is false.

rng = np.random.default_rng(0)
spectra = gaussian_filter1d(rng.uniform(size=(100, 5)), 4, axis=0)
spectra = (spectra - spectra.min(axis=0)) / np.ptp(spectra, axis=0)
mixtures = spectra @ np.hstack([np.eye(5), rng.dirichlet([0.5] * 5, size=395).T])
deviations = gaussian_filter1d(rng.standard_normal(mixtures.shape), 4, axis=0)
measured = np.maximum(mixtures * (1 + 0.05 * deviations / deviations.std()), 0)
bent = sepnmf.estimate_rank(measured)
print(bent.low, bent.high, bent.evidence)

# %%
# The curves
# ----------
# ``curve`` contains the values on which the estimate is based.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
values = white.curve["squared_singular_value"]
edge = white.curve["edge"]
index = white.curve["index"]
above = index <= white.low
left.semilogy(index[above], values[above], "o", color="#0072b2", label="anchors")
left.semilogy(index[~above], values[~above], "o", color="0.6", label="noise")
left.semilogy(index[: len(edge)], edge, color="#d55e00", label="edge of white noise")
left.set(title=f"White noise: r = {white.low}", xlabel="index", ylabel="squared singular value", xlim=(0, 30))
left.legend(frameon=False)

right.semilogy(bent.curve["r"], bent.curve["relative_residual"], "o-", color="#0072b2")
right.axvspan(bent.low - 0.3, bent.high + 0.3, color="#d55e00", alpha=0.2)
answer = f"r = {bent.low}" if bent.certain else f"r from {bent.low} to {bent.high}"
right.set(title=f"Smooth deviations: {answer}", xlabel="number of anchors r", ylabel="relative residual")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
