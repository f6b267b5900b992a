"""Tables as text that must be refused; `malformed.make_malformed` makes them with the others."""

import pickle

from malformed import npy

TEXT = (".txt", ".dat", ".asc")


def text_files(maker):
    """What .txt, .dat and .asc files may have in them."""
    for suffix in TEXT:
        maker.add("empty", suffix, b"")
        maker.add("noise", suffix, maker.noise)
        maker.add("zeros", suffix, bytes(1000))
        maker.add("pickle", suffix, pickle.dumps(maker.bomb))
        maker.add("missing", suffix)
        maker.add("is npy", suffix, npy(1.0))
        maker.add("prose", suffix, "This is not a matrix, it is a sentence.\n")
    for name, content in {
        "only comments": "# a\n# b\n",
        "only blank lines": "\n \n\t\n",
        "only a header": "a b c\n",
        "only names": "a\nb\nc\n",
        "prose of two lines": "This is not a matrix,\nit is a sentence.\n",
        "short line": "1 2 3\n4 5\n6 7 8\n",
        "long line": "1 2 3\n4 5 6\n6 7 8 9\n",
        "short last line": "a b c\n1 2 3\n4 5",
        "short header": "a b\n1 2 3\n4 5 6\n",
        "ESRI grid": "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2\n3 4 5\n",
        "a word": "1 2 3\n4 five 6\n",
        "a word far down": "1 2 3\n" * 5000 + "4 five 6\n",
        "NA": "a b c\n4 NA 6\n",
        "nan": "1 2 3\n4 nan 6\n",
        "inf": "1 2 3\n4 inf 6\n",
        "too large": "1 2 3\n4 1e999 6\n",
        "complex": "1 2 3\n4 1+2j 6\n",
        "hexadecimal": "1 2 3\n4 0x1f 6\n",
        "grouped by underscores": "1 2 3\n4 1_000 6\n",
        "Fortran exponents": "1 2 3\n4 1.5D+00 6\n",
        "dates": "a b\n1 2020-01-01\n2 2020-01-02\n",
        "times": "1 12:30:00\n2 12:31:00\n",
        "open quote": '1 2 3\n4 "5 6\n7 8 9\n',
        "an empty cell of tabs": "1\t2\t3\n4\t\t6\n",
        "an empty cell of semicolons": "1;2;3\n4;;6\n",
        "two delimiters": "1;2,3\n4,5;6\n7,8,9\n",
        "decimal comma or two cells": "1,5\n2,5\n",
        "decimal comma and point": "1,5 2.5\n3,5 4.5\n",
        "decimal comma after points": "1.5 2.5\n" * 100 + "3,5 4.5\n",
        "thousands with points": "1.234,5;2.345,6\n1.234,5;2.345,6\n",
        "thousands with commas": "1,234.5 2,345.6\n1,234.5 2,345.6\n",
        "thousands or decimals": "1,234 5,678\n9,012 3,456\n",
        "thousands or decimals with semicolons": "1.234;5.678\n9.012;3.456\n",
        "millions": "1,234,567 5\n1,234,568 6\n",
        "declared delimiter of another kind": "sep=|\n1|2\n3|4\n",
        "vertical bars": "1|2\n3|4\n",
        "cut UTF-16": "a b\n1 2\n".encode("utf-16")[:-1],
        "UTF-16 without its mark": "a b\n1 2\n".encode("utf-16-le"),
        "UTF-8 mark before Latin-1": b"\xef\xbb\xbf\xe9 b\n1 2\n",
        "a cell without end": "a b\n" + "1" * 200_000 + " 2\n",
        "JSON": '{"a": [1, 2], "b": [3, 4]}\n',
        "XML": "<table><tr><td>1</td></tr></table>\n",
    }.items():
        maker.add(name, ".txt", content)
    maker.add("header that is none", ".txt", "1 2 3\nx y z\n4 5 6\n", header=False)
    maker.add("index that is none", ".txt", "a 1 2\nb 3 4\n", index=False)
    maker.add("points that are none", ".txt", "1,5 2,5\n3,5 4,5\n", decimal=".")
    maker.add("decimal of no kind", ".txt", "1 2\n3 4\n", decimal=";")
    maker.add("variable", ".txt", "1 2\n3 4\n", variable="A")


PARTS = (text_files,)
