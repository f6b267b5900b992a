"""The families of generated data are what they are said to be."""

import numpy as np
import pytest
from scipy.optimize import nnls

from sepnmf.datasets import FAMILIES, _family_columns, make_family

# Families whose level is the size of the noise, so that level 0 has none.
QUIET = [
    "white",
    "brightness",
    "counts",
    "heavy_tails",
    "many_columns",
    "by_row",
    "midpoints",
    "low_rank",
    "near_copies",
    "many_anchors",
    "smooth",
    "by_column",
    "more_midpoints",
]
EACH = [(name, level) for name, family in FAMILIES.items() for level in family.levels]


def noise_of(name, level, seed=0):
    """The instance, and what is in it beyond the instance without noise."""
    instance, clean = make_family(name, level, seed), make_family(name, 0, seed)
    np.testing.assert_array_equal(instance.anchors, clean.anchors)
    return instance, clean.M, instance.M - clean.M


def test_there_are_enough_families_and_some_are_kept_from_tuning():
    assert len(FAMILIES) >= 14
    assert all(len(family.levels) == len(set(family.levels)) == 3 for family in FAMILIES.values())
    tuned = sum(family.tuning for family in FAMILIES.values())
    assert len(FAMILIES) - tuned >= 6  # `dependent` has been looked at and is no longer one of them


@pytest.mark.parametrize(("name", "level"), EACH)
def test_anchors_are_distinct_and_vertices_are_theirs(name, level):
    family = FAMILIES[name]
    instance = make_family(name, level, 7)
    assert instance.M.shape == family.size
    assert np.isfinite(instance.M).all()
    assert instance.vertices.shape == (family.size[0], family.r)
    assert (np.diff(instance.anchors) > 0).all()
    assert len(instance.anchors) == len(instance.accepted) == family.r
    assert all(k in columns for k, columns in zip(instance.anchors, instance.accepted, strict=True))
    assert len(frozenset().union(*instance.accepted)) == sum(map(len, instance.accepted))
    assert instance.share_found(instance.anchors) == 1
    assert instance.share_found(instance.anchors[1:]) == pytest.approx(1 - 1 / family.r)
    some = instance.M[:, instance.anchors]
    cosines = np.sum(some * instance.vertices, axis=0)
    cosines /= np.linalg.norm(some, axis=0) * np.linalg.norm(instance.vertices, axis=0)
    assert np.median(cosines) > 0.8


@pytest.mark.parametrize("name", FAMILIES)
def test_seeds_are_reproducible_and_columns_permuted(name):
    level = FAMILIES[name].levels[1]
    first, again, other = (make_family(name, level, seed) for seed in (3, 3, 4))
    generator = make_family(name, level, np.random.default_rng(3))
    for same in (again, generator):
        np.testing.assert_array_equal(first.M, same.M)
        np.testing.assert_array_equal(first.anchors, same.anchors)
    assert not np.array_equal(first.anchors, other.anchors)
    assert not np.array_equal(first.anchors, np.arange(len(first.anchors)))


@pytest.mark.parametrize("name", QUIET)
def test_without_noise_the_anchors_explain_everything(name):
    instance = make_family(name, 0, 1)
    W = instance.M[:, instance.anchors]
    for column in instance.M[:, ::7].T:
        assert nnls(W, column)[1] <= 1e-9 * np.linalg.norm(column)
    scale = np.linalg.norm(W, axis=0) / np.linalg.norm(instance.vertices, axis=0)
    np.testing.assert_allclose(W, instance.vertices * scale, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["white", "many_columns", "many_anchors", "by_row", "near_copies"])
def test_the_level_is_the_relative_norm_of_the_noise(name):
    _, clean, noise = noise_of(name, 0.1)
    assert np.linalg.norm(noise) == pytest.approx(0.1 * np.linalg.norm(clean))


def test_brightness_has_lengths_over_orders_of_magnitude_and_relative_noise():
    _, clean, noise = noise_of("brightness", 0.1)
    length = np.linalg.norm(clean, axis=0)
    assert np.log(length).std() == pytest.approx(1, abs=0.15)
    relative = np.linalg.norm(noise, axis=0) / length
    assert relative.mean() == pytest.approx(0.1, rel=0.02)
    assert abs(np.corrcoef(relative, length)[0, 1]) < 0.2


def test_counts_are_integers_with_the_variance_of_poisson():
    M, mean = (_family_columns.counts(level, np.random.default_rng(0)).M for level in (1000, 0))
    mean = 1000 * mean
    np.testing.assert_array_equal(M, np.round(M))
    assert M.min() == 0
    assert M.sum(axis=0).mean() == pytest.approx(1000, rel=0.1)
    large = mean > 5
    assert np.mean((M - mean)[large] ** 2 / mean[large]) == pytest.approx(1, abs=0.05)
    words = np.sort(M.sum(axis=1))[::-1]
    assert words[:20].sum() > 0.5 * words.sum()  # a tenth of the words make up half of the texts


