"""Loaders of real data sets. Files are read from a local folder and verified by their SHA-256 checksums."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import io, sparse

from sepnmf._typing import Floats, Ints, Sparse

VARIABLE = "SEPNMF_DATA"
NMF_BOOK = "https://github.com/vleplat/nmfbook"
SMOOTH_NMF = "https://github.com/vleplat/ConvexSmoothSeparableNMF"

Loader = TypeVar("Loader", bound=Callable[..., Any])


@dataclass(frozen=True)
class Source:
    """The address from which to download the files of a folder, and their SHA-256 checksums."""

    url: str
    files: dict[str, str]


SOURCES = {
    "samson": Source(
        SMOOTH_NMF,
        {
            "samson_1.mat": "1ebacaf7cd32bfc31c0ee3fd56c63a7f29a434893a8b45705fb59cd8a0c8beb6",
            "end3.mat": "ce768182ce5292390180f827ff5769112cf3d299f4e64ab43e950a310b7ec9fa",
        },
    ),
    "jasper_ridge": Source(
        SMOOTH_NMF,
        {
            "jasperRidge2_R198.mat": "0e4118a6452f6044978a8ca3762fb0f791115467904936d463c4e111e56e682e",
            "end4.mat": "92f5697b43705802b904fd13ba99b6ce65a3d203682864abc3fbec922beec374",
        },
    ),
    "amino_acids": Source(
        "https://github.com/msh04/Tensor-Decompositions-Spring-2024",
        {"amino.mat": "089cec8a4acb3978bb16756d48cf1e15c9ead2cdc434bfc4289fa4af19d8be3f"},
    ),
    "swimmer": Source(
        NMF_BOOK,
        {"Swimmer.mat": "e0993e6610be1f84ed7653044629473bb9daf3e52a78fab7b47a17edc0519290"},
    ),
    "cbcl_faces": Source(
        NMF_BOOK,
        {"CBCL.mat": "96c6356a2e99f65ce2194f3ce20a97f619ac89bdaf1c102ceaa74f2f742cfc1d"},
    ),
    "bbc_news": Source(
        "https://github.com/mohit3011/Document-Classification-and-Clustering",
        {
            "bbc.mtx": "dd056da69c67f942f1be354163754a43d5cf3d9fdb62746be1f3231803983539",
            "bbc.terms": "6c369196ff6de6bb2cd7f60b11a51a38e73f522f2b656f3dde20d6d45729d7c6",
            "bbc.docs": "25c526968363d75009113594e2441011b921ff9eb4b835d221cd47390e22ec50",
        },
    ),
    "gestures_binary": Source(
        "https://github.com/stes/gestures",
        {"fist_five_peace_300each.npz": "3af1f992a6c7ee14dcdfc9560aa68a65a8479f42c2d441b045156be35b6ca4f2"},
    ),
    "gestures_gray": Source(
        "https://github.com/ardamavi/Sign-Language-Digits-Dataset",
        {"gray64_all10.npz": "be47ed0aef43e97200fd6edcc52cc091944530d5c5e27f03686e2b35771e894e"},
    ),
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data matrix, with reference columns and weights where they are known.

    Attributes
    ----------
    M : ndarray or sparse array of shape (m, n)
        Data.
    W : ndarray of shape (m, r) or None
        Reference columns; their scale need not be that of M.
    H : ndarray of shape (r, n) or None
        Reference weights; their scale need not be that of M.
    anchors : ndarray of shape (r,) or None
        Indices of the pure columns, where they are known.
    names : tuple of r str
        Names of the reference columns or weights, such as materials.
    image_shape : tuple of two ints or None
        Height and width of the images stored in M, pixel columns one after another:
        `row_or_column_of_M.reshape(image_shape, order="F")`.
    column_names, row_names : tuple of str
        Names of the columns and rows of M; empty if they have none.
    """

    M: Floats | Sparse
    W: Floats | None = None
    H: Floats | None = None
    anchors: Ints | None = None
    names: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    column_names: tuple[str, ...] = field(default=(), repr=False)
    row_names: tuple[str, ...] = field(default=(), repr=False)


def documented(load: Loader) -> Loader:
    """Add the sections that all loaders share to the docstring of a loader."""
    load.__doc__ = f"""{load.__doc__}
    Returns
    -------
    {load.__annotations__["return"].__name__}

    Raises
    ------
    FileNotFoundError
        If a file is missing from the folder named by the environment variable SEPNMF_DATA. The message
        says where to download it.
    ValueError
        If the SHA-256 checksum of a file is known and does not match.
    """
    return load


@documented
def load_samson() -> Dataset:
    """Load Samson, a hyperspectral scene: 156 bands × 9025 pixels, three materials.

    Each row of M is an image of 95 × 95 pixels, each column the spectrum of one. W and H are the
    reference spectra and abundances of soil, tree and water. W is scaled to maximum one: compare by
    angle (`sam`, `mrsa`), never by distance.
    """
    scene, reference = load_mat("samson", "samson_1.mat"), load_mat("samson", "end3.mat")
    return Dataset(
        M=scene["V"],
        W=reference["M"],
        H=reference["A"],
        names=("soil", "tree", "water"),
        image_shape=(95, 95),
    )


