"""Figures of maps as PNG files: one colour scale, nodata hatched, strips, and hostile names."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sepnmf.cli import _pictures as pictures
from sepnmf.io._data import Data

matplotlib = pytest.importorskip("matplotlib")
images = pytest.importorskip("matplotlib.image")


@pytest.fixture
def figures(monkeypatch, tmp_path):
    """Figures that were saved, still open, in the order of saving."""
    kept = []
    save = pictures.save

    def keep(figure, path):
        kept.append(figure)
        return save(figure, path)

    monkeypatch.setattr(pictures, "save", keep)
    monkeypatch.setitem(matplotlib.rcParams, "figure.dpi", 110)  # as in the files, so that places are theirs
    return kept


@pytest.fixture
def maps():
    found = np.random.default_rng(0).random((3, 8, 10)) * np.array([1.0, 4.0, 0.1])[:, None, None]
    found[:, 0, 0] = np.nan
    return found


def colour_at(path, panel, line, sample, shape):
    """The colour of a pixel of an image, as it is in the file."""
    pixels = images.imread(path)
    x, y = panel.transAxes.transform(((sample + 0.5) / shape[1], 1 - (line + 0.5) / shape[0]))
    return pixels[len(pixels) - round(y), round(x), :3]


def texts(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_all_maps_have_one_colour_scale_and_nodata_has_a_key(figures, maps, tmp_path):
    path = pictures.draw_maps(tmp_path / "m.png", maps, ["a", "b", "c"])
    (figure,) = figures
    (limits,) = {panel.images[0].get_clim() for panel in figure.axes if panel.images}
    assert limits == (0.0, pytest.approx(np.nanpercentile(maps[1], 99.5)))
    assert texts(figure) == ["no data"]
    assert path.stat().st_size > 1000
    assert len([panel for panel in figure.axes if not panel.images]) == 1  # one colour bar
    pictures.draw_maps(tmp_path / "n.png", np.nan_to_num(maps), ["a", "b", "c"])
    assert texts(figures[1]) == []


def test_a_residual_has_its_colours_and_nodata_is_white_with_hatching(figures, maps, tmp_path):
    path = pictures.draw_residual(tmp_path / "r.png", maps[0])
    (figure,) = figures
    panel = next(panel for panel in figure.axes if panel.images)
    assert texts(figure) == ["no data"]
    assert panel.patch.get_hatch()
    grey = colour_at(path, panel, 0, 0, (8, 10))
    assert np.ptp(grey) < 0.05, "white or the grey of the hatching, never a colour of the scale"
    line, sample = np.unravel_index(np.nanargmax(maps[0]), (8, 10))
    np.testing.assert_allclose(
        colour_at(path, panel, line, sample, (8, 10)), panel.images[0].cmap(1.0)[:3], atol=0.02
    )


def test_the_dominant_anchor_has_its_colour_and_its_name(figures, maps, tmp_path):
    maps = maps / np.nanmax(maps, axis=(1, 2), keepdims=True)
    path = pictures.draw_dominant(tmp_path / "d.png", maps, ["soil", "tree $x^2$", "water"])
    (figure,) = figures
    named = texts(figure)
    assert [text.split(" (")[0] for text in named] == ["1: soil", "2: tree $x^2$", "3: water", "no data"]
    (panel,) = figure.axes
    largest = np.nan_to_num(maps, nan=-1.0).argmax(axis=0)
    patches = figure.legends[0].get_patches()
    for line, sample in [(1, 1), (4, 7), (7, 9), (0, 5)]:
        expected = patches[largest[line, sample]].get_facecolor()[:3]
        np.testing.assert_allclose(colour_at(path, panel, line, sample, (8, 10)), expected, atol=0.02)
    shares = [float(text.split("(")[1].rstrip("%)")) for text in named[:3]]
    np.testing.assert_allclose(shares, 100 * np.bincount(largest.ravel()[1:]) / 79, atol=0.05)


@pytest.mark.parametrize("shape", [(5, 400), (400, 5), (1, 300), (300, 1), (1, 1), (2, 3)])
def test_strips_are_wide_enough_to_be_seen(figures, tmp_path, shape):
    maps = np.random.default_rng(0).random((3, *shape))
    labels = [f"line {k}, sample {k}" for k in range(3)]
    pictures.draw_maps(tmp_path / "m.png", maps, labels)
    pictures.draw_residual(tmp_path / "r.png", maps[0])
    pictures.draw_dominant(tmp_path / "d.png", maps, labels)
    for figure in figures:
        for panel in figure.axes:
            if panel.images and panel.images[0].get_array().shape[:2] == shape:
                box = panel.get_window_extent()
                assert min(box.width, box.height) >= 30
        inside = figure.bbox
        for text in figure.findobj(lambda artist: hasattr(artist, "get_text")):
            if text.get_visible() and text.get_text():
                box = text.get_window_extent()
                assert box.x0 >= inside.x0 - 1
                assert box.x1 <= inside.x1 + 1, text.get_text()
        # Titles of neighbours do not overlap.
        boxes = [panel.title.get_window_extent() for panel in figure.axes if panel.title.get_text()]
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize("values", [0.0, np.nan, 1e300, -1.0])
def test_odd_values_are_drawn(tmp_path, values):
    maps = np.full((2, 4, 5), values)
    for path in (
        pictures.draw_maps(tmp_path / "m.png", maps, ["a", "b"]),
        pictures.draw_residual(tmp_path / "r.png", maps[0]),
        pictures.draw_dominant(tmp_path / "d.png", maps, ["a", "b"]),
    ):
        assert images.imread(path).ndim == 3


def test_names_in_any_script_are_drawn_without_a_warning(tmp_path, maps):
    labels = ["\u202eevil 🧪 \x00", "$\\frac{1}{$", "x" * 500]
    pictures.draw_maps(tmp_path / "m.png", maps, labels)
    pictures.draw_dominant(tmp_path / "d.png", maps, labels)
    pictures.draw_spectra(tmp_path / "s.png", Data(None, Path("a")), np.ones((5, 3)), labels)


def test_spectra_are_interrupted_where_bands_are_left_out(figures, tmp_path):
    mask = np.array([True, True, False, True, True])
    wavelengths = (400.0, 500.0, 600.0, 700.0, 800.0)
    data = Data(None, Path("a"), wavelengths=wavelengths, row_mask=mask, wavelength_unit="nm")
    pictures.draw_spectra(tmp_path / "s.png", data, np.arange(8.0).reshape(4, 2), ["a", "b"])
    pictures.draw_spectra(tmp_path / "t.png", replace(data, row_mask=None), np.ones((5, 2)), ["a", "b"])
    line = figures[0].axes[0].lines[0]
    np.testing.assert_array_equal(line.get_xdata(), wavelengths)
    np.testing.assert_array_equal(line.get_ydata(), [0, 2, np.nan, 4, 6])
    assert figures[0].axes[0].get_xlabel() == "wavelength (nm)"


@pytest.mark.parametrize(
    ("known", "x", "label"),
    [
        ({"row_names": ("450", "460.5", "470")}, [450, 460.5, 470], "band name"),
        ({"row_names": ("blue", "green", "red")}, [1, 2, 3], "band"),
        ({}, [1, 2, 3], "band"),
        ({"wavelengths": (0.4, 0.5, 0.6), "row_names": ("1", "2", "3")}, [0.4, 0.5, 0.6], "wavelength"),
    ],
)
def test_spectra_are_drawn_over_what_is_known_of_the_bands(figures, tmp_path, known, x, label):
    data = Data(None, Path("a"), image_shape=(2, 2), **known)
    pictures.draw_spectra(tmp_path / "s.png", data, np.ones((3, 2)), ["a", "b"])
    np.testing.assert_array_equal(figures[0].axes[0].lines[0].get_xdata(), x)
    assert figures[0].axes[0].get_xlabel() == label
