"""Loaders of hand gesture images: two public data sets, and the two data sets of the paper."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sepnmf._typing import Floats, Ints
from sepnmf.datasets._loaders import VARIABLE, documented, folder_of, read

Camera = Literal["Front", "Left", "Right", "Below"]

LETTERS = ("A", "B", "C", "H", "Y")
SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"}

GOYAL = (
    "the binary hand gesture images of Goyal (2020; fist, open hand, two fingers; the paper cites them "
    "without an address)"
)
HGM4 = "HGM-4 from https://data.mendeley.com/datasets/jzy8zngkbg/4"


@dataclass(frozen=True, eq=False)
class Gestures:
    """Images of hands, labelled by gesture.

    Attributes
    ----------
    images : list of n ndarrays of two dimensions
        Grey values in [0, 1]; the sizes may differ.
    labels : ndarray of shape (n,)
        Index into `names`, for each image.
    names : tuple of str
        Names of the gestures.
    """

    images: list[Floats] = field(repr=False)
    labels: Ints = field(repr=False)
    names: tuple[str, ...]


@documented
def load_gestures_binary() -> Gestures:
    """Load 679 distinct binary images of 64 × 64 pixels that show the gestures fist, five and peace.

    This set replaces the paper's binary set, which has no public address. The file has 300 images of each
    gesture; of equal images the first is kept (250, 207 and 222 images). They are frames of videos, so that
    many are still nearly equal.
    """
    content = load_npz("gestures_binary", "fist_five_peace_300each.npz")
    first = first_occurrences(content["X"])
    images, labels = content["X"][first].astype(np.float64), content["y"][first]
    names = tuple(str(name) for name in content["names"])
    return Gestures(list(images), np.searchsorted(content["label_ids"], labels), names)


@documented
def load_gestures_gray() -> Gestures:
    """Load 1030 grayscale images of 64 × 64 pixels that show the digits 0 to 4 by hand.

    This set replaces the paper's grayscale set, which has five gestures. The digits 5 to 9 of the file are
    omitted.
    """
    content = load_npz("gestures_gray", "gray64_all10.npz")
    chosen = content["y"] < 5
    images, labels = content["X"][chosen] / 255.0, content["y"][chosen].astype(np.intp)
    return Gestures(list(images), labels, ("zero", "one", "two", "three", "four"))


@documented
def load_goyal_2020() -> Gestures:
    """Load the paper's binary set from the folder `goyal_2020`, which has one folder of images per gesture.

    The names of these folders are the names of the gestures. Reading needs scikit-image.
    """
    root = data_folder("goyal_2020", GOYAL, "one folder of image files per gesture")
    folders = sorted(path for path in root.iterdir() if path.is_dir() and image_files(path))
    if not folders:
        raise missing("goyal_2020", GOYAL, "one folder of image files per gesture", f"{root} has no images")
    return read_folders(folders)


@documented
def load_hgm4(camera: Camera = "Front") -> Gestures:
    """Load the paper's grayscale set: the letters A, B, C, H and Y of HGM-4.

    The images are in `hgm4/<camera>_CAM/<letter>`. A camera has 40 images of each letter, the number in the
    paper, which does not name the camera. Reading needs scikit-image.

    Parameters
    ----------
    camera : {"Front", "Left", "Right", "Below"}, default "Front"
        The camera whose images are read.
    """
    layout = f"{camera}_CAM/<letter>/P1_001.jpg and so on"
    root = data_folder("hgm4", HGM4, layout)
    folders = [root / f"{camera}_CAM" / letter for letter in LETTERS]
    for folder in folders:
        if not image_files(folder):
            raise missing("hgm4", HGM4, layout, f"{folder} has no images")
    return read_folders(folders)


def first_occurrences(images: Any) -> Ints:
    """Return the indices, ascending, of the images that are not equal to an earlier one."""
    _, first = np.unique(images.reshape(len(images), -1), axis=0, return_index=True)
    return np.sort(first)


def load_npz(folder: str, file: str) -> dict[str, Any]:
    """Return the arrays of a .npz file, after its checksum is verified."""
    with np.load(read(folder, file), allow_pickle=False) as content:
        return dict(content)


def data_folder(name: str, what: str, layout: str) -> Path:
    """Return the folder of a data set below the folder named by SEPNMF_DATA, or raise FileNotFoundError."""
    path = folder_of(name)
    if path is None:
        root = os.environ.get(VARIABLE)
        raise missing(
            name, what, layout, f"there is no {Path(root, name)}" if root else f"{VARIABLE} is not set"
        )
    return path


def missing(name: str, what: str, layout: str, reason: str) -> FileNotFoundError:
    """Return an error that says what to download and where to put it."""
    return FileNotFoundError(
        f"{reason}: download {what}, put it into a folder {name!r} as {layout}, "
        f"and set {VARIABLE} to the folder that contains {name!r}."
    )


def image_files(folder: Path) -> list[Path]:
    """Return the image files of a folder sorted by name; an empty list if the folder does not exist."""
    return sorted(path for path in folder.glob("*") if path.suffix.lower() in SUFFIXES)


def read_folders(folders: Iterable[Path]) -> Gestures:
    """Read the images of each folder, labelled by the name of the folder."""
    files = {folder.name: image_files(folder) for folder in folders}
    images = [read_image(path) for paths in files.values() for path in paths]
    labels = np.repeat(np.arange(len(files)), [len(paths) for paths in files.values()])
    return Gestures(images, labels, tuple(files))


def read_image(path: Path) -> Floats:
    """Read an image as grey values in [0, 1]."""
    from skimage.io import imread
    from skimage.util import img_as_float64

    image: Floats = img_as_float64(imread(path, as_gray=True))  # type: ignore[no-untyped-call]
    return image
