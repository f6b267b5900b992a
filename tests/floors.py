"""The oldest versions that pyproject.toml allows, one per line, as constraints for pip.

python tests/floors.py > floors.txt
python -m pip install --only-binary :all: --constraint floors.txt --editable ".[test]"
python -m pytest -W default::DeprecationWarning -W default::PendingDeprecationWarning

Old packages use what newer ones below them have deprecated; such warnings are no errors here.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def needed(project, extra):
    """The requirements of the library and of one extra, with those of the extras that it names."""
    own = project["name"]
    waiting, found = [*project["dependencies"], f"{own}[{extra}]"], []
    while waiting:
        requirement = waiting.pop()
        if extras := re.fullmatch(rf"{own}\[(.*)\]", requirement):
            for name in extras.group(1).split(","):
                waiting += project["optional-dependencies"][name]
        else:
            found.append(requirement)
    return found


def floors(project):
    """Each package that the tests need, with its oldest version."""
    parts = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line) for line in needed(project, "test")]
    return dict(sorted(part.groups() for part in parts))


if __name__ == "__main__":
    for name, version in floors(tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]).items():
        sys.stdout.write(f"{name}=={version}\n")
