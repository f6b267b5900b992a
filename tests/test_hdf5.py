"""HDF5 in .h5, .nc, .mat and .h5ad: chunks that become larger than they declare are refused before that."""

import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import bounds
import malformed
from sepnmf.io import _hdf5 as own
from sepnmf.io import read

RNG = np.random.default_rng(0)
CUBE = RNG.random((8, 8, 4))
BOMB = b"\x78\x01" + malformed.deflated(b"", 32) + bytes(4)  # 2 GiB of zeros


def write_bomb(group, name, shape, chunks, dtype="f8", **options):
    """A dataset whose first chunk becomes 2 GiB.

    HDF5 before version 2 cannot encode the size of this chunk where fewer than 64 numbers are declared.
    """
    options = {"compression": "gzip", "maxshape": (None,) * len(shape)} | options
    chunks = (max(chunks[0], 64), *chunks[1:])
    dataset = group.create_dataset(name, shape, dtype, chunks=chunks, **options)
    dataset.id.write_direct_chunk((0,) * len(shape), BOMB)
    return dataset


def matlab(path, **options):
    with h5py.File(path, "w", userblock_size=512) as content:
        write_bomb(content, "A", (8, 8), (8, 8), **options).attrs["MATLAB_class"] = np.bytes_("double")
    malformed.sign_hdf5(path)


def matlab_sparse(path):
    with h5py.File(path, "w", userblock_size=512) as content:
        group = content.create_group("A")
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.attrs["MATLAB_sparse"] = 3
        write_bomb(group, "data", (2,), (2,))
        group["ir"], group["jc"] = [0, 1], [0, 1, 2]
    malformed.sign_hdf5(path)


def plain(path, **options):
    with h5py.File(path, "w") as content:
        write_bomb(content, "A", (8, 8), (8, 8), **options)


def large_chunk(path):
    """The chunk is larger than what is stored, so that only decompressing it shows what it is."""
    with h5py.File(path, "w") as content:
        write_bomb(content, "A", (8, 8), (1024, 1024), maxshape=(None, None))


def wavelengths(path):
    with h5py.File(path, "w") as content:
        content["scene"] = CUBE
        write_bomb(content, "wavelength", (4,), (4,))


def annotated(path, where="X"):
    with h5py.File(path, "w") as content:
        for frame in ("obs", "var"):
            group = content.create_group(frame)
            group.attrs["_index"] = "_index"
            if where == frame:
                write_bomb(group, "_index", (8,), (8,), "S8")
            else:
                group["_index"] = np.array([b"abcdefgh"[k : k + 1] for k in range(8)])
            group["_index"].attrs["encoding-type"] = "string-array"
            group["_index"].attrs["encoding-version"] = "0.2.0"
        if where == "X":
            write_bomb(content, "X", (8, 8), (8, 8))
        elif where == "sparse":
            group = content.create_group("X")
            group.attrs["encoding-type"], group.attrs["encoding-version"] = "csr_matrix", "0.1.0"
            group.attrs["shape"] = (8, 8)
            write_bomb(group, "data", (8,), (8,))
            group["indices"], group["indptr"] = np.zeros(8, int), np.arange(9)
        else:
            content["X"] = np.ones((8, 8))


def test_a_chunk_that_becomes_larger_than_declared_is_refused_before_it_grows(tmp_path):
    makers = {
        "a.mat": matlab,
        "b.mat": matlab_sparse,
        "a.h5": plain,
        "b.h5": large_chunk,
        "c.h5": lambda path: plain(path, shuffle=True, fletcher32=True),
        "a.nc": wavelengths,
        "a.h5ad": annotated,
        "b.h5ad": lambda path: annotated(path, "sparse"),
        "c.h5ad": lambda path: annotated(path, "obs"),
    }
    for name, make in makers.items():
        make(tmp_path / name)
    bounds.assert_refused_in_little_memory([tmp_path / name for name in makers])


@pytest.mark.parametrize("limit", [0, own.UNCHECKED])
@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip", "shuffle": True, "fletcher32": True},
        {"compression": "lzf"},
        {"compression": "szip"},
        {"scaleoffset": 0, "dtype": "i4"},
        {"fletcher32": True},
    ],
)
def test_what_h5py_writes_is_read(tmp_path, monkeypatch, options, limit):
    monkeypatch.setattr(own, "UNCHECKED", limit)
    own.doubtful_chunks.cache_clear()
    numbers = (100 * CUBE).astype(options.get("dtype", "f8"))
    with h5py.File(tmp_path / "a.h5", "w") as content:
        content.create_dataset("A", data=numbers, chunks=(3, 8, 2), **options)
    np.testing.assert_array_equal(read(tmp_path / "a.h5").M, numbers.reshape(64, 4).T)


