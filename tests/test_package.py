"""What the package says of itself agrees wherever it is said."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import sepnmf
from floors import floors, needed

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
RECIPE = (ROOT / "conda.recipe/meta.yaml").read_text("utf-8")


def test_the_version_is_the_same_everywhere():
    assert f"\nversion: {sepnmf.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'{{% set version = "{sepnmf.__version__}" %}}' in RECIPE
    assert f"\n## {sepnmf.__version__}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_conda_installs_what_pip_installs():
    listed = RECIPE.partition("  run:\n")[2].partition("  run_constrained:")[0]
    wanted = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert [line.replace(" ", "") for line in re.findall(r"- (.*)", listed)] == wanted
    assert f"- {PYPROJECT['build-system']['requires'][0].replace('>=', ' >=')}\n" in RECIPE
    (command,) = re.findall(r"- (sepnmf = .*)", RECIPE)
    assert command == f"sepnmf = {PROJECT['scripts']['sepnmf']}"
    optional = re.findall(r"- (\S+?)(?:-base)? >=(.*)", RECIPE.partition("run_constrained:")[2])
    assert optional
    assert dict(optional).items() <= floors(PROJECT).items()


def test_the_floors_are_the_oldest_versions_that_are_allowed():
    oldest = floors(PROJECT)
    requirements = [Requirement(line) for line in needed(PROJECT, "test")]
    assert {"numpy", "dask", "anndata", "pytest"} < {requirement.name for requirement in requirements}
    for requirement in requirements:
        assert str(requirement.specifier) == f">={oldest[requirement.name]}"
    assert not any(name.startswith("sepnmf") for name in oldest)


@pytest.mark.parametrize(
    "path", [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / "CITATION.cff"], ids=lambda path: path.name
)
def test_files_for_other_services_are_valid_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)


def test_the_versions_of_python_are_those_that_are_tested():
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))
    assert workflow["jobs"]["suite"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
