"""GeoTIFF: what rasterio writes is read, and what is written has its place on the ground for rasterio."""

import pickle
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
import rasterio
from dask import array as da
from rasterio.control import GroundControlPoint
from rasterio.enums import ColorInterp

from sepnmf.io import _geotiff as geotiff
from sepnmf.io import read, read_maps, write_cube

RNG = np.random.default_rng(0)
LINES, SAMPLES, BANDS = 7, 9, 5
CUBE = RNG.integers(1, 1000, (BANDS, LINES, SAMPLES))
BY_PIXEL = CUBE.reshape(BANDS, -1)
TRANSFORM = rasterio.Affine(30, 0, 500000, 0, -20, 4000000)
HOLES = np.zeros((LINES, SAMPLES), bool)
HOLES[2, 3:6] = HOLES[6, 8] = True


def save(path, cube=CUBE, then=lambda image: None, **profile):
    """A GeoTIFF file of bands × lines × samples."""
    profile = {"crs": "EPSG:32611", "transform": TRANSFORM, "dtype": cube.dtype} | profile
    count, height, width = cube.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(
            path, "w", driver="GTiff", count=count, height=height, width=width, **profile
        ) as image:
            image.write(cube)
            then(image)
    return path


def both_ways(path, **options):
    lazy = read(path, in_parts=True, **options)
    assert isinstance(lazy.M, da.Array)
    return read(path, **options), lazy


def numbers(M):
    return M.compute(scheduler="single-threaded") if isinstance(M, da.Array) else np.asarray(M)


@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "u4", "i4", "f4", "f8"])
@pytest.mark.parametrize(
    "profile",
    [
        {},
        {"interleave": "pixel", "compress": "deflate"},
        {"tiled": True, "blockxsize": 16, "blockysize": 16, "compress": "lzw"},
        {"blockysize": 3},
    ],
)
def test_bands_lines_and_samples_are_read(tmp_path, dtype, profile):
    cube = (CUBE % 250).astype(dtype)
    path = save(tmp_path / "a.tif", cube, **profile)
    for data in both_ways(path):
        np.testing.assert_array_equal(numbers(data.M), cube.reshape(BANDS, -1))
        assert data.M.dtype == cube.dtype
        assert (data.image_shape, data.image_order, data.file) == ((LINES, SAMPLES), "C", path)
        assert rasterio.crs.CRS.from_wkt(data.crs_wkt).to_epsg() == 32611
        assert data.transform == tuple(TRANSFORM)[:6]
        assert (data.mask, data.row_mask, data.nodata, data.row_names) == (None, None, None, ())


@pytest.mark.parametrize(
    ("names", "wavelengths", "unit"),
    [
        ([f"{450.2 + 10 * k:.1f} nm" for k in range(BANDS)], [450.2 + 10 * k for k in range(BANDS)], "nm"),
        ([f"Band {k + 1} (0.{k + 4} µm)" for k in range(BANDS)], [0.4, 0.5, 0.6, 0.7, 0.8], "µm"),
        (
            [f"B{k}: {400 + k},5 Nanometers" for k in range(BANDS)],
            [400.5 + k for k in range(BANDS)],
            "nanometers",
        ),
        ([f"{450 + k} m" for k in range(BANDS)], [], ""),
        (["450 nm", "460 nm", "0.5 µm", "480 nm", "490 nm"], [], ""),
        (["450 nm", "460 nm", "470 nm", "480 nm", "480 nm"], [], ""),
        (["450 nm", "460 nm", "470 nm", "480 nm", "slope"], [], ""),
    ],
)
def test_names_of_bands_that_end_with_wavelengths_give_these(tmp_path, names, wavelengths, unit):
    def name_bands(image):
        image.descriptions = names

    data = read(save(tmp_path / "a.tif", then=name_bands))
    assert data.row_names == tuple(names)
    np.testing.assert_allclose(data.wavelengths, wavelengths)
    assert data.wavelength_unit == unit


