"""The containers of the field: frames, labelled arrays, annotated data, and what has __array__ or DLPack."""

import re
from pathlib import Path

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from scipy import sparse

import sepnmf
from sepnmf.matrix import _chunked, _stored, _tall, as_matrix

M, TRUE = sepnmf.datasets.make_dirichlet(0.0, m=12, n=60, r=4, random_state=0)
BEST = sepnmf.select(M, 4).anchors
NAMES = [f"column {j}" for j in range(60)]
LEFT_OUT = np.setdiff1d(np.arange(0, 60, 7), TRUE)


class Exported:
    """An array of another library, which has DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Wrapped:
    """Something with __array__."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


def cube(dims=("y", "x", "band"), value=None, **attrs):
    """Return M as an image of 6 lines and 10 samples; some pixels may have a value that means nothing."""
    A = M.copy()
    if value is not None:
        A[:, LEFT_OUT] = value
    image = xr.DataArray(
        A.reshape(12, 6, 10),
        dims=("band", "y", "x"),
        coords={"band": 400.0 + np.arange(12), "y": 10.0 * np.arange(6), "x": 5.0 * np.arange(10)},
        attrs=attrs,
    )
    return image.assign_coords(spatial_ref=0).transpose(*dims)


# Frames and annotated data -----------------------------------------------------------------------------

