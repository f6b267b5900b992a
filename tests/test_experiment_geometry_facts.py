"""The geometry, facts and complexity experiments: their numbers against formulas, not against themselves."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls as scipy_nnls

import oracles
from sepnmf.datasets import make_dirichlet, make_midpoint
from sepnmf.experiments import complexity, facts, geometry, proximal_facts
from sepnmf.experiments.experiment import where

MODULES = {"geometry": geometry, "facts": facts, "complexity": complexity}
VERDICT = re.compile(r"\*\*(Holds|Does not hold|Partly|Undecided|As stated|Not as stated)\.\*\*")


@pytest.fixture(scope="module")
def frames():
    """All toy trials of the three experiments, put together the way the runner does it."""
    found = {}
    for name, module in MODULES.items():
        experiment = module.EXPERIMENT
        rows = [trial | row for trial in experiment.trials("toy") for row in experiment.run(**trial)]
        found[name] = pd.DataFrame(json.loads(json.dumps(rows)))
    return found


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("scale", ["full", "quick", "toy"])
def test_trials_are_distinct_and_can_be_stored(name, scale):
    trials = MODULES[name].EXPERIMENT.trials(scale)
    assert MODULES[name].EXPERIMENT.name == name
    assert len({json.dumps(trial, sort_keys=True) for trial in trials}) == len(trials) > 0


@pytest.mark.parametrize(("name", "verdicts"), [("geometry", 1), ("facts", 5), ("complexity", 1)])
def test_page_has_a_heading_its_figures_and_a_verdict_per_claim(frames, name, verdicts):
    module, frame = MODULES[name], frames[name]
    page, figures = module.EXPERIMENT.tell(frame), module.EXPERIMENT.draw(frame)
    assert page.startswith("## ")
    assert len(VERDICT.findall(page)) == verdicts
    assert set(re.findall(r"\(paper/(.+?)\.svg\)", page)) == set(figures)
    assert "nan" not in page


@pytest.mark.parametrize("name", MODULES)
def test_figures_can_be_drawn(frames, name, tmp_path):
    for key, page in MODULES[name].EXPERIMENT.draw(frames[name]).items():
        page.savefig(tmp_path / f"{key}.png", dpi=40)
        assert all(panel.get_xlabel() for panel in page.axes)
        assert all(panel.get_legend().get_texts() for panel in page.axes)


# Geometry


def test_plane_has_the_values_of_the_formula(frames):
    frame = frames["geometry"].set_index("function")
    plane = {
        **{f"R{p}": lambda x, y, p=p: (x + y) ** p / np.hypot(x, y) for p in (1, 2, 3, 4)},
        "R2 nuclear": lambda x, y: (x + y) ** 2 / np.hypot(x, y),
        "l1": lambda x, y: x + y,
        "l2": np.hypot,
        "linf": np.maximum,
    }
    assert set(frame.index) == set(plane)
    for name, formula in plane.items():
        part = frame.loc[name]
        away = part[(part["x"] > 0) | (part["y"] > 0)]
        assert len(part) - len(away) == 1
        np.testing.assert_allclose(away["value"], formula(away["x"], away["y"]), rtol=1e-12)


def test_ratio_knows_no_signs_so_that_a_quadrant_is_enough():
    for name in ("R1", "R3", "R2 nuclear", "l1", "l2", "linf"):
        values = [geometry.value_at(name, a * 0.3, b * 0.8) for a in (1, -1) for b in (1, -1)]
        np.testing.assert_allclose(values, values[0], rtol=1e-14)
    assert geometry.value_at("R1", 0.0, 0.0) is None


def test_mirrored_plane_is_in_its_place(frames):
    axis, values = geometry.grids(frames["geometry"])
    x, y = np.meshgrid(axis, axis)
    np.testing.assert_allclose(values["l1"], np.abs(x) + np.abs(y), atol=1e-12)
    assert np.isnan(values["R2"]).sum() == 1
    assert axis[0] == -geometry.EXTENT


@pytest.mark.parametrize("p", [2, 3, 4])
def test_level_sets_reach_what_the_formula_says(frames, p):
    """R_p = 1 at distance (|cos| + |sin|)^(−p/(p−1)): 1 on an axis, 2^(−p/(2p−2)) on a diagonal."""
    axis, values = geometry.grids(frames["geometry"])
    along, across = geometry.reaches(axis, values[f"R{p}"])
    assert along == pytest.approx(1)
    assert across == pytest.approx(2 ** (-p / (2 * p - 2)))
    assert geometry.reaches(axis, values["R1"]) == (np.inf, np.inf)
    assert geometry.reaches(axis, values["linf"]) == pytest.approx((1, np.sqrt(2)))


def test_verdict_on_the_geometry_can_fail(frames):
    frame = frames["geometry"]
    assert "**Holds.**" in geometry.tell(frame)
    round_one = frame.copy()
    is_l2, is_r2 = (frame["function"] == name for name in ("l2", "R2"))
    round_one.loc[is_r2, "value"] = frame.loc[is_l2, "value"].to_numpy()
    assert "**Does not hold.**" in geometry.tell(round_one)


# Facts 1 and 2


def part_of(frames, fact):
    return where(frames["facts"], fact=fact).dropna(axis="columns", how="all")


def map_cost(X, A, p):
    return 0.05 * np.abs(X).sum() ** p + 0.5 * np.sum((X - A) ** 2)


def test_maps_have_the_costs_of_plain_transcriptions(frames):
    part = part_of(frames, 1)
    assert len(part) == 8
    for row in part.itertuples():
        A = np.random.default_rng(int(row.seed)).standard_normal((8, 9))
        p = int(row.p)
        exact = map_cost(oracles.prox_bisection(A, 0.05, p, "l1"), A, p)
        printed = map_cost(oracles.printed_prox(A, 0.05, p, "l1"), A, p)
        assert (row.exact, row.printed) == pytest.approx((exact, printed), rel=1e-9)
        assert row.solver == pytest.approx(exact, rel=1e-9)
        assert (row.printed > 1.01 * row.solver) == (p > 1)


def test_stored_values_of_the_maps(frames):
    part = part_of(frames, 1)
    first = part[part["seed"] == 0].sort_values("p")
    np.testing.assert_allclose(first["solver"], [2.65232, 23.18046, 27.91570, 28.89360], rtol=1e-5)
    np.testing.assert_allclose(first["printed"], [2.65232, 28.99076, 270.41376, 4213.05653], rtol=1e-5)


def test_constrained_map_is_the_minimiser_and_two_steps_are_not(frames):
    part = part_of(frames, 2)
    for row in part.itertuples():
        rng = np.random.default_rng(int(row.seed))
        A, w, p = rng.standard_normal((8, 8)), rng.uniform(0.5, 1.5, 8), int(row.p)
        exact = oracles.prox_omega_bisection(A, 0.05, p, w)
        printed = oracles.project_by_sorting(oracles.printed_prox(A, 0.05, p, "l1"), w)
        projected = oracles.project_by_sorting(oracles.prox_bisection(A, 0.05, p, "l1"), w)
        for got, X in ((row.exact, exact), (row.printed, printed), (row.projected, projected)):
            assert got == pytest.approx(map_cost(X, A, p), rel=1e-9)
    np.testing.assert_allclose(part["exact"], part["solver"], rtol=1e-9)
    assert part["apart"].max() < 1e-6
    assert (part["projected"] > part["exact"] * (1 + 1e-5)).all()


def test_solver_on_omega_agrees_with_a_convex_solver():
    rng = np.random.default_rng(5)
    A, w = rng.standard_normal((4, 4)), rng.uniform(0.5, 1.5, 4)
    want = oracles.solve_convex(A, 0.05, 3, "l1", w)
    np.testing.assert_allclose(proximal_facts.solve_omega(A, 0.05, 3, w), want, atol=1e-5)


# Fact 5


def test_three_ways_solve_the_same_system(frames):
    part = part_of(frames, 5)
    assert part["apart"].max() < 1e-12
    assert set(part["way"]) == {facts.ALL_SIDES, facts.ONE_SIDE, facts.SMALL}
    assert (part["seconds"] > 0).all()


@pytest.mark.parametrize(("power", "mark"), [(3, "Does not hold"), (2, "Holds")])
def test_verdict_on_the_solve_follows_the_seconds(power, mark):
    sizes = [100, 200, 400, 800]
    rows = [
        {"way": way, "n": n, "seconds": 1e-9 * n**q, "apart": 0.0}
        for way, q in ((facts.ALL_SIDES, power), (facts.ONE_SIDE, 2), (facts.SMALL, 2))
        for n in sizes
    ]
    text = facts.tell_solve(pd.DataFrame(rows))
    assert f"**{mark}.**" in text
    assert f"exponent is {power}.00 with all" in text
    assert "**Undecided.**" in facts.tell_solve(pd.DataFrame(rows).query("n <= 200"))


# Fact 6


def test_ratios_have_the_values_of_the_norms(frames):
    part = part_of(frames, 6)
    for (data, seed), rows in part.groupby(["data", "seed"]):
        make = {"type1": make_midpoint, "type2": make_dirichlet}[data]
        M, anchors = make(0.0, random_state=int(seed))
        n = M.shape[1]
        X = np.zeros((n, n))
        X[anchors] = np.linalg.lstsq(M[:, anchors], M, rcond=None)[0]
        for row in rows.itertuples():
            p = int(row.power)
            assert row.identity == pytest.approx(n ** (p - 0.5))  # every norm of I is n
            assert row.anchors == pytest.approx(oracles.norm_value(X, row.norm) ** p / np.linalg.norm(X))
        entrywise = rows[rows["norm"] == "l1"]
        assert (entrywise["identity"] < entrywise[["anchors", "halfway"]].min(axis=1)).all()
        others = rows[rows["norm"] != "l1"]
        assert (others["anchors"] < others[["identity", "halfway"]].min(axis=1)).all()
    assert part["misfit"].max() < 1e-12


# Fact 7


@pytest.mark.parametrize("seed", range(4))
def test_anchors_enter_the_cone_where_the_formula_says(seed):
    limit = facts.cone_limit(seed)
    for share, inside in ((0.999, False), (1.001, True)):
        M, anchors = make_midpoint(share * limit, random_state=seed)
        assert [facts.in_cone(M, j) for j in anchors] == [inside] * 10


def test_cone_and_counts_agree_with_other_programs(frames):
    part = part_of(frames, 7)
    for row in part.itertuples():
        M, anchors = make_midpoint(row.noise, random_state=int(row.instance))
        residuals = [scipy_nnls(np.delete(M, j, axis=1), M[:, j])[1] for j in anchors]
        assert row.inside == np.mean(np.array(residuals) < 1e-8)
        assert row.negative == pytest.approx(np.count_nonzero(np.minimum(M, 0)) / M.size)
        from_mean = ((M.T - M.T.mean(axis=0)) ** 2).sum(axis=1)
        others = np.setdiff1d(np.arange(M.shape[1]), anchors)
        assert row.nearest == (from_mean[anchors].max() < from_mean[others].min())
    assert part.groupby("noise")["inside"].mean().tolist() == [0, 0, 1]


def test_verdict_on_separability_can_hold(frames):
    part = part_of(frames, 7)
    assert "**Does not hold.**" in facts.tell_separability(part)
    assert "**Holds.**" in facts.tell_separability(part[part["noise"] < 0.4])


# Complexity


def made_up(power_l1, power_nuclear, sizes=(50, 100, 200, 400, 800)):
    """A frame with seconds that are exact powers of n."""
    rows = [
        {"operation": operation, "norm": norm, "n": n, "m": 50, "seconds": 1e-9 * n**q}
        for operation, norm in complexity.CASES
        for n in sizes
        for q in (power_nuclear if norm == "nuclear" else power_l1,)
    ]
    return pd.DataFrame(rows)


def test_exponent_is_that_of_a_power():
    n = np.array([50, 100, 400])
    assert complexity.exponent(n, 3e-7 * n**2.5) == pytest.approx(2.5)
    assert np.isnan(complexity.exponent([50, 50], [1.0, 2.0]))


def test_claimed_exponent_of_n_squared_log_n_lies_between_two_and_three():
    n = [100, 800]
    assert complexity.claimed_exponent("O(n³)", n) == pytest.approx(3)
    want = 2 + np.log(np.log(800) / np.log(100)) / np.log(8)
    assert complexity.claimed_exponent("O(n² log n)", n) == pytest.approx(want)


@pytest.mark.parametrize(
    ("powers", "mark", "named"),
    [
        ((2, 3), "Holds", "none"),
        ((3, 3), "Does not hold", "DCA R_{p,1}"),
        ((2, 4), "Does not hold", "DCA R_{p,*}"),
    ],
)
def test_verdict_on_the_cost_follows_the_seconds(powers, mark, named):
    text = complexity.tell(made_up(*powers))
    assert f"**{mark}.**" in text
    assert named in text.split(f"**{mark}.**")[1]


def test_sizes_close_together_tell_nothing():
    assert "**Undecided.**" in complexity.tell(made_up(3, 3, sizes=(100, 200, 400)))


def test_every_run_makes_all_its_iterations(frames):
    frame = frames["complexity"]
    assert set(zip(frame["operation"], frame["norm"], strict=True)) == set(complexity.CASES)
    assert (frame["seconds"] > 0).all()
    assert (frame["rounds"] == frame["outer"]).all()