def test_lines_are_read_by_whoever_needs_them(tmp_path, monkeypatch):
    save(tmp_path / "a.TIFF", blockysize=2)
    monkeypatch.chdir(tmp_path)
    lazy = geotiff.read_geotiff(geotiff.Path("a.TIFF"), large=0, chunk=8 * BANDS * SAMPLES * 3).M
    assert lazy.chunks == ((BANDS,), (18, 18, 18, 9))  # of two lines, which are stored together
    monkeypatch.chdir("/")
    found = pickle.loads(pickle.dumps(lazy)).compute(scheduler="single-threaded")
    np.testing.assert_array_equal(found, BY_PIXEL)


@pytest.mark.parametrize(
    ("dtype", "nodata"),
    [("u2", 65535), ("i2", -9999), ("f4", -9999), ("f4", np.nan), ("f4", -3.4028234663852886e38)],
)
def test_nodata_of_the_file_is_left_out(tmp_path, dtype, nodata):
    cube = CUBE.astype(dtype)
    cube[:, HOLES] = nodata
    save(tmp_path / "a.tif", cube, nodata=nodata)
    for data in both_ways(tmp_path / "a.tif"):
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        np.testing.assert_equal(data.nodata, nodata)
        assert data.left_out[0].startswith("4 of 63 pixels are left out: nodata (")


def test_a_mask_in_the_file_is_used(tmp_path):
    def mask(image):
        image.write_mask(~HOLES)

    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        save(tmp_path / "a.tif", CUBE.astype("u2"), mask)
    for data in both_ways(tmp_path / "a.tif"):
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        assert data.left_out == ("4 of 63 pixels are left out: the mask in the file.",)


def test_transparency_is_a_mask_and_no_band(tmp_path):
    def colours(image):
        image.colorinterp = [ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.alpha]

    cube = (CUBE[:4] % 200 + 1).astype("u1")
    cube[3] = np.where(HOLES, 0, 255)
    save(tmp_path / "a.tif", cube, colours)
    for data in both_ways(tmp_path / "a.tif"):
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        np.testing.assert_array_equal(data.row_mask, [True, True, True, False])


def test_scales_offsets_names_and_wavelengths_are_used(tmp_path):
    def describe(image):
        image.scales, image.offsets = (0.5, 0.25, 1, 2, 1e-4), (0, 1, 2, 3, 4)
        image.descriptions = ("blue", None, "red", "nir", "swir")
        for band in range(1, BANDS + 1):
            image.update_tags(band, wavelength=str(400 + 10 * band), wavelength_units="Nanometers")

    cube = CUBE.astype("i2")
    cube[:, HOLES] = -1
    save(tmp_path / "a.tif", cube, describe, nodata=-1)
    gain, offset = np.array([0.5, 0.25, 1, 2, 1e-4]), np.arange(5.0)
    for data in both_ways(tmp_path / "a.tif"):
        expected = cube.reshape(BANDS, -1) * gain[:, None] + offset[:, None]
        np.testing.assert_allclose(numbers(data.M), expected, rtol=1e-15)
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())  # -1 is the number before it is scaled
        assert data.row_names == ("blue", "band 2", "red", "nir", "swir")
        assert data.wavelengths == (410, 420, 430, 440, 450)
        assert data.wavelength_unit == "Nanometers"


def test_wavelengths_may_be_imagery_tags(tmp_path):
    def describe(image):
        for band in range(1, BANDS + 1):
            image.update_tags(band, ns="IMAGERY", CENTRAL_WAVELENGTH_UM=str(band / 10))

    save(tmp_path / "a.tif", then=describe)
    data = read(tmp_path / "a.tif")
    assert (data.wavelengths, data.wavelength_unit) == ((0.1, 0.2, 0.3, 0.4, 0.5), "Micrometers")
    save(tmp_path / "b.tif", then=lambda image: image.update_tags(1, wavelength="x"))
    assert read(tmp_path / "b.tif").wavelengths == ()


