"""More files that must be refused: GeoTIFF, NetCDF, HDF5, Zarr groups and ENVI spectral libraries."""

import json
import pickle
import struct
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
import rasterio
import xarray as xr
import zarr

from malformed import CUTS, Maker, deflated, with_entry, zeros_64_mib

SUFFIXES = (".tif", ".tiff", ".nc", ".nc4", ".h5", ".hdf5", ".he5")
CUBE = np.random.default_rng(0).random((3, 4, 5)) + 0.1
MIB = 2**20


def make_malformed(folder):
    """Files that must be refused, as (id, path, options of `sepnmf.io.read`), by kind."""
    kinds = {}
    for part in (geotiffs, netcdfs, zarr_groups, libraries):
        (Path(folder) / part.__name__).mkdir()
        maker = Maker(Path(folder) / part.__name__)
        maker.bomb.target = str(Path(folder) / "unpickled")
        part(maker)
        kinds[part.__name__] = maker.files
    return kinds


def any_file(maker, suffixes, good):
    """What can befall any file."""
    for suffix in suffixes:
        maker.add("empty", suffix, b"")
        maker.add("noise", suffix, maker.noise)
        maker.add("prose", suffix, "This is not an image, it is a sentence.\n")
        maker.add("zeros", suffix, bytes(1000))
        maker.add("pickle", suffix, pickle.dumps(maker.bomb))
        maker.add("missing", suffix)
    maker.add_cuts("image", suffixes[0], good)
    maker.add(
        "axes of a format that knows them" if suffixes[0] == ".tif" else "axes that are none",
        suffixes[0],
        good,
        axes="a,b",
    )
    maker.add("bands beyond the last", suffixes[0], good, bands="1-99")
    maker.add("no such mask", suffixes[0], good, mask=maker.folder / "nothing.npy")
    np.save(maker.folder / "mask.npy", np.ones((2, 2)))
    maker.add("mask of another image", suffixes[0], good, mask=maker.folder / "mask.npy")
    maker.add("nodata of words", suffixes[0], good, nodata="none")


# GeoTIFF.


def tiff(cube=CUBE, then=lambda image: None, **profile):
    with rasterio.MemoryFile() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count, height, width = cube.shape
        facts = {"driver": "GTiff", "count": count, "height": height, "width": width, "dtype": cube.dtype}
        with memory.open(**(facts | profile)) as image:
            image.write(cube)
            then(image)
        return bytes(memory.getbuffer())


def tag(number, kind, count, value):
    return struct.pack("<HHII", number, kind, count, value)


def crafted_tiff(tags, data=b""):
    """A TIFF file of one directory, with whatever it is told to say."""
    head = b"II*\0" + struct.pack("<I", 8 + len(data)) + data
    return head + struct.pack("<H", len(tags)) + b"".join(sorted(tags)) + bytes(4)


def plain_tags(width=4, height=4, bits=8, strip=8, nbytes=16, **changes):
    """Tags of an image of one band in one strip."""
    fields = {
        256: (4, width), 257: (4, height), 258: (3, bits), 259: (3, 1), 262: (3, 1), 273: (4, strip),
        277: (3, 1), 278: (4, height), 279: (4, nbytes), 339: (3, 1),
    }  # fmt: skip
    fields |= {int(key[1:]): value for key, value in changes.items()}
    return [tag(number, kind, 1, value) for number, (kind, value) in fields.items() if value is not None]


