"""Feature matrices of the hand gestures, made as the paper makes them.

Resize, rotate (grayscale sets only), keep the most representative images of each gesture, describe them by
HOG or LBP, drop the features that are zero everywhere. Where the paper is silent:

- *Representative* are the images that lose least when a gesture's images are written in its leading principal
  components, as few as explain 90 % of the variance.
- Rotations keep the size of the image and repeat its edge where they reach beyond it.
- Black-and-white images stay black and white when they are resized, as MATLAB's do.
- The public grey set has 200 images of a gesture; the first 40 are taken, as many as the paper has.
- LBP has cells of 8 × 8 pixels for the binary sets and 10 × 10 for the grey ones, which gives numbers of
  features near the paper's.
- Images are rounded to 256 grey values before they are described, as MATLAB's are; otherwise rounding errors
  of the resizing would be features of the empty background.

A rotation by a degree is nearly the image itself. Of the rotated sets, the choice therefore takes several
versions of the same picture, and a random split puts some into the training part and some into the test
part: accuracies on these sets flatter every method, in the paper as here. `originals` says which images
belong together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from sepnmf._typing import Floats, Ints
from sepnmf._validation import check_choice
from sepnmf.datasets._gestures import (
    Gestures,
    load_gestures_binary,
    load_gestures_gray,
    load_goyal_2020,
    load_hgm4,
)

Kind = Literal["HOG", "LBP"]

CELL = 8
PATTERNS = 59


@dataclass(frozen=True)
class Recipe:
    """How the images of a set are prepared."""

    load: Callable[[], Gestures]
    shape: tuple[int, int]  # height and width to resize to; width and height for images wider than high
    angles: tuple[float, ...]  # degrees to rotate each image by, besides leaving it as it is
    per_class: int  # images kept of each gesture
    binary: bool = False  # whether the images are black and white, and stay so
    most: int | None = None  # images taken of each gesture before any is rotated or chosen; None for all
    cell: int = CELL  # height and width of LBP's cells


BINARY: dict[str, Any] = {"shape": (75, 75), "angles": (), "per_class": 50, "binary": True}
GRAY: dict[str, Any] = {"shape": (80, 45), "angles": (-2, -1, 1, 2), "per_class": 25, "cell": 10}
RECIPES = {
    "binary": Recipe(load_gestures_binary, **BINARY),
    "gray": Recipe(load_gestures_gray, most=40, **GRAY),
    "goyal_2020": Recipe(load_goyal_2020, **BINARY),
    "hgm4": Recipe(load_hgm4, **GRAY),
}


@cache
def features(dataset: str, kind: Kind) -> tuple[Floats, Ints]:
    """Images × features, nonnegative, no column zero, and the gesture of each image; both read-only."""
    check_choice(kind, "kind", ("HOG", "LBP"))
    images, labels, _ = chosen_images(dataset)
    cell = RECIPES[dataset].cell
    described = [hog(image) if kind == "HOG" else lbp(image, cell) for image in images]
    F = without_zero_columns(np.array(described))
    F.setflags(write=False)
    return F, labels


def originals(dataset: str) -> Ints:
    """Which image of the set, as loaded, each row of `features(dataset, …)` is or is a rotation of."""
    return chosen_images(dataset)[2]


@cache
def chosen_images(dataset: str) -> tuple[list[Floats], Ints, Ints]:
    """The images described, their labels, and what they are versions of."""
    recipe = RECIPES[check_choice(dataset, "dataset", RECIPES)]
    images, labels, origins = prepare(recipe.load(), recipe)
    for kept in (*images, labels, origins):
        kept.setflags(write=False)
    return images, labels, origins


def prepare(data: Gestures, recipe: Recipe) -> tuple[list[Floats], Ints, Ints]:
    """Resize, rotate and choose; grey values from 0 to 255.

    The images are gesture by gesture, the most representative of each first; then come their gestures, and
    the images of `data` that they are versions of.
    """
    taken = [
        i for gesture in range(len(data.names)) for i in np.flatnonzero(data.labels == gesture)[: recipe.most]
    ]
    resized = [resize(data.images[i], recipe.shape) for i in taken]
    if recipe.binary:
        resized = [np.round(image) for image in resized]
    images = [version for image in resized for version in (image, *rotations(image, recipe.angles))]
    origins = np.repeat(taken, 1 + len(recipe.angles))
    labels = data.labels[origins]
    chosen = np.concatenate(
        [
            members[representatives(np.array([images[i].ravel() for i in members]), recipe.per_class)]
            for members in (np.flatnonzero(labels == gesture) for gesture in range(len(data.names)))
        ]
    )
    return [np.rint(255 * images[i]) for i in chosen], labels[chosen], origins[chosen]


def resize(image: Floats, shape: tuple[int, int]) -> Floats:
    """The image in another size; the shape is turned for an image that is wider than high."""
    from skimage import transform

    height, width = image.shape
    fitting = shape if height >= width else shape[::-1]
    resized: Floats = transform.resize(image, fitting, anti_aliasing=True)  # type: ignore[no-untyped-call]
    return resized


def rotations(image: Floats, angles: tuple[float, ...]) -> list[Floats]:
    """The image turned counter-clockwise by each angle, in degrees, about its centre."""
    from skimage import transform

    return [transform.rotate(image, angle, mode="edge") for angle in angles]  # type: ignore[no-untyped-call]


def representatives(images: Floats, k: int, share: float = 0.9) -> Ints:
    """The k images that their leading principal components lose least of, least squared error first.

    As many components are taken as explain this share of the variance.
    """
    if k > len(images):
        raise ValueError(
            f"images: {len(images)} of a gesture, but {k} are to be chosen; expected {k} or more"
        )
    centred = images - images.mean(axis=0)
    variances, scores = np.linalg.eigh(centred @ centred.T)
    variances, scores = np.maximum(variances[::-1], 0), scores[:, ::-1]
    explained = np.cumsum(variances)
    count = 1 + int(np.searchsorted(explained, share * explained[-1]))
    # An image's squared error is what the other components hold of it.
    errors = scores[:, count:] ** 2 @ variances[count:]
    return np.argsort(errors, kind="stable")[:k]


def hog(image: Floats) -> Floats:
    """Histograms of oriented gradients with the defaults of MATLAB's extractHOGFeatures.

    Cells of 8 × 8 pixels, blocks of 2 × 2 cells that overlap by one, 9 unsigned orientations, L2-Hys. Unlike
    MATLAB's, a pixel votes for one cell and one orientation only.
    """
    from skimage import feature

    described: Floats = feature.hog(
        image, orientations=9, pixels_per_cell=(CELL, CELL), cells_per_block=(2, 2), block_norm="L2-Hys"
    )
    return described


def lbp(image: Floats, cell: int = CELL) -> Floats:
    """Histograms of local binary patterns in square cells, as MATLAB's extractLBPFeatures has them.

    Eight neighbours at distance one, the 58 uniform patterns and one bin for the others, each histogram
    scaled to Euclidean norm one. Pixels at the edge of the image have no pattern. Unlike MATLAB's, a pixel
    votes for one cell only. The paper does not print the cell size; MATLAB's default, one cell, would give
    59 features instead of its 2048.
    """
    from skimage import feature

    whole = image.astype(np.uint8)
    patterns = feature.local_binary_pattern(whole, 8, 1, "nri_uniform").astype(int)  # type: ignore[no-untyped-call]
    height, width = (size // cell for size in image.shape)
    rows, columns = np.indices(image.shape)[:, 1:-1, 1:-1]
    inside = (rows < cell * height) & (columns < cell * width)
    cells = rows // cell * width + columns // cell
    bins = (PATTERNS * cells + patterns[1:-1, 1:-1])[inside]
    counts = np.bincount(bins, minlength=PATTERNS * height * width).reshape(-1, PATTERNS)
    scaled: Floats = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return scaled.ravel()


def without_zero_columns(F: Floats) -> Floats:
    """The columns that are not zero everywhere."""
    return F[:, F.any(axis=0)]
