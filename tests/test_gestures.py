"""Gestures: the loaders, the way from images to feature matrices, and the machine that judges selections."""

import dataclasses
import os

import numpy as np
import pytest
from skimage.io import imsave
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC

from sepnmf import datasets
from sepnmf.datasets import Gestures
from sepnmf.datasets import _gestures as gestures
from sepnmf.datasets import _loaders as loaders
from sepnmf.experiments import gesture_features as made
from sepnmf.experiments import svm

needs_data = pytest.mark.skipif(
    not os.environ.get(loaders.VARIABLE),
    reason=f"{loaders.VARIABLE} is not set: sepnmf.datasets.load_gestures_gray() says what to download",
)


def random_image(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.float64)


def blobs(count, seed=0):
    """Images of 64 × 64 pixels of two gestures: bright on the left, bright on the right."""
    rng = np.random.default_rng(seed)
    images, labels = 0.2 * rng.random((2 * count, 64, 64)), np.repeat([0, 1], count)
    images[labels == 0, 10:50, 5:30] += 0.7
    images[labels == 1, 10:50, 35:60] += 0.7
    return Gestures(list(images), labels, ("left", "right"))


def line_segments(y, x):
    """Corners of the pixel square around a point at distance one and their weights, for a real y and x."""
    top, left = int(np.floor(y)), int(np.floor(x))
    for i, a in ((top, top + 1 - y), (top + 1, y - top)):
        for j, b in ((left, left + 1 - x), (left + 1, x - left)):
            if a * b > 1e-9:
                yield i, j, a * b


def pattern_number(bits):
    """Ring of bits to a label of its own if uniform, None if not."""
    changes = sum(a != b for a, b in zip(bits, bits[1:] + bits[:1], strict=True))
    return tuple(bits) if changes <= 2 else None


def plain_lbp(image):
    """Histograms as dictionaries from pattern to share, cell by cell: a transcription with loops."""
    diagonal = np.sqrt(0.5)
    ring = [(0, 1), (-diagonal, diagonal), (-1, 0), (-diagonal, -diagonal)]
    ring += [(-y, -x) for y, x in ring]
    height, width = image.shape
    cells = []
    for top in range(0, height - 7, 8):
        for left in range(0, width - 7, 8):
            counts = {}
            for y in range(max(top, 1), min(top + 8, height - 1)):
                for x in range(max(left, 1), min(left + 8, width - 1)):
                    values = [
                        sum(w * image[i, j] for i, j, w in line_segments(y + v, x + h)) for v, h in ring
                    ]
                    key = pattern_number([bool(value >= image[y, x] - 1e-4) for value in values])
                    counts[key] = counts.get(key, 0) + 1
            length = np.sqrt(sum(count**2 for count in counts.values()))
            cells.append({key: count / length for key, count in counts.items()})
    return cells


# Loaders


@needs_data
@pytest.mark.parametrize(
    ("name", "counts", "values"),
    [("binary", [250, 207, 222], [0, 1]), ("gray", [205, 206, 206, 206, 207], None)],
)
def test_public_sets_are_what_they_promise(name, counts, values):
    data = getattr(datasets, f"load_gestures_{name}")()
    images = np.array(data.images)
    assert images.shape == (sum(counts), 64, 64)
    assert images.dtype == np.float64
    assert images.min() >= 0
    assert 0.5 < images.max() <= 1
    assert np.bincount(data.labels).tolist() == counts
    assert len(data.names) == len(counts)
    assert values is None or np.unique(images).tolist() == values
    assert len(np.unique(images.reshape(len(images), -1), axis=0)) == len(images)


def test_of_equal_images_the_first_is_kept():
    images = np.array([3, 1, 3, 2, 1, 1])[:, None, None] * np.ones((2, 2))
    np.testing.assert_array_equal(gestures.first_occurrences(images), [0, 1, 3])


def write_images(folder, count, seed, colour=False):
    folder.mkdir(parents=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (count, 12, 20)).astype(np.uint8)
    for k, image in enumerate(pixels):
        imsave(folder / f"P1_{k:03}.png", np.dstack([image] * 3) if colour else image, check_contrast=False)
    return pixels / 255


