"""The demonstration: what its report says is true."""

import re
from itertools import combinations

import numpy as np

from sepnmf.cli._demonstration import R, column_names, demonstrate
from sepnmf.datasets import make_midpoint


def test_the_name_of_a_column_is_what_it_was_made_of():
    M, true = make_midpoint(noise=0.03, random_state=0)
    names = column_names(M, true)
    assert len(set(names)) == M.shape[1]
    assert [names[j] for j in true] == [f"pure {k}" for k in range(1, R + 1)]
    # Without noise, the same columns are pure ones and exact midpoints.
    exact, same = make_midpoint(noise=0.0, random_state=0)
    np.testing.assert_array_equal(same, true)
    for j, k in combinations(range(R), 2):
        column = exact[:, names.index(f"{j + 1}+{k + 1}")]
        np.testing.assert_allclose(column, exact[:, true[[j, k]]].mean(axis=1), atol=1e-12)


def test_the_report_names_pure_anchors(tmp_path, capsys):
    demonstrate(tmp_path)
    assert "10 of 10 true anchors found" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    table = page.split('id="anchors"')[1].split("</table>")[0]
    names = re.findall(r'data-sort="([^"]*)"><bdi>', table)
    assert sorted(names) == sorted(f"pure {k}" for k in range(1, R + 1))
