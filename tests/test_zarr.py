"""Zarr: what the package zarr writes is read back; codecs are those of a list, and chunks stay in bounds."""

import gzip
import json
import lzma
import os
import pickle
import struct
import subprocess
import sys
from bz2 import compress as bz2_compress

import numcodecs
import numpy as np
import pytest
import zarr
from zarr.codecs import numcodecs as of_numcodecs

import bounds
import malformed
from sepnmf.io import _zarr as own
from sepnmf.io import read
from sepnmf.io._containers import Zarr

RNG = np.random.default_rng(0)
CUBE = RNG.integers(0, 1000, (7, 9, 5)).astype("f4")
GIB = 2**30

COMPRESSORS = {
    "none": None,
    "blosc": numcodecs.Blosc("zstd", shuffle=2),
    "zstd": numcodecs.Zstd(checksum=True),
    "zlib": numcodecs.Zlib(),
    "gzip": numcodecs.GZip(),
    "bz2": numcodecs.BZ2(),
    "lzma": numcodecs.LZMA(),
    "lz4": numcodecs.LZ4(),
}
FILTERS = {
    "delta": [numcodecs.Delta("<f4", "<i4")],
    "scale and offset": [numcodecs.FixedScaleOffset(offset=0, scale=1, dtype="<f4", astype="<u2")],
    "type": [numcodecs.AsType("<u2", "<f4")],
    "quantize": [numcodecs.Quantize(3, "<f4")],
    "rounded": [numcodecs.BitRound(23)],
    "shuffle": [numcodecs.Shuffle(4)],
    "two": [numcodecs.FixedScaleOffset(0, 1, "<f4", "<i2"), numcodecs.Delta("<i2", "<i4")],
}


def edit(file, **changes):
    found = json.loads(file.read_text())
    file.write_text(json.dumps(found | changes))


def assert_read(path, expected=CUBE):
    container = Zarr(path)
    np.testing.assert_array_equal(container.read(""), expected)
    assert container.read("").dtype.newbyteorder("=") == expected.dtype.newbyteorder("=")
    for index in ((slice(1, 6, 2), slice(None), slice(4, 5)), (3, slice(2, 9, 3), slice(0, 0)), (0, 1, 4)):
        np.testing.assert_array_equal(container.read("", index), expected[index])


# What others write.


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("separator", [".", "/"])
def test_arrays_of_version_2_are_read_as_zarr_reads_them(tmp_path, compressor, order, separator):
    array = zarr.create_array(
        str(tmp_path / "a.zarr"),
        shape=CUBE.shape,
        chunks=(3, 4, 2),
        dtype=CUBE.dtype,
        zarr_format=2,
        order=order,
        compressors=COMPRESSORS[compressor],
        chunk_key_encoding={"name": "v2", "separator": separator},
    )
    array[...] = CUBE
    assert_read(tmp_path / "a.zarr")


# numcodecs adds up into memory that is not initialised, where NumPy may find NaN.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in accumulate:RuntimeWarning")
@pytest.mark.parametrize("name", FILTERS)
def test_filters_of_version_2_are_undone(tmp_path, name):
    array = zarr.create_array(
        str(tmp_path / "a.zarr"),
        shape=CUBE.shape,
        chunks=(3, 4, 2),
        dtype="<f4",
        zarr_format=2,
        filters=FILTERS[name],
    )
    array[...] = CUBE
    assert_read(tmp_path / "a.zarr", array[...])


