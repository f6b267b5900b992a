"""The report: one file, safe with any names, and alive in a real browser."""

import base64
import hashlib
import json
import re
import struct
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from sepnmf._markup import asset, data_block, element
from sepnmf.io._data import Data
from sepnmf.report import Contents, render, write_report
from sepnmf.report._figures import BINS, LONGEST, thinned, top_rows
from sepnmf.report._pictures import place_labels
from sepnmf.report._png import colours, levels, png
from sepnmf.report._values import plain, shown
from sepnmf.selection import Selection, Status

HOSTILE = [
    "<img src=x onerror=window.__hacked=1>",
    "</script><script>window.__hacked=1</script>",
    "\" onfocus=\"window.__hacked=1\" autofocus='1' x='",
    "{{7*7}} ${window.__hacked=1} <!-- <style>*{display:none}</style>",
    "\u202eevil\u202c אנכור 🧪 \x00\udcff",
    "javascript:window.__hacked=1",
]


class Matrix:
    """A shape and a type: whoever touches more of the data fails."""

    shape, dtype = (60, 80), np.dtype(np.float64)


def make_contents(labels=None, **changes):
    """Contents with every part: a scene of 8 × 10 pixels, an iterative method, failures, missing values."""
    rng = np.random.default_rng(0)
    r = 3 if labels is None else len(labels)
    anchors = np.array([9, 30, 79, *range(10, 57)][:r])
    scores = np.zeros(80)
    scores[anchors] = np.arange(r, 0, -1) / r
    n = 40
    history = {
        "objective": 10.0 ** -np.linspace(0, 6, n),
        "fit": np.where(np.arange(n) % 7 == 3, np.nan, np.linspace(1, 0, n)),
        "n_inner": np.full(n, 10),
        "seconds": np.linspace(0, 1, n),
    }
    x = np.linspace(0, 1, 60)[:, None]
    columns = np.exp(-((x - np.linspace(0.2, 0.8, r)) ** 2) / 0.05)
    columns[10, 0] = np.nan
    maps = rng.random((r, 8, 10))
    maps[0, 0, 0] = np.nan
    residual = rng.random((8, 10))
    residual[0, 0] = np.nan
    given = {
        "data": Data(
            Matrix(),
            Path("folder/scene.mat"),
            "V",
            wavelengths=tuple(np.linspace(400.0, 990.0, 60)),
            image_shape=(8, 10),
        ),
        "selection": Selection(
            anchors, scores, "admm", "max_outer", False, n_outer=n, history=history, seconds=1.5
        ),
        "labels": tuple(labels or ["soil", "tree", "water"]),
        "anchor_columns": columns,
        "summary": {"rows": "60", "columns": "80"},
        "fit": 0.9765,
        "maps": maps,
        "residual_map": residual,
        "picture": rng.random((8, 10)),
        "curve": {"r": np.arange(1, 7), "unexplained": np.array([0.5, 0.3, 0.1, 0.08, np.nan, 0.07])},
        "comparison": [
            {"method": "spa", "anchors": ["soil", "rock"], "fit": 0.9, "seconds": 0.2, "status": "done"},
            {"method": "vca", "anchors": ["tree"], "fit": 0.95, "seconds": 10.0, "status": "done"},
            {"method": "hottopixx", "anchors": [], "fit": None, "seconds": 0.0, "status": "failed"}
            | {"failure": "too many columns."},
            {"method": "auto", "anchors": ["soil"], "fit": 0.97, "seconds": 3.0, "status": "done"},
        ],
        "command": "sepnmf anchors scene.mat -r 3",
        "versions": {"sepnmf": "0.1", "numpy": "2"},
    }
    return Contents(**(given | changes))


def bare(**changes):
    """Contents without any optional part."""
    scores = np.array([0.0, 1.0])
    given = {
        "data": Data(Matrix(), Path("a.npy")),
        "selection": Selection(np.array([1]), scores, "spa"),
        "labels": ("column 1",),
        "anchor_columns": np.ones((3, 1)),
        "summary": {},
        "fit": float("nan"),
    }
    return Contents(**(given | changes))


