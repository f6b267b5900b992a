"""Results in a notebook: tables, small charts, plots; nothing heavy is loaded before it is asked for."""

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import sepnmf
from sepnmf import RankEstimate, Selection
from sepnmf._display import BARS

mpl.use("Agg")

SCRIPT = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """The texts of the cells, the tags, and whether every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.tags, self.open = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1] += data


@pytest.fixture
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def named():
    frame = pd.DataFrame({"soil": [1.0, 0.0], SCRIPT: [1.0, 1.0], "water": [0.0, 2.0]})
    return sepnmf.select(frame, 3, method="snpa")


def test_a_selection_is_a_table_of_its_anchors():
    sel = named()
    cells = Reader(sel._repr_html_()).cells
    assert cells[:3] == ["1", str(sel.anchors[0]), sel.names[0]]
    assert float(cells[3]) == pytest.approx(sel.scores[sel.anchors[0]], rel=1e-3)
    assert len(cells) == 4 * 3
    assert f"3 anchors of 3 columns (snpa, {sel.status}" in sel._repr_html_()


def test_names_are_text_and_never_run():
    text = named()._repr_html_()
    assert "<script" not in text
    assert SCRIPT in Reader(text).cells


def test_stability_has_a_column_and_names_have_none_if_there_are_none():
    M = np.random.default_rng(0).random((5, 12))
    sel = replace(sepnmf.spa(M, 2), stability=np.array([1.0, 0.25]))
    assert Reader(sel._repr_html_()).cells[3] == "1"
    assert Reader(sel._repr_html_()).cells[7] == "0.25"
    assert "name" not in re.findall("<th[^>]*>(?:<bdi>)?([^<]*)", sel._repr_html_())


def test_the_bars_of_the_anchors_have_a_colour():
    scores = np.zeros(10_000)
    scores[[17, 9_999]] = [2.0, 1.0]
    sel = Selection(np.array([17, 9_999]), scores, "spa")
    bars = [attrs for tag, attrs in Reader(sel._repr_html_()).tags if tag == "rect"]
    assert len(bars) == BARS
    blue = [k for k, bar in enumerate(bars) if bar["fill"] != "currentColor"]
    assert blue == [0, BARS - 1]
    assert float(bars[0]["height"]) == 2 * float(bars[-1]["height"])
    assert sum(float(bar["height"]) for bar in bars) == pytest.approx(1.5 * float(bars[0]["height"]))


def test_few_columns_have_a_bar_each():
    bars = [tag for tag, _ in Reader(named()._repr_html_()).tags if tag == "rect"]
    assert len(bars) == 3


@pytest.mark.parametrize("scores", [[0.0, 0.0], [-1e308, 1e308], [5e-324, 0.0], [-3.0, -2.0]])
def test_scores_of_any_size_have_bars(scores):
    sel = Selection(np.array([1]), np.array(scores), "spa")
    heights = [float(attrs["height"]) for tag, attrs in Reader(sel._repr_html_()).tags if tag == "rect"]
    assert np.isfinite(heights).all()


def test_of_many_anchors_the_first_are_listed():
    M = np.random.default_rng(0).random((60, 60))
    cells = Reader(sepnmf.spa(M, 30)._repr_html_()).cells
    assert cells[-1] == "… (30 in all)"
    assert len(cells) == 20 * 3 + 1


def test_an_estimate_shows_its_number_and_its_reason():
    M, _ = sepnmf.datasets.make_dirichlet(noise=0.02, r=7, random_state=0)
    estimate = sepnmf.estimate_rank(M, negative="allow")
    text = estimate._repr_html_()
    assert "Number of anchors: 7" in text
    assert estimate.evidence in text
    dots = [attrs for tag, attrs in Reader(text).tags if tag == "circle"]
    assert len(dots) == 15
    heights = [float(dot["cy"]) for dot in dots]
    assert heights == sorted(heights)  # downwards: ever less is unexplained


def test_an_estimate_from_too_few_data_has_no_chart():
    estimate = RankEstimate(1, 3, "The data are too few to tell.", {})
    assert "1 to 3" in estimate._repr_html_()
    assert "<svg" not in estimate._repr_html_()
    with pytest.raises(ValueError, match="too few"):
        estimate.plot()


@pytest.mark.usefixtures("close_figures")
def test_a_plot_marks_the_anchors_with_their_names():
    sel = named()
    ax = sel.plot()
    assert {text.get_text() for text in ax.texts} == set(sel.names)
    assert not any(text.get_parse_math() for text in ax.texts)
    points = ax.lines[0]
    np.testing.assert_array_equal(points.get_xdata(), sel.anchors)
    np.testing.assert_array_equal(points.get_ydata(), sel.scores[sel.anchors])
    ax.figure.canvas.draw()


@pytest.mark.usefixtures("close_figures")
def test_plots_are_drawn_where_they_are_asked_for():
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2)
    M, _ = sepnmf.datasets.make_dirichlet(noise=0.01, random_state=0)
    sel = sepnmf.select(M, 3, negative="allow")
    assert sel.plot(left) is left
    assert sel.plot_history(right) is right
    assert len(pyplot.get_fignums()) == 1
    assert {"before", "after", "residual"} <= {line.get_label() for line in right.lines}
    np.testing.assert_array_equal(right.lines[0].get_ydata(), sel.history["before"])
    figure.canvas.draw()


@pytest.mark.usefixtures("close_figures")
def test_a_history_with_a_negative_number_has_a_linear_scale():
    history = {"objective": np.array([3.0, -1.0]), "step": np.array(["a", "b"]), "seconds": np.ones(2)}
    sel = Selection(np.array([0]), np.ones(2), "dca", history=history)
    ax = sel.plot_history()
    assert ax.get_yscale() == "linear"
    assert [line.get_label() for line in ax.lines] == ["objective"]
    positive = replace(sel, history={"objective": np.array([3.0, 1.0])})
    assert positive.plot_history().get_yscale() == "log"


def test_a_method_that_does_not_iterate_has_no_history_to_plot():
    with pytest.raises(ValueError, match="snpa does not iterate"):
        named().plot_history()


@pytest.mark.usefixtures("close_figures")
def test_an_estimate_is_plotted_with_its_span():
    M, _ = sepnmf.datasets.make_dirichlet(noise=0.02, r=7, random_state=0)
    estimate = sepnmf.estimate_rank(M, negative="allow")
    ax = estimate.plot()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), estimate.unexplained()[:15])
    assert ax.patches[0].get_extents().width > 0
    ax.figure.canvas.draw()


def test_showing_a_result_loads_nothing_heavy():
    code = (
        "import sys, numpy as np\n"
        "from sepnmf.selection import Selection\n"
        "Selection(np.array([0]), np.ones(3), 'spa')._repr_html_()\n"
        "heavy = {'matplotlib', 'pandas', 'panel', 'bokeh'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
