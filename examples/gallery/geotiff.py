"""
From GeoTIFF to GeoTIFF
=======================

A scene on the ground has coordinates, and pixels without data. Both are kept: pixels without data are neither
selected nor explained, and the maps are where the scene is.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import rasterio
from scipy.ndimage import gaussian_filter

import sepnmf
from sepnmf.io import read, write_cube

# %%
# A scene
# -------
# This part stands for your file. It writes three materials, 40 bands, in UTM zone 33. A corner outside the
# flight line has the nodata value 65535.

rng = np.random.default_rng(0)
shape = (70, 90)
patches = np.stack([gaussian_filter(rng.standard_normal(shape), 9) for _ in range(3)])
abundance = np.exp(4 * patches / patches.std(axis=(1, 2), keepdims=True))
abundance /= abundance.sum(axis=0)
bands = np.linspace(0, 1, 40)[:, None]
spectra = 0.1 + 0.5 * np.exp(-(((bands - [0.2, 0.5, 0.85]) / 0.25) ** 2))
cube = np.tensordot(spectra, abundance, 1) + 0.002 * rng.standard_normal((40, *shape))
cube = np.clip(10_000 * cube, 0, None).astype(np.uint16)
outside = np.add.outer(np.arange(shape[0]), np.arange(shape[1])) < 40
cube[:, outside] = 65535

folder = Path(tempfile.mkdtemp())
profile = {"driver": "GTiff", "count": 40, "height": shape[0], "width": shape[1], "dtype": "uint16"}
profile |= {"crs": "EPSG:32633", "transform": rasterio.Affine(30, 0, 400_000, 0, -30, 5_000_000)}
with rasterio.open(folder / "scene.tif", "w", nodata=65535, **profile) as image:
    image.write(cube)

# %%
# Endmembers and maps
# -------------------
# :func:`sepnmf.io.read` notes what is left out. ``data.matrix()`` has the pixels with data only; the anchors
# are still indices into all pixels of the file. The command line does all of this at once:
# ``sepnmf unmix scene.tif -r 3``.

data = read(folder / "scene.tif")
print(*data.left_out)

M = data.matrix()
sel = sepnmf.select(M, 3, random_state=0)
print("anchors:", [data.pixel(j) for j in sel.anchors.tolist()])

H = sepnmf.nnls(M.at(sel.anchors), M)  # NaN where there is no data
written = write_cube(folder / "maps", H, data, data.column_labels(sel.anchors))

# %%
# The maps
# --------
# rasterio opens them with the same coordinates, and masks the pixels without data.

with rasterio.open(written) as image:
    print(written.name, image.crs, image.bounds, f"nodata {image.nodata:g}")
    maps, bounds = image.read(masked=True), image.bounds

figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for axis, picture, (line, sample) in zip(axes, maps, map(data.pixel, sel.anchors.tolist()), strict=True):
    extent = (bounds.left, bounds.right, bounds.bottom, bounds.top)
    shown = axis.imshow(picture, vmin=0, vmax=1, extent=extent, cmap="cividis")
    axis.plot(*image.xy(line, sample), "o", color="w", markeredgecolor="k")
    axis.set(xlabel="easting (m)")
    axis.ticklabel_format(style="plain", useOffset=False)
    axis.tick_params(axis="x", rotation=30)
axes[0].set_ylabel("northing (m)")
figure.colorbar(shown, ax=axes, label="weight")
plt.show()