class Outline(HTMLParser):
    """Tags, attributes and texts of a page, as a parser understands them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_data(self, data):
        self.texts.append(data)


def blocks(page):
    """The charts' data."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return [json.loads(block, parse_constant=pytest.fail) for block in found]


# What is written


def test_names_from_the_data_never_become_markup():
    harmless = render(make_contents(["name"] * len(HOSTILE)))
    data = Data(Matrix(), Path(HOSTILE[0].replace("/", "")), HOSTILE[1], (), (), (), (8, 10))
    comparison = [
        {"method": HOSTILE[0], "anchors": HOSTILE, "fit": 0.5, "seconds": 1.0, "status": HOSTILE[2]},
        {"method": "x", "anchors": [], "fit": None, "seconds": 0.0, "status": "", "failure": HOSTILE[1]},
    ]
    page = render(
        make_contents(
            HOSTILE,
            data=data,
            summary={HOSTILE[0]: HOSTILE[1]},
            comparison=comparison,
            command=HOSTILE[1],
            versions={HOSTILE[2]: HOSTILE[3]},
        )
    )
    outline = Outline(page)
    assert outline.tags.count("script") == Outline(harmless).tags.count("script")
    assert set(outline.tags) == set(Outline(harmless).tags)
    assert not [attribute for attribute in outline.attributes if attribute[1].startswith("on")]
    assert page.encode("utf-8")  # not even half a surrogate pair
    assert "\x00" not in page
    texts = "".join(outline.texts)
    for label in HOSTILE[:4]:
        assert label in texts, "shown as it is"


def test_names_stay_names_where_bars_and_topics_show_them():
    rows = tuple(HOSTILE * 10)
    data = Data(Matrix(), Path("a"), row_names=rows)
    for more in ({"data": data}, {"topics": [(label, [(label, 0.5)]) for label in HOSTILE[:3]]}):
        outline = Outline(render(make_contents(**more)))
        assert "h4" in outline.tags
        assert outline.tags.count("script") == 3  # ours, and the data of two charts
        assert HOSTILE[1] in "".join(outline.texts)


def test_text_is_escaped_unless_it_was_made_here():
    part = element("b", "1 < 2")
    assert element("p", part, "<i>", title='"') == '<p title="&quot;"><b>1 &lt; 2</b>&lt;i&gt;</p>'
    assert "&lt;b&gt;" in element("p", f"{part}"), "what is put together by hand is text again"
    assert element("p", None, 0, hidden=True, id=None, lang=False) == "<p hidden>0</p>"
    assert data_block("</script>&") == (
        '<script type="application/json">"\\u003c/script\\u003e\\u0026"</script>'
    )
    with pytest.raises(ValueError, match="would end its <script> early"):
        asset("script", "'</script>'")


def test_the_page_refers_to_nothing_outside_itself():
    page = render(make_contents())
    bare_page = re.sub(r"data:image/png;base64,[\w+/=]+", "", page).replace("http://www.w3.org/2000/svg", "")
    assert not re.findall(r"(?:https?|ftp|file)://|\W//\w", bare_page)
    assert not re.findall(r"url\((?!#)|@import", page)
    for tag, key, value in Outline(page).attributes:
        if key in {"src", "href"}:
            assert value.startswith(("data:", "#")), (tag, value)


def test_the_policy_allows_our_script_and_nothing_else():
    page = render(make_contents())
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(value for tag, key, value in Outline(page).attributes if value and "default-src" in value)
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert "img-src data:" in policy


def test_equal_contents_give_equal_pages():
    assert render(make_contents()) == render(make_contents())