@pytest.mark.parametrize("colour", [False, True])
def test_folders_of_images_are_read_by_name_as_grey_values(monkeypatch, tmp_path, colour):
    monkeypatch.setenv(loaders.VARIABLE, str(tmp_path))
    two = write_images(tmp_path / "goyal_2020" / "two_fingers", 2, 0, colour)
    fist = write_images(tmp_path / "goyal_2020" / "fist", 3, 1, colour)
    (tmp_path / "goyal_2020" / "fist" / "readme.txt").write_text("not an image")
    (tmp_path / "goyal_2020" / "empty").mkdir()
    data = datasets.load_goyal_2020()
    assert data.names == ("fist", "two_fingers")
    assert data.labels.tolist() == [0, 0, 0, 1, 1]
    assert data.images[0].dtype == np.float64
    np.testing.assert_allclose(data.images, [*fist, *two], atol=1e-6)


def test_hgm4_takes_five_letters_of_one_camera(monkeypatch, tmp_path):
    monkeypatch.setenv(loaders.VARIABLE, str(tmp_path))
    letters = ("A", "B", "C", "D", "H", "Y")
    written = {x: write_images(tmp_path / "hgm4" / "Left_CAM" / x, 2, k) for k, x in enumerate(letters)}
    data = datasets.load_hgm4("Left")
    assert data.names == ("A", "B", "C", "H", "Y")
    assert data.labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    np.testing.assert_allclose(data.images[6:8], written["H"], atol=1e-6)
    with pytest.raises(FileNotFoundError, match=r"Front_CAM.A has no images: download HGM-4 from https"):
        datasets.load_hgm4()


@pytest.mark.parametrize(
    ("load", "folder", "what"),
    [
        (datasets.load_goyal_2020, "goyal_2020", "Goyal"),
        (datasets.load_hgm4, "hgm4", "https://data.mendeley.com/datasets/jzy8zngkbg/4"),
    ],
)
def test_a_missing_folder_is_one_clear_sentence(monkeypatch, tmp_path, load, folder, what):
    advice = f"download .*{what}.*put it into a folder '{folder}' as .*set SEPNMF_DATA to"
    monkeypatch.delenv(loaders.VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match=f"SEPNMF_DATA is not set: {advice}"):
        load()
    monkeypatch.setenv(loaders.VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"there is no .*{folder}: {advice}"):
        load()
    (tmp_path / folder).mkdir()
    with pytest.raises(FileNotFoundError, match=f"has no images: {advice}"):
        load()


# From images to features


def test_images_are_resized_upright_or_lying():
    assert made.resize(np.ones((64, 64)), (80, 45)).shape == (80, 45)
    assert made.resize(np.ones((160, 90)), (80, 45)).shape == (80, 45)
    assert made.resize(np.ones((90, 160)), (80, 45)).shape == (45, 80)
    halved = made.resize(np.kron(random_image((20, 20)) / 255, np.ones((8, 8))), (80, 80))
    np.testing.assert_allclose(halved.mean(), random_image((20, 20)).mean() / 255, atol=0.01)


def test_rotations_turn_counter_clockwise_about_the_centre():
    rows, columns = np.indices((41, 41)) - 20
    spot = np.exp(-(rows**2 + (columns - 15) ** 2) / 8)  # to the right of the centre
    for angle, image in zip((-2, 1, 90), made.rotations(spot, (-2, 1, 90)), strict=True):
        assert image.shape == spot.shape
        y, x = (image * rows).sum() / image.sum(), (image * columns).sum() / image.sum()
        np.testing.assert_allclose(np.degrees(np.arctan2(-y, x)), angle, atol=0.1)
    (turned,) = made.rotations(np.ones((80, 45)), (2,))
    np.testing.assert_allclose(turned, 1)  # no dark corners


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_representatives_lose_least_to_the_leading_components(share):
    rng = np.random.default_rng(1)
    images = rng.random((30, 4)) @ rng.random((4, 50)) + 0.3 * rng.random((30, 50)) ** 4
    mean = images.mean(axis=0)
    variances, components = np.linalg.eigh((images - mean).T @ (images - mean))
    variances, components = variances[::-1], components[:, ::-1]
    count = next(c for c in range(1, 51) if variances[:c].sum() >= share * variances.sum())
    B = components[:, :count]
    errors = [np.linalg.norm((x - mean) - B @ (B.T @ (x - mean))) for x in images]
    np.testing.assert_array_equal(made.representatives(images, 7, share), np.argsort(errors)[:7])