def test_heavy_tails_are_those_of_student_with_two_degrees_of_freedom():
    _, clean, noise = noise_of("heavy_tails", 0.06)
    scaled = np.abs(noise) / (0.06 * np.sqrt(np.mean(clean**2)))
    # P(|t| > x) = 1 − x/√(2 + x²)
    for x in (0.8165, 3, 10):
        assert np.mean(scaled > x) == pytest.approx(1 - x / np.sqrt(2 + x**2), rel=0.15)


def test_noise_by_row_differs_between_rows_up_to_thirty_times():
    _, _, noise = noise_of("by_row", 0.2)
    spread = noise.std(axis=1)
    assert 15 < spread.max() / spread.min() < 35
    columns = noise.std(axis=0)
    assert columns.max() / columns.min() < 4


def test_a_third_of_the_columns_has_ten_times_the_noise():
    _, clean, noise = noise_of("by_column", 0.03)
    spread = noise.std(axis=0) / np.sqrt(np.mean(clean**2))
    noisy = spread > 0.1
    assert noisy.sum() == 100
    assert spread[noisy].mean() == pytest.approx(0.3, rel=0.05)
    assert spread[~noisy].mean() == pytest.approx(0.03, rel=0.05)


def test_low_rank_data_have_rank_four_and_eight_extreme_columns():
    instance = make_family("low_rank", 0, 2)
    assert np.linalg.matrix_rank(instance.M) == 4
    for k in range(8):
        others = np.delete(instance.vertices, k, axis=1)
        assert nnls(others, instance.vertices[:, k])[1] > 1e-3 * np.linalg.norm(instance.vertices[:, k])


@pytest.mark.parametrize(("level", "wrong"), [(0.02, 6), (0.08, 24)])
def test_outliers_are_no_mixtures_of_the_anchors(level, wrong):
    instance = make_family("outliers", level, 0)
    left = np.array([nnls(instance.vertices, column)[1] / np.linalg.norm(column) for column in instance.M.T])
    assert (left > 0.15).sum() == wrong
    assert not (left[instance.anchors] > 0.15).any()


def test_spikes_are_few_large_and_positive():
    instance, _, noise = noise_of("spikes", 0.01)
    # Level 0 draws the same columns, white noise and candidates, but none of them is hot.
    hot = noise != 0
    assert hot.mean() == pytest.approx(0.01, rel=0.2)
    assert noise[hot].min() > 1.9 * instance.vertices.mean()


def test_near_copies_are_four_columns_that_count():
    instance = make_family("near_copies", 0, 0)
    assert {len(columns) for columns in instance.accepted} == {4}
    for vertex, columns in zip(instance.vertices.T, instance.accepted, strict=True):
        away = instance.M[:, sorted(columns)] - vertex[:, None]
        assert np.linalg.norm(away, axis=0).max() < 0.03 * np.linalg.norm(vertex)
        for k in columns:
            rest = [min(others) for others in instance.accepted if k not in others]
            assert instance.share_found(np.array([k, *rest])) == 1


@pytest.mark.parametrize("level", FAMILIES["dependent"].levels)
def test_the_condition_number_is_the_level(level):
    assert np.linalg.cond(make_family("dependent", level, 0).vertices) == pytest.approx(level, rel=1e-6)


def test_spectra_are_smooth_and_their_noise_is_relative_to_the_entries():
    instance, clean, noise = noise_of("smooth", 0.03)
    assert 0 < instance.vertices.min() < instance.vertices.max() <= 0.9 + 1e-12
    steps = np.abs(np.diff(instance.vertices, axis=0)).max()
    assert steps < 0.2
    assert np.std(noise / clean) == pytest.approx(0.03, rel=0.02)
    lengths = np.linalg.norm(clean, axis=0)
    assert lengths.max() / lengths.min() > 3


def test_bilinear_mixtures_leave_the_cone_as_the_products_grow():
    def unexplained(level):
        instance = make_family("bilinear", level, 0)
        return np.mean(
            [nnls(instance.vertices, column)[1] / np.linalg.norm(column) for column in instance.M.T]
        )

    assert unexplained(0) == pytest.approx(0.01, rel=0.3)
    assert unexplained(0) < unexplained(0.6) < unexplained(1.0)


def test_midpoints_are_those_of_type_1():
    instance = make_family("midpoints", 0, 0)
    W = instance.vertices
    rest = np.setdiff1d(np.arange(36), instance.anchors)
    H = np.linalg.lstsq(W, instance.M[:, rest], rcond=None)[0]
    np.testing.assert_allclose(np.sort(H, axis=0)[-2:], 0.5)


@pytest.mark.parametrize(
    ("name", "level", "message"), [("grey", 0.1, "name must be"), ("white", -0.1, "level must be")]
)
def test_bad_arguments_are_named(name, level, message):
    with pytest.raises(ValueError, match=message):
        make_family(name, level)