# EnMAP.


def save_enmap(folder, bands=BANDS, background=True, cube=CUBE, level="L2A", detector="", channels=()):
    """A product as the ground segment delivers it: an image of int16 and its metadata."""
    root = ElementTree.Element("level_X")
    images = ElementTree.SubElement(ElementTree.SubElement(root, "product"), "image")
    for name, count in zip(("vnir", "swir"), channels, strict=False):
        ElementTree.SubElement(ElementTree.SubElement(images, name), "channels").text = str(count)
    specific = ElementTree.SubElement(root, "specific")
    characters = ElementTree.SubElement(specific, "bandCharacterisation")
    for k in range(bands):
        band = ElementTree.SubElement(characters, "bandID", number=str(k + 1))
        for name, value in [
            ("wavelengthCenterOfBand", 418.416 + 5 * k),
            ("FWHMOfBand", 6.99561),
            ("GainOfBand", 0.0001 * (k + 1 if channels else 1)),
            ("OffsetOfBand", 0),
        ]:
            ElementTree.SubElement(band, name).text = str(value)
    if background:
        ElementTree.SubElement(specific, "backgroundValue").text = "-32768"
    stem = f"ENMAP01-____{level}-DT0000001049_20220612T105735Z_028_V010303_20230922T131826Z"
    ElementTree.ElementTree(root).write(
        folder / f"{stem}-METADATA.XML", encoding="utf-8", xml_declaration=True
    )
    values = cube.astype("i2")
    values[:, HOLES] = -32768
    return save(folder / f"{stem}-SPECTRAL_IMAGE{detector}.TIF", values), values


@pytest.mark.parametrize("background", [True, False])
def test_products_of_enmap_are_read_with_their_metadata(tmp_path, background):
    path, values = save_enmap(tmp_path, background=background)
    for data in both_ways(path):
        np.testing.assert_allclose(numbers(data.M), values.reshape(BANDS, -1) * 0.0001, rtol=1e-15)
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        np.testing.assert_allclose(data.wavelengths, 418.416 + 5 * np.arange(BANDS))
        assert (data.wavelength_unit, data.nodata) == ("nm", -32768)
        assert data.left_out == ("4 of 63 pixels are left out: nodata (-32768).",)


@pytest.mark.parametrize(
    ("detector", "channels", "first"), [("_VNIR", (BANDS, 7), 0), ("_SWIR", (4, BANDS), 4)]
)
def test_images_of_one_detector_of_enmap_are_read_with_the_metadata_of_its_bands(
    tmp_path, detector, channels, first
):
    path, values = save_enmap(tmp_path, sum(channels), level="L1B", detector=detector, channels=channels)
    numbers_of_bands = first + np.arange(BANDS)
    expected = values.reshape(BANDS, -1) * 0.0001 * (numbers_of_bands[:, None] + 1)
    for data in both_ways(path):
        np.testing.assert_allclose(numbers(data.M), expected, rtol=1e-15)
        np.testing.assert_allclose(data.wavelengths, 418.416 + 5 * numbers_of_bands)
        assert data.left_out == ("4 of 63 pixels are left out: nodata (-32768).",)


@pytest.mark.parametrize("channels", [(), (BANDS,), (BANDS, 3)])
def test_metadata_that_do_not_say_which_bands_a_detector_has_are_not_used(tmp_path, channels):
    path, values = save_enmap(tmp_path, BANDS + 2, level="L1B", detector="_VNIR", channels=channels)
    data = read(path)
    assert data.warnings[0].endswith(" has 0 bands of VNIR, and the image 5: it is not used.")
    np.testing.assert_array_equal(data.M, values.reshape(BANDS, -1))


def test_metadata_of_other_bands_are_not_used(tmp_path):
    path, values = save_enmap(tmp_path, bands=BANDS + 1)
    data = read(path)
    assert "has 6 bands, and the image 5: it is not used." in data.warnings[0]
    np.testing.assert_array_equal(data.M, values.reshape(BANDS, -1))