def test_missing_values_are_null_in_the_data_and_a_dash_in_the_tables():
    page = render(make_contents())
    spectra, residuals, history = blocks(page)
    assert spectra["series"][0]["y"][10] is None
    assert spectra["series"][0]["y"][11] == pytest.approx(make_contents().anchor_columns[11, 0], rel=1e-6)
    assert residuals["series"][0]["y"] == [0.5, 0.3, 0.1, 0.08, None, 0.07]
    assert residuals["mark"]["x"] == 3
    assert {s["name"]: s["on"] for s in history["series"]} == {
        "objective": True,
        "fit": True,
        "n_inner": False,
        "seconds": False,
    }
    assert ">–</td>" in page
    assert not re.search(r"\bnan\b", "".join(Outline(page).texts), re.IGNORECASE)


def test_every_part_but_the_anchors_may_be_absent():
    page = render(bare())
    assert re.findall(r'<section id="(\w+)"', page) == ["data", "anchors", "convergence"]
    assert "spa does not iterate" in page
    assert "1 of 80 columns explains the others" in page


@pytest.mark.parametrize("part", ["maps", "picture", "curve", "comparison", "topics", "command", "versions"])
def test_each_part_may_be_absent_alone(part):
    empty = {"comparison": [], "command": "", "versions": {}}
    page = render(make_contents(**{part: empty.get(part)}))
    assert len(re.findall("<h2", page)) == (6 if part in {"curve", "comparison"} else 7)


def test_the_data_themselves_are_never_read():
    assert "3 of 80 columns" in render(make_contents())  # Matrix has nothing but a shape and a type


def test_what_auto_tried_is_a_table():
    history = {
        "start": np.array(["spa", "xray"]),
        "criterion": np.array(["residual", "residual"]),
        "before": np.array([2.0, 3.0]),
        "after": np.array([1.0, np.nan]),
        "exchanges": np.array([1, 0]),
        "settled": np.array([True, False]),
    }
    refinement = {"criterion": "likelihood", "before": 2.0, "after": 1.0, "exchanges": 3}
    sel = Selection(np.array([1]), np.ones(2), "auto", n_outer=2, history=history, refinement=refinement)
    page = render(bare(selection=sel))
    texts = Outline(page).texts
    assert [t for t in texts if t in {"spa", "xray", "yes", "no"}] == ["spa", "yes", "xray", "no"]
    assert "likelihood" in texts


@pytest.mark.parametrize("status", get_args(Status))
def test_the_page_says_how_the_run_ended(status):
    page = render(bare(selection=Selection(np.array([1]), np.ones(2), "dca", status)))
    assert ('class="warning"' in page) == (status not in {"converged", "done"})


def test_named_rows_are_bars_largest_first():
    column = np.array([0.5, np.nan, -2.0, 0.0, 1.0])
    assert top_rows(column, "abcde") == [("c", -2.0), ("e", 1.0), ("a", 0.5)]
    assert len(top_rows(np.arange(1.0, 100.0), [str(i) for i in range(99)])) == 20
    names = tuple(f"row {i}" for i in range(60))
    page = render(make_contents(data=Data(Matrix(), Path("a"), row_names=names)))
    assert 'id="rows"' in page
    assert 'id="spectra"' not in page
    measured = Data(Matrix(), Path("a"), row_names=names, wavelengths=tuple(range(60)))
    assert 'id="spectra"' in render(make_contents(data=measured))


@pytest.mark.parametrize("names", [("3.5", "1", "2e0"), ("3,5", "1", "2,0")])
def test_rows_named_by_numbers_are_an_axis(names):
    columns = np.array([[30.0], [10.0], [20.0]])
    page = render(bare(data=Data(Matrix(), Path("a"), row_names=names), anchor_columns=columns))
    assert 'id="rows"' not in page
    chart = blocks(page)[0]
    (curve,) = chart["series"]
    assert (curve["x"], curve["y"]) == ([1, 2, 3.5], [10, 20, 30])
    assert chart["x"]["label"] == "row name"


@pytest.mark.parametrize("names", [("1", "2", "x"), ("1", "2", "nan"), ("1", "2", "2"), ("1", "2", "1_0")])
def test_rows_whose_names_are_not_different_numbers_are_bars(names):
    columns = np.array([[30.0], [10.0], [20.0]])
    page = render(bare(data=Data(Matrix(), Path("a"), row_names=names), anchor_columns=columns))
    assert 'id="rows"' in page


