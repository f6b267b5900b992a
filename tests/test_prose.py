"""The documentation is readable: lines are short, and words are those of the field."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 100  # characters of a line

# Private words as regular expressions, and what to write instead. A space matches a line break too.
PRIVATE_WORDS = {
    r"\b[Ww]armth\b": "WarmStart, warm start",
    r"(?:\b(?:class|raise|except|import) |[(,|]\s*)Broken\b|\bBroken\(": "IterationFailed",
    r"\bNOTHING\b": "ZERO_NORM",
    r"(?i:spokes(?:man|men)\b)": "representatives",
    r"(?i:(?<![a-z])by(?: |_)lot\b)": "random sample",
    r"(?i:(?<![a-z])glimpses?\b)": "peek",
    r"(?i:(?<![a-z])suspects\b)": "candidates",
    r"(?i:(?<![a-z])objections?\b)": "violations",
    r"\bGuess\b": "WorkingSet",
    r"\bsettle\(": "verify(",
    r"\btold(?:=|: Callable)": "on_progress",
    r"scikit-learn's (?:clothes|faces)|\bscikit-learn faces": "scikit-learn estimators",
    r"(?i:\bmanieth\b)": "every k-th",
    r"\b(?:come|came) by\b": "found, computed",
    r"\bis not built\b": "there is no option yet",
    r"\ba mistake that one line explains\b": "invalid input (one-line explanation)",
}


def tracked(*patterns: str) -> list[Path]:
    """Files of the project that match; from git, or, in an archive without history, from the folder."""
    try:
        run = subprocess.run(
            ["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, check=True, text=True
        )
        names = [name for name in run.stdout.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern)]
    return [ROOT / name for name in sorted(names) if (ROOT / name).exists()]


MARKDOWN = tracked("*.md", "docs/*.md", "benchmarks/*.md")
READ_BY_PEOPLE = tracked(
    "README.md", "CONTRIBUTING.md", "docs/*.md", "examples/gallery/*", "src/*.py", "src/**/*.py"
)


def long_lines(text: str) -> list[int]:
    """Numbers of the lines that are too long, outside code, tables, images and bare links."""
    found, fence, code, blank = [], "", False, True
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        mark = re.match(r"`{3,}|~{3,}|:{3,}", stripped)
        if fence:
            fence = "" if stripped.startswith(fence) and not stripped.strip(fence[0]) else fence
            continue
        if mark:
            fence = mark[0]
            continue
        code = bool(stripped) and line.startswith("    ") and (code or blank)
        blank = not stripped
        link = r"(?:[-*] )?(?:\[[^\]]*\]: ?|<)?https?://\S+|(?:[-*] )?\[[^\]]*\]\(\S+\)\.?"
        exempt = code or stripped.startswith(("|", "![")) or re.fullmatch(link, stripped)
        if len(line) > LONGEST and not exempt:
            found.append(number)
    return found


def private_words(text: str) -> list[str]:
    """Places of private words, each with what to write instead."""
    found = []
    for pattern, instead in PRIVATE_WORDS.items():
        for match in re.finditer(pattern.replace(" ", r"\s+"), text):
            line = text.count("\n", 0, match.start()) + 1
            found.append((line, f"line {line}: {match[0]!r}, write {instead!r}"))
    return [message for _, message in sorted(found)]


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_of_markdown_are_short(path):
    assert not long_lines(path.read_text("utf-8")), f"longer than {LONGEST} characters"


@pytest.mark.parametrize("path", READ_BY_PEOPLE, ids=lambda path: str(path.relative_to(ROOT)))
def test_words_are_those_of_the_field(path):
    assert not private_words(path.read_text("utf-8"))


def test_there_is_something_to_read():
    names = {path.name for path in MARKDOWN + READ_BY_PEOPLE}
    assert {"README.md", "CONTRIBUTING.md", "glossary.md", "unmixing.py", "registry.py"} <= names


LONG = "word " * 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LONG, [1]),
        (f"short\n{LONG}", [2]),
        (f"- {LONG}", [1]),
        (f"short\n    {LONG}", [2]),  # a continued paragraph
        (f"| {LONG} |", []),
        (f"```\n{LONG}\n```", []),
        (f"```python\n{LONG}\n```\n{LONG}", [4]),
        (f"````\n```\n{LONG}\n```\n````", []),
        (f"\n    {LONG}\n    {LONG}\n\n{LONG}", [5]),
        (f"![{LONG}](picture.png)", []),
        (f"https://example.org/{'a' * 100}", []),
        (f"[paper]: https://example.org/{'a' * 100}", []),
        (f"See https://example.org/{'a' * 100}", [1]),
    ],
)
def test_long_lines_are_found_outside_code_tables_images_and_links(text, expected):
    assert long_lines(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "class Warmth:",
        "raise Broken",
        "except (Broken, ValueError):",
        "twenty thousand drawn by lot",
        "twenty thousand drawn by\nlot",
        "def drawn_by_lot(M):",
        "chunks.glimpse()",
        "GLIMPSES, GLIMPSE = 8, 256",
        "SPOKESMEN = 300",
        "class Suspects:",
        "class Objections:",
        "settle(chunks, guess)",
        "told=told",
        "In scikit-learn's clothes",
        "Every how manieth line",
        "how they were come by",
    ],
)
def test_private_words_are_found(text):
    assert private_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "columns that cannot be told apart",
        "a broken line",
        "a lot of columns",
        "the objective settles",
    ],
)
def test_ordinary_words_are_allowed(text):
    assert not private_words(text)
