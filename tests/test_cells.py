"""AnnData files: what anndata writes is read with its names; what is large is read in blocks."""

import pickle
import subprocess
import sys

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from dask import array as da
from scipy import sparse

import sepnmf
from sepnmf.io import _cells as cells_module
from sepnmf.io import read
from sepnmf.io._cells import read_block, read_h5ad
from sepnmf.io._names import resolve_names

RNG = np.random.default_rng(0)
CELLS, GENES = [f"cell {i}" for i in range(60)], [f"Gène{j}" for j in range(9)]
X = sparse.random_array((60, 9), density=0.4, random_state=RNG, format="csr")
LAYOUTS = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "csr_matrix": sparse.csr_matrix,
    "dense": lambda M: M.toarray(),
    "f4": lambda M: M.astype("f4").toarray(),
    "counts": lambda M: sparse.csr_array((100 * M).astype("i8")),
}


def adata(matrix, **more):
    obs = pd.DataFrame({"kind": pd.Categorical(list("ab") * 30)}, index=CELLS)
    return anndata.AnnData(
        matrix, obs=obs, var=pd.DataFrame({"symbol": list("ABCDEFGHI")}, index=GENES), **more
    )


def dense(M):
    found = M.compute(scheduler="single-threaded") if isinstance(M, da.Array) else M
    return found.toarray() if sparse.issparse(found) else found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_cells_and_genes_are_read_with_their_names(tmp_path, layout, compression):
    matrix = LAYOUTS[layout](X)
    adata(matrix).write_h5ad(tmp_path / "a.h5ad", compression=compression)
    expected = dense(matrix)
    for options in ({}, {"in_parts": True}):
        data = read(tmp_path / "a.h5ad", **options)
        assert isinstance(data.M, da.Array) == bool(options)
        assert data.M.dtype == expected.dtype
        np.testing.assert_array_equal(dense(data.M), expected)
        np.testing.assert_array_equal(dense(data.transposed().M), expected.T)
        assert (data.row_names, data.column_names) == (tuple(CELLS), tuple(GENES))
        assert (data.variable, data.image_shape) == ("X", None)
    held = read(tmp_path / "a.h5ad").M
    assert isinstance(held, np.ndarray) == (layout in ("dense", "f4"))


def test_layers_raw_and_embeddings_are_variables(tmp_path):
    full = adata(X, layers={"counts": (7 * X).tocsr()}, obsm={"X_pca": RNG.random((60, 3)), "table": X})
    full.raw = adata(2 * X)
    full = full[:, :5].copy()
    full.write_h5ad(tmp_path / "a.h5ad")
    for variable in ("counts", "layers/counts"):
        data = read(tmp_path / "a.h5ad", variable=variable)
        np.testing.assert_allclose(dense(data.M), 7 * X.toarray()[:, :5])
        assert (data.variable, data.column_names) == ("layers/counts", tuple(GENES[:5]))
    for variable in ("raw", "raw/X"):
        data = read(tmp_path / "a.h5ad", variable=variable)
        np.testing.assert_allclose(dense(data.M), 2 * X.toarray())
        assert (data.row_names, data.column_names) == (tuple(CELLS), tuple(GENES))
    data = read(tmp_path / "a.h5ad", variable="X_pca")
    assert (data.M.shape, data.row_names, data.column_names) == ((60, 3), tuple(CELLS), ())
    with pytest.raises(
        ValueError, match=r"^a\.h5ad has no variable 'y' but 'X' \(60 × 5, float64\), 'raw/X'"
    ):
        read(tmp_path / "a.h5ad", variable="y")


def test_a_file_without_x_lists_its_layers(tmp_path):
    adata(None, layers={"counts": X}).write_h5ad(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "a.h5ad") as content:
        newer = "X" not in content
    message = r"^a\.h5ad has no variable 'X' but 'layers/counts'"
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "a.h5ad")
    if newer:  # anndata 0.12.0 writes a null dataset
        with h5py.File(tmp_path / "a.h5ad", "a") as content:
            content["X"] = h5py.Empty("f4")
        with pytest.raises(ValueError, match=message):
            read(tmp_path / "a.h5ad")


