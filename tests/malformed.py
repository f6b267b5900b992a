"""A hundred files, and more, that must be refused: made here, the same each time, small on disk."""

import pickle
import struct
import warnings
import zipfile
import zlib
from functools import cache
from io import BytesIO
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from scipy import io, sparse

M = np.random.default_rng(0).random((6, 8))
NUMBERS = M.tobytes()
MIB = 2**20
CUTS = (0.03, 0.3, 0.6, 0.9, 0.99)
SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet", ".mat", ".hdr", ".mtx", ".zarr")

HEADER = {
    "samples": 4,
    "lines": 2,
    "bands": 6,
    "header offset": 0,
    "file type": "ENVI Standard",
    "data type": 5,
    "interleave": "bsq",
    "byte order": 0,
}


class Bomb:
    """Writes a file if it is ever unpickled."""

    def __init__(self, target):
        self.target = str(target)

    def __reduce__(self):
        return open, (self.target, "w")


def make_malformed(folder):
    """Files that must be refused, as (id, path, options of `sepnmf.io.read`).

    Unpickling any of them would create `folder / "unpickled"`.
    """
    import malformed_tables

    maker = Maker(Path(folder))
    for part in (common, arrays, archives, bombs, tables, parquets, matlab, matlab_hdf5, envi, market, zarrs):
        part(maker)
    for part in malformed_tables.PARTS:
        part(maker)
    return maker.files


class Maker:
    """Writes files and remembers them."""

    def __init__(self, folder):
        self.folder = folder
        self.files = []
        self.bomb = Bomb(folder / "unpickled")
        self.noise = np.random.default_rng(1).bytes(3000)

    def path(self, name, suffix):
        return self.folder / f"{name.replace(' ', '-')}{suffix}"

    def add(self, name, suffix, content=None, **options):
        """A file of these bytes or this text; without, one that has been written already, or never is."""
        path = self.path(name, suffix)
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.files.append((f"{suffix[1:]}: {name}", path, options))

    def add_cuts(self, name, suffix, content):
        for cut in CUTS:
            self.add(f"{name} cut at {cut:.0%}", suffix, content[: int(cut * len(content))])

    def add_envi(self, name, content=NUMBERS, header=None, **changes):
        facts = {k: v for k, v in (HEADER | changes).items() if v is not None}
        text = "ENVI\n" + "\n".join(f"{k.replace('_', ' ')} = {v}" for k, v in facts.items()) + "\n"
        if content is not None:
            self.path(name, ".img").write_bytes(content)
        self.add(name, ".hdr", text if header is None else header)


def npy(array, allow_pickle=False):
    stream = BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def npy_header(shape, descr="<f8", order=False):
    stream = BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": order, "shape": shape})
    return stream.getvalue()


def npz(members=None, compression=zipfile.ZIP_DEFLATED, **arrays):
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in ((members or {}) | {f"{k}.npy": npy(v) for k, v in arrays.items()}).items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return stream.getvalue()


def crafted_zip(name, compressed, size, crc=0, flags=0):
    """A zip archive of one member whose directory says whatever it is told to."""
    facts = struct.pack("<HHHHIIIHH", flags, 8, 0, 33, crc, len(compressed), size, len(name), 0)
    local = b"PK\3\4" + struct.pack("<H", 20) + facts + name.encode() + compressed
    entry = (
        b"PK\1\2" + struct.pack("<HH", 20, 20) + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name.encode()
    )
    return local + entry + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)


@cache
def zeros_64_mib():
    """64 MiB of zeros as a piece of a deflate stream that can be repeated."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    return stream.compress(bytes(64 * MIB)) + stream.flush(zlib.Z_FULL_FLUSH)


def deflated(head, repeats):
    """`head` and then `repeats` times 64 MiB of zeros, deflated."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    last = zlib.compressobj(9, zlib.DEFLATED, -15)
    return stream.compress(head) + stream.flush(zlib.Z_FULL_FLUSH) + repeats * zeros_64_mib() + last.flush()


def mat(compress=False, **variables):
    stream = BytesIO()
    io.savemat(stream, variables, do_compression=compress)
    return stream.getvalue()