def test_wavelengths_are_put_in_order():
    data = Data(Matrix(), Path("a"), wavelengths=(3.0, 1.0, 2.0))
    page = render(bare(data=data, anchor_columns=np.array([[30.0], [10.0], [20.0]])))
    (curve,) = blocks(page)[0]["series"]
    assert (curve["x"], curve["y"]) == ([1, 2, 3], [10, 20, 30])


def test_long_curves_keep_their_extremes():
    y = np.random.default_rng(0).random(30_011)
    y[1234], y[20_000], y[5000:5200] = 50.0, -50.0, np.nan
    kept = thinned(y)
    assert {0, 1234, 20_000, 30_010} <= set(kept.tolist())
    assert len(kept) <= 2 * BINS + 2
    assert (np.diff(kept) > 0).all()
    assert np.isnan(y[kept]).any(), "a gap stays one"
    assert len(thinned(y[:LONGEST])) == LONGEST


def test_fifty_anchors_show_eight_at_first():
    scores = np.arange(80.0)
    sel = Selection(np.arange(50), scores, "spa")
    page = render(
        make_contents([str(i) for i in range(50)], selection=sel, anchor_columns=np.ones((60, 50)), maps=None)
    )
    on = [s["on"] for s in blocks(page)[0]["series"]]
    assert on == [True] * 8 + [False] * 42
    assert "The first 8 of 50 are shown" in page


def test_a_column_becomes_an_image_column_by_column():
    column = np.arange(6.0)[:, None]
    page = render(bare(anchor_columns=column, anchor_images=(2, 3)))
    uri = re.search(r'class="pixels" .*?|src="data:image/png;base64,([^"]+)" alt="Image of', page).group(1)
    assert decode(base64.b64decode(uri)).tolist() == levels(np.array([[0, 2, 4], [1, 3, 5.0]]), 0, 5).tolist()


