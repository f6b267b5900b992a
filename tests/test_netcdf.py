"""NetCDF, HDF5 and Zarr groups: what xarray and h5py write is read, and what is written has its place."""

import errno
import os
import pickle
import warnings

import h5netcdf
import h5py
import numpy as np
import pytest
import xarray as xr
import zarr
from dask import array as da
from scipy.io import netcdf_file

from sepnmf.io import read, read_maps, write_cube
from sepnmf.io._containers import NetCDF3
from sepnmf.io._scenes import read_scene

RNG = np.random.default_rng(0)
LINES, SAMPLES, BANDS = 7, 9, 5
CUBE = RNG.integers(1, 1000, (LINES, SAMPLES, BANDS)).astype("f4")
BY_PIXEL = CUBE.reshape(-1, BANDS).T
HOLES = np.zeros((LINES, SAMPLES), bool)
HOLES[2, 3:6] = HOLES[6, 8] = True
WKT = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],UNIT["degree",0.0174532925]]'
)
KINDS = ["h5netcdf", "scipy", "zarr2", "zarr3"]


def dataset(dims=("band", "y", "x"), holes=False, name="reflectance"):
    """A scene as rioxarray makes it: coordinates, wavelengths, a reference system."""
    axes = ["lsb".index({"band": "b", "y": "l", "x": "s"}[dim]) for dim in dims]
    cube = CUBE.copy()
    if holes:
        cube[HOLES] = np.nan
    array = xr.DataArray(
        cube.transpose(axes),
        dims=dims,
        coords={
            "x": ("x", 500015 + 30.0 * np.arange(SAMPLES), {"units": "m", "axis": "X"}),
            "y": ("y", 3999990 - 20.0 * np.arange(LINES), {"units": "m", "axis": "Y"}),
            "wavelength": ("band", 400 + 10.0 * np.arange(BANDS), {"units": "nm"}),
            "spatial_ref": ((), 0, {"crs_wkt": WKT, "spatial_ref": WKT}),
        },
        attrs={"grid_mapping": "spatial_ref"},
        name=name,
    )
    return array.to_dataset()


def save(folder, kind, content, encoding=None, **options):
    """The file that xarray writes."""
    encoding = {"reflectance": encoding or {}}
    if kind.startswith("zarr"):
        path, version = folder / "a.zarr", int(kind[-1])
        content.to_zarr(path, zarr_format=version, consolidated=version == 2, encoding=encoding, mode="w")
    else:
        path = folder / "a.nc"
        content.to_netcdf(path, engine=kind, encoding=encoding, **options)
    return path


def both_ways(path, **options):
    lazy = read(path, in_parts=True, **options)
    assert isinstance(lazy.M, da.Array)
    return read(path, **options), lazy


def numbers(M):
    return M.compute(scheduler="single-threaded") if isinstance(M, da.Array) else np.asarray(M)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", [("band", "y", "x"), ("y", "x", "band"), ("y", "band", "x")])
def test_files_of_xarray_are_read_with_all_they_know(tmp_path, kind, dims):
    path = save(tmp_path, kind, dataset(dims))
    for data in both_ways(path):
        np.testing.assert_array_equal(numbers(data.M), BY_PIXEL)
        assert data.M.dtype == np.float32
        assert (data.image_shape, data.image_order, data.variable) == ((LINES, SAMPLES), "C", "reflectance")
        assert data.wavelengths == (400, 410, 420, 430, 440)
        assert (data.wavelength_unit, data.crs_wkt) == ("nm", WKT)
        np.testing.assert_allclose(data.transform, (30, 0, 500000, 0, -20, 4000000))
        assert (data.assumptions, data.mask, data.left_out) == ((), None, ())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "encoding",
    [
        {},
        {"_FillValue": np.float32(-9999)},
        {"dtype": "i2", "_FillValue": -9999, "scale_factor": 0.5, "add_offset": 100.0},
        {"dtype": "u2", "_FillValue": 65535},
    ],
    ids=["nan", "float", "scaled", "unsigned"],
)
def test_what_xarray_calls_missing_is_left_out(tmp_path, kind, encoding):
    if kind == "scipy" and encoding.get("dtype") == "u2":
        pytest.skip("NetCDF of version 3 has no unsigned numbers")
    path = save(tmp_path, kind, dataset(holes=True), encoding)
    opened = xr.open_zarr(path, consolidated=False) if kind.startswith("zarr") else xr.open_dataset(path)
    with opened:
        expected = opened["reflectance"].transpose("band", "y", "x").to_numpy().reshape(BANDS, -1)
    for data in both_ways(path):
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        np.testing.assert_allclose(numbers(data.M)[:, data.mask], expected[:, data.mask], rtol=1e-6)
        np.testing.assert_equal(data.nodata, float(encoding.get("_FillValue", np.nan)))
        assert data.left_out[0].startswith("4 of 63 pixels are left out: nodata (")