def mat_element(rows, columns, nbytes=None):
    """The head of a matrix of MATLAB's version 5, up to its numbers; it says it has `nbytes`."""
    numbers = 8 * rows * columns
    body = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIii", 5, 8, rows, columns)
    body += struct.pack("<II", 1 | 1 << 16, ord("A")) + struct.pack("<II", 9, min(numbers, 2**32 - 1))
    return struct.pack("<II", 14, len(body) + numbers if nbytes is None else nbytes) + body


def write_hdf5(path, **datasets):
    """A file as MATLAB 7.3 writes it: a block of its own before HDF5 begins, axes reversed, classes named."""
    with h5py.File(path, "w", userblock_size=512) as content:
        for name, array in datasets.items():
            content.create_dataset(name, data=np.asarray(array).T)
            label = {"f": "double", "u": "char", "b": "logical"}.get(np.asarray(array).dtype.kind, "double")
            content[name].attrs["MATLAB_class"] = np.bytes_(label)
    sign_hdf5(path)


def sign_hdf5(path):
    """MATLAB's own block of 512 bytes."""
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Thu Jan  1 00:00:00 2026 HDF5 schema 1.00 ."
    with path.open("r+b") as stream:
        stream.write(head.ljust(124) + b"\x00\x02IM")


def common(maker):
    """What can befall any file."""
    good = {
        ".npy": npy(M),
        ".npz": npz(A=M),
        ".mat": mat(A=M),
        ".mtx": "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
    }
    noise = maker.noise
    for suffix in SUFFIXES:
        maker.add("empty", suffix, b"")
        maker.add("noise", suffix, noise)
        maker.add("prose", suffix, "This is not a matrix, it is a sentence.\n")
        maker.add("zeros", suffix, bytes(1000))
        maker.add("pickle", suffix, pickle.dumps(maker.bomb))
        maker.add("missing", suffix)
        other = ".npz" if suffix != ".npz" else ".npy"
        maker.add(f"is {other[1:]}", suffix, good[other])
        other = ".mtx" if suffix != ".mtx" else ".mat"
        maker.add(f"is {other[1:]}", suffix, good[other])
    folder = maker.path("folder", ".npy")
    folder.mkdir()
    maker.add("folder", ".npy")
    maker.add("unknown ending", ".xyz", b"1 2 3")
    maker.add("variable of no container", ".npy", npy(M), variable="A")
    maker.add("header of an array", ".npy", npy(M), header=True)
    maker.add("shape of another size", ".npy", npy(M), shape=(3, 3))
    maker.add("shape of an image", ".npy", npy(np.ones((2, 3, 4))), shape=(2, 3))


def with_entry(value, dtype=np.float64):
    array = M.astype(dtype)
    array[2, 3] = value
    return array


def arrays(maker):
    """What .npy files may have in them."""
    maker.add_cuts("array", ".npy", npy(M))
    objects = np.array([[maker.bomb, 1], [2, 3]], dtype=object)
    maker.add("objects", ".npy", npy(objects, allow_pickle=True))
    maker.add("structured", ".npy", npy(np.zeros((3, 3), dtype=[("a", float), ("b", int)])))
    for value in (np.nan, np.inf, -np.inf):
        maker.add(f"has {value}", ".npy", npy(with_entry(value)))
    maker.add("single nan", ".npy", npy(with_entry(np.nan, np.float32)))
    maker.add("nan in an image", ".npy", npy(with_entry(np.nan).reshape(2, 3, 8)))
    maker.add("complex", ".npy", npy(M + 1j))
    maker.add("strings", ".npy", npy(M.astype(str)))
    maker.add("dates", ".npy", npy(np.array([["2020-01-01"]], dtype="datetime64[D]")))
    maker.add("scalar", ".npy", npy(np.float64(3)))
    maker.add("vector", ".npy", npy(np.ones(5)))
    maker.add("four dimensions", ".npy", npy(np.ones((2, 2, 2, 2))))
    maker.add("no rows", ".npy", npy(np.ones((0, 5))))
    maker.add("no bands", ".npy", npy(np.ones((2, 5, 0))))
    maker.add("claims a petabyte", ".npy", npy_header((10**7, 10**7)) + bytes(100))
    maker.add("claims more than it has", ".npy", npy_header((6, 9)) + M.tobytes())
    maker.add("negative shape", ".npy", npy_header((-2, -4)) + M.tobytes())
    maker.add("unknown dtype", ".npy", npy_header((6, 8), "<q9") + M.tobytes())
    maker.add("future version", ".npy", npy(M).replace(b"NUMPY\x01", b"NUMPY\x07"))
    maker.add("header of code", ".npy", b"\x93NUMPY\x01\x00\x20\x00" + b"__import__('os').getcwd()".ljust(32))
    maker.add("header of brackets", ".npy", b"\x93NUMPY\x02\x00\xb8\x0b\x00\x00" + b"(" * 3000)
    maker.add("header of gigabytes", ".npy", b"\x93NUMPY\x02\x00\x00\x00\x00\xf0" + b" " * 100)


