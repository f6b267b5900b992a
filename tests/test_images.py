"""Images: what is not data is left out, what the file knows is used, what is assumed is said."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import zarr
from dask import array as da
from scipy import io, sparse
from spectral.io import envi as spectral_envi

import malformed_images
import sepnmf
from sepnmf.io import Data, read
from sepnmf.io import _heaps as heaps
from sepnmf.io import _nodata as nodata_module
from sepnmf.io._axes import axes_by_name
from sepnmf.io._envi import read_envi
from sepnmf.io._masks import with_masks
from sepnmf.io._nodata import Nodata, without_nodata
from sepnmf.matrix import as_matrix

RNG = np.random.default_rng(0)
CUBE = RNG.integers(1, 1000, (5, 8, 6))  # lines × samples × bands
LINES, SAMPLES, BANDS = CUBE.shape
BY_PIXEL = CUBE.reshape(-1, BANDS).T
HOLES = np.zeros((LINES, SAMPLES), bool)
HOLES[1, 2:6] = HOLES[4, 7] = True


def save_envi(path, cube, interleave="bip", **metadata):
    fields = {key.replace("_", " "): value for key, value in metadata.items()}
    spectral_envi.save_image(
        str(path), cube, interleave=interleave, ext=".img", metadata=fields, dtype=cube.dtype
    )


def both_ways(path, **options):
    """The same file read in memory and in chunks."""
    lazy = read(path, in_parts=True, **options)
    assert isinstance(lazy.M, da.Array)
    return read(path, **options), lazy


def numbers(M):
    return M.compute(scheduler="single-threaded") if isinstance(M, da.Array) else np.asarray(M)


# Nodata.


@pytest.mark.parametrize(
    ("dtype", "value", "written"),
    [
        ("u2", 65535, "65535"),
        ("i2", -9999, "-9999"),
        ("i2", -32768, "-32768.0"),
        ("i4", -9999, "-9999"),
        ("f4", -9999, "-9999"),
        ("f4", np.finfo("f4").min, "-3.40282e+38"),
        ("f4", np.finfo("f4").min, "-3.4028234663852886e+38"),
        ("f4", 1e20, "1e+20"),
        ("f8", -1.7976931348623157e308, "-1.79769e+308"),
        ("f8", 0.1, "0.1"),
        ("f4", 0.1, "0.1"),
        ("f4", np.nan, "nan"),
        ("f8", np.nan, "NaN"),
        ("u1", 255, "255"),
    ],
)
@pytest.mark.parametrize("interleave", ["bsq", "bip"])
def test_pixels_with_the_value_that_envi_ignores_are_left_out(tmp_path, dtype, value, written, interleave):
    cube = (CUBE % 200 + 1).astype(dtype)
    cube[HOLES] = np.array(value).astype(dtype)
    save_envi(tmp_path / "a.hdr", cube, interleave, data_ignore_value=written)
    for data in both_ways(tmp_path / "a.hdr"):
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        assert data.row_mask is None
        np.testing.assert_array_equal(numbers(data.M), cube.reshape(-1, BANDS).T)
        np.testing.assert_equal(data.nodata, float(written))
        (said,) = data.left_out
        assert said.startswith("5 of 40 pixels are left out: nodata (")
    assert "nodata (-9999)." in said or value != -9999


@pytest.mark.parametrize("value", [65535, "65535", "6.5535e4"])
def test_a_value_may_be_given_and_replaces_the_one_in_the_file(tmp_path, value):
    cube = CUBE.astype("u2")
    cube[HOLES] = 65535
    save_envi(tmp_path / "a.hdr", cube, data_ignore_value=int(cube[0, 0, 0]))
    for data in both_ways(tmp_path / "a.hdr", nodata=value):
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        assert data.nodata == 65535


def test_a_band_without_data_is_left_out_before_pixels_are(tmp_path):
    cube = CUBE.astype("i2")
    cube[HOLES] = -1
    cube[:, :, [0, 4]] = -1
    cube[0, 3, 2] = -1  # one band of one pixel
    save_envi(tmp_path / "a.hdr", cube)
    expected = ~HOLES
    expected[0, 3] = False
    for data in both_ways(tmp_path / "a.hdr", nodata=-1):
        np.testing.assert_array_equal(data.row_mask, [False, True, True, True, False, True])
        np.testing.assert_array_equal(data.mask, expected.ravel())
        assert data.left_out == (
            "2 of 6 bands are left out: nodata (-1) in all pixels with data.",
            "6 of 40 pixels are left out: nodata (-1).",
        )


@pytest.mark.parametrize("seed", range(30))
def test_the_rule_is_that_of_a_plain_transcription(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    M = rng.integers(0, 3, (4, 30)).astype(rng.choice(["i4", "f4"]))
    M[:, rng.random(30) < 0.3] = 0
    M[rng.random(4) < 0.4] = 0
    rows = None if rng.random() < 0.5 else rng.random(4) < 0.7
    used = None if rng.random() < 0.5 else rng.random(30) < 0.7
    if rows is not None and not rows.any():
        rows[0] = True
    gone = (M == 0)[slice(None) if rows is None else rows]
    partly = ~gone.all(axis=0) & (True if used is None else used)
    empty = gone[:, partly].all(axis=1) & partly.any()
    expected_rows = np.ones(4, bool) if rows is None else rows.copy()
    expected_rows[np.flatnonzero(expected_rows)[empty]] = False
    expected = ~gone[~empty].any(axis=0) & (True if used is None else used)
    M, value = M + 1, 1.0  # zeros have a rule of their own
    monkeypatch.setattr(nodata_module, "BLOCK", 4 * int(rng.integers(1, 12)))
    for container in (M, da.from_array(M, chunks=(4, 7))):
        found_rows, found, _ = without_nodata(container, value, rows, used)
        np.testing.assert_array_equal(np.ones(4, bool) if found_rows is None else found_rows, expected_rows)
        np.testing.assert_array_equal(np.ones(30, bool) if found is None else found, expected)


@pytest.mark.parametrize("dtype", ["u2", "f4"])
@pytest.mark.parametrize("declared", [True, False])
def test_pixels_that_are_zero_in_some_bands_stay(tmp_path, dtype, declared):
    cube = CUBE.astype(dtype) + 1
    cube[HOLES] = 0
    cube[:, :, 5] = 0  # a band that is zero everywhere
    cube[0, 3, :3] = 0
    cube[1, 4:, 2] = 0
    expected = ~HOLES
    if dtype == "f4":
        cube[3, 0, 1] = np.nan
        expected[3, 0] = False
    save_envi(tmp_path / "a.hdr", cube, **({"data_ignore_value": 0} if declared else {}))
    for data in both_ways(tmp_path / "a.hdr", **({} if declared else {"nodata": "0"})):
        np.testing.assert_array_equal(data.row_mask, [True] * 5 + [False])
        np.testing.assert_array_equal(data.mask, expected.ravel())
        count, also = (6, " or NaN") if dtype == "f4" else (5, "")
        assert data.left_out == (
            f"1 of 6 bands are left out: nodata (0{also}) in all pixels with data.",
            f"{count} of 40 pixels are left out: nodata (0 in all bands{also}).",
        )


def test_several_nodata_values_are_one_decision(tmp_path):
    cube = CUBE.astype("i2") + 1
    cube[HOLES, ::2], cube[HOLES, 1::2] = 0, -9  # no band of these pixels has data
    cube[:, :4, 5], cube[:, 4:, 5] = 0, -9  # nor has this band
    cube[1, 4:, 2] = 0
    cube[0, 3, 1] = -9
    expected = ~HOLES
    expected[0, 3] = False
    save_envi(tmp_path / "a.hdr", cube)
    for words in ("0,-9", "-9,0"):
        for data in both_ways(tmp_path / "a.hdr", nodata=words):
            np.testing.assert_array_equal(data.row_mask, [True] * 5 + [False])
            np.testing.assert_array_equal(data.mask, expected.ravel())
            assert len(data.left_out) == 2
            assert "0 in all bands" in data.left_out[1]
            assert "-9" in data.left_out[1]


@pytest.mark.parametrize("seed", range(30))
def test_the_rule_for_several_values_is_that_of_a_plain_transcription(seed):
    rng = np.random.default_rng(seed)
    M = rng.integers(0, 4, (4, 30)).astype(rng.choice(["i4", "f4"]))
    M[:, rng.random(30) < 0.3] = rng.integers(0, 2, (4, 1))
    M[rng.random(4) < 0.4] = rng.integers(0, 2, 30)
    own = (1.0, 1.0, 2.0, None) if rng.random() < 0.5 else ()
    level = np.array([np.nan if value is None else value for value in own or [1.0] * 4])
    strict = level[:, None] == M
    gone = strict if own else strict | (M == 0)
    partly = ~gone.all(axis=0)
    empty = gone[:, partly].all(axis=1) & partly.any()
    expected = partly & ~strict[~empty].any(axis=0)
    for container in (M, da.from_array(M, chunks=(4, 7))):
        found_rows, found, _ = without_nodata(container, () if own else (0.0, 1.0), None, None, own)
        np.testing.assert_array_equal(np.ones(4, bool) if found_rows is None else found_rows, ~empty)
        np.testing.assert_array_equal(np.ones(30, bool) if found is None else found, expected)


def test_lazy_data_are_read_once_for_it():
    calls = []

    def note(block):
        calls.append(block.shape)
        return block

    M = da.ones((3, 40), chunks=(3, 10)).map_blocks(note, dtype=float, meta=np.empty((0, 0)))
    without_nodata(M, 0.0, None, None)
    assert sorted(calls) == [(3, 10)] * 4


def test_memory_for_it_is_bounded(monkeypatch):
    widths = []
    plain = Nodata.__call__

    def note(self, block):
        widths.append(block.size)
        return plain(self, block)

    monkeypatch.setattr(Nodata, "__call__", note)
    monkeypatch.setattr(nodata_module, "BLOCK", 1000)
    without_nodata(np.ones((10, 5000)), 0.0, None, None)
    assert max(widths) <= 1000
    assert sum(widths) == 50_000


def test_nan_counts_where_another_value_is_declared(tmp_path):
    cube = CUBE.astype("f4")
    cube[HOLES], cube[0, 0, 1] = -9999, np.nan
    save_envi(tmp_path / "a.hdr", cube, data_ignore_value=-9999)
    for data in both_ways(tmp_path / "a.hdr"):
        assert data.left_out == ("6 of 40 pixels are left out: nodata (-9999 or NaN).",)


@pytest.mark.parametrize(("dtype", "value"), [("u2", -9999), ("i2", 65535), ("u1", 0.5), ("i4", 1e20)])
def test_a_value_that_the_type_cannot_hold_is_said(tmp_path, dtype, value):
    save_envi(tmp_path / "a.hdr", (CUBE % 200).astype(dtype), data_ignore_value=value)
    for data in both_ways(tmp_path / "a.hdr"):
        assert data.mask is None
        assert "cannot occur in numbers of type" in data.warnings[0]


def test_nothing_left_is_an_error(tmp_path):
    save_envi(tmp_path / "a.hdr", np.full((5, 8, 6), 7, "u2"), data_ignore_value=7)
    for options in ({}, {"in_parts": True}):
        with pytest.raises(
            ValueError, match=r"^a\.hdr has no pixels left: nodata \(7\) leaves out the last\.$"
        ):
            read(tmp_path / "a.hdr", **options)


@pytest.mark.parametrize("value", ["none", "", True, "1,x", "1,", [], [1, True], None.__class__])
def test_nodata_must_be_a_number(tmp_path, value):
    save_envi(tmp_path / "a.hdr", CUBE.astype("u2"))
    with pytest.raises(ValueError, match=r'^nodata must be a number or "nan", got [^\n]*$'):
        read(tmp_path / "a.hdr", nodata=value)


@pytest.mark.parametrize("values", ["65535,0", " 65535, 0", [65535, "0"], (65535.0, 0), np.array([65535, 0])])
def test_several_values_may_mean_no_data(tmp_path, values):
    cube = CUBE.astype("u2") + 1
    cube[HOLES] = 65535
    cube[0, 0], cube[0, 1, 2] = 0, 0
    save_envi(tmp_path / "a.hdr", cube)
    expected = ~HOLES
    expected[0, 0] = False
    for data in both_ways(tmp_path / "a.hdr", nodata=values):
        np.testing.assert_array_equal(data.mask, expected.ravel())
        assert (data.nodata, data.more_nodata) == (65535, (0,))


def test_a_suspected_value_is_added_to_those_that_are_known(tmp_path):
    cube = np.arange(1.0, 40 * 40 * 3 + 1).reshape(40, 40, 3)
    cube[0], cube[1] = -9999, 65535
    save_envi(tmp_path / "a.hdr", cube, data_ignore_value=-9999)
    for data in both_ways(tmp_path / "a.hdr"):
        assert data.warnings[0].endswith("looks like nodata: pass --nodata -9999,65535.")
    assert read(tmp_path / "a.hdr", nodata="-9999,65535").warnings == ()


def test_nodata_of_a_table_leaves_out_columns(tmp_path):
    M = BY_PIXEL.astype(float)
    M[:, 3] = -1
    np.save(tmp_path / "a.npy", M)
    for data in both_ways(tmp_path / "a.npy", nodata=-1):
        assert data.left_out == ("1 of 40 columns are left out: nodata (-1).",)
    sparse.save_npz(tmp_path / "a.npz", sparse.csc_array(M))
    with pytest.raises(ValueError, match="sparse matrix, which has no nodata"):
        read(tmp_path / "a.npz", nodata=-1)


# Values that look like nodata.


def speckled(value, count, dtype="f8", shape=(60, 50, 6)):
    cube = RNG.integers(1, 1000, shape).astype(dtype)
    cube.reshape(-1, shape[2])[RNG.permutation(shape[0] * shape[1])[:count]] = value
    return cube


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        ("u2", 65535, "65535"),
        ("i2", -9999, "-9999"),
        ("f4", -9999, "-9999"),
        ("u2", 0, "0"),
        ("f8", 1e20, "1e+20"),
    ],
)
@pytest.mark.parametrize("count", [15, 16])
def test_a_constant_extreme_value_of_many_pixels_is_named(tmp_path, dtype, value, text, count):
    np.save(tmp_path / "a.npy", speckled(value, count, dtype))
    for data in both_ways(tmp_path / "a.npy"):
        assert data.mask is None
        expected = (
            f"16 pixels have the value {text} in every band, which looks like nodata: pass --nodata {text}.",
        )
        fewer = ("The smallest value, -9999, looks like nodata: pass --nodata -9999.",) if value < 0 else ()
        assert data.warnings == (expected if count == 16 else fewer)
    if count == 16:
        data = read(tmp_path / "a.npy", nodata=text)
        assert data.warnings == ()
        assert (~data.mask).sum() == 16


def test_a_value_between_the_others_is_not_named(tmp_path):
    np.save(tmp_path / "a.npy", speckled(500, 100))
    assert read(tmp_path / "a.npy").warnings == ()


def test_of_many_pixels_a_thousandth_must_have_the_value(tmp_path):
    for count, found in ((99, 0), (100, 1)):
        np.save(tmp_path / "a.npy", speckled(0, count, "u2", (1000, 100, 3)))
        assert len(read(tmp_path / "a.npy").warnings) == found


def test_a_sample_of_chunks_is_searched(tmp_path):
    cube = np.array(speckled(1, 0, "u2", (64, 50, 6)))
    cube[:8] = 0  # a border
    zarr.create_array(str(tmp_path / "a.zarr"), data=cube, chunks=(2, 50, 6))
    M = da.from_array(cube.reshape(-1, 6).T, chunks=(6, 100))
    data = with_masks(Data(M=M, file=tmp_path / "a.zarr", image_shape=(64, 50)), read)
    assert data.warnings == (
        "100 pixels in a sample of the image have the value 0 in every band, which looks like nodata: pass "
        "--nodata 0.",
    )


@pytest.mark.parametrize("value", [-9999, -32768, -999])
def test_undeclared_nodata_below_zero_is_named_where_negative_entries_are_refused(tmp_path, value):
    cube = speckled(5, 0, "i2")
    cube[3:5, 7, 2:4] = value  # in some bands
    cube[9, 9, 0] = -3  # noise
    save_envi(tmp_path / "a.hdr", cube, reflectance_scale_factor=10000.0)
    for data in both_ways(tmp_path / "a.hdr"):
        assert data.warnings == (f"The smallest value, {value}, looks like nodata: pass --nodata {value}.",)
        said = f'the smallest, {value}, looks like nodata: leave its columns out with nodata="{value}" in sep'
        with pytest.raises(ValueError, match=f"M has 5 negative entries.*{said}.*, or pass negative="):
            sepnmf.select(data.matrix(), 2, "spa")
    assert read(tmp_path / "a.hdr", nodata=value).warnings == ()


@pytest.mark.parametrize(("value", "others"), [(-5000, 1), (-9999, -6000), (-1, 1)])
def test_other_negative_entries_are_not_taken_for_nodata(tmp_path, value, others):
    cube = speckled(5, 0, "i2")
    cube[3, 7, 2], cube[5, 9, 1] = value, others
    np.save(tmp_path / "a.npy", cube)
    for data in both_ways(tmp_path / "a.npy"):
        assert (data.warnings, data.suspected) == ((), "")
        with pytest.raises(ValueError, match=r"negative entries, the first at \(\d, \d+\): pass negative="):
            sepnmf.select(data.matrix(), 2, "spa")


def test_the_least_entry_of_all_blocks_and_the_second_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(nodata_module, "BLOCK", 60)
    for column, least in ((3, -9999), (2500, -9999), (2500, -6000)):
        M = np.ones((6, 3000), "i2")
        M[2, 40], M[1, column] = -9999, least
        np.save(tmp_path / "a.npy", M)
        assert read(tmp_path / "a.npy").suspected == ("" if least == -6000 else "-9999")


def test_nan_that_is_not_declared_is_named(tmp_path):
    cube = speckled(np.nan, 5)
    np.save(tmp_path / "a.npy", cube)
    for data in both_ways(tmp_path / "a.npy"):
        assert data.warnings == ("5 pixels have NaN: if it is nodata, pass --nodata nan.",)
        with pytest.raises(ValueError, match=r'leave their columns out with nodata="nan" in sepnmf.io.read'):
            sepnmf.select(data.matrix(), 2, "spa")


# Bands.


def test_bands_that_envi_calls_bad_are_left_out(tmp_path):
    save_envi(tmp_path / "a.hdr", CUBE.astype("u2"), bbl=[1, 0, 1, 1, 0, 1], wavelength=list(range(6)))
    for data in both_ways(tmp_path / "a.hdr"):
        np.testing.assert_array_equal(data.row_mask, [True, False, True, True, False, True])
        assert data.left_out == ("2 of 6 bands are left out: bbl.",)
        assert data.M.shape == (6, 40)
        assert data.used_wavelengths() == (0.0, 2.0, 3.0, 5.0)
        assert data.wavelengths == tuple(map(float, range(6)))
        assert data.used_row_names() == ()


@pytest.mark.parametrize(
    ("bbl", "attribute", "words"),
    [
        ([1] * 6, "assumptions", ()),
        ([0] * 6, "assumptions", "every band as bad"),
        ([1, 0], "warnings", "one number for each of the 6 bands"),
        (["x"] * 6, "warnings", "one number for each of the 6 bands"),
    ],
)
def test_a_list_of_bad_bands_that_is_of_no_use_is_ignored(tmp_path, bbl, attribute, words):
    save_envi(tmp_path / "a.hdr", CUBE.astype("u2"), bbl=bbl)
    data = read(tmp_path / "a.hdr")
    assert data.row_mask is None
    said = getattr(data, attribute)
    assert said == () if words == () else (said[0].startswith("bbl ") and words in said[0])


def test_bands_are_counted_from_one_and_both_ends_belong(tmp_path):
    save_envi(tmp_path / "a.hdr", CUBE.astype("u2"), bbl=[1, 0, 1, 1, 1, 1], band_names=list("abcdef"))
    for data in both_ways(tmp_path / "a.hdr", bands="1-3, 6"):
        assert data.used_row_names() == ("a", "c", "f")
        assert data.left_out == ("1 of 6 bands are left out: bbl.", "2 of 6 bands are left out: --bands.")
    assert read(tmp_path / "a.hdr", bands="1-6").left_out == ("1 of 6 bands are left out: bbl.",)
    with pytest.raises(ValueError, match="has no bands left: --bands"):
        read(tmp_path / "a.hdr", bands="2")


@pytest.mark.parametrize("text", ["", "0", "7", "3-1", "1-", "-3", "a", "1-7", "1,,2", "1.5", "1-2-3", "²"])
def test_bands_must_be_bands(tmp_path, text):
    save_envi(tmp_path / "a.hdr", CUBE.astype("u2"))
    with pytest.raises(ValueError, match=r"^bands must be numbers from 1 to 6 and ranges such as 1-6, got "):
        read(tmp_path / "a.hdr", bands=text)


# Masks.


def save_mask(folder, kind, used):
    """A mask of lines × samples in every format that holds one."""
    path = folder / f"mask.{kind}"
    if kind == "npy":
        np.save(path, used)
    elif kind == "npz":
        np.savez(path, used.astype("u1"))
    elif kind == "csv":
        np.savetxt(path, used, delimiter=",", fmt="%d")
    elif kind == "mat":
        io.savemat(path, {"mask": used.astype(float)})
    elif kind == "hdr":
        save_envi(path, np.where(used, 255, 0).astype("u1")[:, :, None], data_ignore_value=0)
    else:
        zarr.save_array(str(path), np.where(used, 3.0, np.nan))
    return path


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "mat", "hdr", "zarr"])
def test_a_mask_file_leaves_out_pixels(tmp_path, kind):
    np.save(tmp_path / "a.npy", CUBE)
    path = save_mask(tmp_path, kind, ~HOLES)
    for data in both_ways(tmp_path / "a.npy", mask=str(path)):
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        assert data.left_out == (f"5 of 40 pixels are left out: --mask mask.{kind}.",)


def test_a_mask_is_in_the_order_of_the_pixels(tmp_path):
    io.savemat(tmp_path / "a.mat", {"V": CUBE.reshape(-1, BANDS, order="F").T, "nRow": 5.0, "nCol": 8.0})
    np.save(tmp_path / "mask.npy", ~HOLES)
    data = read(tmp_path / "a.mat", mask=tmp_path / "mask.npy")
    np.testing.assert_array_equal(data.picture(data.mask), ~HOLES)
    np.save(tmp_path / "columns.npy", (~HOLES).ravel(order="F")[None])
    np.testing.assert_array_equal(read(tmp_path / "a.mat", mask=tmp_path / "columns.npy").mask, data.mask)
    np.save(tmp_path / "mask.npy", HOLES.T)
    message = r"^mask\.npy must have 5 × 8 numbers \(lines × samples\) to be a mask of a\.mat, got 8 × 5\.$"
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "a.mat", mask=tmp_path / "mask.npy")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing\.npy"):
        read(tmp_path / "a.mat", mask=tmp_path / "nothing.npy")


def test_a_mask_and_nodata_together(tmp_path):
    cube = CUBE.astype("i2")
    cube[0, 0] = cube[1, 2] = -9999
    save_envi(tmp_path / "a.hdr", cube, data_ignore_value=-9999)
    np.save(tmp_path / "mask.npy", ~HOLES)
    for data in both_ways(tmp_path / "a.hdr", mask=tmp_path / "mask.npy"):
        assert data.left_out == (
            "5 of 40 pixels are left out: --mask mask.npy.",
            "1 of 40 pixels are left out: nodata (-9999).",
        )
        assert (~data.mask).sum() == 6


# Scale factors and wavelengths.


@pytest.mark.parametrize("factor", [None, 100])
def test_gains_and_offsets_of_envi_are_applied_and_it_is_said(tmp_path, factor):
    cube = CUBE.astype("i2")
    cube[HOLES] = -9999
    gains, offsets = np.linspace(0.5, 2, 6), np.linspace(0, 3, 6)
    fields = {"data_gain_values": list(gains), "data_offset_values": list(offsets)}
    fields |= {} if factor is None else {"reflectance_scale_factor": factor}
    save_envi(tmp_path / "a.hdr", cube, data_ignore_value=-9999, **fields)
    expected = CUBE.reshape(-1, 6).T.astype("f8") * gains[:, None] + offsets[:, None]
    for data in both_ways(tmp_path / "a.hdr"):
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        np.testing.assert_allclose(np.asarray(data.M)[:, data.mask], expected[:, data.mask], rtol=1e-6)
        said = "The data gain values and data offset values of the header are applied to its numbers"
        said += "." if factor is None else ", and the reflectance scale factor is not."
        assert data.assumptions == (said,)


def test_gains_that_are_not_one_per_band_are_not_applied_in_silence(tmp_path):
    save_envi(tmp_path / "a.hdr", CUBE.astype("i2"), data_gain_values=[1, 2])
    data = read(tmp_path / "a.hdr")
    np.testing.assert_array_equal(data.M, CUBE.reshape(-1, 6).T.astype("i2"))
    assert data.warnings[0] == (
        "data gain values does not have one number for each of the 6 bands: no gains and offsets are applied."
    )
    save_envi(tmp_path / "b.hdr", CUBE.astype("i2"), data_gain_values=[1, 2, 0, 1, 1, 1])
    with pytest.raises(ValueError, match="its gain of a band is zero or not finite"):
        read(tmp_path / "b.hdr")


def test_reflectance_gains_are_applied_if_there_are_no_others(tmp_path):
    save_envi(tmp_path / "a.hdr", CUBE.astype("i2"), data_reflectance_gain_values=[2] * 6)
    np.testing.assert_array_equal(read(tmp_path / "a.hdr").M, 2.0 * CUBE.reshape(-1, 6).T.astype("i2"))


@pytest.mark.parametrize("dtype", ["u2", "i2", "f4", "f8"])
def test_the_scale_factor_of_envi_divides(tmp_path, dtype):
    cube = CUBE.astype(dtype)
    cube[HOLES] = 65535 if dtype == "u2" else -9999
    value = cube[1, 2, 0]
    save_envi(
        tmp_path / "a.hdr",
        cube,
        reflectance_scale_factor="10000",
        data_ignore_value=value,
        wavelength_units="Micrometers",
    )
    expected = (cube.reshape(-1, BANDS).T / 10000.0).astype("f4" if dtype == "f4" else "f8")
    for data in both_ways(tmp_path / "a.hdr"):
        assert data.M.dtype == expected.dtype
        np.testing.assert_allclose(numbers(data.M), expected, rtol=1e-7)
        np.testing.assert_array_equal(data.mask, ~HOLES.ravel())
        assert (data.wavelength_unit, data.scaling) == ("Micrometers", None)
    lazy = read_envi(tmp_path / "a.hdr", large=0, chunk=1)
    assert pickle.loads(pickle.dumps(lazy.scaling(lazy.M))).compute(scheduler="single-threaded").shape == (
        6,
        40,
    )


def test_nodata_may_overflow_when_it_is_scaled(tmp_path):
    cube = CUBE.astype("f4")
    cube[HOLES] = np.finfo("f4").max
    save_envi(tmp_path / "a.hdr", cube, reflectance_scale_factor="0.0001", data_ignore_value="3.40282e38")
    for data in both_ways(tmp_path / "a.hdr"):
        np.testing.assert_array_equal(np.isfinite(numbers(data.M)).all(axis=0), ~HOLES.ravel())


@pytest.mark.parametrize("unit", ["Unknown", "Index", None])
def test_a_unit_that_is_unknown_is_none(tmp_path, unit):
    save_envi(tmp_path / "a.hdr", CUBE.astype("u2"), **({"wavelength_units": unit} if unit else {}))
    assert read(tmp_path / "a.hdr").wavelength_unit == ""


def test_envi_knows_where_it_is(tmp_path):
    wkt = 'PROJCS["UTM",GEOGCS["WGS 84",UNIT["degree",0.0174532925]],UNIT["metre",1]]'
    info = ["UTM", "1.5", "2", "500000", "4000000", "30", "20", "11", "North"]
    save_envi(tmp_path / "a.hdr", CUBE.astype("u2"), map_info=info, coordinate_system_string=wkt.split(","))
    data = read(tmp_path / "a.hdr")
    assert data.crs_wkt.replace(" ", "") == wkt.replace(" ", "")
    assert data.transform == (30.0, 0.0, 499985.0, 0.0, -20.0, 4000020.0)
    save_envi(tmp_path / "b.hdr", CUBE.astype("u2"), map_info=[*info, "rotation=30"])
    assert read(tmp_path / "b.hdr").transform is None


def test_the_spectra_of_a_library_are_columns(tmp_path):
    spectra = RNG.random((4, 9)).astype("f4")
    header = {"spectra names": ["soil", "green leaf", "water", "x"], "wavelength": np.arange(9) / 10 + 0.4}
    header |= {"wavelength units": "Micrometers", "reflectance scale factor": 2.0}
    spectral_envi.SpectralLibrary(spectra, header).save(str(tmp_path / "lib"))
    for name in ("lib.hdr", "lib.sli"):
        data = read(tmp_path / name)
        np.testing.assert_allclose(data.M, spectra.T / 2)
        assert data.column_names == ("soil", "green leaf", "water", "x")
        assert (data.image_shape, data.row_names, data.wavelength_unit) == (None, (), "Micrometers")
        np.testing.assert_allclose(data.wavelengths, header["wavelength"])
    lazy = read(tmp_path / "lib.hdr", in_parts=True, bands="2-9")
    np.testing.assert_allclose(numbers(lazy.M), spectra.T / 2)
    assert lazy.left_out == ("1 of 9 bands are left out: --bands.",)


# Axes and orders.

ORDERS = ["lsb", "lbs", "bls", "slb", "sbl", "bsl"]
WORDS = {"b": "bands", "l": "lines", "s": "samples"}


def arranged(axes):
    return CUBE.transpose(["lsb".index(axis) for axis in axes])


@pytest.mark.parametrize("axes", ORDERS)
@pytest.mark.parametrize("kind", ["npy", "npy-fortran", "npz", "mat", "zarr"])
def test_axes_may_be_given(tmp_path, axes, kind):
    cube = arranged(axes)
    suffix = kind.removesuffix("-fortran")
    path = tmp_path / f"a.{suffix}"
    if suffix == "npy":
        np.save(path, np.asarray(cube, order="F" if "-" in kind else "C"))
    elif kind == "npz":
        np.savez(path, cube)
    elif kind == "mat":
        io.savemat(path, {"A": cube})
    else:
        zarr.create_array(str(path), data=np.ascontiguousarray(cube), chunks=(2, 3, 4))
    option = ",".join(WORDS[axis] for axis in axes)
    found = [read(path, axes=option)]
    if suffix in ("npy", "zarr"):
        found.append(read(path, axes=option, in_parts=True))
    for data in found:
        np.testing.assert_array_equal(numbers(data.M), BY_PIXEL)
        assert (data.image_shape, data.image_order, data.assumptions) == ((5, 8), "C", ())


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "names",
    [
        ("band", "y", "x"),
        ("latitude", "longitude", "wavelength"),
        ("Downtrack", "crosstrack", "bands"),
        ("channel", "row", "col"),
        ("anything", "y", "x"),
        ("band", "first", "second"),
    ],
)
def test_names_of_the_dimensions_of_zarr_are_used(tmp_path, version, names):
    axes = "lsb" if names[0].lower() in ("latitude", "downtrack") else "bls"
    cube = np.ascontiguousarray(arranged(axes))
    path = tmp_path / "a.zarr"
    more = {"dimension_names": names} if version == 3 else {"attributes": {"_ARRAY_DIMENSIONS": list(names)}}
    array = zarr.create_array(
        str(path), shape=cube.shape, dtype=cube.dtype, chunks=(2, 3, 4), zarr_format=version, **more
    )
    array[...] = cube
    for data in both_ways(path):
        np.testing.assert_array_equal(numbers(data.M), BY_PIXEL)
        assert (data.image_shape, data.assumptions) == ((5, 8), ())
    given = read(path, axes="lines,samples,bands")  # the user knows better
    assert given.image_shape == cube.shape[:2]


@pytest.mark.parametrize(
    ("names", "axes"),
    [
        (("y", "x", "time"), "lsb"),
        (("a", "b", "c"), ""),  # b may stand for bands, and a and c for lines and samples
        (("one", "two", "three"), ""),
        (("y", "lat", "band"), ""),
        (("x", "one", "two"), ""),
        (("pixel", "wavelength"), "lb"),
        (("bands", "pixel"), "bl"),
        (("y", "x"), ""),
        ((), ""),
        (None, ""),
    ],
)
def test_names_that_do_not_determine_the_axes_are_not_used(names, axes):
    assert axes_by_name(names) == (axes or ("lbs" if names == ("a", "b", "c") else ""))


def test_what_is_assumed_about_axes_is_said(tmp_path):
    for shape in ((60, 95, 156), (3, 9, 8), (9, 5, 5)):
        np.save(tmp_path / "a.npy", np.ones(shape))
        (said,) = read(tmp_path / "a.npy").assumptions
        sizes = "{} × {} pixels, {} bands".format(*shape)
        assert said == f"Axes are taken as lines × samples × bands ({sizes}); --axes changes that."
    np.save(tmp_path / "a.npy", BY_PIXEL)
    assert read(tmp_path / "a.npy").assumptions == ()


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_pixels_if_only_they_are_as_many(tmp_path, order):
    pixels = CUBE.reshape(-1, BANDS, order=order)
    np.save(tmp_path / "a.npy", pixels)
    (tmp_path / "names.txt").write_text("".join(f"{k} nm\n" for k in range(BANDS)))
    data = read(tmp_path / "a.npy", shape=(LINES, SAMPLES), order=order, names=tmp_path / "names.txt")
    np.testing.assert_array_equal(data.M, pixels.T)
    np.testing.assert_array_equal(data.picture(data.M[2]), CUBE[:, :, 2])
    assert data.row_names == tuple(f"{k} nm" for k in range(BANDS))
    assert data.assumptions == (
        "The rows are taken as pixels and the columns as bands: there are as many rows as pixels.",
    )
    with pytest.raises(ValueError, match=r"one pixel per column .* its rows are as many"):
        read(tmp_path / "a.npy", shape=(LINES, SAMPLES), in_parts=True)
    np.save(tmp_path / "square.npy", np.arange(16.0).reshape(4, 4))
    square = read(tmp_path / "square.npy", shape=(2, 2), order="C")
    np.testing.assert_array_equal(square.M, np.arange(16.0).reshape(4, 4))
    assert square.assumptions == ()


@pytest.mark.parametrize(
    "axes", ["", "bands", "bands,lines", "bands,lines,lines", "bands,lines,samples,x", "1,2,3"]
)
def test_axes_must_be_all_three(tmp_path, axes):
    np.save(tmp_path / "a.npy", CUBE)
    with pytest.raises(ValueError, match=r"^axes must be bands, lines and samples in the order of the array"):
        read(tmp_path / "a.npy", axes=axes)


def test_axes_of_a_matrix_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", BY_PIXEL)
    sparse.save_npz(tmp_path / "a.npz", sparse.csc_array(BY_PIXEL))
    save_envi(tmp_path / "a.hdr", CUBE.astype("u2"))
    for name in ("a.npy", "a.npz", "a.hdr"):
        with pytest.raises(ValueError, match=r"^axes is for "):
            read(tmp_path / name, axes="bands,lines,samples")


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "zarr", "mat"])
@pytest.mark.parametrize("order", ["C", "F", None])
def test_pixels_of_a_matrix_are_in_the_order_given_or_in_that_of_the_format(tmp_path, kind, order):
    chosen = order or ("F" if kind == "mat" else "C")
    M = CUBE.reshape(-1, BANDS, order=chosen).T
    path = tmp_path / f"a.{kind}"
    if kind == "npy":
        np.save(path, M)
    elif kind == "npz":
        np.savez(path, M)
    elif kind == "csv":
        np.savetxt(path, M, delimiter=",")
    elif kind == "zarr":
        zarr.save_array(str(path), M)
    else:
        io.savemat(path, {"M": M})
    data = read(path, shape=(LINES, SAMPLES), order=order)
    assert data.image_order == chosen
    np.testing.assert_array_equal(data.picture(data.M[3]), CUBE[:, :, 3])
    if order is None:
        by = "sample by sample (order F" if kind == "mat" else "line by line (order C"
        assert data.assumptions[0].startswith(f"Pixels are taken {by}")
    else:
        assert data.assumptions == ()


def test_the_order_of_pixels_is_for_pixels(tmp_path):
    np.save(tmp_path / "a.npy", BY_PIXEL)
    np.save(tmp_path / "b.npy", CUBE)
    for name in ("a.npy", "b.npy"):
        with pytest.raises(ValueError, match="order is for columns that are pixels"):
            read(tmp_path / name, order="F")
    with pytest.raises(ValueError, match='order must be "C" or "F"'):
        read(tmp_path / "a.npy", shape=(5, 8), order="K")
    io.savemat(tmp_path / "a.mat", {"V": BY_PIXEL, "nRow": 5.0, "nCol": 8.0})
    assert "order F" in read(tmp_path / "a.mat").assumptions[0]
    data = read(tmp_path / "a.mat", order="C")
    assert (data.image_shape, data.image_order, data.assumptions) == ((5, 8), "C", ())


# Nothing is unpickled.


@pytest.mark.parametrize("place", ["filters", "compressor"])
def test_a_zarr_of_pickles_is_refused_before_it_is_read(tmp_path, place):
    import json

    path = tmp_path / "a.zarr"
    zarr.create_array(str(path), shape=(2, 2), chunks=(2, 2), dtype="f8", zarr_format=2)
    fields = json.loads((path / ".zarray").read_text())
    fields[place] = (
        [{"id": "pickle", "protocol": 5}] if place == "filters" else {"id": "pickle", "protocol": 5}
    )
    (path / ".zarray").write_text(json.dumps(fields))

    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "unpickled"), "w")

    (path / "0.0").write_bytes(pickle.dumps(Bomb()))
    for options in ({}, {"in_parts": True}):
        with pytest.raises(ValueError, match=r"^a\.zarr [^\n]*$"):
            numbers(read(path, **options).M)
    assert not (tmp_path / "unpickled").exists()


# The class.


def test_a_transposed_image_keeps_what_is_left_out(tmp_path):
    save_envi(tmp_path / "a.hdr", CUBE.astype("u2"), bbl=[1, 0, 1, 1, 0, 1])
    data = replace(read(tmp_path / "a.hdr"), mask=~HOLES.ravel())
    turned = data.transposed()
    np.testing.assert_array_equal(turned.mask, data.row_mask)
    np.testing.assert_array_equal(turned.row_mask, data.mask)
    assert turned.left_out == data.left_out


# Files that must be refused.


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("malformed")
    return folder, malformed_images.make_malformed(folder)


def test_there_are_thirty_malformed_files_of_each_new_kind(bad_files):
    _, kinds = bad_files
    for files in kinds.values():
        assert len({path for _, path, _ in files}) == len({name for name, _, _ in files}) == len(files) >= 30
    suffixes = {path.suffix for files in kinds.values() for _, path, _ in files}
    assert suffixes >= {*malformed_images.SUFFIXES, ".zarr", ".hdr"}


@pytest.mark.parametrize("kind", ["geotiffs", "netcdfs", "zarr_groups", "libraries"])
def test_malformed_images_are_refused_in_one_line_and_never_unpickled(bad_files, kind, monkeypatch):
    monkeypatch.setattr(heaps, "try_hdf5", lambda file: None)  # a reader refuses what it meets by itself
    folder, kinds = bad_files
    wrong = {}
    for name, path, options in kinds[kind]:
        try:
            as_matrix(read(path, **options).M, "allow")
        except (ValueError, OSError) as error:
            if "\n" in str(error) or not str(error) or len(str(error)) > 600:
                wrong[name] = str(error)
        except Exception as error:
            wrong[name] = repr(error)
        else:
            wrong[name] = "accepted"
    assert not wrong
    assert not (folder / "unpickled").exists()


def test_bombs_among_images_are_refused_before_they_grow(bad_files):
    _, kinds = bad_files
    bombs = [path for files in kinds.values() for name, path, _ in files if "bomb" in name]
    assert {path.suffix for path in bombs} == {".tif", ".nc"}
    code = (
        "import resource, sys\n"
        "from sepnmf.io import read\n"
        "import h5py, rasterio, xarray\n"
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
    subprocess.run([sys.executable, "-c", code, *map(str, bombs)], check=True)


def test_anchors_of_a_file_have_names(tmp_path):
    np.save(tmp_path / "scene.npy", np.random.default_rng(0).random((3, 4, 6)))
    for data in (read(tmp_path / "scene.npy"), read(tmp_path / "scene.npy", in_parts=True)):
        sel = sepnmf.select(data.matrix(), 2, "spa")
        assert list(sel.names) == data.column_labels(sel.anchors)
