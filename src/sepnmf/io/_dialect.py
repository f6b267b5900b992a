"""How a table is written as text: encoding, delimiter, and decimal points or commas.

European spreadsheets separate cells by semicolons and write decimal commas. What the first lines do not
determine is refused, and what is not the default is said (`Dialect.assumptions`).
"""

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sepnmf.io._guards import one_line

WHITESPACE = " "  # any spaces and tabs
DELIMITERS = {".csv": ",;\t", ".tsv": "\t,;"}  # the default first
TEXT_DELIMITERS = WHITESPACE + ",;\t"
DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", WHITESPACE: "spaces"}
SAMPLE, SAMPLE_CELLS = 50, 20_000  # lines, and about so many cells, from which the delimiter is detected
BLOCK = 2**20

# Cells that mean a missing number. They are not taken for names.
MISSING = frozenset({"", "#N/A", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null"})
MISSING |= {"n.a.", "N.A.", "n.d.", "N.D.", "nd", "ND", "k.A.", "n.n.", "BDL", "bdl"}

# Cells that give only a limit of detection, such as <0.01 and <LOD. They too have no number.
LIMIT = re.compile(r"\s*[<>≤≥]=?\s*(?:\d*[.,]?\d+(?:[eE][+-]?\d+)?|LOD|LOQ|MDL|DL)\s*")

DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(
    r"\s*[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+|(?:\.\d{3}){2,}|(?:,\d{3}){2,}"
    r"|(?:['’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?)\s*"
)
NOT_WORD = re.compile(r"\W*\d|(?:true|false)$", re.IGNORECASE)  # a date, 5 %, a truth value
DECLARATION = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # Excel's first line
NUL, CONTROL = re.compile(rb"\x00"), re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f]")

# What a mark between digits shows if it cannot separate thousands: another number of digits than three
# behind it, more than three or a leading zero before it, or none.
NO_THOUSANDS = r"(?<!\d){0}\d|(?<!\d)0+{0}\d|\d{{4}}{0}\d|\d{0}(?:\d{{1,2}}|\d{{4,}})(?!\d)|\d{0}\d{{3}}[eE]"
IS_DECIMAL = {mark: re.compile(NO_THOUSANDS.format(re.escape(mark))) for mark in ".,"}

# Decimal commas become points for NumPy. Points become a character of no number, and names get them back.
FOREIGN = "\x01"
TO_POINTS = str.maketrans({",": ".", ".": FOREIGN})
FROM_POINTS = str.maketrans({".": ",", FOREIGN: "."})
QUOTED_COMMA = re.compile(r'"(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)"')


@dataclass(frozen=True)
class Dialect:
    """How a table is written.

    Attributes
    ----------
    encoding : str
        Encoding of the file.
    delimiter : str
        What separates cells; a space stands for any spaces and tabs.
    default : str
        The delimiter that the file name extension promises.
    decimal : str
        The decimal separator.
    declared : bool
        Whether the first line is Excel's declaration of the delimiter.
    comments : bool
        Whether # begins a comment.
    """

    encoding: str
    delimiter: str
    default: str
    decimal: str = "."
    declared: bool = False
    comments: bool = False

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was detected, if it is not the default, in one sentence each."""
        found = []
        if self.delimiter != self.default and not self.declared:
            found.append(f"Cells are taken to be separated by {DELIMITER_NAMES[self.delimiter]}.")
        if self.decimal == ",":
            found.append("Commas in numbers are taken as decimal commas.")
        if self.encoding in ("cp1252", "latin-1"):
            found.append("The text is not UTF-8 and is read as Windows-1252 (Latin-1).")
        return tuple(found)

    def lines(self, file: Path) -> Iterator[str]:
        """Yield the lines as they are; those that are comments or declare the delimiter are empty."""
        with file.open(encoding=self.encoding, newline="") as stream:
            for number, line in enumerate(stream):
                skipped = (self.declared and number == 0) or (self.comments and line.lstrip()[:1] == "#")
                yield "\n" if skipped else line

    def cells(self, lines: Iterator[str]) -> Any:
        """Return a reader of the cells of each line; its `line_num` counts lines."""
        if self.comments:
            lines = (line.partition("#")[0] if "#" in line else line for line in lines)
        if self.delimiter == WHITESPACE:
            lines = (" ".join(line.split()) for line in lines)
        return csv.reader(lines, delimiter=self.delimiter)

    def rows(self, file: Path) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of each line that has a cell which is not blank."""
        reader = self.cells(self.lines(file))
        try:
            for cells in reader:
                if is_filled(cells):
                    yield reader.line_num, [cell.strip() for cell in cells]
        except csv.Error as error:
            raise ValueError(f"{file.name} cannot be read as a table: {one_line(error)}.") from error

    def begins_blank(self, file: Path) -> bool:
        """Return whether the first line has cells, and all are blank."""
        first: list[str] = next(iter(self.cells(self.lines(file))), [])
        return len(first) > 1 and not is_filled(first)

    def is_number(self, cell: str) -> bool:
        """Return whether a cell is a number, written with this decimal separator."""
        if self.decimal == ",":
            cell = cell.translate(TO_POINTS)
        return is_float(cell)

    def is_number_or_missing(self, cell: str) -> bool:
        """Return whether a cell is a number or means a missing number."""
        return is_missing(cell) or self.is_number(cell)

    def with_points(self, line: str) -> str:
        """Return a line with decimal points, for NumPy."""
        if self.decimal == ".":
            return line
        if self.delimiter == ",":  # decimal commas are in quotes
            return QUOTED_COMMA.sub(r'"\1.\2"', line.replace(".", FOREIGN))
        return line.translate(TO_POINTS)

    def original(self, cell: str) -> str:
        """Return a cell of a line of `with_points` as it is in the file."""
        return cell if self.decimal == "." else cell.translate(FROM_POINTS)


def is_missing(cell: str) -> bool:
    """Return whether a cell means a missing number, or one beyond a limit of detection."""
    return cell in MISSING or LIMIT.fullmatch(cell) is not None


def is_filled(cells: list[str]) -> bool:
    """Return whether a cell of a line is not blank."""
    return any(map(str.strip, cells))


def filled_width(cells: list[str]) -> int:
    """Return the number of cells without the blank ones at the end."""
    return max((k for k, cell in enumerate(cells, start=1) if cell.strip()), default=0)


def trimmed(rows: list[list[str]]) -> list[list[str]]:
    """Return lines without the columns at the end that are blank in all of them."""
    width = max(map(filled_width, rows), default=0)
    return [cells[:width] for cells in rows]


def is_float(cell: str) -> bool:
    """Return whether a cell is a number with a decimal point or none."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def dialect_of(file: Path, decimal: str | None = None) -> Dialect:
    """Detect how a table is written, from its first lines and, for the encoding, from all bytes."""
    suffix = file.suffix.lower()
    delimiters = DELIMITERS.get(suffix, TEXT_DELIMITERS)
    default = delimiters[0]
    dialect = Dialect(encoding_of(file), default, default, comments=suffix not in DELIMITERS)
    with file.open(encoding=dialect.encoding, newline="") as stream:
        declaration = DECLARATION.fullmatch(stream.readline(100))
    if declaration:
        delimiters = declaration[1]
        if delimiters not in DELIMITER_NAMES:
            raise ValueError(f"{file.name} declares the delimiter {delimiters!r}: use a comma, ; or a tab.")
        dialect = replace(dialect, delimiter=delimiters, declared=True)
    else:
        dialect = replace(dialect, delimiter=delimiter_of(file, dialect, delimiters))
    return replace(dialect, decimal=decimal or decimal_of(file, dialect))


def encoding_of(file: Path) -> str:
    """Return the encoding: by the byte order mark, UTF-8 if all bytes are, or otherwise Windows-1252."""
    with file.open("rb") as stream:
        start = stream.read(3)
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            check_decodes(file, "utf-16")
            return "utf-16"
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            check_decodes(file, encoding)
        except ValueError:
            if start == codecs.BOM_UTF8:
                raise
            check_no_control(file, CONTROL)
        else:
            check_no_control(file, NUL)
            return encoding
    return "latin-1"


def check_no_control(file: Path, characters: re.Pattern[bytes]) -> None:
    """Refuse a file with these characters, which no text has."""
    with file.open("rb") as stream:
        while block := stream.read(BLOCK):
            if characters.search(block):
                raise ValueError(f"{file.name} contains control characters: it is not a text file.")


def check_decodes(file: Path, encoding: str) -> None:
    """Refuse a file that has bytes which this encoding does not have."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with file.open("rb") as stream:
            while block := stream.read(BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise ValueError(f"{file.name} is not encoded in {name}: {one_line(error)}.") from None


def sample(file: Path, dialect: Dialect) -> list[list[str]]:
    """Return the cells of the first lines, fewer if they are long; none if they cannot be parsed."""
    rows: list[list[str]] = []
    try:
        for _, cells in islice(dialect.rows(file), SAMPLE):
            rows.append(cells)
            if len(rows) > 1 and len(rows) * len(cells) > SAMPLE_CELLS:
                break
    except ValueError:
        return []
    return trimmed(rows)


def delimiter_of(file: Path, dialect: Dialect, delimiters: str) -> str:
    """Return the delimiter with which the first lines are a table of numbers; refuse if two are."""
    default = delimiters[0]
    samples = {mark: sample(file, replace(dialect, delimiter=mark)) for mark in delimiters}
    tables = {mark: rows for mark, rows in samples.items() if has_columns(rows)}
    doubts = {mark: doubt(rows, delimiters) for mark, rows in tables.items() if has_numbers(rows)}
    if not doubts:  # not a table of numbers, or one of one column; the default explains it best
        return default if default in tables or not tables else next(iter(tables))
    best = [mark for mark, value in doubts.items() if value == min(doubts.values())]
    if WHITESPACE in best and "\t" in best:
        best.remove("\t" if tables["\t"] == tables[WHITESPACE] else WHITESPACE)
    if len(best) > 1:
        named = " or by ".join(DELIMITER_NAMES[mark] for mark in best)
        raise ValueError(f"{file.name} may be separated by {named}: put names that contain them in quotes.")
    if best == [","] and default != "," and all(DECIMAL_COMMA.fullmatch(",".join(r)) for r in tables[","]):
        raise ValueError(
            f"{file.name} has one number with a decimal comma per line, or two cells: write decimal points, "
            "or separate the cells by semicolons."
        )
    return best[0]


def has_columns(rows: list[list[str]]) -> bool:
    """Return whether all lines have the same number of cells, more than one."""
    return len({len(cells) for cells in rows}) == 1 and len(rows[0]) > 1


def has_numbers(rows: list[list[str]]) -> bool:
    """Return whether columns behind the first have numbers, below the first line; some may have text."""
    columns = list(zip(*(cells[1:] for cells in rows[1:] or rows), strict=True))
    texts = [not any(looks_numeric(cell) and not is_missing(cell) for cell in cells) for cells in columns]
    numeric = [all(map(looks_numeric, cells)) for cells in columns]
    return any(numeric) and all(map(any, zip(numeric, texts, strict=True)))


def is_word(cell: str) -> bool:
    """Return whether a cell is text that is surely not a number with a unit, a date or a truth value."""
    return not looks_numeric(cell) and not NOT_WORD.match(cell)


def looks_numeric(cell: str) -> bool:
    """Return whether a cell is a number in some spelling, or missing."""
    spelled = is_float(cell) or DECIMAL_COMMA.fullmatch(cell) or THOUSANDS.fullmatch(cell)
    return bool(spelled) or is_missing(cell)


def doubt(rows: list[list[str]], delimiters: str) -> tuple[int, int]:
    """Return how many names contain another delimiter, and how many cells are names."""
    names = [cell for cells in rows for cell in cells if not looks_numeric(cell)]
    return sum(any(mark in name for mark in delimiters if mark != WHITESPACE) for name in names), len(names)


def decimal_of(file: Path, dialect: Dialect) -> str:
    """Return the decimal separator of the first lines: that of numbers, or of what may be their names."""
    rows = sample(file, dialect)
    inner = [cell for cells in rows[1:] or rows for cell in cells[1:] or cells]
    for shown in (inner, [cell for cells in rows for cell in cells]):
        comma = next((cell for cell in shown if DECIMAL_COMMA.fullmatch(cell)), None)
        point = next((cell for cell in shown if "." in cell and is_float(cell)), None)
        if comma and point and shown is inner:
            raise ValueError(
                f"{file.name} has both {comma[:40]!r} and {point[:40]!r}: write decimal points everywhere, "
                "and no separators of thousands."
            )
        if comma or point:
            return "." if point else ","
    return "."