def archives(maker):
    """What .npz files may have in them."""
    maker.add_cuts("archive", ".npz", npz(A=M))
    objects = npy(np.array([[maker.bomb, 1], [2, 3]], dtype=object), allow_pickle=True)
    maker.add("objects", ".npz", npz({"A.npy": objects}))
    maker.add("objects wanted", ".npz", npz({"A.npy": objects}, B=M), variable="A")
    maker.add("a pickle", ".npz", npz({"A.npy": pickle.dumps(maker.bomb)}))
    maker.add("no members", ".npz", npz())
    maker.add("no arrays", ".npz", npz({"readme.txt": b"hello"}))
    maker.add("two matrices", ".npz", npz(A=M, B=M))
    maker.add("a wrong name", ".npz", npz(A=M), variable="B")
    maker.add("a name of two lines", ".npz", npz({"A\nB.npy": npy(M), "C.npy": npy(M)}))
    maker.add("only a vector", ".npz", npz(A=np.ones(5)))
    maker.add("four dimensions", ".npz", npz(A=np.ones((2, 2, 2, 2))))
    maker.add("no columns", ".npz", npz(A=np.ones((5, 0))))
    maker.add("complex", ".npz", npz(A=M * 1j))
    maker.add("strings", ".npz", npz(A=M.astype(str)))
    for value in (np.nan, np.inf):
        maker.add(f"has {value}", ".npz", npz(A=with_entry(value)))
    maker.add("bzip2", ".npz", npz(compression=zipfile.ZIP_BZIP2, A=M))
    stored = npz(compression=zipfile.ZIP_STORED, A=M)
    maker.add("a flipped bit", ".npz", stored.replace(M.tobytes()[80:88], b"ABCDEFGH"))
    maker.add("a member cut short", ".npz", npz({"A.npy": npy(M)[:-50]}))
    maker.add("a member too long", ".npz", npz({"A.npy": npy(M) + b"more"}))
    raw = deflated(npy(M), 0)
    maker.add("encrypted", ".npz", crafted_zip("A.npy", raw, len(npy(M)), zlib.crc32(npy(M)), flags=1))
    maker.add("wrong sum", ".npz", crafted_zip("A.npy", raw, len(npy(M)), 1))

    csr = sparse.csr_array([[1.0, 0, 2], [0, 0, 3]])
    good = {"format": np.array(b"csr"), "shape": np.array(csr.shape), "data": csr.data}
    good |= {"indices": csr.indices, "indptr": csr.indptr}
    bad = {
        "index too large": {"indices": np.array([0, 2, 10**6])},
        "index negative": {"indices": np.array([0, -2, 1])},
        "starts decrease": {"indptr": np.array([0, 5, 3])},
        "starts return to zero": {"indptr": np.array([0, 5, 0])},
        "starts begin late": {"indptr": np.array([1, 2, 3])},
        "starts too few": {"indptr": np.array([0, 3])},
        "indices of floats": {"indices": np.array([0.5, 1.5, np.nan])},
        "nan": {"data": np.array([1.0, np.nan, 2])},
        "inf": {"data": np.array([1.0, np.inf, 2])},
        "complex": {"data": np.array([1.0, 2j, 2])},
        "unknown format": {"format": np.array(b"xyz")},
        "format of numbers": {"format": np.arange(3)},
        "no rows": {"shape": np.array([0, 0]), "indptr": np.array([0])},
        "shape of text": {"shape": np.array(["a", "b"])},
    }
    for name, changes in bad.items():
        maker.add(f"sparse {name}", ".npz", npz(**(good | changes)))
    maker.add(
        "sparse objects", ".npz", npz({"data.npy": objects}, **{k: good[k] for k in good if k != "data"})
    )
    coo = {"format": np.array(b"coo"), "row": np.array([0]), "col": np.array([0]), "data": np.ones(1)}
    maker.add("sparse of 1e9 columns", ".npz", npz(shape=np.array([10**9, 10**9]), **coo))