@documented
def load_jasper_ridge() -> Dataset:
    """Load Jasper Ridge, a hyperspectral scene: 198 bands × 10000 pixels, four materials.

    Each row of M is an image of 100 × 100 pixels, each column the spectrum of one, as reflectances (the
    file's integers over 5000). W and H are the reference spectra and abundances of tree, water,
    dirt and road. Water is very dark, so normalising the pixels magnifies its noise.
    """
    scene, reference = load_mat("jasper_ridge", "jasperRidge2_R198.mat"), load_mat("jasper_ridge", "end4.mat")
    return Dataset(
        M=scene["Y"] / 5000.0,
        W=reference["M"],
        H=reference["A"],
        names=("tree", "water", "dirt", "road"),
        image_shape=(100, 100),
    )


@documented
def load_amino_acids() -> Dataset:
    """Load the fluorescence of five samples of three amino acids: 12261 wavelength pairs × 5 samples.

    Samples 0, 1 and 2 are pure, 3 and 4 are mixtures. Each column of M is a landscape of 201
    emission × 61 excitation wavelengths; 1.4 % of the readings are slightly negative. H has the
    concentrations in mol/l.
    """
    content = load_mat("amino_acids", "amino.mat")
    return Dataset(
        M=content["X"].T,
        H=content["y"].T,
        anchors=np.arange(3),
        names=("tryptophan", "tyrosine", "phenylalanine"),
        image_shape=(201, 61),
    )


@documented
def load_swimmer() -> Dataset:
    """Load Swimmer: 256 binary images of 220 pixels, a torso and four limbs in four positions each.

    The columns of M are the pixels. The pixels of a limb position have equal columns that no other position
    shares, so that anchors are pixels. Each row is an image of 20 × 11 pixels. M has rank 13, 17 distinct
    nonzero columns, many duplicates, and 158 zero columns.
    """
    pictures = load_mat("swimmer", "Swimmer.mat")["X"]
    return Dataset(M=pictures.T.astype(np.float64), image_shape=(20, 11))


@documented
def load_cbcl_faces() -> Dataset:
    """Load the CBCL faces: 361 pixels × 2429 faces, each column an image of 19 × 19 grey values in (0, 1]."""
    return Dataset(M=load_mat("cbcl_faces", "CBCL.mat")["X"], image_shape=(19, 19))


@documented
def load_bbc_news() -> Dataset:
    """Load BBC news: a sparse matrix with counts of 9635 words in 2225 articles on five topics.

    The columns of M are the words, named in `column_names`. The rows are the articles, whose names in
    `row_names` begin with their topic ("sport.007"). To find anchor words, first compute the word
    co-occurrence matrix with `sepnmf.cooccurrence`.
    """
    words_by_articles = io.mmread(read("bbc_news", "bbc.mtx"), spmatrix=False)
    return Dataset(
        M=sparse.csc_array(words_by_articles.T),
        column_names=tuple(read("bbc_news", "bbc.terms").read().decode().split()),
        row_names=tuple(read("bbc_news", "bbc.docs").read().decode().split()),
    )


def load_mat(folder: str, file: str) -> dict[str, Any]:
    """Return the variables of a MATLAB file of version 5, after its checksum is verified."""
    variables: dict[str, Any] = io.loadmat(read(folder, file))  # type: ignore[arg-type] # stubs: paths only
    return variables


def read(folder: str, file: str) -> BytesIO:
    """Return the content of a file below the folder named by SEPNMF_DATA, after its checksum is verified."""
    source = SOURCES[folder]
    root = os.environ.get(VARIABLE)
    path = Path(root or "", folder, file)
    if not root or not path.is_file():
        reason = f"there is no {path}" if root else f"the environment variable {VARIABLE} is not set"
        raise FileNotFoundError(
            f"{file} was not found because {reason}: download {', '.join(source.files)} from {source.url}, "
            f"put them into a folder {folder!r}, and set {VARIABLE} to the folder that contains {folder!r}."
        )
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != source.files[file]:
        raise ValueError(
            f"{path} has SHA-256 {found}, expected {source.files[file]}: "
            f"the file is damaged or of another version; download it again from {source.url}."
        )
    return BytesIO(content)


def folder_of(name: str) -> Path | None:
    """Return the folder of this name in the folder named by SEPNMF_DATA, or None if there is none."""
    root = os.environ.get(VARIABLE)
    path = Path(root or "", name)
    return path if root and path.is_dir() else None


def available(folder: str) -> str:
    """Return why the files of a folder cannot be read, or an empty string if they can."""
    try:
        for file in SOURCES[folder].files:
            read(folder, file)
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    return ""
