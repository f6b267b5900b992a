"""The benchmark of families: what counts as found, what is left out, and what its requirements say."""

import pandas as pd
import pytest

from sepnmf.datasets import FAMILIES
from sepnmf.experiments.auto import families
from sepnmf.registry import ready_methods


def made_up(shares):
    """Results of auto and other methods in all cells; `shares(family, method)` is the share found."""
    rows = [
        trial | {"found": shares(trial["family"], trial["method"]), "mrsa": 1.0, "failure": None}
        for trial in families.trials("quick")
    ]
    return pd.DataFrame(rows)


def test_the_full_benchmark_has_thirty_seeds_of_every_cell_and_method():
    frame = pd.DataFrame(families.trials("full"))
    assert not frame.duplicated().any()
    seeds = frame.groupby(["family", "level", "method"])["seed"].nunique()
    assert seeds["white", 0.3, "auto"] == 30
    quick = [name for name in ready_methods() if name not in families.SLOW]
    for name, family in FAMILIES.items():
        for level in family.levels:
            assert (seeds[name, float(level)][quick] == 30).all()
    for slow in ("fgnsr", "tuned_admm", "merit"):
        left = {name for name in FAMILIES if (name, float(FAMILIES[name].levels[0]), slow) not in seeds}
        assert left == {"many_columns"}


def test_a_method_that_refuses_the_data_has_found_nothing_and_its_reason_is_kept():
    (row,) = families.run("low_rank", 0.0, "spa", 0)  # eight anchors of data of rank four
    assert row["found"] == 0
    assert row["mrsa"] is None
    assert "rank 4" in row["failure"]
    (row,) = families.run("low_rank", 0.0, "xray", 0)
    assert row["found"] == 1
    assert row["mrsa"] == pytest.approx(0, abs=1e-6)
    assert row["failure"] is None


def test_every_cell_is_compared_with_the_best_other_method():
    shares = {"auto": 0.9, "spa": 0.92, "xray": 0.94}
    frame = made_up(lambda family, method: shares.get(method, 0.5) if family == "white" else 0.9)
    of = {check.what: check for check in families.checks(frame)}
    assert of["Families, white at 0.3"].wanted == "≥ 0.910 (xray − 0.03)"
    assert not of["Families, white at 0.3"].holds
    assert of["Families, smooth at 0.06"].holds
    assert not of["Families, brightness at 0.1, of itself"].holds  # 0.95 is wanted
    assert of["Families, heavy_tails at 0.06, of itself"].holds
    text = families.tell(frame)
    assert "| white | 0.3 | 0.900 | 0.940 | xray | **-0.040** |" in text
    assert "nan" not in text


@pytest.mark.parametrize(("other", "holds"), [(0.9, True), (0.93, False)])
def test_the_mean_must_be_above_that_of_every_other_method(other, holds):
    frame = made_up(lambda family, method: {"auto": 1.0, "vca": other}.get(method, 0.5))
    last = families.checks(frame)[-1]
    assert "least: vca" in last.what
    assert last.holds == holds


def test_instances_that_were_not_run_count_as_found():
    frame = made_up(lambda family, method: {"auto": 0.9, "fgnsr": 0.8}.get(method, 0.5))
    assert len(frame[frame["method"] == "fgnsr"]) == 0  # a quick run has no slow method
    one = frame[(frame["method"] == "spa") & (frame["family"] == "white") & (frame["seed"] == 0)]
    known = pd.concat([frame, one.assign(method="fgnsr", found=0.85)])  # (0.85 + 1) / 2 is below 0.93
    left = families.undecided(known)
    assert "fgnsr on white at 0.3" not in left
    assert "fgnsr on smooth at 0.06" in left  # no seed: it may find everything
    assert not any("many_columns" in cell for cell in left)  # it is not run on so many columns
    better = known.assign(found=known["found"].where(known["method"] != "fgnsr", 0.87))
    assert "fgnsr on white at 0.3" in families.undecided(better)
    assert not any(check.holds for check in families.checks(better) if "more seeds" in check.what)


def test_the_lead_is_computed_on_the_cells_that_a_method_has():
    frame = made_up(lambda family, method: 0.8 if method == "auto" and family == "white" else 1.0)
    only_white = frame[(frame["method"] != "vca") | (frame["family"] == "white")]
    lead = families.leads(families.means(only_white))
    assert lead["vca"] == pytest.approx(-0.2)
    assert lead["spa"] == pytest.approx(-0.2 / len(FAMILIES))