def bombs(maker):
    """Small files that would fill the memory."""
    rows = 40 * 64 * MIB // 8 // 1024
    head = npy_header((rows, 1024))
    gigabytes = len(head) + 8 * rows * 1024
    maker.add("bomb", ".npz", crafted_zip("A.npy", deflated(head, 40), gigabytes))
    maker.add("bomb that denies it", ".npz", crafted_zip("A.npy", deflated(head, 40), 1000))
    small = npy_header((10, 10))
    lie = crafted_zip("A.npy", deflated(small, 40), len(small) + 800)
    maker.add("bomb that says it is small", ".npz", lie)
    huge = crafted_zip("A.npy", deflated(npy_header((10**6, 10**9)), 1), 2**32 - 2)
    maker.add("bomb of petabytes", ".npz", huge)

    def mat_bomb(element, repeats):
        plain = b"\x78\x01" + deflated(element, repeats) + b"\0\0\0\0"
        return mat()[:128] + struct.pack("<II", 15, len(plain)) + plain

    maker.add("bomb", ".mat", mat_bomb(mat_element(rows, 1024), 40))
    maker.add("bomb that denies it", ".mat", mat_bomb(mat_element(rows, 1024, nbytes=1000), 40))
    maker.add("bomb that says it is small", ".mat", mat_bomb(mat_element(10, 10), 40))
    name = struct.pack("<IIIIIIIIII", 14, 2**31, 6, 8, 6, 0, 5, 8, 3, 3) + struct.pack("<II", 1, 2**31)
    maker.add("bomb in a name", ".mat", mat_bomb(name, 33))

    path = maker.path("hdf5 bomb", ".mat")
    with h5py.File(path, "w", userblock_size=512) as content:
        chunk = b"\x78\x01" + zeros_64_mib() + deflated(b"", 0) + struct.pack(">I", 0)
        chunks = (1024, 8 * MIB // 1024)
        dataset = content.create_dataset("A", (1024, rows), "f8", chunks=chunks, compression="gzip")
        for start in range(0, rows, chunks[1]):
            dataset.id.write_direct_chunk((0, start), chunk)
    maker.add("hdf5 bomb", ".mat")
    path = maker.path("hdf5 of nothing", ".mat")
    with h5py.File(path, "w", userblock_size=512) as content:
        content.create_dataset("A", (10**6, 10**6), "f8", chunks=(1000, 1000), compression="gzip")
    maker.add("hdf5 of nothing", ".mat")
    path = maker.path("hdf5 of huge chunks", ".mat")
    with h5py.File(path, "w", userblock_size=512) as content:
        content.create_dataset("A", (9, 9), "f8", chunks=(2**14, 2**14), maxshape=(None, None))
    maker.add("hdf5 of huge chunks", ".mat")

    columns = {f"c{j}": pa.nulls(10**6, pa.bool_()) for j in range(150)}
    pq.write_table(pa.table(columns), maker.path("bomb", ".parquet"))
    maker.add("bomb", ".parquet")
    banner = "%%MatrixMarket matrix"
    maker.add("of 1e9 columns", ".mtx", f"{banner} coordinate real general\n1000000000 1000000000 1\n1 1 1\n")
    maker.add("of 1e30 columns", ".mtx", f"{banner} coordinate real general\n1 {10**30} 1\n1 1 1\n")
    maker.add("of 1e12 entries", ".mtx", f"{banner} array real general\n1000000 1000000\n1\n")
    maker.add_envi("of petabytes", lines=10**9, samples=10**6)


def tables(maker):
    """What .csv and .tsv files may have in them."""
    for suffix, tab in ((".csv", ","), (".tsv", "\t")):

        def add(name, text, suffix=suffix, tab=tab, **options):
            maker.add(name, suffix, text.replace(",", tab), **options)

        add("short line", "1,2,3\n4,5\n6,7,8\n")
        add("long line", "1,2,3\n4,5,6\n6,7,8,9\n")
        add("short last line", "a,b,c\n1,2,3\n4,5")
        add("long first line", "a,b,c,d\n1,2,3\n4,5,6\n")
        add("short header", "a,b\n1,2,3\n4,5,6\n")
        add("only a header", "a,b,c\n")
        add("only names", "a\nb\nc\n")
        add("only an index", ",\nb,\nc,\n")
        add("a word", "1,2,3\n4,five,6\n")
        add("an empty cell", "1,2,3\n4,,6\n")
        add("an empty cell first", "1,,3\n4,5,6\n")
        add("nan", "1,2,3\n4,nan,6\n")
        add("NA", "a,b,c\n4,NA,6\n")
        add("inf", "1,2,3\n4,inf,6\n")
        add("too large", "1,2,3\n4,1e999,6\n")
        add("complex", "1,2,3\n4,1+2j,6\n")
        add("truth", "1,2,3\n4,True,6\n")
        add("open quote", '1,2,3\n4,"5,6\n7,8,9\n')
        add("header that is none", "1,2,3\nx,y,z\n4,5,6\n", header=False)
        add("index that is none", "a,1,2\nb,3,4\n", index=False)
        add("only blank lines", "\n\n\n")
    maker.add("a cell without end", ".csv", "a,b\n" + "1" * 200_000 + ",2\n")


def parquets(maker):
    """What .parquet files may have in them."""

    def add(name, columns, metadata=None):
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table.replace_schema_metadata(metadata), maker.path(name, ".parquet"))
        maker.add(name, ".parquet")

    frame = pd.DataFrame(M, columns=list("abcdefgh"))
    stream = BytesIO()
    frame.to_parquet(stream)
    maker.add_cuts("table", ".parquet", stream.getvalue())
    damaged = bytearray(stream.getvalue())
    damaged[4:200] = bytes(196)
    maker.add("damaged pages", ".parquet", bytes(damaged))
    bomb = pickle.dumps(maker.bomb)
    add("pickles", {"a": [1.0, 2.0], "b": [bomb, bomb]})
    kind = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": bomb}
    field = pa.field("a", pa.binary(), metadata=kind)
    add("pickled type", pa.table([pa.array([b"1", b"2"])], schema=pa.schema([field])))
    add("damaged notes", {"a": [1.0, 2.0]}, {"pandas": b"{not json"})
    add("notes of another shape", {"a": [1.0, 2.0]}, {"pandas": b"[1, 2]"})
    add("text", {"a": ["u", "v"], "b": ["x", "y"]})
    add("bytes", {"a": [1.0, 2.0], "b": [b"x", b"y"]})
    add("only text", {"a": ["x", "y"]})
    add("lists", {"a": [[1.0], [2.0]]})
    add("dates", {"a": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    add("a missing number", {"a": [1.0, None]})
    add("a missing integer", {"a": [1, None]})
    add("nan", {"a": [1.0, np.nan]})
    add("inf", {"a": [1.0, np.inf]})
    add("no rows", {"a": pa.array([], pa.float64())})
    add("no columns", pa.table({}))
    add("a name twice", pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]))