@pytest.mark.parametrize("compressor", ["none", "gzip", "zstd", "blosc", "twice checked"])
@pytest.mark.parametrize("shards", [None, (6, 8, 4)])
@pytest.mark.parametrize("dtype", ["f4", ">i2", "u1"])
def test_arrays_of_version_3_are_read_as_zarr_reads_them(tmp_path, compressor, shards, dtype):
    codecs = {
        "none": (),
        "gzip": zarr.codecs.GzipCodec(),
        "zstd": zarr.codecs.ZstdCodec(),
        "blosc": zarr.codecs.BloscCodec(),
        "twice checked": (zarr.codecs.Crc32cCodec(), zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()),
    }
    numbers = CUBE.astype(dtype)
    array = zarr.create_array(
        str(tmp_path / "a.zarr"),
        shape=numbers.shape,
        chunks=(3, 4, 2),
        shards=shards,
        dtype=numbers.dtype,
        compressors=codecs[compressor],
        filters=zarr.codecs.TransposeCodec(order=(2, 0, 1)),
        fill_value=3,
    )
    array[:4] = numbers[:4]  # the other chunks are not written
    assert_read(tmp_path / "a.zarr", np.asarray(array[...]).astype(numbers.dtype))


@pytest.mark.filterwarnings("ignore::UserWarning")  # that these codecs are not in the standard
def test_codecs_of_numcodecs_in_version_3_are_known(tmp_path):
    array = zarr.create_array(
        str(tmp_path / "a.zarr"),
        data=CUBE,
        chunks=(3, 4, 2),
        filters=of_numcodecs.Delta(dtype="<f4"),
        compressors=[of_numcodecs.Shuffle(elementsize=4), of_numcodecs.LZMA()],
    )
    assert_read(tmp_path / "a.zarr", array[...])


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("fill", [np.nan, -np.inf, 2.5, 0])
def test_chunks_that_were_not_written_have_the_fill_value(tmp_path, version, fill):
    zarr.create_array(
        str(tmp_path / "a.zarr"),
        shape=(5, 4),
        chunks=(2, 2),
        dtype="f8",
        fill_value=fill,
        zarr_format=version,
    )
    np.testing.assert_array_equal(Zarr(tmp_path / "a.zarr").read(""), np.full((5, 4), fill))


def test_a_fill_value_may_be_given_by_its_bits():
    assert np.isnan(own.fill_of("0x7fc00000", np.dtype("f4")))
    assert own.fill_of("0x3f800000", np.dtype("f4")) == 1
    for value in ("one", 1.5, [1], "1"):
        with pytest.raises(ValueError, match=r"fill value|could not convert"):
            own.fill_of(value, np.dtype("i4" if value != "one" else "f4"))


def test_an_array_is_read_without_the_package_zarr(tmp_path):
    zarr.create_array(str(tmp_path / "a.zarr"), data=CUBE, chunks=(3, 4, 2))
    code = (
        "import sys\n"
        "sys.modules['zarr'] = None\n"
        "from sepnmf.io import read\n"
        "assert read(sys.argv[1]).M.shape == (5, 63)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.zarr")], check=True)


# Codecs.


def plant(folder, **changes):
    """An array of version 2 whose chunk is a pickle that writes a file."""
    folder.mkdir()
    found = {"zarr_format": 2, "shape": [1, 1], "chunks": [1, 1], "dtype": "<f8", "order": "C"}
    found |= {"fill_value": 0, "filters": None, "compressor": None}
    (folder / ".zarray").write_text(json.dumps(found | changes))
    (folder / "0.0").write_bytes(pickle.dumps(malformed.Bomb(folder.parent / "unpickled")))


PICKLE = {"id": "pickle", "protocol": 5}
PICKLE_3 = {"name": "numcodecs.pickle", "configuration": {"protocol": 5}}


