"""Leading singular vectors of sparse matrices, also where singular values are equal."""

import numpy as np
import pytest
from scipy import sparse

import sepnmf
from sepnmf.matrix import Sparse, as_matrix


def with_singular_values(sigma, m, n):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, len(sigma))))[0] for size in (m, n))
    return (U * sigma) @ V.T


MATRICES = {
    "random": np.random.default_rng(1).random((40, 60)),
    "tall": np.random.default_rng(2).random((60, 40)),
    "identity": np.eye(80),
    "copies of values": np.diag(np.repeat([3.0, 2.0, 1.0], 30)),
    "a hidden copy": with_singular_values(np.r_[5.0, 5.0, 3.0, np.linspace(1.0, 0.1, 60)], 70, 80),
    "low rank": with_singular_values(np.array([3.0, 2.0, 1.0]), 50, 60),
    "equal columns": np.ones((40, 50)),
    "zero": np.zeros((40, 50)),
}

# Methods that see the data along leading singular vectors, and refuse fewer of these than they need.
SUBSPACE = [
    "vca",
    "nfindr",
    "smoothed_vca",
    "preconditioned_spa",
    "randomized_spa",
    "pseudo_point_spa",
    "fippi",
]


@pytest.fixture
def lanczos(monkeypatch):
    """Take the way of large matrices with small ones."""
    monkeypatch.setattr("sepnmf.matrix._sparse.DENSE_WORK", 0)


@pytest.mark.usefixtures("lanczos")
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("k", [1, 4, 10])
@pytest.mark.parametrize("kind", MATRICES)
def test_leading_singular_vectors_are_those_of_a_dense_decomposition(kind, k, centred):
    A = MATRICES[kind]
    matrix = as_matrix(sparse.csc_array(A)).in_memory() if A.min() >= 0 else Sparse(sparse.csc_array(A))
    centre = A.mean(axis=1) if centred else None
    U, sigma = matrix.leading_left(k, centre)
    shifted = A - centre[:, None] if centred else A
    expected = np.linalg.svd(shifted, compute_uv=False)[:k]
    size = np.linalg.norm(A) or 1.0
    np.testing.assert_allclose(sigma, expected, atol=1e-13 * size)
    np.testing.assert_allclose(U.T @ U, np.eye(k), atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(U.T @ shifted, axis=1), expected, atol=1e-12 * size)
    again = matrix.leading_left(k, centre)
    assert np.array_equal(U, again[0])


@pytest.mark.parametrize("method", [*SUBSPACE, "ppi"])
@pytest.mark.parametrize("large", [False, True])
def test_equal_singular_values_of_sparse_data_give_the_same_anchors_twice(method, large, monkeypatch):
    if large:
        monkeypatch.setattr("sepnmf.matrix._sparse.DENSE_WORK", 0)
    M = sparse.csr_array(np.kron(np.eye(10), np.ones((3, 4))))
    seed = {"random_state": 0} if "random_state" in sepnmf.METHODS[method].options else {}
    chosen = [sepnmf.select(M, 4, method, **seed).anchors.tolist() for _ in range(5)]
    assert chosen == [chosen[0]] * 5


@pytest.mark.parametrize("method", SUBSPACE)
def test_sparse_data_with_equal_columns_are_refused_in_a_sentence(method):
    with pytest.raises(ValueError, match="ask for fewer"):
        sepnmf.select(sparse.csr_array(np.ones((3, 3))), 2, method)
