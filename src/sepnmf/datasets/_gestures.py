"""Pictures of hands, by gesture: two public sets, and the two of the paper for those who have them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sepnmf._typing import Floats, Ints
from sepnmf.datasets._loaders import VARIABLE, read

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
    """Pictures of hands and what they show.

    Attributes
    ----------
    images : list of n ndarrays of two dimensions
        Grey values in [0, 1]; the sizes may differ.
    labels : ndarray of shape (n,)
        Index into `names`, for each image.
    names : tuple of str
        The gestures.
    """

    images: list[Floats] = field(repr=False)
    labels: Ints = field(repr=False)
    names: tuple[str, ...]


def load_gestures_binary() -> Gestures:
    """Fist, five and peace: 679 black and white pictures of 64 × 64 pixels, no two of them equal.

    Stands in for the paper's binary set. The file has 300 pictures of each gesture; of equal ones the first
    is kept (250, 207 and 222 pictures). They are frames of films, so that many are still nearly equal.

    Returns
    -------
    Gestures

    Raises
    ------
    FileNotFoundError
        If the file is not in the folder named by SEPNMF_DATA; it says where to get it.
    ValueError
        If the file is not the one expected.
    """
    content = load_npz("gestures_binary", "fist_five_peace_300each.npz")
    first = first_occurrences(content["X"])
    images, labels = content["X"][first].astype(np.float64), content["y"][first]
    names = tuple(str(name) for name in content["names"])
    return Gestures(list(images), np.searchsorted(content["label_ids"], labels), names)


def load_gestures_gray() -> Gestures:
    """Digits 0 to 4 shown by hand: 1030 pictures of 64 × 64 grey values.

    Stands in for the paper's grayscale set, which has five gestures; the file's digits 5 to 9 are left out.

    Returns
    -------
    Gestures

    Raises
    ------
    FileNotFoundError
        If the file is not in the folder named by SEPNMF_DATA; it says where to get it.
    ValueError
        If the file is not the one expected.
    """
    content = load_npz("gestures_gray", "gray64_all10.npz")
    chosen = content["y"] < 5
    images, labels = content["X"][chosen] / 255.0, content["y"][chosen].astype(np.intp)
    return Gestures(list(images), labels, ("zero", "one", "two", "three", "four"))


def load_goyal_2020() -> Gestures:
    """The paper's binary set: one folder of image files per gesture, in `goyal_2020`.

    The names of the folders are those of the gestures. Reading needs scikit-image.

    Returns
    -------
    Gestures

    Raises
    ------
    FileNotFoundError
        If there are no such folders below the one named by SEPNMF_DATA; it says what to download.
    """
    root = data_folder("goyal_2020", GOYAL, "one folder of image files per gesture")
    folders = sorted(path for path in root.iterdir() if path.is_dir() and image_files(path))
    if not folders:
        raise missing("goyal_2020", GOYAL, "one folder of image files per gesture", f"{root} has no images")
    return read_folders(folders)


def load_hgm4(camera: Camera = "Front") -> Gestures:
    """The paper's grayscale set: the letters A, B, C, H and Y of HGM-4, in `hgm4/<camera>_CAM/<letter>`.

    A camera has 40 pictures of each letter, the number the paper gives; it does not say which camera. Reading
    needs scikit-image.

    Parameters
    ----------
    camera : {"Front", "Left", "Right", "Below"}, default "Front"
        Whose pictures to read.

    Returns
    -------
    Gestures

    Raises
    ------
    FileNotFoundError
        If one of the folders has no images or is not below the one named by SEPNMF_DATA; it says what to
        download.
    """
    layout = f"{camera}_CAM/<letter>/P1_001.jpg and so on"
    root = data_folder("hgm4", HGM4, layout)
    folders = [root / f"{camera}_CAM" / letter for letter in LETTERS]
    for folder in folders:
        if not image_files(folder):
            raise missing("hgm4", HGM4, layout, f"{folder} has no images")
    return read_folders(folders)


def first_occurrences(images: Any) -> Ints:
    """Indices of the images that are not equal to an earlier one, ascending."""
    _, first = np.unique(images.reshape(len(images), -1), axis=0, return_index=True)
    return np.sort(first)


def load_npz(folder: str, file: str) -> dict[str, Any]:
    """Arrays of a checked file of NumPy's."""
    with np.load(read(folder, file), allow_pickle=False) as content:
        return dict(content)


def data_folder(name: str, what: str, layout: str) -> Path:
    """The folder of a set below the one named by SEPNMF_DATA."""
    root = os.environ.get(VARIABLE)
    path = Path(root or "", name)
    if not root or not path.is_dir():
        raise missing(name, what, layout, f"there is no {path}" if root else f"{VARIABLE} is not set")
    return path


def missing(name: str, what: str, layout: str, trouble: str) -> FileNotFoundError:
    """What to download, and where to put it."""
    return FileNotFoundError(
        f"{trouble}: download {what}, put it into a folder {name!r} as {layout}, "
        f"and set {VARIABLE} to the folder that holds {name!r}."
    )


def image_files(folder: Path) -> list[Path]:
    """Image files of a folder, by name; none if there is no such folder."""
    return sorted(path for path in folder.glob("*") if path.suffix.lower() in SUFFIXES)


def read_folders(folders: Iterable[Path]) -> Gestures:
    """The images of each folder, labelled by its name."""
    files = {folder.name: image_files(folder) for folder in folders}
    images = [read_image(path) for paths in files.values() for path in paths]
    labels = np.repeat(np.arange(len(files)), [len(paths) for paths in files.values()])
    return Gestures(images, labels, tuple(files))


def read_image(path: Path) -> Floats:
    """Grey values in [0, 1]."""
    from skimage.io import imread
    from skimage.util import img_as_float64

    image: Floats = img_as_float64(imread(path, as_gray=True))  # type: ignore[no-untyped-call]
    return image
