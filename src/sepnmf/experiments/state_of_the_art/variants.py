"""The methods of the page, with the options that make another method of one."""

import json

from sepnmf.experiments.experiment import Frame, Row
from sepnmf.registry import ready_methods

PAGE = "state-of-the-art"
# Options that make another published method of one of ours.
OPTIONS: dict[str, list[Row]] = {
    "eeht": [{"choice": "largest"}, {"choice": "centroids"}],
    "preconditioned_spa": [
        {"preconditioner": name} for name in ("spa", "whitening", "translation", "lifting")
    ],
}


def variants() -> list[Row]:
    """Every method that runs without a parameter, and its variants; the options are text, for a table."""
    return [
        {"method": method, "options": json.dumps(options)}
        for method in ready_methods()
        for options in [{}, *OPTIONS.get(method, [])]
    ]


def label(method: str, options: str) -> str:
    """A variant as a table names it."""
    values = [str(value) for value in json.loads(options).values()] if method in OPTIONS else []
    return " ".join([method, *values])


def labelled(frame: Frame) -> Frame:
    """The results with a column `variant`."""
    names = [label(*pair) for pair in zip(frame["method"], frame["options"], strict=True)]
    return frame.assign(variant=names)


def emphasised(name: str) -> str:
    """A variant in a table, in bold if it is auto."""
    return f"**{name}**" if name == "auto" else name