def test_filters_that_are_not_known_are_refused(tmp_path):
    for k, filters in enumerate([[(307, (9,))], [(1, (6,)), (1, (6,))]]):
        with h5py.File(tmp_path / f"{k}.h5", "w") as content:
            settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            settings.set_chunk((8, 8))
            for number, values in filters:
                settings.set_filter(number, h5py.h5z.FLAG_OPTIONAL, values)
            space = h5py.h5s.create_simple((8, 8))
            h5py.h5d.create(content.id, b"A", h5py.h5t.NATIVE_DOUBLE, space, settings)
    for name, message in (("0.h5", "the filter 307, which is not known"), ("1.h5", "compressed twice")):
        with pytest.raises(ValueError, match=message):
            read(tmp_path / name)


def test_arrays_of_too_many_chunks_are_refused_at_once(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as content:
        content.create_dataset("A", (1000, 1000), "f4", chunks=(1, 1))
    with pytest.raises(ValueError, match=r"more than 200000 chunks: save it with larger ones\.$"):
        read(tmp_path / "a.h5")


def test_coordinates_that_claim_more_than_the_file_has_are_refused(tmp_path):
    with h5py.File(tmp_path / "a.nc", "w") as content:
        scene = content.create_dataset("scene", data=CUBE)
        for k, (name, size) in enumerate([("y", 10**12), ("x", 8), ("band", 4)]):
            scale = content.create_dataset(name, (size,), "f8", chunks=(4,))
            if size == 8:
                scale[:] = np.arange(8)
            scale.make_scale(name)
            scene.dims[k].label = name
            scene.dims[k].attach_scale(scale)
    with pytest.raises(ValueError, match="more than 100 times its size on disk"):
        read(tmp_path / "a.nc")


def test_a_name_with_a_point_is_a_name(tmp_path):
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as content:
        group = content.create_group("a.b")
        group.attrs["MATLAB_class"], group.attrs["MATLAB_sparse"] = np.bytes_("double"), 3
        group["data"], group["ir"], group["jc"] = [1.0, 2.0], [0, 2], [0, 1, 2]
    malformed.sign_hdf5(path)
    np.testing.assert_array_equal(read(path).M.toarray(), [[1, 0], [0, 0], [0, 2]])


@pytest.mark.parametrize("lost", ["data", "ir", "jc", "MATLAB_class"])
@pytest.mark.parametrize("put", [None, "group", "text"])
def test_a_sparse_matrix_without_its_parts_is_refused_in_one_line(tmp_path, lost, put):
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as content:
        group = content.create_group("A")
        group.attrs["MATLAB_class"], group.attrs["MATLAB_sparse"] = np.bytes_("double"), 3
        group["data"], group["ir"], group["jc"] = [1.0, 2.0], [0, 2], [0, 1, 2]
        del (group.attrs if lost == "MATLAB_class" else group)[lost]
        if put == "group":
            group.create_group(lost)
        elif put:
            group[lost] = "text"
    malformed.sign_hdf5(path)
    with pytest.raises(ValueError, match=r"^a\.mat [^\n]*\.$"):
        read(path)


def test_groups_that_contain_themselves_many_times_are_refused_at_once(tmp_path):
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as content:
        group = content.create_group("s")
        group.attrs["MATLAB_class"] = np.bytes_("struct")
        for k in range(60):
            group[f"{k}"] = group
    malformed.sign_hdf5(tmp_path / "a.mat")
    annotated(tmp_path / "a.h5ad", "names")
    with h5py.File(tmp_path / "a.h5ad", "a") as content:
        del content["obs/_index"]
        group = content.create_group("obs/_index")
        for k in range(60):
            group[f"{k}"] = group
    bounds.assert_refused_in_little_memory([tmp_path / "a.mat", tmp_path / "a.h5ad"])


def test_very_many_nodata_values_are_refused(tmp_path):
    with h5py.File(tmp_path / "a.nc", "w") as content:
        content["scene"] = CUBE
        content["scene"].attrs["missing_value"] = np.arange(5000.0)
    with pytest.raises(ValueError, match="missing_value has more than 100 numbers"):
        read(tmp_path / "a.nc")


def test_a_heap_of_texts_that_has_no_end_is_refused(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as content:
        content["scene"] = CUBE
        content["scene"].attrs["names"] = ["a", "b", "c", "d"]
    assert read(path).M.shape == (4, 64)
    content = path.read_bytes()
    begin = content.index(b"GCOL")
    free = content.index(b"d\0\0\0\0\0\0\0", begin) + 8  # the entry behind the last text
    for place, number in ((free + 8, 0), (free + 8, 10**6), (begin + 8, 2**40)):
        path.write_bytes(content[:place] + number.to_bytes(8, "little") + content[place + 8 :])
        with pytest.raises(ValueError, match=r"heaps? of texts (is|are)"):
            read(path)


def with_unused_blocks(path, user_block=0):
    """A file whose heap of names has unused blocks; return its bytes, and where heap and names are."""
    names = [f"name {k} of the arrays" for k in range(6)]
    with h5py.File(path, "w", userblock_size=user_block) as content:
        for name in names:
            content[name] = CUBE
        for name in names[1::2]:
            del content[name]
    content = path.read_bytes()
    heap = content.index(b"HEAP\0")
    return content, heap, user_block + int.from_bytes(content[heap + 24 : heap + 32], "little")


def number_at(content, place):
    return int.from_bytes(content[place : place + 8], "little")


def with_number(content, place, number):
    return content[:place] + number.to_bytes(8, "little") + content[place + 8 :]


@pytest.mark.parametrize("user_block", [0, 512])
def test_unused_blocks_of_a_heap_of_names_that_have_no_end_are_refused(tmp_path, user_block):
    path = tmp_path / "a.h5"
    content, heap, names = with_unused_blocks(path, user_block)
    first = number_at(content, heap + 16)
    second = number_at(content, names + first)
    assert read(path, variable="name 0 of the arrays").M.shape == (4, 64)
    from_zero = with_number(with_number(content, heap + 16, 0), names, 8)
    damaged = {
        "itself.h5": with_number(content, names + first, first),
        "cycle.h5": with_number(content, names + second, first),
        "zero.h5": with_number(from_zero, names + 8, 8),
        "reserved.h5": with_number(content, names + first, first).replace(b"HEAP\0\0\0\0", b"HEAP\0abc"),
        "large.h5": with_number(content, heap + 8, 2**33),
    }
    for name, edited in damaged.items():
        (tmp_path / name).write_bytes(edited)
        if name != "large.h5":  # which the library refuses
            with pytest.raises(ValueError, match=r"HDF5 file: a heap of names is damaged\.$"):
                read(tmp_path / name)
    bounds.assert_refused_in_little_memory([tmp_path / name for name in damaged])


def test_very_many_heaps_of_names_in_one_place_are_refused(tmp_path):
    content, heap, _ = with_unused_blocks(tmp_path / "a.h5")
    head = with_number(content[heap : heap + 32], 8, len(content))  # from the beginning of the file
    (tmp_path / "a.h5").write_bytes(content + 3 * with_number(head, 24, 0))
    with pytest.raises(ValueError, match="its heaps of names are larger than the file"):
        read(tmp_path / "a.h5")


@pytest.mark.parametrize("user_block", [0, 512])
def test_nodes_of_a_tree_that_follow_one_another_in_a_cycle_are_refused(tmp_path, user_block):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", userblock_size=user_block) as content:
        content.create_dataset("x", data=RNG.random((64, 64)), chunks=(2, 2))
    assert read(path).M.shape == (64, 64)
    content = path.read_bytes()
    nodes = [found.start() for found in re.finditer(rb"TREE\x01\x00", content)]  # of chunks
    assert number_at(content, nodes[0] + 16) + user_block in nodes
    for k, node in enumerate((nodes[0], number_at(content, nodes[0] + 16) + user_block)):
        (tmp_path / f"{k}.h5").write_bytes(with_number(content, node + 16, nodes[0] - user_block))
        bounds.assert_refused_in_little_memory([tmp_path / f"{k}.h5"], seconds=20)
        with pytest.raises(ValueError, match=r"HDF5 file: a tree of names or chunks is damaged\.$"):
            read(tmp_path / f"{k}.h5")


@pytest.mark.parametrize(
    "options", [{}, {"chunks": (3,)}, {"chunks": (3,), "compression": "gzip", "shuffle": True}]
)
def test_texts_are_read_and_their_lengths_are_not_believed(tmp_path, options):
    names = [f"name {k}" * (k + 1) for k in range(8)]
    with h5py.File(tmp_path / "a.h5", "w") as content:
        content.create_dataset("names", data=names, dtype=h5py.string_dtype(), **options)
        content["M"] = np.ones((8, 3))
    assert read(tmp_path / "a.h5", row_names="names").row_names == tuple(names)
    with h5py.File(tmp_path / "a.h5") as content:
        found = b"".join(own.contents_of(content["names"], tmp_path / "a.h5"))
        assert np.frombuffer(found, "<u4")[:32:4].tolist() == [len(name) for name in names]
    if "compression" not in options:
        data = (tmp_path / "a.h5").read_bytes()
        place = data.index(found[:48])
        (tmp_path / "b.h5").write_bytes(data[:place] + b"\0\0\0\x60" + data[place + 4 :])
        with pytest.raises(ValueError, match="a text of 1610612736 bytes is longer than the file"):
            read(tmp_path / "b.h5", row_names="names")


def test_a_long_text_that_is_named_often_is_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as content:
        names = content.create_dataset("names", (50_000,), h5py.string_dtype(), chunks=(50_000,))
        names[0] = "w" * 50_000
        content["M"] = np.ones((50_000, 1))
        _, stored = names.id.read_direct_chunk((0,))
        names.id.write_direct_chunk((0,), stored[:16] * 50_000)
    with pytest.raises(ValueError, match="more than 100 times its size on disk"):
        read(tmp_path / "a.h5", row_names="names")


def with_text_in_an_attribute(path, *, user_block=0, many=1, **options):
    """A file whose attribute has texts of eleven bytes; return it, and where their lengths are."""
    with h5py.File(path, "w", userblock_size=user_block, **options) as content:
        dataset = content.create_dataset("x", data=np.random.default_rng(0).random((3, 4, 5)))
        dataset.attrs.create("a", ["hello world"] * many, dtype=h5py.string_dtype())
    content = path.read_bytes()
    heap = (content.index(b"GCOL\1") - user_block).to_bytes(8, "little")
    return content, [found.start() for found in re.finditer(rb"\x0b\0\0\0" + re.escape(heap), content)]


@pytest.mark.slow
@pytest.mark.parametrize("length", [0x3FFFFFFF, 0xFFFFFFF0])
@pytest.mark.parametrize(
    "options", [{}, {"libver": "latest"}, {"user_block": 512}, {"many": 20}, {"libver": "latest", "many": 20}]
)
def test_a_text_of_an_attribute_that_is_longer_than_the_file_is_refused(tmp_path, options, length):
    path = tmp_path / "a.h5"
    content, places = with_text_in_an_attribute(path, **options)
    assert len(places) == options.get("many", 1)
    assert read(path).M.shape
    place = places[-1]
    path.write_bytes(content[:place] + length.to_bytes(4, "little") + content[place + 4 :])
    with pytest.raises(ValueError, match="a text is longer than the file"):
        read(path)
    bounds.assert_refused_in_little_memory([path])


def test_numbers_that_look_like_a_reference_to_a_text_are_read(tmp_path):
    path = tmp_path / "a.h5"
    content, _ = with_text_in_an_attribute(path)
    heap = content.index(b"GCOL\1")
    for chunks in (None, (1, 2, 2)):
        with h5py.File(path, "a") as file:
            del file["x"]
            numbers = np.array([[[-1, heap], [1, heap]]] * 3)
            file.create_dataset("x", data=numbers, chunks=chunks).attrs["a"] = "hello world"
            assert heap == path.read_bytes().index(b"GCOL\1")
        assert read(path).M.size == 12


def test_a_heap_is_found_whatever_is_in_its_reserved_bytes(tmp_path):
    path = tmp_path / "a.h5"
    content, _ = with_text_in_an_attribute(path)
    heap = content.index(b"GCOL\1")
    edited = bytearray(content)
    edited[heap + 5 : heap + 8] = b"abc"
    path.write_bytes(edited)
    assert read(path).M.shape
    edited[heap + 16 + 8 : heap + 32] = (100).to_bytes(8, "little")  # the library would go on for ever
    path.write_bytes(edited)
    bounds.assert_refused_in_little_memory([path])


@pytest.mark.parametrize("begin", [b"GCOL\1xyz", b"HEAP\0\0\0\0", b"TREE\0\0\0\0"])
def test_the_first_bytes_of_a_heap_or_a_tree_in_other_data_are_neither(tmp_path, begin):
    path = tmp_path / "a.h5"
    values = np.frombuffer(begin + bytes([255]) * 8 + bytes(8 * 10), "u1").reshape(2, 6, 8)
    with h5py.File(path, "w") as content:
        content["x"] = values
    assert read(path).M.size == values.size


def test_a_tree_that_contains_itself_is_refused(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="earliest") as content:
        content.create_dataset("A", data=np.ones((8, 8)), chunks=(2, 2))
    damaged = bytearray(path.read_bytes())
    place = damaged.index(b"TREE\x01")  # the tree of the chunks
    damaged[place + 5] = 1  # it has nodes below it
    key = 8 + 8 * 3  # size and filters of a chunk, and its place in each dimension and in an entry
    damaged[place + 24 + key : place + 32 + key] = place.to_bytes(8, "little")
    path.write_bytes(damaged)
    code = "import sys\nfrom sepnmf.io import read\nread(sys.argv[1])"
    words = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.returncode
    assert done.stderr.splitlines()[-1].endswith("the HDF5 library ends when it reads the file.")