def test_a_name_in_two_places_is_refused(tmp_path):
    adata(X, layers={"z": X}, obsm={"z": RNG.random((60, 3))}).write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(ValueError, match=r"has several matrices 'z': write layers/z or obsm/z\.$"):
        read(tmp_path / "a.h5ad", variable="z")


@pytest.mark.parametrize("layout", ["csr", "csc", "dense"])
def test_blocks_have_about_the_same_number_of_stored_entries(tmp_path, layout):
    uneven = sparse.vstack([X] * 3 + [sparse.csr_array((60, 9))] * 3).tocsr()
    anndata.AnnData(LAYOUTS[layout](uneven)).write_h5ad(tmp_path / "a.h5ad")
    lazy = read_h5ad(tmp_path / "a.h5ad", large=0, chunk=64 * 60 if layout != "dense" else 8 * 9 * 50).M
    assert lazy.numblocks == {"csr": (11, 1), "csc": (1, 9), "dense": (8, 1)}[layout]
    np.testing.assert_array_equal(dense(lazy), uneven.toarray())
    if layout != "dense":
        sizes = [block.nnz for block in (lazy.blocks[k].compute() for k in np.ndindex(lazy.numblocks))]
        assert max(sizes) <= 60 + 9 if layout == "csr" else max(sizes) <= 3 * 60


def test_an_old_file_has_its_names_in_a_table(tmp_path):
    """As anndata wrote files before version 0.7."""
    with h5py.File(tmp_path / "a.h5ad", "w") as content:
        group = content.create_group("X")
        group.attrs.update({"h5sparse_format": "csr", "h5sparse_shape": X.shape})
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(X, name)
        for frame, names in (("obs", CELLS), ("var", GENES)):
            rows = np.array([(name.encode(), 1.0) for name in names], [("index", "S20"), ("x", "f8")])
            content[frame] = rows
    for options in ({}, {"in_parts": True}):
        data = read(tmp_path / "a.h5ad", **options)
        np.testing.assert_array_equal(dense(data.M), X.toarray())
        assert (data.row_names, data.column_names) == (tuple(CELLS), tuple(GENES))


def test_tasks_can_be_sent_to_another_process(tmp_path):
    adata(X).write_h5ad(tmp_path / "a.h5ad")
    lazy = read(tmp_path / "a.h5ad", in_parts=True).M
    task = pickle.loads(pickle.dumps(lazy)).blocks[0, 0]
    np.testing.assert_array_equal(dense(task), X.toarray())


def test_other_columns_give_names(tmp_path):
    adata(X).write_h5ad(tmp_path / "a.h5ad")
    assert resolve_names("var/symbol", tmp_path / "a.h5ad", 9) == tuple("ABCDEFGHI")
    assert resolve_names("obs/kind", tmp_path / "a.h5ad", 60) == tuple("ab" * 30)


def test_text_of_newer_files_gives_names_and_a_missing_one_is_empty(tmp_path):
    adata(X).write_h5ad(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "a.h5ad", "a") as content:  # as anndata 0.13 stores text of pandas 3
        for place, words, codes in (
            ("var/text", list("ABCDEFGHI"), None),
            ("var/sort", list("xy"), [0, 1, -1] * 3),
        ):
            group = content.create_group(place)
            if codes is not None:
                group["codes"] = np.array(codes, dtype=np.int8)
                group = group.create_group("categories")
            group["values"] = words
            group["mask"] = np.arange(len(words)) == 4
        content["var/short/values"], content["var/short/mask"] = list("ABCDEFGHI"), np.zeros(8, dtype=bool)
    assert resolve_names("var/text", tmp_path / "a.h5ad", 9) == ("A", "B", "C", "D", "", "F", "G", "H", "I")
    assert resolve_names("var/sort", tmp_path / "a.h5ad", 9) == ("x", "y", "") * 3
    with pytest.raises(ValueError, match="has no such variable of text or numbers"):
        resolve_names("var/short", tmp_path / "a.h5ad", 9)


# Anchors.