def matlab(maker):
    """What .mat files of version 5 may have in them."""
    maker.add_cuts("version 5", ".mat", mat(A=M))
    maker.add_cuts("compressed", ".mat", mat(compress=True, A=M))
    maker.add("only a head", ".mat", mat())
    maker.add("two matrices", ".mat", mat(A=M, B=M))
    maker.add("a wrong name", ".mat", mat(A=M), variable="B")
    maker.add("text wanted", ".mat", mat(A=M, B="text"), variable="B")
    maker.add("text", ".mat", mat(A="text"))
    maker.add("cells", ".mat", mat(A=np.array([[1, "a"], [2, "b"]], dtype=object)))
    maker.add("a structure", ".mat", mat(A={"b": "text"}))
    maker.add("complex", ".mat", mat(A=M + 1j))
    maker.add("no rows", ".mat", mat(A=np.ones((0, 3))))
    maker.add("four dimensions", ".mat", mat(A=np.ones((2, 2, 2, 2))))
    for value in (np.nan, np.inf):
        maker.add(f"has {value}", ".mat", mat(A=with_entry(value)))
    maker.add("sparse nan", ".mat", mat(A=sparse.csc_array([[1.0, 0], [0, np.nan]])))
    maker.add("sparse complex", ".mat", mat(A=sparse.csc_array([[1.0, 0], [0, 1j]])))
    content = mat(A=sparse.csc_array([[1.0, 0], [0, 2.0], [0, 3.0]]))
    rows = struct.pack("<iii", 0, 1, 2)
    maker.add("sparse index too large", ".mat", content.replace(rows, struct.pack("<iii", 0, 1, 2**30)))
    content = mat(A=M)
    unknown = content.replace(struct.pack("<II", 9, M.nbytes), struct.pack("<II", 77, M.nbytes))
    maker.add("numbers of another kind", ".mat", unknown)
    longer = content.replace(struct.pack("<II", 9, M.nbytes), struct.pack("<II", 9, 2**31))
    maker.add("numbers beyond the end", ".mat", longer)
    old = BytesIO()
    io.savemat(old, {"A": M}, format="4")
    maker.add("version 4", ".mat", old.getvalue())
    damaged = bytearray(mat(compress=True, A=M))
    damaged[300:310] = bytes(10)
    maker.add("damaged stream", ".mat", bytes(damaged))
    shape = struct.pack("<IIii", 5, 8, 6, 8)
    maker.add("wrong shape", ".mat", mat(A=M).replace(shape, struct.pack("<IIii", 5, 8, 60, 8)))
    maker.add("negative shape", ".mat", mat(A=M).replace(shape, struct.pack("<IIii", 5, 8, -6, 8)))
    maker.add("nRow is nan", ".mat", mat(A=M, nRow=np.nan, nCol=2.0))
    head = mat()[:128]
    maker.add("an element of another kind", ".mat", head + struct.pack("<II", 77, 16) + bytes(16))
    maker.add("an element of no bytes", ".mat", head + struct.pack("<II", 14, 0))
    maker.add("half a tag", ".mat", head + b"\x0e\0\0")