@pytest.mark.parametrize("kind", ["h5netcdf", "zarr3"])
def test_a_file_may_have_a_time_of_one_entry_and_other_variables(tmp_path, kind):
    content = dataset().expand_dims(time=[3.0])
    content["quality"] = (("time", "y", "x"), np.ones((1, LINES, SAMPLES)))
    content["number"] = ("time", [7])
    path = save(tmp_path, kind, content)
    for data in both_ways(path):
        np.testing.assert_array_equal(numbers(data.M), BY_PIXEL)
    content["other"] = content["reflectance"] * 2
    path = save(tmp_path, kind, content)
    with pytest.raises(
        ValueError, match=r"contains several matrices, .*'other' .*: choose one with --variable"
    ):
        read(path)
    np.testing.assert_array_equal(read(path, variable="/other").M, 2 * BY_PIXEL)
    with pytest.raises(
        ValueError, match=r"has no variable 'nothing' but .*'reflectance' \(5 × 7 × 9, float32\)"
    ):
        read(path, variable="nothing")


def test_band_names_are_read(tmp_path):
    names = [f"é{k}" for k in range(BANDS)]
    for kind in ("h5netcdf", "zarr2"):
        path = save(tmp_path, kind, dataset().assign_coords(band=names))
        assert read(path).row_names == tuple(names)
    content = dataset()
    content["reflectance"].attrs["long_name"] = names
    assert read(save(tmp_path, "h5netcdf", content)).row_names == tuple(names)


@pytest.mark.parametrize("first", [401.5, 1.0])
def test_numbers_along_the_bands_name_them_unless_they_just_count(tmp_path, first):
    """Without a unit they may be wavelengths or not, and are kept as names."""
    step = 1.0 if first == 1 else 3.1
    bands = first + step * np.arange(4)
    cube = xr.DataArray(np.random.default_rng(0).random((4, 3, 5)), dims=("band", "y", "x"))
    cube.assign_coords(band=bands).rename("r").to_dataset().to_netcdf(tmp_path / "s.nc", engine="h5netcdf")
    data = read(tmp_path / "s.nc")
    assert data.row_names == (() if first == 1 else ("401.5", "404.6", "407.7", "410.8"))


def test_chunks_are_read_by_whoever_needs_them(tmp_path, monkeypatch):
    content = dataset(("y", "x", "band"))
    monkeypatch.chdir(tmp_path)
    for kind, reader in (("h5netcdf", read_scene), ("scipy", read_scene), ("zarr2", read_scene)):
        save(tmp_path, kind, content)
        name = "a.zarr" if kind == "zarr2" else "a.nc"
        lazy = reader(tmp_path.__class__(name), large=0, chunk=8 * BANDS * SAMPLES * 3).M
        assert len(lazy.chunks[0]) == 1
        assert len(lazy.chunks[1]) == 3
        monkeypatch.chdir("/")
        found = pickle.loads(pickle.dumps(lazy)).compute(scheduler="single-threaded")
        np.testing.assert_array_equal(found, BY_PIXEL)
        monkeypatch.chdir(tmp_path)


def test_a_matrix_of_spectra_has_bands_as_rows(tmp_path):
    content = xr.Dataset(
        {"spectra": (("sample", "wavelength"), CUBE[0])},
        coords={"wavelength": ("wavelength", np.arange(5.0), {"units": "um"})},
    )
    content.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    for data in both_ways(tmp_path / "a.nc"):
        np.testing.assert_array_equal(numbers(data.M), CUBE[0].T)
        assert (data.image_shape, data.wavelength_unit) == (None, "um")
    assert write_cube(tmp_path / "maps", np.ones((2, SAMPLES)), data, ["a", "b"]).name == "maps.csv"