def test_an_image_of_its_own_does_not_represent_and_too_few_images_are_refused():
    images = np.outer(np.arange(20.0), np.repeat([1.0, 0.0], 15))
    images[13, 20] = 3  # small beside the one direction that the others vary in
    assert 13 not in made.representatives(images, 19)
    with pytest.raises(ValueError, match="20 of a gesture, but 21 are to be chosen"):
        made.representatives(images, 21)


def test_preparing_keeps_originals_and_their_rotations():
    data = blobs(4)
    recipe = made.Recipe(lambda: data, (40, 40), (-2, -1, 1, 2), 20)
    images, labels, origins = made.prepare(data, recipe)
    assert labels.tolist() == [0] * 20 + [1] * 20
    np.testing.assert_array_equal(data.labels[origins], labels)
    assert np.bincount(origins).tolist() == [5] * 8
    versions = [image for image, origin in zip(images, origins, strict=True) if origin == 6]
    small = made.resize(data.images[6], (40, 40))
    for wanted in (small, *made.rotations(small, (-2, -1, 1, 2))):
        assert min(np.abs(image - 255 * wanted).max() for image in versions) <= 0.5
    assert all((image == np.round(image)).all() for image in images)
    alone, labels, origins = made.prepare(data, dataclasses.replace(recipe, angles=(), per_class=3))
    assert len(alone) == len(set(origins)) == 6
    assert labels.tolist() == [0] * 3 + [1] * 3


@pytest.mark.parametrize(("shape", "length"), [((75, 75), 2304), ((80, 45), 1296)])
def test_hog_has_matlabs_length_and_blocks_of_length_one(shape, length):
    blocks = made.hog(random_image(shape)).reshape(-1, 36)
    assert blocks.size == length
    np.testing.assert_allclose(np.linalg.norm(blocks, axis=1), 1, atol=1e-6)
    assert blocks.min() >= 0
    np.testing.assert_allclose(made.hog(3 * random_image(shape)), blocks.ravel(), atol=1e-6)
    assert not made.hog(np.full(shape, 7.0)).any()


@pytest.mark.parametrize("turned", [False, True])
def test_hog_puts_an_edge_into_one_orientation(turned):
    image = np.zeros((32, 32))
    image[:, 12:] = 255
    blocks = made.hog(image.T if turned else image).reshape(3, 3, 4, 9)
    used = np.flatnonzero(blocks.sum(axis=(0, 1, 2)))
    assert len(used) == 1
    assert used[0] == (4 if turned else 0)  # 90° lies in the middle one of nine bins
    # The edge is in the second column (row) of cells: the blocks at the far side do not see it.
    seen = blocks.any(axis=(2, 3))
    np.testing.assert_array_equal(seen.T if turned else seen, [[True, True, False]] * 3)


@pytest.mark.parametrize("shape", [(16, 24), (21, 19)])
def test_lbp_equals_a_plain_transcription(shape):
    image = random_image(shape)
    image[3:12, 2:9] = 40  # equal neighbours count as not darker
    cells = made.lbp(image).reshape(-1, 59)
    wanted = plain_lbp(image)
    assert len(cells) == len(wanted) == (shape[0] // 8) * (shape[1] // 8)
    # Which bin a pattern has is a matter of convention, but it is the same in all cells and its own.
    bins = {}
    for cell, histogram in zip(cells, wanted, strict=True):
        np.testing.assert_allclose(np.sort(cell[cell > 0]), np.sort(list(histogram.values())))
        for key, share in histogram.items():
            bins[key] = bins.get(key, set(range(59))) & set(np.flatnonzero(np.isclose(cell, share)))
    assert all(bins.values())
    assert bins[None] == {58}
    assert bins[(True,) * 8] == {57}


def test_lbp_of_an_empty_image_is_one_pattern():
    for value in (0, 37, 255):
        cells = made.lbp(np.full((75, 75), float(value))).reshape(-1, 59)
        assert len(cells) == 81
        assert (cells[:, 57] == 1).all()
        assert np.count_nonzero(cells) == 81


def test_zero_columns_are_gone_and_the_others_stay():
    F = np.array([[0.0, 1, 0, 0], [0, 0, 2, 0]])
    np.testing.assert_array_equal(made.without_zero_columns(F), [[1, 0], [0, 2]])


@needs_data
@pytest.mark.parametrize(
    ("dataset", "kind", "shape"),
    [
        ("binary", "HOG", (150, 1024)),
        ("binary", "LBP", (150, 1100)),
        ("gray", "HOG", (125, 1296)),
        ("gray", "LBP", (125, 1745)),
    ],
)
def test_feature_matrices_of_the_public_sets(dataset, kind, shape):
    F, y = made.features(dataset, kind)
    assert F.shape == shape
    assert F.min() >= 0
    assert F.any(axis=0).all()
    assert len(set(np.bincount(y))) == 1
    assert np.linalg.matrix_rank(F) == len(F)
    assert not F.flags.writeable
    assert made.features(dataset, kind)[0] is F
    origins = made.originals(dataset)
    assert len(origins) == len(y)
    assert (len(set(origins)) == len(y)) == (dataset == "binary")


@pytest.mark.parametrize(("dataset", "kind"), [("colour", "HOG"), ("binary", "SIFT")])
def test_unknown_sets_and_features_are_refused(dataset, kind):
    with pytest.raises(ValueError, match="must be one of"):
        made.features(dataset, kind)


# The machine


def three_classes(seed=0, spread=1.5):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 20)
    return np.abs(rng.normal(size=(3, 12))[y] + spread * rng.normal(size=(60, 12))), y