# Maps.

H = RNG.random((2, LINES * SAMPLES))
H[:, HOLES.ravel()] = np.nan
NAMES = ["soil", "water, {deep} = é"]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("dtype", "nodata", "kept"),
    [
        ("i2", -32768, -32768),
        ("u2", 65535, -9999),
        ("f4", np.nan, np.nan),
        ("f4", 0, -9999),
        ("i2", None, None),
    ],
)
def test_maps_of_geotiff_are_geotiff_on_the_same_ground(tmp_path, lazy, dtype, nodata, kept):
    cube = CUBE.astype(dtype)
    weights = H
    if nodata is None:
        weights = np.nan_to_num(H)
    else:
        cube[:, HOLES] = nodata
    like = read(save(tmp_path / "a.tif", cube, nodata=nodata))
    given = da.from_array(weights, chunks=(1, 10)) if lazy else weights
    path = write_cube(tmp_path / "maps", given, like, NAMES)
    assert path == tmp_path / "maps.tif"
    with rasterio.open(path) as image:
        assert image.crs.to_epsg() == 32611
        assert image.transform == TRANSFORM
        np.testing.assert_equal(image.nodata, kept)
        assert image.descriptions == tuple(NAMES)
        assert image.dtypes == ("float32", "float32")
        found = image.read(masked=True)
        np.testing.assert_array_equal(np.ma.getmaskarray(found[0]), HOLES if nodata is not None else False)
        np.testing.assert_array_equal(found.filled(np.nan), weights.reshape(2, LINES, SAMPLES).astype("f4"))
    again = read(path)
    assert again.row_names == tuple(NAMES)
    if nodata is not None:
        np.testing.assert_array_equal(again.mask, ~HOLES.ravel())
    for step in (1, 2, 3):
        expected = weights.reshape(2, LINES, SAMPLES)[:, ::step, ::step].astype("f4")
        np.testing.assert_array_equal(read_maps(path, step), expected)
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["a.tif", "maps.tif"]


@pytest.mark.parametrize("shape", [(1, 1), (3, 300_000), (700, 600)])
def test_maps_of_any_size_are_in_one_piece(tmp_path, shape):
    like = read(save(tmp_path / "a.tif", np.ones((1, *shape), "u1")))
    weights = np.arange(3 * shape[0] * shape[1], dtype="f4").reshape(3, -1)
    path = write_cube(tmp_path / "maps", da.from_array(weights, chunks=(3, 100_000)), like, list("abc"))
    with rasterio.open(path) as image:
        np.testing.assert_array_equal(image.read().reshape(3, -1), weights)


def test_ground_control_points_are_kept(tmp_path):
    points = [
        GroundControlPoint(row=r, col=c, x=10 + c, y=50 - r) for r, c in [(0, 0), (0, 8), (6, 0), (6, 8)]
    ]
    save(tmp_path / "a.tif", crs="EPSG:4326", transform=None, gcps=points)
    path = write_cube(tmp_path / "maps", np.nan_to_num(H), read(tmp_path / "a.tif"), NAMES)
    with rasterio.open(path) as image:
        found, crs = image.gcps
    assert crs.to_epsg() == 4326
    assert [(p.row, p.col, p.x, p.y) for p in found] == [(p.row, p.col, p.x, p.y) for p in points]


def test_an_image_without_a_place_is_read_and_written_without_a_warning(tmp_path):
    save(tmp_path / "a.tif", crs=None, transform=None)
    data = read(tmp_path / "a.tif")
    assert (data.crs_wkt, data.transform) == ("", None)
    path = write_cube(tmp_path / "maps", np.nan_to_num(H), data, NAMES)
    assert read(path).crs_wkt == ""


