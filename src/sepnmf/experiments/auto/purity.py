"""Whether `auto` says that there are no pure columns, and what minimum volume makes of them."""

from sepnmf.datasets import make_capped
from sepnmf.experiments.auto.common import PAGE, at_least, at_most, choose
from sepnmf.experiments.experiment import Check, Experiment, Figure, Frame, Row, Scale, pick, where
from sepnmf.experiments.labels import COLOURS, one_panel
from sepnmf.experiments.markdown import figure, section, table
from sepnmf.metrics import mrsa
from sepnmf.vertices import archetypes, minimum_volume

PURITIES = (0.6, 0.7, 0.8, 0.9, 1.0)
NOISE = 0.01
SEEDS, OTHER_SEEDS = 50, 10
MAIN = {"m": 50, "n": 300, "r": 5, "noise": NOISE, "brightness": 0.0}
OTHERS: tuple[dict[str, float], ...] = (
    {"noise": 0.001},
    {"noise": 0.05},
    {"brightness": 0.5},
    {"m": 20, "n": 100, "r": 3},
    {"n": 100, "r": 10},
)
SETTING = list(MAIN)
TOLD, SILENT = 0.9, 0.95
WHAT = {
    "anchors": "the anchors",
    "auto": "`vertices` of `auto`",
    "archetypes": "`archetypes`",
    "volume": "`minimum_volume`",
}


def trials(scale: Scale) -> list[Row]:
    """Instances of each purity: many of the main setting, and fewer of others."""
    purities = pick(scale, PURITIES, PURITIES, (0.8, 1.0))
    settings = [MAIN, *(MAIN | other for other in OTHERS)] if scale == "full" else [MAIN]
    return [
        {"purity": purity, **setting, "seed": seed}
        for setting in settings
        for seed in range(pick(scale, SEEDS if setting is MAIN else OTHER_SEEDS, 5, 1))
        for purity in purities
    ]


def run(purity: float, m: int, n: int, r: int, noise: float, brightness: float, seed: int) -> list[Row]:
    """Whether the status says that there are no pure columns, and the MRSA of four kinds of vertices."""
    drawn = make_capped(purity, noise, m, n, r, brightness=brightness, random_state=seed)
    M, sel = drawn.M, choose(drawn.M, r, "auto")
    assert sel.vertices is not None
    found = {
        "anchors": M[:, sel.anchors],
        "auto": sel.vertices,
        "archetypes": archetypes(M, sel, negative="allow").vertices,
        "volume": minimum_volume(M, sel, negative="allow").vertices,
    }
    errors: Row = {name: mrsa(W, drawn.vertices) for name, W in found.items() if W is not None}
    return [{"told": int(sel.status == "no pure columns"), **errors}]


def main_setting(frame: Frame) -> Frame:
    """The instances that the requirements are about."""
    return where(frame, **MAIN)


def draw(frame: Frame) -> dict[str, Figure]:
    """The MRSA of each kind of vertices over the purity."""
    picture, panel = one_panel(6.0, 4.2)
    means = main_setting(frame).groupby("purity")[list(WHAT)].mean()
    for name, colour in zip(WHAT, COLOURS.values(), strict=False):
        panel.plot(means.index, means[name], "o-", color=colour, label=WHAT[name].replace("`", ""))
    panel.set_xlabel("largest share of a vertex in a column")
    panel.set_ylabel("MRSA")
    panel.set_yscale("log")
    panel.grid(alpha=0.25)
    panel.legend()
    return {"purity": picture}


def tell(frame: Frame) -> str:
    """How often the status says so, and the errors, for the main setting and for others."""
    main = main_setting(frame)
    head = ("largest share", "“no pure columns”", *(f"MRSA, {what}" for what in WHAT.values()))
    settings = [
        (*setting, part)
        for setting, part in frame.groupby(SETTING, sort=False)
        if dict(zip(SETTING, setting, strict=True)) != MAIN
    ]
    parts = [
        "## No pure columns",
        "In these data no column has more than a given share of any vertex (`make_capped`); with a share of "
        f"1, each vertex has a pure column. Each instance has {MAIN['r']} vertices, "
        f"{MAIN['m']} × {MAIN['n']}, and white noise of {NOISE:.0%}; the seeds are 0 to "
        f"{main['seed'].max()}. The table shows how often `sel.status` of `auto` is “no pure columns”, and "
        "the mean [MRSA](glossary.md#mrsa) of four kinds of vertices against the true ones.",
        figure("purity", "Errors of vertices over the largest share of a vertex in a column", PAGE),
        table(head, rows_of(main)),
    ]
    if settings:
        parts += [
            f"Other sizes, noise and brightness (σ of lognormal lengths), {OTHER_SEEDS} seeds each. With "
            "three vertices and shares up to 0.6, another cone is smaller than the true one (see "
            "{py:func}`sepnmf.minimum_volume`).",
            table(
                ("m × n, r", "noise", "brightness", *head),
                [
                    (f"{m:g} × {n:g}, {r:g}", f"{noise:g}", f"{brightness:g}", *row)
                    for (m, n, r, noise, brightness), part in (
                        (setting[:-1], setting[-1]) for setting in settings
                    )
                    for row in rows_of(part)
                ],
            ),
        ]
    return section(*parts)


def rows_of(part: Frame) -> list[tuple[str, ...]]:
    """A line for each purity: how often the status says so, and the mean errors."""
    return [
        (f"{purity:g}", f"{some['told'].mean():.2f}", *(f"{some[name].mean():.2f}" for name in WHAT))
        for purity, some in part.groupby("purity")
    ]


def checks(frame: Frame) -> list[Check]:
    """The status says so below 1 and is silent at 1; minimum volume halves the error and does no harm."""
    found, means = [], main_setting(frame).groupby("purity")[["told", "anchors", "volume"]].mean()
    for purity, row in means.iterrows():
        if purity < 1:
            what = f"Shares of up to {purity:g}, “no pure columns”"
            found.append(at_least(what, float(row["told"]), TOLD))
        else:
            found.append(at_least("Pure columns, silence", 1 - float(row["told"]), SILENT))
    for purity, factor in ((0.8, 0.5), (1.0, 1.0)):
        if purity in means.index:
            before, after = (float(means.loc[purity, name]) for name in ("anchors", "volume"))
            what = f"Shares of up to {purity:g}, MRSA of minimum volume relative to the anchors'"
            found.append(at_most(what, round(after / before, 4), factor))
    return found


EXPERIMENT = Experiment(
    "auto-purity",
    "no pure columns: whether auto says so, and vertices of minimum volume",
    trials,
    run,
    tell,
    draw,
    page=PAGE,
    checks=checks,
)
