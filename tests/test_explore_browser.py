"""The explorer in a browser: every act, the keyboard, the pointer, narrow windows, and names as text."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("panel")

from exploring import HOSTILE, open_counts, open_image, open_table, served
from sepnmf.explorer._session import Session
from sepnmf.io import read

DRAWN = "new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 100))"
PATIENCE = 60_000  # milliseconds: a busy machine is slow, not wrong
HARMLESS = re.compile(r"\[bokeh|Bokeh items were rendered")  # what Bokeh logs


def open_samson(_):
    folder = os.environ.get("SEPNMF_DATA")
    if not folder:
        pytest.skip("SEPNMF_DATA is not set")
    return Session.open(Path(folder) / "samson/samson_1.mat", 3, "snpa")


DATA = {  # how it is opened, and a column as a person writes it
    "image": (open_image, "6:4"),
    "table": (open_table, "sample 7"),
    "counts": (open_counts, "text 9"),
    "samson": (open_samson, "42:32"),
}
KINDS = [pytest.param(kind, marks=pytest.mark.slow if kind != "image" else ()) for kind in DATA]


class Window:
    """A window of a browser that shows the explorer."""

    def __init__(self, browser, address, explorer, **size):
        self.explorer, self.session, self.address = explorer, explorer.session, address
        self.page = browser.new_page(viewport={"width": 1280, "height": 900} | size, reduced_motion="reduce")
        self.page.set_default_timeout(PATIENCE)
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.open()

    def open(self):
        self.page.goto(self.address)
        self.page.get_by_text("make the column under the pointer an anchor").wait_for()

    def close(self):
        own = ("data:", f"blob:{self.address.rpartition('/')[0].rpartition('/')[0]}", self.address)
        assert not [text for text in self.complaints if not HARMLESS.match(text)]
        assert not [url for url in self.requests if not url.startswith(own)]
        self.page.close()

    def says(self, text):
        """Wait until the last act is told, and the fit is that of the session."""
        self.page.get_by_role("status").filter(has_text=text).wait_for()
        self.page.get_by_text(f"{self.session.fit:.2%} explained").wait_for()

    def button(self, name, number=0):
        return self.page.get_by_role("button", name=name, exact=True).nth(number)

    def press(self, key, says):
        self.page.keyboard.press(key)
        self.says(says)

    def click(self, name, says, number=0):
        self.button(name, number).click()
        self.says(says)

    def go_to(self, address):
        """Type a column, and leave the field so that keys act again."""
        field = self.page.get_by_label(re.compile("Pixel|Column"))
        field.fill(address)
        field.press("Enter")
        field.blur()
        self.page.locator("h3").filter(has_text=re.compile(r"\S")).wait_for()

    @property
    def columns(self):
        return [anchor.column for anchor in self.session.anchors]


@pytest.fixture
def window(browser, tmp_path):
    opened = []

    def make(kind, **size):
        session = DATA[kind][0](tmp_path)
        server = served(session, kind)
        address, explorer = server.__enter__()
        opened.append((Window(browser, address, explorer, **size), server))
        return opened[-1][0]

    yield make
    for shown, server in opened:
        shown.close()
        server.__exit__(None, None, None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_act(window, kind):
    shown = window(kind)
    session, first = shown.session, shown.columns
    what = "pixel" if session.kind == "image" else "column"
    shown.go_to(DATA[kind][1])
    shown.click(f"Make this {what} an anchor", "added: fit ")
    added = shown.columns[3]
    assert shown.columns == [*first, added]
    assert session.fit > 0

    shown.press("Control+z", "undone: fit ")
    assert shown.columns == first
    shown.press("Control+y", "done again: fit ")
    assert shown.columns == [*first, added]
    shown.press("u", "undone")
    shown.press("Control+Shift+Z", "done again")
    shown.click("Undo", "undone")
    assert shown.columns == first

    shown.press("a", "added")
    shown.click("Undo", "undone")
    shown.press("2", "replaced by")
    assert shown.columns == [first[0], added, first[2]]
    shown.click("Undo", "undone")
    shown.click("Replace", "replaced by", 2)
    assert shown.columns == [first[0], first[1], added]

    shown.click("Lock", "locked", 2)
    assert [anchor.locked for anchor in session.anchors] == [False, False, True]
    shown.page.get_by_label("Name of anchor 3").fill(HOSTILE + " & <b>water</b>")
    shown.page.get_by_label("Name of anchor 3").press("Enter")
    shown.says("renamed <img src=x onerror=alert(1)> & <b>water</b>: fit ")
    assert shown.page.locator("td").filter(has_text="<b>water</b>").count() == 1  # beside its weight
    shown.page.locator("input[type=color]").nth(2).fill("#123456")
    shown.says("has another colour")
    assert session.anchors[2].colour == "#123456"

    shown.click("Drop", "dropped", 0)
    assert shown.columns == [first[1], added]
    shown.page.get_by_label("Method").select_option("spa")
    shown.says("2 anchors selected by spa")
    assert added in shown.columns  # it is locked
    shown.page.get_by_role("heading", name="Anchors").click()
    shown.press("+", "3 anchors selected by spa")
    shown.press("-", "2 anchors selected by spa")
    shown.page.get_by_label("Anchors", exact=True).fill("4")
    shown.page.get_by_label("Anchors", exact=True).press("Enter")
    shown.says("4 anchors selected by spa")
    shown.click("Select again", "4 anchors selected by spa")
    assert len(set(shown.columns)) == 4
    assert (session.anchors[shown.columns.index(added)].name).endswith("<b>water</b>")
    shown.click("Never an anchor", "excluded")
    assert added not in shown.columns
    assert session.excluded == (added,)


def test_the_fit_against_r_can_be_clicked(window):
    shown = window("table")
    shown.page.get_by_label("up to").fill("5")
    shown.page.get_by_label("up to").press("Enter")
    shown.button("Fit against r").click()
    wait_for(lambda: len(shown.explorer.curve) >= 3)
    fits = [fit for _, fit in shown.explorer.curve]
    assert fits == sorted(fits)
    (view,) = shown.explorer.windows
    plot = view.rank.pane.object
    wait_for(lambda: plot.inner_width and plot.x_range.end > 2)
    canvas = shown.page.locator("canvas").last
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    share = (plot.x_range.end - 2) / (plot.x_range.end - plot.x_range.start)
    right = box["x"] + box["width"] - 5  # there is nothing but a border to the right of the axes
    shown.page.mouse.click(right - share * plot.inner_width, box["y"] + box["height"] / 3)
    shown.says("2 anchors selected by auto")


def wait_for(condition, seconds=60):
    """Wait until a condition holds in Python."""
    paused = threading.Event()
    for _ in range(seconds * 20):
        if condition():
            return
        paused.wait(0.05)
    raise AssertionError("it did not happen")


# The pointer ---------------------------------------------------------------------------------------------


def at_pixel(shown, line, sample):
    """Return where a pixel of the scene is on the screen: left and top of the frame are found by pointing."""
    box = shown.page.locator("canvas").first.bounding_box()
    lines, samples = shown.session.image_shape
    scale = 440 / max(lines, samples)
    left = box["x"] + box["width"] - 30 - samples * scale  # the toolbar is 30 pixels wide
    top = box["y"] + 5
    return left + (sample + 0.5) * scale, top + (line + 0.5) * scale


def test_the_spectrum_under_the_pointer_is_shown(window):
    shown = window("image")
    shown.page.mouse.move(*at_pixel(shown, 6, 4))
    shown.page.locator("h3").filter(has_text="line 6, sample 4").wait_for()
    fitted, weights = shown.session.reconstruction(64)
    missed = np.linalg.norm(shown.session.spectrum(64) - fitted) / np.linalg.norm(shown.session.spectrum(64))
    shown.page.get_by_text(f"which misses {missed:.2%}").wait_for()
    cells = shown.page.locator("td.number").all_inner_texts()
    assert [float(cell) for cell in cells] == pytest.approx(weights, abs=5e-3)

    shown.page.mouse.click(*at_pixel(shown, 2, 3))  # holds this pixel
    shown.page.locator("h3").filter(has_text="line 2, sample 3").wait_for()
    shown.page.mouse.move(*at_pixel(shown, 9, 9))
    shown.click("Make this pixel an anchor", "line 2, sample 3 added")
    shown.page.keyboard.press("Escape")
    shown.page.mouse.move(*at_pixel(shown, 9, 8))
    shown.page.locator("h3").filter(has_text="line 9, sample 8").wait_for()
    shown.press("a", "line 9, sample 8 added")


def test_the_scene_is_shown_in_four_ways_and_as_maps(window):
    shown = window("image")
    seen = {scene(shown)}
    for way in ("RGB", "Residual", "Dominant"):
        shown.button(way).click()
        wait_for(lambda: scene(shown) not in seen)
        seen.add(scene(shown))
    for number in range(3):
        shown.button("Show", number).click()
        wait_for(lambda: scene(shown) not in seen)
        seen.add(scene(shown))
    assert len(seen) == 7
    assert shown.page.locator("img[alt='Map of anchor 3']").count() == 1


def scene(shown):
    """Return the picture of the scene as Bokeh has it in the browser."""
    return shown.page.evaluate(
        """() => {
          for (const model of Bokeh.documents[0]._all_models.values())
            if (model.type === 'ColumnDataSource' && 'image' in model.data)
              return [...model.data.image[0]].join();
        }"""
    )


def test_a_drawn_area_is_left_out_or_used_alone(window):
    shown = window("image")
    anchored = {shown.session.data.pixel(column) for column in shown.columns}
    assert anchored == {(0, 0), (0, 1), (0, 2)}
    shown.page.get_by_role("button", name="Box Select").or_(
        shown.page.locator("[title='Box Select']")
    ).first.click()
    drag(shown, (6, 2), (12, 8))
    shown.click("Leave out the area", "91 of 140 pixels are used")
    assert not shown.session.mask[6:13, 2:9].any()
    shown.click("Use all pixels", "140 of 140 pixels are used")
    drag(shown, (0, 0), (6, 4))
    shown.click("Use only the area", "35 of 140 pixels are used")
    assert shown.session.mask[:7, :5].all()
    shown.press("Control+z", "undone")
    assert shown.session.mask.all()


def drag(shown, start, end):
    """Draw from the upper left corner of one pixel to the lower right corner of another."""
    half = 440 / 14 * 0.45
    (x0, y0), (x1, y1) = at_pixel(shown, *start), at_pixel(shown, *end)
    shown.page.mouse.move(x0 - half, y0 - half)
    shown.page.mouse.down()
    shown.page.mouse.move(x1, y1, steps=5)
    shown.page.mouse.move(x1 + half, y1 + half)
    shown.page.mouse.up()
    shown.button("Use only the area").wait_for()


def test_columns_are_searched_and_chosen_from_the_list(window):
    shown = window("table")
    shown.page.get_by_placeholder("Search for names").press_sequentially("sample 1")
    shown.page.get_by_text("11 columns").wait_for()
    cells = shown.page.locator(".tabulator-cell[tabulator-field=column]")
    assert set(cells.all_inner_texts()) <= {f"sample {k}" for k in (1, *range(10, 20))}
    cells.filter(has_text="sample 13").click()
    shown.page.locator("h3").filter(has_text="sample 13").wait_for()
    shown.click("Make this column an anchor", "sample 13 added")


def test_names_of_the_file_are_text(window):
    shown = window("table")
    assert 0 in shown.columns
    shown.page.locator(".tabulator-cell").filter(has_text=HOSTILE).first.wait_for()
    shown.go_to(HOSTILE)
    shown.page.locator("h3").filter(has_text=HOSTILE).wait_for()
    shown.page.mouse.move(*middle(shown.page.locator("canvas").first))
    assert shown.page.locator("img[src=x]").count() == 0


def middle(place):
    box = place.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_what_cannot_be_done_is_said_in_one_sentence(window):
    shown = window("image")
    shown.press("a", "Point at a column, click it or type it first.")
    shown.page.get_by_label("Pixel (line:sample)").fill("99:0")
    shown.page.get_by_label("Pixel (line:sample)").press("Enter")
    shown.says("There is no pixel 99:0: the image has 14 lines and 10 samples, counted from 0.")
    shown.go_to("0:0")
    shown.press("a", "is an anchor already.")
    assert shown.page.locator("[role=status].failed").count() == 1
    shown.page.get_by_label("Name of anchor 1").fill("")
    shown.page.get_by_label("Name of anchor 1").press("Enter")
    shown.says("A name must have 1 to 80 printable characters")
    assert shown.page.get_by_label("Name of anchor 1").input_value() == shown.session.anchors[0].name


# Long computations, several windows, narrow windows ------------------------------------------------------


def test_a_long_computation_shows_progress_and_is_stopped(window, monkeypatch):
    shown = window("table")
    began = threading.Event()

    def for_ever(r, method, report):
        steps = 0
        while not report(steps := steps + 1, 100_000):
            began.wait(0.01)
        raise ValueError(f"stopped after {min(steps, 1)} step")

    monkeypatch.setattr(shown.session, "select_again", for_ever)
    shown.button("Select again").click()
    shown.button("Stop").wait_for()
    shown.page.get_by_text("Selecting anchors …").wait_for()
    shown.page.get_by_role("progressbar").or_(shown.page.locator("progress")).first.wait_for()
    shown.press("u", "Selecting anchors is not finished: wait, or stop it.")
    shown.click("Stop", "stopped after 1 step")
    shown.button("Stop").wait_for(state="hidden")
    shown.button("Select again").click()
    shown.button("Stop").wait_for()
    shown.press("Escape", "stopped after 1 step")


@pytest.mark.slow
def test_windows_of_one_explorer_show_the_same_and_a_reload_keeps_it(window, browser):
    shown = window("table")
    other = Window(browser, shown.address, shown.explorer)
    shown.go_to("sample 7")
    shown.press("a", "sample 7 added")
    other.says("sample 7 added")
    assert other.page.get_by_label(re.compile("Name of anchor")).count() == 4
    other.press("u", "undone")
    shown.says("undone")
    other.close()
    shown.press("Control+y", "done again")
    shown.open()
    assert shown.page.get_by_label(re.compile("Name of anchor")).count() == 4
    wait_for(lambda: len(shown.explorer.windows) == 1)


@pytest.mark.parametrize("kind", ["image", "table"])
def test_nothing_overlaps(window, kind):
    shown = window(kind)
    shown.go_to(DATA[kind][1])
    shown.press("a", "added")
    for width in (1280, 800, 420):
        shown.page.set_viewport_size({"width": width, "height": 900})
        shown.page.evaluate(DRAWN)
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= max(width, 600)
        assert overlaps(shown) == []


def overlaps(shown):
    """Return the pairs of what can be seen that are not beside one another."""
    places = ("button.bk-btn", "input", "select", "canvas", "img", "table")
    found = (place.bounding_box() for each in places for place in shown.page.locator(f"{each}:visible").all())
    boxes = [box for box in found if box is not None and box["width"] > 1 and box["height"] > 1]
    assert len(boxes) > 20
    layers = {tuple(box.values()): box for box in boxes}  # the layers of a figure are in the same place

    def shared(a, b, start, size):
        return min(a[start] + a[size], b[start] + b[size]) - max(a[start], b[start]) > 1

    pairs = combinations(layers.values(), 2)
    return [(a, b) for a, b in pairs if shared(a, b, "x", "width") and shared(a, b, "y", "height")]


# Results -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_shown_command_gives_the_exported_result_again(window, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = window(kind)
    shown.go_to(DATA[kind][1])
    shown.press("a", "added")
    shown.page.get_by_label("Name of anchor 1").fill("first, <b>one</b>")
    shown.page.get_by_label("Name of anchor 1").press("Enter")
    shown.says("renamed first")
    shown.page.get_by_label("Folder").fill("results")
    shown.page.get_by_label("Folder").press("Enter")
    shown.button("Export").click()
    shown.says("Written to results")
    shown.page.get_by_text("report.html").first.wait_for()
    command = shown.page.locator("pre").inner_text()
    shown.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.button("Copy the command").click()
    wait_for(lambda: shown.page.evaluate("navigator.clipboard.readText()") == command)

    written = everything(tmp_path / "results")
    words = shlex.split(command)
    words[words.index("--out") + 1] = "again"
    assert words[0] == "sepnmf"
    subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, check=True, capture_output=True)
    again, session = everything(tmp_path / "again"), shown.session
    assert list(again) == list(written)  # in the same order, the best first
    assert sorted(again) == sorted(shown.columns)
    shown_weights = session.maps() if session.kind == "image" else session.weights()
    for anchor, weights in zip(session.anchors, shown_weights, strict=True):
        assert again[anchor.column][0] == written[anchor.column][0] == anchor.name
        np.testing.assert_array_equal(again[anchor.column][1], written[anchor.column][1])
        np.testing.assert_allclose(again[anchor.column][1], weights, atol=1e-6)


def everything(folder):
    """Return, for each anchor that a command wrote, its name and its weights."""
    found = json.loads((folder / "anchors.json").read_text("utf-8"))["anchors"]
    if (folder / "weights.csv").exists():
        lines = list(csv.reader((folder / "weights.csv").read_text("utf-8").splitlines()))
        weights = np.array([line[1:] for line in lines[1:]], dtype=float)
    else:
        (cube,) = (path for path in folder.glob("abundances.*") if path.suffix in {".npy", ".mat"})
        data = read(cube)
        weights = np.stack([np.reshape(row, data.image_shape, order=data.image_order) for row in data.M])
    return {anchor["column"]: (anchor["name"], row) for anchor, row in zip(found, weights, strict=True)}