def test_a_version_that_does_not_write_in_one_piece_is_noticed(tmp_path, monkeypatch):
    like = read(save(tmp_path / "a.tif"))
    monkeypatch.setattr(geotiff, "STRIP", 1)
    write_cube(tmp_path / "maps", np.nan_to_num(H), like, NAMES)
    real = rasterio.open

    def compressed(file, mode="r", **profile):
        return real(file, mode, **(profile | ({"compress": "deflate"} if mode == "w" else {})))

    monkeypatch.setattr(rasterio, "open", compressed)
    with pytest.raises(OSError, match="was not created in one piece"):
        write_cube(tmp_path / "maps", np.nan_to_num(H), like, NAMES)


def test_every_band_may_have_its_own_nodata_value(tmp_path):
    cube = np.arange(1, 3 * 4 * 5 + 1, dtype="i2").reshape(3, 4, 5)
    cube[0, 0, 1], cube[1, 2, 2] = -1, 33
    cube[2, 3, :3] = -1, 33, 0  # which are data in this band
    save(tmp_path / "a.tif", cube)
    bands = "".join(
        f'<PAMRasterBand band="{k}"><NoDataValue>{value}</NoDataValue></PAMRasterBand>'
        for k, value in ((1, -1), (2, 33))
    )
    (tmp_path / "a.tif.aux.xml").write_text(f"<PAMDataset>{bands}</PAMDataset>")
    expected = (cube[0] != -1) & (cube[1] != 33)
    for data in both_ways(tmp_path / "a.tif"):
        np.testing.assert_array_equal(data.picture(data.mask), expected)
        assert data.left_out == ("2 of 20 pixels are left out: nodata (-1 or 33).",)
    for data in both_ways(tmp_path / "a.tif", nodata=-1):
        np.testing.assert_array_equal(data.picture(data.mask), (cube != -1).all(axis=0))


@pytest.mark.parametrize("bands", [2, 3, 5])
def test_transparency_is_a_mask_in_any_band(tmp_path, bands):
    cube = (CUBE[:bands] % 200 + 1).astype("u1")
    cube[1] = np.where(HOLES, 0, 255)  # GDAL's alpha is the first band behind grey
    cube[1, 0, :3] = 100  # half transparent
    save(tmp_path / "a.tif", cube, photometric="MINISBLACK", alpha="YES")
    for data in both_ways(tmp_path / "a.tif"):
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        np.testing.assert_array_equal(data.row_mask, np.arange(bands) != 1)
        assert data.left_out[0] == "4 of 63 pixels are left out: transparency (alpha)."


def test_a_fourth_band_that_is_called_transparency_by_default_is_a_measurement(tmp_path):
    cube = (CUBE[:4] % 200 + 1).astype("u1")
    cube[3, 2, 2] = 0
    save(tmp_path / "a.tif", cube)  # GDAL declares alpha
    with rasterio.open(tmp_path / "a.tif") as image:
        assert image.colorinterp[3] == ColorInterp.alpha
    for data in both_ways(tmp_path / "a.tif"):
        np.testing.assert_array_equal(numbers(data.M), cube.reshape(4, -1))
        assert data.mask is None
        assert data.row_mask is None
        assert data.assumptions == (
            "Band 4 is declared as transparency (alpha) but has many values, and is taken as a measurement; "
            "--bands 1,2,3 leaves it out.",
        )


def test_a_band_that_looks_like_an_undeclared_transparency_is_named(tmp_path):
    cube = CUBE[:5].astype("u1") % 200 + 1
    cube[4] = np.where(HOLES, 0, 255)
    save(tmp_path / "a.tif", cube)
    for data in both_ways(tmp_path / "a.tif"):
        assert data.warnings[0] == (
            "Band 5 has no other values than 0 and 255, as a transparency (alpha) has: if it is no "
            "measurement, pass --bands 1-4."
        )
    cube[:] = np.where(cube > 100, 255, 0)
    save(tmp_path / "b.tif", cube)
    assert not read(tmp_path / "b.tif").warnings