def planted(folder, cells=4000, genes=30, r=4):
    """Cells that are mixtures of r pure ones; genes that are sums of r marker genes."""
    rng = np.random.default_rng(1)
    W = rng.dirichlet(np.full(r, 0.3), cells) * rng.uniform(0.2, 0.8, (cells, 1))
    P = rng.dirichlet(np.full(r, 0.3), genes).T * rng.uniform(0.2, 0.8, (1, genes))
    pure, markers = rng.choice(cells, r, replace=False), rng.choice(genes, r, replace=False)
    W[pure], P[:, markers] = np.eye(r), np.eye(r)
    names = [f"cell {i}" for i in range(cells)], [f"gene {j}" for j in range(genes)]
    obs, var = (pd.DataFrame(index=index) for index in names)
    anndata.AnnData(sparse.csr_array(W @ P), obs=obs, var=var).write_h5ad(folder / "cells.h5ad")
    return {names[0][i] for i in pure}, {names[1][j] for j in markers}


def table(path):
    return pd.read_csv(path)


@pytest.mark.parametrize("method", ["spa", "auto"])
def test_select_names_marker_genes_and_pure_cells(sepnmf_says, tmp_path, method):
    pure, markers = planted(tmp_path, cells=1000)
    code, out, _ = sepnmf_says("select", "cells.h5ad", "-r", 4, "-m", method)
    assert code == 0
    assert all(name in out for name in markers)
    assert set(table("cells-anchors/anchors.csv")["name"]) == markers
    code, out, _ = sepnmf_says(
        "select", "cells.h5ad", "-r", 4, "-m", method, "--axis", "rows", "--out", "rows"
    )
    assert code == 0
    assert all(name in out for name in pure)
    assert set(table("rows/anchors.csv")["name"]) == pure


@pytest.mark.parametrize("method", ["spa", "auto"])
def test_cells_in_blocks_are_selected_as_in_memory(tmp_path, method):
    pure, _ = planted(tmp_path)
    held = read(tmp_path / "cells.h5ad").transposed()
    lazy = read_h5ad(tmp_path / "cells.h5ad", large=0, chunk=64 * 5000).transposed()
    assert lazy.M.numblocks[1] > 5
    for data in (held, lazy):
        found = sepnmf.select(data.M, 4, method).anchors
        assert {data.column_label(int(j)) for j in found} == pure


def test_a_large_file_is_never_loaded_whole(tmp_path, monkeypatch):
    adata(X).write_h5ad(tmp_path / "a.h5ad")
    sizes = []

    def spied(element, edges, block_id):
        found = read_block(element, edges, block_id)
        sizes.append(found.nnz)
        return found

    def fail(*_):
        raise AssertionError("read whole")

    monkeypatch.setattr(cells_module, "read_block", spied)
    monkeypatch.setattr(cells_module, "read_whole", fail)
    data = read_h5ad(tmp_path / "a.h5ad", large=0, chunk=64 * 30).transposed()
    sepnmf.select(data.M, 3, "spa")
    assert 0 < max(sizes) < X.nnz / 3


# What must be refused.


@pytest.mark.parametrize("library", ["anndata", "h5py"])
def test_a_missing_library_is_named(tmp_path, monkeypatch, library):
    (tmp_path / "a.h5ad").write_text("anything")
    for module in [m for m in sys.modules if m.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    extra = {"anndata": "cells", "h5py": "files"}[library]
    with pytest.raises(ValueError, match=rf"^{library} is not installed: pip install 'sepnmf\[{extra}\]'\.$"):
        read(tmp_path / "a.h5ad")


def test_importing_the_reader_does_not_import_anndata():
    code = "import sys, sepnmf.io\nassert 'anndata' not in sys.modules and 'h5py' not in sys.modules\n"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_damage_in_a_block_is_said_in_one_line_when_it_is_read(tmp_path):
    adata(X).write_h5ad(tmp_path / "a.h5ad")
    lazy = read(tmp_path / "a.h5ad", in_parts=True).M
    with h5py.File(tmp_path / "a.h5ad", "a") as content:
        content["X/indices"][5] = 100
    with pytest.raises(
        ValueError, match=r"^a\.h5ad cannot be read as an AnnData file: X has an index [^\n]*$"
    ):
        lazy.compute(scheduler="single-threaded")
