"""Reader of texts: a folder of .txt files, a file with one document per line, or a column of a table."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from sepnmf.io._dialect import DECLARATION, DELIMITERS, encoding_of
from sepnmf.io._guards import check_regular, one_line

SHOWN = 60  # characters of a document that name it
LONGEST_CELL = 2**27  # characters of a document in a table


def read_texts(file: Path, column: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each document.

    The name is the path of a file in a folder; the number (counted from 1) and the first words of a line or
    of a row.
    """
    if not file.is_dir():
        check_regular(file)
    if column is not None:
        if file.suffix.lower() not in DELIMITERS:
            raise ValueError(f"A column of texts is in a .csv or .tsv file, and the file is {file.name}.")
        return (
            (f"row {number}: {beginning(text)}", text)
            for number, text in enumerate(column_of(file, column), start=1)
        )
    return texts_in_folder(file) if file.is_dir() else texts_in_lines(file)


def beginning(text: str) -> str:
    """Return the first words of a text."""
    words = " ".join(text[: 4 * SHOWN].split())
    return words if len(words) <= SHOWN else words[:SHOWN].rsplit(" ", 1)[0] + " …"


def texts_in_folder(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each .txt file below a folder, in alphabetical order."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".txt" and path.is_file())
    if not files:
        raise ValueError(f"{folder} contains no .txt file.")
    for path in files:
        yield path.relative_to(folder).as_posix(), path.read_text(encoding=encoding_of(path))


def texts_in_lines(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the number and first words, and the text, of each line that is not empty."""
    with file.open(encoding=encoding_of(file)) as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                yield f"line {number}: {beginning(line)}", line


def column_of(file: Path, column: str) -> Iterator[str]:
    """Yield the cells of a column of a table with a header; the delimiter is that with which it has it."""
    encoding = encoding_of(file)
    heads = {mark: header(file, encoding, mark) for mark in DELIMITERS[file.suffix.lower()]}
    mark = next((mark for mark, cells in heads.items() if column in cells), None)
    if mark is None:
        names = max(heads.values(), key=len)
        listed = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
        raise ValueError(f"{file.name} has no column {column!r} but {listed or 'no header'}.")
    place = heads[mark].index(column)
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        with file.open(encoding=encoding, newline="") as stream:
            skip_declaration(stream)
            reader = csv.reader(stream, delimiter=mark)
            next(filter(None, reader))
            for cells in filter(None, reader):
                if len(cells) != len(heads[mark]):
                    raise ValueError(
                        f"{file.name} has {len(cells)} cell(s) in line {reader.line_num}, expected "
                        f"{len(heads[mark])} as in its first line."
                    )
                yield cells[place]
    except csv.Error as error:
        raise ValueError(f"{file.name} cannot be read as a table: {one_line(error)}.") from error
    finally:
        csv.field_size_limit(before)


def header(file: Path, encoding: str, delimiter: str) -> list[str]:
    """Return the cells of the first line."""
    try:
        with file.open(encoding=encoding, newline="") as stream:
            skip_declaration(stream)
            return [cell.strip() for cell in next(filter(None, csv.reader(stream, delimiter=delimiter)), [])]
    except csv.Error:
        return []


def skip_declaration(stream: TextIO) -> None:
    """Skip Excel's declaration of the delimiter, if the first line is one."""
    if not DECLARATION.fullmatch(stream.readline(100)):
        stream.seek(0)
