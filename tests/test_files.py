"""Files: what each library writes is read back; what is damaged is refused in one line, never unpickled."""

import gzip
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import dask
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from dask import array as da
from scipy import io, sparse
from spectral.io import envi as spectral_envi

import malformed
import malformed_images
from sepnmf.io import READERS, Data, read, read_maps, read_names, write_cube
from sepnmf.io import _cubes as cubes
from sepnmf.io import _filling as filling
from sepnmf.io import _guards as guards
from sepnmf.io import _heaps as heaps
from sepnmf.io import _memory as memory
from sepnmf.io import _tables as tables
from sepnmf.io._arrays import read_npy
from sepnmf.io._cubes import write_region
from sepnmf.io._envi import read_envi
from sepnmf.io._scenes import read_scene
from sepnmf.matrix import CHUNK, LARGE, Stored, as_matrix

RNG = np.random.default_rng(0)
M = RNG.random((5, 7))
CUBE = RNG.random((3, 4, 6))  # lines × samples × bands
BY_PIXEL = CUBE.reshape(12, 6).T
REAL = ["u1", "i2", "i4", "f4", "f8", "u2", "u4", "i8", "u8"]
SPARSE = sparse.random_array((6, 9), density=0.3, random_state=RNG, format="csc")


def save_mat(path, compress, **variables):
    io.savemat(path, variables, do_compression=compress)


def save_hdf5(path, compress, **variables):
    """As MATLAB 7.3 does it, and as `h5disp` shows: reversed axes, its classes, a block of its own."""
    with h5py.File(path, "w", userblock_size=512) as content:
        for name, values in variables.items():
            array = np.atleast_2d(values)
            options = {"chunks": True, "compression": "gzip"} if compress and array.size > 1 else {}
            dataset = content.create_dataset(name, data=array.T, **options)
            dataset.attrs["MATLAB_class"] = np.bytes_("double")
    malformed.sign_hdf5(path)


def assert_same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