FRAMES = {
    "pandas": (pd.DataFrame(M, columns=NAMES), lambda taken: taken.columns.tolist()),
    "sparse pandas": (
        pd.DataFrame.sparse.from_spmatrix(sparse.csc_matrix(M), columns=NAMES),
        lambda taken: taken.columns.tolist(),
    ),
    "pandas with missing values": (
        pd.DataFrame(M, columns=NAMES).convert_dtypes(),
        lambda taken: taken.columns.tolist(),
    ),
    "pandas with NaN as fill value": (
        pd.DataFrame(M, columns=NAMES).astype(pd.SparseDtype(float)),
        lambda taken: taken.columns.tolist(),
    ),
    "polars": (pl.DataFrame(M, schema=NAMES), lambda taken: taken.columns),
    "polars with decimals": (
        pl.DataFrame(M, schema=NAMES).with_columns(pl.col(NAMES[0]).cast(pl.Decimal(20, 17))),
        lambda taken: taken.columns,
    ),
    "AnnData": (
        anndata.AnnData(M, var=pd.DataFrame(index=NAMES)),
        lambda taken: taken.var_names.tolist(),
    ),
    "sparse AnnData": (
        anndata.AnnData(sparse.csr_matrix(M), var=pd.DataFrame(index=NAMES)),
        lambda taken: taken.var_names.tolist(),
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_give_names_and_take_columns(kind):
    frame, names_of = FRAMES[kind]
    sel = sepnmf.select(frame, 4)
    assert sel.anchors.tolist() == BEST.tolist()
    assert list(sel.names) == [NAMES[j] for j in BEST]
    taken = sel.take(frame)
    assert type(taken).__name__ == type(frame).__name__
    assert names_of(taken) == list(sel.names)


@pytest.mark.parametrize("kind", ["pandas", "polars", "AnnData"])
def test_every_function_takes_frames(kind):
    frame, _ = FRAMES[kind]
    assert sepnmf.metrics.rae(frame, BEST) == pytest.approx(1.0)
    assert sepnmf.estimate_rank(frame).low == 4
    np.testing.assert_allclose(sepnmf.nnls(M[:, BEST], frame), sepnmf.nnls(M[:, BEST], M))


def test_arrays_have_no_names_and_are_indexed():
    sel = sepnmf.select(M, 4)
    assert sel.names is None
    np.testing.assert_array_equal(sel.take(M), M[:, sel.anchors])
    np.testing.assert_array_equal(sel.take(M.tolist()), M[:, sel.anchors])
    assert sparse.issparse(sel.take(sparse.csr_array(M)))
    lazy = sel.take(da.from_array(M, chunks=(12, 7)))
    np.testing.assert_array_equal(lazy.compute(), M[:, sel.anchors])


@pytest.mark.parametrize("kind", [Exported, Wrapped])
def test_arrays_of_other_libraries_are_read(kind):
    assert sepnmf.select(kind(M), 4).anchors.tolist() == BEST.tolist()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "town": ["x", "y"]}), "M has a column 'town' of type"),
        (pl.DataFrame({"a": [1.0, 2.0], "town": ["x", "y"]}), "M has a column 'town' of type String"),
        (pl.DataFrame({"a": [1.0, 2.0]}).lazy(), r"M is a lazy frame: pass M.collect\(\)"),
        (pd.DataFrame({"a": [1.0, np.nan]}), "NaN or infinite entries.*mask="),
        (xr.Dataset({"reflectance": cube()}), r"M is a Dataset.*M\['reflectance'\]"),
        (
            "scene.csv",
            r"M is the name of a file: read it first, with sepnmf.io.read\('scene.csv'\).matrix\(\)",
        ),
        (Path("a", "scene.csv"), "M is the name of a file: read it first"),
        (cube().rename(band="z"), "dimensions y, x, z, of which none is known as spectral"),
        (cube().expand_dims("channel"), "several are known as spectral"),
        (anndata.AnnData(obs=pd.DataFrame(index=["a"])), "M has no X"),
        (cube()[0, 0], "must have 2 dimension"),
        (cube().values, r"of an image of lines × samples × bands, pass M.reshape\(-1, 12\).T"),
        (da.from_array(cube().values), r"pass M.reshape\(-1, 12\).T"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(given, words):
    with pytest.raises(ValueError, match=words):
        sepnmf.select(given, 1)


def image_of(A):
    return xr.DataArray(A.reshape(12, 6, 10), dims=("band", "y", "x")).transpose("y", "x", "band")


FINITE = {
    "array": (lambda A: A, "np.isfinite(M).all(axis=0)"),
    "sparse": (sparse.csr_array, "np.isfinite(np.ravel(M.sum(axis=0)))"),
    "pandas": (pd.DataFrame, "np.isfinite(M).all(axis=0)"),
    "polars": (pl.DataFrame, "np.isfinite(M.to_numpy()).all(axis=0)"),
    "AnnData": (anndata.AnnData, "np.isfinite(np.ravel(M.X.sum(axis=0)))"),
    "Dask": (lambda A: da.from_array(A, chunks=(12, 7)), "np.isfinite(M).all(axis=0)"),
    "xarray": (image_of, "np.isfinite(M).all('band')"),
    "lazy xarray": (lambda A: image_of(A).chunk(x=3), "np.isfinite(M).all('band')"),
}


@pytest.mark.parametrize("kind", FINITE)
def test_the_mask_that_leaves_out_columns_with_nan_can_be_copied_from_the_message(kind):
    A = M.copy()
    A[3, LEFT_OUT] = np.nan
    wrap, written = FINITE[kind]
    given = wrap(A)
    with pytest.raises(ValueError, match=re.escape(f"leave their columns out with mask={written}, or")):
        sepnmf.select(given, 4)
    mask = eval(written, {"np": np, "M": given})
    assert set(sepnmf.select(given, 4, mask=mask).anchors) == set(TRUE)


WAVELENGTHS = np.sort(np.random.default_rng(0).uniform(400, 900, 12))
AXES = {
    "heading": ("wavelength_nm", WAVELENGTHS),
    "steps": ("first", np.linspace(400, 955, 12)),
    "falling whole numbers": ("first", np.arange(40_000, 40_000 - 12 * 7, -7, dtype=np.uint16)),
}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("which", AXES)
def test_an_axis_in_a_frame_is_left_out_and_named(kind, which):
    heading, values = AXES[which]
    frame = kind({heading: values} | dict(zip(NAMES, M.T, strict=True)))
    with pytest.warns(UserWarning, match=f"The first column of M, '{heading}', is an axis") as caught:
        sel = sepnmf.select(frame, 4)
    assert caught[0].filename == __file__
    assert sel.anchors.tolist() == (BEST + 1).tolist()
    assert sel.names == tuple(NAMES[j] for j in BEST)
    assert list(sel.take(frame).columns) == list(sel.names)
    assert len(sel.scores) == 61
    with pytest.warns(UserWarning, match="is left out"):
        assert sepnmf.metrics.rae(frame, sel.anchors) == pytest.approx(1.0)
    advice = str(caught[0].message).partition(": pass ")[2].partition(", or ")[0]
    assert set(sepnmf.select(eval(advice, {"M": frame}), 4).anchors) == set(TRUE)  # without a warning
    assert 0 in sepnmf.select(frame.to_numpy(), 4).anchors
    with pytest.raises(ValueError, match=f"The first column of W, '{heading}', is an axis and no sample: pa"):
        sepnmf.nnls(frame, M)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_frame_without_an_axis_is_taken_as_it_is(kind):
    ramps = {"one": np.arange(12.0), "two": np.arange(12.0) * 3 + 1}  # both have equal steps
    frame = kind(ramps | dict(zip(NAMES, M.T, strict=True)))
    assert set(sepnmf.select(frame, 4, "spa").names) & set(ramps)
    assert sepnmf.select(kind({"time": [1.0, 2.0, 4.0]}), 1).names == ("time",)


# Labelled arrays ---------------------------------------------------------------------------------------

LAYOUTS = {
    "band last": lambda image: image,
    "band first": lambda image: image.transpose("band", "y", "x"),
    "band between": lambda image: image.transpose("y", "band", "x"),
    "lazy": lambda image: image.chunk({"y": 2, "x": 3, "band": 4}),
    "lazy, one band a chunk": lambda image: image.transpose("band", "y", "x").chunk({"band": 1}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_image_gives_pixels_with_coordinates(layout, monkeypatch):
    monkeypatch.setattr(_stored, "CHUNK", 2000)
    image = LAYOUTS[layout](cube())
    sel = sepnmf.select(image, 4)
    assert set(sel.anchors) == set(TRUE)
    lines, samples = np.unravel_index(sel.anchors, (6, 10))
    assert list(sel.names) == [f"y={10.0 * i}, x={5.0 * j}" for i, j in zip(lines, samples, strict=True)]
    taken = sel.take(image)
    assert taken.dims == ("band", "anchor")
    np.testing.assert_array_equal(taken, M[:, sel.anchors])
    np.testing.assert_array_equal(taken.x, 5.0 * samples)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_of_an_image_are_an_image(layout):
    image = LAYOUTS[layout](cube())
    H = sepnmf.nnls(M[:, TRUE], image)
    pixels = tuple(dim for dim in image.dims if dim != "band")
    assert H.dims == ("anchor", *pixels)
    assert (H.chunks is not None) == layout.startswith("lazy")
    for name in ("x", "y", "spatial_ref"):
        np.testing.assert_array_equal(H.coords[name], image.coords[name])
    expected = sepnmf.nnls(M[:, TRUE], M).reshape(4, 6, 10)
    np.testing.assert_allclose(H.transpose("anchor", "y", "x"), expected, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", [-9999.0, 65535.0, np.nan])
def test_a_declared_fill_value_is_no_pixel(layout, value):
    image = LAYOUTS[layout](cube(value=value, _FillValue=value))
    sel = sepnmf.select(image, 4)
    assert set(sel.anchors) == set(TRUE)
    H = sepnmf.nnls(M[:, TRUE], image).transpose("anchor", "y", "x")
    assert np.isnan(np.asarray(H).reshape(4, -1)[:, LEFT_OUT]).all()


def test_a_fill_value_that_xarray_has_made_nan_is_no_pixel(tmp_path):
    xr.Dataset({"reflectance": cube(value=-9999.0, _FillValue=-9999.0)}).to_netcdf(
        tmp_path / "scene.nc", engine="h5netcdf"
    )
    with xr.open_dataset(tmp_path / "scene.nc", engine="h5netcdf") as opened:
        assert set(sepnmf.select(opened.reflectance, 4).anchors) == set(TRUE)


def test_a_mask_may_be_an_image():
    used = np.ones(60, bool)
    used[LEFT_OUT] = False
    image = cube(value=np.nan)
    sel = sepnmf.select(image, 4, mask=used.reshape(6, 10))
    assert set(sel.anchors) == set(TRUE)
    assert set(sepnmf.select(image, 4, mask=np.isfinite(image).all("band")).anchors) == set(TRUE)


def test_an_opened_file_is_not_loaded(tmp_path, monkeypatch):
    xr.Dataset({"reflectance": cube()}).to_netcdf(tmp_path / "scene.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "scene.nc", engine="h5netcdf") as opened:
        matrix = as_matrix(opened.reflectance)
        assert matrix.lazy
        assert not opened.reflectance.variable._in_memory
        assert set(sepnmf.select(opened.reflectance, 4).anchors) == set(TRUE)


def test_two_dimensions_are_rows_and_columns_unless_one_is_spectral():
    table = xr.DataArray(M, dims=("sample", "place"), coords={"place": NAMES})
    spectra = xr.DataArray(M.T, dims=("place", "wavelength"), coords={"place": NAMES})
    for given in (table, spectra):
        sel = sepnmf.select(given, 4)
        assert sel.anchors.tolist() == BEST.tolist()
        assert list(sel.names) == [NAMES[j] for j in BEST]
    model = sepnmf.SeparableNMF(4).fit(spectra)
    assert model.anchor_indices_.tolist() == BEST.tolist()
    assert model.transform(spectra).shape == (60, 4)


def test_a_labelled_mask_follows_the_names_of_its_dimensions():
    image = cube().isel(x=slice(6))  # square
    used = xr.DataArray(np.ones((6, 6), bool), dims=("y", "x"))
    used[0, 1:] = False
    expected = sepnmf.select(image, 4, "spa", mask=used).anchors
    assert not set(expected) & set(range(1, 6))
    turned = sepnmf.select(image, 4, "spa", mask=used.transpose("x", "y")).anchors
    assert turned.tolist() == expected.tolist()
    with pytest.raises(
        ValueError, match="mask has the dimensions line, x, and the columns of M are along y, x"
    ):
        sepnmf.select(image, 4, mask=used.rename(y="line"))


def test_every_declared_value_is_missing():
    image = cube(value=-9999.0, _FillValue=9.96921e36, missing_value=[-9999.0, -1.0])
    assert set(sepnmf.select(image, 4).anchors) == set(TRUE)
    with pytest.raises(ValueError, match="fill value 'none', which is not a number"):
        sepnmf.select(cube(_FillValue="none"), 4)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_fill_value_of_zero_is_a_measurement_unless_all_are_zero(layout):
    image = cube(value=0.0, _FillValue=0.0)
    line, sample = np.unravel_index(TRUE[0], (6, 10))
    image[line, sample, 0] = 0.0
    H = sepnmf.nnls(M[:, TRUE], LAYOUTS[layout](image)).transpose("anchor", "y", "x")
    empty = np.flatnonzero(np.isnan(np.asarray(H)).all(axis=0).ravel())
    assert empty.tolist() == LEFT_OUT.tolist()


def test_missing_entries_of_rows_that_are_left_out_do_not_count():
    A = np.ma.array(M.copy())
    A[3, TRUE] = np.ma.masked
    rows = np.arange(12) != 3
    expected = sepnmf.select(M[rows], 4).anchors
    assert sepnmf.select(A, 4, row_mask=rows).anchors.tolist() == expected.tolist()
    H = sepnmf.nnls(A[:, TRUE], A, row_mask=rows)
    np.testing.assert_allclose(H, sepnmf.nnls(M[rows][:, TRUE], M[rows]), atol=1e-12)
    assert sepnmf.metrics.rae(A, TRUE, row_mask=rows) == pytest.approx(1.0)
    assert sepnmf.estimate_rank(A, row_mask=rows).low == 4


def test_missing_entries_of_given_columns_are_refused():
    W = np.ma.array(M[:, TRUE], mask=False)
    W.mask[0, 1] = True
    with pytest.raises(ValueError, match="W has missing entries in column 1"):
        sepnmf.nnls(W, M)
    with pytest.raises(ValueError, match="W has missing entries in column 1"):
        sepnmf.metrics.mrsa(W, M[:, TRUE])


def test_a_dimension_may_be_called_anchor():
    weights = sepnmf.nnls(M[:, TRUE], cube())  # anchor × y × x
    table = weights.stack(pixel=("y", "x")).reset_index("pixel", drop=True)
    sel = sepnmf.select(table, 2, "spa")
    assert sel.take(table).dims == ("anchor", "anchor_")
    assert sepnmf.nnls(sel.take(table).values, table).dims == ("anchor_", "pixel")


def test_weights_of_columns_follow_the_mask():
    used = np.ones(60, bool)
    used[LEFT_OUT] = False
    options = {"random_state": 0}
    expected = sepnmf.fgnsr(M[:, used], 4, weights=np.arange(1.0, 61.0)[used], **options)
    sel = sepnmf.select(M, 4, "fgnsr", mask=used, weights=np.arange(1.0, 61.0), **options)
    assert sel.anchors.tolist() == np.flatnonzero(used)[expected.anchors].tolist()


# Estimators --------------------------------------------------------------------------------------------


def test_pixels_of_an_image_are_samples():
    for image in (cube(), cube().chunk({"y": 2})):
        model = sepnmf.SeparableNMF(4).fit(image)
        assert model.anchor_indices_.tolist() == BEST.tolist()
        assert model.n_features_in_ == 12
        assert model.feature_names_in_[1] == "401.0"
        W = np.asarray(model.transform(image))
        np.testing.assert_allclose(W, sepnmf.nnls(M[:, BEST], M).T, atol=1e-12)
        with pytest.raises(ValueError, match="X has 11 features"):
            model.transform(image[:, :, 1:])


def test_cells_are_samples_and_genes_are_features():
    genes = [f"gene {i}" for i in range(12)]
    cells = anndata.AnnData(
        sparse.csr_matrix(M.T), obs=pd.DataFrame(index=NAMES), var=pd.DataFrame(index=genes)
    )
    model = sepnmf.SeparableNMF(4).fit(cells)
    assert model.anchor_indices_.tolist() == BEST.tolist()
    assert list(model.selection_.names) == [NAMES[j] for j in BEST]
    plain = sepnmf.AnchorSelector(3).fit(M.T)
    selector = sepnmf.AnchorSelector(3).fit(cells)
    assert selector.anchor_indices_.tolist() == plain.anchor_indices_.tolist()
    kept = selector.transform(cells)
    assert kept.var_names.tolist() == selector.get_feature_names_out().tolist()
    assert kept.var_names.tolist() == [genes[j] for j in sorted(plain.anchor_indices_)]


def test_a_missing_pixel_removes_no_band():
    image = cube(value=np.nan, _FillValue=np.nan)
    kept = np.setdiff1d(np.arange(60), LEFT_OUT)
    expected = sepnmf.AnchorSelector(3).fit(M[:, kept].T).anchor_indices_
    assert sepnmf.AnchorSelector(3).fit(image).anchor_indices_.tolist() == expected.tolist()


def test_negative_entries_are_refused_by_transform():
    model = sepnmf.SeparableNMF(4).fit(cube())
    wrong = cube()
    wrong[0, 0, 0] = -5.0
    for image in (wrong, wrong.chunk({"y": 2})):
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            np.asarray(model.transform(image))


def test_views_of_annotated_data_are_read(tmp_path):
    dense = anndata.AnnData(M, var=pd.DataFrame(index=NAMES))
    sel = sepnmf.select(dense, 4)
    np.testing.assert_allclose(sepnmf.nnls(sel.take(dense), dense), sepnmf.nnls(M[:, BEST], M), atol=1e-12)
    file = backed(tmp_path, M, sparse.csr_matrix)
    view = file[2:, TRUE.min() :]
    assert as_matrix(view).lazy
    expected = sepnmf.select(M[2:, TRUE.min() :], 4, "spa").anchors
    assert sepnmf.select(view, 4, "spa").anchors.tolist() == expected.tolist()
    file.file.close()


def test_the_number_of_components_can_be_estimated():
    model = sepnmf.SeparableNMF("auto").fit(M.T)
    assert model.n_components_ == 4
    assert model.components_.shape == (4, 12)
    with pytest.raises(
        ValueError, match=r'n_components, unless it is "auto", must be an integer.*got .many.'
    ):
        sepnmf.SeparableNMF("many").fit(M.T)


# Files of cells, and very tall data --------------------------------------------------------------------


def backed(tmp_path, A, kind):
    """Return annotated data in a file that has been opened."""
    anndata.AnnData(kind(A)).write_h5ad(tmp_path / "cells.h5ad")
    return anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, np.asarray])
@pytest.mark.parametrize("method", ["spa", "auto"])
def test_a_file_of_cells_gives_the_answer_of_memory(tmp_path, monkeypatch, kind, method):
    monkeypatch.setattr(_stored, "CHUNK", 2000)
    file = backed(tmp_path, M, kind)
    matrix = as_matrix(file)
    assert matrix.lazy
    assert sepnmf.select(file, 4, method).anchors.tolist() == sepnmf.select(M, 4, method).anchors.tolist()
    model = sepnmf.SeparableNMF(3).fit(file)
    assert model.anchor_indices_.tolist() == sepnmf.SeparableNMF(3).fit(M).anchor_indices_.tolist()
    file.file.close()


def tall(noise=0.0):
    """Return many rows and forty columns, five of them anchors."""
    rng = np.random.default_rng(0)
    W = rng.random((3000, 5)) * (rng.random((3000, 5)) < 0.4)
    H = np.hstack([np.eye(5), rng.dirichlet(np.ones(5), 35).T])
    A = W @ H * (0.5 + rng.random(40))
    return A + noise * rng.random(A.shape) * (A > 0)


TALL = {
    "dense": lambda A: da.from_array(A, chunks=(700, 13)),
    "sparse": lambda A: da.from_array(A, chunks=(700, 40)).map_blocks(
        sparse.csr_array, dtype=float, meta=sparse.csr_array((0, 0))
    ),
}


@pytest.mark.parametrize("kind", TALL)
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_tall_data_in_blocks_of_rows_give_the_answer_of_memory(monkeypatch, kind, noise):
    monkeypatch.setattr(_tall, "LONG", 100)
    monkeypatch.setattr(_chunked, "SMALL", 0)
    A = tall(noise)
    lazy = TALL[kind](A)
    assert as_matrix(lazy).is_tall
    for method, options in [("spa", {}), ("spa", {"normalize": "l1"}), ("auto", {}), ("xray", {})]:
        expected = sepnmf.select(A, 5, method, **options).anchors
        assert sepnmf.select(lazy, 5, method, **options).anchors.tolist() == expected.tolist(), method
    assert sepnmf.metrics.rae(lazy, [0, 1, 2]) == pytest.approx(sepnmf.metrics.rae(A, [0, 1, 2]), abs=1e-9)
    np.testing.assert_array_equal(as_matrix(lazy).take(np.array([7, 3])), A[:, [7, 3]])
    assert as_matrix(lazy).extent() == (A.min(), A.max(), A.size - np.count_nonzero(A))
    for a, b in zip(
        (sepnmf.estimate_rank(lazy).low, sepnmf.nnls(A[:, :5], lazy)),
        (sepnmf.estimate_rank(A).low, sepnmf.nnls(A[:, :5], A)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_tall_data_keep_masks_names_and_refusals(monkeypatch):
    monkeypatch.setattr(_tall, "LONG", 100)
    monkeypatch.setattr(_chunked, "SMALL", 0)
    A = tall(0.01)
    A[2500, 7] = np.nan
    with pytest.raises(ValueError, match=r"1 NaN or infinite entries, the first at \(2500, 7\)"):
        sepnmf.select(TALL["dense"](A), 5)
    with pytest.raises(ValueError, match=r"NaN or infinite entries in 1 column.*column 7"):
        sepnmf.nnls(A[:, :5], TALL["dense"](A))
    rows = np.arange(3000) != 3
    with pytest.raises(ValueError, match=r"the first at \(2500, 7\)"):
        sepnmf.select(TALL["dense"](A), 5, row_mask=rows)
    used = np.arange(40) != 7
    assert set(sepnmf.select(TALL["dense"](A), 5, mask=used).anchors) == set(range(5))
    assert np.isnan(sepnmf.nnls(A[:, :5], TALL["dense"](A), mask=used)[:, 7]).all()
    A[2500, 7] = -1.0
    with pytest.raises(ValueError, match=r"1 negative entries, the first at \(2500, 7\)"):
        sepnmf.select(TALL["sparse"](A), 5)
    clipped = sepnmf.select(TALL["sparse"](A), 5, negative="clip").anchors
    assert clipped.tolist() == sepnmf.select(np.maximum(A, 0), 5).anchors.tolist()
    with pytest.raises(ValueError, match="needs all of them at once: choose another method"):
        sepnmf.select(TALL["dense"](np.abs(A)), 5, "fgnsr")
    monkeypatch.undo()  # data as small as these are loaded
    assert len(sepnmf.select(TALL["dense"](np.abs(A)), 5, "fgnsr", random_state=0).anchors) == 5
