"""
Unmix a hyperspectral image
===========================

A pixel of a hyperspectral image is a spectrum. If a pixel contains several materials, its spectrum is a
mixture of theirs. The *anchors* are the pure pixels, which contain one material only. The weights of all
pixels on the anchors are the abundance maps of the materials.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

import sepnmf

# %%
# A scene
# -------
# The scene has four materials with smooth spectra, in patches over 60 × 80 pixels. A pixel in the middle of a
# patch is almost pure; a pixel at its boundary is a mixture. As in a measured scene, the spectrum of a
# material varies from pixel to pixel, and every value has noise.

rng = np.random.default_rng(3)
names = ["water", "soil", "grass", "roof"]
wavelengths = np.linspace(0.4, 2.5, 120)  # micrometres


def bump(centre, width):
    """A smooth peak in the spectrum."""
    return np.exp(-(((wavelengths - centre) / width) ** 2))


spectra = np.column_stack(
    [
        0.05 + 0.20 * bump(0.5, 0.25),
        0.10 + 0.45 * bump(1.7, 0.9) - 0.08 * bump(2.2, 0.1),
        0.06 + 0.12 * bump(0.55, 0.06) + 0.50 * bump(1.0, 0.3) + 0.22 * bump(1.65, 0.2),
        0.30 + 0.20 * bump(0.7, 0.2) - 0.12 * bump(1.3, 0.5) + 0.15 * bump(2.3, 0.3),
    ]
)

shape = (60, 80)
patches = np.stack([gaussian_filter(rng.standard_normal(shape), 8) for _ in names])
patches /= patches.std(axis=(1, 2), keepdims=True)
abundance = np.exp(4 * patches)
abundance /= abundance.sum(axis=0)

M = spectra @ abundance.reshape(len(names), -1)
wobble = gaussian_filter(rng.standard_normal(M.shape), (10, 0))  # smooth along the bands
M *= 1 + 0.05 * wobble / wobble.std()
M = np.maximum(M + 0.002 * rng.standard_normal(M.shape), 0)
print(f"{M.shape[0]} bands × {M.shape[1]} pixels; the purest pixels: {abundance.max(axis=(1, 2)).round(3)}")

# %%
# Endmembers and abundances
# -------------------------
# Pixels are the columns of ``M``. :func:`sepnmf.select` needs only the number of materials. The abundances
# are computed by nonnegative least squares; with ``sum_to_one`` they are shares of a pixel.

sel = sepnmf.select(M, 4, random_state=0)
endmembers = M[:, sel.anchors]
maps = sepnmf.nnls(endmembers, M, sum_to_one=True).reshape(4, *shape)

angle = sepnmf.metrics.sam(endmembers, spectra)
print(f"anchors {sel.anchors.tolist()} in {sel.seconds:.1f} s; mean angle to the true spectra {angle:.1f}°")

# %%
# Plot
# ----
# The anchors have no names. Here each material is assigned the anchor whose map has the highest correlation
# with the true map. For your own scene, identify the materials by their spectra.

likeness = np.corrcoef(maps.reshape(4, -1), abundance.reshape(4, -1))[:4, 4:]
who = likeness.argmax(axis=0)  # the anchor of each material
colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]
rows, columns = np.unravel_index(sel.anchors[who], shape)

figure = plt.figure(figsize=(10, 6.6), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=[1, 1.15])

axes = top.subplots()
for name, colour, anchor, spectrum in zip(names, colours, who, spectra.T, strict=True):
    axes.plot(wavelengths, spectrum, color="0.6", linewidth=4)
    axes.plot(wavelengths, endmembers[:, anchor], color=colour, linewidth=1.2, label=name)
axes.plot([], [], color="0.6", linewidth=4, label="true")
axes.set(xlabel="wavelength (µm)", ylabel="reflectance", title="Spectra of the four anchors")
axes.legend(frameon=False, ncols=5, loc="upper center")
axes.set_ylim(0, 0.72)
axes.spines[["top", "right"]].set_visible(False)

grid = bottom.subplots(2, 4, sharex=True, sharey=True)
for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
    image = grid[0, k].imshow(maps[who[k]], vmin=0, vmax=1, cmap="cividis")
    grid[0, k].plot(columns[k], rows[k], "o", markersize=11, markeredgecolor="w", markerfacecolor=colour)
    grid[0, k].set_title(name)
    grid[1, k].imshow(abundance[k], vmin=0, vmax=1, cmap="cividis")
    grid[1, k].set_xlabel("sample")
grid[0, 0].set_ylabel("found\nline")
grid[1, 0].set_ylabel("true\nline")
bottom.colorbar(image, ax=grid, label="share of the pixel")
plt.show()
