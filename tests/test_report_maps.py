"""The report: doubts, maps with nodata, one colour scale, cards and strips, in a real browser."""

import base64
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sepnmf.io._data import Data
from sepnmf.report import render
from sepnmf.report._anchors import distinctive_rows
from sepnmf.report._pictures import Categories, Scale, common_scale
from sepnmf.report._png import CATEGORIES, OTHERS, colours, data_uri, levels, palette_text, stretched
from sepnmf.report._tables import bar_cell
from sepnmf.report._values import baseline, shown
from sepnmf.selection import Selection
from test_report import (
    CONTRAST,
    HOSTILE,
    Matrix,
    Outline,
    assert_drawn,
    bare,
    blocks,
    decode,
    make_contents,
)

WIDTHS = [1280, 800, 360]


# Doubts and notes --------------------------------------------------------------------------------------


def test_doubts_are_in_a_box_above_everything_else(visit):
    warnings = ("450 pixels look like nodata: pass --nodata 65535.",)
    page = visit(make_contents(fit=0.524, warnings=warnings))
    box = page.get_by_role("note", name="Before you use this result")
    said = box.locator("li").all_inner_texts()
    assert said[0] == warnings[0]
    assert "only 52.4% of the data" in said[1]
    assert "iteration limit" in said[2]
    assert len(said) == 3
    assert (
        box.bounding_box()["y"] + box.bounding_box()["height"] <= page.locator(".tiles").bounding_box()["y"]
    )


def test_a_doubt_is_said_once():
    contents = make_contents()
    (known,) = re.findall(r"<li><bdi>(The method reached.*?)</bdi>", render(contents))
    assert render(replace(contents, warnings=(known,))).count(known) == 1


def test_a_good_result_has_no_box():
    sel = Selection(np.array([1]), np.ones(2), "spa")
    assert "Before you use" not in render(bare(selection=sel, fit=0.99))


def test_what_was_left_out_is_said_with_the_data():
    notes = ("451 of 9,025 pixels are left out: nodata (-9999).", HOSTILE[0])
    page = render(make_contents(notes=notes))
    section = page.split('<section id="data"')[1].split("</section>")[0]
    texts = "".join(Outline(section).texts)
    for note in notes:
        assert note in texts
    assert "img" not in Outline(section).tags
    assert 'class="notes"' not in render(make_contents())


def test_columns_that_are_left_out_are_not_counted():
    data = replace(make_contents().data, mask=np.arange(80) >= 9)
    assert "3 of 71 columns explain the others" in render(make_contents(data=data))


# Numbers and bars --------------------------------------------------------------------------------------


def test_bars_of_close_values_differ():
    values = np.array([1.0, 0.99, 0.98])
    base = baseline(values)
    widths = [float(re.search(r"width:([\d.]+)%", bar_cell(x, 1.0, base)).group(1)) for x in values]
    assert widths == pytest.approx([100, 200 / 3, 100 / 3], abs=0.1)
    for far in ([0.1, 1.0], [5.0], [5.0, 5.0], [0.0, 0.0], [-1.0, -0.99], [np.nan, 1.0], []):
        assert baseline(np.array(far)) == 0.0


def test_the_page_says_where_bars_start():
    scores = np.linspace(0.98, 1.0, 80)
    sel = Selection(np.array([79, 40, 0]), scores, "spa")
    page = render(make_contents(selection=sel))
    assert "Bars start at 0.97, not at 0." in page
    assert "Bars of what is explained start at 0.8" in page  # the fits are 0.9, 0.95 and 0.97
    assert "Bars start" not in render(make_contents())


def test_large_numbers_are_written_out_and_indices_as_one_types_them():
    assert [shown(x) for x in (12345, 12345.678, -65535.0, 9999.0, 123456789.0, 2e9)] == [
        "12,345",
        "12,346",
        "−65,535",
        "9999",
        "123,456,789",
        "2·10⁹",
    ]
    sel = Selection(np.array([12345]), np.ones(20_000), "spa")
    page = render(bare(selection=sel))
    assert ">12345</td>" in page
    assert "columns are counted from 0" in page


def test_charts_write_large_numbers_out(visit):
    page = visit(bare(anchor_columns=np.array([[10_000.0], [25_000.0], [12_345.0]])))
    ticks = page.locator("#spectra .y-tick").all_text_contents()
    assert "20,000" in ticks
    page.locator("#spectra .plot").press("End")
    assert "12,345" in page.locator("#spectra .tip").inner_text()


