"""The rooms of the design: imports point one way, the core import is light."""

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mutants
import sepnmf

ROOT = Path(sepnmf.__file__).parent

# A room may import from rooms before it, never from itself onwards (files inside a room may).
ROOMS = [
    "_kernels",
    "_typing",
    "_markup",
    "_display",
    "_validation",
    "_parallel",
    "matrix",
    "model",
    "least_squares",
    "text",
    "selection",
    "_descent",
    "vertices",
    "methods",
    "tuning",
    "registry",
    "metrics",
    "estimators",
    "datasets",
    "experiments",
    "io",
    "_overview",
    "report",
    "explorer",
    "cli",
    "__main__",
]


def room(module):
    return module.split(".")[1] if "." in module else "__init__"


def imports(path):
    """Modules of sepnmf that a file imports when it is loaded."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sepnmf"):
            for alias in node.names:
                yield node.module if "." in node.module else f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("sepnmf"))


def test_every_file_is_in_a_room():
    found = {p.relative_to(ROOT).parts[0].removesuffix(".py") for p in ROOT.rglob("*.py")}
    assert found - {"__init__"} == set(ROOMS)


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if own == "__init__":
        return
    for module in imports(path):
        assert module != "sepnmf", "import from the room, not from the package"
        other = room(module)
        assert other == own or ROOMS.index(other) < ROOMS.index(own), f"{own} must not know {other}"


def test_no_module_has_more_than_400_lines():
    lengths = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in ROOT.rglob("*.py")}
    assert not {name: length for name, length in lengths.items() if length > 400}


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, sepnmf\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'matplotlib', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert callable(sepnmf.admm) and 'sklearn' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_can_be_reached():
    for name in sepnmf.__all__:
        assert getattr(sepnmf, name) is not None
        assert name in dir(sepnmf)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sepnmf.nothing  # noqa: B018


def test_a_selection_shows_itself_in_one_line():
    M, _ = sepnmf.datasets.make_dirichlet(0.0, random_state=0)
    text = repr(sepnmf.spa(M, 2))
    assert text.startswith("Selection(method='spa', anchors=[")
    assert "\n" not in text


def test_a_selection_shows_the_first_of_many_anchors_and_their_names():
    M = np.random.default_rng(0).random((60, 60))
    text = repr(replace(sepnmf.spa(M, 30), names=tuple(f"s{j}" for j in range(30))))
    assert ", … (30 in all)], names=['s0', 's1'" in text
    assert "'s19', … (30 in all)]" in text
    assert "'s20'" not in text


@pytest.mark.parametrize("first", ["admm", "metrics", "select", "SeparableNMF"])
def test_public_names_mean_the_same_whatever_was_loaded_before(first):
    code = (
        f"import sepnmf; sepnmf.{first}\n"
        "assert callable(sepnmf.nnls) and callable(sepnmf.spa) and callable(sepnmf.methods.spa)\n"
        "from sepnmf.methods import vca\n"
        "assert vca is sepnmf.vca and vca.method is sepnmf.METHODS['vca']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_mutants_are_of_the_code_as_it_is():
    assert not mutants.outdated()
