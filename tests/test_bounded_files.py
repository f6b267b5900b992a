"""Files that are small and declare much, or would be waited for: refused in one line, in little memory."""

import base64
import gzip
import io
import json
import os
import re
import struct
import subprocess
import sys
import time
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rasterio

import bounds
import malformed
from sepnmf.io import _guards as guards
from sepnmf.io import read, read_names
from sepnmf.io._envi import parse_header
from sepnmf.io._parquet import page_sizes
from sepnmf.io._texts import read_texts

RNG = np.random.default_rng(0)
ONE_LINE = r"^[^\n]+\.$"
BANNER = "%%MatrixMarket matrix coordinate real general\n"


# Parquet.


def parquet(table, **options):
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def with_index(names, columns, **metadata):
    found = {"index_columns": names, "columns": [], "column_indexes": []} | metadata
    table = pa.table(columns)
    return table.replace_schema_metadata({"pandas": json.dumps(found)})


def test_an_index_that_is_named_often_is_read_once(tmp_path):
    table = with_index(["n"] * 5000, {"n": ["a", "b"], "x": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").row_names == ("a", "b")


def test_long_names_that_would_be_joined_in_many_rows_are_refused(tmp_path):
    count, word = 10**5, pa.array(["w" * 10**5])
    names = pa.DictionaryArray.from_arrays(np.zeros(count, "i4"), word)
    table = with_index(["a", "b"], {"a": names, "b": names, "x": np.ones(count)})
    pq.write_table(table, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 1e5
    bounds.assert_refused_in_little_memory([tmp_path / "a.parquet"])


def test_pages_that_become_much_larger_than_the_file_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(guards, "UNCHECKED_SIZE", 2**20)
    words = pa.array(["\0" * 2**20] * 20)
    table = pa.table({"n": words, "x": np.ones(20)})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(ValueError, match="more than 100 times its size on disk"):
        read(tmp_path / "a.parquet")


def edited_rows(content, count):
    """A file of ten rows that declares another number of rows everywhere in its footer."""
    head, footer = content[: -8 - int.from_bytes(content[-8:-4], "little")], content[len(content) - 8 :]
    text = content[len(head) : -8]
    number, wanted = b"\x16\x14", b"\x16" + varint(2 * count)  # ten as a signed integer of 64 bits
    text = text.replace(number, wanted)
    return head + text + len(text).to_bytes(4, "little") + footer[4:]


def varint(value):
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


@pytest.mark.parametrize("count", [11, 10**6, 10**8, 2**40])
def test_a_false_number_of_rows_is_refused(tmp_path, count):
    content = parquet(pa.table({"x": np.ones(10), "y": np.ones(10)}), store_schema=False)
    (tmp_path / "a.parquet").write_bytes(edited_rows(content, count))
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.num_rows == count
    bounds.assert_refused_in_little_memory([tmp_path / "a.parquet"])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_sizes_of_pages_are_those_that_pyarrow_writes(tmp_path, version, compression):
    path = tmp_path / "a.parquet"
    table = pa.table({"x": RNG.integers(0, 9, 10**5), "t": [f"{k % 1000}" for k in range(10**5)]})
    pq.write_table(table, path, data_page_version=version, compression=compression, data_page_size=1000)
    with path.open("rb") as stream, pq.ParquetFile(path) as content:
        for j in range(2):
            column = content.metadata.row_group(0).column(j)
            start = column.dictionary_page_offset
            sizes = list(page_sizes(stream, start, start + column.total_compressed_size))
            headers = column.total_uncompressed_size - sum(sizes)
            assert len(sizes) > 3
            assert 10 * len(sizes) < headers < 200 * len(sizes)


# Ten rows of x = 1 and t = "word" as pyarrow 26 writes them; pyarrow 15 writes no counts of levels.
WITH_LEVELS = (
    "eNqVUcFqwkAQnV3CEsRDTHeWDOSQi0uEKLVUT0Lp3UPoHwQbqAdNuqa1H9DP6qGHfpCf0IkYSrWXLrPzljfDm3lsfv8wRQ8DDJYo"
    "EUI4ncMdAoYYZqi5qFDFkd9Vfl4G0j/YwYBB8tVCaPit7jG9r9zjufocUq/lo2M+V6DFDCK1Wz2VmwI9wN5QRuINsN9iM4RlzL1G"
    "U0yZhRh7NAMVELcgs+ZDcNhb6//PA2W8OqAETgHDYqTIguZyO6PfzWiOM94Fhz0I+yUuvVwomZw6LfMpjbY+A6RJXbjnl7IZr+p6"
    "XDhX7ZPX0u3W1Ta5mU+uJ1PK2Gjr9UoA5Px13xySPZ4="
)


@pytest.mark.parametrize("levels", [b"\x19\x16\x14", b"\x19\x36\x00\x14\x00", b"\x19\x06"])
def test_contradictory_metadata_of_a_column_do_not_end_the_process(tmp_path, levels):
    content = zlib.decompress(base64.b64decode(WITH_LEVELS))
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer, known = content[start:-8], b"\x19\x26\x00\x14"  # how often each definition level occurs
    assert footer.count(known) == 2
    footer = footer.replace(known, levels)
    ended = footer + len(footer).to_bytes(4, "little") + b"PAR1"
    (tmp_path / "a.parquet").write_bytes(content[:start] + ended)
    read_in_another_process(tmp_path / "a.parquet")


def read_in_another_process(path):
    """Read a file, or refuse it; the process may not end otherwise."""
    code = "import sys\nfrom sepnmf.io import read\ntry: read(sys.argv[1])\nexcept ValueError: pass"
    subprocess.run([sys.executable, "-c", code, str(path)], timeout=60, check=True)


def test_truth_values_of_which_some_are_missing_are_numbers(tmp_path):
    pq.write_table(pa.table({"x": [2.0, 3.0], "b": [True, None]}), tmp_path / "a.parquet")
    np.testing.assert_array_equal(read(tmp_path / "a.parquet").M, [[2, 1], [3, np.nan]])


# ENVI.


def test_headers_are_parsed_in_a_time_that_grows_with_their_length():
    lines = "wavelength = {\n" + "1,\n" * 10**6 + "1}\nbands = 2\n"
    start = time.process_time()
    header = parse_header("ENVI\n" + lines)
    assert (len(header["wavelength"]), header["bands"]) == (10**6 + 1, "2")
    assert len(parse_header("ENVI\n" + "a = b\n" * 10**6)) == 1
    assert time.process_time() - start < 20


def test_headers_are_parsed_as_the_package_spectral_parses_them(tmp_path):
    from spectral.io import envi

    text = (
        "ENVI file\n; a comment\ndescription = {two\nlines, {braces}}\nlines=3\nBand Names = {a, b\n, c = d}"
        "\nnothing\nempty =\nempty list = {}\nmap info = {UTM, 1,\n; note\n 2}\nsensor = a = b\nlines = 4"
    )
    (tmp_path / "a.hdr").write_text(text)
    with pytest.warns(UserWarning, match="non-lowercase"):
        assert parse_header(text) == envi.read_envi_header(str(tmp_path / "a.hdr"))
    assert parse_header(text.replace("\n", "\r\n"))["lines"] == "4"
    with pytest.raises(ValueError, match="braces of 'x' are not closed"):
        parse_header("ENVI\nx = {1, 2\n")


# Declared sizes and types.


@pytest.mark.parametrize("size", ["9" * 900, str(2**63), f"-{'9' * 900}"])
@pytest.mark.parametrize("sizes", ["{0} 3 1", "3 {0} 1", "3 3 {0}"])
def test_a_matrix_market_size_of_many_digits_is_refused(tmp_path, sizes, size):
    (tmp_path / "a.mtx").write_text(f"{BANNER}{sizes.format(size)}\n1 1 1\n")
    with pytest.raises(ValueError, match=ONE_LINE):
        read(tmp_path / "a.mtx")


@pytest.mark.parametrize("shape", [(3, 4, True), (True, 12), (12, False), (10**900, 1), (2**63, 2**63)])
def test_a_shape_of_other_things_than_sizes_is_refused(tmp_path, shape):
    header = malformed.npy_header((3, 4)).replace(b"(3, 4)", str(shape).encode())
    header = re.sub(rb" +\n$", b"", header)
    header = header[:8] + (len(header) - 9).to_bytes(2, "little") + header[10:] + b"\n"
    (tmp_path / "a.npy").write_bytes(header + bytes(96))
    with pytest.raises(ValueError, match=ONE_LINE):
        read(tmp_path / "a.npy")


@pytest.mark.parametrize("field", ["lines", "samples", "bands", "header offset", "data type"])
def test_a_number_of_many_digits_in_a_header_is_refused(tmp_path, field):
    maker = malformed.Maker(tmp_path)
    maker.add_envi("a", **{field: "9" * 900})
    with pytest.raises(ValueError, match=ONE_LINE):
        read(tmp_path / "a.hdr")


def test_what_a_reader_may_not_raise_is_a_sentence(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    for error, said in (
        (KeyError("x"), "a.npy cannot be read: 'x'."),
        (MemoryError(), "a.npy does not fit into memory."),
        (ValueError("two\nlines"), "two lines."),
        (OverflowError("too large"), "a.npy cannot be read: too large."),
    ):

        def fail(_, error=error):
            raise error

        monkeypatch.setitem(sys.modules["sepnmf.io"].READERS, ".npy", fail)
        with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
            read(tmp_path / "a.npy")


# Pipes, devices and sockets.


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".mat", ".h5", ".mtx", ".mtx.gz", ".tif", ".hdr"])
def test_a_pipe_is_refused_without_waiting(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="is not a regular file"):
        read(path)
    for reads in (read_names, read_texts):
        with pytest.raises(ValueError, match="is not a regular file"):
            reads(path)


def test_devices_are_refused():
    with pytest.raises(ValueError, match="is not a regular file"):
        read("/dev/zero")
    with pytest.raises(ValueError, match="is not a regular file"):
        guards.open_regular(guards.Path("/dev/zero"))


@pytest.mark.parametrize("beside", [".tif.aux.xml", ".aux.xml", ".tif.msk", ".tif.ovr", ".tfw", ".xml"])
def test_a_pipe_beside_an_image_is_not_waited_for(tmp_path, beside):
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        image = rasterio.open(tmp_path / "a.tif", "w", "GTiff", 4, 4, 3, dtype="uint8")
    with image:
        image.write(np.ones((3, 4, 4), "u1"))
    os.mkfifo(tmp_path / f"a{beside}")
    code = "import sys; from sepnmf.io import read; read(sys.argv[1])"
    words = [sys.executable, "-c", code, str(tmp_path / "a.tif")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert "is not a regular file" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("start", "rest"),
    [(BANNER, "%"), (BANNER, "%\n"), (f"{BANNER}3 3 9\n1 1 ", "1"), (f"{BANNER}3 3 9\n", "\n")],
)
def test_a_packed_matrix_whose_lines_never_end_is_refused(tmp_path, start, rest):
    piece = gzip.compress((rest * 2**25)[: 2**25].encode())
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress(start.encode()) + 40 * piece)
    bounds.assert_refused_in_little_memory([tmp_path / "a.mtx.gz"])


@pytest.mark.slow
def test_a_wide_table_with_a_wrong_cell_is_refused_in_a_time_that_grows_with_its_size(tmp_path):
    line = ",".join(["1"] * 5000)
    (tmp_path / "a.csv").write_text(f"{line}\n" * 300 + f"{line}x\n")
    start = time.process_time()
    with pytest.raises(ValueError, match=r"^a\.csv has '1x' in line 301, cell 5000: expected a number"):
        read(tmp_path / "a.csv")
    assert time.process_time() - start < 30


# Others.


def test_a_member_of_a_sparse_archive_that_declares_more_than_it_has_is_refused(tmp_path):
    head = malformed.npy_header((10**9,))
    parts = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 2]),
        "indices": np.zeros(1),
        "indptr": np.zeros(3),
    }
    (tmp_path / "a.npz").write_bytes(malformed.npz({"data.npy": head + bytes(8)}, **parts))
    with pytest.raises(ValueError, match=r"^a\.npz is damaged: 'data\.npy' has 136 bytes, and its shape"):
        read(tmp_path / "a.npz")