def decode(content):
    """Palette entries of a PNG file with unfiltered lines, read by the letter of its specification."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        chunks[kind] = content[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack(">I", content[place + 8 + length : place + 12 + length])
        assert checksum == zlib.crc32(kind + chunks[kind])
        place += 12 + length
    samples, lines, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour, len(chunks[b"PLTE"])) == (8, 3, 768)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(lines, samples + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:]


def test_images_are_png_files_with_missing_values_transparent():
    image = np.array([[0.0, 0.5, np.nan], [1.0, 2.0, -1.0]])
    entries = levels(image, 0.0, 1.0)
    assert entries.tolist() == [[0, 127, 255], [254, 254, 0]]
    assert decode(png(entries, colours("cividis"))).tolist() == entries.tolist()
    assert levels(np.full((1, 1), 3.0), 3.0, 3.0).tolist() == [[0]]
    matplotlib = pytest.importorskip("matplotlib")
    theirs = matplotlib.colormaps["cividis"](np.linspace(0, 1, 255))[:, :3] * 255
    assert np.abs(colours("cividis")[:255] - theirs).max() < 12


def test_marks_keep_their_numbers_apart():
    points = [(x + 0.3 * y, float(y)) for x in range(40, 320, 50) for y in range(40, 480, 80)]
    places = place_labels(points, 500.0, 500.0)
    for i, (x, y, free) in enumerate(places):
        assert free
        assert 0 < x < 500
        assert 0 < y < 500
        for u, v, _ in places[:i]:
            assert abs(x - u) >= 12 or abs(y - v) >= 20
    crowded = place_labels([(1.0, 1.0)] * 60, 20.0, 20.0)
    assert len(crowded) == 60, "no room is no reason to fail"
    assert not any(free for *_, free in crowded)


def test_numbers_read_well():
    assert [shown(x) for x in (123456.7, 1e-5, np.float32(0.1), np.int64(7), np.inf)] == [
        "123,457",
        "10⁻⁵",
        "0.1",
        "7",
        "–",
    ]
    assert plain(np.array([np.nan, -np.inf, 1 / 3])) == [None, None, 0.3333333]


def test_the_file_appears_complete_or_not_at_all(tmp_path, monkeypatch):
    path = write_report(tmp_path / "a.html", bare())
    assert path.read_text(encoding="utf-8") == render(bare())
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_report(path, make_contents())
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]
    assert path.read_text(encoding="utf-8") == render(bare())


@pytest.mark.parametrize("name", ["labels", "anchor_columns", "maps", "topics"])
def test_counts_that_disagree_are_refused(name):
    wrong = {"labels": ("a",), "anchor_columns": np.ones((60, 2)), "maps": np.ones((2, 8, 10)), "topics": []}
    with pytest.raises(ValueError, match=f"{name} must be as many as the anchors, 3"):
        replace(make_contents(), **{name: wrong[name]})


# What a browser makes of it


@pytest.fixture(scope="module")
def full(visit):
    return visit(make_contents())


@pytest.fixture
def page(full):
    """The full page, as it was when it was opened."""
    full.evaluate("history.scrollRestoration = 'manual'")
    full.reload()
    return full


DRAWN = """() => [...document.querySelectorAll("figure.chart")].map(figure => ({
    id: figure.id,
    lines: [...figure.querySelectorAll(".lines .line")].map(path => path.getAttribute("d")),
    ticks: figure.querySelectorAll(".x-tick").length * figure.querySelectorAll(".y-tick").length,
    size: figure.querySelector(".lines").getBBox().width,
}))"""


def assert_drawn(page):
    for chart in page.evaluate(DRAWN):
        assert chart["lines"], chart["id"]
        for path in chart["lines"]:
            numbers = re.findall(r"-?[\d.]+", path)
            assert len(numbers) > 2
            assert not re.search(r"[^-\d.MLh ]", path), "no NaN, no Infinity"
        assert chart["ticks"] >= 4
        assert chart["size"] > 100
    widths = page.evaluate("[...document.images].map(image => [image.complete, image.naturalWidth])")
    assert all(complete and width > 0 for complete, width in widths)


def names_in(page, selector):
    return page.locator(selector).evaluate_all("nodes => nodes.map(node => node.dataset.name)")


def ticks(page, chart="spectra"):
    return page.locator(f"#{chart} .x-tick").all_text_contents()


def test_every_figure_is_drawn(page):
    assert_drawn(page)
    assert [chart["id"] for chart in page.evaluate(DRAWN)] == ["spectra", "residuals", "history"]
    assert (
        page.locator("img").count() == 9
    )  # scene, large map, its scale, three maps, dominant, residual, scale
    assert page.locator(".marks g").count() == 3


def test_a_page_without_options_is_drawn(visit):
    assert_drawn(visit(bare()))


def test_odd_numbers_are_drawn(visit):
    columns = np.array([[1e-300, 0.0, np.nan, 5.0], [1e300, 0.0, np.nan, 5.0], [-1e300, 0.0, np.inf, 5.0]])
    page = visit(
        bare(
            selection=Selection(np.arange(4), np.array([1e-300, 0, 0, 0.0]), "spa"),
            labels=tuple("abcd"),
            anchor_columns=columns,
            maps=np.stack([np.full((4, 4), x) for x in (0.0, np.nan, 1e300, -1.0)]),
            curve={"r": np.array([1]), "unexplained": np.array([0.0])},
        )
    )
    page.get_by_role("button", name="Log scale").first.click()
    page.get_by_role("button", name="Log scale").last.click()
    assert "NaN" not in page.content()
    assert "Infinity" not in page.locator("main").inner_html()


def test_a_click_in_the_legend_hides_a_curve_and_another_brings_it_back(page):
    entry = page.locator("#spectra .legend button", has_text="2: tree")
    assert entry.get_attribute("aria-pressed") == "true"
    entry.click()
    assert entry.get_attribute("aria-pressed") == "false"
    assert names_in(page, "#spectra .series") == ["1: soil", "3: water"]
    entry.press("Enter")
    assert names_in(page, "#spectra .series") == ["1: soil", "2: tree", "3: water"]
    page.locator("#history").get_by_role("button", name="Hide all").click()
    assert names_in(page, "#history .series") == []
    assert "No curve is shown" in page.locator("#history .note").inner_text()
    page.locator("#history").get_by_role("button", name="Show all").click()
    assert len(names_in(page, "#history .series")) == 4


def test_the_pointer_shows_exact_values(page):
    plot = page.locator("#residuals .plot")
    plot.scroll_into_view_if_needed()
    mark = page.locator("#residuals .marker").nth(1).bounding_box()
    page.mouse.move(mark["x"] + mark["width"] / 2 + 3, mark["y"] + 40)
    tip = page.locator("#residuals .tip")
    assert tip.is_visible()
    assert tip.inner_text().split("\n") == ["number of anchors r 2", "unexplained", "0.3"]
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def test_arrow_keys_move_the_cursor_and_say_what_is_there(page):
    plot = page.locator("#residuals .plot")
    plot.focus()
    told = page.locator("#residuals .hidden[role=status]")
    for key, r, value in [
        ("ArrowRight", 1, 0.5),
        ("ArrowRight", 2, 0.3),
        ("End", 6, 0.07),
        ("ArrowLeft", 5, None),  # missing
        ("ArrowLeft", 4, 0.08),
        ("Home", 1, 0.5),
    ]:
        plot.press(key)
        if value is not None:
            assert told.text_content() == f"number of anchors r {r}. unexplained: {value}"
            assert page.locator("#residuals .tip").is_visible()


def test_zoom_changes_the_axis_and_escape_resets_it(page):
    plot = page.locator("#spectra .plot")
    plot.scroll_into_view_if_needed()
    before = ticks(page)
    box = plot.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 120, steps=4)
    assert page.locator("#spectra .selection").count() == 1
    page.mouse.up()
    near = [float(t) for t in ticks(page)]
    assert len(near) > 2
    assert 600 < near[0] < near[-1] < 800
    plot.press("Escape")
    assert ticks(page) == before
    plot.press("+")
    closer = ticks(page)
    assert closer != before
    plot.press("-")
    assert ticks(page) == before
    page.locator("#spectra").get_by_role("button", name="Zoom in").click()
    assert ticks(page) == closer
    plot.dblclick()
    assert ticks(page) == before


def test_the_cursor_takes_a_zoomed_view_along(page):
    plot = page.locator("#spectra .plot")
    for _ in range(3):
        plot.press("+")
    near = ticks(page)
    plot.press("End")
    assert ticks(page) != near
    assert page.locator("#spectra .tip").inner_text().startswith("wavelength 990")


def test_the_scale_can_be_logarithmic(page):
    toggle = page.locator("#history").get_by_role("button", name="Log scale")
    assert toggle.get_attribute("aria-pressed") == "true"
    tick = page.locator("#history .y-tick")
    assert "10⁻⁴" in tick.all_text_contents()
    assert "not above zero" in page.locator("#history .note").inner_text()  # the last fit is 0
    toggle.click()
    assert toggle.get_attribute("aria-pressed") == "false"
    assert "0.4" in tick.all_text_contents()


def test_heads_sort_the_table_and_failures_come_last(page):
    table = page.locator("#comparison table")
    methods = table.locator("tbody th")
    assert methods.all_inner_texts() == ["spa", "vca", "hottopixx", "auto"]
    head = table.locator("thead th", has_text="seconds")
    for order, expected in [
        ("descending", ["vca", "auto", "spa", "hottopixx"]),
        ("ascending", ["spa", "auto", "vca", "hottopixx"]),
    ]:
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == order
        assert methods.all_inner_texts() == expected
    table.locator("thead th", has_text="method").get_by_role("button").press("Enter")
    assert methods.all_inner_texts() == ["auto", "hottopixx", "spa", "vca"]
    assert head.get_attribute("aria-sort") is None
    assert "No result: too many columns." in table.inner_text()


def test_a_click_on_a_map_shows_it_large(page):
    large, thumbs = page.locator(".large .frame img"), page.locator(".thumbs button")
    first = large.get_attribute("src")
    thumbs.nth(1).click()
    second = large.get_attribute("src")
    assert second != first
    assert second == thumbs.nth(1).locator("img").get_attribute("src")
    assert page.locator(".large .chosen").inner_text() == "2: tree"
    assert large.get_attribute("alt") == "Weights of anchor 2: tree"
    assert page.locator(".marks .current").get_attribute("data-anchor") == "1"
    page.keyboard.press("ArrowLeft")
    assert large.get_attribute("src") == first
    page.locator(".marks g").nth(2).click()
    assert page.locator(".large .chosen").inner_text() == "3: water"
    marks = page.get_by_role("button", name="Marks")
    marks.click()
    assert page.locator(".marks").is_hidden()


def test_the_pointer_reads_a_map(page):
    image = page.locator(".large .frame img")
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    told = []
    for line, sample in [(0, 0), (5, 7)]:
        page.mouse.move(
            box["x"] + (sample + 0.5) * box["width"] / 10, box["y"] + (line + 0.5) * box["height"] / 8
        )
        told.append(page.locator(".large .readout").inner_text())
    assert told[0] == "line 0, sample 0: no data"
    place, value = told[1].split(": about ")
    assert place == "line 5, sample 7"
    assert float(value) == pytest.approx(make_contents().maps[0, 5, 7], abs=0.005)


def test_marks_are_where_the_anchors_are(page):
    found = page.evaluate("""() => {
        const frame = document.querySelector(".scene .frame").getBoundingClientRect();
        return [...document.querySelectorAll(".marks circle")].map(ring => {
            const box = ring.getBoundingClientRect();
            return [(box.top + box.height / 2 - frame.top) / frame.height * 8,
                    (box.left + box.width / 2 - frame.left) / frame.width * 10];
        });
    }""")
    for place, column in zip(found, [9, 30, 79], strict=True):
        assert place == pytest.approx([x + 0.5 for x in divmod(column, 10)], abs=0.05)


def test_hostile_names_execute_nothing(visit):
    rows = [{"method": h, "anchors": HOSTILE, "fit": 0.1, "seconds": 1, "status": h} for h in HOSTILE]
    page = visit(
        make_contents(HOSTILE, comparison=rows, command=HOSTILE[1], summary={HOSTILE[0]: HOSTILE[1]})
    )
    for entry in page.locator(".thumbs button").all():
        entry.click()
    plot = page.locator("#spectra .plot")
    plot.press("ArrowRight")
    page.locator("#spectra .legend button").first.hover()
    page.locator("#comparison thead button").first.click()
    assert page.evaluate("window.__hacked") is None
    assert page.locator("#spectra .tip").inner_text().count("<img src=x onerror") == 1
    assert_drawn(page)


def test_fifty_anchors_keep_a_usable_legend(visit):
    sel = Selection(np.arange(50), np.arange(80.0), "spa")
    labels = [f"an anchor with a long name, number {i}" for i in range(50)]
    columns = np.linspace(0, 1, 5000)[:, None] ** np.linspace(0.1, 5, 50)
    columns += 0.05 * np.random.default_rng(0).random((5000, 50))
    page = visit(make_contents(labels, selection=sel, anchor_columns=columns, maps=None))
    assert_drawn(page)
    legend = page.locator("#spectra .legend")
    assert legend.bounding_box()["height"] < 200
    assert legend.get_by_role("button").count() == 50
    page.locator("#spectra").get_by_role("button", name="Show all").click()
    styles = legend.locator(".swatch").evaluate_all(
        "all => all.map(s => s.getAttribute('class') + s.firstChild.getAttribute('stroke-dasharray'))"
    )
    assert len(set(styles)) == 50
    page.locator("#spectra .plot").hover()
    tip = page.locator("#spectra .tip").inner_text()
    assert "and 42 more" in tip
    assert "≈" in tip, "long curves are thinned, each in its own places"
    assert "≈ marks a value from beside the cursor" in page.locator("#spectra figcaption").inner_text()


@pytest.mark.parametrize("width", [360, 768])
def test_narrow_screens_do_not_scroll_sideways(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    try:
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate("document.querySelector('#spectra .plot svg').viewBox.baseVal.width") < width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert_drawn(page)
    finally:
        page.set_viewport_size({"width": 1100, "height": 800})


def test_paper_has_no_controls_and_black_text_on_white(page):
    page.emulate_media(media="print", color_scheme="dark")
    try:
        for selector in (".tools", ".values", "nav", ".help", ".copy", ".skip", ".large"):
            for node in page.locator(selector).all():
                assert node.is_hidden(), selector
        assert page.locator("#spectra .legend").is_visible(), "the key to the curves stays"
        colours = page.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
        assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
        assert page.locator(".thumbs img").first.is_visible()
        assert len(page.pdf()) > 10_000
    finally:
        page.emulate_media(media="screen", color_scheme="light")


# Contrast of every element with text of its own against the nearest opaque ground (WCAG 2).
CONTRAST = """() => {
    const parse = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = rgb => {
        const [r, g, b] = rgb.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const poor = [];
    for (const node of document.querySelectorAll("body *")) {
        if (node.closest(".marks") || !node.checkVisibility()) continue;
        if (![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())) continue;
        let ground = node, back;
        do { back = parse(getComputedStyle(ground).backgroundColor); ground = ground.parentElement; }
        while (back[3] === 0 && ground);
        const style = getComputedStyle(node);
        const front = parse(node instanceof SVGElement ? style.fill : style.color);
        const [a, b] = [light(front.slice(0, 3)), light(back.slice(0, 3))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) poor.push([node.className, node.textContent.slice(0, 30), ratio]);
    }
    return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page, scheme):
    page.emulate_media(color_scheme=scheme)
    try:
        page.locator("#spectra .plot").press("ArrowRight")
        assert page.evaluate(CONTRAST) == []
    finally:
        page.emulate_media(color_scheme="light")


def test_everything_has_a_name_and_headings_are_in_order(page):
    names = page.get_by_role("button").evaluate_all(
        "nodes => nodes.map(node => node.getAttribute('aria-label') || node.textContent.trim())"
    )
    assert len(names) > 20
    assert all(names)
    for image in page.locator("img").all():
        alt = image.get_attribute("alt")
        assert alt or (alt == "" and image.evaluate("node => node.closest('button').textContent"))
    headings = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map(node => Number(node.tagName[1]))"
    )
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert page.locator("html").get_attribute("lang") == "en"
    identities = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(identities) == len(set(identities))
    for target in page.locator("nav a").evaluate_all("nodes => nodes.map(node => node.hash.slice(1))"):
        assert target in identities


def test_the_keyboard_reaches_the_contents_first(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_without_a_script_the_values_are_in_tables(visit):
    page = visit(make_contents(), java_script_enabled=False)
    place = page.locator("#spectra .place")
    assert "needs JavaScript" in place.inner_text()
    page.locator("#spectra summary").click()
    assert page.locator("#spectra td", has_text="990").is_visible()
    assert page.locator(".thumbs img").count() == 3


def test_the_comparison_fits_a_page_of_800_pixels(visit):
    labels = tuple(f"line {k}, sample {k}" for k in range(3))
    row = {"method": "preconditioned_spa", "anchors": list(labels), "fit": 0.8592, "seconds": 0.000929}
    rows = [row | {"fit": fit, "status": "converged", "failure": None} for fit in (0.8592, 0.8994)]
    page = visit(make_contents(comparison=rows), viewport={"width": 800, "height": 700})
    table = page.locator("#comparison .scroll")
    assert table.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
