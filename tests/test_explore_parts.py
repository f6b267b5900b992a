"""Parts of the explorer that need no browser: areas, addresses, colours, work in a thread, notebooks."""

import asyncio
import threading

import numpy as np
import pytest

pytest.importorskip("panel")

from bokeh.document import Document
from tornado.ioloop import IOLoop

import sepnmf
from exploring import open_counts, open_image, open_table
from sepnmf.explorer._address import address, column_at
from sepnmf.explorer._colours import UNUSED, packed, painted, painted_bands, painted_categories
from sepnmf.explorer._drawing import corners, inside
from sepnmf.explorer._explorer import Explorer
from sepnmf.explorer._profile_view import MOST_NAMED, label
from sepnmf.explorer._views import View
from sepnmf.explorer._work import Work


@pytest.mark.parametrize("seed", range(5))
def test_points_in_a_polygon_are_those_that_matplotlib_finds(seed):
    path = pytest.importorskip("matplotlib.path")
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 12))  # a star: its edges do not cross
    xs, ys = rng.uniform(0.2, 1, 12) * np.array([np.cos(angles), np.sin(angles)])
    points = rng.uniform(-1, 1, (500, 2))
    expected = path.Path(np.column_stack([xs, ys])).contains_points(points)
    np.testing.assert_array_equal(inside(*points.T, xs, ys), expected)
    assert 0 < expected.sum() < 500


def test_corners_of_boxes_and_polygons():
    xs, ys = corners({"type": "rect", "x0": 1, "x1": 3, "y0": 2, "y1": 5})
    np.testing.assert_array_equal(inside(np.array([2.0, 4.0]), np.array([3.0, 3.0]), xs, ys), [True, False])
    xs, ys = corners({"type": "poly", "x": [0, 1, 0], "y": [0, 0, 1]})
    assert (xs.tolist(), ys.tolist()) == ([0, 1, 0], [0, 0, 1])


@pytest.mark.parametrize("opened", [open_image, open_table, open_counts])
def test_columns_are_found_again_by_what_is_written(opened, tmp_path):
    data = opened(tmp_path).data
    assert [column_at(data, address(data, column)) for column in range(30)] == list(range(30))


@pytest.mark.parametrize("text", ["14:0", "0:10", "3", "-1:0", "a:b", ":", ""])
def test_pixels_that_do_not_exist_are_refused(text, tmp_path):
    with pytest.raises(ValueError, match="There is no pixel"):
        column_at(open_image(tmp_path).data, text)


@pytest.mark.parametrize("text", ["40", "-1", "no such", ""])
def test_columns_that_do_not_exist_are_refused(text, tmp_path):
    with pytest.raises(ValueError, match="There is no column"):
        column_at(open_table(tmp_path).data, text)


def test_colours_of_pixels():
    grey = painted(np.array([[0.0, 1.0, np.nan]]), "gray", from_zero=False)
    assert grey.tolist() == [[[0, 0, 0, 255], [255, 255, 255, 255], [128, 128, 128, 0]]]
    kinds = painted_categories(np.array([[1.0, 0.0, np.nan]]), ["#000000", "#0072b2"])
    assert kinds[0, :2].tolist() == [[0, 0x72, 0xB2, 255], [0, 0, 0, 255]]
    assert kinds[0, 2, 3] == 0
    bands = painted_bands(np.array([[[0.0, 0.5, 1.0], [np.nan, 0.0, 0.0]]]))
    assert bands.tolist() == [[[0, 128, 255, 255], [0, 0, 0, 0]]]
    numbers = packed(grey, np.array([[True, False, True]]))
    assert numbers.view(np.uint8).reshape(3, 4)[:, 3].tolist() == [255, UNUSED, 0]


def test_names_that_look_like_tex_are_text():
    assert label("iron") == "iron"
    assert label("$$x^2$$").text == "$$x^2$$"


def test_one_computation_at_a_time_which_can_be_stopped():
    seen, results, go = [], [], threading.Event()
    work = Work(lambda: seen.append((work.name, work.share)))

    def compute(report):
        go.wait(20)
        report(1, 4)
        work.stop()
        return report(2, 4)

    assert work.start("first", compute, lambda *result: (results.append(result), go.clear()))
    assert not work.start("second", compute, print)
    go.set()
    wait(lambda: results)
    assert results == [(True, None)]
    assert seen[0] == ("first", None)
    assert ("first", 0.25) in seen
    assert work.name == ""


def test_failures_of_a_computation_are_passed_on():
    results = []
    work = Work(lambda: None)
    work.start("division", lambda _: 1 / 0, lambda *result: results.append(result))
    wait(lambda: results)
    assert results[0][0] is None
    assert isinstance(results[0][1], ZeroDivisionError)
    assert work.name == ""


def wait(condition, seconds=20):
    pause = threading.Event()
    for _ in range(seconds * 50):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError("it did not happen")


def test_in_a_notebook_the_explorer_is_an_object_of_panel():
    import panel as pn

    M, _ = sepnmf.datasets.make_dirichlet(0.0, m=12, n=30, r=3, random_state=0)
    shown = sepnmf.explore(M, 3)
    assert isinstance(shown, pn.Column)
    assert len(shown.select(pn.pane.Bokeh)) == 3


def test_a_window_made_in_another_thread_is_changed_in_that_of_the_server(tmp_path):
    """Bokeh 3.10 makes windows in threads of their own."""
    document, explorer = Document(), Explorer(open_table(tmp_path))

    async def run():
        view = await asyncio.to_thread(View, explorer, document, IOLoop.current())
        assert not document.session_callbacks
        await asyncio.to_thread(view.go_to, "sample 7")
        await asyncio.sleep(0.1)
        (waiting,) = document.session_callbacks
        assert waiting.callback.__name__ == "show_column"

    asyncio.run(run())


def test_without_a_server_acts_are_shown_at_once(tmp_path):
    view = View(Explorer(open_counts(tmp_path)))
    view.go_to("text 9")
    assert view.column == 9
    assert len(view.profile.curve.data["x"]) == MOST_NAMED
    view.add()
    wait(lambda: "text 9 added" in view.message.object)
    assert len(view.cards.layout) == 4
    view.keys()["u"]()
    wait(lambda: "undone" in view.message.object)
    assert len(view.cards.layout) == 3