def matlab_hdf5(maker):
    """What .mat files of version 7.3 may have in them."""

    def add(name, options=None, **datasets):
        write_hdf5(maker.path(name, ".mat"), **datasets)
        maker.add(name, ".mat", **(options or {}))

    add("hdf5", A=M)
    maker.files.pop()
    maker.add_cuts("hdf5", ".mat", maker.path("hdf5", ".mat").read_bytes())
    add("hdf5 of nothing at all")
    add("hdf5 of two matrices", A=M, B=M)
    add("hdf5 with a wrong name", {"variable": "B"}, A=M)
    add("hdf5 of text", A=np.array([[72, 105]], dtype=np.uint16))
    add("hdf5 of four dimensions", A=np.ones((2, 2, 2, 2)))
    add("hdf5 of nan", A=with_entry(np.nan))
    add("hdf5 of inf", A=with_entry(np.inf))
    pair = np.zeros((3, 3), dtype=[("real", float), ("imag", float)])
    add("hdf5 of complex", A=pair)
    add("hdf5 of no rows", A=np.ones((0, 3)))

    def craft(name, write):
        path = maker.path(name, ".mat")
        with h5py.File(path, "w", userblock_size=512) as content:
            write(content)
        sign_hdf5(path)
        maker.add(name, ".mat")

    def cells(content):
        content["#refs#/a"] = M
        references = np.array([[content["#refs#/a"].ref]], dtype=h5py.ref_dtype)
        content.create_dataset("A", data=references).attrs["MATLAB_class"] = np.bytes_("cell")

    def matrix(content, **changes):
        parts = {"data": np.array([1.0, 2.0]), "ir": np.array([0, 1], "u8"), "jc": np.array([0, 1, 2], "u8")}
        for part, values in (parts | changes).items():
            content[f"A/{part}"] = values
        content["A"].attrs["MATLAB_sparse"] = np.uint64(3)
        content["A"].attrs["MATLAB_class"] = np.bytes_("double")

    def elsewhere(content):
        content["A"] = h5py.ExternalLink("other.mat", "/A")

    def outside(content):
        content.create_dataset("A", (3, 3), "f8", external=[("/etc/hostname", 0, 72)])

    def virtual(content):
        layout = h5py.VirtualLayout((6, 8), "f8")
        layout[:] = h5py.VirtualSource("other.mat", "A", (6, 8))
        content.create_virtual_dataset("A", layout)

    craft("hdf5 of cells", cells)
    craft("hdf5 linked", elsewhere)
    craft("hdf5 external", outside)
    craft("hdf5 virtual", virtual)
    craft("hdf5 sparse index too large", lambda c: matrix(c, ir=np.array([0, 2**40], "u8")))
    craft("hdf5 sparse index negative", lambda c: matrix(c, ir=np.array([0, 2**64 - 1], "u8")))
    craft("hdf5 sparse starts decrease", lambda c: matrix(c, jc=np.array([0, 9, 2], "u8")))
    craft("hdf5 sparse starts return to zero", lambda c: matrix(c, jc=np.array([0, 9, 0], "u8")))
    craft("hdf5 sparse of nan", lambda c: matrix(c, data=np.array([1.0, np.nan])))
    craft("hdf5 sparse of text", lambda c: matrix(c, data=np.array([b"a", b"b"])))
    craft("hdf5 sparse of groups", lambda c: matrix(c, **{"data": 1.0, "ir": 1, "jc": 1}))