def test_accuracies_are_those_of_a_linear_machine_on_the_columns():
    F, y = three_classes()
    columns = np.array([7, 2, 3, 9])
    wanted = [
        SVC(kernel="linear", C=1.0).fit(F[train][:, columns], y[train]).score(F[test][:, columns], y[test])
        for train, test in StratifiedShuffleSplit(50, test_size=0.2, random_state=0).split(F, y)
    ]
    found = svm.accuracies(F, y, columns, svm.all_splits(y))
    np.testing.assert_allclose(found, wanted)
    assert 0.34 < found.mean() < 0.99
    assert len(set(found)) > 2


def test_the_first_splits_are_the_same_for_any_number():
    _, y = three_classes()
    groups = np.arange(len(y)) // 2
    for kind in (None, groups):
        for few, many in zip(svm.all_splits(y, 4, kind), svm.all_splits(y, 50, kind), strict=False):
            np.testing.assert_array_equal(few[0], many[0])
            np.testing.assert_array_equal(few[1], many[1])
    assert len(svm.all_splits(y, 7, groups)) == 7


def test_images_of_a_group_stay_together():
    _, y = three_classes()
    groups = np.arange(len(y)) // 3
    for train, test in svm.all_splits(y, 12, groups):
        assert sorted([*train, *test]) == list(range(60))
        assert not set(groups[train]) & set(groups[test])
        for fit, part in svm.folds(train, y, groups):
            assert sorted([*fit, *part]) == sorted(train)
            assert not set(groups[fit]) & set(groups[part])
    alone = svm.all_splits(y, 3, np.arange(60))  # every image its own group: the ordinary splits
    for a, b in zip(alone, svm.all_splits(y, 3), strict=True):
        np.testing.assert_array_equal(a[1], b[1])


def test_splits_are_stratified_and_cover_everything_once():
    _, y = three_classes()
    for train, test in svm.all_splits(y, 5):
        assert np.bincount(y[test]).tolist() == [4, 4, 4]
        assert sorted([*train, *test]) == list(range(60))
        held_out = [part for _, part in svm.folds(train, y)]
        assert sorted(np.concatenate(held_out)) == sorted(train)
        for fit, part in svm.folds(train, y):
            assert sorted([*fit, *part]) == sorted(train)
            assert np.ptp(np.bincount(y[part])) <= 1


def test_inner_accuracies_do_not_depend_on_the_test_part():
    F, y = three_classes()
    columns = np.arange(12)
    parts = svm.all_splits(y, 4)
    honest = svm.inner_accuracies(F, y, columns, parts)
    assert len(set(honest)) > 1
    for k, (_, test) in enumerate(parts):
        spoiled = F.copy()
        spoiled[test] = 1e3 * np.random.default_rng(k).random((len(test), 12))
        again = svm.inner_accuracies(spoiled, y, columns, parts)
        assert again[k] == honest[k]
        assert again != honest  # the same rows do matter to the other splits