# EMIT.


def save_emit(path, swath=True):
    """A granule of reflectance as NASA delivers it: groups for the bands and for the place of each pixel."""
    cube = CUBE / 1000
    cube[HOLES] = -9999
    cube[:, :, 3] = -0.01
    cube[HOLES] = -9999
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {
            "downtrack": LINES,
            "crosstrack": SAMPLES,
            "bands": BANDS,
            "ortho_y": 8,
            "ortho_x": 10,
        }
        file.attrs["spatial_ref"] = WKT
        file.attrs["geotransform"] = np.array([10.0, 0.1, 0, 50, 0, -0.1])
        variable = file.create_variable(
            "reflectance",
            ("downtrack", "crosstrack", "bands"),
            "f4",
            cube,
            fillvalue=np.float32(-9999),
            chunks=(3, 4, 5),
        )
        variable.attrs["units"] = "unitless"
        bands = file.create_group("sensor_band_parameters")
        wavelengths = bands.create_variable("wavelengths", ("bands",), "f4", 381 + 7.5 * np.arange(BANDS))
        wavelengths.attrs["units"] = "nm"
        bands.create_variable("fwhm", ("bands",), "f4", np.full(BANDS, 8.4))
        bands.create_variable("good_wavelengths", ("bands",), "f4", np.array([1, 1, 1, 0, 1]))
        place = file.create_group("location")
        for name in ("lon", "lat", "elev"):
            place.create_variable(name, ("downtrack", "crosstrack"), "f8", RNG.random((LINES, SAMPLES)))
        for name in ("glt_x", "glt_y"):
            place.create_variable(name, ("ortho_y", "ortho_x"), "i4", np.ones((8, 10), "i4"))
    return cube


def test_granules_of_emit_are_read(tmp_path):
    cube = save_emit(tmp_path / "EMIT_L2A_RFL_001.nc")
    for data in both_ways(tmp_path / "EMIT_L2A_RFL_001.nc"):
        np.testing.assert_array_equal(numbers(data.M), cube.reshape(-1, BANDS).T)
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        np.testing.assert_array_equal(data.row_mask, [True, True, True, False, True])
        np.testing.assert_allclose(data.wavelengths, 381 + 7.5 * np.arange(BANDS))
        assert (data.variable, data.wavelength_unit, data.nodata) == ("reflectance", "nm", -9999)
        assert (data.crs_wkt, data.transform, data.assumptions) == (WKT, None, ())
        assert data.left_out == (
            "1 of 5 bands are left out: good_wavelengths.",
            "4 of 63 pixels are left out: nodata (-9999).",
        )
    assert read(tmp_path / "EMIT_L2A_RFL_001.nc", variable="location/elev").M.shape == (LINES, SAMPLES)


def test_maps_of_emit_have_latitudes_and_longitudes(tmp_path):
    save_emit(tmp_path / "a.nc")
    path = write_cube(tmp_path / "maps", H, read(tmp_path / "a.nc"), NAMES)
    with xr.open_dataset(path) as found, xr.open_dataset(tmp_path / "a.nc", group="location") as place:
        assert found["abundances"].dims == ("anchor", "downtrack", "crosstrack")
        for name in ("lon", "lat"):
            np.testing.assert_array_equal(found[name], place[name])
        assert found["spatial_ref"].attrs["crs_wkt"] == WKT


# Plain HDF5.


