"""Samson in every format, with holes and bad bands: always the pixels and bands of the clean file."""

import os
import warnings

import numpy as np
import pytest
import rasterio
import xarray as xr
import zarr
from dask import array as da
from spectral.io import envi as spectral_envi

from sepnmf import nnls, select
from sepnmf.datasets import load_samson
from sepnmf.io import read, read_maps, write_cube

pytestmark = pytest.mark.skipif(not os.environ.get("SEPNMF_DATA"), reason="SEPNMF_DATA is not set")

TRANSFORM = rasterio.Affine(3.2, 0, 500000, 0, -3.2, 4000000)
CRS = rasterio.crs.CRS.from_epsg(32617)
BAD = np.arange(156) % 8 == 3  # 20 bands
NAMES = ["soil", "tree", "water"]


@pytest.fixture(scope="module")
def samson():
    """Numbers from 0 to 10000 as lines × samples × bands, and which pixels have data."""
    data = load_samson()
    cube = np.round(10000 * data.M.T.reshape(95, 95, 156)) + 1
    rng = np.random.default_rng(0)
    has_data = np.ones((95, 95), bool)
    clean = select(cube.reshape(-1, 156).T, 3, "spa").anchors
    lost = rng.choice(np.setdiff1d(np.arange(9025), clean), 451, replace=False)
    has_data.ravel()[lost] = False
    return cube, has_data


def with_nodata(samson, value, dtype):
    cube, has_data = samson
    cube = cube.astype(dtype)
    if value is not None:
        cube[~has_data] = value
    return cube


def with_noise(cube, has_data):
    noisy = cube.copy()
    noise = np.random.default_rng(1).integers(0, 20000, (95, 95, 156))
    where = has_data[:, :, None] & BAD
    noisy[where] = noise[where]
    return noisy


def save(folder, kind, cube, value, factor=None, bad=False):
    """A file of each format, by its own library."""
    path = folder / f"scene.{kind.partition('-')[0]}"
    if kind.startswith("hdr"):
        wkt = CRS.to_wkt(version="WKT1_ESRI")
        fields = {
            "map info": ["UTM", "1", "1", "500000", "4000000", "3.2", "3.2", "17", "North", "WGS-84"],
            "coordinate system string": wkt.split(","),
            "wavelength": [str(401 + 3.2 * k) for k in range(156)],
            "wavelength units": "Nanometers",
        }
        fields |= {} if value is None else {"data ignore value": value}
        fields |= {} if factor is None else {"reflectance scale factor": factor}
        fields |= {"bbl": (~BAD).astype(int).tolist()} if bad else {}
        interleave = kind.partition("-")[2]
        spectral_envi.save_image(
            str(path), cube, interleave=interleave, ext=".img", metadata=fields, dtype=cube.dtype
        )
        return path
    if kind == "tif":
        profile = {
            "driver": "GTiff",
            "dtype": cube.dtype,
            "count": 156,
            "height": 95,
            "width": 95,
            "nodata": value,
        }
        with rasterio.open(path, "w", crs=CRS, transform=TRANSFORM, **profile) as image:
            image.write(cube.transpose(2, 0, 1))
            if factor:
                image.scales = (1 / factor,) * 156
        return path
    dims = ("band", "y", "x") if kind.endswith("first") else ("y", "x", "band")
    array = xr.DataArray(
        cube.transpose(2, 0, 1) if dims[0] == "band" else cube,
        dims=dims,
        coords={
            "x": ("x", 500001.6 + 3.2 * np.arange(95)),
            "y": ("y", 3999998.4 - 3.2 * np.arange(95)),
            "wavelength": ("band", 401 + 3.2 * np.arange(156), {"units": "nm"}),
            "good_wavelengths": ("band", (~BAD if bad else ~(BAD & False)).astype("u1")),
            "spatial_ref": ((), 0, {"crs_wkt": CRS.to_wkt()}),
        },
        attrs={"grid_mapping": "spatial_ref"}
        | ({} if value is None else {"_FillValue": cube.dtype.type(value)}),
    )
    if factor:
        array.attrs["scale_factor"] = 1 / factor
    content = array.to_dataset(name="scene")
    if kind.startswith("nc"):
        content.to_netcdf(path, engine="h5netcdf")
    else:
        content.chunk({"y": 10, "x": -1, "band": -1}).to_zarr(path, zarr_format=2)
    return path


FORMATS = ["hdr-bsq", "hdr-bip", "tif", "nc-first", "nc-last", "zarr-first", "zarr-last"]
VALUES = [(65535, "u2"), (-9999, "i2"), (np.nan, "f4"), (-9999, "f4")]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("value", "dtype"), VALUES)
@pytest.mark.parametrize("kind", FORMATS)
def test_the_pixels_and_bands_are_those_of_the_clean_file(tmp_path, samson, kind, value, dtype, lazy):
    clean, has_data = samson
    cube = with_noise(with_nodata(samson, value, dtype), has_data)
    path = save(tmp_path, kind, cube, value, factor=10000, bad=kind != "tif")
    options = {"in_parts": True} if lazy else {"memory": "700MB"}
    bands = ",".join(str(k + 1) for k in np.flatnonzero(~BAD)) if kind == "tif" else None
    data = read(path, bands=bands, **options)
    assert isinstance(data.M, da.Array) == lazy
    np.testing.assert_array_equal(data.mask, has_data.ravel())
    np.testing.assert_array_equal(data.row_mask, ~BAD)
    expected = clean.reshape(-1, 156).T[np.ix_(~BAD, has_data.ravel())] / 10000
    found = np.asarray(data.M)[np.ix_(~BAD, has_data.ravel())]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    shown = "NaN" if np.isnan(value) else str(value)
    reason = {"hdr": "bbl", "tif": "--bands"}.get(path.suffix[1:], "good_wavelengths")
    assert data.left_out == (
        f"20 of 156 bands are left out: {reason}.",
        f"451 of 9,025 pixels are left out: nodata ({shown}).",
    )
    assert data.image_shape == (95, 95)
    assert rasterio.crs.CRS.from_wkt(data.crs_wkt) == CRS
    np.testing.assert_allclose(data.transform, tuple(TRANSFORM)[:6])
    if kind != "tif":
        np.testing.assert_allclose(data.wavelengths, 401 + 3.2 * np.arange(156))
        assert data.wavelength_unit in ("nm", "Nanometers")
    sel = select(data.matrix(), 3, "spa")
    masked = select(clean.reshape(-1, 156).T[~BAD] / 10000, 3, "spa", mask=has_data.ravel())
    np.testing.assert_array_equal(sel.anchors, masked.anchors)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("kind", FORMATS)
