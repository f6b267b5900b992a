"""
RamanSPy: unmixing without pysptools
====================================

RamanSPy unmixes images with N-FINDR, PPI and FCLS of the package pysptools, which does not run with current
versions of NumPy and SciPy. The same calls with sepnmf:

================================================  ==============================================
RamanSPy                                          sepnmf
================================================  ==============================================
``unmix.NFINDR(n_endmembers=3)``                  ``sepnmf.nfindr(M, 3)``
``unmix.PPI(n_endmembers=3)``                     ``sepnmf.ppi(M, 3)``
``unmix.VCA(n_endmembers=3)``                     ``sepnmf.vca(M, 3)``
``abundance_method="nnls"``                       ``sepnmf.nnls(W, M)``
``abundance_method="fcls"``                       ``sepnmf.nnls(W, M, sum_to_one=True)``
no number of endmembers                           ``sepnmf.estimate_rank(M)``
no method to choose                               ``sepnmf.select(M, 3)``
================================================  ==============================================
"""

import matplotlib.pyplot as plt
import numpy as np
import ramanspy
from scipy.ndimage import gaussian_filter

import sepnmf

# %%
# A Raman image
# -------------

rng = np.random.default_rng(4)
shape, shift = (40, 60), np.linspace(400, 1800, 300)
patches = np.stack([gaussian_filter(rng.standard_normal(shape), 6) for _ in range(3)])
shares = np.exp(5 * patches / patches.std(axis=(1, 2), keepdims=True))
shares /= shares.sum(axis=0)
peaks = [(621, 1001, 1602), (785, 1095, 1575), (1080, 1300, 1440)]  # cm⁻¹
pure = np.stack([sum(np.exp(-(((shift - p) / 15) ** 2)) for p in places) for places in peaks])
data = np.tensordot(shares, pure, (0, 0)) + 0.1
data += 0.01 * rng.standard_normal(data.shape)
image = ramanspy.SpectralImage(data, shift)

# %%
# Endmembers and abundances
# -------------------------
# A spectral image has the pixels in ``image.flat``; they are the columns of M. Noise makes some entries
# negative, which has to be allowed.

M = image.flat.spectral_data.T
sel = sepnmf.nfindr(M, 3, negative="allow", random_state=0)
W = sel.take(M)
abundances = sepnmf.nnls(W, M, sum_to_one=True).reshape(3, *shape)

best = sepnmf.select(M, 3, negative="allow", random_state=0)
for found in (sel, best):
    angle = sepnmf.metrics.mrsa(found.take(M), pure.T)
    print(f"{found.method}: pixels {found.anchors.tolist()}, MRSA {angle:.2f}")

# %%
# Spectra and maps
# ----------------

endmembers = [ramanspy.Spectrum(w, shift) for w in W.T]
figure = plt.figure(figsize=(10, 5), layout="constrained")
top, bottom = figure.subfigures(2, 1)
axes = top.subplots()
for spectrum, colour in zip(endmembers, ("#0072b2", "#d55e00", "#009e73"), strict=True):
    axes.plot(spectrum.spectral_axis, spectrum.spectral_data, color=colour, linewidth=1)
axes.set(xlabel="Raman shift (cm⁻¹)", ylabel="intensity")
axes.spines[["top", "right"]].set_visible(False)
grid = bottom.subplots(1, 3, sharey=True)
for axis, picture in zip(grid, abundances, strict=True):
    shown = axis.imshow(picture, vmin=0, vmax=1, cmap="cividis")
bottom.colorbar(shown, ax=grid, label="share of the pixel")
plt.show()
