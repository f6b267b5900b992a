"""Text and AnnData files that must be refused; `malformed.make_malformed` makes them with the others."""

import pickle
from io import BytesIO

import h5py
import numpy as np
from anndata.io import write_elem
from scipy import sparse

from malformed import M, npy

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


def h5ad(change=None, matrix=None):
    """Bytes of an AnnData file, after a change by a function of the open file."""
    stream = BytesIO()
    with h5py.File(stream, "w") as content:
        write_elem(content, "X", sparse.csr_array(np.where(M > 0.5, M, 0)) if matrix is None else matrix)
        for name, size in (("obs", M.shape[0]), ("var", M.shape[1])):
            frame = content.create_group(name)
            frame.attrs.update({"_index": "names", "encoding-type": "dataframe", "encoding-version": "0.2.0"})
            write_elem(frame, "names", np.array([f"{name}{k}" for k in range(size)], dtype=object))
        if change is not None:
            change(content)
    return stream.getvalue()


def put(content, path, values, **options):
    """Replace a dataset."""
    del content[path]
    content.create_dataset(path, data=values, **options)


def with_entry(values, place, entry):
    """A copy with another entry."""
    found = np.array(values)
    found[place] = entry
    return found


def huge(content):
    """A matrix of 8 TB by its own account, of which nothing is stored."""
    del content["X"]
    content.create_dataset("X", (10**6, 10**6), "f8", chunks=(1000, 1000), compression="gzip")


def huge_sparse(content):
    """A sparse matrix of 8 TB by its own account."""
    for name, dtype in (("data", "f8"), ("indices", "i4")):
        del content[f"X/{name}"]
        content["X"].create_dataset(name, (10**12,), dtype, chunks=(10**6,), compression="gzip")


def annotated_files(maker):
    """What .h5ad files may have in them."""
    good = h5ad()
    maker.add_cuts("cells", ".h5ad", good)
    for name, content in {
        "empty": b"",
        "noise": maker.noise,
        "zeros": bytes(1000),
        "pickle": pickle.dumps(maker.bomb),
        "is npy": npy(M),
        "prose": "This is not a matrix, it is a sentence.\n",
    }.items():
        maker.add(name, ".h5ad", content)
    maker.add("missing", ".h5ad")
    maker.add("header", ".h5ad", good, header=True)
    maker.add("variable that is none", ".h5ad", good, variable="counts")
    maker.add("variable of names", ".h5ad", good, variable="obs/names")
    maker.add("shape of another size", ".h5ad", good, shape=(3, 3))
    elsewhere = maker.path("elsewhere", ".raw")
    elsewhere.write_bytes(M.tobytes())

    def attribute(name, value):
        return lambda f: f["X"].attrs.__setitem__(name, value)

    def entry(name, place, value):
        return lambda f: put(f, f"X/{name}", with_entry(f[f"X/{name}"][()], place, value))

    def without(path):
        return lambda f: f.__delitem__(path)

    def link(f):
        del f["X"]
        f["X"] = h5py.ExternalLink(str(maker.path("cells", ".h5ad")), "X")

    for name, change in {
        "no X": without("X"),
        "nothing": lambda f: f.clear(),
        "no data": without("X/data"),
        "no indices": without("X/indices"),
        "no pointers": without("X/indptr"),
        "no shape": lambda f: f["X"].attrs.__delitem__("shape"),
        "no kind": lambda f: f["X"].attrs.__delitem__("encoding-type"),
        "kind of no matrix": attribute("encoding-type", "dataframe"),
        "kind of no version": attribute("encoding-version", "9.9.9"),
        "shape of one number": attribute("shape", np.array([6])),
        "shape of three numbers": attribute("shape", np.array([6, 4, 2])),
        "negative shape": attribute("shape", np.array([6, -8])),
        "more rows": attribute("shape", np.array([7, 8])),
        "fewer columns": attribute("shape", np.array([6, 4])),
        "index too large": entry("indices", 3, 99),
        "negative index": entry("indices", 3, -1),
        "pointer too large": entry("indptr", 2, 10**6),
        "negative pointer": entry("indptr", 2, -5),
        "last pointer too small": entry("indptr", -1, 1),
        "first pointer not zero": entry("indptr", 0, 1),
        "fewer values": lambda f: put(f, "X/data", f["X/data"][:-2]),
        "fewer indices": lambda f: put(f, "X/indices", f["X/indices"][:-2]),
        "indices that are floats": lambda f: put(f, "X/indices", f["X/indices"][()] + 0.5),
        "values that are text": lambda f: put(f, "X/data", f["X/data"][()].astype("S5")),
        "values that are complex": lambda f: put(f, "X/data", f["X/data"][()] + 1j),
        "nan": entry("data", 3, np.nan),
        "inf": entry("data", 3, np.inf),
        "values in a square": lambda f: put(f, "X/data", M),
        "names of another number": lambda f: put(f, "obs/names", np.array([b"a", b"b"])),
        "no index": without("var/names"),
        "index of no name": lambda f: f["var"].attrs.__delitem__("_index"),
        "names that are a matrix": lambda f: put(f, "var/names", M),
        "X is a scalar": lambda f: put(f, "X", 1.0),
        "X is a vector": lambda f: put(f, "X", np.arange(8.0)),
        "X is a cube": lambda f: put(f, "X", np.ones((6, 8, 2))),
        "X is text": lambda f: put(f, "X", np.full((6, 8), b"1")),
        "X is of records": lambda f: put(f, "X", np.zeros((6, 8), [("a", "f8")])),
        "X is elsewhere": lambda f: put(f, "X", None, shape=(6, 8), dtype="f8", external=str(elsewhere)),
        "X is a link": link,
        "X is a link to nothing": lambda f: (f.__delitem__("X"), f.__setitem__("X", h5py.SoftLink("/Y"))),
        "claims terabytes": huge,
        "claims terabytes of entries": huge_sparse,
    }.items():
        maker.add(name, ".h5ad", h5ad(change))
    maker.add("no cells", ".h5ad", h5ad(matrix=np.zeros((0, 8))))
    maker.add("nan in a dense matrix", ".h5ad", h5ad(matrix=np.where(M > 0.9, np.nan, M)))


PARTS = (text_files, annotated_files)