# NumPy.


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", ">f4", "i8", ">i2", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_holds_a_matrix_of_its_own_type(tmp_path, dtype, order):
    array = np.asarray(10 * M, dtype=dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    data = read(tmp_path / "a.npy")
    assert_same(data.M, array.astype(array.dtype.newbyteorder("=")))
    assert (data.image_shape, data.variable, data.row_names) == (None, "", ())


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_three_dimensions_is_an_image(tmp_path, order):
    np.save(tmp_path / "a.NPY.npy", np.asarray(CUBE, order=order))
    data = read(tmp_path / "a.NPY.npy")
    assert_same(data.M, BY_PIXEL)
    assert (data.image_shape, data.image_order) == ((3, 4), "C")
    assert_same(data.picture(data.M[2]), CUBE[:, :, 2])
    np.testing.assert_array_equal(data.M[:, 9], CUBE[data.pixel(9)])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_gives_its_only_matrix(tmp_path, save):
    save(tmp_path / "a.npz", A=M, bands=np.arange(5), title=np.array("text"), row=np.ones((1, 7)))
    data = read(tmp_path / "a.npz")
    assert_same(data.M, M)
    assert data.variable == "A"
    assert_same(read(tmp_path / "a.npz", variable="row").M, np.ones((1, 7)))
    save(tmp_path / "b.npz", CUBE)
    assert_same(read(tmp_path / "b.npz").M, BY_PIXEL)


@pytest.mark.parametrize("layout", ["csc", "csr", "coo", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_npz_of_scipy_holds_a_sparse_matrix(tmp_path, layout, kind):
    matrix = SPARSE.asformat(layout) if kind == "array" else sparse.csc_matrix(SPARSE).asformat(layout)
    sparse.save_npz(tmp_path / "a.npz", matrix)
    found = read(tmp_path / "a.npz").M
    assert isinstance(found, sparse.csc_array)
    np.testing.assert_array_equal(found.toarray(), SPARSE.toarray())


# Tables.


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("index", [True, False])
def test_tables_of_pandas_are_read_with_the_names_they_have(tmp_path, suffix, header, index):
    columns, rows = [f"é {j}" for j in range(7)], [f"r,{i}" for i in range(5)]
    frame = pd.DataFrame(M, columns=columns, index=rows)
    path = tmp_path / f"a{suffix}"
    frame.to_csv(path, sep={".csv": ",", ".tsv": "\t"}[suffix], header=header, index=index)
    for options in ({}, {"header": header, "index": index}):
        data = read(path, **options)
        assert_same(data.M, M)
        assert data.column_names == (tuple(columns) if header else ())
        assert data.row_names == (tuple(rows) if index else ())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_tables_of_numpy_are_read(tmp_path, encoding):
    np.savetxt(tmp_path / "a.csv", M, delimiter=",", encoding=encoding)
    assert_same(read(tmp_path / "a.csv").M, M)


@pytest.mark.parametrize(
    ("text", "expected", "rows", "columns"),
    [
        (",0,1\n0,1,2\n1,3,4\n", [[1, 2], [3, 4]], ("0", "1"), ("0", "1")),  # pandas, without names
        ('"","x"\n"1",3\n"2",4\n', [[3], [4]], ("1", "2"), ("x",)),  # R
        ("1,2\r\n3,4\r\n", [[1, 2], [3, 4]], (), ()),
        ("1,2\n\n3,4\n\n", [[1, 2], [3, 4]], (), ()),
        (" 1, 2\n3 ,4", [[1, 2], [3, 4]], (), ()),
        ("1,2", [[1, 2]], (), ()),
        ("x\n1\n2", [[1], [2]], (), ("x",)),
        ("NA,1\nNA,2\nNb,3", [[1], [2], [3]], ("NA", "NA", "Nb"), ()),
        ("id,0,1\nx,1,2\ny,3,4", [[1, 2], [3, 4]], ("x", "y"), ("0", "1")),
        ("k,1,5\n400,1,2", [[400, 1, 2]], (), ("k", "1", "5")),
        ("nm,1,5\n400,1,2", [[1, 2]], ("400",), ("1", "5")),
        ("x,1,5\ny,1,2", [[1, 5], [1, 2]], ("x", "y"), ()),
        ("\n\nid,a\n7,1\nB7,2", [[1], [2]], ("7", "B7"), ("a",)),
        ('"two\nlines",a\n1,2', [[1, 2]], (), ("two\nlines", "a")),
        ("a,a\n1e-3,-2E4", [[1e-3, -2e4]], (), ("a", "a")),
    ],
)
def test_tables_as_people_write_them(tmp_path, text, expected, rows, columns):
    (tmp_path / "a.csv").write_bytes(text.encode())
    data = read(tmp_path / "a.csv")
    assert_same(data.M, np.array(expected, dtype=float))
    assert (data.row_names, data.column_names) == (rows, columns)


def test_header_and_index_may_be_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3\n4,5,6\n")
    data = read(tmp_path / "a.csv", header=True, index=True)
    assert_same(data.M, np.array([[5.0, 6.0]]))
    assert (data.row_names, data.column_names) == (("4",), ("2", "3"))


@pytest.mark.parametrize("text", ["1,NA\n3,4\n", "1,\n3,4\n", "NA,2\n3,4\n", "1,null\n3,4"])
def test_missing_numbers_are_not_taken_for_names(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=r"^a\.csv has '\w*' in line 1, cell [12]: expected a number"):
        read(tmp_path / "a.csv")


def test_a_bad_line_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n" + 99 * "1,2,3\n" + "1,2\n")
    with pytest.raises(ValueError, match=r"^a\.csv has 2 cell\(s\) in line 101, expected 3"):
        read(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("a,b,c\n" + 99 * "1,2,3\n" + "1,2,x\n")
    with pytest.raises(ValueError, match=r"^a\.csv has 'x' in line 101, cell 3"):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize("index", [None, list("vwxyz"), [10, 20, 30, 40, 50], pd.Categorical(list("vwvwv"))])
def test_parquet_of_pandas_is_read_with_its_names(tmp_path, index):
    frame = pd.DataFrame(M.astype("f4"), columns=list("abcdefg"), index=index)
    frame.to_parquet(tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet")
    assert_same(data.M, M.astype("f4"))
    assert data.column_names == tuple("abcdefg")
    assert data.row_names == (() if index is None else tuple(str(name) for name in index))


def test_parquet_of_pandas_may_have_two_indices(tmp_path):
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["x", "y"])
    pd.DataFrame({"c": np.arange(4)}, index=index).to_parquet(tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet")
    assert_same(data.M, np.arange(4)[:, None])
    assert data.row_names == ("a, 1", "a, 2", "b, 1", "b, 2")


def test_parquet_of_pyarrow_may_begin_with_names(tmp_path):
    columns = {"name": ["x", None], "a": [1, 2], "b": [0.5, 1.5], "c": [True, False]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet")
    assert_same(data.M, np.array([[1, 0.5, 1], [2, 1.5, 0]]))
    assert (data.row_names, data.column_names) == (("x", ""), ("a", "b", "c"))


def test_parquet_with_text_and_dates_behind_the_numbers_is_read_without_them(tmp_path):
    columns = {
        "name": ["x", "y"],
        "a": [1, 2],
        "class": pa.array(["u", "v"]).dictionary_encode(),
        "b": [0.5, 1.5],
        "day": pa.array([1, 2], pa.date32()),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet")
    assert_same(data.M, np.array([[1, 0.5], [2, 1.5]]))
    assert (data.row_names, data.column_names) == (("x", "y"), ("a", "b"))
    assert data.left_out == ("2 of 4 columns are left out: they contain text or dates ('class', 'day').",)


def test_parquet_is_read_without_columns_that_are_omitted(tmp_path):
    columns = {"id": [7, 8], "name": ["x", "y"], "a": [1, 2], "raw": [b"u", b"v"], "b": [3, 4]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a column 'raw' of type binary, .* leave it out with --omit"):
        read(tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet", omit=["id", "raw"])
    assert_same(data.M, np.array([[1, 3], [2, 4]]))
    assert (data.row_names, data.column_names) == (("x", "y"), ("a", "b"))
    assert data.left_out == ("2 of 4 columns are left out: --omit ('id', 'raw').",)
    with pytest.raises(ValueError, match=r"^omit names the column 'c', and a\.parquet has none"):
        read(tmp_path / "a.parquet", omit="c")


def test_parquet_of_pandas_is_read_without_an_index_that_is_omitted(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index(["x", "y"], name="id"))
    frame.to_parquet(tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet", omit="id")
    assert (data.row_names, data.column_names) == ((), ("a",))


def test_a_long_name_repeated_often_takes_little_memory(tmp_path):
    long = pa.array(["x" * 10**6]).dictionary_encode()
    names = pa.DictionaryArray.from_arrays(np.zeros(3000, "i4"), long.dictionary)
    pq.write_table(pa.table({"name": names, "a": np.zeros(3000)}), tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet").row_names
    assert len(found) == 3000
    assert all(name is found[0] for name in found)


def test_names_are_read_one_per_line(tmp_path):
    (tmp_path / "words.txt").write_bytes("\ufeffapple\r\nbée\r\nzwei wörter\r\n".encode())
    assert read_names(tmp_path / "words.txt") == ("apple", "bée", "zwei wörter")
    for content in (b"", b"\n\n", b"a\n\nb\n", b"\xff\xfe\x00"):
        (tmp_path / "words.txt").write_bytes(content)
        with pytest.raises(ValueError, match=r"^words\.txt [^\n]*$"):
            read_names(tmp_path / "words.txt")


# MATLAB.


@pytest.mark.parametrize("save", [save_mat, save_hdf5])
@pytest.mark.parametrize("compress", [False, True])
def test_mat_gives_its_only_matrix(tmp_path, save, compress):
    path = tmp_path / "a.mat"
    save(path, compress, A=M, wave=np.ones((1, 5)), n=3.0)
    data = read(path)
    assert_same(data.M, M)
    assert (data.variable, data.image_shape) == ("A", None)
    assert_same(read(path, variable="wave").M, np.ones((1, 5)))
    save(path, compress, Y=CUBE)
    data = read(path)
    assert_same(data.M, BY_PIXEL)
    assert (data.image_shape, data.image_order) == ((3, 4), "C")


@pytest.mark.parametrize("save", [save_mat, save_hdf5])
def test_mat_says_how_many_lines_and_samples_its_columns_make(tmp_path, save):
    by_column = CUBE.reshape(12, 6, order="F").T
    save(tmp_path / "a.mat", False, V=by_column, nRow=3.0, nCol=4.0)
    data = read(tmp_path / "a.mat")
    assert (data.image_shape, data.image_order) == ((3, 4), "F")
    assert_same(data.picture(data.M[1]), CUBE[:, :, 1])
    assert read(tmp_path / "a.mat", shape=(6, 2)).image_shape == (6, 2)
    save(tmp_path / "a.mat", False, V=by_column, nRow=3.0, nCol=5.0)
    assert read(tmp_path / "a.mat").image_shape is None


@pytest.mark.parametrize("dtype", [*REAL, "i1"])
def test_mat_holds_every_type_of_number(tmp_path, dtype):
    array = (100 * M).astype(dtype)
    save_mat(tmp_path / "a.mat", True, A=array)
    assert_same(read(tmp_path / "a.mat").M, array)


def test_mat_may_come_from_a_machine_of_the_other_byte_order(tmp_path):
    swapped = malformed.mat_element(2, 3) + np.arange(6.0).tobytes()
    words = np.frombuffer(swapped, "<u4").astype(">u4").tobytes()
    element = words[: 48 - 8] + b"\0\1\0\1" + b"A\0\0\0" + words[48:56]
    content = b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + element + np.arange(6.0).astype(">f8").tobytes()
    (tmp_path / "a.mat").write_bytes(content)
    assert_same(read(tmp_path / "a.mat").M, np.arange(6.0).reshape(2, 3, order="F"))


@pytest.mark.parametrize("compress", [False, True])
def test_mat_of_version_5_holds_a_sparse_matrix(tmp_path, compress):
    save_mat(tmp_path / "a.mat", compress, S=SPARSE, n=2.0)
    found = read(tmp_path / "a.mat").M
    assert isinstance(found, sparse.csc_array)
    np.testing.assert_array_equal(found.toarray(), SPARSE.toarray())


@pytest.mark.parametrize("matrix", [SPARSE, sparse.csc_array((4, 3))], ids=["some", "none"])
def test_mat_of_version_7_3_holds_a_sparse_matrix(tmp_path, matrix):
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as content:
        group = content.create_group("S")
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.attrs["MATLAB_sparse"] = np.uint64(matrix.shape[0])
        group["jc"] = matrix.indptr.astype("u8")
        if matrix.nnz:
            group["ir"], group["data"] = matrix.indices.astype("u8"), matrix.data
    malformed.sign_hdf5(path)
    found = read(path).M
    assert isinstance(found, sparse.csc_array)
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def test_mat_of_version_7_3_leaves_out_what_is_no_matrix(tmp_path):
    path = tmp_path / "a.mat"
    save_hdf5(path, True, A=M)
    with h5py.File(path, "a") as content:
        content["#refs#/a"] = M
        content["structure/b"] = M
        content.create_dataset("text", data=np.ones((9, 9), "u2")).attrs["MATLAB_class"] = np.bytes_("char")
        empty = content.create_dataset("empty", data=np.array([0, 3], "u8"))
        empty.attrs["MATLAB_class"], empty.attrs["MATLAB_empty"] = np.bytes_("double"), np.uint8(1)
        content["nothing"] = h5py.Empty("f8")
    assert_same(read(path).M, M)
    with pytest.raises(ValueError, match=r"has no variable 'B' but 'A' \(5 × 7, double\), 'empty' \(0 × 0"):
        read(path, variable="B")


@pytest.mark.parametrize("name", ["a.npz", "a.mat"])
def test_several_matrices_are_listed(tmp_path, name):
    if name == "a.npz":
        np.savez(tmp_path / name, A=M, B=CUBE, C="text")
    else:
        io.savemat(tmp_path / name, {"A": M, "B": CUBE, "C": "text"})
    with pytest.raises(
        ValueError, match=r"'A' \(5 × 7.*'B' \(3 × 4 × 6.*'C'.*choose one with --variable NAME"
    ):
        read(tmp_path / name)
    assert_same(read(tmp_path / name, variable="B").M, BY_PIXEL)
    with pytest.raises(ValueError, match=r"'C'.*neither a matrix nor an image"):
        read(tmp_path / name, variable="C")


# ENVI.


def save_envi(path, interleave="bsq", dtype="f8", byteorder=0, ext=".img", **metadata):
    array = (100 * CUBE).astype(dtype)
    facts = {"wavelength": [str(400.5 + j) for j in range(6)], "band names": [f"b{j}" for j in range(6)]}
    spectral_envi.save_image(
        str(path), array, interleave=interleave, byteorder=byteorder, ext=ext, metadata=facts | metadata
    )
    return array.reshape(12, 6).T


@pytest.mark.parametrize("interleave", ["bsq", "bil", "bip"])
@pytest.mark.parametrize("byteorder", [0, 1])
@pytest.mark.parametrize("dtype", REAL)
def test_envi_of_spectral_is_read_at_once_and_in_parts(tmp_path, interleave, byteorder, dtype):
    path = tmp_path / "a.hdr"
    expected = save_envi(path, interleave, dtype, byteorder)
    data = read(path)
    assert_same(data.M, expected)
    assert (data.image_shape, data.image_order, data.file) == ((3, 4), "C", path)
    assert data.wavelengths == tuple(400.5 + j for j in range(6))
    assert data.row_names == tuple(f"b{j}" for j in range(6))

    for chunk, widths in [
        (2 * 4 * 6 * 8, (8, 4)),  # two lines of four samples, then one
        (3 * 6 * 8, (3, 1, 3, 1, 3, 1)),  # a line is too long
        (0, (1,) * 12),
    ]:
        lazy = read_envi(path, large=0, chunk=chunk).M
        assert isinstance(lazy, da.Array)
        assert lazy.chunks == ((6,), widths)
        assert_same(lazy.compute(scheduler="single-threaded"), expected)


@pytest.mark.parametrize(
    "names", [("a.img", "a.hdr"), ("a.dat", "a.hdr"), ("a.img", "a.img.hdr"), ("a", "a.hdr")]
)
def test_envi_may_be_given_by_its_data_file(tmp_path, names):
    data_name, header_name = names
    expected = save_envi(tmp_path / "a.hdr")
    (tmp_path / "a.img").rename(tmp_path / data_name)
    (tmp_path / "a.hdr").rename(tmp_path / header_name)
    for name in names:
        data = read(tmp_path / name)
        assert_same(data.M, expected)
        assert data.file == tmp_path / header_name


def test_envi_headers_come_as_they_are(tmp_path):
    values = np.arange(24, dtype=">i2")
    text = (
        "ENVI\r\n; a remark\r\nDescription = {\r\n  two, lines}\r\nSamples = 4\r\nLines=3\r\nbands = 2\r\n"
        "header offset = 10\r\ndata type = 2\r\nInterleave = BIP\r\nbyte order = 1\r\n"
        "wavelength units = µm\r\nwavelength = {0.4,\r\n 0.5}\r\nband names = {only one}\r\n"
    )
    (tmp_path / "a.HDR").write_bytes(text.encode("latin-1"))
    (tmp_path / "a.RAW").write_bytes(bytes(10) + values.tobytes() + b"a tail")
    data = read(tmp_path / "a.HDR")
    assert_same(data.M, values.astype("i2").reshape(12, 2).T)
    assert (data.wavelengths, data.row_names) == ((0.4, 0.5), ())
    (tmp_path / "a.HDR").write_bytes(text.encode("latin-1").replace(b"0.4", b"red"))
    assert read(tmp_path / "a.HDR").wavelengths == ()


# Matrix Market.


@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_mtx_of_scipy_holds_a_sparse_matrix(tmp_path, field):
    expected = SPARSE.copy()
    expected.data = np.ceil(9 * SPARSE.data) if field == "integer" else SPARSE.data
    expected.data = np.ones(SPARSE.nnz) if field == "pattern" else expected.data
    io.mmwrite(tmp_path / "a.mtx", expected, field=field, precision=17)
    found = read(tmp_path / "a.mtx").M
    assert isinstance(found, sparse.csc_array)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_mtx_of_scipy_may_be_dense_or_symmetric(tmp_path):
    io.mmwrite(tmp_path / "a.mtx", M, precision=17)
    assert_same(read(tmp_path / "a.mtx").M, M)
    square = M[:, :5] + M[:, :5].T
    for array in (square, sparse.csr_array(square)):
        io.mmwrite(tmp_path / "a.mtx", array, precision=17, symmetry="symmetric")
        found = read(tmp_path / "a.mtx").M
        np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, square)


# Large files.


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("array", [M, CUBE, CUBE.astype(">f4")], ids=["matrix", "image", "swapped"])
def test_npy_is_read_in_parts_when_large(tmp_path, array, order):
    np.save(tmp_path / "a.npy", np.asarray(array, order=order))
    at_once, lazy = read(tmp_path / "a.npy"), read_npy(tmp_path / "a.npy", large=0, chunk=200)
    assert isinstance(lazy.M, da.Array)
    assert len(lazy.M.chunks[0]) == 1
    assert len(lazy.M.chunks[1]) > 1
    assert_same(lazy.M.compute(scheduler="single-threaded"), at_once.M)
    assert lazy.image_shape == at_once.image_shape


def test_data_beyond_the_limit_come_in_parts_without_being_asked(tmp_path):
    columns = LARGE // 8 // 10 + 1
    np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.uint8, (10, columns))[:, -1] = 7
    data = read(tmp_path / "a.npy")
    assert isinstance(data.M, da.Array)
    assert (data.M.dtype, data.M.shape) == (np.uint8, (10, columns))
    np.testing.assert_array_equal(data.M[:, -1].compute(), np.full(10, 7))
    np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.uint8, (10, columns - 1))
    assert isinstance(read(tmp_path / "a.npy").M, np.ndarray)


def test_a_chunk_can_be_read_by_another_process_and_keeps_no_map_open(tmp_path):
    expected = save_envi(tmp_path / "a.hdr", "bil")
    lazy = pickle.loads(pickle.dumps(read_envi(tmp_path / "a.hdr", large=0).M))
    found = lazy.compute(scheduler="single-threaded")
    assert_same(found, expected)
    assert type(found) is np.ndarray
    where = Stored.in_order(str(tmp_path / "a.img"), np.dtype("f8"), (6, 3, 4))
    part = where.read(slice(1, 2), slice(None))
    while part.base is not None:
        part = part.base
    assert type(part) is np.ndarray


def test_a_relative_path_is_absolute_to_workers(tmp_path, monkeypatch):
    expected = save_envi(tmp_path / "a.hdr")
    np.save(tmp_path / "a.npy", CUBE)
    zarr.save_array(str(tmp_path / "a.zarr"), CUBE)
    monkeypatch.chdir(tmp_path)
    lazy = [read(name, in_parts=True).M for name in ("a.npy", "a.zarr", "a.hdr", "a.img")]
    monkeypatch.chdir("/")
    for M, wanted in zip(lazy, [BY_PIXEL, BY_PIXEL, expected, expected], strict=True):
        assert isinstance(M, da.Array)
        assert_same(M.compute(scheduler="single-threaded"), wanted)


@pytest.mark.parametrize("size", ["1GB", 10**9, "0.9 GB", "800 MB"])
def test_memory_bounds_what_is_read_at_once(tmp_path, monkeypatch, size):
    with dask.config.set(num_workers=4):
        bounds = memory.limits(size)
    nbytes = {"1GB": 10**9, "0.9 GB": 9 * 10**8, "800 MB": 8 * 10**8}.get(size, size)
    assert bounds == {"large": nbytes // 4, "chunk": nbytes // 64}
    with dask.config.set(num_workers=1):
        assert memory.limits("64GB")["chunk"] == CHUNK
    columns = 10**6
    np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.uint8, (40, columns))
    with dask.config.set(num_workers=4):
        M = read(tmp_path / "a.npy", memory=size).M
    assert isinstance(M, da.Array)
    assert 0.9 * bounds["chunk"] < 8 * 40 * max(M.chunks[1]) <= bounds["chunk"]
    np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.uint8, (10, nbytes // 4 // 80))
    assert isinstance(read(tmp_path / "a.npy", memory=size).M, np.ndarray)


@pytest.mark.parametrize("size", ["much", "", "-1GB", 0, "1kB", "699MB", float("inf"), float("nan")])
def test_too_little_memory_is_refused(tmp_path, size):
    np.save(tmp_path / "a.npy", M)
    with pytest.raises(ValueError, match=r"^memory must be (at least 700 MB|a number of bytes such as 2GB)"):
        read(tmp_path / "a.npy", memory=size)


@pytest.mark.parametrize("options", [{"memory": "2GB"}, {"in_parts": True}])
def test_what_is_read_at_once_takes_no_bounds(tmp_path, options):
    np.savez(tmp_path / "a.npz", M)
    with pytest.raises(
        ValueError, match=rf"^{next(iter(options))} is for \.npy, \.hdr, \.zarr.* and [.\w]+, and the file"
    ):
        read(tmp_path / "a.npz", **options)


# Zarr.


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", ["f8", "f4", ">f4", "i2", "u1"])
@pytest.mark.parametrize("shape", ["matrix", "image"])
def test_zarr_is_read_at_once_and_in_parts(tmp_path, version, dtype, shape):
    array = (100 * (M if shape == "matrix" else CUBE)).astype(dtype)
    path = tmp_path / "a.zarr"
    chunks = (2, 3) if shape == "matrix" else (2, 3, 4)
    stored_array = zarr.create_array(
        str(path), shape=array.shape, chunks=chunks, dtype=array.dtype, zarr_format=version
    )
    stored_array[...] = array
    expected = array if shape == "matrix" else array.reshape(12, 6).T
    expected = expected.astype(array.dtype.newbyteorder("="))
    data = read(path)
    assert_same(data.M, expected)
    assert data.image_shape == (None if shape == "matrix" else (3, 4))
    for chunk in (1, 150, 300, 10**6):
        lazy = read_scene(path, large=0, chunk=chunk).M
        assert isinstance(lazy, da.Array)
        assert len(lazy.chunks[0]) == 1
        assert_same(pickle.loads(pickle.dumps(lazy)).compute(scheduler="single-threaded"), expected)


@pytest.mark.parametrize(
    ("dtype", "chunk", "widths"),
    [
        ("f8", 8 * 6 * 11, (24, 24, 12)),  # eleven lines have room, so eight, then what is left
        ("f8", 8 * 6 * 3, (9, 9, 9, 9, 9, 9, 6)),  # only three have
        ("u1", 8 * 6 * 3, (12,) * 5),  # of a small type, four are few bytes
        ("u1", 8 * 6 - 1, (12,) * 5),
        ("u1", 23, (1,) * 60),
    ],
)
def test_chunks_are_of_whole_chunks_of_zarr_where_these_are_small(tmp_path, dtype, chunk, widths):
    path = tmp_path / "a.zarr"
    numbers = np.arange(120).reshape(20, 3, 2).astype(dtype)
    zarr.create_array(str(path), data=numbers, chunks=(4, 2, 2))
    lazy = read_scene(path, large=0, chunk=chunk).M
    assert lazy.chunks[1] == widths
    assert_same(lazy.compute(scheduler="single-threaded"), numbers.reshape(60, 2).T)


def test_a_group_of_zarr_says_which_arrays_it_has(tmp_path):
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    group.create_group("other")
    with pytest.raises(ValueError, match=r"^a\.zarr contains no variables\.$"):
        read(tmp_path / "a.zarr")
    for name in ("scene", "mask"):
        group.create_array(name, data=CUBE)
    message = (
        r"several matrices, 'mask' \(3 × 4 × 6, float64\), 'scene' .*: choose one with --variable NAME\.$"
    )
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "a.zarr")
    for data in (read(tmp_path / "a.zarr/scene"), read(tmp_path / "a.zarr", variable="scene")):
        assert_same(data.M, BY_PIXEL)
        assert write_cube(tmp_path / "maps", H, data, NAMES).suffix == ".zarr"


def test_a_zarr_that_holds_less_than_it_claims_is_refused_before_its_chunks_are_counted(tmp_path):
    path = tmp_path / "a.zarr"
    zarr.create_array(str(path), shape=(10**6, 10**6, 10**3), chunks=(100, 100, 100), dtype="f8")
    with pytest.raises(ValueError, match="more than 100 times its size on disk"):
        read(path)


def test_a_damaged_chunk_is_found_when_it_is_read_and_told_in_one_line(tmp_path):
    path = tmp_path / "a.zarr"
    zarr.save_array(str(path), CUBE)
    lazy = read(path, in_parts=True).M
    for chunk in (path / "c").rglob("*"):
        if chunk.is_file():
            chunk.write_bytes(chunk.read_bytes()[:20])
    with pytest.raises(ValueError, match=r"^a\.zarr cannot be read as a Zarr array: [^\n]*$"):
        lazy.compute(scheduler="single-threaded")


# Options.


def test_shape_makes_the_columns_pixels(tmp_path):
    np.save(tmp_path / "a.npy", BY_PIXEL)
    data = read(tmp_path / "a.npy", shape=(3, 4))
    assert (data.image_shape, data.image_order) == ((3, 4), "C")
    assert_same(data.picture(data.M[5]), CUBE[:, :, 5])
    with pytest.raises(ValueError, match="shape must be an integer"):
        read(tmp_path / "a.npy", shape=(0, 4))


def test_an_unknown_ending_lists_the_known(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"^a\.docx has an unknown format: expected \.npy, ") as caught:
        read(tmp_path / "a.docx")
    assert all(suffix in str(caught.value) for suffix in READERS)


@pytest.mark.parametrize(
    ("library", "name"),
    [
        ("pyarrow", "a.parquet"),
        ("h5py", "a.mat"),
        ("dask", "a.npy"),
        ("rasterio", "a.tif"),
        ("h5py", "a.nc"),
    ],
)
def test_a_missing_library_is_named(tmp_path, monkeypatch, library, name):
    save_hdf5(tmp_path / "a.mat", False, A=M)
    np.save(tmp_path / "a.npy", M)
    for path in ("a.parquet", "a.tif", "a.nc"):
        (tmp_path / path).write_text("anything")
    for module in [m for m in sys.modules if m.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    message = rf"^{library} is not installed: pip install 'sepnmf\[files\]'\.$"
    if library == "dask":
        message = r"^These data are read in chunks, which needs Dask: pip install 'sepnmf\[dask\]'\.$"
    with pytest.raises(ValueError, match=message):
        read_npy(tmp_path / name, large=0) if name == "a.npy" else read(tmp_path / name)


def test_importing_the_room_loads_nothing_heavy():
    code = (
        "import sys, sepnmf.io\n"
        "heavy = {'pandas', 'pyarrow', 'h5py', 'spectral', 'dask', 'zarr', 'numba', 'sklearn'}\n"
        "heavy |= {'rasterio', 'xarray', 'h5netcdf'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Files that must be refused.


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("malformed")
    return folder, malformed.make_malformed(folder)


def test_there_are_a_hundred_malformed_files_of_every_kind(bad_files):
    _, files = bad_files
    assert len({path for _, path, _ in files}) == len({name for name, _, _ in files}) == len(files) >= 100
    assert {path.suffix for _, path, _ in files} >= set(READERS) - set(malformed_images.SUFFIXES)
    assert sum(path.stat().st_size for _, path, _ in files if path.is_file()) < 50e6


def test_malformed_files_are_refused_in_one_line_and_never_unpickled(bad_files, monkeypatch):
    monkeypatch.setattr(heaps, "try_hdf5", lambda file: None)  # a reader refuses what it meets by itself
    folder, files = bad_files
    wrong = {}
    for name, path, options in files:
        try:
            as_matrix(read(path, **options).M, "allow")
        except (ValueError, OSError) as error:
            if "\n" in str(error) or not str(error):
                wrong[name] = str(error)
        except Exception as error:
            wrong[name] = repr(error)
        else:
            wrong[name] = "accepted"
    assert not wrong
    assert not (folder / "unpickled").exists()


def test_the_pickles_among_them_would_go_off(tmp_path):
    bomb = malformed.Bomb(tmp_path / "unpickled")
    pickle.loads(pickle.dumps(bomb)).close()
    assert (tmp_path / "unpickled").exists()


def test_bombs_are_refused_before_they_grow(bad_files):
    _, files = bad_files
    bombs = [(path, options) for name, path, options in files if "bomb" in name]
    assert {path.suffix for path, _ in bombs} == {".npz", ".mat", ".parquet"}
    code = (
        "import resource, sys\n"
        "from sepnmf.io import read\n"
        "import h5py, pyarrow.parquet\n"
        "start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        read(path)\n"
        "    except ValueError:\n"
        "        continue\n"
        "    raise AssertionError(path)\n"
        "grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start\n"
        "assert grown < 200_000, grown  # KiB\n"
    )
    subprocess.run([sys.executable, "-c", code, *(str(path) for path, _ in bombs)], check=True)


def test_what_does_not_fit_into_memory_is_refused(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", A=M)
    io.savemat(tmp_path / "a.mat", {"A": M})
    monkeypatch.setattr(guards, "available_memory", lambda: 100)
    for name in ("a.npz", "a.mat"):
        with pytest.raises(ValueError, match=rf"^{name} would take .* more than is available"):
            read(tmp_path / name)


def test_available_memory_is_known_on_any_system(monkeypatch):
    assert 2**20 < guards.available_memory() < 2**50

    def fail(*_):
        raise OSError

    monkeypatch.setattr(guards.Path, "read_text", fail)
    assert 2**20 < guards.available_memory() < 2**50
    monkeypatch.setattr(guards.os, "sysconf", fail)
    assert guards.available_memory() == sys.maxsize


def test_a_table_that_pandas_alone_refuses_still_gives_one_line(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("1,2\n3,x\n")
    monkeypatch.setattr(tables.Table, "diagnosis", lambda *_, **__: None)
    with pytest.raises(ValueError, match=r"^a\.csv cannot be read as a table: [^\n]*$"):
        read(tmp_path / "a.csv")


# Abundance maps.

H = RNG.random((2, 12))
NAMES = ["soil", "water, deep"]
MAPS = np.stack([row.reshape(3, 4) for row in H], axis=-1)


def lazy_or_not(H, lazy):
    return da.from_array(H, chunks=(1, 5)) if lazy else H


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("interleave", ["bsq", "bil", "bip"])
def test_maps_of_envi_are_envi_on_the_same_ground(tmp_path, interleave, lazy):
    map_info = ["UTM", "1", "1", "500000", "4000000", "30", "30", "11", "North"]
    save_envi(tmp_path / "a.hdr", interleave, **{"map info": map_info, "x start": 7})
    like = read(tmp_path / "a.hdr")
    path = write_cube(tmp_path / "maps.out", lazy_or_not(H, lazy), like, NAMES)
    assert path == tmp_path / "maps.out.hdr"
    image = spectral_envi.open(str(path))
    np.testing.assert_array_equal(np.asarray(image.open_memmap(interleave="bip")), MAPS.astype("f4"))
    assert image.metadata["interleave"] == interleave
    assert image.metadata["map info"] == map_info
    assert image.metadata["x start"] == "7"
    assert image.metadata["band names"] == ["soil", "water deep"]
    assert "wavelength" not in image.metadata
    again = read(path)
    assert_same(again.M, H.astype("f4"))
    assert again.image_shape == (3, 4)
    assert_same(read_maps(path, 2), MAPS[::2, ::2].transpose(2, 0, 1).astype("f4"))


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".zarr"])
@pytest.mark.parametrize("order", ["C", "F", None])
def test_maps_of_arrays_are_arrays(tmp_path, suffix, lazy, order):
    like = Data(
        M=np.ones((6, 12)), file=tmp_path / f"a{suffix}", image_shape=(3, 4), image_order=order or "C"
    )
    expected = MAPS if order == "C" else np.stack([row.reshape(3, 4, order="F") for row in H], axis=-1)
    if order is None:
        like, expected = replace(like, image_shape=None), H
    path = write_cube(tmp_path / f"maps{suffix}", lazy_or_not(H, lazy), like, NAMES)
    assert path == tmp_path / f"maps{suffix}"
    load = {".npy": np.load, ".npz": np.load, ".mat": io.loadmat, ".zarr": zarr.open_array}[suffix]
    found = load(path)
    array = found if suffix in (".npy", ".zarr") else found["abundances"]
    assert_same(array[...], expected)
    if suffix == ".zarr":
        assert found.attrs["names"] == NAMES
    if suffix in (".npy", ".zarr") and order:
        for step in (1, 2, 3):
            np.testing.assert_array_equal(read_maps(path, step), expected[::step, ::step].transpose(2, 0, 1))
    if suffix == ".npz":
        assert list(found["names"]) == NAMES
        found.close()
    if order == "C":
        assert_same(read(path).M, H)


@pytest.mark.parametrize("name", ["a.csv", "a.mtx", "a.hdr"])
def test_maps_without_an_image_are_a_table(tmp_path, name):
    like = Data(M=np.ones((6, 12)), file=tmp_path / name, column_names=tuple("abcdefghijkl"))
    path = write_cube(tmp_path / "maps", H, like, NAMES)
    frame = pd.read_csv(path, index_col=0, dtype=str).astype(float)  # as Python reads numbers
    np.testing.assert_allclose(frame.to_numpy(), H, rtol=1e-15)
    assert list(frame.index) == NAMES
    assert list(frame.columns) == list("abcdefghijkl")
    unnamed = write_cube(tmp_path / "maps", H, replace(like, column_names=()), NAMES)
    data = read(unnamed)
    assert_same(data.M, H)
    assert data.row_names == tuple(NAMES)


def test_maps_must_suit_the_data(tmp_path):
    like = Data(M=np.ones((6, 12)), file=tmp_path / "a.npy")
    for bad in (H[:, :5], H[:1]):
        with pytest.raises(ValueError, match="H must have one row per name"):
            write_cube(tmp_path / "maps", bad, like, NAMES)


@pytest.mark.parametrize("order", ["C", "F", None])
@pytest.mark.parametrize("widths", [(5, 5, 2), (4, 8), (1,) * 12, (12,), (3, 6, 3)])
def test_no_two_tasks_write_to_one_chunk_of_zarr(tmp_path, monkeypatch, order, widths):
    written = []

    def note(file, *rest):
        written.append((rest[-2], rest[-1].shape[1]))
        write_region(file, *rest)

    monkeypatch.setattr(cubes, "write_region", note)
    like = Data(M=np.ones((6, 12)), file=tmp_path / "a.zarr", image_shape=(3, 4), image_order=order or "C")
    if order is None:
        like = replace(like, image_shape=None)
    lazy = da.from_array(H.astype("f4"), chunks=(2, widths))
    array = zarr.open_array(write_cube(tmp_path / "maps", lazy, like, NAMES))
    assert array.dtype == np.float32
    across = {"C": 4, "F": 3, None: 1}[order]
    own = {"C": array.chunks[0], "F": array.chunks[1], None: array.chunks[1]}[order] * across
    assert all(start % own == 0 and (width == own or start + width == 12) for start, width in written)
    assert sum(width for _, width in written) == 12


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_a_task_that_is_repeated_does_no_harm(tmp_path, monkeypatch, suffix):
    def twice(write, *rest):
        write(*rest)
        write(*rest)

    monkeypatch.setattr(filling, "write_chunk", twice)
    like = Data(M=np.ones((6, 12)), file=tmp_path / f"a{suffix}", image_shape=(3, 4))
    path = write_cube(tmp_path / "maps", lazy_or_not(H, True), like, NAMES)
    assert_same(read(path).M, H)


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_maps_that_fail_leave_the_old_ones_and_nothing_else(tmp_path, suffix):
    def fail(block):
        raise RuntimeError("no")

    like = Data(M=np.ones((6, 12)), file=tmp_path / f"a{suffix}", image_shape=(3, 4))
    write_cube(tmp_path / "maps", 2 * H, like, NAMES)
    (tmp_path / f"maps{suffix}.part").mkdir()  # of a command that was killed
    write_cube(tmp_path / "maps", H, like, NAMES)
    failing = da.from_array(H, chunks=(2, 4)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(RuntimeError):
        write_cube(tmp_path / "maps", failing, like, NAMES)
    assert [path.name for path in tmp_path.iterdir()] == [f"maps{suffix}"]
    assert_same(read(tmp_path / f"maps{suffix}").M, H)


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_a_folder_that_is_no_zarr_is_not_replaced(tmp_path, suffix):
    (tmp_path / f"maps{suffix}").mkdir()
    (tmp_path / f"maps{suffix}" / "thesis.txt").write_text("years of work")
    like = Data(M=np.ones((6, 12)), file=tmp_path / f"a{suffix}", image_shape=(3, 4))
    with pytest.raises(OSError, match="maps"):
        write_cube(tmp_path / "maps", H, like, NAMES)
    assert (tmp_path / f"maps{suffix}" / "thesis.txt").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == [f"maps{suffix}"]


def test_writing_maps_touches_no_other_file(tmp_path):
    np.save(tmp_path / "scene.npy", np.ones((4, 5, 6)))
    (tmp_path / "maps.npy.old").write_text("mine")
    scene = read(tmp_path / "scene.npy")
    write_cube(tmp_path / "maps", np.ones((2, 20)), scene, ["a", "b"])
    assert (tmp_path / "maps.npy.old").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["maps.npy", "maps.npy.old", "scene.npy"]


def test_fields_of_a_structure_are_variables(tmp_path):
    matrix = np.random.default_rng(0).random((4, 7))
    content = {"scene": {"M": matrix, "wavelength": np.arange(5.0), "info": {"who": "me", "N": matrix.T}}}
    io.savemat(tmp_path / "five.mat", content)
    io.savemat(tmp_path / "packed.mat", content, do_compression=True)
    with h5py.File(tmp_path / "seven.mat", "w", userblock_size=512) as file:
        for name in ("scene", "scene/info"):
            file.create_group(name).attrs["MATLAB_class"] = np.bytes_("struct")
        for name, numbers in (("M", matrix), ("info/N", matrix.T)):
            file[f"scene/{name}"] = numbers.T
            file[f"scene/{name}"].attrs["MATLAB_class"] = np.bytes_("double")
    for name in ("five.mat", "packed.mat", "seven.mat"):
        np.testing.assert_array_equal(read(tmp_path / name, variable="scene.M").M, matrix)
        np.testing.assert_array_equal(read(tmp_path / name, variable="scene.info.N").M, matrix.T)
        message = (
            r"contains several matrices, 'scene\.M' .*'scene\.info\.N' .*: choose one with --variable NAME"
        )
        with pytest.raises(ValueError, match=message):
            read(tmp_path / name)
    io.savemat(tmp_path / "beside.mat", content | {"V": matrix + 1})
    np.testing.assert_array_equal(read(tmp_path / "beside.mat").M, matrix + 1)
    io.savemat(tmp_path / "one.mat", {"scene": {"M": matrix, "who": "me"}})
    assert read(tmp_path / "one.mat").variable == "scene.M"


TENX = [("features.tsv", ".gz"), ("genes.tsv", "")]


@pytest.mark.parametrize(("rows", "packed"), TENX)
def test_counts_of_10x_are_read_with_the_names_beside_them(tmp_path, rows, packed):
    counts = np.random.default_rng(0).integers(0, 4, (3, 5))
    symbols = ["A", "B", "B"] if packed else ["A", "B", "C"]
    io.mmwrite(tmp_path / "matrix.mtx", sparse.coo_array(counts))
    (tmp_path / rows).write_text(
        "".join(f"ENSG{k}\t{name}\tGene Expression\n" for k, name in enumerate(symbols))
    )
    (tmp_path / "barcodes.tsv").write_text("".join(f"AC{k}-1\n" for k in range(5)))
    names = ["matrix.mtx", rows, "barcodes.tsv"]
    if packed:
        for name in names:
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
            (tmp_path / name).unlink()
    for path in (tmp_path, tmp_path / f"matrix.mtx{packed}"):
        data = read(path)
        np.testing.assert_array_equal(data.M.toarray(), counts)
        assert data.column_names == tuple(f"AC{k}-1" for k in range(5))
        assert data.row_names == (("ENSG0", "ENSG1", "ENSG2") if packed else ("A", "B", "C"))
        assert data.assumptions == (
            f"Rows and columns have the names in {rows}{packed} and barcodes.tsv{packed}, beside the file.",
        )
    (tmp_path / f"barcodes.tsv{packed}").unlink()
    assert read(tmp_path).row_names == ()


def test_a_packed_matrix_that_is_damaged_is_refused_in_one_line(tmp_path):
    text = b"%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 5\n2 2 3\n"
    path = tmp_path / "a.mtx.gz"
    path.write_bytes(gzip.compress(text))
    np.testing.assert_array_equal(read(path).M.toarray(), [[5, 0], [0, 3]])
    whole = gzip.compress(text)
    for content in (whole[:-9], b"nothing", gzip.compress(text + b"1 2 3\n"), gzip.compress(text[:-6])):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"^a\.mtx\.gz .*\.$"):
            read(path)


def test_other_packed_files_and_folders_are_named(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with pytest.raises(ValueError, match=r"^a\.csv\.gz is compressed: unpack it first\.$"):
        read(tmp_path / "a.csv.gz")
    with pytest.raises(
        ValueError, match=r"is a folder, and none with counts of 10x \(matrix\.mtx\): name a file\."
    ):
        read(tmp_path)


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_an_envi_header_is_never_taken_for_that_of_another_image(tmp_path, monkeypatch, steps, marked):
    """If the process ends between the steps that replace the files, reading is refused or gives the old."""
    spectral_envi.save_image(str(tmp_path / "scene.hdr"), np.ones((4, 5, 6), "f4"))
    scene, replace = read(tmp_path / "scene.hdr"), Path.replace
    header = write_cube(tmp_path / "maps", np.ones((2, 20)), scene, ["a", "b"])
    if not marked:
        header.write_text(re.sub("sepnmf digest.*", "", header.read_text()))
    done = []

    def some(path, target):
        if len(done) == steps:
            raise OSError("the process ends here")
        done.append(target)
        return replace(path, target)

    if marked and steps == 2:
        return  # there is no third step
    monkeypatch.setattr(Path, "replace", some)
    with pytest.raises(OSError, match="ends here"):
        write_cube(tmp_path / "maps", np.zeros((2, 20)), scene, ["c", "d"])
    monkeypatch.setattr(Path, "replace", replace)
    if steps == (1 if marked else 2):
        assert [path.name for path in done] == ["maps.hdr"] * (not marked) + ["maps.img"]
        with pytest.raises(ValueError, match=r"^maps\.hdr was written for another image than maps\.img: "):
            read(header)
    else:
        assert (read(header).M == 1).all()
        assert read(header).row_names == ("a", "b")
    write_cube(tmp_path / "maps", np.zeros((2, 20)), scene, ["c", "d"])
    assert (read(header).M == 0).all()
    assert not list(tmp_path.glob("*.part"))


def test_an_envi_header_without_its_image_is_replaced(tmp_path):
    spectral_envi.save_image(str(tmp_path / "scene.hdr"), np.ones((4, 5, 6), "f4"))
    (tmp_path / "maps.hdr").write_bytes(b"\xff damaged")
    scene = read(tmp_path / "scene.hdr")
    for _ in range(2):
        write_cube(tmp_path / "maps", np.zeros((2, 20)), scene, ["c", "d"])
        assert (read(tmp_path / "maps.hdr").M == 0).all()
        (tmp_path / "maps.hdr").write_bytes(b"\xff damaged")