@pytest.mark.parametrize("suffix", [".h5", ".hdf5", ".he5", ".H5"])
def test_plain_hdf5_says_what_it_assumes_about_axes(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    with h5py.File(path, "w") as file:
        file.create_dataset("HDFEOS/SWATHS/Data Fields/Cube", data=CUBE, chunks=(3, 3, 3), compression="gzip")
        file["HDFEOS/wavelengths"] = np.arange(BANDS)
        file["text"] = "é"
        file["table"] = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
        file["references"] = np.array([file["text"].ref], dtype=h5py.ref_dtype)
    for data in both_ways(path):
        np.testing.assert_array_equal(numbers(data.M), BY_PIXEL)
        assert data.variable == "HDFEOS/SWATHS/Data Fields/Cube"
        assert data.assumptions[0].startswith("Axes are taken as lines × samples × bands")
        assert data.wavelengths == (0, 1, 2, 3, 4)
    with h5py.File(path, "a") as file:
        file["HDFEOS/SWATHS/Data Fields/Cube"].dims[0].label = "line"
        file["HDFEOS/SWATHS/Data Fields/Cube"].dims[2].label = "band"
    assert read(path).assumptions == ()
    given = read(path, axes="samples,lines,bands")
    np.testing.assert_array_equal(given.M, CUBE.transpose(1, 0, 2).reshape(-1, BANDS).T)


def test_hdf5_of_prisma_has_bands_between_lines_and_samples(tmp_path):
    with h5py.File(tmp_path / "a.he5", "w") as file:
        file["HDFEOS/SWATHS/PRS_L2D_HCO/Data Fields/VNIR_Cube"] = CUBE.transpose(0, 2, 1)
    for data in both_ways(tmp_path / "a.he5", axes="lines,bands,samples"):
        np.testing.assert_array_equal(numbers(data.M), BY_PIXEL)


def test_what_the_storage_has_where_nothing_was_written_is_nodata(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        cube = file.create_dataset("cube", CUBE.shape, "f4", chunks=(1, SAMPLES, BANDS), fillvalue=-7)
        cube[:3] = CUBE[:3]
    array = zarr.create_array(
        str(tmp_path / "a.zarr"), shape=CUBE.shape, dtype="f4", chunks=(1, 9, 5), fill_value=-7
    )
    array[:3] = CUBE[:3]
    for name in ("a.h5", "a.zarr"):
        for data in both_ways(tmp_path / name):
            assert data.left_out == ("36 of 63 pixels are left out: nodata (-7).",)
    array = zarr.create_array(
        str(tmp_path / "b.zarr"), shape=CUBE.shape, dtype="f4", fill_value=0, zarr_format=2
    )
    assert read(tmp_path / "b.zarr").nodata is None


# Maps.

H = RNG.random((2, LINES * SAMPLES)).astype("f4")
H[:, HOLES.ravel()] = np.nan
NAMES = ["soil", "water, é"]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", [("band", "y", "x"), ("y", "x", "band")])
def test_maps_are_of_the_kind_of_the_scene_with_its_coordinates(tmp_path, kind, dims, lazy):
    scene = save(tmp_path, kind, dataset(dims, holes=True))
    like = read(scene)
    path = write_cube(tmp_path / "maps.nc", da.from_array(H, chunks=(1, 10)) if lazy else H, like, NAMES)
    is_zarr = kind.startswith("zarr")
    assert path == tmp_path / ("maps.zarr" if is_zarr else "maps.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names are text, which the standard of Zarr 3 does not have yet
        opened = (
            xr.open_zarr(path, consolidated=kind == "zarr2", decode_coords="all")
            if is_zarr
            else xr.open_dataset(path, engine="h5netcdf", decode_coords="all")
        )
        with opened as found:
            maps = found["abundances"]
            assert maps.dims == ("anchor", "y", "x")
            assert maps.dtype == np.float32
            np.testing.assert_array_equal(maps, H.reshape(2, LINES, SAMPLES))
            assert np.isnan(maps.encoding["_FillValue"])
            assert list(maps["anchor"].to_numpy()) == NAMES
            for name in ("x", "y"):
                xr.testing.assert_identical(
                    found[name].drop_vars("spatial_ref"), dataset()[name].drop_vars("spatial_ref")
                )
            assert maps.encoding["grid_mapping"] == "spatial_ref"
            assert found["spatial_ref"].attrs["crs_wkt"] == WKT
    for step in (1, 2, 3):
        np.testing.assert_array_equal(read_maps(path, step), H.reshape(2, LINES, SAMPLES)[:, ::step, ::step])
    if is_zarr:
        assert zarr.open(str(path), mode="r").metadata.zarr_format == int(kind[-1])
    again = read(path, axes="bands,lines,samples")
    np.testing.assert_array_equal(again.mask, ~HOLES.ravel())
    np.testing.assert_allclose(again.transform, like.transform)
    assert again.crs_wkt == WKT
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([scene.name, path.name])


@pytest.mark.parametrize("kind", KINDS)
def test_maps_are_written_if_the_reference_system_has_a_time(tmp_path, kind):
    scene = dataset().reset_coords("spatial_ref").expand_dims(time=1)
    like = read(save(tmp_path, kind, scene), variable="reflectance")
    path = write_cube(tmp_path / "maps", np.ones((2, LINES * SAMPLES)), like, NAMES)
    assert read(path, axes="bands,lines,samples").crs_wkt == WKT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variable", [None, "reflectance"])
def test_an_image_of_two_times_is_refused_with_advice(tmp_path, kind, variable):
    path = save(tmp_path, kind, dataset().expand_dims(time=2))
    with pytest.raises(ValueError, match=r"'reflectance' .* has 4 dimensions, .* choose one entry"):
        read(path, variable=variable)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["h5netcdf", "zarr3"])
def test_pixels_of_a_matrix_are_written_in_their_order(tmp_path, order, kind):
    M = CUBE.reshape(-1, BANDS, order=order).T
    path = save(tmp_path, kind, xr.Dataset({"reflectance": (("band", "pixel"), M)}))
    like = read(path, shape=(LINES, SAMPLES), order=order)
    weights = np.arange(126.0).reshape(2, 63)
    written = write_cube(tmp_path / "maps", da.from_array(weights, chunks=(2, 10)), like, ["a", "b"])
    expected = np.stack([row.reshape((LINES, SAMPLES), order=order) for row in weights])
    np.testing.assert_array_equal(read_maps(written, 1), expected)


def test_maps_of_the_array_alone_are_an_array(tmp_path):
    path = save(tmp_path, "zarr2", dataset())
    data = read(path / "reflectance")
    np.testing.assert_array_equal(data.M, BY_PIXEL)
    maps = write_cube(tmp_path / "maps", np.nan_to_num(H), data, NAMES)
    assert zarr.open_array(str(maps), mode="r").shape == (LINES, SAMPLES, 2)


def test_maps_that_fail_leave_the_old_ones(tmp_path):
    def fail(block):
        raise RuntimeError("no")

    for kind in ("h5netcdf", "zarr3"):
        like = read(save(tmp_path, kind, dataset()))
        path = write_cube(tmp_path / "maps", H, like, NAMES)
        failing = da.from_array(H, chunks=(2, 9)).map_blocks(fail, dtype=H.dtype, meta=np.empty((0, 0)))
        with pytest.raises(RuntimeError):
            write_cube(tmp_path / "maps", failing, like, NAMES)
        np.testing.assert_array_equal(read_maps(path, 1), H.reshape(2, LINES, SAMPLES))
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system cannot reserve space")
def test_a_full_disk_is_found_before_hdf5_writes(tmp_path, monkeypatch):
    """HDF5 may end the process when it closes a file that it could not write."""
    asked = []

    def full(descriptor, start, size):
        asked.append(size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    like = read(save(tmp_path, "h5netcdf", dataset()))
    needed = write_cube(tmp_path / "maps", H, like, NAMES).stat().st_size
    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(xr.Dataset, "to_netcdf", lambda *_, **__: pytest.fail("HDF5 writes"))
    with pytest.raises(OSError, match="No space left on device"):
        write_cube(tmp_path / "maps", H, like, NAMES)
    assert asked[0] >= needed
    assert not list(tmp_path.glob("*.part"))


# Nothing is unpickled.


def test_pickles_in_a_group_are_not_unpickled(tmp_path):
    import json

    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "unpickled"), "w")

    path = save(tmp_path, "zarr2", dataset())
    for name in ("wavelength", "y"):
        fields = json.loads((path / name / ".zarray").read_text())
        (path / name / ".zarray").write_text(
            json.dumps(fields | {"filters": [{"id": "pickle", "protocol": 5}]})
        )
        (path / name / "0").write_bytes(pickle.dumps(Bomb()))
    for options in ({}, {"variable": "reflectance"}):
        with pytest.raises(ValueError, match=r"^a\.zarr [^\n]*$"):
            read(path, **options)
    assert not (tmp_path / "unpickled").exists()


def test_every_value_that_means_missing_is_left_out(tmp_path):
    cube = np.random.default_rng(0).random((4, 5, 6)).astype(np.float32)  # band × y × x
    cube[:, 0, 0], cube[:, 1, 2] = 9.96921e36, 5000.0
    with h5py.File(tmp_path / "scene.h5", "w") as file:
        image = file.create_dataset("reflectance", data=cube)
        image.attrs["_FillValue"], image.attrs["missing_value"] = np.float32(9.96921e36), np.float32(5000)
    data = read(tmp_path / "scene.h5", axes="bands,lines,samples")
    assert np.flatnonzero(~data.mask).tolist() == [0, 8]
    assert len(data.left_out) == 1


def test_bytes_that_were_never_written_may_be_saturated(tmp_path):
    cube = np.full((4, 5, 6), 255, np.uint8)
    with h5py.File(tmp_path / "scene.h5", "w") as file:
        file.create_dataset("image", data=cube, fillvalue=255)
    assert read(tmp_path / "scene.h5", axes="bands,lines,samples").mask is None


def test_a_mask_of_samples_and_lines_is_turned(tmp_path):
    cube = np.random.default_rng(0).random((4, 5, 5))
    used = np.ones((5, 5), np.uint8)
    used[0, 1:] = 0
    xr.Dataset({"r": (("band", "y", "x"), cube)}).to_netcdf(tmp_path / "scene.nc", engine="h5netcdf")
    for dims in (("y", "x"), ("x", "y")):
        mask = xr.Dataset({"used": (("y", "x"), used)}).transpose(*dims)
        mask.to_netcdf(tmp_path / "mask.nc", engine="h5netcdf")
        data = read(tmp_path / "scene.nc", mask=tmp_path / "mask.nc")
        assert np.flatnonzero(~data.mask).tolist() == [1, 2, 3, 4], dims


# NetCDF of version 3, which is parsed here; SciPy is the oracle.


def save_version_3(path, version, sizes):
    """Arrays of several types, of which those named in `sizes` have a dimension of records."""
    with netcdf_file(path, "w", version=version) as content:
        content.history = "made by a test"
        content.createDimension("time", None)
        for name, size in (("y", 3), ("x", 5)):
            content.createDimension(name, size)
        for name, dtype in {"plain": "f8", **sizes}.items():
            dims = ("time", "y", "x") if name in sizes else ("y", "x")
            variable = content.createVariable(name, dtype, dims)
            shape = (4, 3, 5) if name in sizes else (3, 5)
            variable[:] = np.arange(np.prod(shape)).reshape(shape)
            variable.units, variable.limits = "m", np.array([1.0, 2.0])
        if not sizes:  # SciPy would write it over a record
            content.createVariable("scalar", "i4", ()).data[...] = 7


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("sizes", [{}, {"a": "i1"}, {"a": "i1", "b": "i2", "c": "f4"}])
@pytest.mark.parametrize("streamed", [False, True])
def test_files_of_version_3_are_read_as_scipy_reads_them(tmp_path, version, sizes, streamed):
    path = tmp_path / "a.nc"
    save_version_3(path, version, sizes)
    if streamed:  # the number of records is not known
        path.write_bytes(path.read_bytes()[:4] + b"\xff" * 4 + path.read_bytes()[8:])
    container = NetCDF3(path)
    items = container.items()
    assert items.keys() == {"plain", "", *(sizes or ["scalar"])}
    assert items[""].attrs["history"] == "made by a test"
    for name in ("plain", *sizes):
        expected = np.arange(60).reshape(4, 3, 5) if name in sizes else np.arange(15).reshape(3, 5)
        assert items[name].dims == (("time", "y", "x") if name in sizes else ("y", "x"))
        assert items[name].attrs["units"] == "m"
        np.testing.assert_array_equal(items[name].attrs["limits"], [1, 2])
        np.testing.assert_array_equal(container.read(name), expected)
        np.testing.assert_array_equal(container.read(name, (slice(1, 3), 2)), expected[1:3, 2])
    assert sizes or container.read("scalar") == 7


@pytest.mark.parametrize("place", range(4, 200, 4))
@pytest.mark.parametrize("number", [b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\x63"])
def test_a_header_of_version_3_is_not_believed(tmp_path, place, number):
    path = tmp_path / "a.nc"
    save_version_3(path, 1, {"a": "i2"})
    content = path.read_bytes()
    path.write_bytes(content[:place] + number + content[place + 4 :])
    try:
        read(path, variable="a")
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017 - or it is read, if a name or an attribute is changed