def geotiffs(maker):
    """What .tif files may have in them."""
    any_file(maker, (".tif", ".tiff"), tiff())
    maker.add("only a head", ".tif", b"II*\0\x08\0\0\0")
    maker.add("directory beyond the end", ".tif", b"II*\0" + struct.pack("<I", 10**6) + bytes(100))
    maker.add("directory of itself", ".tif", b"II*\0" + struct.pack("<IH", 8, 0) + struct.pack("<I", 8))
    maker.add("another number", ".tif", b"II\x2b\0" + tiff()[4:])
    maker.add("no width", ".tif", crafted_tiff(plain_tags(t256=(4, None)), bytes(16)))
    maker.add("width zero", ".tif", crafted_tiff(plain_tags(width=0), bytes(16)))
    maker.add("of petabytes", ".tif", crafted_tiff(plain_tags(2**31 - 1, 2**31 - 1), bytes(16)))
    maker.add("strip beyond the end", ".tif", crafted_tiff(plain_tags(strip=10**6), bytes(16)))
    maker.add("strip of no bytes", ".tif", crafted_tiff(plain_tags(height=1000, nbytes=16), bytes(16)))
    maker.add("seven bits of floats", ".tif", crafted_tiff(plain_tags(bits=7, t339=(3, 3)), bytes(16)))
    maker.add("unknown compression", ".tif", crafted_tiff(plain_tags(t259=(3, 999)), bytes(16)))
    maker.add("noise that is deflated", ".tif", crafted_tiff(plain_tags(t259=(3, 8)), maker.noise[:16]))
    maker.add("complex", ".tif", tiff((CUBE + 1j).astype("c8")))
    maker.add("nan", ".tif", tiff(with_entry(np.nan).reshape(6, 2, 4)))
    maker.add("inf", ".tif", tiff(with_entry(np.inf).reshape(6, 2, 4)))
    maker.add("nothing but nodata", ".tif", tiff(np.full((3, 4, 5), 7.0), nodata=7))
    maker.add("nothing in the mask", ".tif", masked_tiff())
    maker.add("shape of an image", ".tif", tiff(), shape=(4, 5))
    maker.add("scale of zero", ".tif", tiff(then=lambda image: setattr(image, "scales", (0, 1, 1))))
    maker.add("scale of nan", ".tif", tiff(then=lambda image: setattr(image, "offsets", (np.nan, 1, 1))))
    maker.add("variable", ".tif", tiff(), variable="a")
    virtual = (
        '<VRTDataset rasterXSize="2" rasterYSize="2"><VRTRasterBand dataType="Byte" band="1"/></VRTDataset>'
    )
    maker.add("virtual image", ".tif", virtual)
    bomb = zeros_64_mib() * 40
    rows, width = 2**10, 40 * 64 * MIB // 2**10
    tags = plain_tags(width, rows, nbytes=len(bomb), t259=(3, 8))
    maker.add("bomb", ".tif", crafted_tiff(tags, b"\x78\x01" + bomb + deflated(b"", 0)))
    for name, text in [
        ("prose", "this is no XML"),
        ("no numbers", "<a><specific><bandCharacterisation><bandID/></bandCharacterisation></specific></a>"),
        ("laughs", laughs()),
        ("words", metadata("one")),
        ("gain of zero", metadata("500", "0")),
    ]:
        path = maker.path(f"{name} of EnMAP-SPECTRAL_IMAGE", ".TIF")
        path.write_bytes(tiff())
        path.with_name(path.name.replace("SPECTRAL_IMAGE.TIF", "METADATA.XML")).write_text(text)
        maker.files.append((f"EnMAP: {name}", path, {}))


def masked_tiff():
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        return tiff(then=lambda image: image.write_mask(np.zeros((4, 5), bool)))


def metadata(wavelength, gain="1"):
    band = f"<bandID><wavelengthCenterOfBand>{wavelength}</wavelengthCenterOfBand>"
    band += f"<GainOfBand>{gain}</GainOfBand></bandID>"
    return f"<a><specific><bandCharacterisation>{3 * band}</bandCharacterisation></specific></a>"


def laughs():
    entities = "".join(f'<!ENTITY a{k + 1} "{f"&a{k};" * 10}">' for k in range(20))
    return f'<!DOCTYPE a [<!ENTITY a0 "ha">{entities}]><a>&a20;</a>'


# NetCDF and HDF5.


def scene(cube=CUBE, dims=("band", "y", "x"), **attrs):
    return xr.Dataset({"scene": (dims, cube, attrs)})


