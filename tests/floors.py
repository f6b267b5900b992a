"""The oldest versions that pyproject.toml allows, one per line: constraints for pip.

python tests/floors.py > floors.txt && python -m pip install --constraint floors.txt ".[test]"
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def floors() -> dict[str, str]:
    """Every package that the library or the extra `test` needs, with its oldest version."""
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    oldest: dict[str, str] = {}

    def add(requirements: list[str]) -> None:
        for requirement in requirements:
            name, _, rest = re.fullmatch(r"([\w.-]+)(\[.*?\])?(.*)", requirement).groups()
            if name == project["name"]:
                for extra in requirement.partition("[")[2].rstrip("]").split(","):
                    add(extras[extra])
            else:
                oldest[name] = re.fullmatch(r">=([\d.]+)", rest).group(1)

    add(project["dependencies"])
    add(extras["test"])
    return oldest


if __name__ == "__main__":
    for name, version in sorted(floors().items()):
        print(f"{name}=={version}")