def envi(maker):
    """What ENVI headers may say."""
    for cut in CUTS:
        maker.add_envi(f"image cut at {cut:.0%}", M.tobytes()[: int(cut * M.nbytes)])
    maker.add_envi("no data file", content=None)
    maker.add_envi("empty data file", content=b"")
    for value in (np.nan, np.inf):
        maker.add_envi(f"has {value}", with_entry(value).tobytes())
    for word in ("lines", "samples", "bands", "data type", "interleave", "byte order"):
        maker.add_envi(f"without {word}", **{word.replace(" ", "_"): None} | {word: None})
    maker.add_envi("unknown interleave", interleave="bsx")
    maker.add_envi("list of interleaves", interleave="{bsq, bil}")
    for number in (0, 6, 9, 99, -1):
        maker.add_envi(f"data type {number}", **{"data type": number})
    maker.add_envi("data type float", **{"data type": "float"})
    maker.add_envi("byte order 7", **{"byte order": 7})
    maker.add_envi("negative offset", **{"header offset": -8})
    maker.add_envi("large offset", **{"header offset": 10**6})
    maker.add_envi("offset of text", **{"header offset": "none"})
    maker.add_envi("frame offsets", **{"major frame offsets": "{2, 2}"})
    maker.add_envi("compressed", **{"file compression": 1})
    maker.add_envi("library", **{"file type": "ENVI Spectral Library"})
    maker.add_envi("no lines", lines=0)
    maker.add_envi("negative samples", samples=-4)
    maker.add_envi("lines in words", lines="two")
    maker.add_envi("lines in lists", lines="{2}")
    maker.add_envi("too many bands", bands=7)
    maker.add_envi("an open brace", header="ENVI\nlines = 2\nsamples = 4\nwavelength = {1, 2,\n 3\n")
    maker.add_envi("another first line", header="GDAL\nlines = 2\nsamples = 4\n")
    maker.add_envi("latin-1 and nothing else", header="ENVI\nunits = µm\n".encode("latin-1"))


