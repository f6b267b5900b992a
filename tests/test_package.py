"""What the package says of itself agrees wherever it is said."""

import re
import tomllib
from pathlib import Path

import sepnmf

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RECIPE = (ROOT / "conda.recipe/meta.yaml").read_text("utf-8")


def test_the_version_is_the_same_everywhere():
    assert f"\nversion: {sepnmf.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'{{% set version = "{sepnmf.__version__}" %}}' in RECIPE
    assert f"\n## {sepnmf.__version__}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_conda_installs_what_pip_installs():
    listed = RECIPE.partition("  run:\n")[2].partition("  run_constrained:")[0]
    wanted = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert [line.replace(" ", "") for line in re.findall(r"- (.*)", listed)] == wanted


def test_the_versions_of_python_are_those_that_are_tested():
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    workflow = (ROOT / ".github/workflows/test.yml").read_text("utf-8")
    (tested,) = re.findall(r"python: \[(.*)\]", workflow)
    assert tested.replace('"', "").split(", ") == named
    assert PROJECT["requires-python"] == f">={named[0]}"
