"""Loaders, and what is known to be true on real data. See the README for how to get the files."""

import os

import numpy as np
import pytest
from scipy import sparse

from sepnmf import METHODS, AnchorSelector, SeparableNMF, datasets, select, spa
from sepnmf.datasets import _loaders as loaders
from sepnmf.metrics import rae, sam, success_rate

needs_data = pytest.mark.skipif(
    not os.environ.get(loaders.VARIABLE),
    reason=f"{loaders.VARIABLE} is not set: sepnmf.datasets.load_samson() and the like say what to download",
)

LOADERS = {folder: getattr(datasets, f"load_{folder}") for folder in loaders.SOURCES}


def options_of(method):
    """Return the parameters of a method beyond M and r."""
    return METHODS[method].options


READY = [name for name in METHODS if all(o.default is not o.empty for o in options_of(name).values())]


@needs_data
@pytest.mark.parametrize(
    ("folder", "shape", "r", "image"),
    [
        ("samson", (156, 9025), 3, (95, 95)),
        ("jasper_ridge", (198, 10000), 4, (100, 100)),
        ("amino_acids", (12261, 5), 3, (201, 61)),
        ("swimmer", (256, 220), 0, (20, 11)),
        ("cbcl_faces", (361, 2429), 0, (19, 19)),
        ("bbc_news", (2225, 9635), 0, None),
    ],
)
def test_loaders_give_what_they_promise(folder, shape, r, image):
    data = LOADERS[folder]()
    assert data.M.shape == shape
    assert data.M.dtype == np.float64
    assert data.image_shape == image
    assert image is None or image[0] * image[1] in shape
    assert len(data.names) == r
    if data.W is not None:
        assert data.W.shape == (shape[0], r)
    if data.H is not None:
        assert data.H.shape == (r, shape[1])


@needs_data
@pytest.mark.parametrize("folder", ["samson", "jasper_ridge"])
def test_reference_spectra_belong_to_the_pixels(folder):
    data = LOADERS[folder]()
    np.testing.assert_allclose(data.H.sum(axis=0), 1, atol=1e-12)
    # The average pixel of a material, over the pixels that are nearly all of it, points along its spectrum.
    for k, spectrum in enumerate(data.W.T):
        average = data.M[:, data.H[k] > 0.9].mean(axis=1)
        assert sam(average[:, None], spectrum[:, None]) < 10


@needs_data
def test_words_and_articles_have_their_names():
    data = datasets.load_bbc_news()
    assert sparse.issparse(data.M)
    assert (len(data.row_names), len(data.column_names)) == data.M.shape
    goal = data.M[:, [data.column_names.index("goal")]].toarray().ravel()
    sport = np.array([name.startswith("sport.") for name in data.row_names])
    assert goal[sport].sum() > 5 * goal[~sport].sum()


@needs_data
# Robust SPA prefers columns that explain others, and two of these five are mixtures.
@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "hottopixx" else name
        for name in READY
        if name != "robust_spa"
    ],
)
def test_pure_samples_of_amino_acids_are_the_anchors(method):
    # Bro's fluorescence data: samples 0, 1, 2 hold one amino acid each, 3 and 4 hold all three.
    data = datasets.load_amino_acids()
    seed = {"random_state": 0} if "random_state" in options_of(method) else {}
    found = select(data.M, 3, method, negative="clip", **seed)
    assert success_rate(found.anchors, data.anchors) == 1.0


@needs_data
def test_estimators_find_the_pure_samples_of_amino_acids():
    data = datasets.load_amino_acids()
    np.testing.assert_array_equal(data.H[:, data.anchors] > 0, np.eye(3))
    assert set(AnchorSelector(3, negative="clip").fit(data.M).anchor_indices_) == {0, 1, 2}
    model = SeparableNMF(3, negative="clip")
    weights = model.fit_transform(data.M.T)
    assert set(model.anchor_indices_) == {0, 1, 2}
    # Weights times the concentrations of the pure samples are the concentrations of the mixtures, up to
    # the measurement: within 4 % for the first two substances and 15 % for phenylalanine.
    C = data.H.T
    np.testing.assert_allclose(weights[3:] @ C[model.anchor_indices_], C[3:], rtol=0.16)


@needs_data
def test_spa_on_samson_is_at_5_25_degrees():
    # Where the figure comes from: SPA on the l1-normalised pixels of the whole scene (156 × 9025),
    # against the three spectra of end3.mat, optimal assignment, mean of the three angles.
    data = datasets.load_samson()
    M = data.M / data.M.sum(axis=0)
    anchors = spa(M, 3).anchors
    assert sam(M[:, anchors], data.W) == pytest.approx(5.25, abs=0.05)


@needs_data
@pytest.mark.parametrize(("folder", "r", "most"), [("samson", 3, 2.5), ("jasper_ridge", 4, 5.0)])
def test_auto_finds_the_materials_of_full_scenes(folder, r, most):
    data = LOADERS[folder]()
    for seed in range(2):
        sel = select(data.M, r, random_state=seed)
        assert sam(data.M[:, sel.anchors], data.W) < most


@pytest.mark.slow
@needs_data
def test_swimmer_gives_distinct_pixels_up_to_its_rank():
    M = datasets.load_swimmer().M
    selector = AnchorSelector(13).fit(M)
    chosen = M[:, selector.anchor_indices_]
    assert chosen.any(axis=0).all()
    assert len(np.unique(chosen, axis=1).T) == 13
    with pytest.raises(ValueError, match="rank"):
        AnchorSelector(14, method="spa").fit(M)
    # Its sixteen limbs lie in thirteen dimensions: there are sixteen anchors, and they explain everything.
    assert rae(M, select(M, 16).anchors) > 1 - 1e-6


def test_without_the_variable_the_error_says_what_to_download(monkeypatch):
    monkeypatch.delenv(loaders.VARIABLE, raising=False)
    with pytest.raises(
        FileNotFoundError, match=r"SEPNMF_DATA is not set: download samson_1.mat, end3.mat from"
    ):
        datasets.load_samson()


@pytest.mark.parametrize("folder", LOADERS)
def test_a_missing_file_is_named(folder, monkeypatch, tmp_path):
    monkeypatch.setenv(loaders.VARIABLE, str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=rf"there is no .*{folder}.*put them into a folder '{folder}'"
    ):
        LOADERS[folder]()


def test_a_changed_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv(loaders.VARIABLE, str(tmp_path))
    (tmp_path / "swimmer").mkdir()
    (tmp_path / "swimmer" / "Swimmer.mat").write_bytes(b"MATLAB 5.0 MAT-file, or so it says")
    with pytest.raises(ValueError, match=r"SHA-256 .* the file is damaged or of another version"):
        datasets.load_swimmer()