def market(maker):
    """What .mtx files may have in them."""
    stream = BytesIO()
    io.mmwrite(stream, sparse.coo_array(M))
    maker.add_cuts("coordinates", ".mtx", stream.getvalue()[: stream.getvalue().rindex(b" ")])
    banner = "%%MatrixMarket matrix"
    bad = {
        "row out of range": f"{banner} coordinate real general\n3 3 2\n1 1 1\n4 1 2\n",
        "column out of range": f"{banner} coordinate real general\n3 3 2\n1 1 1\n1 40 2\n",
        "row zero": f"{banner} coordinate real general\n3 3 2\n1 1 1\n0 1 2\n",
        "row negative": f"{banner} coordinate real general\n3 3 2\n1 1 1\n-1 1 2\n",
        "too few entries": f"{banner} coordinate real general\n3 3 3\n1 1 1\n2 1 2\n",
        "too many entries": f"{banner} coordinate real general\n3 3 1\n1 1 1\n2 1 2\n",
        "zeros in a number": f"{banner} coordinate real general\n3 3 2\n1 1 1\n2 2 0.5\0\0\0\n",
        "no values": f"{banner} coordinate real general\n3 3 2\n1 1\n2 1\n",
        "a word": f"{banner} coordinate real general\n3 3 1\n1 1 one\n",
        "nan": f"{banner} coordinate real general\n3 3 1\n1 1 nan\n",
        "inf": f"{banner} coordinate real general\n3 3 1\n1 1 inf\n",
        "complex": f"{banner} coordinate complex general\n3 3 1\n1 1 1 2\n",
        "no sizes": f"{banner} coordinate real general\n",
        "sizes in words": f"{banner} coordinate real general\nthree 3 1\n1 1 1\n",
        "two sizes": f"{banner} coordinate real general\n3 3\n1 1 1\n",
        "negative sizes": f"{banner} coordinate real general\n-3 -3 1\n1 1 1\n",
        "no rows": f"{banner} coordinate real general\n0 0 0\n",
        "unknown layout": f"{banner} triangles real general\n3 3 1\n1 1 1\n",
        "unknown field": f"{banner} coordinate quaternion general\n3 3 1\n1 1 1\n",
        "unknown symmetry": f"{banner} coordinate real odd\n3 3 1\n1 1 1\n",
        "symmetric and not square": f"{banner} coordinate real symmetric\n3 2 1\n1 1 1\n",
        "a vector": "%%MatrixMarket vector coordinate real general\n3 1\n1 1\n",
        "no banner": "3 3 1\n1 1 1\n",
        "array too short": f"{banner} array real general\n2 2\n1\n2\n3\n",
        "array of words": f"{banner} array real general\n2 2\n1\n2\nthree\n4\n",
        "integer too large": f"{banner} coordinate integer general\n3 3 1\n1 1 {10**30}\n",
    }
    for name, content in bad.items():
        maker.add(name, ".mtx", content)


def zarrs(maker):
    """What Zarr folders may have in them, or lack."""

    def add(name, array=M, version=3, change=lambda path: None):
        path = maker.path(name, ".zarr")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some types are not in the standard
            zarr.save_array(str(path), array, zarr_format=version)
        change(path)
        maker.add(name, ".zarr")

    def cut(name, size):
        return lambda path: (path / name).write_bytes((path / name).read_bytes()[:size])

    for size in (0, 5, 200):
        add(f"metadata of {size} bytes", change=cut("zarr.json", size))
        add(f"old metadata of {size} bytes", version=2, change=cut(".zarray", size))
    add("no metadata", change=lambda path: (path / "zarr.json").unlink())
    add("half a chunk", change=cut("c/0/0", 100))
    add("half an old chunk", version=2, change=cut("0.0", 100))
    add("noise in a chunk", change=lambda path: (path / "c/0/0").write_bytes(maker.noise))
    add("unknown dtype", change=replaced("zarr.json", "float64", "float99"))
    add("shape of words", change=replaced("zarr.json", "6,", '"six",'))
    add("complex", M + 1j)
    add("strings", M.astype(str))
    add("vector", np.ones(5))
    add("four dimensions", np.ones((2, 2, 2, 2)))
    add("nan", with_entry(np.nan))
    maker.path("nothing", ".zarr").mkdir()
    maker.add("nothing", ".zarr")
    group = zarr.open_group(str(maker.path("group", ".zarr")), mode="w")
    group.create_array("a", data=M)
    group.create_array("b", data=M)
    maker.add("group", ".zarr")


def replaced(name, old, new):
    """A change of the text of a file in a folder."""

    def change(path):
        text = (path / name).read_text()
        assert old in text
        (path / name).write_text(text.replace(old, new, 1))

    return change