def test_anchors_are_those_of_the_file_without_holes_and_maps_keep_these(tmp_path, samson, kind, lazy):
    clean, has_data = samson
    M = clean.reshape(-1, 156).T
    path = save(tmp_path, kind, with_nodata(samson, -9999, "i2"), -9999)
    data = read(path, in_parts=lazy)
    matrix = data.matrix()
    sel = select(matrix, 3, "spa")
    np.testing.assert_array_equal(sel.anchors, select(M, 3, "spa").anchors)
    H = nnls(matrix.take(matrix.positions(sel.anchors)), matrix)
    maps = write_cube(tmp_path / "maps", H, data, NAMES)
    holes = ~has_data
    expected = nnls(M[:, sel.anchors], M).reshape(3, 95, 95)
    expected[:, holes] = np.nan
    np.testing.assert_allclose(read_maps(maps, 1), expected, atol=1e-5)
    if kind.startswith("hdr"):
        image = spectral_envi.open(str(maps))
        assert image.metadata["data ignore value"] == "-9999"
        found = np.asarray(image.open_memmap(interleave="bip"))
        np.testing.assert_array_equal(found[holes], -9999)
        with rasterio.open(maps.with_suffix(".img")) as opened:  # GDAL reads ENVI too
            assert opened.nodata == -9999
            assert opened.crs == CRS
            np.testing.assert_allclose(tuple(opened.transform), tuple(TRANSFORM))
    elif kind == "tif":
        with rasterio.open(maps) as opened:
            assert opened.nodata == -9999
            assert (opened.crs, opened.transform) == (CRS, TRANSFORM)
            np.testing.assert_array_equal(opened.read_masks(1) == 0, holes)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = xr.open_dataset(maps, engine="h5netcdf") if kind.startswith("nc") else xr.open_zarr(maps)
        with opened, xr.open_dataset(path, engine="h5netcdf" if kind.startswith("nc") else "zarr") as scene:
            np.testing.assert_array_equal(np.isnan(opened["abundances"][0]), holes)
            assert rasterio.crs.CRS.from_wkt(opened["spatial_ref"].attrs["crs_wkt"]) == CRS
            for name in ("x", "y"):
                np.testing.assert_array_equal(opened[name], scene[name])


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("order", ["lsb", "bls"])
@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_plain_arrays_take_axes_and_nodata_as_options(tmp_path, samson, kind, order, lazy):
    clean, has_data = samson
    cube = np.ascontiguousarray(
        with_nodata(samson, np.nan, "f8").transpose(["lsb".index(axis) for axis in order])
    )
    path = tmp_path / f"a.{kind}"
    if kind == "npy":
        np.save(path, cube)
    else:
        zarr.create_array(str(path), data=cube, chunks=(20, 95, 95))
    axes = {"lsb": "lines,samples,bands", "bls": "bands,lines,samples"}[order]
    data = read(path, axes=axes, nodata="nan", in_parts=lazy)
    np.testing.assert_array_equal(data.mask, has_data.ravel())
    sel = select(data.matrix(), 3, "spa")
    np.testing.assert_array_equal(sel.anchors, select(clean.reshape(-1, 156).T, 3, "spa").anchors)
    (said,) = read(path, axes=axes, in_parts=lazy).warnings
    assert said.endswith("pixels have NaN: if it is nodata, pass --nodata nan.") or lazy


@pytest.fixture(scope="module")
def auto_anchors(samson):
    """Anchors of auto on the clean matrix without bad bands and holes, and on the whole matrix."""
    cube, has_data = samson
    M = cube.reshape(-1, 156).T
    restricted = select(np.ascontiguousarray(M[np.ix_(~BAD, has_data.ravel())]), 3).anchors
    return np.flatnonzero(has_data.ravel())[restricted], select(M, 3).anchors


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("kind", "value", "dtype"), [("hdr-bip", 65535, "u2"), ("nc-first", np.nan, "f4")])
def test_auto_chooses_the_pixels_of_the_clean_matrix(
    tmp_path, samson, auto_anchors, kind, value, dtype, lazy
):
    cube = with_noise(with_nodata(samson, value, dtype), samson[1])
    path = save(tmp_path, kind, cube, value, factor=10000, bad=True)
    found = select(read(path, in_parts=lazy).matrix(), 3).anchors
    np.testing.assert_array_equal(found, auto_anchors[0])


@pytest.mark.slow
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("kind", "factor"), [("tif", 10000), ("zarr-last", 3)])
def test_a_scale_factor_does_not_change_the_pixels_of_auto(
    tmp_path, samson, auto_anchors, kind, factor, lazy
):
    path = save(tmp_path, kind, samson[0].astype("u2"), None, factor=factor)
    np.testing.assert_array_equal(select(read(path, in_parts=lazy).matrix(), 3).anchors, auto_anchors[1])