# Colours -----------------------------------------------------------------------------------------------

# Linear RGB as it is seen without one kind of cones (Machado, Oliveira and Fernandes 2009).
SEEN = {
    "by everybody": np.eye(3).ravel(),
    "without red": [0.1523, 1.0526, -0.2049, 0.1145, 0.7863, 0.0992, -0.0039, -0.0481, 1.0520],
    "without green": [0.3673, 0.8606, -0.2280, 0.2801, 0.6725, 0.0474, -0.0118, 0.0429, 0.9689],
    "without blue": [1.2555, -0.0767, -0.1788, -0.0784, 0.9308, 0.1476, 0.0047, 0.6914, 0.3039],
}


def lab(colour, seen):
    """CIE L*a*b* of six hexadecimal digits, as it is seen."""
    rgb = np.array(list(bytes.fromhex(colour))) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.array(to_xyz) @ np.clip(np.reshape(SEEN[seen], (3, 3)) @ linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = [np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", SEEN)
def test_categories_are_told_apart_by_colour_blind_readers(seen):
    for a, b in combinations([*CATEGORIES, OTHERS], 2):
        assert np.linalg.norm(lab(a, seen) - lab(b, seen)) > 15, (a, b)


def test_eight_categories_have_colours_and_the_rest_share_one():
    image = np.array([[np.nan, *range(10)], [9, 9, 8, *range(2, 8), 0, 0]])
    found = Categories.of(image, [f"name {k}" for k in range(10)])
    assert [label for _, label, _ in found.shares] == [
        *(f"name {k}" for k in (0, 2, 3, 4, 5, 6, 7, 9)),
        "2 others",
    ]
    assert sum(share for *_, share in found.shares) == pytest.approx(1)
    assert found.shares[-1][2] == pytest.approx(3 / 21)
    assert found.entries[0].tolist() == [255, 0, 8, 1, 2, 3, 4, 5, 6, 8, 7]


def test_one_scale_includes_those_of_all_maps():
    maps = [np.linspace(0, 1, 1000)[None], np.linspace(-1, 5, 1000)[None], np.full((1, 4), np.nan)]
    scales = [Scale.of(image, from_zero=True) for image in maps]
    assert scales[0].high == pytest.approx(0.995)
    whole = common_scale(scales)
    assert (whole.low, whole.high, whole.clipped) == (-1.0, scales[1].high, True)
    assert whole.ends == ("−1", "≥ 4.97")


def test_a_palette_is_in_the_same_place_of_every_image():
    """Exchanging it is what the button of the page does."""
    here, there = colours("cividis"), stretched("cividis", (0.0, 1.0), 0.0, 4.0)
    for shape in [(1, 1), (3, 7), (600, 600)]:
        entries = np.arange(shape[0] * shape[1]).reshape(shape).astype(np.uint8)
        uri = data_uri(entries, here)
        assert uri[66:1106] == palette_text(here)
        assert uri[:66] + palette_text(there) + uri[1106:] == data_uri(entries, there)
    np.testing.assert_array_equal(there[254], here[levels(np.array([1.0]), 0.0, 4.0)[0]])


def thumbnails(page):
    uris = re.findall(r'class="small"[^>]*><img src="data:image/png;base64,([^"]+)"', page)
    return [base64.b64decode(uri) for uri in uris]


def drawn_colours(content):
    """Red, green and blue of every pixel of a PNG file with a palette."""
    start = content.index(b"PLTE") + 4
    return np.frombuffer(content[start : start + 768], np.uint8).reshape(256, 3)[decode(content)]


def test_equal_weights_have_equal_colours_in_all_maps():
    maps = np.stack([np.linspace(0, 1, 40).reshape(4, 10), np.linspace(0, 4, 40).reshape(4, 10)])
    sel = Selection(np.array([1, 2]), np.arange(80.0), "spa")
    page = render(
        make_contents(["a", "b"], maps=maps, selection=sel, picture=None, anchor_columns=np.ones((60, 2)))
    )
    high = np.percentile(maps[1], 99.5)
    for image, content in zip(maps, thumbnails(page), strict=True):
        expected = colours("cividis")[levels(image, 0.0, high)].astype(int)
        assert np.abs(drawn_colours(content) - expected).max() <= 2


# Maps in a browser -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scene(visit):
    """A page with one map ten times as large as the others, and nodata in a corner."""
    contents = make_contents()
    maps = contents.maps.copy()
    maps[1] *= 10
    maps[:, 0, 0] = np.nan
    maps[:, 5, 5] = [0.2, 0.1, 0.9]
    picture = contents.picture.copy()
    picture[0, 0] = np.nan
    page = visit(replace(contents, maps=maps, picture=picture))
    page.contents = replace(contents, maps=maps, picture=picture)
    return page


def read_at(page, figure, line, sample):
    """What a figure says under the pointer at a pixel of an image of 8 × 10."""
    image = figure.locator(".frame img")
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    page.mouse.move(
        box["x"] + (sample + 0.5) * box["width"] / 10, box["y"] + (line + 0.5) * box["height"] / 8
    )
    return figure.locator(".readout").inner_text()


def view(page, title):
    return page.locator(".view").filter(has=page.locator(".title", has_text=title))


def test_the_residual_of_a_pixel_is_read(scene):
    figure = view(scene, "Unexplained")
    assert read_at(scene, figure, 0, 0) == "line 0, sample 0: no data"
    place, value = read_at(scene, figure, 3, 4).split(": about ")
    assert place == "line 3, sample 4"
    assert float(value) == pytest.approx(scene.contents.residual_map[3, 4], abs=0.005)
    assert figure.locator(".scale").inner_text().split("\n")[0] == "0"
    assert figure.locator(".missing").inner_text() == "no data"


def test_the_dominant_anchor_of_a_pixel_is_named(scene):
    figure = view(scene, "Dominant anchor")
    assert read_at(scene, figure, 0, 0) == "line 0, sample 0: no data"
    assert read_at(scene, figure, 5, 5) == "line 5, sample 5: 3: water"
    largest = np.argmax(np.nan_to_num(scene.contents.maps, nan=-1.0), axis=0)
    for line, sample in [(1, 2), (7, 9), (4, 0)]:
        name = ["1: soil", "2: tree", "3: water"][largest[line, sample]]
        assert read_at(scene, figure, line, sample) == f"line {line}, sample {sample}: {name}"
    legend = figure.locator(".categories li").all_inner_texts()
    counts = [np.count_nonzero(largest.ravel()[1:] == k) for k in range(3)]
    for k, (entry, name) in enumerate(zip(legend, ["1: soil", "2: tree", "3: water"], strict=False)):
        assert entry.split("\n") == [name, f"{counts[k] / 79:.1%}".replace("%", "\u00a0%")]
    assert legend[3:] == ["no data"]
    assert "1: soil" in figure.locator("img").first.get_attribute("alt")


def test_all_maps_have_one_scale_until_each_gets_its_own(scene):
    large = scene.locator(".large")
    ends = large.locator(".scale .high")
    thumbs = scene.locator(".gallery .thumbs button")
    common = f"≥ {np.nanpercentile(scene.contents.maps[1], 99.5):.3g}"
    sources = thumbs.locator("img").evaluate_all("all => all.map(image => image.src)")
    for k in range(3):
        thumbs.nth(k).click()
        assert ends.inner_text() == common
    thumbs.nth(0).click()
    own = scene.get_by_role("button", name="Own scale")
    assert own.get_attribute("aria-pressed") == "false"
    own.focus()
    scene.keyboard.press("Enter")
    assert own.get_attribute("aria-pressed") == "true"
    for k in range(3):
        thumbs.nth(k).click()
        assert ends.inner_text() == f"≥ {np.nanpercentile(scene.contents.maps[k], 99.5):.3g}"
    thumbs.nth(0).click()
    scene.wait_for_function("document.querySelector('.large .frame img').complete")
    value = float(read_at(scene, large, 3, 4).split(": about ")[1])
    assert value == pytest.approx(scene.contents.maps[0, 3, 4], abs=0.005)
    assert_drawn(scene)
    scene.keyboard.press("Shift+Tab")
    own.press("Space")
    assert thumbs.locator("img").evaluate_all("all => all.map(image => image.src)") == sources
    assert ends.inner_text() == common


def test_nodata_is_never_drawn_as_a_value(scene):
    alphas = scene.evaluate("""() => [...document.querySelectorAll("#maps .pixels")].map(image => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [10, 8];
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        const data = context.getImageData(0, 0, 10, 8).data;
        return [data[3], Math.min(...[...data].filter((_, i) => i % 4 === 3 && i > 3))];
    })""")
    assert len(alphas) == 7  # scene, large map, three maps, dominant, residual
    assert alphas == [[0, 255]] * 7
    assert scene.locator("#maps .missing").count() == 4  # in the key of each large picture


def test_without_a_script_all_maps_have_one_scale(visit):
    page = visit(make_contents(), java_script_enabled=False)
    assert page.get_by_role("button", name="Own scale").count() == 0
    assert view(page, "Unexplained").is_visible()
    assert view(page, "Dominant anchor").locator(".categories").is_visible()


def test_paper_has_the_dominant_anchor_and_the_residual(scene):
    scene.emulate_media(media="print")
    try:
        for title in ("Dominant anchor", "Unexplained"):
            assert view(scene, title).locator("img").first.is_visible()
    finally:
        scene.emulate_media(media="screen")


# Strips ------------------------------------------------------------------------------------------------

BOXES = """() => [...document.querySelectorAll(
    "#maps .view > *, #maps .title > *, #maps .scale > *, #maps .categories li, #maps .thumbs li, #maps > p"
)].filter(node => node.checkVisibility() && node.getBoundingClientRect().height > 0).map(node => {
    const box = node.getBoundingClientRect();
    return [node.className || node.tagName, box.left, box.top, box.right, box.bottom];
})"""


def strip(lines, samples):
    """A scene of a few lines or samples, with anchors at both ends."""
    rng = np.random.default_rng(0)
    n = lines * samples
    anchors = np.unique([0, n // 2, n - 1])
    r = len(anchors)
    maps = rng.random((r, lines, samples))
    maps[:, -1, -1] = np.nan

    class Strip:
        shape, dtype = (60, n), np.dtype(np.float64)

    return make_contents(
        [f"line {j // samples}, sample {j % samples}" for j in anchors],
        data=Data(Strip(), Path("strip.npy"), image_shape=(lines, samples)),
        selection=Selection(anchors, rng.random(n), "spa"),
        anchor_columns=np.ones((60, r)),
        maps=maps,
        residual_map=rng.random((lines, samples)),
        picture=rng.random((lines, samples)),
    )


def overlaps(a, b):
    inside = [a[3] - b[1], b[3] - a[1], a[4] - b[2], b[4] - a[2]]
    contains = all(x <= y + 1 for x, y in zip(a[1:3], b[1:3], strict=True)) and all(
        x >= y - 1 for x, y in zip(a[3:], b[3:], strict=True)
    )
    return min(inside) > 1 and not contains


@pytest.mark.parametrize("shape", [(5, 400), (400, 5), (1, 300), (300, 1), (2, 2), (1, 1), (600, 500)])
def test_strips_and_squares_are_seen_at_every_width(visit, shape):
    page = visit(strip(*shape))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for frame in page.locator("#maps .frame").all():
            box = frame.bounding_box()
            assert min(box["width"], box["height"]) >= 35, (width, box)
            assert max(box["width"], box["height"]) <= 620
        for frame in page.locator("#maps .small").all():
            box = frame.bounding_box()
            assert min(box["width"], box["height"]) >= 9
        boxes = page.evaluate(BOXES)
        found = [(a, b) for a, b in combinations(boxes, 2) if overlaps(a, b) and overlaps(b, a)]
        assert not found, (width, found[:3])
    assert ("they are stretched here" in page.locator("#maps").inner_text()) == (max(shape) > 8 * min(shape))


# Cards -------------------------------------------------------------------------------------------------

LONG = "a document with a very long title, which goes on, " * 5


def topics(**changes):
    found = [(word, [(word, 0.5), ("other", 0.25)]) for word in ("space", "god", "car")]
    documents = [[(f"sci/{k}", 0.98), (LONG, 0.97), (HOSTILE[1], 0.5)] for k in range(3)]
    plain = {"data": Data(Matrix(), Path("counts.mtx")), "maps": None, "residual_map": None, "picture": None}
    return make_contents(**(plain | {"topics": found, "documents": documents} | changes))


def test_a_topic_has_its_words_and_its_documents(visit):
    page = visit(topics())
    card = page.locator("#topics .card").nth(1)
    assert card.locator("h4").inner_text() == "2: god"
    assert card.locator("h5").all_inner_texts() == ["Words", "Documents"]
    words, documents = card.locator("ol").all()
    assert words.locator("li").first.inner_text().split("\n") == ["god", "0.5"]
    names = documents.locator("bdi").all_text_contents()
    assert names == ["sci/1", LONG, HOSTILE[1]]
    assert documents.locator(".value").all_inner_texts() == ["0.98", "0.97", "0.5"]
    assert documents.locator("li").nth(1).bounding_box()["height"] < 50, "two lines of a long title"
    assert page.locator("figure.chart#spectra").count() == 0
    assert page.evaluate("window.__hacked") is None


def test_topics_may_have_no_documents():
    assert "Documents" not in "".join(Outline(render(topics(documents=None))).texts[-400:])
    assert "<h5>Documents</h5>" not in render(topics(documents=[[], [], []]))
    with pytest.raises(ValueError, match="documents must be as many as the anchors, 3"):
        topics(documents=[[]])


def genes(**changes):
    """Three cells; one gene is large in all of them, and each has a marker of its own."""
    rng = np.random.default_rng(0)
    columns = rng.random((60, 3)) * 100
    columns[0] = 12_345.0
    columns[[1, 2, 3], [0, 1, 2]] = 5000.0
    names = ("MALAT1", "NKG7", "CD79A", *HOSTILE[:1], *(f"gene {k}" for k in range(56)))
    data = Data(Matrix(), Path("cells.h5ad"), row_names=names)
    plain = {"data": data, "anchor_columns": columns, "maps": None, "residual_map": None, "picture": None}
    return make_contents(**(plain | changes))


def test_a_cell_is_shown_by_the_names_of_its_genes(visit):
    page = visit(genes())
    for k, marker in enumerate(["NKG7", "CD79A", HOSTILE[0]]):
        largest, apart = page.locator("#rows .card").nth(k).locator("ol").all()
        assert largest.locator("bdi").all_text_contents()[:2] == ["MALAT1", marker]
        assert largest.locator(".value").all_inner_texts()[:2] == ["12,345", "5000"]
        assert apart.locator("bdi").first.text_content() == marker
    assert page.locator("#spectra").count() == 0
    assert page.evaluate("window.__hacked") is None


def test_rows_that_set_an_anchor_apart():
    columns = np.array([[10.0, 20.0], [10.0, 0.0], [0.0, 5.0], [np.nan, 0.0]])
    # Shares are (½, ½, 0) and (⅘, 0, ⅕).
    assert distinctive_rows(columns, 0, tuple("abcd"), 4) == [("b", 10.0)]
    assert distinctive_rows(columns, 1, tuple("abcd"), 4) == [("a", 20.0), ("c", 5.0)]
    assert distinctive_rows(np.zeros((4, 2)), 0, tuple("abcd"), 4) == []


def test_an_image_is_shown_by_curves_even_if_its_bands_have_names():
    named = genes().data
    assert 'id="rows"' in render(genes())
    page = render(genes(data=replace(named, image_shape=(8, 10))))
    assert 'id="spectra"' in page
    assert 'id="rows"' not in page
    assert 'id="spectra"' in render(genes(data=replace(named, row_names=())))


@pytest.mark.parametrize("all_rows", [True, False])
def test_curves_are_interrupted_where_bands_are_left_out(all_rows):
    mask = np.ones(60, bool)
    mask[20:25] = False
    wavelengths = np.linspace(400.0, 990.0, 60)
    wavelengths[22] = np.nan
    contents = make_contents()
    data = replace(contents.data, row_mask=mask, wavelengths=tuple(wavelengths), wavelength_unit="nm")
    columns = np.arange(180.0).reshape(60, 3)
    spectra = blocks(render(make_contents(data=data, anchor_columns=columns if all_rows else columns[mask])))[
        0
    ]
    assert spectra["x"]["label"] == "wavelength (nm)"
    y = spectra["series"][0]["y"]
    assert y[:20] == [3 * i for i in range(20)]
    assert y[20:24] == [None] * 4  # one of five has no wavelength
    assert y[24:] == [3 * i for i in range(25, 60)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("make", [topics, genes, make_contents])
def test_text_of_cards_boxes_and_keys_stands_out(visit, make, scheme):
    page = visit(make(warnings=("a doubt.",), notes=("a note.",)), color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [topics, genes, make_contents])
def test_long_and_hostile_names_fit_every_width(visit, make, width):
    labels = [HOSTILE[0], "x" * 300, HOSTILE[4]]
    more = {"warnings": ("y" * 300, *HOSTILE), "notes": ("z" * 300, *HOSTILE)}
    page = visit(make(labels=labels, **more), viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.__hacked") is None
    assert page.locator(".warning li").first.inner_text() == "y" * 300