def netcdf(content, engine="h5netcdf"):
    with TemporaryDirectory() as folder:
        content.to_netcdf(Path(folder) / "a.nc", engine=engine)
        return (Path(folder) / "a.nc").read_bytes()


def netcdfs(maker):
    """What NetCDF and HDF5 files may have in them."""
    any_file(maker, SUFFIXES[2:], netcdf(scene()))
    old = netcdf(scene(), "scipy")
    for cut in CUTS[:-1]:
        maker.add(f"version 3 cut at {cut:.0%}", ".nc", old[: int(cut * len(old))])
    maker.add("version 5 of the old format", ".nc", b"CDF\x05" + old[4:])
    maker.add(
        "lengths of the old format", ".nc", old.replace(struct.pack(">I", 5), struct.pack(">I", 2**31 - 1))
    )

    def add(name, write, suffix=".h5", **options):
        with h5py.File(maker.path(name, suffix), "w") as content:
            write(content)
        maker.add(name, suffix, **options)

    def put(**arrays):
        return lambda content: [content.create_dataset(name, data=array) for name, array in arrays.items()]

    add("nothing at all", lambda content: None)
    add("only groups", lambda content: content.create_group("a/b/c"))
    add("two images", put(a=CUBE, b=CUBE))
    add("two matrices", put(a=CUBE[0], b=CUBE[0]))
    add("a wrong name", put(a=CUBE), variable="b")
    add("a group wanted", lambda content: content.create_dataset("a/b", data=CUBE), variable="a")
    add("text", put(a=np.array([[b"x", b"y"]])))
    add("text wanted", put(a=CUBE, b=np.array([[b"x", b"y"]])), variable="b")
    add("complex", put(a=CUBE + 1j))
    add("pairs", put(a=np.zeros((3, 3), dtype=[("x", float), ("y", float)])))
    add("pickles", put(a=np.frombuffer(pickle.dumps(maker.bomb), "V1")))
    add("vector", put(a=np.ones(5)))
    add("scalar", put(a=3.0))
    add("four dimensions", put(a=np.ones((2, 2, 2, 2))))
    add("no bands", put(a=np.ones((4, 5, 0))))
    add("nan", put(a=with_entry(np.nan).reshape(2, 4, 6)))
    add("inf", put(a=with_entry(np.inf).reshape(2, 4, 6)))
    add("axes of a matrix", put(a=CUBE[0]), axes="bands,lines,samples")
    add("nothing but fill", lambda content: content.create_dataset("a", (3, 4, 5), "f8", fillvalue=-1))
    add(
        "of nothing", lambda content: content.create_dataset("a", (10**5, 10**5, 9), "f8", chunks=(99, 99, 9))
    )
    huge = {"chunks": (2**14, 2**14), "maxshape": (None, None)}
    add("huge chunks", lambda content: content.create_dataset("a", (9, 9), "f8", **huge))
    add(
        "huge chunks in parts",
        lambda content: content.create_dataset("a", (9, 9), "f8", **huge),
        in_parts=True,
    )
    add("elsewhere", lambda content: content.__setitem__("a", h5py.ExternalLink("other.h5", "/a")))
    add("a soft link to nothing", lambda content: content.__setitem__("a", h5py.SoftLink("/b")))
    add(
        "outside",
        lambda content: content.create_dataset("a", (3, 3), "f8", external=[("/etc/hostname", 0, 72)]),
    )

    def virtual(content):
        layout = h5py.VirtualLayout((6, 8), "f8")
        layout[:] = h5py.VirtualSource("other.h5", "A", (6, 8))
        content.create_virtual_dataset("a", layout)

    add("virtual", virtual)

    def circle(content):
        content["a/b"] = h5py.SoftLink("/a")
        content["a/c"] = content["a"]

    add("a circle", circle)

    def with_attributes(**attrs):
        def write(content):
            content.create_dataset("a", data=CUBE)
            content["a"].attrs.update(attrs)

        return write

    add("scale factor of text", with_attributes(scale_factor="two"))
    add("scale factor of zero", with_attributes(scale_factor=0.0))
    add("scale factors", with_attributes(scale_factor=np.ones(3)))
    add("offset of nan", with_attributes(add_offset=np.nan))

    def wavelengths_elsewhere(content):
        content.create_dataset("a", data=CUBE)
        content.create_dataset("wavelength", (5,), "f8", external=[("/etc/hostname", 0, 40)])

    add("wavelengths outside", wavelengths_elsewhere)

    path = maker.path("bomb", ".nc")
    rows = 40 * 64 * MIB // 8 // 1024
    with h5py.File(path, "w") as content:
        chunk = b"\x78\x01" + zeros_64_mib() + deflated(b"", 0) + struct.pack(">I", 0)
        chunks = (1024, 8 * MIB // 1024)
        dataset = content.create_dataset("A", (1024, rows), "f8", chunks=chunks, compression="gzip")
        for start in range(0, rows, chunks[1]):
            dataset.id.write_direct_chunk((0, start), chunk)
    maker.add("bomb", ".nc")
    damaged = bytearray(netcdf(xr.Dataset({"scene": (("band", "y", "x"), CUBE)})))
    damaged[600:700] = bytes(100)
    maker.add("damaged", ".nc", bytes(damaged[:900]))


# Zarr groups.


def zarr_groups(maker):
    """What Zarr groups may have in them, or lack."""

    def add(name, content=None, version=3, change=lambda path: None, **options):
        path = maker.path(name, ".zarr")
        content = scene() if content is None else content
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content.to_zarr(path, zarr_format=version, consolidated=False)
        change(path)
        maker.add(name, ".zarr", **options)

    def cut(name, size):
        return lambda path: (path / name).write_bytes((path / name).read_bytes()[:size])

    def edited(name, **fields):
        def change(path):
            found = json.loads((path / name).read_text())
            (path / name).write_text(json.dumps(found | fields))

        return change

    for size in (0, 1, 20, 200):
        add(f"metadata of {size} bytes", change=cut("scene/zarr.json", size))
        add(f"old metadata of {size} bytes", version=2, change=cut("scene/.zarray", size))
    add("group of 5 bytes", change=cut("zarr.json", 5))
    add("old group of 0 bytes", version=2, change=cut(".zgroup", 0))
    add("half a chunk", change=cut("scene/c/0/0/0", 30))
    add("half an old chunk", version=2, change=cut("scene/0.0.0", 30))
    add("noise in a chunk", change=lambda path: (path / "scene/c/0/0/0").write_bytes(maker.noise))
    add("nothing", xr.Dataset())
    add("two images", xr.Dataset({"a": (("b", "y", "x"), CUBE), "c": (("b", "y", "x"), CUBE)}))
    add("a wrong name", variable="b")
    add("only a vector", xr.Dataset({"a": ("x", np.ones(3))}))
    add("only text", xr.Dataset({"a": (("x", "y"), np.array([["a", "b"]], dtype="U1"))}), version=2)
    add("four dimensions", xr.Dataset({"a": (("t", "band", "y", "x"), np.ones((2, 3, 4, 5)))}))
    add("complex", scene(CUBE + 1j), version=2)
    add("nan", scene(with_entry(np.nan).reshape(2, 4, 6)), change=edited("scene/zarr.json", attributes={}))
    add("inf", scene(with_entry(np.inf).reshape(2, 4, 6)))
    add("nothing but nan", scene(np.full((3, 4, 5), np.nan)))
    add("unknown codec", change=edited("scene/zarr.json", codecs=[{"name": "unheard of"}]))
    add("codecs that are none", change=edited("scene/zarr.json", codecs="bytes"))
    add("shape of words", change=edited("scene/zarr.json", shape=["three", 4, 5]))
    add("negative shape", version=2, change=edited("scene/.zarray", shape=[-3, 4, 5]))
    add("petabytes", version=2, change=edited("scene/.zarray", shape=[10**6, 10**6, 10**4]))
    add("another type", version=2, change=edited("scene/.zarray", dtype="|O"))
    add("unknown compressor", version=2, change=edited("scene/.zarray", compressor={"id": "unheard of"}))
    pickles = [{"id": "pickle", "protocol": 5}]

    def bomb(path):
        edited("scene/.zarray", filters=pickles, compressor=None)(path)
        (path / "scene/0.0.0").write_bytes(pickle.dumps(maker.bomb))

    add("pickles", version=2, change=bomb)

    def objects(path):
        edited("scene/.zarray", filters=pickles, compressor=None, dtype="|O", fill_value=0)(path)
        (path / "scene/0.0.0").write_bytes(pickle.dumps(np.array([maker.bomb])))

    add("objects that are pickles", version=2, change=objects)
    add("scale factor of text", change=edited("scene/zarr.json", attributes={"scale_factor": "two"}))
    add("scale factor of zero", change=edited("scene/zarr.json", attributes={"scale_factor": 0}))
    add("attributes that are none", change=edited("scene/zarr.json", attributes=[1, 2]))
    add("axes that are none", axes="one,two,three")
    add("bands beyond the last", bands="9")
    path = maker.path("a file", ".zarr")
    path.write_bytes(maker.noise)
    maker.add("a file", ".zarr")
    group = zarr.open_group(str(maker.path("only groups", ".zarr")), mode="w")
    group.create_group("a").create_group("b")
    maker.add("only groups", ".zarr")


# ENVI spectral libraries.

LIBRARY = {
    "file type": "ENVI Spectral Library", "samples": 8, "lines": 6, "bands": 1, "header offset": 0,
    "data type": 5, "interleave": "bsq", "byte order": 0,
}  # fmt: skip


def libraries(maker):
    """What headers of spectral libraries may say."""
    numbers = with_entry(1.0).tobytes()

    def add(name, content=numbers, options=None, **changes):
        fields = {key: value for key, value in (LIBRARY | changes).items() if value is not None}
        text = "ENVI\n" + "\n".join(f"{key} = {value}" for key, value in fields.items()) + "\n"
        if content is not None:
            maker.path(name, ".sli").write_bytes(content)
        maker.add(name, ".hdr", text, **(options or {}))

    for cut in CUTS:
        add(f"cut at {cut:.0%}", numbers[: int(cut * len(numbers))])
    add("no data file", None)
    add("empty data file", b"")
    for value in (np.nan, np.inf, -np.inf):
        add(f"has {value}", with_entry(value).tobytes())
    for word in ("lines", "samples", "bands", "data type", "interleave", "byte order"):
        add(f"without {word}", **{word: None})
    add("two bands", bands=2, lines=3)
    add("no bands", bands=0)
    add("no lines", lines=0)
    add("negative samples", samples=-8)
    add("samples in words", samples="eight")
    add("too many spectra", lines=7)
    add("of petabytes", lines=10**9, samples=10**6)
    add("complex", **{"data type": 6})
    add("byte order 2", **{"byte order": 2})
    add("large offset", **{"header offset": 10**6})
    add("negative offset", **{"header offset": -8})
    add("compressed", **{"file compression": 1})
    add("unknown interleave", interleave="xyz")
    add("scale factor of words", **{"reflectance scale factor": "ten"})
    add("scale factor of zero", **{"reflectance scale factor": 0})
    add("scale factor of nan", **{"reflectance scale factor": "nan"})
    add("scale factors", **{"reflectance scale factor": "{1, 2}"})
    add("ignores words", **{"data ignore value": "none"})
    add("ignores two values", **{"data ignore value": "{1, 2}"})
    add("ignores everything", np.full(48, 7.0).tobytes(), **{"data ignore value": 7})
    add("open brace", wavelength="{1, 2,")
    add("axes of a library", options={"axes": "bands,lines,samples"})
    add("bands beyond the last", options={"bands": "1-9"})
    add("shape of another size", options={"shape": (2, 2)})
    add("a mask of another size", options={"mask": maker.folder / "mask.npy"})
    np.save(maker.folder / "mask.npy", np.ones((2, 2)))