def test_a_structure_of_very_many_fields_is_refused(tmp_path):
    body = (
        struct.pack("<IIII", 6, 8, 2, 0)
        + struct.pack("<IIii", 5, 8, 1, 1)
        + struct.pack("<II", 1 | 1 << 16, ord("A"))
    )
    body += struct.pack("<II", 5 | 4 << 16, 1) + struct.pack("<II", 1 | 1 << 16, ord("f"))
    size = len(body) + 3 * 64 * malformed.MIB  # zeros are fields of no bytes
    packed = b"\x78\x01" + malformed.deflated(struct.pack("<II", 14, size) + body, 3) + bytes(4)
    head = malformed.mat()[:128]
    (tmp_path / "a.mat").write_bytes(head + struct.pack("<II", 15, len(packed)) + packed)
    bounds.assert_refused_in_little_memory([tmp_path / "a.mat"], mib=300)


def test_a_tile_much_larger_than_its_image_is_refused(tmp_path):
    options = {"tiled": True, "blockxsize": 65536, "blockysize": 65536, "sparse_ok": True}
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        image = rasterio.open(tmp_path / "a.tif", "w", "GTiff", 8, 8, 3, dtype="uint8", **options)
    image.close()
    bounds.assert_refused_in_little_memory([tmp_path / "a.tif"])