@pytest.mark.parametrize(
    "changes",
    [
        {"compressor": PICKLE},
        {"filters": [PICKLE]},
        {"filters": [PICKLE], "dtype": "|O"},
        {"filters": [{"id": "vlen-utf8"}, PICKLE], "dtype": "|O"},
        {"filters": [{"id": "delta", "dtype": "<f8"}, PICKLE]},
        {"compressor": {"id": "msgpack2"}},
        {"compressor": {"id": "json2"}},
        {"filters": [{"id": "delta", "dtype": "|O"}]},
        {"compressor": {"id": ["pickle"]}},
        {"compressor": "pickle"},
    ],
)
@pytest.mark.parametrize("consolidated", [False, True])
def test_a_chunk_of_version_2_is_never_unpickled(tmp_path, changes, consolidated):
    group = tmp_path / "a.zarr"
    group.mkdir()
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    plant(group / "scene", **changes)
    if consolidated:
        hidden = json.loads((group / "scene/.zarray").read_text())
        (group / ".zmetadata").write_text(
            json.dumps(
                {"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}}}
                | {"scene/.zarray": hidden}
            )
        )
    for path in (group, group / "scene"):
        with pytest.raises(ValueError, match=r"^(a\.zarr|scene) c[^\n]*\.$"):
            read(path)
    assert not (group / "unpickled").exists()


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("name", ["numcodecs.pickle", "pickle", "numcodecs.msgpack2", "unheard of"])
def test_a_codec_of_version_3_must_be_on_the_list(tmp_path, inner, name):
    path = tmp_path / "a.zarr"
    zarr.create_array(str(path), data=CUBE, chunks=CUBE.shape, shards=CUBE.shape if inner else None)
    found = json.loads((path / "zarr.json").read_text())
    codecs = found["codecs"][0]["configuration"]["codecs"] if inner else found["codecs"]
    codecs[1] = {"name": name, "configuration": {}}
    (path / "zarr.json").write_text(json.dumps(found))
    with pytest.raises(
        ValueError, match=r"^a\.zarr cannot be read as a Zarr array: it is stored with [^\n]*$"
    ):
        read(path)


def test_chunks_that_are_compressed_twice_are_refused(tmp_path):
    path = tmp_path / "a.zarr"
    zarr.create_array(str(path), data=CUBE, chunks=CUBE.shape, zarr_format=2)
    edit(path / ".zarray", filters=[{"id": "zlib"}])
    with pytest.raises(ValueError, match="compressed twice"):
        read(path)


# Bombs.


def zstd_of_zeros(size, declared):
    """A frame of blocks that each stand for 128 KiB of one byte."""
    head = b"\x28\xb5\x2f\xfd" + (b"\xe0" + struct.pack("<Q", declared) if declared else b"\x00\x58")
    block = (2**17 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (2**17 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return head + block * (size // 2**17 - 1) + last


def bombs():
    deflated = malformed.deflated(b"", 32)
    yield "zlib", b"\x78\x01" + deflated + bytes(4)
    yield "gzip", gzip.compress(b"")[:10] + deflated + bytes(8)
    yield "bz2", 32 * bz2_compress(bytes(2**26))
    yield "lzma", 32 * lzma.compress(bytes(2**26), preset=0)
    yield "zstd", zstd_of_zeros(2 * GIB, 2 * GIB)
    yield "zstd", zstd_of_zeros(2 * GIB, 0)
    yield "zstd", zstd_of_zeros(2 * GIB, 8)
    yield "blosc", numcodecs.blosc.compress(np.zeros(2**25), b"zstd", 9, 1)
    yield "lz4", struct.pack("<I", 2**31 - 1) + numcodecs.lz4.compress(bytes(2**26))[4:]


def test_a_chunk_is_decompressed_up_to_the_size_that_it_should_have(tmp_path):
    paths = []
    for number, (name, content) in enumerate(bombs()):
        path = tmp_path / f"{number}-{name}.zarr"
        plant(path, compressor={"id": name})
        (path / "0.0").write_bytes(content)
        paths.append(path)
    text = tmp_path / "text.zarr"
    plant(text, dtype="|O", filters=[{"id": "vlen-utf8"}], shape=[1], chunks=[1])
    (text / "0").write_bytes(struct.pack("<I", 2**32 - 1))
    bounds.assert_refused_in_little_memory([*paths, text])


def test_lengths_of_texts_are_checked(tmp_path):
    path = tmp_path / "a.zarr"
    texts = zarr.create_array(str(path), shape=(2,), chunks=(2,), compressors=(), dtype=str)
    texts[:] = ["one", "two"]
    assert Zarr(path).read("").tolist() == ["one", "two"]
    chunk = path / "c/0"
    content = chunk.read_bytes()
    for wrong in (content[:-1], content[:4], b"\xff\xff\xff\xff" + content[4:], content[:4] + b"\xff" * 12):
        chunk.write_bytes(wrong)
        with pytest.raises(ValueError, match="text"):
            Zarr(path).read("")


def test_arrays_of_too_many_chunks_are_refused_at_once(tmp_path):
    path = tmp_path / "a.zarr"
    zarr.create_array(str(path), shape=(1000, 1000), chunks=(1, 1), dtype="u1")
    with pytest.raises(ValueError, match=r"more than 200000 chunks: save it with larger ones\.$"):
        read(path)


@pytest.mark.parametrize("part", ["chunk", "metadata", "whole"])
def test_a_pipe_in_place_of_a_file_is_refused_without_waiting(tmp_path, part):
    path = tmp_path / "a.zarr"
    zarr.create_array(str(path), data=CUBE, chunks=CUBE.shape)
    file = {"chunk": path / "c/0/0/0", "metadata": path / "zarr.json", "whole": tmp_path / "b.zarr"}[part]
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    code = "import sys; from sepnmf.io import read; read(sys.argv[1])"
    wanted = file if part == "whole" else path
    done = subprocess.run(
        [sys.executable, "-c", code, str(wanted)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.splitlines()[-1].startswith("ValueError: ")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("codecs", 0, "configuration", "index_codecs"), [{"name": "crc32c"}]),
        (("codecs", 0, "configuration", "chunk_shape"), [4, 4, 4]),
        (("codecs", 0, "configuration", "chunk_shape"), [1, 1, 1]),
        (("codecs", 0, "configuration", "codecs"), []),
        (("chunk_grid", "name"), "rectilinear"),
        (("chunk_key_encoding", "configuration", "separator"), "/../"),
        (("storage_transformers",), [{"name": "unheard of"}]),
        (("codecs", 0, "configuration", "codecs", 0, "configuration", "endian"), "middle"),
        (("zarr_format",), 4),
        (("shape",), [7, 9]),
        (("shape",), [True, 9, 5]),
    ],
)
def test_metadata_that_are_not_understood_are_refused(tmp_path, place, value):
    path = tmp_path / "a.zarr"
    zarr.create_array(str(path), data=CUBE, chunks=(7, 9, 1), shards=(7, 9, 5))
    found = node = json.loads((path / "zarr.json").read_text())
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    (path / "zarr.json").write_text(json.dumps(found))
    with pytest.raises(ValueError, match=r"^a\.zarr cannot be read as a Zarr array: [^\n]*\.$"):
        read(path)


def test_a_damaged_shard_is_refused(tmp_path):
    path = tmp_path / "a.zarr"
    zarr.create_array(str(path), data=CUBE, chunks=(7, 9, 1), shards=(7, 9, 5))
    shard = path / "c/0/0/0"
    content = shard.read_bytes()
    for wrong in (content[:50], content[100:], content[:-1] + bytes([content[-1] ^ 1])):
        shard.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"^a\.zarr cannot be read as a Zarr array: [^\n]*\.$"):
            read(path)


def test_a_frame_of_zstandard_need_not_declare_its_size(tmp_path):
    path = tmp_path / "a.zarr"
    plant(path, compressor={"id": "zstd"}, shape=[256, 256], chunks=[256, 256])
    frame = zstd_of_zeros(8 * 2**16, 0)
    try:
        numcodecs.zstd.decompress(frame)
    except RuntimeError:
        pytest.skip("this version of numcodecs cannot decompress it")
    (path / "0.0").write_bytes(frame)
    np.testing.assert_array_equal(read(path).M, np.zeros((256, 256)))
